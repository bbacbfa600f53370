//! The binding of the simulated Internet: conversions and one call each. Python's side is `lycosa.simnet`.

use std::path::{Path, PathBuf};

use lycosa_simnet::{Error, Params, Trouble};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

/// Adds what this file defines to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Simnet>()?;
    m.add_function(wrap_pyfunction!(enter_private_namespaces, m)?)
}

/// A simulated Internet: started by `start`, ended by `stop`; the ledger can be read until the object is gone.
#[pyclass(module = "lycosa._core")]
struct Simnet {
    /// Checked when the object was made.
    params: Params,
    /// There once it was started.
    net: Option<lycosa_simnet::Simnet>,
}

#[pymethods]
impl Simnet {
    /// Checks the parameters; nothing is opened yet.
    #[new]
    #[pyo3(signature = (
        *, hosts = 200, pages = 20, seed = 1, profile = "lan".to_owned(), speed = 1.0, http_port = 0, https_port = 0,
        dns_port = 0, https = 0.0, bad_certificates = 0.0, host_interval = 1.0, address_interval = 0.25, threads = 1,
        agent = "*".to_owned(), ipv6 = false, ipv6_share = 0.0, ledger = None
    ))]
    // Keyword arguments only: their number harms nobody.
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        hosts: u32,
        pages: u32,
        seed: u64,
        profile: String,
        speed: f64,
        http_port: u16,
        https_port: u16,
        dns_port: u16,
        https: f64,
        bad_certificates: f64,
        host_interval: f64,
        address_interval: f64,
        threads: u32,
        agent: String,
        ipv6: bool,
        ipv6_share: f64,
        ledger: Option<PathBuf>,
    ) -> PyResult<Self> {
        let params = Params {
            hosts,
            pages,
            seed,
            profile,
            speed,
            http_port,
            https_port,
            dns_port,
            https,
            bad_certificates,
            host_interval,
            address_interval,
            threads,
            agent,
            ipv6,
            ipv6_share,
            ledger,
        };
        params.check().map_err(|error| raise(py, &error))?;
        Ok(Self { params, net: None })
    }

    /// Builds the world, opens the ports and serves.
    fn start(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.net.is_none() {
            let params = self.params.clone();
            let net = py.detach(|| lycosa_simnet::Simnet::start(params));
            self.net = Some(net.map_err(|error| raise(py, &error))?);
        }
        Ok(())
    }

    /// Closes all connections and ports.
    fn stop(&mut self, py: Python<'_>) {
        if let Some(net) = &mut self.net {
            py.detach(|| net.stop());
        }
    }

    /// Begins a trouble, for some hosts or for all.
    #[pyo3(signature = (trouble, *, hosts = None, share = 0.5))]
    fn trouble(&self, py: Python<'_>, trouble: &str, hosts: Option<Vec<String>>, share: f64) -> PyResult<()> {
        let net = self.running()?;
        let hosts: Option<Vec<&str>> = hosts.as_ref().map(|hosts| hosts.iter().map(String::as_str).collect());
        let begin = || net.trouble(Trouble::parse(trouble)?, hosts.as_deref(), share);
        py.detach(begin).map_err(|error| raise(py, &error))
    }

    /// Ends a trouble, or all.
    #[pyo3(signature = (trouble = None))]
    fn calm(&self, py: Python<'_>, trouble: Option<&str>) -> PyResult<()> {
        let net = self.running()?;
        let end = || net.calm(trouble.map(Trouble::parse).transpose()?);
        py.detach(end).map_err(|error| raise(py, &error))
    }

    /// Judges everything recorded so far; JSON. Pages of hosts `without` whom it must do count in no coverage.
    #[pyo3(signature = (without = Vec::new()))]
    fn report(&self, py: Python<'_>, without: Vec<String>) -> PyResult<String> {
        let net = self.running()?;
        let without: Vec<&str> = without.iter().map(String::as_str).collect();
        let report = py.detach(|| net.report(&without)).map_err(|error| raise(py, &error))?;
        report.to_json().map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The model, its quantiles, and how the world came out; JSON.
    fn model(&self, py: Python<'_>) -> PyResult<String> {
        let net = self.running()?;
        let json = py.detach(|| net.figures().to_json());
        json.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The TCP port of HTTP on every host's address.
    #[getter]
    fn http_port(&self) -> PyResult<u16> {
        self.running().map(lycosa_simnet::Simnet::http_port)
    }

    /// The TCP port of HTTPS on every host's address; 0 when no host is on HTTPS.
    #[getter]
    fn https_port(&self) -> PyResult<u16> {
        self.running().map(lycosa_simnet::Simnet::https_port)
    }

    /// The certificate of the authority that vouches for the hosts, as PEM; known before the start.
    #[getter]
    fn authority(&self, py: Python<'_>) -> PyResult<String> {
        lycosa_simnet::Simnet::authority_pem(self.params.seed).map_err(|error| raise(py, &error))
    }

    /// The resolver, `127.0.0.1:PORT`, UDP and TCP.
    #[getter]
    fn resolver(&self) -> PyResult<String> {
        self.running().map(|net| net.resolver().to_string())
    }

    /// The URLs from which everything can be reached.
    #[getter]
    fn seeds(&self) -> PyResult<Vec<String>> {
        self.running().map(lycosa_simnet::Simnet::seeds)
    }

    /// Names and addresses of all hosts.
    #[getter]
    fn hosts(&self) -> PyResult<Vec<(String, String)>> {
        let world = self.running()?.world();
        let host = |host| (world.name(host).to_owned(), world.address(host).to_string());
        Ok((0..world.host_count()).map(host).collect())
    }

    /// Names of the hosts on HTTPS, and what their certificates are worth.
    #[getter]
    fn certificates(&self) -> PyResult<Vec<(String, &'static str)>> {
        let world = self.running()?.world();
        let host = |host| Some((world.name(host).to_owned(), world.certificate(host)?.name()));
        Ok((0..world.host_count()).filter_map(host).collect())
    }
}

impl Simnet {
    /// The simnet, once it was started.
    fn running(&self) -> PyResult<&lycosa_simnet::Simnet> {
        self.net.as_ref().ok_or_else(|| PyRuntimeError::new_err("the simulated Internet was not started"))
    }
}

/// Moves this process into private mount and network namespaces in which own files stand in for system files.
///
/// `files` are pairs of own file or folder and the system's; `ipv6` routes fd00::/64 there. Must be called in the main thread before any other starts.
#[pyfunction]
fn enter_private_namespaces(py: Python<'_>, files: Vec<(String, String)>, ipv6: bool) -> PyResult<()> {
    let files: Vec<_> = files.iter().map(|(own, system)| (Path::new(own), Path::new(system))).collect();
    lycosa_simnet::enter_private_namespaces(&files, ipv6).map_err(|error| raise(py, &error))
}

/// An error of the crate as Python's: a bad setting as `lycosa.errors.SettingError`, a refusing system as `OSError`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Setting { name, value, allowed } => {
            let name = name.as_ref();
            let class = py.import("lycosa.errors").and_then(|errors| errors.getattr("SettingError"));
            // A number is shown as one, without the quotes of a string.
            let made = class.and_then(|class| match value.parse::<f64>() {
                Ok(_) if value.bytes().all(|b| b.is_ascii_digit()) => {
                    class.call1((name, value.parse::<u64>().unwrap_or(u64::MAX), allowed))
                }
                Ok(number) => class.call1((name, number, allowed)),
                Err(_) => class.call1((name, value, allowed)),
            });
            made.map_or_else(|error| error, PyErr::from_value)
        }
        Error::System { source, .. } => {
            PyOSError::new_err((source.raw_os_error().unwrap_or_default(), error.to_string()))
        }
    }
}
