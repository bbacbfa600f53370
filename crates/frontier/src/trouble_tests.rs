//! Ours or theirs: what a host has to do to be given up, and what the crawl does when nobody answers.

use std::collections::HashSet;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, Times};
use lycosa_url::{CrawlUrl, FailureKind, Micros};

use crate::scripted::{Names, SECOND, answer, crawl, failed, frontier, robots_or, url};
use crate::{Cause, Frontier, Scope, Settings, State};

/// Any host, five minutes of patience.
pub(crate) fn patient() -> Settings {
    let patience = Duration::from_secs(300);
    Settings { scope: Scope::Any, robots: false, patience, address_domains: 1, ..Settings::default() }
}

/// Hosts of unrelated domains in unrelated networks, with so many pages each.
pub(crate) fn world(names: &Names, hosts: u32, pages: u32) -> Vec<CrawlUrl> {
    let address = |host: u32| format!("93.{}.1.1", host + 1).parse().unwrap();
    for host in 0..hosts {
        names.addresses.borrow_mut().insert(format!("host{host}.com"), address(host));
    }
    let page = |n: u32| url(&format!("http://host{}.com/{}", n % hosts, n / hosts));
    (0..hosts * pages).map(page).collect()
}

/// Runs a crawl whose loop comes by ten times a second, for so many seconds or to its end. Gives when it ended and all messages.
fn run_for(
    frontier: &mut Frontier<Names>,
    seconds: u64,
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) -> (Micros, Vec<String>) {
    let (mut now, mut messages) = (0, Vec::new());
    while now < seconds * SECOND && !frontier.idle() {
        messages.extend(turn(frontier, now, site));
        now += SECOND / 10;
    }
    (now, messages)
}

/// One turn of the loop; gives the messages.
pub(crate) fn turn(
    frontier: &mut Frontier<Names>,
    now: Micros,
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) -> Vec<String> {
    let requests = frontier.take(100, now).unwrap();
    let mut pages: Vec<Outcome> = requests.into_iter().map(|request| site(request, now)).collect();
    frontier.judge(&mut pages);
    frontier.done(&pages, now).unwrap();
    frontier.settled();
    frontier.messages()
}

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
