//! Design 4, the DNS optimiser (Shi, Xiao & Lu 2017; SYSTEMS.md section 5): a tree of the digits of a name's hash, which
//! points to cells of name and address; cells in a collision are sorted by weight; addresses are refreshed periodically.
//!
//! Guarantees, which the tests repeat:
//! 1. At most `capacity` names. An insertion looks at [`SAMPLE`] cells at most to make room.
//! 2. Names whose hashes agree in the tree's digits are a collision; in it the cell that was asked for most comes first.
//! 3. A name that was asked for since it was last refreshed is due once `refresh` seconds have passed, and is told once. An
//!    answer holds for twice that time, so that a refresh may be late.
//! 4. A name that does not exist or has no address is dropped; a failure to resolve changes nothing.
//!
//! What the paper leaves open, and what was chosen. The digits are hexadecimal, as many as give a place to every four
//! names; the hash is keyed, so that nobody can make a long collision. The weight is the number of hits: it decides who is
//! found first in a linear search, and then what counts is how often a name is asked for, not what it cost. The paper has no
//! limit; here, when all cells are taken, a few are picked by chance, of which the lightest goes, and the others lose as
//! much weight as it had: fame has to be earned again where all are famous (as in LFU with dynamic ageing, Arlitt et al. 2000).
//! Who is not asked for any more is not refreshed either, expires, and then goes first.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::kept::{self, Kept, heap};
use super::{Answer, CacheStatistics, Class, Found, NameCache, Resolution, Seconds};
use crate::host::HostName;
use crate::settings::Families;

/// How many cells are compared to find one that goes.
const SAMPLE: usize = 8;

/// Children of a node of the tree: the digits are hexadecimal.
const DIGITS: usize = 16;

/// Names to a place in the tree that are reckoned with.
const COLLISION: usize = 4;

/// Settings of an [`Optimiser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimiserSettings {
    /// Names: 1 to 2^30 (default 200,000).
    pub capacity: usize,
    /// After how many seconds a name that is in use is refreshed (default 3,600).
    pub refresh: Seconds,
    /// From how many milliseconds on a name counts as slow; it is only shown (default [`SLOW`](super::SLOW)).
    pub slow: u32,
}

impl Default for OptimiserSettings {
    fn default() -> Self {
        OptimiserSettings { capacity: 200_000, refresh: 3_600, slow: kept::SLOW }
    }
}

/// The cache.
pub struct Optimiser {
    settings: OptimiserSettings,
    /// The tree: for each digit the number of the node below, on the last layer that of a collision's first cell.
    tree: Vec<[u32; DIGITS]>,
    /// Layers of the tree.
    layers: u32,
    hasher: DefaultHashBuilder,
    /// Cells by number less one.
    cells: Vec<Cell>,
    /// Free cells.
    free: Vec<u32>,
    /// What chance is made of (xorshift, Marsaglia 2003).
    chance: u64,
    /// Cells with the number of their refresh, the oldest first; where the number is another one the cell was refreshed
    /// since. Filled by insertions, emptied by [`Optimiser::due`].
    refreshed: VecDeque<(u32, u64)>,
    /// Counts refreshes.
    refreshes: u64,
    /// Bytes of names and addresses.
    heap: usize,
    statistics: CacheStatistics,
}

/// No node, no cell.
const NONE: u32 = 0;

/// A name with its address.
struct Cell {
    name: Box<str>,
    answer: Kept,
    families: Families,
    class: Class,
    /// Asked for since the last refresh.
    used: bool,
    /// Hits, fading.
    weight: u32,
    /// The next one in the collision, no heavier than this.
    next: u32,
    /// When the address came.
    since: Seconds,
    /// The number of the refresh; of a free cell 0.
    refresh: u64,
}

/// A place that points to a cell.
#[derive(Clone, Copy)]
enum Pointer {
    /// A node of the tree's last layer, and a digit.
    Tree(u32, usize),
    /// The cell before in the collision.
    Cell(u32),
}

impl Optimiser {
    /// An empty cache; settings beyond their limits are set to them.
    pub fn new(settings: OptimiserSettings) -> Self {
        let settings = OptimiserSettings { capacity: settings.capacity.clamp(1, 1 << 30), ..settings };
        let places = settings.capacity.div_ceil(COLLISION);
        let layers = (1..).find(|&layers| DIGITS.pow(layers) >= places).unwrap_or(1);
        Optimiser {
            settings,
            tree: vec![[NONE; DIGITS]],
            layers,
            hasher: DefaultHashBuilder::default(),
            cells: Vec::new(),
            free: Vec::new(),
            chance: 1,
            refreshed: VecDeque::new(),
            refreshes: 0,
            heap: 0,
            statistics: CacheStatistics::default(),
        }
    }

