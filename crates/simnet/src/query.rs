//! Queries to a ledger: the requests to a host or an address, or all violations, each with its verdict.

use std::net::IpAddr;
use std::ops::Range;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::judge::{Judge, kind_name, seconds};
use crate::ledger::{NONE, Records, Request};
use crate::params::Params;
use crate::ports::Ports;
use crate::secure::compact;
use crate::verdict::{Gap, Verdict, Verdicts};
use crate::world::World;

/// A filter for requests; `None` matches all.
#[derive(Clone, Debug)]
pub struct Query {
    /// Only requests to this host.
    pub host: Option<u32>,
    /// Only requests to this address, in the ledger's format.
    pub address: Option<u32>,
    /// Only requests with a violation.
    pub violations: bool,
    /// Only requests in this time, in microseconds.
    pub window: Range<u64>,
    /// Maximum of entries listed; all are counted.
    pub limit: usize,
}

impl Query {
    /// Parses a host name and an address.
    pub fn parse(world: &World, host: Option<&str>, address: Option<&str>) -> Result<Self> {
        let find = |name: &str| {
            let lower = name.to_ascii_lowercase();
            world.find_host(lower.trim_end_matches('.')).ok_or_else(|| {
                let allowed =
                    format!("one of this world's {} hosts, such as {}", world.host_count(), world.name(0));
                Error::setting("host", name, allowed)
            })
        };
        let parse = |text: &str| match text.parse::<IpAddr>() {
            Ok(address) => compact(address),
            Err(_) => None,
        };
        let parse =
            |text: &str| parse(text).ok_or_else(|| Error::setting("address", text, "an address of a host"));
        Ok(Self {
            host: host.map(find).transpose()?,
            address: address.map(parse).transpose()?,
            violations: false,
            window: crate::ALWAYS,
            limit: usize::MAX,
        })
    }

    /// Whether a request with its verdict matches.
    fn wants(&self, request: &Request, verdict: &Verdict) -> bool {
        self.window.contains(&request.time)
            && self.host.is_none_or(|host| host == request.host)
            && self.address.is_none_or(|address| address == request.address)
            && !(self.violations && verdict.offences().is_empty())
    }

    /// Runs the query on records in order of time.
    pub fn run(&self, world: &World, params: &Params, ports: &Ports, records: &Records) -> Listing {
        let judge = Judge { world, params, ports, strings: &records.strings };
        let mut verdicts = Verdicts::new(&judge);
        let mut listing = Listing::default();
        for request in &records.requests {
            let verdict = verdicts.next(request);
            if self.wants(request, &verdict) {
                listing.count += 1;
                listing.violations += u64::from(!verdict.offences().is_empty());
                if listing.entries.len() < self.limit {
                    listing.entries.push(Entry::new(&judge, request, &verdict));
                }
            }
        }
        listing
    }
}

/// What a query found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// Matching requests.
    pub count: u64,
    /// Of these, requests with a violation.
    pub violations: u64,
    /// The first matching requests.
    pub entries: Vec<Entry>,
}

/// One request with its verdict. Times are seconds of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Time of the request since the simnet started.
    pub at_s: f64,
    /// The host's name; `None` for an unknown host.
    pub host: Option<String>,
    /// Destination address.
    pub address: String,
    /// The URL, as far as it could be parsed.
    pub url: String,
    /// page, robots, unknown, misdirected, bad, trap, upgrade or captive.
    pub kind: &'static str,
    /// Status of the response.
    pub status: u16,
    /// Bytes of the body on the wire.
    pub body: u32,
    /// Whether the complete response was written.
    pub complete: bool,
    /// Time until the response was complete; `None` if it was not.
    pub took_s: Option<f64>,
    /// Retry-After of the response, unscaled.
    pub retry_after_s: Option<f64>,
    /// Interval since the previous request to the host, or since Retry-After if that was violated.
    pub gap_s: Option<f64>,
    /// Minimum of that interval.
    pub allowed_s: Option<f64>,
    /// Interval since the previous request to the address.
    pub address_gap_s: Option<f64>,
    /// Minimum of that interval.
    pub address_allowed_s: Option<f64>,
    /// Violations; empty if there are none.
    pub verdicts: Vec<&'static str>,
}

impl Entry {
    /// Describes a request.
    fn new(judge: &Judge<'_>, request: &Request, verdict: &Verdict) -> Self {
        let gap = |gap: Option<Gap>| (gap.map(|gap| gap.gap_s), gap.map(|gap| gap.allowed_s));
        // A violated Retry-After takes precedence over the host's interval.
        let (gap_s, allowed_s) = gap(verdict.retry.or(verdict.host));
        let (address_gap_s, address_allowed_s) = gap(verdict.address);
        Self {
            at_s: seconds(request.time),
            host: (request.host != NONE).then(|| judge.name(request.host).to_owned()),
            address: judge.address(request.address),
            url: judge.asked(request),
            kind: kind_name(request.kind),
            status: request.status,
            body: request.body,
            complete: request.complete,
            took_s: request.complete.then(|| seconds(u64::from(request.took))),
            retry_after_s: (request.retry_after_ms > 0).then(|| f64::from(request.retry_after_ms) / 1e3),
            gap_s,
            allowed_s,
            address_gap_s,
            address_allowed_s,
            verdicts: verdict.offences(),
        }
    }
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
