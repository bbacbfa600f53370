//! A file's bytes without their compression: gzip or zstd in any number of members, or none.
//!
//! Guarantees: where each member begins is known; behind damage the next member is looked for; each call reads a bounded part.

use std::collections::VecDeque;
use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, Operation as _, OutBuffer};

use crate::whole::{LARGEST, Whole, end_of};
use crate::{Damage, What};

/// Bytes that are read at once, and decompressed at once where a member is not decompressed as a whole.
const PART: usize = 128 << 10;

/// Bytes of a gzip header, at most: names of files and comments are short.
const HEADER: usize = 64 << 10;

/// Bytes of a dictionary of zstd, at most.
const DICTIONARY: usize = 16 << 20;

/// Beginnings of members.
pub(crate) const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// Of a frame that has the dictionary of all others (WARC by zstd, IIPC).
const ZSTD_DICTIONARY: [u8; 4] = 0x184d_2a5d_u32.to_le_bytes();

/// Where in the file a position of the decompressed bytes is at which a member begins.
pub(crate) type Starts = VecDeque<(u64, u64)>;

/// How a file is compressed.
enum Form {
    Unknown,
    Plain,
    Gzip(Gzip),
    Zstd(Zstd),
}

/// A member of gzip.
struct Gzip {
    inflate: Decompress,
    is_inside: bool,
    checksum: crc32fast::Hasher,
    size: u32,
    /// What is decompressed at once: memory that is not zeroed again each time.
    part: Box<[u8]>,
    whole: Whole,
}

/// Frames of zstd.
struct Zstd {
    decoder: Decoder<'static>,
    is_inside: bool,
}

/// What a call has done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Bytes were appended, or more can be.
    More,
    /// There is no more.
    End,
    /// Some bytes were left out.
    Damaged(Damage),
}

/// A file.
pub(crate) struct Members<R> {
    from: R,
    input: Vec<u8>,
    /// What of it is not used yet, and where in the file its beginning is.
    at: usize,
    base: u64,
    is_over: bool,
    form: Form,
    /// Bytes that were appended in total.
    made: u64,
}

impl<R: Read> Members<R> {
    /// Reads nothing yet.
    pub(crate) fn new(from: R) -> Self {
        Members { from, input: Vec::new(), at: 0, base: 0, is_over: false, form: Form::Unknown, made: 0 }
    }

