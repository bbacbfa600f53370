//! The judgement: pure functions from records to a report, so that tests can feed records written by hand.

use std::collections::{HashMap, HashSet};

use crate::ledger::{Kind, NONE, Question, Records, Request};
use crate::params::Params;
use crate::ports::Ports;
use crate::report::{
    Coverage, Rate, RateViolation, Rates, Repeat, Repeats, Report, RobotsViolations, Totals,
};
use crate::secure::expand;
use crate::trust;
use crate::world::{Slot, World};

/// Examples listed of each violation.
const EXAMPLES: usize = 20;

/// Of an interval, the share that must be kept: 1 % is the clocks'.
const TOLERANCE: f64 = 0.99;

/// Judges records (in the order of their times) by a world and the parameters it is judged with.
pub fn judge(world: &World, params: &Params, ports: &Ports, records: &Records) -> Report {
    let judge = Judge { world, params, ports, strings: &records.strings };
    Report {
        version: 1,
        totals: judge.totals(records),
        coverage: judge.coverage(&records.requests),
        repeats: judge.repeats(&records.requests),
        robots: judge.robots(&records.requests),
        rates: judge.rates(&records.requests),
        certificates: trust::judge(world, ports, records),
    }
}

/// What all judgements need.
struct Judge<'a> {
    /// What there was to find.
    world: &'a World,
    /// Speed, intervals, agent.
    params: &'a Params,
    /// What stands around host names in URLs.
    ports: &'a Ports,
    /// Paths and names that are not of the world.
    strings: &'a [String],
}

