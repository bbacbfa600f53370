//! List of failed URLs, stored apart from the log, so that they can be opened again after their log segments are removed.
//!
//! The list consists of files with the segment layout, each named after a snapshot's position: it has the frames recorded
//! after that snapshot. The newest frame of a URL counts. A URL gets a frame when it fails or is refused, and when it is then
//! opened again; a seed gets one whenever it ends, since seeds can be opened again by name.
//!
//! Guarantees: at a snapshot, the list of everything before its position is durable; files from that position on are removed
//! and rewritten when the log after the snapshot is replayed; a page that is no seed and has not failed costs nothing.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use lycosa_records::frame::{FRAME_HEADER_BYTES, Header, Kind};
use lycosa_records::{
    Outcome, Purpose, Received, Record, Request, Response, Times, read_facts, write_record,
};
use lycosa_url::{Digest, FailureKind, Micros};

use crate::Position;
use crate::error::LogError;
use crate::layout::{self, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::reader::{Bodies, Reader};
use crate::segment::{starts, sync_directory};

/// Size of one write system call.
const WRITE_BYTES: usize = 64 << 10;

/// URLs per pass over the list: about 50 MB of memory.
const PASS: u64 = 1 << 20;

/// The list of a job directory. Only the log's writer writes it.
#[derive(Debug)]
pub struct Failed {
    directory: PathBuf,
    /// The newest snapshot's position: the name of the current file.
    since: Position,
    /// The current file and its end; `None` before its first frame.
    file: Option<(File, u64)>,
    /// Frames to be written.
    buffer: Vec<u8>,
}

impl Failed {
    /// A list in a directory, which is created with the first entry. Call [`Failed::restore`] first.
    pub fn new(directory: PathBuf) -> Self {
        Failed { directory, since: 0, file: None, buffer: Vec::new() }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns to the state at a snapshot's position; the caller then replays the log into [`Failed::add_again`].
    pub fn restore(&mut self, position: Position) -> Result<(), LogError> {
        (self.file, self.since) = (None, position);
        self.buffer.clear();
        let remove = || {
            for start in self.files()?.into_iter().filter(|start| *start >= position) {
                fs::remove_file(self.path(start))?;
            }
            Ok(())
        };
        remove().map_err(|error| self.error(error))
    }

    /// Rebuilds the part before a snapshot's position from the log, if a version without this list wrote the snapshot.
    pub fn complete(&self, log: &Path, position: Position) -> Result<(), LogError> {
        let files = self.files().map_err(|error| self.error(error))?;
        if files.first().is_some_and(|first| *first < position) {
            return Ok(());
        }
        let mut reader = Reader::open(log, Bodies::None)?;
        let first = reader.position();
        let mut list = Failed::new(self.directory.clone());
        // Renamed to a name of the list when complete.
        let unfinished = self.directory.join("unfinished");
        let io = |error| LogError::of(&unfinished, error);
        fs::create_dir_all(&self.directory).and_then(|()| drop_file(&unfinished)).map_err(io)?;
        list.file = Some((create(&unfinished).map_err(io)?, SEGMENT_HEADER_BYTES as u64));
        while reader.position() < position {
            match reader.next_entry() {
                Ok(Some(logged)) => {
                    logged.entry.into_outcome().iter().for_each(|outcome| list.put(outcome));
                    list.write_if_much()?;
                }
                Ok(None) => break,
                Err(LogError::Damaged { .. }) => drop(reader.skip_damage()?),
                Err(error) => return Err(error),
            }
        }
        list.sync()?;
        fs::rename(&unfinished, self.path(first)).and_then(|()| sync_directory(&self.directory)).map_err(io)
    }

    /// Adds those outcomes that belong in the list. After an error none of them is in it.
    pub fn add<'a>(&mut self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Result<(), LogError> {
        let before = self.buffer.len();
        outcomes.into_iter().for_each(|outcome| self.put(outcome));
        self.write().inspect_err(|_| self.buffer.truncate(before))
    }

    /// Adds an outcome during replay: buffers it, and keeps it in the buffer if the disk is full.
    pub fn add_again(&mut self, outcome: &Outcome) -> Result<(), LogError> {
        self.put(outcome);
        match self.write_if_much() {
            Err(LogError::Full { .. }) => Ok(()),
            result => result,
        }
    }

    /// Begins a new file at the position of a snapshot that is to be made. Returns the file before it, which is to be synced before the
    /// snapshot is complete ([`Log::sync_beside`](crate::Log::sync_beside)).
    pub fn begin(&mut self, position: Position) -> Result<Option<File>, LogError> {
        self.write()?;
        self.since = position;
        Ok(self.file.take().map(|(file, _)| file))
    }

    /// Makes the current file durable.
    fn sync(&mut self) -> Result<(), LogError> {
        self.write()?;
        let Some((file, _)) = &self.file else { return Ok(()) };
        let synced = file.sync_data().and_then(|()| sync_directory(&self.directory));
        synced.map_err(|error| self.error(error))
    }

    /// The URLs whose newest frame is a failure of one of these kinds.
    pub fn find(&mut self, kinds: HashSet<FailureKind>) -> Result<Found, LogError> {
        self.write()?;
        let io = |error| self.error(error);
        let mut frames = Frames::open(self).map_err(io)?;
        let mut count = 0;
        while frames.next_meta().map_err(io)? {
            count += 1;
        }
        let (passes, newest) = (count / PASS + 1, HashMap::new());
        let frames = Frames::open(self).map_err(io)?;
        Ok(Found { directory: self.directory.clone(), kinds, passes, pass: 0, newest, frames })
    }

    /// The last outcomes of these requests, by key, as far as they are listed: failures and seeds.
    pub fn ended(&mut self, keys: &HashSet<Digest>) -> Result<HashMap<Digest, Outcome>, LogError> {
        self.write()?;
        let io = |error| self.error(error);
        let (mut frames, mut ended) = (Frames::open(self).map_err(io)?, HashMap::new());
        while frames.next_meta().map_err(io)? {
            let Some(outcome) = frames.outcome() else { continue };
            let key = outcome.request().key();
            if outcome.retry {
                ended.remove(&key);
            } else if keys.contains(&key) {
                ended.insert(key, outcome);
            }
        }
        Ok(ended)
    }

    /// Buffers the frame of an outcome that belongs in the list: what is needed to open its URL again.
    fn put(&mut self, outcome: &Outcome) {
        let request = outcome.request();
        let is_listed = request.purpose != Purpose::Robots
            && (outcome.is_reopened() || !outcome.retry)
            && (outcome.failure().is_some() || (request.depth == 0 && request.chain.is_empty()));
        if is_listed {
            write_record(&mut self.buffer, &without_content(outcome));
        }
    }

    /// Writes the buffer once it has reached [`WRITE_BYTES`].
    fn write_if_much(&mut self) -> Result<(), LogError> {
        if self.buffer.len() < WRITE_BYTES { Ok(()) } else { self.write() }
    }

    /// Writes the buffer. After an error the buffer is kept, and bytes after the recorded end of the file are ignored.
    fn write(&mut self) -> Result<(), LogError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut write = || {
            let (file, end) = match &mut self.file {
                Some(file) => file,
                None => {
                    fs::create_dir_all(&self.directory)?;
                    let path = self.directory.join(layout::segment_name(self.since));
                    self.file.insert((create(&path)?, SEGMENT_HEADER_BYTES as u64))
                }
            };
            file.write_all_at(&self.buffer, *end)?;
            *end += self.buffer.len() as u64;
            io::Result::Ok(())
        };
        write().map_err(|error| self.error(error))?;
        self.buffer.clear();
        Ok(())
    }

    /// Start positions of its files, in order.
    fn files(&self) -> io::Result<Vec<Position>> {
        files(&self.directory)
    }

    /// Path of a file.
    fn path(&self, start: Position) -> PathBuf {
        self.directory.join(layout::segment_name(start))
    }

    /// An I/O error with the list's path.
    fn error(&self, error: io::Error) -> LogError {
        LogError::of(&self.directory, error)
    }
}

