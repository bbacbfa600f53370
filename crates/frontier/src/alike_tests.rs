//! Sites that show the same pages, and no portal: the crawl is not held up for them, and a portal is told all the same.

use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request};
use lycosa_url::Micros;

use crate::portal_tests::{own, run, settle};
use crate::scripted::{SECOND, answer, frontier, url};
use crate::scripted::{patient, world};
use crate::{Frontier, Settings, State};

/// What a web server says where it has nothing.
const NOT_FOUND: &str =
    "<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center>";

/// Any host, with robots.txt.
fn polite() -> Settings {
    Settings { robots: true, ..patient() }
}

/// A site without a robots.txt, of which only the first page is there.
fn mostly_dead(request: Request, now: Micros) -> Outcome {
    match request.url.path_and_query() {
        "/0" => own(request, now),
        _ => answer(request, now, 404, &[], NOT_FOUND, &[]),
    }
}

#[test]
fn sites_of_one_web_server_whose_last_links_are_dead_are_no_portal() {
    let (mut frontier, names) = frontier(polite());
    frontier.add(&world(&names, 5, 11), 0).unwrap();
    let crawled = run(&mut frontier, 600, &mut mostly_dead);
    assert_eq!(crawled.messages, Vec::<String>::new());
    assert_eq!((crawled.with("The page of"), crawled.with("404 Not Found")), (5, 50));
    assert!(crawled.ended < 20 * SECOND, "{} s", crawled.ended / SECOND);
    assert!(crawled.asked.values().all(|asked| *asked == 1), "{:?}", crawled.asked);
}

#[test]
fn two_sites_that_give_one_page_are_not_asked_again() {
    for status in [200, 404] {
        let (mut frontier, names) = frontier(polite());
        frontier.add(&world(&names, 6, 6), 0).unwrap();
        let crawled = run(&mut frontier, 600, &mut |request, now| match (
            request.url.host(),
            request.url.path_and_query(),
        ) {
            (_, "/robots.txt") => answer(request, now, 200, &[], "User-agent: *\nAllow: /", &[]),
            ("host1.com" | "host4.com", "/3") => {
                answer(request, now, status, &[], "<title>The same</title>", &[])
            }
            _ => own(request, now),
        });
        assert_eq!((crawled.with("The page of"), crawled.with("The same")), (34, 2), "{status}");
        let asked = |host: &str| crawled.asked[&format!("http://{host}.com/3")];
        assert_eq!((asked("host1"), asked("host4")), (1, 1), "{status}");
        assert_eq!(crawled.messages, Vec::<String>::new());
    }
}

#[test]
fn a_crawl_that_goes_on_where_only_dead_links_are_left_knows_what_is_its_sites_own() {
    let (mut before, names) = frontier(polite());
    before.add(&world(&names, 5, 21), 0).unwrap();
    run(&mut before, 10, &mut mostly_dead);
    let mut snapshot = Vec::new();
    before.save(&mut snapshot).unwrap();
    let (mut frontier, _) = Frontier::load(polite(), names.clone(), &mut &snapshot[..]).unwrap();
    frontier.restore().finish(10 * SECOND).unwrap();
    // It was killed: robots.txt files are asked for again.
    frontier.doubt_last(0, 10 * SECOND);
    let crawled = run(&mut frontier, 600, &mut mostly_dead);
    assert_eq!(crawled.messages, Vec::<String>::new());
    assert_eq!(frontier.counts().tally.count(State::Done), 105);
}

#[test]
fn one_site_under_four_names_is_held_up_once_and_not_for_each_path() {
    let (mut frontier, names) = frontier(polite());
    frontier.add(&world(&names, 4, 40), 0).unwrap();
    let mut rules = 0;
    let crawled = run(&mut frontier, 900, &mut |request, now| match request.purpose {
        Purpose::Robots => {
            rules += 1;
            answer(request, now, 200, &[], "User-agent: *\nDisallow: /private", &[])
        }
        _ => {
            let body = format!("<title>Brand X {}</title><p>the same", request.url.path_and_query());
            answer(request, now, 200, &[], &body, &[])
        }
    });
    assert_eq!((crawled.messages.len(), crawled.with("Brand X")), (0, 160), "{:?}", crawled.messages);
    assert!(
        crawled.ended < 80 * SECOND,
        "a second for each of 40 pages, and one delay: {} s",
        crawled.ended / SECOND
    );
    let asked: u32 = crawled.asked.values().sum();
    assert!(asked <= 180 && rules <= 24, "{asked} requests for 160 pages, {rules} for robots.txt");
}

