//! The log, and rows for sinks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lycosa_frontier::Restore;
use lycosa_store::{
    Bodies, Decoders, Entry, Field, Kind, LogError, LogSettings, Position, Reader, Row, Summary,
    first_position,
};
use lycosa_url::{CrawlUrl, FailureKind, Micros, Purpose};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arrow;
use crate::batch::{Pages, Requests};
use crate::clock::{Clock, KeptClock};
use crate::errors::{self, lock, setting};
use crate::failed::FailedUrls;
use crate::frontier::Frontier;
use crate::job::seconds;
use crate::names::Resolver;
use crate::takings::Takings;

/// How bodies of the log are read. A body was within its job's limit when it was parsed; the limit here is the default of
/// `parse.max_decoded_bytes`, where no job says another.
pub(crate) const DECODERS: Decoders = Decoders {
    content: |body, coding, largest| lycosa_fetch::decode(body, coding, largest).ok(),
    largest: 32 << 20,
    text: lycosa_parse::decode_text_within,
};

/// Adds the names of the columns, and what Python has to know of the log's layout.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(empty_rows, m)?)?;
    m.add("COLUMNS", columns(m.py())?)?;
    m.add("SEGMENT_HEADER_BYTES", lycosa_store::SEGMENT_HEADER_BYTES)?;
    m.add("FIELDS", Field::ALL.map(|(_, name)| name).to_vec())
}

/// The writer of a crawl's log.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Log {
    pub(crate) inner: Mutex<(lycosa_store::Log, Summary)>,
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
}

#[pymethods]
impl Log {
    #[new]
    #[pyo3(signature = (directory, segment_bytes, commit_bytes = 8_388_608, commit_interval = 0.2, failed = None))]
    fn new(
        py: Python<'_>,
        directory: PathBuf,
        segment_bytes: u64,
        commit_bytes: u64,
        commit_interval: f64,
        failed: Option<PathBuf>,
    ) -> PyResult<Self> {
        let allowed = || setting("store.commit_interval", commit_interval, "seconds from 0 on");
        let commit_interval = Duration::try_from_secs_f64(commit_interval).map_err(|_| allowed())?;
        let settings = LogSettings { segment_bytes, commit_bytes, commit_interval };
        let log = py.detach(|| lycosa_store::Log::open(&directory, settings));
        let log = log.map_err(|error| errors::log(&error))?;
        let (committed, torn) = (log.committed_position(), log.torn());
        let inner = Mutex::new((log, Summary::default()));
        let clock = KeptClock::open(&directory);
        let opened = clock.clock().now();
        let failed = failed.map(|failed| Mutex::new(lycosa_store::Failed::new(failed)));
        let takings = Arc::default();
        Ok(Log { inner, directory, committed, torn, failed, clock, opened, takings })
    }

    /// The crawl's clock, which goes on with the time of the process before.
    #[getter]
    fn clock(&self) -> Clock {
        Clock(self.clock.clock())
    }

    /// Records accepted seeds.
    fn append_seeds(&self, py: Python<'_>, seeds: Vec<String>) -> PyResult<()> {
        let now = self.clock.clock().wall();
        let appended =
            py.detach(|| lock(&self.inner).0.append(seeds.iter().map(|seed| Entry::seed(seed, now))));
        appended.map(|_| ()).map_err(|error| errors::log(&error))
    }

    /// Records requests that are about to be sent: where no outcome follows, nobody knows what a site answered.
    fn append_leases(&self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        let (now, offset) = (self.clock.clock().now(), self.clock.clock().wall_offset());
        let appended = py.detach(|| {
            self.clock.note();
            requests.with(|requests| {
                let lease = |request| Entry::lease(request, self.opened, now).on_wall(offset);
                let entries = requests.iter().map(lease);
                if requests.is_empty() { Ok(()) } else { lock(&self.inner).0.append(entries).map(drop) }
            })
        });
        appended.map_err(|error| errors::log(&error))
    }

