//! One URL's story: the log's records joined with the frontier's rules.

use std::path::PathBuf;

use lycosa_frontier::{Admission, Rules as Robots};
use lycosa_store::Judge;
use lycosa_url::{AddressPolicy, CrawlUrl};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{self, setting};
use crate::job::{parse_scope, product};
use crate::store::{TEXTS, decoded};

/// Adds what this file defines to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(story, m)?)
}

/// The frontier's rules, asked for one URL while the log passes by.
struct Rules<'a> {
    url: &'a CrawlUrl,
    admission: Admission,
    /// The name that robots.txt knows the crawler by.
    agent: &'a str,
}

impl Judge for Rules<'_> {
    fn include(&mut self, url: &CrawlUrl) {
        self.admission.include(url);
    }

    fn check(&self, depth: u32, nofollow: bool) -> Option<&'static str> {
        self.admission.check(self.url, depth, nofollow).err().map(|refusal| refusal.as_str())
    }

    fn robots(&self, status: u16, content_encoding: Option<&str>, body: &[u8]) -> Option<String> {
        let body = decoded(&body.to_vec().into(), content_encoding, TEXTS.largest).unwrap_or_default();
        let rules = Robots::of_answer(status, &body, self.agent)?;
        let verdict = rules.verdict(self.url.path_and_query());
        let does = if verdict.allowed { "allows" } else { "forbids" };
        Some(match (verdict.line, verdict.rule()) {
            (Some(line), Some(rule)) => format!("line {line} {does} it: {rule}"),
            _ => format!("{does} it"),
        })
    }
}

/// Everything that a log tells about one URL.
#[pyfunction]
#[pyo3(signature = (directory, url, scope, max_depth, user_agent, allow_ports = Vec::new()))]
fn story<'py>(
    py: Python<'py>,
    directory: PathBuf,
    url: &str,
    scope: &str,
    max_depth: Option<u32>,
    user_agent: &str,
    allow_ports: Vec<u16>,
) -> PyResult<Bound<'py, PyAny>> {
    let url = CrawlUrl::parse(url).map_err(|bad| setting("url", url, bad.allowed()))?;
    let policy = AddressPolicy::default().with_ports(allow_ports);
    let mut rules = Rules {
        url: &url,
        admission: Admission::new(parse_scope(scope)?, max_depth, policy),
        agent: product(user_agent),
    };
    let told = py.detach(|| lycosa_store::story(&directory, &url, &mut rules));
    let told = told.map_err(|error| errors::log(&error))?;
    // A story is short and told once: Python's own reader makes its dictionaries.
    let text = serde_json::to_string(&told).map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}
