//! Reads the log frame by frame from a position, and follows it while it grows.
//!
//! Guarantees: frames are complete, checked and in order; a live log is read up to its committed position
//! ([`Reader::until`]), any other to its end; damage is reported by position and can be skipped
//! ([`Reader::skip_damage`]); memory is bounded by the largest frame plus 1 MiB.

mod damage;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lycosa_records::frame::{FRAME_HEADER_BYTES, Header, Kind};
use lycosa_records::{Body, Entry, Outcome, Record, RecordError};

use crate::Position;
use crate::error::LogError;
use crate::layout::{self, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::segment;

/// Read size after a jump, and its maximum in sequential reading. The first covers small records; the second keeps calls rare.
const WINDOW_BYTES: std::ops::RangeInclusive<usize> = 16 << 10..=1 << 20;

/// Smallest read size behind a body that was passed over and exceeds the first window.
const SMALLEST_WINDOW_BYTES: usize = 1 << 10;

/// A cursor in the log. It never blocks: at the end it returns `None`, and later calls return what was added.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    segment: File,
    start: Position,
    /// Last known length of the segment, cached to save a system call per frame.
    length: u64,
    position: Position,
    until: Option<Arc<AtomicU64>>,
    bodies: Bodies,
    /// Bytes read ahead, and their range in the log.
    buffer: Vec<u8>,
    filled: std::ops::Range<Position>,
    window: usize,
    /// What the last frame needed before its body, if that was large and passed over; the next one needs about as much.
    jumped: Option<usize>,
    /// Sizes of the reads into the buffer.
    #[cfg(test)]
    pub(crate) reads: Vec<usize>,
}

/// Which bodies are read; records refer to the others by position ([`Body::Log`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// None.
    None,
    /// Those of robots.txt responses.
    Robots,
    /// All.
    All,
}

impl Bodies {
    /// Whether the body of a frame of this kind is read.
    fn include(self, kind: Kind) -> bool {
        match self {
            Bodies::None => false,
            Bodies::Robots => kind == Kind::Robots,
            Bodies::All => true,
        }
    }
}

/// A record of the log and the end of its frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// The record.
    pub entry: Entry<'static>,
    /// Position after its frame.
    pub end: Position,
}

/// A frame, checked but not decoded.
pub(crate) struct Frame<'a> {
    /// Its position.
    pub(crate) position: Position,
    /// Its header.
    pub(crate) header: Header,
    /// Its facts.
    pub(crate) facts: &'a [u8],
    /// Its body, or a reference to it.
    pub(crate) body: Body,
}

impl Frame<'_> {
    /// Decodes the record; fails if this version cannot.
    pub(crate) fn entry(&self) -> Result<Entry<'static>, RecordError> {
        let mut entry = Entry::read(&self.header, self.facts)?;
        if let Entry::Outcome(outcome) = &mut entry
            && self.header.body > 0
        {
            outcome.to_mut().attach(self.body.clone());
        }
        Ok(entry)
    }
}

/// Result of looking for more bytes where a frame was expected.
enum Found {
    /// Try again: a frame may be complete now.
    More,
    /// The log ends here for now.
    End,
}

impl Reader {
    /// Opens a log at its beginning.
    pub fn open(directory: &Path, bodies: Bodies) -> Result<Self, LogError> {
        Self::open_at(directory, segment::first_position(directory)?, bodies)
    }

    /// Opens a log at the position of a frame, of a segment, or at its end.
    pub fn open_at(directory: &Path, position: Position, bodies: Bodies) -> Result<Self, LogError> {
        let io = |error| LogError::of(directory, error);
        let first = segment::first_position(directory)?;
        let starts = segment::starts(directory).map_err(io)?;
        let start = starts.iter().rev().find(|start| **start <= position).copied();
        let file = File::open(directory.join(layout::segment_name(start.unwrap_or(first)))).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        match start {
            Some(start) if position <= start + length => Ok(Reader {
                directory: directory.to_owned(),
                segment: file,
                start,
                length,
                position,
                until: None,
                bodies,
                buffer: Vec::new(),
                filled: 0..0,
                window: *WINDOW_BYTES.start(),
                jumped: None,
                #[cfg(test)]
                reads: Vec::new(),
            }),
            _ => {
                let end = start.unwrap_or(first) + length;
                Err(LogError::Absent { path: directory.to_owned(), position, present: (first, end) })
            }
        }
    }

    /// Reads only up to a shared position that advances: [`crate::Log::committed_position`].
    pub fn until(self, committed: Arc<AtomicU64>) -> Self {
        Reader { until: Some(committed), ..self }
    }

    /// The body of the outcome whose frame is at a position: [`Body::Log`].
    pub fn body_at(directory: &Path, position: Position) -> Result<Bytes, LogError> {
        let mut reader = Reader::open_at(directory, position, Bodies::All)?;
        let frame = reader.next_frame()?;
        Ok(frame.and_then(|frame| frame.body.memory().cloned()).unwrap_or_default())
    }

