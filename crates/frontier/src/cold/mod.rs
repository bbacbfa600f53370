//! Hosts that are not in memory: what is known of each, and its waiting URLs, are records on disk.
//!
//! A host for which there is no space goes here with its first URL; each further URL is a record that names the one before it. A
//! host that was in memory and that nothing waits for goes here with what is known of it (`state.rs`). Hosts that wait for space
//! come back in the order of their first records: the journal of waiting hosts is a queue. A host whose address has enough hosts in
//! memory is put aside: it comes back when its address wants another one (`hosts/crowds.rs`). So is a host that fails, until its next try
//! (`hosts/retries.rs`).
//!
//! Guarantees:
//! 1. A host is either in memory or here. What was put in is taken out, once: state and URLs, in order.
//! 2. All records of the waiting journal before `scan` are of hosts that were taken out since, or are put aside.
//! 3. Hosts whose keys collide share a chain of records, and are taken out together: names in records tell them apart.
//! 4. The files of the other journal are at most about four times what is in use in them (`compact.rs`).

mod compact;
mod index;
mod journal;
mod saved;
pub(crate) mod state;

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::path::PathBuf;

use lycosa_url::{Digest, Micros};

use crate::backlog::unpack_all;
use crate::codec::{self, put_bytes, put_number};
use crate::keys::NameKeys;
use index::{Index, KEY_BITS, Place, Wait};
use journal::{Journal, Position};

/// Records of one host, at most: a host with so many URLs is worth the memory of a queue, and reading them back takes long.
pub(crate) const MOST_RECORDS: u8 = u8::MAX;

/// Records of a chain that are believed: a longer one is damage.
const LONGEST_CHAIN: usize = 4 * MOST_RECORDS as usize;

/// Records that are looked at in one call for one that is in use, at most: of hosts that were taken out there may be millions in a row.
const SCANNED_AT_ONCE: usize = 1000;

/// What happened to all hosts at once: it is applied to a host that is on disk when it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A process began then: requests that the one before it sent may have arrived just before.
    Began(Micros),
    /// Names may be a captive portal's.
    DoubtedNames,
    /// Rules that were learnt since then may be a captive portal's.
    DoubtedRules(Micros),
    /// Failures since then were the crawl's own; the moment also on the healthy clock.
    TookBack(Micros, Micros),
}

/// A host that comes back.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ColdHost {
    /// Its name, as in its URLs.
    pub(crate) host: Box<str>,
    /// What is known of it, packed; empty: nothing.
    pub(crate) state: Vec<u8>,
    /// Its waiting URLs, packed, and their number.
    pub(crate) packed: Vec<u8>,
    pub(crate) urls: usize,
    /// What has happened to all hosts since its first record.
    pub(crate) events: Vec<Event>,
}

impl ColdHost {
    /// The request keys of the URLs that wait for it.
    fn into_waiting_keys(self) -> impl Iterator<Item = io::Result<Digest>> {
        unpack_all(self.host, Ok(self.packed.into())).map(|waiting| Ok(waiting?.key()))
    }
}

/// The content of a record.
struct Record<'a> {
    /// The host's record before it.
    before: Option<Place>,
    /// How many events there were.
    events: usize,
    host: &'a str,
    state: &'a [u8],
    urls: usize,
    packed: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads a record.
    fn parse(mut content: &'a [u8]) -> Option<Self> {
        let from = &mut content;
        let before = match codec::number(from)? {
            0 => None,
            number => Some(Place::of_number(number - 1)?),
        };
        let events = codec::small(from)? as usize;
        let (host, state, urls) = (codec::text(from)?, codec::bytes(from)?, codec::small(from)? as usize);
        Some(Record { before, events, host, state, urls, packed: from })
    }
}

