//! Snapshots of the log's views at a position, so that a restart need not replay the whole log.
//!
//! ```text
//! magic "LYCOSASN" · version u32 · zero u32 · position u64 · content … · CRC-32 of all before u32      little-endian
//! ```
//!
//! [`Snapshots::begin`] makes a file, [`Unfinished::write`] fills it, in this process or in a forked one, and [`Unfinished::complete`]
//! gives it its name.
//!
//! Guarantees: a snapshot gets its name only when it is complete and durable; [`SnapshotReader::finish`] reports damage, so that
//! the caller can use an older one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use crate::Position;
use crate::error::LogError;
use crate::fork::check_parent;
use crate::segment::sync_directory;

/// Bytes before and after the content.
const HEADER_BYTES: usize = 24;
const TRAILER_BYTES: u64 = 4;

/// Version of this layout; the content has versions of its own.
const VERSION: u32 = 1;

/// Buffer size of reads and writes.
const BUFFER_BYTES: usize = 1 << 20;

/// The snapshots of a directory.
#[derive(Debug)]
pub struct Snapshots {
    directory: PathBuf,
}

impl Snapshots {
    /// Opens a directory, which is created if it is missing. Removes unfinished snapshots, and those beyond the
    /// log's end: their records were cut off, and other records will get their positions.
    pub fn open(directory: &Path, end: Position) -> Result<Self, LogError> {
        let snapshots = Snapshots { directory: directory.to_owned() };
        let clear = || -> io::Result<()> {
            fs::create_dir_all(directory)?;
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "unfinished") {
                    fs::remove_file(path)?;
                }
            }
            for position in snapshots.listed()?.into_iter().filter(|position| *position > end) {
                fs::remove_file(snapshots.path(position))?;
            }
            sync_directory(directory)
        };
        clear().map_err(|error| LogError::of(directory, error))?;
        Ok(snapshots)
    }

    /// Positions of the snapshots, in order. Damage is found only by reading them.
    pub fn positions(&self) -> Result<Vec<Position>, LogError> {
        self.listed().map_err(|error| LogError::of(&self.directory, error))
    }

    /// Makes the file of a snapshot, which has no name of a snapshot yet.
    pub fn begin(&self, position: Position) -> Result<Unfinished, LogError> {
        let path = self.path(position);
        let unfinished = path.with_extension("unfinished");
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&unfinished);
        let file = file.map_err(|error| LogError::of(&path, error))?;
        Ok(Unfinished { file, position, path, unfinished, process: std::process::id() })
    }

    /// Snapshots at or before a position, newest first. Damaged ones and those of other versions are returned as
    /// errors; the caller tries the next.
    pub fn newest(
        &self,
        at_most: Position,
    ) -> Result<impl Iterator<Item = Result<SnapshotReader, LogError>> + use<>, LogError> {
        let mut positions = self.positions()?;
        positions.retain(|position| *position <= at_most);
        let directory = self.directory.clone();
        let open = move |position| SnapshotReader::open(&directory, position);
        Ok(positions.into_iter().rev().map(open))
    }

    /// Opens the snapshot of a position.
    pub fn read(&self, position: Position) -> Result<SnapshotReader, LogError> {
        SnapshotReader::open(&self.directory, position)
    }

    /// Removes the snapshot of a position.
    pub fn remove(&self, position: Position) -> Result<(), LogError> {
        let path = self.path(position);
        let removed = fs::remove_file(&path).and_then(|()| sync_directory(&self.directory));
        removed.map_err(|error| LogError::of(&path, error))
    }

    /// Positions in the directory's file names, in order.
    fn listed(&self) -> io::Result<Vec<Position>> {
        let mut positions = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let digits = name.to_str().and_then(|name| name.strip_suffix(".snapshot"));
            let digits = digits.filter(|digits| digits.len() == 20);
            positions.extend(digits.and_then(|digits| digits.parse::<Position>().ok()));
        }
        positions.sort_unstable();
        Ok(positions)
    }

    /// Path of a position's snapshot.
    fn path(&self, position: Position) -> PathBuf {
        self.directory.join(name(position))
    }
}

/// The file of a snapshot that is being written. It is removed when this is dropped before [`Unfinished::complete`].
#[derive(Debug)]
pub struct Unfinished {
    file: File,
    position: Position,
    path: PathBuf,
    unfinished: PathBuf,
    /// The process that will complete it.
    process: u32,
}

impl Unfinished {
    /// Writes it, and makes it durable; once.
    pub fn write(&self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut writer = Checked::new(BufWriter::with_capacity(
            BUFFER_BYTES,
            Wanted { file: &self.file, by: self.process },
        ));
        writer.write_all(&header(self.position))?;
        content(&mut writer)?;
        let (mut buffered, crc) = writer.finish();
        buffered.write_all(&crc.to_le_bytes())?;
        buffered.flush()?;
        self.file.sync_all()
    }

