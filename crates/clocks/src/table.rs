//! The table: buckets of entries, each bucket under a spin lock in the mapped memory.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use lycosa_mapped::Mapping;
use lycosa_url::{Clock, Digest, Micros, boottime};

use crate::file::{HEADER_BYTES, Named};

/// Buckets of the table. With three entries each: 393,216 keys whose clocks run at one time.
pub(crate) const BUCKETS: u64 = 1 << 17;

/// Words of a bucket: the lock, and three entries.
const BUCKET_WORDS: usize = 16;
const ENTRIES: usize = 3;
const ENTRY_WORDS: usize = 5;

/// Bytes of the table with its header.
pub(crate) const BYTES: usize = HEADER_BYTES + BUCKETS as usize * BUCKET_WORDS * 8;

/// Buckets that are searched for a key.
const PROBES: u64 = 8;

/// How long an interval or a concurrency holds for other users after the last request of the user who asked for it: four intervals, and
/// at least 5 s.
const STICKY_INTERVALS: u64 = 4;
const STICKY: Micros = 5_000_000;

/// The longest time after which a busy key is tried again, since the end of a request is not announced.
const POLL: Micros = 250_000;

/// The time after which a bucket's lock is taken over from an owner that is alive.
const STUCK: Duration = Duration::from_millis(500);

/// Spins between two checks whether the owner of a bucket's lock is alive.
const SPINS: u32 = 10_000;

/// What a clock belongs to: a host or an address, by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockKey(u64);

impl ClockKey {
    /// The key of a host or an address, by the digest of its text or bytes.
    pub fn of(digest: &Digest) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *digest;
        // 0 marks a free entry.
        ClockKey(u64::from_le_bytes([a, b, c, d, e, f, g, h]).max(1))
    }

    /// The key of one of its slots, from 1.
    fn slot(self, number: u32) -> Self {
        // An odd constant (2^64 divided by the golden ratio) spreads the slots over the table.
        ClockKey((self.0 ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1))
    }
}

/// A request that is to start.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its host or address.
    pub key: ClockKey,
    /// The pause between two requests, in microseconds.
    pub interval: Micros,
    /// Requests at once.
    pub concurrency: u32,
    /// When its lease expires, in the crawl's time.
    pub until: Micros,
}

/// A request that has started; [`Clocks::end`] or [`Clocks::cancel`] takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    key: ClockKey,
    slot: u32,
    /// When the key was ready before the request, and the earliest next start because of it.
    before: Micros,
    spacing: Micros,
}

/// Why a request may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// When to try again, in the crawl's time.
    pub retry_at: Micros,
    /// The interval of another user that is longer than the caller's, in microseconds.
    pub slower: Option<Micros>,
}

/// The clocks that this process shares.
#[derive(Debug)]
pub struct Clocks {
    pub(crate) mapping: Mapping,
    /// The crawl's time minus the time since the machine's start.
    pub(crate) origin: i64,
    process: u32,
    /// The file; `None`: in memory.
    pub(crate) named: Option<Named>,
}

/// The crawl's time minus the time since the machine's start.
pub(crate) fn origin_of(clock: &Clock) -> i64 {
    i64::try_from(clock.now()).unwrap_or(i64::MAX).saturating_sub(boottime())
}

/// One entry, read and written under its bucket's lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    key: u64,
    /// Before this time no request starts, in microseconds since the machine's start.
    ready_at: Micros,
    /// Of a slot: the process with a request in flight; 0: none. Of a key: the process that asked for the longest interval.
    holder: u32,
    strict: Strict,
    used: Used,
}

/// The slots of a key that may be busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    /// Numbers from 1 to this.
    slots: u32,
    /// Until when, in seconds since the machine's start: the latest end of a lease.
    until: u32,
}

/// The strictest limits that a user has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Strict {
    /// Milliseconds, rounded up; at most 4.6 h.
    interval: u32,
    /// 1 to 255; 0: none asked.
    concurrency: u8,
    /// Until when they hold, in seconds since the machine's start.
    until: u32,
}

/// The longest [`Strict::interval`]: 24 bits.
const LONGEST: u32 = 0xff_ffff;

impl Clocks {
    /// The clocks of this process's shards alone.
    pub fn in_memory(clock: &Clock) -> std::io::Result<Self> {
        Ok(Self::with(Mapping::anonymous(BYTES)?, None, origin_of(clock)))
    }

