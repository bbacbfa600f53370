//! Whole replies by name, type and the question's DO and CD bits: for records of any type, and for addresses
//! with signatures.
//!
//! Guarantees: a reply is returned until its smallest TTL has passed, within the limits, with all TTLs lowered
//! by its age; questions with other DO or CD bits never share a reply; memory is bounded; a failure is cached
//! for [`FAILURE`] (RFC 9520) and never replaces a reply, not even an expired one.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lycosa_url::{Failure, Micros};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::Seconds;
use super::packet::{self, change_ttl};
use crate::extended_error::ExtendedError;
use crate::packet_key::PacketKey;
use crate::scaled::ScaledTime;
use crate::settings::Settings;

/// Seconds for which a failure is cached: as in Unbound (RFC 9520 section 3.2: at least one second).
const FAILURE: u32 = 5;

/// TTL in seconds of expired records that are served (RFC 8767 section 4).
pub const STALE_TTL: u32 = 30;

/// Bytes of an entry besides its key and its message.
const OVERHEAD: u64 = 160;

/// Bytes of a typical reply, by which the number of entries is estimated.
const TYPICAL: u64 = 600;

/// The reply of an upstream, or the failure instead.
#[derive(Debug)]
pub struct Packet {
    /// The message with the id 0, a lower-case question and without OPT record; empty for a failure.
    message: Box<[u8]>,
    /// Offsets of its TTLs.
    ttls: Box<[u16]>,
    /// When it was received.
    received: Seconds,
    /// When it expires.
    expires: Seconds,
    /// Whether it has records of the queried type.
    has_data: bool,
    /// Its extended error (RFC 8914).
    extended_error: Option<ExtendedError>,
    failure: Option<Failure>,
}

impl Packet {
    /// The message as received, except for its id (0), the case of its question and its OPT record; or the
    /// failure.
    ///
    /// # Errors
    ///
    /// The failure of the upstreams.
    pub fn message(&self) -> Result<&[u8], &Failure> {
        self.failure.as_ref().map_or(Ok(&self.message), Err)
    }

    /// The upstream's extended error (RFC 8914).
    pub fn extended_error(&self) -> Option<&ExtendedError> {
        self.extended_error.as_ref()
    }

    /// A copy of the message with other TTLs.
    fn with_ttls(&self, change: impl Fn(u32) -> u32) -> Vec<u8> {
        let mut message = self.message.to_vec();
        self.ttls.iter().for_each(|&offset| change_ttl(&mut message, offset, &change));
        message
    }

    /// Bytes of memory.
    fn weight(&self) -> u64 {
        let text = |failure: &Failure| failure.detail.len();
        let texts = self.failure.as_ref().map_or(0, text)
            + self.extended_error.as_ref().map_or(0, |error| error.text.len());
        (self.message.len() + 2 * self.ttls.len() + texts) as u64
    }
}

/// The entry of one key.
#[derive(Clone, Debug, Default)]
struct Entry {
    answer: Option<Arc<Packet>>,
    /// A failure after that reply.
    failure: Option<Arc<Packet>>,
}

/// Weighs entries by bytes.
#[derive(Clone)]
struct Bytes;

impl Weighter<PacketKey, Entry> for Bytes {
    fn weight(&self, key: &PacketKey, entry: &Entry) -> u64 {
        let packets = entry.answer.iter().chain(&entry.failure);
        key.size() as u64 + packets.map(|packet| packet.weight()).sum::<u64>() + OVERHEAD
    }
}

/// Limits of TTLs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLimits {
    /// The longest that records are cached.
    pub max_ttl: u32,
    /// The longest that NXDOMAIN and NODATA are cached.
    pub negative_ttl: u32,
}

/// The cache of replies. All threads of a process share it.
pub struct PacketCache {
    /// `None` if nothing is cached.
    entries: Option<Cache<PacketKey, Entry, Bytes>>,
    writes: Mutex<()>,
    time: ScaledTime,
    max_ttl: AtomicU32,
    negative_ttl: AtomicU32,
}

impl PacketCache {
    /// A cache of at most `bytes`; 0: nothing is cached. Its time starts at `now` and runs `speed` times as
    /// fast as the clock.
    pub fn new(bytes: u64, limits: PacketLimits, now: Micros, speed: f64) -> Self {
        let count = usize::try_from(bytes / TYPICAL).unwrap_or(usize::MAX);
        PacketCache {
            entries: (bytes > 0).then(|| Cache::with_weighter(count, bytes, Bytes)),
            writes: Mutex::default(),
            time: ScaledTime::start(now, speed),
            max_ttl: AtomicU32::new(limits.max_ttl),
            negative_ttl: AtomicU32::new(limits.negative_ttl),
        }
    }

    /// The same with the limits and the time of a client's settings.
    pub(crate) fn of(settings: &Settings, bytes: u64) -> Self {
        let seconds = |limit: Duration| u32::try_from(limit.as_secs()).unwrap_or(u32::MAX);
        let (max_ttl, negative_ttl) = (seconds(settings.max_ttl), seconds(settings.negative_ttl));
        PacketCache::new(bytes, PacketLimits { max_ttl, negative_ttl }, settings.clock.now(), settings.speed)
    }

