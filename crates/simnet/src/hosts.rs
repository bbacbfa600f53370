//! The hosts: unique names under several public suffixes, their addresses and numbers of URLs.
//!
//! These are the only large tables of the world: about 80 bytes per host, nothing per page.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use crate::model::Addresses;
use crate::random::Rng;
use crate::text::plain_word;

/// Public suffixes with their shares per thousand.
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

/// Subdomains of sites.
const SUBDOMAINS: &[&str] = &["blog", "news", "shop", "docs", "forum", "static"];

/// Maximum of URLs per host, as a multiple of the mean: the largest host determines the duration of a polite crawl.
const LARGEST: f64 = 6.0;

/// Meaning of an existing name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// A host.
    Host(u32),
    /// An empty non-terminal: no host, but hosts are below it, so it exists without an address (RFC 8020).
    Parent,
}

/// All hosts of a world.
pub(crate) struct Hosts {
    /// Concatenated host names.
    names: String,
    /// End of each name.
    ends: Vec<u32>,
    /// Each host's address.
    addresses: Vec<u32>,
    /// Number of URLs of all earlier hosts, by host; one entry more than hosts.
    first: Vec<u64>,
    /// Every name and every parent of a name, in lower case.
    index: HashMap<Box<str>, Name>,
    /// Whether there are names below each host's.
    parents: Vec<bool>,
}

impl Hosts {
    /// Draws `hosts` hosts with a mean of `pages` URLs.
    pub(crate) fn new(seed: u64, hosts: u32, pages: u32, model: &Addresses) -> Self {
        let mut all = Self {
            names: String::new(),
            ends: Vec::with_capacity(hosts as usize),
            addresses: addresses(seed, hosts, model),
            first: Vec::with_capacity(hosts as usize + 1),
            index: HashMap::with_capacity(hosts as usize * 2),
            parents: vec![false; hosts as usize],
        };
        let mut rng = Rng::new(seed, 2, 0, 0);
        let mut domain = String::new();
        let mut total = 0;
        for host in 0..hosts {
            let name = loop {
                // A quarter of the hosts are further subdomains of the previous domain.
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
                if let Name::Host(parent) = *all.index.entry(parent.into()).or_insert(Name::Parent) {
                    all.parents[parent as usize] = true;
                }
            }
            all.names.push_str(&name);
            all.ends.push(all.names.len() as u32);
            let before = all.index.insert(name.into(), Name::Host(host));
            all.parents[host as usize] = before.is_some();
            all.first.push(total);
            let mean = f64::from(pages);
            total += rng.log_normal(mean, 0.7).clamp(1.0, mean * LARGEST).round() as u64;
        }
        all.first.push(total);
        all
    }

    /// The host's name. Names in wildcard zones are in no table.
    pub(crate) fn name(&self, host: u32) -> &str {
        let i = host as usize;
        let Some(&end) = self.ends.get(i) else { return "(in a wildcard zone)" };
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.names[start..end as usize]
    }

    /// Whether there are names below the host's.
    pub(crate) fn is_parent(&self, host: u32) -> bool {
        self.parents[host as usize]
    }

    /// Finds a lower-case name.
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

    /// Number of URLs of all earlier hosts: the index of the host's first page in a table of all pages.
    pub(crate) fn first(&self, host: u32) -> u64 {
        self.first[host as usize]
    }

    /// Number of URLs of all hosts.
    pub(crate) fn total(&self) -> u64 {
        self.first.last().copied().unwrap_or(0)
    }
}

/// Draws a domain such as `silver-river.co.uk`; numbers are frequent enough for a million unique domains.
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

/// The n-th address: from 127.1.0.1 upwards, without final 0 and 255. Consecutive addresses are in different networks, as those of
/// unrelated sites are.
fn nth_address(n: u32) -> u32 {
    0x7f01_0001 + ((n % 254) << 16) + ((n / 254 % 256) << 8) + n / (254 * 256)
}

/// Number of names per address, by the model's shares of names, rounded to whole names.
pub(crate) fn groups(seed: u64, hosts: u32, model: &Addresses) -> Vec<u32> {
    let mut rng = Rng::new(seed, 3, 0, 0);
    let mut sizes = Vec::new();
    let (mut sum, mut given) = (0.0, 0);
    for group in &model.groups {
        sum += group.share;
        let until = ((sum * f64::from(hosts)).round() as u32).min(hosts);
        while given < until {
            let left = until - given;
            let drawn = group.least + rng.zipf(group.most - group.least + 1);
            let size = match sizes.last_mut() {
                // Too few names are left for an address of this group: they join the last.
                Some(last) if left < group.least && *last >= group.least => {
                    *last += left;
                    break;
                }
                _ => drawn.min(left),
            };
            sizes.push(size);
            given += size;
        }
        given = until;
    }
    // The shares sum to 1, but rounding may leave names without an address.
    sizes.extend(std::iter::repeat_n(1, (hosts - given) as usize));
    sizes
}

/// Each host's address.
fn addresses(seed: u64, hosts: u32, model: &Addresses) -> Vec<u32> {
    let sizes = groups(seed, hosts, model);
    let mut all = Vec::with_capacity(hosts as usize);
    for (n, &size) in sizes.iter().enumerate() {
        all.extend(std::iter::repeat_n(nth_address(n as u32), size as usize));
    }
    // Shuffled, since hosts with adjacent numbers are similarly popular, but names that share an address need not be.
    let mut rng = Rng::new(seed, 4, 0, 0);
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
        let hosts = Hosts::new(1, 10_000, 20, &Addresses::default());
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
        let hosts = Hosts::new(1, 10_000, 20, &Addresses::default());
        let mut names = HashMap::new();
        (0..10_000).for_each(|h| *names.entry(hosts.address(h)).or_insert(0) += 1);
        let shared: u32 = names.values().filter(|&&n| n > 1).sum();
        assert_eq!(shared, 2_000);
        assert!(names.values().all(|&n| n <= 8));
        assert!(names.keys().all(|a| a.octets()[0] == 127 && a.octets()[1] >= 1 && a.octets()[3] != 0));
    }

    #[test]
    fn page_counts_are_skewed_around_the_mean() {
        let hosts = Hosts::new(1, 10_000, 50, &Addresses::default());
        let mean = hosts.total() / 10_000;
        assert!((46..54).contains(&mean), "{mean}");
        assert!((0..10_000).all(|h| (1..=300).contains(&hosts.pages(h))));
        assert!((0..10_000).any(|h| hosts.pages(h) > 200) && (0..10_000).any(|h| hosts.pages(h) < 10));
    }
}
