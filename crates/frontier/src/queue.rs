//! One host's waiting URLs, with what is known of its name and its robots.txt. No rules live here.

use std::io;

use lycosa_url::{Failure, Micros};

use crate::backlog::Backlog;
use crate::names::Name;
use crate::patience::Evidence;
use crate::politeness::domains::DomainId;
use crate::politeness::pace::Pace;
use crate::robots::KeptRules;
use crate::schedule::AddressId;
use crate::spill::Spill;
use crate::waiting::Waiting;

/// URLs of a host that wait until they are due outside its backlog, at most: where more would, the host waits.
pub(crate) const LATER: usize = 16;

/// What is known of an origin's robots.txt.
#[derive(Debug)]
pub(crate) enum Robots {
    /// Asked for; the queue waits.
    Asked,
    /// It fails: asked for again when the evidence says so. Its origin's URLs wait.
    Parked(Box<Evidence>),
    /// The rules, and when they are asked for anew, ahead of their end: they count meanwhile, and when that fails.
    Known { rules: KeptRules, expires: Micros, refresh_at: Micros },
    /// Could not be had, and nothing more is tried for now: its origin's URLs fail.
    Failed { failure: Failure, expires: Micros },
}

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
    /// By origin: nearly always one.
    pub(crate) robots: Vec<(Box<str>, Robots)>,
    /// The name.
    pub(crate) name: Name,
    /// What speaks against the host: its name, or its connections.
    pub(crate) trouble: Option<Box<Evidence>>,
    /// Whether it has answered this process.
    pub(crate) answered: bool,
    /// The mark of the page that it gave last (`captive.rs`); 0: none.
    pub(crate) mark: u64,
    /// The mark of its robots.txt, where that was rules or a 404; 0: none.
    pub(crate) rules_mark: u64,
    /// Whether it gave a page with another mark since then: no portal gave that.
    pub(crate) has_own_rules: bool,
    /// Whether it answered when it was to be given up: its URLs fail each on its own.
    pub(crate) is_there: bool,
    /// The Crawl-delay of rules that were forgotten, since a captive portal may have given them, or answered since.
    pub(crate) last_delay: Option<std::time::Duration>,
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
            robots: Vec::new(),
            name: Name::Unknown,
            trouble: None,
            answered: false,
            mark: 0,
            rules_mark: 0,
            has_own_rules: false,
            is_there: false,
            last_delay: None,
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
            matches!(self.robots(waiting.url.origin()), Some(Robots::Parked(_) | Robots::Asked))
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
            waiting.owner.is_none() && matches!(self.robots(waiting.url.origin()), Some(Robots::Asked))
        })
    }

    /// What is known of an origin's robots.txt.
    pub(crate) fn robots(&self, origin: &str) -> Option<&Robots> {
        self.robots.iter().find(|(known, _)| &**known == origin).map(|(_, robots)| robots)
    }

    /// Notes that an origin's robots.txt is asked for. Rules that still count do so until the answer.
    /// Gives what speaks against the origin.
    pub(crate) fn ask_robots(&mut self, origin: &str, now: Micros) -> Option<Box<Evidence>> {
        match self.robots.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, Robots::Known { expires, refresh_at, .. })) if *expires > now => {
                *refresh_at = Micros::MAX
            }
            Some((_, robots)) => {
                if let Robots::Parked(evidence) = std::mem::replace(robots, Robots::Asked) {
                    return Some(evidence);
                }
            }
            None => self.set_robots(origin, Robots::Asked),
        }
        None
    }

    /// Notes that new rules could not be had, if the old ones still count: they are asked for again half-way to their
    /// end, or after a pause if that is longer.
    pub(crate) fn keeps_robots(&mut self, origin: &str, pause: Micros, now: Micros) -> bool {
        match self.robots.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, Robots::Known { expires, refresh_at, .. })) if *expires > now => {
                *refresh_at = now.saturating_add(pause.max((*expires - now) / 2));
                true
            }
            _ => false,
        }
    }

    /// Forgets that an origin's robots.txt is asked for; rules that count stay.
    pub(crate) fn forget_robots(&mut self, origin: &str) {
        self.robots.retain(|(known, robots)| &**known != origin || !matches!(robots, Robots::Asked));
    }

    /// Notes what is known of an origin's robots.txt.
    pub(crate) fn set_robots(&mut self, origin: &str, robots: Robots) {
        match self.robots.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, entry)) => *entry = robots,
            None => {
                self.robots.reserve_exact(1);
                self.robots.push((origin.into(), robots));
            }
        }
    }

    /// The same of rules that were given. What may be somebody else's leaves the Crawl-delay of those before.
    pub(crate) fn learn_robots(&mut self, origin: &str, robots: Robots, is_own: bool) {
        let delay = self.crawl_delay();
        self.set_robots(origin, robots);
        self.last_delay = if is_own { None } else { delay };
    }

    /// Learns the mark of a robots.txt that may be the host's own. `is_empty`: there are none, and none any more may be a portal's word.
    pub(crate) fn learn_rules_mark(&mut self, mark: u64, is_empty: bool) {
        if mark != self.rules_mark && (self.rules_mark == 0 || !is_empty) {
            (self.rules_mark, self.has_own_rules) = (mark, false);
        }
    }

    /// Learns the mark of a page.
    pub(crate) fn learn_mark(&mut self, mark: u64) {
        self.has_own_rules |= self.rules_mark != 0 && self.rules_mark != mark;
        self.mark = mark;
    }

    /// The mark of its robots.txt, where that is known to be its own; 0: none.
    pub(crate) fn own_rules_mark(&self) -> u64 {
        if self.has_own_rules { self.rules_mark } else { 0 }
    }

    /// Lets its name expire, and be asked for past the cache: a captive portal may have given it.
    pub(crate) fn doubt_name(&mut self) {
        self.doubted = true;
        if let Name::Known { expires, .. } = &mut self.name {
            *expires = 0;
        }
    }

    /// Lets rules expire: they are asked for again before the next page. Their Crawl-delay holds until the host gives rules again.
    pub(crate) fn doubt_robots(&mut self, mut is_doubted: impl FnMut(&str, Micros) -> bool) {
        let delay = self.crawl_delay();
        for (origin, robots) in &mut self.robots {
            if let Robots::Known { expires, .. } = robots
                && *expires > 0
                && is_doubted(origin, *expires)
            {
                *expires = 0;
                self.last_delay = delay;
            }
        }
    }

    /// The longest Crawl-delay of the host's origins; of rules that were forgotten too, until it gives new ones.
    pub(crate) fn crawl_delay(&self) -> Option<std::time::Duration> {
        let delays = self.robots.iter().filter_map(|(_, robots)| match robots {
            Robots::Known { rules, .. } => rules.crawl_delay(),
            _ => None,
        });
        delays.max().max(self.last_delay)
    }
}
