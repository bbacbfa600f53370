//! Which URLs failed, kept apart from the log: its segments go, and what failed is to be opened again years later.
//!
//! The list is made of files like segments: each holds frames of what was recorded since the snapshot of the position that it
//! is named after. Of a URL the newest frame counts. It has a frame when it failed or was refused, and when it was opened again
//! then; seeds have one whenever they end, since they are given again by name.
//!
//! Guarantees: what the log held at a snapshot's position is on the disk in the files before it; later files are removed and
//! written anew when the log behind the snapshot is read again; a page that is no seed and has not failed costs nothing.

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

/// Gathered for one call to the system.
const WRITE_BYTES: usize = 64 << 10;

/// URLs that are looked at in one pass over the list: about 50 MB.
const PASS: u64 = 1 << 20;

/// The list of a job directory. The log's writer writes it.
#[derive(Debug)]
pub struct Failed {
    directory: PathBuf,
    /// The newest snapshot's position: the name of the file that is written.
    since: Position,
    /// That file, once it has something, and its end.
    file: Option<(File, u64)>,
    /// What is to be written.
    buffer: Vec<u8>,
}

impl Failed {
    /// The list in a directory, which is made when something fails. [`Failed::restore`] comes first.
    pub fn new(directory: PathBuf) -> Self {
        Failed { directory, since: 0, file: None, buffer: Vec::new() }
    }

    /// Goes back to what it was at a snapshot's position: the log behind it is read again, and told to [`Failed::add`].
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

    /// Makes what is before a snapshot's position from the log, where a version that kept no list had made the snapshot.
    pub fn complete(&self, log: &Path, position: Position) -> Result<(), LogError> {
        let files = self.files().map_err(|error| self.error(error))?;
        if files.first().is_some_and(|first| *first < position) {
            return Ok(());
        }
        let mut reader = Reader::open(log, Bodies::None)?;
        let first = reader.position();
        let mut list = Failed::new(self.directory.clone());
        // Not a name of the list until it is whole.
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

    /// Takes those outcomes that belong into it. After an error none of them is in it.
    pub fn add<'a>(&mut self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Result<(), LogError> {
        let before = self.buffer.len();
        outcomes.into_iter().for_each(|outcome| self.put(outcome));
        self.write().inspect_err(|_| self.buffer.truncate(before))
    }

    /// The same while the log is read again: written with others, and kept where the disk is full.
    pub fn add_again(&mut self, outcome: &Outcome) -> Result<(), LogError> {
        self.put(outcome);
        match self.write_if_much() {
            Err(LogError::Full { .. }) => Ok(()),
            result => result,
        }
    }

    /// Brings it to the disk, as a snapshot of the log needs it.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.write()?;
        let Some((file, _)) = &self.file else { return Ok(()) };
        let synced = file.sync_data().and_then(|()| sync_directory(&self.directory));
        synced.map_err(|error| self.error(error))
    }

    /// A snapshot of the log at a position is whole: what follows is in another file.
    pub fn begin(&mut self, position: Position) {
        (self.file, self.since) = (None, position);
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

    /// How requests ended, by their keys, that ended last by failing, or as seeds.
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

    /// Appends an outcome's frame to what is to be written, if it has one: what is needed to open its URL again.
    fn put(&mut self, outcome: &Outcome) {
        let request = outcome.request();
        let is_listed = request.purpose != Purpose::Robots
            && (outcome.is_reopened() || !outcome.retry)
            && (outcome.failure().is_some() || (request.depth == 0 && request.chain.is_empty()));
        if is_listed {
            write_record(&mut self.buffer, &without_content(outcome));
        }
    }

    /// Writes what was gathered, if it is worth a call to the system.
    fn write_if_much(&mut self) -> Result<(), LogError> {
        if self.buffer.len() < WRITE_BYTES { Ok(()) } else { self.write() }
    }

    /// Writes what was gathered. After an error it is kept, and what stands behind the file's end counts for nothing.
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

    /// The names of its files, in order.
    fn files(&self) -> io::Result<Vec<Position>> {
        files(&self.directory)
    }

    /// A file.
    fn path(&self, start: Position) -> PathBuf {
        self.directory.join(layout::segment_name(start))
    }

    /// The system's error, with the list's place.
    fn error(&self, error: io::Error) -> LogError {
        LogError::of(&self.directory, error)
    }
}

/// URLs that failed, from a list; what is added to it meanwhile is passed over.
#[derive(Debug)]
pub struct Found {
    directory: PathBuf,
    kinds: HashSet<FailureKind>,
    /// URLs are parted by their hash, so that each pass holds a part of them in memory.
    passes: u64,
    pass: u64,
    /// The place of a URL's newest frame, by its digest, in this pass.
    newest: HashMap<[u8; 16], u64>,
    frames: Frames,
}

impl Found {
    /// The next of them, each once, as outcomes that open them again; none when there are no more.
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

    /// Finds out which frames count in a pass.
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

/// An outcome as far as it says how its URL ended.
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

/// The outcome that opens a URL again, by how it had ended.
pub fn reopened(ended: Outcome, now: Micros) -> Outcome {
    let Response { request, result, .. } = ended.response;
    let (depth, chain, options) = (request.depth, request.chain, request.options);
    let mut outcome = Outcome::reopened(request.url, depth, now, result.map(|received| received.status));
    outcome.response.request.chain = chain;
    outcome.redirect = ended.redirect;
    outcome.with_options(options)
}

/// How requests ended last, by their keys, from what a log still has of them. Damage is passed over.
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

/// The frames of a list as it was when it was opened, in order.
#[derive(Debug)]
struct Frames {
    /// Files with their lengths, the file that is read, and what is left of it.
    files: Vec<(PathBuf, u64)>,
    next: usize,
    reader: Option<io::Take<BufReader<File>>>,
    /// The frame's header and meta.
    bytes: Vec<u8>,
    /// Frames so far.
    count: u64,
}

impl Frames {
    /// The frames of a list, all of which is written.
    fn open(list: &Failed) -> io::Result<Self> {
        let mut paths = Vec::new();
        for start in list.files()? {
            let path = list.path(start);
            let length = fs::metadata(&path)?.len();
            paths.push((path, length));
        }
        Ok(Frames { files: paths, next: 0, reader: None, bytes: Vec::new(), count: 0 })
    }

    /// Begins anew.
    fn rewind(&mut self) {
        (self.next, self.reader, self.count) = (0, None, 0);
    }

    /// Reads the next frame; false at the end. What is damaged hides the rest of its file.
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

    /// What stands in the frame.
    fn outcome(&self) -> Option<Outcome> {
        let header = Header::read(self.bytes.first_chunk()?)?;
        read_facts(&header, self.bytes.get(FRAME_HEADER_BYTES..)?).ok()
    }
}

/// Reads a frame's header and meta; false where there is no whole one.
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

/// Fills a buffer; false where there is not enough.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The names of a list's files, in order; none where nothing has failed yet.
fn files(directory: &Path) -> io::Result<Vec<Position>> {
    match starts(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        starts => starts,
    }
}

/// Makes a file that has no frame yet.
fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all_at(&layout::segment_header(), 0)?;
    Ok(file)
}

/// Removes a file, if it is there.
fn drop_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// To which part of all URLs one belongs: the same in each pass.
fn part(url: &str) -> u64 {
    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(url)
}
