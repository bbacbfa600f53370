//! Frames, as the comment in `crates/records/src/frame.rs` describes them. Written a second time: the crate is compared with this.

use std::ops::Range;

use lycosa_records::frame::Kind;
use lycosa_records::{Accepted, Body, Entry, Leased, Outcome, Received, RecordError, Request, Response, v1};
use serde::de::DeserializeOwned;

/// Bytes before a frame's facts.
pub(crate) const HEADER_BYTES: usize = 20;

/// The version of records that is written; the one before it is read, too.
pub(crate) const VERSION: u8 = 2;

/// The longest facts and the longest body.
const MAX_PART_BYTES: usize = 1 << 30;

/// The kinds: the first is 1.
const KINDS: [Kind; 6] = [Kind::Seed, Kind::Page, Kind::Robots, Kind::Lease, Kind::Request, Kind::Response];

/// A whole frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    /// 0 where the frame says nothing of it, as those of version 1 do.
    pub(crate) version: u8,
    pub(crate) facts: &'a [u8],
    pub(crate) body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let lengths = [self.facts.len(), self.body.len()].map(|length| (length as u32).to_le_bytes());
        let mut frame = [lengths[0], lengths[1], [self.kind, self.version, 0, 0]].concat();
        frame.extend(crc32fast::hash(self.body).to_le_bytes());
        let checksum = crc32fast::hash(&[&frame, self.facts].concat());
        [&frame, checksum.to_le_bytes().as_slice(), self.facts, self.body].concat()
    }

    /// The frame that bytes begin with, if it is whole.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let [facts, body] = parts(bytes)?;
        let frame = Frame {
            kind: bytes[8],
            version: bytes[9],
            facts: bytes.get(facts)?,
            body: bytes.get(body.clone())?,
        };
        (frame.bytes() == bytes[..body.end]).then_some(frame)
    }

    /// Bytes of the whole frame.
    pub(crate) fn length(&self) -> usize {
        HEADER_BYTES + self.facts.len() + self.body.len()
    }

    /// What it holds.
    pub(crate) fn kind(&self) -> Kind {
        KINDS.get(usize::from(self.kind).wrapping_sub(1)).copied().unwrap_or(Kind::Newer)
    }

    /// The request in it.
    pub(crate) fn request(&self) -> Result<Request, RecordError> {
        self.facts(&[Kind::Request], None)
    }

    /// The response in it.
    pub(crate) fn response(&self) -> Result<Response, RecordError> {
        let mut response = self.facts(&[Kind::Response], None)?;
        self.attach_to(&mut response);
        Ok(response)
    }

    /// The outcome in it.
    pub(crate) fn outcome(&self) -> Result<Outcome, RecordError> {
        let mut outcome: Outcome =
            self.facts(&[Kind::Page, Kind::Robots], self.before(Entry::into_outcome))?;
        self.attach_to(&mut outcome.response);
        Ok(outcome)
    }

    /// The record of a log in it.
    pub(crate) fn entry(&self) -> Result<Entry<'static>, RecordError> {
        match self.kind() {
            Kind::Seed => self.facts(&[Kind::Seed], self.before(accepted)).map(Entry::Accepted),
            Kind::Lease => self.facts(&[Kind::Lease], self.before(leased)).map(Entry::Leased),
            _ => self.outcome().map(|outcome| Entry::Outcome(outcome.into())),
        }
    }

    /// What stands in the facts, which have to be of these kinds. `before`: the same of facts of version 1.
    fn facts<T: DeserializeOwned>(&self, kinds: &[Kind], before: Option<T>) -> Result<T, RecordError> {
        let damaged = RecordError::Damaged { at: 0 };
        match self.version {
            found if found > VERSION => Err(RecordError::Newer { found, known: VERSION }),
            _ if !kinds.contains(&self.kind()) => Err(RecordError::Kind { found: self.kind().name() }),
            VERSION => lycosa_records::read_map(self.facts).ok_or(damaged),
            // Version 1 has neither requests nor responses; of its other records only the URL may be none any more.
            _ if before.is_none()
                && !kinds.iter().any(|kind| matches!(kind, Kind::Request | Kind::Response))
                && v1::read(self.facts).is_some() =>
            {
                Err(RecordError::Url)
            }
            _ => before.ok_or(damaged),
        }
    }

    /// What stands in facts of version 1.
    fn before<T>(&self, of: fn(Entry<'static>) -> Option<T>) -> Option<T> {
        let facts = v1::read(self.facts).filter(|_| self.version < VERSION)?;
        of(facts.into_entry(self.kind(), Body::default())?)
    }

    /// Gives a response the body behind the facts, unless they say that it is elsewhere.
    fn attach_to(&self, response: &mut Response) {
        if let Ok(Received { body: body @ Body::Memory(_), .. }) = &mut response.result {
            *body = Body::Memory(self.body.to_vec().into());
        }
    }
}

/// What was accepted.
fn accepted(entry: Entry<'static>) -> Option<Accepted<'static>> {
    if let Entry::Accepted(accepted) = entry { Some(accepted) } else { None }
}

/// What was about to be sent.
fn leased(entry: Entry<'static>) -> Option<Leased<'static>> {
    if let Entry::Leased(leased) = entry { Some(leased) } else { None }
}

/// Where facts and body are of the frame that bytes begin with, whether they have them or not; `None` where they begin with none.
pub(crate) fn parts(bytes: &[u8]) -> Option<[Range<usize>; 2]> {
    let header = bytes.get(..HEADER_BYTES)?;
    let length = |at: usize| {
        let bytes = header[at..at + 4].iter().rev();
        bytes.fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (facts, body) = (HEADER_BYTES..HEADER_BYTES + length(0), length(4));
    let is_newer = (VERSION + 1..32).contains(&header[9]) && (1..32).contains(&header[8]);
    let is_one = (is_newer || (1..=KINDS.len()).contains(&usize::from(header[8])))
        && header[10..12] == [0; 2]
        && facts.len() <= MAX_PART_BYTES
        && body <= MAX_PART_BYTES;
    is_one.then(|| [facts.clone(), facts.end..facts.end + body])
}
