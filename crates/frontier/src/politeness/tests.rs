//! Politeness as a frontier practises it: scripted sites, a scripted clock.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, Times};
use lycosa_url::{FailureKind, Micros};

use crate::politeness::{Politeness, Start};
use crate::queue::Queue;
use crate::scripted::{Log, SECOND, answer, crawl, failed, frontier, robots_or, run, url};
use crate::{BlockList, CrawlUrl, Frontier, Scope, Settings, State};

fn settings() -> Settings {
    Settings { scope: Scope::Any, robots: false, ..Settings::default() }
}

/// Seeds of a host.
fn pages(host: &str, count: usize) -> Vec<CrawlUrl> {
    (0..count).map(|page| url(&format!("http://{host}/{page}"))).collect()
}

/// When the requests were, in seconds.
fn seconds(log: &Log) -> Vec<f64> {
    log.iter().map(|(at, _)| *at as f64 / SECOND as f64).collect()
}

fn ok(request: Request, now: Micros) -> Outcome {
    answer(request, now, 200, &[], "", &[])
}

#[test]
fn whether_a_request_may_start_and_when_else() {
    let mut politeness = Politeness::new(&Settings { domain_concurrency: Some(1), ..settings() });
    let (mut one, mut other) = (Queue::new("a.com"), Queue::new("www.a.com"));
    one.domain = politeness.domains.of(&one.host);
    other.domain = politeness.domains.of(&other.host);
    let [here, there] = ["93.0.0.1", "93.0.0.2"].map(|text| politeness.addresses.id(text.parse().unwrap()));
    assert_eq!(politeness.may_start(&one, here, 0), Start::Now);
    politeness.start(&mut one, here, true, 0);
    assert_eq!(politeness.may_start(&one, here, 0), Start::At(SECOND), "the host's interval");
    assert_eq!(politeness.may_start(&one, here, SECOND), Start::AfterAnother, "one request at once");
    assert_eq!(politeness.may_start(&other, here, 0), Start::At(SECOND / 4), "the address's interval");
    assert_eq!(politeness.may_start(&other, there, 0), Start::AfterDomain);
    politeness.end(&mut one, here, 2 * SECOND);
    politeness.domains.end(one.domain, true);
    assert_eq!(politeness.may_start(&one, here, 2 * SECOND), Start::At(3 * SECOND));
    assert_eq!(politeness.may_start(&other, there, 2 * SECOND), Start::Now);
    politeness.restart(5 * SECOND);
    assert_eq!(politeness.may_start(&other, there, 5 * SECOND), Start::At(5 * SECOND + SECOND / 4));
    politeness.block(BlockList::parse("=www.a.com").0.into());
    assert_eq!(politeness.may_start(&other, there, 9 * SECOND), Start::Never);
    assert_eq!(politeness.may_start(&one, there, 9 * SECOND), Start::Now);
    assert_eq!(politeness.refusal(&other).map(|failure| failure.kind), Some(FailureKind::Blocked));
}

#[test]
fn a_slow_site_is_asked_less_often() {
    let (mut frontier, _) = frontier(settings());
    frontier.add(&pages("a.com", 4), 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| {
        let mut page = ok(request, now);
        page.response.times = Times { first_byte_us: 800_000, ..Times::default() };
        page
    });
    assert_eq!(seconds(&log), [0.0, 4.0, 8.0, 12.0], "five times as long as the answer takes");
}

#[test]
fn a_site_in_trouble_is_asked_ever_less_often_and_sustained_success_undoes_it() {
    let (mut frontier, _) = frontier(Settings { retries: 0, retry_delay: Duration::ZERO, ..settings() });
    frontier.add(&pages("a.com", 45), 0).unwrap();
    let mut count = 0;
    let log = run(&mut frontier, &mut |request, now| {
        count += 1;
        match count {
            1..=3 => answer(request, now, 503, &[], "", &[]),
            4 => failed(request, now, FailureKind::ReadTimeout),
            _ => ok(request, now),
        }
    });
    let at = seconds(&log);
    let gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..4], [2.0, 4.0, 8.0, 16.0]);
    assert_eq!(gaps[4..13], [16.0; 9]);
    assert_eq!(gaps[14], 15.0);
    assert_eq!(gaps[34], 13.0, "a second less for ten successes");
}