/// Iteration over failed URLs of a list; entries added meanwhile are ignored.
#[derive(Debug)]
pub struct Found {
    directory: PathBuf,
    kinds: HashSet<FailureKind>,
    /// Number of passes: URLs are partitioned by hash, so that each pass has only a part of them in memory.
    passes: u64,
    pass: u64,
    /// Number of the newest frame of each request key in this pass.
    newest: HashMap<[u8; 16], u64>,
    frames: Frames,
}

impl Found {
    /// Returns the next URLs, each once, as outcomes that open them again; empty at the end.
    pub fn read(&mut self, max: usize, now: Micros) -> Result<Vec<Outcome>, LogError> {
        let mut outcomes = Vec::new();
        while outcomes.len() < max {
            if self.newest.is_empty() {
                if self.pass == self.passes {
                    break;
                }
                self.learn()?;
                self.pass += 1;
                continue;
            }
            let io = |error| LogError::of(&self.directory, error);
            if !self.frames.next_meta().map_err(io)? {
                self.newest.clear();
                continue;
            }
            let Some(outcome) = self.frames.outcome() else { continue };
            let key = outcome.request().key();
            if self.newest.get(&key) == Some(&self.frames.count) {
                self.newest.remove(&key);
                outcomes.push(reopened(outcome, now));
            }
        }
        Ok(outcomes)
    }

