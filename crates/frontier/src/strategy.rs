//! The order of URLs: which due host queue is next, and which URL of a host.
//!
//! What is due is decided by politeness and names; a strategy only orders it. It is dispatched statically: `Schedule<FairTurns>`.

use std::io;

use hashbrown::HashMap;
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
    next: HashMap<DomainId, Rank>,
    /// The tag that was served last.
    clock: Rank,
    /// The number of tags at which those that the clock has passed are forgotten.
    forget_at: usize,
}

/// Tags below which none is forgotten.
const FEW: usize = 1024;

impl Strategy for FairTurns {
    fn rank(&mut self, _queue: QueueId, domain: DomainId) -> Rank {
        if self.next.len() >= self.forget_at.max(FEW) {
            let clock = self.clock;
            self.next.retain(|_, tag| *tag > clock);
            self.forget_at = 2 * self.next.len();
        }
        let next = self.next.entry(domain).or_default();
        let tag = (*next).max(self.clock);
        *next = tag + 1;
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

    #[test]
    fn what_the_clock_has_passed_takes_no_memory() {
        let mut turns = FairTurns::default();
        for domain in 0..100_000 {
            for _ in 0..2 {
                let tag = turns.rank(domain, domain);
                turns.serve(tag);
            }
        }
        assert!(turns.next.len() <= 2 * FEW, "{} tags", turns.next.len());
        let many = (0..9).map(|queue| turns.rank(queue, 7)).max();
        assert!(many > Some(turns.rank(9, 8)), "a domain that had many turns lately waits longer");
    }
}
