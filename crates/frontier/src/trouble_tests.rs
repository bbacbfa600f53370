//! Trouble that is ours: what the crawl does when nobody answers, and what it counts against nobody.

use std::collections::HashSet;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, Times};
use lycosa_url::{CrawlUrl, FailureKind};

use crate::scripted::{SECOND, answer, failed, frontier, patient, run_for, url, world};
use crate::{Cause, Settings, State};

#[test]
fn when_the_uplink_breaks_the_crawl_suspends_counts_nothing_and_goes_on_by_itself() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 12, 40), 0).unwrap();
    let (mut asked, mut fetched) = (0, HashSet::new());
    let (ended, messages) = run_for(&mut frontier, 20_000, &mut |request, now| {
        if (20 * SECOND..3620 * SECOND).contains(&now) {
            asked += 1;
            return failed(request, now, FailureKind::ConnectRefused);
        }
        fetched.insert(request.url.as_str().to_owned());
        answer(request, now, 200, &[], "", &[])
    });
    assert_eq!((fetched.len(), frontier.counts().tally.count(State::Failed)), (480, 0));
    assert!(asked < 300, "an hour of probes: {asked}");
    assert!(ended < 3800 * SECOND, "it went on soon: {}", ended / SECOND);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].starts_with("suspended: no site answers"), "{messages:?}");
    assert!(messages[1].starts_with("the crawl goes on"), "{messages:?}");
}

#[test]
fn with_little_patience_nobody_is_given_up_before_it_is_clear_whose_trouble_it_is() {
    for (patience, hosts) in [(1, 5), (5, 5), (20, 5), (20, 3), (1, 40)] {
        let patience = Duration::from_secs(patience);
        let (mut frontier, names) = frontier(Settings { patience, ..patient() });
        frontier.add(&world(&names, hosts, 60), 0).unwrap();
        let (_, messages) = run_for(&mut frontier, 2_000, &mut |request, now| {
            if (20 * SECOND..80 * SECOND).contains(&now) {
                return failed(request, now, FailureKind::ConnectRefused);
            }
            answer(request, now, 200, &[], "", &[])
        });
        let failed = frontier.counts().tally.count(State::Failed);
        assert_eq!(failed, 0, "{hosts} hosts, {patience:?}: {messages:?}");
        assert_eq!(frontier.counts().tally.count(State::Done), u64::from(hosts) * 60);
    }
}

#[test]
fn a_host_that_failed_before_an_outage_of_ours_is_not_given_up_for_it() {
    for (patience, start) in [(300, 590), (300, 600), (60, 110), (30, 62), (12, 40)] {
        for (start, end) in [(start, start + 60), (start, start + 8)] {
            let patience = Duration::from_secs(patience);
            let (mut frontier, names) = frontier(Settings { patience, ..patient() });
            let mut seeds = world(&names, 4, 900);
            seeds.extend((0..5).map(|n| url(&format!("http://dead.com/{n}"))));
            frontier.add(&seeds, 0).unwrap();
            let back = (patience * 11).min(Duration::from_secs(850)).as_secs();
            let (_, messages) = run_for(&mut frontier, 4_000, &mut |request, now| {
                let second = now / SECOND;
                if (start..end).contains(&second) || request.url.host() == "dead.com" && second < back {
                    return failed(request, now, FailureKind::ConnectRefused);
                }
                answer(request, now, 200, &[], "", &[])
            });
            let tally = frontier.counts().tally;
            assert_eq!(tally.count(State::Failed), 0, "{patience:?}, {start}..{end}: {messages:?}");
        }
    }
}

#[test]
fn a_host_that_failed_before_is_not_given_up_because_the_last_good_one_fails_for_a_moment() {
    for patience in [30, 60, 300] {
        let crawl = |outage: Option<(u64, u64)>| {
            let settings = Settings { patience: Duration::from_secs(patience), ..patient() };
            let (mut frontier, names) = frontier(settings);
            let mut seeds = world(&names, 4, 1);
            seeds.extend((0..900).map(|n| url(&format!("http://big.com/{n}"))));
            seeds.extend((0..5).map(|n| url(&format!("http://dead.com/{n}"))));
            frontier.add(&seeds, 0).unwrap();
            let (mut tries, back) = (Vec::new(), (patience * 11).min(850));
            let (_, messages) = run_for(&mut frontier, 4_000, &mut |request, now| {
                let (second, is_dead) = (now / SECOND, request.url.host() == "dead.com");
                if is_dead {
                    tries.push(second);
                }
                let is_out = outage.is_some_and(|(start, end)| (start..end).contains(&second));
                if is_out || is_dead && second < back {
                    return failed(request, now, FailureKind::ConnectRefused);
                }
                answer(request, now, 200, &[], "", &[])
            });
            (frontier.counts().tally.count(State::Failed), tries, messages)
        };
        let (lost, tries, _) = crawl(None);
        assert_eq!(lost, 0);
        let late: Vec<u64> = tries.into_iter().filter(|at| (patience..patience * 11).contains(at)).collect();
        assert!(!late.is_empty());
        for at in late {
            for outage in [(at - 3, at + 57), (at - 3, at + 5), (at - 9, at + 51)] {
                let (lost, tries, messages) = crawl(Some(outage));
                let told = format!("patience {patience}, outage {outage:?}: tries {tries:?}, {messages:?}");
                assert_eq!(lost, 0, "{told}");
            }
        }
    }
}

