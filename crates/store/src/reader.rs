//! Following the log: whole frames from a position on, as far as it has been written.
//!
//! Guarantees: frames come whole, checked and in order, or not at all; a live log is read as far as it is committed
//! ([`Reader::until`]), any other to its end; what is not as it was written is told by its position, and can be
//! passed over ([`Reader::skip_damage`]); memory is bounded by the largest frame and 1 MiB.

mod damage;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::Position;
use crate::entry::{Decoders, Entry, Outcome, Row};
use crate::error::LogError;
use crate::frame::{self, FRAME_HEADER_BYTES, Header, Kind, SEGMENT_HEADER_BYTES};
use crate::segment;

/// Read at once after a jump, and in a row. The first covers a page's links; the second keeps calls rare.
const WINDOW_BYTES: std::ops::RangeInclusive<usize> = 16 << 10..=1 << 20;

/// A place in the log from which frames are read. It never waits: what is not there yet comes later.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    segment: File,
    start: Position,
    /// Bytes that the segment had when last looked at: asking for each frame would cost a call each.
    length: u64,
    position: Position,
    until: Option<Arc<AtomicU64>>,
    bodies: Bodies,
    /// What was read ahead, and where it stands in the log.
    buffer: Vec<u8>,
    filled: std::ops::Range<Position>,
    window: usize,
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

impl Bodies {
    /// Whether a frame's body is read.
    fn include(self, kind: Kind) -> bool {
        match self {
            Bodies::None => false,
            Bodies::Robots => kind == Kind::Robots,
            Bodies::All => true,
        }
    }
}

/// A frame that was read and checked, its facts not yet decoded.
pub(crate) struct Frame<'a> {
    /// Where it stands.
    pub(crate) position: Position,
    /// What it holds.
    pub(crate) kind: Kind,
    /// Its facts.
    pub(crate) meta: &'a [u8],
    /// Its body, if it was wanted, and its bytes, if it was not.
    pub(crate) body: Bytes,
    pub(crate) skipped: u32,
}

impl Frame<'_> {
    /// Its facts, decoded; nothing when they are none of this version.
    pub(crate) fn outcome(&self) -> Option<Outcome<'static>> {
        rmp_serde::from_slice(self.meta).ok()
    }
}

