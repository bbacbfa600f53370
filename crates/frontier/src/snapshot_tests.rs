//! Snapshots: those of the version before, and bytes that are none.

use std::borrow::Cow;

use lycosa_records::{Accepted, Entry, Leased, Purpose, Request, RequestOptions};
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
        loaded.restore().finish(9 * SECOND);
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
const FIELDS: [&[(&str, &str)]; 5] = [
    &[],
    &[("location", "http://b.com/2")],
    &[("set-cookie", "n=v; max-age=99999999999999999999; domain=b.com")],
    &[("retry-after", "18446744073709551615")],
    &[("ratelimit", "limit;r=0;t=18446744073709551615")],
];

/// What may stand for one of a few URLs in a log, of which records are lost or damaged; `ends`: numbers at the ends of their ranges.
fn entry(ends: bool) -> impl Strategy<Value = Entry<'static>> {
    let numbers = if ends { vec![0, 1, u64::MAX] } else { vec![0, 1, 2] };
    let numbers = proptest::array::uniform6(proptest::sample::select(numbers));
    let flags = proptest::array::uniform5(any::<bool>());
    let status = proptest::sample::select(&[0, 200, 301, 404, 429, 503, u16::MAX][..]);
    let what = ("http://[ab]\\.com/[12]", 0..4u8, status, proptest::sample::select(&FIELDS[..]));
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
                    let mut page = answer(request, at, status, fields, body, &["http://b.com/1"]);
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

/// A frontier that has replayed a log.
fn replayed(settings: &Settings, log: &[Entry<'_>]) -> Frontier<Names> {
    let (mut frontier, _) = frontier(settings.clone());
    let mut restore = frontier.restore();
    log.iter().zip(1..).for_each(|(entry, end)| restore.entry(entry, end).unwrap());
    restore.finish(9 * SECOND);
    frontier
}

proptest! {
    #[test]
    fn what_any_log_makes_is_saved_and_read(log in proptest::collection::vec(entry(true), 0..12)) {
        let settings = Settings { robots: false, ..Settings::default() };
        let mut saved = Vec::new();
        replayed(&settings, &log).save(&mut saved).unwrap();
        Frontier::load(settings, Names::default(), &mut &saved[..]).unwrap();
    }

    #[test]
    fn a_crawl_ends_and_asks_for_all_that_waits_whatever_its_log_says(
        log in proptest::collection::vec(entry(false), 0..12),
    ) {
        let settings = Settings { robots: false, ..Settings::default() };
        let mut frontier = replayed(&settings, &log);
        let waiting = frontier.tally.count(State::Waiting);
        let (asked, _) = crawl(&mut frontier, &mut |request, now| answer(request, now, 200, &[], "", &[]));
        prop_assert_eq!((asked.len() as u64, frontier.tally.count(State::Waiting)), (waiting, 0));
    }
}
