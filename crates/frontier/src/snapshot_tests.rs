//! Snapshots: those of the version before, bytes that are none, and those of logs that contradict themselves.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use lycosa_records::{Accepted, Entry, Leased, Outcome, Purpose, Request, RequestOptions};
use lycosa_url::{Failure, FailureKind, Micros};
use proptest::prelude::*;

use super::*;
use crate::Scope;
use crate::scripted::{Names, SECOND, answer, crawl, frontier, url};

/// A crawl that has asked two domains, and its snapshot.
fn saved() -> (Frontier<Names>, Settings, Vec<u8>) {
    let settings = Settings { scope: Scope::Any, domain_pages: Some(2), ..Settings::default() };
    let (mut frontier, _) = frontier(settings.clone());
    let seeds = [
        "http://a.com/1",
        "http://www.a.com/",
        "http://b.com/1",
        "http://b.com/2",
        "http://b.com/3",
        "http://c.com/1",
    ];
    let seeds = [&seeds[..], &["http://c.com/2"]].concat();
    frontier.add(&seeds.into_iter().map(url).collect::<Vec<_>>(), 0).unwrap();
    for now in [0, 1].map(|second| second * SECOND) {
        let requests = frontier.take(9, now).unwrap();
        let mut pages: Vec<_> =
            requests.into_iter().map(|request| answer(request, now, 200, &[], "", &[])).collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
    }
    let mut snapshot = Vec::new();
    frontier.save(&mut snapshot).unwrap();
    (frontier, settings, snapshot)
}

/// The same in the version before: without domains and hosts on disk, with the pages of domains in the record of paces.
fn of_version_8(frontier: &Frontier<Names>, snapshot: &[u8]) -> Vec<u8> {
    let (mut from, mut old) = (snapshot, Vec::new());
    let mut record = Vec::new();
    let mut next = |from: &mut &[u8]| {
        read_record(from, &mut record).unwrap();
        record.clone()
    };
    let mut put = |bytes: &[u8]| {
        write_record(&mut old, &mut Vec::new(), |record| record.extend_from_slice(bytes)).unwrap();
    };
    let mut files = next(&mut from);
    assert_eq!(u64::from(files[0]), VERSION);
    files[0] = 8;
    files.truncate(files.len() - 2);
    put(&files);
    put(&next(&mut from));
    put(&next(&mut from));
    (0..3).for_each(|_| drop(next(&mut from))); // two of domains, one of hosts on disk
    let queues = frontier.hosts.warm_len();
    (0..queues + 2).for_each(|_| put(&next(&mut from)));
    let mut paces = next(&mut from);
    assert_eq!(paces.pop(), Some(0)); // no address is lent
    put_number(&mut paces, 3);
    [2, 1, 1].into_iter().for_each(|pages| put_number(&mut paces, pages));
    put(&paces);
    put(&next(&mut from));
    old.extend_from_slice(from);
    old
}

#[test]
fn a_snapshot_of_the_version_before_is_read() {
    let (frontier, settings, snapshot) = saved();
    let old = of_version_8(&frontier, &snapshot);
    let site = &mut |request, now: Micros| answer(request, now, 200, &[], "", &[]);
    let logs = [&snapshot, &old].map(|bytes| {
        let (mut loaded, files) =
            Frontier::load(settings.clone(), Names::default(), &mut &bytes[..]).unwrap();
        assert_eq!(files, SnapshotFiles::default());
        loaded.restore().finish(9 * SECOND).unwrap();
        assert_eq!(loaded.hosts.len(), 4);
        let (mut log, settled) = crawl(&mut loaded, site);
        log.sort();
        (log, settled)
    });
    assert_eq!(logs[0], logs[1]);
    assert!(logs[0].0.iter().any(|(_, url)| url == "http://c.com/2"));
    let refused: Vec<_> = logs[0].1.iter().map(|(_, url, kind)| (&**url, *kind)).collect();
    assert_eq!(refused, [("http://b.com/3", FailureKind::DomainBudget)], "pages of domains are known");
}

#[test]
fn bytes_that_are_no_snapshot_are_an_error() {
    let (_, settings, snapshot) = saved();
    let load = |bytes: &[u8]| Frontier::load(settings.clone(), Names::default(), &mut &*bytes).map(drop);
    load(&snapshot).unwrap();
    for length in (0..snapshot.len()).step_by(7) {
        assert!(load(&snapshot[..length]).is_err());
    }
    for at in 0..snapshot.len().min(600) {
        let mut other = snapshot.clone();
        other[at] ^= 0x81;
        let _ = load(&other);
    }
}

