//! Questions to a ledger: the requests of a host or an address, or all offences, each with its verdict.

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

/// Which requests are asked for; what is `None` is not asked about.
#[derive(Clone, Debug)]
pub struct Query {
    /// Of this host.
    pub host: Option<u32>,
    /// To this address, as ledgers keep it.
    pub address: Option<u32>,
    /// Only offences.
    pub violations: bool,
    /// Microseconds: only of this time.
    pub window: Range<u64>,
    /// Entries listed at most; all are counted.
    pub limit: usize,
}

impl Query {
    /// A query by names as people write them.
    pub fn parse(world: &World, host: Option<&str>, address: Option<&str>) -> Result<Self> {
        let find = |name: &str| {
            let lower = name.to_ascii_lowercase();
            world.find_host(lower.trim_end_matches('.')).ok_or_else(|| {
                let allowed =
                    format!("one of this world's {} hosts, as {}", world.host_count(), world.name(0));
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

    /// Whether a request with its verdict is asked for.
    fn wants(&self, request: &Request, verdict: &Verdict) -> bool {
        self.window.contains(&request.time)
            && self.host.is_none_or(|host| host == request.host)
            && self.address.is_none_or(|address| address == request.address)
            && !(self.violations && verdict.offences().is_empty())
    }

    /// Looks through records in the order of their times.
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
    /// Requests that were asked for.
    pub count: u64,
    /// Those of them with an offence.
    pub violations: u64,
    /// The first of them.
    pub entries: Vec<Entry>,
}

/// One request with its verdict. Times are seconds of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// When it came, since the simnet started.
    pub at_s: f64,
    /// The host's name; `None` for none of the world.
    pub host: Option<String>,
    /// The address that it came in on.
    pub address: String,
    /// What was asked for: the URL, or what was understood of it.
    pub url: String,
    /// page, robots, unknown, misdirected, trap, upgrade or bad.
    pub kind: &'static str,
    /// The answer's status.
    pub status: u16,
    /// Bytes of the body on the wire.
    pub body: u32,
    /// Whether the whole answer was written.
    pub complete: bool,
    /// How long that took, if it was.
    pub took_s: Option<f64>,
    /// The answer's Retry-After, unscaled, if it had one.
    pub retry_after_s: Option<f64>,
    /// Since the request before to the host.
    pub gap_s: Option<f64>,
    /// How long that had to be.
    pub allowed_s: Option<f64>,
    /// Since the request before to the address.
    pub address_gap_s: Option<f64>,
    /// How long that had to be.
    pub address_allowed_s: Option<f64>,
    /// Offences; none: it was in order.
    pub verdicts: Vec<&'static str>,
}

impl Entry {
    /// Puts a request into words.
    fn new(judge: &Judge<'_>, request: &Request, verdict: &Verdict) -> Self {
        let gap = |gap: Option<Gap>| (gap.map(|gap| gap.gap_s), gap.map(|gap| gap.allowed_s));
        // What offends most is what is shown: the Retry-After before the interval.
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
