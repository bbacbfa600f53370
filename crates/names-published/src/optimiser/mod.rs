//! Design 4, the DNS optimiser (Shi, Xiao & Lu 2017; SYSTEMS.md section 5): a tree of the digits of a name's hash, which
//! points to cells of name and address; cells in a collision are sorted by weight; addresses are refreshed periodically.
//!
//! Guarantees, which the tests repeat:
//! 1. At most `capacity` names. An insertion looks at [`SAMPLE`] cells at most to make room.
//! 2. Names whose hashes agree in the tree's digits are a collision; in it the cell that was asked for most comes first.
//! 3. A name that was asked for since it was last refreshed is due as soon as `refresh` seconds have passed; it is told once. An
//!    answer holds for twice that time, so that a refresh may be late.
//! 4. A name that does not exist or has no address is dropped; a failure to resolve changes nothing.
//!
//! What the paper leaves open, and what was chosen. The digits are hexadecimal, as many as give a place to every four
//! names; the hash is keyed, so that nobody can make a long collision. The weight is the number of hits: it decides who is
//! found first in a linear search, and then what counts is how often a name is asked for, not what it cost. The paper has no
//! limit; here, when all cells are taken, a few are picked by chance, of which the lightest goes, and the others lose as
//! much weight as it had: fame has to be earned again where all are famous (as in LFU with dynamic ageing, Arlitt et al. 2000).
//! Who is not asked for any more is not refreshed either, expires, and then goes first.

mod tree;

use std::collections::VecDeque;

use self::tree::{Cell, Tree, Turn};
use crate::kept::Kept;
use lycosa_names::cache::{Answer, CacheStatistics, Found, NameCache, Resolution, SLOW, Seconds};
use lycosa_names::{Families, HostName};

/// How many cells are compared to find one that goes.
const SAMPLE: usize = 8;

/// Settings of an [`Optimiser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimiserSettings {
    /// Names: 1 to 2^30 (default 200,000).
    pub capacity: usize,
    /// After how many seconds a name that is in use is refreshed (default 3,600).
    pub refresh: Seconds,
    /// From how many milliseconds on a name counts as slow; it is only shown (default [`SLOW`](lycosa_names::cache::SLOW)).
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
    /// What chance is made of (xorshift, Marsaglia 2003).
    chance: u64,
    /// Cells with the number of their refresh, the oldest first, each once; where the number is another one the cell was
    /// refreshed since. Filled by insertions, emptied by [`NameCache::due`].
    refreshed: VecDeque<(u32, u32)>,
    /// Counts refreshes, leaving out 0. When it begins again, no number of the last round is left.
    refreshes: u32,
    statistics: CacheStatistics,
}

impl Optimiser {
    /// An empty cache; settings beyond their limits are set to them.
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

    /// Drops the lightest of some names; all cells are in use.
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

    /// A cell by chance.
    fn any_cell(&mut self) -> u32 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance % self.tree.count() as u64) as u32 + 1
    }

    /// When a cell's answer ceases to hold.
    fn expires(&self, cell: &Cell) -> Seconds {
        cell.since.saturating_add(self.settings.refresh.saturating_mul(2))
    }

    /// Notes that a cell was refreshed; keeps the queue of refreshes short.
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
