//! From a due queue to a request on lease: robots.txt and tdmrep.json, clocks.

use std::io;
use std::sync::Arc;

use lycosa_records::{Purpose, Request, Route};
use lycosa_url::Micros;

use crate::ahead::Cause;
use crate::leases::Lease;
use crate::names::Name;
use crate::politeness::Start;
use crate::politeness::domains::DomainId;
use crate::robots::{Permission, Stated, TdmrepState};
use crate::schedule::{AddressId, QueueId};
use crate::state::State;
use crate::waiting::{OriginFile, RobotsOwner, Waiting};
use crate::{BlockList, Frontier, Resolve};

/// URLs that are settled without a fetch in one call, at most: a batch for the log. A queue may be longer than memory.
pub(crate) const SETTLED_AT_ONCE: usize = 1000;

impl<R: Resolve> Frontier<R> {
    /// Returns at most `max` requests that may start now, each on lease. Fails if waiting URLs that are on disk
    /// cannot be read back.
    pub fn take(&mut self, max: usize, now: Micros) -> io::Result<Vec<Request>> {
        self.names.pass(now);
        self.trouble.health.look(now);
        if let Some(message) = self.sharing.look(now) {
            self.trouble.health.report(message);
        }
        self.receive_names(now);
        self.expire_leases(now);
        self.rotate(now)?;
        self.decide_suspensions(now);
        self.review(now);
        self.ask_names(0, now);
        if self.trouble.health.names.suspended().is_none() {
            self.names.ask_again(&mut self.hosts, now);
        }
        self.fail_some(now)?;
        self.verify_if_due(now)?;
        let mut requests = Vec::new();
        if max > 0 && self.trouble.health.connections.wants_round(now) {
            requests = self.probe(max, now)?;
        }
        let mut is_dry = false;
        let is_held_up = self.is_held_up();
        while requests.len() < max && !is_dry && !is_held_up {
            let request = self.next_request(now)?;
            is_dry = request.is_none();
            requests.extend(request);
        }
        self.report_work();
        let cause = match (self.trouble.health.is_suspended(), is_dry) {
            (true, _) => Some(Cause::Suspended),
            (false, false) => None,
            (false, true) if self.schedule.waiting() > 0 => Some(Cause::Politeness),
            (false, true) if self.names.is_waiting() => Some(Cause::Names),
            (false, true) => Some(Cause::Nothing),
        };
        self.names.set_idle(is_dry, cause);
        if is_dry {
            self.ask_names(max - requests.len(), now);
        }
        Ok(requests)
    }

    /// Whether no request starts, wherever.
    pub(crate) fn is_held_up(&self) -> bool {
        self.trouble.health.is_suspended() || self.trouble.captive.is_full() || self.outbox.is_full()
    }

    /// The next request in the order of the schedule; `None` if none is due, or enough URLs were settled for one batch.
    pub(crate) fn next_request(&mut self, now: Micros) -> io::Result<Option<Request>> {
        while self.settled.len() < SETTLED_AT_ONCE && now >= self.politeness.ready_at() && self.reserve_page()
        {
            let Some((address, queue)) = self.schedule.next(&self.politeness.addresses, now) else { break };
            self.hosts.unschedule(queue);
            self.hosts.was_served(address, self.schedule.len_of(address));
            let request = self.grant(queue, address, now)?;
            self.settle_pages();
            if request.is_none() {
                self.schedule.pass(&self.politeness.addresses, address, now);
                self.unpark(self.hosts[queue].domain, now);
            }
            self.enqueue(queue, now);
            if request.is_some() {
                return Ok(request);
            }
        }
        self.settle_pages();
        Ok(None)
    }

    /// The next request of a queue, if its name, politeness and robots.txt allow one.
    pub(crate) fn grant(
        &mut self,
        id: QueueId,
        address: AddressId,
        now: Micros,
    ) -> io::Result<Option<Request>> {
        let queue = &self.hosts[id];
        // The name may have expired, or moved to another address, while the queue waited.
        if !matches!(&queue.name, Name::Known { clock, expires, .. } if *clock == address && *expires > now) {
            return Ok(None);
        }
        let start = self.politeness.may_start(queue, address, now);
        if start != Start::Now {
            self.wait_for(id, start);
            return Ok(None);
        }
        while self.settled.len() < SETTLED_AT_ONCE
            && let Some(waiting) = self.next_waiting(id, now)?
        {
            let permission = self.robots.permission(&self.hosts[id].origins, &waiting, now)?;
            if matches!(permission, Permission::Granted(_) | Permission::Ask(_))
                && !self.claim(id, address, now)
            {
                self.hosts[id].put_first(waiting, now);
                return Ok(None);
            }
            match permission {
                Permission::Granted(Stated { usage, tdm, licenses }) => {
                    let request = self.lease(id, address, waiting, now);
                    return Ok(Some(Request { usage, tdm, licenses, ..request }));
                }
                Permission::Refused(failure) => self.settle(waiting, failure, now),
                Permission::Later(due) => self.hosts[id].postpone(Waiting { due, ..waiting }),
                Permission::Wait => {
                    self.hosts[id].front.push(waiting);
                    return Ok(None);
                }
                Permission::Ask(file) => {
                    let queue = &mut self.hosts[id];
                    let origin = waiting.url.origin();
                    let (url, before, attempt) = match file {
                        OriginFile::Robots => {
                            let before = queue.origins.ask(origin, now);
                            let attempt = before.as_ref().map_or(0, |evidence| evidence.tries);
                            (waiting.url.robots(), before, attempt)
                        }
                        OriginFile::Tdmrep(tries) => {
                            queue.origins.set_tdmrep(origin, TdmrepState::Asked);
                            (waiting.url.tdmrep(), None, tries)
                        }
                    };
                    let owner =
                        Some(Box::new(RobotsOwner { queue: id, origin: origin.into(), file, before }));
                    let asked = Waiting { attempt, owner, ..Waiting::new(url) };
                    queue.front.push(waiting);
                    return Ok(Some(self.lease(id, address, asked, now)));
                }
            }
        }
        Ok(None)
    }

