//! Design 4, the DNS optimiser (Shi, Xiao & Lu 2017; SYSTEMS.md section 5): a tree over the digits of a
//! name's hash points to cells of name and address; cells of a collision are sorted by weight; addresses are
//! refreshed periodically.
//!
//! Guarantees, which the tests repeat:
//! 1. At most `capacity` names. An insertion compares at most [`SAMPLE`] cells for eviction.
//! 2. Names whose hashes agree in the tree's digits form a collision; in it the cell with the most hits comes
//!    first.
//! 3. A name that was looked up since its last refresh is due once `refresh` seconds have passed; it is
//!    reported once. An answer is valid for twice that time, so that a refresh may be late.
//! 4. A name that does not exist or has no address is removed; a failure to resolve changes nothing.
//!
//! Choices where the paper is silent: the digits are hexadecimal, with one leaf slot for every four names;
//! the hash is keyed, so that no one can construct a long collision. The weight is the number of hits: it
//! sets the order of a linear search, where frequency counts and not the cost of resolving. The paper has no
//! limit; here, when all cells are in use, a random sample is compared, the lightest is evicted, and the
//! others lose its weight (as in LFU with dynamic ageing, Arlitt et al. 2000). A name that is no longer
//! looked up is not refreshed, expires, and is evicted first.

mod tree;

use std::collections::VecDeque;

use self::tree::{Cell, Tree, Turn};
use crate::kept::Kept;
use lycosa_names::cache::{Answer, CacheStatistics, Found, NameCache, Resolution, SLOW, Seconds};
use lycosa_names::{Families, HostName};

/// Number of cells compared for an eviction.
const SAMPLE: usize = 8;

/// Settings of an [`Optimiser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimiserSettings {
    /// Maximum number of names: 1 to 2^30 (default 200,000).
    pub capacity: usize,
    /// Seconds after which a name that is in use is refreshed (default 3,600).
    pub refresh: Seconds,
    /// Resolution time in milliseconds from which a name counts as slow; for display only (default
    /// [`SLOW`](lycosa_names::cache::SLOW)).
    pub slow: u32,
}

impl Default for OptimiserSettings {
    fn default() -> Self {
        OptimiserSettings { capacity: 200_000, refresh: 3_600, slow: SLOW }
    }
}

/// The cache.
pub struct Optimiser {
    settings: OptimiserSettings,
    tree: Tree,
    /// State of the random numbers (xorshift, Marsaglia 2003).
    chance: u64,
    /// Queue of (cell, number of its refresh), oldest first, without duplicates; an entry is obsolete if the
    /// cell now has another number. Filled by insertions, drained by [`NameCache::due`].
    refreshed: VecDeque<(u32, u32)>,
    /// Number of the last refresh; skips 0. When it wraps around, no number of the previous round is left.
    refreshes: u32,
    statistics: CacheStatistics,
}

impl Optimiser {
    /// Creates an empty cache; settings beyond their limits are clamped.
    pub fn new(settings: OptimiserSettings) -> Self {
        let settings = OptimiserSettings { capacity: settings.capacity.clamp(1, 1 << 30), ..settings };
        Optimiser {
            tree: Tree::new(settings.capacity),
            settings,
            chance: 1,
            refreshed: VecDeque::new(),
            refreshes: 0,
            statistics: CacheStatistics::default(),
        }
    }

    /// Evicts the lightest of a random sample; all cells are in use.
    fn evict(&mut self, now: Seconds) {
        let looked = [(); SAMPLE].map(|()| self.any_cell());
        let worth = |&at: &u32| (now < self.expires(self.tree.cell(at)), self.tree.cell(at).weight());
        let Some(lightest) = looked.into_iter().min_by_key(worth) else { return };
        let (held, weight) = worth(&lightest);
        self.statistics.evictions += u64::from(held);
        for at in looked.into_iter().filter(|&at| weight > 0 && at != lightest) {
            let cell = self.tree.cell(at);
            let less = cell.weight().saturating_sub(weight);
            if let Some(pointer) = self.tree.find(cell.name()) {
                self.tree.set_weight(pointer, less);
            }
        }
        if let Some(pointer) = self.tree.find(self.tree.cell(lightest).name()) {
            self.tree.release(pointer);
        }
    }

