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
    /// Requests by kind: page, robots, unknown, misdirected, upgrade, bad.
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
    /// By address: the address interval. IPv6 by the whole address: all of it is one /64 here, and one rate for it would be none.
    pub address: Rate,
}
