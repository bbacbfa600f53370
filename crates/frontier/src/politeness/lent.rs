//! The places that a partition has of addresses, as it uses them ([`super::keeper`]).
//!
//! Guarantees: without a place nothing is sent to an address; a place comes back only when its address is at rest, so that whoever gets
//! it next may ask at once; one that is called back was usable for [`KEEP`] before, as long as it was used; what is not used for
//! [`KEEP`] goes back unasked; whoever has URLs for an address has a place, or has told that it needs one, or does so when they are due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use lycosa_url::Micros;

use super::addresses::Addresses;
use super::keeper::{Loan, Need};
use crate::codec::{self, put_number};
use crate::schedule::AddressId;

/// For how long a place that others wait for is kept, from when it can be used: each change of hands takes some tenths of a second.
/// For as long one that is not used is kept.
pub(crate) const KEEP: Duration = Duration::from_secs(10);

/// For how long before it can be used a place is asked for.
const LEAD: Micros = 1_000_000;

/// What a partition has of one address, and needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lent {
    pub(super) places: u32,
    /// Places that all partitions have.
    pub(super) in_all: u32,
    /// Places that it told its keeper to need.
    told: u32,
    /// Places that it is to give back.
    recalled: u32,
    /// Until when it keeps them nevertheless, as long as they are used.
    keep_until: Micros,
    /// Whether nothing starts until one is given back.
    pub(super) is_closing: bool,
    /// Whether it is among those that need more.
    is_listed: bool,
    /// Whether it is among those that are looked at once in a while.
    is_held: bool,
}

impl Lent {
    /// Whether others have places as well.
    pub(super) fn is_shared(&self) -> bool {
        self.in_all > self.places
    }
}

/// What is to be told to keepers of addresses.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Addresses that may need more places.
    needing: Vec<AddressId>,
    /// Those that will, and when.
    later: BinaryHeap<Reverse<(Micros, AddressId)>>,
    /// Addresses of which places are called back.
    recalled: Vec<AddressId>,
    /// Addresses with places, and when it is to be seen whether these are used.
    held: VecDeque<(Micros, AddressId)>,
    /// Addresses that were closing and are open again: they are to be scheduled.
    opened: Vec<AddressId>,
}

/// How a partition is, to decide what it needs.
pub(crate) struct Use<F> {
    /// For how long a place is kept.
    pub(crate) keep: Micros,
    pub(crate) now: Micros,
    /// Whether it starts requests at all.
    pub(crate) starts: bool,
    /// When something is due at an address; 0: now. `None`: nothing waits.
    pub(crate) due: F,
}

impl<F: Fn(AddressId) -> Option<Micros>> Use<F> {
    /// Whether something is to start at an address while a place would be kept.
    fn is_soon(&self, id: AddressId) -> bool {
        self.starts && (self.due)(id).is_some_and(|due| due <= self.now.saturating_add(self.keep))
    }
}

impl Addresses {
    /// Something waits at an address: it needs as many places as it has domains.
    pub(crate) fn want(&mut self, id: AddressId) {
        let Some(lists) = &mut self.lists else { return };
        let address = &mut self.all[id as usize];
        let needed = address.domains.len().max(1) as u32;
        if needed > address.lent.told && !std::mem::replace(&mut address.lent.is_listed, true) {
            lists.needing.push(id);
        }
    }

    /// Takes over what a keeper lends and calls back; gives the address.
    pub(crate) fn borrow(&mut self, loan: &Loan, keep: Micros, now: Micros) -> AddressId {
        let id = self.id(loan.address);
        let address = &mut self.all[id as usize];
        let lent = &mut address.lent;
        lent.in_all = loan.lent;
        let Some(lists) = &mut self.lists else { return id };
        if loan.granted > 0 {
            lent.keep_until = now.max(address.pace.ready_at()).saturating_add(keep);
            lent.is_closing = false;
            if !std::mem::replace(&mut lent.is_held, true) {
                lists.held.push_back((now.saturating_add(keep), id));
            }
        }
        lent.places = lent.places.saturating_add(loan.granted);
        let before = lent.recalled;
        lent.recalled = before.saturating_add(loan.recalled).min(lent.places);
        if before == 0 && lent.recalled > 0 {
            lists.recalled.push(id);
        }
        id
    }

    /// What keepers are to be told, at most so many needs.
    pub(crate) fn needs<F: Fn(AddressId) -> Option<Micros>>(
        &mut self,
        most: usize,
        of: &Use<F>,
    ) -> Vec<Need> {
        let Some(mut lists) = self.lists.take() else { return Vec::new() };
        let Lists { needing, later, recalled, held, opened } = &mut *lists;
        let mut needs = Vec::new();
        let mut tell = |addresses: &mut Self, need: Need| {
            addresses.told(&need);
            needs.push(need);
            needs.len() < most
        };
        let mut has_room = true;
        recalled.retain(|id| {
            if has_room && let Some(need) = self.give_back(*id, of, opened) {
                has_room = tell(self, need);
            }
            self.all[*id as usize].lent.recalled > 0
        });
        let mut looks = held.len();
        while has_room && looks > 0 && held.front().is_some_and(|(at, _)| *at <= of.now) {
            looks -= 1;
            let Some((_, id)) = held.pop_front() else { break };
            if let Some(need) = self.spare(id, of) {
                has_room = tell(self, need);
            }
            let lent = &mut self.all[id as usize].lent;
            lent.is_held = lent.places > 0;
            if lent.is_held {
                held.push_back((of.now.saturating_add(of.keep), id));
            } else if let Some(due) = (of.due)(id) {
                later.push(Reverse((due.saturating_sub(LEAD), id)));
            }
        }
        while later.peek().is_some_and(|Reverse((at, _))| *at <= of.now) {
            let Some(Reverse((_, id))) = later.pop() else { break };
            if !std::mem::replace(&mut self.all[id as usize].lent.is_listed, true) {
                needing.push(id);
            }
        }
        if of.starts && has_room {
            for id in std::mem::take(needing) {
                if !has_room {
                    needing.push(id);
                    continue;
                }
                self.all[id as usize].lent.is_listed = false;
                match (of.due)(id) {
                    Some(due) if !of.is_soon(id) => {
                        later.push(Reverse((due.saturating_sub(LEAD), id)));
                    }
                    Some(_) => {
                        if let Some(need) = self.more(id) {
                            has_room = tell(self, need);
                        }
                    }
                    None => {}
                }
            }
        }
        self.lists = Some(lists);
        needs
    }

