//! Gzip from precompressed fragments: a page is mostly text from a small pool, so that compressing it is mostly copying.
//!
//! Each fragment is a raw deflate block that ends with a sync flush (RFC 1951, 3.2.4: an empty stored block),
//! so that it ends on a byte boundary and refers to no earlier data: blocks can be concatenated in any order.
//! Bytes between fragments become stored blocks. The result is larger than that of a compressor, at a
//! fortieth of the cost.

use flate2::{Compress, Compression, FlushCompress};

/// Maximum size of a stored block in bytes.
const MOST_STORED: usize = 0xffff;

/// Compressed fragments.
pub(crate) struct Packed {
    /// The concatenated blocks.
    blocks: Vec<u8>,
    /// End of each fragment's block.
    ends: Vec<u32>,
}

/// A fragment on a page: its start and its number.
pub(crate) type Mark = (u32, u32);

impl Packed {
    /// Compresses fragments at the best level, since this happens once.
    pub(crate) fn new<'a>(fragments: impl Iterator<Item = &'a str>) -> Self {
        let mut packed = Self { blocks: Vec::new(), ends: Vec::new() };
        let mut compress = Compress::new(Compression::best(), false);
        for fragment in fragments {
            compress.reset();
            let start = packed.blocks.len();
            packed.blocks.reserve(fragment.len() + 64);
            let done = compress.compress_vec(fragment.as_bytes(), &mut packed.blocks, FlushCompress::Sync);
            if done.is_err() || compress.total_in() as usize != fragment.len() {
                // Should not happen; stored uncompressed then.
                packed.blocks.truncate(start);
                store(fragment.as_bytes(), &mut packed.blocks);
            }
            packed.ends.push(packed.blocks.len() as u32);
        }
        packed
    }

    /// The block of a fragment.
    fn block(&self, n: u32) -> &[u8] {
        let i = n as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.blocks[start..self.ends[i] as usize]
    }

    /// Appends `plain` as gzip. `marks` are the positions of fragments in it, in order; `length` returns a fragment's length.
    pub(crate) fn gzip(
        &self,
        plain: &[u8],
        marks: &[Mark],
        length: impl Fn(u32) -> usize,
        out: &mut Vec<u8>,
    ) {
        // RFC 1952: magic, deflate, no flags, no time, no extra flags, unknown system.
        out.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
        let mut at = 0;
        for &(start, fragment) in marks {
            store(&plain[at..start as usize], out);
            out.extend_from_slice(self.block(fragment));
            at = start as usize + length(fragment);
        }
        store(&plain[at..], out);
        // The final block: empty, with fixed codes.
        out.extend_from_slice(&[3, 0]);
        out.extend_from_slice(&crc32fast::hash(plain).to_le_bytes());
        out.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    }
}

/// Appends stored blocks.
fn store(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.chunks(MOST_STORED) {
        let length = chunk.len() as u16;
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let fragments = ["one ", "two two two two two two. ", "", "tre\u{301}s "];
        let packed = Packed::new(fragments.into_iter());
        let long = "x".repeat(70_000);
        let (mut plain, mut marks) = (long.clone(), Vec::new());
        for n in [1, 1, 3, 0, 2, 1] {
            marks.push((plain.len() as u32, n));
            plain.push_str(fragments[n as usize]);
            if n != 3 {
                plain.push_str("<a>");
            }
        }
        for marks in [&marks[..], &[]] {
            let mut out = Vec::new();
            packed.gzip(plain.as_bytes(), marks, |n| fragments[n as usize].len(), &mut out);
            let mut text = String::new();
            flate2::read::GzDecoder::new(&out[..]).read_to_string(&mut text).unwrap();
            assert_eq!(text, plain);
        }
    }
}
