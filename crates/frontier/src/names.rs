//! The names of hosts: which are wanted, asked for, retried, about to expire.
//!
//! Guarantees:
//! 1. A name that is wanted is asked for in the order of [`Wanted`], and one whose pause is over again.
//! 2. Something that waits keeps its name fresh: it is asked for again before it expires.
//! 3. `asking` counts the questions without an answer, `unresolved` the hosts that wait for their name.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use std::time::Duration;

use lycosa_url::{Failure, FailureKind, Micros, NameClass, Resolved};

use crate::ahead::{Cause, Idle, IdleCauses, Wanted};
use crate::hosts::Hosts;
use crate::queue::Queue;
use crate::schedule::{AddressId, QueueId};
use crate::{Resolve, Settings};

/// Prefetch in the last tenth of the TTL, while something waits for the name (Unbound's `prefetch`).
const PREFETCH: u64 = 10;

/// The pause between two questions for a name whose addresses do not answer, or have another site's certificate: in the job's time.
const DOUBT: Duration = Duration::from_secs(60);

/// The state of a host's name.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    /// Unknown: never asked for, or expired.
    Unknown,
    /// Wanted, or asked for; the queue waits. `idled`: how long slots had been idle until then.
    Asked { idled: Micros },
    /// Resolved and vetted.
    Known {
        addresses: Vec<IpAddr>,
        clock: AddressId,
        expires: Micros,
        elapsed_us: u32,
        class: NameClass,
        /// When it is prefetched; never, once that has been done.
        refresh_at: Micros,
        /// Whether a prefetch is in flight.
        refreshing: bool,
        /// When it was last answered past the cache; 0: never.
        fresh_at: Micros,
    },
    /// It does not resolve, or only to refused addresses.
    Failed { failure: Failure, expires: Micros },
}

impl Name {
    /// Whether a prefetch is in flight.
    pub(crate) fn is_being_refreshed(&self) -> bool {
        matches!(self, Name::Known { refreshing: true, .. })
    }
}

/// An answer that a host's name has.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) addresses: Vec<IpAddr>,
    /// The number of the first address.
    pub(crate) clock: AddressId,
    pub(crate) class: NameClass,
    pub(crate) expires: Micros,
    /// How long a request waited for it.
    pub(crate) elapsed_us: u32,
    /// When it was answered past the cache; 0: never.
    pub(crate) fresh_at: Micros,
}

/// All names that are asked for, or will be.
#[derive(Debug)]
pub(crate) struct Names<R> {
    resolver: R,
    wanted: Wanted,
    /// Questions without an answer.
    asking: usize,
    /// Names to ask for again after a pause, by time.
    retries: BinaryHeap<Reverse<(Micros, QueueId)>>,
    /// Names that are known, by the time of their prefetch.
    expiring: BinaryHeap<Reverse<(Micros, QueueId)>>,
    /// Stored for its memory.
    answers: Vec<Resolved>,
    idle: Idle,
    /// Hosts that wait for their name.
    unresolved: u64,
    /// Microseconds for which slots were idle while a host waited for its name and could have been asked, summed over hosts.
    waited_us: u64,
    doubt: Micros,
}

impl<R: Resolve> Names<R> {
    /// No names.
    pub(crate) fn new(settings: &Settings, resolver: R) -> Self {
        Names {
            resolver,
            wanted: Wanted::new(settings.ahead),
            asking: 0,
            retries: BinaryHeap::new(),
            expiring: BinaryHeap::new(),
            answers: Vec::new(),
            idle: Idle::default(),
            unresolved: 0,
            waited_us: 0,
            doubt: settings.scaled(DOUBT),
        }
    }

    /// The answers that have come. [`Names::recycle`] takes the vector back.
    pub(crate) fn receive(&mut self) -> Vec<Resolved> {
        let mut answers = std::mem::take(&mut self.answers);
        self.resolver.drain(&mut answers);
        self.asking = self.asking.saturating_sub(answers.len());
        answers
    }