#[test]
fn a_portal_is_told_also_where_each_site_has_redirected_to_another_domain() {
    let (mut frontier, names) = frontier(polite());
    frontier.add(&world(&names, 8, 30), 0).unwrap();
    let crawled = run(&mut frontier, 2_000, &mut |request, now| match request.url.path_and_query() {
        _ if (12 * SECOND..200 * SECOND).contains(&now) => {
            answer(request, now, 200, &[], "<title>Log in</title> to this network", &[])
        }
        "/robots.txt" => answer(request, now, 200, &[], "User-agent: *\nDisallow: /private", &[]),
        "/3" => answer(request, now, 302, &[("location", "http://partner.org/")], "", &[]),
        _ => own(request, now),
    });
    assert!(crawled.messages[0].contains("captive portal"), "{:?}", crawled.messages);
    assert_eq!(
        (crawled.with("The page of"), crawled.with("Log in")),
        (8 * 29 + 1, 0),
        "{:?}",
        crawled.messages
    );
}

#[test]
fn a_portal_that_comes_back_soon_is_told_again() {
    let (mut frontier, names) = frontier(polite());
    frontier.add(&world(&names, 8, 60), 0).unwrap();
    let crawled =
        run(&mut frontier, 2_000, &mut |request, now| match (now / SECOND, request.url.path_and_query()) {
            // At the beginning of the crawl, too: what it said then is taken for the sites' own.
            (0..5 | 30..60 | 90..140, _) => {
                answer(request, now, 200, &[], "<title>Log in</title> to this network", &[])
            }
            (_, "/robots.txt") => answer(request, now, 200, &[], "User-agent: *\nDisallow: /private", &[]),
            _ => own(request, now),
        });
    assert!(crawled.with("Log in") <= 40, "{} {:?}", crawled.with("Log in"), crawled.messages);
    assert_eq!(crawled.messages.len(), 4, "{:?}", crawled.messages);
}

#[test]
fn a_portal_that_has_no_robots_txt_is_told_by_pages_alone_and_believed_by_nobody() {
    for (status, body) in [(404, ""), (200, ""), (503, "busy")] {
        let (mut frontier, names) = frontier(polite());
        frontier.add(&world(&names, 8, 30), 0).unwrap();
        let crawled = run(&mut frontier, 3_000, &mut |request, now| match request.url.path_and_query() {
            "/robots.txt" if (12 * SECOND..180 * SECOND).contains(&now) => {
                answer(request, now, status, &[], body, &[])
            }
            "/robots.txt" => answer(request, now, 200, &[], "User-agent: *\nDisallow: /private", &[]),
            _ if (12 * SECOND..180 * SECOND).contains(&now) => {
                answer(request, now, 200, &[], "<title>Log in</title> to this network", &[])
            }
            _ => own(request, now),
        });
        assert_eq!(
            (crawled.with("The page of"), crawled.with("Log in")),
            (240, 0),
            "{status}: {:?}",
            crawled.messages
        );
    }
}

#[test]
fn a_site_that_gives_its_shell_for_its_robots_txt_and_its_last_pages_ends() {
    for hosts in [1, 4] {
        let (mut frontier, names) = frontier(polite());
        let mut seeds = world(&names, hosts, 1);
        seeds.extend((1..8).map(|page| url(&format!("http://host0.com/{page}"))));
        frontier.add(&seeds, 0).unwrap();
        let mut rules = 0;
        let crawled = run(&mut frontier, 600, &mut |request, now| {
            rules += u32::from(request.purpose == Purpose::Robots);
            match (request.url.host(), request.url.path_and_query()) {
                (_, "/0") => own(request, now),
                ("host0.com", _) => answer(request, now, 200, &[], "<title>App</title><div>", &[]),
                _ => answer(request, now, 403, &[], "", &[]),
            }
        });
        assert_eq!(crawled.messages, Vec::<String>::new());
        assert_eq!(frontier.counts().tally.count(State::Done), 7 + u64::from(hosts));
        assert!(
            crawled.ended < 60 * SECOND && rules <= 16,
            "{} s, {rules} for robots.txt",
            crawled.ended / SECOND
        );
    }
}

