//! The tree over hash digits, and its cells.
//!
//! Guarantees: every cell with a name is in exactly one collision, that of its name's hash; within a
//! collision weights do not increase. Tree nodes stay when their cells are removed: there are few, since the
//! tree has one leaf slot for every four names of the capacity.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use crate::kept::{Kept, heap};
use lycosa_names::Families;
use lycosa_names::cache::{Answer, Class, Seconds};

/// Children per tree node: the digits are hexadecimal.
const DIGITS: usize = 16;

/// Expected names per leaf slot.
const COLLISION: usize = 4;

/// Null index of nodes and cells.
const NONE: u32 = 0;

/// Tree and cells.
pub(super) struct Tree {
    /// Per digit the index of the child node, on the last layer that of a collision's first cell.
    nodes: Vec<[u32; DIGITS]>,
    /// Number of digits used.
    layers: u32,
    hasher: DefaultHashBuilder,
    /// Cells; cell n is at index n - 1.
    cells: Vec<Cell>,
    /// Free cells.
    free: Vec<u32>,
    /// Heap memory of names and addresses in bytes.
    heap: usize,
}

/// A name with its address.
pub(super) struct Cell {
    name: Box<str>,
    answer: Kept,
    pub(super) families: Families,
    pub(super) class: Class,
    pub(super) turn: Turn,
    /// Hits, reduced by ageing.
    weight: u32,
    /// The next cell of the collision, with at most this weight.
    next: u32,
    /// When the answer was inserted.
    pub(super) since: Seconds,
    /// Number of the last refresh; 0 for a free cell.
    pub(super) refresh: u32,
}

/// Refresh state of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Not looked up since its last refresh.
    Unused,
    /// Not looked up before its refresh was due.
    Passed,
    /// Looked up since its last refresh.
    Used,
    /// Reported as due.
    Told,
}

/// A link to a cell.
#[derive(Clone, Copy)]
pub(super) enum Pointer {
    /// A node of the last layer and a digit.
    Tree(u32, usize),
    /// The previous cell of the collision.
    Cell(u32),
}

impl Tree {
    /// An empty tree.
    pub(super) fn new(capacity: usize) -> Self {
        let places = capacity.div_ceil(COLLISION);
        Tree {
            nodes: vec![[NONE; DIGITS]],
            layers: (1..).find(|&layers| DIGITS.pow(layers) >= places).unwrap_or(1),
            hasher: DefaultHashBuilder::default(),
            cells: Vec::new(),
            free: Vec::new(),
            heap: 0,
        }
    }

    /// Finds the link to a name's cell.
    pub(super) fn find(&self, name: &str) -> Option<Pointer> {
        let mut pointer = self.leaf(self.hasher.hash_one(name))?;
        loop {
            match self.target(pointer) {
                NONE => return None,
                at if *self.cell(at).name == *name => return Some(pointer),
                at => pointer = Pointer::Cell(at),
            }
        }
    }

    /// The cell that a link points to.
    pub(super) fn target(&self, pointer: Pointer) -> u32 {
        match pointer {
            Pointer::Tree(node, digit) => self.nodes[node as usize][digit],
            Pointer::Cell(at) => self.cell(at).next,
        }
    }

