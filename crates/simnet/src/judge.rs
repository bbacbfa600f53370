//! The judge: pure functions from records to a report, so that tests can use hand-written records.
//!
//! Coverage counts the pages defined in `world.rs`. A robots.txt that changes is judged by the version that
//! the crawler fetched last; one that returns 5xx disallows everything (RFC 9309, 2.3.1.4). Names in wildcard
//! zones are separate hosts with their zone's robots.txt. If trouble prevented a robots.txt and none was
//! fetched earlier, all pages of its host are disallowed. A request answered by a captive portal only counts
//! as a request; while only a portal has answered for a host, its Crawl-delay is unknown to the crawler.
//! After a 429 or 503 with Retry-After, any request except for robots.txt before the end of the pause, in
//! scaled time, is a violation.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::habits;
use crate::ledger::{Kind, NONE, Question, Records, Request, WILD};
use crate::nature::Lookup;
use crate::params::Params;
use crate::ports::Ports;
use crate::report::{
    Coverage, Pauses, Rate, RateViolation, Rates, Repeat, Repeats, Report, RobotsViolations, Totals,
};
use crate::secure::expand;
use crate::series;
use crate::trust;
use crate::verdict::{Gap, Verdicts, is_plea};
use crate::world::{Slot, World};

/// Maximum of examples per kind of violation.
pub(crate) const EXAMPLES: usize = 20;

/// Share of an interval that is required: 1 % is tolerated for clock differences.
pub(crate) const TOLERANCE: f64 = 0.99;

/// The complete time of a ledger.
pub const ALWAYS: Range<u64> = 0..u64::MAX;

/// Judges records (in order of time) against a world and parameters.
///
/// Pages of the hosts in `without` do not count in coverage.
/// `window` is in microseconds; earlier records are not counted but known, such as a fetched robots.txt or the time of a last request.
pub fn judge(
    world: &World,
    params: &Params,
    ports: &Ports,
    records: &Records,
    window: &Range<u64>,
    without: &HashSet<u32>,
) -> Report {
    let judge = Judge { world, params, ports, strings: &records.strings };
    let until = records.requests.partition_point(|request| request.time < window.end);
    let since = records.requests.partition_point(|request| request.time < window.start);
    let requests = &records.requests[..until];
    let (robots, rates, pauses) = judge.manners(requests, since);
    Report {
        version: 1,
        totals: judge.totals(records, &requests[since.min(until)..], window),
        coverage: judge.coverage(&requests[since.min(until)..], without),
        repeats: judge.repeats(requests, since),
        robots,
        rates,
        pauses,
        habits: habits::find(&judge, requests, window.start),
        flatness: series::flatness(&requests[since.min(until)..]),
        certificates: trust::find(&judge, records, &requests[since.min(until)..]),
    }
}

/// Data that all judgements need.
pub(crate) struct Judge<'a> {
    /// The simulated world.
    pub(crate) world: &'a World,
    /// Speed, intervals, agent.
    pub(crate) params: &'a Params,
    /// Schemes and ports of URLs.
    pub(crate) ports: &'a Ports,
    /// Paths and names that are not part of the world.
    pub(crate) strings: &'a [String],
}

