//! How settled URLs had ended, to open them again: those that failed, and those that are named.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use lycosa_store::{LogError, Outcome, first_position};
use lycosa_url::Clock;
use pyo3::prelude::*;

use crate::batch::Pages;
use crate::errors::{self, lock};
use crate::store::Log;

impl Log {
    /// The pages that open settled URLs again.
    pub(crate) fn look_up_ended(&self, urls: &[String]) -> Result<Vec<lycosa_url::Page>, LogError> {
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
                    let outcome = Outcome { url: url.clone().into(), status: Some(0), ..Outcome::default() };
                    known.insert(url, outcome);
                }
            }
        }
        let page = |url: &String| {
            let outcome = Outcome { depth: 0, chain: Vec::new(), ..known.remove(url)? };
            let mut page = lycosa_store::reopened(outcome, now)?;
            page.response.times.wall_offset_us = wall_offset_us;
            Some(page)
        };
        Ok(urls.iter().filter_map(page).collect())
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
    fn read(&self, py: Python<'_>, max: usize) -> PyResult<Pages> {
        let pages = py.detach(|| {
            let (now, wall_offset_us) = (self.clock.now(), self.clock.wall_offset());
            let found = lock(&self.found).as_mut().map(|found| found.read(max, now)).transpose();
            let mut pages = found?.unwrap_or_default();
            pages.iter_mut().for_each(|page| page.response.times.wall_offset_us = wall_offset_us);
            Ok(pages)
        });
        pages.map(Pages::new).map_err(|error: LogError| errors::log(&error))
    }
}
