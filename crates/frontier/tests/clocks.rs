//! A frontier and its log while the wall clock is set, the machine sleeps, and the process starts again: a scripted clock.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lycosa_clocks::Clocks;
use lycosa_frontier::{Frontier, Resolve, Scope, Settings, Shared};
use lycosa_records::frame::{FRAME_HEADER_BYTES, Header};
use lycosa_records::{Entry, Head, Outcome, Received, Request, Response, Times};
use lycosa_url::{Clock, CrawlUrl, Failure, FailureKind, Micros, NameClass, Resolved, Script};

const START: Micros = 1_800_000_000_000_000;
const SECOND: Micros = 1_000_000;
const HOUR: i64 = 3_600;

/// Every name is known, for an hour from then on.
struct Names(Clock, Vec<Resolved>);

impl Resolve for Names {
    fn submit(&mut self, names: Vec<Box<str>>) {
        let expires = self.0.now() + 3_600 * SECOND;
        let known = |name| Resolved {
            name,
            elapsed_us: 7,
            expires,
            class: NameClass::Fast,
            result: Ok(vec![IpAddr::from([93, 184, 216, 34])]),
            lost: None,
        };
        self.1.extend(names.into_iter().map(known));
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        self.submit(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        into.append(&mut self.1);
    }
}

/// A crawl in one process.
struct Process {
    clock: Clock,
    script: &'static Script,
    frontier: Frontier<Names>,
    /// The log: frames, as they are written.
    log: Vec<u8>,
}

fn settings() -> Settings {
    Settings { scope: Scope::Any, robots: false, retries: 9, ..Settings::default() }
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

impl Process {
    /// A crawl that begins.
    fn begin(seeds: &[&str]) -> Self {
        let (clock, script) = Clock::scripted(START);
        Process::with(settings(), (clock, script), seeds)
    }

    /// A crawl that begins with these settings, by a clock that others may have, too.
    fn with(settings: Settings, (clock, script): (Clock, &'static Script), seeds: &[&str]) -> Self {
        let mut frontier = Frontier::new(settings, Names(clock, Vec::new())).unwrap();
        let seeds: Vec<CrawlUrl> = seeds.iter().map(|seed| url(seed)).collect();
        frontier.add(&seeds, clock.now()).unwrap();
        Process { clock, script, frontier, log: Vec::new() }
    }

    /// Waits for the next request; gives it and how long that took.
    fn next(&mut self) -> (Request, Duration) {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(request) = self.frontier.take(1, self.clock.now()).unwrap().pop() {
                self.write(&Entry::leased(&request, START, self.clock.now(), self.clock.wall_offset()));
                return (request, waited);
            }
            let due = self.frontier.due_at().map_or(0, |due| due.saturating_sub(self.clock.now()));
            let pause = Duration::from_micros(due.clamp(1, 10 * SECOND));
            self.script.advance(pause);
            waited += pause;
            assert!(waited < Duration::from_secs(86_400), "nothing more comes");
        }
    }

    /// The site answers; the answer is recorded and confirmed. Gives when it came, as it was recorded.
    fn answer(&mut self, request: Request, status: u16, headers: &[(&str, &str)]) -> Micros {
        let head = Head::of("HTTP/1.1", headers.iter().copied()).unwrap();
        let (address, now) = (request.route.addresses().first().copied(), self.clock.now());
        let times = Times { wall_offset_us: self.clock.wall_offset(), ..Times::default() };
        let result = Ok(Received { status, head, ..Received::default() });
        let response = Response { request, address, started: now, finished: now, times, result };
        let mut pages = [Outcome::new(response)];
        self.frontier.judge(&mut pages);
        self.write(&Entry::of(&pages[0]));
        let recorded = pages[0].response.fetched_at();
        self.frontier.done(&pages, now).unwrap();
        recorded
    }

    /// No connection to the site is accepted.
    fn refuse(&mut self, request: Request) {
        let (address, now) = (request.route.addresses().first().copied(), self.clock.now());
        let result = Err(Failure::new(FailureKind::ConnectRefused, ""));
        let times = Times::default();
        let mut pages =
            [Outcome::new(Response { request, address, started: now, finished: now, times, result })];
        self.frontier.judge(&mut pages);
        self.frontier.done(&pages, now).unwrap();
    }

    /// Writes a frame.
    fn write(&mut self, entry: &Entry<'_>) {
        assert!(entry.write(&mut self.log));
    }

    /// Is killed; another process goes on, from a snapshot of before the log, or of after it.
    fn restart(
        mut self,
        after: bool,
        meanwhile: impl FnOnce(&Script),
        boot_id: &str,
        snapshot: &[u8],
    ) -> Self {
        let anchor = self.clock.anchor("one start");
        let mut now = Vec::new();
        self.frontier.save(&mut now).unwrap();
        meanwhile(self.script);
        let clock = self.clock.resume(&anchor, boot_id);
        let from = if after { &now } else { snapshot };
        let names = Names(clock, Vec::new());
        let (mut frontier, _) = Frontier::load(settings(), names, &mut &from[..]).unwrap();
        let mut restore = frontier.restore();
        let mut rest = if after { &[][..] } else { &self.log[..] };
        while let Some(header) = rest.first_chunk().and_then(Header::read) {
            let facts = FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + header.facts as usize;
            restore.entry(&Entry::read(&header, &rest[facts]).unwrap(), 0).unwrap();
            rest = &rest[usize::try_from(header.frame_bytes()).unwrap()..];
        }
        restore.finish(clock.now()).unwrap();
        Process { clock, frontier, ..self }
    }

    /// A snapshot.
    fn snapshot(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.frontier.save(&mut bytes).unwrap();
        bytes
    }
}

#[test]
fn a_wall_clock_that_is_set_in_the_middle_changes_no_interval_and_what_is_recorded_follows_it() {
    for step in [HOUR, -HOUR] {
        let mut crawl = Process::begin(&["http://a.com/1", "http://a.com/2", "http://a.com/3"]);
        let (first, waited) = crawl.next();
        assert_eq!((crawl.answer(first, 200, &[]), waited), (START, Duration::ZERO));
        crawl.script.step(step);
        for count in 1..=2_u64 {
            let (request, waited) = crawl.next();
            assert_eq!(waited, Duration::from_secs(1), "{step}");
            let recorded = crawl.answer(request, 200, &[]);
            assert_eq!(recorded, START.saturating_add_signed(step * 1_000_000) + count * SECOND);
        }
    }
}

#[test]
fn a_pause_that_a_site_asked_for_holds_while_the_machine_sleeps_or_its_wall_clock_is_set() {
    let events: [fn(&Script); 3] = [|_| {}, |script| script.step(HOUR), |script| script.step(-HOUR)];
    for event in events {
        let mut crawl = Process::begin(&["http://a.com/1"]);
        let (request, _) = crawl.next();
        crawl.answer(request, 429, &[("retry-after", "120")]);
        event(crawl.script);
        assert_eq!(crawl.next().1, Duration::from_secs(120));
    }
    // Asleep for two hours: the pause is over, and no second one begins.
    let mut crawl = Process::begin(&["http://a.com/1"]);
    let (request, _) = crawl.next();
    crawl.answer(request, 429, &[("retry-after", "120")]);
    crawl.script.advance(Duration::from_secs(7_200));
    assert!(crawl.next().1 < Duration::from_secs(1), "only its name is asked for again");
}

#[test]
fn after_a_restart_a_pause_that_a_site_asked_for_is_neither_skipped_nor_an_hour_longer() {
    for (before, between) in [(0, 0), (0, HOUR), (0, -HOUR), (HOUR, 0), (-HOUR, HOUR), (HOUR, -3 * HOUR)] {
        for after in [true, false] {
            let mut crawl = Process::begin(&["http://a.com/1"]);
            let snapshot = crawl.snapshot();
            // The wall clock is set while the first process runs, and again when none does.
            crawl.script.step(before);
            let (request, _) = crawl.next();
            crawl.answer(request, 429, &[("retry-after", "120")]);
            let meanwhile = |script: &Script| {
                script.step(between);
                script.advance(Duration::from_secs(30));
            };
            let mut crawl = crawl.restart(after, meanwhile, "one start", &snapshot);
            assert_eq!(crawl.next().1, Duration::from_secs(90), "{before} {between} {after}");
        }
    }
}

#[test]
fn after_another_start_of_the_machine_with_its_clock_set_back_no_pause_is_longer_than_was_asked_for() {
    for (step, waits) in [(0, 90), (-HOUR, 120)] {
        let mut crawl = Process::begin(&["http://a.com/1"]);
        let snapshot = crawl.snapshot();
        let (request, _) = crawl.next();
        crawl.answer(request, 429, &[("retry-after", "120")]);
        let meanwhile = |script: &Script| {
            script.reboot();
            script.step(step);
            script.advance(Duration::from_secs(30));
        };
        let mut crawl = crawl.restart(false, meanwhile, "another start", &snapshot);
        assert_eq!(crawl.next().1, Duration::from_secs(waits), "{step}");
    }
}

#[test]
fn a_host_whose_answer_was_lost_is_left_alone_for_its_minute_whatever_the_wall_clock_says() {
    for step in [0, HOUR, -HOUR] {
        let mut crawl = Process::begin(&["http://a.com/1"]);
        let snapshot = crawl.snapshot();
        crawl.next();
        let mut crawl = crawl.restart(false, |script| script.step(step), "one start", &snapshot);
        assert_eq!(crawl.next().1, Duration::from_secs(60), "{step}");
    }
}

/// Two crawls of one machine, which share their clocks.
fn two_crawls() -> [Process; 2] {
    let (clock, script) = Clock::scripted(START);
    let clocks = Arc::new(Clocks::in_memory(&clock).unwrap());
    [(); 2].map(|()| {
        let shared = Shared { clocks: Some(Arc::clone(&clocks)), ..Shared::default() };
        Process::with(Settings { shared, ..settings() }, (clock, script), &["http://a.com/1"])
    })
}

#[test]
fn how_long_a_crawl_waits_for_a_host_that_fails_is_not_what_other_crawls_owe_it() {
    let [mut first, mut second] = two_crawls();
    let mut longest = Duration::ZERO;
    while longest < Duration::from_secs(150) {
        let (request, waited) = first.next();
        longest = longest.max(waited);
        first.refuse(request);
    }
    let (request, waited) = second.next();
    assert!(
        waited <= Duration::from_secs(60),
        "{waited:?}: the site is there again, for all that anybody knows"
    );
    second.answer(request, 200, &[]);
}

#[test]
fn a_pause_that_a_site_asked_for_is_kept_by_all_crawls_of_the_machine() {
    let [mut first, mut second] = two_crawls();
    let (request, _) = first.next();
    first.answer(request, 429, &[("retry-after", "600")]);
    assert_eq!(second.next().1, Duration::from_secs(600));
}
