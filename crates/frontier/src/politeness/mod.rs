//! Politeness: all limits that keep sites from harm. Functions of events and a clock, without I/O.
//!
//! The pace of one host or address is in `pace.rs`, addresses with the domains that share them in `addresses.rs`, how several frontiers
//! share addresses in `keeper.rs` (who lends) and `lent.rs` (who borrows), registered
//! domains with their budgets in `domains.rs`, hosts that became slower in `slowed.rs`, the caps over all sites in `bucket.rs`, the block list in `block_list.rs`, what
//! an outcome says of its site in `signal.rs`.
//!
//! Guarantee: a request for which [`Politeness::may_start`] returns [`Start::Now`] breaks no limit; every request is reported by
//! [`Politeness::start`] and [`Politeness::end`].

pub(crate) mod addresses;
pub(crate) mod block_list;
pub(crate) mod bucket;
pub(crate) mod domains;
pub(crate) mod keeper;
pub(crate) mod lent;
pub(crate) mod pace;
pub(crate) mod signal;
pub(crate) mod slowed;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lycosa_url::{AddressPolicy, Failure, FailureKind, Micros};

use crate::codec::{self, put_number};
use crate::names::Name;
use crate::queue::Queue;
use crate::schedule::AddressId;
use crate::settings::scaled;
use crate::{BlockList, Ownership, Settings};
use addresses::Addresses;
use bucket::Caps;
use domains::{Budget, Capacity, Domains};
use pace::{HealthSignal, Limits};
use slowed::SlowedHosts;

/// The least that trouble adds to an interval, also if the floor is lower.
const SHORTEST_STEP: Duration = Duration::from_secs(1);

/// All limits, and the clocks of everything but hosts: a host's pace is in its queue.
#[derive(Debug)]
pub(crate) struct Politeness {
    /// For a host, without the Crawl-delay that it asks for.
    host: Limits,
    pub(crate) addresses: Addresses,
    pub(crate) domains: Domains,
    /// Requests and bytes over all sites.
    caps: Caps,
    /// Hosts and addresses that get no request.
    blocked: Arc<BlockList>,
    /// A site must be this node's by each of these to get requests from here.
    sites: Vec<Ownership>,
    /// Addresses that may get one.
    policy: AddressPolicy,
    /// No request starts before: after a restart, the clocks of some addresses are unknown.
    not_before: Micros,
    max_crawl_delay: Duration,
    speed: f64,
    domain_pages: Option<u64>,
    slowed: SlowedHosts,
}

/// Whether a request may start, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It may start now.
    Now,
    /// Not before this time.
    At(Micros),
    /// When a request to the host or its address has ended.
    AfterAnother,
    /// When a request to the registered domain has ended.
    AfterDomain,
    /// When the name has been resolved again: the block list names one of its addresses.
    AfterName,
    /// Never: the block list names the host, its site is another node's, or its domain has had its pages.
    Never,
}

/// The limits of addresses by the settings.
fn address_limits(settings: &Settings) -> Limits {
    limits(settings, settings.address_concurrency, settings.address_interval)
}

/// Limits of hosts or addresses by the settings.
fn limits(settings: &Settings, concurrency: u32, floor: Duration) -> Limits {
    Limits {
        concurrency,
        floor: settings.scaled(floor),
        ceiling: settings.scaled(settings.max_interval),
        multiple: settings.response_multiple.max(0.0),
        step: settings.scaled(floor.max(SHORTEST_STEP)),
        successes: settings.successes.max(1),
        share: 1,
    }
}

