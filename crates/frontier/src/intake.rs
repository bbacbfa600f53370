//! From a link to a place in its host's queue: admission, dedup, memory.

use std::io;

use hashbrown::HashSet;
use lycosa_records::{Outcome, RequestOptions, key_of};
use lycosa_url::{Digest, Micros, UrlRef};

use crate::hosts::is_full;
use crate::state::State;
use crate::waiting::{Candidate, Waiting};
use crate::{Answer, Frontier, Refusal, Resolve};

/// The part of the memory of waiting URLs that suspected links may have: a quarter.
const SUSPECTED: usize = 4;

/// What became of an admitted URL whose entry is still in its queue: known after a restart only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ghost {
    /// It is settled: the entry is passed over.
    Settled,
    /// It was tried so many times.
    Tried(u32),
}

/// A link that the rules allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllowedLink<'a> {
    /// Where it leads.
    url: UrlRef<'a>,
    /// Links from a seed.
    depth: u32,
    /// The number of its page among all pages of the crawl, from 1.
    page: u64,
}

impl<R: Resolve> Frontier<R> {
    /// Admits links that the rules have let pass; those that are new.
    pub(crate) fn admit_links(&mut self, links: &[AllowedLink<'_>], now: Micros) -> io::Result<()> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(links.iter().map(|link| self.seen.key(link.url)));
        let answers = self.seen.add(&keys);
        for ((link, answer), key) in links.iter().zip(answers).zip(&keys) {
            match answer {
                Answer::New => {
                    self.wanted.begin_links(link.page);
                    self.enqueue(&Candidate::link(link.url, link.depth), now);
                }
                Answer::Known => self.counts.refused.known += 1,
                Answer::Suspected => self.suspects.push(key, &Candidate::link(link.url, link.depth), now),
            }
        }
        self.keys = keys;
        self.wanted.end_links();
        self.ask_names(0, now);
        self.relieve(now)
    }

    /// Admits one URL, if the rules allow it and it is new. One that another frontier owns goes to the outbox.
    pub(crate) fn admit(&mut self, candidate: &Candidate<'_>, now: Micros) -> io::Result<bool> {
        if !self.allow(candidate.url, candidate.depth, false) || self.outbox.takes(candidate) {
            return Ok(false);
        }
        let key = self.key(candidate);
        let answer = self.seen.add(&[key]).pop();
        match answer {
            Some(Answer::New) => self.enqueue(candidate, now),
            Some(Answer::Suspected) => self.suspects.push(&key, candidate, now),
            _ => self.counts.refused.known += 1,
        }
        self.relieve(now)?;
        Ok(answer == Some(Answer::New))
    }

    /// Decides which suspected links are new, and admits those.
    pub(crate) fn verify(&mut self, now: Micros) -> io::Result<()> {
        // A canonical URL can be suspected without a link that waits for the answer.
        if self.seen.suspected() == 0 {
            return Ok(());
        }
        let new: HashSet<Digest> = self.seen.verify()?.into_iter().collect();
        let mut taken = self.suspects.take();
        // Which page each was on is not known any more: they count as links of the last one.
        self.wanted.begin_links(self.counts.pages);
        loop {
            let (known, waiting) = taken.next_new(|key| new.contains(key));
            self.counts.refused.known += known;
            let Some(waiting) = waiting else { break };
            self.enqueue(&waiting.candidate(), now);
        }
        self.wanted.end_links();
        self.ask_names(0, now);
        Ok(())
    }

    /// Decides suspected links when it is time: when they have waited long enough, or nothing else is there to do.
    pub(crate) fn verify_if_due(&mut self, now: Micros) -> io::Result<()> {
        let nothing_else = || self.leases.is_empty() && self.schedule.due_at().is_none_or(|due| due > now);
        if self.suspects.due_at().is_some_and(|due| due <= now || nothing_else()) {
            self.verify(now)?;
            self.relieve(now)?;
        }
        Ok(())
    }

    /// Whether the rules allow a URL; counts the reason if not.
    pub(crate) fn allow(&mut self, url: UrlRef<'_>, depth: u32, nofollow: bool) -> bool {
        let refused = &mut self.counts.refused;
        match self.admission.check(url, depth, nofollow) {
            Ok(()) => return true,
            Err(Refusal::Nofollow) => refused.nofollow += 1,
            Err(Refusal::Depth) => refused.depth += 1,
            Err(Refusal::Scope) => refused.scope += 1,
            Err(Refusal::Port) => refused.port += 1,
        }
        false
    }

    /// Counts as known what a page says it is a copy of, where the job trusts that. What waits already is fetched.
    pub(crate) fn learn_canonical(&mut self, page: &Outcome) {
        if let Some(url) = page.copy_of().filter(|_| self.settings.trust_canonical) {
            let key = self.seen.key(url);
            self.seen.add(&[key]);
        }
    }

    /// The links of a page that the rules allow: the page that was counted last. Those that another frontier owns go to the outbox.
    pub(crate) fn allowed_links<'a>(&mut self, page: &'a Outcome, into: &mut Vec<AllowedLink<'a>>) {
        let depth = page.request().depth.saturating_add(1);
        for link in page.links.iter() {
            if self.allow(link.url, depth, link.nofollow) {
                let url = link.url;
                if !self.outbox.takes(&Candidate::link(url, depth)) {
                    into.push(AllowedLink { url, depth, page: self.counts.pages });
                }
            }
        }
    }

    /// The key by which dedup knows a candidate.
    pub(crate) fn key(&self, candidate: &Candidate<'_>) -> Digest {
        match candidate.options {
            None => self.seen.key(candidate.url),
            Some(options) => self.key_of(candidate.url, Some(options)),
        }
    }

    /// The same of a URL and what its request has beyond a GET.
    pub(crate) fn key_of(&self, url: UrlRef<'_>, options: Option<&RequestOptions>) -> Digest {
        let digest = key_of(url, options);
        if digest == *url.digest() { self.seen.key(url) } else { self.seen.key_of_digest(&digest) }
    }

    /// Puts a URL that is new at the end of its host's queue.
    fn enqueue(&mut self, candidate: &Candidate<'_>, now: Micros) {
        if candidate.depth > 0
            && let Err(message) = self.hosts.has_capacity_for(candidate.url, &self.schedule.domains)
        {
            message.into_iter().for_each(|message| self.health.tell(message));
            return;
        }
        self.counts.tally.shift(State::Unknown, State::Waiting, 1);
        let id = self.queue_of(candidate.url.host());
        self.hosts.push(id, candidate);
        if !self.hosts[id].placed {
            self.place(id, now);
        }
    }

    /// Takes out what is next in a queue, due, and not settled yet.
    pub(crate) fn next_waiting(&mut self, id: u32, now: Micros) -> io::Result<Option<Waiting>> {
        self.hosts.next_waiting(id, &mut self.ghosts, now)
    }

    /// Keeps memory within its budgets: decides suspected links that hold too much, writes waiting URLs to the disk.
    /// A full disk is no error here: what there is stays in memory, and the log, which the same disk holds, stops the
    /// crawl.
    pub(crate) fn relieve(&mut self, now: Micros) -> io::Result<()> {
        if self.suspects.memory() > self.settings.queue_memory / SUSPECTED {
            self.verify(now)?;
        }
        if let Some(error) = self.seen.take_error().filter(|error| !is_full(error)) {
            return Err(error);
        }
        self.hosts.relieve(self.suspects.memory())
    }
}
