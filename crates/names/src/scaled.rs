//! Scaled time for caches: other programs share them, so their seconds are those of the wall clock.

use lycosa_url::Micros;

use crate::cache::Seconds;

/// Seconds since 1970 that equal the crawl's (or a DNS server's) at the start, and pass `speed` times as fast
/// from then on; they follow steps of the wall clock. A [`NameCache`](crate::cache::NameCache) takes them as
/// `now`.
#[derive(Clone, Copy, Debug)]
pub struct ScaledTime {
    start: Micros,
    speed: f64,
    /// How far the wall clock is ahead of the crawl's, in microseconds.
    wall_offset: i64,
}

impl ScaledTime {
    /// Time that runs `speed` times as fast as the crawl's from `now` on; `speed` is more than 0.
    pub fn start(now: Micros, speed: f64) -> Self {
        ScaledTime { start: now, speed, wall_offset: 0 }
    }

    /// The same with a wall clock that is this many microseconds ahead of the crawl's clock.
    #[inline]
    #[must_use]
    pub fn on_wall(self, wall_offset: i64) -> Self {
        ScaledTime { wall_offset, ..self }
    }

    /// The scaled second at a moment.
    #[inline]
    pub fn seconds(&self, at: Micros) -> Seconds {
        let passed = at.saturating_sub(self.start) as f64 * self.speed;
        self.start.saturating_add(passed as Micros).saturating_add_signed(self.wall_offset) / 1_000_000
    }

    /// The moment at which a scaled second begins; the start for earlier ones.
    pub(crate) fn moment(&self, seconds: Seconds) -> Micros {
        let scaled =
            seconds.saturating_mul(1_000_000).saturating_add_signed(self.wall_offset.saturating_neg());
        let ahead = scaled.saturating_sub(self.start) as f64 / self.speed;
        self.start.saturating_add(ahead.ceil() as Micros)
    }

    /// The real duration of scaled microseconds.
    pub(crate) fn real(&self, micros: Micros) -> Micros {
        (micros as f64 / self.speed) as Micros
    }

    /// A real duration in scaled milliseconds.
    #[inline]
    pub fn millis(&self, real: Micros) -> u32 {
        (real as f64 * self.speed / 1_000.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Micros = 1_800_000_000_500_000;

    #[test]
    fn at_speed_one_it_is_the_machines_time() {
        let time = ScaledTime::start(START, 1.0);
        assert_eq!((time.seconds(START), time.seconds(START + 600_000)), (1_800_000_000, 1_800_000_001));
        assert_eq!(time.moment(1_800_000_100), 1_800_000_100_000_000);
        assert_eq!((time.real(7_000_000), time.millis(7_000_000)), (7_000_000, 7_000));
    }

    #[test]
    fn at_speed_a_hundred_a_minute_is_600_ms() {
        let time = ScaledTime::start(START, 100.0);
        assert_eq!(time.seconds(START + 600_000), 1_800_000_060);
        assert_eq!(time.moment(1_800_000_060), START + 595_000); // the start was half a second into its second
        assert_eq!((time.real(60_000_000), time.millis(600_000)), (600_000, 60_000));
    }

    #[test]
    fn a_wall_clock_that_is_set_moves_the_cache_s_seconds_and_no_moment_of_the_crawl() {
        for step in [-3_600_i64, 3_600] {
            let before = ScaledTime::start(START, 1.0);
            let after = before.on_wall(step * 1_000_000);
            let second = before.seconds(START).saturating_add_signed(step);
            assert_eq!(after.seconds(START), second);
            assert_eq!(after.moment(second + 60), before.moment(before.seconds(START) + 60));
        }
    }

    proptest! {
        /// An entry that a cache stores until a second is not queried again before that second begins.
        #[test]
        fn a_second_has_come_at_its_moment(speed in 0.5..100_000.0_f64, ahead in 0..1_000_000_u64) {
            let time = ScaledTime::start(START, speed);
            let second = time.seconds(START) + ahead;
            let moment = time.moment(second);
            prop_assert!(time.seconds(moment + 1) >= second);
            prop_assert!(moment == START || time.seconds(moment - 2) <= second);
        }
    }
}