    /// Clocks in mapped memory.
    pub(crate) fn with(mapping: Mapping, named: Option<Named>, origin: i64) -> Self {
        Clocks { mapping, origin, process: std::process::id(), named }
    }

    /// The crawl's time.
    pub fn now(&self) -> Micros {
        Micros::try_from(boottime().saturating_add(self.origin)).unwrap_or(0)
    }

    /// Starts a request, if the clock of its key allows it now.
    ///
    /// Errors: the key is busy; [`Busy::retry_at`] is later than `now`.
    pub fn start(&self, claim: &Claim, now: Micros) -> Result<Ticket, Busy> {
        let (at, until) = (self.machine(now), self.machine(claim.until));
        let spaced = self.with_entry(claim.key, at, |entry| {
            let strict = entry.strict.at(at);
            if entry.ready_at > at {
                let slower = Some(strict.interval_us());
                let is_others = entry.holder != self.process;
                let slower =
                    slower.filter(|slower| is_others && *slower > claim.interval.next_multiple_of(1000));
                return Err((entry.ready_at, slower));
            }
            let before = entry.ready_at;
            entry.strict = strict.with(claim, until, at);
            if entry.strict.interval > strict.interval {
                entry.holder = self.process;
            }
            entry.ready_at = at.saturating_add(entry.strict.interval_us());
            entry.used = entry.used.with(claim, until, at);
            Ok((before, entry.ready_at, entry.strict.concurrency, entry.used.slots))
        });
        let (before, spacing, allowed, used) =
            spaced.map_err(|(ready_at, slower)| self.busy(ready_at, at, slower))?;
        match self.take_slot(claim.key, u32::from(allowed).max(1), used, at, until) {
            Ok(slot) => Ok(Ticket { key: claim.key, slot, before, spacing }),
            Err(earliest) => {
                self.unspace(claim.key, before, spacing, at);
                let poll = (claim.interval / 4).clamp(1_000, POLL);
                Err(self.busy(earliest.min(at.saturating_add(poll)), at, None))
            }
        }
    }

    /// Takes a free slot of a key, if fewer are busy than allowed. Of `used` slots some may be busy with requests of a user who was
    /// allowed more. Two users who start in the same microsecond may both take one.
    ///
    /// Errors: when the first of them is free at the latest.
    fn take_slot(
        &self,
        key: ClockKey,
        allowed: u32,
        used: u32,
        at: Micros,
        until: Micros,
    ) -> Result<u32, Micros> {
        let (mut earliest, mut busy) = (Micros::MAX, 0);
        if used > allowed {
            for slot in 1..=used {
                let looked =
                    self.with_entry(key.slot(slot), at, |entry| match entry.is_busy(at, self.process) {
                        true => Err((entry.ready_at, None)),
                        false => Ok(()),
                    });
                if let Err((ready_at, _)) = looked {
                    (earliest, busy) = (earliest.min(ready_at), busy + 1);
                }
            }
        }
        // Spread: with many slots the first ones would be tried in vain.
        let first = (at / 1000) as u32 % allowed;
        for slot in (0..allowed).map(|number| (first + number) % allowed + 1).filter(|_| busy < allowed) {
            let claimed = self.with_entry(key.slot(slot), at, |entry| {
                if entry.is_busy(at, self.process) {
                    return Err((entry.ready_at, None));
                }
                (entry.ready_at, entry.holder) = (until.max(at + 1), self.process);
                Ok(())
            });
            match claimed {
                Ok(()) => return Ok(slot),
                Err((ready_at, _)) => earliest = earliest.min(ready_at),
            }
        }
        Err(earliest)
    }

    /// A request that was started is not sent after all.
    pub fn cancel(&self, ticket: &Ticket, now: Micros) {
        let at = self.machine(now);
        self.free(ticket, at);
        self.unspace(ticket.key, ticket.before, ticket.spacing, at);
    }

    /// A request has ended: the next one for its key starts an interval later.
    pub fn end(&self, ticket: &Ticket, interval: Micros, ended: Micros) {
        let at = self.machine(ended);
        self.free(ticket, at);
        let _ = self.with_entry(ticket.key, at, |entry| {
            let interval = interval.max(entry.strict.at(at).interval_us());
            entry.ready_at = entry.ready_at.max(at.saturating_add(interval));
            entry.used = entry.used.without_one();
            entry.strict = entry.strict.after_end(at);
            Ok(())
        });
    }

