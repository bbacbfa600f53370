//! What is known of names without the usual resolvers: the hosts file, local data, zones with servers of their own, resolv.conf.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lycosa_names::{HostName, LocalNames, Nameserver, ZoneTable};
use lycosa_names_local::{BadAlias, LocalData, LocalTable, ResolvConf, SearchList, Surroundings};
use lycosa_url::Clock;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{SettingError, bad_name, setting, system};
use crate::job::server;

/// Adds what is here to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Search>()?;
    m.add_function(wrap_pyfunction!(check_zones, m)?)?;
    m.add_function(wrap_pyfunction!(check_local_names, m)?)?;
    m.add_function(wrap_pyfunction!(resolv_conf, m)?)
}

/// A hosts file and local data, in lines; `None` where there is neither. What is ignored in the file is told to the logger `lycosa`.
pub(crate) fn open(
    py: Python<'_>,
    hosts_file: Option<&Path>,
    lines: &[String],
) -> PyResult<Option<Arc<dyn LocalNames>>> {
    if hosts_file.is_none() && lines.is_empty() {
        return Ok(None);
    }
    let table = read(py, hosts_file, lines)?;
    warn(py, &table.warnings())?;
    Ok(Some(Arc::new(table)))
}

/// Reads both.
fn read(py: Python<'_>, hosts_file: Option<&Path>, lines: &[String]) -> PyResult<LocalTable> {
    let (data, now) = (local_data(lines)?, Clock::shared().now());
    let table = py.detach(|| LocalTable::open(hosts_file, data, now));
    table.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            let alias = error.get_ref().and_then(|why| why.downcast_ref::<BadAlias>());
            let alias = alias.map_or_else(String::new, |alias| alias.name().to_owned());
            told("local_data", &alias, &error.to_string(), "")
        }
        _ => system("the hosts file", &error),
    })
}

/// Zones and their servers, of texts such as `corp.example=192.0.2.1,192.0.2.2`.
pub(crate) fn zones(texts: &[String]) -> PyResult<ZoneTable<Vec<Nameserver>>> {
    let pairs: Vec<(&str, Vec<Nameserver>)> = texts.iter().map(|text| zone(text)).collect::<PyResult<_>>()?;
    ZoneTable::new(pairs).map_err(|why| setting("zones", texts.join("; "), why))
}

/// Domains of the own network, in normal form and without the root.
pub(crate) fn domains(texts: &[String]) -> PyResult<Vec<String>> {
    let normal = |text: &String| {
        let mut buffer = String::new();
        let name = HostName::normalize(text, &mut buffer);
        let bad = |why| setting("own_domains", text, format!("domains, such as corp.local ({why})"));
        name.map(|name| name.as_str().to_owned()).map_err(bad)
    };
    texts.iter().filter(|text| *text != ".").map(normal).collect()
}

/// The names of zones with servers of their own, the root's excepted.
pub(crate) fn zone_names(texts: &[String]) -> Vec<String> {
    let names = texts.iter().filter_map(|text| Some(text.split_once('=')?.0.trim().to_owned()));
    names.filter(|name| name != ".").collect()
}

/// A zone and its servers.
fn zone(text: &str) -> PyResult<(&str, Vec<Nameserver>)> {
    let allowed = format!(
        "a zone and its servers, such as corp.example=192.0.2.1,192.0.2.2; a server is {}",
        Nameserver::ALLOWED
    );
    let bad = || setting("zones", text, &allowed);
    let (zone, servers) = text.split_once('=').ok_or_else(bad)?;
    let parsed = servers.split(',').map(|text| server("zones", text.trim()).map_err(|_| bad()));
    Ok((zone.trim(), parsed.collect::<PyResult<_>>()?))
}

/// Local data of lines.
fn local_data(lines: &[String]) -> PyResult<LocalData> {
    LocalData::parse(&lines.join("\n")).map_err(|why| {
        // A text may hold several lines.
        let number = why.line;
        let line = lines.iter().flat_map(|text| each_line(text)).nth(number - 1).unwrap_or_default();
        told("local_data", line, &why.why, &format!("line {number}: "))
    })
}

/// The lines of a text, as they count when texts are joined: an empty one has one.
fn each_line(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// A setting that is refused, by a text that tells what is wrong and, behind `allowed: `, what is allowed.
fn told(name: &str, value: &str, why: &str, place: &str) -> PyErr {
    let allowed = why.split_once("allowed: ").map_or(why, |(_, allowed)| allowed);
    let problem = format!("{name}: {place}{why}");
    SettingError::new_err((name.to_owned(), value.to_owned(), allowed.to_owned(), problem))
}

/// Tells the logger what could not be used.
pub(crate) fn warn(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("lycosa",))?;
    for warning in warnings {
        logger.call_method1("warning", ("%s", warning))?;
    }
    Ok(())
}

/// Raises SettingError for texts that are no zones with servers.
#[pyfunction]
fn check_zones(texts: Vec<String>) -> PyResult<()> {
    zones(&texts).map(drop)
}

/// Raises SettingError for lines that are no local data, or an alias that leads to no local name; OSError for the file.
#[pyfunction]
fn check_local_names(py: Python<'_>, hosts_file: Option<PathBuf>, lines: Vec<String>) -> PyResult<()> {
    read(py, hosts_file.as_deref(), &lines).map(drop)
}

/// What a resolv.conf says; that of the system, with its environment, where no path is given.
#[pyfunction]
#[pyo3(signature = (path = None))]
fn resolv_conf(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Bound<'_, PyDict>> {
    let read = py.detach(|| match path {
        Some(path) => ResolvConf::read(&path, Surroundings::default()),
        None => ResolvConf::system(),
    });
    let conf = read.map_err(|error| system("the system's resolvers", &error))?;
    let dict = PyDict::new(py);
    dict.set_item("resolvers", conf.servers.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    dict.set_item("search", &conf.search)?;
    let options = &conf.options;
    dict.set_item("ndots", options.ndots)?;
    dict.set_item("timeout", options.timeout.map(|timeout| timeout.as_secs_f64()))?;
    dict.set_item("attempts", options.attempts)?;
    for (name, flag) in [
        ("rotate", options.rotate),
        ("use_vc", options.use_vc),
        ("trust_ad", options.trust_ad),
        ("no_aaaa", options.no_aaaa),
        ("no_tld_query", options.no_tld_query),
    ] {
        dict.set_item(name, flag)?;
    }
    dict.set_item("warnings", &conf.warnings)?;
    Ok(dict)
}

/// Search domains: which names are tried for one that was given.
#[pyclass(frozen, module = "lycosa._core")]
struct Search(SearchList);

#[pymethods]
impl Search {
    #[new]
    #[pyo3(signature = (domains, ndots = 1, no_tld_query = false))]
    fn new(domains: Vec<String>, ndots: u8, no_tld_query: bool) -> PyResult<Self> {
        let list = SearchList::new(&domains, ndots, no_tld_query);
        list.map(Search).map_err(|why| setting("search", domains.join(","), why))
    }

    /// The names to try, one after the other.
    fn names(&self, name: &str) -> PyResult<Vec<String>> {
        Ok(self.0.names(name).map_err(|why| bad_name(name, why))?.collect())
    }
}
