//! Trouble that is theirs: how often and how long hosts, names and pages are tried before they are given up.

use std::time::Duration;

use lycosa_records::Purpose;
use lycosa_url::{CrawlUrl, FailureKind};

use crate::scripted::{SECOND, answer, crawl, failed, frontier, patient, robots_or, run_for, url, world};
use crate::{Settings, State};

#[test]
fn one_dead_host_is_tried_for_as_long_as_the_patience_lasts_and_then_all_its_pages_fail() {
    let (mut frontier, _) = frontier(patient());
    frontier.add(&[url("http://dead.com/1"), url("http://dead.com/2"), url("http://dead.com/3")], 0).unwrap();
    let mut tried = Vec::new();
    let (ended, messages) = run_for(&mut frontier, 3600, &mut |request, now| {
        tried.push(now / SECOND);
        failed(request, now, FailureKind::ConnectRefused)
    });
    assert!((300..310).contains(&(ended / SECOND)), "it ended after {} s", ended / SECOND);
    assert!(
        tried.len() >= 5 && tried.windows(3).all(|three| three[2] - three[1] + 1 >= three[1] - three[0]),
        "{tried:?}"
    );
    assert_eq!(frontier.counts().tally.count(State::Failed), 3);
    assert_eq!(messages, Vec::<String>::new(), "one host is no trouble of ours");
}

#[test]
fn while_other_work_goes_on_a_dead_host_waits_and_costs_no_slot() {
    let (mut frontier, names) = frontier(patient());
    let mut seeds = world(&names, 1, 900);
    seeds.push(url("http://dead.com/"));
    frontier.add(&seeds, 0).unwrap();
    let (mut tries, mut back) = (0, None);
    let (_, messages) = run_for(&mut frontier, 4000, &mut |request, now| match request.url.host() {
        "dead.com" if now < 800 * SECOND => {
            tries += 1;
            failed(request, now, FailureKind::ConnectTimeout)
        }
        "dead.com" => {
            back = Some(now);
            answer(request, now, 200, &[], "", &[])
        }
        _ => answer(request, now, 200, &[], "", &[]),
    });
    assert!((5..12).contains(&tries), "{tries}");
    assert!(back.is_some(), "it came back after thirteen minutes, and was found");
    assert_eq!(frontier.counts().tally.count(State::Failed), 0);
    assert_eq!(messages, Vec::<String>::new());
}

#[test]
fn a_robots_txt_that_fails_parks_its_host_and_refuses_nothing() {
    let (mut frontier, names) = frontier(Settings { robots: true, ..patient() });
    let mut seeds = world(&names, 1, 500);
    seeds.extend([url("http://parked.com/1"), url("http://parked.com/2")]);
    frontier.add(&seeds, 0).unwrap();
    let (_, _) = run_for(&mut frontier, 4000, &mut |request, now| match request.purpose {
        Purpose::Robots if request.url.host() == "parked.com" && now < 400 * SECOND => {
            answer(request, now, 503, &[], "", &[])
        }
        _ => robots_or("", &[])(request, now),
    });
    let tally = frontier.counts().tally;
    assert_eq!(
        (tally.count(State::Done), tally.count(State::Failed), tally.count(State::Refused)),
        (502, 0, 0)
    );
}

#[test]
fn a_name_that_does_not_exist_is_asked_for_again_before_it_counts() {
    let (mut frontier, names) = frontier(patient());
    names.failing.borrow_mut().insert("gone.com".to_owned(), FailureKind::NameNotFound);
    frontier.add(&[url("http://gone.com/")], 0).unwrap();
    let (log, settled) = crawl(&mut frontier, &mut |request, now| answer(request, now, 200, &[], "", &[]));
    assert_eq!(log.len(), 0);
    assert!(settled.iter().all(|(at, ..)| *at >= 30 * SECOND), "{settled:?}");
    assert_eq!(names.asked.borrow().iter().filter(|name| &***name == "gone.com").count(), 2);
}

