//! The right to send requests: it ends at a time, unless that is put off, and for what has begun whenever it is recalled.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use lycosa_url::Micros;

/// A time from which on no request is sent. Whoever may fetch only for so long, such as a download server that does not hear its master
/// any more, puts it off again and again. So the right ends also in a process that is suspended, wherever its threads are.
#[derive(Debug)]
pub(crate) struct Fence {
    until: AtomicU64,
    /// The number of the current turn; what was submitted in an earlier one is not sent any more.
    turn: AtomicU64,
}

impl Default for Fence {
    fn default() -> Self {
        Fence { until: AtomicU64::new(Micros::MAX), turn: AtomicU64::new(0) }
    }
}

impl Fence {
    /// Puts the time off. If it was passed, a new turn begins: others may have sent meanwhile what was submitted before.
    pub(crate) fn set(&self, at: Micros, now: Micros) {
        if now >= self.until.load(SeqCst) {
            self.recall();
        }
        self.until.store(at, SeqCst);
    }

    /// Begins a new turn.
    pub(crate) fn recall(&self) {
        self.turn.fetch_add(1, SeqCst);
    }

    /// The current turn.
    pub(crate) fn turn(&self) -> u64 {
        self.turn.load(SeqCst)
    }

    /// Whether a request that was submitted in a turn may be sent now.
    pub(crate) fn permits(&self, turn: u64, now: Micros) -> bool {
        // In this order: who sees a new time sees the turn that began before it was set.
        now < self.until.load(SeqCst) && turn == self.turn.load(SeqCst)
    }
}
