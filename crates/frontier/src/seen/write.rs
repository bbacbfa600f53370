//! How runs come to be: from a tree, or from several runs of which one is made.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashSet;

use super::filter::Filter;
use super::run::{self, BLOCK, FILLED, MAGIC, Run};
use super::tree::{Key, Tree};

/// Where a run is written, and whether that shall end at once.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) directory: PathBuf,
    pub(super) number: u64,
    pub(super) width: usize,
    pub(super) cancelled: Arc<AtomicBool>,
}

/// A run to be merged, with what was deleted from it.
pub(super) type Source = (Arc<Run>, Arc<HashSet<Key>>);

/// Writes the keys of a tree.
pub(super) fn write_tree(target: &Target, tree: &Tree) -> io::Result<Run> {
    target.write(tree.len, |writer| tree.walk(|keys| keys.iter().try_for_each(|key| writer.push(key))))
}

/// Writes the keys of several runs, less those deleted from each.
pub(super) fn write_merged(target: &Target, sources: &[Source]) -> io::Result<Run> {
    let keys = sources.iter().map(|(run, deleted)| run.keys - (deleted.len() as u64).min(run.keys)).sum();
    target.write(keys, |writer| {
        let mut streams: Vec<_> = sources
            .iter()
            .map(|(run, deleted)| {
                run.iter().filter(|key| !key.as_ref().is_ok_and(|key| deleted.contains(key)))
            })
            .collect();
        let mut heads = Vec::with_capacity(streams.len());
        for stream in &mut streams {
            heads.push(stream.next().transpose()?);
        }
        // There are few streams: looking at all heads is quicker than keeping them in a heap.
        while let Some((least, key)) = heads
            .iter()
            .enumerate()
            .filter_map(|(at, key)| Some((at, (*key)?)))
            .min_by_key(|(_, key)| u128::from_be_bytes(*key))
        {
            writer.push(&key)?;
            heads[least] = streams[least].next().transpose()?;
        }
        Ok(())
    })
}

impl Target {
    /// Writes a run of about `keys` keys; what is left of one that failed is removed.
    fn write(&self, keys: u64, fill: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> io::Result<Run> {
        let part = run::part_path(&self.directory, self.number);
        let written = self.write_part(&part, keys, fill);
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written?;
        fs::rename(&part, run::path(&self.directory, self.number))?;
        Run::open(&self.directory, self.number, self.width)
    }

    /// Writes all of the file.
    fn write_part(
        &self,
        part: &Path,
        keys: u64,
        fill: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut writer = Writer {
            target: self,
            file: BufWriter::with_capacity(1 << 18, File::create(part)?),
            block: Vec::with_capacity(BLOCK),
            index: Vec::with_capacity((keys as usize).div_ceil(FILLED / self.width)),
            filter: Filter::with_room(keys),
            keys: 0,
        };
        fill(&mut writer)?;
        writer.finish()
    }
}

/// A run that is being written.
struct Writer<'a> {
    target: &'a Target,
    file: BufWriter<File>,
    block: Vec<u8>,
    index: Vec<u64>,
    filter: Filter,
    keys: u64,
}

impl Writer<'_> {
    /// Adds a key that is greater than all before.
    fn push(&mut self, key: &Key) -> io::Result<()> {
        if self.block.is_empty() {
            self.index.push(run::head(key));
        }
        self.block.extend_from_slice(&key[..self.target.width]);
        self.filter.insert(key);
        self.keys += 1;
        if self.block.len() + self.target.width > FILLED {
            self.end_block()?;
        }
        Ok(())
    }

    /// Writes a block.
    fn end_block(&mut self) -> io::Result<()> {
        if self.target.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the set of known URLs was closed"));
        }
        self.block.resize(FILLED, 0);
        let checksum = crc32fast::hash(&self.block);
        self.block.extend_from_slice(&checksum.to_le_bytes());
        self.file.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Writes what follows the blocks.
    fn finish(mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let mut checksum = crc32fast::Hasher::new();
        let mut words = 0_u64;
        let mut put = |file: &mut BufWriter<File>, bytes: &[u8]| {
            checksum.update(bytes);
            file.write_all(bytes)
        };
        for head in &self.index {
            put(&mut self.file, &head.to_le_bytes())?;
        }
        for word in self.filter.words() {
            words += 1;
            put(&mut self.file, &word.to_le_bytes())?;
        }
        put(&mut self.file, MAGIC)?;
        put(&mut self.file, &(self.target.width as u32).to_le_bytes())?;
        put(&mut self.file, &self.keys.to_le_bytes())?;
        put(&mut self.file, &words.to_le_bytes())?;
        self.file.write_all(&checksum.finalize().to_le_bytes())?;
        self.file.flush()
    }
}
