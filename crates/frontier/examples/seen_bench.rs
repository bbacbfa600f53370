//! One contestant of `python -m benchmarks seen`, for those written in Rust: adds keys that are new, adds them again,
//! deletes some, and prints what that cost as one JSON object.
//!
//! `seen_bench CONTESTANT COUNT [KNOWN [DIRECTORY [MEMORY]]]`: COUNT new keys, KNOWN of them again (default: all). A directory
//! and a memory budget (default: 1 GB) are for `lycosa-disk`. Keys are made outside the time that is measured: digests as evenly spread as MD5's, or URLs.

use std::path::PathBuf;

use fastbloom::BloomFilter;
use hashbrown::HashSet;
use lycosa_frontier::{Answer, Seen, SeenSettings};
use lycosa_url::Digest;

/// Keys below this number are deleted, one in ten.
const DELETE_BELOW: u64 = 10_000_000;
/// Keys that are added at once.
const BATCH: u64 = 10_000;
/// One key in so many is deleted.
const DELETED: usize = 10;
/// False positives of the Bloom filter: one URL in a thousand is never crawled.
const FALSE_POSITIVES: f64 = 0.001;
/// Suspected keys of which the set beyond memory is asked at once.
const SUSPECTS: usize = 1_000_000;

/// Keys of both kinds; only that is made which a contestant takes.
#[derive(Default)]
struct Batch {
    digests: Vec<Digest>,
    urls: Vec<String>,
}

/// A set that is measured.
trait Contestant {
    /// Whether it takes URLs; others take digests.
    const URLS: bool = false;
    /// Adds a batch; gives how many were new.
    fn add(&mut self, batch: Batch) -> u64;
    /// Deletes a batch; gives how many were there, or nothing if it cannot.
    fn delete(&mut self, batch: &Batch) -> Option<u64>;
    /// Decides what is undecided; gives how many of it were new.
    fn verify(&mut self) -> u64 {
        0
    }
}

/// The dedup tree, in memory or beyond it.
struct Lycosa(Seen);

impl Contestant for Lycosa {
    fn add(&mut self, batch: Batch) -> u64 {
        let answers = self.0.add(&batch.digests);
        let late = if self.0.suspected() > SUSPECTS { self.verify() } else { 0 };
        late + answers.iter().filter(|answer| **answer == Answer::New).count() as u64
    }

    fn delete(&mut self, batch: &Batch) -> Option<u64> {
        Some(batch.digests.iter().filter(|key| self.0.delete(key).is_ok_and(|deleted| deleted)).count() as u64)
    }

    fn verify(&mut self) -> u64 {
        self.0.verify().map_or(u64::MAX, |new| new.len() as u64)
    }
}

/// The plain hash table: URLs as they are.
#[derive(Default)]
struct Urls(HashSet<String>);

impl Contestant for Urls {
    const URLS: bool = true;

    fn add(&mut self, batch: Batch) -> u64 {
        let answers: Vec<bool> = batch.urls.into_iter().map(|url| self.0.insert(url)).collect();
        answers.iter().filter(|new| **new).count() as u64
    }

    fn delete(&mut self, batch: &Batch) -> Option<u64> {
        Some(batch.urls.iter().filter(|url| self.0.remove(url.as_str())).count() as u64)
    }
}

/// A hash table of digests.
#[derive(Default)]
struct Digests(HashSet<Digest>);

impl Contestant for Digests {
    fn add(&mut self, batch: Batch) -> u64 {
        let answers: Vec<bool> = batch.digests.iter().map(|key| self.0.insert(*key)).collect();
        answers.iter().filter(|new| **new).count() as u64
    }

    fn delete(&mut self, batch: &Batch) -> Option<u64> {
        Some(batch.digests.iter().filter(|key| self.0.remove(*key)).count() as u64)
    }
}

/// A Bloom filter that knows from the start how many keys will come.
struct Bloom(BloomFilter);

impl Contestant for Bloom {
    fn add(&mut self, batch: Batch) -> u64 {
        let answers: Vec<bool> = batch.digests.iter().map(|key| self.0.insert(key)).collect();
        answers.iter().filter(|known| !**known).count() as u64
    }

    fn delete(&mut self, _: &Batch) -> Option<u64> {
        None
    }
}

/// Spreads a number over all bits (splitmix64).
fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A digest.
fn digest(number: u64) -> Digest {
    (u128::from(mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))) << 64 | u128::from(mix(!number)))
        .to_le_bytes()
}

