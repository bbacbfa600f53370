//! Which hosts are in memory, and which on disk.
//!
//! Guarantees:
//! 1. Hosts in memory that URLs wait for are no more than `warm_hosts`, beside those that fail, those that are not asked for long, and
//!    large ones: each of these is counted once, whatever it is. The others wait on disk in the order in which they came, but for hosts
//!    with a link of a level above 0, which come back first.
//! 2. Without a directory all hosts are in memory. Where the disk is full, hosts that would go there are in memory.
//! 3. Of the hosts that fail some are in memory, and those that are tried soon (`hosts/retries.rs`).
//! 4. A host with [`LARGE`] URLs stays: its memory is little beside that of the keys of its URLs.

use std::io;

use lycosa_url::Micros;

use super::{Hosts, is_full};
use crate::cold::MOST_RECORDS;
use crate::levels::Levels;
use crate::politeness::domains::Domains;
use crate::queue::Queue;
use crate::schedule::{AddressId, QueueId};
use crate::waiting::{Candidate, pack};

/// Waiting URLs that make a host large.
const LARGE: usize = 256;

/// The delay from which on a host holds up no other: it may have asked for hours.
pub(super) const LONG: Micros = 60_000_000;

/// Hosts that are too few to leave: what must not leave is found out for many at once.
const FEW: usize = 256;

/// Bytes of a host's state and URLs on disk, at most: they are read at once.
const MOST_BYTES: usize = 1 << 20;

/// What a host that leaves memory waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// For space if it has URLs, for a URL otherwise.
    Space,
    /// For other hosts of its address.
    Address(AddressId),
    /// For the time of its next try: it fails.
    Time(Micros),
}

impl Hosts {
    /// Hosts in memory.
    pub(crate) fn warm_len(&self) -> usize {
        self.queues.len() - self.vacant.len()
    }

    /// Whether a host may be on disk.
    pub(crate) fn is_cold(&self, host: &str) -> bool {
        self.cold.contains(host)
    }

    /// Whether as many hosts are in memory as may be.
    fn is_full(&self) -> bool {
        self.warm_len().saturating_sub(self.exempt) >= self.warm_hosts
    }

    /// Whether a host is to come back from the disk.
    pub(crate) fn wants_another(&self) -> bool {
        self.cold.has_waiting() && !self.is_full()
    }

    /// When hosts are to leave or to come back, at the earliest. `is_in_doubt`: none comes back for a try.
    pub(crate) fn due_at(&self, is_in_doubt: bool) -> Option<Micros> {
        let at_once = (self.wants_another() || !self.leaving.is_empty()).then_some(0);
        let retry = self.retry_at().filter(|_| !is_in_doubt);
        [at_once, self.crowds.due_at(), retry].into_iter().flatten().min()
    }

    /// A host is to be put aside, unless it cannot leave.
    pub(super) fn leave_soon(&mut self, id: QueueId, waits_for: WaitsFor) {
        self.queues[id as usize].is_leaving = true;
        self.leaving.push((id, waits_for));
    }

    /// The hosts that are to be put aside.
    pub(crate) fn take_leaving(&mut self) -> Vec<(QueueId, WaitsFor)> {
        let leaving = std::mem::take(&mut self.leaving);
        for (id, _) in &leaving {
            self.queues[*id as usize].is_leaving = false;
        }
        leaving
    }

