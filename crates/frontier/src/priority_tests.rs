//! Priorities of seeds and links order a crawl: of a host, among hosts, and after a restart.

use std::time::Duration;

use lycosa_records::{Outcome, Request, RequestOptions};

use super::scripted::{Names, answer, frontier, url};
use super::*;
use crate::waiting::Waiting;

fn settings() -> Settings {
    let (host_interval, address_interval) = (Duration::ZERO, Duration::ZERO);
    Settings { robots: false, scope: Scope::Any, host_interval, address_interval, ..Settings::default() }
}

/// The links of the first page, and their priorities.
const LINKS: [(&str, i32); 7] = [
    ("http://b.com/low", -1),
    ("http://a.com/lowest", -9),
    ("http://a.com/usual", 0),
    ("http://a.com/first", 2),
    ("http://a.com/second", 2),
    ("http://a.com/high", 1),
    ("http://c.com/highest", 4),
];

/// A crawl whose first page was recorded, and that page.
fn begun() -> (Frontier<Names>, Outcome) {
    let (mut frontier, _) = frontier(settings());
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let leased = take_one(&mut frontier, &mut 0).unwrap();
    let mut page = answer(leased, 0, 200, &[], "", &LINKS.map(|(link, _)| link));
    assert!(page.links.set_priorities(LINKS.map(|(_, priority)| priority).to_vec()));
    frontier.judge([&mut page]);
    frontier.done([&page], 0).unwrap();
    (frontier, page)
}

fn take_one(frontier: &mut Frontier<Names>, now: &mut Micros) -> Option<Request> {
    for _ in 0..100 {
        if let Some(request) = frontier.take(1, *now).unwrap().pop() {
            return Some(request);
        }
        *now = (*now).max(frontier.due_at().unwrap_or(0));
    }
    None
}

/// Fetches the rest, one URL after the other; returns their order.
fn order(frontier: &mut Frontier<Names>, mut now: Micros) -> Vec<String> {
    let mut asked = Vec::new();
    while let Some(request) = take_one(frontier, &mut now) {
        asked.push(request.url.as_str().trim_start_matches("http://").to_owned());
        let mut page = answer(request, now, 200, &[], "", &[]);
        frontier.judge([&mut page]);
        frontier.done([&page], now).unwrap();
    }
    asked
}

const EXPECTED: [&str; 7] = [
    "c.com/highest",
    "a.com/first",
    "a.com/second",
    "a.com/high",
    "a.com/usual",
    "b.com/low",
    "a.com/lowest",
];

#[test]
fn greater_priorities_come_first_of_a_host_and_among_hosts() {
    let (mut frontier, _) = begun();
    assert_eq!(order(&mut frontier, 0), EXPECTED);
    assert!(frontier.idle());
}

#[test]
fn a_snapshot_and_a_replay_of_the_log_keep_the_order() {
    let (mut saved, page) = begun();
    let mut snapshot = Vec::new();
    saved.save(&mut snapshot).unwrap();
    let (mut loaded, _) = Frontier::load(settings(), Names::default(), &mut &snapshot[..]).unwrap();
    loaded.restore().finish(1).unwrap();
    let mut replayed = Frontier::new(settings(), Names::default()).unwrap();
    let mut restore = replayed.restore();
    restore.seed(&Request::get(url("http://a.com/"))).unwrap();
    restore.outcome(&page).unwrap();
    restore.finish(1).unwrap();
    assert_eq!(order(&mut loaded, 1), EXPECTED);
    assert_eq!(order(&mut replayed, 1), EXPECTED);
}

#[test]
fn a_retry_and_a_redirect_keep_the_priority() {
    let (mut frontier, _) = frontier(settings());
    let options = |priority| Some(Box::new(RequestOptions { priority, ..RequestOptions::default() }));
    let seeds = [("http://a.com/old", 3), ("http://a.com/usual", 0)];
    let seeds =
        seeds.map(|(seed, priority)| Request { options: options(priority), ..Request::get(url(seed)) });
    frontier.add_requests(&seeds, 0).unwrap();
    let first = take_one(&mut frontier, &mut 0).unwrap();
    let mut moved = answer(first, 0, 301, &[("location", "http://a.com/new")], "", &[]);
    frontier.judge([&mut moved]);
    frontier.done([&moved], 0).unwrap();
    let second = take_one(&mut frontier, &mut 0).unwrap();
    assert_eq!((second.url.as_str(), second.options.clone()), ("http://a.com/new", options(3)));
    let mut failed = super::scripted::failed(second, 0, lycosa_url::FailureKind::ConnectionClosed);
    frontier.judge([&mut failed]);
    assert!(failed.retry);
    frontier.done([&failed], 0).unwrap();
    let retried = frontier.hosts.find("a.com").unwrap();
    assert_eq!(frontier.hosts[retried].level(0), 3);
}

#[test]
fn a_url_that_waits_for_its_second_try_lifts_no_other() {
    let mut queue = crate::queue::Queue::new("a.com");
    let options = Some(Box::new(RequestOptions { priority: 4, ..RequestOptions::default() }));
    queue.later.push(Waiting { due: 9, options, ..Waiting::new(url("http://a.com/failed")) });
    assert_eq!((queue.level(0), queue.level(9)), (4, 4), "nothing else waits");
    queue.front.push(Waiting::new(url("http://a.com/")));
    assert_eq!((queue.level(0), queue.level(9)), (0, 4));
}

#[test]
fn a_priority_alone_makes_no_other_request() {
    let (mut frontier, _) = begun();
    frontier.add(&[url("http://a.com/first")], 0).unwrap();
    assert_eq!(order(&mut frontier, 0).len(), LINKS.len(), "known by its URL");
}
