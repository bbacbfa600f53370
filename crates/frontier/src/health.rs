//! The health of the crawl itself: its two channels, the hosts that are known to be healthy, the healthy clock.
//!
//! Whether a channel is suspended is decided in `channel.rs`.
//!
//! Guarantee: the healthy clock does not advance while the crawl is suspended or the process is stopped.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::net::IpAddr;

use hashbrown::DefaultHashBuilder;
use lycosa_records::{Outcome, Request};
use lycosa_url::{FailureKind, Micros, registered_domain};

use crate::Settings;
use crate::channel::{Channel, Path, Suspension};
use crate::hosts::Hosts;
use crate::politeness::domains::{DomainId, Domains};
use crate::queue::Queue;
use crate::reports::Reporter;
use crate::schedule::QueueId;

/// Healthy hosts that are remembered, each of another registered domain.
const HEALTHY: usize = 32;

/// The part of the longest suspension after which the crawl ends if no host has ever answered: dead hosts look the same as a
/// broken uplink.
const WITHOUT_PROOF: u64 = 12;

/// Hosts that are probed in one round.
pub(crate) const PROBES: usize = 3;

/// The check of the resolver itself: names below `.example` do not exist, resolvers ask for them like for others (RFC 6761 section
/// 6.5), and any answer proves that a resolver works. Names below `.invalid` are answered by the client itself.
const CANARY: &str = ".example";

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
    healthy: VecDeque<HealthyHost>,
    /// Requests of the probe round, and hosts whose names it asks for.
    probes: Vec<u64>,
    asked: Vec<QueueId>,
    /// The name of the resolver's check that is out, and how many there were.
    canary: Option<Box<str>>,
    canaries: u64,
    /// When resolvers last gave an address, on the healthy clock.
    address_at: Micros,
    /// How long the crawl was suspended or stopped, and since when it is.
    stopped: Micros,
    since: Option<Micros>,
    /// When the loop last called, and the last long time in which it did not.
    looked: Micros,
    gap: (Micros, Micros),
    /// How long the process was stopped during the suspension that lasts.
    absent: Micros,
    messages: Vec<String>,
    /// What is heard of other shards.
    pub(crate) reporter: Reporter,
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
            reporter: Reporter::new(settings.shared.reports.clone()),
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

    /// A name that cannot exist, a different one each time: no cache has it.
    pub(crate) fn next_canary(&mut self) -> Box<str> {
        self.canaries += 1;
        let canary: Box<str> = format!("lycosa-{:016x}{CANARY}", self.hasher.hash_one(self.canaries)).into();
        self.canary = Some(canary.clone());
        canary
    }

    /// Whether a name is the one of the check that is out; then it is out no longer.
    pub(crate) fn end_canary(&mut self, name: &str) -> bool {
        self.canary.take_if(|canary| **canary == *name).is_some()
    }

    /// The names of a probe round of the resolvers: one that cannot exist, and those of healthy hosts.
    pub(crate) fn names_to_probe(&mut self, hosts: &Hosts) -> Vec<Box<str>> {
        let is_suspended = self.names.suspended().is_some();
        let mut names = vec![self.next_canary()];
        self.asked.clear();
        for host in self.healthy.iter().rev() {
            let name = &hosts[host.queue].host;
            let is_failing = self.names.is_failing(host.domain, name_network(host.domain));
            if self.asked.len() < PROBES && (is_suspended || !is_failing) && is_name(name) {
                self.asked.push(host.queue);
                names.push(name.clone());
            }
        }
        names
    }

    /// They are asked for.
    pub(crate) fn begin_name_round(&mut self, now: Micros) {
        self.names.begin_round(self.asked.len(), now);
    }

    /// A resolver failed to answer for a host's name. `known`: the name had an address.
    pub(crate) fn name_failed(&mut self, id: QueueId, queue: &Queue, kind: FailureKind, now: Micros) {
        let known = was_resolved(queue);
        let text = || format!("{}: {}", queue.host, kind.as_str());
        self.names.fail(queue.domain, name_network(queue.domain), known, text, now);
        self.reporter.failed(Channel::Names, (registered_domain(&queue.host), 0, known), text, now);
        if let Some(index) = self.asked.iter().position(|asked| *asked == id) {
            self.asked.swap_remove(index);
            self.names.end_probe();
        }
    }

    /// A resolver gave an address; returns the suspension that this ends.
    pub(crate) fn name_answered(&mut self, now: Micros) -> Option<Suspension> {
        self.address_at = self.clock(now);
        self.reporter.answered(Channel::Names, now);
        self.names.answer(now)
    }

    /// A host answered; returns the suspension that this ends.
    pub(crate) fn host_answered(&mut self, at: Micros) -> Option<Suspension> {
        self.reporter.answered(Channel::Connections, at);
        self.connections.answer(at)
    }

    /// A host did not answer. `network`: the part of its address that unrelated hosts do not share.
    pub(crate) fn host_failed(&mut self, queue: &Queue, network: u64, kind: &str, at: Micros) {
        let (known, text) = (queue.answered, || format!("{}: {kind}", queue.host));
        self.connections.fail(queue.domain, network, known, text, at);
        self.reporter.failed(
            Channel::Connections,
            (registered_domain(&queue.host), network, known),
            text,
            at,
        );
    }

    /// Learns what other shards report; returns the suspensions that this ends. `believes_answers`: not while a captive portal is
    /// suspected, which answers for all hosts. `domains`: this shard's; one domain is one witness, whose shards report it.
    pub(crate) fn hear(&mut self, domains: &Domains, believes_answers: bool) -> Vec<Suspension> {
        for failing in self.reporter.news() {
            let foreign = || foreign_domain(self.hasher.hash_one(&*failing.domain));
            let domain = domains.find(&failing.domain).unwrap_or_else(foreign);
            let (path, network) = match failing.channel {
                Channel::Names => (&mut self.names, name_network(domain)),
                Channel::Connections => (&mut self.connections, failing.network),
            };
            path.fail(domain, network, failing.known, || failing.example.into(), failing.at);
        }
        let last = |channel| self.reporter.last_answer(channel);
        let names = self.names.others_answer(last(Channel::Names));
        let connections = last(Channel::Connections);
        let connections = believes_answers.then(|| self.connections.others_answer(connections)).flatten();
        names.into_iter().chain(connections).collect()
    }

    /// Whether resolvers gave an address since then, on the healthy clock.
    pub(crate) fn has_address_since(&self, since: Micros) -> bool {
        self.address_at >= since
    }

    /// The healthy hosts, the one that answered last first.
    pub(crate) fn healthy_hosts(&self) -> Vec<HealthyHost> {
        self.healthy.iter().rev().cloned().collect()
    }

    /// The queues of these hosts, and of those whose names a probe round asks for.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueueId> {
        self.healthy.iter().map(|healthy| healthy.queue).chain(self.asked.iter().copied())
    }

    /// How many healthy hosts are remembered, each of another registered domain.
    pub(crate) fn healthy_count(&self) -> usize {
        self.healthy.len()
    }

    /// So many healthy hosts were probed: the next round begins with others.
    pub(crate) fn rotate(&mut self, probed: usize) {
        self.healthy.rotate_right(probed.min(self.healthy.len()));
    }

    /// A probe round of hosts begins with these requests.
    pub(crate) fn begin_round(&mut self, requests: &[Request], now: Micros) {
        self.probes.extend(requests.iter().map(|request| request.lease));
        self.connections.begin_round(requests.len(), now);
    }

    /// Whether hosts of a probe round have not responded yet; held responses do not count.
    pub(crate) fn is_probing(&self, is_held: impl Fn(u64) -> bool) -> bool {
        self.connections.is_asking() && !self.probes.iter().all(|lease| is_held(*lease))
    }

    /// Remembers a host that was healthy in an earlier process, if there is space.
    pub(crate) fn remember_earlier(&mut self, id: QueueId, domain: DomainId, origin: &str) {
        if self.healthy.len() < HEALTHY {
            self.remember(id, domain, name_network(domain), origin);
            (self.connections.answered, self.names.answered) = (true, true);
        }
    }

    /// The loop calls.
    pub(crate) fn look(&mut self, now: Micros) {
        self.looked = now;
    }

    /// When the loop last called.
    pub(crate) fn looked(&self) -> Micros {
        self.looked
    }

    /// The process was stopped in this time: the healthy clock does not advance, or the suspension is not longer for it.
    pub(crate) fn was_away(&mut self, from: Micros, to: Micros) {
        let away = to.saturating_sub(from);
        self.gap = (from, to);
        match self.since {
            None => self.stopped = self.stopped.saturating_add(away),
            Some(_) => self.absent = self.absent.saturating_add(away),
        }
    }

    /// Stops the healthy clock, since then.
    pub(crate) fn stop_clock(&mut self, since: Micros) {
        self.since.get_or_insert(since);
    }

    /// Resumes the healthy clock, unless a channel is still suspended.
    pub(crate) fn resume_clock(&mut self, now: Micros) {
        if self.suspensions().next().is_none()
            && let Some(since) = self.since.take()
        {
            self.absent = 0;
            self.stopped = self.stopped.saturating_add(now.saturating_sub(since));
        }
    }

    /// Whether a channel is suspended for longer than this.
    pub(crate) fn is_suspended_for(&self, longest: Micros) -> bool {
        let is_over = |path: &Path| {
            // If no host has ever answered, there is no proof that the trouble is the crawl's own.
            let longest = if path.has_proof() { longest } else { longest / WITHOUT_PROOF };
            let now = self.looked.saturating_sub(self.absent);
            path.suspended().is_some_and(|it| now.saturating_sub(it.since) >= longest)
        };
        is_over(&self.names) || is_over(&self.connections)
    }

    /// Takes the messages to the user.
    pub(crate) fn messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
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