impl Politeness {
    /// By the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        // Scaled time: a second of the job is shorter on the machine's clock, and has as much in it.
        let scaled = |rate: Option<f64>| rate.map(|rate| rate * settings.speed);
        let own = || Caps::new(scaled(settings.requests_per_second), scaled(settings.bytes_per_second));
        let budget = Budget { pages: settings.domain_pages, in_flight: settings.domain_concurrency };
        Politeness {
            host: limits(settings, settings.host_concurrency, settings.host_interval),
            addresses: Addresses::new(
                address_limits(settings),
                settings.address_domains.max(1),
                settings.lends_addresses && settings.ownership.is_some(),
            ),
            domains: Domains::new(budget),
            caps: settings.shared.caps.clone().unwrap_or_else(own),
            blocked: Arc::default(),
            sites: Vec::new(),
            policy: settings.addresses.clone(),
            not_before: 0,
            max_crawl_delay: settings.max_crawl_delay,
            speed: settings.speed,
            domain_pages: settings.domain_pages,
            slowed: SlowedHosts::default(),
        }
    }

    /// Takes over the intervals of the settings, for all that starts or ends from now on.
    pub(crate) fn set_intervals(&mut self, settings: &Settings) {
        self.host = limits(settings, settings.host_concurrency, settings.host_interval);
        self.addresses.set_limits(address_limits(settings));
    }

    /// Whether a request to a host at an address may start now, and when else.
    pub(crate) fn may_start(&self, queue: &Queue, address: AddressId, now: Micros) -> Start {
        let limits = self.host_limits(queue);
        let ready_at = queue.pace.ready_at().max(self.addresses.ready_at(address)).max(self.ready_at());
        if ready_at > now {
            return Start::At(ready_at);
        }
        if !queue.pace.has_capacity(&limits) || !self.addresses.has_capacity(address) {
            return Start::AfterAnother;
        }
        if self.excludes_host(&queue.host) {
            return Start::Never;
        }
        if let Name::Known { addresses, .. } = &queue.name
            && addresses.iter().any(|address| self.blocked.blocks_address(*address))
        {
            return Start::AfterName;
        }
        match self.domains.capacity(queue.domain) {
            Capacity::Now => Start::Now,
            Capacity::Later => Start::AfterDomain,
            Capacity::Never => Start::Never,
        }
    }

    /// When the caps over all sites let the next request start.
    pub(crate) fn ready_at(&self) -> Micros {
        self.not_before.max(self.caps.ready_at())
    }

    /// Whether a host may have one more request out.
    pub(crate) fn has_capacity(&self, queue: &Queue) -> bool {
        queue.pace.has_capacity(&self.host_limits(queue))
    }

    /// Why a host gets no request any more, if so.
    pub(crate) fn refusal(&self, queue: &Queue) -> Option<Failure> {
        if self.has_moved(&queue.host) {
            return Some(Failure::new(FailureKind::Cancelled, "its site belongs to another node now"));
        }
        if self.blocked.blocks_host(&queue.host) {
            return Some(Failure::new(FailureKind::Blocked, "the block list names its host or domain"));
        }
        if self.domains.capacity(queue.domain) == Capacity::Never {
            let pages = self.domain_pages.unwrap_or_default();
            let detail = format!("its registered domain has had its {pages} pages");
            return Some(Failure::new(FailureKind::DomainBudget, detail));
        }
        None
    }

    /// Whether a host is at a site of another node.
    pub(crate) fn has_moved(&self, host: &str) -> bool {
        !self.sites.iter().all(|sites| sites.owns_host(host))
    }

    /// Sets the sites that get requests from here: those that are this node's by each of these.
    pub(crate) fn keep_to(&mut self, sites: Vec<Ownership>) {
        self.sites = sites;
    }

    /// Whether a host gets no request: the block list names it, or its site is another node's.
    pub(crate) fn excludes_host(&self, host: &str) -> bool {
        self.blocked.blocks_host(host) || self.has_moved(host)
    }

    /// Whether the job lets an address have requests; the block list comes on top.
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        self.policy.permits(address)
    }

    /// Replaces the block list.
    pub(crate) fn block(&mut self, list: Arc<BlockList>) {
        self.blocked = list;
    }

    /// The addresses of a name that may get requests, and the first of them.
    pub(crate) fn vet(&self, mut addresses: Vec<IpAddr>) -> Result<(Vec<IpAddr>, IpAddr), Failure> {
        let refused = addresses.first().copied();
        addresses.retain(|address| self.policy.permits(*address));
        if let Some(blocked) = addresses.first().copied() {
            addresses.retain(|address| !self.blocked.blocks_address(*address));
            if addresses.is_empty() {
                return Err(Failure::new(FailureKind::Blocked, format!("the block list names {blocked}")));
            }
        }
        match (addresses.first().copied(), refused) {
            (Some(first), _) => Ok((addresses, first)),
            (None, Some(refused)) => Err(Failure::new(
                FailureKind::AddressRefused,
                format!("{refused} is not a public address and allow_addresses does not name it"),
            )),
            (None, None) => Err(Failure::new(FailureKind::NameNoData, "no address")),
        }
    }

    /// A request to a host at an address starts.
    pub(crate) fn start(&mut self, queue: &mut Queue, address: AddressId, is_page: bool, now: Micros) {
        let limits = self.host_limits(queue);
        queue.pace.start(&limits, now);
        self.addresses.start(address, now);
        self.domains.start(queue.domain, is_page);
        self.caps.start(now);
    }

    /// The pause between two requests to a host at an address.
    pub(crate) fn interval(&self, queue: &Queue, address: AddressId) -> Micros {
        queue.pace.interval(&self.host_limits(queue)).max(self.addresses.interval(address))
    }

    /// A request is out no longer. Its domain's budget is freed by [`Domains::end`].
    pub(crate) fn end(&mut self, queue: &mut Queue, address: AddressId, at: Micros) {
        let limits = self.host_limits(queue);
        queue.pace.end(&limits, at);
        self.addresses.end(address, at);
    }

    /// Learns from an outcome of a host at an address.
    pub(crate) fn observe(
        &mut self,
        queue: &mut Queue,
        address: AddressId,
        signal: HealthSignal,
        at: Micros,
    ) {
        let limits = self.host_limits(queue);
        let before = queue.pace.interval(&limits);
        queue.pace.observe(&limits, signal, at);
        let interval = queue.pace.interval(&limits);
        if signal == HealthSignal::Trouble && interval > before {
            self.note_slowed(&queue.host, before, interval);
        }
        self.addresses.observe(address, &queue.host, signal, at);
    }

    /// Counts the bytes of a response.
    pub(crate) fn received(&mut self, bytes: u64, at: Micros) {
        self.caps.received(bytes, at);
    }

    /// No request to a host starts within its interval from then.
    pub(crate) fn delay_host(&self, queue: &mut Queue, from: Micros) {
        let limits = self.host_limits(queue);
        queue.pace.delay_from(&limits, from);
    }

    /// Starts all clocks but those of hosts: what an earlier process sent may have arrived just now.
    pub(crate) fn restart(&mut self, now: Micros) {
        self.not_before = now.saturating_add(self.addresses.floor());
        self.addresses.delay_all(now);
        self.addresses.keep_all(now);
        self.caps.delay_until([now; 2]);
    }

    /// The limits of a host: by the settings, and by the Crawl-delay that its robots.txt asks for.
    pub(crate) fn host_limits(&self, queue: &Queue) -> Limits {
        let limits = self.host;
        match queue.origins.crawl_delay() {
            None => limits,
            Some(delay) => {
                let floor = scaled(delay.min(self.max_crawl_delay), self.speed);
                Limits { floor: floor.max(limits.floor), ..limits }
            }
        }
    }

    /// Appends the record of a snapshot: caps and addresses.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        self.caps.each().into_iter().for_each(|at| put_number(record, at));
        self.addresses.pack(record);
        self.addresses.pack_lent(record);
    }

    /// Reads it; all hosts are there. In versions before `domains` it has the pages by domain as well, in the order of their first
    /// hosts; in those before `lent` no places of addresses.
    pub(crate) fn unpack(&mut self, from: &mut &[u8], has_lent: bool) -> Option<()> {
        self.caps.delay_until([codec::number(from)?, codec::number(from)?]);
        self.addresses.unpack(from)?;
        if has_lent {
            return self.addresses.unpack_lent(from);
        }
        for id in 0..if from.is_empty() { 0 } else { codec::number(from)? } {
            let pages = codec::count(from)?;
            self.domains.set_pages(usize::try_from(id).ok()?, pages).then_some(())?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
