//! Scripted names, pages and a scripted clock, for tests of the frontier.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use hashbrown::HashMap;
use lycosa_records::{Head, Outcome, Purpose, Received, Request, Response, Times};
use lycosa_url::{Failure, FailureKind, NameClass};

use crate::*;

pub(crate) const SECOND: Micros = 1_000_000;

/// Answers every name at once from a function.
#[derive(Clone, Default)]
pub(crate) struct Names {
    pub(crate) asked: Rc<RefCell<Vec<Box<str>>>>,
    pub(crate) refreshed: Rc<RefCell<Vec<Box<str>>>>,
    answers: Rc<RefCell<Vec<Resolved>>>,
    pub(crate) failing: Rc<RefCell<HashMap<String, FailureKind>>>,
    pub(crate) addresses: Rc<RefCell<HashMap<String, IpAddr>>>,
    /// What every question is answered with, while the resolver is in trouble.
    pub(crate) everything_fails: Rc<Cell<Option<FailureKind>>>,
    /// The address of names that cannot exist, while the resolver lies, and of all names while it does so for all.
    pub(crate) lie: Rc<Cell<Option<IpAddr>>>,
    pub(crate) lies_for_all: Rc<Cell<bool>>,
}

impl Resolve for Names {
    fn submit(&mut self, names: Vec<Box<str>>) {
        for name in names {
            self.asked.borrow_mut().push(name.clone());
            let failing = self.failing.borrow().get(&*name).copied();
            let result = match self.everything_fails.get().or(failing) {
                Some(kind) => Err(Failure::new(kind, "scripted")),
                None if name.starts_with("lycosa-") || self.lies_for_all.get() => {
                    let none = || Failure::new(FailureKind::NameNotFound, "scripted");
                    self.lie.get().map(|address| vec![address]).ok_or_else(none)
                }
                None => {
                    let number = u32::from_be_bytes([93, 0, 0, 0]) + name.bytes().map(u32::from).sum::<u32>();
                    let address = self.addresses.borrow().get(&*name).copied();
                    Ok(vec![address.unwrap_or(IpAddr::V4(number.into()))])
                }
            };
            let times = self.asked.borrow().iter().filter(|asked| **asked == name).count() as u64;
            self.answers.borrow_mut().push(Resolved {
                elapsed_us: if name.ends_with(".onion") { 0 } else { 7 }, // nobody is asked for it
                name,
                expires: times * 3600 * SECOND,
                class: NameClass::Slow,
                result,
                lost: None,
            });
        }
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.refreshed.borrow_mut().extend(names.iter().cloned());
        self.submit(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        into.append(&mut self.answers.borrow_mut());
    }
}

pub(crate) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

pub(crate) fn frontier(settings: Settings) -> (Frontier<Names>, Names) {
    let names = Names::default();
    (Frontier::new(settings, names.clone()).unwrap(), names)
}

/// What a site answers.
pub(crate) fn answer(
    request: Request,
    now: Micros,
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
    links: &[&str],
) -> Outcome {
    let head = Head::of("HTTP/1.1", headers.iter().copied()).unwrap();
    let redirect = head.get("location").map(|target| url(&target));
    let body = Bytes::copy_from_slice(body.as_bytes());
    let received = Received { status, head, body: body.clone().into(), ..Received::default() };
    let response = Response {
        address: request.route.addresses().first().copied(),
        request,
        started: now,
        finished: now,
        times: Times::default(),
        result: Ok(received),
    };
    let mut page = Outcome::new(response);
    page.redirect = redirect;
    links.iter().for_each(|link| page.links.push(&url(link), false));
    page.rules = (page.request().purpose == Purpose::Robots).then(|| body.clone());
    // As if it had come with a content coding: a body of its own.
    page.decoded = Some(Bytes::copy_from_slice(&body));
    page.set_mark();
    page
}

pub(crate) fn failed(request: Request, now: Micros, kind: FailureKind) -> Outcome {
    let mut page = answer(request, now, 200, &[], "", &[]);
    page.response.result = Err(Failure::new(kind, "scripted"));
    page
}

/// A site: what it answers to a request.
pub(crate) type Site<'a> = dyn FnMut(Request, Micros) -> Outcome + 'a;

/// A request's time and URL.
pub(crate) type Log = Vec<(Micros, String)>;

/// When a URL was settled without a fetch, and why.
pub(crate) type Settled = Vec<(Micros, String, FailureKind)>;

/// Runs a crawl to its end on a scripted clock.
pub(crate) fn crawl(frontier: &mut Frontier<Names>, site: &mut Site<'_>) -> (Log, Settled) {
    let (mut now, mut log, mut settled) = (0, Vec::new(), Vec::new());
    for _ in 0..10_000 {
        let requests = frontier.take(100, now).unwrap();
        let mut pages: Vec<Outcome> = Vec::new();
        for request in requests {
            log.push((now, request.url.as_str().to_owned()));
            pages.push(site(request, now));
        }
        frontier.judge(&mut pages);
        frontier.done(&pages, now).unwrap();
        for page in frontier.settled() {
            let kind = page.response.result.unwrap_err().kind;
            settled.push((page.response.finished, page.response.request.url.as_str().to_owned(), kind));
        }
        if frontier.idle() {
            return (log, settled);
        }
        if let Some(due) = frontier.due_at() {
            now = now.max(due);
        }
    }
    panic!("the crawl does not end: {frontier:?}");
}

/// The requests of a crawl.
pub(crate) fn run(frontier: &mut Frontier<Names>, site: &mut Site<'_>) -> Log {
    crawl(frontier, site).0
}

pub(crate) fn robots_or(
    robots: &'static str,
    links: &'static [&'static str],
) -> impl FnMut(Request, Micros) -> Outcome {
    move |request, now| match request.purpose {
        Purpose::Robots => answer(request, now, 200, &[], robots, &[]),
        _ => answer(request, now, 200, &[], "", links),
    }
}

/// The URLs of requests.
pub(crate) fn urls(log: &[(Micros, String)]) -> Vec<&str> {
    log.iter().map(|(_, url)| url.as_str()).collect()
}

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
pub(crate) fn run_for(
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
