//! The layout of the log's files. Little-endian throughout.
//!
//! ```text
//! segment: magic "LYCOSALG" · version u32 · zero u32 · frame …       file name: position of its start, 20 digits
//! ```
//!
//! Frames are those of [`lycosa_records::frame`].

use crate::Position;

/// Bytes before a segment's first frame.
pub const SEGMENT_HEADER_BYTES: usize = 16;

/// The version of this layout, and the one before it, which is read as well: its frames hold records of version 1 only.
pub(crate) const VERSION: u32 = 3;
pub(crate) const BEFORE: u32 = 2;

/// The beginning of a segment.
pub(crate) fn segment_header() -> [u8; SEGMENT_HEADER_BYTES] {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    header[..8].copy_from_slice(b"LYCOSALG");
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// What bytes are as a segment's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentHeader {
    /// One of this version.
    Current,
    /// One of the version before: nothing is appended to it.
    Before,
    /// One of another version.
    Foreign(u32),
    /// None.
    None,
}

/// Reads a segment's beginning.
pub(crate) fn read_segment_header(bytes: &[u8]) -> SegmentHeader {
    let Some((b"LYCOSALG", rest)) = bytes.split_first_chunk::<8>() else { return SegmentHeader::None };
    let Some((version, zero)) = rest.split_first_chunk::<4>() else { return SegmentHeader::None };
    match u32::from_le_bytes(*version) {
        _ if zero != [0; 4] => SegmentHeader::None,
        VERSION => SegmentHeader::Current,
        BEFORE => SegmentHeader::Before,
        other => SegmentHeader::Foreign(other),
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
