//! The network between crawler and world: delays, losses, rate limits. Its state: the number of questions per name, the pauses that hosts
//! have requested, and the pages that have failed once.
//!
//! The fate of the n-th question about a name is a pure function of the seed; only its time depends on the
//! crawler. A profile without delays has no counters and no timers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ledger::{Kind, NONE};
use crate::model::Latency;
use crate::nature::{Gate, Lookup, Manner};
use crate::pace::Pace;
use crate::params::Params;
use crate::random::Rng;
use crate::world::{World, purpose};

/// Number of requests from one refusal of a rate-limiting host to the next.
const PATIENCE: u32 = 6;

/// Fate of a DNS question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The question or its answer is lost.
    Lost,
    /// It is answered after this delay, in scaled time.
    After(Duration),
}

/// Delays, losses and limits of a running simnet.
pub(crate) struct Network {
    /// Every delay is divided by it.
    speed: f64,
    /// Questions so far by host, the last entry for all other names; empty if no answer is delayed or lost.
    asked: Vec<AtomicU32>,
    /// Whether HTTP responses may be delayed.
    paced: bool,
    /// Rate-limiting hosts: requests since the last refusal, and end of the requested pause (ledger's
    /// microseconds). Used by all serving threads.
    limits: Mutex<HashMap<u32, (u32, u64)>>,
    /// Pages that have failed once. Used by all serving threads.
    failed: Mutex<HashSet<(u32, u32)>>,
}

impl Network {
    /// The network of a world.
    pub(crate) fn new(world: &World, params: &Params) -> Self {
        let model = world.model();
        let counted = model.dns.latency.median_ms > 0.0 || model.dns.loss > 0.0;
        let names = if counted { world.host_count() as usize + 1 } else { 0 };
        Self {
            speed: params.speed,
            asked: (0..names).map(|_| AtomicU32::new(0)).collect(),
            paced: model.is_timed() || world.has_natures(),
            limits: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// The world's age in unscaled seconds at a time of the ledger.
    pub(crate) fn age(&self, time: u64) -> f64 {
        time as f64 / 1e6 * self.speed
    }

    /// Fate of the next question about a host, or for an unknown name ([`NONE`]).
    pub(crate) fn question(&self, world: &World, host: u32, tcp: bool) -> Fate {
        if host != NONE && world.nature(host).lookup == Lookup::Dead {
            return Fate::Lost;
        }
        let Some(count) = self.asked.get(host as usize).or(self.asked.last()) else {
            return Fate::After(Duration::ZERO);
        };
        let mut rng = world.rng(purpose::QUESTION, host, count.fetch_add(1, Ordering::Relaxed));
        let dns = &world.model().dns;
        if !tcp && rng.share(dns.loss) {
            return Fate::Lost;
        }
        Fate::After(self.scaled(draw(&dns.latency, &mut rng) / 1e3))
    }

    /// The pace of a response with `body` bytes.
    pub(crate) fn pace(
        &self,
        world: &World,
        host: u32,
        page: u32,
        kind: Kind,
        status: u16,
        body: u32,
    ) -> Pace {
        if !self.paced || host >= world.host_count() {
            return Pace::default();
        }
        let (nature, model) = (world.nature(host), world.model());
        let asked = world.retry_after(host).is_some() && matches!(status, 429 | 503) && kind != Kind::Robots;
        if asked {
            // Without delay: requests in flight before the refusal is known are no violation, so their number must be small.
            return Pace::default();
        }
        let mut own = draw(&model.http.latency, &mut world.rng(purpose::DELAY, host, 0)) / 1e3;
        own *= world.rng(purpose::DELAY, host, page.wrapping_add(1)).around(1.0, model.http.jitter);
        let mut spread = match world.bandwidth(host) {
            Some(bytes_s) => f64::from(body) / bytes_s,
            None => 0.0,
        };
        let mut cut = false;
        if kind == Kind::Robots {
            own += if nature.gate == Gate::Slow { model.robots.slow_s } else { 0.0 };
        } else {
            match nature.manner {
                Manner::Slow => own += model.manners.slow_s,
                Manner::Dribbling => spread += model.manners.dribble_s,
                Manner::Resetting => cut = true,
                _ => {}
            }
        }
        Pace { wait: self.scaled(own), spread: self.scaled(spread), cut }
    }

    /// Returns the pause if a rate-limiting host refuses a request that arrived at `time`: every few requests, and during the pause.
    pub(crate) fn refuses(&self, world: &World, host: u32, time: u64) -> Option<u32> {
        let pause = world.retry_after(host)?;
        let mut limits = lock(&self.limits);
        let (count, quiet_until) = limits.entry(host).or_default();
        *count += 1;
        // Same tolerance at the end of the pause as the judge's.
        let early = time + self.scaled(f64::from(pause)).as_micros() as u64 / 100 < *quiet_until;
        if !early && *count < PATIENCE {
            return None;
        }
        *count = 0;
        *quiet_until = time + self.scaled(f64::from(pause)).as_micros() as u64;
        Some(pause)
    }

    /// Whether a page fails now: the first request of one that fails once.
    pub(crate) fn fails(&self, world: &World, host: u32, slot: u32) -> bool {
        world.fails_once(host, slot) && lock(&self.failed).insert((host, slot))
    }

    /// Converts unscaled seconds to scaled time.
    fn scaled(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64((seconds / self.speed).clamp(0.0, 1e6))
    }
}

/// Draws a delay in unscaled milliseconds.
pub(crate) fn draw(latency: &Latency, rng: &mut Rng) -> f64 {
    if latency.median_ms <= 0.0 {
        return 0.0;
    }
    if rng.share(latency.tail_share) {
        // Inverse distribution function of a truncated Pareto distribution with alpha 1.
        let (from, to) = (latency.tail_from_ms, latency.tail_to_ms.max(f64::MIN_POSITIVE));
        return from / (1.0 - rng.unit() * (1.0 - from / to));
    }
    rng.around(latency.median_ms, latency.sigma)
}

/// Locks, ignoring poison: a thread that panicked left only complete entries.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
