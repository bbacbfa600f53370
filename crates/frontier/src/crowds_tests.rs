//! Many hosts of one address, hosts that are not counted, and what is opened again: none of it takes the space of other hosts.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, RequestOptions};
use lycosa_url::{FailureKind, Micros};

use crate::portal_tests::own;
use crate::scripted::{Names, SECOND, answer, failed, frontier, url};
use crate::{Frontier, Scope, Settings, State};

/// A crawl of any host without robots.txt, with so many hosts in memory.
pub(crate) fn settings(directory: &Path, warm_hosts: usize) -> Settings {
    let queue_directory = Some(directory.to_owned());
    Settings { scope: Scope::Any, robots: false, warm_hosts, queue_directory, ..Settings::default() }
}

/// Gives hosts an address: number `n` of `name` the result of `address(n)`.
pub(crate) fn live_at(names: &Names, name: &str, hosts: u32, address: impl Fn(u32) -> String) {
    for number in 0..hosts {
        names.addresses.borrow_mut().insert(format!("{name}{number}.com"), address(number).parse().unwrap());
    }
}

/// The first pages of hosts.
pub(crate) fn pages(name: &str, hosts: u32) -> Vec<lycosa_url::CrawlUrl> {
    (0..hosts).map(|number| url(&format!("http://{name}{number}.com/"))).collect()
}

/// Runs a crawl until then; returns requests with their times.
pub(crate) fn run(
    frontier: &mut Frontier<Names>,
    now: &mut Micros,
    until: Micros,
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) -> Vec<(Micros, String)> {
    let mut log = Vec::new();
    while *now < until && !frontier.idle() {
        let mut outcomes = Vec::new();
        for request in frontier.take(100, *now).unwrap() {
            log.push((*now / SECOND, request.url.host().to_owned()));
            outcomes.push(site(request, *now));
        }
        frontier.judge(&mut outcomes);
        frontier.done(&outcomes, *now).unwrap();
        frontier.settled();
        // An answer to a question wakes the crawl as well.
        let due = frontier.due_at().filter(|_| frontier.counts().unresolved == 0);
        *now = due.unwrap_or(*now).max(*now + 1000);
    }
    log
}

#[test]
fn hosts_of_one_slow_address_hold_up_no_other_and_come_back_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(settings(directory.path(), 8));
    live_at(&names, "crowd", 400, |_| "93.1.1.1".to_owned());
    live_at(&names, "h", 40, |number| format!("93.2.{number}.1"));
    frontier.add(&pages("crowd", 400), 0).unwrap();
    frontier.add(&pages("h", 40), 0).unwrap();
    let (mut now, mut warm) = (0, 0);
    let mut log = run(&mut frontier, &mut now, 20 * SECOND, &mut |request, now| own(request, now));
    let others = log.iter().filter(|(_, host)| host.starts_with('h')).count();
    assert_eq!(others, 40, "all others had their turn in 20 s: {log:?}");
    while !frontier.idle() {
        let until = now + 10 * SECOND;
        log.extend(run(&mut frontier, &mut now, until, &mut |request, now| own(request, now)));
        let resting = frontier.hosts.iter().filter(|(_, queue)| queue.rests.is_some()).count();
        warm = warm.max(frontier.hosts.warm_len() - resting);
    }
    let crowd: Vec<&(Micros, String)> = log.iter().filter(|(_, host)| host.starts_with("crowd")).collect();
    assert_eq!((crowd.len(), crowd.iter().map(|(_, host)| host).collect::<BTreeSet<_>>().len()), (400, 400));
    let span = crowd[399].0 - crowd[0].0;
    let pace = frontier.settings.host_interval.as_secs_f64().max(0.1);
    assert!((span as f64) < 400.0 * pace * 1.5, "the address was never idle: {span} s");
    assert!(warm <= 12, "{warm} hosts were in memory beside those that rest");
}

