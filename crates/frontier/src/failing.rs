//! Queues whose URLs are settled without a fetch: the name fails, the host was given up or is blocked, the budget is used up.

use std::io;

use lycosa_records::Outcome;
use lycosa_url::{Failure, FailureKind, Micros};

use crate::grant::SETTLED_AT_ONCE;
use crate::names::Name;
use crate::robots::Robots;
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::Waiting;
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Why all URLs of a queue are settled without a fetch, if so.
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

    /// Why a URL is settled without a fetch, if so: for its queue's reason, or since its origin was given up.
    fn failure_of(&self, id: QueueId, waiting: &Waiting, now: Micros) -> Option<Failure> {
        let origin = || match self.hosts[id].origins.get(waiting.url.origin()) {
            Some(Robots::Failed { failure, expires }) if *expires > now && waiting.owner.is_none() => {
                Some(failure.clone())
            }
            _ => None,
        };
        self.queue_failure(id, now).or_else(origin)
    }

    /// Settles some URLs of failing queues: a queue may be longer than memory.
    pub(crate) fn fail_some(&mut self, now: Micros) -> io::Result<()> {
        if self.trouble.next_failing().is_some() {
            self.trouble.review_soon(&self.hosts);
        }
        while self.settled.len() < SETTLED_AT_ONCE
            && let Some(id) = self.trouble.next_failing()
        {
            let next = self.next_waiting(id, Micros::MAX)?;
            let failure = next.as_ref().and_then(|waiting| self.failure_of(id, waiting, now));
            let (Some(failure), Some(waiting)) = (failure, next.as_ref()) else {
                self.trouble.end_failing(&mut self.hosts);
                next.into_iter().for_each(|waiting| self.hosts[id].put_first(waiting, now));
                self.enqueue(id, now);
                continue;
            };
            match &waiting.owner {
                None => self.settle(waiting.clone(), failure, now),
                // The site was not asked: who owns it later asks it then.
                Some(owner) if self.politeness.has_moved(&self.hosts[owner.queue].host) => {
                    self.robots_failed(owner, failure, true, now);
                }
                // It would lead there again and again.
                Some(owner) if failure.kind == FailureKind::Cancelled => {
                    let detail = "robots.txt: it redirects to a site of another node";
                    let failure = Failure::new(FailureKind::RobotsUnreachable, detail);
                    self.robots_failed(owner, failure, false, now);
                }
                Some(owner) => self.robots_failed(owner, failure.of_robots(), false, now),
            }
        }
        Ok(())
    }

    /// Settles a URL without a fetch.
    pub(crate) fn settle(&mut self, waiting: Waiting, failure: Failure, now: Micros) {
        self.tally.shift(State::Waiting, State::settled(&failure), 1);
        let Waiting { url, depth, attempt, chain, options, .. } = waiting;
        let mut page = Outcome::settled(url, depth, chain, now, failure).with_options(options);
        page.response.request.attempt = attempt;
        self.settled.push(page);
    }
}
