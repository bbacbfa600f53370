//! How settled URLs had ended, to open them again: those that failed, and those that are named.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use lycosa_records::Outcome;
use lycosa_store::{LogError, first_position};
use lycosa_url::{Clock, CrawlUrl};
use pyo3::prelude::*;

use crate::errors::{self, lock};
use crate::outcomes::Outcomes;
use crate::store::Log;

impl Log {
    /// The outcomes that open settled URLs again.
    pub(crate) fn look_up_ended(&self, urls: &[String]) -> Result<Vec<Outcome>, LogError> {
        let clock = self.clock.clock();
        let (now, wall_offset_us) = (clock.now(), clock.wall_offset());
        let mut wanted: HashSet<String> = urls.iter().cloned().collect();
        let mut known = match &self.failed {
            Some(failed) => lock(failed).ended(&wanted)?,
            None => HashMap::new(),
        };
        wanted.retain(|url| !known.contains_key(url));
        if !wanted.is_empty() {
            known.extend(lycosa_store::ended(&self.directory, &wanted)?);
            if first_position(&self.directory)? > 0 {
                // Its status is not known any more.
                for url in wanted.into_iter().filter(|url| !known.contains_key(url)).collect::<Vec<_>>() {
                    if let Ok(parsed) = CrawlUrl::parse(&url) {
                        known.insert(url, Outcome::reopened(parsed, 0, now, Ok(0)));
                    }
                }
            }
        }
        let opened = |url: &String| {
            let mut ended = known.remove(url)?;
            (ended.response.request.depth, ended.response.request.chain) = (0, Vec::new());
            let mut outcome = lycosa_store::reopened(ended, now);
            outcome.response.times.wall_offset_us = wall_offset_us;
            Some(outcome)
        };
        Ok(urls.iter().filter_map(opened).collect())
    }
}

/// URLs that failed, to be opened again.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct FailedUrls {
    found: Mutex<Option<lycosa_store::Found>>,
    clock: Clock,
}

impl FailedUrls {
    /// What was found; nothing where no list is kept.
    pub(crate) fn new(found: Option<lycosa_store::Found>, clock: Clock) -> Self {
        FailedUrls { found: Mutex::new(found), clock }
    }
}

#[pymethods]
impl FailedUrls {
    /// The next of them, each once, as outcomes that open them again; none when there are no more.
    fn read(&self, py: Python<'_>, max: usize) -> PyResult<Outcomes> {
        let outcomes = py.detach(|| {
            let (now, wall_offset_us) = (self.clock.now(), self.clock.wall_offset());
            let found = lock(&self.found).as_mut().map(|found| found.read(max, now)).transpose();
            let mut outcomes = found?.unwrap_or_default();
            outcomes.iter_mut().for_each(|outcome| outcome.response.times.wall_offset_us = wall_offset_us);
            Ok(outcomes)
        });
        outcomes.map(Outcomes::new).map_err(|error: LogError| errors::log(&error))
    }
}
