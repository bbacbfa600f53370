//! The compact cache's file: shared, stored, refused with a remedy, and never too large for its disk.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs::{self, OpenOptions};
use std::hash::Hasher as _;
use std::net::Ipv4Addr;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lycosa_names::cache::compact::{
    CompactCache, CompactError, CompactSettings, KeyRange, PlaceOf, Refusal, State, Verify,
};
use lycosa_names::cache::{Addresses, Answer, Resolution};
use lycosa_names::{Families, HostName};
use siphasher::sip::SipHasher13;

const NOW: u64 = 1_800_000_000;

fn settings() -> CompactSettings {
    CompactSettings { capacity: 1_000, ..CompactSettings::default() }
}

fn open(path: &Path) -> CompactCache {
    CompactCache::open(path, settings(), NOW).unwrap()
}

fn put(cache: &CompactCache, name: &str, addresses: &[u8]) {
    let v4 = addresses.iter().map(|&last| Ipv4Addr::new(192, 0, 2, last)).collect();
    let answer = Answer::Addresses(Addresses { v4, v6: Vec::new() });
    assert!(cache.put(
        HostName::new(name).unwrap(),
        Families::V4,
        &Resolution { answer, ttl: 3_600, took: 1 },
        NOW
    ));
}

fn get(cache: &CompactCache, name: &str) -> Vec<u8> {
    let record = cache.get(HostName::new(name).unwrap(), Families::V4, NOW);
    record.map(|record| record.v4().map(|address| address.octets()[3]).collect()).unwrap_or_default()
}

#[test]
fn a_file_is_shared_with_who_would_have_made_it_in_another_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let server = CompactSettings { negative_capacity: Some(0), negative_ttl: 900, ..settings() };
    let server = CompactCache::share(&path, server, NOW).unwrap();
    put(&server, "a.example.com", &[1]);
    assert!(CompactCache::open(&path, settings(), NOW).is_err());
    let crawl = CompactCache::share(&path, settings(), NOW).unwrap();
    assert_eq!(get(&crawl, "a.example.com"), [1]);
    let larger = CompactSettings { capacity: 5_000, ..settings() };
    assert!(CompactCache::share(&path, larger, NOW).is_err(), "names that it has no space for");
}

#[test]
fn who_wants_no_filter_neither_reads_nor_writes_that_of_a_shared_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let crawl = open(&path);
    let own = CompactSettings { negative_capacity: Some(0), ..settings() };
    let server = CompactCache::share(&path, own, NOW).unwrap();
    let name = |text| HostName::new(text).unwrap();
    let gone = |answer, ttl| Resolution { answer, ttl, took: 1 };
    crawl.put(name("a.example.com"), Families::V4, &gone(Answer::NxDomain, 60), NOW);
    let state = |cache: &CompactCache, text, after| {
        cache.get(name(text), Families::V4, NOW + after).map(|record| record.state)
    };
    assert_eq!(state(&crawl, "a.example.com", 0), Some(State::NxDomain));
    assert_eq!(state(&server, "a.example.com", 0), None);
    for (text, answer, told) in [
        ("b.example.com", Answer::NxDomain, State::NxDomain),
        ("c.example.com", Answer::NoData, State::NoData),
    ] {
        server.put(name(text), Families::V4, &gone(answer, 60), NOW);
        for cache in [&server, &crawl] {
            assert_eq!((state(cache, text, 59), state(cache, text, 60)), (Some(told), None), "{text}");
        }
    }
}

#[test]
fn a_file_is_rebuilt_with_a_filter_only_if_it_had_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let has_filter = || CompactCache::view(&path).unwrap().details().filter_bytes > 0;
    let own = CompactSettings { negative_capacity: Some(0), ..settings() };
    drop(CompactCache::share(&path, own, NOW).unwrap());
    drop(CompactCache::rebuild(&path, settings(), NOW).unwrap());
    assert!(!has_filter());
    let wanted = CompactSettings { negative_capacity: Some(200), ..settings() };
    drop(CompactCache::rebuild(&path, wanted, NOW).unwrap());
    assert!(has_filter(), "who asks for one gets it");
    drop(CompactCache::rebuild(&path, settings(), NOW).unwrap());
    assert!(has_filter());
    fs::write(&path, "damaged").unwrap();
    drop(CompactCache::rebuild(&path, settings(), NOW).unwrap());
    assert!(has_filter(), "as new ones have");
}

#[test]
fn all_who_open_a_file_share_what_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let (one, two) = (open(&path), open(&path));
    put(&one, "a.example.com", &[1]);
    put(&two, "b.example.com", &[2, 3]);
    assert_eq!((get(&two, "a.example.com"), get(&one, "b.example.com")), (vec![1], vec![2, 3]));
    assert_eq!((one.count(), two.count()), (2, 2));
    assert!(two.remove(HostName::new("a.example.com").unwrap()));
    assert_eq!((get(&one, "a.example.com"), one.count()), (vec![], 1));
    assert_eq!(
        (one.statistics().insertions, two.statistics().insertions),
        (1, 1),
        "each process counts for itself"
    );
}

