//! The crawl's own trouble: it suspends, takes back the evidence against hosts, and resumes by itself.
//!
//! `health.rs` decides whose trouble it is; `probe.rs` probes the healthy hosts that are remembered here; `portal.rs` handles a
//! captive portal.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use lycosa_records::Outcome;
use lycosa_url::{FailureKind, Micros};

use crate::health::{Cause, Channel, Path, Suspension};
use crate::hosts::Hosts;
use crate::politeness::domains::DomainId;
use crate::politeness::signal::{Word, word};
use crate::probe::{is_name, network_of};
use crate::schedule::QueueId;
use crate::{Frontier, Resolve, Settings};

/// Healthy hosts that are remembered, each of another registered domain.
pub(crate) const HEALTHY: usize = 32;

/// The part of the longest suspension after which the crawl ends if no host has ever answered: dead hosts look the same as a
/// broken uplink.
const WITHOUT_PROOF: u64 = 12;

/// A host that was healthy when it was last asked.
#[derive(Clone, Debug)]
pub(crate) struct HealthyHost {
    pub(crate) queue: QueueId,
    pub(crate) domain: DomainId,
    pub(crate) network: u64,
    /// Scheme, host and port.
    pub(crate) origin: Box<str>,
}

/// Whether the crawl itself is healthy.
#[derive(Debug)]
pub(crate) struct Health {
    pub(crate) names: Path,
    pub(crate) connections: Path,
    /// Hosts that answered lately, the last one at the back.
    pub(crate) healthy: VecDeque<HealthyHost>,
    /// Requests of the probe round, and hosts whose names it asks for.
    pub(crate) probes: Vec<u64>,
    pub(crate) asked: Vec<QueueId>,
    pub(crate) canary: Option<Box<str>>,
    pub(crate) canaries: u64,
    /// When resolvers last gave an address, on the healthy clock.
    pub(crate) address_at: Micros,
    /// How long the crawl was suspended or stopped, and since when it is.
    stopped: Micros,
    since: Option<Micros>,
    /// When the loop last called, and the last long time in which it did not.
    pub(crate) looked: Micros,
    gap: (Micros, Micros),
    /// How long the process was stopped during the suspension that lasts.
    absent: Micros,
    messages: Vec<String>,
    /// Makes the names of checks differ between processes.
    hasher: DefaultHashBuilder,
}

