//! Addresses with more hosts than can have a turn soon: hosts beyond the first ones are put aside on disk, so that they take no space in
//! memory from hosts of other addresses. Shared hosting has millions of hosts at an address, and each address is asked at its own pace.
//!
//! Guarantees: an address at which hosts wait has some of them in memory; the others come back in the order in which they were put aside,
//! those with a URL of a level above 0 before all others.

use std::collections::VecDeque;

use hashbrown::HashMap;
use lycosa_url::Micros;

use super::{Hosts, WaitsFor};
use crate::patience::Evidence;
use crate::schedule::{AddressId, QueueId};

/// Hosts of one address in the schedule, at most, if there are many hosts in memory: enough for some seconds.
const ENOUGH: usize = 16;

/// How often it is looked whether the hosts that came back for an address are at another one now.
const LOOK: Micros = 60_000_000;

/// Hosts that are put aside, by address.
#[derive(Debug, Default)]
pub(crate) struct Crowds {
    by_address: HashMap<AddressId, Crowd>,
    /// Addresses that want hosts back.
    wanting: Vec<AddressId>,
    look_at: Micros,
}

/// The hosts of one address.
#[derive(Debug, Default)]
struct Crowd {
    /// Their keys (`cold/mod.rs`); some have come back since.
    keys: VecDeque<u64>,
    /// Why they are given up, if they are.
    given_up: Option<Evidence>,
}

impl Crowds {
    /// A host was put aside.
    pub(crate) fn add(&mut self, address: AddressId, key: u64, is_urgent: bool) {
        let keys = &mut self.by_address.entry(address).or_default().keys;
        if is_urgent { keys.push_front(key) } else { keys.push_back(key) }
    }

    /// All hosts of an address that are aside are given up.
    pub(crate) fn give_up(&mut self, address: AddressId, evidence: Evidence) {
        if let Some(crowd) = self.by_address.get_mut(&address) {
            crowd.given_up = Some(evidence);
            self.wanting.push(address);
        }
    }

    /// When hosts are to come back.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        if !self.wanting.is_empty() {
            return Some(0);
        }
        (!self.by_address.is_empty()).then_some(self.look_at)
    }

    /// The addresses that want hosts back. `has_few`: whether an address has few hosts in memory.
    pub(crate) fn take_wanting(
        &mut self,
        has_few: impl Fn(AddressId) -> bool,
        now: Micros,
    ) -> Vec<AddressId> {
        let mut wanting = std::mem::take(&mut self.wanting);
        if now >= self.look_at {
            self.look_at = now.saturating_add(LOOK);
            wanting.extend(self.by_address.keys().filter(|address| has_few(**address)));
        }
        wanting
    }

    /// Why the hosts of an address are given up, if they are.
    pub(crate) fn given_up(&self, address: AddressId) -> Option<Evidence> {
        self.by_address.get(&address)?.given_up.clone()
    }

    /// Takes the next keys of an address, at most so many. If there are more and its hosts are given up, it wants more.
    pub(crate) fn take(&mut self, address: AddressId, most: usize) -> Vec<u64> {
        let Some(crowd) = self.by_address.get_mut(&address) else { return Vec::new() };
        let keys = crowd.keys.drain(..most.min(crowd.keys.len())).collect();
        if crowd.keys.is_empty() {
            self.by_address.remove(&address);
        } else if crowd.given_up.is_some() {
            self.wanting.push(address);
        }
        keys
    }
}

impl Hosts {
    /// Hosts of one address in the schedule, at most, if there are many hosts in memory.
    pub(crate) fn enough_of_address(&self) -> usize {
        (self.warm_hosts / 4).clamp(1, ENOUGH)
    }

    /// Hosts of one address in the schedule, below which it wants others back.
    pub(crate) fn few_of_address(&self) -> usize {
        self.enough_of_address().div_ceil(2)
    }

    /// Whether a host is to be put aside instead of into the schedule, in which its address has so many: it is told to leave then.
    pub(crate) fn is_crowded_out(&mut self, id: QueueId, address: AddressId, scheduled: usize) -> bool {
        let has_space = self.warm_len() <= self.warm_hosts / 2 || !self.cold.is_possible();
        if has_space || scheduled < self.enough_of_address() || self.queues[id as usize].is_large {
            return false;
        }
        self.leave_soon(id, WaitsFor::Address(address));
        true
    }

    /// An address has so many hosts in the schedule now, one less than before.
    pub(crate) fn was_served(&mut self, address: AddressId, scheduled: usize) {
        if scheduled < self.few_of_address() && self.crowds.by_address.contains_key(&address) {
            self.crowds.wanting.push(address);
        }
    }
}
