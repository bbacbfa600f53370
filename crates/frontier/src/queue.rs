//! One host's waiting URLs, with what is known of its name and its robots.txt. No rules live here.

use std::collections::VecDeque;
use std::net::IpAddr;

use lycosa_url::{CrawlUrl, Failure, Micros, Purpose, Step};

use crate::robots::Rules;
use crate::schedule::{AddressId, QueueId};

/// A URL that waits for its turn.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// What to fetch.
    pub(crate) url: CrawlUrl,
    /// Links from a seed.
    pub(crate) depth: u32,
    /// Earlier tries.
    pub(crate) attempt: u32,
    /// Redirects that led here.
    pub(crate) chain: Vec<Step>,
    /// For a robots.txt: whose it is. A redirect can lead to another host's queue.
    pub(crate) owner: Option<Box<RobotsOwner>>,
}

/// The queue and origin that a robots.txt speaks for.
#[derive(Clone, Debug)]
pub(crate) struct RobotsOwner {
    /// Whose queue waits for it.
    pub(crate) queue: QueueId,
    /// Scheme, host and port.
    pub(crate) origin: Box<str>,
}

impl Waiting {
    /// What the request will be for.
    pub(crate) fn purpose(&self) -> Purpose {
        if self.owner.is_some() { Purpose::Robots } else { Purpose::Page }
    }
}

/// What is known of a host's name.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    /// Nothing: never asked, or run out.
    Unknown,
    /// Asked; the queue waits.
    Asked,
    /// Resolved and vetted.
    Known { addresses: Vec<IpAddr>, clock: AddressId, expires: Micros, elapsed_us: u32 },
    /// Does not resolve, or only to addresses that are refused.
    Failed { failure: Failure, expires: Micros },
}

/// What is known of an origin's robots.txt.
#[derive(Clone, Debug)]
pub(crate) enum Robots {
    /// Asked for; the queue waits.
    Asked,
    /// To be asked for again after this many tries.
    Again { attempt: u32 },
    /// The rules.
    Known { rules: Rules, expires: Micros },
    /// Could not be had: nothing may be fetched.
    Failed { failure: Failure, expires: Micros },
}

/// A host's queue. Filled by admission, retries and redirects; emptied by grants.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The host, as in its URLs.
    pub(crate) host: Box<str>,
    /// In order of turn.
    pub(crate) waiting: VecDeque<Waiting>,
    /// By origin: nearly always one.
    pub(crate) robots: Vec<(Box<str>, Robots)>,
    /// The name.
    pub(crate) name: Name,
    /// Failed tries of the name in a row.
    pub(crate) name_attempts: u32,
    /// No request starts before.
    pub(crate) ready_at: Micros,
    /// Requests on lease.
    pub(crate) in_flight: u32,
    /// Whether the queue stands in the schedule.
    pub(crate) placed: bool,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(host: &str) -> Self {
        Queue {
            host: host.into(),
            waiting: VecDeque::new(),
            robots: Vec::new(),
            name: Name::Unknown,
            name_attempts: 0,
            ready_at: 0,
            in_flight: 0,
            placed: false,
        }
    }

    /// Whether the URL at the head waits for its robots.txt; the answer places the queue again.
    pub(crate) fn waits_for_robots(&self) -> bool {
        self.waiting.front().is_some_and(|waiting| {
            waiting.owner.is_none() && matches!(self.robots(waiting.url.origin()), Some(Robots::Asked))
        })
    }

    /// What is known of an origin's robots.txt.
    pub(crate) fn robots(&self, origin: &str) -> Option<&Robots> {
        self.robots.iter().find(|(known, _)| &**known == origin).map(|(_, robots)| robots)
    }

    /// Notes what is known of an origin's robots.txt.
    pub(crate) fn set_robots(&mut self, origin: &str, robots: Robots) {
        match self.robots.iter_mut().find(|(known, _)| &**known == origin) {
            Some((_, entry)) => *entry = robots,
            None => self.robots.push((origin.into(), robots)),
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
