//! What outputs wait for: outcomes that may still be taken back, since a captive portal may have answered for the site.
//!
//! Guarantees: outputs follow the log at a distance of some seconds while the crawl runs, at a longer one behind an answer that may be
//! a portal's first, and to its end when it ends; a row that was taken back meanwhile is in none of them.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use lycosa_records::Outcome;
use lycosa_store::Position;
use lycosa_url::{Digest, Micros};

use crate::errors::lock;

/// Positions that are remembered: one for each step of time.
const STEP: Micros = 100_000;

/// Followers come by five times a second; after a longer pause the process had been stopped, or the machine.
const LONGEST_GAP: Micros = 1_000_000;

/// How much longer outputs wait behind an answer that no other one has confirmed.
const LONGER: u64 = 4;

/// Where the log was when, and what was taken back.
pub(crate) struct Takings(Mutex<State>);

#[derive(Default)]
struct State {
    /// How long outcomes may be taken back, and [`LONGER`] times as long those since then.
    distance: Micros,
    /// Since when outcomes may be a portal's; 0: not told yet.
    doubted: Micros,
    /// When the log ended where, the oldest first.
    ends: VecDeque<(Micros, Position)>,
    /// The newest position that is old enough.
    released: Position,
    /// Requests that were taken back, by what dedup knows them, and where the log said so; from this position of the log on.
    taken: HashMap<Digest, Position>,
    known_since: Position,
    /// When this was last looked at, and how long the process was stopped meanwhile: nothing was decided then.
    looked: Micros,
    stopped: Micros,
}

impl State {
    /// The time, without that in which nobody came by.
    fn healthy(&mut self, now: Micros) -> Micros {
        let gap = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        if self.looked > gap && gap > LONGEST_GAP {
            self.stopped = self.stopped.saturating_add(gap);
        }
        now.saturating_sub(self.stopped)
    }

    /// Lets outputs go on to what is old enough.
    fn release(&mut self, now: Micros) {
        let doubted = if self.doubted == 0 { Micros::MAX } else { self.doubted };
        let unconfirmed = doubted.saturating_sub(self.stopped);
        while let Some((at, end)) = self.ends.front().copied()
            && now.saturating_sub(at)
                > if at.saturating_add(STEP) < unconfirmed { self.distance } else { self.distance * LONGER }
        {
            self.released = end;
            self.ends.pop_front();
        }
    }
}

impl Takings {
    /// Of a log that ends here: of what it has recorded before nothing is known.
    pub(crate) fn new(end: Position) -> Self {
        Takings(Mutex::new(State { known_since: end, ..State::default() }))
    }

    /// Sets how long outcomes may be taken back from here on: zero lets outputs follow to the end.
    pub(crate) fn keep(&self, distance: Duration, end: Position) {
        let state = &mut *lock(&self.0);
        state.distance = u64::try_from(distance.as_micros()).unwrap_or(u64::MAX);
        state.released = state.released.max(end);
    }

    /// Outcomes since then may be a portal's.
    pub(crate) fn doubt(&self, since: Micros) {
        lock(&self.0).doubted = since.max(1);
    }

    /// An earlier process took a request back.
    pub(crate) fn take(&self, key: Digest, position: Position) {
        let state = &mut *lock(&self.0);
        let taken = state.taken.entry(key).or_default();
        *taken = position.max(*taken);
    }

    /// From where on the log was read for what was taken back.
    pub(crate) fn known_since(&self) -> Position {
        lock(&self.0).known_since
    }

    /// The log was read from there on.
    pub(crate) fn is_known_since(&self, position: Position) {
        let known_since = &mut lock(&self.0).known_since;
        *known_since = position.min(*known_since);
    }

    /// The log goes on behind these outcomes.
    pub(crate) fn appended<'a, O: AsRef<Outcome> + 'a>(
        &self,
        outcomes: impl IntoIterator<Item = &'a O>,
        end: Position,
        now: Micros,
    ) {
        let state = &mut *lock(&self.0);
        for outcome in outcomes {
            let outcome = outcome.as_ref();
            if outcome.is_reopened() {
                state.taken.insert(outcome.request().key(), end);
            }
        }
        let now = state.healthy(now);
        match state.ends.back_mut() {
            Some((at, last)) if now.saturating_sub(*at) < STEP => *last = end,
            _ => state.ends.push_back((now, end)),
        }
        state.release(now);
    }

    /// Up to where outputs may follow the log by now; `None` where nothing holds them up.
    pub(crate) fn released(&self, now: Micros) -> Option<Position> {
        let state = &mut *lock(&self.0);
        if state.distance == 0 {
            return None;
        }
        let now = state.healthy(now);
        state.release(now);
        Some(state.released)
    }

    /// Whether an outcome whose frame ends at a position was taken back behind it.
    pub(crate) fn is_taken(&self, outcome: &Outcome, position: Position) -> bool {
        let taken = &lock(&self.0).taken;
        !taken.is_empty() && taken.get(&outcome.request().key()).is_some_and(|taken| *taken > position)
    }
}
