//! Hosts that leave memory and come back: nothing is lost, and they are judged like the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request};
use lycosa_url::{FailureKind, Micros};

use crate::portal_tests::own;
use crate::scripted::{Log, Names, SECOND, answer, crawl, failed, url};
use crate::{Frontier, Scope, Settings, State};

/// A crawl of any host with so many in memory.
fn settings(directory: &Path, warm_hosts: usize) -> Settings {
    let queue_directory = Some(directory.to_owned());
    Settings { scope: Scope::Any, warm_hosts, queue_directory, ..Settings::default() }
}

fn frontier(settings: Settings) -> (Frontier<Names>, Names) {
    crate::scripted::frontier(settings)
}

/// Requests by host: path and seconds since the one before.
fn by_host(log: &Log) -> BTreeMap<String, Vec<(String, u64)>> {
    let (mut hosts, mut last): (BTreeMap<_, Vec<_>>, BTreeMap<String, u64>) = Default::default();
    for (at, text) in log {
        let url = url(text);
        let before = last.insert(url.host().to_owned(), *at).unwrap_or(*at);
        let pause = (at - before) / SECOND;
        hosts.entry(url.host().to_owned()).or_default().push((url.path_and_query().to_owned(), pause));
    }
    hosts
}

/// A page like no other, or these rules.
fn site(rules: &'static str) -> impl FnMut(Request, Micros) -> Outcome {
    move |request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 200, &[], rules, &[]),
        _ => own(request, now),
    }
}

/// A network of its own for each host: no address delays another host.
fn apart(names: &Names, hosts: u32) {
    for host in 0..hosts {
        let address = format!("93.{}.{}.1", host / 200, host % 200).parse().unwrap();
        names.addresses.borrow_mut().insert(format!("h{host}.com"), address);
    }
}

#[test]
fn hosts_beyond_the_limit_wait_on_disk_and_are_fetched_like_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let seeds: Vec<_> = (0..1_200).map(|n| url(&format!("http://h{}.com/{}", n % 400, n / 400))).collect();
    let run = |warm_hosts| {
        let (mut frontier, names) = frontier(settings(directory.path(), warm_hosts));
        apart(&names, 400);
        frontier.add(&seeds, 0).unwrap();
        let most = warm_hosts.min(400);
        assert_eq!(
            (frontier.hosts.warm_len(), frontier.hosts.cold.urls() as usize),
            (most, 1_200 - 3 * most)
        );
        let (log, settled) = crawl(&mut frontier, &mut site("user-agent: *\ndisallow: /1"));
        assert_eq!((frontier.hosts.cold.urls(), frontier.hosts.memory()), (0, 0));
        assert_eq!(frontier.counts().tally.count(State::Done), 800);
        (by_host(&log), settled.len(), frontier.hosts.warm_len())
    };
    let (plain, refused, _) = run(usize::MAX);
    let (few, refused_of_few, warm) = run(4);
    assert_eq!((&few, refused_of_few), (&plain, refused));
    assert_eq!(refused, 400);
    assert!(warm < 300, "those that rest for a minute have left: {warm} are in memory");
}

