//! Names: the DNS client, and how the frontier sees it.

use std::collections::HashMap;
use std::sync::Arc;

use lycosa_frontier::Resolve;
use lycosa_names::{Client, Statistics};
use lycosa_url::Resolved;
use pyo3::prelude::*;

use crate::cache::Fallback;
use crate::clock::Clock;
use crate::errors::system;
use crate::job::Job;

/// The DNS client of a crawl, on a thread of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Names {
    client: Arc<Client>,
    clock: lycosa_url::Clock,
    fallback: Option<Fallback>,
}

impl Names {
    /// The crawl's clock.
    pub(crate) fn clock(&self) -> lycosa_url::Clock {
        self.clock
    }

    /// The client as the frontier's resolver.
    pub(crate) fn resolver(&self) -> Resolver {
        Resolver(Arc::clone(&self.client))
    }
}

#[pymethods]
impl Names {
    /// `clock`: the crawl's; without it that of this process.
    #[new]
    #[pyo3(signature = (job, clock = None))]
    fn new(py: Python<'_>, job: Job, clock: Option<&Clock>) -> PyResult<Self> {
        let clock = Clock::of(clock);
        let settings = job.names(py, clock)?;
        py.detach(|| {
            let (cache, fallback) = job.name_cache(&settings)?;
            let client = Client::start(settings, cache).map_err(|error| system("the DNS client", &error))?;
            Ok(Names { client: Arc::new(client), clock, fallback })
        })
    }

    /// Why its cache is not in the file where it was to be.
    #[getter]
    fn fallen_back(&self) -> Option<String> {
        self.fallback.as_ref().and_then(Fallback::why)
    }

    /// Names that wait for their answer.
    fn pending(&self) -> usize {
        self.client.pending()
    }

    /// Counts since the start.
    fn statistics(&self) -> HashMap<&'static str, u64> {
        statistics(&self.client.statistics())
    }
}

/// A client's counts, by name.
pub(crate) fn statistics(counts: &Statistics) -> HashMap<&'static str, u64> {
    HashMap::from([
        ("questions", counts.questions),
        ("answers", counts.answers),
        ("cache_hits", counts.cache_hits),
        ("coalesced", counts.coalesced),
        ("retries", counts.retries),
        ("timeouts", counts.timeouts),
        ("mismatched", counts.mismatched + counts.case_mismatched),
        ("truncated", counts.truncated),
        ("inferred", counts.inferred),
        ("fast", counts.fast),
        ("slow", counts.slow),
        ("failed", counts.failed),
    ])
}

/// What the frontier asks.
#[derive(Clone)]
pub(crate) struct Resolver(Arc<Client>);

impl Resolve for Resolver {
    fn submit(&mut self, names: Vec<Box<str>>) {
        self.0.submit(names);
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.0.refresh(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        self.0.drain(into);
    }
}
