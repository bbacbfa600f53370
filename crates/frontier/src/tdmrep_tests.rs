//! tdmrep.json: asked for once for each origin, before its pages, and obeyed; where it is not to be had, the pages are fetched.

use std::collections::BTreeMap;

use lycosa_records::{Outcome, Purpose, Request};
use lycosa_url::{FailureKind, Micros};

use crate::scripted::{
    Log, Names, SECOND, answer, crawl, failed, frontier, patient, run, run_for, url, urls, world,
};
use crate::{Frontier, Settings, State};

/// What the scripted sites state.
const FILE: &str =
    r#"[{"location": "/art/", "tdm-reservation": 1}, {"location": "/press/", "tdm-reservation": 0}]"#;

/// A job that wants to know.
fn settings() -> Settings {
    Settings { tdmrep: true, ..Settings::default() }
}

/// A site with these files.
fn site(robots: &str, status: u16, file: &str, request: Request, now: Micros) -> Outcome {
    match request.url.path_and_query() {
        "/robots.txt" => answer(request, now, 200, &[], robots, &[]),
        "/.well-known/tdmrep.json" => answer(request, now, status, &[], file, &[]),
        _ => answer(request, now, 200, &[], "", &[]),
    }
}

/// What is stated of pages, by path.
type Stated = BTreeMap<String, Option<bool>>;

/// Crawls three pages of a site: the requests, and what is stated of each page.
fn crawled(settings: Settings, site: &mut dyn FnMut(Request, Micros) -> Outcome) -> (Log, Stated) {
    let (mut frontier, _) = frontier(settings);
    frontier.add(&["http://a.com/", "http://a.com/art/1", "http://a.com/press/2"].map(url), 0).unwrap();
    let mut stated = BTreeMap::new();
    let log = run(&mut frontier, &mut |request, now| {
        if request.purpose == Purpose::Page {
            stated.insert(request.url.path_and_query().to_owned(), request.tdm);
        }
        site(request, now)
    });
    assert_eq!(frontier.counts().tally.count(State::Waiting), 0);
    (log.into_iter().map(|(now, url)| (now / SECOND, url.replace("http://a.com", ""))).collect(), stated)
}

/// What a site states of three pages.
fn told(art: Option<bool>, press: Option<bool>) -> Stated {
    [("/", None), ("/art/1", art), ("/press/2", press)].map(|(path, tdm)| (path.to_owned(), tdm)).into()
}

#[test]
fn it_is_asked_for_once_after_robots_txt_and_before_the_pages() {
    let (log, stated) = crawled(settings(), &mut |request, now| site("", 200, FILE, request, now));
    let paths = ["/robots.txt", "/.well-known/tdmrep.json", "/", "/art/1", "/press/2"];
    assert_eq!(urls(&log), paths);
    assert!(log.windows(2).all(|two| two[0].0 < two[1].0), "at the host's pace: {log:?}");
    assert_eq!(stated, told(Some(false), Some(true)));
    let (log, stated) = crawled(Settings::default(), &mut |request, now| site("", 200, FILE, request, now));
    assert_eq!((log.len(), stated), (4, told(None, None)), "not unless the job says so");
}

#[test]
fn a_page_that_it_reserves_is_not_asked_for_if_that_is_what_the_job_crawls_for() {
    let (mut frontier, _) = frontier(Settings { uses: vec!["tdm".into()], ..settings() });
    frontier.add(&["http://a.com/", "http://a.com/art/1"].map(url), 0).unwrap();
    let (log, settled) = crawl(&mut frontier, &mut |request, now| site("", 200, FILE, request, now));
    assert_eq!(log.len(), 3);
    let (_, refused, kind) = &settled[0];
    assert_eq!((&**refused, *kind, settled.len()), ("http://a.com/art/1", FailureKind::UsageRefused, 1));
}

#[test]
fn robots_txt_is_obeyed_for_it_and_no_page_that_is_forbidden_asks_for_it() {
    let robots = "user-agent: *\ndisallow: /.well-known/";
    let (log, stated) = crawled(settings(), &mut |request, now| site(robots, 200, FILE, request, now));
    assert_eq!((log.len(), stated), (4, told(None, None)));
    let robots = "user-agent: *\ndisallow: /";
    let (log, _) = crawled(settings(), &mut |request, now| site(robots, 200, FILE, request, now));
    assert_eq!(urls(&log), ["/robots.txt"]);
}