    /// The names that are to be resolved again, `most` at most; what is learned about them is to be inserted.
    pub fn due(&mut self, now: Seconds, most: usize) -> Vec<(Box<str>, Families)> {
        let mut names = Vec::new();
        while names.len() < most
            && let Some(&(at, refresh)) = self.refreshed.front()
        {
            let cell = self.cell(at);
            if cell.refresh == refresh {
                if now < cell.since.saturating_add(self.settings.refresh) {
                    break;
                }
                if cell.used {
                    names.push((cell.name.clone(), cell.families));
                }
            }
            self.refreshed.pop_front();
        }
        names
    }

    /// The node and digit where a hash's collision begins; `None` where the tree does not reach.
    fn leaf(&self, hash: u64) -> Option<Pointer> {
        let mut node = 0;
        for layer in 0..self.layers - 1 {
            node = self.tree[node as usize][digit(hash, layer)];
            if node == NONE {
                return None;
            }
        }
        Some(Pointer::Tree(node, digit(hash, self.layers - 1)))
    }

    /// The same, the tree being grown to reach there.
    fn grow_leaf(&mut self, hash: u64) -> Pointer {
        let mut node = 0;
        for layer in 0..self.layers - 1 {
            let below = self.tree[node as usize][digit(hash, layer)];
            node = if below == NONE {
                let new = self.tree.len() as u32;
                self.tree.push([NONE; DIGITS]);
                self.tree[node as usize][digit(hash, layer)] = new;
                new
            } else {
                below
            };
        }
        Pointer::Tree(node, digit(hash, self.layers - 1))
    }

    /// What points to a name's cell.
    fn find(&self, name: &str) -> Option<Pointer> {
        let mut pointer = self.leaf(self.hasher.hash_one(name))?;
        loop {
            match self.target(pointer) {
                NONE => return None,
                at if *self.cell(at).name == *name => return Some(pointer),
                at => pointer = Pointer::Cell(at),
            }
        }
    }

    /// The cell that is pointed to.
    fn target(&self, pointer: Pointer) -> u32 {
        match pointer {
            Pointer::Tree(node, digit) => self.tree[node as usize][digit],
            Pointer::Cell(at) => self.cell(at).next,
        }
    }

    /// Points to another cell.
    fn set_target(&mut self, pointer: Pointer, target: u32) {
        match pointer {
            Pointer::Tree(node, digit) => self.tree[node as usize][digit] = target,
            Pointer::Cell(at) => self.cell_mut(at).next = target,
        }
    }

    /// Takes a cell out of its collision.
    fn unlink(&mut self, pointer: Pointer) -> u32 {
        let at = self.target(pointer);
        self.set_target(pointer, self.cell(at).next);
        at
    }

    /// Puts a cell into its collision, before those that are no heavier.
    fn link(&mut self, at: u32) {
        let hash = self.hasher.hash_one(&*self.cell(at).name);
        let mut pointer = self.grow_leaf(hash);
        let weight = self.cell(at).weight;
        let mut next = self.target(pointer);
        while next != NONE && self.cell(next).weight > weight {
            pointer = Pointer::Cell(next);
            next = self.target(pointer);
        }
        self.cell_mut(at).next = next;
        self.set_target(pointer, at);
    }

    /// Drops the name of a cell.
    fn release(&mut self, pointer: Pointer) {
        let at = self.unlink(pointer);
        let cell = std::mem::replace(self.cell_mut(at), Cell::free());
        self.heap -= cell.heap();
        self.free.push(at);
    }

    /// A free cell; where there is none a name loses its own.
    fn take_cell(&mut self, now: Seconds) -> u32 {
        if self.free.is_empty() && self.cells.len() >= self.settings.capacity {
            self.evict(now);
        }
        self.free.pop().unwrap_or_else(|| {
            self.cells.push(Cell::free());
            self.cells.len() as u32
        })
    }

    /// Drops the lightest of some names; all cells are in use.
    fn evict(&mut self, now: Seconds) {
        let looked = [(); SAMPLE].map(|()| self.any_cell());
        let holds = |at: u32| now < self.expires(self.cell(at));
        let Some(lightest) = looked.iter().copied().min_by_key(|&at| (holds(at), self.cell(at).weight))
        else {
            return;
        };
        self.statistics.evictions += u64::from(holds(lightest));
        let weight = self.cell(lightest).weight;
        for at in looked.into_iter().filter(|&at| weight > 0 && at != lightest) {
            if let Some(pointer) = self.find(&self.cell(at).name) {
                self.unlink(pointer);
                self.cell_mut(at).weight = self.cell(at).weight.saturating_sub(weight);
                self.link(at);
            }
        }
        if let Some(pointer) = self.find(&self.cell(lightest).name) {
            self.release(pointer);
        }
    }

