//! Hosts that send the same response, and the portal behind them, if there is one.

use lycosa_records::{Outcome, Purpose};
use lycosa_url::Micros;

use crate::politeness::domains::DomainId;
use crate::recent::Recent;

/// Held responses, and bytes of their bodies, at most.
const HELD: usize = 256;
const HELD_BYTES: usize = 8 << 20;

/// Domains that send a portal's response, at least, and those of them that sent another one before. If all are at the address of
/// the resolver's lie, two are enough.
pub(crate) const SAME: usize = 3;
const CHANGED: usize = 2;
const LIED: usize = 2;

/// The sender of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Giver {
    pub(crate) domain: DomainId,
    pub(crate) network: u64,
    /// The mark of the host's last page; 0: none, 1: one that is not remembered.
    pub(crate) before: u64,
    /// The mark of its robots.txt, if that is known to be its own; 0: none.
    pub(crate) rules: u64,
}

impl Giver {
    /// Whether it sent another response before.
    pub(crate) fn has_changed(&self, mark: u64) -> bool {
        self.before != 0 && self.before != mark
    }
}

/// Domain, network, and whether it sent another response before.
pub(crate) type Hosts = Vec<(DomainId, u64, bool)>;

/// A series of the same response.
#[derive(Debug)]
pub(crate) struct Same {
    pub(crate) mark: u64,
    /// A number for the host that it redirects to, or the mark.
    pub(crate) target: u64,
    pub(crate) status: u16,
    /// Whether one of them is at the address of the resolver's lie.
    pub(crate) lied: bool,
    /// Whether a host that sent other responses before sends this one for pages and robots.txt.
    pub(crate) everything: bool,
    /// Responses for robots.txt among them, from hosts without a known one, or with another.
    pub(crate) robots: usize,
    /// When the first was requested, from when on different responses count, and when the last of these came before.
    pub(crate) since: Micros,
    pub(crate) seen_at: Micros,
    pub(crate) clear_at: Micros,
    /// When healthy hosts were probed, first and last; 0: not yet.
    pub(crate) asked_at: Micros,
    pub(crate) asked_last: Micros,
    /// The host of the first of them.
    pub(crate) example: Box<str>,
    pub(crate) hosts: Hosts,
    /// Held responses, and bytes of their bodies.
    pub(crate) held: usize,
    pub(crate) bytes: usize,
}

impl Same {
    /// Begins with a response.
    pub(crate) fn new(page: &Outcome, mark: u64, target: u64, lied: bool) -> Self {
        Same {
            mark,
            target,
            status: page.answer().map_or(0, |received| received.status),
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

    /// Adds a response.
    pub(crate) fn add(&mut self, page: &Outcome, giver: Giver, changed: bool) {
        self.add_host((giver.domain, giver.network, changed));
        self.robots += usize::from(page.response.request.purpose == Purpose::Robots);
    }

    /// Holds it.
    pub(crate) fn hold(&mut self, page: &Outcome) {
        self.held += 1;
        self.bytes += page.memory();
    }

    /// Adds the host of one that was recorded.
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

    /// Whether it may be a portal, if no host sends a different response.
    pub(crate) fn is_portal(&self, lie: Option<u64>) -> bool {
        let changed = self.hosts.iter().filter(|(.., changed)| *changed).count();
        self.is_lied(lie) || (self.hosts.len() >= SAME && (changed >= CHANGED || lie.is_some()))
    }

    /// Whether it may have been a portal that ended before it was certain.
    pub(crate) fn may_be_portal(&self, lie: Option<u64>) -> bool {
        // Many sites share texts for missing pages, and titles such as "Contact": two of them are no reason.
        !matches!(self.status, 404 | 410) && (self.everything || self.is_portal(lie))
    }

    /// The portal behind them.
    pub(crate) fn portal(&self, lie: Option<u64>, certain_at: Micros) -> Portal {
        Portal { mark: self.mark, status: self.status, network: lie.filter(|_| self.lied), certain_at }
    }
}

/// A portal: mark and status of its responses, the network of its address if the resolver returns that for all names, and since
/// when it is certain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portal {
    pub(crate) mark: u64,
    pub(crate) status: u16,
    pub(crate) network: Option<u64>,
    pub(crate) certain_at: Micros,
}

impl Portal {
    /// Whether a response is its.
    pub(crate) fn gives(&self, mark: u64, network: u64) -> bool {
        self.mark == mark || self.network == Some(network)
    }
}

/// A portal that was found.
#[derive(Debug)]
pub(crate) struct Confirmed {
    /// When its first response was requested, and when the last page before that was.
    pub(crate) since: Micros,
    pub(crate) clear_at: Micros,
    /// Registered domains that it answered for, and one host of them.
    pub(crate) domains: usize,
    pub(crate) example: Box<str>,
    /// Its recorded responses.
    pub(crate) recorded: Vec<Recent>,
}
