//! The ledger: a record of every request and DNS question, 40 bytes per request and 16 per question in memory, half of that in a file.
//!
//! Each serving thread appends to its own shard, under a lock that is otherwise held only briefly. Without a file, records stay in the
//! shards and a report copies them; with a file, a thread empties them every 100 ms (`ledger/writer.rs`) and a report reads the file.

pub(crate) mod codec;
pub(crate) mod file;
mod pieces;
mod writer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::error::Result;
use crate::secure::Handshakes;
use file::Header;
use pieces::Pieces;
use writer::Writer;

/// Value for no host, page or string.
pub const NONE: u32 = u32::MAX;

/// Host numbers from here on, except [`NONE`], are names in wildcard zones: `WILD` plus the number of the string.
pub const WILD: u32 = 1 << 31;

/// Maximum of bytes of unknown names and paths; further ones are recorded without their text.
const MAX_STRINGS: usize = 64 << 20;

/// Kind of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A URL of the world; `page` is its slot.
    #[default]
    Page,
    /// robots.txt.
    Robots,
    /// A path that the host does not have; `page` is a string: the path.
    Unknown,
    /// A host that does not exist or is not served at the address; `page` is a string: host and path.
    Misdirected,
    /// Invalid: bad syntax, too large, or an unknown method.
    Bad,
    /// A URL of a trap; `page` is a string: the path. It does not count in coverage.
    Trap,
    /// Any request without TLS to a host on HTTPS, which is redirected; `page` is a string: the path.
    Upgrade,
    /// Any request answered by a captive portal; `page` is a string: the path. It does not count in coverage.
    Captive,
}

/// One request, recorded when its head has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// When its last byte reached the kernel, in microseconds since the start.
    pub time: u64,
    /// The host, a name in a wildcard zone ([`WILD`]), or [`NONE`].
    pub host: u32,
    /// A slot or a string, depending on `kind`, or [`NONE`].
    pub page: u32,
    /// Destination address of the connection: IPv4, or the last 24 bits of IPv6 (`secure.rs`).
    pub address: u32,
    /// The connection's number.
    pub connection: u32,
    /// Bytes of the body on the wire.
    pub body: u32,
    /// The response's Retry-After in unscaled milliseconds; 0 without one.
    pub retry_after_ms: u32,
    /// Microseconds until the complete response was written; 0 if it was not.
    pub took: u32,
    /// The response's status; 0 if trouble prevented the response.
    pub status: u16,
    /// Its kind.
    pub kind: Kind,
    /// Whether the complete response to a GET was written.
    pub complete: bool,
}

/// One DNS question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Microseconds since the simnet started.
    pub time: u64,
    /// The host, or [`NONE`].
    pub host: u32,
    /// The type; 0 if the message was invalid.
    pub qtype: u16,
    /// The response code; `u8::MAX` without an answer.
    pub rcode: u8,
    /// Whether it came over TCP.
    pub tcp: bool,
}

/// A copy of all records, with requests and DNS questions in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The requests.
    pub requests: Vec<Request>,
    /// The DNS questions.
    pub questions: Vec<Question>,
    /// The strings that records refer to.
    pub strings: Vec<String>,
    /// Connections accepted.
    pub connections: u64,
    /// TLS handshakes.
    pub handshakes: Handshakes,
}

impl Records {
    /// Sorts by time, stably.
    fn sort(&mut self) {
        self.requests.sort_by_key(|request| request.time);
        self.questions.sort_by_key(|question| question.time);
    }
}

/// Records of one thread.
#[derive(Default)]
struct Shard {
    /// Requests in the order of recording.
    requests: Pieces<Request>,
    /// DNS questions in the order of recording.
    questions: Pieces<Question>,
    /// Number of earlier requests, which are in the file.
    filed: usize,
    /// Responses completed after their request was written to the file: index and time.
    late: Vec<(usize, u64)>,
}

/// Names and paths that are not part of the world, without duplicates.
#[derive(Default)]
struct Strings {
    /// Each string's number.
    index: HashMap<Arc<str>, u32>,
    /// The strings by number.
    list: Vec<Arc<str>>,
    /// Approximate memory in bytes.
    bytes: usize,
}

/// Records that the serving threads add and the writer takes.
struct Store {
    /// Start of the ledger's time.
    start: Instant,
    /// The same moment on the real-time clock, which the kernel's time stamps use.
    start_real: SystemTime,
    /// One per serving thread, which appends; the writer empties it, [`Ledger::records`] copies it.
    shards: Vec<Mutex<Shard>>,
    /// Shared by all threads; used rarely, only for unknown names and paths.
    strings: Mutex<Strings>,
    /// Connections so far.
    connections: AtomicU32,
    /// TLS handshakes so far: successful, failed.
    handshakes: [AtomicU32; 2],
}

impl Store {
    /// An empty store whose time starts now.
    fn new(shards: u32) -> Self {
        Self {
            start: Instant::now(),
            start_real: SystemTime::now(),
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            strings: Mutex::default(),
            connections: AtomicU32::new(0),
            handshakes: [AtomicU32::new(0), AtomicU32::new(0)],
        }
    }

    /// TLS handshakes so far.
    fn handshakes(&self) -> Handshakes {
        let [good, failed] = self.handshakes.each_ref().map(|count| count.load(Ordering::Relaxed));
        Handshakes { good, failed }
    }

    /// Microseconds since the start.
    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }
}

/// The ledger of a running simnet.
pub(crate) struct Ledger {
    /// Records not yet in a file.
    store: Arc<Store>,
    /// Moves records to the file, if there is one.
    writer: Option<Writer>,
}

