//! Waiting URLs on disk: pieces of host queues that do not fit the memory budget, in append-only files.
//!
//! Guarantees: a piece is read as it was written, or reading returns an error; a file is removed when none of its
//! pieces is in use and no snapshot names it; what could not be written yet stays in memory and is read
//! from there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes at which the next file is begun: small enough that files become free, large enough to be few.
const FILE_BYTES: u64 = 64 << 20;

/// Bytes that are gathered for one system call.
const WRITE_BYTES: usize = 1 << 20;

/// Where a piece lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Number of its file.
    pub(crate) file: u32,
    /// Its offset in the file.
    pub(crate) offset: u32,
    /// Its bytes.
    pub(crate) bytes: u32,
    /// Their CRC-32.
    pub(crate) crc: u32,
}

/// The files. Filled by [`Spill::write`], emptied by [`Spill::free`] and [`Spill::unused_files`].
#[derive(Debug)]
pub(crate) struct Spill {
    /// `None`: everything stays in memory.
    directory: Option<PathBuf>,
    files: BTreeMap<u32, Pieces>,
    /// The file that is being filled, and how far it is written.
    filling: Option<(u32, u64)>,
    /// Bytes that are to be written there.
    buffer: Vec<u8>,
    next: u32,
}

/// One file.
#[derive(Debug)]
struct Pieces {
    file: File,
    /// Pieces in use.
    live: u64,
    /// Written since it was last brought to the disk.
    dirty: bool,
}

