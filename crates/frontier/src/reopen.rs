//! Settled URLs that are opened again: done → waiting, failed → waiting, refused → waiting.
//!
//! Guarantee: an opened URL is recorded (as an outcome that is not its last, without a lease) before it is requested, so that
//! a restart finds it waiting.

use std::io;

use hashbrown::{HashMap, HashSet};
use lycosa_records::{Outcome, Purpose, Request};
use lycosa_url::{Digest, Micros};

use crate::names::Name;
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::{Candidate, Waiting};
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Opens a settled URL again: `page` is made by [`Outcome::reopened`] and says how it had ended. Returns whether the URL was known;
    /// the page is to be recorded then, before anything is taken.
    pub fn reopen(&mut self, page: &Outcome, now: Micros) -> io::Result<bool> {
        let request = page.request();
        if !self.dedup.contains(&Candidate::of(request))? {
            return Ok(false);
        }
        if request.depth == 0 {
            self.admission.include(&request.url);
        }
        self.open(page, now);
        self.relieve(now)?;
        Ok(true)
    }

    /// Which of some requests are known and settled: done, failed or refused. Only the queues of their hosts are looked through.
    pub fn settled_of<'a>(
        &mut self,
        requests: impl IntoIterator<Item = &'a Request> + Clone,
        now: Micros,
    ) -> io::Result<Vec<&'a Request>> {
        self.verify(now)?;
        let mut open: HashMap<&str, HashSet<Digest>> = HashMap::new();
        for request in requests.clone() {
            if self.dedup.contains(&Candidate::of(request))? {
                open.entry(request.url.host()).or_default().insert(request.key());
            }
        }
        for (_, lease) in self.leases.iter().filter(|(_, lease)| lease.waiting.purpose() == Purpose::Page) {
            let waiting = &lease.waiting;
            open.get_mut(waiting.url.host()).map(|settled| settled.remove(&waiting.key()));
        }
        for (host, settled) in &mut open {
            let tombstones = &self.dedup.tombstones;
            for key in self.hosts.waiting_keys_of(host) {
                let key = key?;
                if !tombstones.is_settled(&key) {
                    settled.remove(&key);
                }
                if settled.is_empty() {
                    break;
                }
            }
        }
        // Each once, also where it is given twice.
        let is_settled = |request: &&Request| {
            open.get_mut(request.url.host()).is_some_and(|settled| settled.remove(&request.key()))
        };
        Ok(requests.into_iter().filter(is_settled).collect())
    }

    /// Enqueues a settled URL.
    pub(crate) fn open(&mut self, page: &Outcome, now: Micros) {
        let request = &page.response.request;
        let from = match &page.response.result {
            Ok(_) => State::Done,
            Err(failure) => State::settled(failure),
        };
        if from == State::Done && page.redirect.is_none() {
            self.pages = self.pages.saturating_sub(1);
            let domain = self.politeness.domains.of(request.url.host());
            self.politeness.domains.uncount_page(domain);
        }
        self.tally.shift(from, State::Waiting, 1);
        // After a restart its entry may still be in its queue, with a tombstone.
        let key = request.key();
        let is_there = self.dedup.tombstones.is_settled(&key);
        let candidate = Candidate::of(request);
        if is_there {
            self.dedup.tombstones.opened(&key, Waiting::of(&candidate));
        }
        let found = self.hosts.find(request.url.host());
        // Evidence against a host on disk is this process's, and few such hosts have some: the host comes back for that.
        let is_of_earlier_process = self.replay.is_some() || self.trouble.health.looked() == 0;
        if found.is_none() && is_of_earlier_process && (is_there || self.push_cold(&candidate)) {
            return;
        }
        let id = found.unwrap_or_else(|| self.queue_of(request.url.host(), now));
        self.forgive_host(id);
        if !is_there {
            self.hosts.push(id, &candidate);
        }
        self.enqueue(id, now);
    }

    /// An earlier process opened this URL again.
    pub(crate) fn restore_reopened(&mut self, page: &Outcome) -> io::Result<()> {
        // The records before are lost where it is not known.
        if self.reopen(page, 0)? {
            Ok(())
        } else {
            self.admit_again(&Candidate::of(page.request())).map(drop)
        }
    }

    /// Forgets the evidence against a host: it is to be tried again.
    fn forgive_host(&mut self, id: QueueId) {
        let queue = &mut self.hosts[id];
        queue.trouble = None;
        queue.origins.forgive();
        // Which of them is this host's may not be known yet; the others' comes again.
        self.trouble.addresses.clear();
        self.trouble.given_up.clear();
        if matches!(queue.name, Name::Failed { .. }) {
            queue.name = Name::Unknown;
            queue.doubted = true;
        }
    }
}
