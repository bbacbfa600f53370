//! One server: its speed, its capacity, and whether it is worth a query. Time is an argument.
//!
//! Guarantees, which the tests check:
//! - the time-out lies between a floor and a ceiling, and is the ceiling until the first reply;
//! - the window lies between [`FEWEST`] and its limit, grows only while it is the limit, and is halved at most
//!   once per round of queries;
//! - a server that is silent or replies only with errors rests; when its rest is over, one query probes it, and
//!   no other one until that query has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use lycosa_url::Micros;

use crate::times::Times;

/// The first window, in queries: what a host with one CPU answers in about a millisecond.
const FIRST: f64 = 128.0;

/// The smallest window, however large the loss.
pub(super) const FEWEST: f64 = 64.0;

/// The share of losses that is no evidence about the path to the server: a resolver is also silent about names
/// whose own servers are silent.
pub(super) const TOLERATED: f64 = 0.1;

/// The fewest outcomes on which the share is based: silent names come in clusters.
pub(super) const SAMPLE: f64 = 256.0;

/// How long after losses halved the window the server counts as congested, in time-outs: as long as it takes to
/// find the window that it sustains.
const CROWDED: u64 = 10;

/// Losses in a row after which a server rests.
pub(super) const SILENCES: u32 = 3;

/// Errors in a row (REFUSED, SERVFAIL) after which a server rests; more, since the names may cause them.
pub(super) const FAILURES: u32 = 10;

/// The first rest is half the longest time-out; each further one is twice as long, with at most so many
/// doublings.
const DOUBLINGS: u32 = 6;

/// How long an unreachable server may be restarting, in time-outs: as long as silence delays a name.
const GONE: u64 = 3;

/// Interval of the queries that test whether it is reachable again, in microseconds.
const LOOK: Micros = 100_000;

/// How far a rate may run ahead, in microseconds: the time between two checks of the clock.
const AHEAD: f64 = 10_000.0;

/// Limits that all servers share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The shortest time-out.
    pub(crate) floor: Micros,
    /// The longest time-out, and the one before the first reply.
    pub(crate) ceiling: Micros,
    /// The largest window.
    pub(crate) window: u32,
    /// Queries per second; `None`: no limit.
    pub(crate) rate: Option<f64>,
    /// Errors in a row after which a server rests.
    pub(crate) failures: u32,
}

/// When the rate allows the next query to a server, for all clients that share the pace: the bits of an `f64`
/// in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<AtomicU64>);

impl Pace {
    /// Whether a query is due.
    pub(crate) fn is_due(&self, now: Micros) -> bool {
        f64::from_bits(self.0.load(Relaxed)) <= now as f64 + AHEAD
    }

    /// Records that a query was sent, at `rate` queries per second.
    pub(crate) fn take(&self, rate: f64, now: Micros) {
        let next = |due| Some((f64::from_bits(due).max(now as f64) + 1e6 / rate).to_bits());
        let _ = self.0.fetch_update(Relaxed, Relaxed, next);
    }
}

/// The state of one server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    limits: Limits,
    /// Smoothed round-trip time and its mean deviation, in microseconds (RFC 6298 section 2).
    round_trip: Option<(f64, f64)>,
    window: f64,
    /// Slow-start threshold: below it, the window grows by one per answer; from it on, by one per window of
    /// answers (RFC 5681 section 3.1).
    threshold: f64,
    /// Whether the window was full since it was last half empty.
    limited: bool,
    /// When the round began: the outcomes of queries sent before it do not count.
    round: Micros,
    /// Outcomes of the round, and the losses among them.
    outcomes: f64,
    losses: f64,
    /// Until when it counts as congested.
    crowded: Micros,
    /// Losses in a row.
    silences: u32,
    /// Errors in a row.
    failures: u32,
    /// The number of rests in a row, and when the last one ends.
    rests: u32,
    rest: Micros,
    /// Whether a query probes it.
    probing: bool,
    /// When the rate allows the next query.
    pace: Pace,
    pub(super) in_flight: u32,
    pub(super) questions: u64,
    pub(super) answers: u64,
    pub(super) timeouts: u64,
    /// Distribution of round-trip times.
    pub(super) round_trips: Times,
    /// Since when it is unreachable, and when the next query tests that; `None` once it answers.
    gone: Option<(Micros, Micros)>,
    /// Until when it is paused, since no socket was available for it.
    pub(super) paused: Micros,
    /// Why the last connection to it failed; `None` once it answers.
    pub(super) trouble: Option<Arc<str>>,
}

