//! Tests of every kind of violation with hand-written records: each is found, and legal behaviour is not reported.

use super::*;
use crate::nature::Gate;
use crate::robots::Robots;

/// A world, the parameters to judge with, and the records.
struct Case {
    world: World,
    params: Params,
    records: Records,
}

impl Case {
    /// No records yet; host interval 1 s, address interval 0.25 s.
    fn new(speed: f64) -> Self {
        let params = Params { hosts: 300, pages: 30, speed, ..Params::default() };
        Self { world: World::new(&params), params, records: Records::default() }
    }

    /// Adds a request with a complete response.
    fn add(&mut self, ms: u64, host: u32, page: u32, kind: Kind) -> &mut Request {
        let address = if host == NONE { 1 } else { self.world.address(host).to_bits() };
        let (time, connection, body) = (ms * 1000, 0, 100);
        let status = 200;
        self.records.requests.push(Request {
            time,
            host,
            page,
            address,
            connection,
            body,
            status,
            kind,
            complete: true,
            ..Request::default()
        });
        self.records.requests.last_mut().unwrap()
    }

    /// A case with a profile.
    fn with(profile: &str, speed: f64) -> Self {
        let params = Params { hosts: 300, pages: 30, speed, profile: profile.into(), ..Params::default() };
        Self { world: World::new(&params), params, records: Records::default() }
    }

    /// The first host that fits.
    fn host(&self, fits: impl Fn(&World, u32) -> bool) -> u32 {
        (0..300).find(|&host| fits(&self.world, host)).unwrap()
    }

    fn judge(&self) -> Report {
        judge(&self.world, &self.params, &Ports::new(8080, 8443), &self.records, &ALWAYS, &HashSet::new())
    }
}

#[test]
fn bad_certificates_hide_pages_and_are_not_to_be_accepted() {
    let mut case = Case::new(1.0);
    case.params = Params { https: 1.0, bad_certificates: 0.3, ..case.params };
    case.world = World::new(&case.params);
    let bad = case.host(|world, host| !world.is_trusted(host));
    let mut ms = 0;
    for host in (0..300).filter(|&host| case.world.is_trusted(host)).collect::<Vec<_>>() {
        case.add(ms, host, NONE, Kind::Robots);
        for slot in 0..case.world.pages(host) {
            ms += 1_001;
            if case.world.robots(host).allows("*", case.world.path(host, slot).as_bytes()) {
                case.add(ms, host, slot, Kind::Page);
            }
        }
    }
    let report = case.judge();
    assert_eq!((report.coverage.ratio, report.robots.count, report.certificates.count), (1.0, 0, 0));
    assert!(report.certificates.bad_hosts > 60);
    // A redirect without TLS is no violation, and the robots.txt after it counts.
    case.records.strings = vec!["/robots.txt".into(), "/x".into()];
    case.add(ms + 1_000, bad, 0, Kind::Upgrade);
    assert_eq!((case.judge().robots.count, case.judge().certificates.count), (0, 0));
    case.add(ms + 2_000, bad, 1, Kind::Upgrade);
    assert_eq!(case.judge().robots.before_robots, 1);
    case.add(ms + 3_000, bad, NONE, Kind::Robots);
    case.add(ms + 9_000, bad, 0, Kind::Page);
    let found = case.judge().certificates;
    assert_eq!((found.count, found.accepted.values().sum::<u64>(), found.first.len()), (2, 1, 1));
    assert!(found.first[0].contains("https://"));
}

/// Whether a host is alone at its address.
fn alone(world: &World, host: u32) -> bool {
    (0..300).filter(|&other| world.address(other) == world.address(host)).count() == 1
}