    /// Its position of the log.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The descriptor of its file.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The error of its file.
    pub fn error(&self, error: io::Error) -> LogError {
        LogError::of(&self.path, error)
    }

    /// Gives it its name, after it was written; returns its size in bytes.
    pub fn complete(self) -> Result<u64, LogError> {
        let name = || {
            fs::rename(&self.unfinished, &self.path)?;
            sync_directory(self.path.parent().unwrap_or(Path::new(".")))?;
            Ok(self.file.metadata()?.len())
        };
        name().map_err(|error| self.error(error))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It is not there any more when it was completed; a fork of this process leaves it alone.
        if std::process::id() == self.process {
            drop(fs::remove_file(&self.unfinished));
        }
    }
}

/// A file that is written while the process that will complete it lives.
#[derive(Debug)]
struct Wanted<'a> {
    file: &'a File,
    by: u32,
}

impl Write for Wanted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_parent(self.by)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The content of one snapshot. It is verified only after [`SnapshotReader::finish`] returns `Ok`.
#[derive(Debug)]
pub struct SnapshotReader {
    directory: PathBuf,
    position: Position,
    /// Limited to the header and the content.
    content: Checked<io::Take<BufReader<File>>>,
}

impl SnapshotReader {
    /// Opens a snapshot and checks its header.
    fn open(directory: &Path, position: Position) -> Result<Self, LogError> {
        let path = directory.join(name(position));
        let io = |error| LogError::of(&path, error);
        let damaged = || LogError::Damaged { path: path.clone(), position };
        let file = File::open(&path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let content = length.checked_sub(HEADER_BYTES as u64 + TRAILER_BYTES).ok_or_else(damaged)?;
        let limited = BufReader::with_capacity(BUFFER_BYTES, file).take(HEADER_BYTES as u64 + content);
        let mut content = Checked::new(limited);
        let mut bytes = [0; HEADER_BYTES];
        content.read_exact(&mut bytes).map_err(io)?;
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if bytes[..8] == header(position)[..8] && version != VERSION {
            return Err(LogError::Foreign { path, version });
        }
        if bytes != header(position) {
            return Err(damaged());
        }
        Ok(SnapshotReader { directory: directory.to_owned(), position, content })
    }

    /// The log position of the snapshot.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Path of its file.
    pub fn path(&self) -> PathBuf {
        self.directory.join(name(self.position))
    }

    /// The reason why its content could not be decoded: the file is damaged, or the content is of another version.
    pub fn not_understood(self) -> LogError {
        let path = self.path();
        self.finish().err().unwrap_or(LogError::ForeignContent { path })
    }

    /// Reads the rest, then verifies the checksum.
    pub fn finish(mut self) -> Result<(), LogError> {
        let path = self.path();
        let mut check = || -> io::Result<bool> {
            let mut rest = vec![0; 64 << 10];
            while self.content.read(&mut rest)? > 0 {}
            let crc = self.content.hasher.clone().finalize();
            let mut trailer = [0; TRAILER_BYTES as usize];
            self.content.inner.get_mut().read_exact(&mut trailer)?;
            Ok(u32::from_le_bytes(trailer) == crc)
        };
        match check() {
            Ok(true) => Ok(()),
            Ok(false) => Err(LogError::Damaged { path, position: self.position }),
            Err(error) => Err(LogError::of(&path, error)),
        }
    }
}

impl Read for SnapshotReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer)
    }
}

/// Computes the checksum of everything read or written through it.
#[derive(Debug)]
struct Checked<T> {
    inner: T,
    hasher: crc32fast::Hasher,
}

impl<T> Checked<T> {
    /// Starts with the checksum of no bytes.
    fn new(inner: T) -> Self {
        Checked { inner, hasher: crc32fast::Hasher::new() }
    }

    /// Returns the inner reader or writer, and the checksum.
    fn finish(self) -> (T, u32) {
        (self.inner, self.hasher.finalize())
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        Ok(read)
    }
}

/// File name of a position's snapshot.
fn name(position: Position) -> String {
    format!("{position:020}.snapshot")
}

