//! Records of the log other than outcomes: accepted requests, and leases.

use std::borrow::Cow;

use bytes::Bytes;
use lycosa_url::{CrawlUrl, Micros};
use serde::{Deserialize, Serialize};

use crate::encode::{DAMAGED, read_frame};
use crate::frame::Kind;
use crate::serial::is_default;
use crate::{Outcome, Record, RecordError, Request, v1};

/// A request that was accepted from outside: a seed, or a link that another frontier passed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted<'a> {
    /// The request, without a lease.
    pub request: Cow<'a, Request>,
    /// When it was accepted, by the wall clock.
    pub at: Micros,
}

/// A request that is about to be sent. Without a later outcome, its result is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leased<'a> {
    /// The URL to fetch.
    pub url: Cow<'a, CrawlUrl>,
    /// The number of the lease.
    pub lease: u64,
    /// When the process that has the lease began, by the crawl's clock.
    pub process: Micros,
    /// When the lease was granted, by the crawl's clock.
    pub granted: Micros,
    /// How far the wall clock was ahead of the crawl's clock at that time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wall_offset_us: i64,
}

impl Record for Accepted<'static> {
    fn kind(&self) -> Kind {
        Kind::Seed
    }

    fn is_of(kind: Kind) -> bool {
        kind == Kind::Seed
    }

    fn read_before(_: Kind, facts: &[u8]) -> Result<Self, RecordError> {
        v1::read(facts).ok_or(DAMAGED)?.into_accepted().ok_or(RecordError::Url)
    }
}

impl Record for Leased<'static> {
    fn kind(&self) -> Kind {
        Kind::Lease
    }

    fn is_of(kind: Kind) -> bool {
        kind == Kind::Lease
    }

    fn read_before(_: Kind, facts: &[u8]) -> Result<Self, RecordError> {
        v1::read(facts).ok_or(DAMAGED)?.into_leased().ok_or(RecordError::Url)
    }
}

/// One record of the log: borrowed when it is written, owned when it is read.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most records of a log are outcomes: boxing would add an allocation to each"
)]
pub enum Entry<'a> {
    /// An accepted request.
    Accepted(Accepted<'a>),
    /// A request that is about to be sent.
    Leased(Leased<'a>),
    /// The outcome of a URL.
    Outcome(Cow<'a, Outcome>),
}

impl<'a> Entry<'a> {
    /// The record of an outcome.
    pub fn of(outcome: &'a Outcome) -> Self {
        Entry::Outcome(Cow::Borrowed(outcome))
    }

    /// The record of a request that was accepted, by the wall clock.
    pub fn accepted(request: &'a Request, at: Micros) -> Self {
        Entry::Accepted(Accepted { request: Cow::Borrowed(request), at })
    }

    /// The record of a request that is about to be sent, by a process that began at `process`; both times by the crawl's clock.
    pub fn leased(request: &'a Request, process: Micros, granted: Micros, wall_offset_us: i64) -> Self {
        let url = Cow::Borrowed(&request.url);
        Entry::Leased(Leased { url, lease: request.lease, process, granted, wall_offset_us })
    }

    /// The kind of its frame.
    pub fn kind(&self) -> Kind {
        match self {
            Entry::Accepted(_) => Kind::Seed,
            Entry::Leased(_) => Kind::Lease,
            Entry::Outcome(outcome) => outcome.kind(),
        }
    }

    /// The URL that it is about.
    pub fn url(&self) -> &CrawlUrl {
        match self {
            Entry::Accepted(accepted) => &accepted.request.url,
            Entry::Leased(leased) => &leased.url,
            Entry::Outcome(outcome) => outcome.url(),
        }
    }

    /// Approximate memory, in bytes.
    pub fn memory(&self) -> usize {
        let base = size_of::<Self>() + 128;
        match self {
            Entry::Accepted(accepted) => base + accepted.request.memory(),
            Entry::Leased(leased) => base + leased.url.as_str().len(),
            Entry::Outcome(outcome) => outcome.memory(),
        }
    }

    /// Appends its frame; returns `false`, and appends nothing, if it is too large.
    pub fn write(&self, into: &mut Vec<u8>) -> bool {
        match self {
            Entry::Accepted(accepted) => crate::encode::write_facts(into, Kind::Seed, &[], accepted),
            Entry::Leased(leased) => crate::encode::write_facts(into, Kind::Lease, &[], leased),
            Entry::Outcome(outcome) => crate::write_record(into, &**outcome),
        }
    }
}

impl Entry<'_> {
    /// Appends its frame without the body of an outcome; returns `false`, and appends nothing, if it is too large.
    fn write_without_body(&self, into: &mut Vec<u8>) -> bool {
        match self {
            Entry::Outcome(outcome) => crate::encode::write_facts(into, self.kind(), &[], &**outcome),
            Entry::Accepted(_) | Entry::Leased(_) => self.write(into),
        }
    }
}

impl Entry<'static> {
    /// Reads the facts of a frame whose checksum is valid.
    pub fn read(header: &crate::frame::Header, facts: &[u8]) -> Result<Self, RecordError> {
        match header.kind {
            Kind::Seed => crate::read_facts(header, facts).map(Entry::Accepted),
            Kind::Lease => crate::read_facts(header, facts).map(Entry::Leased),
            _ => crate::read_facts(header, facts).map(|outcome| Entry::Outcome(Cow::Owned(outcome))),
        }
    }

    /// The outcome, if it is one.
    pub fn into_outcome(self) -> Option<Outcome> {
        match self {
            Entry::Outcome(outcome) => Some(outcome.into_owned()),
            Entry::Accepted(_) | Entry::Leased(_) => None,
        }
    }
}