#[test]
fn a_whole_legal_crawl_is_clean() {
    let mut case = Case::new(1.0);
    let mut ms = 0;
    for host in 0..300 {
        case.add(ms, host, NONE, Kind::Robots);
        for slot in 0..case.world.pages(host) {
            if case.world.robots(host).allows("*", case.world.path(host, slot).as_bytes()) {
                ms += 5_000;
                let ok = case.world.slot(host, slot) == Slot::Page;
                case.add(ms, host, slot, Kind::Page).status = if ok { 200 } else { 404 };
            }
        }
        ms += 5_000;
    }
    let report = case.judge();
    assert_eq!((report.coverage.served, report.coverage.ratio), (report.coverage.reachable, 1.0));
    assert!(report.coverage.reachable > 8_000 && report.coverage.missed.is_empty());
    assert_eq!((report.robots.count, report.rates.host.count, report.rates.address.count), (0, 0, 0));
    assert_eq!((report.repeats.urls, report.totals.hosts_asked), (0, 300));
    serde_json::to_string(&report).unwrap();
}

#[test]
fn incomplete_and_refused_pages_are_not_covered() {
    let mut case = Case::new(1.0);
    case.add(0, 0, 0, Kind::Page).complete = false;
    case.add(9_000, 1, 0, Kind::Page).status = 500;
    case.add(18_000, 2, 0, Kind::Page);
    let report = case.judge();
    assert_eq!((report.coverage.served, report.totals.incomplete), (1, 1));
    assert_eq!(report.coverage.missed[0], format!("http://{}:8080/", case.world.name(0)));
    assert_eq!(report.coverage.missed.len(), 20);
}

#[test]
fn gaps_by_host_are_judged_in_scaled_time() {
    for (speed, gap_ms, violations) in
        [(1.0, 989, 1), (1.0, 991, 0), (100.0, 9, 1), (100.0, 10, 0), (100.0, 0, 1)]
    {
        let mut case = Case::new(speed);
        let host = case.host(|w, h| w.robots(h).crawl_delay.is_none() && alone(w, h));
        case.params.address_interval = 0.0;
        case.add(50, host, NONE, Kind::Robots);
        case.add(50 + gap_ms, host, 0, Kind::Page);
        let rate = case.judge().rates.host;
        assert_eq!((rate.count, rate.keys), (violations, violations), "{speed} {gap_ms}");
        if let Some(worst) = rate.worst {
            assert_eq!((worst.gap_s, worst.allowed_s), (gap_ms as f64 / 1e3, 1.0 / speed));
        }
    }
}

#[test]
fn crawl_delay_replaces_the_host_interval() {
    let mut case = Case::new(1.0);
    let host = case.host(|w, h| w.robots(h).crawl_delay == Some(3) && alone(w, h));
    case.add(0, host, NONE, Kind::Robots);
    case.add(2_900, host, 0, Kind::Page);
    case.add(6_000, host, 1, Kind::Page);
    let rate = case.judge().rates.host;
    assert_eq!((rate.count, rate.first[0].allowed_s, rate.first[0].gap_s), (1, 3.0, 2.9));
}

#[test]
fn a_crawl_delay_is_not_known_before_the_last_of_a_robots_txts_redirects() {
    let mut case = Case::new(1.0);
    let host = case.host(|w, h| w.robots(h).crawl_delay == Some(3) && alone(w, h));
    case.add(0, host, NONE, Kind::Robots).status = 301;
    case.add(1_000, host, NONE, Kind::Robots).status = 301;
    case.add(2_000, host, NONE, Kind::Robots);
    assert_eq!(case.judge().rates.host.count, 0);
    case.add(3_000, host, 0, Kind::Page);
    assert_eq!(case.judge().rates.host.count, 1, "the delay is known now");
    case.add(6_000, host, NONE, Kind::Robots).status = 301;
    case.add(6_900, host, NONE, Kind::Robots);
    assert_eq!(case.judge().rates.host.count, 2, "the interval applies to redirects too");
}

#[test]
fn a_crawl_delay_is_not_known_while_only_a_portal_has_answered_for_a_host() {
    let mut case = Case::new(1.0);
    let host = case.host(|w, h| w.robots(h).crawl_delay == Some(3) && alone(w, h));
    case.add(0, host, NONE, Kind::Captive);
    case.add(1_000, host, NONE, Kind::Captive);
    case.add(2_000, host, NONE, Kind::Robots);
    assert_eq!(case.judge().rates.host.count, 0);
    case.add(2_900, host, NONE, Kind::Captive);
    assert_eq!(case.judge().rates.host.count, 1, "the delay is known now");
    case.add(5_000, host, 0, Kind::Page);
    assert_eq!(case.judge().rates.host.count, 2, "it stays known");
}

