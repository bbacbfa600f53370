//! All hosts with their queues, and the memory that their waiting URLs take. Which hosts are in memory is decided in
//! `hosts/evict.rs`; those that are not are in `cold/mod.rs`.
//!
//! Filled by admission, retries and redirects ([`Hosts::push`], [`Hosts::requeue`]); emptied by grants ([`Hosts::next_waiting`]).
//!
//! Guarantees:
//! 1. A host has at most one queue, and keeps its number while it is in memory.
//! 2. The bytes that backlogs store in memory are counted; beyond `queue_memory` tails are written to the disk, if there is a
//!    directory, so that memory is bounded by it and by short tails.
//! 3. A host beyond `max_hosts`, or beyond `domain_hosts` of its registered domain, gets no queue.

mod crowds;
mod evict;
mod retries;
pub(crate) mod space;

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::hash::BuildHasher;
use std::io;
use std::ops::{Index, IndexMut};
use std::path::PathBuf;

use hashbrown::{DefaultHashBuilder, HashTable};
use lycosa_url::{Digest, Micros};

use crate::Settings;
use crate::cold::Cold;
use crate::dedup::{Tombstone, Tombstones};
use crate::levels::Levels;
use crate::politeness::domains::Domains;
use crate::queue::Queue;
use crate::schedule::QueueId;
use crate::spill::Spill;
use crate::strategy::Strategy;
use crate::waiting::{Candidate, Waiting, pack};
use crowds::Crowds;
pub(crate) use evict::WaitsFor;
use retries::Retries;

/// Bytes of the tails that are written when memory is short: long tails first, and the shortest never, since the system call costs
/// more than their memory.
const SPILLED_TAILS: [usize; 3] = [4096, 1024, 128];

/// All host queues. [`QueueId`] is the index.
#[derive(Debug)]
pub(crate) struct Hosts {
    queues: Vec<Queue>,
    /// Slots of hosts that are not in memory any more.
    vacant: Vec<QueueId>,
    /// Hosts that are not in memory.
    pub(crate) cold: Cold,
    /// Hosts in memory that nothing waits for, by the time since when that is so; some have been woken since, or have left.
    rested: VecDeque<(Micros, QueueId)>,
    resting: usize,
    /// Hosts in the schedule for a time long from now.
    delayed: usize,
    /// Hosts in memory that are not counted among those for which there is space.
    exempt: usize,
    /// Hosts that are put aside since their address has enough of them in memory.
    pub(crate) crowds: Crowds,
    /// Hosts that are put aside since they fail.
    pub(crate) retries: Retries,
    /// Hosts in memory that are to be put aside, and what they wait for then.
    leaving: Vec<(QueueId, WaitsFor)>,
    warm_hosts: usize,
    /// The number of hosts in memory up to which no other try is made to have some leave.
    sweep_at: usize,
    /// The first error of the disk that could not be returned at once.
    error: Option<io::Error>,
    /// Queues by host name; the names are stored in the queues only.
    by_name: HashTable<QueueId>,
    hasher: DefaultHashBuilder,
    /// Bytes of waiting URLs in memory, and the number from which on they are written to the disk.
    memory: usize,
    relieve_at: usize,
    /// The queue that was last relieved: a sweep resumes behind it.
    sweep: usize,
    spill: Spill,
    queue_memory: usize,
    max_hosts: usize,
    domain_hosts: u32,
    /// Links that were left out, since their host would have been one too many.
    refused: u64,
}

impl Hosts {
    /// No hosts.
    pub(crate) fn new(settings: &Settings) -> Self {
        Hosts {
            queues: Vec::new(),
            vacant: Vec::new(),
            cold: Cold::new(settings.queue_directory.clone()),
            rested: VecDeque::new(),
            resting: 0,
            delayed: 0,
            exempt: 0,
            crowds: Crowds::default(),
            retries: Retries::default(),
            leaving: Vec::new(),
            warm_hosts: settings.warm_hosts,
            sweep_at: 0,
            error: None,
            by_name: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            memory: 0,
            relieve_at: settings.queue_memory,
            sweep: 0,
            spill: Spill::new(settings.queue_directory.clone()),
            queue_memory: settings.queue_memory,
            max_hosts: settings.max_hosts,
            domain_hosts: settings.domain_hosts,
            refused: 0,
        }
    }

    /// Hosts with a queue, in memory or on disk.
    pub(crate) fn len(&self) -> usize {
        self.warm_len() + self.cold.len()
    }