    /// Records outcomes.
    fn append(&self, py: Python<'_>, pages: &Pages) -> PyResult<()> {
        let appended = py.detach(|| {
            pages.with(|pages| {
                let (log, summary) = &mut *lock(&self.inner);
                if let Some(failed) = &self.failed {
                    // First: what fails here has changed nothing, and what is too much here goes when the log is restored.
                    lock(failed).add(pages.iter().map(AsRef::as_ref))?;
                }
                let end = log.append(pages.iter().map(|page| Entry::page(page)))?;
                self.takings.appended(pages.iter(), end, self.clock.clock().now());
                // Only now: a full disk makes the caller come again with the same pages.
                pages.iter().for_each(|page| summary.add(page));
                Ok(())
            })
        });
        appended.map_err(|error| errors::log(&error))
    }

    /// Sets for how many seconds of the machine outputs stay behind the log, since outcomes may be taken back, and four times as
    /// long behind answers that the frontier cannot tell from a portal's; 0: not at all.
    #[pyo3(signature = (distance, frontier = None))]
    fn keep_distance(&self, py: Python<'_>, distance: f64, frontier: Option<&Frontier>) {
        let unconfirmed = frontier.map(|frontier| Arc::clone(&frontier.unconfirmed));
        py.detach(|| self.takings.keep(seconds(distance), unconfirmed, lock(&self.inner).0.end()));
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
    fn ended(&self, py: Python<'_>, urls: Vec<String>) -> PyResult<Pages> {
        let pages = py.detach(|| self.look_up_ended(&urls)).map_err(|error| errors::log(&error))?;
        Ok(Pages::new(pages))
    }

    /// Brings what was appended to the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| lock(&self.inner).0.sync()).map_err(|error| errors::log(&error))
    }

    /// The position after the last frame.
    fn end(&self, py: Python<'_>) -> Position {
        py.detach(|| lock(&self.inner).0.end())
    }

    /// Up to where the log is on the disk: as far as outputs and snapshots may follow it.
    fn committed(&self) -> Position {
        self.committed.load(Ordering::Acquire)
    }

    /// Where the log begins: more than 0 once segments were removed.
    fn first(&self, py: Python<'_>) -> PyResult<Position> {
        py.detach(|| first_position(&self.directory)).map_err(|error| errors::log(&error))
    }

    /// What was set aside when the log was opened: position and bytes.
    fn torn(&self) -> Option<(Position, u64)> {
        self.torn.map(|torn| (torn.position, torn.bytes))
    }

    /// Removes the segments that end at or before a position; gives how many.
    fn retain(&self, py: Python<'_>, position: Position) -> PyResult<usize> {
        py.detach(|| lock(&self.inner).0.retain(position)).map_err(|error| errors::log(&error))
    }

    /// What was recorded, in numbers.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = py.detach(|| lock(&self.inner).1.clone());
        let dict = PyDict::new(py);
        dict.set_item("pages", summary.pages)?;
        dict.set_item("redirects", summary.redirects)?;
        dict.set_item("retries", summary.retries)?;
        dict.set_item("reopened", summary.reopened)?;
        dict.set_item("robots", summary.robots)?;
        dict.set_item("bytes", summary.bytes)?;
        dict.set_item("links", summary.links)?;
        dict.set_item("statuses", &summary.statuses)?;
        let failures: BTreeMap<_, _> =
            summary.failures.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        dict.set_item("failures", failures)?;
        let bounds = PyDict::new(py);
        for (name, reached) in &summary.bounds {
            let told = PyDict::new(py);
            told.set_item("count", reached.count)?;
            told.set_item("first", &reached.first)?;
            bounds.set_item(name, told)?;
        }
        dict.set_item("bounds", bounds)?;
        let mean = |sum: u64| sum as f64 / 1e6 / summary.responses.max(1) as f64;
        let names = ["name", "connect", "tls", "first_byte", "body"];
        let phases: BTreeMap<_, _> = names.into_iter().zip(summary.phases_us.map(mean)).collect();
        dict.set_item("mean_seconds", phases)?;
        Ok(dict)
    }
}

/// Bytes of lines that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Bytes of records in memory while a log is read again.
const REPLAY_BYTES: usize = 4 << 20;