#[test]
fn names_on_one_address_share_its_interval() {
    let mut case = Case::new(1.0);
    let one = case.host(|w, h| !alone(w, h));
    let two = case.host(|w, h| h != one && w.address(h) == w.address(one));
    for (gap, violations) in [(240, 1), (250, 0)] {
        case.records.requests.clear();
        case.add(0, one, NONE, Kind::Robots);
        case.add(gap, two, NONE, Kind::Robots);
        let rates = case.judge().rates;
        assert_eq!((rates.address.count, rates.host.count), (violations, 0));
    }
}

#[test]
fn disallowed_and_early_requests_are_found() {
    let mut case = Case::new(1.0);
    let closed =
        |w: &World, h: u32| (0..w.pages(h)).find(|&s| !w.robots(h).allows("*", w.path(h, s).as_bytes()));
    let host = case.host(|w, h| closed(w, h).is_some());
    let slot = closed(&case.world, host).unwrap();
    case.add(0, host, 0, Kind::Page);
    case.add(9_000, host, NONE, Kind::Robots);
    case.add(18_000, host, 0, Kind::Page);
    case.add(27_000, host, slot, Kind::Page);
    let robots = case.judge().robots;
    assert_eq!((robots.count, robots.before_robots, robots.disallowed, robots.first.len()), (2, 1, 1, 2));
    assert!(robots.first[1].starts_with("disallowed: http://"));
}

#[test]
fn unknown_paths_are_judged_too() {
    let mut case = Case::new(1.0);
    let host = case.host(|w, h| !w.robots(h).allows("*", b"/private/x"));
    case.records.strings = vec!["/private/x".into(), "/favicon.ico".into()];
    case.add(0, host, NONE, Kind::Robots);
    case.add(9_000, host, 0, Kind::Unknown).status = 404;
    case.add(18_000, host, 1, Kind::Unknown).status = 404;
    let robots = case.judge().robots;
    assert_eq!((robots.count, robots.disallowed), (1, 1));
    assert!(robots.first[0].contains("/private/x"));
}

#[test]
fn agents_are_judged_by_their_own_group() {
    let mut case = Case::new(1.0);
    let host = case.host(|w, h| w.robots(h).shuts_out);
    case.add(0, host, NONE, Kind::Robots);
    case.add(9_000, host, 0, Kind::Page);
    assert_eq!(case.judge().robots.count, 0);
    case.params.agent = "GPTBot".into();
    assert_eq!(case.judge().robots.disallowed, 1);
}

#[test]
fn repeats_tell_retries_from_waste() {
    let mut case = Case::new(1.0);
    case.add(0, 4, NONE, Kind::Robots);
    case.add(9_000, 4, NONE, Kind::Robots);
    case.add(18_000, 4, 0, Kind::Page).status = 500;
    case.add(27_000, 4, 0, Kind::Page);
    case.add(36_000, 4, 0, Kind::Page);
    case.add(45_000, 4, 1, Kind::Page);
    let repeats = case.judge().repeats;
    assert_eq!((repeats.urls, repeats.requests, repeats.after_answer), (1, 2, 1));
    assert_eq!(repeats.top, [Repeat { url: format!("http://{}:8080/", case.world.name(4)), requests: 3 }]);
}

#[test]
fn questions_and_strangers_are_counted() {
    let mut case = Case::new(1.0);
    case.records.strings = vec!["no.such.host/x".into()];
    case.add(0, NONE, 0, Kind::Misdirected).status = 421;
    for (host, qtype, rcode) in
        [(3, 1, 0), (3, 1, 0), (3, 28, 0), (NONE, 1, 3), (NONE, 0, 1), (NONE, 0, u8::MAX)]
    {
        case.records.questions.push(Question { time: 0, host, qtype, rcode, tcp: qtype == 28 });
    }
    let totals = case.judge().totals;
    assert_eq!(totals.misdirected, ["no.such.host/x"]);
    assert_eq!((totals.dns_questions, totals.dns_names, totals.dns_tcp), (6, 1, 1));
    let answers: Vec<_> = totals.dns_by_answer.into_iter().collect();
    assert_eq!(answers, [("address", 2), ("error", 1), ("nodata", 1), ("nxdomain", 1), ("silence", 1)]);
}

