//! A member of gzip, decompressed in parts.

use flate2::{Decompress, FlushDecompress, Status};

use crate::whole::Whole;

/// Bytes that are decompressed at once where a member is not decompressed as a whole.
pub(crate) const PART: usize = 128 << 10;

/// The beginning of a member.
pub(crate) const GZIP: [u8; 3] = [0x1f, 0x8b, 8];

/// Bytes of a header, at most, and of a file's name or a comment in it.
pub(crate) const HEADER: usize = 68 << 10;
const NAME: usize = 1 << 10;

/// How many members that cannot be decompressed are looked through for their end before those that were looked through are behind: what
/// is crafted costs no more than that.
const LOOKS: u8 = 16;

/// Bytes that are made while a member is looked through, at most.
const LOOKED: usize = 64 << 20;

/// What is known of a file of gzip.
pub(crate) struct Gzip {
    inflate: Decompress,
    pub(crate) is_inside: bool,
    checksum: crc32fast::Hasher,
    size: u32,
    /// What is decompressed at once: memory that is not zeroed again each time.
    part: Box<[u8]>,
    pub(crate) whole: Whole,
    /// Where in the file a member begins, and where one that is damaged ends at the latest; `None`: it is not known to be.
    pub(crate) position: u64,
    pub(crate) limit: Option<u64>,
    /// Up to where members were looked through, and how many were.
    looked: (u64, u8),
}

/// How a step ended.
pub(crate) enum Step {
    /// More can be made.
    More,
    /// The member ends.
    End,
    /// Bytes are missing.
    Missing,
    /// It is damaged.
    Damaged,
}

impl Gzip {
    /// Before the first member.
    pub(crate) fn new() -> Self {
        Gzip {
            inflate: Decompress::new(false),
            is_inside: false,
            checksum: crc32fast::Hasher::new(),
            size: 0,
            part: vec![0; PART].into(),
            whole: Whole::new(),
            position: 0,
            limit: None,
            looked: (0, 0),
        }
    }

    /// Begins the content of a member.
    pub(crate) fn begin(&mut self) {
        self.inflate.reset(false);
        (self.checksum, self.size) = (crc32fast::Hasher::new(), 0);
    }

    /// Decompresses a part; gives how many bytes were used, and what was made of them.
    pub(crate) fn step(&mut self, input: &[u8], most: usize) -> (usize, &[u8], Step) {
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let part = &mut self.part[..most.min(PART)];
        let status = self.inflate.decompress(input, part, FlushDecompress::None);
        let used = (self.inflate.total_in() - before.0) as usize;
        let made = &self.part[..(self.inflate.total_out() - before.1) as usize];
        self.checksum.update(made);
        self.size = self.size.wrapping_add(made.len() as u32);
        let step = match status {
            Ok(Status::StreamEnd) => Step::End,
            Ok(Status::Ok | Status::BufError) if !made.is_empty() || !input.is_empty() => Step::More,
            Ok(_) => Step::Missing,
            Err(_) => Step::Damaged,
        };
        (used, made, step)
    }

    /// Whether a trailer is that of what was decompressed.
    pub(crate) fn is_whole(&self, trailer: &[u8]) -> bool {
        let expected = (self.checksum.clone().finalize(), self.size);
        trailer.get(..8).is_some_and(|bytes| (number(&bytes[..4]), number(&bytes[4..])) == expected)
    }

    /// Whether a member is damaged, which cannot be decompressed at once: its content ends in a way that it must not, within what was read
    /// of the file. `position`: where it is in the file.
    pub(crate) fn is_damaged(&mut self, position: u64, content: &[u8], is_over: bool) -> bool {
        if position >= self.looked.0 {
            self.looked.1 = 0;
        }
        if self.looked.1 >= LOOKS {
            return true;
        }
        self.looked.1 += 1;
        self.begin();
        let (mut used, mut made) = (0, 0);
        let is_damaged = loop {
            let (some, more, step) = self.step(&content[used..], PART);
            (used, made) = (used + some, made + more.len());
            match step {
                Step::More if made > LOOKED => break false,
                Step::More => {}
                Step::End => {
                    break (is_over || content.len() >= used + 8) && !self.is_whole(&content[used..]);
                }
                Step::Missing => break is_over,
                Step::Damaged => break true,
            }
        };
        self.looked.0 = self.looked.0.max(position + used as u64);
        is_damaged
    }
}

/// The length of a header; `None`: there is none.
pub(crate) fn header(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.strip_prefix(&GZIP)?.first()?;
    let mut length = 10;
    if flags & 4 != 0 {
        length += 2 + usize::from(u16::from_le_bytes(bytes.get(10..12)?.try_into().ok()?));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let name = bytes.get(length..)?;
            length += memchr::memchr(0, &name[..name.len().min(NAME)])? + 1;
        }
    }
    length += if flags & 2 != 0 { 2 } else { 0 };
    (length <= bytes.len()).then_some(length)
}

/// Four bytes as a number.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
