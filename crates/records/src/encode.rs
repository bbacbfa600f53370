//! Encodes records as frames and decodes them, one by one or in batches.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame::{self, BEFORE, FRAME_HEADER_BYTES, Header, Kind, VERSION};
use crate::{Body, Outcome, Purpose, Request, Response, v1};

/// A value that a frame can contain.
pub trait Record: Serialize + DeserializeOwned {
    /// The kind of the record's frame.
    fn kind(&self) -> Kind;

    /// Whether a frame of this kind may contain the record.
    fn is_of(kind: Kind) -> bool;

    /// The body that follows the facts.
    fn body(&self) -> &[u8] {
        &[]
    }

    /// Attaches the body that followed the facts.
    fn attach(&mut self, body: Body) {
        drop(body);
    }

    /// Reads facts of the previous version.
    fn read_before(kind: Kind, facts: &[u8]) -> Result<Self, RecordError>;
}

/// The bytes of a response's body that are in memory.
fn body_of(response: &Response) -> &[u8] {
    response.result.as_ref().ok().and_then(|received| received.body.memory()).map_or(&[], |body| body)
}

/// Attaches a frame's body to a response, unless its facts say that the body is elsewhere.
fn attach_to(response: &mut Response, body: Body) {
    if let Ok(received) = &mut response.result
        && received.body.is_memory()
    {
        received.body = body;
    }
}

impl Record for Request {
    fn kind(&self) -> Kind {
        Kind::Request
    }

    fn is_of(kind: Kind) -> bool {
        kind == Kind::Request
    }

    fn read_before(_: Kind, _: &[u8]) -> Result<Self, RecordError> {
        Err(DAMAGED)
    }
}

impl Record for Response {
    fn kind(&self) -> Kind {
        Kind::Response
    }

    fn is_of(kind: Kind) -> bool {
        kind == Kind::Response
    }

    fn body(&self) -> &[u8] {
        body_of(self)
    }

    fn attach(&mut self, body: Body) {
        attach_to(self, body);
    }

    fn read_before(_: Kind, _: &[u8]) -> Result<Self, RecordError> {
        Err(DAMAGED)
    }
}

impl Record for Outcome {
    fn kind(&self) -> Kind {
        if self.response.request.purpose == Purpose::Robots { Kind::Robots } else { Kind::Page }
    }

    fn is_of(kind: Kind) -> bool {
        matches!(kind, Kind::Page | Kind::Robots)
    }

    fn body(&self) -> &[u8] {
        body_of(&self.response)
    }

    fn attach(&mut self, body: Body) {
        attach_to(&mut self.response, body);
    }

    fn read_before(kind: Kind, facts: &[u8]) -> Result<Self, RecordError> {
        v1::read(facts).ok_or(DAMAGED)?.into_outcome(kind).ok_or(RecordError::Url)
    }
}

/// Why bytes are not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Its version is later than this one can read.
    Newer {
        /// The version of the record.
        found: u8,
        /// The newest that can be read.
        known: u8,
    },
    /// It is another kind of record.
    Kind {
        /// The kind that was found.
        found: &'static str,
    },
    /// Its checksum or its structure is wrong.
    Damaged {
        /// Where it begins, in bytes from the start of the input.
        at: usize,
    },
    /// It is intact, but of an earlier version, whose URLs are not all valid in this one. Readers of a log leave it out.
    Url,
    /// It exceeds the size limit of frames.
    TooLarge,
}

/// Damage of a record whose position the caller sets.
pub(crate) const DAMAGED: RecordError = RecordError::Damaged { at: 0 };

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Newer { found, known } => {
                write!(
                    f,
                    "a record of version {found}, this program reads {BEFORE} to {known}; use a newer one"
                )
            }
            RecordError::Kind { found } => write!(f, "a record of another kind: {found}"),
            RecordError::Damaged { at } => write!(f, "a damaged record at byte {at}"),
            RecordError::Url => {
                write!(f, "a record of version {BEFORE} with a URL that is none in version {VERSION}")
            }
            RecordError::TooLarge => write!(f, "a record of more than 1 GiB"),
        }
    }
}

