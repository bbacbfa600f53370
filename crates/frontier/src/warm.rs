//! Hosts between memory and disk: which leave, and which come back.
//!
//! Guarantees:
//! 1. A host leaves only while nothing refers to its number: no request, no response, no probe, no evidence that is looked after.
//! 2. A host that comes back is judged as if it had stayed (`cold/state.rs`), and waits for what is next like one that is new.
//! 3. The rules of a host that left are older than the time in which a captive portal is detected.

use std::io;

use hashbrown::HashSet;
use lycosa_url::Micros;

use crate::cold::{ColdHost, Event, state};
use crate::hosts::WaitsFor;
use crate::names::Name;
use crate::patience::Evidence;
use crate::queue::Queue;
use crate::schedule::QueueId;
use crate::waiting::{Candidate, Waiting};
use crate::{Frontier, Resolve};

/// Hosts that come back in one call, at most.
const WOKEN_AT_ONCE: usize = 1000;

/// A host that is to leave, and what it waits for then.
type Leaving = (QueueId, WaitsFor);

impl<R: Resolve> Frontier<R> {
    /// The queue of a host, which comes back if it is on disk; `None`: the host has none.
    pub(crate) fn host(&mut self, host: &str, now: Micros) -> Option<QueueId> {
        if let Some(id) = self.hosts.find(host) {
            return Some(id);
        }
        if !self.hosts.is_cold(host) {
            return None;
        }
        let key = self.hosts.cold.key(host);
        if let Err(error) = self.warm(key, None, now) {
            self.hosts.fail(error);
        }
        self.hosts.find(host)
    }

    /// The queue of a host; an empty one if it had none.
    pub(crate) fn queue_of(&mut self, host: &str, now: Micros) -> QueueId {
        match self.host(host, now) {
            Some(id) => id,
            None => self.hosts.insert(Queue::new(host), &mut self.politeness.domains),
        }
    }

    /// The queue into which a URL is to go; `found` is its host's, if it is in memory. `None`: the URL was put on disk, where
    /// its host is to wait.
    pub(crate) fn queue_unless_cold(
        &mut self,
        candidate: &Candidate<'_>,
        found: Option<QueueId>,
        now: Micros,
    ) -> Option<QueueId> {
        match found {
            None if self.push_cold(candidate) => None,
            None => Some(self.queue_of(candidate.url.host(), now)),
            found => found,
        }
    }

    /// Puts a URL of a host that is not in memory on disk, if it is to wait there.
    pub(crate) fn push_cold(&mut self, candidate: &Candidate<'_>) -> bool {
        let pushed = self.hosts.push_cold(candidate, &mut self.politeness.domains);
        pushed.unwrap_or_else(|error| {
            self.hosts.fail(error);
            false
        })
    }

    /// Has hosts leave that nothing waits for, and others come back, as far as there are too many or too few.
    pub(crate) fn rotate(&mut self, now: Micros) -> io::Result<()> {
        let is_in_doubt = self.is_in_doubt();
        if !is_in_doubt {
            let since = now.saturating_sub(self.longest_doubt());
            let rested = self.hosts.take_rested(since);
            let rested = rested.into_iter().map(|id| (id, WaitsFor::Space)).collect();
            for (id, _) in self.leave(rested, usize::MAX, now)? {
                self.hosts.rest_longer(id, now);
            }
        }
        self.put_aside(is_in_doubt, now)?;
        self.call_back(now)?;
        if !is_in_doubt {
            self.try_again(now)?;
        }
        for _ in 0..WOKEN_AT_ONCE {
            if !self.hosts.wants_another() {
                break;
            }
            let Some(key) = self.hosts.cold.next()? else { break };
            self.warm(key, None, now)?;
        }
        self.hosts.cold.compact()?;
        self.hosts.relieve(self.dedup.memory())
    }

