//! Frames: the encoding of records in the log, between processes and in other programs' topics. Little-endian
//! throughout.
//!
//! ```text
//! frame: facts length u32 · body length u32 · kind u8 · version u8 · zero 2 bytes · CRC-32 of body u32
//!        · CRC-32 of the 16 bytes above and facts u32 · facts (MessagePack map) · body
//! ```
//!
//! The body has a checksum of its own, so that readers that do not need it skip it.

/// Bytes before a frame's facts.
pub const FRAME_HEADER_BYTES: usize = 20;

/// Maximum length of facts and of a body: a greater length is damage.
const MAX_PART_BYTES: u32 = 1 << 30;

/// The version of the records that are written, and the previous one, which can be read, too.
pub const VERSION: u8 = 2;
pub(crate) const BEFORE: u8 = 1;

/// Versions and kinds below this are taken for those of a later version: other bytes are damage.
const BELIEVED: u8 = 32;

/// The version byte of frames of version 1.
const UNVERSIONED: u8 = 0;

/// The kind of record in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// An accepted seed.
    Seed = 1,
    /// The outcome of a URL, fetched or refused; its body follows.
    Page = 2,
    /// The outcome of a robots.txt request; its body follows.
    Robots = 3,
    /// A request that is about to be sent. Without a later outcome, its result is unknown.
    Lease = 4,
    /// A request, on its way to fetch.
    Request = 5,
    /// A response, on its way to parse; its body follows.
    Response = 6,
    /// A kind of a newer version.
    Newer = 0,
}

impl Kind {
    /// Each kind with its name in exports.
    const ALL: [(Kind, &'static str); 6] = [
        (Kind::Seed, "seed"),
        (Kind::Page, "page"),
        (Kind::Robots, "robots"),
        (Kind::Lease, "lease"),
        (Kind::Request, "request"),
        (Kind::Response, "response"),
    ];

    /// The name in exports and errors.
    pub fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Kind::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// The kind of a byte, in a record of this version.
    fn from_byte(byte: u8, version: u8) -> Option<Self> {
        let known = Kind::ALL.iter().map(|(kind, _)| *kind).find(|kind| *kind as u8 == byte);
        let may_be_newer = version > VERSION && version < BELIEVED && (1..BELIEVED).contains(&byte);
        known.or(may_be_newer.then_some(Kind::Newer))
    }
}

/// A frame's header, parsed and checked for plausibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the facts, in bytes.
    pub facts: u32,
    /// Length of the body, in bytes.
    pub body: u32,
    /// The kind of its record.
    pub kind: Kind,
    /// The version of its record.
    pub version: u8,
    body_crc: u32,
    crc: u32,
}

impl Header {
    /// Length of the whole frame, in bytes.
    pub fn frame_bytes(&self) -> u64 {
        FRAME_HEADER_BYTES as u64 + u64::from(self.facts) + u64::from(self.body)
    }

    /// Parses a header; `None` if it is not valid.
    pub fn read(bytes: &[u8; FRAME_HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (facts, body) = (word(0), word(4));
        let version = if bytes[9] == UNVERSIONED { 1 } else { bytes[9] };
        let kind = Kind::from_byte(bytes[8], version)?;
        let believable = facts <= MAX_PART_BYTES && body <= MAX_PART_BYTES && bytes[10..12] == [0; 2];
        believable.then_some(Header { facts, body, kind, version, body_crc: word(12), crc: word(16) })
    }

    /// Whether the checksum of header and facts, passed in one slice, is valid.
    pub fn fits_facts(&self, bytes: &[u8]) -> bool {
        let (header, facts) = bytes.split_at(FRAME_HEADER_BYTES.min(bytes.len()));
        checksum(&[&header[..header.len().min(16)], facts]) == self.crc
    }

    /// Whether the body's checksum is valid.
    pub fn fits_body(&self, body: &[u8]) -> bool {
        checksum(&[body]) == self.body_crc
    }
}

/// Appends a frame whose facts `write` appends; returns `false`, and appends nothing, if `write` fails or a
/// part is too long.
pub fn write(into: &mut Vec<u8>, kind: Kind, body: &[u8], write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
    let start = into.len();
    into.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
    let written = write(into);
    let facts = into.len() - start - FRAME_HEADER_BYTES;
    let length = |part: usize| u32::try_from(part).ok().filter(|length| *length <= MAX_PART_BYTES);
    let (Some(facts_length), Some(body_length), true) = (length(facts), length(body.len()), written) else {
        into.truncate(start);
        return false;
    };
    let mut header = [0; FRAME_HEADER_BYTES];
    header[..4].copy_from_slice(&facts_length.to_le_bytes());
    header[4..8].copy_from_slice(&body_length.to_le_bytes());
    (header[8], header[9]) = (kind as u8, VERSION);
    header[12..16].copy_from_slice(&checksum(&[body]).to_le_bytes());
    let crc = checksum(&[&header[..16], &into[start + FRAME_HEADER_BYTES..]]);
    header[16..].copy_from_slice(&crc.to_le_bytes());
    into[start..start + FRAME_HEADER_BYTES].copy_from_slice(&header);
    into.extend_from_slice(body);
    true
}

/// CRC-32 over parts.
fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}