    /// Position of the next frame.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads at least one frame, until a bound is reached or the log ends for now. `max_bytes` counts the records'
    /// memory. Damage after other frames ends the batch; the next call returns the error.
    pub fn read(&mut self, max_entries: usize, max_bytes: usize) -> Result<Vec<Logged>, LogError> {
        self.gather(max_entries, max_bytes, |logged| {
            let bytes = logged.entry.memory();
            (Some(logged), bytes)
        })
    }

    /// Reads final outcomes of URLs, as outputs need them, each with the end of its frame; `decode` fills in the decoded body.
    /// `max_bytes` bounds their memory. If a URL was opened again within the entries read, only outcomes after that are returned.
    pub fn outcomes(
        &mut self,
        max_entries: usize,
        max_bytes: usize,
        decode: impl Fn(&mut Outcome),
    ) -> Result<Vec<(Outcome, Position)>, LogError> {
        let mut taken_back = HashMap::new();
        let mut outcomes = self.gather(max_entries, max_bytes, |Logged { entry, end }| {
            let Some(mut outcome) = entry.into_outcome() else { return (None, 0) };
            if outcome.kind() != Kind::Page {
                return (None, 0);
            }
            if outcome.is_reopened() {
                taken_back.insert(outcome.request().key(), end);
                return (None, 0);
            }
            if outcome.retry {
                return (None, 0);
            }
            decode(&mut outcome);
            let bytes = outcome.memory();
            (Some((outcome, end)), bytes)
        })?;
        if !taken_back.is_empty() {
            outcomes.retain(|(outcome, end)| {
                taken_back.get(&outcome.request().key()).is_none_or(|taken| taken < end)
            });
        }
        Ok(outcomes)
    }

    /// Reads entries and collects the results of `make`, until `max_entries` were read or the results need `max_bytes`.
    fn gather<T>(
        &mut self,
        max_entries: usize,
        max_bytes: usize,
        mut make: impl FnMut(Logged) -> (Option<T>, usize),
    ) -> Result<Vec<T>, LogError> {
        let (mut made, mut read, mut held) = (Vec::new(), 0, 0);
        while read < max_entries && (read == 0 || held < max_bytes) {
            match self.next_entry() {
                Ok(Some(logged)) => {
                    let (kept, bytes) = make(logged);
                    (read, held) = (read + 1, held + bytes);
                    made.extend(kept);
                }
                Ok(None) => break,
                Err(_) if read > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }

    /// Returns the next entry, or `None` if it is not written yet. Leaves out records of the previous version whose URL is none in this
    /// one: it would have refused them.
    pub(crate) fn next_entry(&mut self) -> Result<Option<Logged>, LogError> {
        loop {
            let Some(frame) = self.next_frame()? else { return Ok(None) };
            let (position, entry) = (frame.position, frame.entry());
            let error = match entry {
                Ok(entry) => return Ok(Some(Logged { entry, end: self.position })),
                Err(RecordError::Url) => continue,
                Err(error) => error,
            };
            self.position = position;
            return Err(match error {
                RecordError::Newer { found, known } => {
                    LogError::Newer { path: self.directory.clone(), position, found, known }
                }
                _ => self.damaged(),
            });
        }
    }

    /// Returns the next frame, or `None` if it is not written yet.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame<'_>>, LogError> {
        let header = loop {
            if self.position == self.start {
                if !self.pass_segment_header()? {
                    return Ok(None);
                }
                continue;
            }
            let mut needed = FRAME_HEADER_BYTES as u64;
            if self.has(needed)? {
                let header = Header::read(self.peek()?).ok_or_else(|| self.damaged())?;
                needed = header.frame_bytes();
                if self.has(needed)? {
                    break header;
                }
            }
            if let Found::End = self.look_further(needed)? {
                return Ok(None);
            }
        };
        let before_body = FRAME_HEADER_BYTES + header.facts as usize;
        if !header.fits_facts(self.bytes(before_body)?) {
            return Err(self.damaged());
        }
        let position = self.position;
        let is_read = self.bodies.include(header.kind);
        let is_large = to_usize(header.body.into()) > *WINDOW_BYTES.start();
        self.jumped = (is_large && !is_read).then_some(before_body);
        let body = match is_read {
            true => self.body(&header)?.into(),
            false => Body::Log { position, length: header.body.into() },
        };
        self.position += header.frame_bytes();
        let from = to_usize(position - self.filled.start);
        let facts = &self.buffer[from + FRAME_HEADER_BYTES..from + before_body];
        Ok(Some(Frame { position, header, facts, body }))
    }

    /// Reads a frame's body; its header and facts stay in the buffer.
    fn body(&mut self, header: &Header) -> Result<Bytes, LogError> {
        let at = self.position + FRAME_HEADER_BYTES as u64 + u64::from(header.facts);
        let mut body = vec![0; header.body as usize];
        let ahead = to_usize(self.filled.end - at).min(body.len());
        let from = to_usize(at - self.filled.start);
        body[..ahead].copy_from_slice(&self.buffer[from..from + ahead]);
        let read = self.segment.read_exact_at(&mut body[ahead..], at + ahead as u64 - self.start);
        read.map_err(|error| LogError::of(&self.directory, error))?;
        if header.fits_body(&body) { Ok(body.into()) } else { Err(self.damaged()) }
    }

    /// Checks and skips the segment header; returns false if it is not written yet.
    fn pass_segment_header(&mut self) -> Result<bool, LogError> {
        if !self.has(SEGMENT_HEADER_BYTES as u64)? {
            return Ok(false);
        }
        match layout::read_segment_header(self.bytes(SEGMENT_HEADER_BYTES)?) {
            SegmentHeader::Current | SegmentHeader::Before => {
                self.position += SEGMENT_HEADER_BYTES as u64;
                Ok(true)
            }
            SegmentHeader::None => Err(self.damaged()),
            SegmentHeader::Foreign(version) => {
                let path = self.directory.join(layout::segment_name(self.start));
                Err(LogError::Foreign { path, version })
            }
        }
    }

    /// Decides what follows if the segment has no complete frame: more bytes, the next segment, the log's end, or damage.
    fn look_further(&mut self, needed: u64) -> Result<Found, LogError> {
        if self.limit() <= self.position {
            return Ok(Found::End);
        }
        // List first, then check the length: a segment is created only when the previous one is complete.
        let starts = segment::starts(&self.directory).map_err(|error| self.io(error))?;
        if self.has(needed)? {
            return Ok(Found::More);
        }
        if self.position == self.start + self.length && starts.binary_search(&self.position).is_ok() {
            self.enter(self.position)?;
            return Ok(Found::More);
        }
        if self.until.is_some() || starts.last().is_some_and(|last| *last > self.start) {
            return Err(self.damaged());
        }
        Ok(Found::End)
    }

    /// Moves to the start of a segment.
    fn enter(&mut self, start: Position) -> Result<(), LogError> {
        let path = self.directory.join(layout::segment_name(start));
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|error| self.io(error))?;
        (self.segment, self.length) = (file, length);
        (self.start, self.position, self.filled) = (start, start, 0..0);
        Ok(())
    }

