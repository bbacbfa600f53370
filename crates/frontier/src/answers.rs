//! Answers for names: what becomes of their hosts' queues.

use std::net::IpAddr;

use lycosa_url::{Failure, Micros, NameClass, Resolved};

use crate::names::{Answered, Name};
use crate::patience::Evidence;
use crate::probe::is_denial;
use crate::schedule::QueueId;
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Takes in answers for names.
    pub(crate) fn receive_names(&mut self, now: Micros) {
        let mut answers = self.names.receive();
        for answer in answers.drain(..) {
            let id = self.hosts.find(&answer.name);
            if self.weigh_name(&answer, id, now) {
                continue;
            }
            let Some(id) = id else { continue };
            match self.hosts[id].name {
                Name::Asked { idled } => self.name_answered(id, answer, idled, now),
                Name::Known { .. } => self.name_refreshed(id, answer, now),
                Name::Unknown | Name::Failed { .. } => {}
            }
        }
        self.names.recycle(answers);
    }

    /// Takes in the answer for a queue's name. `idled`: how long slots had been idle when it was wanted.
    fn name_answered(&mut self, id: QueueId, answer: Resolved, idled: Micros, now: Micros) {
        let addresses = answer.result.and_then(|addresses| self.politeness.vet(addresses));
        let queue = &mut self.hosts[id];
        match addresses {
            Ok((addresses, first)) => {
                queue.trouble.take_if(|evidence| evidence.is_of_name());
                self.names.answered(queue, idled, now);
                let times = (answer.expires, answer.elapsed_us, 0);
                self.learn_name(id, addresses, first, answer.class, times, now);
                self.place(id, now);
            }
            Err(failure) => self.name_failed(id, failure, answer.expires, now),
        }
    }

    /// Takes in a failure of a queue's name: it is asked again, or all that waits fails.
    fn name_failed(&mut self, id: QueueId, failure: Failure, expires: Micros, now: Micros) {
        let (transient, well) = (failure.kind.is_transient(), self.health.clock(now));
        if (transient || failure.kind.is_doubtful()) && self.health.names.suspended().is_some() {
            self.names.retry(id, now.saturating_add(self.patience.url_pause(0)));
            return;
        }
        let before = self.hosts[id].trouble.take();
        let before = before.filter(|evidence| evidence.is_of_name()).map(|evidence| *evidence);
        // Whether the resolvers are well is decided first.
        let is_early = self.health.names.is_undecided(now)
            || (is_denial(failure.kind) && !self.is_proven(before.as_ref().map_or(well, |it| it.since), now));
        let second_look = self
            .patience
            .second_look()
            .filter(|_| failure.kind.is_doubtful() && (before.is_none() || is_early));
        let evidence = match second_look {
            Some(pause) => Some(Evidence::doubt(before, failure.clone(), pause, well, now)),
            None if transient => Some(Evidence::fail(before, failure.clone(), &self.patience, well, now)),
            None => None,
        };
        match evidence.filter(|evidence| second_look.is_some() || !self.is_enough(evidence, now)) {
            Some(evidence) => {
                self.names.retry(id, evidence.retry_at);
                self.hosts[id].trouble = Some(Box::new(evidence));
                self.troubled.insert(id);
                self.review_wanted = true;
            }
            None => self.give_up_name(id, failure, expires.max(now.saturating_add(1))),
        }
    }

    /// Whether resolvers gave an address since then, on the healthy clock: they do not deny all names. Nobody waits for that where no
    /// name is known to have one, and longer than the patience.
    fn is_proven(&mut self, since: Micros, now: Micros) -> bool {
        let is_over = self.health.clock(now).saturating_sub(since) >= self.patience.span;
        let is_proven = self.health.address_at >= since || is_over || !self.can_probe_names();
        if !is_proven {
            if self.health.clock(now) > since {
                // Also where no server was asked, as for names that are not in the DNS.
                self.health.names.suspect(now);
            }
            self.health.names.ask_soon(now);
        }
        is_proven
    }

    /// A name that does not resolve, until then: all that waits in its queue fails.
    pub(crate) fn give_up_name(&mut self, id: QueueId, failure: Failure, expires: Micros) {
        self.names.fail(&mut self.hosts[id], failure, expires);
        self.review_wanted |= !self.troubled.is_empty();
        self.fail_later(id);
    }

    /// Takes in the answer for a name that is known still; one that tells nothing new leaves it as it is.
    fn name_refreshed(&mut self, id: QueueId, answer: Resolved, now: Micros) {
        match answer.result.and_then(|addresses| self.politeness.vet(addresses)) {
            // Nobody waited for it.
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

    /// Notes the addresses of a queue's name. `times`: when they expire, what somebody waited for them, and when they were
    /// asked for past what was cached.
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
        if self.politeness.addresses.add_domain(clock, queue.domain) {
            self.schedule.update(&self.politeness.addresses, clock);
        }
        let answered = Answered { addresses, clock, class, expires, elapsed_us, fresh_at };
        self.names.learn(id, queue, answered, now);
    }

    /// Asks for wanted names as far as there is capacity. `idle`: slots for which no host is due.
    pub(crate) fn ask_names(&mut self, idle: usize, now: Micros) {
        if self.health.names.suspended().is_none() {
            self.names.ask_wanted(&mut self.hosts, self.schedule.waiting(), idle, now);
        }
    }
}
