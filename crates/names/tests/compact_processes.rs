//! Processes that share a compact cache: several writers, and writers that are killed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings, State};
use lycosa_names::cache::{Addresses, Answer, Resolution};
use lycosa_names::{Families, HostName};

const NOW: u64 = 1_800_000_000;

/// So few that all processes collide in the same buckets all the time.
const NAMES: u32 = 300;

fn open(path: &Path) -> CompactCache {
    // Space for the address sets that killed writers referenced, until a process opens the file alone.
    let (small_sets, large_sets) = (Some(8_000), Some(8_000));
    let settings = CompactSettings {
        capacity: 1_000,
        negative_capacity: Some(0),
        small_sets,
        large_sets,
        ..CompactSettings::default()
    };
    CompactCache::open(path, settings, NOW).unwrap()
}

fn names() -> Vec<String> {
    (0..NAMES).map(|number| format!("n{number}.example.com")).collect()
}

/// Writes a name: all of its addresses begin with the name's number, so that another name's address, or a torn
/// one, is detected.
fn write(cache: &CompactCache, names: &[String], number: u32, turn: u32) -> bool {
    let name = HostName::new(&names[number as usize]).unwrap();
    let base = 0x0a00_0000 | number << 8;
    let v4 = |count| (0..count).map(|n| Ipv4Addr::from(base | (turn + n) & 0xff)).collect();
    let v6 =
        |count| (0..count).map(|n| Ipv6Addr::from(u128::from(base) << 96 | u128::from(turn + n))).collect();
    let (v4, v6) = match turn % 4 {
        0 | 1 => (v4(1), v6(0)),
        2 => (v4(3), v6(0)),
        _ => (v4(2), v6(3)),
    };
    let resolution = Resolution { answer: Answer::Addresses(Addresses { v4, v6 }), ttl: 3_600, took: 1 };
    cache.put(name, Families::Both, &resolution, NOW)
}

/// Reads all names; returns how many are known.
fn read(cache: &CompactCache, names: &[String]) -> u64 {
    let names: Vec<HostName<'_>> = names.iter().map(|name| HostName::new(name).unwrap()).collect();
    let mut known = 0;
    cache.get_many(&names, Families::Both, NOW, |number, record| {
        let Some(record) = record else { return };
        let base = 0x0a00_0000 | (number as u32) << 8;
        assert_eq!(record.state, State::Addresses);
        assert!(record.v4().len() > 0);
        assert!(record.v4().all(|address| u32::from(address) & !0xff == base), "{number}: {record:?}");
        assert!(
            record.v6().all(|address| (u128::from(address) >> 96) as u32 == base),
            "{number}: {record:?}"
        );
        known += 1;
    });
    known
}

/// The child process that other tests start and kill: writes until it is killed. On its own, it writes each
/// name once.
#[test]
fn writer() {
    let names = names();
    let Some(path) = std::env::var_os("LYCOSA_WRITER") else {
        let directory = tempfile::tempdir().unwrap();
        let cache = open(&directory.path().join("names"));
        assert!((0..NAMES).all(|number| write(&cache, &names, number, number)));
        assert_eq!(read(&cache, &names), NAMES.into());
        return;
    };
    let cache = open(Path::new(&path));
    let mut dice = u64::from(std::process::id());
    for turn in 0.. {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (dice >> 33) as u32 % NAMES;
        if dice >> 60 == 0 {
            cache.remove(HostName::new(&names[number as usize]).unwrap());
        } else {
            write(&cache, &names, number, turn);
        }
    }
}

/// Starts a writer.
fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer"])
        .env("LYCOSA_WRITER", path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn two_writing_processes_and_two_reading_threads_never_see_half_of_anything() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let mut writers = [start(&path), start(&path)];
    let (known, end) = (AtomicU64::new(0), Instant::now() + Duration::from_secs(2));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (cache, names) = (open(&path), names());
                while Instant::now() < end {
                    known.fetch_add(read(&cache, &names), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(writers.iter_mut().all(|writer| writer.try_wait().unwrap().is_none()), "both still write");
    for writer in &mut writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    assert!(known.into_inner() > 1_000);
    // References of address sets are those of the slots: those left after all names are removed were leaked by
    // killed writers.
    let cache = open(&path);
    for name in &names() {
        cache.remove(HostName::new(name).unwrap());
    }
    drop(cache);
    assert_eq!(open(&path).details().sets, [0, 0]);
}

#[test]
fn a_writer_that_is_killed_200_times_neither_blocks_nor_corrupts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let (cache, names) = (open(&path), names());
    let stop = AtomicBool::new(false);
    /// Stops the reader also if an assertion fails.
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                read(&cache, &names);
            }
        });
        for round in 0..200_u64 {
            let mut writer = start(&path);
            // The kill hits it while it starts, opens the file or, mostly, writes.
            thread::sleep(Duration::from_micros(round * 7_919 % 20_000));
            writer.kill().unwrap();
            writer.wait().unwrap();
            // Every bucket can be written at once; no live process owns one.
            for number in 0..NAMES {
                assert!(write(&cache, &names, number, round as u32), "{round}: {number} is blocked");
            }
            read(&cache, &names);
        }
    });
    let inherited = cache.details().inherited;
    println!("{inherited} buckets were taken over");
    assert!(inherited > 0, "nobody was killed in the midst of a write: the test shows nothing");
    assert_eq!(read(&cache, &names), NAMES.into());
    // The next process with exclusive use of the file recounts what the killed ones leaked.
    drop(cache);
    let cache = open(&path);
    assert_eq!((cache.count(), cache.details().used), (NAMES.into(), NAMES.into()));
}

#[test]
fn threads_of_one_process_may_share_a_cache() {
    let directory = tempfile::tempdir().unwrap();
    let cache = open(&directory.path().join("names"));
    let (names, refused) = (names(), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..3 {
            let (cache, names, refused) = (&cache, &names, &refused);
            scope.spawn(move || {
                for turn in 0..3_000_u32 {
                    match thread {
                        0 => assert!(read(cache, names) <= NAMES.into()),
                        _ => {
                            let taken = write(cache, names, turn * 7 % NAMES, turn);
                            refused.fetch_add(u64::from(!taken), Ordering::Relaxed);
                        }
                    }
                    if thread == 0 && turn > 300 {
                        return;
                    }
                }
            });
        }
    });
    // A bucket whose writer was interrupted is not waited for; that is counted.
    assert_eq!(cache.statistics().refused, refused.into_inner());
    let counted = (cache.count(), cache.details().used, cache.details().sets);
    assert_eq!(counted.0, read(&cache, &names));
    drop(cache);
    let cache = open(&directory.path().join("names"));
    assert_eq!((cache.count(), cache.details().used, cache.details().sets), counted);
}
