//! The log: writing it, reading it again, and following it.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lycosa_records::Entry;
use lycosa_records::columns::{Columns as _, TextDecoder};
use lycosa_store::{
    Bodies, LogError, LogSettings, Logged, Position, Reader, Summary, encode, first_position,
};
use lycosa_url::{FailureKind, Micros};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::clock::{Clock, KeptClock};
use crate::counted_lock::CountedLock;
use crate::entries::Entries;
use crate::errors::{self, lock, setting};
use crate::failed::FailedUrls;
use crate::follow::{Followed, LogReader};
use crate::job::seconds;
use crate::outcomes::Outcomes;
use crate::requests::Requests;
use crate::takings::Takings;

/// Bytes of a decoded body, where no job says otherwise: the default of `parse.max_decoded_bytes`.
pub(crate) const LARGEST: usize = 32 << 20;

/// How bodies become text.
pub(crate) const TEXTS: TextDecoder =
    TextDecoder { decode: lycosa_parse::decode_text_within, largest: LARGEST };

/// Undoes a body's content coding; `None` where that is not possible within so many bytes.
pub(crate) fn decoded(body: &Bytes, coding: Option<&str>, largest: usize) -> Option<Bytes> {
    lycosa_fetch::decode(body, coding, largest).ok()
}

/// The same of a response's body that is in memory.
pub(crate) fn decoded_body(received: &lycosa_records::Received, largest: usize) -> Option<Bytes> {
    decoded(received.body.memory()?, received.head.get("content-encoding").as_deref(), largest)
}

/// Adds what Python has to know of columns and of the log's layout.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let columns = PyDict::new(m.py());
    for column in lycosa_records::Outcome::columns() {
        columns.set_item(column.name, column.meaning)?;
    }
    let usual = lycosa_records::Outcome::columns().iter().filter(|column| column.is_usual);
    m.add("COLUMNS", columns)?;
    let types = PyDict::new(m.py());
    for column in lycosa_records::Outcome::columns() {
        types.set_item(column.name, column.type_name())?;
    }
    m.add("COLUMN_TYPES", types)?;
    m.add("USUAL_FIELDS", usual.map(|column| column.name).collect::<Vec<_>>())?;
    m.add("SEGMENT_HEADER_BYTES", lycosa_store::SEGMENT_HEADER_BYTES)?;
    m.add("FIELDS", lycosa_records::Outcome::columns().iter().map(|column| column.name).collect::<Vec<_>>())
}

/// The writer of a crawl's log.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Log {
    pub(crate) inner: CountedLock<(lycosa_store::Log, Summary)>,
    pub(crate) directory: PathBuf,
    /// Asked without waiting for an append.
    committed: Arc<AtomicU64>,
    torn: Option<lycosa_store::Torn>,
    /// What failed. Locked after `inner`.
    pub(crate) failed: Option<Mutex<lycosa_store::Failed>>,
    pub(crate) clock: KeptClock,
    /// When this process opened it.
    opened: Micros,
    pub(crate) takings: Arc<Takings>,
    /// Where `read` was last.
    reader: Mutex<Option<Reader>>,
}

#[pymethods]
impl Log {
    #[new]
    #[pyo3(signature = (directory, segment_bytes, commit_bytes = None, commit_interval = None, failed = None))]
    fn new(
        py: Python<'_>,
        directory: PathBuf,
        segment_bytes: u64,
        commit_bytes: Option<u64>,
        commit_interval: Option<f64>,
        failed: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut settings = LogSettings { segment_bytes, ..LogSettings::default() };
        settings.commit_bytes = commit_bytes.unwrap_or(settings.commit_bytes);
        if let Some(given) = commit_interval {
            let allowed = || setting("store.commit_interval", given, "seconds from 0 on");
            settings.commit_interval = Duration::try_from_secs_f64(given).map_err(|_| allowed())?;
        }
        let log = py.detach(|| lycosa_store::Log::open(&directory, settings));
        let log = log.map_err(|error| errors::log(&error))?;
        let (committed, torn, end) = (log.committed_position(), log.torn(), log.end());
        let inner = CountedLock::new((log, Summary::default()));
        let clock = KeptClock::open(&directory);
        let opened = clock.clock().now();
        let failed = failed.map(|failed| Mutex::new(lycosa_store::Failed::new(failed)));
        let takings = Arc::new(Takings::new(end));
        let reader = Mutex::default();
        Ok(Log { inner, directory, committed, torn, failed, clock, opened, takings, reader })
    }

