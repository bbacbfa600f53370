//! The frontier against scripted names, pages and a scripted clock.

use std::time::Duration;

use hashbrown::HashMap;
use lycosa_records::{Outcome, Purpose, Request, Source};
use lycosa_url::{AddressPolicy, FailureKind};

use super::*;
use crate::scripted::{
    Names, SECOND, answer, crawl, failed, frontier, patient, robots_or, run, run_for, turn, url, urls,
};

#[test]
fn a_response_of_a_cache_teaches_nothing_of_its_site() {
    let run_from = |source: Source| {
        let (mut frontier, _) = frontier(Settings { robots: false, retries: 1, ..Settings::default() });
        frontier.add(&[url("http://a.com/1"), url("http://a.com/2")], 0).unwrap();
        run(&mut frontier, &mut |request, now| {
            let mut page = answer(request, now, 503, &[("retry-after", "1000")], "", &[]);
            page.response.result.as_mut().unwrap().source = source;
            page
        })
    };
    let cached = run_from(Source::Cache);
    assert_eq!(urls(&cached), ["http://a.com/1", "http://a.com/2"]);
    assert!(cached[1].0 < 100 * SECOND, "{cached:?}");
    let asked = run_from(Source::Http11);
    assert!(asked.len() > 2 && asked[1].0 >= 1_000 * SECOND, "{asked:?}");
}

#[test]
fn robots_comes_first_and_intervals_hold() {
    let (mut frontier, _) = frontier(Settings::default());
    assert_eq!(frontier.add(&[url("http://a.com/"), url("http://a.com/")], 0).unwrap(), 1);
    let links = &["http://a.com/1", "http://a.com/secret", "http://b.com/", "http://a.com/"];
    let (log, settled) =
        crawl(&mut frontier, &mut robots_or("user-agent: *\ndisallow: /secret\ncrawl-delay: 3", links));
    let expected = [(0, "http://a.com/robots.txt"), (3, "http://a.com/"), (6, "http://a.com/1")];
    assert_eq!(log, expected.map(|(time, url)| (time * SECOND, url.to_owned())));
    assert_eq!(settled, [(9 * SECOND, "http://a.com/secret".to_owned(), FailureKind::RobotsDisallowed)]);
    let counts = frontier.counts();
    assert_eq!(
        (counts.pages, counts.tally.count(State::Done), counts.tally.count(State::Refused)),
        (2, 2, 1)
    );
    assert_eq!((counts.refused.scope, counts.known), (2, 3));
}

#[test]
fn a_page_is_not_asked_for_if_robots_txt_does_not_allow_what_the_job_wants_it_for() {
    let (mut frontier, _) = frontier(Settings { uses: vec!["train-ai".into()], ..Settings::default() });
    frontier.add(&["http://a.com/", "http://a.com/art/1", "http://a.com/art/open/2"].map(url), 0).unwrap();
    let robots =
        "user-agent: *\ncontent-usage: /art/ train-ai=n, search=y\ncontent-usage: /art/open/ train-ai=y";
    let (log, settled) = crawl(&mut frontier, &mut robots_or(robots, &[]));
    assert_eq!(urls(&log), ["http://a.com/robots.txt", "http://a.com/", "http://a.com/art/open/2"]);
    let (_, refused, kind) = &settled[0];
    assert_eq!((&**refused, *kind, settled.len()), ("http://a.com/art/1", FailureKind::UsageRefused, 1));
    assert_eq!(frontier.counts().tally.count(State::Refused), 1);
}

