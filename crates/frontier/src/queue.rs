//! One host's waiting URLs, with what is known of its name and its robots.txt. No rules live here.

use std::io;

use lycosa_url::Micros;

use crate::backlog::Backlog;
use crate::names::Name;
use crate::patience::Evidence;
use crate::politeness::domains::DomainId;
use crate::politeness::pace::Pace;
use crate::robots::{Origins, Robots};
use crate::schedule::AddressId;
use crate::spill::Spill;
use crate::waiting::Waiting;

/// URLs of a host that wait until they are due outside its backlog, at most: where more would, the host waits.
pub(crate) const LATER: usize = 16;

/// A host's queue. Filled by admission, retries and redirects; emptied by grants.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The host, as in its URLs.
    pub(crate) host: Box<str>,
    /// What comes before the backlog, the next one last: robots.txt requests, and URLs that wait for theirs.
    pub(crate) front: Vec<Waiting>,
    /// In order of turn.
    pub(crate) backlog: Backlog,
    /// URLs of the backlog whose turn had come before they were due: at most [`LATER`].
    pub(crate) later: Vec<Waiting>,
    /// What is known of robots.txt.
    pub(crate) origins: Origins,
    /// The name.
    pub(crate) name: Name,
    /// What speaks against the host: its name, or its connections.
    pub(crate) trouble: Option<Box<Evidence>>,
    /// Whether it has answered this process.
    pub(crate) answered: bool,
    /// The mark of the page that it gave last (`captive.rs`); 0: none.
    pub(crate) mark: u64,
    /// Whether it answered when it was to be given up: its URLs fail each on its own.
    pub(crate) is_there: bool,
    /// Whether its name was learnt behind a captive portal: it is asked for past the cache.
    pub(crate) doubted: bool,
    /// How often the host may be asked.
    pub(crate) pace: Pace,
    /// The host's registered domain.
    pub(crate) domain: DomainId,
    /// The address at which the domain was last said to live, by this host.
    pub(crate) lives_at: Option<AddressId>,
    /// Whether the queue stands in the schedule, or waits for room in its domain.
    pub(crate) placed: bool,
    /// Whether it stands among those whose name fails.
    pub(crate) failing: bool,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(host: &str) -> Self {
        Queue {
            host: host.into(),
            front: Vec::new(),
            backlog: Backlog::default(),
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
            placed: false,
            failing: false,
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.backlog.is_empty() && self.later.is_empty()
    }

    /// URLs that wait.
    pub(crate) fn len(&self) -> usize {
        let own = self.front.iter().filter(|waiting| waiting.owner.is_none());
        own.count() + self.backlog.len() + self.later.len()
    }

    /// When something in it is due; 0: at any time. The host's pace comes on top.
    pub(crate) fn due_at(&self) -> Micros {
        let has_now = !self.front.is_empty() || (!self.backlog.is_empty() && self.later.len() < LATER);
        if has_now { 0 } else { self.later.iter().map(|waiting| waiting.due).min().unwrap_or(0) }
    }

    /// Whether all that waits belongs to origins whose robots.txt fails.
    pub(crate) fn is_parked(&self) -> bool {
        let parked = |waiting: &Waiting| {
            matches!(self.origins.get(waiting.url.origin()), Some(Robots::Parked(_) | Robots::Asked))
        };
        (self.backlog.is_empty() || self.later.len() >= LATER)
            && self.front.iter().chain(&self.later).all(parked)
    }

    /// Puts a URL back that was taken out, to be next when it is due.
    pub(crate) fn put_first(&mut self, waiting: Waiting, now: Micros) {
        if waiting.due > now { self.later.push(waiting) } else { self.front.push(waiting) }
    }

    /// Lets a URL wait until it is due.
    pub(crate) fn postpone(&mut self, waiting: Waiting) {
        self.later.push(waiting);
    }

    /// Takes out what is next and due.
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
        if let Some(place) = self.later.iter().position(|waiting| waiting.due <= now) {
            return Ok(Some(self.later.remove(place)));
        }
        while self.later.len() < LATER {
            match self.backlog.pop(&self.host, spill, held)? {
                Some(waiting) if waiting.due > now => self.later.push(waiting),
                next => return Ok(next),
            }
        }
        Ok(None)
    }

    /// Shows each page's URL that waits, in no order.
    pub(crate) fn each_waiting(&self, spill: &Spill, mut show: impl FnMut(&Waiting)) -> io::Result<()> {
        self.front.iter().chain(&self.later).filter(|waiting| waiting.owner.is_none()).for_each(&mut show);
        self.backlog.each(&self.host, spill, show)
    }

    /// Whether the URL at the head waits for its robots.txt; the answer places the queue again.
    pub(crate) fn waits_for_robots(&self) -> bool {
        self.front.last().is_some_and(|waiting| {
            waiting.owner.is_none() && matches!(self.origins.get(waiting.url.origin()), Some(Robots::Asked))
        })
    }

    /// Lets its name expire, and be asked for past the cache: a captive portal may have given it.
    pub(crate) fn doubt_name(&mut self) {
        self.doubted = true;
        if let Name::Known { expires, .. } = &mut self.name {
            *expires = 0;
        }
    }

    /// Learns the mark of a page.
    pub(crate) fn learn_mark(&mut self, mark: u64) {
        self.origins.see_page(mark);
        self.mark = mark;
    }
}
