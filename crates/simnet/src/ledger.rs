//! The ledger: what was asked and answered, 32 bytes a request and 16 a DNS question, in memory.
//!
//! Each serving thread fills its own shard under a lock that nobody else wants until a report is made; the reader merges the shards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::secure::Handshakes;

/// No host, page or string.
pub const NONE: u32 = u32::MAX;

/// Most bytes of unknown names and paths that are kept; what comes later is recorded without its text.
const MAX_STRINGS: usize = 64 << 20;

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A URL of the world; `page` is its slot.
    Page,
    /// robots.txt.
    Robots,
    /// A path that the host does not have; `page` is a string: the path.
    Unknown,
    /// A host that does not exist or does not live at the address; `page` is a string: host and path.
    Misdirected,
    /// Anything asked without TLS of a host that is on HTTPS: all it gets is a redirect; `page` is a string: the path.
    Upgrade,
    /// Not understood: bad syntax, too large, or an unknown method.
    Bad,
}

/// One request, as recorded when its head had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Microseconds since the simnet started, when its last byte reached this machine's network stack.
    pub time: u64,
    /// The host, or [`NONE`].
    pub host: u32,
    /// A slot or a string, as `kind` says, or [`NONE`].
    pub page: u32,
    /// The address that the connection came in on: IPv4, or of fd00::/64 the end.
    pub address: u32,
    /// The connection's number.
    pub connection: u32,
    /// Bytes of the body on the wire.
    pub body: u32,
    /// The answer's status.
    pub status: u16,
    /// What it was for.
    pub kind: Kind,
    /// Whether the whole answer to a GET was written.
    pub complete: bool,
}

/// One DNS question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Microseconds since the simnet started.
    pub time: u64,
    /// The host, or [`NONE`].
    pub host: u32,
    /// The type asked for; 0 when the message was not understood.
    pub qtype: u16,
    /// The response code.
    pub rcode: u8,
    /// Whether it came over TCP.
    pub tcp: bool,
}

/// A copy of everything recorded, requests and questions in the order of their times.
#[derive(Clone, Debug, Default)]
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

/// What one thread records.
#[derive(Default)]
struct Shard {
    /// In the order of their records.
    requests: Vec<Request>,
    /// In the order of their records.
    questions: Vec<Question>,
}

/// Names and paths that are not of the world, each once.
#[derive(Default)]
struct Strings {
    /// Each string's number.
    index: HashMap<String, u32>,
    /// Bytes they take, about.
    bytes: usize,
}

/// The ledger of a running simnet.
pub(crate) struct Ledger {
    /// When its time began.
    start: Instant,
    /// The same moment on the clock that the kernel's time stamps are from.
    start_real: SystemTime,
    /// One for each serving thread: it fills, [`Ledger::records`] copies.
    shards: Vec<Mutex<Shard>>,
    /// Filled by all threads, rarely: only for what the world does not know.
    strings: Mutex<Strings>,
    /// Connections so far.
    connections: AtomicU32,
}

impl Ledger {
    /// An empty ledger whose time starts now.
    pub(crate) fn new(shards: u32) -> Self {
        Self {
            start: Instant::now(),
            start_real: SystemTime::now(),
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            strings: Mutex::default(),
            connections: AtomicU32::new(0),
        }
    }

    /// The ledger's time: of the kernel's receive time stamp if there is a plausible one, else now.
    ///
    /// The stamp is taken when the sender's packet arrives, so a busy simnet never makes a polite crawler look impolite.
    pub(crate) fn time(&self, stamp: Option<Duration>) -> u64 {
        let now = self.start.elapsed();
        let start = self.start_real.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let stamped = stamp.and_then(|stamp| stamp.checked_sub(start));
        // A stamp in the future, or more than a minute old, means that the real-time clock was set.
        let plausible =
            stamped.filter(|&at| at <= now + Duration::from_millis(1) && at + Duration::from_secs(60) > now);
        plausible.unwrap_or(now).as_micros() as u64
    }

    /// A number for a new connection.
    pub(crate) fn connect(&self) -> u32 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Records a request; the result is its place for [`Ledger::complete`].
    pub(crate) fn request(&self, shard: usize, request: Request) -> usize {
        let mut shard = lock(&self.shards[shard]);
        shard.requests.push(request);
        shard.requests.len() - 1
    }

    /// Notes that the answer was written to its end.
    pub(crate) fn complete(&self, shard: usize, place: usize) {
        if let Some(request) = lock(&self.shards[shard]).requests.get_mut(place) {
            request.complete = true;
        }
    }

    /// Records a DNS question.
    pub(crate) fn question(&self, shard: usize, question: Question) {
        lock(&self.shards[shard]).questions.push(question);
    }

    /// The number of a string; [`NONE`] when too many are kept already.
    pub(crate) fn intern(&self, text: &str) -> u32 {
        let mut strings = lock(&self.strings);
        if let Some(&id) = strings.index.get(text) {
            return id;
        }
        if strings.bytes + text.len() > MAX_STRINGS {
            return NONE;
        }
        let id = strings.index.len() as u32;
        strings.bytes += text.len() + 64;
        strings.index.insert(text.to_owned(), id);
        id
    }

    /// A copy of everything recorded so far.
    pub(crate) fn records(&self) -> Records {
        let mut records = Records {
            connections: u64::from(self.connections.load(Ordering::Relaxed)),
            ..Records::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            records.requests.extend_from_slice(&shard.requests);
            records.questions.extend_from_slice(&shard.questions);
        }
        // After the requests: every string that they refer to is there.
        let strings = lock(&self.strings);
        records.strings.resize(strings.index.len(), String::new());
        strings.index.iter().for_each(|(text, &id)| records.strings[id as usize].clone_from(text));
        records.requests.sort_by_key(|request| request.time);
        records.questions.sort_by_key(|question| question.time);
        records
    }
}

/// Locks; a thread that died while it held the lock left whole records.
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
            address: 0,
            connection: ledger.connect(),
            body: 5,
            status: 200,
            kind: Kind::Unknown,
            complete: false,
        };
        ledger.request(0, request(30));
        let place = ledger.request(1, request(10));
        ledger.complete(1, place);
        ledger.question(0, Question { time: 1, host: NONE, qtype: 1, rcode: 3, tcp: false });
        let records = ledger.records();
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