#[test]
fn licences_of_robots_txt_go_with_each_page_and_forbid_none() {
    let (mut frontier, _) = frontier(Settings { uses: vec!["train-ai".into()], ..Settings::default() });
    frontier.add(&["http://a.com/", "http://b.com/"].map(url), 0).unwrap();
    let mut named = Vec::new();
    run(&mut frontier, &mut |request, now| {
        if request.purpose == Purpose::Page {
            named.push((request.url.host().to_owned(), request.licenses.clone()));
        }
        let robots =
            if request.url.host() == "a.com" { "license: https://a.com/l.xml\nuser-agent: *\n" } else { "" };
        robots_or(robots, &[])(request, now)
    });
    named.sort_unstable();
    let expected: [(String, Vec<Box<str>>); 2] =
        [("a.com".into(), vec!["https://a.com/l.xml".into()]), ("b.com".into(), Vec::new())];
    assert_eq!(named, expected);
    assert_eq!(frontier.counts().tally.count(State::Done), 2);
}

#[test]
fn hosts_on_one_address_share_its_clock() {
    let (mut frontier, names) =
        frontier(Settings { scope: Scope::Any, robots: false, address_domains: 1, ..Settings::default() });
    for host in ["a.com", "b.com", "c.com"] {
        names.addresses.borrow_mut().insert(host.to_owned(), "93.1.1.1".parse().unwrap());
    }
    frontier.add(&["http://a.com/", "http://b.com/", "http://c.com/", "http://d.com/"].map(url), 0).unwrap();
    let log = run(&mut frontier, &mut robots_or("", &[]));
    let mut times: Vec<Micros> =
        log.iter().filter(|(_, url)| !url.contains("d.com")).map(|(time, _)| *time).collect();
    times.sort_unstable();
    assert_eq!(times, [0, SECOND / 4, SECOND / 2]);
    assert!(log.contains(&(0, "http://d.com/".to_owned())), "another address does not wait");
}

#[test]
fn speed_divides_every_delay() {
    let (mut frontier, _) = frontier(Settings { speed: 100.0, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let log = run(&mut frontier, &mut robots_or("user-agent: *\ncrawl-delay: 3", &["http://a.com/1"]));
    assert_eq!(log.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [0, 30_000, 60_000]);
}

#[test]
fn a_failure_that_may_pass_is_tried_again_later() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| failed(request, now, FailureKind::ReadTimeout));
    assert_eq!(log.iter().map(|(time, _)| time / SECOND).collect::<Vec<_>>(), [0, 10, 30]);
    assert_eq!(frontier.counts().tally.count(State::Failed), 1);
}

#[test]
fn retry_after_is_obeyed() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| match now {
        0 => answer(request, now, 429, &[("retry-after", "120")], "", &[]),
        _ => answer(request, now, 200, &[], "", &[]),
    });
    assert_eq!(log.iter().map(|(time, _)| time / SECOND).collect::<Vec<_>>(), [0, 120]);
}

#[test]
fn redirects_are_new_requests_with_their_chain() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let mut last = Vec::new();
    let log = run(&mut frontier, &mut |request, now| match request.url.as_str() {
        "http://a.com/" => answer(request, now, 301, &[("location", "http://www.a.com/")], "", &[]),
        "http://www.a.com/" => answer(request, now, 302, &[("location", "http://www.a.com/home")], "", &[]),
        _ => {
            last = request.chain.iter().map(|step| (step.url.as_str().to_owned(), step.status)).collect();
            answer(request, now, 200, &[], "", &["http://www.a.com/next"])
        }
    });
    assert_eq!(urls(&log)[..3], ["http://a.com/", "http://www.a.com/", "http://www.a.com/home"]);
    assert_eq!(log.len(), 4, "the seed's new host belongs to the crawl");
    assert_eq!(frontier.counts().pages, 2);
    assert!(last.is_empty(), "a link has no chain");
}

#[test]
fn redirects_end() {
    let settings = Settings { robots: false, max_redirects: 3, ..Settings::default() };
    let (mut frontier, _) = frontier(settings);
    frontier.add(&[url("http://a.com/0"), url("http://a.com/circle")], 0).unwrap();
    let mut count = 0;
    run(&mut frontier, &mut |request, now| {
        if request.url.as_str().ends_with("circle") {
            return answer(request, now, 302, &[("location", "http://a.com/circle")], "", &[]);
        }
        count += 1;
        answer(request, now, 302, &[("location", &format!("http://a.com/{count}"))], "", &[])
    });
    assert_eq!(count, 4);
    assert_eq!(frontier.counts().tally.count(State::Failed), 2);
}

