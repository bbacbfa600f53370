//! Dedup: the seen set of the URLs that were admitted before, the links for which only the disk can tell, and what became of URLs whose
//! entry is still in a queue.
//!
//! Guarantees:
//! 1. A key is new once ([`Seen`]); a link that is suspected is decided by [`Dedup::verify`], and no host waits for that.
//! 2. An entry of a queue whose URL has a tombstone is never fetched as if nothing had become of it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use hashbrown::{HashMap, HashSet};
use lycosa_records::{RequestOptions, key_of};
use lycosa_url::{Digest, Micros, UrlRef};

use crate::believed::Believed;
use crate::codec::{self, put_number};
use crate::intake::AllowedLink;
use crate::suspects::{Suspects, Taken};
use crate::waiting::{Candidate, Waiting};
use crate::{Answer, Seen, Settings};

/// The part of the memory of waiting URLs that suspected links may have: a quarter.
const SUSPECTED: usize = 4;

/// Known URLs, suspected links and tombstones.
#[derive(Debug)]
pub(crate) struct Dedup {
    seen: Seen,
    suspects: Suspects,
    /// Bytes of suspected links from which on they are decided at once.
    suspects_memory: usize,
    pub(crate) tombstones: Tombstones,
    /// Keys of the links that are being added; stored for its memory.
    keys: Vec<Digest>,
    /// Links that were known.
    known: u64,
}

impl Dedup {
    /// Only a set of known URLs.
    pub(crate) fn new(settings: &Settings, seen: Seen) -> Self {
        Dedup {
            seen,
            suspects: Suspects::default(),
            suspects_memory: settings.queue_memory / SUSPECTED,
            tombstones: Tombstones::default(),
            keys: Vec::new(),
            known: 0,
        }
    }

    /// The key of a candidate.
    pub(crate) fn key(&self, candidate: &Candidate<'_>) -> Digest {
        match candidate.options {
            None => self.seen.key(candidate.url),
            Some(options) => self.key_of(candidate.url, Some(options)),
        }
    }

    /// The key of a URL and what its request has beyond a GET.
    fn key_of(&self, url: UrlRef<'_>, options: Option<&RequestOptions>) -> Digest {
        let digest = key_of(url, options);
        if digest == *url.digest() { self.seen.key(url) } else { self.seen.key_of_digest(&digest) }
    }

    /// Adds links; returns for each whether it is new. Known ones are counted, suspected ones wait for [`Dedup::verify`].
    pub(crate) fn add_links(&mut self, links: &[AllowedLink<'_>], now: Micros) -> Vec<Answer> {
        self.keys.clear();
        self.keys.extend(links.iter().map(|link| self.seen.key(link.url)));
        let answers = self.seen.add(&self.keys);
        for ((link, answer), key) in links.iter().zip(&answers).zip(&self.keys) {
            match answer {
                Answer::New => {}
                Answer::Known => self.known += 1,
                Answer::Suspected => {
                    self.suspects.push(key, &link.candidate(link.options().as_ref()), now);
                }
            }
        }
        answers
    }

    /// The same of one candidate.
    pub(crate) fn add(&mut self, candidate: &Candidate<'_>, now: Micros) -> Answer {
        let key = self.key(candidate);
        let answer = self.seen.add(&[key]).pop().unwrap_or(Answer::Known);
        match answer {
            Answer::New => {}
            Answer::Known => self.known += 1,
            Answer::Suspected => self.suspects.push(&key, candidate, now),
        }
        answer
    }

    /// Makes a URL known that is not to be fetched.
    pub(crate) fn add_known(&mut self, url: UrlRef<'_>) {
        let key = self.seen.key(url);
        self.seen.add(&[key]);
    }

    /// Whether a candidate is known; a suspected one is.
    pub(crate) fn contains(&self, candidate: &Candidate<'_>) -> io::Result<bool> {
        self.seen.contains(&self.key(candidate))
    }

    /// Whether a candidate's key waits for [`Dedup::verify`].
    pub(crate) fn is_suspected(&self, candidate: &Candidate<'_>) -> bool {
        self.seen.is_suspected(&self.key(candidate))
    }

    /// Whether any key waits for [`Dedup::verify`]: a canonical URL's does without a link that waits.
    pub(crate) fn has_suspected_keys(&self) -> bool {
        self.seen.suspected() > 0
    }

    /// Whether a suspected link waits.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Whether suspected links take more memory than they may.
    pub(crate) fn is_over_memory(&self) -> bool {
        self.suspects.memory() > self.suspects_memory
    }

    /// Bytes of suspected links.
    pub(crate) fn memory(&self) -> usize {
        self.suspects.memory()
    }

    /// When suspected links are to be decided, at the latest.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        self.suspects.due_at()
    }

