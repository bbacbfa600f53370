//! Which host queue may start a request next: clocks of addresses, and the order of what is due.
//!
//! Two levels, so that a thousand hosts on one address cost one entry in the outer heap: the outer heap
//! orders addresses, and each address orders its queues. Who fills: [`Schedule::place`]. Who empties:
//! [`Schedule::next`].
//!
//! Guarantees: an address with a queue in it and concurrency to spare stands in the outer heap, at or
//! before its due time; a queue stands in at most one place; entries that have gone stale are skipped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use hashbrown::HashMap;
use lycosa_url::Micros;

/// Number of a host queue.
pub(crate) type QueueId = u32;

/// Number of an address.
pub(crate) type AddressId = u32;

/// A time and what is due then; the earliest on top.
type Due<T> = BinaryHeap<Reverse<(Micros, T)>>;

/// All addresses and what is due at them.
#[derive(Debug)]
pub(crate) struct Schedule {
    concurrency: u32,
    addresses: Vec<Address>,
    index: HashMap<IpAddr, AddressId>,
    due: Due<AddressId>,
}

/// One address (IPv6: one /64) with its clock.
#[derive(Debug, Default)]
struct Address {
    ready_at: Micros,
    in_flight: u32,
    queues: Due<QueueId>,
    /// The time of its valid entry in the outer heap.
    scheduled: Option<Micros>,
}

impl Schedule {
    /// Nothing is due.
    pub(crate) fn new(concurrency: u32) -> Self {
        Schedule { concurrency, addresses: Vec::new(), index: HashMap::new(), due: BinaryHeap::new() }
    }

    /// The number of an address's clock.
    pub(crate) fn address(&mut self, address: IpAddr) -> AddressId {
        let next = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX);
        *self.index.entry(clock_key(address)).or_insert_with(|| {
            self.addresses.push(Address::default());
            next
        })
    }

    /// Puts a queue at an address, due at a time.
    pub(crate) fn place(&mut self, address: AddressId, due: Micros, queue: QueueId) {
        self.addresses[address as usize].queues.push(Reverse((due, queue)));
        self.schedule(address);
    }

    /// Takes out a queue that is due at an address that is ready. The caller ends with
    /// [`Schedule::start`] or [`Schedule::pass`].
    pub(crate) fn next(&mut self, now: Micros) -> Option<(AddressId, QueueId)> {
        loop {
            let &Reverse((due, id)) = self.due.peek()?;
            if due > now {
                return None;
            }
            self.due.pop();
            let address = &mut self.addresses[id as usize];
            if address.scheduled != Some(due) {
                continue;
            }
            address.scheduled = None;
            if address.in_flight >= self.concurrency {
                continue;
            }
            let ready = address.ready_at <= now;
            if let Some(&Reverse((queue_due, queue))) = address.queues.peek()
                && ready
                && queue_due <= now
            {
                address.queues.pop();
                return Some((id, queue));
            }
            self.schedule(id);
        }
    }

    /// A request starts at an address, which is not ready again before `ready_at`.
    pub(crate) fn start(&mut self, address: AddressId, ready_at: Micros) {
        let entry = &mut self.addresses[address as usize];
        entry.in_flight += 1;
        entry.ready_at = entry.ready_at.max(ready_at);
        self.schedule(address);
    }

    /// The queue that was taken out had nothing to start.
    pub(crate) fn pass(&mut self, address: AddressId) {
        self.schedule(address);
    }

    /// A request ended at an address, which is not ready again before `ready_at`.
    pub(crate) fn end(&mut self, address: AddressId, ready_at: Micros) {
        let entry = &mut self.addresses[address as usize];
        entry.in_flight = entry.in_flight.saturating_sub(1);
        entry.ready_at = entry.ready_at.max(ready_at);
        self.schedule(address);
    }

    /// An address is not ready before `ready_at`; what stands at it is found late there, and waits on.
    pub(crate) fn hold(&mut self, address: AddressId, ready_at: Micros) {
        let entry = &mut self.addresses[address as usize];
        entry.ready_at = entry.ready_at.max(ready_at);
    }

    /// When something is due next, at the earliest.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        self.due.peek().map(|Reverse((due, _))| *due)
    }

    /// Gives an address its entry in the outer heap.
    fn schedule(&mut self, id: AddressId) {
        let address = &mut self.addresses[id as usize];
        if address.in_flight >= self.concurrency {
            return;
        }
        let Some(Reverse((due, _))) = address.queues.peek() else { return };
        let due = (*due).max(address.ready_at);
        if address.scheduled.is_none_or(|scheduled| due < scheduled) {
            address.scheduled = Some(due);
            self.due.push(Reverse((due, id)));
        }
    }
}

/// What shares a clock: an IPv4 address, or an IPv6 /64 (one customer's network, RFC 6177).
fn clock_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_serves_its_queues_in_turn_and_at_its_pace() {
        let mut schedule = Schedule::new(1);
        let one = schedule.address("93.184.216.34".parse().unwrap());
        for queue in 0..3 {
            schedule.place(one, 10, queue);
        }
        assert_eq!(schedule.next(9), None);
        assert_eq!(schedule.next(10), Some((one, 0)));
        schedule.start(one, 15);
        assert_eq!(schedule.next(100), None, "one at a time");
        schedule.end(one, 110);
        assert_eq!(schedule.due_at(), Some(110));
        assert_eq!(schedule.next(110), Some((one, 1)));
        schedule.pass(one);
        assert_eq!(schedule.next(110), Some((one, 2)));
    }

    #[test]
    fn an_earlier_queue_moves_its_address_forward() {
        let mut schedule = Schedule::new(2);
        let one = schedule.address("2001:4860::1".parse().unwrap());
        assert_eq!(schedule.address("2001:4860::2".parse().unwrap()), one, "one /64, one clock");
        schedule.place(one, 50, 1);
        schedule.place(one, 20, 2);
        assert_eq!(schedule.next(30), Some((one, 2)));
        schedule.start(one, 30);
        assert_eq!(schedule.next(49), None);
        assert_eq!(schedule.next(50), Some((one, 1)));
    }
}
