//! A file's bytes without their compression: gzip or zstd in any number of members, or none.
//!
//! Guarantees: where each member begins is known; behind damage the next member is looked for; each call reads a bounded part.

use std::collections::VecDeque;
use std::io::{self, Read};

use zstd::stream::raw::{Decoder, Operation as _, OutBuffer};

use crate::gzip::{self, GZIP, Gzip, HEADER, PART, Step, number};
use crate::whole::LARGEST;
use crate::{Damage, What};

/// Bytes of a dictionary of zstd, at most.
const DICTIONARY: usize = 16 << 20;

/// The beginning of a frame.
const ZSTD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// Of a frame that has the dictionary of all others (WARC by zstd, IIPC).
const ZSTD_DICTIONARY: [u8; 4] = 0x184d_2a5d_u32.to_le_bytes();

/// Where in the file a position of the decompressed bytes is at which a member begins.
pub(crate) type Starts = VecDeque<(u64, u64)>;

/// How a file is compressed.
enum Form {
    Unknown,
    Plain,
    Gzip(Box<Gzip>),
    Zstd(Zstd),
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
                left if left.starts_with(&GZIP[..2]) => Form::Gzip(Box::new(Gzip::new())),
                left if left.starts_with(&ZSTD) || left.starts_with(&ZSTD_DICTIONARY) => {
                    let dictionary = self.dictionary()?;
                    Form::Zstd(Zstd { decoder: Decoder::with_dictionary(&dictionary)?, is_inside: false })
                }
                _ if self.is_gzip_behind_damage()? => Form::Gzip(Box::new(Gzip::new())),
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

    /// Whether a file whose beginning is nothing known has members of gzip, and no records without them.
    fn is_gzip_behind_damage(&mut self) -> io::Result<bool> {
        self.fill(HEADER)?;
        let has = |what: &[u8]| memchr::memmem::find(self.left(), what).is_some();
        Ok(has(&GZIP) && !has(b"WARC/") && !has(b"filedesc:"))
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
        if !gzip.is_inside
            && let Some(progress) = self.begin_member(gzip, starts)?
        {
            gzip.whole.give(out, most);
            return Ok(progress);
        }
        self.fill(1)?;
        let position = self.position();
        let end = gzip.limit.map_or(usize::MAX, |limit| limit.saturating_sub(position) as usize);
        let input = &self.input[self.at..][..end.min(self.input.len() - self.at)];
        let (used, made, step) = gzip.step(input, most);
        out.extend_from_slice(made);
        if matches!(step, Step::More | Step::End) {
            self.at += used;
        }
        if matches!(step, Step::End) {
            self.fill(8)?;
            gzip.is_inside = !gzip.is_whole(self.left());
            self.at += if gzip.is_inside { 0 } else { 8 };
        }
        if matches!(step, Step::More) || !gzip.is_inside {
            return Ok(Progress::More);
        }
        gzip.is_inside = false;
        self.end_damaged(gzip, position, &step)
    }

    /// Begins a member; gives what was done, or `None` where it is decompressed in parts.
    fn begin_member(&mut self, gzip: &mut Gzip, starts: &mut Starts) -> io::Result<Option<Progress>> {
        self.fill(HEADER)?;
        if self.left().is_empty() {
            return Ok(Some(Progress::End));
        }
        let position = self.position();
        let Some(length) = gzip::header(self.left()) else { return self.search(position).map(Some) };
        starts.push_back((self.made, position));
        let end = self.end_of_member(length)?;
        if gzip.whole.decompress(&self.left()[..end], length) {
            self.at += end;
            return Ok(Some(Progress::More));
        }
        // What looks like the next member may be a part of this one, unless it is damaged.
        gzip.limit = None;
        if gzip.is_damaged(position, &self.left()[length..], self.is_over) {
            let next = memchr::memmem::find(&self.left()[GZIP.len()..], &GZIP);
            let end = next.map_or(end, |next| next + GZIP.len());
            if end <= length {
                // The header goes on behind where it breaks off.
                self.at += end;
                return Ok(Some(Progress::Damaged(Damage { position, what: What::Compression })));
            }
            gzip.limit = Some(position + end as u64);
        }
        self.at += length;
        gzip.begin();
        (gzip.is_inside, gzip.position) = (true, position);
        Ok(None)
    }

    /// Goes to where the next member begins behind one that is damaged, whose last part begins at a position.
    fn end_damaged(&mut self, gzip: &Gzip, position: u64, step: &Step) -> io::Result<Progress> {
        if let Some(limit) = gzip.limit {
            self.at += limit.saturating_sub(self.position()) as usize;
            let what = if self.left().is_empty() { What::Truncated } else { What::Compression };
            return Ok(Progress::Damaged(Damage { position: gzip.position, what }));
        }
        if matches!(step, Step::Missing) {
            return Ok(Progress::Damaged(Damage { position, what: What::Truncated }));
        }
        // The last byte may be what begins the next one.
        self.at -= usize::from(self.at > 0);
        self.search(position)
    }

    /// How long a member is at most, which begins here with a header of so many bytes: up to what looks like the next one, or to the end
    /// of the file. One that goes on behind the bytes that are read for this is longer than can be decompressed at once.
    fn end_of_member(&mut self, header: usize) -> io::Result<usize> {
        let mut from = header;
        loop {
            if let Some(found) = memchr::memmem::find(self.left().get(from..).unwrap_or_default(), &GZIP) {
                return Ok(from + found);
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

    /// Skips what is no member of gzip, at least a byte.
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
        fn what_looks_like_a_member_within_another_is_none(kinds in prop::collection::vec((0u8..16, 0u32..2, 0usize..4), 1..5), most in 1usize..9) {
            let magic = [GZIP, GZIP].concat();
            let (mut file, mut expected, mut places) = (Vec::new(), Vec::new(), Vec::new());
            for (fields, level, times) in kinds {
                let content = [b"one".to_vec(), magic.repeat(times), b"two".to_vec()].concat();
                let mut builder = flate2::GzBuilder::new();
                if fields & 1 > 0 {
                    builder = builder.extra(magic.clone());
                }
                if fields & 2 > 0 {
                    builder = builder.filename(magic.clone());
                }
                if fields & 4 > 0 {
                    builder = builder.comment(magic.clone());
                }
                let mut encoder = builder.write(Vec::new(), flate2::Compression::new(level * 6));
                encoder.write_all(&content).unwrap();
                places.push((expected.len() as u64, file.len() as u64));
                file.extend(encoder.finish().unwrap());
                expected.extend(content);
            }
            prop_assert_eq!(all(&file), (expected.clone(), places, vec![]));
            let (mut out, mut starts, mut members) = (Vec::new(), Starts::new(), Members::new(&file[..]));
            while members.read(&mut out, most, &mut starts).unwrap() != Progress::End {}
            prop_assert_eq!(out, expected);
        }

        #[test]
        fn parts_of_any_size_are_the_same(bytes in prop::collection::vec(any::<u8>(), 0..600_000)) {
            prop_assert_eq!(all(&gzip(&bytes)).0, bytes.clone());
            prop_assert_eq!(all(&zstd::bulk::compress(&bytes, 1).unwrap()).0, bytes);
        }
    }
}
