//! Hosts that fail: beyond some in memory, those that are tried again later wait for that on disk. A crawl meets hosts that are gone for
//! ever faster than the patience with them ends.
//!
//! Guarantees: a host comes back when its next try is due and few others are in memory for theirs. What happens to all hosts meanwhile, it
//! learns then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use lycosa_url::Micros;

use super::evict::LONG;
use super::{Hosts, WaitsFor};
use crate::queue::LATER;
use crate::schedule::QueueId;

/// The delay from which on a host that fails waits on disk if very many do: reading and writing it costs less than the memory.
const SHORT: Micros = 5_000_000;

/// Hosts on disk that fail, by the time of their next try.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// With their keys (`cold/mod.rs`); some have come back since.
    by_time: BinaryHeap<Reverse<(Micros, u64)>>,
    /// Hosts in memory that have come back for a try and have not had it yet.
    under_way: usize,
}

impl Retries {
    /// A host was put aside until then.
    pub(super) fn add(&mut self, key: u64, at: Micros) {
        self.by_time.push(Reverse((at, key)));
    }

    /// Whether no host is here.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    /// When the next host is to come back.
    fn due_at(&self) -> Option<Micros> {
        self.by_time.peek().map(|Reverse((at, _))| *at)
    }
}

impl Hosts {
    /// Hosts that fail, in memory, up to which all of them stay there.
    fn enough_failing(&self) -> usize {
        (self.warm_hosts / 4).max(1)
    }

    /// When a host is to come back for its next try, if few others are in memory for theirs.
    pub(super) fn retry_at(&self) -> Option<Micros> {
        self.retries.due_at().filter(|_| self.retries.under_way < self.enough_failing())
    }

    /// Takes the key of a host that is to come back for its next try.
    pub(crate) fn take_retry(&mut self, now: Micros) -> Option<u64> {
        self.retry_at().filter(|at| *at <= now)?;
        self.retries.by_time.pop().map(|Reverse((_, key))| key)
    }

    /// A host has come back for its next try. Some of its URLs are outside its backlog, as they were when it left: by these it is seen
    /// that all wait for a robots.txt that fails.
    pub(crate) fn begin_retry(&mut self, id: QueueId) -> io::Result<()> {
        self.retries.under_way += 1;
        let queue = &mut self.queues[id as usize];
        queue.is_retrying = true;
        while queue.later.len() < LATER
            && let Some(waiting) = queue.backlog.pop(&queue.host, &mut self.spill, &mut self.memory)?
        {
            queue.later.push(waiting);
        }
        self.measure(id);
        Ok(())
    }

    /// A host that is due then, if that is later, has had its try.
    pub(crate) fn note_retry(&mut self, id: QueueId, due: Micros, now: Micros) {
        if due > now {
            self.end_retry(id);
        }
    }

    /// A host has had its try, or needs none.
    pub(super) fn end_retry(&mut self, id: QueueId) {
        self.retries.under_way -= usize::from(std::mem::take(&mut self.queues[id as usize].is_retrying));
    }

    /// Whether a host that fails is to wait on disk for its next try, since `failing` hosts in memory do: it is told to leave then.
    /// `scheduled`: hosts of its address in the schedule, of which one that came back needs no more than others do.
    pub(crate) fn is_put_off(
        &mut self,
        id: QueueId,
        (failing, scheduled): (usize, usize),
        at: Micros,
        now: Micros,
    ) -> bool {
        let queue = &self.queues[id as usize];
        let is_crowded = queue.is_retrying && scheduled >= self.enough_of_address();
        let at = at.max(queue.parked_until()).max(if is_crowded { now.saturating_add(LONG) } else { 0 });
        let delay = if failing <= self.enough_failing().saturating_mul(2) { LONG } else { SHORT };
        let may_stay = failing <= self.enough_failing() || at < now.saturating_add(delay) || queue.is_large;
        if may_stay || !self.cold.is_possible() {
            return false;
        }
        self.end_retry(id);
        self.leave_soon(id, WaitsFor::Time(at));
        true
    }
}
