//! robots.txt: the frontier's rules, for `why`, tests and benchmarks.

use lycosa_frontier::Rules;
use pyo3::prelude::*;

/// The rules of one robots.txt for one agent.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Robots(Rules);

#[pymethods]
impl Robots {
    #[new]
    fn new(body: &[u8], agent: &str) -> Self {
        Robots(Rules::parse(body, agent))
    }

    /// Whether a URL may be fetched, the number of the line that says so, and its rule.
    fn verdict(&self, url: &str) -> PyResult<(bool, Option<u32>, Option<String>)> {
        let url = crate::url::parse(url)?;
        let verdict = self.0.verdict(url.path_and_query());
        Ok((verdict.allowed, verdict.line, verdict.rule()))
    }

    /// Whether each of many paths, with their queries, may be fetched.
    fn allows(&self, py: Python<'_>, paths: Vec<pyo3::pybacked::PyBackedStr>) -> Vec<bool> {
        py.detach(|| paths.iter().map(|path| self.0.allows(path)).collect())
    }

    /// The pause that the site asks for, in seconds.
    #[getter]
    fn crawl_delay(&self) -> Option<f64> {
        self.0.crawl_delay().map(|delay| delay.as_secs_f64())
    }
}
