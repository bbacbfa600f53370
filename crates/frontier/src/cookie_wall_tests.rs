//! Sites that ask for their cookie: it comes back, also after a restart.

use lycosa_records::{Outcome, Purpose, Request, Source};
use lycosa_url::Micros;

use crate::scripted::{Names, answer, frontier, run, url, urls};
use crate::{Frontier, Settings, State};

/// A site that redirects to the same page until its cookie comes back.
fn cookie_wall(request: Request, now: Micros) -> Outcome {
    let robots = request.purpose == Purpose::Robots;
    assert!(!robots || request.cookies.is_none(), "robots.txt is asked for without cookies");
    let here = request.url.as_str().to_owned();
    match request.cookies.as_deref() {
        Some("id=7") => answer(request, now, 200, &[], "", &["http://a.example/next"]),
        _ if robots => answer(request, now, 404, &[("set-cookie", "robots=1; Path=/")], "", &[]),
        _ => answer(request, now, 302, &[("set-cookie", "id=7; Path=/"), ("location", &here)], "", &[]),
    }
}

#[test]
fn a_page_that_wants_its_cookie_back_gets_it() {
    let (mut frontier, _) = frontier(Settings::default());
    frontier.add(&[url("http://a.example/")], 0).unwrap();
    let log = run(&mut frontier, &mut cookie_wall);
    let page = "http://a.example/";
    assert_eq!(urls(&log), ["http://a.example/robots.txt", page, page, "http://a.example/next"]);
    assert_eq!(frontier.counts().tally.count(State::Done), 2);
}

#[test]
fn without_cookies_such_a_page_is_a_circle() {
    let (mut frontier, _) = frontier(Settings { cookie_memory: 0, ..Settings::default() });
    frontier.add(&[url("http://a.example/")], 0).unwrap();
    let log = run(&mut frontier, &mut cookie_wall);
    assert_eq!(log.len(), 2);
    assert_eq!(frontier.counts().tally.count(State::Failed), 1);
}

#[test]
fn cookies_outlive_the_process_by_log_or_by_snapshot() {
    let (mut first, _) = frontier(Settings::default());
    first.add(&[url("http://a.example/")], 0).unwrap();
    let mut snapshot = Vec::new();
    let mut recorded = Vec::new();
    let mut now = 0;
    while recorded.len() < 2 {
        let requests = first.take(10, now).unwrap();
        let mut pages: Vec<Outcome> = requests.into_iter().map(|request| cookie_wall(request, now)).collect();
        first.judge(&mut pages);
        first.done(&pages, now).unwrap();
        recorded.extend(pages);
        now = first.due_at().unwrap_or(now).max(now);
    }
    first.save(&mut snapshot).unwrap();
    let (mut by_log, _) = frontier(Settings::default());
    let mut restore = by_log.restore();
    restore.seed(&Request::get(url("http://a.example/"))).unwrap();
    recorded.iter().for_each(|page| restore.outcome(page).unwrap());
    restore.finish(now).unwrap();
    let (mut by_snapshot, _) =
        Frontier::load(Settings::default(), Names::default(), &mut &snapshot[..]).unwrap();
    by_snapshot.restore().finish(now).unwrap();
    for frontier in [&mut by_log, &mut by_snapshot] {
        let log = run(frontier, &mut cookie_wall);
        assert_eq!(urls(&log).last(), Some(&"http://a.example/next"));
        assert_eq!(frontier.counts().tally.count(State::Done), 2);
    }
}

#[test]
fn cookies_of_a_cache_are_sent_neither_by_the_process_that_got_them_nor_by_the_next() {
    let page = |request: Request, now: Micros| {
        assert_eq!(request.cookies, None, "{}", request.url.as_str());
        let here = request.url.as_str().to_owned();
        let mut page =
            answer(request, now, 302, &[("set-cookie", "stale=1; Path=/"), ("location", &here)], "", &[]);
        page.response.result.as_mut().unwrap().source = Source::Cache;
        page
    };
    let settings = || Settings { robots: false, ..Settings::default() };
    let (mut first, _) = frontier(settings());
    first.add(&[url("http://a.example/")], 0).unwrap();
    let request = first.take(10, 0).unwrap().remove(0);
    let mut cached = page(request, 0);
    first.judge([&mut cached]);
    assert!(!cached.retry, "the redirect onto itself would not end");
    first.done([&cached], 0).unwrap();
    let (mut by_log, _) = frontier(settings());
    let mut restore = by_log.restore();
    restore.seed(&Request::get(url("http://a.example/"))).unwrap();
    restore.outcome(&cached).unwrap();
    restore.finish(0).unwrap();
    for mut frontier in [first, by_log] {
        frontier.add(&[url("http://a.example/next")], 0).unwrap();
        assert_eq!(
            urls(&run(&mut frontier, &mut |request, now| page(request, now))),
            ["http://a.example/next"]
        );
    }
}