#[test]
fn a_name_that_is_not_in_the_dns_does_not_hold_up_the_end_of_a_crawl() {
    let (mut frontier, names) = frontier(Settings { patience: Duration::from_secs(7_200), ..patient() });
    names.failing.borrow_mut().insert("a.onion".to_owned(), FailureKind::NameNotFound);
    frontier.add(&world(&names, 3, 20), 0).unwrap();
    let (ended, _) = run_for(&mut frontier, 20_000, &mut |request, now| {
        let links: &[&str] = if request.url.as_str().ends_with("/19") { &["http://a.onion/"] } else { &[] };
        answer(request, now, 200, &[], "", links)
    });
    assert!(ended < 120 * SECOND, "it ended after {} s", ended / SECOND);
    assert_eq!(frontier.counts().tally.count(State::Failed), 1);
}

#[test]
fn without_patience_the_retries_alone_count_whoever_else_fails() {
    let (mut frontier, names) = frontier(Settings { patience: Duration::ZERO, ..patient() });
    frontier.add(&world(&names, 20, 5), 0).unwrap();
    let mut tries = 0;
    let (ended, _) = run_for(&mut frontier, 100_000, &mut |request, now| {
        let host = request.url.host().to_string();
        if now < 2 * SECOND || host == "host0.com" {
            return answer(request, now, 200, &[], "", &[]);
        }
        tries += 1;
        failed(request, now, FailureKind::ConnectRefused)
    });
    assert!(tries <= 3 * 100 && ended < 300 * SECOND, "{tries} tries in {} s", ended / SECOND);
}

#[test]
fn a_site_of_which_a_part_fails_is_there_and_its_other_pages_are_fetched() {
    for hangs in [false, true] {
        let (mut frontier, _) = frontier(Settings { robots: true, ..patient() });
        let seeds: Vec<CrawlUrl> = (0..28).map(|n| url(&format!("http://a.com/{n}"))).collect();
        frontier.add(&seeds, 0).unwrap();
        let mut asked = 0;
        let (ended, _) = run_for(&mut frontier, 9_000, &mut |request, now| {
            asked += 1;
            match request.url.path_and_query()[1..].parse::<u32>() {
                Ok(0..8) if hangs => failed(request, now, FailureKind::ReadTimeout),
                Ok(0..8) => answer(request, now, 500, &[], "", &[]),
                _ => answer(request, now, 200, &[], "", &[]),
            }
        });
        let tally = frontier.counts().tally;
        let failed = tally.count(State::Failed);
        assert_eq!(tally.count(State::Done) + failed, 28, "{} s", ended / SECOND);
        assert!(
            failed <= 8 && asked < 100 && ended < 4_500 * SECOND,
            "{failed}, {asked}, {} s",
            ended / SECOND
        );
    }
}

#[test]
fn a_robots_txt_that_was_not_asked_for_after_all_is_asked_for_again() {
    let (mut frontier, _) = frontier(Settings { robots: true, ..patient() });
    frontier.add(&[url("http://a.com/1"), url("http://a.com/2")], 0).unwrap();
    let mut robots = 0;
    run_for(&mut frontier, 60, &mut |request, now| match request.purpose {
        Purpose::Robots if robots == 0 => {
            robots += 1;
            failed(request, now, FailureKind::Cancelled)
        }
        _ => robots_or("", &[])(request, now),
    });
    assert_eq!(frontier.counts().tally.count(State::Done), 2);
}

#[test]
fn a_page_that_makes_our_code_panic_is_tried_twice_and_its_host_goes_on() {
    let (mut frontier, _) = frontier(patient());
    frontier.add(&[url("http://a.com/bad"), url("http://a.com/1"), url("http://a.com/2")], 0).unwrap();
    let mut bad = 0;
    run_for(&mut frontier, 600, &mut |request, now| match request.url.path_and_query() {
        "/bad" => {
            bad += 1;
            failed(request, now, FailureKind::Internal)
        }
        _ => answer(request, now, 200, &[], "", &[]),
    });
    let tally = frontier.counts().tally;
    assert_eq!((bad, tally.count(State::Done), tally.count(State::Failed)), (2, 2, 1));
}

