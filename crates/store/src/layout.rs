//! File layout of the log. All integers are little-endian.
//!
//! ```text
//! segment: magic "LYCOSALG" · version u32 · zero u32 · frame …       file name: its start position, 20 digits
//! ```
//!
//! Frames are those of [`lycosa_records::frame`].

use crate::Position;

/// Length of a segment's header, in bytes.
pub const SEGMENT_HEADER_BYTES: usize = 16;

/// The version of this layout, and the previous one, which is read too: its frames contain records of version 1 only.
pub(crate) const VERSION: u32 = 3;
pub(crate) const BEFORE: u32 = 2;

/// Builds the header of a segment.
pub(crate) fn segment_header() -> [u8; SEGMENT_HEADER_BYTES] {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    header[..8].copy_from_slice(b"LYCOSALG");
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// Result of parsing a segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentHeader {
    /// Header of this version.
    Current,
    /// Header of the previous version: the segment is read-only.
    Before,
    /// Header of another version.
    Foreign(u32),
    /// No valid header.
    None,
}

/// Parses a segment header.
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

/// File name of the segment that starts at a position.
pub(crate) fn segment_name(start: Position) -> String {
    format!("{start:020}.log")
}

/// File name for a torn tail cut off at a position; further tails of the same position are numbered.
pub(crate) fn torn_name(position: Position, number: u64) -> String {
    if number == 0 { format!("torn-{position:020}") } else { format!("torn-{position:020}.{number}") }
}