    /// Takes back the memory of answers.
    pub(crate) fn recycle(&mut self, answers: Vec<Resolved>) {
        self.answers = answers;
    }

    /// A host waits for its name. It is asked for unless an answer is on its way; returns whether it is wanted now.
    pub(crate) fn want(&mut self, id: QueueId, queue: &mut Queue) -> bool {
        let is_asked = queue.name.is_being_refreshed();
        queue.name = Name::Asked { idled: self.idle.total };
        self.unresolved += 1;
        if !is_asked {
            self.wanted.push(id, queue.pace.ready_at());
        }
        !is_asked
    }

    /// A host that waited has its name. `idled`: how long slots had been idle when it was wanted.
    pub(crate) fn answered(&mut self, queue: &Queue, idled: Micros, now: Micros) {
        self.unresolved -= 1;
        let due = now.saturating_sub(queue.pace.ready_at());
        self.waited_us += (self.idle.total - idled).min(due);
    }

    /// Stores an answer of a host's name.
    pub(crate) fn learn(&mut self, id: QueueId, queue: &mut Queue, answered: Answered, now: Micros) {
        let Answered { addresses, clock, class, expires, elapsed_us, fresh_at } = answered;
        // An answer is good for at least the request that waits for it.
        let expires = expires.max(now.saturating_add(1));
        let refresh_at = expires - (expires - now) / PREFETCH;
        self.expiring.push(Reverse((refresh_at, id)));
        queue.name = Name::Known {
            addresses,
            clock,
            expires,
            elapsed_us,
            class,
            refresh_at,
            refreshing: false,
            fresh_at,
        };
    }

    /// A name that a host waited for fails until then.
    pub(crate) fn fail(&mut self, queue: &mut Queue, failure: Failure, expires: Micros) {
        self.unresolved -= 1;
        queue.name = Name::Failed { failure, expires };
    }

    /// A host leaves memory; whether it waited for its name, which is not asked for then.
    pub(crate) fn forget(&mut self, waited: bool) {
        self.unresolved -= u64::from(waited);
    }

    /// Asks for a name again at this time, if the host still waits for it.
    pub(crate) fn retry(&mut self, id: QueueId, at: Micros) {
        self.retries.push(Reverse((at, id)));
    }

    /// Asks for a host's name again when it is about to expire and something waits for it.
    pub(crate) fn refresh_if_due(&mut self, hosts: &mut Hosts, id: QueueId, now: Micros) {
        let queue = &mut hosts[id];
        let waits = !queue.is_empty();
        if let Name::Known { refresh_at, refreshing, .. } = &mut queue.name
            && *refresh_at <= now
            && waits
        {
            (*refresh_at, *refreshing) = (Micros::MAX, true);
            self.ask(hosts, id, true);
        }
    }

    /// Asks for wanted names as far as there is capacity. `resolved`: queues in the schedule; `idle`: slots for which no host is due.
    pub(crate) fn ask_wanted(&mut self, hosts: &mut Hosts, resolved: usize, idle: usize, now: Micros) {
        let (mut names, mut doubted) = (Vec::new(), Vec::new());
        while let Some(id) = self.wanted.pop(self.asking, resolved, idle, now) {
            let queue = &mut hosts[id];
            if !matches!(queue.name, Name::Asked { .. }) {
                continue; // it was answered meanwhile, and may have left
            }
            self.asking += 1;
            let list = if std::mem::take(&mut queue.doubted) { &mut doubted } else { &mut names };
            list.push(queue.host.clone());
        }
        if !names.is_empty() {
            self.resolver.submit(names);
        }
        if !doubted.is_empty() {
            self.resolver.refresh(doubted);
        }
    }

    /// Asks for a host's name.
    fn ask(&mut self, hosts: &Hosts, id: QueueId, fresh: bool) {
        let names = vec![hosts[id].host.clone()];
        self.asking += 1;
        if fresh { self.resolver.refresh(names) } else { self.resolver.submit(names) }
    }

