//! Where the leaves of a tree lie: blocks of whole cache lines, in slabs of blocks of one size.
//!
//! Leaves grow and move to larger blocks all the time, so that slabs of small blocks run empty. Blocks are taken
//! from the first slab that has one; where too many are free, those of the last slab are moved.
//!
//! Guarantees: a block belongs to one leaf at a time and keeps its bytes; a slab without blocks in use serves any size;
//! of the blocks of one size few more than a twenty-fourth are free.

use std::alloc::{Layout, handle_alloc_error};
use std::collections::BTreeSet;
use std::ops::Range;

use memmap2::{Advice, MmapMut};

/// Bytes of a cache line, in which blocks are measured.
pub(super) const LINE: usize = 64;

/// Lines of the largest block.
pub(super) const MAX_LINES: usize = 64;

/// Lines of a slab: 64 KiB. Of larger ones less is lost at the end, but many hold little while a set is small.
const SLAB: usize = 1 << 10;

/// Lines of a chunk, which is what is asked of the system: 32 MiB. What of it was not used yet takes no memory.
const CHUNK: usize = 512 * SLAB;

/// What stands in the place of an owner where a block is free: this bit, and the number of the next free block.
const FREE: u32 = 1 << 31;

/// The number that no block has: it ends the list of those that are free.
const NONE: u32 = FREE - 1;

/// The part of all blocks of a size that may be free, if they are more than those of one slab and a half.
const FREE_PART: usize = 24;

/// Equal blocks.
#[derive(Debug, Default)]
struct Slab {
    /// Lines of a block.
    lines: u8,
    /// Blocks in use.
    used: u16,
    first_free: u32,
    /// The leaf of each block that ever was in use; of those that are free now, [`FREE`] and the next one.
    owners: Vec<u32>,
}

/// The slabs of blocks of one size.
#[derive(Debug, Default)]
struct Size {
    /// Those with free blocks and blocks in use, but for one that is being emptied.
    open: BTreeSet<u32>,
    slabs: usize,
    /// Blocks in use.
    used: usize,
}

/// The blocks of a tree, each known by the number of its first line.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: Vec<MmapMut>,
    /// Chunks of an earlier arena, to be used before new ones are asked for.
    spare: Vec<MmapMut>,
    slabs: Vec<Slab>,
    /// Slabs without blocks in use.
    empty: BTreeSet<u32>,
    /// By the lines of a block.
    sizes: Vec<Size>,
    /// Lines in use.
    used: usize,
}

impl Arena {
    /// So many bytes of a block.
    pub(super) fn get(&self, block: u32, bytes: usize) -> &[u8] {
        let (chunk, at) = place(block);
        &self.chunks[chunk][at..at + bytes]
    }

    /// So many bytes of a block, to be changed.
    pub(super) fn get_mut(&mut self, block: u32, bytes: usize) -> &mut [u8] {
        let (chunk, at) = place(block);
        &mut self.chunks[chunk][at..at + bytes]
    }

    /// Copies bytes of a block into another one.
    pub(super) fn copy(&mut self, from: (u32, Range<usize>), into: (u32, usize)) {
        let ((from_chunk, from_at), (into_chunk, into_at)) = (place(from.0), place(into.0));
        let (from, into) = (from_at + from.1.start..from_at + from.1.end, into_at + into.1);
        if from_chunk == into_chunk {
            self.chunks[from_chunk].copy_within(from, into);
        } else if let Ok([source, target]) = self.chunks.get_disjoint_mut([from_chunk, into_chunk]) {
            target[into..into + from.len()].copy_from_slice(&source[from]);
        }
    }

    /// A block of 1 to [`MAX_LINES`] lines for a leaf; what is in it is left from earlier use.
    pub(super) fn allocate(&mut self, lines: u8, owner: u32) -> u32 {
        let number = self.open_slab(lines);
        let (slab, size) = (&mut self.slabs[number as usize], &mut self.sizes[usize::from(lines)]);
        let block = match slab.first_free {
            NONE => {
                slab.owners.push(owner);
                slab.owners.len() as u32 - 1
            }
            free => {
                slab.first_free = std::mem::replace(&mut slab.owners[free as usize], owner) & !FREE;
                free
            }
        };
        slab.used += 1;
        size.used += 1;
        self.used += usize::from(lines);
        if usize::from(slab.used) == blocks(lines) {
            size.open.remove(&number);
        }
        number * SLAB as u32 + block * u32::from(lines)
    }

