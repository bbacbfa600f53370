//! What frontiers that work side by side share: the clocks of hosts and addresses, the number of pages that the crawl may have, and
//! reports of the crawl's own network.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use lycosa_clocks::{Busy, Claim, ClockKey, Clocks, Ticket};
use lycosa_url::{Micros, digest_of};

use hashbrown::HashMap;

use crate::Settings;
use crate::politeness::Politeness;
use crate::politeness::bucket::Caps;
use crate::queue::Queue;
use crate::reports::Reports;
use crate::schedule::AddressId;

/// Time between two looks at whether the file of clocks is still the one in use.
const LOOK: Micros = 5_000_000;

/// What is shared with other frontiers.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// Clocks of hosts and addresses; `None`: this frontier is alone on the machine.
    pub clocks: Option<Arc<Clocks>>,
    /// Pages fetched or on lease in all shards of the crawl; `None`: this frontier is the only shard.
    pub pages: Option<Arc<AtomicU64>>,
    /// The caps over all sites; `None`: those of this frontier's settings are its own.
    pub caps: Option<Caps>,
    /// What the shards of the crawl report to each other of its network; `None`: this frontier is the only shard.
    pub reports: Option<Arc<Reports>>,
}

/// This frontier's part of what is shared.
#[derive(Debug)]
pub(crate) struct Sharing {
    clocks: Option<Arc<Clocks>>,
    /// Leased requests, by the number of their lease.
    tickets: HashMap<u64, Tickets>,
    /// The tickets of the request that is leased next.
    claimed: Option<Tickets>,
    pub(crate) pages: PageCount,
    is_slower_reported: bool,
    /// When the file of the clocks is looked at next, and whether it was reported that it cannot be used.
    look_at: Micros,
    is_trouble_reported: bool,
}

impl Sharing {
    /// By the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        Sharing {
            clocks: settings.shared.clocks.clone(),
            tickets: HashMap::new(),
            claimed: None,
            pages: PageCount::new(settings.shared.pages.clone()),
            is_slower_reported: false,
            look_at: 0,
            is_trouble_reported: false,
        }
    }

    /// Uses the clocks that are in their file now, if it was removed or replaced; returns a message about it. Cheap: it looks each
    /// [`LOOK`].
    pub(crate) fn look(&mut self, now: Micros) -> Option<String> {
        if now < self.look_at {
            return None;
        }
        self.look_at = now.saturating_add(LOOK);
        match self.clocks.as_ref()?.reopened() {
            Ok(None) => None,
            Ok(Some(clocks)) => {
                (self.clocks, self.is_trouble_reported) = (Some(Arc::new(clocks)), false);
                Some("the file politeness.clock_file was removed or replaced while it was in use; the new one is used".into())
            }
            Err(error) if !std::mem::replace(&mut self.is_trouble_reported, true) => Some(format!(
                "the file politeness.clock_file was removed or replaced while it was in use, and cannot be opened: {error}; \
                 intervals are not shared with crawls that begin now"
            )),
            Err(_) => None,
        }
    }

    /// Whether the clocks let a host have a request at an address now, which [`Sharing::lease`] takes over. If not, host or address are
    /// delayed until another try is worth it. `until`: when the lease expires.
    pub(crate) fn claim(
        &mut self,
        politeness: &mut Politeness,
        queue: &mut Queue,
        address: AddressId,
        (now, until): (Micros, Micros),
    ) -> Result<(), Taken> {
        let Some(clocks) = self.clocks.clone() else { return Ok(()) };
        let limits = politeness.host_limits(queue);
        let (interval, concurrency) = (queue.pace.interval(&limits), queue.pace.concurrency(&limits));
        let host = Claim { key: host_key(queue), interval, concurrency, until };
        let host = clocks.start(&host, now).map_err(|busy| {
            queue.pace.delay_until(busy.retry_at);
            Taken { busy, is_address: false }
        })?;
        let addresses = &politeness.addresses;
        let (interval, concurrency) = addresses.shared_pace(address);
        let claim = Claim { key: addresses.clock_key(address), interval, concurrency, until };
        match clocks.start(&claim, now) {
            Ok(address) => {
                self.claimed = Some(Tickets { clocks, host, address, is_ended: false });
                Ok(())
            }
            Err(busy) => {
                clocks.cancel(&host, now);
                politeness.addresses.delay_until(address, busy.retry_at);
                Err(Taken { busy, is_address: true })
            }
        }
    }

    /// The request that was claimed has a lease.
    pub(crate) fn lease(&mut self, number: u64) {
        if let Some(tickets) = self.claimed.take() {
            self.tickets.insert(number, tickets);
        }
    }

    /// The request of a lease has ended.
    pub(crate) fn end(
        &mut self,
        number: u64,
        politeness: &Politeness,
        (queue, address): (&Queue, AddressId),
        at: Micros,
    ) {
        if let Some(mut tickets) = self.tickets.remove(&number) {
            let interval = queue.pace.interval(&politeness.host_limits(queue));
            tickets.end(interval, politeness.addresses.shared_pace(address).0, at);
        }
    }

    /// Delays a host for the others until then, and an address as long as for this frontier.
    pub(crate) fn delay(
        &self,
        politeness: &Politeness,
        queue: &Queue,
        (address, until): (AddressId, Micros),
        now: Micros,
    ) {
        if let Some(clocks) = &self.clocks {
            clocks.delay(host_key(queue), until, now);
            let addresses = &politeness.addresses;
            clocks.delay(addresses.clock_key(address), addresses.ready_at(address), now);
        }
    }

    /// Delays a host for the others as long as for this frontier.
    pub(crate) fn delay_host(&self, queue: &Queue, now: Micros) {
        if let Some(clocks) = &self.clocks {
            clocks.delay(host_key(queue), queue.pace.ready_at(), now);
        }
    }

    /// The message that another crawl has a longer interval, the first time.
    pub(crate) fn report_slower(&mut self, queue: &Queue, taken: &Taken) -> Option<String> {
        let slower = taken.busy.slower.filter(|_| !self.is_slower_reported)?;
        self.is_slower_reported = true;
        let (whose, host) = (if taken.is_address { "the address of " } else { "" }, &queue.host);
        let seconds = slower as f64 / 1e6;
        Some(format!(
            "another crawl on this machine requests {whose}{host} every {seconds:.3} s at most: the longer interval counts for \
             both, for every host and address that they share"
        ))
    }
}