    /// A random cell.
    fn any_cell(&mut self) -> u32 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance % self.tree.count() as u64) as u32 + 1
    }

    /// When a cell's answer expires.
    fn expires(&self, cell: &Cell) -> Seconds {
        cell.since.saturating_add(self.settings.refresh.saturating_mul(2))
    }

    /// Records a refresh of a cell; removes obsolete entries from a queue that is too long.
    fn note_refresh(&mut self, at: u32, now: Seconds) {
        self.refreshes = self.refreshes.wrapping_add(1).max(1);
        let refresh = self.refreshes;
        let cell = self.tree.cell_mut(at);
        (cell.since, cell.refresh, cell.turn) = (now, refresh, Turn::Unused);
        if self.refreshed.len() >= 2 * self.settings.capacity {
            let tree = &self.tree;
            self.refreshed.retain(|&(at, refresh)| tree.cell(at).refresh == refresh);
        }
        self.refreshed.push_back((at, refresh));
    }
}

impl NameCache for Optimiser {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        let hit = self.tree.find(name.as_str()).filter(|&pointer| {
            let cell = self.tree.cell(self.tree.target(pointer));
            cell.families == families && now < self.expires(cell)
        });
        let Some(pointer) = hit else {
            self.statistics.misses += 1;
            return None;
        };
        self.statistics.hits += 1;
        let at = self.tree.target(pointer);
        let weight = self.tree.cell(at).weight().saturating_add(1);
        self.tree.set_weight(pointer, weight);
        let cell = self.tree.cell_mut(at);
        match std::mem::replace(&mut cell.turn, Turn::Used) {
            Turn::Unused | Turn::Used => (),
            Turn::Passed => self.refreshed.push_front((at, cell.refresh)),
            Turn::Told => cell.turn = Turn::Told,
        }
        let cell = self.tree.cell(at);
        Some(Found { answer: cell.answer(), expires: Some(self.expires(cell)), class: cell.class })
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        let found = self.tree.find(name.as_str());
        match (&resolution.answer, found) {
            (Answer::Addresses(addresses), _) if !addresses.is_empty() => (),
            (Answer::Failed { .. }, _) | (_, None) => return,
            (_, Some(pointer)) => return self.tree.release(pointer),
        }
        self.statistics.insertions += 1;
        let at = match found {
            Some(pointer) => self.tree.target(pointer),
            None => {
                if self.tree.count() >= self.settings.capacity {
                    self.evict(now);
                }
                self.tree.add(name.as_str())
            }
        };
        self.tree.set_answer(at, Kept::new(&resolution.answer));
        let cell = self.tree.cell_mut(at);
        (cell.families, cell.class) = (families, resolution.class(self.settings.slow));
        self.note_refresh(at, now);
    }

    fn due(&mut self, now: Seconds, most: usize) -> Vec<(Box<str>, Families)> {
        let mut names = Vec::new();
        while names.len() < most
            && let Some(&(at, refresh)) = self.refreshed.front()
        {
            let cell = self.tree.cell_mut(at);
            if cell.refresh == refresh {
                if now < cell.since.saturating_add(self.settings.refresh) {
                    break;
                }
                if cell.turn == Turn::Used {
                    cell.turn = Turn::Told;
                    names.push((cell.name().into(), cell.families));
                } else {
                    cell.turn = Turn::Passed;
                }
            }
            self.refreshed.pop_front();
        }
        names
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.tree.find(name.as_str()).map(|pointer| self.tree.release(pointer)).is_some()
    }

    fn count(&self) -> u64 {
        self.tree.count() as u64
    }

    fn memory(&self) -> usize {
        self.tree.memory() + self.refreshed.capacity() * size_of::<(u32, u32)>()
    }

    fn statistics(&self) -> CacheStatistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests;
