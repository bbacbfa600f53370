//! Reads records one after the other.

use std::io::{self, Read};

use crate::header::{Header, Kind};
use crate::members::{Members, Progress, Starts};
use crate::{Damage, What};

/// Bytes of a block for which memory is made at once, whatever a header says.
const EXPECTED: usize = 1 << 20;

/// Bytes that are read at once while a header is looked for: what is behind it goes to where it stays.
const SOME: usize = 16 << 10;

/// What a record begins with.
const RECORD: &[u8] = b"WARC/";

/// Limits of what is in memory.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a record's block; what is longer is cut.
    pub block: usize,
    /// Bytes of a record's header.
    pub header: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { block: 64 << 20, header: 64 << 10 }
    }
}

/// A record.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Where in the file it, or the compressed member that it is in, begins.
    pub position: u64,
    /// Whether a reader can begin there: it is the first record of its member.
    pub is_at_start: bool,
    /// Its header.
    pub header: Header,
    /// Its block: of a response the HTTP message.
    pub block: Vec<u8>,
    /// Whether the block is longer: it was cut by a limit, or by the end of the file.
    pub is_cut: bool,
}

impl Record {
    /// What it is.
    pub fn kind(&self) -> Kind {
        self.header.kind()
    }
}

/// Reads the records of a file.
pub struct Reader<R> {
    members: Members<R>,
    limits: Limits,
    data: Vec<u8>,
    /// What of the data is not used yet, and its position among all decompressed bytes.
    at: usize,
    base: u64,
    starts: Starts,
    is_over: bool,
    /// Whether what is not used yet is the last before damage: no record goes on behind it.
    is_broken: bool,
    /// What was found while bytes were read for something else.
    damages: Vec<Damage>,
    /// Whether damage was told since the last record: all of it up to the next one counts once.
    is_searching: bool,
}

impl<R: Read> Reader<R> {
    /// Of a file, from its beginning, or from where a record begins.
    pub fn new(from: R, limits: Limits) -> Self {
        Reader {
            members: Members::new(from),
            limits,
            data: Vec::new(),
            at: 0,
            base: 0,
            starts: Starts::new(),
            is_over: false,
            is_broken: false,
            damages: Vec::new(),
            is_searching: false,
        }
    }

    /// The next record, or damage before it; `None`: there is no more.
    #[allow(clippy::should_implement_trait, reason = "an error of the disk ends it, damage does not")]
    pub fn next(&mut self) -> io::Result<Option<Result<Record, Damage>>> {
        loop {
            if let Some(damage) = self.damages.pop() {
                return Ok(Some(Err(damage)));
            }
            self.skip_blank()?;
            if self.left().is_empty() {
                if std::mem::take(&mut self.is_broken) || !self.damages.is_empty() {
                    continue;
                }
                return Ok(None);
            }
            match self.header()? {
                Ok(header) => {
                    self.is_searching = false;
                    return self.record(header).map(|record| Some(Ok(record)));
                }
                Err((What::Truncated, _)) => {
                    let position = self.position().0;
                    self.at = self.data.len();
                    self.end_within(position);
                }
                Err((what, skipped)) => {
                    let damage = Damage { position: self.position().0, what };
                    let is_new = !std::mem::replace(&mut self.is_searching, true);
                    self.at += skipped;
                    if is_new {
                        return Ok(Some(Err(damage)));
                    }
                }
            }
        }
    }

    /// How much of the file was used, in bytes.
    pub fn used(&self) -> u64 {
        self.members.position()
    }

    /// The block of a record whose header was read.
    fn record(&mut self, (header, length): (Header, usize)) -> io::Result<Record> {
        let (position, is_at_start) = self.position();
        self.at += length;
        let wanted = header.length().unwrap_or(0);
        let kept = wanted.min(self.limits.block as u64) as usize;
        let (block, is_ended) = self.take(kept)?;
        if is_ended {
            self.damages.insert(0, Damage { position, what: What::NoLength });
        } else if !self.skip(wanted - block.len() as u64)? {
            self.end_within(position);
        }
        let is_cut = (block.len() as u64) < wanted;
        Ok(Record { position, is_at_start, header, block, is_cut })
    }

    /// Notes that the file ends within a record: once, whether its compression ends there as well or not. Damage was noted already.
    fn end_within(&mut self, position: u64) {
        if self.is_broken {
            return;
        }
        self.damages.retain(|damage| damage.what != What::Truncated);
        self.damages.push(Damage { position, what: What::Truncated });
    }

    /// Where in the file the next byte is, and whether a member begins with it.
    fn position(&mut self) -> (u64, bool) {
        let here = self.base + self.at as u64;
        if self.members.is_plain() {
            return (here, true);
        }
        // The last member that begins at or before it.
        while self.starts.get(1).is_some_and(|(start, _)| *start <= here) {
            self.starts.pop_front();
        }
        self.starts.front().map_or((0, false), |(start, position)| (*position, *start == here))
    }