#[test]
fn an_unreachable_robots_forbids_everything() {
    for (status, requests, fetched) in [(500, 3, false), (429, 3, false), (421, 3, false), (404, 1, true)] {
        let (mut frontier, _) = frontier(Settings::default());
        frontier.add(&[url("http://a.com/")], 0).unwrap();
        let (log, settled) = crawl(&mut frontier, &mut |request, now| match request.purpose {
            Purpose::Robots => answer(request, now, status, &[], "", &[]),
            _ => answer(request, now, 200, &[], "", &[]),
        });
        assert_eq!(log.iter().filter(|(_, url)| url.ends_with("robots.txt")).count(), requests, "{status}");
        assert_eq!(log.iter().any(|(_, url)| url.ends_with(".com/")), fetched, "{status}");
        if !fetched {
            assert_eq!(settled[0].2, FailureKind::RobotsUnreachable);
        }
    }
}

#[test]
fn a_robots_redirect_is_followed_at_the_other_hosts_pace() {
    let (mut frontier, _) = frontier(Settings::default());
    frontier.add(&[url("http://a.com/x")], 0).unwrap();
    let (log, settled) = crawl(&mut frontier, &mut |request, now| match request.url.as_str() {
        "http://a.com/robots.txt" => answer(request, now, 301, &[("location", "http://b.com/r")], "", &[]),
        "http://b.com/r" => answer(request, now, 200, &[], "user-agent: *\ndisallow: /x", &[]),
        _ => answer(request, now, 200, &[], "", &[]),
    });
    assert_eq!(urls(&log), ["http://a.com/robots.txt", "http://b.com/r"]);
    assert_eq!(settled[0].2, FailureKind::RobotsDisallowed);
}

#[test]
fn ports_of_other_protocols_are_not_asked() {
    let addresses = || AddressPolicy::default().with_ports(vec![25]);
    for (addresses, expected) in [(AddressPolicy::default(), 3), (addresses(), 2)] {
        let settings = Settings { scope: Scope::Any, robots: false, addresses, ..Settings::default() };
        let (mut frontier, _) = frontier(settings);
        frontier.add(&[url("http://a.com/"), url("http://a.com:6667/")], 0).unwrap();
        let log = run(&mut frontier, &mut |request, now| match request.url.as_str() {
            "http://a.com/moved" => answer(request, now, 302, &[("location", "http://b.com:22/")], "", &[]),
            "http://a.com/" => {
                let links = ["http://a.com:25/", "http://a.com/moved", "http://a.com:8080/"];
                answer(request, now, 200, &[], "", &links)
            }
            _ => answer(request, now, 200, &[], "", &[]),
        });
        assert!(!log.iter().any(|(_, url)| url.contains(":6667") || url.contains(":22")), "{log:?}");
        assert_eq!(log.iter().filter(|(_, url)| url.contains(":25")).count(), 3 - expected);
        assert!(log.iter().any(|(_, url)| url == "http://a.com:8080/"));
        assert_eq!(frontier.counts().refused.port as usize, expected);
    }
}

