//! Passes over all buckets: counts, scans, removal of ranges, sweeps and recounts.
//!
//! Names are not stored; a slot has the code of the top-level domain and the hash of the registered domain's label. Ranges that
//! these fields cannot express are refused. Two registered domains under one top-level domain collide with probability 2^-32.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::Relaxed;

use lycosa_url::registered_domain;

use super::super::Seconds;
use super::CompactCache;
use super::bucket::{SLOTS, Snapshot, occupied, owner};
use super::key::{DomainCode, TOP_LEVEL, UNKNOWN, code};
use super::layout::word;
use super::record::{Record, SPAN, Slot, SlotKind};
use crate::host::{BadName, HostName};
use crate::settings::Families;

/// A range of names, ordered by the code of the top-level domain, then by the hash of the label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange(RangeInclusive<u64>);

/// Why a range cannot be expressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRange {
    /// The text is not a name.
    Name(String, BadName),
    /// Unknown top-level domains share one code.
    Unknown(String),
    /// A public suffix of several labels: slots have the top-level domain and the registered domain only.
    Suffix(String),
    /// A name below a registered domain: slots have that domain only.
    Deeper {
        /// The name.
        name: String,
        /// Its registered domain.
        domain: String,
    },
}

impl fmt::Display for BadRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadRange::Name(name, why) => write!(out, "{name:?}: {why}"),
            BadRange::Unknown(name) => write!(
                out,
                "{name} is not in the compiled-in list of top-level domains; unlisted ones share one code"
            ),
            BadRange::Suffix(name) => write!(
                out,
                "{name} is a public suffix of several labels: use its top-level domain or a registered domain"
            ),
            BadRange::Deeper { name, domain } => {
                write!(
                    out,
                    "{name} is below the registered domain {domain}: use that domain, or look the name up"
                )
            }
        }
    }
}

impl std::error::Error for BadRange {}

impl KeyRange {
    /// All names.
    pub fn all() -> Self {
        KeyRange(0..=u64::MAX)
    }

    /// Names under a top-level domain or a registered domain, itself included; all for an empty text or the root.
    pub fn under(text: &str) -> Result<Self, BadRange> {
        if text.is_empty() || text == "." {
            return Ok(Self::all());
        }
        let mut buffer = String::new();
        let name =
            HostName::normalize(text, &mut buffer).map_err(|why| BadRange::Name(text.to_owned(), why))?;
        let name = name.as_str();
        if !name.contains('.') {
            return match code(name) {
                UNKNOWN => Err(BadRange::Unknown(name.to_owned())),
                code => Ok(Self::below(code)),
            };
        }
        let domain = registered_domain(name);
        if domain != name {
            return Err(BadRange::Deeper { name: name.to_owned(), domain: domain.to_owned() });
        }
        if is_public_suffix(name) {
            return Err(BadRange::Suffix(name.to_owned()));
        }
        Ok(Self::of(name))
    }

    /// Names below a top-level domain.
    fn below(code: u16) -> Self {
        let top = u64::from(code) << 32;
        KeyRange(top..=top | 0xffff_ffff)
    }

    /// The registered domain of a name, and all names below it.
    fn of(name: &str) -> Self {
        let number = DomainCode::of(name).number();
        KeyRange(number..=number)
    }

    /// The smallest range with a zone, in normal form or `.`, and all names below it. Others may be in it, too: slots have the
    /// registered domain only.
    pub fn around(zone: &str) -> Self {
        if zone == "." {
            return Self::all();
        }
        if !is_public_suffix(zone) {
            return Self::of(zone);
        }
        Self::below(code(zone.rsplit_once('.').map_or(zone, |(_, top)| top)))
    }

    /// From the first name of this range to the last one of another; `None` if that one ends before. Top-level
    /// domains are in alphabetical order, registered domains in the order of their hashes.
    pub fn up_to(&self, last: &KeyRange) -> Option<KeyRange> {
        let (start, end) = (*self.0.start(), *last.0.end());
        (start <= end).then_some(KeyRange(start..=end))
    }

    /// Whether a slot is in the range.
    #[inline]
    fn contains(&self, slot: &Slot) -> bool {
        self.0.contains(&slot.domain().number())
    }
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The top-level domain, if it is known.
    pub top: Option<&'static str>,
    /// murmur3_32 of the registered domain less its top-level domain.
    pub label: u32,
    /// 64 bits of the keyed hash of the whole name.
    pub hash: u64,
    /// The state of the name.
    pub record: Record,
}

