//! The real client with scripted DNS servers, in the style of Unbound's `.rpl` files; every file of
//! `tests/scenarios` is played.
//!
//! A line is a keyword and words; `;` begins a comment. The keywords:
//! - `SCENARIO text` – what the file shows.
//! - `CONFIG key=value …` – `servers` (1), `closed` (one whose port is closed), `timeout` in ms (2000),
//!   `attempts` (4), `families` (`v4`, `v6`, `both`, `prefer-v4`), `min-ttl`, `max-ttl` and `negative-ttl` in
//!   seconds, `in-flight`; with `yes` or `no`: `special-use`, `nxdomain-cut`, `rotate`.
//! - `ENTRY key=value …` – the reaction of a server to a query; every matching entry reacts, in the order of
//!   the file. Matches by `server`, `over` (`udp`, `tcp`), `qname`, `domain` (the name without its first
//!   label), `qtype`, `edns` (`yes`, `no`), `header` (its bytes after the id, in hexadecimal), `payload` and
//!   `options` (of the OPT record: a number, and its bytes from the extended code on), and `nth`: the first and
//!   the last number (`3`, `1..9`) of the queries that match all other keys.
//! - `ADJUST key=value …` – modifies the entry above. Time: `pass` in ms. Message: `id` (`wrong`, `next`),
//!   `opcode`, `qr=no`, `ra=no`, `question` (`other`, `type`, `class`, `below`, `above`, `none`, `twice`),
//!   `case` (`swapped`, `upper`, `lower`), `qdcount`, `ancount`, `nscount`, `arcount`, `pad` (bytes to append),
//!   `size` and `cut` (exact and largest length). Sending: `copies`; over UDP `delay` in ms, `hold=yes` (until
//!   the next query arrives, at any server), `port=wrong`; over TCP `length` (the prefix), `piece` (bytes per
//!   write), `close=yes` (afterwards).
//! - `REPLY code flag …` – with the flags `TC`, `AA`, `AD`, `CD`, `Z`; then its records: `ANSWER owner ttl
//!   class type data`, `AUTHORITY …`, `ADDITIONAL …` (the class defaults to IN; `@` is the queried name, as a
//!   pointer; data of `TYPEn` is hexadecimal; a `SOA` has a name and its MINIMUM), `OPT section key=value …
//!   options` (`version`, `payload`, `do`, `owner`), and `RAW section hex …`, one record. `20*61` is twenty
//!   times the byte 61.
//! - `MESSAGE …` – instead of these: the whole message in hexadecimal, with the words `id` and `question` for
//!   those of the query.
//! - `QUERY name …` – submits these names at once, and waits for the answers; `REFRESH name …` bypasses the
//!   cache. `n{1..9}.example` is nine names, `""` is the empty one.
//! - `ASK name …` – submits without waiting; a later `QUERY` without names waits; `UNTIL key number` – waits
//!   until a counter of the client has reached a number.
//! - `PASS seconds` – time passes.
//! - `CHECK name address …` or `CHECK name failure` – the last answer; `DETAIL name text` – a part of its
//!   detail; `HOLDS name seconds` – its remaining time when it arrived.
//! - `COUNT key number` – a counter of the client; `SERVER n number` or `SERVER n udp number` – queries that a
//!   server received.
//!
//! The client's clock advances only by `pass` and `PASS`, so that results do not depend on the machine's speed:
//! an entry with `pass` and without `REPLY` is a server that is silent for that time.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "scenarios/message.rs"]
mod message;
#[path = "scenarios/play.rs"]
mod play;
#[path = "scenarios/records.rs"]
mod records;
#[path = "scenarios/server.rs"]
mod server;
mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use message::{Entry, Words, pairs_of};
use play::Play;

/// Keys of `CONFIG`.
const CONFIG: [&str; 12] = [
    "servers",
    "closed",
    "timeout",
    "attempts",
    "families",
    "min-ttl",
    "max-ttl",
    "negative-ttl",
    "in-flight",
    "special-use",
    "nxdomain-cut",
    "rotate",
];

/// Files that are played at a time; they wait more than they compute.
const THREADS: usize = 6;

/// Plays one file.
fn play(text: &str) {
    let lines =
        || text.lines().map(|line| line.split(';').next().unwrap().split_whitespace().collect::<Vec<_>>());
    let (mut config, mut entries) = (Words::new(), Vec::<Entry>::new());
    for words in lines() {
        match &words[..] {
            ["CONFIG", rest @ ..] => config = pairs_of(rest, &CONFIG),
            ["ENTRY", rest @ ..] => entries.push(Entry::matching(rest)),
            words => drop(entries.last_mut().map(|entry| entry.take(words))),
        }
    }
    let mut play = Play::start(&config, entries);
    let checks: usize = lines().map(|words| play.line(&words)).sum();
    assert!(checks > 0, "a scenario without CHECK shows nothing");
}

/// Plays files that no other thread has taken; returns those that failed.
fn play_some(files: &Mutex<Vec<PathBuf>>) -> Vec<PathBuf> {
    let next = || files.lock().unwrap().pop();
    let fails = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        std::panic::catch_unwind(|| play(&text)).is_err()
    };
    std::iter::from_fn(next)
        .filter(|path| fails(path))
        .inspect(|path| eprintln!("in {}", path.display()))
        .collect()
}

#[test]
fn all_scenarios_end_as_they_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "rpl"));
    assert!(files.len() >= 200, "{} scenarios", files.len());
    let files = Mutex::new(files);
    let failed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| play_some(&files))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(failed.is_empty(), "scenarios failed, see above: {failed:?}");
}
