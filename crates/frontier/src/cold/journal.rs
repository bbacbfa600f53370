//! Records in append-only files: what is known of hosts that are not in memory.
//!
//! Guarantees: a record is read as it was written, or reading returns an error; a file is removed when none of its records is in
//! use and no snapshot names it; what could not be written yet stays in memory and is read from there.
//!
//! ```text
//! file: record …     record: length of content (4 bytes) · CRC-32 of content (4 bytes) · content · zeros up to a multiple of 8
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::codec::{self, damaged, put_number};

/// Where a record begins: the number of its file times [`FILE_BYTES`], and its offset there.
pub(super) type Position = u64;

/// Bytes of a file, at most: small enough that files become free, large enough to be few. Tests fill several.
const FILE_BYTES: u64 = if cfg!(test) { 4 << 20 } else { 256 << 20 };

/// Positions are multiples of this, and less than [`END`]: they are stored in 38 bits.
pub(super) const UNIT: u64 = 8;
pub(super) const END: Position = UNIT << 38;

/// Bytes before a record's content.
const HEAD: usize = 8;

/// Bytes that are gathered for one system call.
const WRITE_BYTES: usize = 256 << 10;

/// Bytes that are read at once: more than most records have.
const READ_BYTES: usize = 512;

/// The files. Filled by [`Journal::append`], emptied by [`Journal::free`] and [`Journal::unused_files`].
#[derive(Debug)]
pub(super) struct Journal {
    /// `None`: nothing can be written.
    directory: Option<PathBuf>,
    /// The end of the files' names.
    suffix: &'static str,
    files: BTreeMap<u32, Segment>,
    /// The file that is being filled, and its last bytes, which are to be written.
    filling: Option<u32>,
    buffer: Vec<u8>,
    next: u32,
}

/// One file.
#[derive(Debug)]
struct Segment {
    file: File,
    /// Where its records end, also those that are to be written.
    end: u64,
    /// Records in use, and their bytes.
    live: u64,
    live_bytes: u64,
    /// Written since it was last brought to the disk.
    dirty: bool,
}

impl Journal {
    /// No files yet. `directory` is made when it is needed.
    pub(super) fn new(directory: Option<PathBuf>, suffix: &'static str) -> Self {
        Journal { directory, suffix, files: BTreeMap::new(), filling: None, buffer: Vec::new(), next: 0 }
    }

    /// Whether there is a directory to write to.
    pub(super) fn is_possible(&self) -> bool {
        self.directory.is_some()
    }