#[test]
fn a_portal_that_breaks_tls_costs_nothing_however_short_the_patience() {
    for robots in [false, true] {
        for patience in [12, 30, 100, 300] {
            let settings = Settings { robots, patience: Duration::from_secs(patience), ..patient() };
            let (mut frontier, names) = frontier(settings);
            let seeds = world(&names, 5, 60);
            frontier.add(&seeds[..200], 0).unwrap();
            let (_, messages) = run_for(&mut frontier, 4_000, &mut |request, now| match now / SECOND {
                20..80 => failed(request, now, FailureKind::TlsCertificate),
                _ if request.purpose == Purpose::Robots => answer(request, now, 404, &[], "", &[]),
                _ => answer(request, now, 200, &[], "", &[]),
            });
            let lost = frontier.counts().tally.count(State::Failed);
            assert_eq!(lost, 0, "patience {patience}, robots {robots}: {messages:?}");
        }
    }
}

#[test]
fn when_the_resolver_fails_names_wait_for_it_however_long_it_takes() {
    let (mut frontier, names) = frontier(patient());
    let seeds = world(&names, 12, 4);
    names.everything_fails.set(Some(FailureKind::NameTimeout));
    frontier.add(&seeds, 0).unwrap();
    let (_, messages) =
        run_for(&mut frontier, 3600, &mut |request, now| answer(request, now, 200, &[], "", &[]));
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].starts_with("suspended: no DNS resolver gives answers"), "{messages:?}");
    assert_eq!(frontier.suspensions().first().map(|suspension| suspension.cause), Some(Cause::Names));
    assert_eq!(frontier.counts().tally.count(State::Failed), 0);
    names.everything_fails.set(None);
    let mut now = 3600 * SECOND;
    while !frontier.idle() && now < 4000 * SECOND {
        let requests = frontier.take(100, now).unwrap();
        let pages: Vec<Outcome> =
            requests.into_iter().map(|request| answer(request, now, 200, &[], "", &[])).collect();
        frontier.done(&pages, now).unwrap();
        now += SECOND / 10;
    }
    assert_eq!(frontier.counts().tally.count(State::Done), 48);
}

#[test]
fn a_resolver_that_denies_every_name_or_gives_private_addresses_fails_no_host_that_was_well() {
    let denials: [(Option<FailureKind>, Option<&str>); 3] = [
        (Some(FailureKind::NameNotFound), None),
        (Some(FailureKind::NameNoData), None),
        (None, Some("192.168.1.1")),
    ];
    for (kind, address) in denials {
        let (mut frontier, names) = frontier(patient());
        frontier.add(&world(&names, 6, 20), 0).unwrap();
        let resolver = names.clone();
        let (_, messages) = run_for(&mut frontier, 9_000, &mut |request, now| {
            let denies = (3 * SECOND..500 * SECOND).contains(&now);
            resolver.everything_fails.set(kind.filter(|_| denies));
            resolver.lie.set(address.filter(|_| denies).map(|address| address.parse().unwrap()));
            resolver.lies_for_all.set(denies && address.is_some());
            match now / SECOND {
                // Nobody is found there: names are asked for again.
                0..3 | 520.. => answer(request, now, 200, &[], "", &[]),
                _ => failed(request, now, FailureKind::ConnectRefused),
            }
        });
        let tally = frontier.counts().tally;
        assert_eq!(tally.count(State::Done), 120, "{kind:?} {address:?}: {messages:?}");
        assert!(messages[0].contains("suspended"), "{messages:?}");
    }
}

#[test]
fn a_name_is_not_believed_to_be_gone_before_the_resolver_has_given_an_address_for_another() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 2, 60), 0).unwrap();
    let resolver = names.clone();
    let mut denied = false;
    run_for(&mut frontier, 20, &mut |request, now| answer(request, now, 200, &[], "", &[]));
    // The resolver denies what it does not know, and is silent for what it knew: two hosts are too few to suspend the crawl.
    let deny = |host: &str, kind| {
        resolver.failing.borrow_mut().insert(host.to_owned(), kind);
    };
    ["host0.com", "host1.com"].iter().for_each(|host| deny(host, FailureKind::NameTimeout));
    let strangers: Vec<CrawlUrl> = (2..9).map(|host| url(&format!("http://host{host}.com/"))).collect();
    strangers.iter().for_each(|url| deny(url.host(), FailureKind::NameNotFound));
    let mut now = 20 * SECOND;
    frontier.add(&strangers, now).unwrap();
    while now < 400 * SECOND && !frontier.idle() {
        if now == 150 * SECOND {
            denied = names.asked.borrow().iter().filter(|name| &***name == "host2.com").count() > 1;
            names.failing.borrow_mut().clear();
        }
        let requests = frontier.take(100, now).unwrap();
        let mut pages: Vec<Outcome> =
            requests.into_iter().map(|request| answer(request, now, 200, &[], "", &[])).collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        frontier.settled();
        now += SECOND / 10;
    }
    assert!(denied, "it was asked for again and again");
    let tally = frontier.counts().tally;
    assert_eq!((tally.count(State::Done), tally.count(State::Failed)), (127, 0));
}

