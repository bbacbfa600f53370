//! Following the log: whole frames from a position on, as far as it has been written.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::Position;
use crate::entry::{Entry, Outcome};
use crate::frame::{self, FRAME_HEADER_BYTES, Header, Kind, SEGMENT_HEADER_BYTES};

/// A place in the log from which frames are read. It never waits: what is not there yet comes later.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    segment: File,
    start: Position,
    position: Position,
    bodies: Bodies,
}

/// Which bodies are read; the others are skipped and come empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// None.
    None,
    /// Those of robots.txt answers.
    Robots,
    /// All.
    All,
}

/// Why a log cannot be read on.
#[derive(Debug)]
pub enum ReaderError {
    /// Not a segment of this version.
    Foreign(PathBuf),
    /// A frame that is not as it was written.
    Damaged(Position),
    /// The system's own error.
    Io(PathBuf, io::Error),
}

impl fmt::Display for ReaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReaderError::Foreign(path) => write!(f, "{}: not a log of this version", path.display()),
            ReaderError::Damaged(position) => write!(f, "the log is damaged at position {position}"),
            ReaderError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ReaderError {}

impl Reader {
    /// Opens a log at its beginning.
    pub fn open(directory: &Path, bodies: Bodies) -> Result<Self, ReaderError> {
        Self::open_segment(directory, 0, bodies)
    }

    /// Opens a log at the beginning of a segment.
    pub(crate) fn open_segment(
        directory: &Path,
        start: Position,
        bodies: Bodies,
    ) -> Result<Self, ReaderError> {
        let segment = open_segment(directory, start)?;
        let position = start + SEGMENT_HEADER_BYTES as u64;
        Ok(Reader { directory: directory.to_owned(), segment, start, position, bodies })
    }

    /// Where the next frame is read.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads frames until one of the bounds is reached or the log ends for now.
    pub fn read(&mut self, max_entries: usize, max_bytes: usize) -> Result<Vec<Entry<'static>>, ReaderError> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while entries.len() < max_entries && bytes < max_bytes {
            let Some(entry) = self.next()? else { break };
            bytes += entry.body.len() + FRAME_HEADER_BYTES;
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The next whole frame, or nothing when it is not there yet.
    fn next(&mut self) -> Result<Option<Entry<'static>>, ReaderError> {
        let written = self.segment.metadata().map_err(|error| self.io(error))?.len();
        let offset = self.position - self.start;
        if offset == written && self.enter_next_segment()? {
            return self.next();
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        if written < offset + FRAME_HEADER_BYTES as u64 {
            return Ok(None);
        }
        self.read_at(&mut bytes, offset)?;
        let damaged = ReaderError::Damaged(self.position);
        let Some(header) = Header::read(&bytes) else { return Err(damaged) };
        if written < offset + header.frame_bytes() {
            return Ok(None);
        }
        let mut meta = vec![0; header.meta as usize];
        self.read_at(&mut meta, offset + FRAME_HEADER_BYTES as u64)?;
        let outcome: Option<Outcome<'static>> =
            header.fits_meta(&bytes, &meta).then(|| rmp_serde::from_slice(&meta).ok()).flatten();
        let Some(outcome) = outcome else { return Err(damaged) };
        let wanted = match self.bodies {
            Bodies::None => false,
            Bodies::Robots => header.kind == Kind::Robots,
            Bodies::All => true,
        };
        let mut body = vec![0; if wanted { header.body as usize } else { 0 }];
        self.read_at(&mut body, offset + FRAME_HEADER_BYTES as u64 + u64::from(header.meta))?;
        if wanted && !header.fits_body(&body) {
            return Err(damaged);
        }
        self.position += header.frame_bytes();
        Ok(Some(Entry { kind: header.kind, outcome, body: Bytes::from(body) }))
    }

    /// Goes on to the segment that starts here, if there is one.
    fn enter_next_segment(&mut self) -> Result<bool, ReaderError> {
        if self.position == self.start || !self.directory.join(frame::segment_name(self.position)).exists() {
            return Ok(false);
        }
        self.segment = open_segment(&self.directory, self.position)?;
        self.start = self.position;
        self.position += SEGMENT_HEADER_BYTES as u64;
        Ok(true)
    }

    /// Fills a buffer from an offset of the segment.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ReaderError> {
        self.segment.read_exact_at(buffer, offset).map_err(|error| self.io(error))
    }

    /// The system's error, with the log's place.
    fn io(&self, error: io::Error) -> ReaderError {
        ReaderError::Io(self.directory.clone(), error)
    }
}