#[test]
fn a_pause_that_a_site_asks_for_is_kept_up_to_the_cap_and_its_urls_wait() {
    for (status, headers, expected) in [
        (429, vec![("retry-after", "120")], 120.0),
        (503, vec![("retry-after", "Thu, 01 Jan 1970 00:02:00 GMT")], 120.0),
        (503, vec![("retry-after", "86400")], 3600.0),
        (429, vec![("retry-after", "99999999999999999999")], 3600.0),
    ] {
        let (mut frontier, _) = frontier(settings());
        frontier.add(&pages("a.com", 1), 0).unwrap();
        let log = run(&mut frontier, &mut |request, now| match now {
            0 => answer(request, now, status, &headers, "", &[]),
            _ => ok(request, now),
        });
        assert_eq!(seconds(&log), [0.0, expected]);
        assert_eq!(frontier.counts().tally.count(State::Done), 1);
    }
}

#[test]
fn a_redirect_may_ask_for_a_pause_too() {
    let (mut frontier, _) = frontier(settings());
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| match now {
        0 => answer(request, now, 302, &[("location", "http://a.com/next"), ("retry-after", "30")], "", &[]),
        _ => ok(request, now),
    });
    assert_eq!(seconds(&log), [0.0, 30.0]);
}

#[test]
fn what_was_learnt_survives_a_restart_by_the_log_and_by_a_snapshot() {
    for with_snapshot in [false, true] {
        let (mut first, _) = frontier(Settings { retries: 9, ..settings() });
        let seeds = pages("a.com", 2);
        first.add(&seeds, 0).unwrap();
        let (mut now, mut log) = (0, Vec::new());
        for _ in 0..4 {
            let mut answers: Vec<Outcome> = (first.take(9, now).unwrap().into_iter())
                .map(|request| answer(request, now, 429, &[("retry-after", "300")], "", &[]))
                .collect();
            first.judge(&mut answers);
            first.done(&answers, now).unwrap();
            log.extend(answers);
            now = first.due_at().unwrap();
        }
        let interval = |frontier: &Frontier<_>| {
            frontier.hosts[0].pace.interval(&frontier.politeness.host_limits(&frontier.hosts[0]))
        };
        let (_, names) = frontier(settings());
        let mut second = if with_snapshot {
            let mut bytes = Vec::new();
            first.save(&mut bytes).unwrap();
            let loaded = Frontier::load(settings(), names, &mut &bytes[..]).unwrap().0;
            assert_eq!(loaded.politeness.addresses.paces().count(), 1);
            loaded
        } else {
            Frontier::new(settings(), names).unwrap()
        };
        let mut restore = second.restore();
        if !with_snapshot {
            seeds.iter().for_each(|seed| restore.seed(&Request::get(seed.clone())).unwrap());
            log.iter().for_each(|page| restore.outcome(page).unwrap());
        }
        restore.finish(log[3].response.finished + SECOND).unwrap();
        assert_eq!(interval(&second), interval(&first));
        assert_eq!(interval(&second), 16 * SECOND);
        let paces: Vec<_> = second.politeness.addresses.paces().map(|(address, _)| address).collect();
        assert_eq!(paces, first.politeness.addresses.paces().map(|(address, _)| address).collect::<Vec<_>>());
        let ready = second.hosts[0].pace.ready_at();
        assert_eq!(ready, log[3].response.finished + 300 * SECOND, "the pause goes on");
    }
}