    /// Finds the frames that count in this pass.
    fn learn(&mut self) -> Result<(), LogError> {
        let io = |error| LogError::of(&self.directory, error);
        self.frames.rewind();
        while self.frames.next_meta().map_err(io)? {
            let Some(outcome) = self.frames.outcome() else { continue };
            if part(outcome.url().as_str()) % self.passes != self.pass {
                continue;
            }
            let (key, kind) = (outcome.request().key(), outcome.failure().map(|failure| failure.kind));
            if !outcome.retry && kind.is_some_and(|kind| self.kinds.contains(&kind)) {
                self.newest.insert(key, self.frames.count);
            } else {
                self.newest.remove(&key);
            }
        }
        self.frames.rewind();
        Ok(())
    }
}

/// Reduces an outcome to how its URL ended.
fn without_content(outcome: &Outcome) -> Outcome {
    let request = outcome.request();
    let request = Request {
        depth: request.depth,
        chain: request.chain.clone(),
        options: request.options.clone(),
        ..Request::get(request.url.clone())
    };
    let result = outcome.response.result.as_ref();
    let result = result.map(|received| Received { status: received.status, ..Received::default() });
    let result = result.map_err(Clone::clone);
    let (address, times) = (None, Times::default());
    let mut kept = Outcome::new(Response { request, address, started: 0, finished: 0, times, result });
    (kept.retry, kept.redirect) = (outcome.retry, outcome.redirect.clone());
    kept
}

/// Builds the outcome that opens a URL again from the one that ended it.
pub fn reopened(ended: Outcome, now: Micros) -> Outcome {
    let Response { request, result, .. } = ended.response;
    let (depth, chain, options) = (request.depth, request.chain, request.options);
    let mut outcome = Outcome::reopened(request.url, depth, now, result.map(|received| received.status));
    outcome.response.request.chain = chain;
    outcome.redirect = ended.redirect;
    outcome.with_options(options)
}

