//! Following the log for a sink.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lycosa_store::{Bodies, LogError, Logged, Position, Reader};
use lycosa_url::Clock;
use pyo3::prelude::*;

use crate::errors::{self, lock};
use crate::outcomes::Outcomes;
use crate::store::{LARGEST, REPLAY_BYTES, decoded_body, open_at};
use crate::takings::Takings;

/// Learns what was taken back between a position and where the log was read again: an output that stands there has not gone on since.
fn learn_takings(takings: &Takings, directory: &Path, position: Option<Position>) -> Result<(), LogError> {
    let known = takings.known_since();
    if position.unwrap_or(0) >= known {
        return Ok(());
    }
    let mut reader = open_at(directory, position, Bodies::None)?;
    while reader.position() < known {
        // What is damaged is told by whoever reads the rows.
        let entries = reader.read(1_000, REPLAY_BYTES).unwrap_or_default();
        if entries.is_empty() {
            break;
        }
        for Logged { entry, end } in entries {
            if let Some(outcome) = entry.into_outcome().filter(lycosa_records::Outcome::is_reopened) {
                takings.take(outcome.request().key(), end);
            }
        }
    }
    takings.is_known_since(position.unwrap_or(0));
    Ok(())
}

/// Which bodies are read.
fn bodies(with_body: bool) -> Bodies {
    if with_body { Bodies::All } else { Bodies::None }
}

/// Reads a log for a sink: the last outcomes of URLs.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct LogReader {
    reader: Mutex<Reader>,
    with_body: bool,
    max_body_bytes: usize,
    followed: Option<Followed>,
}

/// A log that is being written while it is read.
pub(crate) struct Followed {
    committed: Arc<AtomicU64>,
    takings: Arc<Takings>,
    clock: Clock,
    /// Up to where it is read.
    until: Arc<AtomicU64>,
}

impl Followed {
    /// A log whose end on the disk and whose takings are known.
    pub(crate) fn new(committed: &Arc<AtomicU64>, takings: &Arc<Takings>, clock: Clock) -> Self {
        let (committed, takings) = (Arc::clone(committed), Arc::clone(takings));
        Followed { committed, takings, clock, until: Arc::default() }
    }

    /// A reader of it from a position on.
    pub(crate) fn open(
        &self,
        directory: &Path,
        position: Option<Position>,
        with_body: bool,
    ) -> Result<Reader, LogError> {
        learn_takings(&self.takings, directory, position)?;
        Ok(open_at(directory, position, bodies(with_body))?.until(Arc::clone(&self.until)))
    }
}

impl LogReader {
    /// A reader of a log that is being written.
    pub(crate) fn following(
        reader: Reader,
        with_body: bool,
        max_body_bytes: usize,
        followed: Followed,
    ) -> Self {
        LogReader { reader: Mutex::new(reader), with_body, max_body_bytes, followed: Some(followed) }
    }

    /// Goes on as far as the log is on the disk and nothing is taken back any more.
    fn follow(&self) {
        let Some(followed) = &self.followed else { return };
        let committed = followed.committed.load(Ordering::Acquire);
        let released = followed.takings.released(followed.clock.now()).unwrap_or(committed);
        followed.until.store(released.min(committed), Ordering::Release);
    }

    /// Whether an outcome was not taken back behind it.
    fn is_kept(&self, outcome: &lycosa_records::Outcome, end: Position) -> bool {
        self.followed.as_ref().is_none_or(|followed| !followed.takings.is_taken(outcome, end))
    }
}

#[pymethods]
impl LogReader {
    /// A reader of a log that nobody writes.
    #[new]
    #[pyo3(signature = (directory, position = None, with_body = true, max_body_bytes = LARGEST))]
    fn new(
        py: Python<'_>,
        directory: PathBuf,
        position: Option<Position>,
        with_body: bool,
        max_body_bytes: usize,
    ) -> PyResult<Self> {
        let reader = py.detach(|| open_at(&directory, position, bodies(with_body)));
        let reader = Mutex::new(reader.map_err(|error| errors::log(&error))?);
        Ok(LogReader { reader, with_body, max_body_bytes, followed: None })
    }

    /// A reader of a log that nobody writes, without outcomes that were taken back or fetched again later.
    #[staticmethod]
    #[pyo3(signature = (directory, position = None, max_body_bytes = LARGEST))]
    fn ended(
        py: Python<'_>,
        directory: PathBuf,
        position: Option<Position>,
        max_body_bytes: usize,
    ) -> PyResult<Self> {
        let open = || {
            let (committed, takings) =
                (Arc::new(AtomicU64::new(Position::MAX)), Arc::new(Takings::new(Position::MAX)));
            let followed = Followed::new(&committed, &takings, Clock::shared());
            let reader = followed.open(&directory, position, true)?;
            Ok(LogReader::following(reader, true, max_body_bytes, followed))
        };
        py.detach(open).map_err(|error: LogError| errors::log(&error))
    }

    /// The next outcomes: of at most so many records, until they hold so many bytes, their decoded bodies included; none
    /// while the log has no more.
    fn read(&self, py: Python<'_>, max_entries: usize, max_bytes: usize) -> PyResult<Outcomes> {
        let outcomes = py.detach(|| {
            self.follow();
            let decode = |outcome: &mut lycosa_records::Outcome| {
                if self.with_body {
                    outcome.decoded =
                        outcome.received().and_then(|received| decoded_body(received, self.max_body_bytes));
                }
            };
            let read = lock(&self.reader).outcomes(max_entries, max_bytes, decode)?;
            let kept = read.into_iter().filter(|(outcome, end)| self.is_kept(outcome, *end));
            Ok(kept.map(|(outcome, _)| outcome).collect())
        });
        let outcomes = outcomes.map_err(|error: LogError| errors::log(&error))?;
        Ok(Outcomes::bounded(outcomes, self.max_body_bytes))
    }

    /// The position of the next frame.
    fn position(&self, py: Python<'_>) -> Position {
        py.detach(|| lock(&self.reader).position())
    }

    /// Goes on behind damage; gives how many bytes were passed over.
    fn skip_damage(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| lock(&self.reader).skip_damage()).map_err(|error| errors::log(&error))
    }
}
