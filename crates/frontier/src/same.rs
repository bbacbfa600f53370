//! Hosts that give the same answer, and the portal that they are, if it is one.

use lycosa_records::{Outcome, Purpose};
use lycosa_url::Micros;

use crate::politeness::domains::DomainId;
use crate::recent::Recent;

/// Answers that are held, and bytes of their bodies, at most.
const HELD: usize = 256;
const HELD_BYTES: usize = 8 << 20;

/// Domains that give the same answer where it is a portal, and those of them that gave another one before. Where all are at the
/// address of the resolver's lie, two are enough.
pub(crate) const SAME: usize = 3;
const CHANGED: usize = 2;
const LIED: usize = 2;

/// Who gave an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Giver {
    pub(crate) domain: DomainId,
    pub(crate) network: u64,
    /// The mark of the page that this host gave before; 0: none, 1: one that is not remembered.
    pub(crate) before: u64,
    /// The mark of its robots.txt, where that is known to be its own; 0: none.
    pub(crate) rules: u64,
}

impl Giver {
    /// Whether it gave another answer before.
    pub(crate) fn has_changed(&self, mark: u64) -> bool {
        self.before != 0 && self.before != mark
    }
}

/// Domain, network, and whether it gave another answer before.
pub(crate) type Hosts = Vec<(DomainId, u64, bool)>;

/// Hosts that give the same answer.
#[derive(Debug)]
pub(crate) struct Same {
    pub(crate) mark: u64,
    /// Where it leads: the host that it redirects to, or itself.
    pub(crate) place: u64,
    pub(crate) status: u16,
    /// Whether one of them is at the address of the resolver's lie.
    pub(crate) lied: bool,
    /// Whether a host that gave other answers before gives this one for everything.
    pub(crate) everything: bool,
    /// Answers for robots.txt files among them: of hosts of which none, or another one, was known.
    pub(crate) robots: usize,
    /// When the first of them was asked, from when on other answers count, and when the last of these came before.
    pub(crate) since: Micros,
    pub(crate) seen_at: Micros,
    pub(crate) clear_at: Micros,
    /// When hosts that were well were asked, first and last; 0: not yet.
    pub(crate) asked_at: Micros,
    pub(crate) asked_last: Micros,
    /// The host of the first of them.
    pub(crate) example: Box<str>,
    pub(crate) hosts: Hosts,
    /// Answers that are held, and bytes of their bodies.
    pub(crate) held: usize,
    pub(crate) bytes: usize,
}

impl Same {
    /// The first of them.
    pub(crate) fn new(page: &Outcome, mark: u64, place: u64, lied: bool) -> Self {
        Same {
            mark,
            place,
            status: page.response.result.as_ref().map_or(0, |received| received.status),
            lied,
            everything: false,
            robots: 0,
            since: page.response.started,
            seen_at: page.response.finished,
            clear_at: 0,
            asked_at: 0,
            asked_last: 0,
            example: page.response.request.url.host().into(),
            hosts: Vec::new(),
            held: 0,
            bytes: 0,
        }
    }

    /// Another answer.
    pub(crate) fn add(&mut self, page: &Outcome, giver: Giver, changed: bool) {
        self.add_host((giver.domain, giver.network, changed));
        self.robots += usize::from(page.response.request.purpose == Purpose::Robots);
    }

    /// It is held.
    pub(crate) fn hold(&mut self, page: &Outcome) {
        self.held += 1;
        self.bytes += page.memory();
    }

    /// The same of one that was recorded.
    pub(crate) fn add_host(&mut self, host: (DomainId, u64, bool)) {
        match self.hosts.iter_mut().find(|(domain, ..)| *domain == host.0) {
            Some((.., known)) => *known |= host.2,
            None => self.hosts.push(host),
        }
    }

    /// Whether no more may be held.
    pub(crate) fn is_full(&self) -> bool {
        self.held >= HELD || self.bytes > HELD_BYTES
    }

    /// Whether all are at the address of the resolver's lie.
    pub(crate) fn is_lied(&self, lie: Option<u64>) -> bool {
        let is_there = || self.hosts.iter().all(|(_, network, _)| Some(*network) == lie);
        lie.is_some() && self.hosts.len() >= LIED && is_there()
    }

    /// Whether it may be a portal, if nobody gives another answer.
    pub(crate) fn is_portal(&self, lie: Option<u64>) -> bool {
        let changed = self.hosts.iter().filter(|(.., changed)| *changed).count();
        self.is_lied(lie) || (self.hosts.len() >= SAME && (changed >= CHANGED || lie.is_some()))
    }

    /// Whether it may have been a portal that was gone too soon to be told.
    pub(crate) fn may_be_portal(&self, lie: Option<u64>) -> bool {
        // Web servers have few words for what is missing, and titles such as "Contact" are many sites': two of them are no reason.
        !matches!(self.status, 404 | 410) && (self.everything || self.is_portal(lie))
    }

    /// The portal that they are.
    pub(crate) fn portal(&self, lie: Option<u64>, certain_at: Micros) -> Portal {
        Portal { mark: self.mark, status: self.status, network: lie.filter(|_| self.lied), certain_at }
    }
}

/// A portal: mark and status of its answers, the network of its address where the resolver gives that for all names, and since
/// when it is certain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portal {
    pub(crate) mark: u64,
    pub(crate) status: u16,
    pub(crate) network: Option<u64>,
    pub(crate) certain_at: Micros,
}

impl Portal {
    /// Whether an answer is its.
    pub(crate) fn gives(&self, mark: u64, network: u64) -> bool {
        self.mark == mark || self.network == Some(network)
    }
}

/// A portal that was found.
#[derive(Debug)]
pub(crate) struct Confirmed {
    /// When its first answer was asked for, and when the last page before that was.
    pub(crate) since: Micros,
    pub(crate) clear_at: Micros,
    /// Registered domains that it answered for, and one host of them.
    pub(crate) domains: usize,
    pub(crate) example: Box<str>,
    /// What was recorded of it.
    pub(crate) recorded: Vec<Recent>,
}