/// A URL of about sixty bytes; `benchmarks/peers/seen_peers.py` makes the same.
fn url(number: u64) -> String {
    let host = mix(number / 50) % 1_000_000;
    format!("https://www.site-{host}.example/articles/{}/item-{number}.html", number % 97)
}

/// Keys from a number on.
fn batch<C: Contestant>(numbers: std::ops::Range<u64>) -> Batch {
    if C::URLS {
        return Batch { urls: numbers.map(url).collect(), ..Batch::default() };
    }
    Batch { digests: numbers.map(digest).collect(), ..Batch::default() }
}

/// CPU time of this thread, in nanoseconds.
fn thread_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or_default()
}

/// CPU time of all threads, in nanoseconds.
fn process_time() -> f64 {
    let threads = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = threads.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    // In ticks of ten milliseconds: user and system time.
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() * 1e7
}

/// A size of this process, in bytes.
fn size(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}

/// Measures a contestant and prints what it cost.
fn run<C: Contestant>(make: impl FnOnce() -> C, count: u64, known: u64, delete_below: u64) {
    // The memory of a batch is not the contestant's; that of a filter allocated at once is.
    drop(std::hint::black_box(batch::<C>(0..BATCH)));
    let before = size("VmRSS");
    let mut contestant = make();
    let (mut wrong, mut costs, mut all) = (0, Vec::new(), Vec::new());
    let mut bytes = 0.0;
    for (keys, expected) in [(count, count), (known, 0)] {
        let (mut own, mut others, mut new) = (0.0, 0.0, 0);
        let whole = process_time();
        // Those that are known again come from the whole range.
        let step = count / keys.max(1) * BATCH;
        for from in (0..count).step_by(step as usize) {
            let start = thread_time();
            let keys = batch::<C>(from..from + BATCH.min(count - from));
            let made = thread_time();
            new += contestant.add(keys);
            own += thread_time() - made;
            others += made - start;
        }
        let start = thread_time();
        new += contestant.verify();
        own += thread_time() - start;
        wrong += expected.abs_diff(new);
        costs.push(own / keys as f64);
        all.push((process_time() - whole - others) / keys as f64);
        if expected > 0 {
            bytes = (size("VmRSS") - before) / count as f64;
        }
    }
    let (mut seconds, mut deletions) = (0.0, 0);
    for from in (0..count.min(delete_below)).step_by(BATCH as usize * DELETED) {
        let keys = batch::<C>(from..from + BATCH.min(count - from));
        let start = thread_time();
        let Some(deleted) = contestant.delete(&keys) else { break };
        seconds += thread_time() - start;
        deletions += keys.digests.len() + keys.urls.len();
        wrong += (keys.digests.len() + keys.urls.len()) as u64 - deleted;
        // Deleted keys are new again.
        wrong += deleted.abs_diff(contestant.add(keys) + contestant.verify());
    }
    let delete = if deletions > 0 { format!("{:.1}", seconds / deletions as f64) } else { "null".into() };
    println!(
        "{{\"new\": {:.1}, \"known\": {:.1}, \"delete\": {delete}, \"bytes\": {bytes:.3}, \"false\": {wrong}, \
         \"peak\": {}, \"all_threads\": {:.1}}}",
        costs[0],
        costs[1],
        size("VmHWM"),
        all[0],
    );
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let count = number(1).unwrap_or(1_000_000);
    let known = number(2).unwrap_or(count);
    match arguments.first().map(String::as_str) {
        Some("lycosa") => run(|| Lycosa(Seen::default()), count, known, DELETE_BELOW),
        Some("lycosa-disk") => {
            let directory =
                arguments.get(3).map(PathBuf::from).ok_or_else(|| std::io::Error::other("where?"))?;
            let memory = number(4).unwrap_or(1_000_000_000) as usize;
            let settings = SeenSettings { directory: Some(directory), memory, ..SeenSettings::default() };
            let seen = Seen::open(settings)?;
            // Each deletion reads a block from disk.
            run(|| Lycosa(seen), count, known, 10_000);
        }
        Some("urls") => run(Urls::default, count, known, DELETE_BELOW),
        Some("digests") => run(Digests::default, count, known, DELETE_BELOW),
        Some("bloom") => {
            let make = || BloomFilter::with_false_pos(FALSE_POSITIVES).expected_items(count as usize);
            run(|| Bloom(make()), count, known, DELETE_BELOW);
        }
        _ => {
            return Err(std::io::Error::other(
                "give lycosa, lycosa-disk, urls, digests or bloom, and a count",
            ));
        }
    }
    Ok(())
}
