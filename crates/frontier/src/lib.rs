//! Which URL next: admission, dedup, host queues, leases, robots.txt and politeness.
//!
//! A state machine without I/O: [`Frontier::add`] and [`Frontier::done`] feed it, [`Frontier::take`] asks
//! it, and the time is an argument. Names come through [`Resolve`].
//!
//! [`Frontier`] wires parts, each of which owns its state and is tested alone:
//!
//! | part | file | owns |
//! |---|---|---|
//! | admission | `admission.rs` | scope, depth, nofollow, ports; counts of what it refuses |
//! | dedup | `dedup.rs` | known URLs, suspected links, tombstones |
//! | hosts | `hosts.rs`, `queue.rs`, `levels.rs`, `warm.rs` | host queues, the memory of waiting URLs and their files |
//! | cold hosts | `cold/` | hosts on disk with their URLs |
//! | schedule | `schedule.rs`, `strategy.rs` | which due queue is next, and which URL of it |
//! | names | `names.rs`, `ahead.rs` | names that are wanted, asked for, retried; idle time |
//! | robots | `robots/` | rules, and the state of each origin |
//! | politeness | `politeness/` | limits, paces, domains, caps, the block list |
//! | leases | `leases.rs` | requests that are out |
//! | trouble | `trouble.rs`, `health.rs`, `channel.rs`, `captive.rs`, `reports.rs` | evidence against hosts, suspension of the crawl |
//! | cookies, outbox | `cookies.rs`, `outbox.rs` | cookies; links that other frontiers own |
//! | lending | `lending.rs` | addresses that are lent among frontiers |
//!
//! The path of a URL through them: `intake.rs` (admission), `grant.rs` (request), `outcome.rs` (outcome); its states are in
//! `state.rs`.
//!
//! Guarantees: a URL is admitted once; a URL on lease is with one worker; two requests to a host, or to
//! an address, start no closer than the interval after the start and the end of the earlier one, at a pace that follows
//! the site's health (`politeness/`); nothing is fetched from an origin before its robots.txt allows it.

mod admission;
mod ahead;
mod alike;
mod answers;
mod backlog;
mod believed;
mod captive;
mod channel;
mod codec;
mod cold;
mod cookies;
mod dedup;
mod failing;
mod grant;
mod health;
mod hosts;
mod intake;
mod keys;
mod leases;
mod lending;
mod levels;
mod mark;
mod names;
mod outbox;
mod outcome;
mod patience;
mod politeness;
mod portal;
mod probe;
mod queue;
mod recent;
mod reopen;
mod reports;
mod restore;
mod review;
mod robots;
mod same;
mod schedule;
mod seen;
mod settings;
mod shared;
mod snapshot;
mod spill;
mod state;
mod strategy;
mod suspects;
mod suspension;
mod trouble;
mod waiting;
mod warm;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;
use lycosa_records::{Outcome, Request};
use lycosa_url::{CrawlUrl, Micros, Resolved};

pub use admission::{Admission, Refusal, Scope};
pub use ahead::{Ahead, IdleCauses};
pub use channel::{Cause, Suspension};
use cookies::Jar;
use dedup::Dedup;
use hosts::Hosts;
use leases::Leases;
use lending::Lending;
pub use lending::Told;
use names::{Name, Names};
use outbox::Outbox;
pub use outbox::Ownership;
use politeness::Politeness;
pub use politeness::block_list::{BadLine, BlockList};
pub use politeness::bucket::Caps;
pub use politeness::slowed::SlowedHost;
pub use reports::Reports;
use restore::Replay;
pub use restore::Restore;
pub use review::Failing;
use robots::RobotsCache;
pub use robots::Rules;
use schedule::{AddressId, QueueId, Schedule, Turn};
pub use seen::{Answer, KeyKind, Seen, SeenSettings};
pub use settings::Settings;
pub use shared::Shared;
use shared::Sharing;
pub use snapshot::SnapshotFiles;
pub use state::{State, Tally};
use trouble::Trouble;
use waiting::Candidate;

/// Resolves names without blocking.
pub trait Resolve {
    /// Asks for names; each is answered once through [`Resolve::drain`].
    fn submit(&mut self, names: Vec<Box<str>>);

    /// The same, past the cache: for an answer that is about to expire, or is doubted.
    fn refresh(&mut self, names: Vec<Box<str>>);

    /// Appends the answers that have come.
    fn drain(&mut self, into: &mut Vec<Resolved>);
}

