//! Registered domains and their budgets.
//!
//! Guarantee: no more pages of a domain are recorded or out than its budget, and no more requests are out than it may have.

use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

use lycosa_url::registered_domain;

use crate::schedule::QueueId;

/// Number of a registered domain, in the order of its first host.
pub(crate) type DomainId = u32;

/// The budget of a domain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    /// Pages in the whole crawl.
    pub(crate) pages: Option<u64>,
    /// Requests at once.
    pub(crate) in_flight: Option<u32>,
}

/// Whether a domain may start a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// Now.
    Now,
    /// Not before one that is out has ended.
    Later,
    /// Never: its pages are used up.
    Never,
}

/// One registered domain.
#[derive(Clone, Debug, Default)]
struct Domain {
    /// Pages recorded.
    pages: u64,
    /// Hosts with a queue.
    hosts: u32,
    /// Pages out.
    leased: u32,
    /// Requests out, robots.txt among them.
    in_flight: u32,
}

/// All registered domains.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    budget: Budget,
    all: Vec<Domain>,
    /// Queues that wait for a request to end, by domain: few domains have any.
    parked: HashMap<DomainId, Vec<QueueId>>,
    /// By the hash of the name: names would take more memory, and two of them that collide share turns and budget.
    by_name: HashMap<u64, DomainId>,
    hasher: DefaultHashBuilder,
}

impl Domains {
    /// No domain yet.
    pub(crate) fn new(budget: Budget) -> Self {
        Domains { budget, ..Domains::default() }
    }

    /// The domain of a host.
    pub(crate) fn of(&mut self, host: &str) -> DomainId {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        *self.by_name.entry(self.hasher.hash_one(registered_domain(host))).or_insert_with(|| {
            self.all.push(Domain::default());
            next
        })
    }

    /// The domain of a host, if one of its hosts is known.
    pub(crate) fn find(&self, host: &str) -> Option<DomainId> {
        self.by_name.get(&self.hasher.hash_one(registered_domain(host))).copied()
    }

    /// Hosts with a queue of a host's domain.
    pub(crate) fn hosts_of(&self, host: &str) -> u32 {
        self.find(host).map_or(0, |id| self.all[id as usize].hosts)
    }

    /// A host of a domain has a queue.
    pub(crate) fn count_host(&mut self, id: DomainId) {
        self.all[id as usize].hosts += 1;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether a domain may start a page, or a robots.txt.
    pub(crate) fn capacity(&self, id: DomainId) -> Capacity {
        let domain = &self.all[id as usize];
        let left = self.budget.pages.map_or(u64::MAX, |pages| pages.saturating_sub(domain.pages));
        if left == 0 {
            Capacity::Never
        } else if u64::from(domain.leased) >= left
            || self.budget.in_flight.is_some_and(|most| domain.in_flight >= most)
        {
            Capacity::Later
        } else {
            Capacity::Now
        }
    }

    /// A queue waits until a request to its domain has ended.
    pub(crate) fn park(&mut self, id: DomainId, queue: QueueId) {
        self.parked.entry(id).or_default().push(queue);
    }

    /// Takes a queue that waits, if its domain has capacity again or never will.
    pub(crate) fn unpark(&mut self, id: DomainId) -> Option<QueueId> {
        if self.parked.is_empty() || self.capacity(id) == Capacity::Later {
            return None;
        }
        let queues = self.parked.get_mut(&id)?;
        let queue = queues.pop();
        if queues.is_empty() {
            self.parked.remove(&id);
        }
        queue
    }

    /// A request starts.
    pub(crate) fn start(&mut self, id: DomainId, is_page: bool) {
        let domain = &mut self.all[id as usize];
        domain.in_flight += 1;
        domain.leased += u32::from(is_page);
    }

    /// A request is out no longer.
    pub(crate) fn end(&mut self, id: DomainId, is_page: bool) {
        let domain = &mut self.all[id as usize];
        domain.in_flight = domain.in_flight.saturating_sub(1);
        domain.leased = domain.leased.saturating_sub(u32::from(is_page));
    }

    /// A page was recorded.
    pub(crate) fn count_page(&mut self, id: DomainId) {
        self.all[id as usize].pages += 1;
    }

    /// A page that was recorded is to be fetched again.
    pub(crate) fn uncount_page(&mut self, id: DomainId) {
        self.all[id as usize].pages = self.all[id as usize].pages.saturating_sub(1);
    }

    /// Pages by domain, in the order of their numbers.
    pub(crate) fn pages(&self) -> impl ExactSizeIterator<Item = u64> {
        self.all.iter().map(|domain| domain.pages)
    }

    /// Sets the count of an earlier process; returns whether there is such a domain.
    pub(crate) fn set_pages(&mut self, id: usize, pages: u64) -> bool {
        self.all.get_mut(id).map(|domain| domain.pages = pages).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_a_registered_domain_are_one() {
        let mut domains = Domains::default();
        let one = domains.of("news.foo.co.uk");
        assert_eq!(domains.of("foo.co.uk"), one);
        assert_ne!(domains.of("bar.co.uk"), one);
    }

    #[test]
    fn budgets_count_what_is_out() {
        let mut domains = Domains::new(Budget { pages: Some(2), in_flight: Some(2) });
        let id = domains.of("a.com");
        assert_eq!(domains.capacity(id), Capacity::Now);
        domains.start(id, true);
        domains.start(id, false);
        assert_eq!(domains.capacity(id), Capacity::Later, "two are out");
        domains.park(id, 7);
        assert_eq!(domains.unpark(id), None);
        domains.end(id, false);
        assert_eq!(domains.unpark(id), Some(7));
        domains.end(id, true);
        domains.count_page(id);
        domains.start(id, true);
        assert_eq!(domains.capacity(id), Capacity::Later, "the second page is out, and may be a redirect");
        domains.end(id, true);
        domains.count_page(id);
        assert_eq!(domains.capacity(id), Capacity::Never);
    }
}
