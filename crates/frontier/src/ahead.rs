//! Pre-resolution: which wanted name is asked for next, and how far ahead of its host's turn.
//!
//! Guarantees, for each [`Ahead`]:
//! 1. A host whose name is not resolved is not in the schedule, and so never blocks one whose name is.
//! 2. Every wanted name is asked for, in the order in which the hosts may be asked (except for `Random` and `Links`).
//! 3. With `Links` names that are wanted for themselves come first, in order of wanting; then, at random, the names of one page's
//!    links, which are counted before the first of them is asked for; then those of the next page.
//! 4. With `Due` no more than a budget of names is known or asked for ahead: as many hosts have their turn before their names expire.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lycosa_url::Micros;

use crate::schedule::QueueId;

/// When names are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// When a slot is free and no resolved host may be asked: the baseline.
    Off,
    /// As soon as a page that names them is parsed, in that order (SYSTEMS.md section 2).
    Parsed,
    /// Those of all waiting hosts in random order, with this many in flight (SYSTEMS.md section 3).
    Random(usize),
    /// Those of the links of a parsed page, page by page, in random order, with this many in flight, or as many as the links have
    /// names, if these are fewer (SYSTEMS.md section 3, the preferred candidates).
    Links(usize),
    /// Ahead of their turn, by when their hosts may be asked; no more than this many names at a time.
    Due(usize),
}

impl Default for Ahead {
    /// Twenty thousand hosts: with some hundred turns a second they have theirs within five minutes, the shortest time for which
    /// addresses are cached.
    fn default() -> Self {
        Ahead::Due(20_000)
    }
}

/// Hosts whose names are wanted and not yet asked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    ahead: Ahead,
    /// By when the host may be asked, then in order of wanting. With `Links` by page, and at random.
    by_due: BinaryHeap<Reverse<(Micros, u64, QueueId)>>,
    /// With `Random`: in no order.
    pool: Vec<QueueId>,
    /// How many were wanted.
    count: u64,
    /// The page whose links are being admitted, by its number from 1; 0: none.
    page: u64,
}

impl Wanted {
    /// No name is wanted.
    pub(crate) fn new(ahead: Ahead) -> Self {
        Wanted { ahead, by_due: BinaryHeap::new(), pool: Vec::new(), count: 0, page: 0 }
    }

    /// Links of a page are admitted from here on, by the page's number from 1.
    pub(crate) fn begin_links(&mut self, page: u64) {
        self.page = page;
    }

    /// All links have been admitted.
    pub(crate) fn end_links(&mut self) {
        self.page = 0;
    }

    /// The name of a host that may be asked from a time on is wanted.
    pub(crate) fn push(&mut self, id: QueueId, due: Micros) {
        self.count += 1;
        match self.ahead {
            Ahead::Random(_) => self.pool.push(id),
            Ahead::Parsed => self.by_due.push(Reverse((0, self.count, id))),
            Ahead::Links(_) => {
                let position = if self.page == 0 { self.count } else { mix(self.count) };
                self.by_due.push(Reverse((self.page, position, id)));
            }
            Ahead::Off | Ahead::Due(_) => self.by_due.push(Reverse((due, self.count, id))),
        }
    }

    /// Takes the next name to ask for, if there is capacity. `asked`: names in flight; `resolved`: hosts that wait for their turn
    /// with their name known; `idle`: slots for which no host is due.
    pub(crate) fn pop(&mut self, asked: usize, resolved: usize, idle: usize, now: Micros) -> Option<QueueId> {
        let has_capacity = match self.ahead {
            Ahead::Off => self.has_due(now) && asked < idle,
            Ahead::Parsed => true,
            Ahead::Random(workers) => asked < workers,
            Ahead::Links(workers) => self.page == 0 && asked < workers,
            Ahead::Due(budget) => asked + resolved < budget,
        };
        if !has_capacity {
            return None;
        }
        if !self.pool.is_empty() {
            let position = mix(self.count ^ (self.pool.len() as u64) << 32) as usize % self.pool.len();
            return Some(self.pool.swap_remove(position));
        }
        self.by_due.pop().map(|Reverse((_, _, id))| id)
    }

    /// Whether one of these hosts may be asked by now.
    pub(crate) fn has_due(&self, now: Micros) -> bool {
        !self.pool.is_empty() || self.by_due.peek().is_some_and(|Reverse((due, ..))| *due <= now)
    }