/// Links that were not admitted, by reason.
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
    /// Its port is blocked.
    pub port: u64,
    /// On a new host, when its domain or the crawl had as many hosts as it may have.
    pub hosts: u64,
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
    /// Hosts that wait for their name.
    pub unresolved: u64,
    /// Links for other frontiers that are not delivered yet.
    pub outbox: u64,
    /// What waiting for names cost: microseconds for which slots were free while a host could have been asked but for its name,
    /// summed over hosts.
    pub idle_for_names_us: u64,
    /// Pages recorded: responses that are no redirects.
    pub pages: u64,
    /// Links not admitted.
    pub refused: Refused,
    /// Outcomes that came after their lease had expired.
    pub late: u64,
    /// Microseconds for which slots were free, by cause.
    pub idle: IdleCauses,
    /// Microseconds until the next host is due; 0: now, or no host is scheduled.
    pub next_turn_us: u64,
    /// Addresses of which a request may start now.
    pub ready: u64,
}

/// The frontier of one crawl.
pub struct Frontier<R> {
    settings: Settings,
    dedup: Dedup,
    cookies: Jar,
    admission: Admission,
    hosts: Hosts,
    schedule: Schedule,
    politeness: Politeness,
    robots: RobotsCache,
    outbox: Outbox,
    /// `None`: all addresses are this frontier's own.
    lending: Option<Box<Lending>>,
    names: Names<R>,
    trouble: Trouble,
    leases: Leases,
    sharing: Sharing,
    /// Queues in which a robots.txt of another host may wait: a redirect led there.
    guests: HashSet<QueueId>,
    /// Outcomes that were decided without a fetch, and are to be recorded.
    settled: Vec<Outcome>,
    /// URLs by state.
    tally: Tally,
    /// Pages recorded.
    pages: u64,
    /// How far the log has been replayed, while it is: no queue is scheduled and no name is asked for.
    replay: Option<Replay>,
}

impl<R: Resolve> Frontier<R> {
    /// An empty frontier. Fails if the directory of known URLs cannot be created.
    pub fn new(settings: Settings, resolver: R) -> io::Result<Self> {
        let seen = Seen::open(settings.seen())?;
        Ok(Self::with(settings, resolver, seen))
    }

    /// An empty frontier with a set of known URLs.
    fn with(settings: Settings, resolver: R, seen: Seen) -> Self {
        Frontier {
            schedule: Schedule::default(),
            politeness: Politeness::new(&settings),
            admission: Admission::new(settings.scope, settings.max_depth, settings.addresses.clone()),
            cookies: Jar::new(settings.cookie_memory),
            hosts: Hosts::new(&settings),
            robots: RobotsCache::new(&settings),
            names: Names::new(&settings, resolver),
            dedup: Dedup::new(&settings, seen),
            outbox: Outbox::new(settings.ownership.clone()),
            lending: Lending::new(&settings),
            trouble: Trouble::new(&settings),
            leases: Leases::new(&settings),
            sharing: Sharing::new(&settings),
            guests: HashSet::new(),
            settled: Vec::new(),
            tally: Tally::default(),
            pages: 0,
            replay: None,
            settings,
        }
    }

    /// Accepts seeds; their hosts or domains belong to the crawl. Returns how many were new.
    pub fn add(&mut self, seeds: &[CrawlUrl], now: Micros) -> io::Result<usize> {
        let seeds: Vec<Request> = seeds.iter().cloned().map(Request::get).collect();
        self.add_requests(&seeds, now)
    }

    /// Accepts requests from outside: seeds, and links that another frontier has handed over. The host or domain of a seed belongs
    /// to the crawl. Each frontier of a job that several share gets all seeds and takes those that it owns. Returns how many were
    /// new.
    pub fn add_requests(&mut self, requests: &[Request], now: Micros) -> io::Result<usize> {
        let mut added = 0;
        for request in requests {
            let is_seed = request.depth == 0;
            if is_seed {
                self.admission.include(&request.url);
            }
            let owns = self.outbox.owns(request.url.borrow());
            added += usize::from((owns || !is_seed) && self.admit(&Candidate::of(request), now)?);
        }
        Ok(added)
    }

    /// Returns the links that other frontiers own, each with its owner: again, also in the next process, until they are reported
    /// as [delivered](Frontier::outbox_delivered). While too many wait, no request is granted.
    pub fn take_outbox(&mut self) -> Vec<(Box<str>, Request)> {
        self.outbox.take()
    }

