//! One server that is asked: how quick it is, how much it bears, whether it is worth asking. Time is an argument.
//!
//! Guarantees, which the tests repeat:
//! - the time-out lies between a floor and a ceiling, and is the ceiling until there was an answer;
//! - the window lies between [`FEWEST`] and its limit, grows only while it is what limits, and is halved at most once for the
//!   questions of one round;
//! - a server that is silent or of no use rests; when its rest is over, one question probes it, and no other until that one
//!   has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use lycosa_url::Micros;

use crate::times::Times;

/// Questions in flight that a server is trusted with from the start: what a host with one CPU answers in about a millisecond.
const FIRST: f64 = 128.0;

/// Questions in flight that any server bears, however many of them were lost.
pub(super) const FEWEST: f64 = 64.0;

/// The share of losses that says nothing about the way to the server: a resolver is silent, too, about names whose own
/// servers are.
pub(super) const TOLERATED: f64 = 0.1;

/// Of fewer questions a share says nothing: names that are silent come in clusters.
pub(super) const SAMPLE: f64 = 256.0;

/// How long after losses that halved its window a server's silence may be its own, or its network's: as long as it takes to
/// find the window that it bears, in time-outs.
const CROWDED: u64 = 10;

/// Losses in a row after which a server rests.
pub(super) const SILENCES: u32 = 3;

/// Replies of no use in a row (REFUSED, SERVFAIL) after which it does; more, since they may be the names' fault.
pub(super) const FAILURES: u32 = 10;

/// The first rest is half the ceiling of the time-out; each further one is doubled, so many times at most.
const DOUBLINGS: u32 = 6;

/// For how many time-outs a server that no question reaches may have been started again: as long as silence costs a name.
const GONE: u64 = 3;

/// How often one question finds out whether it is back, in microseconds.
const LOOK: Micros = 100_000;

/// How far a rate may run ahead: the time between two looks at the clock.
const AHEAD: f64 = 10_000.0;

/// Limits that all servers have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The shortest time-out.
    pub(crate) floor: Micros,
    /// The longest, and the one before anything is known.
    pub(crate) ceiling: Micros,
    /// The largest window.
    pub(crate) window: u32,
    /// Questions a second; none is no limit.
    pub(crate) rate: Option<f64>,
    /// After so many useless replies in a row a server rests.
    pub(crate) failures: u32,
}

/// When the next question to a server is due, by its rate: of all clients that have the same one. The bits of a number of
/// microseconds with a fraction.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<AtomicU64>);

impl Pace {
    /// Whether a question is due.
    pub(crate) fn is_due(&self, now: Micros) -> bool {
        f64::from_bits(self.0.load(Relaxed)) <= now as f64 + AHEAD
    }

    /// A question was sent; so many a second are due.
    pub(crate) fn take(&self, rate: f64, now: Micros) {
        let next = |due| Some((f64::from_bits(due).max(now as f64) + 1e6 / rate).to_bits());
        let _ = self.0.fetch_update(Relaxed, Relaxed, next);
    }
}

/// What is known of one server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    limits: Limits,
    /// Smoothed round-trip time and its mean deviation, in microseconds (RFC 6298 section 2).
    round_trip: Option<(f64, f64)>,
    window: f64,
    /// Below it, the window grows by one an answer; from it on, by one a window of answers (RFC 5681 section 3.1).
    threshold: f64,
    /// Whether the window was reached since it was half empty last.
    limited: bool,
    /// When the round began: the outcome of what was sent before counts no more.
    round: Micros,
    /// Outcomes of the round, and the losses among them.
    outcomes: f64,
    losses: f64,
    /// Until when it counts as crowded.
    crowded: Micros,
    /// Losses in a row.
    silences: u32,
    /// Replies of no use in a row.
    failures: u32,
    /// How many times in a row it rests, and until when.
    rests: u32,
    rest: Micros,
    /// Whether a question probes it.
    probing: bool,
    /// When the next question is due, by the rate.
    pace: Pace,
    pub(super) in_flight: u32,
    pub(super) questions: u64,
    pub(super) answers: u64,
    pub(super) timeouts: u64,
    /// How long replies took.
    pub(super) round_trips: Times,
    /// Since when no question reaches it, and when the next one is to find out whether that is still so; nothing once it answers.
    gone: Option<(Micros, Micros)>,
    /// Until when it is not asked, since there is no socket for it.
    pub(super) paused: Micros,
    /// Why the last connection to it failed, until it answers.
    pub(super) trouble: Option<Arc<str>>,
}

impl Server {
    /// A server of which nothing is known.
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

    /// Whether a question fits window and rate, and there may be a socket for it.
    pub(super) fn has_room(&self, now: Micros) -> bool {
        self.in_flight < self.window()
            && self.paused <= now
            && self.gone.is_none_or(|(_, next)| next <= now || !self.is_gone(now))
            && (self.limits.rate.is_none() || self.pace.is_due(now))
    }

