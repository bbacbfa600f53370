//! Measures hit rates of all caches on four streams of names, and what one shared cache saves: the program of
//! the `names_cache` benchmark.
//!
//!     names_cache_hits LOOKUPS [FILE]    FILE: host names, one per line; without it they are generated
//!
//! Prints one JSON object. Path of a lookup: `streams` yields a name, the cache is asked, and a miss is
//! resolved by `world`, a simulated DNS with a constant answer per name.

#![allow(clippy::panic, clippy::expect_used, reason = "a benchmark program reports errors by panicking")]

mod peers;
mod shared;
mod streams;
mod world;

use lycosa_names::HostName;
use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::cache::{NameCache, Seconds};
use lycosa_names_published::{
    AsyncLru, AsyncLruSettings, Optimiser, OptimiserSettings, Regions, RegionsSettings,
};

use crate::peers::{ExactLru, Sieve};
use crate::streams::{NAMES, Names, RATE};

/// Start of the simulation, in seconds since 1970.
const START: Seconds = 1_800_000_000;

/// Capacities as fractions of the polite crawl's window: what decides is whether all hosts of the window fit.
const CAPACITIES: [(usize, usize); 7] = [(1, 8), (1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1)];

/// Makes a contestant with this capacity.
type Make = fn(usize) -> Box<dyn NameCache>;

/// The contestants.
const CONTESTANTS: &[(&str, Make)] = &[
    ("compact", |names| {
        let settings = CompactSettings { capacity: names.max(1_000) as u64, ..CompactSettings::default() };
        Box::new(CompactCache::in_memory(settings, START, None).expect("a capacity within its limits"))
    }),
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
                let done = run(&mut *cache, &names, &stream_of_names);
                rows.push(format!(
                    "{{\"stream\": \"{stream}\", \"cache\": \"{contestant}\", \"capacity\": {capacity}, \
                     \"hit_rate\": {:.5}, \"refreshes\": {:.5}, \"wrong\": {}, \"memory\": {}, \"names\": {}}}",
                    done.hits as f64 / lookups as f64,
                    done.refreshes as f64 / lookups as f64,
                    done.wrong,
                    done.memory,
                    cache.count(),
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

/// Results of a stream.
#[derive(Default)]
struct Done {
    /// Lookups that the cache answered correctly.
    hits: u64,
    /// Lookups that the cache answered wrongly.
    wrong: u64,
    /// Refreshes that the cache requested.
    refreshes: u64,
    /// Peak memory of the cache.
    memory: usize,
}

/// Looks up each name of a stream.
fn run(cache: &mut dyn NameCache, names: &Names, stream: &[u32]) -> Done {
    let mut done = Done::default();
    for (number, &id) in stream.iter().enumerate() {
        let now = START + number as u64 / RATE;
        if (number as u64).is_multiple_of(RATE) {
            for (name, _) in cache.due(now, usize::MAX) {
                done.refreshes += 1;
                resolve(cache, &name, now);
            }
        }
        match cache.lookup(host(names.get(id)), NAMES, now) {
            Some(found) if world::is_right(&found.answer, names.address(id)) => done.hits += 1,
            Some(_) => done.wrong += 1,
            None => resolve(cache, names.get(id), now),
        }
        if number % (stream.len() / 16).max(1) == 0 {
            done.memory = done.memory.max(cache.memory());
        }
    }
    done.memory = done.memory.max(cache.memory());
    done
}

/// Resolves and inserts a name.
fn resolve(cache: &mut dyn NameCache, name: &str, now: Seconds) {
    cache.insert(host(name), NAMES, &world::resolution(name), now);
}

/// A name of the streams, which are in normal form.
fn host(name: &str) -> HostName<'_> {
    HostName::new(name).expect("a normal form")
}