/// Encodes records of the log as one message: before each, the end of its frame in the log, as 8 bytes.
pub fn encode_entries<'a>(
    entries: impl IntoIterator<Item = (&'a Entry<'static>, u64)>,
) -> Result<Vec<u8>, RecordError> {
    let mut message = Vec::new();
    for (entry, end) in entries {
        message.extend_from_slice(&end.to_le_bytes());
        entry.write(&mut message).then_some(()).ok_or(RecordError::TooLarge)?;
    }
    Ok(message)
}

/// Encodes records of one partition as a message of its journal. Bodies are left out: a frontier needs none.
pub fn encode_journal<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Result<Vec<u8>, RecordError> {
    let mut message = Vec::new();
    for entry in entries {
        entry.write_without_body(&mut message).then_some(()).ok_or(RecordError::TooLarge)?;
    }
    Ok(message)
}

/// Decodes a message of a journal.
pub fn decode_journal(message: &[u8]) -> Result<Vec<Entry<'static>>, RecordError> {
    let (mut entries, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let frame = read_frame(message, at)?;
        let entry = Entry::read(&frame.header, &message[frame.facts]).map_err(|error| error.at(at))?;
        entries.push(entry);
        at = frame.body.end;
    }
    Ok(entries)
}

/// Decodes such a message of [`encode_entries`].
pub fn decode_entries(message: &Bytes) -> Result<Vec<(Entry<'static>, u64)>, RecordError> {
    let (mut entries, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let end = message[at..].first_chunk().ok_or(RecordError::Damaged { at })?;
        let start = at + end.len();
        let frame = read_frame(message, start)?;
        let mut entry =
            Entry::read(&frame.header, &message[frame.facts.clone()]).map_err(|error| error.at(start))?;
        if let Entry::Outcome(outcome) = &mut entry
            && !frame.body.is_empty()
        {
            outcome.to_mut().attach(message.slice(frame.body.clone()).into());
        }
        entries.push((entry, u64::from_le_bytes(*end)));
        at = frame.body.end;
    }
    Ok(entries)
}
