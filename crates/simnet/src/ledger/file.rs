//! Reads a ledger file up to its end or to the first damage, and counts what is missing after that.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::Records;
use super::codec::{Content, Decoder, HEAD, Head, MAGIC, MARKER};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::params::Params;
use crate::ports::Ports;
use crate::world::World;

/// Number of hosts in the fingerprint.
const SAMPLE: u32 = 500;

/// Header of a ledger: all that is needed to judge it without the simnet that wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program.
    pub software: String,
    /// The world's parameters.
    pub params: Params,
    /// The world's model, since the profile's file may have changed.
    pub model: Model,
    /// Schemes and ports of URLs.
    pub ports: Ports,
    /// Start of the ledger's time, in microseconds since 1970.
    pub started_us: u64,
    /// [`fingerprint`] of the world, since another version may build a different world from the same parameters.
    pub fingerprint: u32,
}

impl Header {
    /// The header of a new ledger, whose clock sets `started_us` later.
    pub(crate) fn new(params: &Params, ports: &Ports, world: &World) -> Self {
        Self {
            software: env!("CARGO_PKG_VERSION").to_owned(),
            params: params.clone(),
            model: world.model().clone(),
            ports: ports.clone(),
            started_us: 0,
            fingerprint: fingerprint(world),
        }
    }
}

/// A ledger read from a file.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Its header.
    pub header: Header,
    /// Its records.
    pub records: Records,
    /// Microseconds up to which it is complete, to about 100 ms.
    pub until: u64,
    /// Its damage; `None` if the ledger was closed and is intact.
    pub damage: Option<Damage>,
}

impl Saved {
    /// Rebuilds the world of the recording.
    pub fn world(&self) -> Result<World> {
        let Header { params, model, .. } = &self.header;
        // The profile is replaced, since its file may not exist any more; the model is in the header.
        Params { profile: "lan".to_owned(), ..params.clone() }.check()?;
        let world = World::with_model(params, model.clone());
        if fingerprint(&world) == self.header.fingerprint {
            return Ok(world);
        }
        let ours = format!("a ledger of a version with the same worlds as {}", env!("CARGO_PKG_VERSION"));
        Err(Error::setting("LEDGER", format!("one of version {}", self.header.software), ours))
    }
}

/// Damage of a ledger file, and what is missing because of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The kind of damage: `not closed`, `truncated` or `damaged`.
    pub why: &'static str,
    /// Number of bytes read.
    pub at: u64,
    /// Number of remaining bytes that were not read.
    pub unread: u64,
    /// Missing requests, as far as the file still contains their number.
    pub requests: u64,
    /// Missing DNS questions, as far as the file still contains their number.
    pub questions: u64,
    /// Microseconds up to which the ledger is complete.
    pub until: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, at, unread, requests, questions, until } = self;
        write!(f, "{why}: read {at} bytes, up to {:.1} s; ", *until as f64 / 1e6)?;
        match (unread, requests, questions) {
            (0, ..) => write!(f, "later records are missing"),
            (_, 0, 0) => write!(f, "{unread} bytes and later records are missing"),
            _ => write!(
                f,
                "{unread} bytes with at least {requests} requests and {questions} DNS questions are missing"
            ),
        }
    }
}

/// Creates the file; an existing one is replaced only if it is a ledger or empty.
pub(super) fn create(path: &Path) -> Result<File> {
    let refused = |e: io::Error| {
        let allowed = format!("a file that can be written ({})", reason(&e));
        Error::setting("ledger", path.display(), allowed)
    };
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(refused)?;
    let mut start = Vec::new();
    (&file).take(MAGIC.len() as u64).read_to_end(&mut start).map_err(refused)?;
    if !file.metadata().map_err(refused)?.is_file() || !start.is_empty() && start != MAGIC {
        return Err(Error::setting("ledger", path.display(), "a new file, or a ledger that may be replaced"));
    }
    file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(refused)?;
    Ok(file)
}

