//! Whether any upstream answers at all. That questions for names get no answer does not tell: servers are silent, too, about names
//! whose own servers are.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_url::Micros;

/// When an answer was last heard, and since when one is waited for.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    heard: AtomicU64,
    asked: AtomicU64,
}

impl Pulse {
    /// All upstreams were asked something that a server answers, be it that there is no such name.
    pub(super) fn ask(&self, now: Micros) {
        if self.asked.load(Relaxed) <= self.heard.load(Relaxed) {
            self.asked.store(now, Relaxed);
        }
    }

    /// One has answered.
    pub(super) fn hear(&self, now: Micros) {
        self.heard.store(now, Relaxed);
    }

    /// Whether none has, in so long a time.
    pub(super) fn is_silent(&self, patience: Micros, now: Micros) -> bool {
        let asked = self.asked.load(Relaxed);
        asked > self.heard.load(Relaxed) && now.saturating_sub(asked) >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_an_unanswered_question() {
        let pulse = Pulse::default();
        assert!(!pulse.is_silent(10, 100), "nothing asked");
        pulse.ask(100);
        pulse.ask(105);
        assert!(!pulse.is_silent(10, 109));
        assert!(pulse.is_silent(10, 110), "since the first question");
        pulse.hear(111);
        assert!(!pulse.is_silent(10, 200));
        pulse.ask(200);
        assert!(!pulse.is_silent(10, 205) && pulse.is_silent(10, 210));
    }
}
