//! Hosts that fail: when they are given up, and what is told of them.

use std::cmp::Reverse;

use lycosa_url::{FailureKind, Micros};

use hashbrown::HashMap;

use crate::leases::Lease;
use crate::patience::{Evidence, LastWord};
use crate::probe::robots_of;
use crate::names::Name;
use crate::queue::Queue;
use crate::schedule::QueueId;
use crate::state::State;
use crate::{Frontier, Resolve};

/// Failing hosts are looked at so often at most, in microseconds, and so long after for each of them: a look costs about a
/// tenth of that.
const PAUSE: Micros = 250_000;
const PAUSE_FOR_EACH: Micros = 2;

/// A host that fails, and that something waits for.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The host.
    pub host: String,
    /// What it fails with.
    pub kind: FailureKind,
    /// URLs that wait for it.
    pub waiting: usize,
    /// Until when it is tried at least.
    pub until: Micros,
}

impl<R: Resolve> Frontier<R> {
    /// Gives up hosts with which the patience has run out.
    pub(crate) fn review(&mut self, now: Micros) {
        if now < self.review_at || !self.review_wanted || self.health.is_suspended() {
            return;
        }
        self.review_wanted = false;
        self.review_at = now.saturating_add(PAUSE + self.troubled.len() as Micros * PAUSE_FOR_EACH);
        let hosts = &self.hosts;
        self.troubled.retain(|id| {
            let queue = &hosts[*id];
            queue.trouble.is_some() || queue.origins.is_waiting()
        });
        let well = self.health.clock(now);
        let is_alone = self.has_only_failing();
        // A host that was well until a moment ago may soon answer again: only failing hosts are left once that is decided.
        let begins = (!self.health.is_fresh(now)).then_some(well);
        self.only_failing = self.only_failing.or(begins).filter(|_| is_alone);
        self.review_wanted = is_alone && self.only_failing.is_none();
        if self.is_unclear(now) {
            // Hosts that answer, a suspension or its time end this.
            self.review_wanted = !self.troubled.is_empty();
            return;
        }
        let troubled: Vec<QueueId> = self.troubled.iter().copied().collect();
        for id in troubled {
            self.review_host(id, now);
        }
        self.review_addresses(now);
    }

    /// Gives up all hosts of addresses at which nobody answers: each alone would have to wait for its turn at the address's pace.
    fn review_addresses(&mut self, now: Micros) {
        let (patience, alone) = (self.patience, self.only_failing);
        let until = self.health.clock(now).saturating_add(patience.span);
        let given_up = self.failing_addresses.extract_if(|_, evidence| evidence.is_enough(&patience, alone));
        let given_up: HashMap<_, _> = given_up.collect();
        if given_up.is_empty() {
            return;
        }
        for (id, queue) in self.hosts.iter_mut() {
            if let Name::Known { clock, .. } = &queue.name
                && let Some(evidence) = given_up.get(clock)
                && !queue.is_empty()
                // One that answered before is asked itself: it may be resting only.
                && (!queue.answered
                    || queue.trouble.as_ref().is_some_and(|trouble| trouble.last_word == LastWord::Silent))
            {
                queue.trouble = Some(Box::new(Evidence { given_up: Some(until), ..evidence.clone() }));
                self.troubled.insert(id);
                if !std::mem::replace(&mut queue.failing, true) {
                    self.failing.push_back(id);
                }
            }
        }
    }

    /// Gives up a host, or origins of it.
    fn review_host(&mut self, id: QueueId, now: Micros) {
        let (patience, well, alone) = (self.patience, self.health.clock(now), self.only_failing);
        let expires = now.saturating_add(patience.span.max(1));
        let queue = &mut self.hosts[id];
        let is_given_up = queue.origins.give_up(|evidence| evidence.is_enough(&patience, alone), expires);
        if self.asks_for_last_word(id, now) {
            return;
        }
        let queue = &mut self.hosts[id];
        let enough = |evidence: &&mut Box<_>| Evidence::is_enough(evidence, &patience, alone);
        if let Some(evidence) =
            queue.trouble.as_mut().filter(|evidence| evidence.given_up.is_none()).filter(enough)
        {
            evidence.given_up = Some(well.saturating_add(patience.span.max(1)));
            let failure = evidence.failure.clone();
            match queue.name {
                Name::Asked { .. } => {
                    queue.trouble = None;
                    self.give_up_name(id, failure, expires);
                }
                _ => self.fail_later(id),
            }
        } else if is_given_up {
            self.fail_later(id);
        }
    }

