//! Trouble: the evidence against hosts, origins and addresses, and the state that tells it from the crawl's own.
//!
//! The evidence against a host is in its queue, that against an origin in [`Origins`](crate::robots::Origins). Whether the crawl
//! itself is healthy is decided in `channel.rs`, whether a captive portal answers in `captive.rs`.
//!
//! Guarantees:
//! 1. Every host in memory with evidence is among `troubled`, and reviewed until it has none; those on disk come back for each try.
//! 2. A host is given up only when its evidence is enough ([`Trouble::is_enough`]) and cannot be the crawl's own trouble.
//! 3. What a suspension explains is taken back ([`Trouble::take_back`]).

use std::collections::{BTreeSet, VecDeque};

use hashbrown::HashMap;
use lycosa_records::{Outcome, Purpose};
use lycosa_url::{Failure, FailureKind, Micros};

use crate::Settings;
use crate::captive::Captive;
use crate::cold::Event;
use crate::health::Health;
use crate::health::is_denial;
use crate::hosts::Hosts;
use crate::leases::Leases;
use crate::patience::{Evidence, LastWord, Patience};
use crate::politeness::signal::{Word, may_pass, word};
use crate::queue::Queue;
use crate::schedule::{AddressId, QueueId};
use crate::waiting::RobotsOwner;

/// Tries of a URL beyond those that the patience gives it, at most, while it is not clear whose trouble its failures are: that is
/// decided before there are more.
const MORE_TRIES: u32 = 3;

/// Tries after which a doubtful failure is believed while that is not clear, at most.
const DOUBTED_TRIES: u64 = 20;

/// Evidence, health, and what is to be reviewed.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// Whether the crawl itself is healthy.
    pub(crate) health: Health,
    /// Whether all hosts give the same answer.
    pub(crate) captive: Captive,
    /// How long hosts may fail.
    pub(crate) patience: Patience,
    /// Hosts with evidence against them or their origins.
    pub(crate) troubled: BTreeSet<QueueId>,
    /// The evidence against addresses at which no host has answered since: it counts for all hosts there, which share its pace.
    pub(crate) addresses: HashMap<AddressId, Evidence>,
    /// The evidence against addresses that were given up, for their hosts on disk.
    pub(crate) given_up: HashMap<AddressId, Evidence>,
    /// Queues whose URLs are to be settled without a fetch.
    failing: VecDeque<QueueId>,
    /// Since when only failing hosts are left, on the healthy clock.
    pub(crate) only_failing: Option<Micros>,
    /// Whether only failing hosts were left in this shard at the last review.
    pub(crate) has_only_failing: bool,
    /// When the next review is, and whether anything has changed since the last.
    pub(crate) review_at: Micros,
    pub(crate) review_wanted: bool,
    /// The last time in the log of an earlier process.
    pub(crate) died_at: Micros,
}

impl Trouble {
    /// No trouble.
    pub(crate) fn new(settings: &Settings) -> Self {
        Trouble {
            health: Health::new(settings),
            captive: Captive::default(),
            patience: Patience::new(settings),
            troubled: BTreeSet::new(),
            addresses: HashMap::new(),
            given_up: HashMap::new(),
            failing: VecDeque::new(),
            only_failing: None,
            has_only_failing: false,
            review_at: 0,
            review_wanted: false,
            died_at: 0,
        }
    }

    /// A host has evidence against it.
    pub(crate) fn add(&mut self, id: QueueId) {
        self.troubled.insert(id);
        self.review_wanted = true;
    }

    /// Something has changed that may decide over hosts with evidence.
    pub(crate) fn review_soon(&mut self, hosts: &Hosts) {
        self.review_wanted |= self.has_failing(hosts);
    }

    /// Whether any host fails, in memory or on disk.
    pub(crate) fn has_failing(&self, hosts: &Hosts) -> bool {
        !self.troubled.is_empty() || !hosts.retries.is_empty()
    }

    /// Has all URLs of a queue settled without a fetch.
    pub(crate) fn fail_later(&mut self, hosts: &mut Hosts, id: QueueId) {
        self.fail_queue(id, &mut hosts[id]);
    }

