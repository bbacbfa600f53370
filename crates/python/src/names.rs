//! Names: the DNS client, and how the frontier sees it.

use std::collections::HashMap;
use std::sync::Arc;

use lycosa_frontier::Resolve;
use lycosa_names::Client;
use lycosa_url::{Clock, Resolved};
use pyo3::prelude::*;

use crate::errors::system;
use crate::job::Job;

/// The DNS client of a crawl, on a thread of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Names(Arc<Client>);

impl Names {
    /// The client as the frontier's resolver.
    pub(crate) fn resolver(&self) -> Resolver {
        Resolver(Arc::clone(&self.0))
    }
}

#[pymethods]
impl Names {
    #[new]
    fn new(py: Python<'_>, job: Job) -> PyResult<Self> {
        let settings = job.names(Clock::start())?;
        let client =
            py.detach(|| Client::start(settings)).map_err(|error| system("the DNS client", &error))?;
        Ok(Names(Arc::new(client)))
    }

    /// Names that wait for their answer.
    fn pending(&self) -> usize {
        self.0.pending()
    }

    /// Counts since the start.
    fn statistics(&self) -> HashMap<&'static str, u64> {
        let s = self.0.statistics();
        HashMap::from([
            ("questions", s.questions),
            ("answers", s.answers),
            ("cache_hits", s.cache_hits),
            ("coalesced", s.coalesced),
            ("retries", s.retries),
            ("timeouts", s.timeouts),
            ("mismatched", s.mismatched + s.case_mismatched),
            ("truncated", s.truncated),
            ("failures", s.failures),
        ])
    }
}

/// What the frontier asks.
#[derive(Clone)]
pub(crate) struct Resolver(Arc<Client>);

impl Resolve for Resolver {
    fn submit(&mut self, names: Vec<Box<str>>) {
        self.0.submit(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        self.0.drain(into);
    }
}
