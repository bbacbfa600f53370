//! The review of hosts that fail: which are given up, and what is reported of them.

use std::cmp::Reverse;

use hashbrown::HashMap;
use lycosa_url::{Failure, FailureKind, Micros};

use crate::hosts::Hosts;
use crate::leases::{Lease, Leases};
use crate::names::Name;
use crate::patience::{Evidence, LastWord};
use crate::probe::robots_of;
use crate::queue::Queue;
use crate::schedule::QueueId;
use crate::state::State;
use crate::trouble::Trouble;
use crate::waiting::Waiting;
use crate::{Frontier, Resolve};

/// The pause between two reviews, in microseconds, and what each failing host adds to it: a review costs about a tenth of that.
const PAUSE: Micros = 250_000;
const PAUSE_FOR_EACH: Micros = 2;

/// A host that fails and that URLs wait for.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The host.
    pub host: String,
    /// Its last failure.
    pub kind: FailureKind,
    /// URLs that wait for it.
    pub waiting: usize,
    /// Until when it is tried, at least.
    pub until: Micros,
}

/// What a review makes of a host.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is tried on.
    Keep,
    /// It is asked for this robots.txt before it is given up.
    Ask(Waiting),
    /// It or one of its origins is given up: its URLs are settled.
    Failed,
    /// Its name is given up until then.
    NameFailed(Failure, Micros),
}

impl<R: Resolve> Frontier<R> {
    /// Gives up hosts with which the patience has run out.
    pub(crate) fn review(&mut self, now: Micros) {
        if self.trouble.review_due_at().is_none_or(|due| now < due) {
            return;
        }
        self.trouble.begin_review(&self.hosts, now);
        let waiting = self.tally.count(State::Waiting);
        self.trouble.has_only_failing =
            !self.dedup.has_suspects() && self.trouble.are_all_failing(&self.hosts, &self.leases, waiting);
        self.report_work();
        if !self.trouble.may_give_up(&self.hosts, now) {
            return;
        }
        let troubled: Vec<QueueId> = self.trouble.troubled.iter().copied().collect();
        for id in troubled {
            match self.trouble.review_host(&mut self.hosts, id, now) {
                Verdict::Keep => {}
                Verdict::Ask(robots) => {
                    self.hosts[id].front.push(robots);
                    self.enqueue(id, now);
                }
                Verdict::Failed => self.trouble.fail_later(&mut self.hosts, id),
                Verdict::NameFailed(failure, expires) => self.give_up_name(id, failure, expires),
            }
        }
        self.trouble.review_addresses(&mut self.hosts, now);
    }

    /// Reports to the other shards whether this one has work other than hosts that fail.
    pub(crate) fn report_work(&mut self) {
        let has_work = self.tally.count(State::Waiting) > 0 || !self.leases.is_empty();
        let others = !self.trouble.has_only_failing || !self.trouble.has_failing(&self.hosts);
        self.trouble.health.reporter.set_busy(has_work && others);
    }

    /// Whether nothing but failing hosts is left: the crawl ends when the patience with them has run out.
    pub fn only_failing(&self) -> bool {
        self.trouble.only_failing.is_some() && self.trouble.has_failing(&self.hosts)
    }

    /// The URL that is out longest, and since when.
    pub fn oldest(&self) -> Option<(String, Micros)> {
        self.leases.oldest().map(|lease| (lease.waiting.url.as_str().to_owned(), lease.granted))
    }

    /// Hosts in memory that fail and that URLs wait for, at most this many; those that are given up last come first.
    pub fn failing(&self, max: usize, now: Micros) -> Vec<Failing> {
        self.trouble.report(&self.hosts, max, now)
    }
}

impl Trouble {
    /// Begins a review: hosts without evidence are forgotten.
    fn begin_review(&mut self, hosts: &Hosts, now: Micros) {
        self.review_wanted = false;
        self.review_at = now.saturating_add(PAUSE + self.troubled.len() as Micros * PAUSE_FOR_EACH);
        self.troubled.retain(|id| hosts[*id].fails());
    }

    /// Whether hosts may be given up now.
    fn may_give_up(&mut self, hosts: &Hosts, now: Micros) -> bool {
        // While another shard has other work, this one looks again at the next review.
        let is_alone = self.has_only_failing && !self.health.reporter.are_others_busy();
        // A host that was healthy until a moment ago may soon answer again: only failing hosts are left once that is decided.
        let begins = (!self.health.is_fresh(now)).then_some(self.health.clock(now));
        self.only_failing = self.only_failing.or(begins).filter(|_| is_alone);
        self.review_wanted = self.has_only_failing && self.only_failing.is_none();
        if self.is_unclear(now) {
            // Hosts that answer, a suspension or its time end this.
            self.review_wanted = self.has_failing(hosts);
            return false;
        }
        true
    }

    /// Gives up all hosts of addresses at which no host answers: each alone would have to wait for its turn at the address's pace.
    pub(crate) fn review_addresses(&mut self, hosts: &mut Hosts, now: Micros) {
        let (patience, alone) = (self.patience, self.only_failing);
        let until = self.health.clock(now).saturating_add(patience.span);
        let given_up = self.addresses.extract_if(|_, evidence| evidence.is_enough(&patience, alone));
        let given_up: HashMap<_, _> = given_up.collect();
        if given_up.is_empty() {
            return;
        }
        for (address, evidence) in &given_up {
            let evidence = Evidence { given_up: Some(until), ..evidence.clone() };
            hosts.crowds.give_up(*address, evidence.clone());
            self.given_up.insert(*address, evidence);
        }
        let healthy_at = self.health.clock(now);
        self.given_up.retain(|_, evidence| evidence.given_up.is_some_and(|until| until > healthy_at));
        for (id, queue) in hosts.iter_mut() {
            if let Name::Known { clock, .. } = &queue.name
                && let Some(evidence) = given_up.get(clock)
                && !queue.is_empty()
                // One that answered before is asked itself: it may only be delayed.
                && (!queue.answered
                    || queue.trouble.as_ref().is_some_and(|trouble| trouble.last_word == LastWord::Silent))
            {
                queue.trouble = Some(Box::new(Evidence { given_up: Some(until), ..evidence.clone() }));
                self.troubled.insert(id);
                self.fail_queue(id, queue);
            }
        }
    }

