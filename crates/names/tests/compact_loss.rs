//! Files of compact caches that are truncated, overwritten, removed or replaced while processes have them open.

#![allow(unsafe_code, clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Lines};
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactError, CompactSettings, Refusal};
use lycosa_names::cache::{Addresses, Answer, Resolution};
use lycosa_names::{Families, HostName};
use memmap2::MmapOptions;
use nix::libc;

const NOW: u64 = 1_800_000_000;
const NAMES: u32 = 300;

fn settings() -> CompactSettings {
    CompactSettings { capacity: 1_000, ..CompactSettings::default() }
}

fn open(path: &Path) -> CompactCache {
    CompactCache::open(path, settings(), NOW).unwrap()
}

/// Inserts all names; returns how many were accepted.
fn put(cache: &CompactCache, now: u64) -> u32 {
    let put = |number: &u32| {
        let answer = Answer::Addresses(Addresses { v4: vec![Ipv4Addr::from(*number)], v6: Vec::new() });
        let resolution = Resolution { answer, ttl: 3_600, took: 1 };
        cache.put(HostName::new(&format!("n{number}.example.com")).unwrap(), Families::V4, &resolution, now)
    };
    (0..NAMES).filter(put).count() as u32
}

/// The number of known names, none with another name's address.
fn known(cache: &CompactCache, now: u64) -> u32 {
    let is_known = |number: &u32| {
        let name = format!("n{number}.example.com");
        let record = cache.get(HostName::new(&name).unwrap(), Families::V4, now);
        record.is_some_and(|record| {
            assert_eq!(record.v4().collect::<Vec<_>>(), [Ipv4Addr::from(*number)]);
            true
        })
    };
    (0..NAMES).filter(is_known).count() as u32
}

/// The notice about the file.
fn told(cache: &CompactCache) -> Option<&str> {
    let notices = cache.notices();
    notices.lost().or(notices.replaced())
}

/// The child process of other tests: it reads and writes, one second per turn, until there is a notice about
/// its file, and some more. On its own, it has a file that no other process touches.
#[test]
fn user() {
    let Some(path) = std::env::var_os("LYCOSA_USER") else {
        let directory = tempfile::tempdir().unwrap();
        let cache = open(&directory.path().join("names"));
        for now in (NOW..).take(200) {
            assert_eq!((put(&cache, now), known(&cache, now), told(&cache)), (NAMES, NAMES, None));
        }
        return;
    };
    let cache = open(Path::new(&path));
    put(&cache, NOW);
    println!("user: ready");
    let (mut now, began) = (NOW, Instant::now());
    while told(&cache).is_none() {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing was told");
        put(&cache, now);
        known(&cache, now);
        now += 1;
    }
    for _ in 0..100 {
        put(&cache, now);
    }
    let details = cache.details();
    println!("user: takes {}, knows {}, counts {}", put(&cache, now), known(&cache, now), details.used);
    println!("user: {}", told(&cache).unwrap());
}

/// A user of a file.
struct User {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl User {
    /// Starts one, which then has the file open.
    fn start(path: &Path) -> User {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "user", "--nocapture"])
            .env("LYCOSA_USER", path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("user: ready")));
        User { process, lines }
    }

    /// Waits for its successful end; returns its output.
    fn end(mut self) -> String {
        let text: Vec<String> = self.lines.map(Result::unwrap).collect();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {text:?}");
        text.join("\n")
    }
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// As cp(1) does: the file stays the same one.
fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}