impl Server {
    /// A server without measurements.
    pub(super) fn new(limits: Limits, pace: Pace) -> Self {
        let first = FIRST.min(f64::from(limits.window));
        Server {
            limits,
            round_trip: None,
            window: first,
            threshold: f64::from(limits.window),
            limited: false,
            round: 0,
            outcomes: 0.0,
            losses: 0.0,
            crowded: 0,
            silences: 0,
            failures: 0,
            rests: 0,
            rest: 0,
            probing: false,
            pace,
            in_flight: 0,
            questions: 0,
            answers: 0,
            timeouts: 0,
            round_trips: Times::default(),
            gone: None,
            paused: 0,
            trouble: None,
        }
    }

    /// Whether window and rate allow a query, the server is not paused and, if unreachable, is due for a test query.
    pub(super) fn has_room(&self, now: Micros) -> bool {
        self.in_flight < self.window()
            && self.paused <= now
            && self.gone.is_none_or(|(_, next)| next <= now || !self.is_gone(now))
            && (self.limits.rate.is_none() || self.pace.is_due(now))
    }

    /// Whether to prefer other servers.
    pub(super) fn is_resting(&self) -> bool {
        self.rests > 0
    }

    /// Whether its loss exceeds the share that silent names explain (congestion): a name without a reply may
    /// get one later.
    pub(super) fn is_crowded(&self, now: Micros) -> bool {
        self.crowded > now
    }

    /// When its rest is over.
    pub(super) fn rest(&self) -> Micros {
        self.rest
    }

    /// Whether its rest is over, so that a query should probe it.
    pub(super) fn wants_probe(&self, now: Micros) -> bool {
        self.is_resting() && !self.probing && self.rest <= now
    }

    /// The window: the most queries in flight.
    pub(super) fn window(&self) -> u32 {
        self.window as u32
    }