    /// Gives up a host, or origins of it; returns what is to be done about it.
    pub(crate) fn review_host(&mut self, hosts: &mut Hosts, id: QueueId, now: Micros) -> Verdict {
        let (patience, healthy_at, alone) = (self.patience, self.health.clock(now), self.only_failing);
        let expires = now.saturating_add(patience.span.max(1));
        let queue = &mut hosts[id];
        let is_given_up = queue.origins.give_up(|evidence| evidence.is_enough(&patience, alone), expires);
        if let Some(robots) = self.asks_for_last_word(queue, id) {
            return robots.map_or(Verdict::Keep, Verdict::Ask);
        }
        let enough = |evidence: &&mut Box<_>| Evidence::is_enough(evidence, &patience, alone);
        if let Some(evidence) =
            queue.trouble.as_mut().filter(|evidence| evidence.given_up.is_none()).filter(enough)
        {
            evidence.given_up = Some(healthy_at.saturating_add(patience.span.max(1)));
            let failure = evidence.failure.clone();
            match queue.name {
                Name::Asked { .. } => {
                    queue.trouble = None;
                    Verdict::NameFailed(failure, expires)
                }
                _ => Verdict::Failed,
            }
        } else if is_given_up {
            Verdict::Failed
        } else {
            Verdict::Keep
        }
    }

    /// Asks a host that is to be given up for its robots.txt, if it has answered before. `None`: it is not asked; `Some(None)`: the
    /// response is awaited.
    fn asks_for_last_word(&self, queue: &mut Queue, id: QueueId) -> Option<Option<Waiting>> {
        let (patience, alone) = (self.patience, self.only_failing);
        let first = queue.origins.first().map(Box::from);
        let evidence = queue.trouble.as_mut().filter(|evidence| {
            queue.answered
                && evidence.given_up.is_none()
                && !evidence.is_of_name()
                && evidence.is_enough(&patience, alone)
        })?;
        let robots = first.and_then(|origin: Box<str>| robots_of(id, &origin));
        match (evidence.last_word, robots) {
            (LastWord::Asked, _) => Some(None),
            (LastWord::Unasked, Some(robots)) => {
                evidence.last_word = LastWord::Asked;
                Some(Some(robots))
            }
            _ => None,
        }
    }

    /// Whether all URLs that wait, `waiting` of them, and all requests that are out are failing hosts'.
    fn are_all_failing(&self, hosts: &Hosts, leases: &Leases, waiting: u64) -> bool {
        let is_failing = |id: &QueueId| hosts[*id].has_only_failing();
        // A robots.txt that no URL waits for was asked for to see whether the host answers.
        let is_no_work = |lease: &Lease| {
            let is_probe = lease.waiting.owner.is_some() && hosts[lease.queue].is_empty();
            let is_failing =
                self.troubled.contains(&lease.queue) || self.addresses.contains_key(&lease.address);
            is_probe || is_failing
        };
        let failing = self.troubled.iter().filter(|id| is_failing(id));
        let mut of_failing: usize = failing.map(|id| hosts[*id].len()).sum();
        of_failing += usize::try_from(hosts.cold.failing_urls()).unwrap_or(usize::MAX);
        if !self.addresses.is_empty() {
            let lives_there = |queue: &&Queue| match &queue.name {
                Name::Known { clock, .. } => self.addresses.contains_key(clock),
                _ => false,
            };
            let others = hosts.iter().filter(|(id, _)| !self.troubled.contains(id) || !is_failing(id));
            of_failing += others.map(|(_, queue)| queue).filter(lives_there).map(Queue::len).sum::<usize>();
        }
        of_failing as u64 >= waiting && leases.iter().all(|(_, lease)| is_no_work(lease))
    }

    /// Hosts that fail and that URLs wait for, those that are given up last first, at most so many.
    pub(crate) fn report(&self, hosts: &Hosts, max: usize, now: Micros) -> Vec<Failing> {
        let healthy_at = self.health.clock(now);
        let mut failing: Vec<(QueueId, &Evidence)> = Vec::with_capacity(self.troubled.len());
        for id in &self.troubled {
            let queue = &hosts[*id];
            let evidence = queue.evidence().max_by_key(|evidence| evidence.since);
            failing.extend(evidence.filter(|_| !queue.is_empty()).map(|evidence| (*id, evidence)));
        }
        let last = |(_, evidence): &(QueueId, &Evidence)| Reverse(evidence.until(&self.patience));
        // Only those that are reported are sorted: there may be millions, and the loop waits for this.
        if failing.len() > max {
            failing.select_nth_unstable_by_key(max, last);
            failing.truncate(max);
        }
        failing.sort_unstable_by_key(last);
        let report = |(id, evidence): (QueueId, &Evidence)| {
            let queue = &hosts[id];
            let left = evidence.until(&self.patience).saturating_sub(healthy_at);
            let (host, kind) = (queue.host.to_string(), evidence.failure.kind);
            Failing { host, kind, waiting: queue.len(), until: now.saturating_add(left) }
        };
        failing.into_iter().map(report).collect()
    }
}