impl CompactCache {
    /// The number of names with valid addresses in a range. Concurrent changes may or may not count.
    pub fn count_in(&self, range: &KeyRange, now: Seconds) -> u64 {
        let mut count = 0;
        self.pass(now, |slot| count += u64::from(range.contains(slot)));
        count
    }

    /// The number of names with valid addresses by top-level domain, in descending order; `None`: unknown ones.
    pub fn count_by_tld(&self, now: Seconds) -> Vec<(Option<&'static str>, u64)> {
        let mut counts = vec![0_u64; 4_096];
        self.pass(now, |slot| counts[usize::from(slot.meta.tld())] += 1);
        let names = std::iter::once(None).chain(TOP_LEVEL.iter().copied().map(Some));
        let mut named: Vec<_> = names.zip(counts).filter(|(_, count)| *count > 0).collect();
        named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        named
    }

    /// Passes all valid entries in a range to `tell`, in no particular order.
    pub fn scan(&self, range: &KeyRange, now: Seconds, mut tell: impl FnMut(Entry)) {
        self.maintain(now);
        let table = self.table();
        for bucket in (0..table.len()).map(|home| table.bucket(home)) {
            if occupied(bucket.control()) == 0 {
                continue;
            }
            let load = |slot: Slot| (slot, range.contains(&slot).then(|| self.set_of(&slot)).flatten());
            let read = bucket.read(|snapshot| snapshot.slots().map(load));
            for (slot, set) in read.into_iter().flatten().filter(|(slot, _)| range.contains(slot)) {
                let families = [Families::Both, Families::V4, Families::V6];
                let record = families.into_iter().find_map(|families| Record::of(&slot, set, families, now));
                if let Some(record) = record {
                    let place = slot.meta.tld().checked_sub(1);
                    let top = place.and_then(|place| TOP_LEVEL.get(usize::from(place)).copied());
                    tell(Entry { top, label: slot.label, hash: slot.verify, record });
                }
            }
        }
    }

    /// Removes all names in a range; returns the number of emptied slots.
    pub fn forget_in(&self, range: &KeyRange) -> u64 {
        self.forget_where(|slot| range.contains(slot))
    }