/// All hosts that are not in memory.
#[derive(Debug)]
pub(crate) struct Cold {
    keys: NameKeys,
    index: Index,
    /// Records of hosts that wait for space, and of all others.
    waiting: Journal,
    rested: Journal,
    /// Where the next host that comes back is looked for.
    scan: Position,
    /// The keys of hosts that come back before those; some have been taken out since.
    first: VecDeque<u64>,
    /// The keys of hosts that an earlier process had put aside: they take turns with those that wait for space.
    before: VecDeque<u64>,
    is_turn_of_before: bool,
    /// Hosts that wait for space; URLs of all hosts.
    hosts: usize,
    urls: u64,
    /// URLs of hosts that wait for a time.
    failing_urls: u64,
    /// Where the next record that may be written again is looked for, in the journal of hosts that do not wait for space.
    compacted: Position,
    events: Vec<Event>,
    /// The content of the record that is written; stored for its memory.
    content: Vec<u8>,
}

impl Cold {
    /// No hosts. `directory` is made when it is needed; without one no host comes here.
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Cold {
            keys: NameKeys::default(),
            index: Index::default(),
            waiting: Journal::new(directory.clone(), "waiting"),
            rested: Journal::new(directory, "rested"),
            scan: 0,
            first: VecDeque::new(),
            before: VecDeque::new(),
            is_turn_of_before: false,
            hosts: 0,
            urls: 0,
            failing_urls: 0,
            compacted: 0,
            events: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Whether hosts may come here.
    pub(crate) fn is_possible(&self) -> bool {
        self.waiting.is_possible()
    }

    /// How many hosts are here. Those whose keys collide count as one.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether hosts here wait for space.
    pub(crate) fn has_waiting(&self) -> bool {
        self.hosts > 0 || !self.first.is_empty() || !self.before.is_empty()
    }

    /// URLs that wait here.
    pub(crate) fn urls(&self) -> u64 {
        self.urls
    }

    /// URLs that wait here for hosts that fail.
    pub(crate) fn failing_urls(&self) -> u64 {
        self.failing_urls
    }

    /// The key of a host.
    pub(crate) fn key(&self, host: &str) -> u64 {
        let key = self.keys.of(host) >> (u64::BITS - KEY_BITS);
        #[cfg(test)]
        let key = key & tests::USED_BITS.get();
        key
    }

    /// Whether a host is here, or another one with its key.
    pub(crate) fn contains(&self, host: &str) -> bool {
        self.index.len() > 0 && self.index.get(self.key(host)).is_some()
    }

    /// How many records a host has; `None`: it is not here.
    pub(crate) fn records(&self, key: u64) -> Option<u8> {
        self.index.get(key).map(|(records, _)| records)
    }

    /// Takes a host with what is known of it, or some more of its URLs, which `pack` appends. Returns whether it is the first of its
    /// key. An error means that nothing was taken.
    pub(crate) fn append(
        &mut self,
        host: &str,
        state: &[u8],
        urls: usize,
        pack: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<bool> {
        let wait = if urls == 0 { Wait::Url } else { Wait::Space };
        self.put(host, state, (urls, wait), pack)
    }

    /// Takes a host that does not come back for space, but when the caller takes it. `fails`: whether it waits for its next try.
    pub(crate) fn put_aside(
        &mut self,
        host: &str,
        state: &[u8],
        (urls, packed): (usize, &[u8]),
        fails: bool,
    ) -> io::Result<()> {
        let wait = if fails { Wait::Time } else { Wait::Address };
        self.put(host, state, (urls, wait), |into| into.extend_from_slice(packed)).map(drop)
    }

    /// Writes a record.
    fn put(
        &mut self,
        host: &str,
        state: &[u8],
        (urls, wait): (usize, Wait),
        pack: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<bool> {
        let key = self.key(host);
        let before = self.index.get(key).map(|(_, place)| place);
        let begins_to_fail = wait == Wait::Time && before.is_some_and(|place| place.wait != Wait::Time);
        let others = if begins_to_fail { self.read(key)? } else { Vec::new() };
        let content = &mut self.content;
        content.clear();
        put_before(content, before);
        put_number(content, self.events.len() as u64);
        put_bytes(content, host.as_bytes());
        put_bytes(content, state);
        put_number(content, urls as u64);
        pack(content);
        // More of a host, or another one of the same key, does not change what the first ones wait for; but hosts that are put aside
        // are in lists of their addresses or of retries, so that one of these decides for all.
        let was = before.map(|place| place.wait);
        let wait = match (was, wait) {
            (Some(Wait::Time), _) | (_, Wait::Time) => Wait::Time,
            (Some(Wait::Address), _) | (_, Wait::Address) => Wait::Address,
            (Some(Wait::Space), _) => Wait::Space,
            _ => wait,
        };
        let journal = if wait == Wait::Space { &mut self.waiting } else { &mut self.rested };
        let position = journal.append(content)?;
        self.index.set(key, Place { wait, position });
        self.hosts += usize::from(wait == Wait::Space && was != Some(Wait::Space));
        self.hosts -= usize::from(wait != Wait::Space && was == Some(Wait::Space));
        self.urls += urls as u64;
        if wait == Wait::Time {
            self.failing_urls += (urls + others.iter().map(|other| other.urls).sum::<usize>()) as u64;
        }
        Ok(before.is_none())
    }

    /// Has a host come back before those that wait for space. A key of a host that is not here is ignored.
    pub(crate) fn put_first(&mut self, key: u64) {
        if self.first.back() != Some(&key) {
            self.first.push_back(key);
        }
    }

    /// What a host waits for; `None`: it is not here.
    fn wait_of(&self, key: u64) -> Option<Wait> {
        self.index.get(key).map(|(_, place)| place.wait)
    }

    /// Whether a host waits for space.
    pub(crate) fn waits_for_space(&self, key: u64) -> bool {
        self.wait_of(key) == Some(Wait::Space)
    }

    /// Whether a host is put aside.
    pub(crate) fn is_aside(&self, key: u64) -> bool {
        matches!(self.wait_of(key), Some(Wait::Address | Wait::Time))
    }

    /// The key of the host that is to come back next; [`Cold::take`] takes it out. `None`: none waits for space, or none was found in
    /// the records that are looked at in one call.
    pub(crate) fn next(&mut self) -> io::Result<Option<u64>> {
        self.is_turn_of_before = !self.is_turn_of_before;
        let is_turn = self.is_turn_of_before || self.hosts == 0;
        while let Some(key) = self.next_called(is_turn) {
            if self.wait_of(key).is_some_and(|wait| wait != Wait::Url) {
                return Ok(Some(key));
            }
        }
        for _ in 0..SCANNED_AT_ONCE {
            if self.hosts == 0 {
                break;
            }
            let position = self.waiting.first_from(self.scan).ok_or_else(damaged_journal)?;
            let (content, next) = self.waiting.read(position)?;
            let record = Record::parse(&content).ok_or_else(damaged_journal)?;
            let key = self.key(record.host);
            self.scan = next;
            // Others were taken out before their turn.
            if self.waits_for_space(key) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// The key of a host that comes back for another reason than space. `is_turn`: also of those that an earlier process had put aside.
    fn next_called(&mut self, is_turn: bool) -> Option<u64> {
        self.first.pop_front().or_else(|| if is_turn { self.before.pop_front() } else { None })
    }

    /// The keys of all hosts.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        self.index.iter().map(|(key, _, _)| key)
    }

    /// The hosts with a key, as they are taken out: mostly one, and none if it is not here.
    pub(crate) fn read(&self, key: u64) -> io::Result<Vec<ColdHost>> {
        self.hosts_of(&self.chain(key)?)
    }

    /// The request keys of the URLs that wait for the hosts with a key.
    pub(crate) fn waiting_keys(&self, key: u64) -> impl Iterator<Item = io::Result<Digest>> + use<> {
        let (hosts, error) =
            self.read(key).map_or_else(|error| (Vec::new(), Some(error)), |hosts| (hosts, None));
        error.into_iter().map(Err).chain(hosts.into_iter().flat_map(ColdHost::into_waiting_keys))
    }

    /// Takes out the hosts with a key.
    pub(crate) fn take(&mut self, key: u64) -> io::Result<Vec<ColdHost>> {
        let Some((_, newest)) = self.index.get(key) else { return Ok(Vec::new()) };
        let chain = self.chain(key)?;
        let hosts = self.hosts_of(&chain)?;
        self.index.remove(key);
        self.hosts -= usize::from(newest.wait == Wait::Space);
        let urls = hosts.iter().map(|host| host.urls as u64).sum();
        self.urls = self.urls.saturating_sub(urls);
        if newest.wait == Wait::Time {
            self.failing_urls = self.failing_urls.saturating_sub(urls);
        }
        for (place, content) in &chain {
            self.journal(place.wait).free(place.position, content.len());
        }
        Ok(hosts)
    }

    /// The records with a key, the newest first.
    fn chain(&self, key: u64) -> io::Result<Vec<(Place, Vec<u8>)>> {
        let (mut next, mut chain) = (self.index.get(key).map(|(_, place)| place), Vec::new());
        while let Some(place) = next {
            let journal = if place.wait == Wait::Space { &self.waiting } else { &self.rested };
            let (content, _) = journal.read(place.position)?;
            let record = Record::parse(&content).filter(|record| self.key(record.host) == key);
            next = record.ok_or_else(damaged_journal)?.before;
            chain.push((place, content));
            if chain.len() > LONGEST_CHAIN {
                return Err(damaged_journal());
            }
        }
        Ok(chain)
    }

    /// The hosts in these records.
    fn hosts_of(&self, chain: &[(Place, Vec<u8>)]) -> io::Result<Vec<ColdHost>> {
        let mut hosts: Vec<ColdHost> = Vec::new();
        for (_, content) in chain.iter().rev() {
            let record = Record::parse(content).ok_or_else(damaged_journal)?;
            let index = hosts.iter().position(|known| *known.host == *record.host).unwrap_or_else(|| {
                let events = self.events.get(record.events..).unwrap_or_default().to_vec();
                hosts.push(ColdHost { host: record.host.into(), events, ..ColdHost::default() });
                hosts.len() - 1
            });
            let host = &mut hosts[index];
            if !record.state.is_empty() {
                host.state = record.state.to_vec();
            }
            host.packed.extend_from_slice(record.packed);
            host.urls += record.urls;
        }
        Ok(hosts)
    }

    /// The journal of the records of hosts that wait for this.
    fn journal(&mut self, wait: Wait) -> &mut Journal {
        if wait == Wait::Space { &mut self.waiting } else { &mut self.rested }
    }

    /// Something happens to all hosts.
    pub(crate) fn happens(&mut self, event: Event) {
        if self.index.len() == 0 {
            self.events.clear(); // nobody has missed what happened before
        }
        self.events.push(event);
    }

    /// Writes all records to their files.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.waiting.flush()?;
        self.rested.flush()
    }

    /// Makes the files in use durable. What is not flushed is not there.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.waiting.sync()?;
        self.rested.sync()
    }

    /// The numbers of the files in use: of waiting hosts, and of others.
    pub(crate) fn used(&self) -> [BTreeSet<u32>; 2] {
        [self.waiting.used(), self.rested.used()]
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.waiting.files().chain(self.rested.files())
    }

    /// The files that are neither in use nor among `keep`, to be removed.
    pub(crate) fn unused_files(&mut self, keep: &[BTreeSet<u32>; 2]) -> io::Result<Vec<PathBuf>> {
        let mut unused = self.waiting.unused_files(&keep[0])?;
        unused.extend(self.rested.unused_files(&keep[1])?);
        Ok(unused)
    }
}

/// Appends the place of a host's record before: the beginning of a record.
fn put_before(into: &mut Vec<u8>, before: Option<Place>) {
    put_number(into, before.map_or(0, |place| place.number() + 1));
}

/// The error for records that do not say what they should.
fn damaged_journal() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file of hosts that wait is damaged")
}

#[cfg(test)]
pub(crate) mod tests;