    /// Whether it is in doubt what hosts answer: none leaves memory, and none that fails comes back for a try.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.trouble.health.suspensions().next().is_some()
            || self.trouble.captive.is_suspicious()
            || self.trouble.captive.is_captive()
    }

    /// Puts hosts aside that are to wait on disk; those that cannot leave have their turn.
    fn put_aside(&mut self, is_in_doubt: bool, now: Micros) -> io::Result<()> {
        let leaving = self.hosts.take_leaving();
        let most = if is_in_doubt { 0 } else { usize::MAX };
        for (id, waits_for) in self.leave(leaving, most, now)? {
            match (&self.hosts[id].name, waits_for) {
                (Name::Asked { .. }, WaitsFor::Time(at)) => self.names.retry(id, at),
                (_, WaitsFor::Time(at)) => self.enqueue_from(id, at, now),
                _ => self.enqueue_from(id, 0, now),
            }
        }
        Ok(())
    }

    /// Whether a host that is tried then is to wait for that on disk, since it fails as many others do. `scheduled`: hosts of its address
    /// in the schedule.
    pub(crate) fn is_put_off(&mut self, id: QueueId, scheduled: usize, at: Micros, now: Micros) -> bool {
        let queue = &self.hosts[id];
        // While it is not clear whose trouble it is, all may be well again in a moment; one that is to be given up stays for the review.
        let may_leave =
            queue.has_only_failing() && !self.trouble.may_be_ours(now) && !self.trouble.is_over(queue, now);
        let counts = (self.trouble.troubled.len(), scheduled);
        let is_put_off = may_leave && self.hosts.is_put_off(id, counts, at, now);
        self.hosts.note_retry(id, at, now);
        is_put_off
    }

    /// Has hosts come back that fail, for their next try.
    fn try_again(&mut self, now: Micros) -> io::Result<()> {
        for _ in 0..WOKEN_AT_ONCE {
            let Some(key) = self.hosts.take_retry(now) else { break };
            // One that has come back for another reason may be on disk again.
            if self.hosts.cold.is_aside(key) {
                self.warm(key, None, now)?;
            }
        }
        Ok(())
    }

    /// Has hosts come back that were put aside, for addresses that have few of them now. Those that were given up fail.
    fn call_back(&mut self, now: Micros) -> io::Result<()> {
        let (enough, few) = (self.hosts.enough_of_address(), self.hosts.few_of_address());
        let schedule = &self.schedule;
        for address in self.hosts.crowds.take_wanting(|address| schedule.len_of(address) < few, now) {
            let healthy_at = self.trouble.health.clock(now);
            let is_given_up = |evidence: &Evidence| evidence.given_up.is_some_and(|until| until > healthy_at);
            let given_up = self.hosts.crowds.given_up(address).filter(is_given_up);
            let most = match given_up {
                Some(_) => WOKEN_AT_ONCE,
                None => enough.saturating_sub(self.schedule.len_of(address)),
            };
            for key in self.hosts.crowds.take(address, most) {
                // One that has come back for another reason may be on disk again.
                if self.hosts.cold.is_aside(key) {
                    self.warm(key, given_up.as_ref(), now)?;
                }
            }
        }
        Ok(())
    }

    /// Has hosts leave while a log is replayed, in which no host has its turn; `now`: the last time in the log.
    pub(crate) fn sweep(&mut self, now: Micros) -> io::Result<()> {
        if self.hosts.is_overfull() {
            let all = self.hosts.iter().map(|(id, _)| (id, WaitsFor::Space)).collect();
            let too_many = self.hosts.too_many();
            self.leave(all, too_many, now)?;
            self.hosts.was_swept();
        }
        Ok(())
    }

    /// Has some of these hosts leave, at most so many. Returns those that stay.
    fn leave(&mut self, hosts: Vec<Leaving>, most: usize, now: Micros) -> io::Result<Vec<Leaving>> {
        let mut stay = Vec::new();
        if hosts.is_empty() {
            return Ok(stay);
        }
        let (pinned, mut state, mut left) = (self.pinned(), Vec::new(), 0);
        for (id, waits_for) in hosts {
            if left < most && !pinned.contains(&id) && self.may_leave(id, waits_for, now) {
                state.clear();
                state::pack(&self.hosts[id], &self.robots, &mut state)?;
                let waits_for_name = matches!(self.hosts[id].name, Name::Asked { .. });
                if self.hosts.evict(id, &state, waits_for)? {
                    self.names.forget(waits_for_name);
                    self.trouble.troubled.remove(&id);
                    left += 1;
                    continue;
                }
            }
            stay.push((id, waits_for));
        }
        Ok(stay)
    }

    /// Whether nothing is under way in a host's queue.
    fn may_leave(&self, id: QueueId, waits_for: WaitsFor, now: Micros) -> bool {
        let queue = &self.hosts[id];
        // A host that waits for its next try is not asked about: neither is its name.
        let fails = matches!(waits_for, WaitsFor::Time(_));
        let is_named = fails || !matches!(queue.name, Name::Asked { .. }) && !queue.name.is_being_refreshed();
        let is_still = !queue.is_scheduled
            && !queue.failing
            && !queue.pace.is_busy()
            && (queue.later.is_empty() || fails)
            && (queue.front.is_empty() || fails && queue.front.iter().all(|waiting| waiting.owner.is_none()));
        // The evidence against a host that URLs wait for is looked after.
        let is_judged = queue.is_empty()
            || fails
            || queue.trouble.as_ref().is_none_or(|evidence| evidence.given_up.is_some());
        let learnt_by = now.saturating_sub(self.longest_doubt());
        is_named && is_still && is_judged && self.robots.are_settled(&queue.origins, learnt_by, fails)
    }

    /// The queues to whose numbers something refers.
    fn pinned(&mut self) -> HashSet<QueueId> {
        let owner = |waiting: &Waiting| waiting.owner.as_ref().map(|owner| owner.queue);
        let mut pinned: HashSet<QueueId> = self.leases.queues().collect();
        pinned.extend(self.leases.iter().filter_map(|(_, lease)| owner(&lease.waiting)));
        // A robots.txt of one host may wait in the queue of another.
        let hosts = &self.hosts;
        self.guests.retain(|id| {
            let guests = hosts[*id].front.iter().filter_map(owner).filter(|queue| queue != id);
            let guests: Vec<QueueId> = guests.collect();
            pinned.extend(&guests);
            !guests.is_empty()
        });
        pinned.extend(self.trouble.health.queues());
        let settled = self.settled.iter().map(|page| page.response.request.url.host());
        pinned.extend(settled.filter_map(|host| self.hosts.find(host)));
        pinned
    }

    /// Brings the hosts with a key back: mostly one. `given_up`: why those fail that have never answered.
    pub(crate) fn warm(&mut self, key: u64, given_up: Option<&Evidence>, now: Micros) -> io::Result<()> {
        for (number, cold) in self.hosts.cold.take(key)?.into_iter().enumerate() {
            // The first was counted when it came; of the others, those that had been in memory.
            let is_counted = number == 0 || !cold.state.is_empty();
            let id = self.place(cold, is_counted)?;
            if self.hosts[id].fails() {
                self.hosts.begin_retry(id)?;
            }
            let of_address = self.trouble.given_up_meanwhile(&self.hosts[id], now);
            let given_up = given_up.or(of_address).cloned();
            if let Some(evidence) = given_up.filter(|_| !self.hosts[id].answered) {
                self.hosts[id].trouble = Some(Box::new(evidence));
                self.trouble.add(id);
            }
            self.enqueue(id, now);
        }
        Ok(())
    }

    /// Takes a host that was on disk. `is_counted`: whether its domain has counted it.
    fn place(&mut self, cold: ColdHost, is_counted: bool) -> io::Result<QueueId> {
        let ColdHost { host, state, packed, urls, events } = cold;
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, format!("the queue of {host} is damaged"));
        if self.hosts.find(&host).is_some() {
            return Err(damaged()); // only one of two would ever be asked
        }
        let mut queue = Queue::new(&host);
        let is_same_process = !events.iter().any(|event| matches!(event, Event::Began(_)));
        state::unpack(&mut queue, &state, is_same_process, &mut self.robots).ok_or_else(damaged)?;
        for event in events {
            match event {
                Event::Began(0) => {}
                Event::Began(at) => self.politeness.delay_host(&mut queue, at),
                Event::DoubtedNames => queue.doubt_name(),
                Event::TookBack(since, healthy_at) => queue.take_back(since, healthy_at),
                Event::DoubtedRules(since) => {
                    queue.origins.doubt(|_, expires| self.robots.learnt_at(expires) >= since);
                }
            }
        }
        queue.domain = self.politeness.domains.of(&host);
        if !is_counted {
            self.politeness.domains.count_host(queue.domain);
        }
        // The cache may have the failure.
        queue.doubted |= queue.trouble.is_some();
        let has_evidence = queue.fails();
        let id = self.hosts.place(queue, packed, urls)?;
        if has_evidence {
            self.trouble.add(id);
        }
        Ok(id)
    }
}

#[cfg(test)]
#[path = "warm_tests.rs"]
mod tests;
