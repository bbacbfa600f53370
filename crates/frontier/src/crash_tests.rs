//! A crawl that dies and goes on: what a portal may have answered is doubted, and nothing else is; downtime is no patience.

use std::collections::HashMap;

use lycosa_records::{Body, Metadata, Outcome, Purpose, Request, RequestOptions};
use lycosa_url::{CrawlUrl, FailureKind, Micros};

use crate::portal_tests::{own, settle};
use crate::scripted::{Names, SECOND, answer, failed, frontier, url};
use crate::scripted::{patient, world};
use crate::{Frontier, Settings, State};

/// What a killed crawl leaves.
#[derive(Default)]
struct Left {
    seeds: Vec<Request>,
    /// Its snapshot.
    snapshot: Vec<u8>,
    /// What was recorded since: requests with the begin of their process, then outcomes, without bodies of pages as they are read again.
    leases: Vec<(Request, Micros)>,
    log: Vec<Outcome>,
    /// URLs that a portal answered for, as recorded.
    portal: Vec<String>,
    /// Up to which record outputs have it.
    written: u64,
}

/// The position of a snapshot; that of a record is its number after it.
const SAVED: u64 = 1_000;

/// What a portal says.
const LOGIN: &str = "<title>Log in</title><form>to this network</form>";

/// Seeds as requests.
fn seeds(urls: Vec<CrawlUrl>) -> Vec<Request> {
    urls.into_iter().map(Request::get).collect()
}

/// Answers as a portal does.
fn portal(request: Request, now: Micros) -> Outcome {
    answer(request, now, 200, &[], LOGIN, &[])
}

/// The same with few hosts in memory.
fn few(directory: &std::path::Path) -> Settings {
    Settings { warm_hosts: 3, queue_directory: Some(directory.to_owned()), ..patient() }
}

/// Lets a process run from one time to another, ten times a second, and be killed then.
fn run_until(
    frontier: &mut Frontier<Names>,
    left: &mut Left,
    (from, until): (Micros, Micros),
    site: &mut dyn FnMut(Request, Micros) -> Outcome,
) {
    let (mut now, mut held) = (from, Vec::new());
    while now < until {
        let requests = frontier.take(100, now).unwrap();
        left.leases.extend(requests.iter().map(|request| (request.clone(), from)));
        let pages = requests.into_iter().map(|request| site(request, now)).collect();
        let mut kept = settle(frontier, pages, &mut held, now);
        kept.extend(frontier.settled());
        left.record(kept);
        now += SECOND / 10;
    }
}

impl Left {
    /// Records outcomes.
    fn record(&mut self, pages: Vec<Outcome>) {
        for mut page in pages {
            let is_page = page.response.request.purpose == Purpose::Page;
            if is_page
                && page.response.result.is_ok()
                && !page.is_reopened()
                && page.decoded.as_deref() == Some(LOGIN.as_bytes())
            {
                self.portal.push(page.response.request.url.as_str().to_owned());
            }
            if is_page {
                page.decoded = None;
                page.response.result.iter_mut().for_each(|received| received.body = Body::default());
            }
            self.log.push(page);
        }
    }

    /// Takes a snapshot: what was recorded before is in it.
    fn save(&mut self, frontier: &mut Frontier<Names>) {
        self.snapshot.clear();
        frontier.save(&mut self.snapshot).unwrap();
        self.leases.clear();
        self.log.clear();
    }