#[test]
fn a_host_whose_answer_was_lost_with_the_process_is_left_alone_for_a_minute() {
    for with_snapshot in [false, true] {
        let (mut first, names) = frontier(settings());
        let seeds = [url("http://a.com/"), url("http://b.com/")];
        first.add(&seeds, 0).unwrap();
        let requests = first.take(9, 0).unwrap();
        let heard = ok(requests.iter().find(|request| request.url.host() == "b.com").unwrap().clone(), 0);
        let mut bytes = Vec::new();
        if with_snapshot {
            first.save(&mut bytes).unwrap();
        }
        first.done([&heard], 0).unwrap();
        // Killed at 5 s and again at 9 s, after one more request to the host that was heard.
        let restored = |process: Micros, again: Option<Micros>| {
            let mut frontier = match with_snapshot {
                true => Frontier::load(settings(), names.clone(), &mut &bytes[..]).unwrap().0,
                false => Frontier::new(settings(), names.clone()).unwrap(),
            };
            let mut restore = frontier.restore();
            if !with_snapshot {
                seeds.iter().for_each(|seed| restore.seed(&Request::get(seed.clone())).unwrap());
                requests.iter().for_each(|request| restore.lease(&request.url, request.lease, 0, 0));
            }
            restore.outcome(&heard).unwrap();
            if let Some(at) = again {
                restore.lease(&url("http://b.com/next"), 7, at, at + SECOND);
            }
            restore.finish(process).unwrap();
            let ready = |host: &str| frontier.hosts[frontier.hosts.find(host).unwrap()].pace.ready_at();
            (ready("a.com") / SECOND, ready("b.com") / SECOND)
        };
        assert_eq!(restored(5 * SECOND, None), (65, 6));
        // What was lost with the first process was lost before the second began.
        assert_eq!(restored(9 * SECOND, Some(5 * SECOND)), (65, 69));
    }
}

/// The seconds in which b.com is asked after the address at which it lives has answered for a.com, by a proxy or itself.
fn asked_after_another_answered(proxy: Option<&str>) -> Vec<f64> {
    let (mut frontier, names) = frontier(settings());
    names.addresses.borrow_mut().insert("b.com".into(), "93.0.0.2".parse().unwrap());
    frontier.add(&pages("a.com", 1), 0).unwrap();
    let request = frontier.take(1, 0).unwrap().pop().unwrap();
    let mut page = ok(request, 0);
    page.response.address = Some("93.0.0.2".parse().unwrap());
    if let Some(proxy) = proxy {
        page.response.request.route = page.response.request.route.by(Some(proxy));
    }
    frontier.done([&page], 0).unwrap();
    frontier.add(&pages("b.com", 1), 0).unwrap();
    seconds(&run(&mut frontier, &mut |request, now| ok(request, now)))
}

#[test]
fn an_address_that_stood_in_for_another_rests_too() {
    assert_eq!(asked_after_another_answered(None), [0.25]);
}

#[test]
fn the_address_of_a_proxy_is_not_charged_as_a_sites() {
    let at_once = asked_after_another_answered(Some("http://93.0.0.2:3128"));
    assert_eq!(at_once, [0.0], "a site at that address waits for nothing");
}

#[test]
fn one_domain_with_ten_thousand_hosts_does_not_starve_a_domain_with_one() {
    let (mut frontier, names) = frontier(Settings { host_interval: Duration::from_secs(2), ..settings() });
    let mut seeds = Vec::new();
    for host in 0..10_000u32 {
        let name = format!("h{host}.large.com");
        names.addresses.borrow_mut().insert(name.clone(), IpAddr::V4((0x5d00_0000 + host).into()));
        seeds.extend(pages(&name, 3));
    }
    names.addresses.borrow_mut().insert("small.org".into(), "94.0.0.1".parse().unwrap());
    seeds.extend(pages("small.org", 20));
    frontier.add(&seeds, 0).unwrap();
    // Ten requests each 100 ms: 10,000 hosts could use fifty times as many.
    let (mut now, mut small) = (0, Vec::new());
    while small.len() < 20 {
        let requests = frontier.take(10, now).unwrap();
        assert_eq!(requests.len(), 10, "no slot is left empty for it");
        let of_small = requests.iter().filter(|request| request.url.host() == "small.org");
        small.extend(of_small.map(|_| now));
        let answers: Vec<Outcome> = requests.into_iter().map(|request| ok(request, now)).collect();
        frontier.done(&answers, now).unwrap();
        now += SECOND / 10;
        assert!(now < 60 * SECOND, "{small:?}");
    }
    let latest = small.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(latest <= 2 * SECOND + SECOND / 5, "at its own pace of one each 2 s: {small:?}");
}

