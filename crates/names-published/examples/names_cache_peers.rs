//! Measures the memory and speed of the designs and of a third-party concurrent cache on the same names; run
//! by `python -m benchmarks names_cache`. Prints one JSON object.
//!
//! `CACHE COUNT` – inserts COUNT names and looks some up one by one; CACHE: `compact`, `async-lru`,
//! `regions`, `optimiser`, or `quick_cache`. A name comes as text, is normalized, and its address is read;
//! names are distinct and all are cached.
//!
//! `burst COUNT` – false-positive rates of the compact cache's negative filters, sized for COUNT names, when
//! COUNT names arrive within one second, and twice as many.
//!
//! `files COUNT DRAWS FOLDER` – writes files for contestants in Python: `names`, and `draws` of them at
//! random, each line a name and its address as a number; and `names.cache`, a compact cache that contains
//! them.

#![allow(clippy::panic, clippy::expect_used, reason = "a benchmark program reports errors by panicking")]

#[path = "../../names/examples/shared/made_names.rs"]
mod made_names;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use lycosa_names::cache::compact::{CompactCache, CompactSettings, Negative};
use lycosa_names::cache::{Addresses, Answer, NameCache, Resolution, Seconds};
use lycosa_names::{Families, HostName};
use lycosa_names_published::{
    AsyncLru, AsyncLruSettings, Optimiser, OptimiserSettings, Regions, RegionsSettings,
};
use made_names::{random, write_name};
use nix::sys::resource::{UsageWho, getrusage};

/// Time of all operations.
const NOW: Seconds = 1_800_000_000;

/// TTL in seconds: the maximum of the compact cache.
const TTL: u32 = 86_400;

/// Maximum number of lookups.
const LOOKUPS: u64 = 2_000_000;

/// Number of rounds; each name is looked up in one of them.
const ROUNDS: usize = 5;

/// A cache under test.
trait Contestant {
    /// Inserts the address of a name.
    fn put(&mut self, name: HostName<'_>, address: Ipv4Addr);

    /// The address of a name.
    fn get(&mut self, name: HostName<'_>) -> Option<Ipv4Addr>;

    /// Number of cached names.
    fn held(&self) -> u64;
}

/// The resolution with an address.
fn resolution(address: Ipv4Addr) -> Resolution {
    let addresses = Addresses { v4: vec![address], v6: Vec::new() };
    Resolution { answer: Answer::Addresses(addresses), ttl: TTL, took: 40 }
}

impl Contestant for CompactCache {
    fn put(&mut self, name: HostName<'_>, address: Ipv4Addr) {
        CompactCache::put(self, name, Families::V4, &resolution(address), NOW);
    }

    fn get(&mut self, name: HostName<'_>) -> Option<Ipv4Addr> {
        CompactCache::get(self, name, Families::V4, NOW).and_then(|record| record.v4().next())
    }

    fn held(&self) -> u64 {
        self.count()
    }
}

/// A design behind the common interface.
struct Design(Box<dyn NameCache>);

impl Contestant for Design {
    fn put(&mut self, name: HostName<'_>, address: Ipv4Addr) {
        self.0.insert(name, Families::V4, &resolution(address), NOW);
    }

    fn get(&mut self, name: HostName<'_>) -> Option<Ipv4Addr> {
        match self.0.lookup(name, Families::V4, NOW)?.answer {
            Answer::Addresses(addresses) => addresses.v4.first().copied(),
            _ => None,
        }
    }

    fn held(&self) -> u64 {
        self.0.count()
    }
}

/// The crate `quick_cache`: the name with its address and expiry second, which is checked here.
type QuickCache = quick_cache::sync::Cache<Box<str>, (Ipv4Addr, u32)>;

impl Contestant for QuickCache {
    fn put(&mut self, name: HostName<'_>, address: Ipv4Addr) {
        self.insert(name.as_str().into(), (address, NOW as u32 + TTL));
    }

    fn get(&mut self, name: HostName<'_>) -> Option<Ipv4Addr> {
        let (address, expires) = QuickCache::get(self, name.as_str())?;
        (NOW < Seconds::from(expires)).then_some(address)
    }

    fn held(&self) -> u64 {
        self.len() as u64
    }
}

/// Makes the named contestant with a capacity of `count` names.
fn make(cache: &str, count: usize) -> Box<dyn Contestant> {
    match cache {
        "compact" => Box::new(
            CompactCache::in_memory(compact(count), NOW, None).expect("a capacity that fits the memory"),
        ),
        "async-lru" => {
            let published = AsyncLruSettings::default();
            let buckets = (count * published.buckets).div_ceil(published.capacity);
            let settings = AsyncLruSettings { capacity: count, buckets, ..published };
            Box::new(Design(Box::new(AsyncLru::new(settings))))
        }
        "regions" => {
            // No name is slow, and each level could take all names.
            let settings =
                RegionsSettings { hosts: count, deeper: count, reverse: 8, ..RegionsSettings::default() };
            Box::new(Design(Box::new(Regions::new(settings))))
        }
        "optimiser" => {
            let settings = OptimiserSettings { capacity: count, ..OptimiserSettings::default() };
            Box::new(Design(Box::new(Optimiser::new(settings))))
        }
        // Its shards fill unevenly: with an eighth more capacity, none has to evict.
        "quick_cache" => Box::new(QuickCache::new(count + count / 8)),
        other => panic!("{other:?}: allowed are compact, async-lru, regions, optimiser, quick_cache"),
    }
}

/// A compact cache without the parts that are not used here.
fn compact(count: usize) -> CompactSettings {
    CompactSettings {
        capacity: count as u64,
        small_sets: Some(64),
        large_sets: Some(64),
        negative_capacity: Some(0),
        ..CompactSettings::default()
    }
}

/// The n-th name and its address, which is derived from the number.
fn entry<'t>(number: u64, text: &'t mut String) -> (HostName<'t>, Ipv4Addr) {
    write_name(number, text);
    (HostName::new(text).expect("a name"), Ipv4Addr::from(random(number ^ 0x5555) as u32))
}

/// The number of a random name.
fn draw(turn: u64, count: u64) -> u64 {
    random(turn ^ 0x77) % count
}

/// CPU time of this process in seconds.
fn cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process");
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1_024
}

