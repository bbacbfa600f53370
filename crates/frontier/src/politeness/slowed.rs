//! Hosts that are asked more slowly than before since they are in trouble, for a user who listens.

use lycosa_url::Micros;

use super::Politeness;
use crate::Frontier;

/// Hosts that are stored until somebody takes them, at most: a user who no longer listens costs little.
const MOST: usize = 1_000;

/// A host whose interval has grown by its own trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowedHost {
    /// Its name.
    pub host: String,
    /// The interval before, in microseconds of the job.
    pub before: Micros,
    /// The interval now, in microseconds of the job.
    pub interval: Micros,
}

/// Those that have not been taken yet; `None`: nobody listens.
#[derive(Debug, Default)]
pub(crate) struct SlowedHosts(Option<Vec<SlowedHost>>);

impl Politeness {
    /// A host's interval has grown from one value to another.
    pub(super) fn note_slowed(&mut self, host: &str, before: Micros, interval: Micros) {
        let speed = self.speed;
        let of_job = |micros: Micros| (micros as f64 * speed) as Micros;
        if let Some(all) = self.slowed.0.as_mut().filter(|all| all.len() < MOST) {
            all.push(SlowedHost {
                host: host.to_owned(),
                before: of_job(before),
                interval: of_job(interval),
            });
        }
    }
}

impl<R> Frontier<R> {
    /// The hosts that became slower since the last call, in order, at most 1,000; those before the first call are not known.
    pub fn take_slowed(&mut self) -> Vec<SlowedHost> {
        self.politeness.slowed.0.replace(Vec::new()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Settings;
    use crate::scripted::{SECOND, answer, frontier, run, url};

    #[test]
    fn a_host_that_is_asked_more_slowly_is_told_once_for_each_change() {
        let host_interval = Duration::from_secs(2);
        let (mut frontier, _) =
            frontier(Settings { robots: false, retries: 3, host_interval, ..Settings::default() });
        frontier.add(&[url("http://a.com/")], 0).unwrap();
        assert_eq!(frontier.take_slowed(), [], "from now on");
        let mut statuses = [503, 429, 200].into_iter();
        run(&mut frontier, &mut |request, now| answer(request, now, statuses.next().unwrap(), &[], "", &[]));
        let told = |before: u64, interval: u64| {
            let (before, interval) = (before * SECOND, interval * SECOND);
            SlowedHost { host: "a.com".to_owned(), before, interval }
        };
        assert_eq!(frontier.take_slowed(), [told(2, 4), told(4, 8)]);
        assert_eq!(frontier.take_slowed(), []);
    }

    #[test]
    fn nothing_is_stored_until_somebody_listens() {
        let (mut frontier, _) = frontier(Settings { robots: false, retries: 1, ..Settings::default() });
        frontier.add(&[url("http://a.com/")], 0).unwrap();
        run(&mut frontier, &mut |request, now| answer(request, now, 503, &[], "", &[]));
        assert!(frontier.politeness.slowed.0.is_none());
        (0..2 * MOST as u64).for_each(|number| frontier.politeness.note_slowed("b.com", number, number + 1));
        assert_eq!(frontier.take_slowed(), []);
        (0..2 * MOST as u64).for_each(|number| frontier.politeness.note_slowed("b.com", number, number + 1));
        assert_eq!(frontier.take_slowed().len(), MOST);
    }
}
