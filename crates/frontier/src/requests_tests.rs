//! Requests that are more than a URL, and a job that several frontiers share.

use bytes::Bytes;
use hashbrown::HashMap;
use lycosa_records::{Entry, Purpose, Request};
use lycosa_url::{FailureKind, Micros, Ring, RingKey};

use super::scripted::{Names, SECOND, answer, crawl, failed, frontier, url};
use super::*;

/// What a request is beyond a GET.
fn posted(body: &'static str) -> Option<Box<lycosa_records::RequestOptions>> {
    let body = Bytes::from_static(body.as_bytes());
    Some(Box::new(lycosa_records::RequestOptions { method: "POST".into(), body, ..Default::default() }))
}

#[test]
fn a_post_that_leads_to_a_get_of_its_url_is_no_circle() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..Settings::default() });
    let form = Request { options: posted("q=1"), ..Request::get(url("http://a.com/form")) };
    frontier.add_requests(&[form], 0).unwrap();
    let mut asked = Vec::new();
    let mut site = |request: Request, now| {
        asked.push(request.method().to_owned());
        match request.method() {
            "POST" => answer(request, now, 303, &[("location", "http://a.com/form")], "", &[]),
            _ => answer(request, now, 200, &[], "result", &[]),
        }
    };
    crawl(&mut frontier, &mut site);
    assert_eq!(asked, ["POST", "GET"]);
    assert_eq!((frontier.counts().pages, frontier.counts().tally.count(State::Failed)), (1, 0));
}

#[test]
fn what_waits_of_a_site_that_has_moved_ends_as_cancelled_and_its_robots_txt_is_not_asked_for() {
    let (mut frontier, _) = frontier(Settings::default());
    let ring = Ring::new(&[("here", 1.0), ("there", 1.0)], 16).unwrap();
    let none = Ring::new(&[], 16).unwrap();
    let of =
        |ring: &Ring, node: &str| Ownership { ring: ring.clone(), key: RingKey::Domain, node: node.into() };
    let owner = ring.owner(&RingKey::Domain.digest(&url("http://www.a.com/1"))).unwrap().to_owned();
    let other = if owner == "here" { "there" } else { "here" };
    let pages = ["http://www.a.com/1", "http://www.a.com/2"].map(url);
    frontier.add(&pages, 0).unwrap();
    let robots = frontier.take(1, 0).unwrap().remove(0);
    assert_eq!(robots.purpose, Purpose::Robots);
    frontier.keep_to(vec![of(&ring, other)]);
    let mut unsent = failed(robots, 0, FailureKind::Cancelled);
    frontier.judge([&mut unsent]);
    frontier.done([&unsent], 0).unwrap();
    let mut ended = Vec::new();
    for second in 0..10 {
        assert!(frontier.take(9, second * SECOND).unwrap().is_empty(), "nothing is asked for");
        ended.extend(frontier.settled());
    }
    let kinds: Vec<_> = ended.iter().map(|page| page.response.result.as_ref().unwrap_err().kind).collect();
    assert_eq!(kinds, [FailureKind::Cancelled; 2]);
    assert!(frontier.idle());
    frontier.keep_to(vec![of(&ring, &owner), of(&none, &owner)]);
    frontier.add(&["http://www.a.com/2b"].map(url), 10 * SECOND).unwrap();
    for second in 10..20 {
        assert!(frontier.take(1, second * SECOND).unwrap().is_empty(), "it has to be ours by each ring");
    }
    assert_eq!(frontier.settled().len(), 1);
    frontier.keep_to(vec![of(&ring, &owner)]);
    frontier.add(&["http://www.a.com/3"].map(url), 20 * SECOND).unwrap();
    let again = frontier.take(1, 30 * SECOND).unwrap().remove(0);
    assert_eq!(again.purpose, Purpose::Robots, "nobody has learnt anything of the site here");
}

