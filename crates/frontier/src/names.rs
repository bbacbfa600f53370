//! The names of hosts: answers, the addresses they may be spoken to at, queues that may have nothing.

use std::cmp::Reverse;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use lycosa_url::{Failure, FailureKind, Micros, NameClass, Resolved};

use crate::grant::SETTLED_AT_ONCE;
use crate::patience::Evidence;
use crate::probe::is_denial;
use crate::queue::{Name, Robots};
use crate::schedule::QueueId;
use crate::waiting::Waiting;
use crate::{Frontier, Resolve};

/// Of a name's time, the part before its end in which it is asked for anew while something waits for it: as resolvers that
/// refresh ahead do (Unbound's `prefetch`, a tenth).
const AHEAD: u64 = 10;

/// A name whose addresses do not answer, or have another site's certificate, is asked for anew at most so often: in the job's time.
const DOUBT: Duration = Duration::from_secs(60);

impl<R: Resolve> Frontier<R> {
    /// Takes in answers for names.
    pub(crate) fn receive_names(&mut self, now: Micros) {
        let mut answers = std::mem::take(&mut self.answers);
        self.resolver.drain(&mut answers);
        self.asking = self.asking.saturating_sub(answers.len());
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
        self.answers = answers;
    }

    /// Takes in the answer for a queue's name. `idled`: how long slots had been idle when it was wanted.
    fn name_answered(&mut self, id: QueueId, answer: Resolved, idled: Micros, now: Micros) {
        let addresses = answer.result.and_then(|addresses| self.politeness.vet(addresses));
        let queue = &mut self.hosts[id];
        match addresses {
            Ok((addresses, first)) => {
                queue.trouble.take_if(|evidence| evidence.is_of_name());
                self.counts.unresolved -= 1;
                let due = now.saturating_sub(queue.pace.ready_at());
                self.counts.idle_for_names_us += (self.idle.total - idled).min(due);
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
            self.names_due.push(Reverse((now.saturating_add(self.patience.url_pause(0)), id)));
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
                self.names_due.push(Reverse((evidence.retry_at, id)));
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
        self.counts.unresolved -= 1;
        self.review_wanted |= !self.troubled.is_empty();
        self.hosts[id].name = Name::Failed { failure, expires };
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
        // An answer is good for at least the request that waits for it.
        let expires = expires.max(now.saturating_add(1));
        let refresh_at = expires - (expires - now) / AHEAD;
        self.names_ending.push(Reverse((refresh_at, id)));
        queue.name = Name::Known {
            addresses,
            clock,
            expires,
            elapsed_us,
            class,
            refresh_at,
            refreshing: false,
            fresh_at,
        };
    }

    /// Asks for a queue's name anew when it is about to run out and something waits for it.
    pub(crate) fn refresh_if_due(&mut self, id: QueueId, now: Micros) {
        let queue = &mut self.hosts[id];
        let waits = !queue.is_empty();
        if let Name::Known { refresh_at, refreshing, .. } = &mut queue.name
            && *refresh_at <= now
            && waits
        {
            (*refresh_at, *refreshing) = (Micros::MAX, true);
            self.ask(id, true);
        }
    }

    /// Asks for wanted names as far as there is room. `idle`: slots for which no host is due.
    pub(crate) fn ask_names(&mut self, idle: usize, now: Micros) {
        if self.health.names.suspended().is_some() {
            return;
        }
        let (mut names, mut doubted) = (Vec::new(), Vec::new());
        while let Some(id) = self.wanted.pop(self.asking, self.schedule.waiting(), idle, now) {
            self.asking += 1;
            let queue = &mut self.hosts[id];
            let list = if std::mem::take(&mut queue.doubted) { &mut doubted } else { &mut names };
            list.push(queue.host.clone());
        }
        if !names.is_empty() {
            self.resolver.submit(names);
        }
        if !doubted.is_empty() {
            self.resolver.refresh(doubted);
        }
    }

    /// Asks for a queue's name.
    fn ask(&mut self, id: QueueId, fresh: bool) {
        let names = vec![self.hosts[id].host.clone()];
        self.asking += 1;
        if fresh { self.resolver.refresh(names) } else { self.resolver.submit(names) }
    }

    /// A request found nobody at the name's addresses, or somebody else: the name may have moved.
    pub(crate) fn doubt_name(&mut self, id: QueueId, failure: FailureKind, now: Micros) {
        use FailureKind::{ConnectFailed, ConnectRefused, ConnectTimeout, TlsCertificate};
        let pause = self.settings.scaled(DOUBT);
        let queue = &mut self.hosts[id];
        if let Name::Known { refresh_at, refreshing, fresh_at, .. } = &mut queue.name
            && matches!(failure, ConnectRefused | ConnectTimeout | ConnectFailed | TlsCertificate)
            && !*refreshing
            && (*fresh_at == 0 || now.saturating_sub(*fresh_at) >= pause)
        {
            (*refresh_at, *refreshing) = (Micros::MAX, true);
            self.ask(id, true);
        }
    }

    /// Asks again for names whose pause is over, which count as asked until then, and for those that are about to run out.
    pub(crate) fn ask_names_again(&mut self, now: Micros) {
        if self.health.names.suspended().is_some() {
            return;
        }
        while let Some(&Reverse((due, id))) = self.names_due.peek() {
            if due > now {
                break;
            }
            self.names_due.pop();
            let queue = &self.hosts[id];
            if matches!(queue.name, Name::Asked { .. }) {
                // What failed is asked for past the cache, which may hold the failure.
                self.ask(id, queue.trouble.is_some());
            }
        }
        while let Some(&Reverse((due, id))) = self.names_ending.peek()
            && due <= now
        {
            self.names_ending.pop();
            self.refresh_if_due(id, now);
        }
    }

    /// Has everything in a queue settled, because its name fails or it may have nothing any more.
    pub(crate) fn fail_later(&mut self, id: QueueId) {
        let queue = &mut self.hosts[id];
        if !std::mem::replace(&mut queue.failing, true) {
            self.failing.push_back(id);
        }
    }

    /// Why everything in a queue is settled without a fetch, if it is.
    fn queue_failure(&self, id: QueueId, now: Micros) -> Option<Failure> {
        let queue = &self.hosts[id];
        if let Some(refusal) = self.politeness.refusal(queue) {
            return Some(refusal);
        }
        if let Name::Failed { failure, expires } = &queue.name
            && *expires > now
        {
            return Some(failure.clone());
        }
        let given_up = queue.trouble.as_ref().filter(|evidence| evidence.given_up.is_some());
        given_up.map(|evidence| evidence.failure.clone())
    }

    /// Why a URL is settled without a fetch, if it is: for its queue's reason, or since its origin was given up.
    fn failure_of(&self, id: QueueId, waiting: &Waiting, now: Micros) -> Option<Failure> {
        let origin = || match self.hosts[id].robots(waiting.url.origin()) {
            Some(Robots::Failed { failure, expires }) if *expires > now && waiting.owner.is_none() => {
                Some(failure.clone())
            }
            _ => None,
        };
        self.queue_failure(id, now).or_else(origin)
    }

    /// Settles some of what waits in queues that may have nothing: a queue may be longer than memory.
    pub(crate) fn fail_some(&mut self, now: Micros) -> io::Result<()> {
        self.review_wanted |= !self.failing.is_empty() && !self.troubled.is_empty();
        while self.settled.len() < SETTLED_AT_ONCE
            && let Some(&id) = self.failing.front()
        {
            let next = self.next_waiting(id, Micros::MAX)?;
            let failure = next.as_ref().and_then(|waiting| self.failure_of(id, waiting, now));
            let (Some(failure), Some(waiting)) = (failure, next.as_ref()) else {
                self.failing.pop_front();
                self.hosts[id].failing = false;
                next.into_iter().for_each(|waiting| self.hosts[id].put_first(waiting, now));
                self.place(id, now);
                continue;
            };
            match &waiting.owner {
                None => self.settle(waiting.clone(), failure, now),
                Some(owner) => self.robots_failed(owner, failure.of_robots(), false, now),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
