//! The reverse region: names that were slow to resolve, which are worth caching, and names that failed.
//!
//! Guarantees: table 3 points to conflict areas of at most [`AREA`] entries, so that a linear search is
//! short; an area is sorted by decreasing weight; a new name replaces the lightest one of a full area; once
//! per period, all entries that are light and were not refreshed within the period are evicted.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::{Record, RegionsSettings};
use crate::kept::heap;
use lycosa_names::cache::{Class, Seconds};

/// Maximum number of entries per conflict area.
const AREA: usize = 8;

/// Half-life of the weight of an unused entry, in seconds.
const HALF: f64 = 3_600.0;

/// Parameters of the weight, as named by the patent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Resolution time in milliseconds.
    pub took: u32,
    /// TTL in seconds; for a failed name its back-off.
    pub ttl: u32,
    /// Remaining TTL in seconds.
    pub remaining: u32,
    /// Seconds since the last lookup.
    pub idle: Seconds,
}

/// Weight function. The patent leaves the function of its three parameters open; here it is a product of
/// their powers, 1,000 × (resolution time in seconds)^`time` × (remaining TTL ÷ TTL)^`ttl` × 2^(−`recency` ×
/// idle ÷ 1 h).
///
/// A parameter with exponent 0 does not count. Exponents are 0 to 10, with which no weight is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// Exponent of the resolution time.
    pub time: f64,
    /// Exponent of the remaining share of the TTL.
    pub ttl: f64,
    /// Exponent of the factor that halves with each hour without a lookup.
    pub recency: f64,
}

impl Weight {
    /// The function of SYSTEMS.md: milliseconds × remaining TTL ÷ TTL × 2^(−idle ÷ 1 h).
    pub const COST: Weight = Weight { time: 1.0, ttl: 1.0, recency: 1.0 };
    /// Resolution time in milliseconds: slow names stay, looked up or not.
    pub const TIME: Weight = Weight { time: 1.0, ttl: 0.0, recency: 0.0 };
    /// 1,000 × 2^(−idle ÷ 1 h): names looked up last stay, whatever they cost.
    pub const RECENCY: Weight = Weight { time: 0.0, ttl: 0.0, recency: 1.0 };

    /// The weight of a name.
    pub fn of(&self, worth: &Worth) -> f64 {
        let left = f64::from(worth.remaining) / f64::from(worth.ttl.max(1));
        // In milliseconds, so that exponent 1 returns them without rounding.
        let time = power(1_000.0, 1.0 - self.time) * power(f64::from(worth.took), self.time);
        time * power(left, self.ttl) * (-self.recency * worth.idle as f64 / HALF).exp2()
    }
}

/// A number to a power, with shortcuts for the exponents 0 and 1.
fn power(of: f64, exponent: f64) -> f64 {
    if exponent == 0.0 {
        1.0
    } else if exponent == 1.0 {
        of
    } else {
        of.powf(exponent)
    }
}

/// The region.
pub(super) struct Reverse {
    /// Table 3 and the conflict areas, indexed by the name's hash.
    areas: Vec<Vec<Entry>>,
    hasher: DefaultHashBuilder,
    weight: Weight,
    light: f64,
    period: Seconds,
    /// When light entries were last evicted.
    swept: Seconds,
}

/// A name in a conflict area.
struct Entry {
    name: Box<str>,
    record: Record,
    accessed: Seconds,
    refreshed: Seconds,
    /// As of the last access to its area.
    weight: f64,
}

impl Entry {
    /// Updates the weight.
    fn weigh(&mut self, weight: Weight, now: Seconds) {
        let remaining = self.record.expires.saturating_sub(now).min(Seconds::from(self.record.ttl));
        let made = weight.of(&Worth {
            took: self.record.took,
            ttl: self.record.ttl,
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
            idle: now.saturating_sub(self.accessed),
        });
        self.weight = if made.is_nan() { 0.0 } else { made };
    }
}

