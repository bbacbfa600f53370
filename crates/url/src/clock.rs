//! Time as a number: every rule takes it as an argument, so that tests advance it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch, never going back within one process.
pub type Micros = u64;

/// The machine's clock: Unix time at the start, monotonic from there on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    epoch: Micros,
}

impl Clock {
    /// Anchors the clock at this moment.
    pub fn start() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Clock { start: Instant::now(), epoch: u64::try_from(epoch.as_micros()).unwrap_or(u64::MAX) }
    }

    /// Now.
    pub fn now(&self) -> Micros {
        self.at(Instant::now())
    }

    /// The time of a monotonic instant; instants before the anchor are the anchor.
    pub fn at(&self, instant: Instant) -> Micros {
        let elapsed = instant.saturating_duration_since(self.start).as_micros();
        self.epoch.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}