#[test]
fn hosts_that_are_put_aside_are_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path(), 8);
    let (mut first, names) = frontier(settings.clone());
    live_at(&names, "crowd", 100, |_| "93.1.1.1".to_owned());
    first.add(&pages("crowd", 100), 0).unwrap();
    let mut now = 0;
    let before = run(&mut first, &mut now, 20 * SECOND, &mut |request, now| own(request, now)).len();
    let mut snapshot = Vec::new();
    first.save(&mut snapshot).unwrap();
    drop(first);
    let (mut second, _) = Frontier::load(settings, names, &mut &snapshot[..]).unwrap();
    second.restore().finish(now).unwrap();
    let after = run(&mut second, &mut now, 10_000 * SECOND, &mut |request, now| own(request, now)).len();
    assert!(before > 5 && second.idle(), "{before} before");
    assert_eq!((before + after, second.counts().tally.count(State::Done)), (100, 100));
}

#[test]
fn hosts_of_an_address_that_is_given_up_fail_together() {
    let directory = tempfile::tempdir().unwrap();
    let patience = Duration::from_secs(120);
    let (mut frontier, names) = frontier(Settings { patience, ..settings(directory.path(), 8) });
    live_at(&names, "crowd", 400, |_| "93.1.1.1".to_owned());
    live_at(&names, "h", 40, |number| format!("93.2.{number}.1"));
    frontier.add(&pages("crowd", 400), 0).unwrap();
    let mut now = 0;
    let site = &mut |request: Request, now: Micros| match request.url.host().starts_with("crowd") {
        true => failed(request, now, FailureKind::ConnectTimeout),
        false => own(request, now),
    };
    // A host that answers from time to time shows that the network is well.
    for number in 0..40 {
        frontier.add(&[url(&format!("http://h{number}.com/"))], now).unwrap();
        let until = now + 60 * SECOND;
        run(&mut frontier, &mut now, until, site);
    }
    let tally = frontier.counts().tally;
    assert_eq!((tally.count(State::Done), tally.count(State::Failed)), (40, 400), "{:?}", frontier.counts());
}

#[test]
fn hosts_that_moved_since_they_were_put_aside_are_all_asked() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(settings(directory.path(), 8));
    live_at(&names, "crowd", 100, |_| "93.1.1.1".to_owned());
    frontier.add(&pages("crowd", 100), 0).unwrap();
    let mut now = 0;
    run(&mut frontier, &mut now, 2 * SECOND, &mut |request, now| own(request, now));
    live_at(&names, "crowd", 100, |number| format!("93.3.{number}.1"));
    run(&mut frontier, &mut now, 10_000 * SECOND, &mut |request, now| own(request, now));
    assert_eq!(frontier.counts().tally.count(State::Done), 100);
}

#[test]
fn a_host_that_is_exempt_for_two_reasons_makes_space_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(settings(directory.path(), 10));
    live_at(&names, "large", 10, |number| format!("93.1.{number}.1"));
    live_at(&names, "h", 99, |number| format!("93.2.{number}.1"));
    let many: Vec<_> = (0..10)
        .flat_map(|host| (0..400).map(move |page| url(&format!("http://large{host}.com/{page}"))))
        .collect();
    frontier.add(&many, 0).unwrap();
    let mut now = 0;
    // Large, and not to be asked for an hour.
    run(&mut frontier, &mut now, SECOND, &mut |request, now| {
        answer(request, now, 429, &[("retry-after", "3000")], "", &[])
    });
    frontier.add(&pages("h", 99), now).unwrap();
    frontier.take(0, now).unwrap();
    assert_eq!(frontier.hosts.warm_len(), 20, "ten of them, and ten for which there is space");
}

#[test]
fn a_link_with_a_priority_brings_its_host_back_before_others() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(settings(directory.path(), 2));
    live_at(&names, "h", 102, |number| format!("93.2.{number}.1"));
    frontier.add(&pages("h", 101), 0).unwrap();
    let options = Some(Box::new(RequestOptions { priority: 4, ..RequestOptions::default() }));
    let urgent = Request { options, ..Request::get(url("http://h101.com/")) };
    frontier.add_requests(&[urgent], 0).unwrap();
    let log = run(&mut frontier, &mut 0, 1_000 * SECOND, &mut |request, now| own(request, now));
    let position = log.iter().position(|(_, host)| host == "h101.com");
    assert!(position.is_some_and(|position| position < 10), "{position:?} of {}", log.len());
}

