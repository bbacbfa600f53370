//! A run: sorted keys in a file that never changes, and how it is read.
//!
//! Blocks of 4 KiB, each with its checksum; then the first bytes of each block's first key, the filter, and a footer
//! with a checksum of those. Block index and filter stay in memory. A file gets its name when it is whole.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::filter::Filter;
use super::tree::Key;

/// Bytes of a block, the unit of reading.
pub(super) const BLOCK: usize = 4096;

/// Bytes of a block that hold keys; its checksum follows.
pub(super) const FILLED: usize = BLOCK - 4;

/// Blocks that are read at once where most are wanted.
const MANY: usize = 64;

/// What a footer begins with; the last byte is the version.
pub(super) const MAGIC: &[u8; 8] = b"lycorun\x01";

/// Bytes of a footer: the magic, the width, the numbers of keys and of the filter's words, the checksum.
pub(super) const FOOTER: usize = 8 + 4 + 8 + 8 + 4;

/// Sorted keys on disk.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) keys: u64,
    pub(super) filter: Filter,
    path: PathBuf,
    file: File,
    width: usize,
    /// The first eight bytes of each block's first key.
    index: Vec<u64>,
}

/// The file of a run.
pub(super) fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("seen-{number:010}.run"))
}

/// The file of a run that is being written.
pub(super) fn part_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("seen-{number:010}.part"))
}

/// The number of a run, or of a part of one, by its file's name.
pub(super) fn number(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("seen-")?;
    rest.strip_suffix(".run").or_else(|| rest.strip_suffix(".part"))?.parse().ok()
}

/// The error of a file that does not hold what was written.
fn damaged(path: &Path) -> io::Error {
    let message = format!("{} is damaged: restore it, or load an older snapshot", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl Run {
    /// Opens a run whose keys have `width` bytes.
    pub(super) fn open(directory: &Path, number: u64, width: usize) -> io::Result<Self> {
        let path = path(directory, number);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut file = File::open(&path).map_err(named)?;
        let size = file.metadata().map_err(named)?.len();
        let mut footer = [0; FOOTER];
        let foot = size.checked_sub(FOOTER as u64).ok_or_else(|| damaged(&path))?;
        file.read_exact_at(&mut footer, foot).map_err(named)?;
        let (body, stored) = footer.split_at(FOOTER - 4);
        let keys = u64::from_le_bytes(body[12..20].try_into().unwrap_or_default());
        let words = u64::from_le_bytes(body[20..28].try_into().unwrap_or_default());
        let blocks = keys.div_ceil((FILLED / width) as u64);
        let rest = words.checked_add(blocks).and_then(|words| words.checked_mul(8));
        let whole =
            rest.zip(blocks.checked_mul(BLOCK as u64)).and_then(|(rest, blocks)| rest.checked_add(blocks));
        if whole != Some(foot)
            || words == 0
            || words % 8 != 0
            || &body[..8] != MAGIC
            || body[8..12] != (width as u32).to_le_bytes()
        {
            return Err(damaged(&path));
        }
        file.seek(SeekFrom::Start(blocks * BLOCK as u64)).map_err(named)?;
        let mut rest = BufReader::with_capacity(1 << 18, &file);
        let mut checksum = crc32fast::Hasher::new();
        let (mut bytes, mut left, mut at) = ([0; 4096], (blocks + words) as usize * 8, 0);
        // Some words at a time: a checksum of eight bytes costs nearly as much as one of a thousand.
        let mut word = || -> io::Result<u64> {
            if at % bytes.len() == 0 {
                let some = left.min(bytes.len());
                rest.read_exact(&mut bytes[..some])?;
                checksum.update(&bytes[..some]);
                (left, at) = (left - some, 0);
            }
            at += 8;
            Ok(u64::from_le_bytes(bytes[at - 8..at].try_into().unwrap_or_default()))
        };
        let index = (0..blocks).map(|_| word()).collect::<io::Result<Vec<u64>>>().map_err(named)?;
        let filter = Filter::read(words as usize, &mut word).map_err(named)?;
        checksum.update(body);
        if stored != checksum.finalize().to_le_bytes() {
            return Err(damaged(&path));
        }
        Ok(Run { number, keys, filter, path, file, width, index })
    }

    /// Its file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Makes sure that the file outlives a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.filter.memory() + self.index.capacity() * size_of::<u64>()
    }

    /// Calls `found` with the position of each of `keys`, which are sorted, that is here.
    pub(super) fn find(&self, keys: &[Key], mut found: impl FnMut(usize)) -> io::Result<()> {
        let at_once = if keys.len() * 16 > self.index.len() { MANY } else { 1 };
        let mut window = Window::new(self, at_once);
        let mut from = 0;
        for (position, key) in keys.iter().enumerate() {
            let head = head(key);
            // The block before the first that begins with this head may hold it, and all that begin with it.
            from += self.index[from..].partition_point(|first| *first < head);
            let mut block = from.saturating_sub(1);
            while block < self.index.len() && (block < from || self.index[block] == head) {
                if window.block(block)?.contains(key) {
                    found(position);
                    break;
                }
                block += 1;
            }
        }
        Ok(())
    }

    /// The keys in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = io::Result<Key>> {
        let mut window = Window::new(self, MANY);
        let per_block = (FILLED / self.width) as u64;
        (0..self.keys)
            .map(move |at| Ok(window.block((at / per_block) as usize)?.get((at % per_block) as usize)))
    }
}

/// The blocks that were read last.
struct Window<'a> {
    run: &'a Run,
    at_once: usize,
    first: usize,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    /// Nothing read yet; `at_once` blocks will be read together.
    fn new(run: &'a Run, at_once: usize) -> Self {
        Window { run, at_once, first: 0, bytes: Vec::new() }
    }

    /// A block, read and checked unless it was read last.
    fn block(&mut self, number: usize) -> io::Result<Block<'_>> {
        let read = self.bytes.len() / BLOCK;
        if !(self.first..self.first + read).contains(&number) {
            let blocks = self.at_once.min(self.run.index.len() - number);
            self.bytes.resize(blocks * BLOCK, 0);
            let filled = self.run.file.read_exact_at(&mut self.bytes, (number * BLOCK) as u64);
            let sound = |block: &[u8]| {
                let (keys, stored) = block.split_at(FILLED);
                stored == crc32fast::hash(keys).to_le_bytes()
            };
            if filled.is_err() || !self.bytes.chunks_exact(BLOCK).all(sound) {
                self.bytes.clear();
                filled.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", self.run.path.display()))
                })?;
                return Err(damaged(&self.run.path));
            }
            self.first = number;
        }
        let from = (number - self.first) * BLOCK;
        let width = self.run.width;
        let keys = (self.run.keys as usize - number * (FILLED / width)).min(FILLED / width);
        Ok(Block { bytes: &self.bytes[from..from + keys * width], width })
    }
}

/// The keys of a block.
struct Block<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Block<'_> {
    /// The key at a position.
    fn get(&self, position: usize) -> Key {
        let mut key = Key::default();
        key[..self.width].copy_from_slice(&self.bytes[position * self.width..(position + 1) * self.width]);
        key
    }

    /// Whether a key is here.
    fn contains(&self, key: &Key) -> bool {
        let (mut low, mut high) = (0, self.bytes.len() / self.width);
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }
}

/// What the index has of a block's first key.
pub(super) fn head(key: &Key) -> u64 {
    (u128::from_be_bytes(*key) >> 64) as u64
}