    /// Asks a host that is to be given up whether it is there at all, if it was before; gives whether its answer is waited for.
    fn asks_for_last_word(&mut self, id: QueueId, now: Micros) -> bool {
        let (patience, alone) = (self.patience, self.only_failing);
        let queue = &mut self.hosts[id];
        let first = queue.origins.first().map(Box::from);
        let Some(evidence) = queue.trouble.as_mut().filter(|evidence| {
            queue.answered
                && evidence.given_up.is_none()
                && !evidence.is_of_name()
                && evidence.is_enough(&patience, alone)
        }) else {
            return false;
        };
        let robots = first.and_then(|origin: Box<str>| robots_of(id, &origin));
        match (evidence.last_word, robots) {
            (LastWord::Asked, _) => true,
            (LastWord::Unasked, Some(robots)) => {
                evidence.last_word = LastWord::Asked;
                queue.front.push(robots);
                self.place(id, now);
                true
            }
            _ => false,
        }
    }

    /// Whether nothing waits but for hosts that fail.
    fn has_only_failing(&self) -> bool {
        let is_failing = |id: &QueueId| {
            let queue = &self.hosts[*id];
            queue.trouble.is_some() || queue.is_parked()
        };
        // A robots.txt that nothing waits for was asked for to see whether somebody answers.
        let is_no_work = |lease: &Lease| {
            let is_probe = lease.waiting.owner.is_some() && self.hosts[lease.queue].is_empty();
            let is_failing =
                self.troubled.contains(&lease.queue) || self.failing_addresses.contains_key(&lease.address);
            is_probe || is_failing
        };
        let failing = self.troubled.iter().filter(|id| is_failing(id));
        let mut waiting: usize = failing.map(|id| self.hosts[*id].len()).sum();
        if !self.failing_addresses.is_empty() {
            let lives_there = |queue: &&Queue| match &queue.name {
                Name::Known { clock, .. } => self.failing_addresses.contains_key(clock),
                _ => false,
            };
            let others =
                self.hosts.iter().filter(|(id, _)| !self.troubled.contains(id) || !is_failing(id));
            waiting += others.map(|(_, queue)| queue).filter(lives_there).map(Queue::len).sum::<usize>();
        }
        waiting as u64 >= self.counts.tally.count(State::Waiting)
            && !self.dedup.has_suspects()
            && self.leases.iter().all(|(_, lease)| is_no_work(lease))
    }

    /// Whether nothing but failing hosts is left: the crawl ends when the patience with them has run out.
    pub fn only_failing(&self) -> bool {
        self.only_failing.is_some() && !self.troubled.is_empty()
    }

    /// Hosts that fail and that something waits for, those that are given up last first, at most so many.
    pub fn failing(&self, max: usize, now: Micros) -> Vec<Failing> {
        let well = self.health.clock(now);
        let mut failing: Vec<(QueueId, &Evidence)> = Vec::with_capacity(self.troubled.len());
        for id in &self.troubled {
            let queue = &self.hosts[*id];
            let own = queue.trouble.as_deref().into_iter();
            let evidence = own.chain(queue.origins.evidence()).max_by_key(|evidence| evidence.since);
            failing.extend(evidence.filter(|_| !queue.is_empty()).map(|evidence| (*id, evidence)));
        }
        let last = |(_, evidence): &(QueueId, &Evidence)| Reverse(evidence.until(&self.patience));
        // Only those that are told are sorted: there may be millions, and the loop waits for this.
        if failing.len() > max {
            failing.select_nth_unstable_by_key(max, last);
            failing.truncate(max);
        }
        failing.sort_unstable_by_key(last);
        let told = |(id, evidence): (QueueId, &Evidence)| {
            let queue = &self.hosts[id];
            let left = evidence.until(&self.patience).saturating_sub(well);
            let (host, kind) = (queue.host.to_string(), evidence.failure.kind);
            Failing { host, kind, waiting: queue.len(), until: now.saturating_add(left) }
        };
        failing.into_iter().map(told).collect()
    }
}