    /// Asks for names past the cache, whoever waits for them.
    pub(crate) fn ask_fresh(&mut self, names: Vec<Box<str>>) {
        self.asking += names.len();
        self.resolver.refresh(names);
    }

    /// A request failed at the name's addresses: the name may have moved.
    pub(crate) fn doubt(&mut self, hosts: &mut Hosts, id: QueueId, failure: FailureKind, now: Micros) {
        use FailureKind::{ConnectFailed, ConnectRefused, ConnectTimeout, TlsCertificate};
        if let Name::Known { refresh_at, refreshing, fresh_at, .. } = &mut hosts[id].name
            && matches!(failure, ConnectRefused | ConnectTimeout | ConnectFailed | TlsCertificate)
            && !*refreshing
            && (*fresh_at == 0 || now.saturating_sub(*fresh_at) >= self.doubt)
        {
            (*refresh_at, *refreshing) = (Micros::MAX, true);
            self.ask(hosts, id, true);
        }
    }

    /// Asks again for names whose pause is over, and for those that are about to expire.
    pub(crate) fn ask_again(&mut self, hosts: &mut Hosts, now: Micros) {
        while let Some(&Reverse((due, id))) = self.retries.peek()
            && due <= now
        {
            self.retries.pop();
            let queue = &hosts[id];
            if matches!(queue.name, Name::Asked { .. }) {
                // What failed is asked for past the cache, which may have the failure.
                let is_failing = queue.trouble.is_some();
                self.ask(hosts, id, is_failing);
            }
        }
        while let Some(&Reverse((due, id))) = self.expiring.peek()
            && due <= now
        {
            self.expiring.pop();
            self.refresh_if_due(hosts, id, now);
        }
    }

    /// Takes out a host that waits for its name, whatever its turn: to probe the resolvers by it. `max`: as if so many slots were free.
    pub(crate) fn pop_any(&mut self, max: usize, now: Micros) -> Option<QueueId> {
        let retry = self.retries.pop().map(|Reverse((_, id))| id);
        retry.or_else(|| self.wanted.pop(0, 0, max, now))
    }

    /// Links of a page are admitted from here on, by the page's number from 1.
    pub(crate) fn begin_links(&mut self, page: u64) {
        self.wanted.begin_links(page);
    }

    /// All links have been admitted.
    pub(crate) fn end_links(&mut self) {
        self.wanted.end_links();
    }

    /// Whether a host waits for its name, or a question for its answer.
    pub(crate) fn is_waiting(&self) -> bool {
        self.asking > 0 || self.unresolved > 0
    }

    /// When a name is to be asked for again.
    pub(crate) fn retry_at(&self) -> Option<Micros> {
        self.retries.peek().map(|Reverse((due, _))| *due)
    }

    /// When a name is to be asked for since its host is due, where that decides.
    pub(crate) fn wanted_at(&self) -> Option<Micros> {
        self.wanted.due_at().filter(|_| self.asking == 0)
    }

    /// Hosts that wait for their name.
    pub(crate) fn unresolved(&self) -> u64 {
        self.unresolved
    }

    /// What waiting for names cost: see [`crate::Counts::idle_for_names_us`].
    pub(crate) fn waited_us(&self) -> u64 {
        self.waited_us
    }

    /// Time has passed: it counts for what was passed to [`Names::set_idle`] last.
    pub(crate) fn pass(&mut self, now: Micros) {
        self.idle.pass(now);
    }

    /// Whether slots are free with no resolved host due, and why slots are free.
    pub(crate) fn set_idle(&mut self, is_running: bool, cause: Option<Cause>) {
        (self.idle.is_running, self.idle.cause) = (is_running, cause);
    }

    /// How long slots were free, by cause.
    pub(crate) fn idle_causes(&self) -> IdleCauses {
        self.idle.causes
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