    /// No request for a key starts before then: the site asked for a pause, or is in trouble.
    pub fn delay(&self, key: ClockKey, until: Micros, now: Micros) {
        let (until, at) = (self.machine(until), self.machine(now));
        if until > at {
            let _ = self.with_entry(key, at, |entry| {
                entry.ready_at = entry.ready_at.max(until);
                Ok(())
            });
        }
    }

    /// Frees the slot of a request.
    fn free(&self, ticket: &Ticket, at: Micros) {
        let _ = self.with_entry(ticket.key.slot(ticket.slot), at, |entry| {
            (entry.ready_at, entry.holder) = (at, 0);
            Ok(())
        });
    }

    /// Sets the spacing of a key back to what it was before a request that did not start, unless another user has changed it since.
    fn unspace(&self, key: ClockKey, before: Micros, spacing: Micros, at: Micros) {
        let _ = self.with_entry(key, at, |entry| {
            if entry.ready_at == spacing {
                entry.ready_at = before;
            }
            Ok(())
        });
    }

    /// Applies a change to the entry of a key, which is made if it is missing. Errors: the change's own, or the table is full there.
    fn with_entry<T>(
        &self,
        key: ClockKey,
        at: Micros,
        mut change: impl FnMut(&mut Entry) -> Result<T, (Micros, Option<Micros>)>,
    ) -> Result<T, (Micros, Option<Micros>)> {
        let mut free = None;
        for bucket in (0..PROBES).map(|probe| (key.0 >> 8).wrapping_add(probe) % BUCKETS) {
            let locked = self.lock(bucket);
            let found = (0..ENTRIES).find(|index| locked.entry(*index).key == key.0);
            if let Some(index) = found {
                return locked.change(index, locked.entry(index), &mut change);
            }
            let reusable = |index: &usize| locked.entry(*index).is_reusable(at);
            if free.is_none() {
                free = (0..ENTRIES).find(reusable).map(|index| (bucket, index));
            }
        }
        let Some((bucket, index)) = free else { return Err((at.saturating_add(POLL), None)) };
        let locked = self.lock(bucket);
        // Between the search and this lock another user may have taken the entry.
        match locked.entry(index) {
            entry if entry.key == key.0 => locked.change(index, entry, &mut change),
            entry if entry.is_reusable(at) => {
                locked.change(index, Entry { key: key.0, ..Entry::default() }, &mut change)
            }
            _ => Err((at.saturating_add(1_000), None)),
        }
    }

    /// Locks a bucket. A lock that is held for [`STUCK`] is taken over, whatever its owner: a critical section lasts less than a
    /// microsecond, the owner may have died in it, and its PID may be another process's now. At worst one key is an interval short.
    fn lock(&self, bucket: u64) -> Locked<'_> {
        let begin = HEADER_BYTES as u64 + bucket * (BUCKET_WORDS as u64 * 8);
        let (words, _) = self.mapping.words(begin..begin + BUCKET_WORDS as u64 * 8);
        let lock = &words[0];
        let (mut spins, mut since) = (0u32, None);
        while let Err(owner) = lock.compare_exchange(0, u64::from(self.process), AcqRel, Acquire) {
            spins = spins.wrapping_add(1);
            std::hint::spin_loop();
            if spins.is_multiple_of(SPINS) {
                std::thread::yield_now();
                let waited = since.get_or_insert_with(Instant::now).elapsed();
                if waited > STUCK || !is_alive(owner as u32) {
                    let _ = lock.compare_exchange(owner, 0, AcqRel, Relaxed);
                    since = None;
                }
            }
        }
        Locked { words }
    }

    /// The error for a caller, in the crawl's time.
    fn busy(&self, ready_at: Micros, at: Micros, slower: Option<Micros>) -> Busy {
        let retry_at = ready_at.max(at + 1);
        Busy { retry_at: retry_at.saturating_add_signed(self.origin), slower }
    }

    /// A moment of the crawl's time in microseconds since the machine's start.
    fn machine(&self, at: Micros) -> Micros {
        at.saturating_add_signed(self.origin.saturating_neg())
    }
}

/// A locked bucket.
struct Locked<'a> {
    words: &'a [AtomicU64],
}

