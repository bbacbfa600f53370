//! Responses and domains that once looked like a portal's and were none: they are not delayed for the same reason again.
//!
//! Guarantee: no domain is trusted whatever it sends. Sites that share pages raise no suspicion any more, but one response of theirs
//! to URL after URL does.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::politeness::domains::DomainId;
use crate::same::{Hosts, Same};

/// Marks, and domains, that are remembered at most.
const HONEST: usize = 64;
const DOMAINS: usize = 4096;

/// Times that a portal may return before its response is believed to be the sites' own.
const RETURNS: u32 = 3;

/// Marks and domains that were no portal.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    /// Marks that are many sites' own, and whether also of hosts that sent other responses before: parked domains never did.
    honest: VecDeque<(u64, bool)>,
    /// Domains that send the same responses as others; those that send one for many URLs of their own; those that redirect to a target.
    mirrors: HashSet<DomainId>,
    uniform: HashSet<DomainId>,
    targets: HashSet<(DomainId, u64)>,
    /// The hosts that were held last without a decision, too few for one, and their mark.
    in_vain: Option<(u64, Hosts)>,
    /// Marks of portals that were certain, and how often.
    portals: HashMap<u64, u32>,
}

impl Alike {
    /// Whether a mark is many sites' own; `changed`: it comes from a host that sent another response before.
    pub(crate) fn is_honest(&self, mark: u64, changed: bool) -> bool {
        self.honest.iter().any(|(honest, all)| *honest == mark && (*all || !changed))
    }

    /// Whether two domains are known to send the same responses.
    pub(crate) fn are_mirrors(&self, one: DomainId, other: DomainId) -> bool {
        self.mirrors.contains(&one) && self.mirrors.contains(&other)
    }

    /// Whether a domain is known to send one response for many URLs.
    pub(crate) fn is_uniform(&self, domain: DomainId) -> bool {
        self.uniform.contains(&domain)
    }

    /// Whether a domain is known to redirect there.
    pub(crate) fn leads(&self, domain: DomainId, target: u64) -> bool {
        self.targets.contains(&(domain, target))
    }

    /// The hosts that were held last without a decision, if they sent this mark.
    pub(crate) fn held_in_vain(&self, mark: u64) -> Option<&Hosts> {
        self.in_vain.as_ref().filter(|(held, _)| *held == mark).map(|(_, hosts)| hosts)
    }

    /// A portal that was certain has ended.
    pub(crate) fn was_portal(&mut self, mark: u64) {
        if self.portals.len() < HONEST {
            *self.portals.entry(mark).or_default() += 1;
        }
    }

    /// Whether a response may be that of a portal that has returned.
    pub(crate) fn may_return(&self, mark: u64) -> bool {
        self.portals.get(&mark).is_some_and(|times| *times < RETURNS)
    }

    /// A mark is many sites' own.
    pub(crate) fn trust(&mut self, mark: u64, changed: bool) {
        if self.honest.len() >= HONEST {
            self.honest.pop_front();
        }
        self.honest.push_back((mark, changed));
    }

    /// Domains sent one response that may be their own: it raises no suspicion again.
    pub(crate) fn learn(&mut self, same: &Same) {
        let into = if same.hosts.len() == 1 { &mut self.uniform } else { &mut self.mirrors };
        if into.len() < DOMAINS {
            into.extend(same.hosts.iter().map(|(domain, ..)| *domain));
        }
    }

    /// The held responses were the sites' own.
    pub(crate) fn release(&mut self, same: &Same) {
        let changed = same.hosts.iter().any(|(.., changed)| *changed);
        match same.hosts[..] {
            // Only its redirect is known.
            [(domain, ..)] if same.target != same.mark => self.learn_target(domain, same.target),
            [_] if !same.everything => self.trust(same.mark, changed),
            _ => {
                self.trust(same.mark, changed);
                self.learn(same);
            }
        }
    }

    /// No host sent a different response for long; the response of two may be a third one's, too.
    pub(crate) fn waited_in_vain(&mut self, same: Same) {
        match same.hosts[..] {
            [(domain, ..)] if !same.everything => self.learn_target(domain, same.target),
            _ => self.learn(&same),
        }
        self.in_vain = Some((same.mark, same.hosts));
    }

    fn learn_target(&mut self, domain: DomainId, target: u64) {
        if self.targets.len() < DOMAINS {
            self.targets.insert((domain, target));
        }
    }
}
