//! The binding of ledger files: conversions and one call each. Python's side is `lycosa.simnet.ledger`.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;

use lycosa_simnet::{ALWAYS, Query, Saved, Series, World, judge, read};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::simnet::raise;

/// Adds what this file defines to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Ledger>()
}

/// A ledger file that was read; everything it says is JSON. Times are seconds since the simnet started.
#[pyclass(module = "lycosa._core", frozen)]
struct Ledger {
    /// Records and parameters.
    saved: Saved,
    /// What they are judged by.
    world: World,
}

#[pymethods]
impl Ledger {
    /// Reads a file.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| {
            let saved = read(&path)?;
            let world = saved.world()?;
            Ok((saved, world))
        });
        let (saved, world) = opened.map_err(|error| raise(py, &error))?;
        Ok(Self { saved, world })
    }

    /// The parameters that it was written with.
    fn header(&self) -> PyResult<String> {
        json(&self.saved.header)
    }

    /// What is missing: `(in one line, as JSON)`; nothing when it was closed and is whole.
    fn damage(&self) -> PyResult<Option<(String, String)>> {
        let damage = self.saved.damage.as_ref();
        damage.map(|damage| Ok((damage.to_string(), json(damage)?))).transpose()
    }

    /// Judges a part of its time.
    #[pyo3(signature = (since = None, until = None))]
    fn report(&self, py: Python<'_>, since: Option<f64>, until: Option<f64>) -> PyResult<String> {
        let Self { saved, world } = self;
        let window = window(since, until);
        let made = || {
            judge(world, &saved.header.params, &saved.header.ports, &saved.records, &window, &HashSet::new())
        };
        json(&py.detach(made))
    }

    /// Lists requests with their verdicts.
    #[pyo3(signature = (*, host = None, address = None, violations = false, since = None, until = None, limit = None))]
    // Keyword arguments only: their number harms nobody.
    #[allow(clippy::too_many_arguments)]
    fn query(
        &self,
        py: Python<'_>,
        host: Option<&str>,
        address: Option<&str>,
        violations: bool,
        since: Option<f64>,
        until: Option<f64>,
        limit: Option<usize>,
    ) -> PyResult<String> {
        let Self { saved, world } = self;
        let query = Query::parse(world, host, address).map_err(|error| raise(py, &error))?;
        let (window, limit) = (window(since, until), limit.unwrap_or(usize::MAX));
        let query = Query { violations, window, limit, ..query };
        json(&py.detach(|| query.run(world, &saved.header.params, &saved.header.ports, &saved.records)))
    }

    /// Counts by time, for a plot.
    #[pyo3(signature = (since = None, until = None))]
    fn series(&self, py: Python<'_>, since: Option<f64>, until: Option<f64>) -> PyResult<String> {
        let Self { saved, world } = self;
        let window = window(since, until);
        let made = || Series::new(world, &saved.header.params, &saved.header.ports, &saved.records, &window);
        json(&py.detach(made))
    }
}

/// Seconds as the ledger's microseconds; a number too large or small is its end or beginning.
fn window(since: Option<f64>, until: Option<f64>) -> Range<u64> {
    let micro = |s: f64| (s * 1e6) as u64;
    since.map_or(ALWAYS.start, micro)..until.map_or(ALWAYS.end, micro)
}

/// Anything as JSON.
fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