    /// The links that [`Frontier::take_outbox`] returned last have been recorded by their owners.
    pub fn outbox_delivered(&mut self) {
        self.outbox.delivered();
    }

    /// Outcomes without a fetch since the last call: refusals, names that fail, URLs that are opened again.
    pub fn settled(&mut self) -> Vec<Outcome> {
        let mut settled = std::mem::take(&mut self.settled);
        settled
            .iter_mut()
            .for_each(|outcome| outcome.response.request.task = Arc::clone(&self.settings.task));
        settled
    }

    /// Sets the intervals of hosts and addresses, for all requests that start or end from now on.
    pub fn set_intervals(&mut self, host: Duration, address: Duration) {
        (self.settings.host_interval, self.settings.address_interval) = (host, address);
        self.politeness.set_intervals(&self.settings);
    }

    /// Keeps to the sites that are a node's by each of these rings; without one, to all: URLs of others that wait end as cancelled at their
    /// turn, without a request, and their robots.txt is not asked for. Requests that are out go on.
    pub fn keep_to(&mut self, sites: Vec<Ownership>) {
        self.politeness.keep_to(sites);
    }

    /// Whether the crawl has ended: no URL waits, no request is out and no outcome is to be recorded; or it is suspended for longer
    /// than it may be, and no outcome is to be recorded. Links for other frontiers may wait in the outbox.
    pub fn idle(&self) -> bool {
        if self.is_suspended_for_too_long() {
            return self.settled.is_empty();
        }
        let waiting = self.tally.count(State::Waiting);
        let nothing_waits = waiting == 0 && !self.dedup.has_suspects();
        self.leases.is_empty() && self.settled.is_empty() && (nothing_waits || self.page_budget() == 0)
    }

    /// When [`Frontier::take`] has something to do, at the earliest; `None` while only outcomes or answers can change that.
    pub fn due_at(&self) -> Option<Micros> {
        let name = self.names.retry_at().filter(|_| self.trouble.health.names.suspended().is_none());
        let lease = self.leases.due_at();
        let may_start =
            self.page_budget() > 0 && !self.trouble.health.is_suspended() && !self.trouble.captive.is_full();
        let start = self.schedule.due_at().filter(|_| may_start);
        let start = start.map(|due| due.max(self.politeness.ready_at()));
        let failing = self.trouble.next_failing().map(|_| 0);
        let wanted = self.names.wanted_at().map(|due| due.max(self.politeness.ready_at()));
        let review = self.trouble.review_due_at();
        let health = self.trouble.health.due_at();
        let times = [
            start,
            name,
            wanted,
            lease,
            failing,
            self.dedup.due_at(),
            health,
            review,
            self.hosts.due_at(self.is_in_doubt()),
        ];
        times.into_iter().flatten().min()
    }

    /// Numbers for progress and reports.
    pub fn counts(&self) -> Counts {
        let known = self.dedup.len();
        let next_turn_us =
            self.schedule.due_at().map_or(0, |due| due.saturating_sub(self.trouble.health.looked()));
        let outbox = self.outbox.len() as u64;
        let refused = |refusal| self.admission.refused(refusal);
        let refused = Refused {
            known: self.dedup.known(),
            scope: refused(Refusal::Scope),
            depth: refused(Refusal::Depth),
            nofollow: refused(Refusal::Nofollow),
            port: refused(Refusal::Port),
            hosts: self.hosts.refused(),
        };
        let late = self.leases.late();
        Counts {
            tally: self.tally,
            known,
            hosts: self.hosts.len() as u64,
            unresolved: self.names.unresolved(),
            outbox,
            idle_for_names_us: self.names.waited_us(),
            pages: self.pages,
            refused,
            late,
            idle: self.names.idle_causes(),
            next_turn_us,
            ready: self.schedule.ready() as u64,
        }
    }

    /// Has a queue with URLs wait for what is next: its name, or its turn in the schedule. It is put aside instead of the latter if its
    /// address has enough others there, or if it fails and is tried again long from now.
    fn enqueue(&mut self, id: QueueId, now: Micros) {
        self.enqueue_or(id, None, now);
    }

    /// The same of a queue that could not leave; it has its turn at this time at the earliest.
    fn enqueue_from(&mut self, id: QueueId, at: Micros, now: Micros) {
        self.enqueue_or(id, Some(at), now);
    }