    /// The crawl's clock, which goes on with the time of the process before.
    #[getter]
    fn clock(&self) -> Clock {
        Clock(self.clock.clock())
    }

    /// Records accepted seeds.
    fn append_seeds(&self, py: Python<'_>, seeds: Vec<String>) -> PyResult<()> {
        let seeds = seeds.iter().map(|seed| Ok(lycosa_records::Request::get(crate::url::parse(seed)?)));
        self.accept(py, &seeds.collect::<PyResult<Vec<_>>>()?)
    }

    /// Records accepted requests: seeds, and links that other frontiers have handed over.
    fn append_requests(&self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        self.accept(py, &requests.batch.all())
    }

    /// Records requests that are about to be sent: where no outcome follows, nobody knows what a site answered.
    fn append_leases(&self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        let (now, offset) = (self.clock.clock().now(), self.clock.clock().wall_offset());
        let appended = py.detach(|| {
            self.clock.note();
            requests.batch.with(|requests| {
                let leased = |request| Entry::leased(request, self.opened, now, offset);
                in_pieces(
                    requests,
                    |request| leased(request),
                    |_, encoded| self.inner.lock().0.append_encoded(encoded).map(drop),
                )
            })
        });
        appended.map_err(|error| errors::log(&error))
    }

    /// Records outcomes.
    fn append(&self, py: Python<'_>, outcomes: &Outcomes) -> PyResult<()> {
        let appended = py.detach(|| outcomes.batch.with(|all| self.record(all, &outcomes.recorded)));
        appended.map_err(|error| errors::log(&error))
    }

    /// The records from a position on, of at most so many bytes in memory, as far as the log goes; none at its end. Bodies stay in the
    /// log. Without a position: from the log's beginning.
    #[pyo3(signature = (position = None, max_bytes = REPLAY_BYTES))]
    fn read(&self, py: Python<'_>, position: Option<Position>, max_bytes: usize) -> PyResult<Entries> {
        py.detach(|| self.read_on(position, max_bytes)).map_err(|error| errors::log(&error))
    }

    /// Takes in what the log has recorded since a checkpoint, or since its beginning: what it counts, what failed, what was taken
    /// back. `views`: those of the checkpoint. Gives the number of records.
    #[pyo3(signature = (position = None, views = None))]
    fn restore(&self, py: Python<'_>, position: Option<Position>, views: Option<&[u8]>) -> PyResult<u64> {
        let summary = match views {
            Some(views) => serde_json::from_slice(views).map_err(errors::storage)?,
            None => Summary::default(),
        };
        py.detach(|| self.replay(position, summary)).map_err(|error| errors::log(&error))
    }