    /// Removes all names around zones, as [`KeyRange::around`], in one pass, and all failures of this process: the servers of
    /// the zones have changed. Returns the number of emptied slots.
    pub fn forget_around<'z>(&self, zones: impl IntoIterator<Item = &'z str>) -> u64 {
        let mut ranges: Vec<(u64, u64)> =
            zones.into_iter().map(|zone| KeyRange::around(zone).0.into_inner()).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let overlaps = next.0 <= before.1;
            before.1 = if overlaps { before.1.max(next.1) } else { before.1 };
            overlaps
        });
        self.failures.clear();
        self.forget_where(|slot| {
            let number = slot.domain().number();
            let next = ranges.partition_point(|range| range.0 <= number);
            next.checked_sub(1).is_some_and(|place| number <= ranges[place].1)
        })
    }

    /// Removes all names whose slots match; returns their number.
    fn forget_where(&self, matches: impl Fn(&Slot) -> bool) -> u64 {
        let table = self.table();
        let is_in = |slot: &Slot| slot.kind != SlotKind::Empty && matches(slot);
        let has_some = |home: &usize| (0..SLOTS).any(|index| is_in(&table.bucket(*home).peek(index)));
        let purged = |home| self.purge(home, &matches) as u64;
        (0..table.len()).filter(has_some).map(purged).sum()
    }

    /// Passes each slot with valid addresses to `see`, possibly torn: for counts only.
    #[inline]
    fn pass(&self, now: Seconds, mut see: impl FnMut(&Slot)) {
        self.maintain(now);
        let (table, minute) = (self.table(), now / 60);
        for bucket in (0..table.len()).map(|home| table.bucket(home)) {
            for index in 0..SLOTS {
                let slot = bucket.peek(index);
                if slot.kind.has_addresses() && slot.meta.left(minute).is_some() {
                    see(&slot);
                }
            }
        }
    }

    /// Runs maintenance that is due, unless another thread or process does.
    #[inline]
    pub(super) fn maintain(&self, now: Seconds) {
        self.watch_file(now);
        let (sweep_due, filter) = (self.since_sweep(now) >= SPAN, self.filter());
        if sweep_due || (filter.exists() && filter.is_due(now)) {
            self.catch_up(now, sweep_due);
        }
    }

    /// Advances the filter, and sweeps if `sweep_due`.
    #[cold]
    pub(super) fn catch_up(&self, now: Seconds, sweep_due: bool) {
        let Some(_guard) = self.maintenance.try_lock().ok().filter(|_| self.may_write()) else { return };
        if !self.locks.as_ref().is_none_or(|locks| locks.try_enter()) {
            return;
        }
        self.filter().advance(now);
        if sweep_due {
            self.clean_up(now, true);
        }
        self.locks.iter().for_each(|locks| locks.leave());
    }

    /// Minutes since the last sweep.
    fn since_sweep(&self, now: Seconds) -> u64 {
        (now / 60).abs_diff(self.live(word::SWEPT).load(Relaxed))
    }

    /// Empties the buckets of dead writers and, in a sweep, all expired slots; otherwise these stay as stale
    /// data (RFC 8767). Requires the maintenance lock.
    fn clean_up(&self, now: Seconds, is_sweep: bool) {
        let (table, minute) = (self.table(), now / 60);
        // Every insertion sweeps first if that is due, so that no entry is younger than the last sweep by more
        // than a span, or lives longer than one. After two spans all have expired, while their minutes modulo
        // 2^16 might look valid.
        let is_late = self.since_sweep(now) >= 2 * SPAN;
        let is_stale = |slot: &Slot| is_late || (is_sweep && slot.meta.left(minute).is_none());
        for home in 0..table.len() {
            let bucket = table.bucket(home);
            let control = bucket.control();
            if occupied(control) == 0 && owner(control) == 0 {
                continue;
            }
            let is_stale_slot = |slot: &Slot| slot.kind != SlotKind::Empty && is_stale(slot);
            if bucket.read(|snapshot| snapshot.slots().iter().any(is_stale_slot)) != Some(false) {
                self.purge(home, is_stale);
            }
        }
        if is_sweep {
            self.live(word::SWEPT).store(minute, Relaxed);
        }
    }

    /// Cleans up and recounts slots and references. Requires exclusive use of the file.
    pub(super) fn repair(&self, now: Seconds) {
        self.clean_up(now, self.since_sweep(now) >= SPAN);
        self.recount();
    }

    /// Recounts slots and references. Requires exclusive use of the file.
    pub(super) fn recount(&self) {
        let table = self.table();
        let areas = [self.sets(false), self.sets(true)];
        let mut references = areas.each_ref().map(|area| vec![0_u32; area.cells()]);
        let (mut names, mut used, mut cuts) = (0, 0, 0);
        for home in 0..table.len() {
            let slots = table.bucket(home).read(|snapshot: Snapshot<'_, '_, _>| snapshot.slots());
            for slot in slots.unwrap_or_default().iter().filter(|slot| slot.kind != SlotKind::Empty) {
                used += 1;
                names += u64::from(slot.kind.has_addresses());
                cuts += u64::from(slot.is_cut());
                if let Some((is_large, cell)) = slot.cell()
                    && let Some(count) = references[usize::from(is_large)].get_mut(cell as usize)
                {
                    *count = count.saturating_add(1);
                }
            }
        }
        for (place, count) in [(word::NAMES, names), (word::USED, used), (word::CUTS, cuts)] {
            self.live(place).store(count, Relaxed);
        }
        for (area, references) in areas.iter().zip(references) {
            references.into_iter().enumerate().for_each(|(cell, count)| area.recount(cell, count));
        }
    }

    /// Empties table, sets and filter. Requires exclusive use of the file.
    pub(super) fn wipe(&self) {
        let layout = &self.header.layout;
        let (words, _) = self.map.words(layout.bucket_bytes().start..layout.filter_bytes().end);
        words.iter().for_each(|word| word.store(0, Relaxed));
    }
}

/// Whether a name is a public suffix: names below it belong to other registrants.
pub(super) fn is_public_suffix(name: &str) -> bool {
    let below = format!("x.{name}");
    registered_domain(&below) == below
}
