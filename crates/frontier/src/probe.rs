//! Probes healthy hosts, and the resolvers with names of hosts and with one that cannot exist; learns from the resolvers' answers.

use std::io;
use std::net::IpAddr;

use lycosa_records::Request;
use lycosa_url::{CrawlUrl, FailureKind, Micros, Resolved};

use crate::health::{HealthyHost, PROBES, is_denial, is_of_resolver, network_of, was_resolved};
use crate::names::Name;
use crate::politeness::Start;
use crate::schedule::QueueId;
use crate::waiting::{OriginFile, RobotsOwner, Waiting};
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Probes healthy hosts; while suspended also others, in the order of the schedule.
    pub(crate) fn probe(&mut self, max: usize, now: Micros) -> io::Result<Vec<Request>> {
        let is_suspended = self.trouble.health.is_suspended();
        let mut requests = Vec::new();
        let known = self.trouble.health.healthy_hosts();
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
        self.trouble.health.rotate(requests.len());
        while is_suspended && requests.len() < max.min(PROBES) {
            match self.next_request(now)? {
                Some(request) => requests.push(request),
                None => break,
            }
        }
        self.trouble.health.begin_round(&requests, now);
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
        if !may_ask || self.politeness.excludes_host(&queue.host) {
            return Ok(None);
        }
        // While responses are held, only a robots.txt is a test. It cannot show for every host that a known portal has ended.
        let is_test =
            !(self.trouble.captive.is_suspicious() || self.trouble.captive.is_captive() && is_first);
        let has_turn = is_test && queue.due_at() <= now && !queue.is_empty();
        let has_capacity = start == Start::Now && self.reserve_page();
        let mut request = if has_turn && has_capacity { self.grant(id, address, now)? } else { None };
        self.settle_pages();
        if request.is_none()
            && let Some(robots) = robots_of(id, &host.origin)
            && self.claim(id, address, now)
        {
            request = Some(self.lease(id, address, robots, now));
        }
        Ok(request)
    }

    /// Asks the resolvers for a name that cannot exist, and for names of healthy hosts.
    pub(crate) fn probe_names(&mut self, now: Micros) {
        let is_suspended = self.trouble.health.names.suspended().is_some();
        let mut names = self.trouble.health.names_to_probe(&self.hosts);
        // Names that wait are as good: no healthy host may be known.
        for _ in 0..if is_suspended { PROBES } else { 0 } {
            let Some(id) = self.names.pop_any(PROBES, now) else { break };
            if matches!(self.hosts[id].name, Name::Asked { .. }) {
                names.push(self.hosts[id].host.clone());
            }
        }
        self.trouble.health.begin_name_round(now);
        self.names.ask_fresh(names);
    }

    /// Learns from an answer for a name whether the resolvers are healthy. Returns whether it is their check's.
    pub(crate) fn assess_name(&mut self, answer: &Resolved, id: Option<QueueId>, now: Micros) -> bool {
        if self.trouble.health.end_canary(&answer.name) {
            let failed = matches!(&answer.result, Err(failure) if is_of_resolver(failure.kind));
            if self.trouble.health.names.canary(failed)
                && let Some(ended) = self.trouble.health.names.answer(now)
            {
                self.resume(&ended, now);
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
        let is_permitted = |address: &IpAddr| self.politeness.permits(*address);
        let failure = match &answer.result {
            Err(failure) => Some(failure.kind),
            Ok(addresses) if addresses.iter().any(is_permitted) => None,
            Ok(_) => Some(FailureKind::AddressRefused),
        };
        match failure {
            Some(kind) if is_of_resolver(kind) || (was_resolved(queue) && is_denial(kind)) => {
                self.trouble.health.name_failed(id, queue, kind, now);
            }
            Some(_) => self.trouble.health.names.suspect(now),
            None => {
                if let Some(address) = answer.result.iter().flatten().next() {
                    self.trouble.captive.name_answered(queue.domain, network_of(*address));
                }
                if let Some(ended) = self.trouble.health.name_answered(now) {
                    self.resume(&ended, now);
                }
            }
        }
        false
    }

    /// Remembers the hosts that were healthy in an earlier process: those whose rules are known.
    pub(crate) fn remember_healthy(&mut self) {
        for (id, queue) in self.hosts.iter_mut() {
            let Some(origin) = queue.origins.with_rules() else { continue };
            queue.answered = true;
            self.trouble.health.remember_earlier(id, queue.domain, origin);
        }
    }
}

/// The request for an origin's robots.txt.
pub(crate) fn robots_of(queue: QueueId, origin: &str) -> Option<Waiting> {
    let url = CrawlUrl::parse(&format!("{origin}/robots.txt")).ok()?;
    let file = OriginFile::Robots;
    let owner = Some(Box::new(RobotsOwner { queue, origin: origin.into(), file, before: None }));
    Some(Waiting { owner, ..Waiting::new(url) })
}
