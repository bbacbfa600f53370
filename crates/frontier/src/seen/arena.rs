//! Where the buckets of a tree lie: chunks of equal blocks, so that nothing is lost between them.

use super::bucket::{BUCKET_BYTES, Bucket};

/// Buckets of a chunk: 32 MiB. glibc gives so large a piece back to the system when it is freed (its `mmap` threshold never
/// rises above that); what of it was not used yet takes no memory.
const CHUNK: usize = 32 << 10;

/// The buckets of a tree, by number.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: Vec<Vec<Bucket>>,
    /// Chunks of an earlier arena, to be used before new ones are asked for.
    spare: Vec<Vec<Bucket>>,
    free: Vec<u32>,
}

impl Arena {
    /// A bucket.
    pub(super) fn get(&self, number: u32) -> &Bucket {
        &self.chunks[number as usize / CHUNK][number as usize % CHUNK]
    }

    /// A bucket, to be changed.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Bucket {
        &mut self.chunks[number as usize / CHUNK][number as usize % CHUNK]
    }

    /// An empty bucket.
    pub(super) fn allocate(&mut self) -> u32 {
        if let Some(number) = self.free.pop() {
            self.get_mut(number).clear();
            return number;
        }
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(Bucket::EMPTY),
            _ => {
                let mut chunk = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
                chunk.push(Bucket::EMPTY);
                self.chunks.push(chunk);
            }
        }
        ((self.chunks.len() - 1) * CHUNK + self.chunks.last().map_or(0, Vec::len) - 1) as u32
    }

    /// Takes a bucket back.
    pub(super) fn free(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Takes the memory of an arena that is not used any more.
    pub(super) fn reuse(&mut self, other: Arena) {
        self.spare.extend(other.chunks.into_iter().chain(other.spare).map(|mut chunk| {
            chunk.clear();
            chunk
        }));
    }

    /// Takes the memory that an arena has to spare.
    pub(super) fn reuse_spare(&mut self, other: &mut Arena) {
        self.spare.append(&mut other.spare);
    }

    /// Gives back what there is to spare beyond so many bytes.
    pub(super) fn spare_at_most(&mut self, bytes: usize) {
        self.spare.truncate(bytes / (CHUNK * BUCKET_BYTES));
    }

    /// Bytes of memory in use, without what is to spare.
    pub(super) fn used_memory(&self) -> usize {
        let unused = self.chunks.last().map_or(0, |chunk| CHUNK - chunk.len());
        (self.chunks.len() * CHUNK - unused) * BUCKET_BYTES
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.used_memory() + self.spare.len() * CHUNK * BUCKET_BYTES + self.free.capacity() * size_of::<u32>()
    }
}
