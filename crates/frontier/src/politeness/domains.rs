//! Registered domains and their budgets.
//!
//! Guarantee: no more pages of a domain are recorded or out than its budget, and no more requests are out than it may have.

use std::io::{self, Read, Write};

use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};

use lycosa_url::registered_domain;

use crate::codec::{self, damaged, put_number, read_record, write_record};
use crate::keys::NameKeys;
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

/// Domains in one record of a snapshot.
const PART: usize = 1 << 16;

/// One registered domain: there may be as many as hosts.
#[derive(Clone, Copy, Debug)]
struct Domain {
    key: u64,
    /// Pages recorded; the greatest number also for more.
    pages: u32,
    /// Hosts with a queue.
    hosts: u32,
}

/// Requests of a domain that are out.
#[derive(Clone, Copy, Debug, Default)]
struct Out {
    pages: u32,
    /// Robots.txt among them.
    requests: u32,
}

/// All registered domains.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    budget: Budget,
    all: Vec<Domain>,
    /// Domains that have requests out.
    out: HashMap<DomainId, Out>,
    /// Queues that wait for a request to end, by domain: few domains have any.
    parked: HashMap<DomainId, Vec<QueueId>>,
    /// By the key of the name: names would take more memory, and two of them that collide share turns and budget.
    by_key: HashTable<DomainId>,
    keys: NameKeys,
    /// The greatest number of hosts of one domain.
    most_hosts: u32,
}

impl Domains {
    /// No domain yet.
    pub(crate) fn new(budget: Budget) -> Self {
        Domains { budget, ..Domains::default() }
    }

    /// The domain of a host.
    pub(crate) fn of(&mut self, host: &str) -> DomainId {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let key = self.keys.of(registered_domain(host));
        let all = &mut self.all;
        let known = |id: &DomainId| all[*id as usize].key;
        match self.by_key.entry(key, |id| known(id) == key, known) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                all.push(Domain { key, pages: 0, hosts: 0 });
                next
            }
        }
    }

    /// The domain of a host, if there is one.
    pub(crate) fn find(&self, host: &str) -> Option<DomainId> {
        let key = self.keys.of(registered_domain(host));
        self.by_key.find(key, |id| self.all[*id as usize].key == key).copied()
    }

    /// Hosts with a queue of a host's domain.
    pub(crate) fn hosts_of(&self, host: &str) -> u32 {
        self.find(host).map_or(0, |id| self.all[id as usize].hosts)
    }

    /// A host of a domain has a queue.
    pub(crate) fn count_host(&mut self, id: DomainId) {
        let hosts = &mut self.all[id as usize].hosts;
        *hosts = hosts.saturating_add(1);
        self.most_hosts = self.most_hosts.max(*hosts);
    }

    /// The greatest number of hosts of one domain.
    pub(crate) fn most_hosts(&self) -> u32 {
        self.most_hosts
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether a domain may start a page, or a robots.txt.
    pub(crate) fn capacity(&self, id: DomainId) -> Capacity {
        if self.budget.pages.is_none() && self.budget.in_flight.is_none() {
            return Capacity::Now;
        }
        let recorded = u64::from(self.all[id as usize].pages);
        let left = self.budget.pages.map_or(u64::MAX, |pages| pages.saturating_sub(recorded));
        let out = self.out.get(&id).copied().unwrap_or_default();
        if left == 0 {
            Capacity::Never
        } else if u64::from(out.pages) >= left
            || self.budget.in_flight.is_some_and(|most| out.requests >= most)
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
        let out = self.out.entry(id).or_default();
        out.requests += 1;
        out.pages += u32::from(is_page);
    }

    /// A request is out no longer.
    pub(crate) fn end(&mut self, id: DomainId, is_page: bool) {
        let Some(out) = self.out.get_mut(&id) else { return };
        out.requests = out.requests.saturating_sub(1);
        out.pages = out.pages.saturating_sub(is_page.into());
        if out.requests == 0 {
            self.out.remove(&id);
        }
    }

    /// A page was recorded.
    pub(crate) fn count_page(&mut self, id: DomainId) {
        let pages = &mut self.all[id as usize].pages;
        *pages = pages.saturating_add(1);
    }

    /// A page that was recorded is to be fetched again.
    pub(crate) fn uncount_page(&mut self, id: DomainId) {
        let pages = &mut self.all[id as usize].pages;
        *pages = pages.saturating_sub(1);
    }

    /// Sets the count of an earlier process; returns whether there is such a domain.
    pub(crate) fn set_pages(&mut self, id: usize, pages: u64) -> bool {
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        self.all.get_mut(id).map(|domain| domain.pages = pages).is_some()
    }

    /// Writes the records of a snapshot.
    pub(crate) fn save(&self, into: &mut dyn Write) -> io::Result<()> {
        let mut scratch = Vec::new();
        write_record(into, &mut scratch, |record| {
            self.keys.pack(record);
            put_number(record, self.all.len() as u64);
        })?;
        for part in self.all.chunks(PART) {
            write_record(into, &mut scratch, |record| {
                for domain in part {
                    record.extend_from_slice(&domain.key.to_le_bytes());
                    put_number(record, domain.pages.into());
                    put_number(record, domain.hosts.into());
                }
            })?;
        }
        Ok(())
    }

    /// Reads them; there is no domain yet.
    pub(crate) fn load(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut record = Vec::new();
        read_record(from, &mut record)?;
        let mut rest = &record[..];
        self.keys = NameKeys::unpack(&mut rest).ok_or_else(damaged)?;
        let len = codec::number(&mut rest).ok_or_else(damaged)?;
        while (self.all.len() as u64) < len {
            read_record(from, &mut record)?;
            let mut rest = &record[..];
            if rest.is_empty() {
                return Err(damaged());
            }
            while !rest.is_empty() {
                let domain = unpack_domain(&mut rest).ok_or_else(damaged)?;
                let id = DomainId::try_from(self.all.len()).map_err(|_| damaged())?;
                self.most_hosts = self.most_hosts.max(domain.hosts);
                self.all.push(domain);
                let all = &self.all;
                self.by_key.insert_unique(domain.key, id, |id| all[*id as usize].key);
            }
        }
        if self.all.len() as u64 == len { Ok(()) } else { Err(damaged()) }
    }
}

/// Takes a domain from the front of a record.
fn unpack_domain(from: &mut &[u8]) -> Option<Domain> {
    let (key, rest) = from.split_first_chunk::<8>()?;
    *from = rest;
    Some(Domain { key: u64::from_le_bytes(*key), pages: codec::small(from)?, hosts: codec::small(from)? })
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
    fn a_snapshot_has_the_same_domains_by_the_same_numbers() {
        let mut domains = Domains::default();
        for number in 0..PART + 9 {
            let id = domains.of(&format!("www.d{number}.com"));
            (0..number % 3).for_each(|_| domains.count_host(id));
            (0..number % 5).for_each(|_| domains.count_page(id));
        }
        let mut saved = Vec::new();
        domains.save(&mut saved).unwrap();
        let mut loaded = Domains::default();
        loaded.load(&mut &saved[..]).unwrap();
        assert_eq!(loaded.len(), PART + 9);
        for number in 0..PART + 9 {
            assert_eq!(loaded.find(&format!("d{number}.com")), Some(number as DomainId));
            assert_eq!(loaded.hosts_of(&format!("d{number}.com")), number as u32 % 3);
            assert_eq!(loaded.all[number].pages, number as u32 % 5);
        }
        assert!(Domains::default().load(&mut &saved[..saved.len() - 1]).is_err());
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
