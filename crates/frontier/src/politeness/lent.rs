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
use super::keeper::{Loan, Need, ahead};
use crate::codec::{self, put_number};
use crate::schedule::AddressId;

/// For how long a place that others wait for is kept, from when it can be used: each change of hands takes some tenths of a second.
/// For as long one that is not used is kept.
pub(crate) const KEEP: Duration = Duration::from_secs(10);

/// For how long before it can be used a place is asked for.
const LEAD: Micros = 1_000_000;

/// After how many times [`KEEP`] who has no place of those that it needs asks again: a message may be lost.
const REPEAT: Micros = 6;

/// What a partition has of one address, and needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lent {
    pub(super) places: u32,
    /// Places that it has got so far, and given back; see [`Need`].
    granted: u32,
    returned: u32,
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
    /// When it is next among those that will need more; 0: it is not.
    later_at: Micros,
    /// Whether it is among those that need more.
    is_listed: bool,
    /// Whether it is among those that are looked at once in a while.
    is_held: bool,
    /// Whether it is among those that wait for their first place.
    is_waiting: bool,
}

impl Lent {
    /// Whether others have places as well.
    pub(super) fn is_shared(&self) -> bool {
        self.in_all > self.places
    }

    /// Whether it needs places and has none.
    fn is_short(&self) -> bool {
        self.places == 0 && self.told > 0
    }

    /// Has it seen shortly before something is due, unless that is to happen earlier already.
    fn see_later(
        &mut self,
        due: Micros,
        id: AddressId,
        later: &mut BinaryHeap<Reverse<(Micros, AddressId)>>,
    ) {
        let at = due.saturating_sub(LEAD).max(1);
        if self.later_at == 0 || at < self.later_at {
            self.later_at = at;
            later.push(Reverse((at, id)));
        }
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
    /// Addresses without a place that need one, and when they ask again.
    waiting: VecDeque<(Micros, AddressId)>,
    /// Addresses whose keepers ask what is needed.
    asked: Vec<AddressId>,
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
        let granted = ahead(loan.granted, lent.granted);
        if granted > 0 {
            lent.keep_until = now.max(address.pace.ready_at()).saturating_add(keep);
            lent.is_closing = false;
            if !std::mem::replace(&mut lent.is_held, true) {
                lists.held.push_back((now.saturating_add(keep), id));
            }
        }
        lent.granted = lent.granted.wrapping_add(granted);
        lent.places = lent.places.saturating_add(granted);
        let before = lent.recalled;
        lent.recalled = before.max(ahead(loan.recalled, lent.returned)).min(lent.places);
        if before == 0 && lent.recalled > 0 {
            lists.recalled.push(id);
        }
        if loan.asks {
            lists.asked.push(id);
        }
        id
    }

    /// Whether a partition has no more places than there are by a loan.
    pub(crate) fn is_possible(&self, loan: &Loan, most: u32) -> bool {
        let returned = self.index.get(&loan.address).map_or(0, |id| self.all[*id as usize].lent.returned);
        ahead(loan.granted, returned) <= most && ahead(loan.recalled, returned) <= most
    }

    /// What keepers are to be told, at most so many needs.
    pub(crate) fn needs<F: Fn(AddressId) -> Option<Micros>>(
        &mut self,
        most: usize,
        of: &Use<F>,
    ) -> Vec<Need> {
        let Some(mut lists) = self.lists.take() else { return Vec::new() };
        let Lists { needing, later, recalled, held, waiting, asked, opened } = &mut *lists;
        let again = of.now.saturating_add(of.keep.saturating_mul(REPEAT));
        let (mut needs, mut waits) = (Vec::new(), waiting.len());
        let mut tell = |addresses: &mut Self, waiting: &mut VecDeque<_>, need: Need| {
            let id = addresses.told(&need);
            let lent = &mut addresses.all[id as usize].lent;
            if lent.is_short() && !std::mem::replace(&mut lent.is_waiting, true) {
                waiting.push_back((again, id));
            }
            needs.push(need);
            needs.len() < most
        };
        let mut has_room = true;
        while has_room && let Some(id) = asked.pop() {
            has_room = tell(self, waiting, self.state(id));
        }
        while has_room && waits > 0 && waiting.front().is_some_and(|(at, _)| *at <= of.now) {
            waits -= 1;
            let Some((_, id)) = waiting.pop_front() else { break };
            let lent = &mut self.all[id as usize].lent;
            lent.is_waiting = lent.is_short();
            if !lent.is_waiting {
                continue;
            }
            waiting.push_back((again, id));
            if of.is_soon(id) {
                has_room = tell(self, waiting, Need { repeats: true, ..self.state(id) });
            }
        }
        recalled.retain(|id| {
            if has_room && let Some(need) = self.give_back(*id, of, opened) {
                has_room = tell(self, waiting, need);
            }
            self.all[*id as usize].lent.recalled > 0
        });
        let mut looks = held.len();
        while has_room && looks > 0 && held.front().is_some_and(|(at, _)| *at <= of.now) {
            looks -= 1;
            let Some((_, id)) = held.pop_front() else { break };
            if let Some(need) = self.spare(id, of) {
                has_room = tell(self, waiting, need);
            }
            let lent = &mut self.all[id as usize].lent;
            lent.is_held = lent.places > 0;
            if lent.is_held {
                held.push_back((of.now.saturating_add(of.keep), id));
            } else if let Some(due) = (of.due)(id) {
                lent.see_later(due, id, later);
            }
        }
        while later.peek().is_some_and(|Reverse((at, _))| *at <= of.now) {
            let Some(Reverse((at, id))) = later.pop() else { break };
            let lent = &mut self.all[id as usize].lent;
            if lent.later_at != at {
                continue; // it was seen earlier
            }
            lent.later_at = 0;
            if !std::mem::replace(&mut lent.is_listed, true) {
                needing.push(id);
            }
        }
        if of.starts && has_room {
            for id in std::mem::take(needing) {
                if !has_room {
                    needing.push(id);
                    continue;
                }
                let lent = &mut self.all[id as usize].lent;
                lent.is_listed = false;
                match (of.due)(id) {
                    Some(due) if !of.is_soon(id) => lent.see_later(due, id, later),
                    Some(_) => {
                        if let Some(need) = self.more(id) {
                            has_room = tell(self, waiting, need);
                        }
                    }
                    None => {}
                }
            }
        }
        self.lists = Some(lists);
        needs
    }

