//! Portals: what stands between and answers for everybody, and what looks like it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, Source};
use lycosa_url::{CrawlUrl, FailureKind, Micros};

use crate::scripted::{Names, SECOND, answer, frontier, robots_or, url};
use crate::scripted::{patient, world};
use crate::{Frontier, Settings, State};

/// What a crawl came to whose loop comes by ten times a second.
pub(crate) struct Crawled {
    pub(crate) ended: Micros,
    pub(crate) messages: Vec<String>,
    /// How often each URL was asked for, and what was confirmed of it last.
    pub(crate) asked: HashMap<String, u32>,
    bodies: HashMap<String, String>,
}

impl Crawled {
    /// URLs whose last confirmed answer holds a text.
    pub(crate) fn with(&self, text: &str) -> usize {
        self.bodies.values().filter(|body| body.contains(text)).count()
    }
}

/// Runs a crawl to its end, or for so many seconds.
pub(crate) fn run(
    frontier: &mut Frontier<Names>,
    seconds: u64,
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) -> Crawled {
    let (mut now, mut held) = (0, Vec::new());
    let mut crawled =
        Crawled { ended: 0, messages: Vec::new(), asked: HashMap::new(), bodies: HashMap::new() };
    while now < seconds * SECOND && !(frontier.idle() && held.is_empty()) {
        let requests = frontier.take(100, now).unwrap();
        for request in requests.iter().filter(|request| request.purpose == Purpose::Page) {
            *crawled.asked.entry(request.url.as_str().to_owned()).or_default() += 1;
        }
        let pages = requests.into_iter().map(|request| site(request, now)).collect();
        for page in settle(frontier, pages, &mut held, now) {
            if !page.retry && page.response.request.purpose == Purpose::Page && page.response.result.is_ok() {
                let body = String::from_utf8_lossy(page.decoded.as_deref().unwrap_or_default()).into_owned();
                crawled.bodies.insert(page.response.request.url.as_str().to_owned(), body);
            }
        }
        for page in frontier.settled().iter().filter(|page| page.is_reopened()) {
            crawled.bodies.remove(page.response.request.url.as_str());
        }
        crawled.messages.extend(frontier.messages());
        now += SECOND / 10;
    }
    crawled.ended = now;
    crawled
}

/// A page of a site's own.
pub(crate) fn own(request: Request, now: Micros) -> Outcome {
    let body = format!("<title>The page of {}</title>", request.url.as_str());
    answer(request, now, 200, &[], &body, &[])
}

/// Judges outcomes with those that were held before, and confirms what is not held now; gives it.
pub(crate) fn settle(
    frontier: &mut Frontier<Names>,
    mut pages: Vec<Outcome>,
    held: &mut Vec<Outcome>,
    now: Micros,
) -> Vec<Outcome> {
    frontier.decide(now);
    pages.extend(held.extract_if(.., |page| frontier.is_decided(page)));
    frontier.judge(&mut pages);
    let (kept, more): (Vec<Outcome>, Vec<Outcome>) =
        pages.into_iter().partition(|page| !frontier.is_held(page));
    held.extend(more);
    frontier.done(&kept, now).unwrap();
    kept
}

#[test]
fn a_cache_is_no_portal_whatever_it_answers() {
    for source in [Source::Cache, Source::Http11] {
        let (mut frontier, names) = frontier(patient());
        frontier.add(&world(&names, 6, 10), 0).unwrap();
        let crawled = run(&mut frontier, 2_000, &mut |request, now| {
            if !(3 * SECOND..300 * SECOND).contains(&now) {
                return own(request, now);
            }
            let mut page = answer(request, now, 200, &[], "please log in to this network", &[]);
            page.response.result.as_mut().unwrap().source = source;
            page
        });
        let asked_once = crawled.asked.len() == 60 && crawled.asked.values().all(|times| *times == 1);
        assert_eq!(
            asked_once && crawled.messages.is_empty(),
            source == Source::Cache,
            "{:?}",
            crawled.messages
        );
    }
}

