//! What Python gives to a cache.

use lycosa_names::cache::{Addresses, Answer, Trouble};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// One resolution to be cached: a name; its addresses, or what became of it; its TTL in seconds; how many milliseconds resolving
/// took.
pub(super) type Entry = (PyBackedStr, Outcome, i64, u32);

/// The addresses of a name, or what became of it.
#[derive(FromPyObject)]
pub(super) enum Outcome {
    State(PyBackedStr),
    Addresses(Vec<PyBackedStr>),
}

impl Outcome {
    /// As caches take it; or why not.
    pub(super) fn answer(&self) -> Result<Answer, String> {
        let failed = |trouble| Answer::Failed { trouble, attempts: 1 };
        match self {
            Outcome::State(state) => match &**state {
                "nxdomain" => Ok(Answer::NxDomain),
                "nodata" => Ok(Answer::NoData),
                "servfail" => Ok(failed(Trouble::ServerFailure)),
                "timeout" => Ok(failed(Trouble::TimeOut)),
                other => Err(format!(
                    "{other:?} is no state; allowed: nxdomain, nodata, servfail, timeout, or a list of addresses"
                )),
            },
            Outcome::Addresses(texts) => {
                if texts.is_empty() {
                    return Err("there is no address; allowed: addresses, or nodata".to_owned());
                }
                let parse = |text: &PyBackedStr| {
                    text.parse().map_err(|_| format!("{:?} is no IPv4 or IPv6 address", &**text))
                };
                let addresses = texts.iter().map(parse).collect::<Result<Vec<std::net::IpAddr>, _>>()?;
                Ok(Answer::Addresses(Addresses::new(addresses)))
            }
        }
    }
}
