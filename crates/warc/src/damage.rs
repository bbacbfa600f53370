//! What is wrong with a file, and where.

use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes that no compression knows, or whose checksum differs.
    Compression,
    /// The file ends within a record.
    Truncated,
    /// A line that begins no record where one has to.
    NoRecord,
    /// A record without a usable length.
    NoLength,
    /// A record's header is longer than any may be.
    LongHeader,
}

/// Damage of a file: what was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Position in the file, in bytes, at or before which it is.
    pub position: u64,
    /// What it is.
    pub what: What,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::Compression => "the compression is damaged",
            What::Truncated => "the file ends within a record",
            What::NoRecord => "no record begins where one has to",
            What::NoLength => "a record has no usable Content-Length",
            What::LongHeader => "the header of a record is too long",
        };
        write!(f, "near byte {}: {what}", self.position)
    }
}