#[test]
fn a_missing_one_states_nothing_and_one_that_fails_is_tried_again_before_it_counts_as_missing() {
    for status in [404, 403, 204] {
        let (log, stated) = crawled(settings(), &mut |request, now| site("", status, "", request, now));
        assert_eq!((log.len(), stated), (5, told(None, None)), "{status}");
    }
    let mut asked = 0;
    let (log, stated) = crawled(settings(), &mut |request, now| {
        asked += usize::from(request.is_for_tdmrep());
        site("", if asked < 3 { 503 } else { 200 }, FILE, request, now)
    });
    assert_eq!((log.len(), stated), (7, told(Some(false), Some(true))));
    let tries = log.iter().filter(|(_, url)| url.ends_with(".json")).map(|(now, _)| *now).collect::<Vec<_>>();
    assert!(tries.windows(2).all(|two| two[1] - two[0] >= 10), "with the pause of a failure: {tries:?}");
    let (log, stated) = crawled(settings(), &mut |request, now| match request.is_for_tdmrep() {
        true => failed(request, now, FailureKind::ReadTimeout),
        false => site("", 200, "", request, now),
    });
    assert_eq!((log.len(), stated), (4 + 3, told(None, None)), "as many tries as of a page");
}

#[test]
fn redirects_lead_to_it() {
    let (log, stated) = crawled(settings(), &mut |request, now| match request.url.path_and_query() {
        "/.well-known/tdmrep.json" => {
            answer(request, now, 301, &[("location", "http://cdn.com/tdm.json")], "", &[])
        }
        "/tdm.json" => answer(request, now, 200, &[], FILE, &[]),
        _ => site("", 200, "", request, now),
    });
    assert_eq!((log.len(), stated), (6, told(Some(false), Some(true))));
}

#[test]
fn what_it_states_is_known_after_a_snapshot_and_after_a_replay() {
    let seeds = ["http://a.com/", "http://a.com/art/1"].map(url);
    let (mut first, _) = frontier(settings());
    first.add(&seeds, 0).unwrap();
    let mut recorded = Vec::new();
    for now in [0, SECOND] {
        let requests = first.take(9, now).unwrap();
        let mut pages: Vec<Outcome> =
            requests.into_iter().map(|request| site("", 200, FILE, request, now)).collect();
        first.judge(&mut pages);
        first.done(&pages, now).unwrap();
        recorded.append(&mut pages);
    }
    assert_eq!(recorded.len(), 2, "robots.txt and tdmrep.json");
    let mut saved = Vec::new();
    first.save(&mut saved).unwrap();
    let (mut loaded, _) = Frontier::load(settings(), Names::default(), &mut &saved[..]).unwrap();
    loaded.restore().finish(2 * SECOND).unwrap();
    let (mut replayed, _) = frontier(settings());
    let mut restore = replayed.restore();
    seeds.iter().for_each(|seed| restore.seed(&Request::get(seed.clone())).unwrap());
    recorded.iter().for_each(|page| restore.outcome(page).unwrap());
    restore.finish(2 * SECOND).unwrap();
    for mut frontier in [loaded, replayed] {
        let mut stated = Vec::new();
        run(&mut frontier, &mut |request, now| {
            assert_eq!(request.purpose, Purpose::Page, "{}", request.url.as_str());
            stated.push(request.tdm);
            answer(request, now, 200, &[], "", &[])
        });
        assert_eq!(stated, [None, Some(false)]);
    }
}

#[test]
fn that_all_sites_have_the_same_one_or_the_same_page_instead_suspects_no_portal() {
    for (status, file) in
        [(200, FILE), (404, "<title>Not found</title>"), (200, "<title>Welcome</title><p>hello")]
    {
        let (mut frontier, names) = frontier(Settings { robots: true, tdmrep: true, ..patient() });
        frontier.add(&world(&names, 30, 4), 0).unwrap();
        let mut asked = 0;
        let (_, messages) = run_for(&mut frontier, 600, &mut |request, now| {
            asked += 1;
            let own = format!("<title>{} {}</title>", request.url.host(), request.url.path_and_query());
            match request.purpose {
                Purpose::Page => answer(request, now, 200, &[], &own, &[]),
                Purpose::Robots => site("user-agent: *\ndisallow: /x", status, file, request, now),
                _ => unreachable!(),
            }
        });
        assert_eq!((messages, asked), (Vec::new(), 30 * 6), "{status} {file}");
    }
}

#[test]
fn behind_a_portal_it_is_doubted_even_where_the_rules_are_older() {
    let (mut frontier, _) = frontier(settings());
    frontier.add(&[url("http://a.com/art/1")], 0).unwrap();
    for now in [0, SECOND] {
        let mut pages: Vec<Outcome> = (frontier.take(9, now).unwrap())
            .into_iter()
            .map(|request| site("", 200, "<title>Log in</title>", request, now))
            .collect();
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
    }
    frontier.forget_what_the_portal_said(SECOND, 2 * SECOND);
    let mut stated = Vec::new();
    let log = run(&mut frontier, &mut |request, now| {
        stated.extend((request.purpose == Purpose::Page).then_some(request.tdm));
        site("", 200, FILE, request, now)
    });
    let paths: Vec<_> = urls(&log).iter().map(|url| url.replace("http://a.com", "")).collect();
    assert_eq!(
        (&paths[..], &stated[..]),
        (&["/.well-known/tdmrep.json".to_owned(), "/art/1".to_owned()][..], &[Some(false)][..])
    );
}
