//! What frontiers that work side by side share: the clocks of hosts and addresses, and the number of pages that the crawl may have.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use lycosa_clocks::{Busy, Claim, ClockKey, Clocks, Ticket};
use lycosa_url::{Micros, digest_of};

use crate::schedule::{AddressId, QueueId};
use crate::{Frontier, Resolve};

/// What is shared with other frontiers.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// Clocks of hosts and addresses; `None`: this frontier is alone on the machine.
    pub clocks: Option<Arc<Clocks>>,
    /// Pages fetched or on lease in all shards of the crawl; `None`: this frontier is the only shard.
    pub pages: Option<Arc<AtomicU64>>,
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

impl<R: Resolve> Frontier<R> {
    /// Whether the clocks shared with others let a queue start a request at an address now. If they do, the next lease takes the tickets;
    /// if not, host or address are delayed until it is worth another try.
    pub(crate) fn claim(&mut self, id: QueueId, address: AddressId, now: Micros) -> bool {
        let Some(clocks) = self.settings.shared.clocks.clone() else { return true };
        let (limits, until) = (self.host_limits(id), now.saturating_add(self.lease_time()));
        let pace = &self.queues[id as usize].pace;
        let (interval, concurrency) = (pace.interval(&limits), pace.concurrency(&limits));
        let host = Claim { key: self.host_key(id), interval, concurrency, until };
        let host = match clocks.start(&host, now) {
            Ok(ticket) => ticket,
            Err(busy) => {
                self.tell_slower(id, &busy);
                self.queues[id as usize].pace.hold(busy.retry_at);
                return false;
            }
        };
        let (interval, concurrency) = self.schedule.interval(address);
        let key = self.schedule.clock_key(address);
        match clocks.start(&Claim { key, interval, concurrency, until }, now) {
            Ok(address) => {
                self.claimed = Some(Tickets { clocks, host, address, is_ended: false });
                true
            }
            Err(busy) => {
                clocks.cancel(&host, now);
                self.tell_slower(id, &busy);
                self.schedule.hold(address, busy.retry_at);
                false
            }
        }
    }

    /// Delays host and address for the others as long as for this frontier.
    pub(crate) fn share_delays(&self, id: QueueId, address: AddressId, now: Micros) {
        if let Some(clocks) = &self.settings.shared.clocks {
            self.share_host_delay(id, now);
            clocks.delay(self.schedule.clock_key(address), self.schedule.ready_at(address), now);
        }
    }

    /// Delays a host for the others as long as for this frontier.
    pub(crate) fn share_host_delay(&self, id: QueueId, now: Micros) {
        if let Some(clocks) = &self.settings.shared.clocks {
            clocks.delay(self.host_key(id), self.queues[id as usize].pace.ready_at(), now);
        }
    }

    /// Reports once that another crawl has a longer interval.
    fn tell_slower(&mut self, id: QueueId, busy: &Busy) {
        let Some(slower) = busy.slower.filter(|_| !self.is_slower_told) else { return };
        self.is_slower_told = true;
        let text = format!(
            "another crawl on this machine asks {} every {:.3} s at most: the longer interval holds for both, here and wherever they meet",
            self.queues[id as usize].host,
            slower as f64 / 1e6
        );
        self.health.tell(text);
    }

    /// The key of a host's clock.
    fn host_key(&self, id: QueueId) -> ClockKey {
        ClockKey::of(&digest_of(&*self.queues[id as usize].host))
    }
}
