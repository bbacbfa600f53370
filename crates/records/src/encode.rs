//! Records as frames and back, one by one or in batches.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame::{self, BEFORE, FRAME_HEADER_BYTES, Header, Kind, VERSION};
use crate::{Body, Outcome, Purpose, Request, Response, v1};

/// What can stand in a frame.
pub trait Record: Serialize + DeserializeOwned {
    /// What a frame with it holds.
    fn kind(&self) -> Kind;

    /// Whether a frame of this kind may hold it.
    fn is_of(kind: Kind) -> bool;

    /// The body that stands behind the facts.
    fn body(&self) -> &[u8] {
        &[]
    }

    /// Takes the body that stood there.
    fn attach(&mut self, body: Body) {
        drop(body);
    }

    /// Reads facts of the version before.
    fn read_before(kind: Kind, facts: &[u8]) -> Option<Self>;
}

/// The bytes of a response's body that are in memory.
fn body_of(response: &Response) -> &[u8] {
    response.result.as_ref().ok().and_then(|received| received.body.memory()).map_or(&[], |body| body)
}

/// Gives a response the body that stood apart, unless its facts say that it is elsewhere.
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

    fn read_before(_: Kind, _: &[u8]) -> Option<Self> {
        None
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

    fn read_before(_: Kind, _: &[u8]) -> Option<Self> {
        None
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

    fn read_before(kind: Kind, facts: &[u8]) -> Option<Self> {
        v1::read(facts)?.into_outcome(kind)
    }
}

/// Why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// It was written by a later version than this one can read.
    Newer {
        /// The version of the record.
        found: u8,
        /// The newest that can be read.
        known: u8,
    },
    /// It is another kind of record.
    Kind {
        /// Which.
        found: &'static str,
    },
    /// It is not as it was written.
    Damaged {
        /// Where it begins, in bytes from the beginning of what was given.
        at: usize,
    },
    /// It is longer than a frame may be.
    TooLarge,
}

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
            RecordError::TooLarge => write!(f, "a record of more than 1 GiB"),
        }
    }
}

impl std::error::Error for RecordError {}

impl RecordError {
    /// The same of a record at a place of a message.
    pub(crate) fn at(self, at: usize) -> Self {
        match self {
            RecordError::Damaged { .. } => RecordError::Damaged { at },
            other => other,
        }
    }
}

/// Appends a record's frame; `false`, with nothing appended, where it is too large.
pub fn write_record(into: &mut Vec<u8>, record: &impl Record) -> bool {
    write_facts(into, record.kind(), record.body(), record)
}

/// Appends a frame of facts and body.
pub(crate) fn write_facts(into: &mut Vec<u8>, kind: Kind, body: &[u8], facts: &impl Serialize) -> bool {
    frame::write(into, kind, body, |into| {
        facts.serialize(&mut rmp_serde::Serializer::new(into).with_struct_map()).is_ok()
    })
}

/// Reads the facts of a frame, whose header and checksum fit. The body is to be attached.
pub fn read_facts<T: Record>(header: &Header, facts: &[u8]) -> Result<T, RecordError> {
    let damaged = RecordError::Damaged { at: 0 };
    match header.version {
        found if found > VERSION => Err(RecordError::Newer { found, known: VERSION }),
        _ if !T::is_of(header.kind) => Err(RecordError::Kind { found: header.kind.name() }),
        BEFORE => T::read_before(header.kind, facts).ok_or(damaged),
        VERSION => read_map(facts).ok_or(damaged),
        found => Err(RecordError::Newer { found, known: VERSION }),
    }
}

/// How deep a record may be nested: JSON that is read from text has 128 levels at most, and a thread has stack for no thousand.
const MAX_DEPTH: usize = 160;

/// A MessagePack map with named keys, which [`read_map`] reads. `None` where that is not possible: what consists of numbers, texts and
/// JSON, as requests and their options do, can always be written.
pub fn write_map(value: &impl Serialize) -> Option<Vec<u8>> {
    rmp_serde::to_vec_named(value).ok()
}

/// Reads a MessagePack map with named keys; `None` where it is none of the type, or nested too deep.
pub fn read_map<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    T::deserialize(&mut deserializer).ok()
}

/// A batch as one message: its frames, one after the other.
pub fn encode<'a, T: Record + 'a>(records: impl IntoIterator<Item = &'a T>) -> Result<Vec<u8>, RecordError> {
    let mut message = Vec::new();
    for record in records {
        write_record(&mut message, record).then_some(()).ok_or(RecordError::TooLarge)?;
    }
    Ok(message)
}

/// Reads a message. Bodies share its memory.
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

/// A frame of a message: its header, and where its facts and its body are.
pub(crate) struct Frame {
    pub(crate) header: Header,
    pub(crate) facts: Range<usize>,
    pub(crate) body: Range<usize>,
}

/// The frame at a place of a message, which is as it was written.
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
