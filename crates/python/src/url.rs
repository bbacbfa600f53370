//! URLs: the same code for Python and Rust.

use std::collections::HashMap;

use lycosa_url::{
    AddressPolicy, Base, CrawlUrl, FailureKind, Network, PUBLIC_SUFFIX_LIST, RingKey, digest_of,
    registered_domain,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::setting;
use crate::job::Job;

/// Adds the functions.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("FAILURE_KINDS", failure_kinds(m.py())?)?;
    m.add_function(wrap_pyfunction!(canonical_url, m)?)?;
    m.add_function(wrap_pyfunction!(canonical_link, m)?)?;
    m.add_function(wrap_pyfunction!(domain_of, m)?)?;
    m.add_function(wrap_pyfunction!(public_suffix_list, m)?)?;
    m.add_function(wrap_pyfunction!(ring_key, m)?)?;
    m.add_class::<Ring>()?;
    m.add_function(wrap_pyfunction!(check_network, m)?)?;
    m.add_function(wrap_pyfunction!(check_port, m)?)?;
    m.add_function(wrap_pyfunction!(is_permitted_address, m)?)?;
    m.add_function(wrap_pyfunction!(check_resolver, m)?)
}

/// All kinds of failures by their stable names: meaning, group, whether another try later may well end otherwise, and whether one
/// counts only when it comes a second time.
fn failure_kinds(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    for kind in FailureKind::all() {
        let told = PyDict::new(py);
        told.set_item("meaning", kind.meaning())?;
        told.set_item("group", kind.group())?;
        told.set_item("transient", kind.is_transient())?;
        told.set_item("doubtful", kind.is_doubtful())?;
        kinds.set_item(kind.as_str(), told)?;
    }
    Ok(kinds)
}

/// An absolute URL, or what is allowed.
pub(crate) fn parse(url: &str) -> PyResult<CrawlUrl> {
    CrawlUrl::parse(url).map_err(|bad| setting("URL", url, bad.allowed()))
}

/// The canonical form of an absolute URL.
#[pyfunction]
fn canonical_url(url: &str) -> PyResult<String> {
    Ok(parse(url)?.as_str().to_owned())
}

/// The canonical form of an absolute URL that a page links to, by the job's rules.
#[pyfunction]
fn canonical_link(url: &str, job: Job) -> PyResult<String> {
    let (parsed, rules) = (parse(url)?, job.rules());
    let link = Base::with_rules(&parsed, &rules).and_then(|base| base.join(parsed.as_str()));
    Ok(link.map_err(|bad| setting("URL", url, bad.allowed()))?.as_str().to_owned())
}

/// The registered domain of an absolute URL's host.
#[pyfunction]
fn domain_of(url: &str) -> PyResult<String> {
    Ok(registered_domain(parse(url)?.host()).to_owned())
}

/// Which Public Suffix List is compiled in.
#[pyfunction]
fn public_suffix_list() -> HashMap<&'static str, &'static str> {
    let list = PUBLIC_SUFFIX_LIST;
    HashMap::from([("version", list.version), ("date", list.date), ("digest", list.digest)])
}

/// What of an absolute URL a ring looks at.
#[pyfunction]
#[pyo3(signature = (url, by="host"))]
fn ring_key(url: &str, by: &str) -> PyResult<String> {
    Ok(ring_key_named(by)?.text(&parse(url)?).to_owned())
}

/// What of a URL a ring looks at, by its name.
pub(crate) fn ring_key_named(name: &str) -> PyResult<RingKey> {
    match name {
        "host" => Ok(RingKey::Host),
        "domain" => Ok(RingKey::Domain),
        "url" => Ok(RingKey::Url),
        other => Err(setting("by", other, "host, domain or url")),
    }
}

/// A ring of consistent hashing.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Ring(pub(crate) lycosa_url::Ring);

#[pymethods]
impl Ring {
    #[new]
    #[pyo3(signature = (nodes, virtual_nodes=lycosa_url::DEFAULT_VIRTUAL_NODES))]
    fn new(nodes: HashMap<String, f64>, virtual_nodes: u32) -> PyResult<Self> {
        let listed: Vec<(&str, f64)> = nodes.iter().map(|(name, weight)| (&**name, *weight)).collect();
        let ring = lycosa_url::Ring::new(&listed, virtual_nodes);
        ring.map(Ring).map_err(|bad| setting("nodes", format!("{nodes:?}"), bad.to_string()))
    }

    /// The owner of a key, then who takes over when it fails: at most `count` names.
    #[pyo3(signature = (key, count=1))]
    fn owners(&self, key: &str, count: usize) -> Vec<&str> {
        self.0.owners(&digest_of(key), count)
    }
}

/// Refuses what is no address and no network.
#[pyfunction]
fn check_network(text: &str) -> PyResult<()> {
    text.parse::<Network>().map(|_| ()).map_err(|allowed| setting("allow_addresses", text, allowed))
}

/// Whether an address is one of the public Internet, or of a network that is allowed. Refuses what is no address.
#[pyfunction]
fn is_permitted_address(address: &str, allowed: Vec<String>) -> PyResult<bool> {
    let networks: Result<Vec<Network>, _> = allowed.iter().map(|text| text.parse()).collect();
    let networks =
        networks.map_err(|expected| setting("allow_addresses", format!("{allowed:?}"), expected))?;
    let address = address.parse().map_err(|_| setting("address", address, "an IPv4 or IPv6 address"))?;
    Ok(AddressPolicy::new(networks).permits(address))
}

/// Refuses a URL at a port that no page is fetched from and that the job does not allow.
#[pyfunction]
fn check_port(url: &str, allowed: Vec<u16>) -> PyResult<()> {
    permit_port(&parse(url)?, &AddressPolicy::default().with_ports(allowed))
}

/// Refuses a URL at a port that a policy does not permit.
pub(crate) fn permit_port(url: &CrawlUrl, policy: &AddressPolicy) -> PyResult<()> {
    let port = url.port();
    if policy.permits_port(port) {
        return Ok(());
    }
    let allowed = format!(
        "a port that browsers do not block, or {port} in allow_ports: another protocol's servers listen there"
    );
    Err(setting("URL", url.as_str(), allowed))
}

/// A resolver's address as it is told everywhere; refuses what is none.
#[pyfunction]
fn check_resolver(text: &str) -> PyResult<String> {
    crate::job::server(crate::job::RESOLVERS, text).map(|server| server.to_string())
}