#[test]
fn a_file_that_is_cut_or_written_over_ends_no_process_and_the_cache_goes_on_empty() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("names"), directory.path().join("other"));
    put(&open(&other), NOW);
    let text = directory.path().join("text");
    fs::write(&text, "something else ".repeat(100_000)).unwrap();
    let length = fs::metadata(&other).unwrap().len();
    let tamper: [(&str, &dyn Fn()); 4] = [
        ("to nothing", &|| cut(&path, 0)),
        ("to half", &|| cut(&path, length / 2)),
        ("by another cache", &|| copy(&other, &path)),
        ("by a text", &|| copy(&text, &path)),
    ];
    for (how, tamper) in tamper {
        drop(fs::remove_file(&path));
        let users = [User::start(&path), User::start(&path)];
        tamper();
        for user in users {
            let told = user.end();
            assert!(told.contains("user: takes 0, knows 0, counts 0"), "{how}: {told}");
            assert!(told.contains("truncated or overwritten while it was open"), "{how}: {told}");
            assert!(told.contains(&format!("lycosa cache rebuild {}", path.display())), "{how}: {told}");
        }
        // The next one creates a new file, or gets a message with a remedy.
        match (how, CompactCache::open(&path, settings(), NOW)) {
            ("to nothing", Ok(new)) => assert_eq!((known(&new, NOW), put(&new, NOW)), (0, NAMES)),
            // The users wrote into it until they noticed; no name has another name's address.
            ("by another cache", Ok(found)) => assert!(known(&found, NOW) > 0),
            ("to half", Err(CompactError::Refused { refusal, .. })) => {
                assert_eq!(refusal, Refusal::Truncated { is: length / 2, should: length });
            }
            ("by a text", Err(CompactError::Refused { refusal, .. })) => {
                assert_eq!(refusal, Refusal::NoCache);
            }
            (_, outcome) => panic!("{how}: {outcome:?}"),
        }
    }
}

#[test]
fn who_has_a_file_open_that_was_removed_or_replaced_goes_on_with_it_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("names"), directory.path().join("other"));
    let tamper: [&dyn Fn(); 2] =
        [&|| fs::remove_file(&path).unwrap(), &|| fs::rename(&other, &path).unwrap()];
    for tamper in tamper {
        drop(open(&other));
        let user = User::start(&path);
        tamper();
        let told = user.end();
        assert!(told.contains(&format!("user: takes {NAMES}, knows {NAMES}")), "{told}");
        assert!(told.contains("the file was removed or replaced"), "{told}");
        drop(fs::remove_file(&path));
    }
}

#[test]
fn who_opens_an_emptied_file_that_others_have_open_gets_one_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let before = open(&path);
    put(&before, NOW);
    cut(&path, 0);
    let after = open(&path);
    assert!(after.renewed().unwrap().contains("was truncated while others had it open"));
    assert_eq!((known(&after, NOW), put(&after, NOW)), (0, NAMES));
    assert_eq!((known(&before, NOW), put(&before, NOW)), (0, 0));
    assert!(told(&before).unwrap().contains("truncated or overwritten"));
    assert_eq!((known(&after, NOW), told(&after)), (NAMES, None));
    assert_eq!((known(&open(&path), NOW), open(&path).renewed()), (NAMES, None));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn what_happened_is_told_once_to_who_listens() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let cache = open(&path);
    let (told, heard) = std::sync::mpsc::channel();
    cache.notices().listen(move |text| told.send(text.to_owned()).unwrap());
    put(&cache, NOW);
    cut(&path, 0);
    for now in (NOW..).step_by(60).take(5) {
        assert_eq!((known(&cache, now), put(&cache, now)), (0, 0));
    }
    cache.flush().unwrap();
    drop(cache);
    assert_eq!(heard.iter().count(), 1);
}

extern "C" fn leave(_: libc::c_int) {
    // SAFETY: it may be called in a signal handler (signal-safety(7)).
    unsafe { libc::_exit(42) }
}

/// The child process of the test below, which reads past the end of a file that is not a cache. On its own, it
/// has none.
#[test]
fn stranger() {
    let directory = tempfile::tempdir().unwrap();
    let given = std::env::var("LYCOSA_STRANGER").ok();
    if given.as_deref() == Some("handles") {
        // SAFETY: the handler only exits.
        unsafe { libc::signal(libc::SIGBUS, leave as *const () as usize) };
    }
    let cache = open(&directory.path().join("names"));
    put(&cache, NOW);
    let file = tempfile::tempfile().unwrap();
    file.set_len(8_192).unwrap();
    // SAFETY: no other process has the file; it is truncated on purpose.
    let map = unsafe { MmapOptions::new().map(&file).unwrap() };
    if given.is_some() {
        file.set_len(0).unwrap();
    }
    assert_eq!((std::hint::black_box(&map)[5_000], known(&cache, NOW)), (0, NAMES));
}

#[test]
fn the_fault_of_somebody_else_is_left_to_them() {
    let run = |how: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "stranger"]).env("LYCOSA_STRANGER", how);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
    };
    assert_eq!(run("handles").code(), Some(42), "the handler of before is called");
    assert_eq!(run("does not").signal(), Some(libc::SIGBUS));
}