    /// Puts a URL of a host that is not in memory to the others on disk, if it is to wait there. If not, the host is to be in memory.
    /// A full disk is no error here.
    pub(crate) fn push_cold(&mut self, candidate: &Candidate<'_>, domains: &mut Domains) -> io::Result<bool> {
        if !self.cold.is_possible() {
            return Ok(false);
        }
        let host = candidate.url.host();
        let key = self.cold.key(host);
        let may_wait = match self.cold.records(key) {
            Some(records) => records < MOST_RECORDS,
            None => self.cold.has_waiting() || self.is_full(),
        };
        if !may_wait {
            return Ok(false);
        }
        match self.cold.append(host, &[], 1, |into| pack(into, candidate, (0, 0))) {
            Ok(is_first) => {
                if is_first {
                    let domain = domains.of(host);
                    domains.count_host(domain);
                }
                if candidate.level() > 0 && self.cold.waits_for_space(key) {
                    self.cold.put_first(key);
                }
                Ok(true)
            }
            Err(error) if is_full(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Nothing waits for a host: it may leave memory after a while.
    pub(crate) fn rest(&mut self, id: QueueId, now: Micros) {
        let queue = &mut self.queues[id as usize];
        if queue.rests.is_none() && !queue.pace.is_busy() && self.cold.is_possible() {
            queue.rests = Some(now);
            self.resting += 1;
            self.recount(id);
            self.rested.push_back((now, id));
            if self.rested.len() > 2 * self.resting + FEW {
                let queues = &self.queues;
                self.rested.retain(|(at, id)| queues[*id as usize].rests == Some(*at));
            }
        }
    }

    /// A URL waits for a host.
    pub(crate) fn wake(&mut self, id: QueueId) {
        if self.queues[id as usize].rests.take().is_some() {
            self.resting -= 1;
        }
        self.recount(id);
    }

    /// Hosts in the schedule that are not asked for long: they need no slot soon.
    pub(crate) fn delayed(&self) -> usize {
        self.delayed
    }

    /// A host is put into the schedule, due at a time.
    pub(crate) fn schedule(&mut self, id: QueueId, due: Micros, now: Micros) {
        let queue = &mut self.queues[id as usize];
        let is_delayed = due.saturating_sub(now) >= LONG || due > now && queue.fails();
        (queue.is_scheduled, queue.is_delayed) = (true, is_delayed);
        self.delayed += usize::from(is_delayed);
        self.recount(id);
    }

    /// A host was taken out of the schedule.
    pub(crate) fn unschedule(&mut self, id: QueueId) {
        let queue = &mut self.queues[id as usize];
        self.delayed -= usize::from(queue.is_delayed);
        (queue.is_scheduled, queue.is_delayed) = (false, false);
        self.recount(id);
    }

    /// How many more hosts are in memory than may be.
    pub(crate) fn too_many(&self) -> usize {
        self.warm_len().saturating_sub(self.warm_hosts)
    }

    /// Hosts that rest since then at least, and are to leave memory since there are too many.
    pub(crate) fn take_rested(&mut self, since: Micros) -> Vec<QueueId> {
        let mut too_many = self.too_many();
        let mut rested = Vec::new();
        if too_many <= (self.warm_hosts / 16).min(FEW) {
            return rested;
        }
        while too_many > 0
            && let Some(&(at, id)) = self.rested.front()
            && at <= since
        {
            self.rested.pop_front();
            // One that was woken since, or whose slot another host has, is in the list again if it rests.
            if self.queues[id as usize].rests == Some(at) {
                rested.push(id);
                too_many -= 1;
            }
        }
        rested
    }

    /// A host that was taken from those that rest cannot leave yet.
    pub(crate) fn rest_longer(&mut self, id: QueueId, now: Micros) {
        self.wake(id);
        self.rest(id, now);
    }

    /// More hosts in memory than may be, while a log is replayed and none rests: a half more, and more than could leave last time.
    pub(crate) fn is_overfull(&self) -> bool {
        let most = self.warm_hosts.saturating_add(self.warm_hosts / 2);
        self.cold.is_possible() && self.warm_len() > most.max(self.sweep_at)
    }

    /// As many hosts as are in memory beyond those that may be could not leave: there is no other try before there are more.
    pub(crate) fn was_swept(&mut self) {
        self.sweep_at = self.warm_len() + self.warm_len() / 4;
    }

    /// Brings a host to the disk with what is known of it, which `state` is; nothing may refer to its number. Returns whether it has
    /// left: not if it is too large, or the disk is full.
    pub(crate) fn evict(&mut self, id: QueueId, state: &[u8], waits_for: WaitsFor) -> io::Result<bool> {
        let queue = &mut self.queues[id as usize];
        let urls = queue.len();
        if queue.is_vacant() || urls >= LARGE || queue.front.iter().any(|waiting| waiting.owner.is_some()) {
            return Ok(false);
        }
        let waits_for = if urls == 0 { WaitsFor::Space } else { waits_for };
        let mut packed = Vec::new();
        queue.front.iter().rev().chain(&queue.later).for_each(|waiting| waiting.pack(&mut packed));
        packed.extend(queue.backlog.packed(&queue.host, &self.spill)?);
        if packed.len() + state.len() > MOST_BYTES {
            return Ok(false);
        }
        let put = match waits_for {
            WaitsFor::Space => {
                self.cold.append(&queue.host, state, urls, |into| into.extend_from_slice(&packed)).map(drop)
            }
            WaitsFor::Address(_) | WaitsFor::Time(_) => {
                let fails = matches!(waits_for, WaitsFor::Time(_));
                self.cold.put_aside(&queue.host, state, (urls, &packed), fails)
            }
        };
        match put {
            Err(error) if is_full(&error) => return Ok(false),
            result => result?,
        }
        let key = self.cold.key(&queue.host);
        match waits_for {
            WaitsFor::Space => {}
            WaitsFor::Address(address) => self.crowds.add(address, key, queue.backlog.level() > Some(0)),
            WaitsFor::Time(at) => self.retries.add(key, at),
        }
        queue.backlog.clear(&mut self.spill, &mut self.memory);
        self.wake(id);
        self.end_retry(id);
        self.exempt -= usize::from(self.queues[id as usize].is_exempt);
        let hash = self.hash(id);
        if let Ok(entry) = self.by_name.find_entry(hash, |known| *known == id) {
            entry.remove();
        }
        self.queues[id as usize] = Queue::new("");
        self.vacant.push(id);
        Ok(true)
    }

    /// Takes a host that comes back, whose domain has counted it; returns its number.
    pub(crate) fn place(&mut self, mut queue: Queue, packed: Vec<u8>, urls: usize) -> io::Result<QueueId> {
        queue.backlog = Levels::of(packed, urls, &queue.host, &mut self.memory)?;
        Ok(self.adopt(queue))
    }

    /// Stores an error of the disk: [`Hosts::relieve`] and [`Hosts::sync`] return it from now on, since a host may be lost.
    pub(crate) fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    /// Looks whether a queue has become large, or is so no longer.
    pub(super) fn measure(&mut self, id: QueueId) {
        let queue = &mut self.queues[id as usize];
        let urls = queue.backlog.len();
        queue.is_large = urls >= if queue.is_large { LARGE / 2 } else { LARGE };
        self.recount(id);
    }

    /// Looks whether a host is counted among those for which there is space.
    pub(crate) fn recount(&mut self, id: QueueId) {
        let queue = &mut self.queues[id as usize];
        let is_exempt = queue.rests.is_some() || queue.is_large || queue.is_delayed || queue.fails();
        if queue.is_retrying && (queue.rests.is_some() || !queue.fails()) {
            self.end_retry(id);
        }
        let queue = &mut self.queues[id as usize];
        match (std::mem::replace(&mut queue.is_exempt, is_exempt), is_exempt) {
            (false, true) => self.exempt += 1,
            (true, false) => self.exempt -= 1,
            _ => {}
        }
    }
}