    /// The same.
    pub(crate) fn fail_queue(&mut self, id: QueueId, queue: &mut Queue) {
        if !std::mem::replace(&mut queue.failing, true) {
            self.failing.push_back(id);
        }
    }

    /// The queue whose URLs are settled next.
    pub(crate) fn next_failing(&self) -> Option<QueueId> {
        self.failing.front().copied()
    }

    /// All its URLs are settled.
    pub(crate) fn end_failing(&mut self, hosts: &mut Hosts) {
        if let Some(id) = self.failing.pop_front() {
            hosts[id].failing = false;
        }
    }

    /// When hosts are to be reviewed.
    pub(crate) fn review_due_at(&self) -> Option<Micros> {
        (self.review_wanted && !self.health.is_suspended()).then_some(self.review_at)
    }

    /// Whether the evidence against a URL and its host leaves it another try.
    pub(crate) fn may_be_tried_again(&self, hosts: &Hosts, leases: &Leases, page: &Outcome) -> bool {
        let (attempt, at) = (page.response.request.attempt, page.response.finished);
        let failure = page.response.result.as_ref().err();
        if failure.is_some_and(|failure| failure.kind.is_doubtful()) {
            return attempt < self.further_looks(at);
        }
        if !may_pass(page) {
            return false;
        }
        let queue = leases.get(page.response.request.lease).map(|lease| &hosts[lease.queue]);
        let trouble = queue.filter(|queue| !queue.is_there).and_then(|queue| queue.trouble.as_deref());
        match (trouble, failure) {
            // The host has not answered since: it is the host that fails, not the URL.
            (Some(trouble), Some(failure)) => {
                let healthy_at = self.health.clock(at);
                let after =
                    Evidence::fail(Some(trouble.clone()), failure.clone(), &self.patience, healthy_at, at);
                !self.is_enough(&after, at)
            }
            _ => {
                let retries = self.patience.url_retries();
                let is_early = attempt < retries + MORE_TRIES && self.may_be_ours(at);
                attempt < retries || failure.is_some() && (is_early || self.is_unclear(at))
            }
        }
    }

    /// How often a doubtful failure is retried before it is believed: once; while it is unclear whose trouble it is, as often as
    /// it takes to span that time.
    fn further_looks(&self, now: Micros) -> u32 {
        let Some(pause) = self.patience.second_look() else { return 0 };
        let looks = self.health.connections.unclear_span().div_ceil(pause) + 1;
        if self.may_be_ours(now) { looks.min(DOUBTED_TRIES) as u32 } else { 1 }
    }

    /// Whether failures are enough to give up a host: the patience has run out, and it is clear that the trouble is not the crawl's own.
    pub(crate) fn is_enough(&self, evidence: &Evidence, now: Micros) -> bool {
        evidence.is_enough(&self.patience, self.only_failing) && !self.is_unclear(now)
    }

    /// Whether the evidence against a host or its origins is enough: the next review gives it up.
    pub(crate) fn is_over(&self, queue: &Queue, now: Micros) -> bool {
        queue.evidence().any(|evidence| self.is_enough(evidence, now))
    }

    /// Why a host that was on disk is given up, if that was decided of its address meanwhile.
    pub(crate) fn given_up_meanwhile(&self, queue: &Queue, now: Micros) -> Option<&Evidence> {
        let healthy_at = self.health.clock(now);
        let evidence = self.given_up.get(&queue.lives_at?)?;
        let until = evidence.given_up.filter(|until| *until > healthy_at)?;
        // One that was tried since then is judged by that.
        let last = queue.evidence().map(|evidence| evidence.last).max()?;
        (last.saturating_add(self.patience.span) <= until).then_some(evidence)
    }

    /// Whether it may turn out soon that what fails now is the crawl's own trouble, and the patience is over before that. A longer one
    /// spans it, and without patience the retries alone count.
    pub(crate) fn is_unclear(&self, now: Micros) -> bool {
        self.patience.span < self.health.connections.unclear_span() && self.may_be_ours(now)
    }

    /// Whether it may turn out soon that what fails now is the crawl's own trouble, where there is patience.
    pub(crate) fn may_be_ours(&self, now: Micros) -> bool {
        self.patience.span > 0 && self.health.is_unclear(now)
    }