    /// The next process; gives what it opens again: pages, and origins' rules.
    fn begin(&mut self, settings: &Settings, names: &Names, now: Micros) -> (Frontier<Names>, Vec<String>) {
        let mut frontier = match &self.snapshot[..] {
            [] => Frontier::new(settings.clone(), names.clone()).unwrap(),
            mut bytes => Frontier::load(settings.clone(), names.clone(), &mut bytes).unwrap().0,
        };
        let mut restore = frontier.restore();
        self.seeds.iter().for_each(|seed| restore.seed(seed).unwrap());
        for (request, process) in &self.leases {
            restore.lease(&request.url, request.lease, *process, *process);
        }
        let saved = if self.snapshot.is_empty() { 0 } else { SAVED };
        restore.at(saved);
        for (number, page) in self.log.iter().enumerate() {
            restore.at(saved + 1 + number as u64);
            restore.outcome(page).unwrap();
        }
        restore.finish(now).unwrap();
        frontier.doubt_last(self.written, now);
        let opened: Vec<Outcome> = frontier.settled().into_iter().filter(Outcome::is_reopened).collect();
        let urls = opened.iter().map(|page| page.response.request.url.as_str().to_owned()).collect();
        self.record(opened);
        (frontier, urls)
    }
}

/// A crawl whose portal is there from the third second on.
fn killed_behind_a_portal(settings: &Settings) -> (Frontier<Names>, Names, Left) {
    killed_behind_a_portal_with(settings, |request| request)
}

/// The same with seeds that are more than a URL.
fn killed_behind_a_portal_with(
    settings: &Settings,
    seed: impl Fn(Request) -> Request,
) -> (Frontier<Names>, Names, Left) {
    let names = Names::default();
    let mut frontier = Frontier::new(settings.clone(), names.clone()).unwrap();
    let all = seeds(world(&names, 6, 10)).into_iter().map(seed).collect();
    let mut left = Left { seeds: all, ..Left::default() };
    frontier.add_requests(&left.seeds, 0).unwrap();
    run_until(&mut frontier, &mut left, (0, 33 * SECOND / 10), &mut |request, now| match now / SECOND {
        0..3 => own(request, now),
        _ => portal(request, now),
    });
    assert_eq!(left.portal.len(), 1, "its first answer is recorded, the others are held");
    (frontier, names, left)
}

#[test]
fn the_first_answer_of_a_portal_is_asked_for_again_by_the_process_after_the_one_that_was_killed() {
    let (_, names, mut left) = killed_behind_a_portal(&patient());
    let (_, opened) = left.begin(&patient(), &names, 5 * SECOND);
    assert_eq!(opened, left.portal);
}

#[test]
fn what_is_asked_for_again_is_the_same_request_with_what_its_user_attached() {
    let metadata: Metadata = [("n".to_owned(), 7.into())].into_iter().collect();
    for method in ["", "POST"] {
        let options = RequestOptions {
            method: method.into(),
            body: method.to_owned().into(),
            metadata: metadata.clone(),
            ..RequestOptions::default()
        };
        let seed = |request| Request { options: Some(Box::new(options.clone())), ..request };
        let (mut frontier, names, mut left) = killed_behind_a_portal_with(&patient(), seed);
        for saves in [false, true] {
            if saves {
                left.save(&mut frontier);
            }
            let before = left.log.len();
            let (mut second, opened) = left.begin(&patient(), &names, 5 * SECOND);
            assert_eq!(opened, left.portal);
            let again =
                left.log.drain(before..).find(|page| page.request().purpose == Purpose::Page).unwrap();
            assert_eq!(again.request().options.as_deref(), Some(&options));
            let mut sent = Vec::new();
            run_until(&mut second, &mut Left::default(), (5 * SECOND, 90 * SECOND), &mut |request, now| {
                sent.extend(request.options.clone().filter(|_| request.url.as_str() == opened[0]));
                own(request, now)
            });
            assert_eq!(sent, [Box::new(options.clone())], "it is sent once more, as it was");
        }
    }
}

#[test]
fn a_snapshot_keeps_what_is_in_doubt() {
    let (mut frontier, names, mut left) = killed_behind_a_portal(&patient());
    left.save(&mut frontier);
    let (_, opened) = left.begin(&patient(), &names, 5 * SECOND);
    assert_eq!(opened, left.portal);
}