#[test]
fn a_portal_that_answers_for_everybody_is_told_and_what_it_said_is_fetched_again() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 6, 10), 0).unwrap();
    let mut fetched = HashSet::new();
    let mut held: Vec<Outcome> = Vec::new();
    let (mut now, mut messages, mut taken_back) = (0, Vec::new(), 0);
    while now < 2_000 * SECOND && !(frontier.idle() && held.is_empty()) {
        let requests = frontier.take(100, now).unwrap();
        let captive = (3 * SECOND..300 * SECOND).contains(&now);
        let pages: Vec<Outcome> = requests
            .into_iter()
            .map(|request| match captive {
                true => {
                    answer(request, now, 200, &[], "please log in to this network", &["http://portal.com/"])
                }
                false => {
                    let body = format!("the page of {}", request.url.as_str());
                    answer(request, now, 200, &[], &body, &[])
                }
            })
            .collect();
        let kept = settle(&mut frontier, pages, &mut held, now);
        for page in kept.iter().filter(|page| !page.retry && page.response.request.purpose == Purpose::Page) {
            let body = String::from_utf8_lossy(page.decoded.as_deref().unwrap_or_default()).into_owned();
            if body.starts_with("the page of") && !body.contains("portal.com") {
                fetched.insert(page.response.request.url.as_str().to_owned());
            }
        }
        let is_page = |page: &&Outcome| page.is_reopened() && page.response.request.purpose == Purpose::Page;
        taken_back += frontier.settled().iter().filter(is_page).count();
        messages.extend(frontier.messages());
        now += SECOND / 10;
    }
    assert_eq!(fetched.len(), 60, "{messages:?}");
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("captive portal"), "{messages:?}");
    assert_eq!(taken_back, 1, "the first of them was recorded before it was known");
    let counts = frontier.counts();
    let done = counts.tally.count(State::Done);
    assert_eq!((counts.known, done, counts.pages), (61, 61, 61), "with the portal's link");
}

#[test]
fn domains_that_show_one_parking_page_are_no_portal() {
    let (mut frontier, names) = frontier(patient());
    let hosts = 50;
    for host in 0..hosts {
        names.addresses.borrow_mut().insert(format!("parked{host}.com"), "93.7.7.7".parse().unwrap());
    }
    let seeds: Vec<CrawlUrl> = (0..hosts).map(|host| url(&format!("http://parked{host}.com/"))).collect();
    frontier.add(&seeds, 0).unwrap();
    let mut held: Vec<Outcome> = Vec::new();
    let mut now = 0;
    while now < 900 * SECOND && !frontier.idle() {
        let requests = frontier.take(100, now).unwrap();
        let page = |request| answer(request, now, 200, &[], "this domain is for sale", &[]);
        let pages: Vec<Outcome> = requests.into_iter().map(page).collect();
        settle(&mut frontier, pages, &mut held, now);
        assert_eq!(frontier.messages(), Vec::<String>::new());
        now += SECOND / 10;
    }
    assert_eq!(frontier.counts().tally.count(State::Done), u64::from(hosts as u32));
}

#[test]
fn a_mirror_of_another_site_is_held_up_once() {
    let (mut frontier, names) = frontier(patient());
    world(&names, 2, 0);
    let pages = |host: u32| (0..20).map(move |n| url(&format!("http://host{host}.com/{n}")));
    frontier.add(&pages(0).collect::<Vec<_>>(), 0).unwrap();
    let (mut now, mut held) = (0, Vec::new());
    while now <= 60 * SECOND || (now < 300 * SECOND && !frontier.idle()) {
        if now == 60 * SECOND {
            frontier.add(&pages(1).collect::<Vec<_>>(), now).unwrap();
        }
        let requests = frontier.take(100, now).unwrap();
        let page = |request: Request| {
            let body = format!("the same page, number {}", request.url.path_and_query());
            answer(request, now, 200, &[], &body, &[])
        };
        let pages: Vec<Outcome> = requests.into_iter().map(page).collect();
        settle(&mut frontier, pages, &mut held, now);
        now += SECOND / 10;
    }
    assert_eq!(frontier.counts().tally.count(State::Done), 40);
    assert!(now < 100 * SECOND, "ten seconds for the first page, one for each other: {} s", now / SECOND);
}

/// A portal's page that says what was asked for.
fn varied(request: Request, now: Micros) -> Outcome {
    let body = format!("<title>Log in</title><p>before you see {} <form><input>", request.url.as_str());
    answer(request, now, 200, &[], &body, &[])
}

#[test]
fn a_portal_whose_page_differs_with_each_request_is_told_by_its_title_and_tags() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 6, 10), 0).unwrap();
    let crawled = run(&mut frontier, 2_000, &mut |request, now| match now {
        3_000_000..300_000_000 => varied(request, now),
        _ => own(request, now),
    });
    assert!(crawled.messages[0].contains("captive portal"), "{:?}", crawled.messages);
    assert_eq!((crawled.with("The page of"), crawled.with("Log in")), (60, 0), "{:?}", crawled.messages);
}

