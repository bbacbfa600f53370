//! From a link to its host's queue: admission, dedup, memory.

use std::borrow::Cow;
use std::io;

use lycosa_records::{Outcome, RequestOptions};
use lycosa_url::{Micros, UrlRef};

use crate::hosts::is_full;
use crate::hosts::space::Coming;
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::{Candidate, Waiting, prioritised};
use crate::{Answer, Frontier, Resolve};

/// A link that the rules allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllowedLink<'a> {
    /// Its target.
    pub(crate) url: UrlRef<'a>,
    /// Links from a seed.
    pub(crate) depth: u32,
    /// The number of its page among all pages of the crawl, from 1.
    pub(crate) page: u64,
    /// Its priority.
    pub(crate) priority: i32,
}

impl<'a> AllowedLink<'a> {
    /// What its request has beyond a GET: a priority, if it has one.
    pub(crate) fn options(&self) -> Option<RequestOptions> {
        (self.priority != 0).then(|| prioritised(self.priority))
    }

    /// The link with those options, as a URL that may be admitted.
    pub(crate) fn candidate(&self, options: Option<&'a RequestOptions>) -> Candidate<'a> {
        Candidate { options, ..Candidate::link(self.url, self.depth) }
    }
}

impl<R: Resolve> Frontier<R> {
    /// Enqueues the new ones among links that the rules allow.
    pub(crate) fn admit_links(&mut self, links: &[AllowedLink<'_>], now: Micros) -> io::Result<()> {
        let links = self.with_space(links);
        let answers = self.dedup.add_links(&links, now);
        // Enqueued when all have their URLs: a queue's turn depends on the greatest priority of them.
        let mut queues = Vec::new();
        for (link, _) in links.iter().zip(answers).filter(|(_, answer)| *answer == Answer::New) {
            let queue = self.push_new(&link.candidate(link.options().as_ref()), now);
            queues.extend(queue.map(|queue| (link.page, queue)));
        }
        for (page, queue) in queues {
            self.names.begin_links(page);
            self.enqueue(queue, now);
        }
        self.names.end_links();
        self.ask_names(0, now);
        self.relieve(now)
    }

    /// Admits one URL, if the rules allow it and it is new. One that another frontier owns goes to the outbox.
    pub(crate) fn admit(&mut self, candidate: &Candidate<'_>, now: Micros) -> io::Result<bool> {
        if !self.admission.allow(candidate.url, candidate.depth, false) || self.outbox.takes(candidate) {
            return Ok(false);
        }
        if candidate.depth > 0 && !self.has_space(candidate.url, None) {
            return Ok(false);
        }
        let is_new = self.dedup.add(candidate, now) == Answer::New;
        if is_new && let Some(queue) = self.push_new(candidate, now) {
            self.enqueue(queue, now);
        }
        self.relieve(now)?;
        Ok(is_new)
    }

    /// Admits the requests that the user's code has added to an outcome, as the rules allow links.
    pub(crate) fn admit_requests(&mut self, page: &Outcome, now: Micros) -> io::Result<()> {
        let depth = page.request().depth.saturating_add(1);
        for request in &page.requests {
            self.admit(&Candidate { depth, chain: &[], ..Candidate::of(request) }, now)?;
        }
        Ok(())
    }

    /// Those of the links whose hosts have a queue or space for one, in their order.
    fn with_space<'l, 'a>(&mut self, links: &'l [AllowedLink<'a>]) -> Cow<'l, [AllowedLink<'a>]> {
        if !self.hosts.may_refuse(links.len(), &self.politeness.domains) {
            return Cow::Borrowed(links);
        }
        // Most links lead to the host that the one before leads to.
        let (mut coming, mut last) = (Coming::default(), None);
        let has_space = |link: &&AllowedLink<'a>| {
            let host = Some(link.url.host());
            let has_space = last == host || self.has_space(link.url, Some(&mut coming));
            last = host.filter(|_| has_space);
            has_space
        };
        Cow::Owned(links.iter().filter(has_space).copied().collect())
    }

    /// Whether a link's host has a queue or space for one, besides those that come.
    fn has_space<'a>(&mut self, url: UrlRef<'a>, coming: Option<&mut Coming<'a>>) -> bool {
        let Err(message) = self.hosts.has_space(url, coming, &self.politeness.domains) else { return true };
        message.into_iter().for_each(|message| self.trouble.health.report(message));
        false
    }

    /// Admits a URL that an earlier process had admitted, as an outcome of it shows, whatever the limits of hosts say now: with several
    /// shards, outcomes are in the log in another order than that in which their links were admitted.
    pub(crate) fn admit_again(&mut self, candidate: &Candidate<'_>) -> io::Result<QueueId> {
        if !self.dedup.contains(candidate)? && self.dedup.add(candidate, 0) == Answer::Suspected {
            self.verify(0)?;
            if let Some(id) = self.host(candidate.url.host(), 0) {
                return Ok(id);
            }
        }
        self.tally.shift(State::Unknown, State::Waiting, 1);
        let id = self.queue_of(candidate.url.host(), 0);
        self.hosts.push(id, candidate);
        Ok(id)
    }

    /// Decides which suspected links are new, and enqueues those.
    pub(crate) fn verify(&mut self, now: Micros) -> io::Result<()> {
        if !self.dedup.has_suspected_keys() {
            return Ok(());
        }
        let mut verified = self.dedup.verify()?;
        // The page of each is not stored: they count as links of the last page.
        self.names.begin_links(self.pages);
        while let Some(waiting) = self.dedup.next_new(&mut verified) {
            if let Some(queue) = self.push_new(&waiting.candidate(), now) {
                self.enqueue(queue, now);
            }
        }
        self.names.end_links();
        self.ask_names(0, now);
        Ok(())
    }

    /// Decides suspected links when they have waited long enough, or when there is no other work.
    pub(crate) fn verify_if_due(&mut self, now: Micros) -> io::Result<()> {
        let nothing_else = || self.leases.is_empty() && self.schedule.due_at().is_none_or(|due| due > now);
        if self.dedup.due_at().is_some_and(|due| due <= now || nothing_else()) {
            self.verify(now)?;
            self.relieve(now)?;
        }
        Ok(())
    }

    /// Makes the canonical URL of a page known, if the job trusts it. A URL that waits already is fetched.
    pub(crate) fn learn_canonical(&mut self, page: &Outcome) {
        if let Some(url) = page.copy_of().filter(|_| self.settings.trust_canonical) {
            self.dedup.add_known(url.into());
        }
    }

    /// Appends the links of the page that was counted last which the rules allow. Those that another frontier owns go to the outbox.
    pub(crate) fn allowed_links<'a>(&mut self, page: &'a Outcome, into: &mut Vec<AllowedLink<'a>>) {
        let depth = page.request().depth.saturating_add(1);
        for link in page.links.iter() {
            if self.admission.allow(link.url, depth, link.nofollow) {
                let link = AllowedLink { url: link.url, depth, page: self.pages, priority: link.priority };
                if !self.outbox.takes(&link.candidate(link.options().as_ref())) {
                    into.push(link);
                }
            }
        }
    }

    /// Puts a new URL into its host's queue; returns the queue if it is in no schedule.
    fn push_new(&mut self, candidate: &Candidate<'_>, now: Micros) -> Option<QueueId> {
        let found = self.hosts.find(candidate.url.host());
        // Of suspected links, which wait, space is known only now.
        if candidate.depth > 0 && found.is_none() && !self.has_space(candidate.url, None) {
            return None;
        }
        self.tally.shift(State::Unknown, State::Waiting, 1);
        let id = self.queue_unless_cold(candidate, found, now)?;
        self.hosts.push(id, candidate);
        (!self.hosts[id].is_scheduled).then_some(id)
    }

    /// Takes out the next URL of a queue that is due and not settled.
    pub(crate) fn next_waiting(&mut self, id: u32, now: Micros) -> io::Result<Option<Waiting>> {
        self.hosts.next_waiting(id, &mut self.schedule.strategy, &mut self.dedup.tombstones, now)
    }

    /// Bounds memory: decides suspected links that take too much, writes waiting URLs to the disk. A full disk is no error here:
    /// the URLs stay in memory, and the log, which is on the same disk, stops the crawl.
    pub(crate) fn relieve(&mut self, now: Micros) -> io::Result<()> {
        if self.dedup.is_over_memory() {
            self.verify(now)?;
        }
        if let Some(error) = self.dedup.take_error().filter(|error| !is_full(error)) {
            return Err(error);
        }
        self.hosts.relieve(self.dedup.memory())
    }
}