#[test]
fn what_an_output_has_already_is_not_asked_for_again() {
    let (mut frontier, names, mut left) = killed_behind_a_portal(&patient());
    let all = left.log.len() as u64;
    left.written = all;
    assert_eq!(left.begin(&patient(), &names, 5 * SECOND).1, Vec::<String>::new());
    left.written = SAVED;
    left.save(&mut frontier);
    assert_eq!(left.begin(&patient(), &names, 5 * SECOND).1, Vec::<String>::new());
}

#[test]
fn what_a_process_that_ended_by_itself_recorded_is_not_asked_again_when_a_later_one_dies() {
    let (mut first, names, mut left) = killed_behind_a_portal(&patient());
    left.save(&mut first);
    let mut second = Frontier::load(patient(), names.clone(), &mut &left.snapshot[..]).unwrap().0;
    let mut restore = second.restore();
    restore.at(SAVED);
    restore.finish(5 * SECOND).unwrap();
    second.confirm_last();
    assert_eq!(second.unconfirmed_since(), None);
    left.save(&mut second);
    assert_eq!(left.begin(&patient(), &names, 6 * SECOND).1, Vec::<String>::new());
}

#[test]
fn each_process_answers_for_its_own_last_answers() {
    let (_, names, mut left) = killed_behind_a_portal(&patient());
    let (mut second, opened) = left.begin(&patient(), &names, 5 * SECOND);
    left.portal.clear();
    run_until(&mut second, &mut left, (5 * SECOND, 7 * SECOND), &mut own);
    let (mut third, again) = left.begin(&patient(), &names, 8 * SECOND);
    assert_eq!(opened.len(), 1);
    assert!(!again.contains(&opened[0]), "it has been answered since, and others later: {again:?}");
    run_until(&mut third, &mut left, (8 * SECOND, 200 * SECOND), &mut own);
    assert!(third.idle());
    assert_eq!(left.portal, Vec::<String>::new());
}

#[test]
fn rules_that_were_learnt_last_are_asked_for_again_and_the_crawl_delay_holds_meanwhile() {
    const RULES: &str = "User-agent: *\nCrawl-delay: 7\n";
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { robots: true, ..few(directory.path()) };
    let names = Names::default();
    let mut first = Frontier::new(settings.clone(), names.clone()).unwrap();
    let mut left = Left { seeds: seeds(world(&names, 3, 10)), ..Left::default() };
    first.add_requests(&left.seeds, 0).unwrap();
    let mut site = |request: Request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 200, &[], RULES, &[]),
        _ => own(request, now),
    };
    run_until(&mut first, &mut left, (0, 20 * SECOND), &mut site);
    let (mut second, opened) = left.begin(&settings, &names, 21 * SECOND);
    let rules = (0..3).map(|host| format!("http://host{host}.com/robots.txt"));
    assert!(rules.into_iter().all(|robots| opened.contains(&robots)), "{opened:?}");
    let mut asked: HashMap<String, Vec<Micros>> = HashMap::new();
    run_until(&mut second, &mut left, (21 * SECOND, 90 * SECOND), &mut |request, now| {
        asked.entry(request.url.host().to_owned()).or_default().push(now);
        portal(request, now)
    });
    assert!(asked.values().any(|times| times.len() > 1), "{asked:?}");
    for times in asked.values() {
        assert!(times.windows(2).all(|two| two[1] - two[0] >= 7 * SECOND), "{asked:?}");
    }
}