#[test]
fn one_host_has_one_queue_however_it_is_written() {
    let (mut frontier, names) = frontier(Settings { scope: Scope::Any, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let links =
        &["http://A.com./", "http://a.com.:80/1", "http://[::ffff:93.0.0.1]/2", "http://[64:ff9b::5d00:1]/3"];
    let log = run(&mut frontier, &mut robots_or("", links));
    let expected = [
        (0, "http://a.com/robots.txt"),
        (1, "http://a.com/"),
        (2, "http://93.0.0.1/robots.txt"),
        (2, "http://a.com/1"),
        (3, "http://93.0.0.1/2"),
        (4, "http://93.0.0.1/3"),
    ];
    assert_eq!(log, expected.map(|(time, url)| (time * SECOND, url.to_owned())));
    assert_eq!((frontier.counts().hosts, names.asked.borrow().len()), (2, 2));
}

#[test]
fn limits_end_the_crawl() {
    let settings =
        Settings { robots: false, max_pages: Some(3), host_interval: Duration::ZERO, ..Settings::default() };
    let (mut frontier, _) = frontier(settings);
    frontier.add(&[url("http://a.com/0")], 0).unwrap();
    let links = &["http://a.com/1", "http://a.com/2", "http://a.com/3", "http://a.com/4"];
    assert_eq!(run(&mut frontier, &mut robots_or("", links)).len(), 3);

    let (mut frontier, _) =
        self::frontier(Settings { robots: false, max_depth: Some(1), ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| {
        let next = format!("{}x", request.url.as_str());
        answer(request, now, 200, &[], "", &[&next])
    });
    assert_eq!(log.len(), 2);
    assert_eq!(frontier.counts().refused.depth, 1);
}

#[test]
fn a_lease_that_is_not_confirmed_comes_back() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..Settings::default() });
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let first = frontier.take(10, 0).unwrap().pop().unwrap();
    assert!(frontier.take(10, 599 * SECOND).unwrap().is_empty());
    assert!(frontier.take(10, 600 * SECOND).unwrap().is_empty(), "the host's clock starts again");
    let second = frontier.take(10, 601 * SECOND).unwrap().pop().unwrap();
    assert_eq!(first.url, second.url);
    let late = answer(first, 602 * SECOND, 200, &[], "", &[]);
    assert!(!frontier.expects(&late), "it must not be recorded: its URL is out again");
    frontier.done(&[late], 602 * SECOND).unwrap();
    assert_eq!((frontier.counts().late, frontier.idle()), (1, false));
    let page = answer(second, 602 * SECOND, 200, &[], "", &[]);
    assert!(frontier.expects(&page));
    frontier.done(&[page], 602 * SECOND).unwrap();
    assert!(frontier.idle());
}