/// Opens a segment and checks that it is one.
fn open_segment(directory: &Path, start: Position) -> Result<File, ReaderError> {
    let path = directory.join(frame::segment_name(start));
    let file = File::open(&path).map_err(|error| ReaderError::Io(path.clone(), error))?;
    let mut header = [0; SEGMENT_HEADER_BYTES];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) if header == frame::segment_header() => Ok(file),
        Ok(()) => Err(ReaderError::Foreign(path)),
        Err(error) => Err(ReaderError::Io(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{Seek, SeekFrom, Write};

    use super::*;
    use crate::log::{Log, LogError};

    fn page(number: usize, body: usize) -> Entry<'static> {
        let outcome = Outcome {
            url: format!("http://example.com/{number}").into(),
            status: Some(200),
            links: vec![("http://example.com/".into(), true)],
            headers: vec![("x".into(), vec![0xff, b'a'].into())],
            address: "127.0.0.1".parse().ok(),
            ..Outcome::default()
        };
        Entry { kind: Kind::Page, outcome, body: vec![b'x'; body].into() }
    }

    #[test]
    fn what_is_written_is_read_over_many_segments() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), 1000).unwrap();
        let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
        assert!(reader.read(10, 1 << 20).unwrap().is_empty());
        for number in 0..50 {
            log.append([page(number, number * 10)]).unwrap();
            assert_eq!(reader.read(10, 1 << 20).unwrap(), [page(number, number * 10)]);
            assert_eq!(reader.position(), log.end());
        }
        let mut again = Reader::open(directory.path(), Bodies::None).unwrap();
        let entries = again.read(100, usize::MAX).unwrap();
        assert_eq!(entries.len(), 50);
        assert!(entries.iter().all(|entry| entry.body.is_empty()), "bodies are skipped");
        assert!(std::fs::read_dir(directory.path()).unwrap().count() > 10);
    }

    #[test]
    fn one_writer_at_a_time_and_the_next_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), 300).unwrap();
        assert!(log.is_new());
        assert!(matches!(Log::open(directory.path(), 300), Err(LogError::InUse(_))));
        let mut expected = Vec::new();
        for number in 0..10 {
            log.append([page(number, 100)]).unwrap();
            expected.push(page(number, 100));
            let end = log.end();
            drop(log);
            log = Log::open(directory.path(), 300).unwrap();
            assert_eq!((log.end(), log.is_new()), (end, false));
        }
        let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
        assert_eq!(reader.read(100, usize::MAX).unwrap(), expected);
    }

    #[test]
    fn whatever_a_crash_left_at_the_end_the_log_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(frame::segment_name(0));
        let mut log = Log::open(directory.path(), 1 << 20).unwrap();
        let first_end = log.append([page(1, 100)]).unwrap();
        log.append([page(2, 100)]).unwrap();
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() - first_end as usize {
            let cut = first_end as usize + at;
            let mut flipped = whole.clone();
            flipped[cut] ^= 0x10;
            for damaged in [&whole[..cut], &flipped[..]] {
                std::fs::write(&path, damaged).unwrap();
                let mut log = Log::open(directory.path(), 1 << 20).unwrap();
                assert_eq!(log.end(), first_end, "damage at {cut}");
                log.append([page(3, 7)]).unwrap();
                let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
                assert_eq!(reader.read(10, usize::MAX).unwrap(), [page(1, 100), page(3, 7)]);
            }
        }
        let torn = std::fs::read_dir(directory.path()).unwrap().flatten();
        assert!(torn.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("torn-")));
    }

    #[test]
    fn a_torn_tail_is_not_read_and_damage_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::open(directory.path(), 1 << 20).unwrap();
        let first_end = log.append([page(1, 100)]).unwrap();
        log.append([page(2, 100)]).unwrap();
        let path = directory.path().join(frame::segment_name(0));
        let whole = std::fs::read(&path).unwrap();
        for cut in first_end as usize..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
            assert_eq!(reader.read(10, 1 << 20).unwrap().len(), 1, "cut at {cut}");
        }
        for flip in first_end as usize..whole.len() {
            std::fs::write(&path, &whole).unwrap();
            let mut file = OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start(flip as u64)).unwrap();
            file.write_all(&[whole[flip] ^ 0x10]).unwrap();
            let mut reader = Reader::open(directory.path(), Bodies::All).unwrap();
            match reader.read(10, 1 << 20) {
                Err(ReaderError::Damaged(position)) => assert_eq!(position, first_end),
                // A length that has grown looks like a frame that is not whole yet.
                Ok(entries) => assert_eq!(entries.len(), 1, "flip at {flip}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