#[test]
fn what_is_known_outlives_a_process_also_where_it_has_expired_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let cache = open(&path);
    put(&cache, "a.example.com", &[1, 2]);
    cache.put_cut(HostName::new("gone.example.com").unwrap(), 900, NOW);
    drop(cache);
    let cache = open(&path);
    assert_eq!((get(&cache, "a.example.com"), cache.count(), cache.details().used), (vec![1, 2], 1, 2));
    cache.flush().unwrap();
    drop(cache);
    // Newer data may be unavailable: a DNS server serves it stale for as long as its settings allow.
    let later = CompactCache::open(&path, settings(), NOW + 4_000).unwrap();
    let name = HostName::new("a.example.com").unwrap();
    assert_eq!(later.get(name, Families::V4, NOW + 4_000), None);
    assert!(later.get_expired(name, Families::V4, NOW + 4_000, 3_600).is_some());
    drop(later);
    let much_later = CompactCache::open(&path, settings(), NOW + 12 * 86_400).unwrap();
    assert_eq!((much_later.count(), much_later.details().used, much_later.details().sets), (0, 0, [0, 0]));
}

/// Opens a file that must be refused; the message has a remedy.
fn refused(path: &Path, settings: CompactSettings) -> Refusal {
    let error = CompactCache::open(path, settings, NOW).unwrap_err();
    let told = error.to_string();
    assert!(told.contains(&path.display().to_string()), "{told}");
    assert!(told.contains("lycosa cache rebuild") || told.contains("choose another path"), "{told}");
    match error {
        CompactError::Refused { refusal, .. } => refusal,
        other => panic!("{other}"),
    }
}

/// Changes a word of a file; returns the old value.
fn poke(path: &Path, word: u64, change: impl Fn(u64) -> u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, word * 8).unwrap();
    file.write_all_at(&change(u64::from_ne_bytes(bytes)).to_ne_bytes(), word * 8).unwrap();
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let made = CompactSettings { secret: Some([7; 16]), ..settings() };
    drop(CompactCache::open(&path, made.clone(), NOW).unwrap());
    assert_eq!(refused(&path, CompactSettings { secret: Some([8; 16]), ..settings() }), Refusal::Secret);
    let setting = |settings| match refused(&path, settings) {
        Refusal::Setting { name, found, given } => (name, found, given),
        other => panic!("{other}"),
    };
    let (name, found, given) = setting(CompactSettings { capacity: 2_000, ..settings() });
    assert_eq!((name, found.as_str(), given.as_str()), ("capacity", "1000", "2000"));
    assert_eq!(setting(CompactSettings { verify: Verify::Published, ..settings() }).0, "verify");

    let whole = fs::read(&path).unwrap();
    let again = |path: &Path| fs::write(path, &whole).unwrap();
    poke(&path, 0, u64::swap_bytes);
    assert_eq!(refused(&path, made.clone()), Refusal::ByteOrder);
    again(&path);
    poke(&path, 1, |version| version + 1);
    assert_eq!(refused(&path, made.clone()), Refusal::Version { found: 4, known: 3 });
    again(&path);
    for word in [3, 5, 6, 8, 12, 15, 16] {
        poke(&path, word, |word| word ^ 4);
        assert_eq!(refused(&path, made.clone()), Refusal::Damaged, "{word}");
        again(&path);
    }
    for bytes in [whole.len() as u64 - 1, 8_192, 200] {
        OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        assert_eq!(
            refused(&path, made.clone()),
            Refusal::Truncated { is: bytes, should: whole.len() as u64 }
        );
    }
    fs::write(&path, "something else that somebody may need").unwrap();
    assert_eq!(refused(&path, made.clone()), Refusal::NoCache);
    assert_eq!(fs::read(&path).unwrap(), b"something else that somebody may need");
    drop(CompactCache::rebuild(&path, made.clone(), NOW).unwrap());
    assert!(CompactCache::open(&path, made, NOW).is_ok());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn who_was_killed_while_making_a_file_is_followed_by_one_who_makes_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    for begun in [&b""[..], b"LycosaNE", &[b"LycosaNE".as_slice(), &[0; 100_000]].concat()] {
        fs::write(&path, begun).unwrap();
        put(&open(&path), "a.example.com", &[1]);
        fs::remove_file(&path).unwrap();
    }
}

/// Simulates a power failure while a cache is open: its file is as it is now, and the machine is restarted.
fn lose_power(path: &Path, cache: CompactCache) {
    let left = fs::read(path).unwrap();
    drop(cache);
    fs::write(path, left).unwrap();
    start_again(path);
}

