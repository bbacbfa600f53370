//! Wildcards: answers for hosts of a domain that answers for any name, without a query.
//!
//! Guarantees:
//! - A domain counts as a wildcard only after [`HOSTS`] of its hosts and then [`PROBES`] random labels had the
//!   same addresses.
//! - One name in [`SAMPLE`] is resolved anyway; one whose addresses differ, or that does not resolve, ends the
//!   inference for [`PLAIN`]. So a host with a record of its own may get the wildcard's address: therefore this
//!   is an option.
//! - An inferred answer is not cached, and expires no later than the answer that it was inferred from.
//! - At most [`DOMAINS`] domains are stored.

use std::net::IpAddr;

use hashbrown::{HashMap, HashSet};
use lycosa_url::{Micros, registered_domain};

use crate::dice::Dice;

/// Hosts with the same addresses after which a domain is probed.
const HOSTS: u32 = 4;

/// Random labels that must have these addresses, too.
const PROBES: u32 = 3;

/// One name in so many is resolved although it could be inferred.
const SAMPLE: u32 = 16;

/// How long a domain that is not a wildcard is not examined again, and how long a count of its hosts lasts: an
/// hour.
const PLAIN: Micros = 3_600_000_000;

/// Domains that are stored: about 20 MB.
const DOMAINS: usize = 100_000;

/// Letters of a random label; 16 of them are 82 bits, so that no host has that label by chance.
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The state of all registered domains.
#[derive(Debug)]
pub(crate) struct Wildcards {
    /// [`PLAIN`] in scaled time.
    plain: Micros,
    domains: HashMap<Box<str>, Domain>,
    /// Made-up names whose answers are pending.
    probes: HashSet<Box<str>>,
    dice: Dice,
}

/// The state of a registered domain.
#[derive(Debug)]
struct Domain {
    addresses: Vec<IpAddr>,
    stage: Stage,
    until: Micros,
}

/// The stage of the detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// So many hosts in a row had the same addresses.
    Counted(u32),
    /// So many random labels had them, too; the next one is being queried.
    Probed(u32),
    /// It is a wildcard, and this many of its names were looked up since.
    Wildcard(u32),
    /// It is not a wildcard.
    Plain,
}

/// The consequences of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lesson {
    /// Whether the name was made up, so that no client waits for the answer.
    pub(crate) is_probe: bool,
    /// A made-up name to resolve next.
    pub(crate) probe: Option<Box<str>>,
}

impl Wildcards {
    /// No domains; time passes `speed` times as fast.
    pub(crate) fn new(speed: f64) -> Self {
        let plain = (PLAIN as f64 / speed) as Micros;
        Wildcards { plain, domains: HashMap::new(), probes: HashSet::new(), dice: Dice::default() }
    }

    /// The addresses of a host and their expiry, if its domain is a wildcard.
    pub(crate) fn infer(&mut self, host: &str, now: Micros) -> Option<(Vec<IpAddr>, Micros)> {
        let name = registered_domain(host);
        let domain = self.domains.get_mut(name).filter(|domain| domain.until > now && host != name)?;
        let Stage::Wildcard(asked) = &mut domain.stage else { return None };
        *asked += 1;
        (!asked.is_multiple_of(SAMPLE)).then(|| (domain.addresses.clone(), domain.until))
    }

    /// Learns from the answer for a host: its addresses, empty if it has none, and their expiry.
    pub(crate) fn learn(&mut self, host: &str, addresses: &[IpAddr], until: Micros, now: Micros) -> Lesson {
        let is_probe = self.probes.remove(host);
        let name = registered_domain(host);
        if name == host || (addresses.is_empty() && !self.domains.contains_key(name)) {
            return Lesson { is_probe, probe: None };
        }
        self.make_room(now);
        let fresh =
            Domain { addresses: addresses.to_vec(), stage: Stage::Counted(0), until: now + self.plain };
        let domain = self.domains.entry(name.into()).or_insert(fresh);
        if domain.until <= now {
            (domain.stage, domain.until) = (Stage::Counted(0), now + self.plain);
            domain.addresses = addresses.to_vec();
        }
        let is_same = !addresses.is_empty() && domain.addresses == addresses;
        let (stage, until, goes_on) = match (domain.stage, is_same) {
            (Stage::Counted(count), true) if count + 1 >= HOSTS => (Stage::Probed(0), now + self.plain, true),
            (Stage::Counted(count), true) => (Stage::Counted(count + 1), domain.until, false),
            (Stage::Counted(_), false) => {
                domain.addresses = addresses.to_vec();
                (Stage::Counted(1), now + self.plain, false)
            }
            (Stage::Probed(count), true) if is_probe && count + 1 >= PROBES => {
                (Stage::Wildcard(0), until, false)
            }
            (Stage::Probed(count), true) => {
                (Stage::Probed(count + u32::from(is_probe)), domain.until, is_probe)
            }
            (Stage::Wildcard(asked), true) => (Stage::Wildcard(asked), domain.until.max(until), false),
            (Stage::Probed(_) | Stage::Wildcard(_), false) => (Stage::Plain, now + self.plain, false),
            (Stage::Plain, _) => (Stage::Plain, domain.until, false),
        };
        (domain.stage, domain.until) = (stage, until);
        Lesson { is_probe, probe: goes_on.then(|| self.invent(name)) }
    }