#[test]
fn an_answer_that_was_under_way_when_the_portal_came_does_not_end_it() {
    let names = Names::default();
    let mut frontier = Frontier::new(patient(), names.clone()).unwrap();
    frontier.add(&world(&names, 6, 10), 0).unwrap();
    let slow = url("http://host0.com/2");
    let (mut under_way, mut held, mut now, mut messages) = (None, Vec::new(), 0, Vec::new());
    while now < 120 * SECOND {
        let requests = frontier.take(100, now).unwrap();
        let mut pages = Vec::new();
        for request in requests {
            match now / SECOND {
                _ if request.url == slow && under_way.is_none() => under_way = Some((request, now)),
                0..3 => pages.push(own(request, now)),
                _ => pages.push(portal(request, now)),
            }
        }
        if now == 40 * SECOND {
            assert!(messages.len() == 1 && under_way.is_some(), "{messages:?}");
            let (request, started) = under_way.clone().unwrap();
            let mut page = own(request, now);
            page.response.started = started;
            pages.push(page);
        }
        settle(&mut frontier, pages, &mut held, now);
        frontier.settled();
        messages.extend(frontier.messages());
        now += SECOND / 10;
    }
    assert_eq!(messages.len(), 1, "it is suspended still: {messages:?}");
}

#[test]
fn a_portal_that_answers_for_robots_txt_alone_gives_no_rules() {
    const RULES: &str = "User-agent: *\nDisallow: /9\n";
    let settings = Settings { robots: true, ..patient() };
    let names = Names::default();
    let mut first = Frontier::new(settings.clone(), names.clone()).unwrap();
    let mut left = Left { seeds: seeds(world(&names, 6, 10)), ..Left::default() };
    first.add_requests(&left.seeds, 0).unwrap();
    let mut asked = Vec::new();
    let mut site = |request: Request, now: Micros| match request.purpose {
        _ if (5..66).contains(&(now / SECOND)) => portal(request, now),
        Purpose::Robots => answer(request, now, 200, &[], RULES, &[]),
        _ => {
            asked.push(request.url.path_and_query().to_owned());
            own(request, now)
        }
    };
    run_until(&mut first, &mut left, (0, 3 * SECOND), &mut site);
    // It dies while it asks each host: these rest for a minute. The portal is gone after their robots.txt.
    let unanswered = first.take(100, 4 * SECOND).unwrap();
    assert_eq!(unanswered.len(), 6);
    left.leases.extend(unanswered.into_iter().map(|request| (request, 0)));
    let (mut second, _) = left.begin(&settings, &names, 5 * SECOND);
    run_until(&mut second, &mut left, (5 * SECOND, 200 * SECOND), &mut site);
    assert!(second.idle());
    assert_eq!(
        (asked.iter().filter(|path| *path == "/8").count(), asked.contains(&"/9".to_owned())),
        (6, false)
    );
}

#[test]
fn the_time_in_which_no_process_ran_is_no_patience_with_a_host() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings { warm_hosts: 1, ..few(directory.path()) };
    let names = Names::default();
    let mut first = Frontier::new(settings.clone(), names.clone()).unwrap();
    let mut left =
        Left { seeds: seeds(vec![url("http://dead.com/1"), url("http://dead.com/2")]), ..Left::default() };
    first.add_requests(&left.seeds, 0).unwrap();
    let mut site = |request, now| failed(request, now, FailureKind::ConnectRefused);
    run_until(&mut first, &mut left, (0, 60 * SECOND), &mut site);
    let hours = 10_000 * SECOND;
    let (mut second, _) = left.begin(&settings, &names, hours);
    // Five minutes of patience, of which one is over.
    run_until(&mut second, &mut left, (hours, hours + 200 * SECOND), &mut site);
    assert_eq!(second.counts().tally.count(State::Failed), 0);
    run_until(&mut second, &mut left, (hours + 200 * SECOND, hours + 400 * SECOND), &mut site);
    assert_eq!(second.counts().tally.count(State::Failed), 2);
}

