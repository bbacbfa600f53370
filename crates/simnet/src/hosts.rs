//! The hosts: unique names under several public suffixes, their addresses, and how many URLs each has.
//!
//! The only tables of the world: some 80 bytes a host, nothing a page.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use crate::random::Rng;
use crate::text::plain_word;

/// Public suffixes with their share in a thousand.
const SUFFIXES: &[(&str, u32)] = &[
    ("com", 440),
    ("org", 120),
    ("net", 90),
    ("de", 90),
    ("co.uk", 60),
    ("com.cn", 50),
    ("fr", 40),
    ("io", 30),
    ("nl", 30),
    ("com.br", 20),
    ("co.jp", 15),
    ("info", 15),
];

/// Sub-domains that sites put in front of their domain.
const SUBDOMAINS: &[&str] = &["blog", "news", "shop", "docs", "forum", "static"];

/// Most URLs of one host, as a multiple of the mean: a polite crawl's length is that of its largest host.
const LARGEST: f64 = 6.0;

/// What a name means to the resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// A host.
    Host(u32),
    /// No host, but hosts live beneath it: it exists without an address (RFC 8020).
    Parent,
}

/// All hosts of a world.
pub(crate) struct Hosts {
    /// Host names end to end.
    names: String,
    /// Where each name ends.
    ends: Vec<u32>,
    /// Each host's address.
    addresses: Vec<u32>,
    /// Number of URLs before each host's; one entry more than hosts.
    first: Vec<u64>,
    /// Every name and every parent of a name, lower case.
    index: HashMap<Box<str>, Name>,
}

impl Hosts {
    /// Draws `hosts` hosts with `pages` URLs each in the mean.
    pub(crate) fn new(seed: u64, hosts: u32, pages: u32) -> Self {
        let mut all = Self {
            names: String::new(),
            ends: Vec::with_capacity(hosts as usize),
            addresses: addresses(seed, hosts),
            first: Vec::with_capacity(hosts as usize + 1),
            index: HashMap::with_capacity(hosts as usize * 2),
        };
        let mut rng = Rng::new(seed, 2, 0, 0);
        let mut domain = String::new();
        let mut total = 0;
        for host in 0..hosts {
            let name = loop {
                // A quarter of the hosts are further sub-domains of the domain before them.
                let name = if !domain.is_empty() && rng.chance(250) {
                    format!("{}.{domain}", SUBDOMAINS[rng.below(SUBDOMAINS.len() as u32) as usize])
                } else {
                    domain = registered_domain(&mut rng);
                    if rng.chance(550) { format!("www.{domain}") } else { domain.clone() }
                };
                if !matches!(all.index.get(name.as_str()), Some(Name::Host(_))) {
                    break name;
                }
            };
            let mut parent = name.as_str();
            while let Some((_, rest)) = parent.split_once('.') {
                parent = rest;
                all.index.entry(parent.into()).or_insert(Name::Parent);
            }
            all.names.push_str(&name);
            all.ends.push(all.names.len() as u32);
            all.index.insert(name.into(), Name::Host(host));
            all.first.push(total);
            let mean = f64::from(pages);
            total += rng.log_normal(mean, 0.7).clamp(1.0, mean * LARGEST).round() as u64;
        }
        all.first.push(total);
        all
    }

    /// The host's name.
    pub(crate) fn name(&self, host: u32) -> &str {
        let i = host as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.names[start..self.ends[i] as usize]
    }

    /// What a lower-case name means, if it exists.
    pub(crate) fn find(&self, name: &str) -> Option<Name> {
        self.index.get(name).copied()
    }

    /// The host's address.
    pub(crate) fn address(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.addresses[host as usize])
    }

    /// The host's number of URLs, at least 1.
    pub(crate) fn pages(&self, host: u32) -> u32 {
        (self.first[host as usize + 1] - self.first[host as usize]) as u32
    }

    /// Number of URLs of all hosts before this one: a page's place in a table of all pages.
    pub(crate) fn first(&self, host: u32) -> u64 {
        self.first[host as usize]
    }

    /// Number of URLs of all hosts.
    pub(crate) fn total(&self) -> u64 {
        self.first.last().copied().unwrap_or(0)
    }
}

/// A domain such as `silver-river.co.uk`; a number is added often enough that a million of them are unique.
fn registered_domain(rng: &mut Rng) -> String {
    let (a, b) = (plain_word(rng.below(1 << 20)), plain_word(rng.below(1 << 20)));
    let glue = if rng.chance(300) { "-" } else { "" };
    let number = if rng.chance(150) { (2 + rng.below(9998)).to_string() } else { String::new() };
    let mut share = rng.below(1000);
    let mut suffix = SUFFIXES[0].0;
    for &(candidate, permille) in SUFFIXES {
        suffix = candidate;
        if share < permille {
            break;
        }
        share -= permille;
    }
    format!("{a}{glue}{b}{number}.{suffix}")
}

/// Addresses from 127.1.0.1 upwards: four of five hosts alone, the others in groups of 2 to 8 on one address.
fn addresses(seed: u64, hosts: u32) -> Vec<u32> {
    let mut rng = Rng::new(seed, 3, 0, 0);
    let mut all = Vec::with_capacity(hosts as usize);
    let mut next = 0;
    while all.len() < hosts as usize {
        // 4.8 % of addresses carry 5 names in the mean: 20 % of the names.
        let names = if rng.chance(48) { 2 + rng.below(7) } else { 1 };
        let address = 0x7f01_0001 + next / 254 * 256 + next % 254;
        next += 1;
        all.extend(std::iter::repeat_n(address, (names as usize).min(hosts as usize - all.len())));
    }
    // Neighbours in the list are popular together; names that share an address need not be.
    for i in (1..all.len()).rev() {
        all.swap(i, rng.below(i as u32 + 1) as usize);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found() {
        let hosts = Hosts::new(1, 10_000, 20);
        let names: HashSet<_> = (0..10_000).map(|h| hosts.name(h)).collect();
        assert_eq!(names.len(), 10_000);
        for host in 0..10_000 {
            assert_eq!(hosts.find(hosts.name(host)), Some(Name::Host(host)));
        }
        assert_eq!(hosts.find("com"), Some(Name::Parent));
        assert_eq!(hosts.find("no.such.example"), None);
        let suffixes: HashSet<_> = names.iter().filter_map(|n| n.rsplit('.').next()).collect();
        assert!(suffixes.len() >= 8, "{suffixes:?}");
    }

    #[test]
    fn a_fifth_of_the_names_share_addresses() {
        let hosts = Hosts::new(1, 10_000, 20);
        let mut names = HashMap::new();
        (0..10_000).for_each(|h| *names.entry(hosts.address(h)).or_insert(0) += 1);
        let shared: u32 = names.values().filter(|&&n| n > 1).sum();
        assert!((1_500..2_500).contains(&shared), "{shared}");
        assert!(names.values().all(|&n| n <= 8));
        assert!(names.keys().all(|a| a.octets()[0] == 127 && a.octets()[1] >= 1 && a.octets()[3] != 0));
    }

    #[test]
    fn page_counts_are_skewed_around_the_mean() {
        let hosts = Hosts::new(1, 10_000, 50);
        let mean = hosts.total() / 10_000;
        assert!((46..54).contains(&mean), "{mean}");
        assert!((0..10_000).all(|h| (1..=300).contains(&hosts.pages(h))));
        assert!((0..10_000).any(|h| hosts.pages(h) > 200) && (0..10_000).any(|h| hosts.pages(h) < 10));
    }
}