    /// Takes a block back.
    pub(super) fn free(&mut self, at: u32) {
        let number = at / SLAB as u32;
        let slab = &mut self.slabs[number as usize];
        let (lines, was_full) = (slab.lines, usize::from(slab.used) == blocks(slab.lines));
        let size = &mut self.sizes[usize::from(lines)];
        let block = at % SLAB as u32 / u32::from(lines);
        slab.owners[block as usize] = slab.first_free | FREE;
        slab.first_free = block;
        slab.used -= 1;
        size.used -= 1;
        self.used -= usize::from(lines);
        if slab.used == 0 {
            size.open.remove(&number);
            size.slabs -= 1;
            self.empty.insert(number);
        } else if was_full {
            size.open.insert(number);
        }
    }

    /// The leaves that are to be moved, by [`Arena::allocate`] and [`Arena::free`], because too many blocks of so
    /// many lines are free.
    pub(super) fn choose_to_move(&mut self, lines: u8) -> Vec<u32> {
        let Some(size) = self.sizes.get_mut(usize::from(lines)).filter(|_| lines > 0) else {
            return Vec::new();
        };
        let free = size.slabs * blocks(lines) - size.used;
        if free * 2 < 3 * blocks(lines) || free * FREE_PART < size.used {
            return Vec::new();
        }
        let Some(number) = size.open.pop_last() else { return Vec::new() };
        self.slabs[number as usize].owners.iter().copied().filter(|owner| owner & FREE == 0).collect()
    }

    /// The first slab with a free block of so many lines.
    fn open_slab(&mut self, lines: u8) -> u32 {
        if self.sizes.is_empty() {
            self.sizes.resize_with(MAX_LINES + 1, Size::default);
        }
        let size = &mut self.sizes[usize::from(lines)];
        if let Some(number) = size.open.first() {
            return *number;
        }
        size.slabs += 1;
        let number = self.empty.pop_first().unwrap_or_else(|| self.add_slab());
        self.sizes[usize::from(lines)].open.insert(number);
        let slab = &mut self.slabs[number as usize];
        (slab.lines, slab.first_free) = (lines, NONE);
        slab.owners.clear();
        slab.owners.reserve_exact(blocks(lines));
        number
    }

    /// A slab that was never used.
    fn add_slab(&mut self) -> u32 {
        let number = self.slabs.len();
        if number * SLAB == self.chunks.len() * CHUNK {
            let chunk = self.spare.pop().unwrap_or_else(map_chunk);
            self.chunks.push(chunk);
        }
        self.slabs.push(Slab::default());
        number as u32
    }

    /// Takes the memory of an arena that is not used any more.
    pub(super) fn reuse(&mut self, other: Arena) {
        self.spare.extend(other.chunks.into_iter().chain(other.spare));
    }

    /// Takes the memory that an arena has to spare.
    pub(super) fn reuse_spare(&mut self, other: &mut Arena) {
        self.spare.append(&mut other.spare);
    }

    /// Frees memory beyond this many spare bytes.
    pub(super) fn spare_at_most(&mut self, bytes: usize) {
        self.spare.truncate(bytes / (CHUNK * LINE));
    }

    /// Bytes of memory of the blocks in use, and of as many free ones as there may be.
    pub(super) fn used_memory(&self) -> usize {
        (self.used + self.used / FREE_PART) * LINE
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let owners: usize = self.slabs.iter().map(|slab| slab.owners.capacity() * size_of::<u32>()).sum();
        let slabs = self.slabs.len() * (SLAB * LINE + size_of::<Slab>());
        slabs + owners + self.spare.len() * CHUNK * LINE
    }
}

/// Blocks of a slab.
fn blocks(lines: u8) -> usize {
    SLAB / usize::from(lines)
}

/// The chunk of a block and where it begins there.
fn place(block: u32) -> (usize, usize) {
    (block as usize / CHUNK, block as usize % CHUNK * LINE)
}

/// Memory of the system. In huge pages, where it has them: leaves are looked at in no order, and each look at a small page
/// would wait for the page's address as well.
fn map_chunk() -> MmapMut {
    let Ok(chunk) = MmapMut::map_anon(CHUNK * LINE) else {
        handle_alloc_error(Layout::new::<[u8; CHUNK * LINE]>())
    };
    #[cfg(target_os = "linux")]
    let _ = chunk.advise(Advice::HugePage);
    chunk
}