impl Judge<'_> {
    /// Computes the totals.
    fn totals(&self, records: &Records, requests: &[Request], window: &Range<u64>) -> Totals {
        let questions = || records.questions.iter().filter(|question| window.contains(&question.time));
        let mut totals = Totals {
            hosts: self.world.host_count(),
            urls: self.world.url_count(),
            requests: requests.len() as u64,
            connections: records.connections,
            dns_questions: questions().count() as u64,
            ..Totals::default()
        };
        let mut hosts = HashSet::new();
        for request in requests {
            totals.body_bytes += u64::from(request.body);
            totals.incomplete += u64::from(!request.complete);
            *totals.by_status.entry(request.status).or_default() += 1;
            *totals.by_kind.entry(kind_name(request.kind)).or_default() += 1;
            if request.host != NONE {
                hosts.insert(request.host);
            }
            if request.kind == Kind::Misdirected && totals.misdirected.len() < EXAMPLES {
                totals.misdirected.push(self.string(request.page).to_owned());
            }
        }
        totals.hosts_asked = hosts.len() as u64;
        if let (Some(first), Some(last)) = (requests.first(), requests.last()) {
            totals.span_s = seconds(last.time - first.time);
            totals.requests_per_s =
                if totals.span_s > 0.0 { requests.len() as f64 / totals.span_s } else { 0.0 };
        }
        let mut names = HashSet::new();
        for question in questions() {
            totals.dns_tcp += u64::from(question.tcp);
            let answer = self.answer_name(question);
            *totals.dns_by_type.entry(type_name(question.qtype)).or_default() += 1;
            *totals.dns_by_answer.entry(answer).or_default() += 1;
            if answer == "address" {
                names.insert(question.host);
            }
        }
        totals.dns_names = names.len() as u64;
        totals
    }

    /// Walks the world from the seeds as a polite crawler would, and looks up which pages were served.
    fn coverage(&self, requests: &[Request], without: &HashSet<u32>) -> Coverage {
        let world = self.world;
        let place = |host: u32, slot: u32| world.hosts.first(host) + u64::from(slot);
        let mut served = Bits::new(world.url_count());
        for request in requests.iter().filter(|r| r.kind == Kind::Page && r.status == 200 && r.complete) {
            served.set(place(request.host, request.page));
        }
        let mut coverage = Coverage {
            agent: self.params.agent.clone(),
            reachable: 0,
            served: 0,
            ratio: 1.0,
            missed: Vec::new(),
        };
        let mut seen = Bits::new(world.url_count());
        let mut queue = Vec::new();
        for host in world.seeds() {
            seen.set(place(host, 0));
            queue.push((host, 0));
        }
        let mut path = Vec::new();
        let mut next = 0;
        // Breadth-first: pages missed near the seeds explain those missed behind them.
        while let Some(&(host, slot)) = queue.get(next) {
            next += 1;
            // A careful crawler rejects a bad certificate; all other hosts are reachable without this one.
            if !world.nature(host).counts() || !world.is_trusted(host) {
                continue;
            }
            path.clear();
            world.write_path(&mut path, host, slot);
            if !world.robots(host).allows(&self.params.agent, &path) {
                continue;
            }
            let mut visit = |host, slot| {
                if seen.set(place(host, slot)) {
                    queue.push((host, slot));
                }
            };
            match world.slot(host, slot) {
                Slot::Redirect { host, slot, .. } => visit(host, slot),
                Slot::Missing | Slot::Broken => {}
                Slot::Page => {
                    let (counts, has) = (!without.contains(&host), served.has(place(host, slot)));
                    coverage.reachable += u64::from(counts);
                    coverage.served += u64::from(counts && has);
                    if counts && !has && coverage.missed.len() < EXAMPLES {
                        coverage.missed.push(self.url(host, &String::from_utf8_lossy(&path)));
                    }
                    if world.follows(host, slot) {
                        world.links(host, slot, |link| {
                            if link.follow {
                                visit(link.host, link.slot);
                            }
                        });
                    }
                }
            }
        }
        if coverage.reachable > 0 {
            coverage.ratio = coverage.served as f64 / coverage.reachable as f64;
        }
        coverage
    }

    /// Counts requests by URL; counts repeats from index `since` on.
    fn repeats(&self, requests: &[Request], since: usize) -> Repeats {
        let mut urls: HashMap<(u32, u32, Kind), (u64, bool)> = HashMap::new();
        let mut repeats = Repeats::default();
        for (place, request) in requests.iter().enumerate() {
            // If trouble prevented the response, another request is no repeat.
            if !matches!(request.kind, Kind::Page | Kind::Unknown | Kind::Upgrade) || request.status == 0 {
                continue;
            }
            let (count, answered) = urls.entry((request.host, request.page, request.kind)).or_default();
            *count += 1;
            if *count > 1 && place >= since {
                repeats.requests += 1;
                repeats.urls += u64::from(*count == 2);
                repeats.after_answer += u64::from(*answered);
            }
            // After a 429, another request is expected.
            *answered |= request.complete && request.status < 500 && request.status != 429;
        }
        let mut top: Vec<_> = urls.into_iter().filter(|(_, (count, _))| *count > 1).collect();
        top.sort_by_key(|&(key, (count, _))| (std::cmp::Reverse(count), key));
        repeats.top = top
            .into_iter()
            .take(10)
            .map(|((host, page, kind), (requests, _))| Repeat {
                url: self.target(host, page, kind),
                requests,
            })
            .collect();
        repeats
    }

    /// Finds violations of robots.txt, intervals and Retry-After, from index `since` on.
    fn manners(&self, requests: &[Request], since: usize) -> (RobotsViolations, Rates, Pauses) {
        let params = self.params;
        let (mut robots, mut pauses) = (RobotsViolations::default(), Pauses::default());
        let [mut hosts, mut addresses, mut pleas] = [(); 3].map(|()| Tally::default());
        let mut verdicts = Verdicts::new(self);
        for (place, request) in requests.iter().enumerate() {
            let verdict = verdicts.next(request);
            if place < since {
                continue;
            }
            let host = |host: u32| self.name(host).to_owned();
            hosts.enter(request.host, request.time, verdict.host, host);
            addresses.enter(request.address, request.time, verdict.address, |address| self.address(address));
            pleas.enter(request.host, request.time, verdict.retry, host);
            pauses.asked += u64::from(request.retry_after_ms > 0 && is_plea(request.status));
            if let Some(gap) = verdict.retry.filter(|_| pauses.first.len() < EXAMPLES) {
                let url = self.target(request.host, request.page, request.kind);
                let early = gap.allowed_s - gap.gap_s;
                pauses.first.push(format!("{url} at {:.6} s, {early:.6} s too early", seconds(request.time)));
            }
            robots.disallowed += u64::from(verdict.disallowed);
            robots.before_robots += u64::from(verdict.before_robots);
            if verdict.disallowed || verdict.before_robots {
                robots.count += 1;
                if robots.first.len() < EXAMPLES {
                    let why = if verdict.disallowed { "disallowed" } else { "before robots.txt" };
                    let url = self.target(request.host, request.page, request.kind);
                    robots.first.push(format!("{why}: {url} at {:.6} s", seconds(request.time)));
                }
            }
        }
        let rates = Rates {
            speed: params.speed,
            host_interval_s: params.host_interval,
            address_interval_s: params.address_interval,
            host: hosts.rate,
            address: addresses.rate,
        };
        let Rate { count, keys, worst, .. } = pleas.rate;
        (robots, rates, Pauses { count, keys, worst, ..pauses })
    }

    /// The host's Crawl-delay for the judged agent, in unscaled seconds.
    fn delay(&self, host: u32) -> Option<u8> {
        self.base(host).and_then(|host| self.world.robots(host).delay(&self.params.agent))
    }

    /// Whether a host has a Crawl-delay.
    pub(crate) fn has_delay(&self, host: u32) -> bool {
        self.delay(host).is_some()
    }

    /// Required interval of a host, in seconds of the wall clock.
    pub(crate) fn interval(&self, host: u32) -> f64 {
        self.scaled(self.delay(host).map_or(self.params.host_interval, f64::from))
    }

    /// Converts unscaled time to wall-clock time.
    pub(crate) fn scaled(&self, time: f64) -> f64 {
        time / self.params.speed
    }

    /// Writes the path of a request; returns false if robots rules do not apply to it.
    pub(crate) fn write_path(&self, request: &Request, path: &mut Vec<u8>) -> bool {
        path.clear();
        match request.kind {
            Kind::Page => self.world.write_path(path, request.host, request.page),
            Kind::Unknown | Kind::Trap => path.extend_from_slice(self.string(request.page).as_bytes()),
            Kind::Upgrade => {
                path.extend_from_slice(self.string(request.page).as_bytes());
                // robots.txt itself is always allowed; only the request after the redirect counts.
                return path != b"/robots.txt";
            }
            Kind::Robots | Kind::Misdirected | Kind::Bad | Kind::Captive => return false,
        }
        true
    }

    /// Name of the answer to a question in the report.
    fn answer_name(&self, question: &Question) -> &'static str {
        let has = |host| match question.qtype {
            1 => self.world.has_v4(host),
            28 => self.world.address6(host).is_some(),
            255 => true,
            _ => false,
        };
        match question.rcode {
            0 if question.host < self.world.host_count()
                && self.world.nature(question.host).lookup != Lookup::NoData
                && has(question.host) =>
            {
                "address"
            }
            0 => "nodata",
            3 => "nxdomain",
            u8::MAX => "silence",
            _ => "error",
        }
    }

    /// The world's host of a record: the host itself, or the owner of the wildcard zone.
    pub(crate) fn base(&self, host: u32) -> Option<u32> {
        match host {
            NONE => None,
            WILD.. => self.world.find_zone(self.string(host - WILD)),
            _ => Some(host),
        }
    }

    /// The name of a record's host.
    pub(crate) fn name(&self, host: u32) -> &str {
        if (WILD..NONE).contains(&host) { self.string(host - WILD) } else { self.world.name(host) }
    }

    /// The URL of a record.
    pub(crate) fn target(&self, host: u32, page: u32, kind: Kind) -> String {
        match kind {
            Kind::Page => self.url(host, &self.world.path(host, page)),
            Kind::Upgrade | Kind::Captive => format!("http://{}{}", self.name(host), self.string(page)),
            _ => self.url(host, self.string(page)),
        }
    }

    /// The URL of a request, as far as it could be parsed.
    pub(crate) fn asked(&self, request: &Request) -> String {
        match request.kind {
            Kind::Page | Kind::Unknown | Kind::Trap | Kind::Upgrade | Kind::Captive => {
                self.target(request.host, request.page, request.kind)
            }
            Kind::Robots => self.url(request.host, "/robots.txt"),
            Kind::Misdirected => format!("http://{}", self.string(request.page)),
            Kind::Bad => "(not understood)".to_owned(),
        }
    }

    /// Formats an address.
    #[allow(clippy::unused_self, reason = "the format of stored addresses is a detail of the world")]
    pub(crate) fn address(&self, address: u32) -> String {
        expand(address).to_string()
    }

    /// The URL of a host and a path.
    fn url(&self, host: u32, path: &str) -> String {
        let around = self.base(host).map(|host| self.ports.around(self.world, host));
        let (scheme, port) = around.unwrap_or(("http://", ""));
        format!("{scheme}{}{port}{path}", self.name(host))
    }

    /// A string that a record refers to.
    pub(crate) fn string(&self, id: u32) -> &str {
        self.strings.get(id as usize).map_or("(not stored)", String::as_str)
    }
}