    /// Sets other limits, for replies that arrive from now on.
    pub fn limit(&self, limits: PacketLimits) {
        self.max_ttl.store(limits.max_ttl, Relaxed);
        self.negative_ttl.store(limits.negative_ttl, Relaxed);
    }

    /// The valid reply; without one, the valid failure.
    pub fn get(&self, key: &PacketKey, now: Micros) -> Option<Arc<Packet>> {
        let second = self.time.seconds(now);
        let Entry { answer, failure } = self.entries.as_ref()?.get(key)?;
        answer.into_iter().chain(failure).find(|packet| second < packet.expires)
    }

    /// The expired reply with data, if it expired at most `within` seconds ago (RFC 8767).
    pub fn get_stale(&self, key: &PacketKey, now: Micros, within: u32) -> Option<Arc<Packet>> {
        let second = self.time.seconds(now);
        let answer = self.entries.as_ref()?.get(key)?.answer?;
        let until = answer.expires.saturating_add(Seconds::from(within));
        (answer.has_data && answer.expires <= second && second < until).then_some(answer)
    }

    /// The message of an expired reply: with [`STALE_TTL`], and without the AD bit.
    pub fn stale_message(&self, packet: &Packet) -> Vec<u8> {
        let mut message = packet.with_ttls(|_| STALE_TTL);
        if let Some(flags) = message.get_mut(3) {
            *flags &= !0x20; // AD
        }
        message
    }

    /// A message with its remaining TTLs.
    pub fn message(&self, packet: &Packet, now: Micros) -> Vec<u8> {
        let second = self.time.seconds(now);
        let age = u32::try_from(second.saturating_sub(packet.received)).unwrap_or(u32::MAX);
        packet.with_ttls(|ttl| ttl.saturating_sub(age))
    }

    /// When a reply expires, by the caller's clock.
    pub fn expires(&self, packet: &Packet) -> Micros {
        self.time.moment(packet.expires)
    }

    /// Parses a reply of an upstream; `None` if it is malformed or truncated. Its TTLs are cut to the limits.
    pub fn read(&self, reply: &[u8], now: Micros) -> Option<Packet> {
        let (mut message, extent) = packet::normalize(reply)?;
        let longest = self.max_ttl.load(Relaxed);
        let ttl = extent.ttl(longest, self.negative_ttl.load(Relaxed));
        extent.ttls.iter().for_each(|&offset| change_ttl(&mut message, offset, |ttl| ttl.min(longest)));
        // Who caches the answer next must not be told a longer time than it has here (RFC 2308 section 5).
        if let Some(offset) = extent.soa.filter(|_| !extent.has_data) {
            change_ttl(&mut message, offset, |told| told.min(ttl));
        }
        let received = self.time.seconds(now);
        Some(Packet {
            message: message.into(),
            ttls: extent.ttls.into(),
            received,
            expires: received + Seconds::from(ttl),
            has_data: extent.has_data,
            extended_error: extent.extended_error,
            failure: None,
        })
    }

    /// Removes the entries of names, given as [`PacketKey::text`], whose answers are not valid any more.
    pub fn forget(&self, is_invalid: impl Fn(&str) -> bool) {
        if let Some(entries) = &self.entries {
            let _turn = self.writing();
            entries.retain(|key, _| !is_invalid(&key.text()));
        }
    }

    /// Stores a reply in place of the entry; one without a TTL is not stored, but still removes the entry.
    pub fn put(&self, key: PacketKey, packet: Packet) -> Arc<Packet> {
        let packet = Arc::new(packet);
        if let Some(entries) = &self.entries {
            let _turn = self.writing();
            if packet.expires > packet.received {
                entries.insert(key, Entry { answer: Some(packet.clone()), failure: None });
            } else {
                entries.remove(&key);
            }
        }
        packet
    }

    /// Serialises writers, so that no other one interferes between a read and the write after it.
    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores that the upstreams failed; returns the valid reply if there is one, otherwise the failure.
    pub fn put_failure(
        &self,
        key: PacketKey,
        failure: Failure,
        error: Option<ExtendedError>,
        now: Micros,
    ) -> Arc<Packet> {
        let received = self.time.seconds(now);
        let packet = Arc::new(Packet {
            message: Box::default(),
            ttls: Box::default(),
            received,
            expires: received + Seconds::from(FAILURE),
            has_data: false,
            extended_error: error,
            failure: Some(failure),
        });
        let Some(entries) = &self.entries else { return packet };
        let _turn = self.writing();
        let answer = entries.peek(&key).and_then(|entry| entry.answer);
        if let Some(answer) = answer.clone().filter(|answer| received < answer.expires) {
            return answer;
        }
        entries.insert(key, Entry { answer, failure: Some(packet.clone()) });
        packet
    }

    /// The bytes in use, and the number of entries.
    pub fn size(&self) -> (u64, u64) {
        self.entries.as_ref().map_or((0, 0), |entries| (entries.weight(), entries.len() as u64))
    }
}

#[cfg(test)]
#[path = "packets_tests.rs"]
mod tests;