impl Spill {
    /// No files yet. `directory` is made when it is needed.
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Spill { directory, files: BTreeMap::new(), filling: None, buffer: Vec::new(), next: 0 }
    }

    /// Whether there is a directory to write to.
    pub(crate) fn is_possible(&self) -> bool {
        self.directory.is_some()
    }

    /// Takes a piece, to be written with others. An error means that the piece was not taken.
    pub(crate) fn write(&mut self, piece: &[u8]) -> io::Result<Block> {
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        let (number, written) = self.filling()?;
        let entry = self.files.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        let position = written + self.buffer.len() as u64;
        let block = Block {
            file: number,
            offset: u32::try_from(position).map_err(|_| io::ErrorKind::FileTooLarge)?,
            bytes: u32::try_from(piece.len()).map_err(|_| io::ErrorKind::FileTooLarge)?,
            crc: crc32fast::hash(piece),
        };
        self.buffer.extend_from_slice(piece);
        entry.live += 1;
        Ok(block)
    }

    /// Writes the buffer. After an error it is kept, and written next time.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some((number, written)) = self.filling else { return Ok(()) };
        let entry = self.files.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        entry.file.write_all_at(&self.buffer, written)?;
        entry.dirty = true;
        let written = written + self.buffer.len() as u64;
        self.buffer.clear();
        self.filling = (written < FILE_BYTES).then_some((number, written));
        Ok(())
    }

    /// Reads a piece.
    pub(crate) fn read(&self, block: &Block) -> io::Result<Vec<u8>> {
        let damaged = || {
            let position = self.directory.as_deref().unwrap_or(Path::new("queues"));
            let text = format!("{}: file {} is missing or damaged", position.display(), block.file);
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        let entry = self.files.get(&block.file).ok_or_else(damaged)?;
        let mut bytes = vec![0; block.bytes as usize];
        match self.filling {
            Some((number, written)) if number == block.file && u64::from(block.offset) >= written => {
                let start = usize::try_from(u64::from(block.offset) - written).map_err(|_| damaged())?;
                let gathered = self.buffer.get(start..start + bytes.len()).ok_or_else(damaged)?;
                bytes.copy_from_slice(gathered);
            }
            _ => entry.file.read_exact_at(&mut bytes, block.offset.into()).map_err(|_| damaged())?,
        }
        if crc32fast::hash(&bytes) == block.crc { Ok(bytes) } else { Err(damaged()) }
    }

    /// A piece is no longer in use.
    pub(crate) fn free(&mut self, block: &Block) {
        if let Some(entry) = self.files.get_mut(&block.file) {
            entry.live = entry.live.saturating_sub(1);
        }
    }

    /// Syncs all files in use to the disk. What is in the buffer is not there.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        for entry in self.files.values_mut().filter(|entry| entry.dirty && entry.live > 0) {
            entry.file.sync_data()?;
            entry.dirty = false;
        }
        Ok(())
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values().map(|entry| &entry.file)
    }

    /// The numbers of the files in use.
    pub(crate) fn used(&self) -> BTreeSet<u32> {
        self.files.iter().filter(|(_, entry)| entry.live > 0).map(|(number, _)| *number).collect()
    }

    /// Adds a piece of an earlier process.
    pub(crate) fn adopt(&mut self, block: &Block) -> io::Result<()> {
        if let Some(entry) = self.files.get_mut(&block.file) {
            entry.live += 1;
            return Ok(());
        }
        let file = OpenOptions::new().read(true).write(true).open(self.path(block.file)?)?;
        self.files.insert(block.file, Pieces { file, live: 1, dirty: false });
        // Bytes after the pieces of a snapshot were written after it: new pieces go to a new file.
        self.next = self.next.max(block.file.saturating_add(1));
        Ok(())
    }

    /// Forgets the files that are neither in use nor among `keep`; returns their paths, to be removed. Their numbers are not used again.
    pub(crate) fn unused_files(&mut self, keep: &BTreeSet<u32>) -> io::Result<Vec<PathBuf>> {
        let Some(directory) = self.directory.clone() else { return Ok(Vec::new()) };
        let filling = self.filling.map(|(number, _)| number);
        self.files
            .retain(|number, entry| entry.live > 0 || keep.contains(number) || filling == Some(*number));
        let listing = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let mut unused = Vec::new();
        for entry in listing {
            let path = entry?.path();
            let number =
                path.file_name().and_then(|name| name.to_str()?.strip_suffix(".queue")?.parse().ok());
            if let Some(number) = number {
                self.next = self.next.max(number + 1);
                if !self.files.contains_key(&number) && !keep.contains(&number) {
                    unused.push(path);
                }
            }
        }
        Ok(unused)
    }

    /// The file to write to, and how far it is filled.
    fn filling(&mut self) -> io::Result<(u32, u64)> {
        if let Some(filling) = self.filling {
            return Ok(filling);
        }
        let number = self.next;
        let path = self.path(number)?;
        if let Some(directory) = &self.directory {
            fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        self.files.insert(number, Pieces { file, live: 0, dirty: false });
        self.next += 1;
        self.filling = Some((number, 0));
        Ok((number, 0))
    }

    /// The path of a file.
    fn path(&self, number: u32) -> io::Result<PathBuf> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        Ok(directory.join(format!("{number:010}.queue")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_damage_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(Some(directory.path().join("queues")));
        let blocks = [b"one".as_slice(), b"", b"three", b"four"].map(|piece| spill.write(piece).unwrap());
        for _ in 0..2 {
            assert_eq!(spill.read(&blocks[2]).unwrap(), b"three");
            assert_eq!(spill.read(&blocks[1]).unwrap(), b"");
            assert_eq!(spill.read(&blocks[3]).unwrap(), b"four");
            spill.flush().unwrap();
        }
        let path = directory.path().join("queues/0000000000.queue");
        fs::write(path, b"oneThreefour").unwrap();
        assert_eq!(spill.read(&blocks[2]).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(spill.read(&blocks[3]).unwrap(), b"four");
    }

    fn remove_unused(spill: &mut Spill, keep: &BTreeSet<u32>) {
        spill.unused_files(keep).unwrap().into_iter().for_each(|path| fs::remove_file(path).unwrap());
    }

    #[test]
    fn a_file_stays_while_a_piece_or_a_snapshot_needs_it() {
        let directory = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(directory.path()).unwrap().count();
        let mut spill = Spill::new(Some(directory.path().to_owned()));
        let large = vec![7; FILE_BYTES as usize];
        let first = spill.write(&large).unwrap();
        let second = spill.write(&large).unwrap();
        spill.flush().unwrap();
        spill.sync().unwrap();
        let named = spill.used();
        assert_eq!(named, BTreeSet::from([0, 1]));
        spill.free(&first);
        remove_unused(&mut spill, &named);
        assert_eq!(files(), 2, "a snapshot names it");
        remove_unused(&mut spill, &BTreeSet::new());
        assert_eq!(files(), 1);
        drop(spill);

        let mut spill = Spill::new(Some(directory.path().to_owned()));
        spill.adopt(&second).unwrap();
        remove_unused(&mut spill, &BTreeSet::new());
        assert_eq!(spill.read(&second).unwrap().len(), large.len());
        let third = spill.write(b"new").unwrap();
        assert_eq!(third.file, 2, "never into a file that a snapshot may name");
        assert!(spill.adopt(&Block { file: 9, ..third }).is_err());
    }

    #[test]
    fn what_cannot_be_written_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(Some(directory.path().to_owned()));
        let block = spill.write(b"kept").unwrap();
        // A file that is open for reading only stands for a full disk.
        let path = directory.path().join("0000000000.queue");
        let whole = std::mem::replace(&mut spill.files.get_mut(&0).unwrap().file, File::open(&path).unwrap());
        assert!(spill.flush().is_err());
        assert_eq!(spill.read(&block).unwrap(), b"kept");
        spill.files.get_mut(&0).unwrap().file = whole;
        spill.flush().unwrap();
        assert_eq!(spill.read(&block).unwrap(), b"kept");
        assert_eq!(fs::read(path).unwrap(), b"kept");
    }
}
