//! The places that a partition has of addresses, as it uses them ([`super::keeper`]).
//!
//! Guarantees: without a place nothing is sent to an address; a place comes back only when its address is at rest, so that whoever gets
//! it next may ask at once; one that is called back was usable for [`KEEP`] before, if something waits for it.

use std::time::Duration;

use lycosa_url::Micros;

use super::addresses::Addresses;
use super::keeper::{Loan, Need};
use crate::codec::{self, put_number};
use crate::schedule::AddressId;

/// For how long a place that others wait for is kept, from when it can be used: each change of hands takes some tenths of a second.
pub(crate) const KEEP: Duration = Duration::from_secs(10);

/// What a partition has of one address, and needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lent {
    pub(super) places: u32,
    /// Places that it told its keeper to need.
    told: u32,
    /// Places that it is to give back.
    recalled: u32,
    /// Until when it keeps them nevertheless.
    keep_until: Micros,
    /// Whether nothing starts until one is given back.
    pub(super) is_closing: bool,
    /// Whether it is among those that need more.
    is_listed: bool,
}

/// What is to be told to keepers of addresses.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Addresses that may need more places.
    needing: Vec<AddressId>,
    /// Addresses of which places are called back.
    recalled: Vec<AddressId>,
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
        if loan.granted > 0 {
            lent.keep_until = now.max(address.pace.ready_at()).saturating_add(keep);
        }
        lent.places = lent.places.saturating_add(loan.granted);
        let before = lent.recalled;
        lent.recalled = before.saturating_add(loan.recalled).min(lent.places);
        if before == 0
            && lent.recalled > 0
            && let Some(lists) = &mut self.lists
        {
            lists.recalled.push(id);
        }
        id
    }

    /// What keepers are to be told, at most so many needs. `waits`: whether anything waits at an address.
    pub(crate) fn needs(
        &mut self,
        keep: Micros,
        most: usize,
        now: Micros,
        waits: impl Fn(AddressId) -> bool,
    ) -> Vec<Need> {
        let Some(mut lists) = self.lists.take() else { return Vec::new() };
        let mut needs = Vec::new();
        lists.recalled.retain(|id| {
            if needs.len() < most
                && let Some(need) = self.give_back(*id, waits(*id), keep, now)
            {
                self.told(&need);
                needs.push(need);
            }
            self.all[*id as usize].lent.recalled > 0
        });
        let count = lists.needing.len().min(most - needs.len());
        for id in lists.needing.drain(..count) {
            self.all[id as usize].lent.is_listed = false;
            if waits(id)
                && let Some(need) = self.more(id)
            {
                self.told(&need);
                needs.push(need);
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

    /// Keeps all places until they can be used, after a restart.
    pub(super) fn keep_all(&mut self) {
        let Some(lists) = &mut self.lists else { return };
        lists.recalled.clear();
        for (id, address) in self.all.iter_mut().enumerate() {
            // A microsecond more, in which a request may start.
            address.lent.keep_until = address.pace.ready_at().saturating_add(1);
            if address.lent.recalled > 0 {
                lists.recalled.push(id as AddressId);
            }
        }
    }

    /// Appends the places to a record of a snapshot.
    pub(super) fn pack_lent(&self, record: &mut Vec<u8>) {
        let lent: Vec<_> =
            self.index.iter().map(|(address, id)| (*address, self.all[*id as usize].lent)).collect();
        let lent = lent.into_iter().filter(|(_, lent)| lent.places + lent.told > 0);
        let lent: Vec<_> = lent.collect();
        put_number(record, lent.len() as u64);
        for (address, lent) in lent {
            codec::put_address(record, address);
            let numbers = [lent.places, lent.told, lent.recalled];
            numbers.into_iter().for_each(|number| put_number(record, number.into()));
        }
    }

    /// Reads them.
    pub(super) fn unpack_lent(&mut self, from: &mut &[u8]) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let id = self.id(codec::address(from)?);
            let (places, told, recalled) = (codec::small(from)?, codec::small(from)?, codec::small(from)?);
            self.all[id as usize].lent = Lent { places, told, recalled, ..Lent::default() };
        }
        Some(())
    }

    /// The need of more places at an address, if there is one.
    fn more(&self, id: AddressId) -> Option<Need> {
        let address = &self.all[id as usize];
        let domains = address.domains.len().max(1) as u32;
        let is_short = domains > address.lent.told;
        is_short.then_some(Need { address: address.at, returned: 0, places: domains, domains })
    }

    /// Gives one place back that was called back, if it is time: what is out ends first.
    fn give_back(&mut self, id: AddressId, waits: bool, keep: Micros, now: Micros) -> Option<Need> {
        let address = &mut self.all[id as usize];
        if waits && now < address.lent.keep_until {
            return None;
        }
        address.lent.is_closing = true;
        if address.pace.is_busy() || address.pace.ready_at() > now {
            return None;
        }
        let domains = address.domains.len().max(1) as u32;
        let left = address.lent.places.saturating_sub(1);
        let places = if waits { domains } else { left };
        let need = Need { address: address.at, returned: 1, places, domains };
        address.lent.keep_until = now.saturating_add(keep);
        // With one place less, the next request comes after a longer interval.
        address.pace.delay_from(&Self::limits_for(&self.limits, left), now);
        Some(need)
    }
}