/// Fields of a response that a frontier learns from.
const FIELDS: [&[(&str, &str)]; 4] = [
    &[],
    &[("set-cookie", "n=v; max-age=99999999999999999999; domain=b.com")],
    &[("retry-after", "18446744073709551615")],
    &[("ratelimit", "limit;r=0;t=18446744073709551615")],
];

/// What may stand for one of a few URLs in a log, of which records are lost or damaged; `ends`: numbers at the ends of their ranges.
fn entry(ends: bool) -> impl Strategy<Value = Entry<'static>> {
    let numbers = if ends { vec![0, 1, u64::MAX] } else { vec![0, 1, 2] };
    let numbers = proptest::array::uniform6(proptest::sample::select(numbers));
    let flags = proptest::array::uniform5(any::<bool>());
    let status = proptest::sample::select(&[0, 200, 404, 429, 503, u16::MAX][..]);
    let what = ("http://[ab]\\.com/[123]", 0..4u8, status, proptest::sample::select(&FIELDS[..]));
    (what, numbers, flags).prop_map(
        |(
            (address, kind, status, fields),
            [lease, depth, attempt, at, priority, mark],
            [retry, ours, is_robots, fails, is_plain],
        )| {
            let url = url(&address);
            let options = RequestOptions { priority: priority as i32, ..RequestOptions::default() };
            let request = Request {
                lease,
                depth: depth as u32,
                attempt: attempt as u32,
                purpose: if is_robots { Purpose::Robots } else { Purpose::Page },
                options: (!is_plain).then(|| options.into()),
                ..Request::get(url.clone())
            };
            match kind {
                0 => {
                    let (url, process) = (Cow::Owned(url), at / 2);
                    Entry::Leased(Leased { url, lease, process, granted: at, wall_offset_us: 0 })
                }
                1 => Entry::Accepted(Accepted { request: Cow::Owned(request), at }),
                _ => {
                    let body = if is_robots { "user-agent: *\ncrawl-delay: 1e300" } else { "" };
                    let mut page = answer(request, at, status, fields, body, &[]);
                    if fails {
                        page.response.result = Err(Failure::new(FailureKind::ConnectTimeout, "scripted"));
                    }
                    (page.retry, page.ours, page.mark) = (retry, ours, mark);
                    Entry::Outcome(Cow::Owned(page))
                }
            }
        },
    )
}