#[test]
fn a_domain_has_no_more_pages_than_its_budget_whatever_is_in_flight() {
    let settings = Settings {
        host_concurrency: 4,
        host_interval: Duration::ZERO,
        address_interval: Duration::ZERO,
        address_concurrency: 64,
        domain_pages: Some(7),
        ..settings()
    };
    let (mut frontier, _) = frontier(settings);
    frontier
        .add(&[pages("a.large.com", 9), pages("b.large.com", 9), pages("small.org", 5)].concat(), 0)
        .unwrap();
    let (log, settled) = crawl(&mut frontier, &mut |request, now| match request.url.as_str() {
        "http://a.large.com/0" => answer(request, now, 301, &[("location", "http://a.large.com/x")], "", &[]),
        _ => ok(request, now),
    });
    let of_large = log.iter().filter(|(_, url)| url.contains("large")).count();
    assert_eq!(of_large, 8, "seven pages and a redirect");
    assert_eq!(log.len() - of_large, 5);
    assert_eq!(settled.len(), 11);
    assert!(settled.iter().all(|(_, _, kind)| *kind == FailureKind::DomainBudget));
    assert_eq!(frontier.counts().tally.count(State::Refused), 11);
}

#[test]
fn a_domain_has_no_more_requests_out_than_it_may() {
    let (mut frontier, names) = frontier(Settings { domain_concurrency: Some(3), ..settings() });
    let mut seeds = pages("small.org", 2);
    for host in 0..20u32 {
        let name = format!("h{host}.large.com");
        names.addresses.borrow_mut().insert(name.clone(), IpAddr::V4((0x5d00_0000 + host).into()));
        seeds.extend(pages(&name, 2));
    }
    frontier.add(&seeds, 0).unwrap();
    let (mut now, mut count) = (0, 0);
    for _ in 0..1_000 {
        let requests = frontier.take(100, now).unwrap();
        let of_large = requests.iter().filter(|request| request.url.host().contains("large")).count();
        assert!(of_large <= 3);
        assert!(frontier.take(100, now).unwrap().is_empty());
        count += requests.len();
        let answers: Vec<Outcome> = requests.into_iter().map(|request| ok(request, now)).collect();
        frontier.done(&answers, now).unwrap();
        now = now.max(frontier.due_at().unwrap_or(now));
        assert!(now < 1_000 * SECOND);
    }
    assert!(frontier.idle(), "{frontier:?}");
    assert_eq!(count, 42);
}

#[test]
fn the_sum_over_all_sites_keeps_its_caps() {
    for (requests_per_second, bytes_per_second) in [(Some(20.0), None), (None, Some(20_000.0))] {
        let (mut frontier, _) = frontier(Settings { requests_per_second, bytes_per_second, ..settings() });
        let seeds: Vec<_> = (0..300).flat_map(|host| pages(&format!("h{host}.com"), 1)).collect();
        frontier.add(&seeds, 0).unwrap();
        let body: String = "x".repeat(1_000);
        let (mut now, mut log) = (0, Vec::new());
        while !frontier.idle() {
            // Two slots: what is out when the cap is reached is two responses.
            let requests = frontier.take(2, now).unwrap();
            log.extend(requests.iter().map(|_| now));
            let answers: Vec<Outcome> =
                requests.into_iter().map(|request| answer(request, now, 200, &[], &body, &[])).collect();
            frontier.done(&answers, now).unwrap();
            now = now.max(frontier.due_at().unwrap_or(now));
        }
        assert_eq!(log.len(), 300);
        for (index, start) in log.iter().enumerate() {
            let within = log[index..].iter().take_while(|time| **time < start + SECOND).count();
            assert!(within <= 24, "{within} in a second");
        }
        let took = *log.last().unwrap() as f64 / SECOND as f64;
        assert!((14.0..15.5).contains(&took), "300 at 20 a second: {took}");
    }
}

