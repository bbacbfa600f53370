//! Failures to resolve, which say nothing about a name (RFC 9520): each of a family, beside the file and of this process alone.
//!
//! Guarantees: a failure takes no slot, so that it costs no name its addresses, be they valid or expired; it counts with those before
//! it until the name is resolved; one that came while an answer held lengthens the pause between tries and nothing else: when
//! the answer expires, the name is asked for again. Memory is bounded.

use quick_cache::sync::Cache;

use super::super::kept::pause;
use super::super::{Seconds, Trouble};
use super::key::Key;

/// Failures that are kept at most, about 6 MB; what is asked for least goes first.
const MOST: usize = 65_536;

/// By how much a failure may be ahead of the clock, in seconds: who inserts rounds up, and two threads read it one after the other.
const AHEAD: Seconds = 2;

/// The failures of names, by keys that none has for anything else.
#[derive(Debug)]
pub(super) struct Failures(Cache<(u64, u64), Failure>);

/// What is known of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// How it failed.
    pub(super) trouble: Trouble,
    /// How many times in a row, at least 1.
    pub(super) attempts: u8,
    /// When it came.
    since: Seconds,
    /// When the pause after it ends.
    pub(super) until: Seconds,
    /// Whether an answer held when it came.
    pub(super) is_beside: bool,
}

impl Failures {
    /// None yet, of a cache for so many names.
    pub(super) fn new(capacity: u64) -> Self {
        Failures(Cache::new(usize::try_from(capacity).unwrap_or(MOST).saturating_mul(4).clamp(4_096, MOST)))
    }

    /// Takes a failure, which counts with those before it while the pause after them lasts, and as long again as the longest one.
    pub(super) fn add(
        &self,
        key: &Key,
        (trouble, attempts): (Trouble, u8),
        (first, last): (u32, u32),
        is_beside: bool,
        now: Seconds,
    ) {
        let before = self.0.get(&of(key)).filter(|before| now < before.until + Seconds::from(last));
        let row = before.map_or(0, |before| before.attempts).saturating_add(1);
        let attempts = attempts.max(row).clamp(1, 127);
        let until = now + Seconds::from(pause(attempts, first, last));
        self.0.insert(of(key), Failure { trouble, attempts, since: now, until, is_beside });
    }

    /// The failure after which a pause lasts; none of a time that is yet to come, as after a clock was set back: the pause would
    /// last as much longer.
    pub(super) fn get(&self, key: &Key, now: Seconds) -> Option<Failure> {
        self.0.get(&of(key)).filter(|failure| now < failure.until && failure.since <= now + AHEAD)
    }

    /// Forgets one; tells whether it was known.
    pub(super) fn remove(&self, key: &Key) -> bool {
        !self.0.is_empty() && self.0.remove(&of(key)).is_some()
    }
}

/// Both words of a key.
fn of(key: &Key) -> (u64, u64) {
    (key.pick, key.verify)
}