    /// Takes a record, to be written with others. An error means that it was not taken.
    pub(super) fn append(&mut self, content: &[u8]) -> io::Result<Position> {
        let length = u32::try_from(content.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let size = size_of(content.len());
        if size > FILE_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        let number = self.filling_for(size)?;
        let segment = self.files.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        let position = u64::from(number) * FILE_BYTES + segment.end;
        if position >= END {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        self.buffer.extend_from_slice(content);
        self.buffer.resize(begin + size as usize, 0);
        segment.end += size;
        segment.live += 1;
        segment.live_bytes += size;
        Ok(position)
    }

    /// Reads a record's content; returns also where the next one begins.
    pub(super) fn read(&self, position: Position) -> io::Result<(Vec<u8>, Position)> {
        let (number, offset) = split(position);
        let segment = self.files.get(&number).ok_or_else(|| self.damaged(number))?;
        let buffered = if self.filling == Some(number) { &self.buffer[..] } else { &[] };
        let written = segment.end - buffered.len() as u64;
        let part = |from: u64, into: &mut [u8]| match from.checked_sub(written) {
            None => segment.file.read_exact_at(into, from),
            Some(start) => {
                let bytes = buffered.get(start as usize..).and_then(|rest| rest.get(..into.len()));
                into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        };
        // A record lies in the file or in the buffer as a whole.
        let rest = if offset < written { written - offset } else { segment.end.saturating_sub(offset) };
        let mut first = [0; READ_BYTES];
        let first = &mut first[..READ_BYTES.min(rest as usize)];
        part(offset, first).map_err(|_| self.damaged(number))?;
        let (length, crc) = head_of(first).ok_or_else(|| self.damaged(number))?;
        if size_of(length) > rest {
            return Err(self.damaged(number));
        }
        let mut content = first[HEAD..first.len().min(HEAD + length)].to_vec();
        if content.len() < length {
            let read = content.len();
            content.resize(length, 0);
            part(offset + (HEAD + read) as u64, &mut content[read..]).map_err(|_| self.damaged(number))?;
        }
        if crc32fast::hash(&content) != crc {
            return Err(self.damaged(number));
        }
        Ok((content, position + size_of(length)))
    }

    /// Where the first record begins at or behind a position, in a file that has one in use.
    pub(super) fn first_from(&self, position: Position) -> Option<Position> {
        let (number, offset) = split(position);
        let mut files = self.files.range(number..).filter(|(_, segment)| segment.live > 0);
        files.find_map(|(other, segment)| {
            let offset = if *other == number { offset } else { 0 };
            (offset < segment.end).then_some(u64::from(*other) * FILE_BYTES + offset)
        })
    }

    /// The same, in a file that is not filled any more.
    pub(super) fn first_in_full(&self, position: Position) -> Option<Position> {
        self.first_from(position).filter(|position| Some(split(*position).0) != self.filling)
    }

    /// Whether the files from a position on that are not filled any more have more than `times` the bytes that are in use in them.
    pub(super) fn is_sparse(&self, position: Position, times: u64) -> bool {
        let full = self.files.range(split(position).0..).filter(|(number, _)| Some(**number) != self.filling);
        let (bytes, live) = full
            .filter(|(_, file)| file.live > 0)
            .fold((0, 0), |(bytes, live), (_, file)| (bytes + file.end, live + file.live_bytes));
        bytes > times.saturating_mul(live)
    }

    /// A record with content of this length is no longer in use.
    pub(super) fn free(&mut self, position: Position, length: usize) {
        if let Some(segment) = self.files.get_mut(&split(position).0) {
            segment.live = segment.live.saturating_sub(1);
            segment.live_bytes = segment.live_bytes.saturating_sub(size_of(length));
        }
    }

    /// Syncs all files in use to the disk. What is in the buffer is not there.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        for segment in self.files.values_mut().filter(|segment| segment.dirty && segment.live > 0) {
            segment.file.sync_data()?;
            segment.dirty = false;
        }
        Ok(())
    }

    /// The numbers of the files in use.
    pub(super) fn used(&self) -> BTreeSet<u32> {
        self.in_use().map(|(number, _)| *number).collect()
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values().map(|segment| &segment.file)
    }

    /// Forgets the files that are neither in use nor among `keep`; returns their paths, to be removed. Their numbers are not used again.
    pub(super) fn unused_files(&mut self, keep: &BTreeSet<u32>) -> io::Result<Vec<PathBuf>> {
        let filling = self.filling;
        self.files.retain(|number, segment| segment.live > 0 || filling == Some(*number));
        let listed = self.listing()?.into_iter();
        let is_unused = |number: &u32| !self.files.contains_key(number) && !keep.contains(number);
        Ok(listed.filter(|(number, _)| is_unused(number)).map(|(_, path)| path).collect())
    }

    /// Appends the files in use to a record of a snapshot.
    pub(super) fn pack(&self, into: &mut Vec<u8>) {
        put_number(into, self.next.into());
        put_number(into, self.in_use().count() as u64);
        for (number, segment) in self.in_use() {
            [u64::from(*number), segment.end, segment.live, segment.live_bytes]
                .into_iter()
                .for_each(|part| put_number(into, part));
        }
    }

    /// Opens the files of a snapshot of a version. Bytes behind their records were written after it: new records go to a new file, whose
    /// number no file had before, so that positions are in the order of time.
    pub(super) fn unpack(&mut self, from: &mut &[u8], version: u64) -> io::Result<()> {
        self.next = codec::small(from).ok_or_else(damaged)?;
        for _ in 0..codec::number(from).ok_or_else(damaged)? {
            let number = codec::small(from).ok_or_else(damaged)?;
            let end = codec::number(from).filter(|end| *end <= FILE_BYTES).ok_or_else(damaged)?;
            let live = codec::count(from).ok_or_else(damaged)?;
            // The version before does not say how many bytes are in use: all may be.
            let live_bytes = if version > 9 { codec::number(from).ok_or_else(damaged)? } else { end };
            let file = OpenOptions::new().read(true).write(true).open(self.path(number)?)?;
            if file.metadata()?.len() < end {
                return Err(self.damaged(number));
            }
            self.files.insert(number, Segment { file, end, live, live_bytes, dirty: false });
            self.next = self.next.max(number.saturating_add(1));
        }
        Ok(())
    }

    /// Writes the buffer. After an error it is kept, and written next time.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some(segment) = self.filling.and_then(|number| self.files.get_mut(&number)) else {
            return Ok(());
        };
        segment.file.write_all_at(&self.buffer, segment.end - self.buffer.len() as u64)?;
        segment.dirty |= !self.buffer.is_empty();
        self.buffer.clear();
        Ok(())
    }

    /// The file to write a record of so many bytes to.
    fn filling_for(&mut self, size: u64) -> io::Result<u32> {
        if let Some(number) = self.filling
            && self.files.get(&number).is_some_and(|segment| segment.end + size <= FILE_BYTES)
        {
            return Ok(number);
        }
        self.flush()?;
        if self.filling.is_none() {
            // Files of an earlier process, which a snapshot may name.
            let last = self.listing()?.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
            self.next = self.next.max(last);
        }
        let number = self.next;
        let path = self.path(number)?;
        if let Some(directory) = &self.directory {
            fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        self.files.insert(number, Segment { file, end: 0, live: 0, live_bytes: 0, dirty: false });
        self.next = number.saturating_add(1);
        self.filling = Some(number);
        Ok(number)
    }

    /// The files in use.
    fn in_use(&self) -> impl Iterator<Item = (&u32, &Segment)> {
        self.files.iter().filter(|(_, segment)| segment.live > 0)
    }

    /// The files in the directory, by number.
    fn listing(&self) -> io::Result<BTreeMap<u32, PathBuf>> {
        let Some(directory) = &self.directory else { return Ok(BTreeMap::new()) };
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            entries => entries?,
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(self.suffix));
            if let Some(number) = name.and_then(|name| name.strip_suffix('.')?.parse().ok()) {
                files.insert(number, path);
            }
        }
        Ok(files)
    }

    /// The path of a file.
    fn path(&self, number: u32) -> io::Result<PathBuf> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        Ok(directory.join(format!("{number:010}.{}", self.suffix)))
    }

    /// The error for a file that does not have what it should.
    fn damaged(&self, number: u32) -> io::Error {
        let directory =
            self.directory.as_ref().map_or("queues".into(), |directory| directory.display().to_string());
        let text = format!("{directory}: file {number} of {} is missing or damaged", self.suffix);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}

