//! One host's waiting URLs, with what is known of its name and its robots.txt. No rules live here.

use std::io;
use std::net::IpAddr;

use lycosa_url::{Failure, Micros, NameClass};

use crate::backlog::Backlog;
use crate::politeness::domains::DomainId;
use crate::politeness::pace::Pace;
use crate::robots::Rules;
use crate::schedule::AddressId;
use crate::spill::Spill;
use crate::waiting::Waiting;

/// What is known of a host's name.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    /// Nothing: never asked, or run out.
    Unknown,
    /// Wanted, or asked; the queue waits. `idled`: how long slots had been idle until then.
    Asked { idled: Micros },
    /// Resolved and vetted.
    Known {
        addresses: Vec<IpAddr>,
        clock: AddressId,
        expires: Micros,
        elapsed_us: u32,
        class: NameClass,
        /// When it is asked for anew, ahead of its end; never, once that has been done.
        refresh_at: Micros,
        /// Whether it is being asked for anew now.
        refreshing: bool,
        /// When it was last answered past what was cached; 0: never.
        fresh_at: Micros,
    },
    /// Does not resolve, or only to addresses that are refused.
    Failed { failure: Failure, expires: Micros },
}

impl Name {
    /// Whether an answer for it is on its way although one is known.
    pub(crate) fn is_being_refreshed(&self) -> bool {
        matches!(self, Name::Known { refreshing: true, .. })
    }
}

/// What is known of an origin's robots.txt.
#[derive(Clone, Debug)]
pub(crate) enum Robots {
    /// Asked for; the queue waits.
    Asked,
    /// To be asked for again after this many tries.
    Again { attempt: u32 },
    /// The rules, and when they are asked for anew, ahead of their end: they count meanwhile, and when that fails.
    Known { rules: Rules, expires: Micros, refresh_at: Micros },
    /// Could not be had: nothing may be fetched.
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
    /// By origin: nearly always one.
    pub(crate) robots: Vec<(Box<str>, Robots)>,
    /// The name.
    pub(crate) name: Name,
    /// Failed tries of the name in a row.
    pub(crate) name_attempts: u32,
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
            robots: Vec::new(),
            name: Name::Unknown,
            name_attempts: 0,
            pace: Pace::default(),
            domain: 0,
            lives_at: None,
            placed: false,
            failing: false,
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.backlog.is_empty()
    }

    /// Takes out what is next.
    pub(crate) fn pop(&mut self, spill: &mut Spill, held: &mut usize) -> io::Result<Option<Waiting>> {
        match self.front.pop() {
            Some(waiting) => {
                if self.front.is_empty() {
                    self.front = Vec::new(); // used for robots.txt only: most hosts need none of its memory
                }
                Ok(Some(waiting))
            }
            None => self.backlog.pop(&self.host, spill, held),
        }
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
    pub(crate) fn ask_robots(&mut self, origin: &str, now: Micros) {
        match self.robots.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, Robots::Known { expires, refresh_at, .. })) if *expires > now => {
                *refresh_at = Micros::MAX
            }
            _ => self.set_robots(origin, Robots::Asked),
        }
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

    /// The longest Crawl-delay of the host's origins.
    pub(crate) fn crawl_delay(&self) -> Option<std::time::Duration> {
        let delays = self.robots.iter().filter_map(|(_, robots)| match robots {
            Robots::Known { rules, .. } => rules.crawl_delay(),
            _ => None,
        });
        delays.max()
    }
}