#[test]
fn sites_that_cannot_be_asked_soon_are_waited_for_before_anything_is_decided() {
    let settings = Settings { host_interval: Duration::from_secs(15), ..polite() };
    let (mut frontier, names) = frontier(settings);
    frontier.add(&world(&names, 16, 4), 0).unwrap();
    let crawled = run(&mut frontier, 900, &mut |request, now| match request.url.path_and_query() {
        "/robots.txt" => answer(request, now, 404, &[], "", &[]),
        path => {
            let body = format!("<title>For sale</title><p>{}", ["<b>", "<i>"][path.len() % 2]);
            answer(request, now, 200, &[], &body, &[])
        }
    });
    assert_eq!(crawled.messages, Vec::<String>::new());
    assert_eq!(frontier.counts().tally.count(State::Done), 64);
}

#[test]
fn where_no_more_may_be_held_nothing_is_asked_for_until_somebody_was_asked() {
    let (mut frontier, names) = frontier(polite());
    frontier.add(&world(&names, 16, 12), 0).unwrap();
    let large = format!("<title>The same</title>{}", "s".repeat(1 << 20));
    let (mut now, mut most, mut held, mut messages) = (0, 0, Vec::new(), Vec::new());
    while now < 600 * SECOND && !(frontier.idle() && held.is_empty()) {
        let requests = frontier.take(100, now).unwrap();
        let page = |request: Request| match request.url.path_and_query() {
            "/robots.txt" => answer(request, now, 404, &[], "", &[]),
            "/0" => own(request, now),
            _ => answer(request, now, 200, &[], &large, &[]),
        };
        let pages: Vec<Outcome> = requests.into_iter().map(page).collect();
        settle(&mut frontier, pages, &mut held, now);
        most = most.max(held.len());
        messages.extend(frontier.messages());
        now += SECOND / 10;
    }
    assert_eq!(messages, Vec::<String>::new());
    assert_eq!(frontier.counts().tally.count(State::Done), 192);
    assert!((3..=6).contains(&most), "eight MiB, each as it came and as it was decoded: {most}");
}

#[test]
fn a_robots_txt_that_is_missing_tells_that_sites_whose_last_pages_are_alike_are_there() {
    let settings = Settings { host_interval: Duration::from_millis(10), robots: true, ..patient() };
    let (mut frontier, names) = frontier(settings);
    frontier.add(&world(&names, 16, 4), 0).unwrap();
    let crawled = run(&mut frontier, 2_000, &mut |request, now| match request.url.path_and_query() {
        // A portal, at first.
        "/robots.txt" if !(SECOND..30 * SECOND).contains(&now) => answer(request, now, 404, &[], "", &[]),
        "/3" | "/robots.txt" => answer(request, now, 200, &[], "<title>Imprint</title>", &[]),
        _ => own(request, now),
    });
    assert_eq!((crawled.with("The page of"), crawled.with("Imprint")), (48, 16), "{:?}", crawled.messages);
    assert_eq!(crawled.messages.len(), 2, "suspended, and goes on: {:?}", crawled.messages);
    assert!(crawled.ended < 120 * SECOND, "{} s, {:?}", crawled.ended / SECOND, crawled.messages);
}

#[test]
fn answers_that_are_looked_at_long_after_they_came_are_no_portals_before_anybody_was_asked() {
    let settings = Settings { host_interval: Duration::from_millis(10), robots: true, ..patient() };
    let (mut frontier, names) = frontier(settings);
    frontier.add(&world(&names, 16, 2), 0).unwrap();
    let (mut now, mut held, mut answers, mut messages) = (0, Vec::new(), Vec::new(), Vec::new());
    while now < 600 * SECOND && !(frontier.idle() && held.is_empty() && answers.is_empty()) {
        for request in frontier.take(100, now).unwrap() {
            answers.push(match request.url.path_and_query() {
                "/robots.txt" => answer(request, now, 404, &[], "", &[]),
                "/1" => answer(request, now, 200, &[], "<title>Imprint</title>", &[]),
                _ => own(request, now),
            });
        }
        // Pages are parsed six seconds later.
        let is_parsed = |page: &mut Outcome| {
            page.response.request.purpose == Purpose::Robots || page.response.finished + 6 * SECOND <= now
        };
        let pages = answers.extract_if(.., is_parsed).collect();
        settle(&mut frontier, pages, &mut held, now);
        messages.extend(frontier.messages());
        now += SECOND / 10;
    }
    assert_eq!(messages, Vec::<String>::new());
    assert_eq!(frontier.counts().tally.count(State::Done), 32);
}