/// Whether a resolver denies a name: for a name that existed, it may lie or be broken.
pub(crate) fn is_denial(kind: FailureKind) -> bool {
    use FailureKind as K;
    matches!(kind, K::NameNotFound | K::NameNoData | K::AddressRefused)
}

/// Whether a failure is the resolvers', and not the name's.
pub(crate) fn is_of_resolver(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::NameTimeout | FailureKind::NameServerFailure)
}

/// Whether a host is a name, and not an address.
fn is_name(host: &str) -> bool {
    host.ends_with(|last: char| last.is_ascii_alphabetic())
}

/// The part of an address that unrelated hosts do not share: /24, or /48 (RFC 6177).
pub(crate) fn network_of(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(v4) => u64::from(u32::from(v4) >> 8),
        IpAddr::V6(v6) => (u128::from(v6) >> 80) as u64 | 1 << 63,
    }
}

/// The same if no address is known: names of unrelated domains are unrelated.
fn name_network(domain: DomainId) -> u64 {
    u64::from(domain) | 1 << 62
}

/// The number of a registered domain of another shard: none that a domain of this one has.
fn foreign_domain(hash: u64) -> DomainId {
    hash as DomainId | 1 << (DomainId::BITS - 1)
}

/// Whether a host's name had an address.
pub(crate) fn was_resolved(queue: &Queue) -> bool {
    queue.lives_at.is_some() || queue.answered
}
