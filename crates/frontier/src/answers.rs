//! Answers for names: what becomes of their hosts' queues.

use std::net::IpAddr;

use lycosa_url::{Failure, Micros, NameClass, Resolved};

use crate::names::{Answered, Name};
use crate::schedule::QueueId;
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Applies the answers for names that have come.
    pub(crate) fn receive_names(&mut self, now: Micros) {
        let mut answers = self.names.receive();
        for answer in answers.drain(..) {
            let id = self.hosts.find(&answer.name);
            if self.assess_name(&answer, id, now) {
                continue;
            }
            let Some(id) = id else { continue };
            match self.hosts[id].name {
                // It has been answered, and is about to leave.
                Name::Asked { .. } if self.hosts[id].is_leaving => {}
                Name::Asked { idled } => self.name_answered(id, answer, idled, now),
                Name::Known { .. } => self.name_refreshed(id, answer, now),
                Name::Unknown | Name::Failed { .. } => {}
            }
        }
        self.names.recycle(answers);
    }

    /// Applies the answer for a name that a host waits for. `idled`: how long slots had been idle when it was wanted.
    fn name_answered(&mut self, id: QueueId, answer: Resolved, idled: Micros, now: Micros) {
        let addresses = answer.result.and_then(|addresses| self.politeness.vet(addresses));
        let queue = &mut self.hosts[id];
        match addresses {
            Ok((addresses, first)) => {
                queue.trouble.take_if(|evidence| evidence.is_of_name());
                self.names.answered(queue, idled, now);
                let times = (answer.expires, answer.elapsed_us, 0);
                self.learn_name(id, addresses, first, answer.class, times, now);
                self.enqueue(id, now);
            }
            Err(failure) => self.name_failed(id, failure, answer.expires, now),
        }
    }

    /// Applies a failure of a host's name: it is asked for again, or all URLs of the queue fail.
    fn name_failed(&mut self, id: QueueId, failure: Failure, expires: Micros, now: Micros) {
        match self.trouble.name_failed(&mut self.hosts, id, &failure, now) {
            Some(retry_at) => {
                if !self.is_put_off(id, 0, retry_at, now) {
                    self.names.retry(id, retry_at);
                }
            }
            None => self.give_up_name(id, failure, expires.max(now.saturating_add(1))),
        }
    }

    /// Gives up a name until then: all URLs of its queue fail.
    pub(crate) fn give_up_name(&mut self, id: QueueId, failure: Failure, expires: Micros) {
        self.names.fail(&mut self.hosts[id], failure, expires);
        self.trouble.review_soon(&self.hosts);
        self.trouble.fail_later(&mut self.hosts, id);
    }

    /// Applies the answer for a name that is still known; a failure changes nothing.
    fn name_refreshed(&mut self, id: QueueId, answer: Resolved, now: Micros) {
        match answer.result.and_then(|addresses| self.politeness.vet(addresses)) {
            // No request waited for it.
            Ok((addresses, first)) => {
                self.learn_name(id, addresses, first, answer.class, (answer.expires, 0, now), now);
            }
            Err(_) => {
                if let Name::Known { refreshing, .. } = &mut self.hosts[id].name {
                    *refreshing = false;
                }
            }
        }
    }

    /// Stores the addresses of a host's name: their expiry, how long a request waited for them, and when they were asked for past the
    /// cache; 0: not.
    fn learn_name(
        &mut self,
        id: QueueId,
        addresses: Vec<IpAddr>,
        first: IpAddr,
        class: NameClass,
        (expires, elapsed_us, fresh_at): (Micros, u32, Micros),
        now: Micros,
    ) {
        let queue = &mut self.hosts[id];
        let clock = self.politeness.addresses.id(first);
        if let Some(before) = queue.lives_at.replace(clock).filter(|before| *before != clock) {
            self.politeness.addresses.remove_domain(before, queue.domain, now);
        }
        // A host of another frontier, such as one to which a robots.txt redirects, is counted there.
        let is_own = self.lending.as_ref().is_none_or(|lending| lending.owns_host(&queue.host));
        if is_own && self.politeness.addresses.add_domain(clock, queue.domain) {
            self.schedule.update(&self.politeness.addresses, clock);
        }
        let answered = Answered { addresses, clock, class, expires, elapsed_us, fresh_at };
        self.names.learn(id, queue, answered, now);
    }

    /// Asks for wanted names as far as there is capacity. `idle`: slots for which no host is due.
    pub(crate) fn ask_names(&mut self, idle: usize, now: Micros) {
        if self.trouble.health.names.suspended().is_none() {
            let soon = self.schedule.waiting().saturating_sub(self.hosts.delayed());
            self.names.ask_wanted(&mut self.hosts, soon, idle, now);
        }
    }
}
