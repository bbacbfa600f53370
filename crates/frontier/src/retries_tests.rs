//! Hosts that fail and wait on disk for their next try: each is judged as if it had stayed in memory, and none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, RequestOptions};
use lycosa_url::{Failure, FailureKind, Micros, Resolved};

use crate::crowds_tests::{live_at, pages, run, settings};
use crate::names::Name;
use crate::patience::{Evidence, LastWord};
use crate::portal_tests::own;
use crate::queue::Queue;
use crate::scripted::{Names, SECOND, answer, failed, frontier, url};
use crate::{Ahead, Cause, Frontier, Resolve, Settings, State};

/// A crawl with robots.txt, two minutes of patience, and so many hosts in memory.
fn patient(directory: &Path, warm_hosts: usize) -> Settings {
    Settings { robots: true, patience: Duration::from_secs(120), ..settings(directory, warm_hosts) }
}

/// A host that answers, with so many pages, a second each, so that other work goes on.
fn keep_busy<R: Resolve>(frontier: &mut Frontier<R>, names: &Names, pages: u32) {
    live_at(names, "busy", 1, |_| "93.99.1.1".to_owned());
    let busy: Vec<_> = (0..pages).map(|page| url(&format!("http://busy0.com/{page}"))).collect();
    frontier.add(&busy, 0).unwrap();
}

/// Hosts that refuse all connections, that have no name, and that refuse all but their robots.txt; some that answer; and one
/// that is busy with so many pages.
fn add_hosts(frontier: &mut Frontier<Names>, names: &Names, busy: u32) {
    live_at(names, "dead", 30, |number| format!("93.1.{number}.1"));
    live_at(names, "half", 30, |number| format!("93.2.{number}.1"));
    keep_busy(frontier, names, busy);
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
        let (log, warm) = run_minutes(&mut frontier, 0..40);
        let tally = frontier.counts().tally;
        assert_eq!((tally.count(State::Failed), tally.count(State::Done)), (90, 2_430), "{warm_hosts}");
        assert_eq!((frontier.counts().unresolved, frontier.hosts.retries.is_empty()), (0, true));
        (log, warm)
    };
    let ((stayed, warm), (left, _)) = (run_with(usize::MAX), run_with(8));
    assert!(warm >= 90, "{warm} hosts in memory if none may leave");
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
    second.restore().finish(260 * SECOND).unwrap();
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
    let troubled = |queue: &Queue| queue.fails();
    let keys: Vec<u64> = ["dead", "half", "unnamed"]
        .iter()
        .flat_map(|name| (0..30).map(move |number| format!("{name}{number}.com")))
        .map(|host| frontier.hosts.cold.key(&host))
        .collect();
    for key in keys {
        frontier.warm(key, None, now).unwrap();
    }
    assert_eq!(frontier.hosts.cold.failing_urls(), 0);
    let left = frontier.hosts.iter().filter(|(_, queue)| troubled(queue)).count();
    assert_eq!(left, 0, "hosts have evidence against them");
}

/// Thirty hosts that refuse all, and one that answers each second.
fn dead_and_busy(warm_hosts: usize, robots: bool) -> (tempfile::TempDir, Frontier<Names>, Names) {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { robots, ..patient(directory.path(), warm_hosts) };
    let (mut frontier, names) = frontier(settings);
    live_at(&names, "dead", 30, |number| format!("93.1.{number}.1"));
    keep_busy(&mut frontier, &names, 2_390);
    frontier.add(&pages("dead", 30), 0).unwrap();
    (directory, frontier, names)
}

#[test]
fn a_suspension_does_not_bring_all_hosts_that_fail_into_memory() {
    let (_directory, mut frontier, _) = dead_and_busy(8, false);
    let mut now = 0;
    run(&mut frontier, &mut now, 260 * SECOND, &mut site);
    let before = frontier.hosts.warm_len();
    assert!(frontier.hosts.cold.failing_urls() > 20);
    let example = (3, "scripted".to_owned());
    frontier.trouble.health.connections.suspend_for(Cause::Connections, now - SECOND, example, now);
    frontier.begin_suspension(now - SECOND, now);
    for _ in 0..10 {
        now += 1000;
        frontier.take(0, now).unwrap();
    }
    assert!(frontier.hosts.warm_len() <= before + 10, "{before}, then {}", frontier.hosts.warm_len());
}

#[test]
fn a_host_that_is_too_large_for_the_disk_waits_in_memory() {
    let (_directory, mut frontier, names) = dead_and_busy(8, true);
    live_at(&names, "deadfat", 1, |_| "93.98.1.1".to_owned());
    let fat = |number: u32| {
        let body = bytes::Bytes::from(vec![b'x'; 8192]);
        let options = RequestOptions { method: "POST".into(), body, ..RequestOptions::default() };
        let page = url(&format!("http://deadfat0.com/{number}"));
        Request { options: Some(Box::new(options)), ..Request::get(page) }
    };
    frontier.add_requests(&(0..200).map(fat).collect::<Vec<_>>(), 0).unwrap();
    let (mut now, mut takes) = (0, 0);
    while now < 40 * SECOND {
        let requests = frontier.take(100, now).unwrap();
        let mut outcomes: Vec<_> = requests.into_iter().map(|request| site(request, now)).collect();
        frontier.judge(&mut outcomes);
        frontier.done(&outcomes, now).unwrap();
        frontier.settled();
        takes += 1;
        assert!(takes < 2_000, "it spins at {now}");
        now = frontier.due_at().unwrap_or(now).max(now + 1000);
    }
}