impl Locked<'_> {
    /// Reads an entry.
    fn entry(&self, index: usize) -> Entry {
        let word = |number: usize| self.words[1 + index * ENTRY_WORDS + number].load(Relaxed);
        let (strict, used) = (Strict::unpack(word(3)), Used::unpack(word(4)));
        Entry { key: word(0), ready_at: word(1), holder: word(2) as u32, strict, used }
    }

    /// Applies a change to an entry, and writes it if it succeeds.
    fn change<T, E>(
        &self,
        index: usize,
        mut entry: Entry,
        change: impl FnOnce(&mut Entry) -> Result<T, E>,
    ) -> Result<T, E> {
        let value = change(&mut entry)?;
        let (strict, used) = (entry.strict.pack(), entry.used.pack());
        let words = [entry.key, entry.ready_at, entry.holder.into(), strict, used];
        for (number, word) in words.into_iter().enumerate() {
            self.words[1 + index * ENTRY_WORDS + number].store(word, Relaxed);
        }
        Ok(value)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.words[0].store(0, Release);
    }
}

impl Entry {
    /// Whether another key may have it: its clock has run out, and its limits do not hold any more.
    fn is_reusable(&self, at: Micros) -> bool {
        self.key == 0
            || (self.ready_at <= at
                && self.strict.at(at) == Strict::default()
                && self.used.at(at) == Used::default())
    }

    /// Whether a slot has a request in flight, of a process that lives.
    fn is_busy(&self, at: Micros, own: u32) -> bool {
        self.ready_at > at && (self.holder == 0 || self.holder == own || is_alive(self.holder))
    }
}

impl Used {
    /// Those that may be busy at a time.
    fn at(self, at: Micros) -> Self {
        if Micros::from(self.until) * 1_000_000 > at { self } else { Used::default() }
    }

    /// Together with those of a claim.
    fn with(self, claim: &Claim, until: Micros, at: Micros) -> Self {
        let before = self.at(at);
        let until = u32::try_from(until.div_ceil(1_000_000)).unwrap_or(u32::MAX);
        let slots = claim.concurrency.clamp(1, u8::MAX.into());
        Used { slots: before.slots.max(slots), until: before.until.max(until) }
    }

    /// After the end of a request: of one slot nothing is busy.
    fn without_one(self) -> Self {
        if self.slots <= 1 { Used::default() } else { self }
    }

    fn pack(self) -> u64 {
        u64::from(self.slots) | u64::from(self.until) << 32
    }

    fn unpack(word: u64) -> Self {
        Used { slots: word as u32, until: (word >> 32) as u32 }
    }
}

impl Strict {
    /// Those that hold at a time.
    fn at(self, at: Micros) -> Self {
        if Micros::from(self.until) * 1_000_000 > at { self } else { Strict::default() }
    }

    /// Together with those of a claim, whose lease ends at `until`. Any user who asks for one of the limits, or for more, refreshes both:
    /// two users may be stricter than each other in one of them each.
    fn with(self, claim: &Claim, until: Micros, at: Micros) -> Self {
        let interval = u32::try_from(claim.interval.div_ceil(1000)).unwrap_or(LONGEST).min(LONGEST);
        let concurrency = u8::try_from(claim.concurrency.max(1)).unwrap_or(u8::MAX);
        let is_strict = interval >= self.interval || self.concurrency == 0 || concurrency <= self.concurrency;
        // While the request is in flight, whatever that takes.
        let until = seconds(until.max(at.saturating_add(sticky(claim.interval))));
        Strict {
            interval: interval.max(self.interval),
            concurrency: if self.concurrency == 0 { concurrency } else { concurrency.min(self.concurrency) },
            until: if is_strict { self.until.max(until) } else { self.until },
        }
    }

    /// After the end of a request: they hold for some intervals more.
    fn after_end(self, at: Micros) -> Self {
        Strict { until: self.until.min(seconds(at.saturating_add(sticky(self.interval_us())))), ..self }
    }

    /// The interval in microseconds.
    fn interval_us(self) -> Micros {
        Micros::from(self.interval) * 1000
    }

    fn pack(self) -> u64 {
        u64::from(self.interval) | u64::from(self.concurrency) << 24 | u64::from(self.until) << 32
    }

    fn unpack(word: u64) -> Self {
        Strict {
            interval: word as u32 & LONGEST,
            concurrency: (word >> 24) as u8,
            until: (word >> 32) as u32,
        }
    }
}

/// How long limits hold after a request.
fn sticky(interval: Micros) -> Micros {
    interval.saturating_mul(STICKY_INTERVALS).max(STICKY)
}

/// Microseconds as seconds, rounded up.
fn seconds(at: Micros) -> u32 {
    u32::try_from(at.div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

/// Whether a process exists.
fn is_alive(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return false };
    // No signal is sent; EPERM means that it exists.
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None) != Err(nix::errno::Errno::ESRCH)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