/// Reads a ledger. Fails if the file is missing, is no ledger, or has no intact header.
pub fn read(path: &Path) -> Result<Saved> {
    let refused = |e: io::Error| {
        Error::setting("LEDGER", path.display(), format!("a ledger that can be read ({})", reason(&e)))
    };
    let wrong = |allowed| Error::setting("LEDGER", path.display(), allowed);
    let file = File::open(path).map_err(refused)?;
    let size = file.metadata().map_err(refused)?.len();
    let mut source = BufReader::with_capacity(1 << 20, file);
    let mut magic = [0; MAGIC.len()];
    let ours = "a file that lycosa simnet --ledger wrote";
    source.read_exact(&mut magic).map_err(|_| wrong(ours))?;
    if magic != *MAGIC {
        let newer = magic.starts_with(&MAGIC[..MAGIC.len() - 2]);
        return Err(wrong(if newer { "a ledger of version 1; this file has another version" } else { ours }));
    }
    let mut reader = Reader { source, at: MAGIC.len() as u64, payload: Vec::new() };
    let header = match reader.block().map_err(refused)? {
        Ok(head) if head.content == Content::Header => serde_json::from_slice::<Header>(&reader.payload).ok(),
        _ => None,
    };
    let header = header.ok_or_else(|| wrong("a ledger whose header is undamaged"))?;
    let mut book = Book::default();
    let why = loop {
        match reader.block().map_err(refused)? {
            Ok(head) if head.content == Content::End => {
                book.connections(head);
                break None;
            }
            // Not detected by the checksum: blocks that are missing, duplicated, or of another file.
            Ok(head) if book.enter(head, &reader.payload).is_none() => break Some("damaged"),
            Ok(_) => reader.at += (HEAD + reader.payload.len()) as u64,
            Err(why) => break Some(why),
        }
    };
    let mut damage = None;
    if let Some(why) = why {
        let (at, until) = (reader.at, book.until);
        let (requests, questions) = book.count_missing(&mut reader, size).map_err(refused)?;
        damage = Some(Damage { why, at, unread: size.saturating_sub(at), requests, questions, until });
    }
    book.records.sort();
    Ok(Saved { header, records: book.records, until: book.until, damage })
}

/// A checksum of a world's hosts, pages and addresses, to detect different worlds.
pub(crate) fn fingerprint(world: &World) -> u32 {
    let mut crc = Crc::new();
    for host in 0..world.host_count().min(SAMPLE) {
        let last = world.pages(host) - 1;
        crc.update(world.name(host).as_bytes());
        crc.update(
            format!(
                "{:?} {:?} {:?} {:?} {:?}",
                world.address(host),
                world.address6(host),
                world.certificate(host),
                world.slot(host, last),
                world.robots(host)
            )
            .as_bytes(),
        );
        crc.update(world.path(host, last).as_bytes());
    }
    crc.update(&world.url_count().to_le_bytes());
    crc.sum()
}

/// Reader of blocks.
struct Reader {
    /// The file.
    source: BufReader<File>,
    /// Start of the next block.
    at: u64,
    /// Payload of the last block.
    payload: Vec<u8>,
}

