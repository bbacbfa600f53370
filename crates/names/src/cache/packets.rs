//! Whole answers of upstreams, by name, type and the question's DO and CD bits: for records of any type, and for addresses with
//! signatures.
//!
//! Guarantees: an answer is given for its shortest TTL, no longer than the limits, with all its TTLs lowered by its age; an answer
//! to a question without signatures (DO), or with validation (no CD), never serves another kind of question; memory is bounded; a
//! failure is kept for [`FAILURE`] (RFC 9520) and never replaces an answer, not even one that has expired.

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

/// Seconds for which a failure is kept: as Unbound does (RFC 9520 section 3.2: at least one second).
const FAILURE: u32 = 5;

/// TTL in seconds of records that have expired (RFC 8767 section 4).
pub const STALE_TTL: u32 = 30;

/// Bytes that an entry takes besides its key and its message.
const OVERHEAD: u64 = 160;

/// Bytes of a typical answer, from which the number of entries is estimated.
const TYPICAL: u64 = 600;

/// One answer of an upstream, or why there is none.
#[derive(Debug)]
pub struct Packet {
    /// The message with the number 0, its question in lower case, without its OPT record; empty where there is a failure.
    message: Box<[u8]>,
    /// Offsets of its TTLs.
    ttls: Box<[u16]>,
    /// When it was received.
    received: Seconds,
    /// When it expires.
    expires: Seconds,
    /// Whether it has records of the type that was asked for.
    has_data: bool,
    /// What EDNS added about the answer (RFC 8914).
    extended_error: Option<ExtendedError>,
    failure: Option<Failure>,
}

impl Packet {
    /// The message as it was received, but for its number (0), the case of its question and its OPT record; or why there is none.
    ///
    /// # Errors
    ///
    /// The failure of the upstreams.
    pub fn message(&self) -> Result<&[u8], &Failure> {
        self.failure.as_ref().map_or(Ok(&self.message), Err)
    }

    /// What the upstream said about its answer (RFC 8914).
    pub fn extended_error(&self) -> Option<&ExtendedError> {
        self.extended_error.as_ref()
    }

    /// A copy of the message with other TTLs.
    fn with_ttls(&self, change: impl Fn(u32) -> u32) -> Vec<u8> {
        let mut message = self.message.to_vec();
        self.ttls.iter().for_each(|&offset| change_ttl(&mut message, offset, &change));
        message
    }

    /// Bytes that it takes in memory.
    fn weight(&self) -> u64 {
        let text = |failure: &Failure| failure.detail.len();
        let texts = self.failure.as_ref().map_or(0, text)
            + self.extended_error.as_ref().map_or(0, |error| error.text.len());
        (self.message.len() + 2 * self.ttls.len() + texts) as u64
    }
}

/// What is known about one key.
#[derive(Clone, Debug, Default)]
struct Entry {
    answer: Option<Arc<Packet>>,
    /// The failure after that answer.
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
    /// The longest that records are kept.
    pub max_ttl: u32,
    /// The longest that "no such name" and "no such record" are kept.
    pub negative_ttl: u32,
}

/// The answers. Shared by all threads of a process.
pub struct PacketCache {
    /// `None` where nothing is to be kept.
    entries: Option<Cache<PacketKey, Entry, Bytes>>,
    writes: Mutex<()>,
    time: ScaledTime,
    max_ttl: AtomicU32,
    negative_ttl: AtomicU32,
}

impl PacketCache {
    /// A cache of at most so many bytes; 0: nothing is kept. Its time begins now and runs `speed` times as fast as the clock.
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

    /// Sets other limits, which hold for answers that are kept from now on.
    pub fn limit(&self, limits: PacketLimits) {
        self.max_ttl.store(limits.max_ttl, Relaxed);
        self.negative_ttl.store(limits.negative_ttl, Relaxed);
    }

    /// The answer that holds, else the failure that does.
    pub fn get(&self, key: &PacketKey, now: Micros) -> Option<Arc<Packet>> {
        let second = self.time.seconds(now);
        let Entry { answer, failure } = self.entries.as_ref()?.get(key)?;
        answer.into_iter().chain(failure).find(|packet| second < packet.expires)
    }

    /// The answer with data that expired, at most so many seconds ago (RFC 8767).
    pub fn get_stale(&self, key: &PacketKey, now: Micros, within: u32) -> Option<Arc<Packet>> {
        let second = self.time.seconds(now);
        let answer = self.entries.as_ref()?.get(key)?.answer?;
        let until = answer.expires.saturating_add(Seconds::from(within));
        (answer.has_data && answer.expires <= second && second < until).then_some(answer)
    }

    /// The message of an answer that has expired: with [`STALE_TTL`], and no longer said to be validated.
    pub fn stale_message(&self, packet: &Packet) -> Vec<u8> {
        let mut message = packet.with_ttls(|_| STALE_TTL);
        if let Some(flags) = message.get_mut(3) {
            *flags &= !0x20; // AD
        }
        message
    }

    /// A message with the TTLs that are left.
    pub fn message(&self, packet: &Packet, now: Micros) -> Vec<u8> {
        let second = self.time.seconds(now);
        let age = u32::try_from(second.saturating_sub(packet.received)).unwrap_or(u32::MAX);
        packet.with_ttls(|ttl| ttl.saturating_sub(age))
    }

    /// When an answer expires, by the clock that the caller has.
    pub fn expires(&self, packet: &Packet) -> Micros {
        self.time.moment(packet.expires)
    }

    /// Reads a reply of an upstream; `None` where it cannot be read to its end, or is cut off. Its TTLs are cut to the limits.
    pub fn read(&self, reply: &[u8], now: Micros) -> Option<Packet> {
        let (mut message, extent) = packet::normalize(reply)?;
        let longest = self.max_ttl.load(Relaxed);
        let ttl = extent.ttl(longest, self.negative_ttl.load(Relaxed));
        extent.ttls.iter().for_each(|&offset| change_ttl(&mut message, offset, |ttl| ttl.min(longest)));
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

    /// Keeps an answer in place of what was known; one without a TTL is not kept, and contradicts that all the same.
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

    /// The turn of one who writes: what is read and written again is not changed in between.
    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps that the upstreams failed; gives what is to be told: the answer, where there is one that holds.
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

    /// Bytes that are kept, and the number of entries.
    pub fn size(&self) -> (u64, u64) {
        self.entries.as_ref().map_or((0, 0), |entries| (entries.weight(), entries.len() as u64))
    }
}

#[cfg(test)]
#[path = "packets_tests.rs"]
mod tests;