    /// A keeper was told that.
    pub(crate) fn told(&mut self, need: &Need) {
        let id = self.id(need.address);
        let lent = &mut self.all[id as usize].lent;
        lent.places = lent.places.saturating_sub(need.returned);
        lent.recalled = lent.recalled.saturating_sub(need.returned).min(lent.places);
        (lent.told, lent.is_closing) = (need.places, false);
    }

    /// Addresses that are to be scheduled, since nothing of them is given back.
    pub(crate) fn opened(&mut self) -> Vec<AddressId> {
        self.lists.as_mut().map(|lists| std::mem::take(&mut lists.opened)).unwrap_or_default()
    }

    /// Keeps all places until they can be used, after a restart.
    pub(super) fn keep_all(&mut self, now: Micros) {
        let Some(lists) = &mut self.lists else { return };
        lists.recalled.clear();
        lists.held.clear();
        for (id, address) in self.all.iter_mut().enumerate() {
            // A microsecond more, in which a request may start.
            address.lent.keep_until = address.pace.ready_at().saturating_add(1);
            address.lent.is_held = address.lent.places > 0;
            if address.lent.is_held {
                lists.held.push_back((now, id as AddressId));
            }
            if address.lent.recalled > 0 {
                lists.recalled.push(id as AddressId);
            }
        }
    }

    /// Appends the places to a record of a snapshot.
    pub(super) fn pack_lent(&self, record: &mut Vec<u8>) {
        let lent = self.index.iter().map(|(address, id)| (*address, self.all[*id as usize].lent));
        let lent: Vec<_> = lent.filter(|(_, lent)| lent.places + lent.told > 0).collect();
        put_number(record, lent.len() as u64);
        for (address, lent) in lent {
            codec::put_address(record, address);
            let numbers = [lent.places, lent.in_all, lent.told, lent.recalled];
            numbers.into_iter().for_each(|number| put_number(record, number.into()));
        }
    }

    /// Reads them.
    pub(super) fn unpack_lent(&mut self, from: &mut &[u8]) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let id = self.id(codec::address(from)?);
            let mut number = || codec::small(from);
            let (places, in_all, told, recalled) = (number()?, number()?, number()?, number()?);
            self.all[id as usize].lent = Lent { places, in_all, told, recalled, ..Lent::default() };
        }
        Some(())
    }

    /// Its registered domains, at least one.
    fn domains_of(&self, id: AddressId) -> u32 {
        self.all[id as usize].domains.len().max(1) as u32
    }

    /// The need of more places at an address, if there is one.
    fn more(&self, id: AddressId) -> Option<Need> {
        let (address, domains) = (&self.all[id as usize], self.domains_of(id));
        let is_short = domains > address.lent.told;
        is_short.then_some(Need { address: address.at, returned: 0, places: domains, domains })
    }

    /// Gives places back that nothing uses, if their address is at rest.
    fn spare<F: Fn(AddressId) -> Option<Micros>>(&mut self, id: AddressId, of: &Use<F>) -> Option<Need> {
        let domains = self.domains_of(id);
        let address = &self.all[id as usize];
        let needed = if of.is_soon(id) { domains } else { 0 };
        if address.lent.places <= needed || address.pace.is_busy() || address.pace.ready_at() > of.now {
            return None;
        }
        Some(self.give(id, address.lent.places - needed, needed, domains, of.now))
    }

    /// Gives places back of which one was called back, if it is time: what is out ends first.
    fn give_back<F: Fn(AddressId) -> Option<Micros>>(
        &mut self,
        id: AddressId,
        of: &Use<F>,
        opened: &mut Vec<AddressId>,
    ) -> Option<Need> {
        let (is_soon, domains) = (of.is_soon(id), self.domains_of(id));
        let address = &mut self.all[id as usize];
        if address.lent.recalled == 0 {
            return None; // it went back unasked
        }
        let is_busy = address.pace.is_busy();
        // A host whose request is out waits for its next one as soon as that has ended.
        if (is_soon || is_busy) && of.now < address.lent.keep_until {
            if std::mem::replace(&mut address.lent.is_closing, false) {
                opened.push(id);
            }
            return None;
        }
        address.lent.is_closing = true;
        if is_busy || address.pace.ready_at() > of.now {
            return None;
        }
        let (returned, needed) = if is_soon { (1, domains) } else { (address.lent.places, 0) };
        address.lent.keep_until = of.now.saturating_add(of.keep);
        Some(self.give(id, returned, needed, domains, of.now))
    }

    /// Gives places back: with fewer of them, the next request comes after a longer interval.
    fn give(&mut self, id: AddressId, returned: u32, places: u32, domains: u32, now: Micros) -> Need {
        let address = &mut self.all[id as usize];
        let left = address.lent.places.saturating_sub(returned);
        address.pace.delay_from(&Self::limits_for(&self.limits, left), now);
        Need { address: address.at, returned, places, domains }
    }
}