/// The URLs that wait, as the last record of each says; and those that wait as a sound log would not have it: opened though they waited.
fn waiting(log: &[Entry<'_>]) -> (BTreeSet<String>, Vec<String>) {
    let (mut known, mut waiting, mut twice) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for entry in log {
        let url = entry.url().as_str().to_owned();
        match entry {
            Entry::Outcome(page) if page.request().purpose == Purpose::Robots => {}
            Entry::Outcome(page) if page.retry => {
                let waited = !waiting.insert(url.clone());
                if waited && page.is_reopened() {
                    twice.push(url.clone());
                }
                known.insert(url);
            }
            Entry::Outcome(_) => {
                waiting.remove(&url);
                known.insert(url);
            }
            Entry::Accepted(_) if known.insert(url.clone()) => drop(waiting.insert(url)),
            Entry::Accepted(_) | Entry::Leased(_) => {}
        }
    }
    (waiting, twice)
}

/// Hosts and URLs in memory, or most of them on disk.
fn settings_of(directory: Option<&Path>) -> Settings {
    let settings = Settings { robots: false, scope: Scope::Any, ..Settings::default() };
    match directory {
        None => settings,
        Some(directory) => Settings {
            queue_memory: 0,
            queue_directory: Some(directory.to_owned()),
            warm_hosts: 1,
            ..settings
        },
    }
}

/// Replays a log; the first records are in a snapshot.
fn replayed(settings: &Settings, log: &[Entry<'_>], first: usize) -> Frontier<Names> {
    let (mut frontier, _) = frontier(settings.clone());
    let (before, after) = log.split_at(first.min(log.len()));
    let tell = |frontier: &mut Frontier<Names>, log: &[Entry<'_>]| {
        let mut restore = frontier.restore();
        log.iter().zip(1..).for_each(|(entry, end)| restore.entry(entry, end).unwrap());
        restore.finish(9 * SECOND).unwrap();
    };
    tell(&mut frontier, before);
    let mut saved = Vec::new();
    frontier.save(&mut saved).unwrap();
    let (mut frontier, _) = Frontier::load(settings.clone(), Names::default(), &mut &saved[..]).unwrap();
    tell(&mut frontier, after);
    frontier
}

#[test]
fn a_snapshot_of_the_version_before_may_have_a_tombstone_of_a_url_in_no_queue() {
    let settings = settings_of(None);
    let (mut old, _) = frontier(settings.clone());
    old.add(&[url("http://a.com/b")], 0).unwrap();
    for page in ["http://a.com/a", "http://a.com/opened"] {
        old.dedup.tombstones.ended(*url(page).digest(), "a.com");
        old.dedup.add_known(url(page).borrow());
    }
    let mut saved = Vec::new();
    old.save(&mut saved).unwrap();
    // The first record, after its length.
    assert_eq!(u64::from(saved[8]), VERSION);
    saved[8] = 11;
    let (mut loaded, _) = Frontier::load(settings, Names::default(), &mut &saved[..]).unwrap();
    let failure = Failure::new(FailureKind::ConnectTimeout, "scripted");
    let opened = Outcome::reopened(url("http://a.com/opened"), 0, 0, Err(failure));
    let mut restore = loaded.restore();
    restore.outcome(&opened).unwrap();
    restore.finish(SECOND).unwrap();
    let (asked, _) = crawl(&mut loaded, &mut |request, now| answer(request, now, 200, &[], "", &[]));
    let asked: BTreeSet<&str> = asked.iter().map(|(_, url)| &**url).collect();
    assert_eq!(asked, BTreeSet::from(["http://a.com/b", "http://a.com/opened"]));
}

#[test]
fn rules_of_the_version_before_are_obeyed_and_name_no_licence() {
    let settings = Settings::default();
    let (mut old, _) = frontier(settings.clone());
    old.add(&["http://a.com/", "http://a.com/x"].map(url), 0).unwrap();
    let mut robots = old
        .take(1, 0)
        .unwrap()
        .pop()
        .map(|request| answer(request, 0, 200, &[], "user-agent: *\ndisallow: /x", &[]));
    old.judge(&mut robots);
    old.done(&robots, 0).unwrap();
    let mut saved = Vec::new();
    old.save(&mut saved).unwrap();
    assert_eq!(u64::from(saved[8]), VERSION);
    saved[8] = 12;
    let (mut loaded, _) = Frontier::load(settings, Names::default(), &mut &saved[..]).unwrap();
    loaded.restore().finish(SECOND).unwrap();
    let (asked, _) = crawl(&mut loaded, &mut |request, now| {
        assert!(request.licenses.is_empty());
        answer(request, now, 200, &[], "", &[])
    });
    assert_eq!(asked.iter().map(|(_, url)| &**url).collect::<Vec<_>>(), ["http://a.com/"]);
}

proptest! {
    #[test]
    fn what_any_log_makes_is_saved_and_read(log in proptest::collection::vec(entry(true), 0..12)) {
        let settings = settings_of(None);
        let mut saved = Vec::new();
        replayed(&settings, &log, 0).save(&mut saved).unwrap();
        Frontier::load(settings, Names::default(), &mut &saved[..]).unwrap();
    }

    #[test]
    fn a_crawl_ends_and_asks_for_all_that_waits_whatever_its_log_says(
        log in proptest::collection::vec(entry(false), 0..16), first in 0..16usize, on_disk: bool,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let settings = settings_of(on_disk.then(|| directory.path()));
        let mut frontier = replayed(&settings, &log, first);
        let site = &mut |request, now| answer(request, now, 200, &[], "", &[]);
        let asked: Vec<String> = crawl(&mut frontier, site).0.into_iter().map(|(_, url)| url).collect();
        let (waiting, twice) = waiting(&log);
        let each: BTreeSet<String> = asked.iter().cloned().collect();
        prop_assert!(each.is_superset(&waiting), "{:?} of {:?}", asked, waiting);
        prop_assert!(each.iter().all(|url| waiting.contains(url) || twice.contains(url)), "{:?}", asked);
        prop_assert!(asked.len() <= each.len() + twice.len(), "{:?}", asked);
        prop_assert_eq!(frontier.tally.count(State::Waiting), 0);
    }
}
