//! Four streams of names, as indexes into a table.
//!
//! zipf: popularity alone. crawl: a polite crawl, which cycles through the registered domains of a window and
//! takes one URL of each, so that a name recurs after a whole cycle, which defeats LRU. broad: every host is
//! new and looked up twice, for robots.txt and for a page. mixture: all three, interleaved at random.

use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;

use lycosa_names::{Families, HostName};
use lycosa_url::registered_domain;

use crate::world::{self, mix, unit};

/// Lookups a second of simulated time.
pub(crate) const RATE: u64 = 500;

/// The address families looked up.
pub(crate) const NAMES: Families = Families::V4;

/// The exponent of the Zipf stream.
const ZIPF: f64 = 0.9;

/// Mean number of URLs per host: connections per host in a crawl of 6.3 billion pages (IRLbot, Lee et al.
/// 2008).
const URLS: f64 = 65.0;

/// Makes a stream of this many lookups.
pub(crate) type Make = fn(&Names, usize) -> Vec<u32>;

/// The streams by name.
pub(crate) const ALL: [(&str, Make); 4] =
    [("zipf", zipf), ("crawl", crawl), ("broad", broad), ("mixture", mixture)];

/// Number of registered domains in the polite crawl's window, for two hundred cycles.
pub(crate) fn window(lookups: usize) -> usize {
    (lookups / 200).max(1)
}

/// Lookups between a new host's robots.txt and its page: half a cycle of the polite crawl.
fn apart(lookups: usize) -> usize {
    (window(lookups) / 2).max(1)
}

/// All names, with a separate part for each kind of stream.
pub(crate) struct Names {
    all: Vec<Box<str>>,
    /// What they resolve to.
    addresses: Vec<Option<Ipv4Addr>>,
    /// Number of names read from the file.
    pub(crate) real: usize,
    /// Number of names of the Zipf stream, which come first, and of the crawl, which follow.
    parts: [usize; 2],
}

impl Names {
    /// Reads names and generates more of the same kind.
    pub(crate) fn new(lookups: usize, file: Option<&str>) -> Self {
        let mut read: Vec<String> = match file {
            Some(file) => {
                std::fs::read_to_string(file).expect("a readable file").lines().map(String::from).collect()
            }
            None => (0..10_000).map(|number| format!("www.site-{number}.example")).collect(),
        };
        read.retain(|name| HostName::new(name).is_ok());
        read.sort_by_cached_key(|name| name.bytes().fold(1, |hash, byte| mix(hash ^ u64::from(byte))));
        let parts = [lookups / 2, lookups / 8];
        let all: Vec<Box<str>> =
            (0..lookups / 2 + lookups / 8 + lookups).map(|number| another(&read, number)).collect();
        let addresses = all.iter().map(|name| world::address(name)).collect();
        Names { all, addresses, real: if file.is_some() { read.len() } else { 0 }, parts }
    }

    /// What a name resolves to.
    pub(crate) fn address(&self, id: u32) -> Option<Ipv4Addr> {
        self.addresses[id as usize]
    }

    /// A name.
    pub(crate) fn get(&self, id: u32) -> &str {
        &self.all[id as usize]
    }
}

/// A name from the file, or a variant in another registered domain: `www.foo.co.uk` becomes
/// `www.foo-7.co.uk`.
fn another(read: &[String], number: usize) -> Box<str> {
    let (name, turn) = (&read[number % read.len()], number / read.len());
    if turn == 0 {
        return name.as_str().into();
    }
    let domain = registered_domain(name);
    let (label, suffix) = domain.split_once('.').unwrap_or((domain, "example"));
    let made = format!("{}{label}-{turn}.{suffix}", &name[..name.len() - domain.len()]);
    if HostName::new(&made).is_ok() { made.into() } else { format!("long-{number}.example").into() }
}

/// Names by popularity.
fn zipf(names: &Names, lookups: usize) -> Vec<u32> {
    // The continuous distribution with the same exponent, truncated to integers.
    let most = (names.parts[0] as f64).powf(1.0 - ZIPF);
    let rank = |number: usize| (unit(mix(number as u64 + 1)) * (most - 1.0) + 1.0).powf(1.0 / (1.0 - ZIPF));
    (0..lookups).map(|number| (rank(number) as u32).saturating_sub(1)).collect()
}

/// The cycles of a polite crawl.
pub(crate) fn crawl(names: &Names, lookups: usize) -> Vec<u32> {
    let mut domains: HashMap<&str, Vec<u32>> = HashMap::new();
    let mut order = Vec::new();
    for id in names.parts[0]..names.parts[0] + names.parts[1] {
        let domain = registered_domain(&names.all[id]);
        let hosts = domains.entry(domain).or_default();
        if hosts.is_empty() {
            order.push(domain);
        }
        hosts.push(id as u32);
    }
    // Each host with its URLs, Pareto distributed; the hosts of a domain take turns.
    let urls =
        |id: u32| ((URLS / 3.0) * (1.0 - unit(mix(u64::from(id)))).powf(-1.0 / 1.5)).min(10_000.0) as u32;
    let mut coming =
        order.iter().cycle().map(|domain| domains[domain].iter().map(|&id| (id, urls(id))).collect());
    let mut window: VecDeque<VecDeque<(u32, u32)>> = coming.by_ref().take(window(lookups)).collect();
    let mut stream = Vec::with_capacity(lookups);
    while stream.len() < lookups {
        let mut domain = window.pop_front().expect("a window is never empty");
        if let Some((id, left)) = domain.pop_front() {
            stream.push(id);
            if left > 1 {
                domain.push_back((id, left - 1));
            }
        }
        window.push_back(if domain.is_empty() { coming.next().expect("an endless crawl") } else { domain });
    }
    stream
}

/// New hosts, each looked up twice.
fn broad(names: &Names, lookups: usize) -> Vec<u32> {
    let first = (names.parts[0] + names.parts[1]) as u32;
    let (mut stream, mut waiting, mut new) = (Vec::with_capacity(lookups), VecDeque::new(), first);
    while stream.len() < lookups {
        match waiting.front() {
            Some(&(due, id)) if due <= stream.len() => {
                waiting.pop_front();
                stream.push(id);
            }
            _ => {
                waiting.push_back((stream.len() + apart(lookups), new));
                stream.push(new);
                new += 1;
            }
        }
    }
    stream
}

/// All three streams, interleaved.
fn mixture(names: &Names, lookups: usize) -> Vec<u32> {
    let parts = [zipf(names, lookups), crawl(names, lookups), broad(names, lookups)];
    let mut places = [0; 3];
    (0..lookups)
        .map(|number| {
            let part = (mix(number as u64) % 3) as usize;
            places[part] += 1;
            parts[part][places[part] - 1]
        })
        .collect()
}