#[test]
fn a_request_that_must_not_be_sent_twice_is_sent_once_and_counts_as_a_try() {
    let (mut frontier, _) = frontier(patient());
    frontier.add(&[url("http://a.com/form"), url("http://a.com/1")], 0).unwrap();
    let mut tries = Vec::new();
    run_for(&mut frontier, 600, &mut |request, now| match request.url.path_and_query() {
        "/form" => {
            let page = failed(request, now, FailureKind::Unanswered);
            tries.push(crate::outcome::tries(&page));
            page
        }
        _ => answer(request, now, 200, &[], "", &[]),
    });
    let tally = frontier.counts().tally;
    assert_eq!((tally.count(State::Done), tally.count(State::Failed)), (1, 1));
    assert_eq!(tries, [1]);
}

#[test]
fn a_hundred_hosts_of_which_most_are_dead_never_suspend_the_crawl() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 100, 6), 0).unwrap();
    let (ended, messages) = run_for(&mut frontier, 3000, &mut |request, now| {
        let number: u32 = request.url.host()[4..].trim_end_matches(".com").parse().unwrap();
        match number % 10 {
            0 => answer(request, now, 200, &[], "", &[]),
            _ => failed(request, now, FailureKind::ConnectRefused),
        }
    });
    assert_eq!(messages, Vec::<String>::new());
    assert!(ended < 340 * SECOND, "{}", ended / SECOND);
    let tally = frontier.counts().tally;
    assert_eq!((tally.count(State::Done), tally.count(State::Failed)), (60, 540));
}

#[test]
fn many_hosts_whose_robots_txt_cannot_be_had_are_given_up_together() {
    let (mut frontier, names) = frontier(Settings { robots: true, ..patient() });
    let mut seeds = world(&names, 30, 3);
    seeds.push(url("http://good.com/"));
    frontier.add(&seeds, 0).unwrap();
    let (ended, messages) = run_for(&mut frontier, 3000, &mut |request, now| match request.url.host() {
        "good.com" => robots_or("", &[])(request, now),
        _ => failed(request, now, FailureKind::ConnectRefused),
    });
    assert!(ended < 500 * SECOND, "{} s: {:?}", ended / SECOND, frontier.failing(3, ended));
    assert_eq!(messages, Vec::<String>::new(), "the good one is asked, and answers");
    assert_eq!(frontier.counts().tally.count(State::Failed), 90);
}

#[test]
fn many_failing_hosts_of_one_address_are_given_up_in_time() {
    let (mut frontier, names) = frontier(Settings { robots: true, ..patient() });
    let mut seeds = world(&names, 60, 3);
    for host in 0..60 {
        names.addresses.borrow_mut().insert(format!("host{host}.com"), "93.7.7.7".parse().unwrap());
    }
    seeds.push(url("http://good.com/"));
    frontier.add(&seeds, 0).unwrap();
    let mut asked = Vec::new();
    let (ended, messages) = run_for(&mut frontier, 3000, &mut |request, now| match request.url.host() {
        "good.com" => robots_or("", &[])(request, now),
        _ => {
            asked.push(now / SECOND);
            failed(request, now, FailureKind::ConnectRefused)
        }
    });
    assert!(
        ended < 1_500 * SECOND,
        "{} s: {:?} {asked:?} {:?} {:?}",
        ended / SECOND,
        frontier.failing(3, ended),
        frontier.only_failing(),
        frontier.hosts[0]
    );
    assert_eq!(messages, Vec::<String>::new(), "the good one is asked, and answers");
    assert_eq!(frontier.counts().tally.count(State::Failed), 180);
}
