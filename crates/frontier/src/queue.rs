//! One host: its waiting URLs, and the state that each part stores for it.

use std::io;

use lycosa_url::{Digest, Micros};

use crate::levels::{Level, Levels};
use crate::names::Name;
use crate::patience::Evidence;
use crate::politeness::domains::DomainId;
use crate::politeness::pace::Pace;
use crate::robots::{Origins, Robots};
use crate::schedule::AddressId;
use crate::spill::Spill;
use crate::waiting::Waiting;

/// URLs of a host outside its backlog that are not due, at most: beyond that the host waits.
pub(crate) const LATER: usize = 16;

/// A host's queue, with the host's state: `origins` is written by robots, `name` and `doubted` by names, `pace` by politeness,
/// `is_scheduled` and `failing` where the queue is scheduled or failed, `rests`, `is_large`, `is_delayed`,
/// `is_leaving`, `is_retrying` and `is_exempt` by hosts, all else by trouble.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The host, as in its URLs.
    pub(crate) host: Box<str>,
    /// URLs before the backlog, the next one last: robots.txt requests, and URLs that wait for theirs.
    pub(crate) front: Vec<Waiting>,
    /// URLs by priority, and in the order in which they came.
    pub(crate) backlog: Levels,
    /// URLs of the backlog that were next before they were due: at most [`LATER`].
    pub(crate) later: Vec<Waiting>,
    /// The state of its robots.txt files.
    pub(crate) origins: Origins,
    /// The state of its name.
    pub(crate) name: Name,
    /// The evidence against the host: its name, or its connections.
    pub(crate) trouble: Option<Box<Evidence>>,
    /// Whether it has answered this process.
    pub(crate) answered: bool,
    /// The mark of the last page (`captive.rs`); 0: none.
    pub(crate) mark: u64,
    /// Whether it answered when it was to be given up: each URL has its own tries.
    pub(crate) is_there: bool,
    /// Whether its name may be from a captive portal: it is asked for past the cache.
    pub(crate) doubted: bool,
    /// Interval and concurrency of its requests.
    pub(crate) pace: Pace,
    /// The host's registered domain.
    pub(crate) domain: DomainId,
    /// The address at which this host was last known to be.
    pub(crate) lives_at: Option<AddressId>,
    /// Whether the queue is in the schedule, or waits for a request to its domain to end.
    pub(crate) is_scheduled: bool,
    /// Whether its URLs are being settled without a fetch.
    pub(crate) failing: bool,
    /// Since when nothing waits for it and no request is out, if so: it may leave memory.
    pub(crate) rests: Option<Micros>,
    /// Whether so many URLs wait that it stays in memory.
    pub(crate) is_large: bool,
    /// Whether it is in the schedule for a time long from now, or fails.
    pub(crate) is_delayed: bool,
    /// Whether it is to be put aside, since its address has enough hosts in the schedule.
    pub(crate) is_leaving: bool,
    /// Whether it has come back for a try and has not had it yet.
    pub(crate) is_retrying: bool,
    /// Whether it is not counted among the hosts for which there is space.
    pub(crate) is_exempt: bool,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(host: &str) -> Self {
        Queue {
            host: host.into(),
            front: Vec::new(),
            backlog: Levels::default(),
            later: Vec::new(),
            origins: Origins::default(),
            name: Name::Unknown,
            trouble: None,
            answered: false,
            mark: 0,
            is_there: false,
            doubted: false,
            pace: Pace::default(),
            domain: 0,
            lives_at: None,
            is_scheduled: false,
            failing: false,
            rests: None,
            is_large: false,
            is_delayed: false,
            is_leaving: false,
            is_retrying: false,
            is_exempt: false,
        }
    }

    /// Whether this is the slot of a host that is not in memory any more.
    pub(crate) fn is_vacant(&self) -> bool {
        self.host.is_empty()
    }

    /// Whether no URL waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.backlog.is_empty() && self.later.is_empty()
    }

    /// Whether there is evidence against it or its origins, or a robots.txt is asked for.
    pub(crate) fn fails(&self) -> bool {
        self.trouble.is_some() || self.origins.is_waiting()
    }

    /// URLs that wait.
    pub(crate) fn len(&self) -> usize {
        let own = self.front.iter().filter(|waiting| waiting.owner.is_none());
        own.count() + self.backlog.len() + self.later.len()
    }

    /// The greatest level of its URLs that are due by now, if there are any, or of all.
    pub(crate) fn level(&self, now: Micros) -> Level {
        let due = self.front.iter().chain(self.later.iter().filter(|waiting| waiting.due <= now));
        let due = due.map(Waiting::level).chain(self.backlog.level()).max();
        due.or(self.later.iter().map(Waiting::level).max()).unwrap_or(0)
    }

    /// When a URL is due; 0: at any time. The host's pace comes on top.
    pub(crate) fn due_at(&self) -> Micros {
        let has_now = !self.front.is_empty() || (!self.backlog.is_empty() && self.later.len() < LATER);
        if has_now { 0 } else { self.later.iter().map(|waiting| waiting.due).min().unwrap_or(0) }
    }

    /// Whether all waiting URLs belong to origins whose robots.txt is missing.
    pub(crate) fn is_parked(&self) -> bool {
        let parked = |waiting: &Waiting| {
            matches!(self.origins.get(waiting.url.origin()), Some(Robots::Parked(_) | Robots::Asked))
        };
        (self.backlog.is_empty() || self.later.len() >= LATER)
            && self.front.iter().chain(&self.later).all(parked)
    }

    /// Whether nothing of it can be fetched before a next try.
    pub(crate) fn has_only_failing(&self) -> bool {
        self.trouble.is_some() || self.waits_for_failing_robots()
    }

    /// Whether all waiting URLs wait for a robots.txt that fails, or is asked for.
    fn waits_for_failing_robots(&self) -> bool {
        self.origins.is_waiting() && self.is_parked()
    }

    /// The evidence against the host and its origins.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.trouble.as_deref().into_iter().chain(self.origins.evidence())
    }

    /// When a robots.txt that all waiting URLs wait for is asked for again; 0: at any time.
    pub(crate) fn parked_until(&self) -> Micros {
        match self.waits_for_failing_robots() {
            true => self.origins.evidence().map(|evidence| evidence.retry_at).min().unwrap_or(0),
            false => 0,
        }
    }

    /// Puts back a URL that was taken out: it is next when it is due.
    pub(crate) fn put_first(&mut self, waiting: Waiting, now: Micros) {
        if waiting.due > now { self.later.push(waiting) } else { self.front.push(waiting) }
    }

    /// Puts back a URL that is not due.
    pub(crate) fn postpone(&mut self, waiting: Waiting) {
        self.later.push(waiting);
    }

    /// Takes out the next URL that is due.
    pub(crate) fn pop(
        &mut self,
        spill: &mut Spill,
        held: &mut usize,
        now: Micros,
    ) -> io::Result<Option<Waiting>> {
        if let Some(waiting) = self.front.pop() {
            if self.front.is_empty() {
                self.front = Vec::new(); // used for robots.txt only: most hosts need none of its memory
            }
            return Ok(Some(waiting));
        }
        if let Some(index) = self.later.iter().position(|waiting| waiting.due <= now) {
            return Ok(Some(self.later.remove(index)));
        }
        while self.later.len() < LATER {
            match self.backlog.pop(&self.host, spill, held)? {
                Some(waiting) if waiting.due > now => self.later.push(waiting),
                next => return Ok(next),
            }
        }
        Ok(None)
    }

    /// The request keys of the pages that wait, in no order.
    pub(crate) fn waiting_keys<'a>(
        &'a self,
        spill: &'a Spill,
    ) -> impl Iterator<Item = io::Result<Digest>> + use<'a> {
        let before = self.front.iter().chain(&self.later).filter(|waiting| waiting.owner.is_none());
        let behind = self.backlog.iter(&self.host, spill);
        before.map(|waiting| Ok(waiting.key())).chain(behind.map(|waiting| Ok(waiting?.key())))
    }

    /// Whether the URL at the head waits for its robots.txt or tdmrep.json; its outcome schedules the queue again.
    pub(crate) fn waits_for_robots(&self) -> bool {
        self.front
            .last()
            .is_some_and(|waiting| waiting.owner.is_none() && self.origins.is_asked(waiting.url.origin()))
    }

    /// Lets its name expire and be asked for past the cache: it may be from a captive portal.
    pub(crate) fn doubt_name(&mut self) {
        self.doubted = true;
        if let Name::Known { expires, .. } = &mut self.name {
            *expires = 0;
        }
    }

    /// Forgets the failures since then, which were the crawl's own; the moment also on the healthy clock.
    pub(crate) fn take_back(&mut self, since: Micros, healthy_at: Micros) {
        if let Some(evidence) = self.trouble.as_mut().filter(|evidence| evidence.given_up.is_none())
            && !evidence.take_back(healthy_at)
        {
            self.trouble = None;
        }
        self.origins.take_back(healthy_at);
        self.pace.forgive(since);
    }

    /// Learns the mark of a page.
    pub(crate) fn learn_mark(&mut self, mark: u64) {
        self.origins.see_page(mark);
        self.mark = mark;
    }
}