#[test]
fn a_host_that_left_is_judged_as_if_it_had_stayed() {
    let run = |warm_hosts| {
        let directory = tempfile::tempdir().unwrap();
        let (mut frontier, names) = frontier(settings(directory.path(), warm_hosts));
        apart(&names, 99);
        frontier.add(&["/1", "/2"].map(|path| url(&format!("http://h0.com{path}"))), 0).unwrap();
        names.failing.borrow_mut().insert("dead.com".to_owned(), FailureKind::NameNotFound);
        let site = &mut |request: Request, now: Micros| match (request.purpose, request.url.path_and_query())
        {
            (Purpose::Robots, _) => {
                answer(request, now, 200, &[], "user-agent: *\ndisallow: /no\ncrawl-delay: 7", &[])
            }
            // In trouble at its last page: its interval has grown.
            (_, "/2") if request.attempt < 2 => failed(request, now, FailureKind::ReadTimeout),
            _ => own(request, now),
        };
        let (first, _) = crawl_from(&mut frontier, 0, site);
        // Much later another page links there, and to others, for which hosts leave.
        let mut last = 0;
        for number in 1..99 {
            let now = 200 * SECOND * number;
            frontier.add(&[url(&format!("http://h{number}.com/"))], now).unwrap();
            if number == 50 {
                frontier.add(&[url("http://dead.com/")], now).unwrap();
            }
            last = crawl_from(&mut frontier, now, site).0.last().unwrap().0;
        }
        let was_here = frontier.hosts.find("h0.com").is_some();
        let again = 20_000 * SECOND;
        assert!(last < again);
        frontier.add(&["/no", "/3", "/4"].map(|path| url(&format!("http://h0.com{path}"))), again).unwrap();
        frontier.add(&[url("http://dead.com/2")], again).unwrap();
        let (later, settled) = crawl_from(&mut frontier, again, site);
        (was_here, first, later, settled)
    };
    let (stayed, left) = (run(usize::MAX), run(2));
    assert_eq!((stayed.0, left.0), (true, false), "one stays, one leaves");
    assert_eq!((&left.1, &left.2, &left.3), (&stayed.1, &stayed.2, &stayed.3));
    assert!(!left.2.iter().any(|(_, url)| url.ends_with("robots.txt")), "its rules are known: {:?}", left.2);
    assert!(left.3.iter().any(|(_, _, kind)| *kind == FailureKind::RobotsDisallowed));
}

/// Runs a crawl to its end from a time on.
fn crawl_from(
    frontier: &mut Frontier<Names>,
    from: Micros,
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) -> (Log, Vec<(Micros, String, FailureKind)>) {
    let (mut now, mut log, mut settled) = (from, Vec::new(), Vec::new());
    for _ in 0..1_000 {
        let mut pages = Vec::new();
        for request in frontier.take(100, now).unwrap() {
            log.push((now, request.url.as_str().to_owned()));
            pages.push(site(request, now));
        }
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        settled.extend(frontier.settled().into_iter().map(|page| {
            let kind = page.response.result.unwrap_err().kind;
            (page.response.finished, page.response.request.url.as_str().to_owned(), kind)
        }));
        if frontier.idle() {
            return (log, settled);
        }
        now = frontier.due_at().unwrap_or(now).max(now);
    }
    panic!("the crawl does not end: {frontier:?}");
}

#[test]
fn the_evidence_against_a_host_comes_back_with_it() {
    let run = |warm_hosts| {
        let directory = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(300);
        let settings = Settings { patience, robots: false, ..settings(directory.path(), warm_hosts) };
        let (mut frontier, names) = frontier(settings);
        apart(&names, 9);
        frontier.add(&[url("http://h0.com/")], 0).unwrap();
        let site = &mut |request: Request, now: Micros| match request.url.host() {
            "h0.com" => failed(request, now, FailureKind::ConnectRefused),
            _ => own(request, now),
        };
        let (tries, settled) = crawl_from(&mut frontier, 0, site);
        assert!(tries.len() > 3 && settled.len() <= 1);
        let given_up = tries.last().unwrap().0;
        for number in 1..5 {
            let now = given_up + 70 * SECOND * number;
            frontier.add(&[url(&format!("http://h{number}.com/"))], now).unwrap();
            crawl_from(&mut frontier, now, site);
        }
        let left = frontier.hosts.find("h0.com").is_none();
        let again = given_up + 290 * SECOND;
        frontier.add(&[url("http://h0.com/2")], again).unwrap();
        let (log, settled) = crawl_from(&mut frontier, again, site);
        (left, log, settled)
    };
    let (stayed, left) = (run(usize::MAX), run(1));
    assert!(!stayed.0 && left.0);
    assert_eq!((left.1, left.2), (stayed.1, stayed.2));
}

#[test]
fn a_host_of_many_urls_stays_and_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(Settings { robots: false, ..settings(directory.path(), 1) });
    apart(&names, 40);
    let seeds: Vec<_> = (0..400).map(|page| url(&format!("http://h0.com/{page}"))).collect();
    frontier.add(&seeds, 0).unwrap();
    let others: Vec<_> = (1..40).map(|host| url(&format!("http://h{host}.com/"))).collect();
    frontier.add(&others, 0).unwrap();
    let (log, _) = crawl(&mut frontier, &mut site(""));
    let last = log.iter().filter(|(_, url)| !url.contains("h0.com")).map(|(at, _)| at / SECOND).max();
    assert!(last < Some(60), "the others had their turn: {last:?}");
    assert_eq!(log.len(), 439);
}