    /// A keeper was told that; gives the address.
    pub(crate) fn told(&mut self, need: &Need) -> AddressId {
        let id = self.id(need.address);
        let lent = &mut self.all[id as usize].lent;
        let returned = ahead(need.returned, lent.returned).min(lent.places);
        lent.returned = lent.returned.wrapping_add(returned);
        lent.places -= returned;
        lent.recalled = lent.recalled.saturating_sub(returned).min(lent.places);
        lent.told = need.places;
        lent.is_closing &= returned == 0;
        id
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
        lists.waiting.clear();
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
            address.lent.is_waiting = address.lent.is_short();
            if address.lent.is_waiting {
                lists.waiting.push_back((now, id as AddressId));
            }
        }
    }

    /// Appends the places to a record of a snapshot.
    pub(super) fn pack_lent(&self, record: &mut Vec<u8>) {
        let lent = self.index.iter().map(|(address, id)| (*address, self.all[*id as usize].lent));
        // Also those that have nothing now: what they have had counts on.
        let lent: Vec<_> = lent.filter(|(_, lent)| lent.granted != 0 || lent.told > 0).collect();
        put_number(record, lent.len() as u64);
        for (address, lent) in lent {
            codec::put_address(record, address);
            let numbers = [lent.granted, lent.returned, lent.in_all, lent.told, lent.recalled];
            numbers.into_iter().for_each(|number| put_number(record, number.into()));
        }
    }

    /// Reads them.
    pub(super) fn unpack_lent(&mut self, from: &mut &[u8]) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let id = self.id(codec::address(from)?);
            let mut number = || codec::small(from);
            let (granted, returned) = (number()?, number()?);
            let (in_all, told, recalled) = (number()?, number()?, number()?);
            let places = granted.wrapping_sub(returned);
            let lent = Lent { places, granted, returned, in_all, told, recalled, ..Lent::default() };
            self.all[id as usize].lent = lent;
        }
        Some(())
    }

    /// Its registered domains, at least one.
    fn domains_of(&self, id: AddressId) -> u32 {
        self.all[id as usize].domains.len().max(1) as u32
    }

    /// What a keeper was told of an address, as it stands now.
    fn state(&self, id: AddressId) -> Need {
        let (address, domains) = (&self.all[id as usize], self.domains_of(id));
        let Lent { granted, returned, told, .. } = address.lent;
        Need { address: address.at, granted, returned, places: told, domains, repeats: false }
    }

    /// The need of more places at an address, if there is one.
    fn more(&self, id: AddressId) -> Option<Need> {
        let (told, domains) = (self.all[id as usize].lent.told, self.domains_of(id));
        (domains > told).then(|| Need { places: domains, ..self.state(id) })
    }

    /// How many places may go back: whoever gets one may use it at once, so that each has not been used for a whole interval. Requests
    /// use places in turn.
    fn rested(&self, id: AddressId, now: Micros) -> u32 {
        let address = &self.all[id as usize];
        match now.checked_sub(address.pace.ready_at()) {
            Some(since) if !address.pace.is_busy() => {
                let more = since / address.pace.interval(&self.limits_of(id)).max(1);
                u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1)
            }
            _ => 0,
        }
    }

    /// Gives places back that nothing uses, if their address is at rest.
    fn spare<F: Fn(AddressId) -> Option<Micros>>(&mut self, id: AddressId, of: &Use<F>) -> Option<Need> {
        let domains = self.domains_of(id);
        let needed = if of.is_soon(id) { domains } else { 0 };
        let returned = self.all[id as usize].lent.places.saturating_sub(needed).min(self.rested(id, of.now));
        (returned > 0).then(|| self.give(id, returned, needed, domains, of.now))
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
        let rested = self.rested(id, of.now);
        if rested == 0 {
            return None;
        }
        let lent = &mut self.all[id as usize].lent;
        let (returned, needed) = if is_soon { (1, domains) } else { (lent.places.min(rested), 0) };
        lent.keep_until = of.now.saturating_add(of.keep);
        Some(self.give(id, returned, needed, domains, of.now))
    }

    /// Gives places back: with fewer of them, the next request comes after a longer interval.
    fn give(&mut self, id: AddressId, returned: u32, places: u32, domains: u32, now: Micros) -> Need {
        let address = &mut self.all[id as usize];
        let left = address.lent.places.saturating_sub(returned);
        address.pace.delay_from(&Self::limits_for(&self.limits, left), now);
        let state = self.state(id);
        Need { returned: state.returned.wrapping_add(returned), places, domains, ..state }
    }
}