    /// A cell by chance.
    fn any_cell(&mut self) -> u32 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance % self.cells.len() as u64) as u32 + 1
    }

    /// When a cell's answer ceases to hold.
    fn expires(&self, cell: &Cell) -> Seconds {
        cell.since.saturating_add(self.settings.refresh.saturating_mul(2))
    }

    /// Notes that a cell was refreshed; keeps the queue of refreshes short.
    fn note_refresh(&mut self, at: u32, now: Seconds) {
        self.refreshes += 1;
        let refresh = self.refreshes;
        let cell = self.cell_mut(at);
        (cell.since, cell.refresh, cell.used) = (now, refresh, false);
        if self.refreshed.len() >= 2 * self.settings.capacity {
            let cells = &self.cells;
            self.refreshed.retain(|&(at, refresh)| cells[at as usize - 1].refresh == refresh);
        }
        self.refreshed.push_back((at, refresh));
    }

    /// A cell by its number.
    fn cell(&self, at: u32) -> &Cell {
        &self.cells[at as usize - 1]
    }

    /// A cell by its number, to be changed.
    fn cell_mut(&mut self, at: u32) -> &mut Cell {
        &mut self.cells[at as usize - 1]
    }
}

/// A digit of a hash; the first layer has the highest one.
fn digit(hash: u64, layer: u32) -> usize {
    (hash >> (60 - 4 * layer)) as usize % DIGITS
}

impl Cell {
    /// One without a name.
    fn free() -> Self {
        Cell {
            name: "".into(),
            answer: Kept::NoData,
            families: Families::V4,
            class: Class::Failed,
            used: false,
            weight: 0,
            next: NONE,
            since: 0,
            refresh: 0,
        }
    }

    /// Bytes beyond its own place.
    fn heap(&self) -> usize {
        heap(self.name.len()) + self.answer.heap()
    }
}

impl NameCache for Optimiser {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        let hit = self.find(name.as_str()).filter(|&pointer| {
            let cell = self.cell(self.target(pointer));
            cell.families == families && now < self.expires(cell)
        });
        let Some(pointer) = hit else {
            self.statistics.misses += 1;
            return None;
        };
        self.statistics.hits += 1;
        let at = self.target(pointer);
        let cell = self.cell_mut(at);
        cell.weight = cell.weight.saturating_add(1);
        cell.used = true;
        if let Pointer::Cell(before) = pointer
            && self.cell(before).weight < self.cell(at).weight
        {
            self.unlink(pointer);
            self.link(at);
        }
        let cell = self.cell(at);
        Some(Found { answer: cell.answer.answer(), expires: Some(self.expires(cell)), class: cell.class })
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        let found = self.find(name.as_str());
        match (&resolution.answer, found) {
            (Answer::Addresses(addresses), _) if !addresses.is_empty() => (),
            (Answer::Failed { .. }, _) | (_, None) => return,
            (_, Some(pointer)) => return self.release(pointer),
        }
        self.statistics.insertions += 1;
        let at = match found {
            Some(pointer) => self.target(pointer),
            None => {
                let at = self.take_cell(now);
                self.cell_mut(at).name = name.as_str().into();
                self.heap += heap(name.as_str().len());
                self.link(at);
                at
            }
        };
        let slow = self.settings.slow;
        let cell = self.cell_mut(at);
        let before = std::mem::replace(&mut cell.answer, Kept::new(&resolution.answer)).heap();
        (cell.families, cell.class) = (families, Class::of(resolution, slow));
        let after = cell.answer.heap();
        self.heap = self.heap + after - before;
        self.note_refresh(at, now);
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.find(name.as_str()).map(|pointer| self.release(pointer)).is_some()
    }

    fn count(&self) -> u64 {
        (self.cells.len() - self.free.len()) as u64
    }

    fn memory(&self) -> usize {
        let tree = self.tree.capacity() * size_of::<[u32; DIGITS]>();
        let cells = self.cells.capacity() * size_of::<Cell>() + self.free.capacity() * size_of::<u32>();
        tree + cells + self.refreshed.capacity() * size_of::<(u32, u64)>() + self.heap
    }

    fn statistics(&self) -> CacheStatistics {
        self.statistics
    }
}

#[cfg(test)]
#[path = "optimiser_tests.rs"]
mod tests;
