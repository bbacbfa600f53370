//! The addresses that hosts live at: the pace of each, and which registered domains share it.
//!
//! Guarantees: an address, however it is written, and an IPv6 /64 has one pace; one host's trouble slows down its address only
//! together with another host's, with no success between them; an address has the rate of as many domains as are known to live
//! there, up to a limit, or of the places that are lent to this frontier ([`super::lent`]).

use std::net::IpAddr;

use hashbrown::HashMap;
use lycosa_clocks::ClockKey;
use lycosa_url::{Micros, canonical_address, digest_of};

use super::domains::DomainId;
use super::lent::{Lent, Lists};
use super::pace::{HealthSignal, Limits, Pace};
use crate::codec::{self, put_number};
use crate::schedule::AddressId;

/// All addresses. [`AddressId`] is the index.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// For an address where one domain lives.
    pub(super) limits: Limits,
    /// Domains that raise an address's rate, at most.
    most_domains: u32,
    pub(super) all: Vec<Address>,
    pub(super) index: HashMap<IpAddr, AddressId>,
    /// What keepers of addresses are to be told; `None`: all addresses are this frontier's own.
    pub(super) lists: Option<Box<Lists>>,
}

/// One address (IPv6: one /64).
#[derive(Debug)]
pub(super) struct Address {
    pub(super) at: IpAddr,
    pub(super) pace: Pace,
    /// The key of its clock, by which other frontiers know it.
    key: ClockKey,
    /// The host that was in trouble here since the last success, by the CRC-32 of its name: one host's trouble is not its address's.
    troubled: Option<u32>,
    /// Domains known to live here, as many as count.
    pub(super) domains: Vec<DomainId>,
    pub(super) lent: Lent,
}

impl Addresses {
    /// No addresses. `are_lent`: whether nothing is sent to one without a place.
    pub(crate) fn new(limits: Limits, most_domains: u32, are_lent: bool) -> Self {
        let lists = are_lent.then(Box::default);
        Addresses { limits, most_domains, all: Vec::new(), index: HashMap::new(), lists }
    }

    /// The number of an address.
    pub(crate) fn id(&mut self, address: IpAddr) -> AddressId {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let at = pace_key(address);
        *self.index.entry(at).or_insert_with(|| {
            self.all.push(Address {
                at,
                pace: Pace::default(),
                key: clock_key(at),
                troubled: None,
                domains: Vec::new(),
                lent: Lent::default(),
            });
            next
        })
    }

    /// Replaces the limits of an address where one domain lives.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The shortest interval of an address.
    pub(crate) fn floor(&self) -> Micros {
        self.limits.floor
    }

    /// Whether a request may start at an address.
    pub(crate) fn may_start(&self, id: AddressId, now: Micros) -> bool {
        self.is_open(id) && self.pace(id).may_start(&self.limits_of(id), now)
    }

    /// Whether fewer requests are out at an address than may be.
    pub(crate) fn has_capacity(&self, id: AddressId) -> bool {
        self.is_open(id) && self.pace(id).has_capacity(&self.limits_of(id))
    }

    /// No request starts at an address before this time.
    pub(crate) fn ready_at(&self, id: AddressId) -> Micros {
        self.pace(id).ready_at()
    }

    /// The interval of an address and the requests at once, as all that use its clock share them: of all places that are lent.
    pub(crate) fn shared_pace(&self, id: AddressId) -> (Micros, u32) {
        let limits = match self.lists {
            Some(_) => Self::limits_for(&self.limits, self.all[id as usize].lent.in_all),
            None => self.limits_of(id),
        };
        (self.pace(id).interval(&limits), self.pace(id).concurrency(&limits))
    }

    /// The key of its clock.
    pub(crate) fn clock_key(&self, id: AddressId) -> ClockKey {
        self.all[id as usize].key
    }

    /// No request starts at an address before then. Queues that wait there are found too early and wait on.
    pub(crate) fn delay_until(&mut self, id: AddressId, until: Micros) {
        self.all[id as usize].pace.delay_until(until);
    }

    /// A request starts.
    pub(crate) fn start(&mut self, id: AddressId, now: Micros) {
        let limits = self.limits_of(id);
        self.all[id as usize].pace.start(&limits, now);
    }

    /// A request is out no longer.
    pub(crate) fn end(&mut self, id: AddressId, at: Micros) {
        let limits = self.limits_of(id);
        self.all[id as usize].pace.end(&limits, at);
    }

