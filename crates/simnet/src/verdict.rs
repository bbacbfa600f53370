//! The verdict on each request, in order of time: one pass, shared by the report, the queries and the plot.

use std::collections::HashMap;

use crate::judge::{Judge, TOLERANCE, seconds};
use crate::ledger::{Kind, NONE, Request};
use crate::nature::Gate;
use crate::trust;

/// Whether a status asks the client to slow down.
pub(crate) fn is_plea(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// Interval between two requests to one key, or between a 429 or 503 and the next request; in seconds of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    /// The actual interval.
    pub(crate) gap_s: f64,
    /// The minimum interval.
    pub(crate) allowed_s: f64,
}

impl Gap {
    /// Whether the interval is too short.
    pub(crate) fn is_close(self) -> bool {
        self.gap_s < self.allowed_s * TOLERANCE
    }
}

/// The verdict on one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// Interval since the previous request to the host.
    pub(crate) host: Option<Gap>,
    /// Interval since the previous request to the address.
    pub(crate) address: Option<Gap>,
    /// Interval since the host's response with Retry-After, if the request came before its end.
    pub(crate) retry: Option<Gap>,
    /// Whether robots.txt disallows it.
    pub(crate) disallowed: bool,
    /// Whether the host's robots.txt had not been requested.
    pub(crate) before_robots: bool,
    /// Whether it was sent despite a bad certificate.
    pub(crate) careless: bool,
}

impl Verdict {
    /// The violations in words; empty if there are none.
    pub(crate) fn offences(&self) -> Vec<&'static str> {
        let close = |gap: Option<Gap>| gap.is_some_and(Gap::is_close);
        let found = [
            (self.disallowed, "disallowed"),
            (self.before_robots, "before robots.txt"),
            (self.careless, "bad certificate accepted"),
            (self.retry.is_some(), "before Retry-After"),
            (close(self.host), "too close to the host"),
            (close(self.address), "too close to the address"),
        ];
        found.into_iter().filter(|(guilty, _)| *guilty).map(|(_, name)| name).collect()
    }
}

/// State of a host.
struct Host {
    /// The last request's time.
    last: Option<u64>,
    /// The minimum interval, in seconds.
    allowed_s: f64,
    /// Whether the last request was for robots.txt and was redirected: its Crawl-delay is not known yet.
    redirected: bool,
    /// Whether a captive portal answered the last request.
    captive: bool,
    /// Time of the last request for robots.txt that got a response.
    robots: Option<u64>,
    /// Whether trouble prevented the last requested robots.txt, so that the rules are unknown.
    unknown: bool,
    /// Of the pause that ends last: when its 429 or 503 was written, and its end.
    plea: Option<(u64, u64)>,
}

impl Host {
    /// A host without requests.
    fn new(judge: &Judge<'_>, host: u32) -> Self {
        Self {
            last: None,
            allowed_s: judge.interval(host),
            redirected: false,
            captive: false,
            robots: None,
            unknown: false,
            plea: None,
        }
    }
}

/// Computes the verdicts. Requests must be in order of time, or their interval counts as 0.
pub(crate) struct Verdicts<'a> {
    /// World and parameters.
    judge: &'a Judge<'a>,
    /// State by host.
    hosts: HashMap<u32, Host>,
    /// Time of the last request, by address.
    addresses: HashMap<u32, u64>,
    /// Buffer for paths.
    path: Vec<u8>,
}

impl<'a> Verdicts<'a> {
    /// Starts without requests.
    pub(crate) fn new(judge: &'a Judge<'a>) -> Self {
        Self { judge, hosts: HashMap::new(), addresses: HashMap::new(), path: Vec::new() }
    }

    /// The verdict on the next request.
    pub(crate) fn next(&mut self, request: &Request) -> Verdict {
        let mut verdict = Verdict::default();
        let interval = self.judge.scaled(self.judge.params.address_interval);
        if let Some(last) = self.addresses.insert(request.address, request.time) {
            verdict.address =
                Some(Gap { gap_s: seconds(request.time.saturating_sub(last)), allowed_s: interval });
        }
        if request.host == NONE {
            self.moved(request);
            return verdict;
        }
        let judge = self.judge;
        verdict.careless = trust::accepted(judge, request).is_some();
        let host = self.hosts.entry(request.host).or_insert_with(|| Host::new(judge, request.host));
        let is_robots = request.kind == Kind::Robots;
        // The Crawl-delay is unknown too if only a portal has answered for the host.
        let is_captive = std::mem::replace(&mut host.captive, request.kind == Kind::Captive);
        let is_unknown = (host.redirected && is_robots) || (is_captive && host.robots.is_none());
        host.redirected = is_robots && (300..=399).contains(&request.status);
        if let Some(last) = host.last.replace(request.time) {
            let unknown = judge.scaled(judge.params.host_interval);
            let allowed_s = if is_unknown { host.allowed_s.min(unknown) } else { host.allowed_s };
            verdict.host = Some(Gap { gap_s: seconds(request.time.saturating_sub(last)), allowed_s });
        }
        // Requests sent before the 429 or 503 was written are no violation.
        if let Some((answered, until)) = host.plea.filter(|(answered, _)| request.time > *answered) {
            let gap = Gap { gap_s: seconds(request.time - answered), allowed_s: seconds(until - answered) };
            // A request for robots.txt is allowed at any time.
            verdict.retry = Some(gap).filter(|gap| gap.is_close() && request.kind != Kind::Robots);
        }
        if is_plea(request.status) && request.retry_after_ms > 0 && request.complete {
            let answered = request.time + u64::from(request.took);
            let wait = judge.scaled(f64::from(request.retry_after_ms) * 1e3) as u64;
            // The pause that ends last counts.
            if host.plea.is_none_or(|(_, until)| until < answered + wait) {
                host.plea = Some((answered, answered + wait));
            }
        }
        if request.kind == Kind::Robots {
            let base = judge.base(request.host);
            let own = base.is_some_and(|host| judge.world.nature(host).gate == Gate::Failing);
            host.unknown = request.status == 0 || (request.status >= 500 && !own);
            if !host.unknown {
                host.robots = Some(request.time);
            }
        } else if judge.write_path(request, &mut self.path) {
            // A robots.txt fetched earlier still applies (RFC 9309, 2.3.1.4).
            verdict.before_robots = host.robots.is_none() && !host.unknown;
            let unknown = host.robots.is_none() && host.unknown;
            // A changing robots.txt is judged by the version that was fetched.
            let age = host.robots.map_or(0.0, |time| seconds(time) * judge.params.speed);
            let base = judge.base(request.host);
            let allows = |host| judge.world.robots_at(host, age).allows(&judge.params.agent, &self.path);
            verdict.disallowed = unknown || base.is_some_and(|host| !allows(host));
        }
        verdict
    }

    /// Counts a request for robots.txt at the old address of a moved name as one for its robots.txt, as RFC 9309 allows.
    fn moved(&mut self, request: &Request) {
        if request.kind != Kind::Misdirected {
            return;
        }
        let name = self.judge.string(request.page).strip_suffix("/robots.txt").unwrap_or_default();
        let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
        if let Some(host) = self.judge.world.find_host(name) {
            let judge = self.judge;
            self.hosts.entry(host).or_insert_with(|| Host::new(judge, host)).robots = Some(request.time);
        }
    }
}
