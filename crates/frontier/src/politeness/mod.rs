//! How sites are treated: the one room of all limits. Pure functions of events and a clock.
//!
//! The pace of one host or address is in `pace.rs`, registered domains with their budgets and turns in `domains.rs`, the
//! caps over all sites in `bucket.rs`, who is not to be asked in `block_list.rs`, what an outcome says of its site in
//! `sign.rs`. `schedule.rs` puts hosts and addresses in order by them, `grant.rs` asks them all.

pub(crate) mod block_list;
pub(crate) mod bucket;
pub(crate) mod domains;
pub(crate) mod pace;
pub(crate) mod sign;

use lycosa_url::Micros;

use crate::Settings;
use bucket::Bucket;
use domains::Budget;
use pace::Limits;

/// The limits that the settings make, on the machine's clock.
#[derive(Clone, Debug)]
pub(crate) struct Manners {
    /// For a host, without what it asks for itself.
    pub(crate) host: Limits,
    /// For an address that one domain lives at.
    pub(crate) address: Limits,
    /// Registered domains that raise an address's rate, at most.
    pub(crate) address_domains: u32,
    /// For a registered domain.
    pub(crate) domain: Budget,
    /// Requests over all sites.
    pub(crate) requests: Bucket,
    /// Bytes over all sites.
    pub(crate) bytes: Bucket,
}

impl Manners {
    /// By the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let limits = |concurrency, floor| Limits {
            concurrency,
            floor: settings.scaled(floor),
            ceiling: settings.scaled(settings.max_interval),
            multiple: settings.response_multiple.max(0.0),
            step: settings.scaled(floor.max(SHORTEST_STEP)),
            successes: settings.successes.max(1),
            share: 1,
        };
        // Scaled time: a second of the job is shorter on the machine's clock, and has as much in it.
        let bucket = |rate: Option<f64>| Bucket::new(rate.map(|rate| rate * settings.speed));
        Manners {
            host: limits(settings.host_concurrency, settings.host_interval),
            address: limits(settings.address_concurrency, settings.address_interval),
            address_domains: settings.address_domains.max(1),
            domain: Budget { pages: settings.domain_pages, in_flight: settings.domain_concurrency },
            requests: bucket(settings.requests_per_second),
            bytes: bucket(settings.bytes_per_second),
        }
    }

    /// When the caps over all sites let the next request start.
    pub(crate) fn ready_at(&self) -> Micros {
        self.requests.ready_at().max(self.bytes.ready_at())
    }

    /// Nothing of these caps is caught up from before.
    pub(crate) fn hold(&mut self, until: Micros) {
        self.requests.hold(until);
        self.bytes.hold(until);
    }
}

/// What trouble adds to the interval at least, also where the floor is lower.
const SHORTEST_STEP: std::time::Duration = std::time::Duration::from_secs(1);

#[cfg(test)]
mod tests;