#[test]
fn what_cannot_be_had_does_not_count() {
    let mut case = Case::with("hostile", 1.0);
    let reachable = case.judge().coverage.reachable;
    let pages = |case: &Case, fits: &dyn Fn(u32) -> bool| {
        (0..300).filter(|&h| fits(h)).map(|h| u64::from(case.world.pages(h))).sum::<u64>()
    };
    let counting = pages(&case, &|h| case.world.nature(h).counts());
    assert!(reachable < counting && reachable > counting * 8 / 10, "{reachable} of {counting}");
    // Fetching all pages that count is full coverage.
    for host in (0..300).filter(|&h| case.world.nature(h).counts()).collect::<Vec<_>>() {
        (0..case.world.pages(host)).for_each(|slot| _ = case.add(0, host, slot, Kind::Page));
    }
    assert_eq!(case.judge().coverage.ratio, 1.0);
}

#[test]
fn requests_before_the_pause_is_over_are_found() {
    let mut case = Case::with("hostile", 10.0);
    let host = case.host(|world, host| world.retry_after(host).is_some());
    let pause = u64::from(case.world.retry_after(host).unwrap()) * 100; // ms in scaled time
    let asks = |request: &mut Request, status| {
        (request.status, request.retry_after_ms) = (status, pause as u32 * 10);
    };
    asks(case.add(1_000, host, 0, Kind::Page), 429);
    case.add(1_000 + pause, host, 0, Kind::Page);
    asks(case.add(9_000 + pause, host, 1, Kind::Page), 503);
    case.add(9_100 + pause, host, NONE, Kind::Robots);
    let pauses = case.judge().pauses;
    assert_eq!((pauses.asked, pauses.count), (2, 0));
    case.add(9_000 + pause * 3 / 2, host, 2, Kind::Page);
    let pauses = case.judge().pauses;
    assert_eq!((pauses.asked, pauses.count, pauses.first.len()), (2, 1, 1));
}

#[test]
fn a_failing_robots_txt_forbids_everything() {
    let mut case = Case::with("hostile", 1.0);
    let host = case.host(|world, host| world.nature(host).gate == Gate::Failing);
    case.add(0, host, NONE, Kind::Robots).status = 503;
    assert_eq!(case.judge().robots.count, 0);
    case.add(5_000, host, 0, Kind::Page);
    assert_eq!(case.judge().robots.disallowed, 1);
}

#[test]
fn a_changing_robots_txt_is_judged_by_the_version_fetched() {
    let mut case = Case::with("hostile", 1.0);
    let host = case.host(|world, host| {
        let robots = Robots { shuts_blog: false, ..world.robots(host) };
        world.nature(host).gate == Gate::Changing && robots.allows("*", b"/blog/x")
    });
    case.records.strings = vec!["/blog/x".to_owned()];
    case.add(3_700_000, host, NONE, Kind::Robots);
    case.add(7_300_000, host, 0, Kind::Unknown);
    assert_eq!(case.judge().robots.count, 0, "the path was allowed when robots.txt was fetched");
    case.add(7_400_000, host, NONE, Kind::Robots);
    case.add(7_500_000, host, 0, Kind::Unknown);
    assert_eq!(case.judge().robots.disallowed, 1);
}

#[test]
fn names_in_wildcard_zones_are_judged_as_hosts() {
    let mut case = Case::with("internet", 1.0);
    let host = case.host(|world, host| world.nature(host).wildcard);
    case.records.strings = vec![format!("a.{}", case.world.name(host)), "/".to_owned()];
    let address = case.world.address(host).to_bits();
    for (ms, kind) in [(0, Kind::Robots), (5_000, Kind::Trap), (5_300, Kind::Trap)] {
        let request = case.add(ms, NONE, 1, kind);
        (request.host, request.address) = (WILD, address);
    }
    let report = case.judge();
    assert_eq!((report.robots.count, report.rates.host.count, report.totals.hosts_asked), (0, 1, 1));
    assert_eq!(report.rates.host.first[0].key, format!("a.{}", case.world.name(host)));
}
