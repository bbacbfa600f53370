//! The hit rates of all caches on four streams of names, and what one shared cache saves: the `names_cache` benchmark's program.
//!
//!     names_cache_hits LOOKUPS [FILE]    FILE: host names, one a line; without it they are made up
//!
//! Prints one JSON object. The way of a lookup: `streams` says which name, the cache is asked, and what it does not know
//! is resolved by `world`, a simulated DNS that answers the same for a name each time.

#![allow(clippy::panic, clippy::expect_used, reason = "a program that nobody depends on tells by panicking")]

mod peers;
mod shared;
mod streams;
mod world;

use std::time::Instant;

use lycosa_names::HostName;
use lycosa_names::cache::{
    AsyncLru, AsyncLruSettings, NameCache, Optimiser, OptimiserSettings, Regions, RegionsSettings, Seconds,
};

use crate::peers::{ExactLru, Sieve};
use crate::streams::{NAMES, Names, RATE};

/// When the simulation begins, in seconds since 1970.
const START: Seconds = 1_800_000_000;

/// Capacities, in parts of the polite crawl's window: where room for all hosts of the window is what decides.
const CAPACITIES: [(usize, usize); 7] = [(1, 8), (1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1)];

/// A cache that takes part.
trait Contestant: NameCache {
    /// The names that it wants resolved again by itself.
    fn due(&mut self, now: Seconds) -> Vec<Box<str>> {
        let _ = now;
        Vec::new()
    }
}

impl Contestant for AsyncLru {}
impl Contestant for Regions {}
impl Contestant for ExactLru {}
impl Contestant for Sieve {}

impl Contestant for Optimiser {
    fn due(&mut self, now: Seconds) -> Vec<Box<str>> {
        Optimiser::due(self, now, usize::MAX).into_iter().map(|(name, _)| name).collect()
    }
}

/// Makes a contestant that has room for as many names.
type Make = fn(usize) -> Box<dyn Contestant>;

/// Who takes part.
const CONTESTANTS: &[(&str, Make)] = &[
    ("async-lru", |names| {
        let published = AsyncLruSettings::default();
        let buckets = (names * published.buckets).div_ceil(published.capacity);
        Box::new(AsyncLru::new(AsyncLruSettings { capacity: names, buckets, ..published }))
    }),
    ("regions", |names| {
        let (deeper, reverse) = (names / 4, names / 8);
        let hosts = names - deeper - reverse;
        Box::new(Regions::new(RegionsSettings { hosts, deeper, reverse, ..RegionsSettings::default() }))
    }),
    ("optimiser", |names| {
        Box::new(Optimiser::new(OptimiserSettings { capacity: names, ..OptimiserSettings::default() }))
    }),
    ("lru", |names| Box::new(ExactLru::new(names))),
    ("sieve", |names| Box::new(Sieve::new(names))),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let lookups: usize = arguments
        .next()
        .and_then(|number| number.parse().ok())
        .expect("usage: names_cache_hits LOOKUPS [FILE]");
    let names = Names::new(lookups, arguments.next().as_deref());
    let window = streams::window(lookups);
    let mut rows = Vec::new();
    for (stream, make_stream) in streams::ALL {
        let stream_of_names = make_stream(&names, lookups);
        for &(contestant, make) in CONTESTANTS {
            for (above, below) in CAPACITIES {
                let capacity = (window * above / below).max(16);
                let mut cache = make(capacity);
                let begin = Instant::now();
                let (refreshes, memory) = run(&mut *cache, &names, &stream_of_names);
                let seconds = begin.elapsed().as_secs_f64();
                let counts = cache.statistics();
                rows.push(format!(
                    "{{\"stream\": \"{stream}\", \"cache\": \"{contestant}\", \"capacity\": {capacity}, \
                     \"hit_rate\": {:.5}, \"questions\": {:.5}, \"memory\": {memory}, \"names\": {}, \"ns\": {:.0}}}",
                    counts.hits as f64 / stream_of_names.len() as f64,
                    (counts.misses + refreshes) as f64 / stream_of_names.len() as f64,
                    cache.count(),
                    seconds * 1e9 / stream_of_names.len() as f64,
                ));
            }
        }
    }
    println!(
        "{{\"lookups\": {lookups}, \"rate\": {RATE}, \"window\": {window}, \"real_names\": {}, \"hits\": [\n{}\n],\n\
         \"shared\": [\n{}\n]}}",
        names.real,
        rows.join(",\n"),
        shared::rows(&names, lookups).join(",\n"),
    );
}

/// Asks for each name of a stream; gives how many names the cache had resolved again, and the most memory that it had.
fn run(cache: &mut dyn Contestant, names: &Names, stream: &[u32]) -> (u64, usize) {
    let (mut refreshes, mut memory) = (0, 0);
    for (number, &id) in stream.iter().enumerate() {
        let now = START + number as u64 / RATE;
        if (number as u64).is_multiple_of(RATE) {
            for name in cache.due(now) {
                refreshes += 1;
                resolve(cache, &name, now);
            }
        }
        if cache.lookup(host(names.get(id)), NAMES, now).is_none() {
            resolve(cache, names.get(id), now);
        }
        if number % (stream.len() / 16).max(1) == 0 {
            memory = memory.max(cache.memory());
        }
    }
    (refreshes, memory.max(cache.memory()))
}

/// Has a name resolved.
fn resolve(cache: &mut dyn Contestant, name: &str, now: Seconds) {
    cache.insert(host(name), NAMES, &world::resolution(name), now);
}

/// A name of the streams: they hold normal forms only.
fn host(name: &str) -> HostName<'_> {
    HostName::new(name).expect("a normal form")
}