    /// When the first of these hosts may be asked, with `Off`, where that decides when its name is asked for.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        let first = self.by_due.peek().map(|Reverse((due, ..))| *due);
        first.filter(|_| self.ahead == Ahead::Off)
    }
}

/// Microseconds for which slots were free, by cause.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleCauses {
    /// Hosts wait for their turn.
    pub politeness: u64,
    /// Names are being resolved, and no host is scheduled.
    pub names: u64,
    /// The crawl is suspended.
    pub suspended: u64,
    /// No URL waits.
    pub nothing: u64,
}

/// Why slots are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Politeness,
    Names,
    Suspended,
    Nothing,
}

/// How long slots were free with no resolved host due.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    /// Microseconds so far.
    pub(crate) total: Micros,
    /// The same by cause.
    pub(crate) causes: IdleCauses,
    /// Whether slots have been free with no resolved host due since the last call of [`Idle::pass`].
    pub(crate) is_running: bool,
    /// Why slots are free, if they are.
    pub(crate) cause: Option<Cause>,
    looked: Micros,
}

impl Idle {
    /// Time has passed.
    pub(crate) fn pass(&mut self, now: Micros) {
        if self.is_running {
            self.total += now.saturating_sub(self.looked);
        }
        let passed = now.saturating_sub(self.looked);
        match self.cause.filter(|_| self.looked > 0) {
            Some(Cause::Politeness) => self.causes.politeness += passed,
            Some(Cause::Names) => self.causes.names += passed,
            Some(Cause::Suspended) => self.causes.suspended += passed,
            Some(Cause::Nothing) => self.causes.nothing += passed,
            None => {}
        }
        self.looked = now;
    }
}

/// Spreads numbers (the finalizer of splitmix64): random, but the same in every run.
fn mix(number: u64) -> u64 {
    let z = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which five names are asked for that are due later and later, but for the last.
    fn order(ahead: Ahead) -> Vec<QueueId> {
        let mut wanted = Wanted::new(ahead);
        [10, 20, 30, 40, 5].into_iter().zip(0..).for_each(|(due, id)| wanted.push(id, due));
        std::iter::from_fn(|| wanted.pop(0, 0, 1, 25)).collect()
    }

    #[test]
    fn each_way_has_its_order() {
        assert_eq!(order(Ahead::Due(1)), [4, 0, 1, 2, 3]);
        assert_eq!(order(Ahead::Parsed), [0, 1, 2, 3, 4]);
        assert_eq!(order(Ahead::Off), [4, 0, 1], "only what may be asked now");
        let mut random = order(Ahead::Random(1));
        assert_ne!(random, [0, 1, 2, 3, 4]);
        random.sort_unstable();
        assert_eq!(random, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn links_are_asked_for_page_by_page_at_random_after_what_is_wanted_for_itself() {
        let mut wanted = Wanted::new(Ahead::Links(2));
        for page in 1..=2 {
            wanted.begin_links(page);
            (0..20).for_each(|id| wanted.push(100 * page as QueueId + id, 0));
            assert_eq!(wanted.pop(0, 0, 9, 0), None, "the links of a page are counted first");
        }
        wanted.end_links();
        [7, 6, 5].into_iter().for_each(|id| wanted.push(id, 0));
        assert_eq!(wanted.pop(2, 0, 9, 0), None, "no more than there are workers");
        let order: Vec<QueueId> = std::iter::from_fn(|| wanted.pop(1, 0, 0, 0)).collect();
        assert_eq!(order[..3], [7, 6, 5]);
        for (page, asked) in (1..).zip(order[3..].chunks(20)) {
            assert!(!asked.is_sorted(), "{asked:?}");
            let mut sorted = asked.to_vec();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(100 * page..100 * page + 20), "{asked:?}");
        }
        assert_eq!(order.len(), 43);
    }

    #[test]
    fn no_more_are_asked_for_than_there_is_room() {
        let mut wanted = Wanted::new(Ahead::Due(3));
        (0..9).for_each(|id| wanted.push(id, 0));
        assert_eq!(wanted.pop(1, 2, 9, 0), None, "known ones count");
        assert!(wanted.pop(1, 1, 0, 0).is_some());
        for (ahead, asked, idle) in [(Ahead::Off, 2, 2), (Ahead::Random(2), 2, 9)] {
            let mut wanted = Wanted::new(ahead);
            wanted.push(1, 0);
            assert_eq!(wanted.pop(asked, 0, idle, 0), None);
            assert_eq!(wanted.pop(asked - 1, 0, idle, 0), Some(1));
        }
    }
}