#[test]
fn a_host_on_disk_with_very_many_urls_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, _) = frontier(Settings { robots: false, ..settings(directory.path(), 1) });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    for page in 0..600 {
        frontier.add(&[url(&format!("http://b.com/{page}"))], 0).unwrap();
    }
    let id = frontier.hosts.find("b.com").unwrap();
    assert!(frontier.hosts[id].is_large && frontier.hosts.cold.len() == 0);
    assert_eq!(frontier.hosts[id].len(), 600);
}

#[test]
fn hosts_are_counted_wherever_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Settings { max_hosts: 30, domain_hosts: 3, ..settings(directory.path(), 2) };
    let (mut frontier, _) = frontier(limits);
    frontier.add(&[url("http://seed.com/")], 0).unwrap();
    let links: Vec<String> = (0..50).map(|host| format!("http://h{host}.a{}.com/", host / 5)).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let (log, _) = crawl(&mut frontier, &mut |request, now| {
        let links = if request.url.host() == "seed.com" { &links[..] } else { &[] };
        let text = format!("<title>{}</title>", request.url.as_str());
        answer(request, now, 200, &[], &text, links)
    });
    let hosts: BTreeSet<String> = log.iter().map(|(_, text)| url(text).host().to_owned()).collect();
    assert_eq!(hosts.len(), 30);
    let of_domain = |domain: &str| hosts.iter().filter(|host| host.ends_with(domain)).count();
    assert!((0..9).all(|domain| of_domain(&format!(".a{domain}.com")) == 3));
    assert_eq!(frontier.counts().refused.hosts as usize, 51 - hosts.len());
}

#[test]
fn without_a_directory_all_hosts_stay_in_memory() {
    let (mut frontier, _) = frontier(Settings { scope: Scope::Any, warm_hosts: 2, ..Settings::default() });
    let seeds: Vec<_> = (0..30).map(|host| url(&format!("http://h{host}.com/"))).collect();
    frontier.add(&seeds, 0).unwrap();
    assert_eq!(frontier.hosts.warm_len(), 30);
    let (log, _) = crawl(&mut frontier, &mut site(""));
    assert_eq!((log.len(), frontier.hosts.warm_len()), (60, 30));
}

#[test]
fn a_file_that_is_damaged_ends_the_crawl_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, _) = frontier(settings(directory.path(), 1));
    let seeds: Vec<_> = (0..30).map(|host| url(&format!("http://h{host}.com/"))).collect();
    frontier.add(&seeds, 0).unwrap();
    frontier.save(&mut Vec::new()).unwrap();
    let path = directory.path().join("0000000000.waiting");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 1);
    std::fs::write(&path, bytes).unwrap();
    frontier.host("h7.com", 0);
    assert!(frontier.take(1, 0).is_err());
    assert!(frontier.save(&mut Vec::new()).is_err(), "no snapshot is made of what was lost");
}

#[test]
fn what_a_portal_said_is_forgotten_on_disk_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(settings(directory.path(), 2));
    apart(&names, 99);
    frontier.add(&[url("http://h0.com/")], 0).unwrap();
    crawl_from(&mut frontier, 0, &mut site("user-agent: *\ncrawl-delay: 7"));
    let learnt =
        frontier.hosts[frontier.hosts.find("h0.com").unwrap()].origins.with_rules().map(str::to_owned);
    assert_eq!(learnt.as_deref(), Some("http://h0.com"));
    for number in 1..60 {
        let now = 200 * SECOND * number;
        frontier.add(&[url(&format!("http://h{number}.com/"))], now).unwrap();
        crawl_from(&mut frontier, now, &mut site(""));
    }
    let now = 12_000 * SECOND;
    // Too many at once: the last ones wait on disk, and nothing is known of them.
    frontier.add(&[60, 61, 62, 63].map(|host| url(&format!("http://h{host}.com/"))), now).unwrap();
    assert!(["h0.com", "h62.com", "h63.com"].iter().all(|host| frontier.hosts.find(host).is_none()));
    frontier.forget_what_the_portal_said(0, now);
    frontier.add(&[url("http://h64.com/")], now).unwrap();
    names.refreshed.borrow_mut().clear();
    for host in ["h0.com", "h63.com", "h64.com"] {
        frontier.host(host, now).unwrap();
    }
    assert_eq!(*names.refreshed.borrow(), ["h63.com".into()], "it is asked for at once, past the cache");
    frontier.add(&[url("http://h0.com/2")], now).unwrap();
    names.refreshed.borrow_mut().clear();
    let (log, _) = crawl_from(&mut frontier, now, &mut site(""));
    let of_host: Vec<u64> =
        log.iter().filter(|(_, url)| url.contains("h0.com")).map(|(at, _)| at / SECOND - 12_000).collect();
    assert_eq!(of_host.len(), 2, "its rules are asked for again: {log:?}");
    assert!(log.iter().any(|(_, url)| url == "http://h0.com/robots.txt"));
    assert!(of_host[1] - of_host[0] >= 7, "and their Crawl-delay holds until then: {of_host:?}");
    assert!(names.refreshed.borrow().iter().any(|name| &**name == "h0.com"), "past the cache");
}

