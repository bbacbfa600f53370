//! Hosts that fail and wait on disk for their next try: each is judged as if it had stayed in memory, and none is lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request};
use lycosa_url::{FailureKind, Micros};

use crate::crowds_tests::{live_at, pages, run, settings};
use crate::portal_tests::own;
use crate::scripted::{Names, SECOND, answer, failed, frontier, url};
use crate::{Frontier, Settings, State};

/// A crawl with robots.txt, two minutes of patience, and so many hosts in memory.
fn patient(directory: &Path, warm_hosts: usize) -> Settings {
    Settings { robots: true, patience: Duration::from_secs(120), ..settings(directory, warm_hosts) }
}

/// Hosts that refuse all connections, that have no name, and that refuse all but their robots.txt; some that answer; and one with
/// so many pages, a second each, so that other work goes on.
fn add_hosts(frontier: &mut Frontier<Names>, names: &Names, busy: u32) {
    live_at(names, "dead", 30, |number| format!("93.1.{number}.1"));
    live_at(names, "half", 30, |number| format!("93.2.{number}.1"));
    live_at(names, "busy", 1, |_| "93.99.1.1".to_owned());
    let busy: Vec<_> = (0..busy).map(|page| url(&format!("http://busy0.com/{page}"))).collect();
    frontier.add(&busy, 0).unwrap();
    live_at(names, "h", 400, |number| format!("93.{}.{}.1", 3 + number / 200, number % 200));
    for number in 0..30 {
        names.failing.borrow_mut().insert(format!("unnamed{number}.com"), FailureKind::NameServerFailure);
    }
    for name in ["dead", "half", "unnamed"] {
        frontier.add(&pages(name, 30), 0).unwrap();
    }
}

/// What these answer.
fn site(request: Request, now: Micros) -> Outcome {
    let is = |name: &str| request.url.host().starts_with(name);
    match request.purpose {
        Purpose::Robots if !is("dead") => answer(request, now, 404, &[], "", &[]),
        _ if is("busy") || is("h") && !is("half") => own(request, now),
        _ => failed(request, now, FailureKind::ConnectRefused),
    }
}

/// Runs the crawl for so many minutes, with a new host that answers in each. Returns the requests, and the most hosts in memory.
fn run_minutes(
    frontier: &mut Frontier<Names>,
    minutes: std::ops::Range<u32>,
) -> (Vec<(Micros, String)>, usize) {
    let (mut log, mut warm) = (Vec::new(), 0);
    for minute in minutes {
        let mut now = Micros::from(minute) * 60 * SECOND;
        frontier.add(&pages("h", minute + 1)[minute as usize..], now).unwrap();
        let until = now + 60 * SECOND;
        log.extend(run(frontier, &mut now, until, &mut site));
        warm = warm.max(frontier.hosts.warm_len());
    }
    (log, warm)
}

/// The seconds in which each host that fails was asked.
fn tries(log: &[(Micros, String)]) -> BTreeMap<&str, Vec<Micros>> {
    let mut tries = BTreeMap::<_, Vec<_>>::new();
    let fails = |host: &str| ["dead", "half", "unnamed"].iter().any(|name| host.starts_with(name));
    for (second, host) in log.iter().filter(|(_, host)| fails(host)) {
        tries.entry(&**host).or_default().push(*second);
    }
    tries
}

#[test]
fn hosts_that_fail_are_tried_on_disk_as_often_as_in_memory() {
    let run_with = |warm_hosts| {
        let directory = tempfile::tempdir().unwrap();
        let (mut frontier, names) = frontier(patient(directory.path(), warm_hosts));
        add_hosts(&mut frontier, &names, 2_390);
        let (log, warm) = run_minutes(&mut frontier, 0..5);
        let late = run_minutes(&mut frontier, 5..40);
        let tally = frontier.counts().tally;
        assert_eq!((tally.count(State::Failed), tally.count(State::Done)), (90, 2_430), "{warm_hosts}");
        assert_eq!((frontier.counts().unresolved, frontier.hosts.retries.is_empty()), (0, true));
        let asked = names.refreshed.borrow().iter().filter(|name| name.starts_with("unnamed")).count();
        (log.into_iter().chain(late.0).collect::<Vec<_>>(), warm.max(late.1), late.1, asked)
    };
    let (stayed, all, ..) = run_with(usize::MAX);
    let (left, early, late, _) = run_with(8);
    assert!(all >= 90, "{all} hosts in memory, {early} early and {late} late if some may leave");
    let (stayed, left) = (tries(&stayed), tries(&left));
    assert_eq!((stayed.len(), left.len()), (60, 60));
    for (host, times) in &stayed {
        assert_eq!(left[host].len(), times.len(), "{host}: {times:?}, {:?}", left[host]);
        let late = left[host][0] - times[0]; // there was no space
        let differ = times.iter().zip(&left[host]).any(|(one, other)| (one + late).abs_diff(*other) > 1);
        assert!(!differ, "{host}: {times:?}, {:?}", left[host]);
    }
}

