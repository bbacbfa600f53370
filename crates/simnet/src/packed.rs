//! Gzip answers from fragments that were compressed once: a page is mostly text from a small pool, so compressing it is copying.
//!
//! Each fragment is a raw deflate block that ends with a sync flush (RFC 1951, 3.2.4: an empty stored block), so that it ends on a byte border and
//! refers to nothing before it: blocks can follow one another in any order. What stands between fragments goes into stored blocks. Answers are
//! larger than a compressor would make them, and cost a fortieth.

use flate2::{Compress, Compression, FlushCompress};

/// Most bytes of a stored block.
const MOST_STORED: usize = 0xffff;

/// Compressed fragments end to end.
pub(crate) struct Packed {
    /// The blocks.
    blocks: Vec<u8>,
    /// Where each fragment's end.
    ends: Vec<u32>,
}

/// A fragment's place on a page: where it starts, and its number.
pub(crate) type Mark = (u32, u32);

impl Packed {
    /// Compresses fragments, as well as can be: it is done once.
    pub(crate) fn new<'a>(fragments: impl Iterator<Item = &'a str>) -> Self {
        let mut packed = Self { blocks: Vec::new(), ends: Vec::new() };
        let mut compress = Compress::new(Compression::best(), false);
        for fragment in fragments {
            compress.reset();
            let start = packed.blocks.len();
            packed.blocks.reserve(fragment.len() + 64);
            let done = compress.compress_vec(fragment.as_bytes(), &mut packed.blocks, FlushCompress::Sync);
            if done.is_err() || compress.total_in() as usize != fragment.len() {
                // Never so far; then it is stored.
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

    /// Appends `plain` as gzip. `marks` say, in order, where fragments stand in it; `length` tells a fragment's.
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
        // The last block: empty, with fixed codes.
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