    /// Whether the clocks that others use as well let a queue start a request at an address now; if so, it is to be leased.
    pub(crate) fn claim(&mut self, id: QueueId, address: AddressId, now: Micros) -> bool {
        let (queue, until) = (&mut self.hosts[id], self.leases.expiry(now));
        let claimed = self.sharing.claim(&mut self.politeness, queue, address, (now, until));
        if let Err(taken) = &claimed
            && let Some(message) = self.sharing.report_slower(queue, taken)
        {
            self.trouble.health.report(message);
        }
        claimed.is_ok()
    }

    /// Has a queue wait for what delays its request; if that is a clock, the schedule does.
    fn wait_for(&mut self, id: QueueId, start: Start) {
        let queue = &mut self.hosts[id];
        match start {
            Start::Now | Start::At(_) | Start::AfterAnother => {}
            Start::AfterDomain => {
                queue.is_scheduled = true;
                self.politeness.domains.park(queue.domain, id);
            }
            Start::AfterName => {
                if let Name::Known { expires, .. } = &mut queue.name {
                    *expires = 0;
                }
            }
            Start::Never => self.trouble.fail_later(&mut self.hosts, id),
        }
    }

    /// Schedules a queue that waited for its domain.
    fn unpark(&mut self, domain: DomainId, now: Micros) {
        if let Some(id) = self.politeness.domains.unpark(domain) {
            self.hosts[id].is_scheduled = false;
            self.enqueue(id, now);
        }
    }

    /// Replaces the block list, from the next request on: URLs that wait are refused at their turn, requests that are out are
    /// not cancelled.
    pub fn block(&mut self, list: Arc<BlockList>) {
        self.politeness.block(list);
    }

    /// Grants a URL's request and starts all clocks.
    pub(crate) fn lease(
        &mut self,
        id: QueueId,
        address: AddressId,
        waiting: Waiting,
        now: Micros,
    ) -> Request {
        let purpose = waiting.purpose();
        let queue = &mut self.hosts[id];
        self.politeness.start(queue, address, purpose == Purpose::Page, now);
        let (addresses, name_us, name_class) = match &mut queue.name {
            // Only the first request has the time: the others did not wait for the name.
            Name::Known { addresses, elapsed_us, class, .. } => {
                (addresses.clone(), std::mem::take(elapsed_us), Some(*class))
            }
            _ => (Vec::new(), 0, None),
        };
        let cookies = match purpose {
            Purpose::Page => self.cookies.field(&waiting.url, now),
            _ => None,
        };
        if purpose == Purpose::Page {
            self.tally.shift(State::Waiting, State::Leased, 1);
        }
        let interval = self.politeness.interval(&self.hosts[id], address);
        let mut request = Request {
            task: Arc::clone(&self.settings.task),
            purpose,
            depth: waiting.depth,
            attempt: waiting.attempt,
            chain: waiting.chain.clone(),
            route: Route::Direct(addresses),
            name_us,
            name_class,
            cookies,
            interval,
            options: waiting.options.clone(),
            ..Request::get(waiting.url.clone())
        };
        self.schedule.pass(&self.politeness.addresses, address, now);
        (request.lease, request.deadline) = self.leases.grant(id, address, waiting, now);
        self.sharing.lease(request.lease);
        request
    }

    /// Extends leases by a time in which [`Frontier::take`] was not called: a slow consumer, or a slow disk. Outcomes may have waited.
    pub fn was_slow(&mut self, away: Micros) {
        self.leases.extend(away);
    }

    /// Ends leases that have expired.
    fn expire_leases(&mut self, now: Micros) {
        while let Some(number) = self.leases.next_expired(now) {
            if let Some(lease) = self.end_lease(number, now) {
                self.requeue(lease.queue, lease.waiting, now);
            }
        }
    }

    /// Ends a lease and its effect on the clocks of its host and address.
    pub(crate) fn end_lease(&mut self, number: u64, at: Micros) -> Option<Lease> {
        self.free_lease(number, at);
        let lease = self.leases.end(number)?;
        let domain = self.hosts[lease.queue].domain;
        let is_page = lease.waiting.purpose() == Purpose::Page;
        self.trouble.health.end_probe(number);
        self.politeness.domains.end(domain, is_page);
        self.unpark(domain, at);
        Some(lease)
    }

    /// Ends a lease's effect on the clocks of its host and address, once; the lease itself stays active.
    pub(crate) fn free_lease(&mut self, number: u64, at: Micros) {
        let Some((id, address)) = self.leases.free(number) else { return };
        self.politeness.end(&mut self.hosts[id], address, at);
        self.sharing.end(number, &self.politeness, (&self.hosts[id], address), at);
        self.schedule.update(&self.politeness.addresses, address);
    }

    /// Puts a URL that was on lease at the end of its queue; a robots.txt at its head.
    pub(crate) fn requeue(&mut self, id: QueueId, waiting: Waiting, now: Micros) {
        if let Some(owner) = &waiting.owner {
            if owner.queue != id {
                self.guests.insert(id);
            }
            self.hosts[id].front.push(waiting);
        } else {
            self.hosts.requeue(id, &waiting);
            self.tally.shift(State::Leased, State::Waiting, 1);
        }
        self.enqueue(id, now);
    }
}