#[test]
fn what_was_recorded_is_not_fetched_again_and_what_was_not_is() {
    // A crawl that is cut off after every number of batches, and goes on from what it had recorded.
    let links =
        &["http://a.com/1", "http://a.com/2", "http://a.com/secret", "http://b.com/", "http://a.com/"];
    let site = |request: Request, now: Micros| match request.purpose {
        Purpose::Robots => {
            answer(request, now, 200, &[], "user-agent: *\ndisallow: /secret\ncrawl-delay: 2", &[])
        }
        Purpose::Page if request.url.as_str() == "http://a.com/1" && request.attempt == 0 => {
            failed(request, now, FailureKind::ReadTimeout)
        }
        Purpose::Page if request.url.as_str() == "http://b.com/" => {
            answer(request, now, 301, &[("location", "http://b.com/home")], "", &[])
        }
        _ => answer(request, now, 200, &[], "", links),
    };
    for cut in 0..12 {
        let settings = Settings { scope: Scope::Any, ..Settings::default() };
        let seed = url("http://a.com/");
        let (mut first, _) = frontier(settings.clone());
        first.add(std::slice::from_ref(&seed), 0).unwrap();
        let (mut now, mut recorded, mut last_start) = (0, Vec::new(), HashMap::new());
        for _ in 0..cut {
            let requests = first.take(1, now).unwrap();
            for request in &requests {
                last_start.insert(request.url.host().to_owned(), now);
            }
            let mut pages: Vec<Outcome> = requests.into_iter().map(|request| site(request, now)).collect();
            first.judge(&mut pages);
            pages.extend(first.settled());
            first.done(&pages, now).unwrap();
            recorded.extend(pages);
            now = now.max(first.due_at().unwrap_or(now));
        }
        let (mut second, _) = frontier(settings);
        let mut restore = second.restore();
        restore.seed(&Request::get(seed.clone())).unwrap();
        recorded.iter().for_each(|page| restore.outcome(page).unwrap());
        restore.finish(now).unwrap();
        let (mut starts, mut settled) = (Vec::new(), Vec::new());
        let finished = |pages: &[Outcome]| {
            let last =
                pages.iter().filter(|page| !page.retry && page.response.request.purpose == Purpose::Page);
            last.map(|page| page.response.request.url.as_str().to_owned()).collect::<Vec<_>>()
        };
        settled.extend(finished(&recorded));
        while !second.idle() {
            let requests = second.take(1, now).unwrap();
            starts.extend(requests.iter().map(|request| (request.url.host().to_owned(), now)));
            let mut pages: Vec<Outcome> = requests.into_iter().map(|request| site(request, now)).collect();
            second.judge(&mut pages);
            pages.extend(second.settled());
            second.done(&pages, now).unwrap();
            settled.extend(finished(&pages));
            now = now.max(second.due_at().unwrap_or(now));
        }
        settled.sort_unstable();
        let expected = [
            "http://a.com/",
            "http://a.com/1",
            "http://a.com/2",
            "http://a.com/secret",
            "http://b.com/",
            "http://b.com/home",
        ];
        assert_eq!(settled, expected, "cut after {cut} batches");
        for (host, start) in starts {
            let gap = start - last_start.insert(host, start).map_or(0, |last| last.min(start));
            assert!(gap >= SECOND || start < SECOND, "cut after {cut} batches: a gap of {gap} µs");
        }
    }
}

#[test]
fn rules_of_many_hosts_are_on_disk_and_count_there_and_after_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let queue_directory = Some(directory.path().to_owned());
    let settings = Settings { queue_memory: 1 << 16, queue_directory, ..Settings::default() };
    let lines: String = (0..200).map(|line| format!("disallow: /hidden/{line}\n")).collect();
    let rules = format!("user-agent: *\n{lines}");
    let page = |host: u32, path: &str| format!("http://host{host}.com/{path}");
    let mut site = |request: Request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 200, &[], &rules, &[]),
        _ => {
            let links = ["hidden/7", "open"].map(|path| format!("http://{}/{path}", request.url.host()));
            answer(request, now, 200, &[], "", &links.each_ref().map(String::as_str))
        }
    };
    let (mut first, _) = self::frontier(settings.clone());
    let seeds: Vec<CrawlUrl> = (0..40).map(|host| url(&page(host, ""))).collect();
    first.add(&seeds, 0).unwrap();
    let log = run(&mut first, &mut site);
    assert_eq!(log.len(), 40 * 3, "robots.txt, the seed, the open page");
    assert_eq!(first.counts().tally.count(State::Refused), 40);
    assert!(directory.path().join("robots").read_dir().unwrap().count() > 0, "40 hosts ask for more memory");
    let later: Vec<CrawlUrl> = (0..40).map(|host| url(&page(host, "hidden/9"))).collect();
    first.add(&later, log.last().unwrap().0).unwrap();
    let mut snapshot = Vec::new();
    first.save(&mut snapshot).unwrap();
    drop(first);
    let (mut second, _) = Frontier::load(settings, Names::default(), &mut &snapshot[..]).unwrap();
    second.restore().finish(log.last().unwrap().0).unwrap();
    assert_eq!(run(&mut second, &mut site), [], "no robots.txt is asked for again");
    assert_eq!(second.counts().tally.count(State::Refused), 80);
}

