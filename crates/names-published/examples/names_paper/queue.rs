//! Pre-resolution as published (SYSTEMS.md section 3), on one crawl queue with the cache of regions;
//! simulated event by event.
//!
//! One crawler takes the first URL, resolves its name, fetches it, and a new URL joins the end of the queue.
//! The other waiting URLs are candidates: each worker takes one of them at a time, at random. Read literally:
//! with the swap, if the first name is not cached but a later one is, their URLs swap positions; if none is
//! cached, all go to the resolver.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use lycosa_names::cache::{Answer, Class, NameCache, Resolution, Seconds};
use lycosa_names_published::{Regions, RegionsSettings};

use crate::asker::{Asker, Rules};
use crate::contestants::{FAMILIES, START, host};
use crate::world::{Dice, World};

/// Parameters of pre-resolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Length of the queue.
    pub(crate) length: usize,
    /// Number of workers.
    pub(crate) workers: usize,
    /// Whether positions are swapped.
    pub(crate) swaps: bool,
}

/// Results.
#[derive(Default)]
pub(crate) struct Served {
    /// Time that each URL waited for its name from its turn on, in seconds.
    pub(crate) waits: Vec<f64>,
    /// Total idle time of the crawler.
    pub(crate) idle: f64,
    /// When the last URL was fetched.
    pub(crate) end: f64,
    /// URLs whose name was in the forward region, and in the reverse one.
    pub(crate) regions: [u64; 2],
    /// Number of swaps.
    pub(crate) swaps: u64,
    /// Questions sent.
    pub(crate) questions: u64,
}

/// A waiting URL.
#[derive(Clone, Copy)]
struct Waiting {
    host: u32,
    /// When its turn first came.
    turn: Option<u64>,
}

/// End of a resolution: when, of which host, and whether by a worker.
type Flight = Reverse<(u64, u32, bool)>;

/// State of the simulation. Times are microseconds.
struct Queue<'a> {
    world: &'a World,
    plan: Plan,
    asker: Asker<'a>,
    cache: Regions,
    waiting: VecDeque<Waiting>,
    /// Expiry of each host's answer as the cache returned it: checking candidates does not count as access.
    known: Vec<Seconds>,
    flying: BinaryHeap<Flight>,
    learned: HashMap<u32, Resolution>,
    idle_workers: usize,
    dice: Dice,
    now: u64,
}

/// Crawls a list with a plan.
pub(crate) fn run(world: &World, list: &[u32], plan: Plan) -> Served {
    let mut coming = list.iter().map(|&host| Waiting { host, turn: None });
    let mut queue = Queue {
        world,
        plan,
        asker: Asker::new(world, Rules::Client),
        cache: Regions::new(RegionsSettings::default()),
        waiting: coming.by_ref().take(plan.length).collect(),
        known: vec![0; world.hosts.len()],
        flying: BinaryHeap::new(),
        learned: HashMap::new(),
        idle_workers: plan.workers,
        dice: Dice::new(5, 0, 0),
        now: 0,
    };
    let mut served = Served::default();
    while let Some(class) = queue.take(&mut served) {
        served.regions[usize::from(class != Class::Fast)] += 1;
        if class != Class::Failed {
            let fetched = queue.now + (world.fetch(served.waits.len() as u64) * 1e3) as u64;
            queue.pass(fetched);
        }
        queue.waiting.extend(coming.next());
    }
    served.end = queue.now as f64 / 1e6;
    served.questions = queue.asker.questions;
    served
}

impl Queue<'_> {
    /// Takes the next URL as soon as its name is resolved; returns the name's class.
    fn take(&mut self, served: &mut Served) -> Option<Class> {
        loop {
            let first = self.waiting.front_mut()?;
            first.turn.get_or_insert(self.now);
            self.hire();
            let later = || (1..self.waiting.len()).find(|&place| self.is_known(self.waiting[place].host));
            let is_first = self.is_known(self.waiting[0].host);
            let place = if is_first {
                Some(0)
            } else if self.plan.swaps {
                later()
            } else {
                None
            };
            if let Some(place) = place {
                self.waiting.swap(0, place);
                served.swaps += u64::from(place > 0);
                let Waiting { host: number, turn } = self.waiting[0];
                let found =
                    self.cache.lookup(host(&self.world.hosts[number as usize].name), FAMILIES, self.second());
                let Some(found) = found else {
                    self.known[number as usize] = 0; // it was evicted
                    continue;
                };
                self.waiting.pop_front();
                served.waits.push((self.now - turn.unwrap_or(self.now)) as f64 / 1e6);
                return Some(found.class);
            }
            let asked = if self.plan.swaps { self.waiting.len() } else { 1 };
            for place in 0..asked {
                self.ask(self.waiting[place].host, false);
            }
            let Reverse((at, ..)) = self.flying.peek().copied()?;
            served.idle += (at.saturating_sub(self.now)) as f64 / 1e6;
            self.pass(at.max(self.now));
        }
    }

    /// Assigns random candidates to idle workers.
    fn hire(&mut self) {
        if self.idle_workers == 0 {
            return;
        }
        let is_candidate = |host: &u32| !self.is_known(*host) && !self.learned.contains_key(host);
        let mut candidates: Vec<u32> =
            self.waiting.iter().skip(1).map(|waiting| waiting.host).filter(is_candidate).collect();
        while self.idle_workers > 0 && !candidates.is_empty() {
            let place = self.dice.below(candidates.len() as u32) as usize;
            let chosen = candidates.swap_remove(place);
            if self.ask(chosen, true) {
                self.idle_workers -= 1;
            }
        }
    }

    /// Starts to resolve a name unless that is in progress; returns whether it was started.
    fn ask(&mut self, host: u32, by_worker: bool) -> bool {
        if self.learned.contains_key(&host) {
            return false;
        }
        let outcome = self.asker.ask(host);
        self.flying.push(Reverse((self.now + (outcome.seconds * 1e6) as u64, host, by_worker)));
        self.learned.insert(host, outcome.resolution);
        true
    }

    /// Advances time; caches what is resolved meanwhile and gives finished workers new candidates.
    fn pass(&mut self, until: u64) {
        while let Some(Reverse((at, number, by_worker))) =
            self.flying.peek().copied().filter(|Reverse((at, ..))| *at <= until)
        {
            self.flying.pop();
            self.now = at;
            self.idle_workers += usize::from(by_worker);
            let Some(resolution) = self.learned.remove(&number) else { continue };
            let name = host(&self.world.hosts[number as usize].name);
            // As in the client: a pause of one second must not end with the second that has begun.
            let second = self.second() + u64::from(matches!(resolution.answer, Answer::Failed { .. }));
            self.cache.insert(name, FAMILIES, &resolution, second);
            let found = self.cache.lookup(name, FAMILIES, self.second());
            self.known[number as usize] = found.and_then(|found| found.expires).unwrap_or(0);
            self.hire();
        }
        self.now = until;
    }

    /// Whether a name is cached.
    fn is_known(&self, host: u32) -> bool {
        self.second() < self.known[host as usize]
    }

    /// The current second.
    fn second(&self) -> Seconds {
        START + self.now / 1_000_000
    }
}
