//! Waiting URLs after a replay. A log may contradict itself, since damage may have taken any record of it: two outcomes in a row may end
//! a URL that was opened again in between. For the second one there is no entry in the queue, as for one that ended a URL out of turn.
//!
//! Guarantee: after [`Frontier::recount`] each tombstone of the replay has its entry, each URL that was opened again has one, and as many
//! URLs wait as queues will give out. Otherwise a crawl would end before its last URL, or never.

use std::io;
use std::mem;

use hashbrown::HashMap;
use lycosa_url::Digest;

use crate::state::State;
use crate::waiting::{Candidate, Waiting};
use crate::{Frontier, Resolve};

/// Request keys whose entries are believed to be in their queues, since the log says what became of them. They have the request, if its
/// URL was opened again.
type Keys = HashMap<Digest, Option<Box<Waiting>>>;

/// These of all hosts. Filled by the replay, emptied by entries that are found.
#[derive(Debug, Default)]
pub(crate) struct Believed {
    all: HashMap<Digest, (Box<str>, Option<Box<Waiting>>)>,
}

impl Believed {
    /// A URL of a host was ended or tried, and its entry was not next.
    pub(crate) fn insert(&mut self, key: Digest, host: &str) {
        self.all.insert(key, (host.into(), None));
    }

    /// A URL was opened again: if its entry is not there, it needs one.
    pub(crate) fn opened(&mut self, key: &Digest, candidate: &Candidate<'_>) {
        if let Some((_, opened)) = self.all.get_mut(key) {
            *opened = Some(Box::new(Waiting::of(candidate)));
        }
    }

    /// The entry of a URL was there.
    pub(crate) fn remove(&mut self, key: &Digest) {
        self.all.remove(key);
    }

    /// Takes all, by host.
    fn take(&mut self) -> HashMap<Box<str>, Keys> {
        let mut hosts: HashMap<_, Keys> = HashMap::new();
        for (key, (host, opened)) in mem::take(&mut self.all) {
            hosts.entry(host).or_default().insert(key, opened);
        }
        hosts
    }
}

impl<R: Resolve> Frontier<R> {
    /// Looks for the entries of tombstones, which mostly are among the first of their queues, and counts the waiting URLs.
    pub(crate) fn recount(&mut self) -> io::Result<()> {
        for (host, mut missing) in self.dedup.tombstones.believed.take() {
            self.hosts.each_waiting_of(&host, |entry| {
                missing.remove(&entry.key());
                !missing.is_empty()
            })?;
            for (key, opened) in missing {
                self.dedup.tombstones.remove(&key);
                if let Some(waiting) = opened {
                    self.push_back(&waiting.candidate());
                }
            }
        }
        let in_memory: usize = self.hosts.iter().map(|(_, queue)| queue.len()).sum();
        let entries = in_memory as u64 + self.hosts.cold.urls();
        self.tally.set(State::Waiting, entries.saturating_sub(self.dedup.tombstones.settled()));
        Ok(())
    }

    /// Puts a URL that was opened again into its host's queue.
    fn push_back(&mut self, candidate: &Candidate<'_>) {
        let host = candidate.url.host();
        if self.hosts.find(host).is_some() || !self.push_cold(candidate) {
            let id = self.queue_of(host, 0);
            self.hosts.push(id, candidate);
        }
    }
}
