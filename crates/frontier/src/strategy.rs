//! The order of URLs: which due host queue is next, and which URL of a host.
//!
//! What is due is decided by politeness and names; a strategy only orders it. It is dispatched statically: `Schedule<FairTurns>`.

use std::io;

use hashbrown::HashMap;
use lycosa_url::Micros;

use crate::levels::MOST;
use crate::politeness::domains::DomainId;
use crate::queue::Queue;
use crate::schedule::Turn;
use crate::spill::Spill;
use crate::waiting::Waiting;

/// A position in the order of what is due: the lowest is served first.
pub(crate) type Rank = u64;

/// The order of URLs within the frontier.
pub(crate) trait Strategy {
    /// The rank of a queue that has become due. It stays as it is until the queue is served.
    fn rank(&mut self, turn: Turn) -> Rank;

    /// A queue with this rank is served.
    fn serve(&mut self, rank: Rank);

    /// Takes out a host's next URL that is due. Default: the greatest priority first, then first in, first out; robots.txt and the
    /// URLs that waited for it before all others.
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

/// The greatest priority first; among equal ones registered domains take turns (start-time fair queueing, Goyal, Vin and Cheng
/// 1996).
///
/// Guarantee: however many hosts a domain has, another domain's request waits for at most one request of each domain of its level
/// that was ready before it, and for those of greater levels. Without priorities there is one level.
#[derive(Debug, Default)]
pub(crate) struct FairTurns {
    /// The greatest level first.
    levels: [Turns; LEVELS],
}

/// The number of levels.
const LEVELS: usize = 2 * MOST as usize + 1;

/// Bits of a rank that have the tag; those above have the level.
const TAG_BITS: u32 = 56;

/// The turns of the domains of one level.
#[derive(Debug, Default)]
struct Turns {
    /// By domain: the tag of its next turn, unless the clock has passed it.
    next: HashMap<DomainId, u64>,
    /// The tag that was served last.
    clock: u64,
    /// The number of tags at which those that the clock has passed are forgotten.
    forget_at: usize,
}

/// Tags below which none is forgotten.
const FEW: usize = 1024;

impl Turns {
    /// The tag of a domain's next turn.
    fn take(&mut self, domain: DomainId) -> u64 {
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
}

impl Strategy for FairTurns {
    fn rank(&mut self, turn: Turn) -> Rank {
        let level = usize::try_from(MOST.saturating_sub(turn.level)).unwrap_or(0).min(LEVELS - 1);
        (level as u64) << TAG_BITS | self.levels[level].take(turn.domain)
    }

    fn serve(&mut self, rank: Rank) {
        if let Some(turns) = self.levels.get_mut((rank >> TAG_BITS) as usize) {
            turns.clock = turns.clock.max(rank & ((1 << TAG_BITS) - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::Level;

    fn turn(queue: u32, domain: u32, level: Level) -> Turn {
        Turn { queue, domain, level }
    }

    #[test]
    fn who_comes_late_waits_for_one_of_each_and_not_for_all() {
        let (mut turns, large, small) = (FairTurns::default(), 0, 1);
        let tags: Vec<Rank> = (0..10_000).map(|queue| turns.rank(turn(queue, large, 0))).collect();
        turns.serve(tags[3_000]);
        let late = turns.rank(turn(10_000, small, 0));
        assert!(late <= tags[3_001], "the next but one");
        assert!(turns.rank(turn(10_001, small, 0)) > late, "and only one of its own");
    }

    #[test]
    fn a_greater_priority_comes_first_and_each_level_is_fair() {
        let (mut turns, large, small) = (FairTurns::default(), 0, 1);
        let many: Vec<Rank> = (0..100).map(|queue| turns.rank(turn(queue, large, 2))).collect();
        let low: Vec<Rank> = (0..100).map(|queue| turns.rank(turn(queue, large, -1))).collect();
        let usual = turns.rank(turn(200, small, 0));
        assert!(many[99] < usual && usual < low[0]);
        many.iter().for_each(|rank| turns.serve(*rank));
        assert!(turns.rank(turn(201, small, -1)) <= low[1], "what was served above does not delay it");
    }

    #[test]
    fn what_the_clock_has_passed_takes_no_memory() {
        let mut turns = FairTurns::default();
        for domain in 0..100_000 {
            for _ in 0..2 {
                let tag = turns.rank(turn(domain, domain, 0));
                turns.serve(tag);
            }
        }
        let kept = turns.levels[MOST as usize].next.len();
        assert!(kept <= 2 * FEW, "{kept} tags");
        let many = (0..9).map(|queue| turns.rank(turn(queue, 7, 0))).max();
        assert!(many > Some(turns.rank(turn(9, 8, 0))), "a domain that had many turns lately waits longer");
    }
}