/// Feeds a frontier with the records of a log from where its reader stands; `largest`: bytes of a decoded robots.txt.
pub(crate) fn replay(
    reader: &mut Reader,
    restore: &mut Restore<'_, Resolver>,
    summary: &mut Summary,
    failed: Option<&Mutex<lycosa_store::Failed>>,
    largest: usize,
    takings: &Takings,
) -> Result<u64, LogError> {
    let queues = |error| LogError::Io(PathBuf::from("queues"), error);
    let mut count = 0;
    loop {
        let entries = reader.read(1_000, REPLAY_BYTES)?;
        if entries.is_empty() {
            return Ok(count);
        }
        count += entries.len() as u64;
        for entry in entries {
            let (outcome, skipped, end) = (&entry.outcome, entry.skipped, entry.end);
            restore.at(end);
            if matches!(entry.kind, Kind::Seed | Kind::Lease) {
                let Ok(url) = CrawlUrl::parse(&outcome.url) else { continue };
                match entry.kind {
                    Kind::Lease => {
                        let [process, granted] = outcome.crawl_times();
                        restore.lease(&url, outcome.lease, process, granted);
                    }
                    _ => restore.seed(&url).map_err(queues)?,
                }
            } else if let Some(mut page) = entry.into_page() {
                if let Ok(received) = &page.response.result {
                    let coding = received.headers.get("content-encoding");
                    match (DECODERS.content)(&received.body, coding, largest) {
                        Some(body) => page.body = body,
                        // Within another limit then: it is asked for again.
                        None if page.response.request.purpose == Purpose::Robots => continue,
                        None => {}
                    }
                }
                if page.is_reopened() {
                    takings.take(page.response.request.url.digest(), end);
                }
                if let Some(failed) = failed {
                    lock(failed).add_again(&page)?;
                }
                summary.add(&page);
                summary.bytes += u64::from(skipped);
                restore.outcome(&page).map_err(queues)?;
            }
        }
    }
}

/// Opens a log at a position, or at its beginning.
fn open_at(directory: &Path, position: Option<Position>, bodies: Bodies) -> Result<Reader, LogError> {
    match position {
        None => Reader::open(directory, bodies),
        Some(position) => Reader::open_at(directory, position, bodies),
    }
}

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
        for entry in entries.into_iter().filter(|entry| entry.kind == Kind::Page) {
            let end = entry.end;
            if let Some(page) = entry.into_page().filter(lycosa_url::Page::is_reopened) {
                takings.take(page.response.request.url.digest(), end);
            }
        }
    }
    takings.is_known_since(position.unwrap_or(0));
    Ok(())
}

/// Follows a log and makes rows for a sink.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct LogReader {
    reader: Mutex<Reader>,
    fields: Vec<Field>,
    with_body: bool,
    max_body_bytes: usize,
    followed: Option<Followed>,
}

/// A log that is being written while it is read.
struct Followed {
    committed: Arc<AtomicU64>,
    takings: Arc<Takings>,
    clock: lycosa_url::Clock,
    /// Up to where it is read.
    until: Arc<AtomicU64>,
}

impl LogReader {
    /// Goes on as far as the log is on the disk and nothing is taken back any more.
    fn follow(&self) {
        let Some(followed) = &self.followed else { return };
        let committed = followed.committed.load(Ordering::Acquire);
        let released = followed.takings.released(followed.clock.now()).unwrap_or(committed);
        followed.until.store(released.min(committed), Ordering::Release);
    }

    /// The rows that were not taken back behind them.
    fn without_taken(&self, mut rows: Vec<Row>) -> Vec<Row> {
        if let Some(Followed { takings, .. }) =
            self.followed.as_ref().filter(|followed| !followed.takings.is_empty())
        {
            rows.retain(|row| {
                let url = CrawlUrl::parse(&row.outcome.url);
                !url.is_ok_and(|url| takings.is_taken(url.digest(), row.end))
            });
        }
        rows
    }
}

#[pymethods]
impl LogReader {
    #[new]
    #[pyo3(signature = (directory, fields, position = None, log = None, max_body_bytes = DECODERS.largest))]
    fn new(
        py: Python<'_>,
        directory: PathBuf,
        fields: Vec<String>,
        position: Option<Position>,
        log: Option<&Log>,
        max_body_bytes: usize,
    ) -> PyResult<Self> {
        let fields = parse_fields(&fields)?;
        let with_body = needs_body(&fields);
        let bodies = if with_body { Bodies::All } else { Bodies::None };
        let followed = log.map(|log| Followed {
            committed: Arc::clone(&log.committed),
            takings: Arc::clone(&log.takings),
            clock: log.clock.clock(),
            until: Arc::default(),
        });
        let reader = py.detach(|| {
            if let Some(followed) = &followed {
                learn_takings(&followed.takings, &directory, position)?;
            }
            let reader = open_at(&directory, position, bodies)?;
            Ok(match &followed {
                None => reader,
                Some(followed) => reader.until(Arc::clone(&followed.until)),
            })
        });
        let reader = reader.map_err(|error: LogError| errors::log(&error))?;
        Ok(LogReader { reader: Mutex::new(reader), fields, with_body, max_body_bytes, followed })
    }

