//! The experiment, simulated event by event without real waiting, with the real caches.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use lycosa_names::cache::{Answer, NameCache, Resolution};

use crate::asker::{Asker, Rules};
use crate::contestants::{FAMILIES, START, Way, host};
use crate::world::World;

/// Number of points of a curve.
pub(crate) const PLACES: usize = 200;

/// Results of a contestant.
#[derive(Default)]
pub(crate) struct Done {
    /// Time when each two-hundredth of the list was resolved, in seconds.
    pub(crate) curve: Vec<f64>,
    /// Names resolved.
    pub(crate) resolved: usize,
    /// Of them cache hits.
    pub(crate) hits: u64,
    /// Of them those already in flight.
    pub(crate) coalesced: u64,
    /// Questions sent.
    pub(crate) questions: u64,
    /// The client's congestion window at the end, in questions.
    pub(crate) window: u32,
}

impl Done {
    /// Records that some names are resolved, of a list of `count`.
    pub(crate) fn resolve(&mut self, names: usize, at: f64, count: usize) {
        self.resolved += names;
        while self.curve.len() < PLACES && self.resolved * PLACES >= (self.curve.len() + 1) * count {
            self.curve.push(at);
        }
    }
}

/// Resolves the whole list in one way.
pub(crate) fn run(world: &World, list: &[u32], way: Way, cache: &mut dyn NameCache) -> Done {
    let mut asker = Asker::new(world, way.rules);
    let mut done = Done::default();
    // Integer microseconds, which can be ordered.
    let mut now: u64 = 0;
    let mut next = list.iter().copied().peekable();
    let mut waiting = VecDeque::new();
    let mut pending: HashMap<u32, usize> = HashMap::new();
    let mut flying: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut learned: HashMap<u32, Resolution> = HashMap::new();
    loop {
        let second = START + now / 1_000_000;
        while pending.len() < way.handed
            && let Some(name) = next.next()
        {
            if let Some(askers) = pending.get_mut(&name) {
                *askers += 1;
                done.coalesced += 1;
            } else if cache.lookup(host(&world.hosts[name as usize].name), FAMILIES, second).is_some() {
                done.hits += 1;
                done.resolve(1, now as f64 / 1e6, list.len());
            } else {
                pending.insert(name, 1);
                waiting.push_back(name);
            }
        }
        while flying.len() < way.in_flight
            && let Some(name) = waiting.pop_front()
        {
            let outcome = asker.ask(name);
            flying.push(Reverse((now + (outcome.seconds * 1e6) as u64, name)));
            learned.insert(name, outcome.resolution);
        }
        let Some(Reverse((at, name))) = flying.pop() else { break };
        now = at;
        if let Some(resolution) = learned.remove(&name) {
            keep(world, name, &resolution, way.rules, cache, now);
        }
        done.resolve(pending.remove(&name).unwrap_or(0), now as f64 / 1e6, list.len());
    }
    done.questions = asker.questions;
    done
}

/// Inserts a resolution as the client does: a pause of one second must not end with the second that has
/// begun.
fn keep(world: &World, name: u32, learned: &Resolution, rules: Rules, cache: &mut dyn NameCache, now: u64) {
    let is_pause = rules == Rules::Client && matches!(learned.answer, Answer::Failed { .. });
    let second = START + now / 1_000_000 + u64::from(is_pause);
    cache.insert(host(&world.hosts[name as usize].name), FAMILIES, learned, second);
}