    /// Decides all suspected links; [`Dedup::next_new`] takes out those that are new.
    pub(crate) fn verify(&mut self) -> io::Result<Verified> {
        let new: HashSet<Digest> = self.seen.verify()?.into_iter().collect();
        Ok(Verified { new, taken: self.suspects.take() })
    }

    /// The next link that was suspected and is new; counts those before it that were known.
    pub(crate) fn next_new(&mut self, verified: &mut Verified) -> Option<Waiting> {
        let (known, waiting) = verified.taken.next_new(|key| verified.new.contains(key));
        self.known += known;
        waiting
    }

    /// The error that made the set keep keys in memory which should be on disk.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        self.seen.take_error()
    }

    /// Known URLs.
    pub(crate) fn len(&self) -> u64 {
        self.seen.len()
    }

    /// Links that were known.
    pub(crate) fn known(&self) -> u64 {
        self.known
    }

    /// Sets that count to an earlier process's.
    pub(crate) fn set_known(&mut self, known: u64) {
        self.known = known;
    }

    /// The numbers of the files that a snapshot names.
    pub(crate) fn files(&self) -> BTreeSet<u64> {
        self.seen.files().into_iter().collect()
    }

    /// The files of known URLs.
    pub(crate) fn files_in_use(&self) -> impl Iterator<Item = &File> {
        self.seen.files_in_use()
    }

    /// Writes the set of known URLs.
    pub(crate) fn save(&mut self, into: &mut dyn Write) -> io::Result<()> {
        self.seen.save(into)
    }

    /// Reads it.
    pub(crate) fn load(&mut self, settings: &Settings, from: &mut dyn Read) -> io::Result<()> {
        self.seen = Seen::load(settings.seen(), from)?;
        Ok(())
    }

    /// The files that are neither in use nor among `keep`, to be removed.
    pub(crate) fn unused_files(&mut self, keep: &BTreeSet<u64>) -> io::Result<Vec<PathBuf>> {
        self.seen.unused_files(keep)
    }
}

/// Suspected links that were decided.
pub(crate) struct Verified {
    new: HashSet<Digest>,
    taken: Taken,
}

/// What became of an admitted URL whose entry is still in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tombstone {
    /// It is settled: the entry is skipped.
    Settled,
    /// It was tried so many times.
    Tried(u32),
}

/// Tombstones by request key. The log's replay fills them; entries that are taken out of their queues empty them.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    all: HashMap<Digest, Tombstone>,
    /// The URLs of those of the replay.
    pub(crate) believed: Believed,
}

impl Tombstones {
    /// Whether there are none, as in a process that was not restarted.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether the entry of a URL is to be skipped.
    pub(crate) fn is_settled(&self, key: &Digest) -> bool {
        self.all.get(key) == Some(&Tombstone::Settled)
    }

    /// How many entries are to be skipped.
    pub(crate) fn settled(&self) -> u64 {
        self.all.values().filter(|tombstone| **tombstone == Tombstone::Settled).count() as u64
    }

    /// A URL of a host was ended out of turn.
    pub(crate) fn ended(&mut self, key: Digest, host: &str) {
        self.all.insert(key, Tombstone::Settled);
        self.believed.ended(&key, host);
    }

