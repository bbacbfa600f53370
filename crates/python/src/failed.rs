//! How settled URLs had ended, to open them again: those that failed, and those that are named.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use lycosa_records::{Outcome, Request};
use lycosa_store::{LogError, first_position};
use lycosa_url::{Clock, Digest};
use pyo3::prelude::*;

use crate::errors::{self, lock};
use crate::outcomes::Outcomes;
use crate::store::Log;

impl Log {
    /// The outcomes that open settled requests again, as they are given now.
    pub(crate) fn look_up_ended(&self, requests: &[Arc<Request>]) -> Result<Vec<Outcome>, LogError> {
        let clock = self.clock.clock();
        let (now, wall_offset_us) = (clock.now(), clock.wall_offset());
        let mut wanted: HashSet<Digest> = requests.iter().map(|request| request.key()).collect();
        let mut known = match &self.failed {
            Some(failed) => lock(failed).ended(&wanted)?,
            None => HashMap::new(),
        };
        wanted.retain(|key| !known.contains_key(key));
        if !wanted.is_empty() {
            known.extend(lycosa_store::ended(&self.directory, &wanted)?);
        }
        let is_cut = first_position(&self.directory)? > 0;
        let opened = |request: &Arc<Request>| {
            // Where the log's beginning is gone its status is not known any more.
            let unknown = || is_cut.then(|| Outcome::reopened(request.url.clone(), 0, now, Ok(0)));
            let mut ended = known.remove(&request.key()).or_else(unknown)?;
            ended.response.request = Request::clone(request);
            let mut outcome = lycosa_store::reopened(ended, now);
            outcome.response.times.wall_offset_us = wall_offset_us;
            Some(outcome)
        };
        Ok(requests.iter().filter_map(opened).collect())
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