#[test]
fn an_uplink_that_fails_in_the_middle_of_a_list_of_urls_without_rules_is_ours() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 120, 1), 0).unwrap();
    let mut asked = 0;
    let mut down_at = 0;
    let (_, messages) = run_for(&mut frontier, 3_000, &mut |request, now| {
        asked += 1;
        if asked == 50 {
            down_at = now;
        }
        match asked > 50 && now < down_at + 600 * SECOND {
            true => failed(request, now, FailureKind::ConnectRefused),
            false => answer(request, now, 200, &[], "", &[]),
        }
    });
    assert_eq!(frontier.counts().tally.count(State::Done), 120, "{messages:?}");
}

#[test]
fn what_failed_while_the_process_was_stopped_counts_as_no_try() {
    let (mut frontier, _) = frontier(patient());
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let request = frontier.take(1, 0).unwrap().pop().unwrap();
    frontier.was_away(SECOND, 7_200 * SECOND);
    let mut page = failed(request, 7_200 * SECOND, FailureKind::Timeout);
    page.response.started = 0;
    let mut pages = [page];
    assert!(frontier.take(1, 7_200 * SECOND).unwrap().is_empty(), "its lease lasts on");
    frontier.judge(&mut pages);
    assert!(pages[0].ours && pages[0].retry);
    frontier.done(&pages, 7_200 * SECOND).unwrap();
    let again = frontier.take(1, 7_300 * SECOND).unwrap().pop().unwrap();
    assert_eq!(again.attempt, 0);
}

#[test]
fn an_answer_that_waited_while_the_process_was_stopped_makes_no_site_slow() {
    let (mut frontier, _) = frontier(patient());
    frontier.add(&[url("http://a.com/1"), url("http://a.com/2")], 0).unwrap();
    let request = frontier.take(1, 0).unwrap().pop().unwrap();
    let now = 60 * SECOND;
    frontier.was_away(SECOND, now);
    let mut page = answer(request, now, 200, &[], "", &[]);
    page.response.started = 0;
    page.response.times = Times { first_byte_us: 60_000_000, ..Times::default() };
    let mut pages = [page];
    frontier.judge(&mut pages);
    frontier.done(&pages, now).unwrap();
    assert_eq!(frontier.take(1, now + 2 * SECOND).unwrap().len(), 1, "not five times as long as the stop");
}

#[test]
fn the_time_in_which_the_machine_slept_counts_in_no_suspension() {
    let longest_suspension = Some(Duration::from_secs(3_600));
    let (mut frontier, names) = frontier(Settings { longest_suspension, ..patient() });
    frontier.add(&world(&names, 12, 40), 0).unwrap();
    let (mut now, mut over_at) = (0, None);
    while over_at.is_none() && now < 200_000 * SECOND {
        let requests = frontier.take(100, now).unwrap();
        let answered = |request: Request| match now / SECOND {
            0..20 => answer(request, now, 200, &[], "", &[]),
            _ => failed(request, now, FailureKind::ConnectRefused),
        };
        let mut pages: Vec<Outcome> = requests.into_iter().map(answered).collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        frontier.settled();
        over_at = frontier.is_suspended_for_too_long().then_some(now / SECOND);
        now += SECOND;
        if now == 600 * SECOND {
            assert_eq!(frontier.suspensions().len(), 1);
            frontier.was_away(now, now + 36_000 * SECOND);
            now += 36_000 * SECOND;
        }
    }
    // Since the twentieth second, less the ten hours.
    let over_at = over_at.unwrap();
    assert!((39_610..39_640).contains(&over_at), "over after {over_at} s");
}

#[test]
fn outcomes_that_wait_for_a_slow_consumer_are_not_asked_for_again() {
    let (mut frontier, names) = frontier(patient());
    frontier.add(&world(&names, 3, 1), 0).unwrap();
    let out = frontier.take(100, 0).unwrap();
    assert_eq!(out.len(), 3);
    // Nobody came by for two hours; a lease is ten minutes long.
    let later = 7_200 * SECOND;
    frontier.was_slow(later);
    assert_eq!(frontier.take(100, later).unwrap().len(), 0);
    let pages: Vec<Outcome> =
        out.into_iter().map(|request| answer(request, SECOND, 200, &[], "", &[])).collect();
    assert!(pages.iter().all(|page| frontier.expects(page)));
    frontier.done(&pages, later).unwrap();
    assert_eq!((frontier.counts().tally.count(State::Done), frontier.idle()), (3, true));
}