    /// The position after the last frame, and what the log counts up to there, for a snapshot. It is durable soon: `is_durable`.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<(Position, Bound<'py, PyBytes>)> {
        let made = py.detach(|| {
            let (log, summary) = &*self.inner.lock();
            let listed = self.failed.as_ref().map(|failed| {
                let mut failed = lock(failed);
                Ok::<_, LogError>((failed.begin(log.end())?, failed.directory().to_owned()))
            });
            let (file, directory) = listed.transpose()?.unwrap_or_default();
            log.sync_beside(file, &directory);
            Ok((log.end(), serde_json::to_vec(summary).unwrap_or_default()))
        });
        let (end, views) = made.map_err(|error: LogError| errors::log(&error))?;
        Ok((end, PyBytes::new(py, &views)))
    }

    /// Whether everything before the position of a checkpoint is on the disk, with what is listed beside the log.
    fn is_durable(&self, py: Python<'_>, position: Position) -> PyResult<bool> {
        py.detach(|| self.inner.lock().0.is_durable(position)).map_err(|error| errors::log(&error))
    }

    /// Follows the log for a sink: the last outcomes of URLs, from a position on, as far as they are on the disk and nobody takes
    /// them back. A body of more than `max_body_bytes` is left out; without `with_body` all are.
    #[pyo3(signature = (position = None, with_body = true, max_body_bytes = LARGEST))]
    fn follow(
        &self,
        py: Python<'_>,
        position: Option<Position>,
        with_body: bool,
        max_body_bytes: usize,
    ) -> PyResult<LogReader> {
        let followed = Followed::new(&self.committed, &self.takings, self.clock.clock());
        let reader = py.detach(|| followed.open(&self.directory, position, with_body));
        reader
            .map(|reader| LogReader::following(reader, with_body, max_body_bytes, followed))
            .map_err(|error| errors::log(&error))
    }

    /// Sets for how many seconds of the machine outputs stay behind the log, since outcomes may be taken back, and four times as
    /// long behind what `doubt` names; 0: not at all.
    fn keep_distance(&self, py: Python<'_>, distance: f64) {
        py.detach(|| self.takings.keep(seconds(distance), self.inner.lock().0.end()));
    }

    /// Tells since when outcomes may be a captive portal's, in seconds of the crawl's time; None: none may.
    fn doubt(&self, since: Option<f64>) {
        self.takings.doubt(since.map_or(Micros::MAX, |since| (since.max(0.0) * 1e6) as Micros));
    }

    /// The URLs that failed last with one of these kinds, however long ago.
    fn failed(&self, py: Python<'_>, kinds: Vec<String>) -> PyResult<FailedUrls> {
        let kinds = kinds.iter().filter_map(|kind| FailureKind::from_name(kind)).collect();
        let found = py.detach(|| self.failed.as_ref().map(|failed| lock(failed).find(kinds)).transpose());
        let found = found.map_err(|error| errors::log(&error))?;
        Ok(FailedUrls::new(found, self.clock.clock()))
    }

    /// Outcomes that open settled URLs again, as seeds: how they had ended is looked up, first among what failed and seeds, then
    /// in the log. What a log that is whole does not know is left out: it was never fetched under this name.
    fn ended(&self, py: Python<'_>, requests: &Requests) -> PyResult<Outcomes> {
        let outcomes =
            py.detach(|| self.look_up_ended(&requests.batch.all())).map_err(|error| errors::log(&error))?;
        Ok(Outcomes::new(outcomes))
    }

    /// Brings what was appended to the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.lock().0.sync()).map_err(|error| errors::log(&error))
    }

    /// The position after the last frame.
    fn end(&self, py: Python<'_>) -> Position {
        py.detach(|| self.inner.lock().0.end())
    }

    /// Up to where the log is on the disk: as far as outputs and snapshots may follow it.
    fn committed(&self) -> Position {
        self.committed.load(Ordering::Acquire)
    }

    /// Where the log begins: more than 0 once segments were removed.
    fn first(&self, py: Python<'_>) -> PyResult<Position> {
        py.detach(|| first_position(&self.directory)).map_err(|error| errors::log(&error))
    }

    /// What was set aside when the log was opened: position, bytes, and whether it has whole records.
    fn torn(&self) -> Option<(Position, u64, bool)> {
        self.torn.map(|torn| (torn.position, torn.bytes, torn.has_frames))
    }

    /// Removes the segments that end at or before a position; gives how many.
    fn retain(&self, py: Python<'_>, position: Position) -> PyResult<usize> {
        py.detach(|| self.inner.lock().0.retain(position)).map_err(|error| errors::log(&error))
    }

    /// Seconds of CPU for which threads have held the log's lock: what all lanes share.
    fn lock_seconds(&self) -> f64 {
        self.inner.held().as_secs_f64()
    }

    /// What was recorded, in numbers.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = py.detach(|| self.inner.lock().1.clone());
        let dict = PyDict::new(py);
        dict.set_item("pages", summary.pages)?;
        dict.set_item("redirects", summary.redirects)?;
        dict.set_item("retries", summary.retries)?;
        dict.set_item("reopened", summary.reopened)?;
        dict.set_item("robots", summary.robots)?;
        dict.set_item("bytes", summary.bytes)?;
        dict.set_item("links", summary.links)?;
        dict.set_item("responses", summary.responses)?;
        dict.set_item("statuses", &summary.statuses)?;
        let failures: BTreeMap<_, _> =
            summary.failures.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        dict.set_item("failures", failures)?;
        for (name, all) in [("bounds", &summary.bounds), ("refusals", &summary.refusals)] {
            let told = PyDict::new(py);
            for (kind, reached) in all {
                let one = PyDict::new(py);
                one.set_item("count", reached.count)?;
                one.set_item("first", &reached.first)?;
                told.set_item(kind, one)?;
            }
            dict.set_item(name, told)?;
        }
        dict.set_item("examples", &summary.examples)?;
        let types = PyDict::new(py);
        for (name, of) in &summary.types {
            types.set_item(name, BTreeMap::from([("responses", of.responses), ("bytes", of.bytes)]))?;
        }
        dict.set_item("types", types)?;
        let slowest = summary.slow.slowest(SLOWEST).into_iter().map(|(host, responses, us)| {
            let told = PyDict::new(py);
            told.set_item("host", host)?;
            told.set_item("responses", responses)?;
            told.set_item("seconds", us as f64 / 1e6)?;
            Ok(told)
        });
        dict.set_item("slowest", slowest.collect::<PyResult<Vec<_>>>()?)?;
        let prices: BTreeMap<_, _> =
            summary.prices.iter().map(|(currency, sum)| (currency, *sum as f64 / 1e6)).collect();
        dict.set_item("prices", prices)?;
        dict.set_item("licenses", summary.licenses)?;
        let mean = |sum: u64| sum as f64 / 1e6 / summary.responses.max(1) as f64;
        let names = ["name", "connect", "tls", "first_byte", "body"];
        let phases: BTreeMap<_, _> = names.into_iter().zip(summary.phases_us.map(mean)).collect();
        dict.set_item("mean_seconds", phases)?;
        Ok(dict)
    }
}

