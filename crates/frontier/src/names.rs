//! The names of hosts: answers, the addresses they may be spoken to at, queues that may have nothing.

use std::cmp::Reverse;
use std::io;
use std::net::IpAddr;

use lycosa_url::{Failure, FailureKind, Micros, Resolved};

use crate::politeness::domains::Room;
use crate::queue::Name;
use crate::schedule::QueueId;
use crate::{Frontier, Resolve};

/// URLs of failing queues that are settled at once, at most: a batch for the log.
const FAILED_AT_ONCE: usize = 1000;

impl<R: Resolve> Frontier<R> {
    /// Takes in answers for names.
    pub(crate) fn receive_names(&mut self, now: Micros) {
        let mut answers = std::mem::take(&mut self.answers);
        self.resolver.drain(&mut answers);
        for answer in answers.drain(..) {
            if let Some(id) = self.known_queue(&answer.name)
                && matches!(self.queues[id as usize].name, Name::Asked)
            {
                self.name_answered(id, answer, now);
            }
        }
        self.answers = answers;
    }

    /// Takes in the answer for a queue's name.
    fn name_answered(&mut self, id: QueueId, answer: Resolved, now: Micros) {
        let addresses = answer.result.and_then(|addresses| self.vet(addresses));
        let queue = &mut self.queues[id as usize];
        match addresses {
            Ok((addresses, first)) => {
                queue.name_attempts = 0;
                self.counts.unresolved -= 1;
                let clock = self.schedule.address(first);
                if let Some(before) = queue.lives_at.replace(clock).filter(|before| *before != clock) {
                    self.schedule.move_out(before, queue.domain, now);
                }
                self.schedule.settle_in(clock, queue.domain);
                // An answer is good for at least the request that waits for it.
                let expires = answer.expires.max(now.saturating_add(1));
                let (elapsed_us, class) = (answer.elapsed_us, answer.class);
                queue.name = Name::Known { addresses, clock, expires, elapsed_us, class };
                self.place(id, now);
            }
            Err(failure) if failure.kind.is_transient() && queue.name_attempts < self.settings.retries => {
                let again = now.saturating_add(self.settings.backoff(queue.name_attempts));
                queue.name_attempts += 1;
                self.names_due.push(Reverse((again, id)));
            }
            Err(failure) => {
                queue.name_attempts = 0;
                self.counts.unresolved -= 1;
                queue.name = Name::Failed { failure, expires: answer.expires.max(now.saturating_add(1)) };
                self.fail_later(id);
            }
        }
    }

    /// The addresses that may be spoken to, and the first of them.
    fn vet(&self, mut addresses: Vec<IpAddr>) -> Result<(Vec<IpAddr>, IpAddr), Failure> {
        let refused = addresses.first().copied();
        addresses.retain(|address| self.settings.addresses.permits(*address));
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

    /// Asks again for names whose pause is over; until then they count as asked.
    pub(crate) fn ask_names_again(&mut self, now: Micros) {
        while let Some(&Reverse((due, id))) = self.names_due.peek() {
            if due > now {
                break;
            }
            self.names_due.pop();
            let name = self.queues[id as usize].host.clone();
            self.resolver.submit(vec![name]);
        }
    }

    /// Has everything in a queue settled, because its name fails or it may have nothing any more.
    pub(crate) fn fail_later(&mut self, id: QueueId) {
        let queue = &mut self.queues[id as usize];
        if !std::mem::replace(&mut queue.failing, true) {
            self.failing.push_back(id);
        }
    }

    /// Why everything in a queue is settled without a fetch, if it is.
    fn queue_failure(&self, id: QueueId, now: Micros) -> Option<Failure> {
        let queue = &self.queues[id as usize];
        if self.blocked.blocks_host(&queue.host) {
            return Some(Failure::new(FailureKind::Blocked, "the block list names its host or domain"));
        }
        if self.schedule.domains.room(queue.domain) == Room::Never {
            let pages = self.settings.domain_pages.unwrap_or_default();
            let detail = format!("its registered domain has had its {pages} pages");
            return Some(Failure::new(FailureKind::DomainBudget, detail));
        }
        match &queue.name {
            Name::Failed { failure, expires } if *expires > now => Some(failure.clone()),
            _ => None,
        }
    }

    /// Settles some of what waits in queues that may have nothing: a queue may be longer than memory.
    pub(crate) fn fail_some(&mut self, now: Micros) -> io::Result<()> {
        let mut left = FAILED_AT_ONCE;
        while left > 0
            && let Some(&id) = self.failing.front()
        {
            let failure = self.queue_failure(id, now);
            let next = if failure.is_some() { self.next_waiting(id)? } else { None };
            let (Some(failure), Some(waiting)) = (failure, next) else {
                self.failing.pop_front();
                self.queues[id as usize].failing = false;
                self.place(id, now);
                continue;
            };
            left -= 1;
            match &waiting.owner {
                None => self.settle(waiting, failure, now),
                Some(owner) => self.robots_failed(owner, waiting.attempt, failure.of_robots(), now),
            }
        }
        Ok(())
    }
}