    /// Whether positions are those of the file.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.form, Form::Plain)
    }

    /// Where the next byte of the file is that was not used.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Appends some bytes, but not more than `most`, and notes members that begin among them.
    pub(crate) fn read(
        &mut self,
        out: &mut Vec<u8>,
        most: usize,
        starts: &mut Starts,
    ) -> io::Result<Progress> {
        let before = out.len();
        let progress = self.step(out, most, starts)?;
        self.made += (out.len() - before) as u64;
        Ok(progress)
    }

    /// The same, without counting.
    fn step(&mut self, out: &mut Vec<u8>, most: usize, starts: &mut Starts) -> io::Result<Progress> {
        if matches!(self.form, Form::Unknown) {
            self.fill(ZSTD.len())?;
            self.form = match self.left() {
                left if left.starts_with(&GZIP[..2]) => Form::Gzip(Gzip {
                    inflate: Decompress::new(false),
                    is_inside: false,
                    checksum: crc32fast::Hasher::new(),
                    size: 0,
                    part: vec![0; PART].into(),
                    whole: Whole::new(),
                }),
                left if left.starts_with(&ZSTD) || left.starts_with(&ZSTD_DICTIONARY) => {
                    let dictionary = self.dictionary()?;
                    Form::Zstd(Zstd { decoder: Decoder::with_dictionary(&dictionary)?, is_inside: false })
                }
                _ => Form::Plain,
            };
        }
        // Taken out so that its parts and the input can be borrowed together.
        match std::mem::replace(&mut self.form, Form::Plain) {
            Form::Gzip(mut gzip) => {
                let progress = self.gzip(&mut gzip, out, most, starts);
                self.form = Form::Gzip(gzip);
                progress
            }
            Form::Zstd(mut zstd) => {
                let progress = self.zstd(&mut zstd, out, most, starts);
                self.form = Form::Zstd(zstd);
                progress
            }
            Form::Unknown | Form::Plain => {
                self.fill(1)?;
                let (is_end, some) = (self.left().is_empty(), most.min(self.left().len()));
                out.extend_from_slice(&self.left()[..some]);
                self.at += some;
                Ok(if is_end { Progress::End } else { Progress::More })
            }
        }
    }

    /// A part of a file of gzip.
    fn gzip(
        &mut self,
        gzip: &mut Gzip,
        out: &mut Vec<u8>,
        most: usize,
        starts: &mut Starts,
    ) -> io::Result<Progress> {
        if gzip.whole.give(out, most) {
            return Ok(Progress::More);
        }
        if !gzip.is_inside {
            self.fill(HEADER)?;
            if self.left().is_empty() {
                return Ok(Progress::End);
            }
            let position = self.position();
            let Some(length) = gzip_header(self.left()) else { return self.search(position) };
            starts.push_back((self.made, position));
            let end = self.end_of_member()?;
            if gzip.whole.decompress(&self.left()[..end]) {
                self.at += end;
                gzip.whole.give(out, most);
                return Ok(Progress::More);
            }
            self.at += length;
            gzip.inflate.reset(false);
            (gzip.is_inside, gzip.checksum, gzip.size) = (true, crc32fast::Hasher::new(), 0);
        }
        self.fill(1)?;
        let (before, position) = ((gzip.inflate.total_in(), gzip.inflate.total_out()), self.position());
        let part = &mut gzip.part[..most.min(PART)];
        let status = gzip.inflate.decompress(self.left(), part, FlushDecompress::None);
        self.at += (gzip.inflate.total_in() - before.0) as usize;
        let made = &gzip.part[..(gzip.inflate.total_out() - before.1) as usize];
        out.extend_from_slice(made);
        gzip.checksum.update(made);
        gzip.size = gzip.size.wrapping_add(made.len() as u32);
        match status {
            Ok(Status::StreamEnd) => {
                gzip.is_inside = false;
                self.fill(8)?;
                let trailer = self.left().get(..8).map(|bytes| (number(&bytes[..4]), number(&bytes[4..])));
                self.at = (self.at + 8).min(self.input.len());
                let is_whole = trailer == Some((gzip.checksum.clone().finalize(), gzip.size));
                let damage = Damage { position, what: What::Compression };
                Ok(if is_whole { Progress::More } else { Progress::Damaged(damage) })
            }
            Ok(Status::Ok | Status::BufError) if !made.is_empty() || !self.left().is_empty() => {
                Ok(Progress::More)
            }
            Ok(_) => {
                gzip.is_inside = false;
                Ok(Progress::Damaged(Damage { position, what: What::Truncated }))
            }
            Err(_) => {
                gzip.is_inside = false;
                self.search(position)
            }
        }
    }

    /// How long a member is at most, which begins here: up to what looks like the next one, or to the end of the file. One that goes on
    /// behind the bytes that are read for this is longer than can be decompressed at once.
    fn end_of_member(&mut self) -> io::Result<usize> {
        let mut from = GZIP.len();
        loop {
            if let Some(end) = end_of(self.left(), from) {
                return Ok(end);
            }
            let length = self.left().len();
            if self.is_over || length > LARGEST {
                return Ok(length);
            }
            // The last bytes may begin the next one.
            from = length.saturating_sub(GZIP.len() - 1).max(from);
            self.fill(length + 1)?;
        }
    }

    /// Skips what is no member of gzip.
    fn search(&mut self, position: u64) -> io::Result<Progress> {
        let damage = Progress::Damaged(Damage { position, what: What::Compression });
        self.at = (self.at + 1).min(self.input.len());
        loop {
            match memchr::memmem::find(self.left(), &GZIP) {
                Some(found) => {
                    self.at += found;
                    return Ok(damage);
                }
                None => {
                    // The last bytes may begin a member that goes on in the next part.
                    self.at = self.input.len().saturating_sub(GZIP.len() - 1).max(self.at);
                    if self.is_over {
                        self.at = self.input.len();
                        return Ok(damage);
                    }
                    self.fill(PART)?;
                }
            }
        }
    }

    /// A part of a file of zstd.
    fn zstd(
        &mut self,
        zstd: &mut Zstd,
        out: &mut Vec<u8>,
        most: usize,
        starts: &mut Starts,
    ) -> io::Result<Progress> {
        self.fill(1)?;
        let position = self.position();
        if !zstd.is_inside {
            if self.left().is_empty() {
                return Ok(Progress::End);
            }
            starts.push_back((self.made, position));
            zstd.decoder.reinit()?;
            zstd.is_inside = true;
        }
        if self.left().is_empty() {
            self.at = self.input.len();
            zstd.is_inside = false;
            return Ok(Progress::Damaged(Damage { position, what: What::Truncated }));
        }
        let length = out.len();
        out.resize(length + most.min(PART), 0);
        let mut into = OutBuffer::around_pos(out.as_mut_slice(), length);
        let mut from = zstd::stream::raw::InBuffer::around(&self.input[self.at..]);
        let left = zstd.decoder.run(&mut from, &mut into);
        let (used, end) = (from.pos(), into.pos());
        out.truncate(end);
        self.at += used;
        match left {
            Ok(0) => {
                zstd.is_inside = false;
                Ok(Progress::More)
            }
            Ok(_) => Ok(Progress::More),
            Err(_) => {
                // Frames have no mark that is as rare as gzip's: what is left is given up.
                (self.at, self.is_over, zstd.is_inside) = (self.input.len(), true, false);
                Ok(Progress::Damaged(Damage { position, what: What::Compression }))
            }
        }
    }

    /// The dictionary at the beginning of a file; empty if there is none.
    fn dictionary(&mut self) -> io::Result<Vec<u8>> {
        if !self.left().starts_with(&ZSTD_DICTIONARY) {
            return Ok(Vec::new());
        }
        self.fill(8)?;
        let length = self.left().get(4..8).map_or(0, |bytes| number(bytes) as usize).min(DICTIONARY);
        self.at = (self.at + 8).min(self.input.len());
        self.fill(length)?;
        let dictionary = self.left()[..length.min(self.left().len())].to_vec();
        self.at += dictionary.len();
        if !dictionary.starts_with(&ZSTD) {
            return Ok(dictionary);
        }
        let mut plain = Vec::new();
        zstd::stream::read::Decoder::new(&dictionary[..])?.take(DICTIONARY as u64).read_to_end(&mut plain)?;
        Ok(plain)
    }

    /// What was read and not used.
    fn left(&self) -> &[u8] {
        &self.input[self.at..]
    }

    /// Reads until so many bytes are there, or the file ends.
    fn fill(&mut self, least: usize) -> io::Result<()> {
        while self.input.len() - self.at < least && !self.is_over {
            if self.at >= PART || self.at == self.input.len() {
                self.base += self.at as u64;
                self.input.drain(..self.at);
                self.at = 0;
            }
            let length = self.input.len();
            self.input.resize(length + PART, 0);
            let read = loop {
                match self.from.read(&mut self.input[length..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.input.truncate(length + read.as_ref().copied().unwrap_or(0));
            self.is_over |= read? == 0;
        }
        Ok(())
    }
}

/// The length of a gzip header; `None`: there is none.
fn gzip_header(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.strip_prefix(&GZIP)?.first()?;
    let mut length = 10;
    if flags & 4 != 0 {
        length += 2 + usize::from(u16::from_le_bytes(bytes.get(10..12)?.try_into().ok()?));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            length += memchr::memchr(0, bytes.get(length..)?)? + 1;
        }
    }
    length += if flags & 2 != 0 { 2 } else { 0 };
    (length <= bytes.len()).then_some(length)
}

/// Four bytes as a number.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// All bytes of a file, where members begin, and damage.
    fn all(file: &[u8]) -> (Vec<u8>, Vec<(u64, u64)>, Vec<Damage>) {
        let (mut out, mut starts, mut damages) = (Vec::new(), Starts::new(), Vec::new());
        let mut members = Members::new(file);
        loop {
            match members.read(&mut out, usize::MAX, &mut starts).unwrap() {
                Progress::End => return (out, starts.into(), damages),
                Progress::Damaged(damage) => damages.push(damage),
                Progress::More => {}
            }
        }
    }

    #[test]
    fn members_follow_each_other() {
        let file = [gzip(b"one"), gzip(b"two, longer")].concat();
        let second = gzip(b"one").len() as u64;
        assert_eq!(all(&file), (b"onetwo, longer".to_vec(), vec![(0, 0), (3, second)], vec![]));
        assert_eq!(all(b"plain"), (b"plain".to_vec(), vec![], vec![]));
        assert_eq!(all(b""), (vec![], vec![], vec![]));
    }

    #[test]
    fn members_that_are_large_are_decompressed_in_parts() {
        let noise: Vec<u8> =
            (0..LARGEST as u64 * 2).map(|at| (at * at * at / 7) as u8 ^ (at >> 9) as u8).collect();
        for large in [noise, vec![7; 9 << 20]] {
            let file = [gzip(b"one"), gzip(&large), gzip(b"two")].concat();
            let (out, starts, damages) = all(&file);
            assert!(out == [b"one", &large[..], b"two"].concat());
            assert_eq!((starts.len(), damages.len()), (3, 0));
        }
    }

    #[test]
    fn behind_damage_the_next_member_is_found() {
        let (one, two) = (gzip(b"one"), gzip(b"two"));
        let mut file = [one.clone(), b"rubbish".to_vec(), two].concat();
        let (out, starts, damages) = all(&file);
        assert_eq!((out, starts.len(), damages.len()), (b"onetwo".to_vec(), 2, 1));
        assert_eq!(damages[0], Damage { position: one.len() as u64, what: What::Compression });
        file.truncate(file.len() - 9);
        assert_eq!(all(&file).2.last().map(|damage| damage.what), Some(What::Truncated));
    }

    #[test]
    fn frames_of_zstd_are_members() {
        let file = [&b"one"[..], b"two"].map(|part| zstd::bulk::compress(part, 3).unwrap()).concat();
        let (out, starts, damages) = all(&file);
        assert_eq!((out, starts.len(), damages.len()), (b"onetwo".to_vec(), 2, 0));
    }

    proptest! {
        #[test]
        fn damage_ends(bytes in prop::collection::vec(any::<u8>(), 0..2_000), at in 0usize..400, byte in any::<u8>()) {
            let mut file = [gzip(&bytes), gzip(b"more"), zstd::bulk::compress(&bytes, 1).unwrap()].concat();
            let at = at % file.len();
            file[at] = byte;
            all(&file);
        }

        #[test]
        fn parts_of_any_size_are_the_same(bytes in prop::collection::vec(any::<u8>(), 0..600_000)) {
            prop_assert_eq!(all(&gzip(&bytes)).0, bytes.clone());
            prop_assert_eq!(all(&zstd::bulk::compress(&bytes, 1).unwrap()).0, bytes);
        }
    }
}