#[test]
fn hosts_that_fail_leave_memory_and_come_back_for_each_try() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(patient(directory.path(), 8));
    add_hosts(&mut frontier, &names, 2_390);
    run_minutes(&mut frontier, 0..4);
    run(&mut frontier, &mut (240 * SECOND), 260 * SECOND, &mut site);
    // Those with rules that a captive portal may have given stay for a while.
    let (warm, failing) = (frontier.hosts.warm_len(), frontier.hosts.cold.failing_urls());
    assert!(warm < 45 && failing > 50, "{warm} hosts are in memory, {failing} URLs on disk");
    assert!(frontier.due_at().is_some() && !frontier.idle());
    // They have an address, and answer.
    names.failing.borrow_mut().clear();
    let mut now = 260 * SECOND;
    run(&mut frontier, &mut now, 10_000 * SECOND, &mut |request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 404, &[], "", &[]),
        _ => own(request, now),
    });
    assert_eq!((frontier.counts().tally.count(State::Done), frontier.hosts.cold.failing_urls()), (2_484, 0));
}

#[test]
fn when_only_hosts_on_disk_are_left_the_crawl_ends_after_the_patience() {
    let ended = |warm_hosts| {
        let directory = tempfile::tempdir().unwrap();
        let (mut frontier, names) = frontier(patient(directory.path(), warm_hosts));
        add_hosts(&mut frontier, &names, 235);
        let (mut log, _) = run_minutes(&mut frontier, 0..4);
        let mut now = 240 * SECOND;
        log.extend(run(&mut frontier, &mut now, 10_000 * SECOND, &mut site));
        assert!(frontier.idle());
        assert_eq!(frontier.counts().tally.count(State::Failed), 90);
        log.last().map(|(second, _)| *second)
    };
    let (stayed, left) = (ended(usize::MAX), ended(8));
    assert!(
        stayed > Some(240) && left >= stayed && left <= stayed.map(|at| at + 60),
        "{left:?}, not {stayed:?}"
    );
}

#[test]
fn hosts_that_wait_for_a_try_are_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let settings = patient(directory.path(), 8);
    let (mut first, names) = frontier(settings.clone());
    add_hosts(&mut first, &names, 2_390);
    run_minutes(&mut first, 0..4);
    run(&mut first, &mut (240 * SECOND), 260 * SECOND, &mut site);
    assert!(first.hosts.cold.failing_urls() > 50);
    let mut snapshot = Vec::new();
    first.save(&mut snapshot).unwrap();
    drop(first);
    let (mut second, _) = Frontier::load(settings, names, &mut &snapshot[..]).unwrap();
    second.restore().finish(260 * SECOND);
    let mut now = 260 * SECOND;
    run(&mut second, &mut now, 20_000 * SECOND, &mut site);
    let tally = second.counts().tally;
    assert_eq!((tally.count(State::Failed), tally.count(State::Done)), (90, 2_394));
    assert!(second.idle());
}

#[test]
fn failures_that_were_the_crawls_own_are_forgotten_on_disk_too() {
    let directory = tempfile::tempdir().unwrap();
    let (mut frontier, names) = frontier(patient(directory.path(), 8));
    add_hosts(&mut frontier, &names, 2_390);
    run_minutes(&mut frontier, 0..4);
    let mut now = 240 * SECOND;
    run(&mut frontier, &mut now, 260 * SECOND, &mut site);
    assert!(frontier.hosts.cold.failing_urls() > 50);
    frontier.begin_suspension(0, now);
    let troubled = |queue: &crate::queue::Queue| queue.fails();
    let keys: Vec<u64> = ["dead", "half", "unnamed"]
        .iter()
        .flat_map(|name| (0..30).map(move |number| format!("{name}{number}.com")))
        .map(|host| frontier.hosts.cold.key(&host))
        .collect();
    for key in keys {
        frontier.warm(key, None, now).unwrap();
    }
    assert_eq!((frontier.hosts.cold.failing_urls(), frontier.hosts.retries.is_empty()), (0, true));
    let left = frontier.hosts.iter().filter(|(_, queue)| troubled(queue)).count();
    assert_eq!(left, 0, "hosts have evidence against them");
}
