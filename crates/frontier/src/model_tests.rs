//! The frontier against a plain model: random sequences of add, take, done, loss, crash and resume, with queues that
//! mostly live on disk, hosts most of which may be there as well, and snapshots at any position of the log.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use lycosa_records::{Links, Outcome, Purpose, Received, Request, Response, Times};
use lycosa_url::{Failure, FailureKind, NameClass};
use proptest::prelude::*;

use super::*;

const SECOND: Micros = 1_000_000;

/// Links that a page may have, and pages of a host.
const LINKS: u64 = 12;
const PAGES: u64 = 20;
const HOSTS: u64 = 8;

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    Add(u64),
    Take(usize),
    Done(usize),
    Lose,
    Wait(u64),
    Snapshot,
    /// The process dies; whether the next one finds the snapshot.
    Crash(bool),
}

/// Every name has an address; two hosts share one; one fails.
#[derive(Default)]
struct Names(Vec<Resolved>);

impl Resolve for Names {
    fn submit(&mut self, names: Vec<Box<str>>) {
        for name in names {
            let number = u32::from(name.as_bytes()[1] - b'0');
            let result = match number {
                3 => Err(Failure::new(FailureKind::NameNotFound, "scripted")),
                _ => Ok(vec![IpAddr::V4((u32::from_be_bytes([93, 0, 0, 0]) + number / 2).into())]),
            };
            self.0.push(Resolved {
                name,
                elapsed_us: 0,
                expires: u64::MAX / 2,
                class: NameClass::Fast,
                result,
                lost: None,
            });
        }
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.submit(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        into.append(&mut self.0);
    }
}

/// Numbers that follow from numbers.
fn mix(number: u64) -> u64 {
    let z = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A page's URL.
fn url(number: u64) -> CrawlUrl {
    let (host, page) = (number / PAGES % HOSTS, number % PAGES);
    CrawlUrl::parse(&format!("http://h{host}.example/a-long-path-for-the-queues/{page}")).unwrap()
}

/// What the world answers to a request.
fn answer(request: Request, now: Micros, lost: Option<FailureKind>) -> Outcome {
    let digest = mix(u64::from_le_bytes(request.url.digest()[..8].try_into().unwrap()));
    let mut received = Received { status: 200, ..Received::default() };
    let (mut redirect, mut links, mut rules) = (None, Links::default(), None);
    let mut failure = lost;
    if request.purpose == Purpose::Robots {
        rules = Some(Bytes::from_static(
            b"user-agent: *\ndisallow: /a-long-path-for-the-queues/7\ncrawl-delay: 2",
        ));
        received.status =
            if request.url.host().starts_with("h1") && request.attempt == 0 { 503 } else { 200 };
    } else {
        match digest % 10 {
            0 if request.attempt < 2 => failure = failure.or(Some(FailureKind::ReadTimeout)),
            1 => failure = failure.or(Some(FailureKind::TlsCertificate)),
            2 => received.status = 404,
            3 => (received.status, redirect) = (301, Some(url(digest >> 8))),
            4 if request.attempt == 0 => received.status = 429,
            _ => {
                (0..digest >> 16 & (LINKS - 1)).for_each(|n| links.push(&url(mix(digest ^ n)), n == 3));
            }
        }
    }
    let result = failure.map_or(Ok(received), |kind| Err(Failure::new(kind, "scripted")));
    let address = request.route.addresses().first().copied();
    let response =
        Response { request, address, started: now, finished: now, times: Times::default(), result };
    let mut page = Outcome::new(response);
    page.rules = rules;
    if page.response.result.is_ok() {
        (page.redirect, page.links) = (redirect, links);
    }
    page
}

/// What is in the log.
enum Record {
    Seed(CrawlUrl),
    /// A request that is sent next: URL, number, when its process began, and now.
    Lease(CrawlUrl, u64, Micros, Micros),
    Outcome(Box<Outcome>),
}

/// What must be so, in the plainest way: every URL that was admitted, with its depth, and whether it is settled.
#[derive(Default)]
struct Model {
    admitted: BTreeMap<String, u32>,
    settled: BTreeSet<String>,
}

impl Model {
    fn admit(&mut self, url: &CrawlUrl, depth: u32) {
        if depth <= MAX_DEPTH {
            self.admitted.entry(url.as_str().to_owned()).or_insert(depth);
        }
    }

    fn outcome(&mut self, page: &Outcome) {
        let request = &page.response.request;
        if request.purpose == Purpose::Robots || page.retry {
            return;
        }
        assert!(self.admitted.contains_key(request.url.as_str()), "{:?} was never admitted", request.url);
        assert!(self.settled.insert(request.url.as_str().to_owned()), "{:?} is settled twice", request.url);
        if let Some(target) = &page.redirect {
            self.admit(target, request.depth);
        } else if page.response.result.is_ok() {
            page.links
                .iter()
                .filter(|link| !link.nofollow)
                .for_each(|link| self.admit(&link.url.to_owned(), request.depth + 1));
        }
    }
}

const MAX_DEPTH: u32 = 6;

/// So few bytes that most keys are on disk.
const SEEN_MEMORY: usize = 4096;

/// A crawl whose process can die.
struct World {
    frontier: Frontier<Names>,
    settings: Settings,
    model: Model,
    log: Vec<Record>,
    /// Snapshots, the newest last: how much of the log they have seen.
    snapshots: Vec<(usize, Vec<u8>, SnapshotFiles)>,
    in_flight: Vec<Request>,
    /// When each lease was granted.
    granted: BTreeMap<u64, Micros>,
    /// The last request to each host and address: its start, or its end.
    last: BTreeMap<String, Micros>,
    /// Until when hosts are left alone whose answer nobody heard.
    left_alone: BTreeMap<String, Micros>,
    /// When the process began.
    process: Micros,
    now: Micros,
}

impl World {
    fn new(directory: &std::path::Path, ahead: Ahead, warm_hosts: usize) -> Self {
        let settings = Settings {
            scope: Scope::Any,
            max_depth: Some(MAX_DEPTH),
            queue_memory: 500,
            queue_directory: Some(directory.join("queues")),
            seen_memory: SEEN_MEMORY,
            seen_directory: Some(directory.join("seen")),
            lease: Duration::from_secs(100),
            ahead,
            warm_hosts,
            retry_jitter: 0.25,
            ..Settings::default()
        };
        World {
            frontier: Frontier::new(settings.clone(), Names::default()).unwrap(),
            settings,
            model: Model::default(),
            log: Vec::new(),
            snapshots: Vec::new(),
            in_flight: Vec::new(),
            granted: BTreeMap::new(),
            last: BTreeMap::new(),
            left_alone: BTreeMap::new(),
            process: SECOND,
            now: SECOND,
        }
    }

    fn step(&mut self, event: &Event) {
        match event {
            Event::Add(number) => {
                let seed = url(*number);
                self.log.push(Record::Seed(seed.clone()));
                self.model.admit(&seed, 0);
                self.frontier.add(&[seed], self.now).unwrap();
            }
            Event::Take(max) => self.take(*max),
            Event::Done(count) => self.done(*count, None),
            Event::Lose => drop(self.in_flight.pop()),
            Event::Wait(seconds) => self.now += seconds * SECOND,
            Event::Snapshot => self.snapshot(),
            Event::Crash(with_snapshot) => self.crash(*with_snapshot),
        }
        self.check();
    }

    fn take(&mut self, max: usize) {
        for request in self.frontier.take(max, self.now).unwrap() {
            let text = request.url.as_str().to_owned();
            if request.purpose == Purpose::Page {
                assert!(
                    self.model.admitted.contains_key(&text) && !self.model.settled.contains(&text),
                    "{text}"
                );
            }
            let address = request.route.addresses()[0].to_string();
            // Of the two domains that share an address, each has a right to its rate.
            let shared = if address == "93.0.0.1" { SECOND / 4 } else { SECOND / 8 };
            for (key, interval) in [(request.url.host().to_owned(), SECOND), (address, shared)] {
                let last = self.last.insert(key.clone(), self.now);
                assert!(last.is_none_or(|last| self.now - last >= interval), "{key} is asked too soon");
            }
            let alone = self.left_alone.get(request.url.host()).copied().unwrap_or_default();
            assert!(self.now >= alone, "{text}: what its site asked for is not known");
            self.granted.insert(request.lease, self.now);
            self.log.push(Record::Lease(request.url.clone(), request.lease, self.process, self.now));
            self.in_flight.push(request);
        }
        self.record(Vec::new());
    }

    fn done(&mut self, count: usize, lost: Option<FailureKind>) {
        let count = count.min(self.in_flight.len());
        let pages: Vec<Outcome> =
            self.in_flight.drain(..count).map(|request| answer(request, self.now, lost)).collect();
        for request in pages.iter().map(|page| &page.response.request) {
            self.last.insert(request.url.host().to_owned(), self.now);
            self.last.insert(request.route.addresses()[0].to_string(), self.now);
        }
        self.record(pages);
    }

    /// Judges, logs and confirms, as the crawl's loop does.
    fn record(&mut self, mut pages: Vec<Outcome>) {
        pages.retain(|page| self.frontier.expects(page));
        self.frontier.judge(&mut pages);
        pages.extend(self.frontier.settled());
        pages.iter().for_each(|page| self.model.outcome(page));
        self.frontier.done(&pages, self.now).unwrap();
        self.log.extend(pages.into_iter().map(|page| Record::Outcome(Box::new(page))));
    }

    fn snapshot(&mut self) {
        let mut bytes = Vec::new();
        let files = self.frontier.save(&mut bytes).unwrap();
        assert_eq!(SnapshotFiles::read(&mut &bytes[..]).unwrap(), files);
        self.snapshots.push((self.log.len(), bytes, files));
        let kept = self.snapshots.len().saturating_sub(2);
        self.snapshots.drain(..kept);
        let files: Vec<_> = self.snapshots.iter().map(|(_, _, files)| files.clone()).collect();
        remove_unused(&mut self.frontier, &files);
    }

    fn crash(&mut self, with_snapshot: bool) {
        // Fetch has ended what is out for longer than its lease: no answer can come any more.
        let expired = self.now.saturating_sub(100 * SECOND);
        for request in self.in_flight.drain(..).filter(|request| self.granted[&request.lease] > expired) {
            self.left_alone.insert(request.url.host().to_owned(), self.now + 60 * SECOND);
        }
        self.process = self.now;
        // The process that died writes nothing any more.
        self.frontier = Frontier::new(Settings::default(), Names::default()).unwrap();
        let (settings, names) = (self.settings.clone(), Names::default());
        let newest = self.snapshots.last().filter(|_| with_snapshot);
        let mut from = 0;
        self.frontier = match newest {
            Some((position, bytes, files)) => {
                from = *position;
                let (frontier, named) = Frontier::load(settings, names, &mut &bytes[..]).unwrap();
                assert_eq!(&named, files);
                frontier
            }
            None => {
                self.snapshots.clear();
                let mut frontier = Frontier::new(settings, names).unwrap();
                remove_unused(&mut frontier, &[]);
                frontier
            }
        };
        let mut restore = self.frontier.restore();
        for record in &self.log[from..] {
            match record {
                Record::Seed(url) => restore.seed(&Request::get(url.clone())).unwrap(),
                Record::Lease(url, number, process, granted) => {
                    restore.lease(url, *number, *process, *granted)
                }
                Record::Outcome(page) => restore.outcome(page).unwrap(),
            }
        }
        restore.finish(self.now).unwrap();
    }

    /// The frontier and the model agree, once it is known which links are new.
    fn check(&self) {
        if self.frontier.dedup.has_suspects() {
            return;
        }
        let counts = self.frontier.counts();
        let count = |state| counts.tally.count(state);
        let unrecorded = self.frontier.settled.len() as u64;
        let open = (self.model.admitted.len() - self.model.settled.len()) as u64;
        assert_eq!(counts.known, self.model.admitted.len() as u64);
        assert_eq!(count(State::Waiting) + count(State::Leased) + unrecorded, open);
        assert_eq!(
            count(State::Done) + count(State::Failed) + count(State::Refused) - unrecorded,
            self.model.settled.len() as u64
        );
    }

    /// Runs on until nothing is left.
    fn finish(&mut self) {
        for _ in 0..100_000 {
            if self.frontier.idle() {
                assert_eq!(
                    self.model.admitted.len(),
                    self.model.settled.len(),
                    "every admitted URL is settled"
                );
                // What is left in queues is entries of URLs that were settled before a crash, and robots.txt requests for these, whose
                // leases ended without an answer.
                while let Some(key) = self.frontier.hosts.cold.next().unwrap() {
                    self.frontier.warm(key, None, self.now).unwrap();
                }
                let all: Vec<_> = self.frontier.hosts.iter().map(|(id, _)| id).collect();
                for id in all {
                    while let Some(waiting) = self.frontier.next_waiting(id, Micros::MAX).unwrap() {
                        assert_eq!(waiting.purpose(), Purpose::Robots, "{waiting:?}");
                    }
                }
                assert_eq!(self.frontier.hosts.cold.urls(), 0);
                assert_eq!(self.frontier.hosts.memory(), 0, "all memory of queues is accounted for");
                return;
            }
            self.take(10);
            self.done(10, None);
            self.check();
            self.now = self.frontier.due_at().unwrap_or(self.now).max(self.now);
        }
        panic!("the crawl does not end: {:?}", self.frontier);
    }
}

/// Removes what neither the frontier nor one of these snapshots needs.
fn remove_unused(frontier: &mut Frontier<Names>, kept: &[SnapshotFiles]) {
    for path in frontier.unused_files(kept).unwrap() {
        std::fs::remove_file(path).unwrap();
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        1 => (0..PAGES * HOSTS).prop_map(Event::Add),
        8 => (1usize..4).prop_map(Event::Take),
        6 => (1usize..4).prop_map(Event::Done),
        1 => Just(Event::Lose),
        8 => (0u64..4).prop_map(Event::Wait),
        1 => Just(Event::Wait(200)),
        1 => Just(Event::Snapshot),
        1 => any::<bool>().prop_map(Event::Crash),
    ];
    proptest::collection::vec(event, 0..250)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_happens_every_url_is_settled_once_and_no_site_is_hurt(
        events in events(),
        ahead in prop_oneof![Just(Ahead::Off), Just(Ahead::Parsed), Just(Ahead::Random(1)), Just(Ahead::Links(1)), Just(Ahead::Due(2))],
        warm_hosts in prop_oneof![Just(usize::MAX), 1usize..4],
        key_bits in prop_oneof![Just(u64::MAX), Just(3)],
    ) {
        crate::cold::tests::USED_BITS.set(key_bits);
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::new(directory.path(), ahead, warm_hosts);
        for event in &events {
            world.step(event);
        }
        world.finish();
    }
}