    /// Assigns a cell to a name, which takes a free one or a new one; the caller checks the capacity.
    pub(super) fn add(&mut self, name: &str) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.cells.push(Cell::free());
            self.cells.len() as u32
        });
        self.cell_mut(at).name = name.into();
        self.heap += heap(name.len());
        self.link(at);
        at
    }

    /// Replaces a cell's answer.
    pub(super) fn set_answer(&mut self, at: u32, answer: Kept) {
        self.heap += answer.heap();
        self.heap -= std::mem::replace(&mut self.cell_mut(at).answer, answer).heap();
    }

    /// Changes a cell's weight and its position in the collision.
    pub(super) fn set_weight(&mut self, pointer: Pointer, weight: u32) {
        let at = self.target(pointer);
        let before = match pointer {
            Pointer::Cell(before) => self.cell(before).weight,
            Pointer::Tree(..) => u32::MAX,
        };
        let after = match self.cell(at).next {
            NONE => 0,
            next => self.cell(next).weight,
        };
        self.cell_mut(at).weight = weight;
        if !(after..=before).contains(&weight) {
            self.unlink(pointer);
            self.link(at);
        }
    }

    /// Removes a name and frees its cell.
    pub(super) fn release(&mut self, pointer: Pointer) {
        let at = self.unlink(pointer);
        let cell = std::mem::replace(self.cell_mut(at), Cell::free());
        self.heap -= cell.heap();
        self.free.push(at);
    }

    /// Number of cells with a name.
    pub(super) fn count(&self) -> usize {
        self.cells.len() - self.free.len()
    }

    /// Memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<[u32; DIGITS]>();
        let cells = self.cells.capacity() * size_of::<Cell>() + self.free.capacity() * size_of::<u32>();
        nodes + cells + self.heap
    }

    /// A cell by its number.
    pub(super) fn cell(&self, at: u32) -> &Cell {
        &self.cells[at as usize - 1]
    }

    /// A mutable cell by its number.
    pub(super) fn cell_mut(&mut self, at: u32) -> &mut Cell {
        &mut self.cells[at as usize - 1]
    }

    /// The leaf slot of a hash; `None` if the tree has no path to it.
    fn leaf(&self, hash: u64) -> Option<Pointer> {
        let mut node = 0;
        for layer in 0..self.layers - 1 {
            node = self.nodes[node as usize][digit(hash, layer)];
            if node == NONE {
                return None;
            }
        }
        Some(Pointer::Tree(node, digit(hash, self.layers - 1)))
    }

    /// Like [`leaf`](Self::leaf), but adds missing nodes.
    fn grow_leaf(&mut self, hash: u64) -> Pointer {
        let mut node = 0;
        for layer in 0..self.layers - 1 {
            let below = self.nodes[node as usize][digit(hash, layer)];
            node = if below == NONE {
                let new = self.nodes.len() as u32;
                self.nodes.push([NONE; DIGITS]);
                self.nodes[node as usize][digit(hash, layer)] = new;
                new
            } else {
                below
            };
        }
        Pointer::Tree(node, digit(hash, self.layers - 1))
    }

    /// Sets the target of a link.
    fn set_target(&mut self, pointer: Pointer, target: u32) {
        match pointer {
            Pointer::Tree(node, digit) => self.nodes[node as usize][digit] = target,
            Pointer::Cell(at) => self.cell_mut(at).next = target,
        }
    }

    /// Removes a cell from its collision.
    fn unlink(&mut self, pointer: Pointer) -> u32 {
        let at = self.target(pointer);
        self.set_target(pointer, self.cell(at).next);
        at
    }

    /// Inserts a cell into its collision, before cells of at most its weight.
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
}

/// The digit of a hash for a layer; layer 0 has the most significant one.
fn digit(hash: u64, layer: u32) -> usize {
    (hash >> (60 - 4 * layer)) as usize % DIGITS
}

impl Cell {
    /// The name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The answer.
    pub(super) fn answer(&self) -> Answer {
        self.answer.answer()
    }

    /// Hits, reduced by ageing.
    pub(super) fn weight(&self) -> u32 {
        self.weight
    }

    /// A free cell.
    fn free() -> Self {
        Cell {
            name: "".into(),
            answer: Kept::NoData,
            families: Families::V4,
            class: Class::Failed,
            turn: Turn::Unused,
            weight: 0,
            next: NONE,
            since: 0,
            refresh: 0,
        }
    }

    /// Heap memory in bytes.
    fn heap(&self) -> usize {
        heap(self.name.len()) + self.answer.heap()
    }
}

#[cfg(test)]
impl Tree {
    /// All collisions; panics if one is out of order, a cell is in none, or a count is wrong.
    pub(super) fn collisions(&self) -> Vec<Vec<(&str, u32)>> {
        let mut nodes = vec![0];
        for _ in 1..self.layers {
            nodes = nodes
                .iter()
                .flat_map(|&node| self.nodes[node as usize])
                .filter(|&node| node != NONE)
                .collect();
        }
        let mut collisions = Vec::new();
        for mut at in nodes.iter().flat_map(|&node| self.nodes[node as usize]).filter(|&at| at != NONE) {
            let mut cells = Vec::new();
            while at != NONE {
                let cell = self.cell(at);
                assert_eq!(self.find(&cell.name).map(|pointer| self.target(pointer)), Some(at));
                cells.push((&*cell.name, cell.weight));
                at = cell.next;
            }
            assert!(cells.is_sorted_by(|one, other| one.1 >= other.1));
            collisions.push(cells);
        }
        let bytes: usize = self.cells.iter().map(Cell::heap).sum();
        assert_eq!((collisions.iter().flatten().count(), bytes), (self.count(), self.heap));
        collisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_place_for_every_four_names() {
        for (capacity, layers) in [(1, 1), (64, 1), (65, 2), (200_000, 4), (10_000_000, 6)] {
            assert_eq!(Tree::new(capacity).layers, layers, "{capacity}");
        }
        assert_eq!([digit(0x1234_0000_0000_0000, 0), digit(0x1234_0000_0000_0000, 3)], [1, 4]);
    }
}