#[test]
fn what_is_opened_again_waits_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path(), 4);
    let (mut first, names) = frontier(settings.clone());
    live_at(&names, "h", 400, |number| format!("93.{}.{}.1", 2 + number / 200, number % 200));
    first.add(&pages("h", 400), 0).unwrap();
    let mut now = 0;
    run(&mut first, &mut now, 10_000 * SECOND, &mut |request, now| own(request, now));
    assert_eq!(first.counts().tally.count(State::Done), 400);
    let mut snapshot = Vec::new();
    first.save(&mut snapshot).unwrap();
    drop(first);
    let (mut second, _) = Frontier::load(settings, names, &mut &snapshot[..]).unwrap();
    let mut restore = second.restore();
    let again = |host: u32| Outcome::reopened(url(&format!("http://h{host}.com/")), 0, now, Ok(200));
    for host in 0..200 {
        restore.outcome(&again(host)).unwrap();
    }
    restore.finish(now).unwrap();
    let requests: Vec<Request> = pages("h", 400).into_iter().map(Request::get).collect();
    assert_eq!(second.settled_of(&requests, now).unwrap().len(), 200, "the others wait already");
    for host in 200..400 {
        assert!(second.reopen(&again(host), now).unwrap());
    }
    assert!(second.hosts.warm_len() < 50, "{} hosts are in memory", second.hosts.warm_len());
    assert!(second.settled_of(&requests, now).unwrap().is_empty());
    let log = run(&mut second, &mut now, 20_000 * SECOND, &mut |request, now| own(request, now));
    assert_eq!((log.len(), second.counts().tally.count(State::Done)), (400, 400));
}

#[test]
fn less_space_than_the_process_before_had_is_kept_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (mut first, names) = frontier(settings(directory.path(), 1_000));
    live_at(&names, "h", 400, |number| format!("93.{}.{}.1", 2 + number / 200, number % 200));
    first.add(&pages("h", 400), 0).unwrap();
    assert_eq!(first.hosts.warm_len(), 400);
    let mut snapshot = Vec::new();
    first.save(&mut snapshot).unwrap();
    drop(first);
    let (mut second, _) = Frontier::load(settings(directory.path(), 4), names, &mut &snapshot[..]).unwrap();
    second.restore().finish(1).unwrap();
    assert!(second.hosts.warm_len() < 10, "{} hosts are in memory", second.hosts.warm_len());
    let log = run(&mut second, &mut 1, 20_000 * SECOND, &mut |request, now| own(request, now));
    assert_eq!(log.len(), 400);
}

#[test]
fn robots_of_a_host_that_left_are_asked_for_when_they_would_have_been() {
    let directory = tempfile::tempdir().unwrap();
    let run_with = |warm_hosts| {
        let settings = Settings { robots: true, ..settings(directory.path(), warm_hosts) };
        let (mut frontier, names) = frontier(settings);
        live_at(&names, "h", 400, |number| format!("93.{}.{}.1", 2 + number / 200, number % 200));
        let (mut now, mut asked) = (0, Vec::new());
        // Its rules are there once; later they cannot be had.
        for number in 0..110 {
            frontier.add(&[url(&format!("http://h0.com/{number}"))], now).unwrap();
            frontier.add(&[url(&format!("http://h{}.com/", number + 1))], now).unwrap();
            let until = now + 900 * SECOND;
            let log = run(&mut frontier, &mut now, until, &mut |request, now| match request.purpose {
                Purpose::Robots if request.url.host() == "h0.com" => {
                    asked.push(now / SECOND);
                    let status = if asked.len() == 1 { 200 } else { 503 };
                    answer(request, now, status, &[], "user-agent: *\ndisallow: /no", &[])
                }
                Purpose::Robots => answer(request, now, 404, &[], "", &[]),
                _ => own(request, now),
            });
            drop(log);
            now = until;
        }
        asked
    };
    let (stayed, left) = (run_with(usize::MAX), run_with(2));
    assert!(stayed.len() > 2, "they were asked for again: {stayed:?}");
    assert_eq!(left, stayed);
}