#[test]
fn a_robots_txt_that_redirects_to_a_site_of_another_node_is_asked_for_once() {
    let (mut frontier, _) =
        frontier(Settings { patience: Duration::ZERO, retries: 0, ..Settings::default() });
    let ring = Ring::new(&[("here", 1.0), ("there", 1.0)], 16).unwrap();
    let owner_of =
        |host: &str| ring.owner(&RingKey::Domain.digest(&url(&format!("http://{host}/")))).unwrap();
    let mine = (0..).map(|n| format!("a{n}.com")).find(|host| owner_of(host) == "here").unwrap();
    let other = (0..).map(|n| format!("b{n}.com")).find(|host| owner_of(host) == "there").unwrap();
    frontier.keep_to(vec![Ownership { ring: ring.clone(), key: RingKey::Domain, node: "here".into() }]);
    frontier.add(&[url(&format!("http://{mine}/1"))], 0).unwrap();
    let (mut asked, mut ended) = (0, Vec::new());
    for second in 0..300 {
        for request in frontier.take(9, second * SECOND).unwrap() {
            asked += 1;
            let target = format!("http://{other}/robots.txt");
            let mut page = answer(request, second * SECOND, 301, &[("location", target.as_str())], "", &[]);
            frontier.judge([&mut page]);
            frontier.done([&page], second * SECOND).unwrap();
        }
        ended.extend(frontier.settled());
    }
    assert_eq!((asked, ended.len()), (1, 1));
}

#[test]
fn an_outcome_is_about_what_was_leased_whatever_a_stage_has_sent() {
    let (mut frontier, _) = frontier(Settings { robots: false, ..Settings::default() });
    frontier.add(&[url("http://a.com/1")], 0).unwrap();
    let mut leased = frontier.take(1, 0).unwrap().remove(0);
    leased.options = posted("");
    let mut page = answer(leased, 0, 200, &[], "", &[]);
    frontier.judge([&mut page]);
    assert_eq!(page.request().options, None);
    assert_eq!(page.request().key(), *page.url().digest(), "a restart finds it by that");
}

/// One of three frontiers that share a job, divided by host.
fn third(node: &str, names: &Names) -> Frontier<Names> {
    let ring = lycosa_url::Ring::new(&[("a", 1.0), ("b", 1.0), ("c", 1.0)], 64).unwrap();
    let ownership = Ownership { ring, key: lycosa_url::RingKey::Host, node: node.into() };
    let settings = Settings { robots: false, ownership: Some(ownership), ..Settings::default() };
    Frontier::new(settings, names.clone()).unwrap()
}

#[test]
fn links_of_others_are_given_until_they_are_delivered_also_by_the_next_process() {
    let names = Names::default();
    let mut first = third("a", &names);
    let hosts = (0..40).map(|host| format!("http://host{host}.com/"));
    let seed = hosts.clone().find(|seed| first.outbox.owns(url(seed).borrow())).unwrap();
    first.add(&[url(&seed)], 0).unwrap();
    let leased = first.take(1, 0).unwrap().remove(0);
    let path = |n: usize| format!("{seed}{n}");
    let links: Vec<String> = hosts.map(|host| format!("{host}x")).chain((0..3).map(path)).collect();
    let page = answer(leased, 0, 200, &[], "", &links.iter().map(|link| &**link).collect::<Vec<_>>());
    first.admission.include(&url("http://host0.com/"));
    for host in 0..40 {
        first.admission.include(&url(&format!("http://host{host}.com/")));
    }
    first.done([&page], 0).unwrap();
    let taken = first.take_outbox();
    assert!(taken.len() > 10 && taken.iter().all(|(owner, _)| &**owner != "a"), "{taken:?}");
    assert_eq!(first.counts().outbox, taken.len() as u64);
    let mut snapshot = Vec::new();
    first.save(&mut snapshot).unwrap();
    let settings = first.settings.clone();
    drop(first);
    let mut next = Frontier::load(settings, names, &mut &snapshot[..]).unwrap().0;
    assert_eq!(next.take_outbox(), taken, "whether they came is not known");
    next.outbox_delivered();
    assert_eq!(next.take_outbox(), []);
}

