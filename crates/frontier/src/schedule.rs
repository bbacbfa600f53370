//! The scheduler: which host queue may start a request next, by what is due at which address, in the order of a [`Strategy`].
//!
//! Two levels, so that a thousand hosts on one address cost one entry in the outer heap: the outer heaps order
//! addresses, and each address orders its queues. On both levels there is one heap for what is not due yet, by time, and
//! one for what is due, by rank. Who fills: [`Schedule::enqueue`]. Who empties: [`Schedule::next`]. Paces are read from
//! [`Addresses`]: after one has changed, [`Schedule::update`] is to be called.
//!
//! Guarantees: an address with a queue in it and capacity to start is in an outer heap, at or before its due time; a
//! queue is at most once in the schedule; stale entries are skipped; what is due is served in the order of ranks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lycosa_url::Micros;

use crate::levels::Level;
use crate::politeness::addresses::Addresses;
use crate::politeness::domains::DomainId;
use crate::strategy::{FairTurns, Rank, Strategy};

/// Number of a host queue.
pub(crate) type QueueId = u32;

/// Number of an address.
pub(crate) type AddressId = u32;

/// A queue that is to have a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// The queue.
    pub(crate) queue: QueueId,
    /// Its registered domain.
    pub(crate) domain: DomainId,
    /// The greatest level of its URLs.
    pub(crate) level: Level,
}

/// A time, or a rank, and what comes then; the earliest on top.
type Ordered<K, T> = BinaryHeap<Reverse<(K, T)>>;

/// What is due at which address.
#[derive(Debug, Default)]
pub(crate) struct Schedule<S = FairTurns> {
    pub(crate) strategy: S,
    slots: Vec<Slot>,
    /// Addresses by the time at which something may become ready.
    due: Ordered<Micros, AddressId>,
    /// Addresses with something ready, by its rank.
    ready: Ordered<Rank, AddressId>,
    /// Queues in the schedule.
    waiting: usize,
}

/// What waits at one address.
#[derive(Debug, Default)]
struct Slot {
    /// Queues that are not due yet.
    due: Ordered<Micros, Turn>,
    /// Queues that are due, by rank.
    ready: Ordered<Rank, QueueId>,
    /// The time of its valid entry in the outer heap by time.
    scheduled: Option<Micros>,
    /// The rank of its valid entry in the outer heap by rank.
    offered: Option<Rank>,
}

impl<S: Strategy> Schedule<S> {
    /// Puts a queue at an address, due at a time.
    pub(crate) fn enqueue(&mut self, addresses: &Addresses, id: AddressId, due: Micros, turn: Turn) {
        self.waiting += 1;
        if id as usize >= self.slots.len() {
            self.slots.resize_with(id as usize + 1, Slot::default);
        }
        self.slots[id as usize].due.push(Reverse((due, turn)));
        self.update(addresses, id);
    }

    /// Takes out a queue that is due at an address that may start a request. The caller ends with [`Schedule::pass`].
    pub(crate) fn next(&mut self, addresses: &Addresses, now: Micros) -> Option<(AddressId, QueueId)> {
        self.make_ready(addresses, now);
        while let Some(Reverse((rank, id))) = self.ready.pop() {
            let slot = &mut self.slots[id as usize];
            if slot.offered != Some(rank) {
                continue;
            }
            slot.offered = None;
            if addresses.may_start(id, now)
                && let Some(Reverse((rank, queue))) = slot.ready.pop()
            {
                self.strategy.serve(rank);
                self.waiting -= 1;
                return Some((id, queue));
            }
            self.update(addresses, id);
        }
        None
    }

    /// The queue that was taken out has started a request, or had none to start.
    pub(crate) fn pass(&mut self, addresses: &Addresses, id: AddressId, now: Micros) {
        self.update(addresses, id);
        self.make_ready(addresses, now);
    }

    /// How many queues are in the schedule at an address.
    pub(crate) fn len_of(&self, id: AddressId) -> usize {
        self.slots.get(id as usize).map_or(0, |slot| slot.due.len() + slot.ready.len())
    }

    /// When a queue at an address is due, at the earliest; 0: now. `None`: there is none.
    pub(crate) fn due_of(&self, id: AddressId) -> Option<Micros> {
        let slot = self.slots.get(id as usize)?;
        if slot.ready.is_empty() { slot.due.peek().map(|Reverse((due, _))| *due) } else { Some(0) }
    }

    /// How many queues are in the schedule.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many addresses may be asked now, as of when this was last looked at.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// When something is due next, at the earliest; 0 when something is ready.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        let due = self.due.peek().map(|Reverse((due, _))| *due);
        if self.ready.is_empty() { due } else { Some(0) }
    }

    /// Moves what is due by now into the order of ranks.
    fn make_ready(&mut self, addresses: &Addresses, now: Micros) {
        while let Some(&Reverse((due, id))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            let slot = &mut self.slots[id as usize];
            if slot.scheduled != Some(due) {
                continue;
            }
            slot.scheduled = None;
            if addresses.may_start(id, now) {
                while let Some(&Reverse((due, turn))) = slot.due.peek()
                    && due <= now
                {
                    slot.due.pop();
                    slot.ready.push(Reverse((self.strategy.rank(turn), turn.queue)));
                }
                self.offer(id);
            }
            self.update(addresses, id);
        }
    }

    /// Adds an address's entry in the outer heap by rank.
    fn offer(&mut self, id: AddressId) {
        let slot = &mut self.slots[id as usize];
        if let Some(&Reverse((rank, _))) = slot.ready.peek()
            && slot.offered.is_none_or(|offered| rank < offered)
        {
            slot.offered = Some(rank);
            self.ready.push(Reverse((rank, id)));
        }
    }

    /// Adds an address's entry in the outer heap by time: when it may start something, or something becomes due.
    pub(crate) fn update(&mut self, addresses: &Addresses, id: AddressId) {
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        if !addresses.has_capacity(id) {
            return;
        }
        let ready_at = addresses.ready_at(id);
        let waits = (slot.offered.is_none() && !slot.ready.is_empty()).then_some(ready_at);
        let due = slot.due.peek().map(|Reverse((due, _))| (*due).max(ready_at));
        let Some(due) = waits.into_iter().chain(due).min() else { return };
        if slot.scheduled.is_none_or(|scheduled| due < scheduled) {
            slot.scheduled = Some(due);
            self.due.push(Reverse((due, id)));
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