    /// The same; `stays`: it cannot be put aside, and has its turn then at the earliest.
    fn enqueue_or(&mut self, id: QueueId, stays: Option<Micros>, now: Micros) {
        let healthy_at = self.trouble.health.clock(now);
        self.hosts.recount(id);
        let queue = &self.hosts[id];
        if self.replay.is_some() || queue.is_scheduled || queue.is_leaving || queue.failing {
            return;
        }
        if queue.is_empty() {
            return self.hosts.rest(id, now);
        }
        self.hosts.wake(id);
        let queue = &mut self.hosts[id];
        if queue.waits_for_robots() {
            return;
        }
        match queue.trouble.as_ref().and_then(|evidence| evidence.given_up) {
            Some(until) if until > healthy_at => return self.trouble.fail_later(&mut self.hosts, id),
            Some(_) => queue.trouble = None,
            None => {}
        }
        match &queue.name {
            Name::Asked { .. } => {}
            Name::Known { clock, expires, .. } if *expires > now => {
                let clock = *clock;
                if self.politeness.has_capacity(queue) {
                    let due = queue.pace.ready_at().max(queue.due_at()).max(stays.unwrap_or(0));
                    if stays.is_none() && self.is_put_aside(id, clock, due, now) {
                        return;
                    }
                    self.take_turn(id, clock, due, now);
                }
                self.names.refresh_if_due(&mut self.hosts, id, now);
            }
            Name::Failed { expires, .. } if *expires > now => self.trouble.fail_later(&mut self.hosts, id),
            // Do not resolve hosts that get no request.
            _ if self.politeness.excludes_host(&queue.host) => self.trouble.fail_later(&mut self.hosts, id),
            _ => {
                if self.names.want(id, queue) {
                    self.ask_names(0, now);
                }
            }
        }
    }

    /// Whether a queue that is due at an address then is to be put aside instead.
    fn is_put_aside(&mut self, id: QueueId, address: AddressId, due: Micros, now: Micros) -> bool {
        let scheduled = self.schedule.len_of(address);
        self.is_put_off(id, scheduled, due, now) || self.hosts.is_crowded_out(id, address, scheduled)
    }

    /// Puts a queue into the schedule at its address.
    fn take_turn(&mut self, id: QueueId, address: AddressId, due: Micros, now: Micros) {
        let queue = &self.hosts[id];
        let turn = Turn { queue: id, domain: queue.domain, level: queue.level(now) };
        self.schedule.enqueue(&self.politeness.addresses, address, due, turn);
        self.politeness.addresses.want(address);
        self.hosts.schedule(id, due, now);
    }

    /// Pages that may still be leased before `max_pages` is reached.
    fn page_budget(&self) -> u64 {
        let used = self.sharing.pages.total(self.used_pages());
        self.settings.max_pages.map_or(u64::MAX, |max| max.saturating_sub(used))
    }

    /// Pages that this frontier has recorded or leased.
    fn used_pages(&self) -> u64 {
        self.pages + self.leases.pages()
    }

    /// Sets the number of pages after which this frontier ends.
    pub fn set_max_pages(&mut self, pages: u64) {
        self.settings.max_pages = Some(pages);
    }

    /// Pages that may still be leased, and URLs that wait.
    pub fn room(&self) -> (u64, u64) {
        (self.page_budget(), self.tally.count(State::Waiting))
    }

    /// Whether a page may be leased now; of a shared budget one is reserved until [`Frontier::settle_pages`].
    fn reserve_page(&mut self) -> bool {
        let max = self.settings.max_pages.unwrap_or(u64::MAX);
        self.page_budget() > 0 && self.sharing.pages.reserve(max)
    }

    /// Reports to the other shards how much of the page budget this one uses.
    fn settle_pages(&mut self) {
        self.sharing.pages.settle(self.used_pages());
    }
}

impl<R> std::fmt::Debug for Frontier<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frontier").field("tally", &self.tally).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod added_tests;
#[cfg(test)]
mod alike_tests;
#[cfg(test)]
mod cookie_wall_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod crowds_tests;
#[cfg(test)]
mod jitter_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod patience_tests;
#[cfg(test)]
mod portal_tests;
#[cfg(test)]
mod priority_tests;
#[cfg(test)]
mod reopen_tests;
#[cfg(test)]
mod reports_tests;
#[cfg(test)]
mod requests_tests;
#[cfg(test)]
mod retries_tests;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tdmrep_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trouble_tests;
