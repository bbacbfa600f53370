//! Pages of a partition of a cluster: rows with their bodies as messages for outputs, and what is taken back of them.
//!
//! Guarantee: rows that are read have each URL's last outcome, without those that a later message takes back, once that message was
//! learnt.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lycosa_records::frame::Kind;
use lycosa_records::{Body, Outcome, Record as _, RecordError, decode, encode};
use lycosa_url::Digest;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::{self, lock};
use crate::outcomes::Outcomes;
use crate::store::decoded_body;

/// The position behind a message of pages.
type Position = u64;

/// Adds the classes.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PageWriter>()?;
    m.add_class::<PageReader>()
}

/// Encodes outcomes as messages of pages. Larger bodies are written to files in a directory of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct PageWriter {
    bodies: PathBuf,
    name: String,
    inline_bytes: usize,
    message_bytes: usize,
    /// Files that were written.
    written: AtomicU64,
}

impl PageWriter {
    /// An outcome, its body in a file if it is larger than a message may have.
    fn placed(&self, outcome: &Arc<Outcome>) -> io::Result<Arc<Outcome>> {
        let Some(body) = outcome.received().and_then(|received| received.body.memory()) else {
            return Ok(Arc::clone(outcome));
        };
        if body.len() <= self.inline_bytes {
            return Ok(Arc::clone(outcome));
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let name = Path::new(&self.name).join(format!("{number:016x}"));
        let path = self.bodies.join(&name);
        let folder = self.bodies.join(&self.name);
        fs::create_dir_all(&folder)?;
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        file.write_all(body)?;
        file.sync_data()?;
        File::open(folder)?.sync_all()?;
        let mut placed = Outcome::clone(outcome);
        set_body(&mut placed, Body::File { path: name.into(), offset: 0, length: body.len() as u64 });
        Ok(Arc::new(placed))
    }

    /// The messages of outcomes, and whether some of them take earlier ones back.
    fn messages(&self, outcomes: &[Arc<Outcome>]) -> PyResult<(Vec<Vec<u8>>, bool)> {
        let (mut messages, mut piece, mut bytes) = (Vec::new(), Vec::<Arc<Outcome>>::new(), 0);
        let mut takes_back = false;
        for outcome in outcomes.iter().filter(|outcome| is_told(outcome)) {
            takes_back |= outcome.is_reopened();
            let failed = |error| errors::storage(format!("{}: {error}", self.bodies.display()));
            let placed = self.placed(outcome).map_err(failed)?;
            bytes += placed.memory();
            piece.push(placed);
            if bytes >= self.message_bytes {
                messages.push(std::mem::take(&mut piece));
                bytes = 0;
            }
        }
        messages.extend((!piece.is_empty()).then_some(piece));
        let encoded: Result<Vec<_>, _> =
            messages.iter().map(|piece| encode(piece.iter().map(AsRef::as_ref))).collect();
        Ok((encoded.map_err(|error| errors::record(&error))?, takes_back))
    }
}

/// Sets where the body of a response is.
fn set_body(outcome: &mut Outcome, body: Body) {
    if let Ok(received) = &mut outcome.response.result {
        received.body = body;
    }
}

/// Whether outputs are told of an outcome: a page's last one, or one that takes an earlier one back.
fn is_told(outcome: &Outcome) -> bool {
    outcome.kind() == Kind::Page && (!outcome.retry || outcome.is_reopened())
}

#[pymethods]
impl PageWriter {
    /// `bodies`: the directory of files that all workers share; `name`: of this writer, and of its folder there. `inline_bytes`: the
    /// largest body within a message; `message_bytes`: after so many bytes a message is complete.
    #[new]
    fn new(bodies: PathBuf, name: String, inline_bytes: usize, message_bytes: usize) -> Self {
        PageWriter { bodies, name, inline_bytes, message_bytes, written: AtomicU64::new(0) }
    }

    /// The messages of outcomes; and whether some of these take earlier ones back.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        outcomes: &Outcomes,
    ) -> PyResult<(Vec<Bound<'py, PyBytes>>, bool)> {
        let all = outcomes.batch.all();
        let (messages, takes_back) = py.detach(|| self.messages(&all))?;
        Ok((messages.iter().map(|message| PyBytes::new(py, message)).collect(), takes_back))
    }
}

