//! Tests of queries with hand-written records.

use super::*;
use std::collections::HashSet;

use crate::judge::judge;
use crate::ledger::Kind;

/// Requests to a host's robots.txt and pages in too short intervals, to an unknown host, and to a second host.
fn case() -> (World, Params, Records) {
    let params = Params { hosts: 40, pages: 5, speed: 10.0, ..Params::default() };
    let world = World::new(&params);
    let request = |ms: u64, host: u32, page: u32, kind: Kind| Request {
        time: ms * 1000,
        host,
        page,
        kind,
        address: if host == NONE { 0x7f01_0001 } else { world.address(host).to_bits() },
        status: 200,
        complete: true,
        took: 1_000,
        ..Request::default()
    };
    let mut requests = vec![
        request(0, 2, NONE, Kind::Robots),
        request(5_000, 2, 0, Kind::Page),
        request(5_010, 2, 1, Kind::Page),
        request(9_000, NONE, 0, Kind::Misdirected),
        request(9_900, 7, 0, Kind::Page),
    ];
    requests[1].status = 429;
    requests[1].retry_after_ms = 5_000;
    let records = Records { requests, strings: vec!["no.such/x".into()], ..Records::default() };
    (world, params, records)
}

#[test]
fn a_hosts_timeline_has_gaps_and_verdicts() {
    let (world, params, records) = case();
    let query = Query::parse(&world, Some(&world.name(2).to_uppercase()), None).unwrap();
    let found = query.run(&world, &params, &crate::ports::Ports::new(81, 443), &records);
    assert_eq!((found.count, found.violations), (3, 1));
    let [robots, first, second] = &found.entries[..] else { panic!() };
    assert_eq!((robots.kind, robots.gap_s, robots.verdicts.len()), ("robots", None, 0));
    assert!(robots.url.ends_with(":81/robots.txt") && first.url.ends_with(":81/"));
    assert_eq!((first.gap_s, first.retry_after_s, first.took_s), (Some(5.0), Some(5.0), Some(0.001)));
    // Counted from the response with Retry-After, not from its request.
    assert_eq!((second.gap_s, second.allowed_s), (Some(0.009), Some(0.5)));
    assert_eq!(second.verdicts, ["before Retry-After", "too close to the host", "too close to the address"]);
}

#[test]
fn violations_addresses_windows_and_limits() {
    let (world, params, records) = case();
    let run = |query: &Query| query.run(&world, &params, &crate::ports::Ports::default(), &records);
    let all = Query { violations: true, ..Query::parse(&world, None, None).unwrap() };
    let found = run(&all);
    assert_eq!((found.count, found.entries[1].verdicts.as_slice()), (2, &["before robots.txt"][..]));
    assert_eq!(run(&Query { limit: 1, ..all.clone() }).entries.len(), 1);
    assert_eq!(run(&Query { window: 6_000_000..9_900_001, ..all.clone() }).count, 1);
    assert_eq!(run(&Query { window: 6_000_000..9_900_000, ..all }).count, 0);
    let stranger =
        run(&Query { violations: false, ..Query::parse(&world, None, Some("127.1.0.1")).unwrap() });
    assert!(stranger.entries.iter().any(|e| e.host.is_none() && e.url == "http://no.such/x"));
}

#[test]
fn what_the_world_does_not_have_is_told() {
    let (world, ..) = case();
    for (host, address, named) in [(Some("x.y"), None, "host"), (None, Some("1.2.3"), "address")] {
        let Err(Error::Setting { name, .. }) = Query::parse(&world, host, address) else { panic!() };
        assert_eq!(name, named);
    }
}

#[test]
fn a_window_of_a_report_knows_what_came_before() {
    let (world, params, records) = case();
    let report = judge(
        &world,
        &params,
        &crate::ports::Ports::default(),
        &records,
        &(5_005_000..9_500_000),
        &HashSet::new(),
    );
    assert_eq!((report.totals.requests, report.rates.host.count, report.pauses.count), (2, 1, 1));
    assert_eq!(
        (report.robots.before_robots, report.coverage.served, report.habits.robots_never_asked.of),
        (0, 1, 1)
    );
    let report = judge(
        &world,
        &params,
        &crate::ports::Ports::default(),
        &records,
        &(20_000_000..30_000_000),
        &HashSet::new(),
    );
    assert_eq!((report.totals.requests, report.rates.host.count, report.robots.count), (0, 0, 0));
}