    /// Reads a header, and its length; or what is wrong, and how many bytes are to be skipped: none of them is looked at again.
    fn header(&mut self) -> io::Result<Result<(Header, usize), (What, usize)>> {
        let Some(line) = self.find_line(0)? else { return Ok(Err((What::LongHeader, self.left().len()))) };
        // No more than a part of what begins one, before the end.
        if RECORD.starts_with(&self.left()[..line]) {
            return Ok(Err((What::Truncated, line)));
        }
        if !begins_record(&self.left()[..line]) {
            return Ok(match Header::parse_arc(&self.left()[..line]) {
                Some(header) => Ok((header, line)),
                None => Err((What::NoRecord, line)),
            });
        }
        let mut end = line;
        loop {
            let Some(next) = self.find_line(end)? else { return Ok(Err((What::LongHeader, end))) };
            if next == end {
                return Ok(Err((What::Truncated, end)));
            }
            let text = &self.left()[end..next];
            if text.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
                let header = Header::parse(&self.left()[..end]);
                return Ok(match header {
                    Some(header) if header.length().is_some() => Ok((header, next)),
                    Some(_) => Err((What::NoLength, next)),
                    None => Err((What::NoRecord, next)),
                });
            }
            // No field has such a name: the record ends within its header, and another one begins.
            if begins_record(text) {
                return Ok(Err((What::NoRecord, end)));
            }
            end = next;
        }
    }

    /// Where the line that begins at an offset ends; at the end of the file without a line break. `None`: it is too long.
    fn find_line(&mut self, from: usize) -> io::Result<Option<usize>> {
        let mut searched = from;
        loop {
            if let Some(found) = self.left().get(searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
                return Ok(Some(searched + found + 1));
            }
            searched = self.left().len();
            if searched > self.limits.header {
                return Ok(None);
            }
            if !self.more()? {
                return Ok(Some(self.left().len()));
            }
        }
    }

    /// Skips empty lines.
    fn skip_blank(&mut self) -> io::Result<()> {
        loop {
            let blank = self.left().iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.at += blank;
            if !self.left().is_empty() || !self.more()? {
                return Ok(());
            }
        }
    }

    /// Skips bytes; whether there are as many.
    fn skip(&mut self, mut count: u64) -> io::Result<bool> {
        loop {
            let some = count.min(self.left().len() as u64);
            self.at += some as usize;
            count -= some;
            // Starts that are behind are forgotten.
            self.position();
            if count == 0 {
                return Ok(true);
            }
            if !self.more()? {
                return Ok(false);
            }
        }
    }

    /// What was decompressed and not used.
    fn left(&self) -> &[u8] {
        &self.data[self.at..]
    }

    /// The next bytes, as many, or fewer where the file ends, is damaged, or has a member that begins with another record; and whether it
    /// has. What is not read yet is read to where it stays.
    fn take(&mut self, count: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut taken = Vec::with_capacity(count.min(EXPECTED));
        let some = count.min(self.left().len());
        taken.extend_from_slice(&self.left()[..some]);
        self.at += some;
        while taken.len() < count && !self.is_at_end() {
            // Nothing is left of what was read before.
            (self.base, self.at) = (self.base + self.data.len() as u64, 0);
            self.data.clear();
            let length = taken.len();
            self.read(&mut taken, (count - length).max(RECORD.len()))?;
            let begins_member = !self.members.is_plain() && self.position().1;
            let is_ended = begins_member && begins_record(&taken[length..]);
            let end = if is_ended { length } else { taken.len().min(count) };
            self.base += (end - length) as u64;
            self.data.extend_from_slice(&taken[end..]);
            taken.truncate(end);
            if is_ended {
                return Ok((taken, true));
            }
        }
        Ok((taken, false))
    }

    /// Reads some more; whether there is, or may be more still.
    fn more(&mut self) -> io::Result<bool> {
        if self.is_at_end() {
            return Ok(false);
        }
        if self.at > self.data.len() / 2 {
            self.base += self.at as u64;
            self.data.drain(..self.at);
            self.at = 0;
        }
        let mut data = std::mem::take(&mut self.data);
        let before = data.len();
        let read = self.read(&mut data, SOME);
        self.data = data;
        read.map(|()| self.data.len() > before || !self.is_at_end())
    }

    /// Whether no record goes on behind what was read.
    fn is_at_end(&self) -> bool {
        self.is_over || self.is_broken
    }

    /// Appends some bytes, but not more than `most`.
    fn read(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<()> {
        match self.members.read(into, most, &mut self.starts)? {
            Progress::More => {}
            Progress::End => self.is_over = true,
            Progress::Damaged(damage) => {
                self.damages.insert(0, damage);
                self.is_broken = true;
            }
        }
        Ok(())
    }
}

