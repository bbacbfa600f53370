//! Pace of a response: the delay of its first byte, the duration of the rest, and whether it is cut off.

use std::time::Duration;

/// Minimum pause: tokio's timers have a resolution of milliseconds, and each timer has a cost.
const LEAST_PAUSE: Duration = Duration::from_millis(5);

/// Maximum of pieces of one response.
const MOST_PIECES: u32 = 100;

/// Timing of a response. The default is without delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Delay before the first byte, in scaled time.
    pub(crate) wait: Duration,
    /// Time from the first byte to the last, in scaled time.
    pub(crate) spread: Duration,
    /// Whether the connection is reset in the middle of the body.
    pub(crate) cut: bool,
}

impl Pace {
    /// End of each piece of a response of `length` bytes, and the pause before it; a single piece without a pause if there is no delay.
    pub(crate) fn pieces(self, length: usize) -> impl Iterator<Item = (usize, Duration)> {
        let many = self.spread.as_micros() / LEAST_PAUSE.as_micros();
        let count = (many as u32).clamp(1, MOST_PIECES);
        let length = if self.cut { length * 3 / 5 } else { length };
        let pause = if count > 1 { self.spread / (count - 1) } else { Duration::ZERO };
        let wait = if self.wait < LEAST_PAUSE / 10 { Duration::ZERO } else { self.wait };
        (1..=count as usize).map(move |i| (length * i / count as usize, if i == 1 { wait } else { pause }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_delay_there_is_one_piece() {
        assert_eq!(Pace::default().pieces(99).collect::<Vec<_>>(), [(99, Duration::ZERO)]);
    }

    #[test]
    fn pieces_cover_all_bytes_and_all_time() {
        for ms in [6, 12, 400, 60_000] {
            let pace = Pace { spread: Duration::from_millis(ms), wait: Duration::from_millis(9), cut: false };
            let pieces: Vec<_> = pace.pieces(27_000).collect();
            assert_eq!((pieces[0].1, pieces.last().unwrap().0), (pace.wait, 27_000));
            assert!(pieces.windows(2).all(|w| w[0].0 < w[1].0));
            let paused: Duration = pieces[1..].iter().map(|p| p.1).sum();
            assert!(
                pieces.len() == 1 || (paused.as_secs_f64() / pace.spread.as_secs_f64() - 1.0).abs() < 0.01
            );
            assert!(pieces.len() <= 100);
        }
    }

    #[test]
    fn a_cut_answer_ends_early() {
        assert_eq!(Pace { cut: true, ..Pace::default() }.pieces(1000).last().unwrap().0, 600);
    }
}
