//! The order of URLs: which due host queue is next, and which URL of a host.
//!
//! What is due is decided by politeness and names; a strategy only orders it. It is dispatched statically: `Schedule<FairTurns>`.

use std::io;

use lycosa_url::Micros;

use crate::politeness::domains::DomainId;
use crate::queue::Queue;
use crate::schedule::QueueId;
use crate::spill::Spill;
use crate::waiting::Waiting;

/// A position in the order of what is due: the lowest is served first.
pub(crate) type Rank = u64;

/// The order of URLs within the frontier.
pub(crate) trait Strategy {
    /// The rank of a queue that has become due. It stays as it is until the queue is served.
    fn rank(&mut self, queue: QueueId, domain: DomainId) -> Rank;

    /// A queue with this rank is served.
    fn serve(&mut self, rank: Rank);

    /// Takes out a host's next URL that is due. Default: first in, first out; robots.txt and the URLs that waited for it first.
    fn next_url(
        &mut self,
        queue: &mut Queue,
        spill: &mut Spill,
        memory: &mut usize,
        now: Micros,
    ) -> io::Result<Option<Waiting>> {
        queue.pop(spill, memory, now)
    }
}

/// Registered domains take turns (start-time fair queueing, Goyal, Vin and Cheng 1996).
///
/// Guarantee: however many hosts a domain has, another domain's request waits for at most one request of each domain that was
/// ready before it.
#[derive(Debug, Default)]
pub(crate) struct FairTurns {
    /// By domain: the tag of its next turn, unless the clock has passed it.
    next: Vec<Rank>,
    /// The tag that was served last.
    clock: Rank,
}

impl Strategy for FairTurns {
    fn rank(&mut self, _queue: QueueId, domain: DomainId) -> Rank {
        let domain = domain as usize;
        if domain >= self.next.len() {
            self.next.resize(domain + 1, 0);
        }
        let tag = self.next[domain].max(self.clock);
        self.next[domain] = tag + 1;
        tag
    }

    fn serve(&mut self, rank: Rank) {
        self.clock = self.clock.max(rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_waits_for_one_of_each_and_not_for_all() {
        let (mut turns, large, small) = (FairTurns::default(), 0, 1);
        let tags: Vec<Rank> = (0..10_000).map(|queue| turns.rank(queue, large)).collect();
        turns.serve(tags[3_000]);
        let turn = turns.rank(10_000, small);
        assert!(turn <= tags[3_001], "the next but one");
        assert!(turns.rank(10_001, small) > turn, "and only one of its own");
    }
}
