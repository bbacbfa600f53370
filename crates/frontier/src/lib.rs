//! Which URL next: admission, dedup, host queues, leases, robots.txt and politeness.
//!
//! A state machine without I/O: [`Frontier::add`] and [`Frontier::done`] feed it, [`Frontier::take`] asks
//! it, and the time is an argument. Names come through [`Resolve`]. Where to read on: the states of a URL
//! in `state.rs`, what is due next in `schedule.rs`, how a request is granted in `grant.rs`, what becomes
//! of an outcome in `outcome.rs`.
//!
//! Guarantees: a URL is admitted once; a URL on lease is with one worker; two requests to a host, or to
//! an address, start no closer than the interval after the start and the end of the earlier one; nothing is
//! fetched from an origin before its robots.txt allows it.

mod admission;
mod grant;
mod outcome;
mod queue;
mod restore;
mod robots;
mod schedule;
mod seen;
mod settings;
mod state;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hashbrown::HashMap;
use lycosa_url::{CrawlUrl, Failure, Micros, Page, Resolved, Step};

pub use admission::{Admission, Refusal, Scope};
use queue::{Name, Queue, Waiting};
pub use restore::Restore;
pub use robots::{MAX_ROBOTS_BYTES, Rules};
use schedule::{AddressId, QueueId, Schedule};
pub use seen::{Answer, KeyKind, Seen, SeenSettings};
pub use settings::Settings;
pub use state::{State, Tally};

/// Where names are resolved; asked without waiting.
pub trait Resolve {
    /// Asks for names; each is answered once through [`Resolve::drain`].
    fn submit(&mut self, names: Vec<Box<str>>);

    /// Gives the answers so far.
    fn drain(&mut self, into: &mut Vec<Resolved>);
}

/// Why a link was not admitted; counted, not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Already known: the common case.
    pub known: u64,
    /// Out of scope.
    pub scope: u64,
    /// Too many links from a seed.
    pub depth: u64,
    /// Marked `nofollow`.
    pub nofollow: u64,
}

/// Numbers for progress and reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// URLs by state.
    pub tally: Tally,
    /// URLs admitted.
    pub known: u64,
    /// Hosts with a queue.
    pub hosts: u64,
    /// Hosts whose name is being resolved.
    pub unresolved: u64,
    /// Pages recorded: responses that are no redirects.
    pub pages: u64,
    /// Links not admitted.
    pub refused: Refused,
    /// Outcomes that came after their lease had run out.
    pub late: u64,
}

/// A request that is out, and what to do when it does not come back.
struct Lease {
    waiting: Waiting,
    queue: QueueId,
    address: AddressId,
}

/// The frontier of one crawl.
pub struct Frontier<R> {
    settings: Settings,
    resolver: R,
    seen: Seen,
    admission: Admission,
    queues: Vec<Queue>,
    by_host: HashMap<Box<str>, QueueId>,
    schedule: Schedule,
    /// Names to ask for again, by time.
    names_due: BinaryHeap<Reverse<(Micros, QueueId)>>,
    leases: HashMap<u64, Lease>,
    /// Leases by the time they run out; all last equally long, so the order is that of granting.
    expiring: VecDeque<(Micros, u64)>,
    next_lease: u64,
    /// Nothing starts before: after a restart, the clocks of addresses are unknown.
    not_before: Micros,
    leased_pages: u64,
    settled: Vec<Page>,
    counts: Counts,
    answers: Vec<Resolved>,
}

impl<R: Resolve> Frontier<R> {
    /// An empty frontier.
    pub fn new(settings: Settings, resolver: R) -> Self {
        Frontier {
            schedule: Schedule::new(settings.address_concurrency.max(1)),
            admission: Admission::new(settings.scope, settings.max_depth),
            settings,
            resolver,
            seen: Seen::default(),
            queues: Vec::new(),
            by_host: HashMap::new(),
            names_due: BinaryHeap::new(),
            leases: HashMap::new(),
            expiring: VecDeque::new(),
            next_lease: 1,
            not_before: 0,
            leased_pages: 0,
            settled: Vec::new(),
            counts: Counts::default(),
            answers: Vec::new(),
        }
    }

    /// Accepts seeds; their hosts or domains belong to the crawl. Gives how many were new.
    pub fn add(&mut self, seeds: &[CrawlUrl], now: Micros) -> usize {
        let mut added = 0;
        for seed in seeds {
            self.admission.include(seed);
            added += usize::from(self.admit(seed, 0, false, Vec::new(), now));
        }
        added
    }

