//! Pre-resolution as published (SYSTEMS.md section 3), on one crawl queue, with the cache of regions; simulated event by event.
//!
//! One crawler takes the first URL, has its name resolved, fetches it, and a new URL joins the queue's end. The others that wait
//! are candidates: workers take them at random, one at a time each. Read to the letter: with the swap, where the first name is not
//! cached but a later one is, they swap places; where none is, all of them go to the resolver.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use lycosa_names::cache::{Answer, Class, NameCache, Resolution, Seconds};
use lycosa_names_published::{Regions, RegionsSettings};

use crate::asker::{Asker, Rules};
use crate::contestants::{FAMILIES, START, host};
use crate::world::{Dice, World};

/// How a queue's names are resolved ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// URLs that wait.
    pub(crate) length: usize,
    /// Workers.
    pub(crate) workers: usize,
    /// Whether places are swapped.
    pub(crate) swaps: bool,
}

/// What became of the URLs.
#[derive(Default)]
pub(crate) struct Served {
    /// For each URL how long it waited for its name, from its turn on, in seconds.
    pub(crate) waits: Vec<f64>,
    /// How long the crawler had nothing to do, in all.
    pub(crate) idle: f64,
    /// When the last URL was done.
    pub(crate) end: f64,
    /// URLs whose name was answered from the forward region, and from the reverse one.
    pub(crate) regions: [u64; 2],
    /// Swaps.
    pub(crate) swaps: u64,
    /// Questions sent.
    pub(crate) questions: u64,
}

/// A URL that waits.
#[derive(Clone, Copy)]
struct Waiting {
    host: u32,
    /// When its turn came first.
    turn: Option<u64>,
}

/// A resolution that ends: when, of which host, and whether a worker does it.
type Flight = Reverse<(u64, u32, bool)>;

/// The queue at work. Times are microseconds.
struct Queue<'a> {
    world: &'a World,
    plan: Plan,
    asker: Asker<'a>,
    cache: Regions,
    waiting: VecDeque<Waiting>,
    /// Until when each host's answer holds, as the cache said: to look at candidates is no access.
    known: Vec<Seconds>,
    flying: BinaryHeap<Flight>,
    learned: HashMap<u32, Resolution>,
    idle_workers: usize,
    dice: Dice,
    now: u64,
}

/// Crawls a list by a plan.
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
    /// Takes the next URL as soon as its name is known; gives the name's class.
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
                    self.known[number as usize] = 0; // it had to make room
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

    /// Hands candidates to idle workers, at random.
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

    /// Has a name resolved, unless it is being resolved; tells whether that begins.
    fn ask(&mut self, host: u32, by_worker: bool) -> bool {
        if self.learned.contains_key(&host) {
            return false;
        }
        let outcome = self.asker.ask(host);
        self.flying.push(Reverse((self.now + (outcome.seconds * 1e6) as u64, host, by_worker)));
        self.learned.insert(host, outcome.resolution);
        true
    }

    /// Lets time pass; what is resolved meanwhile is cached, and workers that are done take others.
    fn pass(&mut self, until: u64) {
        while let Some(Reverse((at, number, by_worker))) =
            self.flying.peek().copied().filter(|Reverse((at, ..))| *at <= until)
        {
            self.flying.pop();
            self.now = at;
            self.idle_workers += usize::from(by_worker);
            let Some(resolution) = self.learned.remove(&number) else { continue };
            let name = host(&self.world.hosts[number as usize].name);
            // As the client does: a pause of a second is not to end with the second that has begun.
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

    /// The second.
    fn second(&self) -> Seconds {
        START + self.now / 1_000_000
    }
}
