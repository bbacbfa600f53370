//! Which host queue may start a request next: paces of addresses, and the order of what is due.
//!
//! Two levels, so that a thousand hosts on one address cost one entry in the outer heap: the outer heaps order
//! addresses, and each address orders its queues. On both levels there is one heap for what is not due yet, by time, and
//! one for what is, by its registered domain's turn. Who fills: [`Schedule::place`]. Who empties: [`Schedule::next`].
//!
//! Guarantees: an address with a queue in it and room to start stands in an outer heap, at or before its due time; a
//! queue stands in at most one place; entries that have gone stale are skipped; what is due is given in the order of
//! turns (`politeness/domains.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};

use hashbrown::HashMap;
use lycosa_clocks::ClockKey;
use lycosa_url::{Micros, canonical_address, digest_of};

use crate::politeness::domains::{DomainId, Domains, Tag};
use crate::politeness::pace::{Limits, Pace, Sign};

/// Number of a host queue.
pub(crate) type QueueId = u32;

/// Number of an address.
pub(crate) type AddressId = u32;

/// A time, or a turn, and what comes then; the earliest on top.
type Ordered<K, T> = BinaryHeap<Reverse<(K, T)>>;

/// All addresses and what is due at them.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// For an address where one domain lives.
    limits: Limits,
    /// Domains that raise an address's rate, at most.
    most_domains: u32,
    addresses: Vec<Address>,
    index: HashMap<IpAddr, AddressId>,
    /// Addresses by the time at which something may become ready.
    due: Ordered<Micros, AddressId>,
    /// Addresses with something ready, by its turn.
    ready: Ordered<Tag, AddressId>,
    /// Registered domains, with their turns.
    pub(crate) domains: Domains,
    /// Queues that stand at addresses.
    waiting: usize,
}

/// One address (IPv6: one /64).
#[derive(Debug, Default)]
struct Address {
    pace: Pace,
    /// The key of its clock.
    key: Option<ClockKey>,
    /// Who was in trouble here since the last success: one host's trouble is not its address's.
    troubled: Option<QueueId>,
    /// Domains known to live here, as many as count.
    domains: Vec<DomainId>,
    /// Queues whose own clock may run still.
    due: Ordered<Micros, (QueueId, DomainId)>,
    /// Queues whose own clock has run out, by turn.
    ready: Ordered<Tag, QueueId>,
    /// The time of its valid entry in the outer heap by time.
    scheduled: Option<Micros>,
    /// The turn of its valid entry in the outer heap by turn.
    offered: Option<Tag>,
}

impl Schedule {
    /// Nothing is due.
    pub(crate) fn new(limits: Limits, most_domains: u32, domains: Domains) -> Self {
        Schedule {
            limits,
            most_domains,
            addresses: Vec::new(),
            index: HashMap::new(),
            due: BinaryHeap::new(),
            ready: BinaryHeap::new(),
            domains,
            waiting: 0,
        }
    }