/// What stands where a frame was expected.
enum Found {
    /// A frame may be whole now.
    More,
    /// Nothing yet.
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
        let file = File::open(directory.join(frame::segment_name(start.unwrap_or(first)))).map_err(io)?;
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
            }),
            _ => {
                let end = start.unwrap_or(first) + length;
                Err(LogError::Absent { path: directory.to_owned(), position, present: (first, end) })
            }
        }
    }

    /// Reads only to a position that moves on: [`crate::Log::committed_position`].
    pub fn until(self, committed: Arc<AtomicU64>) -> Self {
        Reader { until: Some(committed), ..self }
    }

    /// Where the next frame is read.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads frames until one of the bounds is reached or the log ends for now; at least one. Bytes are those that
    /// the entries hold in memory. Damage is told when it comes first: what stands before it was given by the call
    /// before.
    pub fn read(&mut self, max_entries: usize, max_bytes: usize) -> Result<Vec<Entry<'static>>, LogError> {
        self.gather(max_entries, max_bytes, |entry| {
            let bytes = entry.outcome.memory() + entry.body.len();
            (Some(entry), bytes)
        })
    }

    /// The same as rows, whose bodies are decoded: they are made until what they hold reaches the bound. Of a URL that was opened
    /// again in what is read, only what comes after that is a row.
    pub fn rows(
        &mut self,
        max_entries: usize,
        max_bytes: usize,
        decoders: Decoders,
        with_body: bool,
    ) -> Result<Vec<Row>, LogError> {
        let mut taken_back = HashMap::new();
        let mut rows = self.gather(max_entries, max_bytes, |entry| {
            if entry.is_reopened() {
                taken_back.insert(entry.outcome.url.into_owned(), entry.end);
                return (None, 0);
            }
            let row = entry.into_row(decoders, with_body);
            let body = |row: &Row| row.body.as_ref().map_or(0, Bytes::len);
            let bytes = row.as_ref().map_or(0, |row| row.outcome.memory() + body(row));
            (row, bytes)
        })?;
        if !taken_back.is_empty() {
            rows.retain(|row| taken_back.get(&*row.outcome.url).is_none_or(|end| *end < row.end));
        }
        Ok(rows)
    }

    /// Reads entries and keeps what `make` makes of each, until so many were read or what was made holds so many bytes.
    fn gather<T>(
        &mut self,
        max_entries: usize,
        max_bytes: usize,
        mut make: impl FnMut(Entry<'static>) -> (Option<T>, usize),
    ) -> Result<Vec<T>, LogError> {
        let (mut made, mut read, mut held) = (Vec::new(), 0, 0);
        while read < max_entries && (read == 0 || held < max_bytes) {
            match self.next_entry() {
                Ok(Some(entry)) => {
                    let (kept, bytes) = make(entry);
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

    /// The next entry, or nothing when it is not there yet.
    pub(crate) fn next_entry(&mut self) -> Result<Option<Entry<'static>>, LogError> {
        let Some(frame) = self.next_frame()? else { return Ok(None) };
        let (kind, position, outcome) = (frame.kind, frame.position, frame.outcome());
        match outcome {
            Some(outcome) => {
                let body = frame.body;
                Ok(Some(Entry { kind, outcome, body, skipped: frame.skipped, end: self.position }))
            }
            None => {
                self.position = position;
                Err(self.damaged())
            }
        }
    }

    /// The next frame, or nothing when it is not there yet.
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
        let before_body = FRAME_HEADER_BYTES + header.meta as usize;
        if !header.fits_meta(self.bytes(before_body)?) {
            return Err(self.damaged());
        }
        let (body, skipped) = match self.bodies.include(header.kind) {
            true => (self.body(&header)?, 0),
            false => (Bytes::new(), header.body),
        };
        let position = self.position;
        self.position += header.frame_bytes();
        let from = to_usize(position - self.filled.start);
        let meta = &self.buffer[from + FRAME_HEADER_BYTES..from + before_body];
        Ok(Some(Frame { position, kind: header.kind, meta, body, skipped }))
    }

    /// A frame's body; its header and meta stand in the buffer, and stay there.
    fn body(&mut self, header: &Header) -> Result<Bytes, LogError> {
        let at = self.position + FRAME_HEADER_BYTES as u64 + u64::from(header.meta);
        let mut body = vec![0; header.body as usize];
        let ahead = to_usize(self.filled.end - at).min(body.len());
        let from = to_usize(at - self.filled.start);
        body[..ahead].copy_from_slice(&self.buffer[from..from + ahead]);
        let read = self.segment.read_exact_at(&mut body[ahead..], at + ahead as u64 - self.start);
        read.map_err(|error| LogError::of(&self.directory, error))?;
        if header.fits_body(&body) { Ok(body.into()) } else { Err(self.damaged()) }
    }

    /// Checks the segment's beginning, and passes it; gives false when it is not there yet.
    fn pass_segment_header(&mut self) -> Result<bool, LogError> {
        if !self.has(SEGMENT_HEADER_BYTES as u64)? {
            return Ok(false);
        }
        match frame::check_segment_header(self.bytes(SEGMENT_HEADER_BYTES)?) {
            Ok(true) => {
                self.position += SEGMENT_HEADER_BYTES as u64;
                Ok(true)
            }
            Ok(false) => Err(self.damaged()),
            Err(version) => {
                let path = self.directory.join(frame::segment_name(self.start));
                Err(LogError::Foreign { path, version })
            }
        }
    }

    /// What follows where the segment has no whole frame: the next segment, the log's end, or damage.
    fn look_further(&mut self, needed: u64) -> Result<Found, LogError> {
        if self.limit() <= self.position {
            return Ok(Found::End);
        }
        // The list first: a segment is begun only when the one before is complete.
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

    /// Goes on at the beginning of a segment.
    fn enter(&mut self, start: Position) -> Result<(), LogError> {
        let path = self.directory.join(frame::segment_name(start));
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|error| self.io(error))?;
        (self.segment, self.length) = (file, length);
        (self.start, self.position, self.filled) = (start, start, 0..0);
        Ok(())
    }

    /// Whether the segment has so many bytes from the position on, of those that may be read.
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

    /// Up to where may be read.
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
            // Frames in a row are read in growing pieces; where bodies are skipped, little beyond what is needed.
            let in_a_row = self.filled.contains(&self.position) || self.position == self.filled.end;
            self.window =
                if in_a_row { (self.window * 2).min(*WINDOW_BYTES.end()) } else { *WINDOW_BYTES.start() };
            let readable = (self.start + self.length).min(self.limit()) - self.position;
            let wanted = count.max(self.window.min(to_usize(readable)));
            if self.buffer.len() < wanted || self.buffer.len() > 2 * wanted.max(*WINDOW_BYTES.end()) {
                self.buffer = vec![0; wanted];
            }
            self.filled = 0..0;
            let read = self.segment.read_exact_at(&mut self.buffer[..wanted], self.position - self.start);
            read.map_err(|error| self.io(error))?;
            self.filled = self.position..self.position + wanted as u64;
        }
        let from = to_usize(self.position - self.filled.start);
        Ok(&self.buffer[from..from + count])
    }

    /// Damage at the position.
    fn damaged(&self) -> LogError {
        LogError::Damaged { path: self.directory.clone(), position: self.position }
    }

    /// The system's error, with the log's place.
    fn io(&self, error: io::Error) -> LogError {
        LogError::of(&self.directory, error)
    }
}

/// A length that fits into memory, or the largest one.
fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