#[test]
fn a_portal_to_which_every_name_leads_is_told_whatever_it_says() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 6, 10), 0).unwrap();
    let mut number = 0;
    let crawled = run(&mut frontier, 2_000, &mut |request, now| {
        let captive = (3 * SECOND..300 * SECOND).contains(&now);
        names.lie.set(captive.then(|| "11.1.1.1".parse().unwrap()));
        names.lies_for_all.set(captive);
        number += 1;
        match captive && request.route.addresses().contains(&"11.1.1.1".parse().unwrap()) {
            true => {
                answer(request, now, 200, &[], &format!("anything: {}", "x".repeat(number % 99 + 9)), &[])
            }
            false => own(request, now),
        }
    });
    assert_eq!((crawled.with("The page of"), crawled.with("anything")), (60, 0), "{:?}", crawled.messages);
}

#[test]
fn a_portal_that_refuses_everything_is_told() {
    for status in [400, 404, 511] {
        let (mut frontier, names) = frontier(patient());
        frontier.add(&world(&names, 6, 10), 0).unwrap();
        let crawled = run(&mut frontier, 2_000, &mut |request, now| match now {
            3_000_000..300_000_000 => answer(request, now, status, &[], "no way out of this network", &[]),
            _ => own(request, now),
        });
        assert!(crawled.messages[0].contains("captive portal"), "{status}: {:?}", crawled.messages);
        assert_eq!((crawled.with("The page of"), crawled.with("no way")), (60, 0), "{status}");
    }
}

#[test]
fn sites_that_refuse_alike_are_believed_when_another_answers_and_are_not_asked_again_and_again() {
    let (mut frontier, names) = frontier(Settings { robots: true, ..patient() });
    frontier.add(&world(&names, 6, 10), 0).unwrap();
    let page = "<html><head><title>403 Forbidden</title></head><body><center>nginx";
    let crawled = run(&mut frontier, 2_000, &mut |request, now| match (
        request.purpose,
        request.url.path_and_query(),
    ) {
        (Purpose::Robots, _) => robots_or("User-agent: *\nAllow: /", &[])(request, now),
        (_, "/0" | "/1" | "/2") => own(request, now),
        _ => answer(request, now, 403, &[], page, &[]),
    });
    assert_eq!(crawled.messages, Vec::<String>::new());
    assert_eq!((crawled.with("The page of"), crawled.with("nginx")), (18, 42));
    let most = crawled.asked.values().max();
    assert!(most <= Some(&4) && crawled.ended < 180 * SECOND, "{most:?}, {} s", crawled.ended / SECOND);
}

#[test]
fn sites_that_all_refuse_alike_are_waited_for_no_longer_than_allowed() {
    let longest_suspension = Some(Duration::from_secs(86_400));
    let (mut frontier, names) = frontier(Settings { longest_suspension, ..patient() });
    frontier.add(&world(&names, 6, 10), 0).unwrap();
    let crawled = run(&mut frontier, 90_000, &mut |request, now| match request.url.path_and_query() {
        "/0" | "/1" | "/2" => own(request, now),
        _ => answer(request, now, 403, &[], "forbidden by the very same rule", &[]),
    });
    assert_eq!(crawled.ended / SECOND / 60, 24 * 60, "{:?}", crawled.messages);
    assert_eq!((crawled.messages.len(), crawled.with("forbidden")), (1, 0), "{:?}", crawled.messages);
    assert_eq!(frontier.counts().tally.count(State::Failed), 0);
    let most = crawled.asked.values().max();
    assert!(most <= Some(&130), "five an hour of each at most, {most:?} in a day");
}

#[test]
fn names_that_do_not_exist_and_lead_to_a_search_page_are_no_portal() {
    let (mut frontier, names) = frontier(patient());
    names.lie.set(Some("11.1.1.1".parse().unwrap()));
    let mut seeds = world(&names, 3, 20);
    for host in ["gone1.com", "gone2.com", "gone3.com"] {
        names.addresses.borrow_mut().insert(host.to_owned(), "11.1.1.1".parse().unwrap());
        seeds.extend((0..40).map(|n| url(&format!("http://{host}/{n}"))));
    }
    frontier.add(&seeds, 0).unwrap();
    let crawled =
        run(&mut frontier, 3_000, &mut |request, now| match request.url.host().starts_with("gone") {
            true => answer(request, now, 200, &[], "did you mean one of these addresses?", &[]),
            false => own(request, now),
        });
    assert_eq!(
        (crawled.with("The page of"), crawled.with("did you mean")),
        (60, 120),
        "{:?}",
        crawled.messages
    );
    let most = crawled.asked.values().max();
    assert!(most <= Some(&4), "each is asked for {most:?} times");
}

