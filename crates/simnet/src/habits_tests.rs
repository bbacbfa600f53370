//! Tests of bad habits with hand-written records: each is found, and legal behaviour is not reported.

use std::collections::HashSet;

use super::*;
use crate::judge::{ALWAYS, judge};
use crate::ledger::Records;
use crate::params::Params;
use crate::report::Report;
use crate::world::World;

/// A world and its first host with or without a Crawl-delay of 3 s.
fn world(speed: f64, delay: bool) -> (World, Params, u32) {
    let params = Params { hosts: 300, pages: 5, speed, address_interval: 0.0, ..Params::default() };
    let world = World::new(&params);
    let host = (0..300).find(|&h| world.robots(h).crawl_delay == delay.then_some(3)).unwrap();
    (world, params, host)
}

/// Requests to one host: milliseconds, status, Retry-After in milliseconds.
fn judged(speed: f64, delay: bool, visits: &[(u64, u16, u32)]) -> Habits {
    report(speed, delay, visits).habits
}

/// The report on such requests.
fn report(speed: f64, delay: bool, visits: &[(u64, u16, u32)]) -> Report {
    let (world, params, host) = world(speed, delay);
    let requests = visits.iter().map(|&(ms, status, retry_after_ms)| Request {
        time: ms * 1000,
        host,
        address: world.address(host).to_bits(),
        retry_after_ms,
        took: 100_000,
        complete: true,
        status,
        ..Request::default()
    });
    judge(
        &world,
        &params,
        &crate::ports::Ports::default(),
        &Records { requests: requests.collect(), ..Records::default() },
        &ALWAYS,
        &HashSet::new(),
    )
}

#[test]
fn retry_after_counts_from_the_answer_in_scaled_time() {
    // Answered at 0.1 s; 30 s at speed 10 are 3 s.
    let plea = (0, 429, 30_000);
    for (ms, count) in [(100, 0), (101, 1), (3_000, 1), (3_099, 0), (3_100, 0), (9_000, 0)] {
        let found = report(10.0, false, &[plea, (ms, 200, 0)]).pauses;
        assert_eq!((found.count, found.keys), (count, count), "{ms}");
    }
    let worst = report(10.0, false, &[plea, (1_100, 200, 0), (2_100, 503, 0)]).pauses.worst.unwrap();
    assert_eq!((worst.gap_s, worst.allowed_s, worst.at_s), (1.0, 3.0, 1.1));
}

#[test]
fn the_longest_plea_holds_and_other_statuses_are_none() {
    let long_then_short = [(0, 503, 60_000), (1_000, 429, 1_000), (30_000, 200, 0), (61_000, 200, 0)];
    assert_eq!(report(1.0, false, &long_then_short).pauses.count, 2);
    // A redirect may have Retry-After too (RFC 9110, 10.2.3): it is not judged.
    assert_eq!(report(1.0, false, &[(0, 301, 60_000), (1_000, 200, 0)]).pauses.count, 0);
}

#[test]
fn who_gets_faster_after_a_plea_is_found() {
    let visits = |before: u64, after: u64| -> Vec<(u64, u16, u32)> {
        let times = (0..4).map(|i| i * before).chain((1..5).map(|i| 3 * before + i * after));
        times.enumerate().map(|(i, at)| (at, if i == 3 { 429 } else { 200 }, 0)).collect()
    };
    let found = judged(1.0, false, &visits(1_000, 300)).speeding_up;
    assert_eq!((found.hosts, found.of, found.first[0].status), (1, 1, 429));
    assert_eq!((found.first[0].at_s, found.first[0].before_s, found.first[0].after_s), (3.0, 1.0, 0.3));
    // No habit: as fast as before, slower, by chance, and slow enough anyway.
    for (before, after) in [(1_000, 1_000), (1_000, 4_000), (1_000, 950), (9_000, 2_500)] {
        let found = judged(1.0, false, &visits(before, after)).speeding_up;
        assert_eq!((found.hosts, found.of), (0, 1), "{before} {after}");
    }
    // In scaled time, "slow enough" is scaled too.
    assert_eq!(judged(10.0, false, &visits(900, 250)).speeding_up.hosts, 0);
    assert_eq!(judged(10.0, false, &visits(900, 150)).speeding_up.hosts, 1);
}

#[test]
fn too_few_gaps_are_not_judged() {
    let found =
        judged(1.0, false, &[(0, 200, 0), (900, 503, 0), (1_000, 200, 0), (1_100, 200, 0)]).speeding_up;
    assert_eq!((found.hosts, found.of), (0, 0));
}

#[test]
fn an_ignored_crawl_delay_is_found() {
    let every = |ms: u64| (0..6).map(|i| (i * ms, 200, 0)).collect::<Vec<_>>();
    let found = judged(1.0, true, &every(1_000)).crawl_delay_ignored;
    assert_eq!((found.hosts, found.of), (1, 1));
    assert_eq!((found.first[0].allowed_s, found.first[0].median_s, found.first[0].requests), (3.0, 1.0, 6));
    assert_eq!(judged(1.0, true, &every(3_000)).crawl_delay_ignored.hosts, 0);
    assert_eq!(judged(10.0, true, &every(300)).crawl_delay_ignored.hosts, 0);
    assert_eq!(judged(1.0, false, &every(1_000)).crawl_delay_ignored.of, 0);
}

#[test]
fn a_robots_txt_never_asked_for_is_found() {
    let found = judged(1.0, false, &[(0, 200, 0)]).robots_never_asked;
    assert_eq!((found.hosts, found.of, found.first.len()), (1, 1, 1));
    let (world, params, host) = world(1.0, false);
    let page = Request { time: 1, host, ..Request::default() };
    let robots = Request { time: 0, kind: Kind::Robots, ..page };
    let stranger = Request { time: 2, host: NONE, kind: Kind::Bad, ..page };
    let records = Records { requests: vec![robots, page, stranger], ..Records::default() };
    let found = judge(&world, &params, &crate::ports::Ports::default(), &records, &ALWAYS, &HashSet::new())
        .habits
        .robots_never_asked;
    assert_eq!((found.hosts, found.of), (0, 1));
}