    /// When a URL may be tried again; 0: at any time.
    pub(crate) fn due_again(&self, page: &Outcome) -> Micros {
        let (request, failure) = (&page.response.request, page.response.result.as_ref().err());
        let patience = || self.patience.of(request.url.host());
        let pause = match failure {
            _ if page.ours => 0,
            Some(failure) if failure.kind.is_doubtful() => patience().second_look().unwrap_or(0),
            _ if may_pass(page) => patience().url_pause(request.attempt),
            _ => 0,
        };
        if pause == 0 { 0 } else { page.response.finished.saturating_add(pause) }
    }

    /// Forgets the evidence against an address.
    pub(crate) fn forgive_address(&mut self, address: AddressId) {
        self.addresses.remove(&address);
        self.given_up.remove(&address);
    }

    /// Learns whether any host answers at an address.
    pub(crate) fn learn_address(&mut self, address: AddressId, page: &Outcome) {
        let (at, healthy_at) = (page.response.finished, self.health.clock(page.response.finished));
        match (word(page), &page.response.result) {
            (Word::Answered, _) => self.forgive_address(address),
            (Word::Silent, Err(failure)) if self.patience.span > 0 => {
                let before = self.addresses.remove(&address);
                let evidence = Evidence::fail(before, failure.clone(), &self.patience, healthy_at, at);
                self.addresses.insert(address, evidence);
                self.review_wanted = true;
            }
            _ => {}
        }
    }

    /// Learns whether a host answers; returns for how long it gets no request after a failure that may pass.
    pub(crate) fn learn_host(&mut self, (id, queue): (QueueId, &mut Queue), page: &Outcome) -> Micros {
        let (at, healthy_at) = (page.response.finished, self.health.clock(page.response.finished));
        let failure = match &page.response.result {
            Ok(received) if received.status >= 500 => {
                let detail = format!("nothing but errors, the last one status {}", received.status);
                Failure::new(FailureKind::HostUnavailable, detail)
            }
            // It says nothing about the site, which was not asked.
            Err(failure) if failure.kind == FailureKind::ProxyFailed => return 0,
            // Nor does what one page says in place of content: the site has answered.
            Err(failure) if failure.kind.is_transient() && !failure.kind.is_refusal() => failure.clone(),
            Ok(_) if may_pass(page) => return self.patience.of(&queue.host).url_pause(0),
            // Also by what it says: a challenge, a block or a limit asks for less.
            Err(failure) if failure.kind.is_refusal() && failure.kind.is_trouble() => {
                return self.patience.of(&queue.host).url_pause(0);
            }
            _ => {
                if word(page) == Word::Answered {
                    // It was asked whether it is there: from now on each URL has its own tries.
                    queue.is_there |=
                        queue.trouble.take().is_some_and(|evidence| evidence.last_word == LastWord::Asked);
                }
                return 0;
            }
        };
        let patience = self.patience.of(&queue.host);
        // Of a robots.txt its origin's own evidence is kept; without patience each URL has its own tries.
        if page.response.request.purpose == Purpose::Robots {
            return patience.url_pause(0);
        }
        if self.patience.span == 0 {
            return patience.url_pause(page.response.request.attempt);
        }
        let before = queue.trouble.take().filter(|evidence| !evidence.is_of_name()).map(|evidence| *evidence);
        let evidence = Evidence::fail(before, failure, &patience, healthy_at, at);
        // Of a host that is there only some pages fail: the others need not wait.
        let pause = if queue.is_there { patience.url_pause(0) } else { evidence.retry_at.saturating_sub(at) };
        queue.trouble = Some(Box::new(evidence));
        self.add(id);
        pause
    }

