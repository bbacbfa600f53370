//! One URL's story: the log's records joined with the frontier's rules.

use std::path::PathBuf;

use lycosa_frontier::Admission;
use lycosa_store::Judge;
use lycosa_url::CrawlUrl;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{self, setting};
use crate::job::parse_scope;

/// Adds what this file defines to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(story, m)?)
}

/// The frontier's rules, asked for one URL while the log passes by.
struct Rules<'a> {
    url: &'a CrawlUrl,
    admission: Admission,
}

impl Judge for Rules<'_> {
    fn include(&mut self, url: &CrawlUrl) {
        self.admission.include(url);
    }

    fn check(&self, depth: u32, nofollow: bool) -> Option<&'static str> {
        self.admission.check(self.url, depth, nofollow).err().map(|refusal| refusal.as_str())
    }
}

/// Everything that a log tells about one URL.
#[pyfunction]
#[pyo3(signature = (directory, url, scope, max_depth))]
fn story<'py>(
    py: Python<'py>,
    directory: PathBuf,
    url: &str,
    scope: &str,
    max_depth: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let url = CrawlUrl::parse(url).map_err(|bad| setting("url", url, bad.allowed()))?;
    let mut rules = Rules { url: &url, admission: Admission::new(parse_scope(scope)?, max_depth) };
    let told = py.detach(|| lycosa_store::story(&directory, &url, &mut rules));
    let told = told.map_err(|error| errors::log(&error))?;
    // A story is short and told once: Python's own reader makes its dictionaries.
    let text = serde_json::to_string(&told).map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}
