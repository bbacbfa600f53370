//! Settled URLs that are opened again: who is, what is counted, what a restart makes of it.

use std::time::Duration;

use super::scripted::{Names, SECOND, answer, failed, frontier, run, url};
use super::*;
use lycosa_records::{Purpose, Request, RequestOptions};
use lycosa_url::{Failure, FailureKind};

/// A crawl of a host without robots.txt: its settings.
fn settings() -> Settings {
    Settings { robots: false, retries: 0, patience: Duration::ZERO, ..Settings::default() }
}

/// The states of all URLs: waiting, leased, done, failed, refused.
fn states(frontier: &Frontier<Names>) -> [u64; 5] {
    let tally = frontier.counts().tally;
    [State::Waiting, State::Leased, State::Done, State::Failed, State::Refused]
        .map(|state| tally.count(state))
}

/// A crawl of a seed, a redirect and a page that fails, to its end; with what it recorded.
fn ended_crawl() -> (Frontier<Names>, Vec<Outcome>) {
    let (mut frontier, _) = frontier(settings());
    frontier.add(&[url("http://a.com/")], 0).unwrap();
    let mut recorded = Vec::new();
    run(&mut frontier, &mut |request, now| {
        let page = site(request, now);
        recorded.push(page.clone());
        page
    });
    assert_eq!(states(&frontier), [0, 0, 3, 1, 0]);
    (frontier, recorded)
}

/// What the site answers while one of its pages is broken.
fn site(request: Request, now: Micros) -> Outcome {
    match request.url.path_and_query() {
        "/" => answer(request, now, 200, &[], "", &["http://a.com/moved", "http://a.com/broken"]),
        "/moved" => answer(request, now, 301, &[("location", "http://a.com/new")], "", &[]),
        "/broken" => failed(request, now, FailureKind::Protocol),
        _ => answer(request, now, 200, &[], "", &[]),
    }
}

/// The outcomes that open what the crawl had ended with.
fn opening() -> [Outcome; 3] {
    let failure = Failure::new(FailureKind::Protocol, "scripted");
    let mut moved = Outcome::reopened(url("http://a.com/moved"), 1, 9, Ok(301));
    moved.redirect = Some(url("http://a.com/new"));
    [
        Outcome::reopened(url("http://a.com/broken"), 1, 9, Err(failure)),
        Outcome::reopened(url("http://a.com/"), 0, 9, Ok(200)),
        moved,
    ]
}

#[test]
fn what_is_opened_again_is_fetched_again_and_every_url_is_in_one_state() {
    let (mut frontier, _) = ended_crawl();
    assert_eq!(frontier.counts().pages, 2);
    for page in &opening() {
        assert!(frontier.reopen(page, 9 * SECOND).unwrap());
    }
    assert_eq!((states(&frontier), frontier.counts().pages), ([3, 0, 1, 0, 0], 1));
    let unknown = Outcome::reopened(url("http://a.com/unknown"), 0, 9, Ok(200));
    assert!(!frontier.reopen(&unknown, 9 * SECOND).unwrap());
    let log = run(&mut frontier, &mut |request, now| match request.url.path_and_query() {
        "/broken" => answer(request, now, 200, &[], "", &[]),
        _ => site(request, now),
    });
    assert_eq!(log.len(), 3);
    assert_eq!((states(&frontier), frontier.counts().pages), ([0, 0, 4, 0, 0], 3));
}

#[test]
fn what_was_opened_again_waits_after_a_restart_from_log_and_snapshot() {
    let (mut ended, mut recorded) = ended_crawl();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    ended.save(&mut before).unwrap();
    for page in opening() {
        assert!(ended.reopen(&page, 9 * SECOND).unwrap());
        recorded.push(page);
    }
    ended.save(&mut after).unwrap();
    let load = |snapshot: &[u8]| Frontier::load(settings(), Names::default(), &mut &*snapshot).unwrap().0;
    let (mut by_log, _) = frontier(settings());
    let (mut by_both, mut by_snapshot) = (load(&before), load(&after));
    let mut restore = by_log.restore();
    restore.seed(&Request::get(url("http://a.com/"))).unwrap();
    recorded.iter().for_each(|page| restore.outcome(page).unwrap());
    restore.finish(10 * SECOND).unwrap();
    let mut restore = by_both.restore();
    recorded[recorded.len() - 3..].iter().for_each(|page| restore.outcome(page).unwrap());
    restore.finish(10 * SECOND).unwrap();
    by_snapshot.restore().finish(10 * SECOND).unwrap();
    for frontier in [&mut by_log, &mut by_both, &mut by_snapshot] {
        assert_eq!((states(frontier), frontier.counts().pages), ([3, 0, 1, 0, 0], 1));
        let mut urls: Vec<_> = run(frontier, &mut site).into_iter().map(|(_, url)| url).collect();
        urls.sort_unstable();
        assert_eq!(urls, ["http://a.com/", "http://a.com/broken", "http://a.com/moved"]);
        assert_eq!((states(frontier), frontier.counts().pages), ([0, 0, 3, 1, 0], 2));
    }
}

#[test]
fn settled_is_what_neither_waits_nor_is_on_lease_nor_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let settings =
        Settings { queue_memory: 4096, queue_directory: Some(directory.path().to_owned()), ..settings() };
    let (mut frontier, _) = self::frontier(settings);
    let urls: Vec<_> = (0..1000).map(|n| url(&format!("http://a.com/{n}"))).collect();
    frontier.add(&urls, 0).unwrap();
    frontier.add(&[url("http://b.com/")], 0).unwrap();
    let mut leased = frontier.take(2, 0).unwrap();
    let first = leased.iter().position(|request| request.url.host() == "a.com").unwrap();
    let page = site(leased.remove(first), 0);
    assert_eq!(page.response.request.purpose, Purpose::Page);
    frontier.done([&page], 0).unwrap();
    let mut asked: Vec<_> = urls.into_iter().map(Request::get).collect();
    let ended = Request::get(page.response.request.url.clone());
    let post = RequestOptions { method: "POST".into(), ..RequestOptions::default() };
    let post = Request { options: Some(Box::new(post)), ..ended.clone() };
    asked.extend([
        Request::get(url("http://b.com/")),
        Request::get(url("http://a.com/new")),
        post,
        ended.clone(),
    ]);
    assert!(std::fs::read_dir(directory.path()).unwrap().count() > 0, "most of them wait on the disk");
    assert_eq!(frontier.settled_of(&asked, 0).unwrap(), [&ended]);
    assert_eq!(states(&frontier), [999, 1, 1, 0, 0], "asking changes nothing");
}