/// Hosts whose responses begin latest that a summary has.
const SLOWEST: usize = 10;

/// Bytes of records in memory while a log is read again.
pub(crate) const REPLAY_BYTES: usize = 4 << 20;

thread_local! {
    /// Frames that a thread encodes before it locks the log; stored for its memory.
    static ENCODED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory that [`ENCODED`] keeps.
const ENCODED_KEPT: usize = 4 << 20;

/// Records that are read at once.
const REPLAY_ENTRIES: usize = 1_000;

impl Log {
    /// Records outcomes. `recorded`: how many were recorded when the last call for these outcomes failed; a full disk makes the caller
    /// come again.
    fn record(
        &self,
        outcomes: &[Arc<lycosa_records::Outcome>],
        recorded: &AtomicUsize,
    ) -> Result<(), LogError> {
        let rest = outcomes.get(recorded.load(Ordering::Relaxed)..).unwrap_or_default();
        in_pieces(
            rest,
            |outcome| Entry::of(outcome),
            |piece, encoded| {
                self.record_piece(piece, encoded)?;
                recorded.fetch_add(piece.len(), Ordering::Relaxed);
                Ok(())
            },
        )?;
        recorded.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Records outcomes that are encoded, or none of them.
    fn record_piece(
        &self,
        outcomes: &[Arc<lycosa_records::Outcome>],
        encoded: &[u8],
    ) -> Result<(), LogError> {
        let (log, summary) = &mut *self.inner.lock();
        if let Some(failed) = &self.failed {
            // First: what fails here has changed nothing, and what is too much here goes when the log is restored.
            lock(failed).add(outcomes.iter().map(AsRef::as_ref))?;
        }
        let end = log.append_encoded(encoded)?;
        self.takings.appended(outcomes.iter(), end, self.clock.clock().now());
        // Only now: a full disk makes the caller come again with the same outcomes.
        outcomes.iter().for_each(|outcome| summary.add(outcome));
        Ok(())
    }

    /// Records accepted requests.
    fn accept(
        &self,
        py: Python<'_>,
        requests: &[impl Borrow<lycosa_records::Request> + Sync],
    ) -> PyResult<()> {
        let now = self.clock.clock().wall();
        let appended = py.detach(|| {
            let entries = requests.iter().map(|request| Entry::accepted(request.borrow(), now));
            self.inner.lock().0.append(entries)
        });
        appended.map(drop).map_err(|error| errors::log(&error))
    }

    /// Reads on from a position: where the last call ended, most often.
    fn read_on(&self, position: Option<Position>, max_bytes: usize) -> Result<Entries, LogError> {
        let mut kept = lock(&self.reader);
        let mut reader = match kept.take().filter(|reader| Some(reader.position()) == position) {
            Some(reader) => reader,
            None => open_at(&self.directory, position, Bodies::Robots)?,
        };
        let entries = reader.read(REPLAY_ENTRIES, max_bytes)?;
        let position = reader.position();
        // At its end the file is let go of.
        *kept = (!entries.is_empty()).then_some(reader);
        Ok(Entries::new(entries, position))
    }

    /// Takes in what was recorded from a position on.
    fn replay(&self, position: Option<Position>, summary: Summary) -> Result<u64, LogError> {
        let (_, counts) = &mut *self.inner.lock();
        *counts = summary;
        let since = position.unwrap_or(0);
        if let Some(failed) = &self.failed {
            let mut failed = lock(failed);
            failed.restore(since)?;
            if since > 0 {
                failed.complete(&self.directory, since)?;
            }
        }
        self.takings.is_known_since(since);
        let mut reader = open_at(&self.directory, position, Bodies::None)?;
        let mut count = 0;
        loop {
            let entries = reader.read(REPLAY_ENTRIES, REPLAY_BYTES)?;
            if entries.is_empty() {
                return Ok(count);
            }
            count += entries.len() as u64;
            for Logged { entry, end } in entries {
                let Some(outcome) = entry.into_outcome() else { continue };
                if outcome.is_reopened() {
                    self.takings.take(outcome.request().key(), end);
                }
                if let Some(failed) = &self.failed {
                    lock(failed).add_again(&outcome)?;
                }
                counts.add(&outcome);
            }
        }
    }
}

/// Encodes records in pieces, without the log, since lanes share it; `append` records each piece.
fn in_pieces<'a, T>(
    mut rest: &'a [T],
    entry: impl Fn(&'a T) -> Entry<'a>,
    mut append: impl FnMut(&'a [T], &[u8]) -> Result<(), LogError>,
) -> Result<(), LogError> {
    ENCODED.with_borrow_mut(|encoded| {
        while !rest.is_empty() {
            encoded.clear();
            let (piece, others) = rest.split_at(encode(rest.iter().map(&entry), encoded)?);
            append(piece, encoded)?;
            rest = others;
        }
        encoded.clear();
        encoded.shrink_to(ENCODED_KEPT);
        Ok(())
    })
}

/// Opens a log at a position, or at its beginning.
pub(crate) fn open_at(
    directory: &Path,
    position: Option<Position>,
    bodies: Bodies,
) -> Result<Reader, LogError> {
    match position {
        None => Reader::open(directory, bodies),
        Some(position) => Reader::open_at(directory, position, bodies),
    }
}