    /// Makes up a name in a domain.
    fn invent(&mut self, domain: &str) -> Box<str> {
        let mut letter = || char::from(LETTERS[self.dice.below(LETTERS.len())]);
        let label: String = (0..16).map(|_| letter()).collect();
        let name: Box<str> = format!("{label}.{domain}").into();
        self.probes.insert(name.clone());
        name
    }

    /// Removes expired domains, or all, if there are too many.
    fn make_room(&mut self, now: Micros) {
        if self.domains.len() >= DOMAINS {
            self.domains.retain(|_, domain| domain.until > now);
            if self.domains.len() >= DOMAINS {
                self.domains.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    /// A resolver of names: the address of each.
    struct World(fn(&str) -> Option<IpAddr>, Wildcards, Micros);

    impl World {
        fn new(resolve: fn(&str) -> Option<IpAddr>) -> Self {
            World(resolve, Wildcards::new(1.0), SECOND)
        }

        /// Resolves a host as a client does; returns whether it was inferred, and how many names were made up.
        fn ask(&mut self, host: &str) -> (bool, usize) {
            if let Some((addresses, _)) = self.1.infer(host, self.2) {
                assert_eq!(addresses, [(self.0)("anything.shop.example").unwrap()]);
                return (true, 0);
            }
            let (mut name, mut probes) = (Box::<str>::from(host), 0);
            loop {
                let addresses: Vec<IpAddr> = (self.0)(&name).into_iter().collect();
                let lesson = self.1.learn(&name, &addresses, self.2 + 300 * SECOND, self.2);
                assert_eq!(lesson.is_probe, probes > 0);
                let Some(next) = lesson.probe else { return (false, probes) };
                assert!(next.ends_with(".shop.example") && next.len() == 16 + ".shop.example".len());
                (name, probes) = (next, probes + 1);
            }
        }
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn a_domain_that_answers_for_any_name_is_found_out_and_looked_at_now_and_then() {
        let mut world = World::new(|_| address(1));
        let asked: Vec<_> = (0..4).map(|host| world.ask(&format!("h{host}.shop.example"))).collect();
        assert_eq!(asked, [(false, 0), (false, 0), (false, 0), (false, 3)]);
        let inferred = (0..160).filter(|host| world.ask(&format!("x{host}.shop.example")).0).count();
        assert_eq!(inferred, 150, "one in sixteen is resolved");
        world.2 += 301 * SECOND;
        assert_eq!(world.ask("later.shop.example"), (false, 0), "what was known has run out");
    }

    #[test]
    fn hosts_that_share_an_address_by_chance_are_no_wildcard() {
        let mut world = World::new(|name| address(1).filter(|_| name.len() < 20));
        (0..100).for_each(|host| assert!(!world.ask(&format!("h{host}.shop.example")).0));
        let mut world = World::new(|name| address(name.len() as u8));
        (0..100).for_each(|host| assert!(!world.ask(&format!("h{host}.shop.example")).0));
    }

    #[test]
    fn an_exception_that_a_sample_finds_ends_it() {
        let mut world = World::new(|name| address(if name.starts_with("own") { 9 } else { 1 }));
        (0..4).for_each(|host| assert!(!world.ask(&format!("h{host}.shop.example")).0));
        assert!((0..15).all(|host| world.ask(&format!("x{host}.shop.example")).0));
        assert_eq!(world.ask("own.shop.example"), (false, 0), "the sixteenth");
        assert!((0..99).all(|host| !world.ask(&format!("y{host}.shop.example")).0));
    }

    #[test]
    fn only_hosts_below_a_registered_domain_count_and_only_so_many_domains() {
        let mut wildcards = Wildcards::new(1.0);
        for number in 0..DOMAINS + 10 {
            let lesson =
                wildcards.learn(&format!("www.d{number}.example"), &[IpAddr::from([192, 0, 2, 1])], 9, 1);
            assert_eq!(lesson, Lesson::default());
            assert!(wildcards.domains.len() <= DOMAINS);
        }
        wildcards.domains.clear();
        (0..9).for_each(|_| drop(wildcards.learn("shop.example", &[IpAddr::from([192, 0, 2, 1])], 9, 1)));
        assert!(wildcards.domains.is_empty());
    }
}
