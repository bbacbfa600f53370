//! Limits of clients: access list, rate per client, share of pending lookups.
//!
//! Guarantees: memory of rates is fixed, whatever the number of clients; a client within its rate is limited
//! because of another one only if their keyed hashes collide, which no client can provoke.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_url::{Micros, Network};

/// Number of rate slots.
const SLOTS: usize = 1 << 14;

/// Burst: how much of its rate a client may accumulate, in microseconds.
const BURST: Micros = 1_000_000;

/// Rate limits (GCRA): per slot, the theoretical arrival time of the next answer.
pub(crate) struct Rates {
    due: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Rates {
    fn default() -> Self {
        Rates { due: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::new() }
    }
}

impl Rates {
    /// Counts an answer for a client with `rate` answers a second; returns whether the rate allows it.
    pub(crate) fn take(&self, client: IpAddr, rate: f64, now: Micros) -> bool {
        let slot = self.hasher.hash_one(group(client)) as usize % SLOTS;
        let cost = (1e6 / rate) as Micros;
        let space = BURST.max(cost);
        let next = |due: u64| {
            let due = due.max(now) + cost;
            (due <= now + space).then_some(due)
        };
        self.due[slot].fetch_update(Relaxed, Relaxed, next).is_ok()
    }
}

/// Whether one of these networks contains the client.
pub(crate) fn is_allowed(networks: &[Network], client: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(client))
}

/// The identity of a client: an IPv4 address, or the /64 network of an IPv6 address, since one customer has
/// at least that.
fn group(client: IpAddr) -> u64 {
    match client.to_canonical() {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => (u128::from(address) >> 64) as u64,
    }
}

/// Pending work by client.
#[derive(Default)]
pub(crate) struct Shares {
    clients: HashMap<u64, u32>,
    all: usize,
}

impl Shares {
    /// Takes one of `places` slots for a client; returns whether it may have one. A client has at most `own`,
    /// and while more than half of all slots are taken at most its equal share.
    pub(crate) fn take(&mut self, client: IpAddr, places: usize, own: usize) -> bool {
        let client = group(client);
        let has = self.clients.get(&client).copied().unwrap_or(0) as usize;
        let others = self.clients.len() + usize::from(has == 0);
        let is_fair = self.all < places / 2 || has < places.div_ceil(others);
        if self.all >= places || has >= own || !is_fair {
            return false;
        }
        self.all += 1;
        *self.clients.entry(client).or_default() += 1;
        true
    }

    /// Releases a slot.
    pub(crate) fn give(&mut self, client: IpAddr) {
        let client = group(client);
        if let Some(has) = self.clients.get_mut(&client) {
            *has -= 1;
            self.all -= 1;
            if *has == 0 {
                self.clients.remove(&client);
            }
        }
    }

    /// Number of slots taken.
    pub(crate) fn taken(&self) -> usize {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;
    const START: Micros = 1_800_000_000 * SECOND;

    fn client(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    #[test]
    fn a_client_has_its_rate_and_a_second_s_worth_at_once() {
        let rates = Rates::default();
        let taken = |now| (0..1_000).filter(|_| rates.take(client(1), 100.0, now)).count();
        assert_eq!(taken(START), 100);
        assert_eq!(taken(START), 0);
        assert_eq!(taken(START + SECOND / 10), 10);
        assert_eq!(taken(START + 100 * SECOND), 100, "no more is saved up");
        assert!(rates.take(client(2), 100.0, START), "another client has its own");
    }

    #[test]
    fn less_than_one_answer_a_second_is_a_rate_too() {
        let rates = Rates::default();
        assert!(rates.take(client(1), 0.1, START) && !rates.take(client(1), 0.1, START + 9 * SECOND));
        assert!(rates.take(client(1), 0.1, START + 11 * SECOND));
    }

    #[test]
    fn neighbours_in_a_network_of_ipv6_are_one_client() {
        let rates = Rates::default();
        assert!(rates.take("2001:db8::1".parse().unwrap(), 1.0, START));
        assert!(!rates.take("2001:db8::ffff:1".parse().unwrap(), 1.0, START));
        assert!(rates.take("2001:db8:0:1::1".parse().unwrap(), 1.0, START));
    }

    #[test]
    fn a_greedy_client_leaves_places_to_others() {
        let mut shares = Shares::default();
        let greedy = (0..100).filter(|_| shares.take(client(1), 100, 100)).count();
        assert_eq!(greedy, 100, "alone it may have all");
        (0..60).for_each(|_| shares.give(client(1)));
        assert!((0..50).all(|_| shares.take(client(2), 100, 100)), "another one gets its half");
        assert!((0..50).filter(|_| shares.take(client(1), 100, 100)).count() <= 10);
        assert_eq!(shares.taken(), 100);
    }

    #[test]
    fn one_client_has_no_more_than_it_may() {
        let mut shares = Shares::default();
        assert_eq!((0..100).filter(|_| shares.take(client(1), 100, 50)).count(), 50);
        assert_eq!((0..100).filter(|_| shares.take(client(2), 100, 50)).count(), 50);
    }
}