impl Judge<'_> {
    /// Counts.
    fn totals(&self, records: &Records) -> Totals {
        let requests = &records.requests;
        let mut totals = Totals {
            hosts: self.world.host_count(),
            urls: self.world.url_count(),
            requests: requests.len() as u64,
            connections: records.connections,
            dns_questions: records.questions.len() as u64,
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
        for question in &records.questions {
            totals.dns_tcp += u64::from(question.tcp);
            let answer = answer_name(self.world, question);
            *totals.dns_by_type.entry(type_name(question.qtype)).or_default() += 1;
            *totals.dns_by_answer.entry(answer).or_default() += 1;
            if answer == "address" {
                names.insert(question.host);
            }
        }
        totals.dns_names = names.len() as u64;
        totals
    }

    /// Walks the model from the seeds as a polite crawler would, and looks up what was served.
    fn coverage(&self, requests: &[Request]) -> Coverage {
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
        // A queue, not a stack: what is missed near the seeds explains what is missed behind it.
        while let Some(&(host, slot)) = queue.get(next) {
            next += 1;
            path.clear();
            world.write_path(&mut path, host, slot);
            // A careful crawler ends where a certificate is bad: everything else is reachable without.
            if !world.is_trusted(host) || !world.robots(host).allows(&self.params.agent, &path) {
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
                    coverage.reachable += 1;
                    if served.has(place(host, slot)) {
                        coverage.served += 1;
                    } else if coverage.missed.len() < EXAMPLES {
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

    /// Counts requests by URL.
    fn repeats(&self, requests: &[Request]) -> Repeats {
        let mut urls: HashMap<(u32, u32, Kind), (u64, bool)> = HashMap::new();
        let mut repeats = Repeats::default();
        for request in
            requests.iter().filter(|r| matches!(r.kind, Kind::Page | Kind::Unknown | Kind::Upgrade))
        {
            let (count, answered) = urls.entry((request.host, request.page, request.kind)).or_default();
            *count += 1;
            if *count > 1 {
                repeats.requests += 1;
                repeats.urls += u64::from(*count == 2);
                repeats.after_answer += u64::from(*answered);
            }
            *answered |= request.complete && request.status < 500;
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

    /// Looks for requests that robots.txt forbids.
    fn robots(&self, requests: &[Request]) -> RobotsViolations {
        let mut found = RobotsViolations::default();
        let mut asked = HashSet::new();
        let mut path = Vec::new();
        for request in requests {
            match request.kind {
                Kind::Robots => {
                    asked.insert(request.host);
                    continue;
                }
                Kind::Page => {
                    path.clear();
                    self.world.write_path(&mut path, request.host, request.page);
                }
                Kind::Unknown | Kind::Upgrade => {
                    // The file itself may be asked for anywhere; it counts where it is given.
                    if request.kind == Kind::Upgrade && self.string(request.page) == "/robots.txt" {
                        continue;
                    }
                    path.clear();
                    path.extend_from_slice(self.string(request.page).as_bytes());
                }
                Kind::Misdirected | Kind::Bad => continue,
            }
            let disallowed = !self.world.robots(request.host).allows(&self.params.agent, &path);
            let before = !asked.contains(&request.host);
            found.disallowed += u64::from(disallowed);
            found.before_robots += u64::from(before);
            if disallowed || before {
                found.count += 1;
                if found.first.len() < EXAMPLES {
                    let why = if disallowed { "disallowed" } else { "before robots.txt" };
                    let url = self.target(request.host, request.page, request.kind);
                    found.first.push(format!("{why}: {url} at {:.6} s", seconds(request.time)));
                }
            }
        }
        found
    }

    /// Measures gaps by host and by address.
    fn rates(&self, requests: &[Request]) -> Rates {
        let params = self.params;
        let scaled = |interval: f64| interval / params.speed;
        let host_interval = |host| {
            let delay = self.world.robots(host).delay(&params.agent);
            scaled(delay.map_or(params.host_interval, f64::from))
        };
        let by_host = requests.iter().filter(|r| r.host != NONE).map(|r| (r.host, r.time));
        let by_address = requests.iter().map(|r| (r.address, r.time));
        Rates {
            speed: params.speed,
            host_interval_s: params.host_interval,
            address_interval_s: params.address_interval,
            host: gaps(by_host, host_interval, |host| self.world.name(host).to_owned()),
            address: gaps(
                by_address,
                |_| scaled(params.address_interval),
                |address| expand(address).to_string(),
            ),
        }
    }

    /// The URL of a record.
    fn target(&self, host: u32, page: u32, kind: Kind) -> String {
        match kind {
            Kind::Page => self.url(host, &self.world.path(host, page)),
            Kind::Upgrade => format!("http://{}{}", self.world.name(host), self.string(page)),
            _ => self.url(host, self.string(page)),
        }
    }

    /// The URL of a path.
    fn url(&self, host: u32, path: &str) -> String {
        self.ports.url(self.world, host, path)
    }

    /// A string that a record refers to.
    fn string(&self, id: u32) -> &str {
        self.strings.get(id as usize).map_or("(not kept)", String::as_str)
    }
}

/// Finds neighbours in time that are too close: `events` are keys and microseconds in the order of time.
fn gaps(
    events: impl Iterator<Item = (u32, u64)>,
    interval: impl Fn(u32) -> f64,
    name: impl Fn(u32) -> String,
) -> Rate {
    let mut rate = Rate::default();
    // By key: the time of the last request, the interval, whether it has violated.
    let mut last: HashMap<u32, (u64, f64, bool)> = HashMap::new();
    let mut worst = f64::INFINITY;
    for (key, time) in events {
        let Some((before, allowed_s, guilty)) = last.get_mut(&key) else {
            last.insert(key, (time, interval(key), false));
            continue;
        };
        let gap_s = seconds(time - *before);
        *before = time;
        if gap_s >= *allowed_s * TOLERANCE {
            continue;
        }
        rate.count += 1;
        rate.keys += u64::from(!*guilty);
        *guilty = true;
        let share = gap_s / *allowed_s;
        if share < worst || rate.first.len() < EXAMPLES {
            let violation =
                RateViolation { key: name(key), at_s: seconds(time), gap_s, allowed_s: *allowed_s };
            if rate.first.len() < EXAMPLES {
                rate.first.push(violation.clone());
            }
            if share < worst {
                worst = share;
                rate.worst = Some(violation);
            }
        }
    }
    rate
}

/// Microseconds in seconds.
fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

/// A kind's name in the report.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Page => "page",
        Kind::Robots => "robots",
        Kind::Unknown => "unknown",
        Kind::Misdirected => "misdirected",
        Kind::Upgrade => "upgrade",
        Kind::Bad => "bad",
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

/// What a question got.
fn answer_name(world: &World, question: &Question) -> &'static str {
    match question.rcode {
        0 if question.host != NONE && matches!(question.qtype, 1 | 255) => "address",
        0 if question.host != NONE && question.qtype == 28 && world.address6(question.host).is_some() => {
            "address"
        }
        0 => "nodata",
        3 => "nxdomain",
        u8::MAX => "silence",
        _ => "error",
    }
}

/// A set of places: one bit for each URL of the world.
struct Bits(Vec<u64>);

impl Bits {
    /// An empty set for `size` places.
    fn new(size: u64) -> Self {
        Self(vec![0; size as usize / 64 + 1])
    }

    /// Adds a place; true if it is new.
    fn set(&mut self, place: u64) -> bool {
        let (word, bit) = (&mut self.0[place as usize / 64], 1 << (place % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether the place is in the set.
    fn has(&self, place: u64) -> bool {
        self.0[place as usize / 64] >> (place % 64) & 1 == 1
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
