//! The verdict on each request, in the order of time: one pass that the report, the queries and the plot share.

use std::collections::HashMap;

use crate::judge::{Judge, TOLERANCE, seconds};
use crate::ledger::{Kind, NONE, Request};
use crate::nature::Gate;
use crate::trust;

/// Statuses by which a host asks to be left alone for a while.
pub(crate) fn is_plea(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// The time between two requests to one key, or between a plea and the next request; seconds of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    /// How long it was.
    pub(crate) gap_s: f64,
    /// How long it had to be.
    pub(crate) allowed_s: f64,
}

impl Gap {
    /// Whether it was too short.
    pub(crate) fn is_close(self) -> bool {
        self.gap_s < self.allowed_s * TOLERANCE
    }
}

/// What there is to say about one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// Since the request before to the host.
    pub(crate) host: Option<Gap>,
    /// Since the request before to the address.
    pub(crate) address: Option<Gap>,
    /// Since the host's answer with Retry-After, if it came before that had passed.
    pub(crate) retry: Option<Gap>,
    /// Whether robots.txt forbids it.
    pub(crate) disallowed: bool,
    /// Whether the host's robots.txt had not been asked for.
    pub(crate) before_robots: bool,
    /// Whether it was sent in spite of a bad certificate.
    pub(crate) careless: bool,
}

impl Verdict {
    /// The offences in words; none for a request that was in order.
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

/// What is remembered of a host.
struct Host {
    /// The last request's time.
    last: Option<u64>,
    /// The gap that it is due, in seconds.
    allowed_s: f64,
    /// Whether the last request was sent elsewhere for robots.txt: nobody knows the Crawl-delay that stands there.
    redirected: bool,
    /// Whether a captive portal answered the last request.
    captive: bool,
    /// When robots.txt was asked for last.
    robots: Option<u64>,
    /// Whether the last robots.txt that was asked for was kept away by trouble: what the host forbids is unknown.
    unknown: bool,
    /// When its last plea was answered, and until when it wants to be left alone.
    plea: Option<(u64, u64)>,
}

impl Host {
    /// A host that was asked for nothing.
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

/// Gives the verdicts. Requests come in the order of their times; of others the gap is 0.
pub(crate) struct Verdicts<'a> {
    /// World and parameters.
    judge: &'a Judge<'a>,
    /// By host.
    hosts: HashMap<u32, Host>,
    /// By address: the last request's time.
    addresses: HashMap<u32, u64>,
    /// A path being looked at.
    path: Vec<u8>,
}

impl<'a> Verdicts<'a> {
    /// Nothing was asked yet.
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
        // Nor does anybody know the one of a host for which only a portal has answered.
        let is_captive = std::mem::replace(&mut host.captive, request.kind == Kind::Captive);
        let is_unknown = (host.redirected && is_robots) || (is_captive && host.robots.is_none());
        host.redirected = is_robots && (300..=399).contains(&request.status);
        if let Some(last) = host.last.replace(request.time) {
            let unknown = judge.scaled(judge.params.host_interval);
            let allowed_s = if is_unknown { host.allowed_s.min(unknown) } else { host.allowed_s };
            verdict.host = Some(Gap { gap_s: seconds(request.time.saturating_sub(last)), allowed_s });
        }
        // What was under way when the plea was answered is innocent.
        if let Some((answered, until)) = host.plea.filter(|(answered, _)| request.time > *answered) {
            let gap = Gap { gap_s: seconds(request.time - answered), allowed_s: seconds(until - answered) };
            // Looking at robots.txt again is no visit.
            verdict.retry = Some(gap).filter(|gap| gap.is_close() && request.kind != Kind::Robots);
        }
        if is_plea(request.status) && request.retry_after_ms > 0 && request.complete {
            let answered = request.time + u64::from(request.took);
            let wait = judge.scaled(f64::from(request.retry_after_ms) * 1e3) as u64;
            // Of several, the one that lasts longest.
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
            // One that was had before is still a rule (RFC 9309, 2.3.1.4).
            verdict.before_robots = host.robots.is_none() && !host.unknown;
            let unknown = host.robots.is_none() && host.unknown;
            // Judged by the version that was fetched, where it changes.
            let age = host.robots.map_or(0.0, |time| seconds(time) * judge.params.speed);
            let base = judge.base(request.host);
            let allows = |host| judge.world.robots_at(host, age).allows(&judge.params.agent, &self.path);
            verdict.disallowed = unknown || base.is_some_and(|host| !allows(host));
        }
        verdict
    }

    /// A name that has moved was asked for its robots.txt, if at its old address: RFC 9309 leaves it at that.
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