    /// What was settled without a fetch since the last call: refusals, names that fail.
    pub fn settled(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.settled)
    }

    /// Whether the crawl has ended: nothing waits, nothing is out, nothing is left to record.
    pub fn idle(&self) -> bool {
        let waiting = self.counts.tally.count(State::Waiting);
        self.leases.is_empty() && self.settled.is_empty() && (waiting == 0 || self.page_budget() == 0)
    }

    /// When [`Frontier::take`] has something to give or do, at the earliest; nothing while only outcomes
    /// or answers can change that.
    pub fn due_at(&self) -> Option<Micros> {
        let name = self.names_due.peek().map(|Reverse((due, _))| *due);
        let lease = self.expiring.front().map(|(due, _)| *due);
        let start = self.schedule.due_at().map(|due| due.max(self.not_before));
        [start, name, lease].into_iter().flatten().min()
    }

    /// Numbers for progress and reports.
    pub fn counts(&self) -> Counts {
        Counts { known: self.seen.len(), hosts: self.queues.len() as u64, ..self.counts }
    }

    /// Admits a URL to its host's queue, if every rule allows it.
    fn admit(&mut self, url: &CrawlUrl, depth: u32, nofollow: bool, chain: Vec<Step>, now: Micros) -> bool {
        let Some(waiting) = self.accept(url, depth, nofollow, chain) else { return false };
        let queue = self.queue_of(url.host());
        self.queues[queue as usize].waiting.push_back(waiting);
        self.place(queue, now);
        true
    }

    /// A URL that is allowed and new, from now on known and waiting; the reason for a refusal is counted.
    fn accept(&mut self, url: &CrawlUrl, depth: u32, nofollow: bool, chain: Vec<Step>) -> Option<Waiting> {
        let refused = &mut self.counts.refused;
        match self.admission.check(url, depth, nofollow) {
            Ok(()) if self.seen.add(&[*url.digest()]) == [Answer::New] => {
                self.counts.tally.shift(State::Unknown, State::Waiting, 1);
                return Some(Waiting { url: url.clone(), depth, attempt: 0, chain, owner: None });
            }
            Ok(()) => refused.known += 1,
            Err(Refusal::Nofollow) => refused.nofollow += 1,
            Err(Refusal::Depth) => refused.depth += 1,
            Err(Refusal::Scope) => refused.scope += 1,
        }
        None
    }

    /// The queue of a host.
    fn queue_of(&mut self, host: &str) -> QueueId {
        if let Some(&id) = self.by_host.get(host) {
            return id;
        }
        let id = u32::try_from(self.queues.len()).unwrap_or(u32::MAX);
        self.queues.push(Queue::new(host));
        self.by_host.insert(host.into(), id);
        id
    }

    /// Brings a queue that has work to where it waits next: its name, or its turn.
    fn place(&mut self, id: QueueId, now: Micros) {
        let queue = &mut self.queues[id as usize];
        if queue.placed || queue.waits_for_robots() || queue.waiting.is_empty() {
            return;
        }
        match &queue.name {
            Name::Asked => {}
            Name::Known { clock, expires, .. } if *expires > now => {
                if queue.in_flight < self.settings.host_concurrency.max(1) {
                    queue.placed = true;
                    self.schedule.place(*clock, queue.ready_at, id);
                }
            }
            Name::Failed { failure, expires } if *expires > now => {
                let failure = failure.clone();
                self.fail_all(id, &failure, now);
            }
            _ => {
                queue.name = Name::Asked;
                self.counts.unresolved += 1;
                let name = queue.host.clone();
                self.resolver.submit(vec![name]);
            }
        }
    }

    /// Pages that may still be leased before `max_pages` is reached.
    fn page_budget(&self) -> u64 {
        let used = self.counts.pages + self.leased_pages;
        self.settings.max_pages.map_or(u64::MAX, |max| max.saturating_sub(used))
    }

    /// Settles a URL without a fetch.
    fn settle(&mut self, waiting: Waiting, to: State, failure: Failure, now: Micros) {
        self.counts.tally.shift(State::Waiting, to, 1);
        let Waiting { url, depth, chain, .. } = waiting;
        self.settled.push(Page::settled(url, depth, chain, now, failure));
    }
}

impl<R> std::fmt::Debug for Frontier<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frontier").field("counts", &self.counts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