    /// Learns from an outcome of one of its hosts. Where only one host is in trouble, it is its own: the address is in
    /// trouble when another one is, with no success between them. Of an address that others have places of as well, the
    /// other host may be theirs: one host's trouble is the address's.
    pub(crate) fn observe(&mut self, id: AddressId, host: &str, signal: HealthSignal, at: Micros) {
        let limits = self.limits_of(id);
        let is_shared = self.lists.is_some() && self.all[id as usize].lent.is_shared();
        let address = &mut self.all[id as usize];
        let signal = match signal {
            HealthSignal::Trouble => {
                let host = crc32fast::hash(host.as_bytes());
                let before = address.troubled.replace(host);
                if is_shared || before.is_some_and(|other| other != host) {
                    HealthSignal::Trouble
                } else {
                    HealthSignal::Neutral
                }
            }
            other => other,
        };
        if matches!(signal, HealthSignal::Success(_)) {
            address.troubled = None;
        }
        address.pace.observe(&limits, signal, at);
    }

    /// No request starts at an address within its interval from a time on. Queues that wait there are found too early and wait on.
    pub(crate) fn delay_from(&mut self, id: AddressId, from: Micros) {
        let limits = self.limits_of(id);
        self.all[id as usize].pace.delay_from(&limits, from);
    }

    /// The same for all addresses.
    pub(crate) fn delay_all(&mut self, from: Micros) {
        for id in 0..self.all.len() as AddressId {
            self.delay_from(id, from);
        }
    }

    /// Takes back what trouble since then has added to the intervals.
    pub(crate) fn forgive(&mut self, since: Micros) {
        self.all.iter_mut().for_each(|address| address.pace.forgive(since));
    }

    /// A domain is known to live at an address; whether its rate grows by that.
    pub(crate) fn add_domain(&mut self, id: AddressId, domain: DomainId) -> bool {
        let domains = &mut self.all[id as usize].domains;
        let grows = domains.len() < self.most_domains as usize && !domains.contains(&domain);
        if grows {
            domains.push(domain);
        }
        grows
    }

    /// A host of a domain has left an address; if others of the domain live there, their next answer adds it again.
    pub(crate) fn remove_domain(&mut self, id: AddressId, domain: DomainId, now: Micros) {
        let domains = &mut self.all[id as usize].domains;
        if let Some(index) = domains.iter().position(|known| *known == domain) {
            domains.swap_remove(index);
            self.delay_from(id, now);
        }
    }

    /// The addresses whose pace is not the default, with their paces.
    pub(crate) fn paces(&self) -> impl Iterator<Item = (IpAddr, &Pace)> {
        let all = self.index.iter().map(|(address, id)| (*address, self.pace(*id)));
        all.filter(|(_, pace)| **pace != Pace::default())
    }

    /// The interval of an address.
    pub(crate) fn interval(&self, id: AddressId) -> Micros {
        self.pace(id).interval(&self.limits_of(id))
    }

    /// Appends the paces to a record of a snapshot.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        let paces: Vec<_> = self.paces().collect();
        put_number(record, paces.len() as u64);
        for (address, pace) in paces {
            codec::put_address(record, address);
            pace.pack(record);
        }
    }

    /// Reads them.
    pub(crate) fn unpack(&mut self, from: &mut &[u8]) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let id = self.id(codec::address(from)?);
            self.all[id as usize].pace = Pace::unpack(from)?;
        }
        Some(())
    }

    /// The pace of an address.
    fn pace(&self, id: AddressId) -> &Pace {
        &self.all[id as usize].pace
    }

    /// Whether this frontier may ask an address at all.
    fn is_open(&self, id: AddressId) -> bool {
        let lent = &self.all[id as usize].lent;
        self.lists.is_none() || (lent.places > 0 && !lent.is_closing)
    }

    /// The limits of an address, by the domains that live there, or the places that are lent.
    pub(super) fn limits_of(&self, id: AddressId) -> Limits {
        let address = &self.all[id as usize];
        let domains = address.domains.len() as u32;
        // Domains that have left leave places behind until these are given back.
        let share = if self.lists.is_some() { address.lent.places.min(domains) } else { domains };
        Self::limits_for(&self.limits, share)
    }

    /// The limits of an address where so many domains live.
    pub(super) fn limits_for(limits: &Limits, share: u32) -> Limits {
        Limits { share: share.max(1), ..*limits }
    }
}

/// The key of the clock of what shares a pace.
fn clock_key(address: IpAddr) -> ClockKey {
    let octets = match address {
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
