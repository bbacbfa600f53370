//! Reads records one after the other.

use std::io::{self, Read};

use crate::header::{Header, Kind};
use crate::members::{Members, Progress, Starts};
use crate::{Damage, What};

/// Bytes of a block for which memory is made at once, whatever a header says.
const EXPECTED: usize = 1 << 20;

/// Bytes that are read at once while a header is looked for: what is behind it goes to where it stays.
const SOME: usize = 16 << 10;

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
                if !self.damages.is_empty() {
                    continue;
                }
                return Ok(None);
            }
            match self.header()? {
                Ok(header) => {
                    self.is_searching = false;
                    return self.record(header).map(|record| Some(Ok(record)));
                }
                Err(What::Truncated) => {
                    let position = self.position().0;
                    self.at = self.data.len();
                    self.end_within(position);
                }
                Err(what) => {
                    let damage = Damage { position: self.position().0, what };
                    let is_new = !std::mem::replace(&mut self.is_searching, true);
                    self.skip_line()?;
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
        let block = self.take(kept)?;
        let is_whole = self.skip(wanted - block.len() as u64)?;
        if !is_whole {
            self.end_within(position);
        }
        let is_cut = (block.len() as u64) < wanted;
        Ok(Record { position, is_at_start, header, block, is_cut })
    }

    /// Notes that the file ends within a record: once, whether its compression ends there as well or not.
    fn end_within(&mut self, position: u64) {
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

    /// Reads a header, and its length; or what is wrong.
    fn header(&mut self) -> io::Result<Result<(Header, usize), What>> {
        let Some(line) = self.find_line(0)? else { return Ok(Err(What::LongHeader)) };
        if !self.left()[..line].get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"WARC/")) {
            return Ok(match Header::parse_arc(&self.left()[..line]) {
                Some(header) => Ok((header, line)),
                None => Err(What::NoRecord),
            });
        }
        let mut end = line;
        loop {
            let Some(next) = self.find_line(end)? else { return Ok(Err(What::LongHeader)) };
            if next == end {
                return Ok(Err(What::Truncated));
            }
            let is_blank = self.left()[end..next].iter().all(|byte| matches!(byte, b'\r' | b'\n'));
            if is_blank {
                let header = Header::parse(&self.left()[..end]);
                return Ok(match header {
                    Some(header) if header.length().is_some() => Ok((header, next)),
                    Some(_) => Err(What::NoLength),
                    None => Err(What::NoRecord),
                });
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

    /// Skips a line, which is no record's.
    fn skip_line(&mut self) -> io::Result<()> {
        match self.find_line(0)? {
            Some(end) => self.at += end.max(1).min(self.left().len()),
            None => self.at = self.data.len(),
        }
        Ok(())
    }

    /// Skips bytes; whether there are as many.
    fn skip(&mut self, mut count: u64) -> io::Result<bool> {
        loop {
            let some = count.min(self.left().len() as u64);
            self.at += some as usize;
            count -= some;
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

    /// The next bytes, as many, or fewer at the end of the file: what is not read yet is read to where it stays.
    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut taken = Vec::with_capacity(count.min(EXPECTED));
        let some = count.min(self.left().len());
        taken.extend_from_slice(&self.left()[..some]);
        self.at += some;
        while taken.len() < count && !self.is_over {
            let length = taken.len();
            self.read(&mut taken, count - length)?;
            // Nothing is left of what was read before.
            self.base += (self.data.len() + taken.len() - length) as u64;
            self.data.clear();
            self.at = 0;
        }
        Ok(taken)
    }

    /// Reads some more; whether there may be more still.
    fn more(&mut self) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        if self.at > self.data.len() / 2 {
            self.base += self.at as u64;
            self.data.drain(..self.at);
            self.at = 0;
        }
        let mut data = std::mem::take(&mut self.data);
        let read = self.read(&mut data, SOME);
        self.data = data;
        read.map(|()| !self.is_over)
    }

    /// Appends some bytes, but not more than `most`.
    fn read(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<()> {
        match self.members.read(into, most, &mut self.starts)? {
            Progress::More => {}
            Progress::End => self.is_over = true,
            Progress::Damaged(damage) => self.damages.insert(0, damage),
        }
        Ok(())
    }
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

    proptest! {
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