    /// Whether the segment has this many readable bytes from the position on.
    fn has(&mut self, bytes: u64) -> Result<bool, LogError> {
        let end = self.position + bytes;
        if end > self.limit() {
            return Ok(false);
        }
        if end > self.start + self.length {
            self.length = self.segment.metadata().map_err(|error| self.io(error))?.len();
        }
        Ok(end <= self.start + self.length)
    }

    /// Position up to which reading is allowed.
    fn limit(&self) -> Position {
        self.until.as_ref().map_or(Position::MAX, |until| until.load(Ordering::Acquire))
    }

    /// The header's bytes at the position; the segment must have them.
    fn peek(&mut self) -> Result<&[u8; FRAME_HEADER_BYTES], LogError> {
        const EMPTY: &[u8; FRAME_HEADER_BYTES] = &[0; FRAME_HEADER_BYTES];
        Ok(self.bytes(FRAME_HEADER_BYTES)?.first_chunk().unwrap_or(EMPTY))
    }

    /// Bytes at the position; the segment must have them.
    fn bytes(&mut self, count: usize) -> Result<&[u8], LogError> {
        let end = self.position + count as u64;
        if self.position < self.filled.start || end > self.filled.end {
            // Sequential reads double the window. Behind a large body that was passed over it is as small as can be: to copy 16 KB that
            // are in no cache of the processor takes 35 µs. Where bodies are smaller the system reads ahead, which it would not with gaps.
            let in_a_row = self.filled.contains(&self.position) || self.position == self.filled.end;
            self.window = match self.jumped.take() {
                Some(before) => (before + before / 8).clamp(SMALLEST_WINDOW_BYTES, *WINDOW_BYTES.end()),
                None if in_a_row => (self.window * 2).min(*WINDOW_BYTES.end()),
                None => *WINDOW_BYTES.start(),
            };
            let readable = (self.start + self.length).min(self.limit()) - self.position;
            let wanted = count.max(self.window.min(to_usize(readable)));
            if self.buffer.len() < wanted || self.buffer.len() > 2 * wanted.max(*WINDOW_BYTES.end()) {
                self.buffer = vec![0; wanted];
            }
            self.filled = 0..0;
            let read = self.segment.read_exact_at(&mut self.buffer[..wanted], self.position - self.start);
            read.map_err(|error| self.io(error))?;
            #[cfg(test)]
            self.reads.push(wanted);
            self.filled = self.position..self.position + wanted as u64;
        }
        let from = to_usize(self.position - self.filled.start);
        Ok(&self.buffer[from..from + count])
    }

    /// Damage error for the current position.
    fn damaged(&self) -> LogError {
        LogError::Damaged { path: self.directory.clone(), position: self.position }
    }

    /// An I/O error with the log's path.
    fn io(&self, error: io::Error) -> LogError {
        LogError::of(&self.directory, error)
    }
}

/// Converts a length, saturating.
fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
