//! Waiting URLs after a replay. A log may contradict itself, since damage may have taken any record of it: two outcomes in a row may end
//! a URL that was opened again in between. For the second one nothing lies in the queue, as for one that ended a URL out of turn.
//!
//! Guarantee: after [`Frontier::check_queues`] each tombstone belongs to a URL in a queue, each URL lies in one of which the log's last
//! record says that it was opened again or is to be tried again, and as many URLs wait as queues will give out. Otherwise a crawl would
//! end before its last URL, or never.

use std::io;
use std::mem;

use hashbrown::{HashMap, HashSet};
use lycosa_url::Digest;

use crate::state::State;
use crate::waiting::Waiting;
use crate::{Frontier, Resolve};

/// URLs that are believed to lie in their queues, by request key, until they have been looked for.
#[derive(Debug, Default)]
pub(crate) struct Believed {
    hosts: HashMap<Box<str>, HashSet<Digest>>,
    /// Those that wait: what is to be enqueued if they do not lie there.
    waiting: HashMap<Digest, Box<Waiting>>,
    /// Those of a snapshot whose version did not look for them.
    loaded: HashSet<Digest>,
}

impl Believed {
    /// A URL of a host was ended out of turn.
    pub(crate) fn ended(&mut self, key: &Digest, host: &str) {
        self.add(key, host);
        self.waiting.remove(key);
    }

    /// A URL is to be tried out of turn, or was opened again after it had ended so.
    pub(crate) fn waits(&mut self, key: &Digest, waiting: Waiting) {
        self.add(key, waiting.url.host());
        self.waiting.insert(*key, waiting.into());
    }

    /// Adds the key of a URL of a host.
    fn add(&mut self, key: &Digest, host: &str) {
        self.hosts.entry_ref(host).or_default().insert(*key);
    }

    /// A URL of a host did lie in its queue.
    pub(crate) fn found(&mut self, key: &Digest, host: &str) {
        self.loaded.remove(key);
        if let Some(keys) = self.hosts.get_mut(host)
            && keys.remove(key)
        {
            self.waiting.remove(key);
            if keys.is_empty() {
                self.hosts.remove(host);
            }
        }
    }

    /// A snapshot of an earlier version has tombstones of these URLs.
    pub(crate) fn load(&mut self, keys: impl Iterator<Item = Digest>) {
        self.loaded = keys.collect();
    }
}

impl<R: Resolve> Frontier<R> {
    /// Looks for the URLs of tombstones, which mostly are among the first of their queues, and counts those that wait.
    pub(crate) fn check_queues(&mut self) -> io::Result<()> {
        let Believed { hosts, mut waiting, mut loaded } = mem::take(&mut self.dedup.tombstones.believed);
        let mut missing = Vec::new();
        for (host, mut keys) in hosts {
            remove_found(&mut keys, self.hosts.waiting_keys_of(&host))?;
            missing.extend(keys);
        }
        remove_found(&mut loaded, self.hosts.waiting_keys())?;
        missing.extend(loaded);
        for key in missing {
            self.dedup.tombstones.remove(&key);
            if let Some(waiting) = waiting.remove(&key) {
                self.push_back(&waiting);
            }
        }
        let in_memory: usize = self.hosts.iter().map(|(_, queue)| queue.len()).sum();
        let all = in_memory as u64 + self.hosts.cold.urls();
        self.tally.set(State::Waiting, all.saturating_sub(self.dedup.tombstones.settled()));
        Ok(())
    }

    /// Puts a URL into its host's queue.
    fn push_back(&mut self, waiting: &Waiting) {
        let found = self.hosts.find(waiting.url.host());
        if let Some(id) = self.queue_unless_cold(&waiting.candidate(), found, 0) {
            self.hosts.requeue(id, waiting);
        }
    }
}

/// Removes those of some keys that are among others; looks no further when none is left.
fn remove_found(
    keys: &mut HashSet<Digest>,
    mut among: impl Iterator<Item = io::Result<Digest>>,
) -> io::Result<()> {
    while !keys.is_empty()
        && let Some(key) = among.next()
    {
        keys.remove(&key?);
    }
    Ok(())
}