/// Fills a cache and looks names up.
fn measure(cache: &str, count: u64) -> String {
    let mut text = String::new();
    // A small cache of the same kind first loads the program's own pages and tables.
    let mut small = make(cache, 1_000);
    let (name, address) = entry(0, &mut text);
    small.put(name, address);
    drop(small);
    let before = resident();
    let mut contestant = make(cache, count as usize);
    let begin = cpu();
    for number in 0..count {
        let (name, address) = entry(number, &mut text);
        contestant.put(name, address);
    }
    let filled = cpu() - begin;
    let bytes = resident().saturating_sub(before);
    let draws: Vec<(String, Ipv4Addr)> = (0..LOOKUPS.min(count))
        .map(|turn| {
            let mut text = String::new();
            let (_, address) = entry(draw(turn, count), &mut text);
            (text, address)
        })
        .collect();
    let (mut found, mut wrong, mut costs) = (0_u64, 0_u64, Vec::new());
    for round in draws.chunks(draws.len().div_ceil(ROUNDS)) {
        let begin = cpu();
        for (text, address) in round {
            let mut buffer = String::new();
            let name = HostName::normalize(text, &mut buffer).expect("a name");
            if let Some(told) = contestant.get(name) {
                found += 1;
                wrong += u64::from(told != *address);
            }
        }
        costs.push(format!("{:.2}", (cpu() - begin) * 1e9 / round.len() as f64));
    }
    let held = contestant.held();
    format!(
        "{{\"cache\": \"{cache}\", \"names\": {count}, \"held\": {held}, \"resident_bytes\": {bytes}, \"bytes_a_name\": {:.3}, \
         \"insertion_nanoseconds\": {:.1}, \"lookup_nanoseconds\": [{}], \"lookups\": {}, \"found\": {found}, \"wrong\": {wrong}}}",
        bytes as f64 / held as f64,
        filled * 1e9 / count as f64,
        costs.join(", "),
        draws.len(),
    )
}

/// Fills negative filters at once; `negative` of `names_cache_compact` fills them evenly over their lifetime.
fn burst(count: u64) -> String {
    let rates = [("clear_all", Negative::ClearAll), ("generations", Negative::Generations(4))].map(
        |(label, negative)| {
            let settings = CompactSettings {
                capacity: 1_000,
                negative,
                negative_capacity: Some(count),
                ..CompactSettings::default()
            };
            let cache =
                CompactCache::in_memory(settings, NOW, None).expect("a capacity that fits the memory");
            let mut text = String::new();
            let rates = [1, 2].map(|times| {
                for number in (times - 1) * count..times * count {
                    let nothing = Resolution { answer: Answer::NxDomain, ttl: 900, took: 40 };
                    cache.put(entry(number, &mut text).0, Families::V4, &nothing, NOW);
                }
                let others = 2 * count..3 * count;
                let wrong = others
                    .filter(|number| {
                        let (name, _) = entry(*number, &mut text);
                        CompactCache::get(&cache, name, Families::V4, NOW).is_some()
                    })
                    .count();
                format!("{:.3e}", wrong as f64 / count as f64)
            });
            format!("\"{label}\": [{}]", rates.join(", "))
        },
    );
    format!("{{\"names\": {count}, {}}}", rates.join(", "))
}

/// Writes the files of `files`, with the current time, for programs that pass none.
fn files(count: u64, draws: u64, folder: &Path) -> io::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let cache = CompactCache::open(&folder.join("names.cache"), compact(count as usize), now)
        .map_err(|error| io::Error::other(error.to_string()))?;
    let mut text = String::new();
    let mut names = BufWriter::new(File::create(folder.join("names"))?);
    for number in 0..count {
        let (name, address) = entry(number, &mut text);
        writeln!(names, "{} {}", name.as_str(), u32::from(address))?;
        cache.put(name, Families::V4, &resolution(address), now);
    }
    names.flush()?;
    let mut drawn = BufWriter::new(File::create(folder.join("draws"))?);
    for turn in 0..draws {
        let (name, address) = entry(draw(turn, count), &mut text);
        writeln!(drawn, "{} {}", name.as_str(), u32::from(address))?;
    }
    drawn.flush()?;
    Ok(format!("{{\"names\": {count}, \"held\": {}, \"bytes\": {}}}", cache.count(), cache.memory()))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse().expect("a number");
    let printed = match arguments.as_slice() {
        [files_, count, draws, folder] if files_ == "files" => {
            files(number(count), number(draws), Path::new(folder)).expect("files that can be written")
        }
        [burst_, count] if burst_ == "burst" => burst(number(count)),
        [cache, count] => measure(cache, number(count)),
        _ => panic!("usage: names_cache_peers CACHE COUNT, or burst COUNT, or files COUNT DRAWS FOLDER"),
    };
    println!("{printed}");
}
