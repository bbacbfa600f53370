//! The layout of segments and frames. Little-endian throughout.
//!
//! ```text
//! segment: magic "LYCOSALG" · version u32 · zero u32 · frame …       file name: position of its start, 20 digits
//! frame:   meta length u32 · body length u32 · kind u8 · zero 3 bytes · CRC-32 of body u32
//!          · CRC-32 of the 16 bytes above and meta u32 · meta (MessagePack map) · body
//! ```
//!
//! The body stands apart with a checksum of its own, so that readers who do not want it skip it.

use crate::Position;

/// Bytes before a segment's first frame.
pub const SEGMENT_HEADER_BYTES: usize = 16;

/// Bytes before a frame's meta.
pub(crate) const FRAME_HEADER_BYTES: usize = 20;

/// The longest meta and body that are believed: a length beyond it is damage, not data.
pub(crate) const MAX_PART_BYTES: u32 = 1 << 30;

/// The version of this layout.
pub(crate) const VERSION: u32 = 2;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// An accepted seed.
    Seed = 1,
    /// The outcome of a page's URL, fetched or refused; its body follows.
    Page = 2,
    /// The outcome of a robots.txt request; its body follows.
    Robots = 3,
    /// A request that is about to be sent. Without an outcome after it, nobody knows what became of it.
    Lease = 4,
}

impl Kind {
    /// Every kind with its name in exports.
    const ALL: [(Kind, &'static str); 4] =
        [(Kind::Seed, "seed"), (Kind::Page, "page"), (Kind::Robots, "robots"), (Kind::Lease, "lease")];

    /// The name in exports.
    pub(crate) fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind with a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Kind::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// The kind of a byte.
    fn from_byte(byte: u8) -> Option<Self> {
        Kind::ALL.iter().map(|(kind, _)| *kind).find(|kind| *kind as u8 == byte)
    }
}

/// A frame's header, read and checked for plausibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of meta.
    pub(crate) meta: u32,
    /// Bytes of body.
    pub(crate) body: u32,
    /// What the frame holds.
    pub(crate) kind: Kind,
    body_crc: u32,
    crc: u32,
}

impl Header {
    /// Bytes of the whole frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        FRAME_HEADER_BYTES as u64 + u64::from(self.meta) + u64::from(self.body)
    }

    /// Reads a header; nothing when it cannot be one.
    pub(crate) fn read(bytes: &[u8; FRAME_HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (meta, body) = (word(0), word(4));
        let kind = Kind::from_byte(bytes[8])?;
        let believable = meta <= MAX_PART_BYTES && body <= MAX_PART_BYTES && bytes[9..12] == [0; 3];
        believable.then_some(Header { meta, body, kind, body_crc: word(12), crc: word(16) })
    }

    /// Whether header and meta, given in one piece, are as they were written.
    pub(crate) fn fits_meta(&self, bytes: &[u8]) -> bool {
        let (header, meta) = bytes.split_at(FRAME_HEADER_BYTES.min(bytes.len()));
        checksum(&[&header[..header.len().min(16)], meta]) == self.crc
    }

    /// Whether the body is as it was written.
    pub(crate) fn fits_body(&self, body: &[u8]) -> bool {
        checksum(&[body]) == self.body_crc
    }
}

/// Appends a frame to a buffer; gives false, and appends nothing, when a part is too long.
pub(crate) fn write(into: &mut Vec<u8>, kind: Kind, meta: &[u8], body: &[u8]) -> bool {
    let length = |part: &[u8]| u32::try_from(part.len()).ok().filter(|length| *length <= MAX_PART_BYTES);
    let (Some(meta_length), Some(body_length)) = (length(meta), length(body)) else { return false };
    let mut header = [0; 16];
    header[..4].copy_from_slice(&meta_length.to_le_bytes());
    header[4..8].copy_from_slice(&body_length.to_le_bytes());
    header[8] = kind as u8;
    header[12..].copy_from_slice(&checksum(&[body]).to_le_bytes());
    into.reserve(FRAME_HEADER_BYTES + meta.len() + body.len());
    into.extend_from_slice(&header);
    into.extend_from_slice(&checksum(&[&header, meta]).to_le_bytes());
    into.extend_from_slice(meta);
    into.extend_from_slice(body);
    true
}

/// The beginning of a segment.
pub(crate) fn segment_header() -> [u8; SEGMENT_HEADER_BYTES] {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    header[..8].copy_from_slice(b"LYCOSALG");
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// Whether bytes are a segment's beginning: `Err` names another version, `Ok(false)` is no segment at all.
pub(crate) fn check_segment_header(bytes: &[u8]) -> Result<bool, u32> {
    let Some((magic, rest)) = bytes.split_first_chunk::<8>() else { return Ok(false) };
    match rest.first_chunk::<4>().map(|version| u32::from_le_bytes(*version)) {
        Some(version) if magic == b"LYCOSALG" && version != VERSION => Err(version),
        _ => Ok(bytes == segment_header()),
    }
}

/// The file name of the segment that starts at a position.
pub(crate) fn segment_name(start: Position) -> String {
    format!("{start:020}.log")
}

/// The file name of what was set aside at a position; later pieces from the same place are numbered.
pub(crate) fn torn_name(position: Position, number: u64) -> String {
    if number == 0 { format!("torn-{position:020}") } else { format!("torn-{position:020}.{number}") }
}

/// CRC-32 over parts.
fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}