impl Ledger {
    /// An empty ledger in memory whose time starts now.
    pub(crate) fn new(shards: u32) -> Self {
        Self { store: Arc::new(Store::new(shards)), writer: None }
    }

    /// An empty ledger in a file whose time starts now; with the header, the file can be judged without this process.
    pub(crate) fn create(shards: u32, path: &Path, mut header: Header) -> Result<Self> {
        let store = Arc::new(Store::new(shards));
        let since = store.start_real.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        header.started_us = since.as_micros() as u64;
        let writer = Writer::start(path, &header, store.clone())?;
        Ok(Self { store, writer: Some(writer) })
    }

    /// The ledger's time of the kernel's receive time stamp if it is plausible, else of now.
    ///
    /// The time stamp is taken when the packet arrives, so that a busy simnet does not make a polite crawler look impolite.
    pub(crate) fn time(&self, stamp: Option<Duration>) -> u64 {
        let now = self.store.start.elapsed();
        let start = self.store.start_real.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let stamped = stamp.and_then(|stamp| stamp.checked_sub(start));
        // A time stamp in the future or more than a minute old means that the real-time clock was set.
        let plausible =
            stamped.filter(|&at| at <= now + Duration::from_millis(1) && at + Duration::from_secs(60) > now);
        plausible.unwrap_or(now).as_micros() as u64
    }

    /// Returns a number for a new connection.
    pub(crate) fn connect(&self) -> u32 {
        self.store.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a TLS handshake.
    pub(crate) fn shaken(&self, good: bool) {
        self.store.handshakes[usize::from(!good)].fetch_add(1, Ordering::Relaxed);
    }

    /// Records a request; returns its index for [`Ledger::complete`].
    pub(crate) fn request(&self, shard: usize, request: Request) -> usize {
        let mut shard = lock(&self.store.shards[shard]);
        shard.requests.push(request);
        shard.filed + shard.requests.len() - 1
    }

    /// Records that the complete response has been written now.
    pub(crate) fn complete(&self, shard: usize, place: usize) {
        let now = self.store.now();
        let mut shard = lock(&self.store.shards[shard]);
        match place.checked_sub(shard.filed) {
            Some(place) => {
                if let Some(request) = shard.requests.get_mut(place) {
                    request.complete_at(now);
                }
            }
            // The request is in the file already: the reader of the file computes the duration.
            None => shard.late.push((place, now)),
        }
    }

    /// Records a DNS question.
    pub(crate) fn question(&self, shard: usize, question: Question) {
        lock(&self.store.shards[shard]).questions.push(question);
    }

    /// Returns the number of a string; [`NONE`] if too many are stored already.
    pub(crate) fn intern(&self, text: &str) -> u32 {
        let mut strings = lock(&self.store.strings);
        if let Some(&id) = strings.index.get(text) {
            return id;
        }
        if strings.bytes + text.len() > MAX_STRINGS {
            return NONE;
        }
        let (id, text) = (strings.list.len() as u32, Arc::<str>::from(text));
        strings.bytes += text.len() + 80;
        strings.index.insert(text.clone(), id);
        strings.list.push(text);
        id
    }

    /// A copy of everything recorded so far.
    pub(crate) fn records(&self) -> Result<Records> {
        if let Some(writer) = &self.writer {
            writer.flush()?;
            return Ok(file::read(writer.path())?.records);
        }
        let mut records = Records {
            connections: u64::from(self.store.connections.load(Ordering::Relaxed)),
            handshakes: self.store.handshakes(),
            ..Records::default()
        };
        for shard in &self.store.shards {
            let shard = lock(shard);
            records.requests.extend(shard.requests.iter());
            records.questions.extend(shard.questions.iter());
        }
        // After the requests, so that every string they refer to is included.
        records.strings = lock(&self.store.strings).list.iter().map(|text| text.to_string()).collect();
        records.sort();
        Ok(records)
    }

    /// Writes the remaining records to the file, if there is one, and closes it. Later records are lost.
    pub(crate) fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }
}

impl Request {
    /// Records that the complete response was written at a time of the ledger.
    fn complete_at(&mut self, time: u64) {
        self.complete = true;
        self.took = u32::try_from(time.saturating_sub(self.time)).unwrap_or(u32::MAX).max(1);
    }
}

/// Locks, ignoring poison: a thread that panicked left only complete records.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_small() {
        assert!(size_of::<Request>() <= 40 && size_of::<Question>() <= 16);
    }

    #[test]
    fn shards_are_merged_in_time() {
        let ledger = Ledger::new(2);
        let request = |time| Request {
            time,
            host: 1,
            page: ledger.intern("/x"),
            connection: ledger.connect(),
            kind: Kind::Unknown,
            ..Request::default()
        };
        ledger.request(0, request(30));
        let place = ledger.request(1, request(10));
        ledger.complete(1, place);
        ledger.question(0, Question { time: 1, host: NONE, qtype: 1, rcode: 3, tcp: false });
        let records = ledger.records().unwrap();
        assert_eq!(
            records.requests.iter().map(|r| (r.time, r.complete)).collect::<Vec<_>>(),
            [(10, true), (30, false)]
        );
        assert_eq!(
            (records.strings, records.connections, records.questions.len()),
            (vec!["/x".to_owned()], 2, 1)
        );
    }

    #[test]
    fn implausible_stamps_are_replaced() {
        let ledger = Ledger::new(1);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert!(ledger.time(Some(now)) < 1_000_000);
        assert!(ledger.time(Some(now + Duration::from_secs(3600))) < 1_000_000);
        assert!(ledger.time(Some(Duration::ZERO)) < 1_000_000 && ledger.time(None) < 1_000_000);
    }
}