#[test]
fn the_new_place_of_a_seed_belongs_to_the_crawl_of_all_that_share_it() {
    let names = Names::default();
    let mut all: HashMap<&str, Frontier<Names>> =
        ["a", "b", "c"].map(|node| (node, third(node, &names))).into();
    let (seed, place) = (url("http://old.com/"), url("http://new.com/"));
    for frontier in all.values_mut() {
        frontier.add(std::slice::from_ref(&seed), 0).unwrap();
    }
    let owner = all.values_mut().find(|frontier| frontier.outbox.owns(seed.borrow())).unwrap();
    let leased = owner.take(1, 0).unwrap().remove(0);
    let page = answer(leased, 0, 301, &[("location", place.as_str())], "", &[]);
    owner.done([&page], 0).unwrap();
    for (node, request) in owner.take_outbox() {
        all.get_mut(&*node).unwrap().add_requests(&[request], 0).unwrap();
    }
    for (node, frontier) in &mut all {
        assert!(frontier.admission.allow(url("http://new.com/page").borrow(), 1, false), "{node}");
    }
    let waiting: u64 = all.values().map(|frontier| frontier.counts().tally.count(State::Waiting)).sum();
    assert_eq!(waiting, 1, "its owner alone fetches it");
}

/// A robots.txt that `a` asks another host for, since its own was redirected there: this host, and the request. Its host is `b`'s.
fn redirected_robots(names: &Names) -> (String, Request) {
    let (mut asking, other) = (third("a", names), third("b", names));
    let hosts: Vec<String> = (0..40).map(|host| format!("http://host{host}.com/")).collect();
    let of = |frontier: &Frontier<Names>| hosts.iter().find(|host| frontier.outbox.owns(url(host).borrow()));
    let (own, target) = (url(of(&asking).unwrap()), of(&other).unwrap().clone());
    asking.add(std::slice::from_ref(&own), 0).unwrap();
    let leased = asking.take(1, 0).unwrap().remove(0);
    let chain = vec![lycosa_records::Step { url: own.robots(), status: 301 }];
    (target.clone(), Request { url: url(&target).robots(), chain, purpose: Purpose::Robots, ..leased })
}

/// Restores one of three from a log: only records whose URL is its own are its own, but a robots.txt is that of its first URL.
fn restored(node: &str, names: &Names, log: &[Entry<'_>], now: Micros) -> Frontier<Names> {
    let mut frontier = third(node, names);
    for (entry, end) in log.iter().zip(1..) {
        let first = match entry {
            Entry::Outcome(outcome) => outcome.request().chain.first().map(|step| &step.url),
            _ => None,
        };
        match frontier.outbox.owns(first.unwrap_or(entry.url()).borrow()) {
            true => frontier.restore().entry(entry, end).unwrap(),
            false => frontier.restore().others(entry, end),
        }
    }
    frontier.restore().finish(now).unwrap();
    frontier
}

#[test]
fn a_lease_that_another_frontier_has_an_outcome_of_delays_no_host() {
    let names = Names::default();
    let (target, request) = redirected_robots(&names);
    let page = answer(request.clone(), SECOND, 404, &[], "", &[]);
    let log = [Entry::leased(&request, 0, 0, 0), Entry::of(&page)];
    let first_grant = |log: &[Entry<'_>]| {
        let mut other = restored("b", &names, log, 10 * SECOND);
        other.add(&[url(&target)], 10 * SECOND).unwrap();
        (10..100).find(|second| !other.take(1, second * SECOND).unwrap().is_empty())
    };
    assert_eq!(first_grant(&log[..1]), Some(70), "its answer may have asked for a pause");
    assert_eq!(first_grant(&log), Some(11));
}

#[test]
fn a_lease_that_another_frontier_restores_keeps_its_number() {
    let names = Names::default();
    let (_, request) = redirected_robots(&names);
    let log = [Entry::leased(&request, 0, 0, 0)];
    for node in ["a", "b", "c"] {
        let next = restored(node, &names, &log, 10 * SECOND).leases.next();
        assert!(next > request.lease, "{node} would grant {next}");
    }
}
