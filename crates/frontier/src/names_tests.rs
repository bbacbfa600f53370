//! Names of hosts: who waits for them, when they are asked for anew, what is refused.

use std::time::Duration;

use lycosa_url::{CrawlUrl, FailureKind, NameClass};

use super::{Answered, Name, Names};
use crate::hosts::Hosts;
use crate::politeness::domains::Domains;
use crate::scripted::{SECOND, answer, crawl, failed, frontier, robots_or, run, url};
use crate::{Ahead, Scope, Settings, State};

#[test]
fn a_name_is_wanted_asked_for_and_prefetched() {
    let settings = Settings::default();
    let resolver = crate::scripted::Names::default();
    let (mut names, mut hosts) = (Names::new(&settings, resolver.clone()), Hosts::new(&settings));
    let id = hosts.find_or_insert("a.com", &mut Domains::default());
    hosts.push(id, &crate::waiting::Candidate::link(url("http://a.com/").borrow(), 1));
    assert!(names.want(id, &mut hosts[id]));
    assert_eq!((names.unresolved(), resolver.asked.borrow().len()), (1, 0));
    names.ask_wanted(&mut hosts, 0, 0, 0);
    let answer = names.receive().pop().unwrap();
    names.answered(&hosts[id], 0, 0);
    let addresses = answer.result.unwrap();
    let (class, expires) = (answer.class, 100 * SECOND);
    let answered = Answered { addresses, clock: 0, class, expires, elapsed_us: 0, fresh_at: 0 };
    names.learn(id, &mut hosts[id], answered, 0);
    assert!(matches!(hosts[id].name, Name::Known { .. }) && !names.is_waiting());
    names.ask_again(&mut hosts, 89 * SECOND);
    assert!(resolver.refreshed.borrow().is_empty());
    names.ask_again(&mut hosts, 90 * SECOND);
    assert_eq!(*resolver.refreshed.borrow(), ["a.com".into()], "in the last tenth of its time");
    assert!(hosts[id].name.is_being_refreshed() && names.is_waiting());
}

#[test]
fn an_unresolved_name_holds_up_nobody() {
    let (mut frontier, names) =
        frontier(Settings { scope: Scope::Any, robots: false, ..Settings::default() });
    names.failing.borrow_mut().insert("slow.com".into(), FailureKind::NameTimeout);
    names.failing.borrow_mut().insert("dead.com".into(), FailureKind::NameNotFound);
    frontier.add(&["http://slow.com/", "http://dead.com/", "http://good.com/"].map(url), 0).unwrap();
    let (log, settled) = crawl(&mut frontier, &mut robots_or("", &[]));
    assert_eq!(log, [(0, "http://good.com/".to_owned())]);
    let kinds: Vec<_> = settled.into_iter().map(|(at, _, kind)| (at, kind)).collect();
    assert_eq!(kinds, [(0, FailureKind::NameNotFound), (30 * SECOND, FailureKind::NameTimeout)]);
    assert_eq!(
        names.asked.borrow().iter().filter(|name| &***name == "slow.com").count(),
        3,
        "two further tries"
    );
}

#[test]
fn a_page_tells_what_its_hosts_name_cost() {
    let (mut frontier, names) =
        frontier(Settings { scope: Scope::Any, robots: false, ..Settings::default() });
    frontier.add(&["http://good.com/", "http://good.com/2"].map(url), 0).unwrap();
    let mut told = Vec::new();
    run(&mut frontier, &mut |request, now| {
        told.push((request.name_us, request.name_class));
        answer(request, now, 200, &[], "", &[])
    });
    // The time stands with the first request of a name, the class with each.
    assert_eq!(told, [(7, Some(NameClass::Slow)), (0, Some(NameClass::Slow))]);
    names.failing.borrow_mut().insert("dead.com".into(), FailureKind::NameNotFound);
    frontier.add(&[url("http://dead.com/")], 0).unwrap();
    frontier.take(1, 0).unwrap();
    assert_eq!(frontier.settled()[0].response.request.name_class, Some(NameClass::Failed));
}