/// The last outcomes of these requests, by key, from the segments that the log still has. Damage is skipped.
pub fn ended(log: &Path, keys: &HashSet<Digest>) -> Result<HashMap<Digest, Outcome>, LogError> {
    let (mut reader, mut ended) = (Reader::open(log, Bodies::None)?, HashMap::new());
    loop {
        match reader.next_entry() {
            Ok(Some(logged)) => {
                let is_wanted = |outcome: &Outcome| {
                    outcome.kind() == Kind::Page && !outcome.retry && keys.contains(&outcome.request().key())
                };
                if let Some(outcome) = logged.entry.into_outcome().filter(is_wanted) {
                    ended.insert(outcome.request().key(), without_content(&outcome));
                }
            }
            Ok(None) => return Ok(ended),
            Err(LogError::Damaged { .. }) => drop(reader.skip_damage()?),
            Err(error) => return Err(error),
        }
    }
}

/// Frames of a list in order, as of the time of opening.
#[derive(Debug)]
struct Frames {
    /// Files with their lengths, the index of the next one, and the rest of the current one.
    files: Vec<(PathBuf, u64)>,
    next: usize,
    reader: Option<io::Take<BufReader<File>>>,
    /// Header and facts of the current frame.
    bytes: Vec<u8>,
    /// Number of frames read so far.
    count: u64,
}

impl Frames {
    /// Opens the frames of a list with an empty buffer.
    fn open(list: &Failed) -> io::Result<Self> {
        let mut paths = Vec::new();
        for start in list.files()? {
            let path = list.path(start);
            let length = fs::metadata(&path)?.len();
            paths.push((path, length));
        }
        Ok(Frames { files: paths, next: 0, reader: None, bytes: Vec::new(), count: 0 })
    }

    /// Goes back to the first frame.
    fn rewind(&mut self) {
        (self.next, self.reader, self.count) = (0, None, 0);
    }

    /// Reads the next frame; returns false at the end. The rest of a file after damage is ignored.
    fn next_meta(&mut self) -> io::Result<bool> {
        loop {
            if let Some(reader) = &mut self.reader
                && read_frame(reader, &mut self.bytes)?
            {
                self.count += 1;
                return Ok(true);
            }
            let Some((path, length)) = self.files.get(self.next) else { return Ok(false) };
            self.next += 1;
            let mut reader = BufReader::with_capacity(1 << 20, File::open(path)?).take(*length);
            let mut header = [0; SEGMENT_HEADER_BYTES];
            let known = [SegmentHeader::Current, SegmentHeader::Before];
            let is_whole =
                fill(&mut reader, &mut header)? && known.contains(&layout::read_segment_header(&header));
            self.reader = is_whole.then_some(reader);
        }
    }

    /// Decodes the current frame.
    fn outcome(&self) -> Option<Outcome> {
        let header = Header::read(self.bytes.first_chunk()?)?;
        read_facts(&header, self.bytes.get(FRAME_HEADER_BYTES..)?).ok()
    }
}

/// Reads a frame's header and facts; returns false if there is no intact one.
fn read_frame(reader: &mut impl Read, into: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; FRAME_HEADER_BYTES];
    if !fill(reader, &mut bytes)? {
        return Ok(false);
    }
    let Some(header) = Header::read(&bytes).filter(|header| header.body == 0) else { return Ok(false) };
    into.clear();
    into.extend_from_slice(&bytes);
    let read = reader.take(header.facts.into()).read_to_end(into)?;
    Ok(read == header.facts as usize && header.fits_facts(into))
}

/// Fills a buffer; returns false if there are not enough bytes.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Start positions of a list's files, in order; empty if the directory is missing.
fn files(directory: &Path) -> io::Result<Vec<Position>> {
    match starts(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        starts => starts,
    }
}

/// Creates a file without frames.
fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    file.write_all_at(&layout::segment_header(), 0)?;
    Ok(file)
}

/// Removes a file if it exists.
fn drop_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Hash that assigns a URL to a pass; the same in every pass.
fn part(url: &str) -> u64 {
    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(url)
}