    /// The smoothed round-trip time.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip.map(|(mean, _)| Duration::from_micros(mean as u64))
    }

    /// The expected response time; `typical` before the first reply. Load counts by eighths of the window, so
    /// that a quiet client stays with the first of equal servers and benefits from its cache.
    pub(super) fn expected(&self, typical: f64) -> f64 {
        /// Differences below it are noise.
        const NOISE: f64 = 1_000.0;
        let mean = self.round_trip.map_or(typical, |(mean, _)| mean);
        let eighths = 8 * self.in_flight / self.window().max(1);
        (mean + NOISE) * f64::from(1 + eighths) * f64::from(1_u32 << self.silences.min(16))
    }

    /// How long to wait for a reply before another server is queried (RFC 6298, with its doubling).
    pub(super) fn timeout(&self) -> Micros {
        let Limits { floor, ceiling, .. } = self.limits;
        let Some((mean, deviation)) = self.round_trip else { return ceiling };
        let timeout = (mean + 4.0 * deviation) as Micros;
        (timeout.max(floor) << self.silences.min(16)).min(ceiling)
    }

    /// Records that a query was sent.
    pub(super) fn sent(&mut self, now: Micros) {
        self.questions += 1;
        self.in_flight += 1;
        self.limited |= self.in_flight >= self.window();
        self.probing |= self.wants_probe(now);
        self.gone = self.gone.map(|(since, _)| (since, now.saturating_add(LOOK)));
        if let Some(rate) = self.limits.rate {
            self.pace.take(rate, now);
        }
    }

    /// Records a reply: `useful` unless it is an error; `None` if the query is repeated in another form; `late` if
    /// its deadline had passed.
    pub(super) fn answered(&mut self, sent: Micros, now: Micros, useful: Option<bool>, late: bool) {
        self.answers += 1;
        self.round_trips.add(now.saturating_sub(sent));
        self.measure(now.saturating_sub(sent) as f64);
        self.silences = 0;
        (self.trouble, self.gone) = (None, None);
        match useful {
            Some(true) => self.failures = 0,
            Some(false) => self.failures += 1,
            None => (),
        }
        if !late {
            self.grow();
            self.count(sent, now, false);
            self.release();
        }
        self.probing = false;
        if useful == Some(true) {
            self.rests = 0;
        } else if self.failures >= self.limits.failures {
            self.rest_from(now);
        }
    }

    /// Records that no reply arrived in time, or none can arrive. Only a question's first try counts as
    /// evidence about the path: after one silent try, most likely the name is the cause.
    pub(super) fn lost(&mut self, sent: Micros, now: Micros, is_first: bool) {
        self.timeouts += 1;
        self.silences += 1;
        if is_first {
            self.count(sent, now, true);
        }
        self.release();
        self.probing = false;
        if self.is_silent() {
            self.rest_from(now);
        }
    }

    /// Records that it is unreachable: several queries in a row failed, or there is no route. A server that
    /// answered before may be restarting: for a while, one query at a time tests it. For one that never
    /// answered, each query fails at once.
    pub(super) fn unreachable(&mut self, now: Micros) {
        if self.answers > 0 {
            let since = self.gone.map_or(now, |(since, _)| since);
            self.gone = Some((since, now.saturating_add(LOOK)));
        }
    }

    /// Whether several queries in a row got no reply.
    pub(super) fn is_silent(&self) -> bool {
        self.silences >= SILENCES
    }

    /// Whether it is unreachable and may be restarting.
    pub(super) fn is_gone(&self, now: Micros) -> bool {
        let until = |since: Micros| since.saturating_add(self.limits.ceiling.saturating_mul(GONE));
        self.gone.is_some_and(|(since, _)| now < until(since))
    }

    /// Records that a query was withdrawn.
    pub(super) fn withdrawn(&mut self) {
        self.release();
        self.probing = false;
    }

    /// Starts a rest unless one is running: outcomes during a rest are no new evidence.
    fn rest_from(&mut self, now: Micros) {
        if self.rest <= now {
            self.rest = now.saturating_add((self.limits.ceiling / 2) << self.rests.min(DOUBLINGS));
            self.rests += 1;
        }
    }

    /// Adds a round-trip time (RFC 6298 section 2.3).
    fn measure(&mut self, sample: f64) {
        self.round_trip = Some(match self.round_trip {
            None => (sample, sample / 2.0),
            Some((mean, deviation)) => {
                (mean + (sample - mean) / 8.0, deviation + ((sample - mean).abs() - deviation) / 4.0)
            }
        });
    }

    /// Widens the window after an answer.
    fn grow(&mut self) {
        if self.limited {
            let step = if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
            self.window = (self.window + step).min(f64::from(self.limits.window));
        }
    }

    /// Counts an outcome; losses beyond the tolerated share halve the window, once per round.
    fn count(&mut self, sent: Micros, now: Micros, is_loss: bool) {
        if sent < self.round {
            return;
        }
        self.outcomes += 1.0;
        self.losses += f64::from(u8::from(is_loss));
        if is_loss && self.losses > TOLERATED * self.outcomes.max(SAMPLE) {
            self.window = (self.window / 2.0).max(FEWEST).min(f64::from(self.limits.window));
            self.threshold = self.window;
            self.round = now;
            self.crowded = now.saturating_add(self.limits.ceiling.saturating_mul(CROWDED));
            (self.outcomes, self.losses) = (0.0, 0.0);
        } else if self.outcomes >= self.window.max(SAMPLE) {
            (self.outcomes, self.losses) = (0.0, 0.0);
        }
    }

    /// Counts a query that is no longer in flight.
    fn release(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.in_flight < self.window() / 2 {
            self.limited = false;
        }
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
