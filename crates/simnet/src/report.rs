//! The report: what its JSON fields mean. How they come about stands in `judge.rs`.
//!
//! Times are seconds since the simnet started, on the wall clock (not scaled).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::trust::Certificates;

/// Everything that the ledger says.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this structure; fields are added, never changed, within one.
    pub version: u32,
    /// Counts.
    pub totals: Totals,
    /// What was fetched of what should have been.
    pub coverage: Coverage,
    /// What was fetched more than once.
    pub repeats: Repeats,
    /// Offences against robots.txt.
    pub robots: RobotsViolations,
    /// Offences against the intervals between requests.
    pub rates: Rates,
    /// Offences against Retry-After.
    pub pauses: Pauses,
    /// Bad habits: what hosts had to suffer, host by host.
    pub habits: Habits,
    /// How evenly requests came.
    pub flatness: Vec<Flatness>,
    /// Offences against certificates.
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
    /// URLs of the world, robots.txt files not counted.
    pub urls: u64,
    /// HTTP requests.
    pub requests: u64,
    /// HTTP connections accepted, with or without requests.
    pub connections: u64,
    /// Bytes of bodies on the wire.
    pub body_bytes: u64,
    /// Requests whose answer was not written to its end (a HEAD never is).
    pub incomplete: u64,
    /// Requests by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Requests by kind: page, robots, unknown, misdirected, bad, trap, upgrade.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Hosts asked for anything.
    pub hosts_asked: u64,
    /// First few targets that were asked of a wrong address or do not exist, as `host/path`.
    pub misdirected: Vec<String>,
    /// From the first request to the last, in seconds.
    pub span_s: f64,
    /// Requests divided by the span.
    pub requests_per_s: f64,
    /// DNS questions.
    pub dns_questions: u64,
    /// DNS questions that came over TCP.
    pub dns_tcp: u64,
    /// DNS questions by type: A, AAAA, other.
    pub dns_by_type: BTreeMap<&'static str, u64>,
    /// DNS questions by answer: address, nodata, nxdomain, error, silence.
    pub dns_by_answer: BTreeMap<&'static str, u64>,
    /// Host names for which an address was given.
    pub dns_names: u64,
}

/// How much of what was reachable from the seeds by allowed, followed links was served.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// The agent that the robots rules were read for.
    pub agent: String,
    /// Pages (status 200) reachable and allowed.
    pub reachable: u64,
    /// Those of them that were served at least once, to the last byte.
    pub served: u64,
    /// `served / reachable`.
    pub ratio: f64,
    /// The first missed, nearest to the seeds first.
    pub missed: Vec<String>,
}

/// A URL that was requested more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeat {
    /// The URL.
    pub url: String,
    /// How often it was requested.
    pub requests: u64,
}

/// URLs (robots.txt aside) that were requested more than once.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Repeats {
    /// Such URLs.
    pub urls: u64,
    /// Requests beyond each URL's first.
    pub requests: u64,
    /// Those of them that came after a complete answer below 500: no retry explains these.
    pub after_answer: u64,
    /// The ten most repeated.
    pub top: Vec<Repeat>,
}

/// Requests that robots.txt forbids, for the agent that is judged.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RobotsViolations {
    /// Both kinds together.
    pub count: u64,
    /// Requests for disallowed paths.
    pub disallowed: u64,
    /// Requests to a host whose robots.txt had not been requested before.
    pub before_robots: u64,
    /// The first of both kinds.
    pub first: Vec<String>,
}

/// Requests to hosts that had asked for a pause (429 or 503 with Retry-After), robots.txt aside.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pauses {
    /// Answers that asked for one.
    pub asked: u64,
    /// Requests that came before it was over.
    pub count: u64,
    /// Hosts that suffered from it.
    pub keys: u64,
    /// The request that came earliest, as a share of the pause: gaps count from when the answer that asked was written.
    pub worst: Option<RateViolation>,
    /// The first of them.
    pub first: Vec<String>,
}

/// Two requests that came too close.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateViolation {
    /// The host's name, or the address.
    pub key: String,
    /// When the second came.
    pub at_s: f64,
    /// How long after the first.
    pub gap_s: f64,
    /// The shortest gap allowed.
    pub allowed_s: f64,
}

/// Rate violations of one kind of key.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rate {
    /// Pairs of requests that came too close.
    pub count: u64,
    /// Keys with at least one.
    pub keys: u64,
    /// The pair with the smallest share of its allowed gap.
    pub worst: Option<RateViolation>,
    /// The first of them.
    pub first: Vec<RateViolation>,
}

/// Rate violations. All requests count, robots.txt and redirects too.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rates {
    /// Scaled time: intervals are divided by it.
    pub speed: f64,
    /// Interval of a host without Crawl-delay, unscaled seconds.
    pub host_interval_s: f64,
    /// Interval of an address, unscaled seconds.
    pub address_interval_s: f64,
    /// By host: Crawl-delay if there is one, else the host interval.
    pub host: Rate,
    /// By address: the address interval. IPv6 by the whole address: all of it is one /64 here, and one rate for all is no judgement.
    pub address: Rate,
}

/// Bad habits, judged host by host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Habits {
    /// Faster after 429 or 503 than before. What still keeps twice the allowed gap afterwards is not blamed.
    pub speeding_up: Habit<SpeedUp>,
    /// A Crawl-delay that is not kept: the median gap is below it.
    pub crawl_delay_ignored: Habit<Ignored>,
    /// Hosts whose robots.txt was never asked for; judged are hosts that were asked for pages.
    pub robots_never_asked: Habit<String>,
}

/// A habit: how many hosts suffered from it, of how many that could.
#[derive(Clone, Debug, Serialize)]
pub struct Habit<T> {
    /// Hosts that suffered.
    pub hosts: u64,
    /// Hosts at which it could be judged.
    pub of: u64,
    /// The first of them.
    pub first: Vec<T>,
}

impl<T> Default for Habit<T> {
    fn default() -> Self {
        Self { hosts: 0, of: 0, first: Vec::new() }
    }
}

/// A crawler that got faster when it was asked to slow down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedUp {
    /// The host's name.
    pub key: String,
    /// When the host asked.
    pub at_s: f64,
    /// How: 429 or 503.
    pub status: u16,
    /// The shortest of the last gaps before.
    pub before_s: f64,
    /// The median of the next gaps.
    pub after_s: f64,
}

/// A Crawl-delay that was ignored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ignored {
    /// The host's name.
    pub key: String,
    /// The gap asked for, on the wall clock.
    pub allowed_s: f64,
    /// The median gap.
    pub median_s: f64,
    /// Requests to the host.
    pub requests: u64,
}

/// How evenly requests came: their number in windows of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flatness {
    /// Length of the windows in seconds of the wall clock.
    pub window_s: f64,
    /// Whole windows between the first request and the last.
    pub windows: u64,
    /// Mean rate in requests a second.
    pub requests_per_s: f64,
    /// Coefficient of variation: standard deviation divided by mean; 0 is perfectly flat.
    pub variation: f64,
}
