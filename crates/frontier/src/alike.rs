//! Answers and domains that looked like a portal's once and were none: they are not held up for the same again.
//!
//! Guarantee: no domain is trusted whatever it answers. Sites that show the same pages are no reason for a suspicion any more, but answers
//! of theirs that are all one, for one URL after the other, are.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::politeness::domains::DomainId;
use crate::same::{Hosts, Same};

/// Marks, and domains, that are remembered at most.
const HONEST: usize = 64;
const DOMAINS: usize = 4096;

/// Times that a portal may come back before what it says is believed to be the sites' own.
const RETURNS: u32 = 3;

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    /// Marks that are many sites' own, and whether also of hosts that gave other answers before: parked domains never did.
    honest: VecDeque<(u64, bool)>,
    /// Domains that give the same answers as others; those that give one for many of their own URLs; those that redirect to a place.
    mirrors: HashSet<DomainId>,
    uniform: HashSet<DomainId>,
    places: HashSet<(DomainId, u64)>,
    /// Who was held in vain last, too few to tell, and for which mark.
    in_vain: Option<(u64, Hosts)>,
    /// Marks of portals that were certain, and how often.
    portals: HashMap<u64, u32>,
}

impl Alike {
    /// Whether a mark is many sites' own; `changed`: where it comes from a host that gave another answer before.
    pub(crate) fn is_honest(&self, mark: u64, changed: bool) -> bool {
        self.honest.iter().any(|(honest, all)| *honest == mark && (*all || !changed))
    }

    /// Whether two domains are known to give the same answers.
    pub(crate) fn are_mirrors(&self, one: DomainId, other: DomainId) -> bool {
        self.mirrors.contains(&one) && self.mirrors.contains(&other)
    }

    /// Whether a domain is known to give one answer for many URLs.
    pub(crate) fn is_uniform(&self, domain: DomainId) -> bool {
        self.uniform.contains(&domain)
    }

    /// Whether a domain is known to redirect there.
    pub(crate) fn leads(&self, domain: DomainId, place: u64) -> bool {
        self.places.contains(&(domain, place))
    }

    /// Those who gave a mark and were held in vain, if they were the last ones.
    pub(crate) fn held_in_vain(&self, mark: u64) -> Option<&Hosts> {
        self.in_vain.as_ref().filter(|(held, _)| *held == mark).map(|(_, hosts)| hosts)
    }

    /// A portal that was certain is gone.
    pub(crate) fn was_portal(&mut self, mark: u64) {
        if self.portals.len() < HONEST {
            *self.portals.entry(mark).or_default() += 1;
        }
    }

    /// Whether an answer may be that of a portal that has come back.
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

    /// Domains gave one answer, and it may be their own: it is no reason for the same suspicion again.
    pub(crate) fn learn(&mut self, same: &Same) {
        let into = if same.hosts.len() == 1 { &mut self.uniform } else { &mut self.mirrors };
        if into.len() < DOMAINS {
            into.extend(same.hosts.iter().map(|(domain, ..)| *domain));
        }
    }

    /// What was held was the sites' own.
    pub(crate) fn release(&mut self, same: &Same) {
        let changed = same.hosts.iter().any(|(.., changed)| *changed);
        match same.hosts[..] {
            // Only where it redirects to is known of it.
            [(domain, ..)] if same.place != same.mark => self.learn_place(domain, same.place),
            [_] if !same.everything => self.trust(same.mark, changed),
            _ => {
                self.trust(same.mark, changed);
                self.learn(same);
            }
        }
    }

    /// Nobody gave another answer for long; what two say may be a third one's, too.
    pub(crate) fn waited_in_vain(&mut self, same: Same) {
        match same.hosts[..] {
            [(domain, ..)] if !same.everything => self.learn_place(domain, same.place),
            _ => self.learn(&same),
        }
        self.in_vain = Some((same.mark, same.hosts));
    }

    fn learn_place(&mut self, domain: DomainId, place: u64) {
        if self.places.len() < DOMAINS {
            self.places.insert((domain, place));
        }
    }
}