impl std::error::Error for RecordError {}

impl RecordError {
    /// Sets the offset of a damaged record.
    pub(crate) fn at(self, at: usize) -> Self {
        match self {
            RecordError::Damaged { .. } => RecordError::Damaged { at },
            other => other,
        }
    }
}

/// Appends a record's frame; returns `false`, and appends nothing, if it is too large.
pub fn write_record(into: &mut Vec<u8>, record: &impl Record) -> bool {
    write_facts(into, record.kind(), record.body(), record)
}

/// Appends a frame of facts and body.
pub(crate) fn write_facts(into: &mut Vec<u8>, kind: Kind, body: &[u8], facts: &impl Serialize) -> bool {
    frame::write(into, kind, body, |into| {
        facts.serialize(&mut rmp_serde::Serializer::new(into).with_struct_map()).is_ok()
    })
}

/// Reads the facts of a frame whose header and checksum are valid. The caller attaches the body.
pub fn read_facts<T: Record>(header: &Header, facts: &[u8]) -> Result<T, RecordError> {
    match header.version {
        found if found > VERSION => Err(RecordError::Newer { found, known: VERSION }),
        _ if !T::is_of(header.kind) => Err(RecordError::Kind { found: header.kind.name() }),
        BEFORE => T::read_before(header.kind, facts),
        VERSION => read_map(facts).ok_or(DAMAGED),
        found => Err(RecordError::Newer { found, known: VERSION }),
    }
}

/// Maximum nesting depth of a record: JSON that is parsed from text has at most 128 levels, and a thread's
/// stack does not suffice for thousands.
const MAX_DEPTH: usize = 160;

/// Encodes a MessagePack map with named keys, which [`read_map`] reads. `None` if that is not possible:
/// values that consist of numbers, texts and JSON, as requests and their options do, can always be encoded.
pub fn write_map(value: &impl Serialize) -> Option<Vec<u8>> {
    rmp_serde::to_vec_named(value).ok()
}

/// Reads a MessagePack map with named keys; `None` if it is not one of this type, or nested too deep.
pub fn read_map<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    T::deserialize(&mut deserializer).ok()
}

/// Encodes a batch as one message: its frames, one after the other.
pub fn encode<'a, T: Record + 'a>(records: impl IntoIterator<Item = &'a T>) -> Result<Vec<u8>, RecordError> {
    let mut message = Vec::new();
    for record in records {
        write_record(&mut message, record).then_some(()).ok_or(RecordError::TooLarge)?;
    }
    Ok(message)
}

/// Decodes a message. Bodies share its memory.
pub fn decode<T: Record>(message: &Bytes) -> Result<Vec<T>, RecordError> {
    let (mut records, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let frame = read_frame(message, at)?;
        let read = read_facts::<T>(&frame.header, &message[frame.facts]);
        let mut record = read.map_err(|error| error.at(at))?;
        at = frame.body.end;
        if !frame.body.is_empty() {
            record.attach(message.slice(frame.body).into());
        }
        records.push(record);
    }
    Ok(records)
}

/// A frame of a message: its header, and the ranges of its facts and its body.
pub(crate) struct Frame {
    pub(crate) header: Header,
    pub(crate) facts: Range<usize>,
    pub(crate) body: Range<usize>,
}

/// The frame at an offset of a message, with its checksums verified.
pub(crate) fn read_frame(message: &[u8], at: usize) -> Result<Frame, RecordError> {
    let damaged = || RecordError::Damaged { at };
    let rest = message.get(at..).ok_or_else(damaged)?;
    let header = Header::read(rest.first_chunk().ok_or_else(damaged)?).ok_or_else(damaged)?;
    let facts_end = FRAME_HEADER_BYTES + header.facts as usize;
    let frame = rest.get(..facts_end + header.body as usize).ok_or_else(damaged)?;
    if !header.fits_facts(&frame[..facts_end]) || !header.fits_body(&frame[facts_end..]) {
        return Err(damaged());
    }
    let (facts, body) = (at + FRAME_HEADER_BYTES..at + facts_end, at + facts_end..at + frame.len());
    Ok(Frame { header, facts, body })
}