    /// Learns from a failure of a host's name; returns when it is asked for again, or `None` if it is given up.
    pub(crate) fn name_failed(
        &mut self,
        hosts: &mut Hosts,
        id: QueueId,
        failure: &Failure,
        now: Micros,
    ) -> Option<Micros> {
        let (transient, healthy_at) = (failure.kind.is_transient(), self.health.clock(now));
        let patience = self.patience.of(&hosts[id].host);
        if (transient || failure.kind.is_doubtful()) && self.health.names.suspended().is_some() {
            return Some(now.saturating_add(patience.url_pause(0)));
        }
        if transient && hosts[id].is_retrying {
            // In memory the host would know its name still: the failure counts, and the evidence stays that against the host.
            if let Some(before) = hosts[id].trouble.take_if(|evidence| !evidence.is_of_name()) {
                let failure = before.failure.clone();
                let mut evidence = Evidence::fail(Some(*before), failure, &patience, healthy_at, now);
                if self.is_enough(&evidence, now) {
                    evidence.last_word = LastWord::Silent; // without its name it cannot be asked for its robots.txt
                }
                let retry_at = evidence.retry_at;
                hosts[id].trouble = Some(Box::new(evidence));
                self.add(id);
                return Some(retry_at);
            }
        }
        let before = hosts[id].trouble.take();
        let before = before.filter(|evidence| evidence.is_of_name()).map(|evidence| *evidence);
        // Whether the resolvers are healthy is decided first.
        let since = before.as_ref().map_or(healthy_at, |evidence| evidence.since);
        let is_early = self.health.names.is_undecided(now)
            || (is_denial(failure.kind) && !self.is_proven(hosts, since, now));
        let is_doubted = failure.kind.is_doubtful() && (before.is_none() || is_early);
        let second_look = patience.second_look().filter(|_| is_doubted);
        let evidence = match second_look {
            Some(pause) => Some(Evidence::doubt(before, failure.clone(), pause, healthy_at, now)),
            None if transient => Some(Evidence::fail(before, failure.clone(), &patience, healthy_at, now)),
            None => None,
        };
        let evidence = evidence.filter(|evidence| second_look.is_some() || !self.is_enough(evidence, now))?;
        let retry_at = evidence.retry_at;
        hosts[id].trouble = Some(Box::new(evidence));
        self.add(id);
        Some(retry_at)
    }

    /// Whether resolvers gave an address since then, on the healthy clock: they do not deny all names. No host waits for that if no
    /// name is known to have one, nor longer than the patience.
    fn is_proven(&mut self, hosts: &Hosts, since: Micros, now: Micros) -> bool {
        let is_over = self.health.clock(now).saturating_sub(since) >= self.patience.span;
        let is_proven =
            self.health.has_address_since(since) || is_over || !self.health.can_probe_names(hosts);
        if !is_proven {
            if self.health.clock(now) > since {
                // Also where no server was asked, as for names that are not in the DNS.
                self.health.names.suspect(now);
            }
            self.health.names.ask_soon(now);
        }
        is_proven
    }

    /// Weighs a failure of a robots.txt: the evidence with which its origin is parked, or `None` if it is given up. `ours`: the site
    /// was not asked.
    pub(crate) fn robots_failed(
        &mut self,
        queue: &mut Queue,
        owner: &RobotsOwner,
        (failure, ours): (&Failure, bool),
        now: Micros,
    ) -> Option<Evidence> {
        let (patience, healthy_at) = (self.patience.of(&queue.host), self.health.clock(now));
        let may_pass = failure.kind.is_transient() || failure.kind == FailureKind::RobotsUnreachable;
        let before = owner.before.as_deref().cloned();
        // One that failed otherwise before is believed, but while it is not clear whose trouble that is.
        let looks = if self.may_be_ours(now) { self.further_looks(now) } else { 0 };
        let is_early = before.as_ref().is_none_or(|before| before.tries < looks);
        let doubtful = failure.kind.is_doubtful() && is_early;
        let evidence = match patience.second_look() {
            Some(pause) if doubtful => Some(Evidence::doubt(before, failure.clone(), pause, healthy_at, now)),
            _ if may_pass => Some(Evidence::fail(before, failure.clone(), &patience, healthy_at, now))
                .filter(|evidence| !self.is_enough(evidence, now)),
            _ => None,
        };
        if let Some(trouble) = queue.trouble.as_mut().filter(|trouble| trouble.last_word == LastWord::Asked) {
            trouble.last_word = if ours { LastWord::Unasked } else { LastWord::Silent };
            self.review_wanted = true;
        }
        evidence
    }