#[test]
fn all_urls_of_a_host_end_with_its_last_try() {
    let ended = |warm_hosts| {
        let (_directory, mut frontier, _) = dead_and_busy(warm_hosts, false);
        let second: Vec<_> = (0..30).map(|number| url(&format!("http://dead{number}.com/2"))).collect();
        frontier.add(&second, 0).unwrap();
        let mut now = 0;
        while frontier.counts().tally.count(State::Failed) < 60 && now < 2_000 * SECOND {
            let until = now + SECOND;
            run(&mut frontier, &mut now, until, &mut site);
        }
        now / SECOND
    };
    let (stayed, left) = (ended(usize::MAX), ended(8));
    assert!(left <= stayed + 30, "{left} s, not {stayed} s");
}

#[test]
fn hosts_on_disk_of_an_address_that_is_given_up_fail_when_they_come_back() {
    let failed = |warm_hosts| {
        let (_directory, mut frontier, names) = dead_and_busy(warm_hosts, false);
        live_at(&names, "crowd", 20, |_| "93.200.1.1".to_owned());
        frontier.add(&pages("crowd", 20), 0).unwrap();
        let mut now = 0;
        run(&mut frontier, &mut now, 360 * SECOND, &mut site);
        give_up_address(&mut frontier, now);
        run(&mut frontier, &mut now, 430 * SECOND, &mut site);
        frontier.counts().tally.count(State::Failed)
    };
    assert_eq!((failed(usize::MAX), failed(8)), (20, 20));
}

/// Gives up the address of a crowd.
fn give_up_address(frontier: &mut Frontier<Names>, now: Micros) {
    let address = frontier.politeness.addresses.id("93.200.1.1".parse().unwrap());
    let failure = Failure::new(FailureKind::ConnectRefused, "scripted");
    let (last, last_word) = (100 * now, LastWord::Unasked);
    let evidence = Evidence { since: 0, last, tries: 9, failure, retry_at: 0, given_up: None, last_word };
    frontier.trouble.addresses.insert(address, evidence);
    frontier.trouble.review_addresses(&mut frontier.hosts, now);
}

#[test]
fn a_name_that_fails_for_a_while_does_not_excuse_a_host_that_refuses() {
    let failed = |warm_hosts| {
        let (_directory, mut frontier, names) = dead_and_busy(warm_hosts, false);
        let flaky = || (0..3).map(|number| format!("dead{number}.com"));
        let mut now = 0;
        run(&mut frontier, &mut now, 600 * SECOND, &mut site);
        names.failing.borrow_mut().extend(flaky().map(|name| (name, FailureKind::NameServerFailure)));
        run(&mut frontier, &mut now, 720 * SECOND, &mut site);
        names.failing.borrow_mut().clear();
        run(&mut frontier, &mut now, 1_600 * SECOND, &mut site);
        frontier.counts().tally.count(State::Failed)
    };
    assert_eq!((failed(usize::MAX), failed(8)), (30, 30));
}

#[test]
fn what_the_crawls_own_failures_added_to_an_interval_is_taken_back_on_disk() {
    let (_directory, mut frontier, _) = dead_and_busy(8, false);
    let mut now = 0;
    let log = run(&mut frontier, &mut now, 260 * SECOND, &mut site);
    let before = tries(&log).values().filter(|times| times[0] == 0).count();
    frontier.begin_suspension(SECOND, now);
    for number in 0..30 {
        frontier.host(&format!("dead{number}.com"), now);
    }
    let interval = |queue: &Queue| queue.pace.interval(&frontier.politeness.host_limits(queue));
    let dead = frontier.hosts.iter().filter(|(_, queue)| queue.host.starts_with("dead"));
    let slow = dead.filter(|(_, queue)| interval(queue) > SECOND).count();
    assert_eq!(slow, before, "those that failed before the crawl's own trouble");
}

#[test]
fn two_answers_for_a_name_leave_no_trace_of_a_host_that_left() {
    let (_directory, mut frontier, names) = dead_and_busy(8, false);
    for number in 0..30 {
        names.failing.borrow_mut().insert(format!("dead{number}.com"), FailureKind::NameServerFailure);
    }
    let mut now = 0;
    while now < 12 * SECOND {
        let asked = frontier.hosts.iter().filter(|(_, queue)| matches!(queue.name, Name::Asked { .. }));
        let asked: Vec<Box<str>> = asked.map(|(_, queue)| queue.host.clone()).collect();
        names.clone().submit(asked);
        let until = now + 1000;
        run(&mut frontier, &mut now, until, &mut site);
        let most = frontier.hosts.iter().map(|(id, _)| id).max().unwrap_or(0);
        let rests = |id: &u32| frontier.hosts[*id].is_vacant() && frontier.hosts[*id].rests.is_some();
        assert_eq!((0..=most).find(rests), None, "a vacant slot is counted");
    }
}