/// Bytes of a record with content of this length.
fn size_of(length: usize) -> u64 {
    ((HEAD + length) as u64).next_multiple_of(UNIT)
}

/// The file of a position, and the offset in it.
fn split(position: Position) -> (u32, u64) {
    ((position / FILE_BYTES) as u32, position % FILE_BYTES)
}

/// Length and CRC of a record's content.
fn head_of(record: &[u8]) -> Option<(usize, u32)> {
    let (length, rest) = record.split_first_chunk::<4>()?;
    let (crc, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*length) as usize, u32::from_le_bytes(*crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(directory: &std::path::Path) -> Journal {
        Journal::new(Some(directory.to_owned()), "test")
    }

    fn remove_unused(journal: &mut Journal, keep: &BTreeSet<u32>) {
        journal.unused_files(keep).unwrap().into_iter().for_each(|path| fs::remove_file(path).unwrap());
    }

    #[test]
    fn records_come_back_in_order_wherever_they_lie() {
        let directory = tempfile::tempdir().unwrap();
        let mut all = journal(directory.path());
        let content = |number: usize| vec![number as u8; number * 7 % 2000];
        let positions: Vec<Position> = (0..500).map(|number| all.append(&content(number)).unwrap()).collect();
        assert!(!all.buffer.is_empty() && all.files[&0].dirty, "some are in the file, some in the buffer");
        let mut at = 0;
        for (number, position) in positions.iter().enumerate() {
            assert_eq!(all.first_from(at), Some(*position));
            let (read, next) = all.read(*position).unwrap();
            assert_eq!((read, next % UNIT), (content(number), 0));
            at = next;
        }
        assert_eq!(all.first_from(at), None);
    }

    #[test]
    fn a_later_process_reads_what_a_snapshot_names_and_writes_elsewhere() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = journal(directory.path());
        let (one, two) = (first.append(b"one").unwrap(), first.append(b"two").unwrap());
        let mut packed = Vec::new();
        first.flush().unwrap();
        first.sync().unwrap();
        assert_eq!(first.used(), BTreeSet::from([0]));
        first.pack(&mut packed);
        first.append(b"later").unwrap();
        first.flush().unwrap();
        let mut second = journal(directory.path());
        second.unpack(&mut &packed[..], 10).unwrap();
        assert_eq!(second.read(one).unwrap().0, b"one");
        let (read, next) = second.read(two).unwrap();
        assert_eq!((&read[..], second.first_from(next)), (&b"two"[..], None), "what came later is not there");
        let three = second.append(b"three").unwrap();
        assert_eq!((split(three).0, second.first_from(next)), (1, Some(three)));
        [one, two].into_iter().for_each(|position| second.free(position, 3));
        remove_unused(&mut second, &BTreeSet::from([0]));
        assert!(directory.path().join("0000000000.test").exists(), "a snapshot needs it");
        remove_unused(&mut second, &BTreeSet::new());
        assert!(!directory.path().join("0000000000.test").exists());
        assert_eq!(second.read(three).unwrap().0, b"three");
    }

    #[test]
    fn damage_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut all = journal(directory.path());
        let positions = [1, 3000].map(|length| all.append(&vec![7; length]).unwrap());
        all.flush().unwrap();
        let path = directory.path().join("0000000000.test");
        let bytes = fs::read(&path).unwrap();
        for damaged in [0, 4, 8, 16, 20, 600, bytes.len() - 1] {
            let mut other = bytes.clone();
            other[damaged] ^= 0x40;
            fs::write(&path, &other).unwrap();
            assert!(positions.iter().any(|position| all.read(*position).is_err()), "byte {damaged}");
        }
        fs::write(&path, &bytes[..10]).unwrap();
        assert!(
            all.read(positions[1]).is_err() && all.read(5 * FILE_BYTES).is_err() && all.read(96).is_err()
        );
        assert!(journal(directory.path()).unpack(&mut &[1, 1, 9, 8, 1, 1][..], 10).is_err(), "no such file");
        let mut nowhere = Journal::new(None, "test");
        assert!(!nowhere.is_possible() && nowhere.append(b"x").is_err());
    }
}