#[test]
fn domains_that_show_one_parking_page_are_no_portal_after_a_restart_either() {
    for (with_snapshot, is_few) in [(false, false), (true, false), (false, true), (true, true)] {
        let directory = tempfile::tempdir().unwrap();
        let settings = if is_few { Settings { warm_hosts: 20, ..few(directory.path()) } } else { patient() };
        let names = Names::default();
        let mut first = Frontier::new(settings.clone(), names.clone()).unwrap();
        let mut left = Left { seeds: seeds(world(&names, 30, 6)), ..Left::default() };
        first.add_requests(&left.seeds, 0).unwrap();
        let mut site = |request: Request, now| match request.url.host() {
            "host0.com" | "host1.com" => own(request, now),
            _ => portal(request, now),
        };
        run_until(&mut first, &mut left, (0, 20 * SECOND), &mut site);
        if with_snapshot {
            left.save(&mut first);
        }
        left.seeds.retain(|seed| seed.url.host() != "host0.com");
        let (mut second, _) = left.begin(&settings, &names, 25 * SECOND);
        run_until(&mut second, &mut left, (25 * SECOND, 200 * SECOND), &mut site);
        assert_eq!(second.messages(), Vec::<String>::new());
        assert!(second.idle(), "with a snapshot: {with_snapshot}, few in memory: {is_few}");
    }
}

#[test]
fn what_is_held_when_a_process_ends_takes_the_portals_first_answer_with_it() {
    let (mut frontier, _, mut left) = killed_behind_a_portal(&patient());
    frontier.doubt_held(4 * SECOND);
    let opened: Vec<String> =
        frontier.settled().iter().map(|page| page.response.request.url.as_str().into()).collect();
    assert_eq!(opened, left.portal);
    left.portal.clear();
}

#[test]
fn a_process_that_dies_while_it_opens_urls_again_leaves_the_others_to_the_next() {
    let names = Names::default();
    let mut first = Frontier::new(patient(), names.clone()).unwrap();
    let mut left = Left { seeds: seeds(world(&names, 6, 10)), ..Left::default() };
    first.add_requests(&left.seeds, 0).unwrap();
    run_until(&mut first, &mut left, (0, 21 * SECOND / 10), &mut own);
    let recorded = left.log.len();
    let (_, opened) = left.begin(&patient(), &names, 5 * SECOND);
    assert_eq!(opened.len(), 6, "nobody was asked after the last of each host: {opened:?}");
    left.log.truncate(recorded + 2);
    let (_, others) = left.begin(&patient(), &names, 6 * SECOND);
    assert_eq!(others, opened[2..]);
}

#[test]
fn what_an_outcome_shows_to_have_been_admitted_is_admitted_at_replay() {
    let settings = Settings { robots: false, scope: crate::Scope::Any, max_hosts: 2, ..Settings::default() };
    let seed = url("http://a.com/");
    let outcome = |page: &str, lease: u64, links: &[&str]| {
        let request = Request { lease, ..Request::get(url(page)) };
        let mut outcome = answer(request, SECOND, 200, &[], "", links);
        outcome.response.request.depth = u32::from(page != "http://a.com/");
        outcome
    };
    // Another lane recorded its page after this one, and had its link admitted before: c.com was the second host, not b.com.
    let log = [
        outcome("http://a.com/", 1, &["http://b.com/", "http://c.com/"]),
        outcome("http://c.com/", 2, &["http://c.com/next"]),
        outcome("http://a.com/unknown", 3, &["http://a.com/further"]),
    ];
    let (mut frontier, _) = frontier(settings);
    let mut restore = frontier.restore();
    restore.seed(&Request::get(seed)).unwrap();
    log.iter().for_each(|outcome| restore.outcome(outcome).unwrap());
    restore.finish(2 * SECOND).unwrap();
    let tally = frontier.counts().tally;
    assert_eq!((tally.count(State::Done), tally.count(State::Waiting)), (3, 3), "{:?}", frontier.counts());
    for page in ["http://c.com/next", "http://a.com/further", "http://c.com/"] {
        let candidate = Request { depth: 1, ..Request::get(url(page)) };
        assert_eq!(frontier.add_requests(&[candidate], 2 * SECOND).unwrap(), 0, "{page} is known");
    }
    assert_eq!(frontier.counts().known, 6, "those, and b.com");
}