/// Counts intervals that are too short.
#[derive(Default)]
struct Tally {
    /// The violations found.
    rate: Rate,
    /// Keys with violations.
    guilty: HashSet<u32>,
    /// Smallest ratio of an interval to the required one so far.
    worst: Option<f64>,
}

impl Tally {
    /// Adds an interval that ended at a time.
    fn enter(&mut self, key: u32, time: u64, gap: Option<Gap>, name: impl Fn(u32) -> String) {
        let Some(Gap { gap_s, allowed_s }) = gap.filter(|gap| gap.is_close()) else { return };
        let rate = &mut self.rate;
        rate.count += 1;
        rate.keys += u64::from(self.guilty.insert(key));
        let share = gap_s / allowed_s;
        let worst = self.worst.is_none_or(|worst| share < worst);
        if worst || rate.first.len() < EXAMPLES {
            let violation = RateViolation { key: name(key), at_s: seconds(time), gap_s, allowed_s };
            if rate.first.len() < EXAMPLES {
                rate.first.push(violation.clone());
            }
            if worst {
                self.worst = Some(share);
                rate.worst = Some(violation);
            }
        }
    }
}

/// Converts microseconds to seconds.
pub(crate) fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

/// A kind's name in the report.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Page => "page",
        Kind::Robots => "robots",
        Kind::Unknown => "unknown",
        Kind::Misdirected => "misdirected",
        Kind::Bad => "bad",
        Kind::Trap => "trap",
        Kind::Upgrade => "upgrade",
        Kind::Captive => "captive",
    }
}

/// A type's name in the report.
fn type_name(qtype: u16) -> &'static str {
    match qtype {
        1 => "A",
        28 => "AAAA",
        _ => "other",
    }
}

/// A bit set of URLs of the world.
struct Bits(Vec<u64>);

impl Bits {
    /// An empty set for `size` URLs.
    fn new(size: u64) -> Self {
        Self(vec![0; size as usize / 64 + 1])
    }

    /// Adds a URL by index; returns whether it is new.
    fn set(&mut self, place: u64) -> bool {
        let (word, bit) = (&mut self.0[place as usize / 64], 1 << (place % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether the URL is in the set.
    fn has(&self, place: u64) -> bool {
        self.0[place as usize / 64] >> (place % 64) & 1 == 1
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