#[test]
fn a_block_list_counts_from_the_next_request_on() {
    let (mut frontier, names) = frontier(settings());
    for (host, address) in
        [("a.com", "93.0.0.1"), ("b.com", "93.0.0.2"), ("c.com", "93.0.9.3"), ("d.com", "93.0.1.4")]
    {
        names.addresses.borrow_mut().insert(host.into(), address.parse().unwrap());
    }
    let seeds = ["a.com", "b.com", "c.com", "d.com"].map(|host| pages(host, 5));
    frontier.add(&seeds.concat(), 0).unwrap();
    let out = frontier.take(10, 0).unwrap();
    assert_eq!(out.len(), 4);
    let (list, bad) = BlockList::parse("a.com\n=b.com\n93.0.9.0/24\n");
    assert!(bad.is_empty());
    frontier.block(list.into());
    let answers: Vec<Outcome> = out.into_iter().map(|request| ok(request, 0)).collect();
    assert!(answers.iter().all(|page| frontier.expects(page)), "what is out is not cancelled");
    frontier.done(&answers, 0).unwrap();
    let (log, settled) =
        crawl(&mut frontier, &mut robots_or("", &["http://www.a.com/", "http://new.a.com/x"]));
    assert!(log.iter().all(|(_, url)| url.contains("d.com")), "{log:?}");
    let mut kinds: BTreeMap<(String, FailureKind), usize> = BTreeMap::new();
    for (at, text, kind) in settled {
        assert!(at <= SECOND, "when its turn comes");
        *kinds.entry((url(&text).host().to_owned(), kind)).or_default() += 1;
    }
    let blocked = FailureKind::Blocked;
    let expected = [("a.com", 4), ("b.com", 4), ("c.com", 4), ("new.a.com", 1), ("www.a.com", 1)];
    assert_eq!(kinds, expected.map(|(host, count)| ((host.to_owned(), blocked), count)).into());
    assert!(!names.asked.borrow().iter().any(|name| &**name == "www.a.com"), "not even by name");
}

#[test]
fn a_robots_txt_at_a_blocked_host_cannot_be_had() {
    let (mut frontier, _) = frontier(Settings { robots: true, ..settings() });
    frontier.block(BlockList::parse("b.com").0.into());
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let (log, settled) = crawl(&mut frontier, &mut |request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 301, &[("location", "http://b.com/r")], "", &[]),
        _ => ok(request, now),
    });
    assert!(log.iter().all(|(_, url)| url == "http://a.com/robots.txt"));
    assert_eq!(settled[0].2, FailureKind::RobotsUnreachable);
}