#[test]
fn the_links_of_a_page_are_resolved_ahead_before_those_of_the_next_by_so_many_workers() {
    let settings =
        Settings { scope: Scope::Any, robots: false, ahead: Ahead::Links(3), ..Settings::default() };
    let (mut frontier, names) = frontier(settings);
    frontier.add(&["http://first.com/", "http://second.com/"].map(url), 0).unwrap();
    let mut pages: Vec<_> = Vec::new();
    while pages.len() < 2 {
        pages.extend(frontier.take(2, 0).unwrap().into_iter().map(|request| {
            let host = request.url.host().to_owned();
            let links: Vec<String> = (10..30).map(|number| format!("http://n{number}.of.{host}/")).collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            answer(request, 0, 200, &[], "", &links)
        }));
    }
    names.asked.borrow_mut().clear();
    frontier.judge(&mut pages);
    frontier.done(&pages, 0).unwrap();
    assert_eq!(names.asked.borrow().len(), 3, "M workers");
    for round in 2..20 {
        let before = names.asked.borrow().len();
        drop(frontier.take(0, 0).unwrap());
        let asked = names.asked.borrow().len();
        assert!(asked - before <= 3, "an answer frees one worker, in round {round}");
    }
    let asked = names.asked.borrow();
    assert_eq!(asked.len(), 40);
    for (page, asked) in pages.iter().zip(asked.chunks(20)) {
        let host = page.response.request.url.host();
        assert!(asked.iter().all(|name| name.ends_with(host)), "{host} before or after the other: {asked:?}");
        assert!(!asked.is_sorted(), "at random: {asked:?}");
    }
}

#[test]
fn private_addresses_are_refused_after_resolution() {
    let (mut frontier, names) = frontier(Settings::default());
    names.addresses.borrow_mut().insert("evil.com".into(), "169.254.169.254".parse().unwrap());
    frontier.add(&[url("http://evil.com/")], 0).unwrap();
    let (log, settled) = crawl(&mut frontier, &mut robots_or("", &[]));
    assert!(log.is_empty());
    assert_eq!(settled, [(0, "http://evil.com/".to_owned(), FailureKind::AddressRefused)]);
}

#[test]
fn a_name_that_is_about_to_run_out_is_asked_for_anew_while_something_waits() {
    let settings = Settings { host_interval: Duration::from_secs(60), robots: false, ..Settings::default() };
    let (mut frontier, names) = frontier(settings);
    let pages: Vec<CrawlUrl> = (0..100).map(|number| url(&format!("http://a.example/{number}"))).collect();
    frontier.add(&pages, 0).unwrap();
    let log = run(&mut frontier, &mut |request, now| {
        let expected = usize::from(now >= 3_240 * SECOND);
        assert_eq!(names.refreshed.borrow().len(), expected, "a tenth of its hour ahead, once");
        answer(request, now, 200, &[], "", &[])
    });
    assert_eq!(log.len(), 100);
    assert!(log.windows(2).all(|pair| pair[1].0 - pair[0].0 == 60 * SECOND), "nobody waited for a name");
    assert_eq!(names.asked.borrow().len(), 2);
    frontier.take(1, 7_000 * SECOND).unwrap();
    assert_eq!(names.refreshed.borrow().len(), 1, "nothing waits any more");
}

#[test]
fn a_name_whose_addresses_are_somebody_elses_is_asked_for_anew_at_most_once_a_minute() {
    let settings =
        Settings { retry_delay: Duration::from_secs(10), retries: 9, robots: false, ..Settings::default() };
    // A bad certificate is no reason to try the same URL again.
    for (kind, moves_after, refreshed, done) in [
        (FailureKind::ConnectRefused, 3, 2, 2),
        (FailureKind::ConnectTimeout, 3, 2, 2),
        (FailureKind::TlsCertificate, 1, 1, 1),
    ] {
        let (mut frontier, names) = frontier(settings.clone());
        let moved = "93.0.0.99".parse().unwrap();
        frontier.add(&[url("https://a.example/"), url("https://a.example/2")], 0).unwrap();
        let mut asked_at = Vec::new();
        run(&mut frontier, &mut |request, now| {
            asked_at.push(request.route.addresses()[0]);
            if asked_at.len() == moves_after {
                names.addresses.borrow_mut().insert("a.example".into(), moved);
            }
            match asked_at.last() == Some(&moved) {
                true => answer(request, now, 200, &[], "", &[]),
                false => failed(request, now, kind),
            }
        });
        assert_eq!(names.refreshed.borrow().len(), refreshed, "{kind:?}: {asked_at:?}");
        assert_eq!(asked_at.last(), Some(&moved));
        assert_eq!(frontier.counts().tally.count(State::Done), done);
    }
}