    /// The next rows: of at most so many entries, until they hold so many bytes, their decoded bodies included; none
    /// while the log has no more. A body of more than `max_body_bytes` is left out.
    fn read(&self, py: Python<'_>, max_entries: usize, max_bytes: usize) -> PyResult<Rows> {
        let decoders = Decoders { largest: self.max_body_bytes, ..DECODERS };
        let rows = py.detach(|| {
            self.follow();
            let mut reader = lock(&self.reader);
            let rows = reader.rows(max_entries, max_bytes, decoders, self.with_body);
            rows.map(|rows| self.without_taken(rows))
        });
        let rows = rows.map_err(|error| errors::log(&error))?;
        Ok(Rows { rows: Mutex::new(rows), fields: self.fields.clone(), decoders })
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

/// Columns by name.
fn parse_fields(names: &[String]) -> PyResult<Vec<Field>> {
    names
        .iter()
        .map(|name| name.parse().map_err(|_| setting("store.fields", name, "a column's name")))
        .collect()
}

/// Whether columns are made of bodies.
fn needs_body(fields: &[Field]) -> bool {
    fields.contains(&Field::Body) || fields.contains(&Field::Text)
}

/// What is said of each column.
fn columns(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (field, name) in Field::ALL {
        columns.set_item(name, field.meaning())?;
    }
    Ok(columns)
}

/// No rows of the chosen columns: their schema.
#[pyfunction]
fn empty_rows(fields: Vec<String>) -> PyResult<Rows> {
    Ok(Rows { rows: Mutex::default(), fields: parse_fields(&fields)?, decoders: DECODERS })
}

/// Rows of the chosen columns. Whoever writes them takes them: they are empty afterwards, so that a sink
/// never holds bodies twice.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Rows {
    rows: Mutex<Vec<Row>>,
    fields: Vec<Field>,
    decoders: Decoders,
}

impl Rows {
    /// The rows of outcomes, as outputs have them: of those that are their URL's last.
    pub(crate) fn of_pages(pages: &[Arc<lycosa_url::Page>], fields: &[String]) -> PyResult<Self> {
        let fields = parse_fields(fields)?;
        let with_body = needs_body(&fields);
        let rows = pages.iter().filter_map(|page| Row::of_page(page, with_body)).collect();
        // In memory already, and bounded by the job that made them.
        let decoders = Decoders { largest: usize::MAX, ..DECODERS };
        Ok(Rows { rows: Mutex::new(rows), fields, decoders })
    }

    /// All columns.
    pub(crate) fn all_fields() -> Vec<String> {
        Field::ALL.map(|(_, name)| name.to_owned()).to_vec()
    }

    /// Their content.
    fn take(&self) -> Vec<Row> {
        std::mem::take(&mut lock(&self.rows))
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| lock(&self.rows).len())
    }

    /// JSON lines, in UTF-8.
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let lines = py.detach(|| {
            let mut lines = Vec::new();
            lycosa_store::write_lines(&self.take(), &self.fields, self.decoders, &mut lines).map(|()| lines)
        });
        lines.map(|lines| PyBytes::new(py, &lines)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Writes JSON lines, in UTF-8, into a file from an offset on; gives their bytes. What was written before an error
    /// stays.
    fn write_lines(&self, py: Python<'_>, path: PathBuf, offset: u64) -> PyResult<u64> {
        let written = py.detach(|| {
            let mut file = File::options().write(true).open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut buffered = BufWriter::with_capacity(WRITE_BYTES, file);
            lycosa_store::write_lines(&self.take(), &self.fields, self.decoders, &mut buffered)?;
            buffered.flush()?;
            io::Result::Ok(buffered.stream_position()? - offset)
        });
        written.map_err(|error| errors::os(&error))
    }

    /// The rows for any Arrow library (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::stream(py, || lycosa_store::record_batch(&self.take(), &self.fields, self.decoders))
    }
}
