//! The report and the meaning of its JSON fields. `judge.rs` computes them.
//!
//! Times are seconds since the simnet started, on the wall clock (not scaled).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::trust::Certificates;

/// The complete report on a ledger.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this structure; within a version, fields are added but never changed.
    pub version: u32,
    /// Totals.
    pub totals: Totals,
    /// Coverage of the reachable pages.
    pub coverage: Coverage,
    /// Repeated requests.
    pub repeats: Repeats,
    /// Violations of robots.txt.
    pub robots: RobotsViolations,
    /// Violations of the intervals between requests.
    pub rates: Rates,
    /// Violations of Retry-After.
    pub pauses: Pauses,
    /// Bad habits, by host.
    pub habits: Habits,
    /// How evenly requests were distributed over time.
    pub flatness: Vec<Flatness>,
    /// Requests despite bad certificates.
    pub certificates: Certificates,
}

impl Report {
    /// The report as one line of JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// Counts of everything recorded.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Hosts of the world.
    pub hosts: u32,
    /// URLs of the world, without robots.txt files.
    pub urls: u64,
    /// HTTP requests.
    pub requests: u64,
    /// HTTP connections accepted, with or without requests.
    pub connections: u64,
    /// Bytes of bodies on the wire.
    pub body_bytes: u64,
    /// Requests without a complete response (every HEAD is one).
    pub incomplete: u64,
    /// Requests by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Requests by kind: page, robots, unknown, misdirected, bad, trap, upgrade, captive.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Hosts with at least one request.
    pub hosts_asked: u64,
    /// The first targets requested at a wrong address or of unknown hosts, as `host/path`.
    pub misdirected: Vec<String>,
    /// Time from the first request to the last, in seconds.
    pub span_s: f64,
    /// Requests divided by the span.
    pub requests_per_s: f64,
    /// DNS questions.
    pub dns_questions: u64,
    /// DNS questions over TCP.
    pub dns_tcp: u64,
    /// DNS questions by type: A, AAAA, other.
    pub dns_by_type: BTreeMap<&'static str, u64>,
    /// DNS questions by answer: address, nodata, nxdomain, error, silence.
    pub dns_by_answer: BTreeMap<&'static str, u64>,
    /// Host names that were resolved to an address.
    pub dns_names: u64,
}

/// Share of the pages reachable from the seeds by allowed, followed links that was served.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// The agent by which robots rules were evaluated.
    pub agent: String,
    /// Pages (status 200) reachable and allowed.
    pub reachable: u64,
    /// Of these, pages served completely at least once.
    pub served: u64,
    /// `served / reachable`.
    pub ratio: f64,
    /// The first missed pages, nearest to the seeds first.
    pub missed: Vec<String>,
}

/// A URL that was requested more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeat {
    /// The URL.
    pub url: String,
    /// Number of requests.
    pub requests: u64,
}

/// URLs (except robots.txt) that were requested more than once.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Repeats {
    /// Number of such URLs.
    pub urls: u64,
    /// Requests beyond each URL's first.
    pub requests: u64,
    /// Of these, requests after a complete response below 500 other than 429: they are no retries.
    pub after_answer: u64,
    /// The ten most repeated URLs.
    pub top: Vec<Repeat>,
}

/// Requests that robots.txt forbids to the judged agent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RobotsViolations {
    /// Requests with either violation.
    pub count: u64,
    /// Requests for disallowed paths.
    pub disallowed: u64,
    /// Requests to a host before any request for its robots.txt.
    pub before_robots: u64,
    /// The first violations of both kinds.
    pub first: Vec<String>,
}

/// Requests (except for robots.txt) during a pause that a host requested: 429 or 503 with Retry-After.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pauses {
    /// Responses that requested a pause.
    pub asked: u64,
    /// Requests before the end of the pause.
    pub count: u64,
    /// Hosts with such requests.
    pub keys: u64,
    /// The earliest request relative to the pause; gaps start when the response with Retry-After was written.
    pub worst: Option<RateViolation>,
    /// The first such requests.
    pub first: Vec<String>,
}

/// Two requests in too short an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateViolation {
    /// The host's name, or the address.
    pub key: String,
    /// Time of the second request.
    pub at_s: f64,
    /// Interval between the two.
    pub gap_s: f64,
    /// The minimum interval.
    pub allowed_s: f64,
}

/// Rate violations of one kind of key.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rate {
    /// Pairs of requests in too short an interval.
    pub count: u64,
    /// Keys with at least one such pair.
    pub keys: u64,
    /// The pair with the smallest interval relative to its minimum.
    pub worst: Option<RateViolation>,
    /// The first such pairs.
    pub first: Vec<RateViolation>,
}

/// Rate violations. All requests count, including robots.txt and redirects.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rates {
    /// Speed: intervals are divided by it.
    pub speed: f64,
    /// Minimum interval of a host without Crawl-delay, in unscaled seconds.
    pub host_interval_s: f64,
    /// Minimum interval of an address, in unscaled seconds.
    pub address_interval_s: f64,
    /// By host: the minimum is Crawl-delay if there is one, else the host interval.
    pub host: Rate,
    /// By address: the minimum is the address interval. IPv6 counts by full address, since all hosts here share one /64.
    pub address: Rate,
}

/// Bad habits, judged host by host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Habits {
    /// Faster after 429 or 503 than before. A crawler that still keeps twice the minimum interval is not counted.
    pub speeding_up: Habit<SpeedUp>,
    /// An ignored Crawl-delay: the median interval is below it.
    pub crawl_delay_ignored: Habit<Ignored>,
    /// Hosts whose robots.txt was never requested, among hosts with requests for pages.
    pub robots_never_asked: Habit<String>,
}

/// A habit: the number of affected hosts.
#[derive(Clone, Debug, Serialize)]
pub struct Habit<T> {
    /// Affected hosts.
    pub hosts: u64,
    /// Hosts for which the habit could be judged.
    pub of: u64,
    /// The first affected hosts.
    pub first: Vec<T>,
}

impl<T> Default for Habit<T> {
    fn default() -> Self {
        Self { hosts: 0, of: 0, first: Vec::new() }
    }
}

/// A crawler that got faster after a 429 or 503.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedUp {
    /// The host's name.
    pub key: String,
    /// Time of the 429 or 503.
    pub at_s: f64,
    /// The status: 429 or 503.
    pub status: u16,
    /// The shortest of the last intervals before it.
    pub before_s: f64,
    /// The median of the next intervals.
    pub after_s: f64,
}

/// A Crawl-delay that was ignored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ignored {
    /// The host's name.
    pub key: String,
    /// The required interval, in wall-clock time.
    pub allowed_s: f64,
    /// The median interval.
    pub median_s: f64,
    /// Requests to the host.
    pub requests: u64,
}

/// How evenly requests were distributed over windows of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flatness {
    /// Length of the windows in seconds of the wall clock.
    pub window_s: f64,
    /// Complete windows between the first request and the last.
    pub windows: u64,
    /// Mean rate in requests per second.
    pub requests_per_s: f64,
    /// Coefficient of variation: standard deviation divided by mean; 0 is perfectly flat.
    pub variation: f64,
}
