//! The reverse region: names that were slow to resolve, which are worth keeping, and names that failed.
//!
//! Guarantees: table 3 points into conflict areas of [`AREA`] entries at most, so that a linear search is short; within
//! an area the heaviest comes first; a new name takes the place of the lightest when its area is full; entries that are
//! light and were not refreshed within the period go, all at once, when a period has passed.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::{Record, RegionsSettings};
use crate::kept::heap;
use lycosa_names::cache::{Class, Seconds};

/// Entries of a conflict area.
const AREA: usize = 8;

/// In which time the weight of an unused entry halves, in seconds.
const HALF: f64 = 3_600.0;

/// What a weight is made of: the parameters that the patent names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// How long resolving took, in milliseconds.
    pub took: u32,
    /// The TTL, in seconds; of a failed name its back-off.
    pub ttl: u32,
    /// What is left of it, in seconds.
    pub remaining: u32,
    /// For how long nobody asked, in seconds.
    pub idle: Seconds,
}

/// What a name is worth. The patent leaves the function of its three parameters open; here it is a product of their powers,
/// 1,000 × (seconds that resolving took)^`time` × (remaining TTL ÷ TTL)^`ttl` × 2^(−`recency` × idle ÷ 1 h).
///
/// A parameter with the power 0 does not count. Powers are 0 to 10: with these no weight is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// Of the time that resolving took.
    pub time: f64,
    /// Of the share of the TTL that is left.
    pub ttl: f64,
    /// Of what halves with each hour in which nobody asked.
    pub recency: f64,
}

impl Weight {
    /// SYSTEMS.md's: milliseconds × remaining TTL ÷ TTL × 2^(−idle ÷ 1 h).
    pub const COST: Weight = Weight { time: 1.0, ttl: 1.0, recency: 1.0 };
    /// Milliseconds that resolving took: names that were slow stay, asked for or not.
    pub const TIME: Weight = Weight { time: 1.0, ttl: 0.0, recency: 0.0 };
    /// 1,000 × 2^(−idle ÷ 1 h): what was asked for last stays, whatever it cost.
    pub const RECENCY: Weight = Weight { time: 0.0, ttl: 0.0, recency: 1.0 };

    /// The weight of a name.
    pub fn of(&self, worth: &Worth) -> f64 {
        let left = f64::from(worth.remaining) / f64::from(worth.ttl.max(1));
        // In milliseconds, so that the power 1 gives their number without rounding.
        let time = power(1_000.0, 1.0 - self.time) * power(f64::from(worth.took), self.time);
        time * power(left, self.ttl) * (-self.recency * worth.idle as f64 / HALF).exp2()
    }
}

/// A number to a power; those that the named weights have cost nothing.
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
    /// Table 3 and the conflict areas: a name's hash says which one is its own.
    areas: Vec<Vec<Entry>>,
    hasher: DefaultHashBuilder,
    weight: Weight,
    light: f64,
    period: Seconds,
    /// When light entries went last.
    swept: Seconds,
}

/// A name in a conflict area.
struct Entry {
    name: Box<str>,
    record: Record,
    accessed: Seconds,
    refreshed: Seconds,
    /// As of the last time that something happened in its area.
    weight: f64,
}

impl Entry {
    /// Weighs the entry.
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

    /// A name's record; this is an access.
    pub(super) fn find(&mut self, name: &str, now: Seconds) -> Option<&Record> {
        let area = self.area(name);
        let found = self.areas[area].iter_mut().find(|entry| *entry.name == *name)?;
        found.accessed = now;
        self.sort(area, now);
        self.areas[area].iter().find(|entry| *entry.name == *name).map(|entry| &entry.record)
    }

    /// Takes a record in place of the name's former one; gives how many names went that were still wanted.
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

    /// How many failures in a row are known of a name, even if the pause after them is over.
    pub(super) fn failures(&self, name: &str) -> u8 {
        let known = self.areas[self.area(name)].iter().find(|entry| *entry.name == *name);
        known.map_or(0, |entry| entry.record.answer.failures())
    }

    /// Drops a name; whether it was here.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        let at = self.area(name);
        let Some(known) = self.areas[at].iter().position(|entry| *entry.name == *name) else { return false };
        self.areas[at].remove(known);
        true
    }

    /// Names with an address.
    pub(super) fn count(&self) -> u64 {
        self.areas.iter().flatten().filter(|entry| entry.record.class != Class::Failed).count() as u64
    }

    /// Bytes in use.
    pub(super) fn memory(&self) -> usize {
        let of_entry = |entry: &Entry| heap(entry.name.len()) + entry.record.answer.heap();
        let of_area = |area: &Vec<Entry>| {
            heap(area.capacity() * size_of::<Entry>()) + area.iter().map(of_entry).sum::<usize>()
        };
        self.areas.capacity() * size_of::<Vec<Entry>>() + self.areas.iter().map(of_area).sum::<usize>()
    }

    /// Drops what is light and old, once in a period.
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

    /// Puts the heaviest first.
    fn sort(&mut self, area: usize, now: Seconds) {
        for entry in &mut self.areas[area] {
            entry.weigh(self.weight, now);
        }
        self.areas[area].sort_by(|one, other| other.weight.total_cmp(&one.weight));
    }

    /// The number of a name's area.
    fn area(&self, name: &str) -> usize {
        (self.hasher.hash_one(name) % self.areas.len() as u64) as usize
    }

    /// Panics where an area is too large or out of order; gives the names of each area in order.
    #[cfg(test)]
    pub(super) fn check(&self) -> Vec<Vec<&str>> {
        for area in &self.areas {
            assert!(area.len() <= AREA && area.is_sorted_by(|one, other| one.weight >= other.weight));
        }
        self.areas.iter().map(|area| area.iter().map(|entry| &*entry.name).collect()).collect()
    }
}
