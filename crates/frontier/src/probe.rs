//! Probes healthy hosts, and the resolvers with names of hosts and with one that cannot exist; learns from the resolvers' answers.

use std::io;
use std::net::IpAddr;

use lycosa_records::Request;
use lycosa_url::{CrawlUrl, FailureKind, Micros, Resolved};

use crate::names::Name;
use crate::politeness::Start;
use crate::politeness::domains::DomainId;
use crate::schedule::QueueId;
use crate::suspension::{HEALTHY, HealthyHost};
use crate::waiting::{RobotsOwner, Waiting};
use crate::{Frontier, Resolve};

/// Hosts that are probed in one round.
const PROBES: usize = 3;

/// The check of the resolver itself: names below `.example` do not exist, resolvers ask for them like for others (RFC 6761 section
/// 6.5), and any answer proves that a resolver works. Names below `.invalid` are answered by the client itself.
const CANARY: &str = ".example";

impl<R: Resolve> Frontier<R> {
    /// Probes healthy hosts; while suspended also others, in the order of the schedule.
    pub(crate) fn probe(&mut self, max: usize, now: Micros) -> io::Result<Vec<Request>> {
        let is_suspended = self.trouble.health.is_suspended();
        let mut requests = Vec::new();
        let known: Vec<HealthyHost> = self.trouble.health.healthy.iter().rev().cloned().collect();
        for host in &known {
            let is_failing = self.trouble.health.connections.is_failing(host.domain, host.network);
            if requests.len() < max.min(PROBES) && (is_suspended || !is_failing) {
                let request = self.probe_host(host, requests.is_empty(), now)?;
                requests.extend(request);
            }
        }
        // No healthy host's pace allows a request: they are probed a little later.
        let may_wait = !is_suspended && !known.is_empty() && self.trouble.health.connections.may_wait(now);
        if requests.is_empty() && may_wait {
            return Ok(requests);
        }
        // The next round begins with others.
        let asked = requests.len().min(self.trouble.health.healthy.len());
        self.trouble.health.healthy.rotate_right(asked);
        while is_suspended && requests.len() < max.min(PROBES) {
            match self.next_request(now)? {
                Some(request) => requests.push(request),
                None => break,
            }
        }
        self.trouble.health.probes.extend(requests.iter().map(|request| request.lease));
        self.trouble.health.connections.begin_round(requests.len(), now);
        Ok(requests)
    }

    /// A request to a host whatever its turn, if politeness allows one: a waiting URL, or its robots.txt. `is_first`: of its round.
    fn probe_host(&mut self, host: &HealthyHost, is_first: bool, now: Micros) -> io::Result<Option<Request>> {
        let id = host.queue;
        let queue = &self.hosts[id];
        let Name::Known { clock, .. } = &queue.name else { return Ok(None) };
        let address = *clock;
        let start = self.politeness.may_start(queue, address, now);
        // A robots.txt may be asked for beyond the domain's budget.
        let may_ask = matches!(start, Start::Now | Start::AfterDomain | Start::Never);
        if !may_ask || self.politeness.blocks_host(&queue.host) {
            return Ok(None);
        }
        // While responses are held, only a robots.txt is a test. It cannot show for every host that a known portal has ended.
        let is_test =
            !(self.trouble.captive.is_suspicious() || self.trouble.captive.is_captive() && is_first);
        let has_turn = is_test && queue.due_at() <= now && !queue.is_empty();
        let has_capacity = self.page_budget() > 0 && start == Start::Now;
        let mut request = if has_turn && has_capacity { self.grant(id, address, now)? } else { None };
        if request.is_none()
            && let Some(robots) = robots_of(id, &host.origin)
        {
            request = Some(self.lease(id, address, robots, now));
        }
        Ok(request)
    }

    /// Asks the resolvers for a name that cannot exist, and for names of healthy hosts.
    pub(crate) fn probe_names(&mut self, now: Micros) {
        let is_suspended = self.trouble.health.names.suspended().is_some();
        let mut names = vec![self.next_canary()];
        self.trouble.health.asked.clear();
        for host in self.trouble.health.healthy.iter().rev() {
            let queue = &self.hosts[host.queue];
            let network = name_network(host.domain);
            if self.trouble.health.asked.len() < PROBES
                && (is_suspended || !self.trouble.health.names.is_failing(host.domain, network))
                && is_name(&queue.host)
            {
                self.trouble.health.asked.push(host.queue);
                names.push(queue.host.clone());
            }
        }
        // Names that wait are as good: no healthy host may be known.
        for _ in 0..if is_suspended { PROBES } else { 0 } {
            let Some(id) = self.names.pop_any(PROBES, now) else { break };
            if matches!(self.hosts[id].name, Name::Asked { .. }) {
                names.push(self.hosts[id].host.clone());
            }
        }
        self.trouble.health.names.begin_round(self.trouble.health.asked.len(), now);
        self.names.ask_fresh(names);
    }

