//! Addresses in their order, by hand.

use std::net::IpAddr;

use super::*;
use crate::politeness::domains::Domains;
use crate::politeness::pace::{HealthSignal, Limits};

/// A schedule with the addresses and domains that it orders.
struct Orders {
    schedule: Schedule,
    addresses: Addresses,
    domains: Domains,
}

impl Orders {
    fn address(&mut self, address: IpAddr) -> AddressId {
        self.addresses.id(address)
    }

    fn next(&mut self, now: Micros) -> Option<(AddressId, QueueId)> {
        self.schedule.next(&self.addresses, now)
    }

    fn due_at(&self) -> Option<Micros> {
        self.schedule.due_at()
    }

    fn start(&mut self, id: AddressId, now: Micros) {
        self.addresses.start(id, now);
        self.pass(id, now);
    }

    fn pass(&mut self, id: AddressId, now: Micros) {
        self.schedule.pass(&self.addresses, id, now);
    }

    fn end(&mut self, id: AddressId, at: Micros) {
        self.addresses.end(id, at);
        self.schedule.update(&self.addresses, id);
    }

    fn observe(&mut self, id: AddressId, host: QueueId, signal: HealthSignal, at: Micros) {
        self.addresses.observe(id, &host.to_string(), signal, at);
        self.schedule.update(&self.addresses, id);
    }

    fn add_domain(&mut self, id: AddressId, domain: DomainId) {
        if self.addresses.add_domain(id, domain) {
            self.schedule.update(&self.addresses, id);
        }
    }
}

fn schedule(concurrency: u32, interval: Micros, most_domains: u32) -> Orders {
    let limits = Limits {
        concurrency,
        floor: interval,
        ceiling: 60_000,
        multiple: 5.0,
        step: 1_000,
        successes: 10,
        share: 1,
    };
    let addresses = Addresses::new(limits, most_domains, false);
    Orders { schedule: Schedule::default(), addresses, domains: Domains::default() }
}

/// Places a queue of a domain.
fn place(orders: &mut Orders, address: AddressId, due: Micros, queue: QueueId, domain: &str) {
    let domain = orders.domains.of(domain);
    orders.schedule.enqueue(&orders.addresses, address, due, Turn { queue, domain, level: 0 });
}

#[test]
fn an_address_serves_its_queues_in_turn_and_at_its_pace() {
    let mut schedule = schedule(1, 5, 1);
    let one = schedule.address("93.184.216.34".parse().unwrap());
    for queue in 0..3 {
        place(&mut schedule, one, 10, queue, "a.com");
    }
    assert_eq!(schedule.next(9), None);
    assert_eq!(schedule.next(10), Some((one, 0)));
    schedule.start(one, 10);
    assert_eq!(schedule.next(100), None, "one at a time");
    schedule.end(one, 105);
    assert_eq!(schedule.due_at(), Some(110));
    assert_eq!(schedule.next(110), Some((one, 1)));
    schedule.pass(one, 110);
    assert_eq!(schedule.next(110), Some((one, 2)));
}

#[test]
fn ipv4_written_as_ipv6_shares_its_pace() {
    let mut schedule = schedule(2, 0, 1);
    let one = schedule.address("93.184.216.34".parse().unwrap());
    assert_eq!(schedule.address("::ffff:93.184.216.34".parse().unwrap()), one);
    assert_eq!(schedule.address("64:ff9b::93.184.216.34".parse().unwrap()), one);
    assert_ne!(schedule.address("64:ff9b::93.184.216.35".parse().unwrap()), one);
}

#[test]
fn an_earlier_queue_moves_its_address_forward() {
    let mut schedule = schedule(2, 0, 1);
    let one = schedule.address("2001:4860::1".parse().unwrap());
    assert_eq!(schedule.address("2001:4860::2".parse().unwrap()), one, "one /64, one pace");
    place(&mut schedule, one, 50, 1, "a.com");
    place(&mut schedule, one, 20, 2, "a.com");
    assert_eq!(schedule.next(30), Some((one, 2)));
    schedule.start(one, 30);
    assert_eq!(schedule.next(49), None);
    assert_eq!(schedule.next(50), Some((one, 1)));
}

#[test]
fn what_comes_late_of_a_small_domain_overtakes_a_large_one() {
    let mut schedule = schedule(1, 5, 1);
    for queue in 0..1_000u32 {
        let address = schedule.address(IpAddr::V4((0x5d00_0000 + queue).into()));
        place(&mut schedule, address, 0, queue, "large.example");
    }
    let mut served = Vec::new();
    for now in 0..10 {
        if now == 5 {
            let address = schedule.address("93.9.9.9".parse().unwrap());
            place(&mut schedule, address, 5, 5_000, "small.test");
        }
        // One slot: scarce.
        let (address, queue) = schedule.next(now).unwrap();
        schedule.start(address, now);
        served.push(queue);
    }
    let turn = served.iter().position(|queue| *queue == 5_000).unwrap();
    assert!((5..=6).contains(&turn), "{served:?}");
}

#[test]
fn an_address_of_many_domains_has_the_rate_of_as_many_as_count() {
    let mut schedule = schedule(1, 1_000, 4);
    let one = schedule.address("93.184.216.34".parse().unwrap());
    let rate = |schedule: &mut Orders, from: Micros| {
        (0..20).for_each(|queue| place(schedule, one, from, queue, "a.com"));
        let mut starts = Vec::new();
        for now in from..from + 4_000 {
            while let Some((address, _)) = schedule.next(now) {
                schedule.start(address, now);
                schedule.end(address, now);
                starts.push(now);
            }
        }
        starts.len()
    };
    assert_eq!(rate(&mut schedule, 0), 4);
    for name in ["a.com", "www.a.com", "b.com"] {
        let domain = schedule.domains.of(name);
        schedule.add_domain(one, domain);
    }
    assert_eq!(rate(&mut schedule, 10_000), 8, "two registered domains");
    for number in 0..100 {
        let domain = schedule.domains.of(&format!("{number}.test"));
        schedule.add_domain(one, domain);
    }
    assert_eq!(rate(&mut schedule, 20_000), 16, "four count");
    let domain = schedule.domains.of("b.com");
    schedule.addresses.remove_domain(one, domain, 30_000);
    assert_eq!(rate(&mut schedule, 31_000), 12, "one has left");
}

#[test]
fn one_hosts_trouble_is_its_own_and_that_of_two_is_the_addresss() {
    let mut schedule = schedule(1, 1_000, 1);
    let one = schedule.address("93.184.216.34".parse().unwrap());
    let interval = |orders: &Orders| orders.addresses.interval(one);
    (0..5).for_each(|_| schedule.observe(one, 7, HealthSignal::Trouble, 0));
    assert_eq!(interval(&schedule), 1_000);
    schedule.observe(one, 8, HealthSignal::Trouble, 0);
    assert_eq!(interval(&schedule), 2_000);
    schedule.observe(one, 9, HealthSignal::Success(0), 0);
    schedule.observe(one, 7, HealthSignal::Trouble, 0);
    assert_eq!(interval(&schedule), 2_000, "a success between them");
}