impl Reader {
    /// Reads the next block; returns its head, or the kind of damage.
    fn block(&mut self) -> io::Result<std::result::Result<Head, &'static str>> {
        let mut bytes = [0; HEAD];
        let got = fill(&mut self.source, &mut bytes)?;
        if got == 0 {
            return Ok(Err("not closed"));
        }
        if got < HEAD {
            return Ok(Err("truncated"));
        }
        let Some(head) = Head::parse(&bytes) else { return Ok(Err("damaged")) };
        self.payload.resize(head.length as usize, 0);
        if fill(&mut self.source, &mut self.payload)? < self.payload.len() {
            return Ok(Err("truncated"));
        }
        if !Head::fits(&bytes, &self.payload) {
            return Ok(Err("damaged"));
        }
        if head.content == Content::Header {
            self.at += (HEAD + self.payload.len()) as u64;
        }
        Ok(Ok(head))
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(source: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while !buffer.is_empty() {
        match source.read(buffer) {
            Ok(0) => break,
            Ok(n) => {
                got += n;
                buffer = &mut buffer[n..];
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

/// Consecutive requests of a shard.
struct Run {
    /// Index of the first one in the shard.
    first: u64,
    /// Its index among all requests.
    at: usize,
    /// Number of requests.
    count: u64,
}

/// The records read so far.
#[derive(Default)]
struct Book {
    /// The records, in the order of the file.
    records: Records,
    /// Runs of requests, by shard.
    runs: BTreeMap<u8, Vec<Run>>,
    /// Number of DNS questions and of late completions, by kind and shard.
    others: BTreeMap<(u8, u8), u64>,
    /// The last block's time.
    until: u64,
}

impl Book {
    /// Adds a block; returns `None` if it is invalid or does not continue the earlier blocks.
    fn enter(&mut self, head: Head, payload: &[u8]) -> Option<()> {
        let mut decoder = Decoder::new(payload);
        let count = head.count as usize;
        if head.first != self.next(head.content, head.shard) {
            return None;
        }
        match head.content {
            Content::Header | Content::End => return None,
            Content::Strings => {
                let strings = std::iter::from_fn(|| decoder.string()).map(str::to_owned).take(count);
                let new: Vec<_> = strings.collect();
                (new.len() == count).then(|| self.records.strings.extend(new))?;
            }
            Content::Requests => {
                let new: Vec<_> = std::iter::from_fn(|| decoder.request()).take(count).collect();
                let run =
                    Run { first: head.first, at: self.records.requests.len(), count: u64::from(head.count) };
                (new.len() == count).then(|| self.records.requests.extend(new))?;
                self.runs.entry(head.shard).or_default().push(run);
            }
            Content::Questions => {
                let new: Vec<_> = std::iter::from_fn(|| decoder.question()).take(count).collect();
                (new.len() == count).then(|| self.records.questions.extend(new))?;
            }
            Content::Late => {
                let new: Vec<_> = std::iter::from_fn(|| decoder.late()).take(count).collect();
                let new = (new.len() == count).then_some(new)?;
                new.into_iter().try_for_each(|(place, time)| self.complete(head.shard, place, time))?;
            }
        }
        if matches!(head.content, Content::Questions | Content::Late) {
            *self.others.entry((head.content as u8, head.shard)).or_default() += u64::from(head.count);
        }
        self.connections(head);
        decoder.is_done().then_some(())
    }

    /// Number of entries of a kind and shard so far.
    fn next(&self, content: Content, shard: u8) -> u64 {
        match content {
            Content::Header | Content::End => 0,
            Content::Strings => self.records.strings.len() as u64,
            Content::Requests => {
                self.runs.get(&shard).and_then(|runs| runs.last()).map_or(0, |run| run.first + run.count)
            }
            Content::Questions | Content::Late => {
                self.others.get(&(content as u8, shard)).copied().unwrap_or(0)
            }
        }
    }

    /// Stores the counters of a block's head.
    fn connections(&mut self, head: Head) {
        self.records.connections = u64::from(head.connections);
        self.records.handshakes = head.handshakes;
        self.until = head.time;
    }

    /// Adds a late completion.
    fn complete(&mut self, shard: u8, place: u64, time: u64) -> Option<()> {
        let runs = self.runs.get(&shard)?;
        let run = &runs[runs.partition_point(|run| run.first <= place).checked_sub(1)?];
        let offset = place.checked_sub(run.first).filter(|&offset| offset < run.count)?;
        self.records.requests.get_mut(run.at + offset as usize)?.complete_at(time);
        Some(())
    }

    /// Searches for heads of blocks after a damage; returns the numbers of unread requests and DNS questions by their counters.
    fn count_missing(&self, reader: &mut Reader, size: u64) -> io::Result<(u64, u64)> {
        let mut ends: BTreeMap<(Content, u8), u64> = BTreeMap::new();
        let mut at = reader.at;
        let mut bytes = [0; HEAD];
        let mut window = vec![0; 1 << 16];
        while at + HEAD as u64 <= size {
            reader.source.seek(SeekFrom::Start(at))?;
            let got = fill(&mut reader.source, &mut window)?;
            let found = window[..got].windows(MARKER.len()).position(|bytes| bytes == MARKER);
            let Some(offset) = found else {
                at += (got.saturating_sub(MARKER.len() - 1)).max(1) as u64;
                continue;
            };
            at += offset as u64;
            reader.source.seek(SeekFrom::Start(at))?;
            if fill(&mut reader.source, &mut bytes)? < HEAD {
                break;
            }
            let head = Head::parse(&bytes).filter(|head| self.is_plausible(head, &bytes, reader));
            let Some(head) = head else {
                at += 1;
                continue;
            };
            let end = ends.entry((head.content, head.shard)).or_default();
            *end = (*end).max(head.first + u64::from(head.count));
            at += (HEAD + head.length as usize) as u64;
        }
        let missing = |content| {
            let of = ends.iter().filter(|((of, _), _)| *of == content);
            of.map(|((_, shard), end)| end.saturating_sub(self.next(content, *shard))).sum()
        };
        Ok((missing(Content::Requests), missing(Content::Questions)))
    }

    /// Whether a head found after a damage is credible: its block is intact, or truncated and next in order.
    fn is_plausible(&self, head: &Head, bytes: &[u8; HEAD], reader: &mut Reader) -> bool {
        reader.payload.resize(head.length as usize, 0);
        match fill(&mut reader.source, &mut reader.payload) {
            Ok(got) if got == reader.payload.len() => Head::fits(bytes, &reader.payload),
            Ok(_) => head.first == self.next(head.content, head.shard),
            Err(_) => false,
        }
    }
}

/// Short text of an error.
fn reason(error: &io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |code| nix::errno::Errno::from_raw(code).desc().to_owned())
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