    /// Moves the evidence by the time in which no process ran: it counts as no patience.
    pub(crate) fn was_down(&mut self, hosts: &mut Hosts, away: Micros) {
        let mut shift = |evidence: &mut Evidence| {
            evidence.since = evidence.since.saturating_add(away);
            evidence.last = evidence.last.saturating_add(away);
        };
        self.addresses.values_mut().for_each(&mut shift);
        for id in &self.troubled {
            let queue = &mut hosts[*id];
            queue.trouble.as_deref_mut().map(&mut shift);
            queue.origins.evidence_mut().for_each(&mut shift);
        }
    }

    /// Forgets the evidence since then; returns the hosts that had some, whose queues are to be scheduled again.
    pub(crate) fn take_back(&mut self, hosts: &mut Hosts, since: Micros) -> Vec<QueueId> {
        let healthy_at = self.health.clock(since);
        self.addresses.retain(|_, evidence| evidence.take_back(healthy_at));
        let failing: Vec<QueueId> = self.troubled.iter().copied().collect();
        for &id in &failing {
            hosts[id].take_back(since, healthy_at);
        }
        hosts.cold.happens(Event::TookBack(since, healthy_at));
        failing
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lycosa_records::Request;

    use super::*;
    use crate::politeness::domains::Domains;
    use crate::scripted::{SECOND, answer, failed, url};

    fn parts() -> (Trouble, Hosts, QueueId) {
        let settings = Settings { patience: Duration::from_secs(60), ..Settings::default() };
        let (mut hosts, mut domains) = (Hosts::new(&settings), Domains::default());
        let id = hosts.find_or_insert("a.com", &mut domains);
        (Trouble::new(&settings), hosts, id)
    }

    fn refused(at: Micros) -> Outcome {
        failed(Request::get(url("http://a.com/")), at, FailureKind::ConnectRefused)
    }

    #[test]
    fn failures_are_evidence_until_an_answer() {
        let (mut trouble, mut hosts, id) = parts();
        assert_eq!(trouble.learn_host((id, &mut hosts[id]), &refused(0)), 10 * SECOND);
        assert_eq!(trouble.learn_host((id, &mut hosts[id]), &refused(10 * SECOND)), 20 * SECOND);
        assert!(trouble.troubled.contains(&id) && trouble.review_due_at().is_some());
        let evidence = hosts[id].trouble.as_deref().unwrap();
        assert_eq!((evidence.tries, evidence.since), (2, 0));
        let page = answer(Request::get(url("http://a.com/")), 30 * SECOND, 200, &[], "", &[]);
        assert_eq!(trouble.learn_host((id, &mut hosts[id]), &page), 0);
        assert!(hosts[id].trouble.is_none());
    }

    #[test]
    fn a_failure_of_a_proxy_says_nothing_about_the_host() {
        let (mut trouble, mut hosts, id) = parts();
        let page = failed(Request::get(url("http://a.com/")), 0, FailureKind::ProxyFailed);
        assert_eq!(trouble.learn_host((id, &mut hosts[id]), &page), 0);
        assert!(hosts[id].trouble.is_none() && trouble.troubled.is_empty());
    }

    #[test]
    fn what_a_suspension_explains_is_taken_back() {
        let (mut trouble, mut hosts, id) = parts();
        trouble.learn_host((id, &mut hosts[id]), &refused(5 * SECOND));
        trouble.learn_address(3, &refused(5 * SECOND));
        assert_eq!(trouble.take_back(&mut hosts, 6 * SECOND), [id]);
        assert!(hosts[id].trouble.is_some() && trouble.addresses.len() == 1, "it came before");
        assert_eq!(trouble.take_back(&mut hosts, 5 * SECOND), [id]);
        assert!(hosts[id].trouble.is_none() && trouble.addresses.is_empty());
    }

    #[test]
    fn a_queue_fails_once() {
        let (mut trouble, mut hosts, id) = parts();
        trouble.fail_later(&mut hosts, id);
        trouble.fail_later(&mut hosts, id);
        assert_eq!(trouble.next_failing(), Some(id));
        trouble.end_failing(&mut hosts);
        assert_eq!((trouble.next_failing(), hosts[id].failing), (None, false));
    }
}