#[test]
fn robots_is_refreshed_ahead_and_counts_on_when_that_fails() {
    const HOUR: Micros = 3_600 * SECOND;
    let settings = Settings { host_interval: Duration::from_secs(600), retries: 0, ..Settings::default() };
    let (mut frontier, _) = frontier(settings);
    let pages: Vec<CrawlUrl> = (0..200).map(|number| url(&format!("http://a.example/{number}"))).collect();
    frontier.add(&pages, 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| match request.purpose {
        Purpose::Robots if now < HOUR => answer(request, now, 200, &[], "user-agent: *\ndisallow: /13", &[]),
        Purpose::Robots => answer(request, now, 503, &[], "", &[]),
        _ => answer(request, now, 200, &[], "", &[]),
    });
    let asked: Vec<Micros> =
        log.iter().filter(|(_, url)| url.ends_with("robots.txt")).map(|(at, _)| *at).collect();
    assert!(asked[1] >= 23 * HOUR && asked[1] < 24 * HOUR, "asked for an hour ahead: {asked:?}");
    let last = log.iter().filter(|(_, url)| !url.ends_with("robots.txt")).map(|(at, _)| *at).max().unwrap();
    assert!(last > asked[1] && last < 24 * HOUR, "the old rules count until their end, and no longer");
    let counts = frontier.counts();
    assert!(counts.tally.count(State::Done) > 100 && counts.tally.count(State::Failed) > 11);
}

#[test]
fn what_a_page_is_a_copy_of_counts_as_known_where_the_job_trusts_that() {
    for (trust_canonical, expected) in [(true, 2), (false, 3)] {
        let (mut frontier, _) = frontier(Settings { trust_canonical, ..Settings::default() });
        frontier.add(&[url("http://a.example/?view=1")], 0).unwrap();
        let log = run(&mut frontier, &mut |request, now| {
            let seed = request.url.path_and_query() == "/?view=1";
            let mut page = robots_or("", &["http://a.example/", "http://a.example/2"])(request, now);
            if seed {
                page.canonical = Some(url("http://a.example/"));
            }
            page
        });
        let pages = log.iter().filter(|(_, url)| !url.ends_with("robots.txt")).count();
        assert_eq!(pages, expected, "{log:?}");
    }
}

#[test]
fn a_snapshot_can_be_made_while_a_canonical_url_is_suspected() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, _) = frontier(Settings {
        trust_canonical: true,
        seen_memory: 4096,
        seen_directory: Some(directory.path().to_owned()),
        ..Settings::default()
    });
    let pages: Vec<CrawlUrl> = (0..3_000).map(|number| url(&format!("http://a.example/{number}"))).collect();
    for some in pages.chunks(100) {
        frontier.add(some, 0).unwrap();
    }
    let requests = loop {
        let requests = frontier.take(1, frontier.due_at().unwrap_or_default()).unwrap();
        if !requests.is_empty() {
            break requests;
        }
    };
    let mut page = answer(requests.into_iter().next().unwrap(), 0, 200, &[], "", &[]);
    frontier.verify(0).unwrap();
    for copy in &pages {
        page.canonical = Some(copy.clone());
        frontier.learn_canonical(&page);
    }
    assert!(frontier.dedup.has_suspected_keys(), "most keys are on disk");
    frontier.save(&mut Vec::new()).unwrap();
}

#[test]
fn a_million_links_below_a_disallow_are_settled_in_batches() {
    let (mut frontier, _) = frontier(Settings { robots: true, ..patient() });
    let pages: Vec<CrawlUrl> = (0..5_000).map(|n| url(&format!("http://a.com/secret/{n}"))).collect();
    frontier.add(&pages, 0).unwrap();
    let (mut now, mut settled) = (0, Vec::new());
    while !frontier.idle() {
        let requests = frontier.take(10, now).unwrap();
        let answers: Vec<Outcome> = requests
            .into_iter()
            .map(|request| answer(request, now, 200, &[], "user-agent: *\ndisallow: /secret", &[]))
            .collect();
        frontier.done(&answers, now).unwrap();
        settled.push(frontier.settled().len());
        now = frontier.due_at().unwrap_or(now).max(now);
    }
    assert!(settled.iter().all(|count| *count <= 1_000), "{settled:?}");
    assert_eq!(settled.iter().sum::<usize>(), 5_000);
}