/// Header of a position's snapshot.
fn header(position: Position) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(b"LYCOSASN");
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..].copy_from_slice(&position.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Child;

    /// Writes a snapshot of a position.
    fn write(
        snapshots: &Snapshots,
        position: Position,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64, LogError> {
        let unfinished = snapshots.begin(position)?;
        unfinished.write(content).map_err(|error| unfinished.error(error))?;
        unfinished.complete()
    }

    /// Position and content of the newest intact snapshot.
    fn newest(snapshots: &Snapshots) -> Option<(Position, Vec<u8>)> {
        snapshots.newest(Position::MAX).unwrap().find_map(|opened| {
            let mut reader = opened.ok()?;
            let mut content = Vec::new();
            reader.read_to_end(&mut content).ok()?;
            let position = reader.position();
            reader.finish().is_ok().then_some((position, content))
        })
    }

    #[test]
    fn snapshots_come_back_the_newest_first() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(directory.path(), 0).unwrap();
        assert_eq!(newest(&snapshots), None);
        for position in [10, 20, 30] {
            write(&snapshots, position, |into| write!(into, "state at {position}")).unwrap();
        }
        assert_eq!(snapshots.positions().unwrap(), [10, 20, 30]);
        assert_eq!(newest(&snapshots), Some((30, b"state at 30".to_vec())));
        let older: Vec<Position> =
            snapshots.newest(29).unwrap().map(|reader| reader.unwrap().position()).collect();
        assert_eq!(older, [20, 10], "snapshots after the given position are not offered");
    }

    #[test]
    fn a_child_writes_it_and_it_has_no_name_before_it_is_completed() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(directory.path(), 0).unwrap();
        let unfinished = snapshots.begin(10).unwrap();
        let work = || unfinished.write(|into| into.write_all(b"of a child"));
        let (child, _killer) = Child::start(&[unfinished.descriptor()], work).unwrap();
        child.wait().unwrap();
        assert_eq!(newest(&snapshots), None);
        assert!(unfinished.complete().unwrap() > 10);
        assert_eq!(newest(&snapshots), Some((10, b"of a child".to_vec())));
        drop(snapshots.begin(20).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no unfinished file is left");
    }

    #[test]
    fn the_older_one_serves_wherever_the_newer_one_is_damaged_or_cut() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(directory.path(), 0).unwrap();
        write(&snapshots, 10, |into| into.write_all(b"old")).unwrap();
        write(&snapshots, 20, |into| into.write_all(b"new")).unwrap();
        let path = directory.path().join(name(20));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x04;
            for damaged in [&flipped[..], &whole[..at]] {
                fs::write(&path, damaged).unwrap();
                assert_eq!(newest(&snapshots), Some((10, b"old".to_vec())), "damage at {at}");
            }
        }
        let mut foreign = whole.clone();
        foreign[8] = 9;
        fs::write(&path, foreign).unwrap();
        let first = snapshots.newest(20).unwrap().next().unwrap();
        assert!(matches!(first, Err(LogError::Foreign { version: 9, .. })));
        assert!(matches!(snapshots.read(20), Err(LogError::Foreign { version: 9, .. })));
        snapshots.remove(20).unwrap();
        assert_eq!(snapshots.positions().unwrap(), [10]);
    }

    #[test]
    fn one_that_could_not_be_written_leaves_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(directory.path(), 0).unwrap();
        write(&snapshots, 10, |into| into.write_all(b"old")).unwrap();
        let full = write(&snapshots, 20, |into| {
            into.write_all(&vec![7; 3 << 20])?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(matches!(full, Err(LogError::Full { .. })));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no unfinished file is left");
        assert_eq!(newest(&snapshots), Some((10, b"old".to_vec())));
    }

    #[test]
    fn opening_removes_what_was_left_unfinished_and_what_the_log_has_lost() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = Snapshots::open(directory.path(), 0).unwrap();
        write(&snapshots, 10, |into| into.write_all(b"a")).unwrap();
        write(&snapshots, 20, |into| into.write_all(b"b")).unwrap();
        fs::write(directory.path().join("00000000000000000030.unfinished"), "half").unwrap();
        fs::write(directory.path().join("notes.txt"), "the user's own").unwrap();
        let snapshots = Snapshots::open(directory.path(), 15).unwrap();
        assert_eq!(snapshots.positions().unwrap(), [10]);
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["00000000000000000010.snapshot", "notes.txt"]);
    }

    proptest! {
        #[test]
        fn any_content_comes_back(content in proptest::collection::vec(any::<u8>(), 0..3000), part in 1..700_usize) {
            let directory = tempfile::tempdir().unwrap();
            let snapshots = Snapshots::open(directory.path(), 0).unwrap();
            write(&snapshots, 5, |into| content.chunks(part).try_for_each(|chunk| into.write_all(chunk))).unwrap();
            prop_assert_eq!(newest(&snapshots), Some((5, content)));
        }

        #[test]
        fn any_file_gets_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join(name(5)), bytes).unwrap();
            let snapshots = Snapshots::open(directory.path(), 5).unwrap();
            prop_assert_eq!(newest(&snapshots), None);
        }
    }
}