/// Simulates a restart of the machine.
fn start_again(path: &Path) {
    poke(path, 25, |boot| boot ^ 2);
}

#[test]
fn after_a_loss_of_power_nothing_doubtful_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let cache = open(&path);
    put(&cache, "a.example.com", &[1]);
    lose_power(&path, cache);
    let cache = open(&path);
    assert_eq!(get(&cache, "a.example.com"), Vec::<u8>::new());
    put(&cache, "a.example.com", &[1]);
    cache.flush().unwrap();
    lose_power(&path, cache);
    let cache = open(&path);
    assert_eq!(get(&cache, "a.example.com"), [1], "all was on the disk");
    cache.flush().unwrap();
    put(&cache, "a.example.com", &[1]);
    lose_power(&path, cache);
    let cache = open(&path);
    assert_eq!(get(&cache, "a.example.com"), Vec::<u8>::new(), "it was changed since");
    put(&cache, "a.example.com", &[1]);
    drop(cache);
    start_again(&path);
    assert_eq!(get(&open(&path), "a.example.com"), [1], "it was closed in order");
}

#[test]
fn a_capacity_beyond_disk_or_memory_is_told_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let vast = CompactSettings { capacity: 10_000_000_000, ..settings() };
    let error = CompactCache::open(&path, vast, NOW).unwrap_err();
    let CompactError::NoRoom { needed, available, .. } = &error else { panic!("{error}") };
    assert!(*needed > 240_000_000_000 && available < needed);
    assert!(
        error.to_string().contains(&needed.to_string()) && error.to_string().contains(&available.to_string())
    );
    assert!(!path.exists());
}

#[test]
fn on_a_full_disk_the_cache_goes_on_in_memory_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    // Files of this process are limited to 4 KB, which has the effect of a full disk while the file is created.
    let text = "a_full_disk_child";
    let output = std::process::Command::new("bash")
        .args(["-c", r#"trap "" XFSZ; ulimit -f 4; exec "$0" --exact "$1" --nocapture"#])
        .arg(std::env::current_exe().unwrap())
        .arg(text)
        .env("LYCOSA_FULL_DISK", &path)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("in memory: ") && told.contains(path.to_str().unwrap()), "{told}");
    assert!(!path.exists());
}

/// The process of the test above, which may write 4 KB; on its own, it has a disk with free space.
#[test]
fn a_full_disk_child() {
    let directory = tempfile::tempdir().unwrap();
    let given = std::env::var_os("LYCOSA_FULL_DISK");
    let path = given.clone().map_or(directory.path().join("names"), Into::into);
    let cache = open(&path);
    match cache.place() {
        PlaceOf::Memory(Some(why)) => println!("in memory: {why}"),
        place => assert_eq!((place, given), (&PlaceOf::File(path), None)),
    }
    put(&cache, "a.example.com", &[1]);
    assert_eq!(get(&cache, "a.example.com"), [1]);
}

#[test]
fn an_operator_opens_a_file_as_it_was_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    put(
        &CompactCache::open(&path, CompactSettings { capacity: 5_000, ..settings() }, NOW).unwrap(),
        "a.example.com",
        &[1],
    );
    let cache = CompactCache::open_as_made(&path, NOW).unwrap();
    assert_eq!(
        (cache.settings().capacity, cache.count_in(&KeyRange::under("com").unwrap(), NOW)),
        (5_000, 1)
    );
    assert!(matches!(
        CompactCache::open_as_made(&directory.path().join("none"), NOW),
        Err(CompactError::Io { .. })
    ));
}

/// Makes a file outdated: with another version, Public Suffix List or table of top-level domains.
fn make_outdated(path: &Path, word: u64, change: impl Fn(u64) -> u64) {
    poke(path, word, change);
    let start = fs::read(path).unwrap();
    let mut hasher = SipHasher13::new();
    for word in start.chunks_exact(8).take(16) {
        hasher.write_u64(u64::from_ne_bytes(word.try_into().unwrap()));
    }
    poke(path, 16, |_| hasher.finish());
}

/// Word indexes in the header.
const VERSION: u64 = 1;
const SUFFIXES: u64 = 5;
const TOPS: u64 = 6;

/// The lookups of these tests: a name with addresses, and one that does not resolve.
fn known(cache: &CompactCache) -> (Vec<u8>, bool) {
    let dead = cache.get(HostName::new("dead.example.com").unwrap(), Families::V4, NOW);
    (get(cache, "a.example.com"), dead.is_some())
}

/// A file with both of these names, closed.
fn file_with_names(path: &Path, settings: CompactSettings) {
    let cache = CompactCache::open(path, settings, NOW).unwrap();
    put(&cache, "a.example.com", &[1, 2]);
    let answer = Resolution { answer: Answer::NxDomain, ttl: 900, took: 1 };
    cache.put(HostName::new("dead.example.com").unwrap(), Families::V4, &answer, NOW);
}