#[test]
fn a_stage_whose_clock_is_behind_shortens_no_interval() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..patient() });
    frontier.add(&[url("http://a.com/1"), url("http://a.com/2")], 0).unwrap();
    let now = 100 * SECOND;
    let mut requests = frontier.take(9, now).unwrap();
    let mut pages = vec![answer(requests.remove(0), SECOND, 200, &[], "", &[])];
    frontier.judge(&mut pages);
    assert_eq!((pages[0].response.started, pages[0].response.finished), (now, now));
    frontier.done(&pages, now).unwrap();
    assert!(frontier.take(9, now + SECOND / 10).unwrap().is_empty());
}

#[test]
fn what_was_left_out_for_lack_of_space_comes_back_as_a_seed_or_when_there_is_more() {
    let few = Settings { max_hosts: 1, ..Settings { robots: false, scope: Scope::Any, ..patient() } };
    let (mut frontier, _) = frontier(few.clone());
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let site = &mut |request: Request, now: Micros| {
        let links = ["http://a.com/more", "http://b.com/", "http://b.com/2", "http://c.com/"];
        answer(request, now, 200, &[], "", &links)
    };
    run_for(&mut frontier, 600, site);
    assert_eq!((frontier.counts().known, frontier.counts().refused.hosts), (2, 6));
    let mut snapshot = Vec::new();
    frontier.save(&mut snapshot).unwrap();

    let begin = |settings: &Settings| {
        let mut next = Frontier::load(settings.clone(), Names::default(), &mut &snapshot[..]).unwrap().0;
        next.restore().finish(601 * SECOND).unwrap();
        next
    };
    let mut next = begin(&few);
    assert_eq!(
        next.add(&[url("http://a.com/more"), url("http://b.com/")], 601 * SECOND).unwrap(),
        1,
        "a seed has space"
    );
    assert_eq!((next.counts().known, next.counts().refused.hosts), (3, 6));
    assert_eq!(next.add(&[url("http://b.com/")], 601 * SECOND).unwrap(), 0, "once");

    let mut next = begin(&Settings { max_hosts: 2, ..few });
    let again = Request { depth: 0, ..Request::get(url("http://a.com/new")) };
    next.add_requests(&[again], 601 * SECOND).unwrap();
    (6_010..7_000).for_each(|tenth| drop(turn(&mut next, tenth * SECOND / 10, site)));
    assert_eq!((next.counts().hosts, next.counts().known), (2, 5));
    let done = next.counts().tally.count(State::Done);
    assert_eq!(done, 5, "both of b.com, and what was known before, each once");
}

#[test]
fn a_domain_has_so_many_hosts_and_what_is_left_out_is_told() {
    let settings = Settings { domain_hosts: 3, max_hosts: 5, ..patient() };
    let (mut frontier, _) = frontier(settings);
    frontier.add(&[url("http://trap.com/")], 0).unwrap();
    let links: Vec<String> = (0..9)
        .map(|n| format!("http://h{n}.trap.com/"))
        .chain((0..9).map(|n| format!("http://other{n}.com/")))
        .collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let (_, messages) = run_for(&mut frontier, 600, &mut |request, now| match request.url.host() {
        "trap.com" => answer(request, now, 200, &[], "", &links),
        _ => answer(request, now, 200, &[], "", &[]),
    });
    let counts = frontier.counts();
    assert_eq!((counts.hosts, counts.refused.hosts), (5, 14));
    assert_eq!((counts.known, counts.tally.count(State::Done)), (5, 5), "admitted is what was fetched");
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(
        messages[0].contains("politeness.domain_hosts is 3; the first: http://h2.trap.com/"),
        "{messages:?}"
    );
}
