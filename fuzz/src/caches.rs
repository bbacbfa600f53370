//! Files of the cache of names: damaged ones, and ones that somebody made to harm.

use std::fs::{self, File};
use std::hash::Hasher as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::OnceLock;

use lycosa_names::cache::compact::{CompactCache, CompactSettings, KeyRange};
use lycosa_names::cache::{Addresses, Answer, Resolution, Trouble};
use lycosa_names::{Families, HostName};
use siphasher::sip::SipHasher13;

use crate::bounds::{FIXED_BYTES, directory, within};

/// When the caches of this file are opened.
const NOW: u64 = 1_800_000_000;

/// Names that caches are asked for.
const NAMES: usize = 40;

/// Invariant: a damaged cache of names is refused or used; used, it answers every question, and knows what it is told from then
/// on. The data are changes: four bytes where, one byte what; an odd length cuts the file there.
pub fn names_cache(data: &[u8]) {
    let mut damaged = whole().to_vec();
    for change in data.chunks_exact(5) {
        let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize % damaged.len();
        damaged[place] ^= change[4];
    }
    if let [low, high, _] = *data.chunks_exact(5).remainder() {
        damaged.truncate(usize::from(u16::from_le_bytes([low, high])));
    }
    let file = directory().join("names");
    fs::write(&file, &damaged).expect("a file");
    within(damaged.len(), FIXED_BYTES, || {
        if let Ok(cache) = CompactCache::open(&file, settings(), NOW) {
            use_all(&cache);
        }
    });
}

/// Invariant: any file with any head is refused or used as a cache, with the settings of its maker or of its user; used, it
/// answers every question, and knows what it is told from then on. The first byte says whether checksum and size in the head
/// are right, and how long the file is; ten numbers of the head follow, then the file from its ninth kilobyte on.
pub fn cache_file(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let (numbers, content) = rest.split_at(rest.len().min(40));
    let mut numbers = numbers
        .chunks_exact(4)
        .map(|four| four.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
    let mut number = || numbers.next().unwrap_or(1);
    let mut words: Vec<u64> = whole()[..128]
        .chunks_exact(8)
        .map(|eight| u64::from_ne_bytes(eight.try_into().expect("eight")))
        .collect();
    words[2] = number() & 1;
    words.iter_mut().skip(7).for_each(|word| *word = number());
    let [capacity, buckets, small, large, generations, filter, _, _, should] = words[7..] else { return };
    let parts = [(buckets, 128), (small, 32), (large, 96), (generations, filter.saturating_mul(8))];
    let needed = parts.iter().fold(8_192_u64, |sum, (count, bytes)| {
        sum.next_multiple_of(64).saturating_add(count.saturating_mul(*bytes)).min(1 << 60)
    });
    if first & 1 == 0 {
        words[15] = needed.next_multiple_of(4_096);
    }
    let mut checksum = SipHasher13::new();
    words.iter().for_each(|&word| checksum.write_u64(word));
    words.push(if first & 2 == 0 { checksum.finish() } else { should });
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.resize(8_192, 0);
    bytes.extend(content);
    let length = if first & 4 == 0 { words[15].min(1 << 18) } else { bytes.len() as u64 };
    bytes.truncate(length as usize);
    let file = directory().join("names");
    fs::write(&file, &bytes).expect("a file");
    // The zeros that follow are not written: most files have none but these.
    File::options().write(true).open(&file).and_then(|file| file.set_len(length)).expect("a longer file");
    within(length as usize, FIXED_BYTES, || {
        if let Ok(cache) = CompactCache::open_as_made(&file, NOW) {
            use_all(&cache);
        }
        // Where the file is empty, it is made as it is asked for: of a size that a test may have.
        let asked = CompactSettings { capacity: capacity.min(10_000), ..settings() };
        if let Ok(cache) = CompactCache::share(&file, asked, NOW) {
            use_all(&cache);
        }
    });
}

/// Settings of a small cache.
fn settings() -> CompactSettings {
    CompactSettings {
        capacity: 1_000,
        small_sets: Some(16),
        large_sets: Some(16),
        secret: Some([7; 16]),
        negative_capacity: Some(64),
        ..CompactSettings::default()
    }
}

/// One of the names.
fn name(number: usize) -> HostName<'static> {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    static READ: OnceLock<Vec<HostName<'static>>> = OnceLock::new();
    let texts = || (0..NAMES).map(|number| format!("n{number}.example{}.com", number % 4)).collect();
    let read = || TEXTS.get_or_init(texts).iter().map(|text| HostName::new(text).expect("a name")).collect();
    READ.get_or_init(read)[number]
}

/// Tells a cache an answer; gives it where it was taken.
fn put(cache: &CompactCache, number: usize) -> Option<Answer> {
    let v4 = (0..number % 3).map(|n| Ipv4Addr::from(0x0a00_0000 + n as u32)).collect();
    let v6 = (0..number % 5).map(|n| Ipv6Addr::from(1 + n as u128)).collect();
    let answer = match number % 8 {
        6 => Answer::NxDomain,
        7 => Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 },
        _ => Answer::Addresses(Addresses { v4, v6 }),
    };
    let resolution = Resolution { answer, ttl: 3_600, took: 1 };
    cache.put(name(number), Families::Both, &resolution, NOW).then_some(resolution.answer)
}

/// A whole file with all names.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let path: &Path = &directory().join("names");
        let cache = CompactCache::open(path, settings(), NOW).expect("a new file");
        (0..NAMES).for_each(|number| drop(put(&cache, number)));
        cache.put_cut(name(9), 900, NOW);
        drop(cache);
        fs::read(path).expect("the new file")
    })
}

/// Does with a cache all that can be done.
fn use_all(cache: &CompactCache) {
    for number in 0..NAMES {
        drop(cache.get(name(number), Families::Both, NOW).map(|record| record.found()));
    }
    cache.scan(&KeyRange::all(), NOW, |entry| drop(entry.record.found()));
    for number in 0..NAMES {
        if let Some(Answer::Addresses(told)) = put(cache, number) {
            let found = cache.get(name(number), Families::Both, NOW).map(|record| record.found().answer);
            let nothing = told == Addresses::default();
            assert!(nothing || found == Some(Answer::Addresses(told)), "{number}: {found:?}");
        }
    }
    cache.details();
    cache.count_by_tld(NOW);
    cache.remove(name(1));
    cache.get(name(2), Families::V4, NOW + 3_000_000);
    cache.forget_in(&KeyRange::all());
    assert_eq!(cache.count_in(&KeyRange::all(), NOW), 0);
}
