//! Members of gzip that are decompressed at once: libdeflate is faster than what decompresses parts, and needs all of a member.

use libdeflater::Decompressor;

use crate::members::GZIP;

/// Bytes of a member, and of what it becomes, at most: what is longer is decompressed in parts.
pub(crate) const LARGEST: usize = 1 << 20;
const LARGEST_MADE: usize = 8 << 20;

/// The least bytes of a member: its header, an empty block, its checksum and its size.
const LEAST: usize = 20;

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

    /// Decompresses a member with its header and its trailer; whether it is whole, undamaged, and not too large.
    pub(crate) fn decompress(&mut self, member: &[u8]) -> bool {
        let size = member.last_chunk().map_or(0, |size| u32::from_le_bytes(*size) as usize);
        if !(LEAST..=LARGEST).contains(&member.len()) || size > LARGEST_MADE {
            return false;
        }
        if self.made.len() < size {
            self.made.resize(size, 0);
        }
        let made = self.decompressor.gzip_decompress(member, &mut self.made[..size]);
        (self.at, self.end) = if made == Ok(size) { (0, size) } else { (0, 0) };
        made == Ok(size)
    }

    /// Appends what was decompressed, but not more than `most`; whether there was something.
    pub(crate) fn give(&mut self, out: &mut Vec<u8>, most: usize) -> bool {
        let some = most.min(self.end - self.at);
        out.extend_from_slice(&self.made[self.at..self.at + some]);
        self.at += some;
        some > 0
    }
}

/// Where a member ends at the latest: where the next one seems to begin, searched for from an offset on. `None`: not among these bytes.
pub(crate) fn end_of(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memmem::find(bytes.get(from..)?, &GZIP).map(|found| from + found)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_member_is_handed_out_in_parts() {
        let (mut whole, mut out) = (Whole::new(), Vec::new());
        assert!(whole.decompress(&gzip(b"a member")));
        assert!(whole.give(&mut out, 2));
        assert!(whole.give(&mut out, 100));
        assert!(!whole.give(&mut out, 100));
        assert_eq!(out, b"a member");
        assert!(whole.decompress(&gzip(b"")));
        assert!(!whole.give(&mut out, 100));
    }

    #[test]
    fn what_is_no_whole_member_is_not_taken() {
        let mut whole = Whole::new();
        let good = gzip(b"a member");
        let mut damaged = good.clone();
        damaged[12] ^= 1;
        let followed = [&good[..], b"rubbish"].concat();
        let large = gzip(&vec![0; LARGEST_MADE + 1]);
        for bytes in [b"", &good[..good.len() - 1], &damaged, &followed, &large, &good[..12]] {
            assert!(!whole.decompress(bytes));
            assert!(!whole.give(&mut Vec::new(), 1));
        }
    }
}