/// Whether a record begins with these bytes.
fn begins_record(bytes: &[u8]) -> bool {
    bytes.get(..RECORD.len()).is_some_and(|name| name.eq_ignore_ascii_case(RECORD))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Compression, Writer};

    /// All records and damage of a file.
    fn all(file: &[u8], limits: Limits) -> (Vec<Record>, Vec<Damage>) {
        let (mut records, mut damages) = (Vec::new(), Vec::new());
        let mut reader = Reader::new(file, limits);
        while let Some(next) = reader.next().unwrap() {
            match next {
                Ok(record) => records.push(record),
                Err(damage) => damages.push(damage),
            }
        }
        (records, damages)
    }

    const PLAIN: &[u8] = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n\
        WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 0\r\n\r\n\r\n\r\n";

    #[test]
    fn records_follow_each_other() {
        let (records, damages) = all(PLAIN, Limits::default());
        assert_eq!(records.iter().map(Record::kind).collect::<Vec<_>>(), [Kind::Resource, Kind::Metadata]);
        assert_eq!((records[0].block.as_slice(), records[1].position), (&b"abc"[..], 59));
        assert!(damages.is_empty() && !records[0].is_cut);
    }

    #[test]
    fn what_is_no_record_is_skipped_and_told_once() {
        let file = [b"<html>\n<p>a\n".as_slice(), PLAIN, b"rubbish\nmore\n", PLAIN].concat();
        let (records, damages) = all(&file, Limits::default());
        assert_eq!(records.len(), 4);
        assert_eq!(damages.len(), 2);
        assert_eq!(damages[1], Damage { position: 12 + PLAIN.len() as u64, what: What::NoRecord });
    }

    #[test]
    fn a_file_that_ends_within_a_record_gives_what_is_there() {
        let (records, damages) = all(&PLAIN[..PLAIN.len() - 61], Limits::default());
        assert_eq!((records[0].block.as_slice(), records[0].is_cut), (&b"ab"[..], true));
        assert_eq!(damages, [Damage { position: 0, what: What::Truncated }]);
    }

    #[test]
    fn long_blocks_are_cut_and_long_headers_refused() {
        let limits = Limits { block: 2, header: 100 };
        let (records, damages) = all(PLAIN, limits);
        assert_eq!((records[0].block.as_slice(), records[0].is_cut, records.len()), (&b"ab"[..], true, 2));
        assert!(damages.is_empty());
        let long = [b"WARC/1.0\r\nX: ".as_slice(), &[b'a'; 300_000], b"\r\n\r\n", PLAIN].concat();
        let (records, damages) = all(&long, limits);
        assert_eq!((records.len(), damages.len()), (2, 1));
    }

    #[test]
    fn records_of_arc_are_read() {
        let file = b"filedesc://x.arc 0.0.0.0 20130729195151 text/plain 10\n1 0 test\n\n\nhttp://a.example/ 192.0.2.1 20130729195152 text/html 5\nhello\n";
        let (records, damages) = all(file, Limits::default());
        assert_eq!(records.iter().map(Record::kind).collect::<Vec<_>>(), [Kind::WarcInfo, Kind::Response]);
        assert_eq!(records[1].block, b"hello");
        assert!(damages.is_empty());
    }

    /// Records of a member each, and where they begin.
    fn archive(bodies: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
        let mut writer = Writer::new(Compression::Gzip(6));
        let mut write = |body: &Vec<u8>| {
            writer.resource("http://a.example/", 0, "text/plain", body).unwrap().offset as usize
        };
        let places = bodies.iter().map(&mut write).collect();
        (writer.take(), places)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut writer, bytes).unwrap();
        writer.finish().unwrap()
    }

    /// Bodies of some lengths, of words.
    fn bodies(lengths: &[usize]) -> Vec<Vec<u8>> {
        let of = |(number, length): (usize, &usize)| {
            (0..*length).flat_map(|at| format!("{} ", (at * at + number) % 9_973).into_bytes()).collect()
        };
        lengths.iter().enumerate().map(of).collect()
    }

    #[test]
    fn a_block_that_is_said_to_be_longer_ends_with_its_member() {
        let record = |length: usize| {
            format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: {length}\r\n\r\nabc\r\n\r\n")
        };
        let file = [gzip(record(43).as_bytes()), gzip(record(3).as_bytes())].concat();
        let (records, damages) = all(&file, Limits::default());
        assert_eq!((records[0].block.as_slice(), records[0].is_cut), (&b"abc\r\n\r\n"[..], true));
        assert_eq!((records[1].block.as_slice(), records[1].is_cut), (&b"abc"[..], false));
        assert_eq!(damages, [Damage { position: 0, what: What::NoLength }]);
        // So little longer that it ends within what begins the next one.
        let file = [gzip(record(9).as_bytes()), gzip(record(3).as_bytes())].concat();
        assert_eq!(all(&file, Limits::default()).0[1].block, b"abc");
    }

    #[test]
    fn a_record_ends_where_another_header_begins() {
        let file = [b"WARC/1.0\r\nWARC-Type: resp\r\n".as_slice(), PLAIN].concat();
        let (records, damages) = all(&file, Limits::default());
        assert_eq!((records.len(), records[0].block.as_slice(), damages.len()), (2, &b"abc"[..], 1));
    }

    #[test]
    fn what_is_crafted_costs_no_more_than_what_is_not() {
        let begin = std::time::Instant::now();
        let stored = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0, 0xff, 0xff, 0, 0][..], &[7; 9]].concat();
        let headers = b"WARC/1.0\r\n".repeat(400_000);
        for crafted in [b"\x1f\x8b\x08\x08".repeat(1_000_000), stored.repeat(170_000), headers] {
            all(&crafted, Limits::default());
        }
        let wrong = [&archive(&[vec![]]).0[..], &[0]].concat();
        all(&wrong.repeat(10_000), Limits::default());
        // Each is said to be as long as any block may be.
        let length = "WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 60000000\r\n\r\nabc\r\n\r\n";
        assert_eq!(all(&gzip(length.as_bytes()).repeat(20_000), Limits::default()).0.len(), 20_000);
        assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    }

    proptest! {
        #[test]
        fn a_record_that_breaks_off_costs_no_other_one(lengths in prop::collection::vec(0usize..4_000, 2..6), which in 0usize..5, cut in 0.0f64..1.0) {
            let bodies = bodies(&lengths);
            let (file, mut places) = archive(&bodies);
            places.push(file.len());
            let which = which % bodies.len();
            let (begin, end) = (places[which], places[which + 1]);
            let kept = begin + ((end - begin) as f64 * cut) as usize;
            let broken = [&file[..kept], &file[end..]].concat();
            let (records, damages) = all(&broken, Limits::default());
            let others: Vec<_> = records.iter().filter(|record| !record.is_cut).map(|record| &record.block).collect();
            let expected: Vec<_> = bodies.iter().enumerate().filter(|(number, _)| *number != which).map(|(_, body)| body).collect();
            // What is missing may be behind the block.
            let all = bodies.iter().collect::<Vec<_>>();
            prop_assert!(others == expected || others == all, "{others:?}");
            for record in records.iter().filter(|record| record.is_cut) {
                prop_assert!(bodies[which].starts_with(&record.block));
            }
            prop_assert_eq!(damages.len(), usize::from(kept > begin), "{:?} {} {}", damages, begin, kept);
        }

        #[test]
        fn a_bit_costs_one_record(lengths in prop::collection::vec(0usize..400, 2..6), at in 0.0f64..1.0, bit in 0u32..8) {
            let bodies = bodies(&lengths);
            let (mut file, places) = archive(&bodies);
            let at = (file.len() as f64 * at) as usize;
            file[at] ^= 1 << bit;
            let which = places.iter().filter(|place| **place <= at).count() - 1;
            let (records, _) = all(&file, Limits::default());
            for (number, body) in bodies.iter().enumerate().filter(|(number, _)| *number != which) {
                prop_assert!(records.iter().any(|record| record.block == *body && !record.is_cut), "{number} of {which}");
            }
        }

        #[test]
        fn what_was_written_is_read(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3_000), 1..8), gzip in any::<bool>()) {
            let compression = if gzip { Compression::Gzip(6) } else { Compression::Zstd(3) };
            let mut writer = Writer::new(compression);
            let mut places = Vec::new();
            for body in &bodies {
                places.push(writer.resource("http://a.example/", 0, "text/plain", body).unwrap());
            }
            let file = writer.take();
            let (records, damages) = all(&file, Limits::default());
            prop_assert!(damages.is_empty());
            prop_assert_eq!(records.len(), bodies.len());
            for ((record, body), place) in records.iter().zip(&bodies).zip(places) {
                prop_assert_eq!(&record.block, body);
                prop_assert!(record.is_at_start);
                prop_assert_eq!(record.position, place.offset);
            }
        }

        #[test]
        fn any_bytes_end(bytes in "(WARC/1.0|Content-Length|: |\r\n|\n|[0-9]|a| ){0,60}") {
            all(bytes.as_bytes(), Limits { block: 10, header: 40 });
        }
    }
}