    /// A URL was tried so many times, out of turn.
    pub(crate) fn tried(&mut self, key: Digest, waiting: Waiting) {
        self.all.insert(key, Tombstone::Tried(waiting.attempt));
        self.believed.waits(&key, waiting);
    }

    /// A URL was opened again that was ended out of turn.
    pub(crate) fn opened(&mut self, key: &Digest, waiting: Waiting) {
        self.all.remove(key);
        self.believed.waits(key, waiting);
    }

    /// Takes out what became of a URL that was in its host's queue.
    pub(crate) fn take(&mut self, key: &Digest, host: &str) -> Option<Tombstone> {
        self.believed.found(key, host);
        self.all.remove(key)
    }

    /// Removes what became of a URL that lies in no queue.
    pub(crate) fn remove(&mut self, key: &Digest) {
        self.all.remove(key);
    }

    /// The URLs of a snapshot of an earlier version may not lie in queues.
    pub(crate) fn doubt(&mut self) {
        self.believed.load(self.all.keys().copied());
    }

    /// Appends them to a record of a snapshot.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        put_number(record, self.all.len() as u64);
        for (digest, tombstone) in &self.all {
            record.extend_from_slice(digest);
            let number = match tombstone {
                Tombstone::Settled => 0,
                Tombstone::Tried(attempt) => attempt.saturating_add(1).into(),
            };
            put_number(record, number);
        }
    }

    /// Reads them.
    pub(crate) fn unpack(mut from: &[u8]) -> Option<Self> {
        let from = &mut from;
        let mut all = HashMap::new();
        for _ in 0..codec::number(from)? {
            let (digest, rest) = from.split_first_chunk::<16>()?;
            *from = rest;
            let tombstone = match codec::small(from)? {
                0 => Tombstone::Settled,
                tried => Tombstone::Tried(tried - 1),
            };
            all.insert(*digest, tombstone);
        }
        Some(Tombstones { all, believed: Believed::default() })
    }
}

#[cfg(test)]
mod tests {
    use lycosa_url::CrawlUrl;

    use super::*;

    #[test]
    fn a_link_is_new_once_and_the_others_are_counted() {
        let mut dedup = Dedup::new(&Settings::default(), Seen::default());
        let urls =
            ["http://a.com/", "http://a.com/1", "http://a.com/"].map(|text| CrawlUrl::parse(text).unwrap());
        let links: Vec<_> = urls
            .iter()
            .map(|url| AllowedLink { url: url.borrow(), depth: 1, page: 1, priority: 0 })
            .collect();
        assert_eq!(dedup.add_links(&links, 0), [Answer::New, Answer::New, Answer::Known]);
        assert_eq!(dedup.add(&Candidate::link(urls[1].borrow(), 1), 0), Answer::Known);
        dedup.add_known(CrawlUrl::parse("http://a.com/copy").unwrap().borrow());
        assert_eq!((dedup.known(), dedup.len()), (2, 3));
        assert!(!dedup.has_suspects() && !dedup.has_suspected_keys(), "without a disk nothing is suspected");
    }

    #[test]
    fn tombstones_come_back_from_a_snapshot() {
        let mut tombstones = Tombstones::default();
        tombstones.ended([1; 16], "a.com");
        tombstones.tried([2; 16], Waiting::new(CrawlUrl::parse("http://a.com/").unwrap()));
        let mut packed = Vec::new();
        tombstones.pack(&mut packed);
        let mut read = Tombstones::unpack(&packed).unwrap();
        assert!(read.is_settled(&[1; 16]) && !read.is_settled(&[2; 16]) && !read.is_settled(&[3; 16]));
        assert_eq!(read.take(&[2; 16], "a.com"), Some(Tombstone::Tried(0)));
        assert_eq!((read.take(&[1; 16], "a.com"), read.is_empty()), (Some(Tombstone::Settled), true));
        assert!(Tombstones::unpack(&packed[..20]).is_none());
    }
}
