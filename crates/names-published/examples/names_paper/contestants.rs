//! Who takes part: a way to ask, and a cache.

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::cache::{NameCache, Seconds};
use lycosa_names::{Families, HostName};
use lycosa_names_published::{AsyncLru, AsyncLruSettings};

use crate::asker::Rules;
use crate::no_cache::NoCache;

/// When simulations begin, in seconds since 1970.
pub(crate) const START: Seconds = 1_800_000_000;

/// What is asked for.
pub(crate) const FAMILIES: Families = Families::V4;

/// The send queue, as published.
const QUEUE: usize = 1_024;

/// Names that are asked for ahead of their turn at most: the default of `names.ahead_names`.
const AHEAD: usize = 20_000;

/// How names are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// By whose rules.
    pub(crate) rules: Rules,
    /// Names that are handed over at most and not answered.
    pub(crate) handed: usize,
    /// Of them those that are asked for at the same time.
    pub(crate) in_flight: usize,
}

/// One blocking question at a time.
const BLOCKING: Way = Way { rules: Rules::System, handed: 1, in_flight: 1 };

/// As many as the send queue takes.
const ASYNCHRONOUS: Way = Way { rules: Rules::Client, handed: QUEUE, in_flight: QUEUE };

/// The same, handed over ahead of their turn.
const SUBMITTED: Way = Way { handed: AHEAD, ..ASYNCHRONOUS };

/// Makes a cache at a time, with room for so many names if it was not published with a room of its own.
type Make = fn(usize, Seconds) -> Box<dyn NameCache>;

/// All.
pub(crate) const ALL: [(&str, Way, Make); 5] = [
    ("plain", BLOCKING, |_, _| Box::new(NoCache)),
    ("cache", BLOCKING, |_, _| Box::new(AsyncLru::new(published()))),
    ("asynchronous", ASYNCHRONOUS, |_, _| Box::new(NoCache)),
    ("both", ASYNCHRONOUS, |_, _| Box::new(AsyncLru::new(published()))),
    ("ahead", SUBMITTED, |names, now| Box::new(compact(names, now))),
];

/// What keeps the second from more: its period, its room, both.
pub(crate) const CHANGED: [(&str, Way, Make); 3] = [
    ("cache, no period", BLOCKING, |_, _| {
        Box::new(AsyncLru::new(AsyncLruSettings { period: FOREVER, ..published() }))
    }),
    ("cache, room for all", BLOCKING, |names, _| Box::new(AsyncLru::new(roomy(names)))),
    ("cache, neither", BLOCKING, |names, _| {
        Box::new(AsyncLru::new(AsyncLruSettings { period: FOREVER, ..roomy(names) }))
    }),
];

/// Longer than any simulation.
const FOREVER: Seconds = 1 << 32;

/// The published parameters.
fn published() -> AsyncLruSettings {
    AsyncLruSettings::default()
}

/// The same for as many names, with as many names to a bucket.
fn roomy(names: usize) -> AsyncLruSettings {
    let buckets = (names * published().buckets).div_ceil(published().capacity);
    AsyncLruSettings { capacity: names, buckets, ..published() }
}

/// The compact cache with its defaults and this room.
fn compact(names: usize, now: Seconds) -> CompactCache {
    let settings = CompactSettings { capacity: names.max(1_000) as u64, ..CompactSettings::default() };
    CompactCache::in_memory(settings, now, None).expect("a capacity within its limits")
}

/// A name of the world: they are normal forms.
pub(crate) fn host(name: &str) -> HostName<'_> {
    HostName::new(name).expect("a normal form")
}
