//! Records of the log as a batch: what a frontier is restored from.

use bytes::Bytes;
use lycosa_records::{Entry, MAX_ROBOTS_BYTES, Purpose, decode_entries, decode_journal, encode_entries};
use lycosa_store::{Logged, Position};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::batch_class::{Reduced, reduced};
use crate::errors;
use crate::outcomes::Outcomes;
use crate::store::{LARGEST, decoded_body};

/// Records of the log, in its order.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Entries {
    pub(crate) entries: Vec<Logged>,
    /// Where the log goes on.
    position: Position,
}

impl Entries {
    /// What was read, and where the log goes on.
    pub(crate) fn new(mut entries: Vec<Logged>, position: Position) -> Self {
        entries.iter_mut().for_each(|logged| complete(&mut logged.entry));
        Entries { entries, position }
    }
}

#[pymethods]
impl Entries {
    /// The batch of bytes that `encode` gave, in this process or another one.
    #[classmethod]
    fn decode(_: &Bound<'_, PyType>, py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let message = Bytes::copy_from_slice(data);
        let read = py.detach(|| {
            let position = message.last_chunk::<8>().map(|position| u64::from_le_bytes(*position))?;
            Some((position, decode_entries(&message.slice(..message.len() - 8))))
        });
        let (position, entries) =
            read.ok_or_else(|| PyValueError::new_err("no batch of records of the log"))?;
        let entries = entries.map_err(|error| errors::record(&error))?;
        let entries = entries.into_iter().map(|(entry, end)| Logged { entry, end }).collect();
        Ok(Entries { entries, position })
    }

    /// The records of a message of a journal; `position` is behind it.
    #[staticmethod]
    fn of_journal(py: Python<'_>, message: &[u8], position: Position) -> PyResult<Self> {
        let read = py.detach(|| decode_journal(message)).map_err(|error| errors::record(&error))?;
        Ok(Entries::new(read.into_iter().map(|entry| Logged { entry, end: position }).collect(), position))
    }

    /// The outcomes among them.
    fn outcomes(&self) -> Outcomes {
        let outcomes = self.entries.iter().filter_map(|logged| logged.entry.clone().into_outcome());
        Outcomes::new(outcomes.collect())
    }

    /// The batch as bytes.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let encoded = py.detach(|| {
            let entries = self.entries.iter().map(|logged| (&logged.entry, logged.end));
            let mut message = encode_entries(entries)?;
            message.extend_from_slice(&self.position.to_le_bytes());
            Ok(message)
        });
        encoded.map(|message| PyBytes::new(py, &message)).map_err(|error| errors::record(&error))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), slf.get().encode(slf.py())?)
    }

    /// Where the log goes on behind them.
    #[getter]
    fn position(&self) -> Position {
        self.position
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }
}

/// Fills in what records of version 1 lack: the text of a robots.txt, and its mark.
fn complete(entry: &mut Entry<'static>) {
    let Entry::Outcome(outcome) = entry else { return };
    let is_robots = outcome.request().purpose == Purpose::Robots;
    if is_robots && outcome.rules.is_none() && outcome.received().is_some() {
        let outcome = outcome.to_mut();
        let text = outcome.received().and_then(|received| decoded_body(received, LARGEST));
        // A copy: what is beyond the limit must not stay in memory.
        outcome.rules =
            text.map(|text| Bytes::copy_from_slice(&text[..text.len().min(MAX_ROBOTS_BYTES + 1)]));
        outcome.set_mark();
    }
}