/// A clock that does not let a request start.
#[derive(Debug)]
pub(crate) struct Taken {
    busy: Busy,
    /// Whether it is the address's, not the host's.
    is_address: bool,
}

/// The key of a host's clock.
fn host_key(queue: &Queue) -> ClockKey {
    ClockKey::of(&digest_of(&*queue.host))
}

/// The part of a crawl's page budget that this frontier uses.
#[derive(Debug, Default)]
pub(crate) struct PageCount {
    total: Option<Arc<AtomicU64>>,
    /// What of the total is this frontier's.
    counted: u64,
}

impl PageCount {
    /// Of a shared total.
    pub(crate) fn new(total: Option<Arc<AtomicU64>>) -> Self {
        PageCount { total, counted: 0 }
    }

    /// Pages of all shards; `used`: this one's.
    pub(crate) fn total(&self, used: u64) -> u64 {
        let others = self.total.as_ref().map_or(0, |total| total.load(Relaxed).saturating_sub(self.counted));
        others + used
    }

    /// Takes a page of the budget if one is left; [`PageCount::settle`] gives it back if it is not used.
    pub(crate) fn reserve(&mut self, max: u64) -> bool {
        let Some(total) = &self.total else { return true };
        let is_left =
            total.fetch_update(Relaxed, Relaxed, |total| (total < max).then_some(total + 1)).is_ok();
        self.counted += u64::from(is_left);
        is_left
    }

    /// Brings the total to what this frontier uses now.
    pub(crate) fn settle(&mut self, used: u64) {
        if let Some(total) = &self.total {
            // Wrapping: a difference of either sign.
            total.fetch_add(used.wrapping_sub(self.counted), Relaxed);
            self.counted = used;
        }
    }
}

impl Drop for PageCount {
    fn drop(&mut self) {
        self.settle(0);
    }
}

/// A leased request's share of the clocks of its host and address; dropped, it counts as ended now.
#[derive(Debug)]
pub(crate) struct Tickets {
    clocks: Arc<Clocks>,
    host: Ticket,
    address: Ticket,
    is_ended: bool,
}

impl Tickets {
    /// The request has ended; the intervals of host and address follow.
    pub(crate) fn end(&mut self, host: Micros, address: Micros, ended: Micros) {
        if !std::mem::replace(&mut self.is_ended, true) {
            self.clocks.end(&self.host, host, ended);
            self.clocks.end(&self.address, address, ended);
        }
    }
}

impl Drop for Tickets {
    fn drop(&mut self) {
        let now = self.clocks.now();
        self.end(0, 0, now);
    }
}