/// How long the requests of hosts take by a plain model: no queues, no heaps; each step starts what may start by the
/// rules, and goes on to the next moment at which one may.
fn plainly(hosts: &BTreeMap<String, (IpAddr, usize)>, took: impl Fn(&str) -> Micros) -> Micros {
    let mut left: BTreeMap<&str, usize> = hosts.iter().map(|(host, (_, count))| (&**host, *count)).collect();
    let mut host_ready: BTreeMap<&str, Micros> = BTreeMap::new();
    let mut address_ready: BTreeMap<IpAddr, Micros> = BTreeMap::new();
    let (mut now, mut end) = (0, 0);
    while !left.is_empty() {
        let mut next = Micros::MAX;
        for (host, (address, _)) in hosts {
            let Some(count) = left.get_mut(&**host) else { continue };
            let ready = host_ready.get(&**host).copied().unwrap_or(0);
            let ready = ready.max(address_ready.get(address).copied().unwrap_or(0));
            if ready > now {
                next = next.min(ready);
                continue;
            }
            end = now + took(host);
            host_ready.insert(host, end + SECOND.max(5 * took(host)));
            // The address's own response time is that of its hosts, here all alike.
            address_ready.insert(*address, end + (SECOND / 4).max(5 * took(host)));
            *count -= 1;
            if *count == 0 {
                left.remove(&**host);
            }
            next = next.min(end);
        }
        now = next.max(now + 1);
    }
    end
}

#[test]
fn nothing_of_what_the_rates_allow_is_left_lying() {
    // Hosts of different sizes on few addresses; the answers of an address take equally long.
    let (mut frontier, names) = frontier(Settings { address_domains: 1, ..settings() });
    let (mut hosts, mut seeds) = (BTreeMap::new(), Vec::new());
    for number in 0..200u32 {
        let (name, count) = (format!("h{number}.com"), 3 + (number as usize * 7) % 40);
        let address = IpAddr::V4((0x5d00_0000 + number % 60).into());
        names.addresses.borrow_mut().insert(name.clone(), address);
        seeds.extend(pages(&name, count));
        hosts.insert(name, (address, count));
    }
    let took = |host: &str| {
        let number: u64 = host[1..host.len() - 4].parse().unwrap();
        20_000 + number % 60 * 8_000
    };
    frontier.add(&seeds, 0).unwrap();
    // Requests in flight by their end.
    let mut out: BTreeMap<(Micros, u64), Request> = BTreeMap::new();
    let (mut now, mut end) = (0, 0);
    while !frontier.idle() {
        for request in frontier.take(1_000, now).unwrap() {
            out.insert((now + took(request.url.host()), request.lease), request);
        }
        let due = frontier.due_at().unwrap_or(Micros::MAX);
        now = now.max(out.keys().next().map_or(due, |(end, _)| due.min(*end)));
        while let Some(entry) = out.first_entry()
            && entry.key().0 <= now
        {
            let request = entry.remove();
            let first_byte_us = took(request.url.host()) as u32;
            let mut page = ok(request, now);
            page.response.times = Times { first_byte_us, ..Times::default() };
            frontier.done([&page], now).unwrap();
            end = now;
        }
    }
    let plain = plainly(&hosts, took);
    assert!(end as f64 <= plain as f64 / 0.95, "{end} µs, where {plain} µs would do");
    assert!(end as f64 >= plain as f64 * 0.95, "faster than allowed: {end} µs instead of {plain} µs");
}

#[test]
fn intervals_may_change_while_a_crawl_runs() {
    let (mut frontier, names) =
        frontier(Settings { host_interval: Duration::from_secs(1), retries: 0, ..settings() });
    names.addresses.borrow_mut().insert("a.com".into(), "93.0.0.1".parse().unwrap());
    frontier.add(&pages("a.com", 6), 0).unwrap();
    let (mut now, mut asked) = (0, Vec::new());
    while asked.len() < 6 {
        if asked.len() == 3 {
            frontier.set_intervals(Duration::from_secs(3), Duration::ZERO);
        }
        for request in frontier.take(10, now).unwrap() {
            asked.push(now);
            frontier.done(&[ok(request, now)], now).unwrap();
        }
        now += SECOND / 10;
        assert!(now < 60 * SECOND, "{asked:?}");
    }
    let pauses: Vec<u64> = asked.windows(2).map(|pair| (pair[1] - pair[0]) / SECOND).collect();
    assert_eq!(pauses, [1, 1, 1, 3, 3], "what was asked before keeps its pause");
}