#[test]
fn a_file_of_before_is_brought_up_to_date_by_who_opens_it_and_keeps_what_is_still_right() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let published = CompactSettings { verify: Verify::Published, ..settings() };
    let all = (vec![1, 2], true);
    for (settings, word, version, left, told) in [
        (settings(), SUFFIXES, None, all, "its names are kept"),
        (published, SUFFIXES, None, (vec![], false), "it is empty now"),
        (settings(), TOPS, None, (vec![], false), "it is empty now"),
        (settings(), VERSION, Some(1), (vec![1, 2], false), "except those that did not resolve"),
        (settings(), VERSION, Some(2), (vec![1, 2], false), "except those that did not resolve"),
    ] {
        file_with_names(&path, settings.clone());
        make_outdated(&path, word, |found| version.unwrap_or(found ^ 1));
        let cache = CompactCache::open(&path, settings.clone(), NOW).unwrap();
        let renewed = cache.renewed().unwrap_or_default();
        assert!(renewed.contains(told) && renewed.contains(path.to_str().unwrap()), "{renewed}");
        assert_eq!((known(&cache), cache.count()), (left.clone(), left.0.len().min(1) as u64), "{told}");
        put(&cache, "b.example.com", &[3]);
        drop(cache);
        let again = CompactCache::open_as_made(&path, NOW).unwrap();
        assert_eq!((again.renewed(), get(&again, "b.example.com")), (None, vec![3]), "once");
        assert_eq!(again.count_in(&KeyRange::under("com").unwrap(), NOW), again.count());
        drop(again);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn who_has_a_file_of_before_open_goes_on_with_it_and_the_next_ones_share_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    file_with_names(&path, settings());
    let before = open(&path);
    make_outdated(&path, TOPS, |found| found ^ 1);
    let (one, two) = (open(&path), open(&path));
    assert!(one.renewed().unwrap().contains("an empty file replaces it"), "{:?}", one.renewed());
    assert_eq!((two.renewed(), known(&two)), (None, (vec![], false)));
    put(&one, "b.example.com", &[3]);
    assert_eq!((get(&two, "b.example.com"), get(&before, "b.example.com")), (vec![3], vec![]));
    assert_eq!(known(&before), (vec![1, 2], true));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn programs_with_two_public_suffix_lists_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    file_with_names(&path, settings());
    let before = open(&path);
    make_outdated(&path, SUFFIXES, |found| found ^ 1);
    let after = open(&path);
    assert!(after.renewed().unwrap().contains("its names are kept"));
    put(&after, "b.example.com", &[3]);
    assert_eq!((known(&after), get(&before, "b.example.com")), ((vec![1, 2], true), vec![3]));
    drop((before, after));
    assert!(open(&path).renewed().is_some(), "only who is alone with it writes the new list down");
    assert_eq!(open(&path).renewed(), None);
}

#[test]
fn many_who_open_a_file_of_before_at_once_share_one_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    for others in [false, true] {
        drop(fs::remove_file(&path));
        file_with_names(&path, settings());
        let _before = others.then(|| open(&path));
        make_outdated(&path, TOPS, |found| found ^ 1);
        let caches: Vec<CompactCache> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&path))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(caches.iter().filter(|cache| cache.renewed().is_some()).count(), 1, "{others}");
        put(&caches[0], "b.example.com", &[3]);
        assert!(caches.iter().all(|cache| get(cache, "b.example.com") == [3]), "{others}");
    }
}

#[test]
fn who_only_looks_changes_nothing_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    file_with_names(&path, settings());
    // After an unclean end and a power failure, and with another list, too.
    poke(&path, 26, |_| 0);
    start_again(&path);
    make_outdated(&path, SUFFIXES, |found| found ^ 1);
    let whole = fs::read(&path).unwrap();
    for now in [NOW, NOW + 100 * 86_400] {
        let view = CompactCache::view(&path).unwrap();
        let held = u64::from(now == NOW);
        assert_eq!((view.count(), view.count_in(&KeyRange::all(), now)), (1, held));
        assert_eq!(view.count_by_tld(now).len() as u64, held);
        assert_eq!(get(&view, "a.example.com").len() as u64, 2 * held);
        put(&view, "b.example.com", &[3]);
        drop(view);
        assert!(fs::read(&path).unwrap() == whole, "not one byte");
    }
    for (word, change, why) in
        [(TOPS, 1, "top-level domains"), (VERSION, 1, "version 2; this program supports 3")]
    {
        make_outdated(&path, word, |found| found ^ change);
        let told = CompactCache::view(&path).unwrap_err().to_string();
        assert!(told.contains(why) && told.contains("opens it for writing upgrades it"), "{told}");
    }
}