impl Reverse {
    /// An empty region.
    pub(super) fn new(settings: &RegionsSettings) -> Self {
        Reverse {
            areas: std::iter::repeat_with(Vec::new).take(settings.reverse / AREA).collect(),
            hasher: DefaultHashBuilder::default(),
            weight: settings.weight,
            light: settings.light,
            period: settings.period,
            swept: 0,
        }
    }

    /// Looks up a name's record; counts as an access.
    pub(super) fn find(&mut self, name: &str, now: Seconds) -> Option<&Record> {
        let area = self.area(name);
        let found = self.areas[area].iter_mut().find(|entry| *entry.name == *name)?;
        found.accessed = now;
        self.sort(area, now);
        self.areas[area].iter().find(|entry| *entry.name == *name).map(|entry| &entry.record)
    }

    /// Inserts or replaces a record; returns how many valid names were evicted.
    pub(super) fn insert(&mut self, name: &str, record: Record, now: Seconds) -> u64 {
        let mut wanted = self.sweep(now);
        let at = self.area(name);
        self.sort(at, now);
        let area = &mut self.areas[at];
        match area.iter().position(|entry| *entry.name == *name) {
            Some(known) => drop(area.remove(known)),
            None if area.len() == AREA => {
                wanted += u64::from(area.pop().is_some_and(|entry| now < entry.record.expires));
            }
            None => (),
        }
        area.push(Entry { name: name.into(), record, accessed: now, refreshed: now, weight: 0.0 });
        self.sort(at, now);
        wanted
    }

    /// Number of a name's failures in a row, even if its back-off has ended.
    pub(super) fn failures(&self, name: &str) -> u8 {
        let known = self.areas[self.area(name)].iter().find(|entry| *entry.name == *name);
        known.map_or(0, |entry| entry.record.answer.failures())
    }

    /// Removes a name; returns whether it was present.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        let at = self.area(name);
        let Some(known) = self.areas[at].iter().position(|entry| *entry.name == *name) else { return false };
        self.areas[at].remove(known);
        true
    }

    /// Number of names with an address.
    pub(super) fn count(&self) -> u64 {
        self.areas.iter().flatten().filter(|entry| entry.record.class != Class::Failed).count() as u64
    }

    /// Memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let of_entry = |entry: &Entry| heap(entry.name.len()) + entry.record.answer.heap();
        let of_area = |area: &Vec<Entry>| {
            heap(area.capacity() * size_of::<Entry>()) + area.iter().map(of_entry).sum::<usize>()
        };
        self.areas.capacity() * size_of::<Vec<Entry>>() + self.areas.iter().map(of_area).sum::<usize>()
    }

    /// Evicts light entries that were not refreshed, once per period.
    fn sweep(&mut self, now: Seconds) -> u64 {
        if now < self.swept.saturating_add(self.period) {
            return 0;
        }
        self.swept = now;
        let mut wanted = 0;
        for area in &mut self.areas {
            area.retain_mut(|entry| {
                entry.weigh(self.weight, now);
                let stays = entry.weight >= self.light || now < entry.refreshed.saturating_add(self.period);
                wanted += u64::from(!stays && now < entry.record.expires);
                stays
            });
        }
        wanted
    }

    /// Sorts an area by decreasing weight.
    fn sort(&mut self, area: usize, now: Seconds) {
        for entry in &mut self.areas[area] {
            entry.weigh(self.weight, now);
        }
        self.areas[area].sort_by(|one, other| other.weight.total_cmp(&one.weight));
    }

    /// Index of a name's area.
    fn area(&self, name: &str) -> usize {
        (self.hasher.hash_one(name) % self.areas.len() as u64) as usize
    }

    /// Panics if an area is too large or out of order; returns the names of each area in order.
    #[cfg(test)]
    pub(super) fn check(&self) -> Vec<Vec<&str>> {
        for area in &self.areas {
            assert!(area.len() <= AREA && area.is_sorted_by(|one, other| one.weight >= other.weight));
        }
        self.areas.iter().map(|area| area.iter().map(|entry| &*entry.name).collect()).collect()
    }
}