#[test]
fn hosts_on_disk_obey_their_clocks_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path(), 2);
    let (mut first, names) = frontier(settings.clone());
    apart(&names, 99);
    let pages = |host: u32| [1, 2].map(|page| url(&format!("http://h{host}.com/{page}")));
    first.add(&(0..80).flat_map(pages).collect::<Vec<_>>(), 0).unwrap();
    let (mut now, mut asked) = (0, BTreeMap::new());
    while now < 300 * SECOND {
        let mut outcomes = Vec::new();
        for request in first.take(10, now).unwrap() {
            let host = request.url.host().to_owned();
            outcomes.push(match (request.purpose, request.url.path_and_query()) {
                (Purpose::Page, "/2") if *host < *"h5" => {
                    asked.insert(host, now);
                    let headers = [("retry-after", "3000")];
                    answer(request, now, 404, &headers, "", &[])
                }
                _ => site("")(request, now),
            });
        }
        first.judge(&mut outcomes);
        first.done(&outcomes, now).unwrap();
        first.settled();
        now += SECOND;
    }
    let left: Vec<String> = asked.keys().filter(|host| first.hosts.find(host).is_none()).cloned().collect();
    assert!(left.len() > 9, "some have left while their clock ran: {}", left.len());
    let mut snapshot = Vec::new();
    let files = first.save(&mut snapshot).unwrap();
    drop(first);
    let (mut second, read) = Frontier::load(settings, names.clone(), &mut &snapshot[..]).unwrap();
    assert_eq!(read, files);
    second.restore().finish(now).unwrap();
    let unused = second.unused_files(&[files]).unwrap();
    unused.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    assert_eq!(second.hosts.len(), 80);
    for host in 0..80 {
        second.add(&[url(&format!("http://h{host}.com/3"))], now).unwrap();
    }
    let (log, _) = crawl_from(&mut second, now, &mut site(""));
    for (at, text) in &log {
        let not_before = asked.get(url(text).host()).map_or(now, |at| at + 3_000 * SECOND);
        assert!(*at >= not_before, "{text} at {} s", at / SECOND);
    }
    assert_eq!((log.len(), second.counts().tally.count(State::Waiting)), (80, 0));
    assert!(!log.iter().any(|(_, url)| url.ends_with("robots.txt")), "rules are known");
}

#[test]
fn hosts_that_want_to_be_left_alone_hold_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(Settings { robots: false, ..settings(directory.path(), 2) });
    apart(&names, 99);
    let seeds: Vec<_> = (0..99).map(|host| url(&format!("http://h{host}.com/"))).collect();
    frontier.add(&seeds, 0).unwrap();
    let (mut now, mut log) = (0, Vec::new());
    while !frontier.idle() && now < 9_000 * SECOND {
        let requests = frontier.take(10, now).unwrap();
        log.extend(requests.iter().map(|request| (request.attempt, now / SECOND)));
        let page = |request: Request| match request.attempt {
            0 => answer(request, now, 429, &[("retry-after", "3000")], "", &[]),
            _ => own(request, now),
        };
        let mut pages: Vec<Outcome> = requests.into_iter().map(page).collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        now += SECOND / 2;
    }
    assert_eq!(log.len(), 198);
    let last = log[98];
    assert!(last.0 == 0 && last.1 < 120, "all are asked before the first again: {last:?}");
}