    /// The number of an address's pace.
    pub(crate) fn address(&mut self, address: IpAddr) -> AddressId {
        let next = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX);
        *self.index.entry(pace_key(address)).or_insert_with(|| {
            self.addresses.push(Address { key: Some(clock_key(address)), ..Address::default() });
            next
        })
    }

    /// Puts a queue at an address, due at a time.
    pub(crate) fn place(&mut self, address: AddressId, due: Micros, queue: QueueId, domain: DomainId) {
        self.waiting += 1;
        self.addresses[address as usize].due.push(Reverse((due, (queue, domain))));
        self.schedule(address);
    }

    /// Takes out a queue that is due at an address that may start a request. The caller ends with
    /// [`Schedule::start`] or [`Schedule::pass`].
    pub(crate) fn next(&mut self, now: Micros) -> Option<(AddressId, QueueId)> {
        self.make_ready(now);
        while let Some(Reverse((tag, id))) = self.ready.pop() {
            let limits = self.limits_of(id);
            let address = &mut self.addresses[id as usize];
            if address.offered != Some(tag) {
                continue;
            }
            address.offered = None;
            if address.pace.may_start(&limits, now)
                && let Some(Reverse((tag, queue))) = address.ready.pop()
            {
                self.domains.serve(tag);
                self.waiting -= 1;
                return Some((id, queue));
            }
            self.schedule(id);
        }
        None
    }

    /// A request starts at an address.
    pub(crate) fn start(&mut self, id: AddressId, now: Micros) {
        let limits = self.limits_of(id);
        self.addresses[id as usize].pace.start(&limits, now);
        self.schedule(id);
        self.make_ready(now);
    }

    /// Whether a request may start at an address, whatever its turn.
    pub(crate) fn may_start(&self, id: AddressId, now: Micros) -> bool {
        self.addresses[id as usize].pace.may_start(&self.limits_of(id), now)
    }

    /// Takes back what trouble since then has added to the addresses' intervals.
    pub(crate) fn forgive(&mut self, since: Micros) {
        self.addresses.iter_mut().for_each(|address| address.pace.forgive(since));
    }

    /// The queue that was taken out had nothing to start.
    pub(crate) fn pass(&mut self, id: AddressId, now: Micros) {
        self.schedule(id);
        self.make_ready(now);
    }

    /// A request to an address is out no longer.
    pub(crate) fn end(&mut self, id: AddressId, at: Micros) {
        let limits = self.limits_of(id);
        self.addresses[id as usize].pace.end(&limits, at);
        self.schedule(id);
    }

    /// Learns from an outcome of one of its hosts. Where only one host is in trouble, it is its own: the address is in
    /// trouble when another one is, with no success between them.
    pub(crate) fn observe(&mut self, id: AddressId, host: QueueId, sign: Sign, at: Micros) {
        let limits = self.limits_of(id);
        let address = &mut self.addresses[id as usize];
        let sign = match sign {
            Sign::Trouble => {
                let before = address.troubled.replace(host);
                if before.is_some_and(|other| other != host) { Sign::Trouble } else { Sign::Neutral }
            }
            other => other,
        };
        if matches!(sign, Sign::Success(_)) {
            address.troubled = None;
        }
        address.pace.observe(&limits, sign, at);
        self.schedule(id);
    }

    /// An address rests from a time on; what stands at it is found late there, and waits on.
    pub(crate) fn rest(&mut self, id: AddressId, from: Micros) {
        let limits = self.limits_of(id);
        self.addresses[id as usize].pace.rest(&limits, from);
    }

    /// No request to an address starts before; what stands at it is found late there, and waits on.
    pub(crate) fn hold(&mut self, id: AddressId, until: Micros) {
        self.addresses[id as usize].pace.hold(until);
    }

    /// The interval of an address, and requests at once.
    pub(crate) fn interval(&self, id: AddressId) -> (Micros, u32) {
        let (limits, pace) = (self.limits_of(id), &self.addresses[id as usize].pace);
        (pace.interval(&limits), pace.concurrency(&limits))
    }

    /// When an address may be asked next.
    pub(crate) fn ready_at(&self, id: AddressId) -> Micros {
        self.addresses[id as usize].pace.ready_at()
    }

    /// The key of an address's clock, which other frontiers know it by.
    pub(crate) fn clock_key(&self, id: AddressId) -> ClockKey {
        self.addresses[id as usize].key.unwrap_or_else(|| clock_key(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
    }

    /// Every address rests from a time on.
    pub(crate) fn rest_all(&mut self, from: Micros) {
        for id in 0..self.addresses.len() as AddressId {
            self.rest(id, from);
        }
    }

    /// A domain is known to live at an address: its rate may grow.
    pub(crate) fn settle_in(&mut self, id: AddressId, domain: DomainId) {
        let domains = &mut self.addresses[id as usize].domains;
        if domains.len() < self.most_domains as usize && !domains.contains(&domain) {
            domains.push(domain);
            self.schedule(id);
        }
    }

    /// A host of a domain has left an address; if others of it live there, the next of their answers says so.
    pub(crate) fn move_out(&mut self, id: AddressId, domain: DomainId, now: Micros) {
        let domains = &mut self.addresses[id as usize].domains;
        if let Some(place) = domains.iter().position(|known| *known == domain) {
            domains.swap_remove(place);
            self.rest(id, now);
        }
    }

    /// How many queues wait for their turn.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// When something is due next, at the earliest; 0 when something is ready.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        let due = self.due.peek().map(|Reverse((due, _))| *due);
        if self.ready.is_empty() { due } else { Some(0) }
    }

    /// The addresses of which something is known, with their paces.
    pub(crate) fn paces(&self) -> impl Iterator<Item = (IpAddr, &Pace)> {
        let pace = |id: &AddressId| &self.addresses[*id as usize].pace;
        let all = self.index.iter().map(move |(address, id)| (*address, pace(id)));
        all.filter(|(_, pace)| **pace != Pace::default())
    }

    /// Takes over the pace of an address from an earlier process.
    pub(crate) fn set_pace(&mut self, address: IpAddr, pace: Pace) {
        let id = self.address(address);
        self.addresses[id as usize].pace = pace;
    }

    /// What may be done with an address, by who lives there.
    fn limits_of(&self, id: AddressId) -> Limits {
        let share = self.addresses[id as usize].domains.len().max(1) as u32;
        Limits { share, ..self.limits }
    }

    /// Brings what is due by now into the order of turns.
    fn make_ready(&mut self, now: Micros) {
        while let Some(&Reverse((due, id))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            let limits = self.limits_of(id);
            let address = &mut self.addresses[id as usize];
            if address.scheduled != Some(due) {
                continue;
            }
            address.scheduled = None;
            if address.pace.may_start(&limits, now) {
                while let Some(&Reverse((due, (queue, domain)))) = address.due.peek()
                    && due <= now
                {
                    address.due.pop();
                    address.ready.push(Reverse((self.domains.turn(domain), queue)));
                }
                self.offer(id);
            }
            self.schedule(id);
        }
    }

    /// Gives an address its entry in the outer heap by turn.
    fn offer(&mut self, id: AddressId) {
        let address = &mut self.addresses[id as usize];
        if let Some(&Reverse((tag, _))) = address.ready.peek()
            && address.offered.is_none_or(|offered| tag < offered)
        {
            address.offered = Some(tag);
            self.ready.push(Reverse((tag, id)));
        }
    }

    /// Gives an address its entry in the outer heap by time: when it may start something, or something becomes due.
    fn schedule(&mut self, id: AddressId) {
        let limits = self.limits_of(id);
        let address = &mut self.addresses[id as usize];
        if !address.pace.has_room(&limits) {
            return;
        }
        let ready_at = address.pace.ready_at();
        let waits = (address.offered.is_none() && !address.ready.is_empty()).then_some(ready_at);
        let due = address.due.peek().map(|Reverse((due, _))| (*due).max(ready_at));
        let Some(due) = waits.into_iter().chain(due).min() else { return };
        if address.scheduled.is_none_or(|scheduled| due < scheduled) {
            address.scheduled = Some(due);
            self.due.push(Reverse((due, id)));
        }
    }
}

/// The key of the clock of an address's pace.
fn clock_key(address: IpAddr) -> ClockKey {
    let octets = match pace_key(address) {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    };
    ClockKey::of(&digest_of(octets))
}

/// What shares a pace: an IPv4 address, however it is written, or an IPv6 /64 (one customer's network, RFC 6177).
fn pace_key(address: IpAddr) -> IpAddr {
    match canonical_address(address) {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