/// Reads messages of pages of one partition, in their order.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct PageReader {
    bodies: PathBuf,
    with_body: bool,
    max_body_bytes: usize,
    /// Requests that were taken back, by what dedup knows them, and the newest message that did so.
    taken: Mutex<HashMap<Digest, Position>>,
}

impl PageReader {
    /// The rows of a message, and how many bodies are missing.
    fn read(&self, message: &Bytes, position: Position) -> Result<(Vec<Outcome>, usize), Unread> {
        let mut taken = lock(&self.taken);
        let (mut rows, mut missing) = (Vec::<Outcome>::new(), 0);
        for mut outcome in decode::<Outcome>(message)? {
            let key = outcome.request().key();
            if outcome.is_reopened() {
                rows.retain(|row| row.request().key() != key);
                note(&mut taken, key, position);
            } else if taken.get(&key).is_none_or(|at| *at <= position) {
                missing += usize::from(self.with_body && !self.complete(&mut outcome)?);
                rows.push(outcome);
            }
        }
        Ok((rows, missing))
    }

    /// Reads an outcome's body, and decodes it; gives whether it is there. Fails if that cannot be known: the directory does not answer.
    fn complete(&self, outcome: &mut Outcome) -> io::Result<bool> {
        if let Some(Body::File { path, offset, length }) = outcome.received().map(|received| &received.body) {
            let path = self.bodies.join(path).into();
            match (Body::File { path, offset: *offset, length: *length }).read(Some(&self.bodies)) {
                Ok(body) => set_body(outcome, Body::Memory(body)),
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.bodies.is_dir() => {
                    return Ok(false);
                }
                // Not the system's: the file is too short, or leads out of the directory.
                Err(error) if error.raw_os_error().is_none() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        outcome.decoded = outcome.received().and_then(|received| decoded_body(received, self.max_body_bytes));
        Ok(true)
    }
}

/// Notes that a message takes a request back; a later one may have been learnt before.
fn note(taken: &mut HashMap<Digest, Position>, key: Digest, position: Position) {
    let at = taken.entry(key).or_insert(position);
    *at = position.max(*at);
}

/// Why a message has no rows.
enum Unread {
    Record(RecordError),
    Body(io::Error),
}

impl From<RecordError> for Unread {
    fn from(error: RecordError) -> Self {
        Unread::Record(error)
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Unread::Body(error)
    }
}

#[pymethods]
impl PageReader {
    /// `bodies`: the directory that `PageWriter` has; larger decoded bodies than `max_body_bytes` are left out.
    #[new]
    fn new(bodies: PathBuf, with_body: bool, max_body_bytes: usize) -> Self {
        PageReader { bodies, with_body, max_body_bytes, taken: Mutex::default() }
    }

    /// Learns what a message takes back of earlier ones; `position` is behind it.
    fn learn(&self, py: Python<'_>, message: PyBackedBytes, position: Position) -> PyResult<()> {
        let message = Bytes::from_owner(message);
        let learnt = py.detach(|| {
            let mut taken = lock(&self.taken);
            for outcome in decode::<Outcome>(&message)?.iter().filter(|outcome| outcome.is_reopened()) {
                note(&mut taken, outcome.request().key(), position);
            }
            Ok(())
        });
        learnt.map_err(|error: RecordError| errors::record(&error))
    }

    /// The rows of a message, without those that were taken back, and how many of their bodies are missing; `position` is behind it.
    fn rows(
        &self,
        py: Python<'_>,
        message: PyBackedBytes,
        position: Position,
    ) -> PyResult<(Outcomes, usize)> {
        let message = Bytes::from_owner(message);
        let read = py.detach(|| self.read(&message, position));
        let (rows, missing) = read.map_err(|error| match error {
            Unread::Record(error) => errors::record(&error),
            Unread::Body(error) => errors::storage(format!("{}: {error}", self.bodies.display())),
        })?;
        Ok((Outcomes::bounded(rows, self.max_body_bytes), missing))
    }

    /// Forgets what was taken back by messages up to a position: all of them are read.
    fn forget(&self, position: Position) {
        lock(&self.taken).retain(|_, at| *at > position);
    }
}