#[test]
fn large_answers_that_are_the_same_are_not_held_for_long_whoever_gives_them() {
    const BYTES: usize = 1 << 20;
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 16, 12), 0).unwrap();
    let same = "s".repeat(BYTES);
    let (mut now, mut most, mut held) = (0, 0, Vec::new());
    while now < 60 * SECOND {
        let requests = frontier.take(100, now).unwrap();
        let page = |request: Request| match request.url.path_and_query() {
            "/0" => {
                answer(request.clone(), now, 200, &[], &format!("the page of {}", request.url.host()), &[])
            }
            _ => answer(request, now, 200, &[], &same, &[]),
        };
        let pages: Vec<Outcome> = requests.into_iter().map(page).collect();
        settle(&mut frontier, pages, &mut held, now);
        most = most.max(held.len() * BYTES);
        now += SECOND / 10;
    }
    assert!((2 << 20..=24 << 20).contains(&most), "eight MiB, and a page of each host: {most}");
}

#[test]
fn while_resolvers_are_in_trouble_answers_do_not_pile_up() {
    let (mut frontier, names) = frontier(patient());
    let (known, strangers): (Vec<_>, Vec<_>) =
        world(&names, 12, 60).into_iter().partition(|url| ["host0.com", "host1.com"].contains(&url.host()));
    frontier.add(&known, 0).unwrap();
    let (mut now, mut held, mut most) = (0, Vec::new(), 0);
    while now < 50 * SECOND {
        if now == 5 * SECOND {
            names.everything_fails.set(Some(FailureKind::NameTimeout));
            frontier.add(&strangers, now).unwrap();
        }
        let requests = frontier.take(100, now).unwrap();
        let pages = requests.into_iter().map(|request| own(request, now)).collect();
        settle(&mut frontier, pages, &mut held, now);
        most = most.max(held.len());
        now += SECOND / 10;
    }
    assert_eq!(frontier.suspensions().len(), 1, "names");
    assert!(frontier.counts().tally.count(State::Done) > 80 && most <= 2, "{most} answers are held");
}

#[test]
fn a_portal_is_told_when_one_host_alone_has_anything_left() {
    let (mut frontier, names) = frontier(patient());
    let mut seeds = world(&names, 6, 2);
    seeds.extend((10..60).map(|page| url(&format!("http://host0.com/{page}"))));
    frontier.add(&seeds, 0).unwrap();
    let crawled = run(&mut frontier, 2_000, &mut |request, now| match now {
        20_000_000..60_000_000 => varied(request, now),
        _ => own(request, now),
    });
    assert!(crawled.messages[0].contains("captive portal"), "{:?}", crawled.messages);
    assert_eq!((crawled.with("The page of"), crawled.with("Log in")), (62, 0), "{:?}", crawled.messages);
}

#[test]
fn a_site_of_many_pages_that_are_alike_is_held_up_once() {
    let (mut frontier, names) = frontier(Settings { robots: true, ..patient() });
    let mut seeds = world(&names, 6, 2);
    seeds.extend((10..110).map(|page| url(&format!("http://host0.com/{page}"))));
    frontier.add(&seeds, 0).unwrap();
    let crawled = run(&mut frontier, 2_000, &mut |request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 200, &[], "User-agent: *\nAllow: /", &[]),
        Purpose::Page if now < 6 * SECOND => own(request, now),
        _ => {
            let kind = request.url.path_and_query().len() * 10 + (now / SECOND / 5) as usize;
            answer(request, now, 200, &[], &format!("<title>Results of kind {kind}</title><p>"), &[])
        }
    });
    assert_eq!(crawled.messages, Vec::<String>::new());
    assert_eq!(frontier.counts().tally.count(State::Done), 112);
    assert!(crawled.ended < 140 * SECOND, "a second for each page: {} s", crawled.ended / SECOND);
}

#[test]
fn what_looked_like_a_portal_is_asked_for_once_more_and_not_again_and_again() {
    let settings = Settings { host_interval: Duration::from_millis(10), ..patient() };
    let (mut frontier, names) = frontier(settings);
    frontier.add(&world(&names, 12, 4), 0).unwrap();
    let crawled = run(&mut frontier, 600, &mut |request, now| match request.url.path_and_query() {
        // The last of each host but one is missing.
        "/3" if request.url.host() != "host7.com" => {
            answer(request, now, 404, &[], "<title>Not here</title>", &[])
        }
        _ => own(request, now),
    });
    assert_eq!((crawled.with("The page of"), crawled.with("Not here")), (37, 11), "{:?}", crawled.messages);
    let most = crawled.asked.values().max();
    assert!(most <= Some(&3), "each is asked for {most:?} times");
}