    /// A name that cannot exist, another one each time: no cache knows it.
    pub(crate) fn next_canary(&mut self) -> Box<str> {
        self.trouble.health.canaries += 1;
        let canary: Box<str> =
            format!("lycosa-{:016x}{CANARY}", self.trouble.health.hash_of(self.trouble.health.canaries))
                .into();
        self.trouble.health.canary = Some(canary.clone());
        canary
    }

    /// Learns from an answer for a name whether the resolvers are healthy. Returns whether it is their check's.
    pub(crate) fn assess_name(&mut self, answer: &Resolved, id: Option<QueueId>, now: Micros) -> bool {
        if self.trouble.health.canary.as_deref() == Some(&*answer.name) {
            self.trouble.health.canary = None;
            let failed = matches!(&answer.result, Err(failure) if is_of_resolver(failure.kind));
            if self.trouble.health.names.canary(failed) {
                self.names_answered(now);
            }
            let lie = answer.result.as_ref().ok().and_then(|addresses| addresses.first());
            self.trouble.captive.resolver_says(lie.map(|address| network_of(*address)));
            return true;
        }
        let Some(id) = id else { return false };
        // An answer from the cache says nothing of the resolvers.
        if answer.elapsed_us == 0 {
            return false;
        }
        let queue = &self.hosts[id];
        let (domain, known) = (queue.domain, queue.lives_at.is_some() || queue.answered);
        let asked = self.trouble.health.asked.iter().position(|asked| *asked == id);
        let is_permitted = |address: &IpAddr| self.politeness.permits(*address);
        let failure = match &answer.result {
            Err(failure) => Some(failure.kind),
            Ok(addresses) if addresses.iter().any(is_permitted) => None,
            Ok(_) => Some(FailureKind::AddressRefused),
        };
        match failure {
            Some(kind) if is_of_resolver(kind) || (known && is_denial(kind)) => {
                let text = || format!("{}: {}", queue.host, kind.as_str());
                self.trouble.health.names.fail(domain, name_network(domain), known, text, now);
                if let Some(index) = asked {
                    self.trouble.health.asked.swap_remove(index);
                    self.trouble.health.names.end_probe();
                }
            }
            Some(_) => self.trouble.health.names.suspect(now),
            None => {
                if let Some(address) = answer.result.iter().flatten().next() {
                    self.trouble.captive.name_answered(domain, network_of(*address));
                }
                self.trouble.health.address_at = self.trouble.health.clock(now);
                self.names_answered(now);
            }
        }
        false
    }

    /// A resolver answered for a name.
    fn names_answered(&mut self, now: Micros) {
        if let Some(ended) = self.trouble.health.names.answer(now) {
            self.resume(&ended, now);
        }
    }

    /// Remembers the hosts that were healthy in an earlier process: those whose rules are known.
    pub(crate) fn remember_healthy(&mut self) {
        for (id, queue) in self.hosts.iter_mut() {
            let Some(origin) = queue.origins.with_rules() else { continue };
            queue.answered = true;
            if self.trouble.health.healthy.len() < HEALTHY {
                let network = name_network(queue.domain);
                self.trouble.health.remember(id, queue.domain, network, origin);
                (self.trouble.health.connections.answered, self.trouble.health.names.answered) = (true, true);
            }
        }
    }
}

/// The request for an origin's robots.txt.
pub(crate) fn robots_of(queue: QueueId, origin: &str) -> Option<Waiting> {
    let url = CrawlUrl::parse(&format!("{origin}/robots.txt")).ok()?;
    let owner = Some(Box::new(RobotsOwner { queue, origin: origin.into(), before: None }));
    Some(Waiting { owner, ..Waiting::new(url) })
}

/// Whether a resolver denies a name: for a name that existed, it may lie or be broken.
pub(crate) fn is_denial(kind: FailureKind) -> bool {
    use FailureKind as K;
    matches!(kind, K::NameNotFound | K::NameNoData | K::AddressRefused)
}

/// Whether a failure is the resolvers', and not the name's.
fn is_of_resolver(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::NameTimeout | FailureKind::NameServerFailure)
}

/// Whether a host is a name, and not an address.
pub(crate) fn is_name(host: &str) -> bool {
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