    /// Whether it is not to be asked while others can be.
    pub(super) fn is_resting(&self) -> bool {
        self.rests > 0
    }

    /// Whether its loss exceeds the baseline of dead names (congestion): who got no answer may have one later.
    pub(super) fn is_crowded(&self, now: Micros) -> bool {
        self.crowded > now
    }

    /// When its rest is over.
    pub(super) fn rest(&self) -> Micros {
        self.rest
    }

    /// Whether its rest is over, so that a question is to probe it.
    pub(super) fn wants_probe(&self, now: Micros) -> bool {
        self.is_resting() && !self.probing && self.rest <= now
    }

    /// The window: questions in flight at most.
    pub(super) fn window(&self) -> u32 {
        self.window as u32
    }

    /// The smoothed round-trip time.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip.map(|(mean, _)| Duration::from_micros(mean as u64))
    }

    /// The time within which it answers, as far as one can tell; `typical` where nothing is known. Load counts by eighths of the
    /// window, so that a quiet client keeps to the first of equal servers, whose cache it then shares with itself.
    pub(super) fn expected(&self, typical: f64) -> f64 {
        /// Differences below it are noise.
        const NOISE: f64 = 1_000.0;
        let mean = self.round_trip.map_or(typical, |(mean, _)| mean);
        let eighths = 8 * self.in_flight / self.window().max(1);
        (mean + NOISE) * f64::from(1 + eighths) * f64::from(1_u32 << self.silences.min(16))
    }

    /// How long an answer is waited for before another server is asked (RFC 6298, with its doubling).
    pub(super) fn timeout(&self) -> Micros {
        let Limits { floor, ceiling, .. } = self.limits;
        let Some((mean, deviation)) = self.round_trip else { return ceiling };
        let timeout = (mean + 4.0 * deviation) as Micros;
        (timeout.max(floor) << self.silences.min(16)).min(ceiling)
    }

    /// A question was sent.
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

    /// A reply came: `useful` unless the server could not or would not answer; `late` if it was given up before.
    pub(super) fn answered(&mut self, sent: Micros, now: Micros, useful: bool, late: bool) {
        self.answers += 1;
        self.round_trips.add(now.saturating_sub(sent));
        self.measure(now.saturating_sub(sent) as f64);
        self.silences = 0;
        (self.trouble, self.gone) = (None, None);
        self.failures = if useful { 0 } else { self.failures + 1 };
        if !late {
            self.grow();
            self.count(sent, now, false);
            self.release();
        }
        self.probing = false;
        if useful {
            self.rests = 0;
        } else if self.failures >= self.limits.failures {
            self.rest_from(now);
        }
    }

    /// No reply came in time, or none can come. Only a question's first try tells of the way to the server: who got no answer once
    /// has a name that is silent, more likely than not.
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

    /// No question reaches it: several in a row came back, or there is no way. One that answered before may have been started again: for
    /// a while one question at a time finds out. One that never answered is none, and whoever asks it is told so at once.
    pub(super) fn unreachable(&mut self, now: Micros) {
        if self.answers > 0 {
            let since = self.gone.map_or(now, |(since, _)| since);
            self.gone = Some((since, now.saturating_add(LOOK)));
        }
    }

    /// Whether several questions in a row had no reply.
    pub(super) fn is_silent(&self) -> bool {
        self.silences >= SILENCES
    }

    /// Whether no question reaches it, and it may have been started again.
    pub(super) fn is_gone(&self, now: Micros) -> bool {
        let until = |since: Micros| since.saturating_add(self.limits.ceiling.saturating_mul(GONE));
        self.gone.is_some_and(|(since, _)| now < until(since))
    }

    /// A question was taken back.
    pub(super) fn withdrawn(&mut self) {
        self.release();
        self.probing = false;
    }

    /// Begins a rest, unless it has one: what was sent before it says no more.
    fn rest_from(&mut self, now: Micros) {
        if self.rest <= now {
            self.rest = now.saturating_add((self.limits.ceiling / 2) << self.rests.min(DOUBLINGS));
            self.rests += 1;
        }
    }

    /// A round-trip time (RFC 6298 section 2.3).
    fn measure(&mut self, sample: f64) {
        self.round_trip = Some(match self.round_trip {
            None => (sample, sample / 2.0),
            Some((mean, deviation)) => {
                (mean + (sample - mean) / 8.0, deviation + ((sample - mean).abs() - deviation) / 4.0)
            }
        });
    }

    /// An answer widens the window.
    fn grow(&mut self) {
        if self.limited {
            let step = if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
            self.window = (self.window + step).min(f64::from(self.limits.window));
        }
    }

    /// Takes the outcome of a question; losses beyond the tolerated share halve the window, once a round.
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

    /// A question is no longer in flight.
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
