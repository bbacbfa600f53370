//! URLs: the same code for Python and Rust.

use lycosa_url::{CrawlUrl, Network, registered_domain};
use pyo3::prelude::*;

use crate::errors::setting;

/// Adds the functions.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(canonical_url, m)?)?;
    m.add_function(wrap_pyfunction!(domain_of, m)?)?;
    m.add_function(wrap_pyfunction!(check_network, m)?)?;
    m.add_function(wrap_pyfunction!(check_resolver, m)?)
}

/// The canonical form of an absolute URL.
#[pyfunction]
fn canonical_url(url: &str) -> PyResult<String> {
    let canonical = CrawlUrl::parse(url).map_err(|bad| setting("URL", url, bad.allowed()))?;
    Ok(canonical.as_str().to_owned())
}

/// The registered domain of an absolute URL's host.
#[pyfunction]
fn domain_of(url: &str) -> PyResult<String> {
    let canonical = CrawlUrl::parse(url).map_err(|bad| setting("URL", url, bad.allowed()))?;
    Ok(registered_domain(canonical.host()).to_owned())
}

/// Refuses what is no address and no network.
#[pyfunction]
fn check_network(text: &str) -> PyResult<()> {
    text.parse::<Network>().map(|_| ()).map_err(|allowed| setting("allow_addresses", text, allowed))
}

/// Refuses what is no resolver's address.
#[pyfunction]
fn check_resolver(text: &str) -> PyResult<()> {
    crate::job::server(text).map(|_| ())
}
