//! Members of gzip that are decompressed at once: libdeflate is faster than what decompresses parts, and needs all of a member.

use libdeflater::{Decompressor, crc32};

/// Bytes of a member, and of what it becomes, at most: what is longer is decompressed in parts.
pub(crate) const LARGEST: usize = 1 << 20;
const LARGEST_MADE: usize = 8 << 20;

/// A member that was decompressed, and what of it is not handed out yet.
pub(crate) struct Whole {
    decompressor: Decompressor,
    made: Vec<u8>,
    at: usize,
    end: usize,
}

impl Whole {
    /// Of no member.
    pub(crate) fn new() -> Self {
        Whole { decompressor: Decompressor::new(), made: Vec::new(), at: 0, end: 0 }
    }

    /// Decompresses a member, whose header has so many bytes; whether it is whole, undamaged, and not too large.
    pub(crate) fn decompress(&mut self, member: &[u8], header: usize) -> bool {
        let made = self.made(member, header);
        (self.at, self.end) = (0, made.unwrap_or(0));
        made.is_some()
    }

    /// How many bytes a member becomes; `None`: see `decompress`. The library does not tell whether bytes are left: then these end by no
    /// checksum of what was made.
    fn made(&mut self, member: &[u8], header: usize) -> Option<usize> {
        let (content, trailer) = member.get(header..)?.split_last_chunk::<8>()?;
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| trailer[at + byte]));
        let size = number(4) as usize;
        if content.is_empty() || member.len() > LARGEST || size > LARGEST_MADE {
            return None;
        }
        if self.made.len() < size {
            self.made.resize(size, 0);
        }
        let made = &mut self.made[..size];
        let is_all = self.decompressor.deflate_decompress(content, made) == Ok(size);
        (is_all && crc32(made) == number(0)).then_some(size)
    }

    /// Appends what was decompressed, but not more than `most`; whether there was something.
    pub(crate) fn give(&mut self, out: &mut Vec<u8>, most: usize) -> bool {
        let some = most.min(self.end - self.at);
        out.extend_from_slice(&self.made[self.at..self.at + some]);
        self.at += some;
        some > 0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Bytes of a header without a name.
    const HEADER: usize = 10;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_member_is_handed_out_in_parts() {
        let (mut whole, mut out) = (Whole::new(), Vec::new());
        assert!(whole.decompress(&gzip(b"a member"), HEADER));
        assert!(whole.give(&mut out, 2));
        assert!(whole.give(&mut out, 100));
        assert!(!whole.give(&mut out, 100));
        assert_eq!(out, b"a member");
        assert!(whole.decompress(&gzip(b""), HEADER));
        assert!(!whole.give(&mut out, 100));
    }

    #[test]
    fn what_is_no_whole_member_is_not_taken() {
        let mut whole = Whole::new();
        let good = gzip(b"a member");
        let mut damaged = good.clone();
        damaged[12] ^= 1;
        // Of the same size, so that only the checksum tells that bytes are left.
        let followed = [&good[..], &gzip(b"a MEMBER")[3..]].concat();
        let large = gzip(&vec![0; LARGEST_MADE + 1]);
        for bytes in [b"", &good[..good.len() - 1], &damaged, &followed, &large, &good[..12], &good[..18]] {
            assert!(!whole.decompress(bytes, HEADER));
            assert!(!whole.give(&mut Vec::new(), 1));
        }
    }
}