impl Health {
    /// A healthy crawl.
    pub(crate) fn new(settings: &Settings) -> Self {
        Health {
            names: Path::new(settings),
            connections: Path::new(settings),
            healthy: VecDeque::new(),
            probes: Vec::new(),
            asked: Vec::new(),
            canary: None,
            canaries: 0,
            address_at: 0,
            stopped: 0,
            since: None,
            looked: 0,
            gap: (0, 0),
            absent: 0,
            messages: Vec::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The healthy clock: the machine's, without the time in which the crawl was suspended or stopped.
    pub(crate) fn clock(&self, now: Micros) -> Micros {
        let pending = self.since.map_or(0, |since| now.saturating_sub(since));
        now.saturating_sub(self.stopped).saturating_sub(pending)
    }

    /// Whether requests wait for the trouble to end.
    pub(crate) fn is_suspended(&self) -> bool {
        self.connections.suspended().is_some()
    }

    /// Whether it may be decided soon that failures are the crawl's own trouble.
    pub(crate) fn is_unclear(&self, now: Micros) -> bool {
        self.names.is_unclear(now) || self.connections.is_unclear(now)
    }

    /// Whether a host has begun to fail that was healthy.
    pub(crate) fn is_fresh(&self, now: Micros) -> bool {
        self.names.is_fresh(now) || self.connections.is_fresh(now)
    }

    /// The suspensions that last.
    pub(crate) fn suspensions(&self) -> impl Iterator<Item = &Suspension> {
        [&self.names, &self.connections].into_iter().filter_map(Path::suspended)
    }

    /// When a probe or a decision is due.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        let times = [&self.names, &self.connections].into_iter().filter_map(Path::due_at);
        times.filter(|due| *due > self.looked).min()
    }

    /// Whether a request was out while the process was stopped.
    pub(crate) fn was_stopped(&self, page: &Outcome) -> bool {
        page.response.started < self.gap.1 && page.response.finished > self.gap.0
    }

    /// Remembers a host that answered.
    pub(crate) fn remember(&mut self, queue: QueueId, domain: DomainId, network: u64, origin: &str) {
        let known = match self.healthy.iter().rposition(|known| known.domain == domain) {
            Some(index) => self.healthy.remove(index),
            None => {
                if self.healthy.len() >= HEALTHY {
                    self.forget_one(network);
                }
                None
            }
        };
        // Called for each page: most come from a known origin.
        let origin = match known {
            Some(known) if *known.origin == *origin => known.origin,
            _ => origin.into(),
        };
        self.healthy.push_back(HealthyHost { queue, domain, network, origin });
    }

    /// Forgets the host that answered longest ago: of the same network if there are many of it, so that all are not of one.
    fn forget_one(&mut self, network: u64) {
        let alike = || (0..self.healthy.len()).filter(|index| self.healthy[*index].network == network);
        let index = if alike().count() >= HEALTHY / 4 { alike().next().unwrap_or(0) } else { 0 };
        self.healthy.remove(index);
    }

    /// Whether names of hosts that were healthy can be asked for.
    pub(crate) fn can_probe_names(&self, hosts: &Hosts) -> bool {
        self.healthy.iter().any(|healthy| is_name(&hosts[healthy.queue].host))
    }

    /// Spreads a number, differently in each process.
    pub(crate) fn hash_of(&self, number: u64) -> u64 {
        self.hasher.hash_one(number)
    }

    /// Reports a message to the user, once.
    pub(crate) fn report(&mut self, text: String) {
        self.messages.push(text);
    }

    /// The probe round's request is out no longer.
    pub(crate) fn end_probe(&mut self, lease: u64) {
        if let Some(index) = self.probes.iter().position(|probe| *probe == lease) {
            self.probes.swap_remove(index);
            self.connections.end_probe();
        }
    }
}

impl<R: Resolve> Frontier<R> {
    /// Takes the messages to the user, such as those about the crawl's own trouble.
    pub fn messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.trouble.health.messages)
    }

    /// Why the crawl is suspended, if it is.
    pub fn suspensions(&self) -> Vec<Suspension> {
        self.trouble.health.suspensions().cloned().collect()
    }

    /// Whether the crawl is suspended for longer than it may be.
    pub fn is_suspended_for_too_long(&self) -> bool {
        let Some(longest) = self.settings.longest_suspension else { return false };
        let longest = self.settings.scaled(longest);
        let is_over = |path: &Path| {
            // If no host has ever answered, there is no proof that the trouble is the crawl's own.
            let longest = if path.has_proof() { longest } else { longest / WITHOUT_PROOF };
            let now = self.trouble.health.looked.saturating_sub(self.trouble.health.absent);
            path.suspended().is_some_and(|it| now.saturating_sub(it.since) >= longest)
        };
        is_over(&self.trouble.health.names) || is_over(&self.trouble.health.connections)
    }

    /// The process was stopped or the machine suspended: leases are extended, and failures meanwhile are no evidence.
    pub fn was_away(&mut self, from: Micros, to: Micros) {
        let away = to.saturating_sub(from);
        self.trouble.health.gap = (from, to);
        match self.trouble.health.since {
            None => self.trouble.health.stopped = self.trouble.health.stopped.saturating_add(away),
            Some(_) => self.trouble.health.absent = self.trouble.health.absent.saturating_add(away),
        }
        self.was_slow(away);
    }

    /// Learns from an outcome whether the crawl itself is healthy, and marks failures by its own trouble.
    pub(crate) fn assess(&mut self, page: &mut Outcome) {
        let request = &page.response.request;
        let Some(lease) = self.leases.get(request.lease) else { return };
        let (id, at) = (lease.queue, page.response.finished);
        let address = page.response.address.or(request.route.addresses().first().copied());
        let network = address.map_or(0, network_of);
        let domain = self.hosts[id].domain;
        if self.is_same_answer(page, id, network) {
            return;
        }
        match word(page) {
            Word::Answered => {
                self.hosts[id].answered = true;
                self.trouble.health.remember(id, domain, network, page.response.request.url.origin());
                if self.trouble.captive.ends(page.response.started)
                    && let Some(ended) = self.trouble.health.connections.answer(at)
                {
                    self.resume(&ended, at);
                }
            }
            Word::Silent => {
                page.ours = self.trouble.health.is_suspended()
                    || self.trouble.health.was_stopped(page)
                    || matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::LocalFailure);
                let known = self.hosts[id].answered;
                let host = &self.hosts[id].host;
                let kind = page.response.result.as_ref().err().map_or("", |failure| failure.kind.as_str());
                self.trouble.health.connections.fail(
                    domain,
                    network,
                    known,
                    || format!("{host}: {kind}"),
                    at,
                );
            }
            Word::Nothing => {}
        }
    }

    /// Decides whether the trouble is the crawl's own, and probes the resolvers.
    pub(crate) fn decide_suspensions(&mut self, now: Micros) {
        if self.trouble.health.names.wants_round(now) {
            self.probe_names(now);
        }
        let (known, domains) = (self.trouble.health.healthy.len(), self.politeness.domains.len());
        for channel in [Channel::Names, Channel::Connections] {
            let path = match channel {
                Channel::Names => &mut self.trouble.health.names,
                Channel::Connections => &mut self.trouble.health.connections,
            };
            if let Some(since) = path.suspend(channel, known, domains, now) {
                self.begin_suspension(since, now);
            }
        }
    }

    /// Begins a suspension: the evidence since then is taken back.
    pub(crate) fn begin_suspension(&mut self, since: Micros, now: Micros) {
        self.trouble.health.since.get_or_insert(since);
        self.take_back(since, now);
        let text =
            self.trouble.health.suspensions().map(|it| describe(it, now)).collect::<Vec<_>>().join("; ");
        self.trouble
            .health
            .messages
            .push(format!("suspended: {text}; nothing is given up meanwhile, probes go on"));
    }

    /// Ends a suspension.
    pub(crate) fn resume(&mut self, ended: &Suspension, now: Micros) {
        if ended.cause == Cause::Captive {
            self.trouble.captive.clear(now);
            self.forget_what_the_portal_said(ended.since, now);
        }
        // Before the healthy clock resumes, so that only the evidence since then is forgotten.
        self.take_back(ended.since, now);
        if self.trouble.health.suspensions().next().is_none()
            && let Some(since) = self.trouble.health.since.take()
        {
            self.trouble.health.absent = 0;
            self.trouble.health.stopped =
                self.trouble.health.stopped.saturating_add(now.saturating_sub(since));
        }
        let seconds = now.saturating_sub(ended.since) / 1_000_000;
        self.trouble
            .health
            .messages
            .push(format!("the crawl goes on after {seconds} s: {} answer again", who(ended.cause)));
    }

    /// Forgets the evidence since then.
    fn take_back(&mut self, since: Micros, now: Micros) {
        for id in self.trouble.take_back(&mut self.hosts, since) {
            self.enqueue(id, now);
        }
        self.politeness.addresses.forgive(since);
    }
}

/// A suspension in words.
fn describe(suspension: &Suspension, now: Micros) -> String {
    let Suspension { cause, since, domains, example, .. } = suspension;
    let seconds = now.saturating_sub(*since) / 1_000_000;
    let domains = format!("{domains} registered domain{}", if *domains == 1 { "" } else { "s" });
    let what = match cause {
        Cause::Names => "no DNS resolver gives answers",
        Cause::Connections => "no site answers, not even those that answered before",
        Cause::Captive => "every site gives the same answer, as behind a captive portal",
    };
    format!("{what} for {seconds} s by now ({domains}, the first: {example})")
}

/// What answers again.
fn who(cause: Cause) -> &'static str {
    match cause {
        Cause::Names => "DNS resolvers",
        Cause::Connections | Cause::Captive => "sites",
    }
}