#[test]
fn a_host_that_answered_is_given_up_also_if_its_name_fails_at_last() {
    let (_directory, mut frontier, names) = dead_and_busy(8, true);
    let mut met = BTreeSet::new();
    let mut once = |request: Request, now| {
        let first = request.purpose == Purpose::Robots && met.insert(request.url.host().to_owned());
        if first { answer(request, now, 404, &[], "", &[]) } else { site(request, now) }
    };
    let mut now = 0;
    run(&mut frontier, &mut now, 600 * SECOND, &mut once);
    let flaky = (0..3).map(|number| (format!("dead{number}.com"), FailureKind::NameServerFailure));
    names.failing.borrow_mut().extend(flaky);
    run(&mut frontier, &mut now, 1_900 * SECOND, &mut once);
    assert_eq!(frontier.counts().tally.count(State::Failed), 30);
}

#[test]
fn hosts_of_an_address_that_answers_again_are_asked() {
    let failed = |warm_hosts| {
        let (_directory, mut frontier, names) = dead_and_busy(warm_hosts, false);
        live_at(&names, "h", 20, |_| "93.200.1.1".to_owned());
        let mut now = 0;
        run(&mut frontier, &mut now, 360 * SECOND, &mut site);
        give_up_address(&mut frontier, now);
        frontier.add(&pages("h", 20), now).unwrap(); // new, and it answers
        run(&mut frontier, &mut now, 470 * SECOND, &mut site);
        frontier.counts().tally.count(State::Failed)
    };
    assert_eq!((failed(usize::MAX), failed(8)), (0, 0));
}

/// Answers come one call late, as real ones do.
#[derive(Default)]
struct Late {
    names: Names,
    held: Vec<Resolved>,
}

impl Resolve for Late {
    fn submit(&mut self, names: Vec<Box<str>>) {
        self.names.submit(names);
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.names.refresh(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        into.append(&mut self.held);
        self.names.drain(&mut self.held);
    }
}

#[test]
fn hosts_leave_while_their_name_is_doubted() {
    let directory = tempfile::tempdir().unwrap();
    let names = Names::default();
    live_at(&names, "dead", 30, |number| format!("93.1.{number}.1"));
    let settings = Settings { patience: Duration::from_secs(1200), ..settings(directory.path(), 8) };
    let late = Late { names: names.clone(), held: Vec::new() };
    let mut frontier = Frontier::new(settings, late).unwrap();
    keep_busy(&mut frontier, &names, 600);
    frontier.add(&pages("dead", 30), 0).unwrap();
    let mut now = 0;
    while now < 250 * SECOND {
        let requests = frontier.take(100, now).unwrap();
        let mut outcomes: Vec<_> = requests.into_iter().map(|request| site(request, now)).collect();
        frontier.judge(&mut outcomes);
        frontier.done(&outcomes, now).unwrap();
        frontier.settled();
        let due = frontier.due_at().filter(|_| frontier.counts().unresolved == 0);
        now = due.unwrap_or(now).max(now + 1000);
    }
    assert!(frontier.hosts.cold.failing_urls() > 20, "{}", frontier.hosts.cold.failing_urls());
}

#[test]
fn hosts_that_fail_do_not_use_up_the_names_that_are_asked_ahead() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { ahead: Ahead::Due(5), robots: false, ..patient(directory.path(), usize::MAX) };
    let (mut frontier, names) = frontier(settings);
    live_at(&names, "dead", 30, |number| format!("93.1.{number}.1"));
    keep_busy(&mut frontier, &names, 600);
    frontier.add(&pages("dead", 30), 0).unwrap();
    run(&mut frontier, &mut 0, 300 * SECOND, &mut site);
    let asked = names.asked.borrow();
    let dead: BTreeSet<_> = asked.iter().filter(|name| name.starts_with("dead")).collect();
    assert_eq!(dead.len(), 30, "slots were idle");
}

#[test]
fn names_that_fail_do_not_fill_memory_during_a_suspension() {
    let (_directory, mut frontier, names) = dead_and_busy(8, false);
    let all = (0..30).map(|number| (format!("dead{number}.com"), FailureKind::NameServerFailure));
    names.failing.borrow_mut().extend(all);
    let mut now = 0;
    run(&mut frontier, &mut now, 260 * SECOND, &mut site);
    let before = frontier.hosts.warm_len();
    let example = (3, "scripted".to_owned());
    frontier.trouble.health.connections.suspend_for(Cause::Connections, now - SECOND, example, now);
    frontier.begin_suspension(now - SECOND, now);
    for _ in 0..1_200 {
        now += SECOND / 10;
        frontier.take(0, now).unwrap();
    }
    assert!(frontier.hosts.warm_len() <= before + 10, "{before}, then {}", frontier.hosts.warm_len());
}
