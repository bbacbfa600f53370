//! Fetch.

use std::net::IpAddr;
use std::sync::Arc;

use lycosa_fetch::{Proxy, ProxyProtocol};
use lycosa_records::Route;
use lycosa_url::AddressPolicy;
use pyo3::prelude::*;

use crate::clock::Clock;
use crate::errors::{ended, setting, system};
use crate::job::{Job, seconds};
use crate::request::Request;
use crate::requests::Requests;
use crate::response::Responses;

/// The proxies of a process, by name; all fetchers that are given them use what they have at the time.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Proxies(lycosa_fetch::Proxies);

#[pymethods]
impl Proxies {
    /// No proxies. `allowed`: private networks in which they may be. `SettingError`: one of these is none.
    #[new]
    #[pyo3(signature = (allowed = Vec::new()))]
    fn new(allowed: Vec<String>) -> PyResult<Self> {
        let network = |text: &String| {
            text.parse().map_err(|_| setting("allowed", text, "networks such as 127.0.0.0/8"))
        };
        let networks = allowed.iter().map(network).collect::<PyResult<_>>()?;
        Ok(Proxies(lycosa_fetch::Proxies::new(AddressPolicy::new(networks))))
    }

    /// Adds a proxy, or replaces the one with this name. `addresses`: of its host; `resolves`: whether it resolves the sites' names.
    #[pyo3(signature = (name, protocol, host, port, addresses, *, user = "", password = "", resolves = true))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn set(
        &self,
        name: &str,
        protocol: &str,
        host: &str,
        port: u16,
        addresses: Vec<String>,
        user: &str,
        password: &str,
        resolves: bool,
    ) -> PyResult<()> {
        let known = ProxyProtocol::from_name(protocol);
        let protocol = known.ok_or_else(|| setting("protocol", protocol, "http, https or socks5"))?;
        let proxy = Proxy {
            protocol,
            host: host.into(),
            port,
            addresses: parsed(&addresses)?,
            credentials: (!user.is_empty()).then(|| (user.into(), password.into())),
            resolves,
        };
        self.0.set(name, proxy);
        Ok(())
    }

    /// A request that no frontier has leased: of a check of a proxy, or without one. `addresses`: of the URL's host.
    #[staticmethod]
    #[pyo3(signature = (url, number, addresses, proxy = None))]
    fn request(url: &str, number: u64, addresses: Vec<String>, proxy: Option<&str>) -> PyResult<Request> {
        let route = Route::Direct(parsed(&addresses)?).by(proxy);
        let request = lycosa_records::Request::get(crate::url::parse(url)?);
        let record = lycosa_records::Request { lease: number, route, deadline: u64::MAX, ..request };
        Ok(Request::of(Arc::new(record), lycosa_url::Clock::shared()))
    }

    /// Removes a proxy: requests by it fail.
    fn remove(&self, name: &str) {
        self.0.remove(name);
    }
}

/// IP addresses.
fn parsed(texts: &[String]) -> PyResult<Vec<IpAddr>> {
    let address = |text: &String| text.parse().map_err(|_| setting("addresses", text, "IP addresses"));
    texts.iter().map(address).collect()
}

/// Keeps freed memory in this process for further bodies, as a `Fetcher` has it: also where bodies come from elsewhere.
#[pyfunction]
pub(crate) fn keep_freed_memory() {
    lycosa_fetch::keep_freed_memory();
}

/// HTTP over real sockets, on a thread of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Fetcher(lycosa_fetch::Fetcher);

#[pymethods]
impl Fetcher {
    /// `clock`: the crawl's; without it that of this process. `memory`: bytes of all responses until they are taken; `batch`:
    /// of those that are taken at once.
    #[new]
    #[pyo3(signature = (job, clock = None, memory = None, batch = None, proxies = None))]
    fn new(
        py: Python<'_>,
        job: Job,
        clock: Option<&Clock>,
        memory: Option<usize>,
        batch: Option<usize>,
        proxies: Option<&Proxies>,
    ) -> PyResult<Self> {
        let mut settings = job.fetch(Clock::of(clock))?;
        settings.memory = memory.unwrap_or(settings.memory);
        settings.batch_bytes = batch.unwrap_or(settings.batch_bytes);
        settings.proxies = proxies.map(|proxies| proxies.0.clone()).unwrap_or_default();
        let fetcher = py.detach(|| lycosa_fetch::Fetcher::start(settings));
        fetcher.map(Fetcher).map_err(|error| system("fetch", &error))
    }

    /// Slots that are free.
    fn free(&self) -> usize {
        self.0.free()
    }

    /// Requests in flight.
    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    /// Starts requests; never waits.
    fn submit(&self, py: Python<'_>, requests: &Requests) {
        py.detach(|| self.0.submit(requests.batch.take()));
    }

    /// What is complete, at most `max`; waits at most `within` seconds for the first. `LycosaError` if the thread has ended.
    fn completed(&self, py: Python<'_>, max: usize, within: f64) -> PyResult<Responses> {
        py.detach(|| {
            let responses = self.0.completed(max, seconds(within));
            if responses.is_empty() {
                self.0.check().map_err(|error| ended("fetch", &error))?;
            }
            Ok(Responses::new(responses, Some(self.0.returns())))
        })
    }

    /// Sends no request from this time on, in seconds of `CLOCK_BOOTTIME`, until a later time is set: what was not sent before ends as
    /// cancelled. A time that is set once the last one is passed holds for what is submitted from then on.
    fn set_fence(&self, at: f64) {
        self.0.set_fence(self.0.clock().at_boottime((at * 1e6) as i64));
    }

    /// Does not send what was submitted and not sent yet: it ends as cancelled.
    fn recall(&self) {
        self.0.recall();
    }

    /// Ends everything in flight at once.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel());
    }
}
