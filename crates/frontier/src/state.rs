//! The states of a URL and every transition between them.
//!
//! ```text
//! unknown ──► waiting ──► leased ──► done      a response was recorded
//!    │         │  ▲         │ ├────► failed    no response, and no further try
//!    │         │  └─────────┘ │
//!    │         ├──► failed    └────► refused
//!    │         └──► refused          robots.txt forbids it
//!    │
//!    │      done, failed, refused ──► waiting    opened again: a seed that is given again, `--retry-failed`
//!    └──► (out of scope, too deep, nofollow: stays unknown, counted by reason)
//! ```

use lycosa_url::Failure;

/// Where a URL is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Never admitted.
    Unknown,
    /// In a host queue.
    Waiting,
    /// With fetch, on lease.
    Leased,
    /// Ended with a response.
    Done,
    /// Ended without a response.
    Failed,
    /// Forbidden by the site, or by the job.
    Refused,
}

impl State {
    /// Where a URL ends that was settled by a failure.
    pub(crate) fn settled(failure: &Failure) -> State {
        use lycosa_url::FailureKind as Kind;
        match failure.kind {
            Kind::RobotsDisallowed
            | Kind::Blocked
            | Kind::DomainBudget
            | Kind::Dropped
            | Kind::PortBlocked
            | Kind::UsageRefused => State::Refused,
            _ => State::Failed,
        }
    }
}

/// How many URLs are in each state. All transitions go through [`Tally::shift`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [u64; 6],
}

impl Tally {
    /// Moves URLs from one state to another.
    pub(crate) fn shift(&mut self, from: State, to: State, count: u64) {
        debug_assert!(allowed(from, to), "{from:?} → {to:?}");
        if from != State::Unknown {
            self.counts[from as usize] = self.counts[from as usize].saturating_sub(count);
        }
        self.counts[to as usize] += count;
    }

    /// Sets a count of an earlier process.
    pub(crate) fn set(&mut self, state: State, count: u64) {
        self.counts[state as usize] = count;
    }

    /// URLs in a state; of `Unknown` none are counted.
    pub fn count(&self, state: State) -> u64 {
        self.counts[state as usize]
    }
}

/// The table above.
fn allowed(from: State, to: State) -> bool {
    use State as S;
    matches!(
        (from, to),
        (S::Unknown, S::Waiting)
            | (S::Waiting, S::Leased | S::Failed | S::Refused)
            | (S::Leased, S::Waiting | S::Done | S::Failed | S::Refused)
            | (S::Done | S::Failed | S::Refused, S::Waiting)
    )
}
