//! Requests on lease: granted, expired, ended; and those of an earlier process that have no outcome yet.
//!
//! Guarantees:
//! 1. A number is granted once, also across processes: [`Leases::was_granted`] keeps it above those in the log.
//! 2. A lease is ended once, by its outcome or because it has expired; an outcome that comes after that is late.
//! 3. The clocks of a lease's host and address are freed once, at its end or before ([`Leases::free`]).

use std::collections::VecDeque;

use hashbrown::HashMap;
use lycosa_records::Purpose;
use lycosa_url::Micros;

use crate::codec::{self, MAX_COUNT, put_number};
use crate::schedule::{AddressId, QueueId};
use crate::waiting::Waiting;
use crate::{Ownership, Settings};

/// A request that is out, and what is needed to retry it.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) waiting: Waiting,
    pub(crate) queue: QueueId,
    pub(crate) address: AddressId,
    pub(crate) granted: Micros,
    /// Whether the clocks of its host and address have been freed.
    is_free: bool,
}

/// All leases. Filled by [`Leases::grant`], emptied by [`Leases::end`].
#[derive(Debug)]
pub(crate) struct Leases {
    active: HashMap<u64, Lease>,
    /// Leases by expiry; all have the same duration, so the order is that of granting. Ended ones are skipped.
    expiring: VecDeque<(Micros, u64)>,
    next: u64,
    /// The difference between two numbers: leases of shards have different ones.
    step: u64,
    duration: Micros,
    /// Pages on lease.
    pages: u64,
    /// Outcomes that came after their lease had expired.
    late: u64,
    /// Leases of an earlier process without an outcome yet, while the log is replayed: the queue, and when each was granted.
    unanswered: HashMap<u64, (QueueId, Micros)>,
}

impl Leases {
    /// No leases.
    pub(crate) fn new(settings: &Settings) -> Self {
        let (next, step) = settings.ownership.as_ref().map_or((1, 1), Ownership::leases);
        Leases {
            active: HashMap::new(),
            expiring: VecDeque::new(),
            next,
            step,
            // Never scaled below what fetch's time-outs, which are not scaled, need.
            duration: u64::try_from(settings.lease.as_micros()).unwrap_or(u64::MAX),
            pages: 0,
            late: 0,
            unanswered: HashMap::new(),
        }
    }

    /// Grants a request; returns its number and when it expires.
    pub(crate) fn grant(
        &mut self,
        queue: QueueId,
        address: AddressId,
        waiting: Waiting,
        now: Micros,
    ) -> (u64, Micros) {
        let (number, expires) = (self.next, self.expiry(now));
        self.next += self.step;
        self.pages += u64::from(waiting.purpose() == Purpose::Page);
        self.expiring.push_back((expires, number));
        self.active.insert(number, Lease { waiting, queue, address, granted: now, is_free: false });
        (number, expires)
    }

    /// When a lease expires that is granted now.
    pub(crate) fn expiry(&self, now: Micros) -> Micros {
        now.saturating_add(self.duration)
    }

    /// A lease that is active.
    pub(crate) fn get(&self, number: u64) -> Option<&Lease> {
        self.active.get(&number)
    }

