//! The contestants: a way to ask, and a cache.

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::cache::{NameCache, Seconds};
use lycosa_names::{Families, HostName};
use lycosa_names_published::{AsyncLru, AsyncLruSettings};

use crate::asker::Rules;
use crate::no_cache::NoCache;

/// Start of simulations, in seconds since 1970.
pub(crate) const START: Seconds = 1_800_000_000;

/// The address families asked for.
pub(crate) const FAMILIES: Families = Families::V4;

/// Size of the send queue, as published.
const QUEUE: usize = 1_024;

/// Maximum number of names resolved ahead of their turn: the default of `names.ahead_names`.
const AHEAD: usize = 20_000;

/// How names are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Time-outs and retries.
    pub(crate) rules: Rules,
    /// Maximum number of submitted, unanswered names.
    pub(crate) handed: usize,
    /// Maximum number of those in flight.
    pub(crate) in_flight: usize,
}

/// One blocking question at a time.
const BLOCKING: Way = Way { rules: Rules::System, handed: 1, in_flight: 1 };

/// As many as the send queue takes.
const ASYNCHRONOUS: Way = Way { rules: Rules::Client, handed: QUEUE, in_flight: QUEUE };

/// The same, submitted ahead of their turn.
const SUBMITTED: Way = Way { handed: AHEAD, ..ASYNCHRONOUS };

/// Makes a cache at a start time, with this capacity unless the design was published with its own.
type Make = fn(usize, Seconds) -> Box<dyn NameCache>;

/// All contestants.
pub(crate) const ALL: [(&str, Way, Make); 5] = [
    ("plain", BLOCKING, |_, _| Box::new(NoCache)),
    ("cache", BLOCKING, |_, _| Box::new(AsyncLru::new(published()))),
    ("asynchronous", ASYNCHRONOUS, |_, _| Box::new(NoCache)),
    ("both", ASYNCHRONOUS, |_, _| Box::new(AsyncLru::new(published()))),
    ("ahead", SUBMITTED, |names, now| Box::new(compact(names, now))),
];

/// Variants of the second contestant, to find what limits it: its period, its capacity, both.
pub(crate) const CHANGED: [(&str, Way, Make); 3] = [
    ("cache, no period", BLOCKING, |_, _| {
        Box::new(AsyncLru::new(AsyncLruSettings { period: FOREVER, ..published() }))
    }),
    ("cache, space for all", BLOCKING, |names, _| Box::new(AsyncLru::new(spacious(names)))),
    ("cache, neither", BLOCKING, |names, _| {
        Box::new(AsyncLru::new(AsyncLruSettings { period: FOREVER, ..spacious(names) }))
    }),
];

/// Longer than any simulation.
const FOREVER: Seconds = 1 << 32;

/// The published parameters.
fn published() -> AsyncLruSettings {
    AsyncLruSettings::default()
}

/// The same for this many names, with the same number of names per bucket.
fn spacious(names: usize) -> AsyncLruSettings {
    let buckets = (names * published().buckets).div_ceil(published().capacity);
    AsyncLruSettings { capacity: names, buckets, ..published() }
}

/// The compact cache with defaults and this capacity.
fn compact(names: usize, now: Seconds) -> CompactCache {
    let settings = CompactSettings { capacity: names.max(1_000) as u64, ..CompactSettings::default() };
    CompactCache::in_memory(settings, now, None).expect("a capacity within its limits")
}

/// A name of the world, which is in normal form.
pub(crate) fn host(name: &str) -> HostName<'_> {
    HostName::new(name).expect("a normal form")
}