    /// All queues in memory, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        (0..).zip(&self.queues).filter(|(_, queue)| !queue.is_vacant())
    }

    /// All queues in memory, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (QueueId, &mut Queue)> {
        (0..).zip(&mut self.queues).filter(|(_, queue)| !queue.is_vacant())
    }

    /// The queue of a host, if it is in memory.
    pub(crate) fn find(&self, host: &str) -> Option<QueueId> {
        let hash = self.hasher.hash_one(host);
        self.by_name.find(hash, |id| &*self.queues[*id as usize].host == host).copied()
    }

    /// Takes a new queue, and counts its host; returns its number.
    pub(crate) fn insert(&mut self, mut queue: Queue, domains: &mut Domains) -> QueueId {
        queue.domain = domains.of(&queue.host);
        domains.count_host(queue.domain);
        self.adopt(queue)
    }

    /// Takes a queue whose host is counted; returns its number.
    pub(crate) fn adopt(&mut self, queue: Queue) -> QueueId {
        let id = match self.vacant.pop() {
            Some(id) => {
                self.queues[id as usize] = queue;
                id
            }
            None => {
                self.queues.push(queue);
                u32::try_from(self.queues.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let hash = self.hash(id);
        let (queues, hasher) = (&self.queues, &self.hasher);
        self.by_name.insert_unique(hash, id, |id| hasher.hash_one(&*queues[*id as usize].host));
        self.measure(id);
        id
    }

    /// The queue of a host; an empty one if it had none.
    #[cfg(test)]
    pub(crate) fn find_or_insert(&mut self, host: &str, domains: &mut Domains) -> QueueId {
        self.find(host).unwrap_or_else(|| self.insert(Queue::new(host), domains))
    }

    /// The hash of a host's name.
    fn hash(&self, id: QueueId) -> u64 {
        self.hasher.hash_one(&*self.queues[id as usize].host)
    }

    /// Links that were left out, since their host would have been one too many.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Sets that count to an earlier process's.
    pub(crate) fn set_refused(&mut self, refused: u64) {
        self.refused = refused;
    }

    /// Puts a URL at the end of its level in its host's queue.
    pub(crate) fn push(&mut self, id: QueueId, candidate: &Candidate<'_>) {
        let backlog = &mut self.queues[id as usize].backlog;
        self.memory += backlog.push(candidate.level(), |into| pack(into, candidate, (0, 0)));
        self.measure(id);
    }

    /// Puts a URL that was taken out at the end of its level in its host's queue.
    pub(crate) fn requeue(&mut self, id: QueueId, waiting: &Waiting) {
        let backlog = &mut self.queues[id as usize].backlog;
        self.memory += backlog.push(waiting.level(), |into| waiting.pack(into));
        self.measure(id);
    }

    /// Takes out what is next in a queue, due, and not settled yet.
    pub(crate) fn next_waiting(
        &mut self,
        id: QueueId,
        strategy: &mut impl Strategy,
        tombstones: &mut Tombstones,
        now: Micros,
    ) -> io::Result<Option<Waiting>> {
        loop {
            let queue = &mut self.queues[id as usize];
            let next = strategy.next_url(queue, &mut self.spill, &mut self.memory, now)?;
            self.measure(id);
            let Some(mut waiting) = next else { return Ok(None) };
            if tombstones.is_empty() || waiting.owner.is_some() {
                return Ok(Some(waiting));
            }
            match tombstones.take(&waiting.key(), waiting.url.host()) {
                Some(Tombstone::Settled) => {}
                Some(Tombstone::Tried(attempt)) => {
                    waiting.attempt = attempt;
                    return Ok(Some(waiting));
                }
                None => return Ok(Some(waiting)),
            }
        }
    }

    /// Takes a URL out of its queue if it is next there; entries before it that are settled are dropped.
    pub(crate) fn take_out(
        &mut self,
        id: QueueId,
        digest: &Digest,
        tombstones: &mut Tombstones,
    ) -> io::Result<Option<Waiting>> {
        let queue = &mut self.queues[id as usize];
        let mut found = None;
        loop {
            let wanted = |waiting: &Waiting| {
                let found = waiting.key();
                found == *digest || tombstones.is_settled(&found)
            };
            let popped = queue.backlog.pop_if(&queue.host, &mut self.spill, &mut self.memory, wanted)?;
            let Some(waiting) = popped else { break };
            tombstones.take(&waiting.key(), waiting.url.host());
            if waiting.key() == *digest {
                found = Some(waiting);
                break;
            }
        }
        self.measure(id);
        Ok(found)
    }

    /// The request keys of the pages that wait for a host, in memory or on disk, in no order. Those of another host may be among them:
    /// on disk a few hosts have the same key. They have no URL in common.
    pub(crate) fn waiting_keys_of(&self, host: &str) -> impl Iterator<Item = io::Result<Digest>> {
        let queue = self.find(host).map(|id| &self.queues[id as usize]);
        let cold = queue.is_none().then(|| self.cold.key(host));
        let in_memory = queue.into_iter().flat_map(|queue| queue.waiting_keys(&self.spill));
        in_memory.chain(cold.into_iter().flat_map(|key| self.cold.waiting_keys(key)))
    }

    /// The request keys of all pages that wait, in memory or on disk, in no order.
    pub(crate) fn waiting_keys(&self) -> impl Iterator<Item = io::Result<Digest>> {
        let in_memory = self.iter().flat_map(|(_, queue)| queue.waiting_keys(&self.spill));
        in_memory.chain(self.cold.keys().flat_map(|key| self.cold.waiting_keys(key)))
    }

    /// Bytes of waiting URLs in memory.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Writes waiting URLs to the disk when they take more memory than they may, together with `others` bytes.
    /// A full disk is no error here: the URLs stay in memory, and the log, which the same disk stores, stops the crawl. Returns also an
    /// earlier error of the disk.
    pub(crate) fn relieve(&mut self, others: usize) -> io::Result<()> {
        self.check()?;
        if self.memory + others <= self.relieve_at || !self.spill.is_possible() {
            return Ok(());
        }
        let enough = self.queue_memory / 4 * 3;
        let mut result = Ok(());
        'all: for least in SPILLED_TAILS {
            for _ in 0..self.queues.len() {
                self.sweep = (self.sweep + 1) % self.queues.len();
                let backlog = &mut self.queues[self.sweep].backlog;
                backlog.forget_head(&mut self.spill, &mut self.memory);
                if backlog.spillable() >= least {
                    result = backlog.spill(least, &mut self.spill, &mut self.memory);
                }
                if self.memory <= enough || result.is_err() {
                    break 'all;
                }
            }
        }
        result = result.and_then(|()| self.spill.flush());
        // What could not be spilled is short tails of many hosts: the next sweep comes when they have grown.
        self.relieve_at = self.queue_memory.max(self.memory + self.memory / 8);
        match result {
            Err(error) if !is_full(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns an earlier error of the disk.
    fn check(&self) -> io::Result<()> {
        match &self.error {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }

    /// Writes what is gathered to its files; returns the numbers of the files of waiting URLs that are in use.
    pub(crate) fn flush(&mut self) -> io::Result<BTreeSet<u32>> {
        self.check()?;
        self.spill.flush()?;
        self.cold.flush()?;
        Ok(self.spill.used())
    }

    /// The files of waiting URLs and of hosts.
    pub(crate) fn spill_files(&self) -> impl Iterator<Item = &File> {
        self.spill.files().chain(self.cold.files())
    }

    /// Makes the files in use durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.cold.sync()?;
        self.spill.sync()
    }

    /// Reads a queue's backlog from a snapshot, without its levels other than 0.
    pub(crate) fn unpack_backlog(&mut self, from: &mut &[u8]) -> io::Result<Levels> {
        Levels::unpack(from, &mut self.spill, &mut self.memory)
    }

    /// Reads its other levels.
    pub(crate) fn unpack_levels(&mut self, queue: &mut Queue, from: &mut &[u8]) -> io::Result<()> {
        queue.backlog.unpack_others(from, &mut self.spill, &mut self.memory)
    }

    /// The files that are neither in use nor among `keep`, to be removed.
    pub(crate) fn unused_files(&mut self, keep: &BTreeSet<u32>) -> io::Result<Vec<PathBuf>> {
        self.spill.unused_files(keep)
    }
}

impl Index<QueueId> for Hosts {
    type Output = Queue;

    fn index(&self, id: QueueId) -> &Queue {
        &self.queues[id as usize]
    }
}

impl IndexMut<QueueId> for Hosts {
    fn index_mut(&mut self, id: QueueId) -> &mut Queue {
        &mut self.queues[id as usize]
    }
}

/// Whether an error means that the disk is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use lycosa_url::CrawlUrl;

    use super::*;
    use crate::strategy::FairTurns;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    #[test]
    fn what_exceeds_the_memory_is_on_disk_and_comes_out_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let queue_directory = Some(directory.path().to_owned());
        let settings = Settings { queue_memory: 20_000, queue_directory, ..Settings::default() };
        let (mut hosts, mut domains) = (Hosts::new(&settings), Domains::default());
        let pages =
            |host: u32| (0..200).map(move |page| url(&format!("http://h{host}.com/a-long-path/{page}")));
        for host in 0..10 {
            for page in pages(host) {
                let id = hosts.find_or_insert(page.host(), &mut domains);
                hosts.push(id, &Candidate::link(page.borrow(), 1));
                hosts.relieve(0).unwrap();
                assert!(hosts.memory() <= 30_000, "{} bytes", hosts.memory());
            }
        }
        assert!(!hosts.flush().unwrap().is_empty(), "some are on disk");
        for (id, page) in (0..10).flat_map(|host| pages(host).map(move |page| (host, page))) {
            let waiting = hosts
                .next_waiting(id, &mut FairTurns::default(), &mut Tombstones::default(), 0)
                .unwrap()
                .unwrap();
            assert_eq!(waiting.url, page);
        }
        assert_eq!((hosts.memory(), hosts.flush().unwrap()), (0, BTreeSet::new()));
        let names: HashSet<&str> = hosts.iter().map(|(_, queue)| &*queue.host).collect();
        assert_eq!(names.len(), 10);
    }
}