    /// All active leases, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Lease)> {
        self.active.iter().map(|(number, lease)| (*number, lease))
    }

    /// The queues of active leases, and of requests of an earlier process without an outcome.
    pub(crate) fn queues(&self) -> impl Iterator<Item = QueueId> {
        let unanswered = self.unanswered.values().map(|(queue, _)| *queue);
        self.active.values().map(|lease| lease.queue).chain(unanswered)
    }

    /// Whether no lease is active.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Pages on lease.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Ends a lease; its clocks are to be freed before.
    pub(crate) fn end(&mut self, number: u64) -> Option<Lease> {
        let lease = self.active.remove(&number)?;
        self.pages -= u64::from(lease.waiting.purpose() == Purpose::Page);
        Some(lease)
    }

    /// Host queue and address of a lease, whose clocks are to be freed now; `None` if that was done before.
    pub(crate) fn free(&mut self, number: u64) -> Option<(QueueId, AddressId)> {
        let lease = self.active.get_mut(&number).filter(|lease| !lease.is_free)?;
        lease.is_free = true;
        Some((lease.queue, lease.address))
    }

    /// The next lease that has expired, if there is one; it is to be ended.
    pub(crate) fn next_expired(&mut self, now: Micros) -> Option<u64> {
        while let Some(&(due, number)) = self.expiring.front() {
            let is_active = self.active.contains_key(&number);
            if is_active && due > now {
                return None;
            }
            self.expiring.pop_front();
            if is_active {
                return Some(number);
            }
        }
        None
    }

    /// The active lease that was granted first.
    pub(crate) fn oldest(&self) -> Option<&Lease> {
        self.expiring.iter().find_map(|(_, number)| self.active.get(number))
    }

    /// When the next lease may expire.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        self.expiring.front().map(|(due, _)| *due)
    }

    /// Lets all leases expire later.
    pub(crate) fn extend(&mut self, by: Micros) {
        self.expiring.iter_mut().for_each(|(due, _)| *due = due.saturating_add(by));
    }

    /// Counts an outcome whose lease had expired.
    pub(crate) fn count_late(&mut self) {
        self.late += 1;
    }

    /// Outcomes that came after their lease had expired.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// The number of the next lease, for a snapshot.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Sets the counts of an earlier process: late outcomes, and the number of the next lease.
    pub(crate) fn load(&mut self, late: u64, next: u64) {
        (self.late, self.next) = (late, next);
    }

    /// A lease of this number was granted by an earlier process: the next one has a greater, of those that are this frontier's own.
    pub(crate) fn was_granted(&mut self, number: u64) {
        // No crawl comes to so many: it is a damaged number, after which a snapshot could have no more.
        if number > MAX_COUNT / 2 {
            return;
        }
        let (after, step) = (number + 1, self.step);
        let to_own = (self.next % step + step - after % step) % step;
        self.next = self.next.max(after + to_own);
    }

    /// The log names a request that was about to be sent.
    pub(crate) fn await_outcome(&mut self, number: u64, queue: QueueId, granted: Micros) {
        self.unanswered.insert(number, (queue, granted));
    }

    /// The log has its outcome, whichever frontier's it is.
    pub(crate) fn was_answered(&mut self, number: u64) {
        self.was_granted(number);
        self.unanswered.remove(&number);
    }

    /// Takes the requests that were granted before a process began and still have no outcome: the process before it had died by then.
    pub(crate) fn take_unanswered(&mut self, process: Micros) -> impl Iterator<Item = QueueId> {
        self.unanswered.extract_if(move |_, (_, granted)| *granted < process).map(|(_, (queue, _))| queue)
    }

    /// Appends the active leases to a record of a snapshot; `number_of`: the numbers that their queues have there.
    pub(crate) fn pack(&self, record: &mut Vec<u8>, number_of: impl Fn(QueueId) -> u64) {
        put_number(record, self.active.len() as u64);
        for (number, lease) in &self.active {
            [*number, number_of(lease.queue), lease.granted]
                .into_iter()
                .for_each(|part| put_number(record, part));
        }
    }

    /// Reads them as requests without an outcome; `hosts`: how many queues there are.
    pub(crate) fn unpack(&mut self, from: &mut &[u8], hosts: usize) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let (number, queue, granted) = (codec::number(from)?, codec::small(from)?, codec::number(from)?);
            ((queue as usize) < hosts).then_some(())?;
            self.await_outcome(number, queue, granted);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lycosa_url::CrawlUrl;

    use super::*;

    fn leases() -> Leases {
        Leases::new(&Settings { lease: Duration::from_micros(100), ..Settings::default() })
    }

    fn page() -> Waiting {
        Waiting::new(CrawlUrl::parse("http://a.com/").unwrap())
    }

    #[test]
    fn leases_expire_in_the_order_of_granting_and_ended_ones_never() {
        let mut leases = leases();
        let numbers = [0, 1, 2].map(|at| leases.grant(7, 9, page(), at));
        assert_eq!(numbers, [(1, 100), (2, 101), (3, 102)]);
        assert!(leases.end(1).is_some() && leases.end(1).is_none());
        assert_eq!(leases.oldest().map(|lease| lease.granted), Some(1), "of those that are active");
        leases.extend(10);
        assert_eq!((leases.next_expired(110), leases.due_at()), (None, Some(111)));
        assert_eq!(leases.next_expired(112), Some(2));
        assert_eq!(leases.end(2).map(|lease| lease.queue), Some(7));
        assert_eq!((leases.next_expired(112), leases.pages()), (Some(3), 1));
        assert!(leases.end(3).is_some() && leases.next_expired(999).is_none() && leases.is_empty());
    }

    #[test]
    fn clocks_are_freed_once() {
        let mut leases = leases();
        let (number, _) = leases.grant(7, 9, page(), 0);
        assert_eq!(leases.free(number), Some((7, 9)));
        assert_eq!(leases.free(number), None);
        assert!(leases.get(number).is_some(), "the lease itself goes on");
    }

    #[test]
    fn leases_of_an_earlier_process_are_unanswered_and_their_numbers_taken() {
        let (mut first, mut packed) = (leases(), Vec::new());
        for queue in 0..3 {
            first.grant(queue, 0, page(), 10 + u64::from(queue));
        }
        first.pack(&mut packed, u64::from);
        let mut second = leases();
        assert_eq!(second.unpack(&mut &packed[..], 2), None, "there are only two queues");
        second.unpack(&mut &packed[..], 3).unwrap();
        second.was_granted(3);
        second.was_answered(2);
        assert_eq!(second.take_unanswered(12).collect::<Vec<_>>(), [0], "the last one was granted later");
        assert_eq!(second.grant(0, 0, page(), 20).0, 4);
    }
}
