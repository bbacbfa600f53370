//! The evidence against a host, an origin or an address: failures in a row without an answer between them, and when they are
//! enough to give it up.
//!
//! Guarantees:
//! 1. No host is given up before its failures span the patience, counted in time in which the crawl itself was healthy, and
//!    before it was tried `retries` times again.
//! 2. Tries come at growing intervals; one of them comes when the patience ends, so that the last evidence is not older.
//!    Each interval is longer by a share that only the host and the try decide ([`Patience::of`]): hosts that failed at one
//!    moment are not all tried again at one moment, and a restart comes to the same times.
//! 3. While other work goes on, a host is given up only after [`LONG`] times the patience.

use std::hash::Hasher as _;
use std::time::Duration;

use lycosa_url::{Failure, FailureKind, Micros};
use siphasher::sip::SipHasher13;

use crate::Settings;

/// While other work goes on, a host is tried for this many times the patience: it costs no slot, and it may come back.
const LONG: u64 = 12;

/// The longest interval between two tries of a failing host: a part of the patience between these, in the job's time, and at most
/// half the patience. So a host that recovers is found soon, and a crawl with only failing hosts left ends soon.
const LONGEST_INTERVAL: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(1800)];
const LONGEST_PART: u64 = 12;

/// The pause after a first failure is this part of the patience at least: tries without a pause between them are no evidence.
const SHORTEST_PART: u64 = 300;

/// The pause before a failure that is not transient is believed, at most, in the job's time; a tenth of the patience where
/// that is shorter. NXDOMAIN, certificates and refused addresses are also what captive networks and broken resolvers give.
const SECOND_LOOK: Duration = Duration::from_secs(30);

/// Failures in a row. Times are on the crawl's healthy clock, which does not advance while the crawl is suspended, except
/// `retry_at`, which is on the machine's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// When the first failure was.
    pub(crate) since: Micros,
    /// When the last one was.
    pub(crate) last: Micros,
    /// How many there were.
    pub(crate) tries: u32,
    /// The last failure.
    pub(crate) failure: Failure,
    /// When the next try is due.
    pub(crate) retry_at: Micros,
    /// If given up: until then, on the healthy clock.
    pub(crate) given_up: Option<Micros>,
    /// The result of the last request before it is given up.
    pub(crate) last_word: LastWord,
}

/// The last request before a host is given up that answered before: for its robots.txt, since only some of its pages may fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastWord {
    /// It was not asked.
    #[default]
    Unasked,
    /// It is being asked.
    Asked,
    /// It did not answer.
    Silent,
}

/// How long a host has to fail before it is given up, on the machine's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The span of the failures, at least.
    pub(crate) span: Micros,
    /// Tries after the first, at least.
    pub(crate) retries: u32,
    /// The pause after the first failure; it doubles with each.
    delay: Micros,
    longest: Micros,
    second_look: Micros,
    /// The part of a pause by which it may be longer, at most: 0 to 1.
    jitter: f64,
    /// The digest of the host whose pauses these are; `None`: no host's, and no pause is longer.
    host: Option<u64>,
}

impl Patience {
    /// By the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let span = settings.scaled(settings.patience);
        let second_look = settings.scaled(SECOND_LOOK).min(span / 10);
        let [short, long] = LONGEST_INTERVAL.map(|interval| settings.scaled(interval));
        let longest = if span == 0 { long } else { (span / LONGEST_PART).clamp(short, long).min(span / 2) };
        Patience {
            span,
            retries: settings.retries,
            delay: settings.backoff(0).max(span / SHORTEST_PART),
            longest,
            second_look,
            jitter: settings.retry_jitter,
            host: None,
        }
    }

    /// The same for one host: its pauses are longer, each by a share of its own.
    pub(crate) fn of(&self, host: &str) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(host.as_bytes());
        Patience { host: Some(hasher.finish()), ..*self }
    }

    /// A pause with its jitter. The share follows from the host and the number of the try alone, since a restart replays the log;
    /// the hash is the same with every version of the compiler.
    fn longer(&self, pause: Micros, attempt: u32) -> Micros {
        let Some(host) = self.host else { return pause };
        let mut hasher = SipHasher13::new();
        hasher.write(&host.to_le_bytes());
        hasher.write(&attempt.to_le_bytes());
        let share = f64::from((hasher.finish() >> 32) as u32) / f64::from(u32::MAX);
        pause.saturating_add((pause as f64 * share * self.jitter) as Micros)
    }

    /// The pause after so many failures, of which the first was so long ago.
    fn pause(&self, failures: u32, spanned: Micros) -> Micros {
        let attempt = failures.saturating_sub(1);
        let (doubled, longer) = (self.doubled(attempt), self.url_pause(attempt));
        let left = self.span.saturating_sub(spanned);
        // No try comes much later than the end of the patience, and one comes at that end; jitter delays none past it.
        if left > 0 && (failures > self.retries || doubled < left) { longer.min(left) } else { longer }
    }

    /// Tries of one URL whose failures are its own, after the first: as many as it takes to span the patience.
    pub(crate) fn url_retries(&self) -> u32 {
        let mut spanned: Micros = 0;
        let mut retries = 0;
        while spanned < self.span && retries < 20 {
            spanned = spanned.saturating_add(self.doubled(retries).max(1));
            retries += 1;
        }
        retries.max(self.retries)
    }

    /// The pause after the failure of a URL's try number `attempt` (from 0).
    pub(crate) fn url_pause(&self, attempt: u32) -> Micros {
        self.longer(self.doubled(attempt), attempt)
    }

    /// The same without jitter.
    fn doubled(&self, attempt: u32) -> Micros {
        self.delay.saturating_mul(1 << attempt.min(20)).min(self.longest.max(self.delay))
    }

    /// The pause before a failure that is not transient is believed; `None` if the first one is.
    pub(crate) fn second_look(&self) -> Option<Micros> {
        (self.second_look > 0).then(|| self.longer(self.second_look, 0))
    }
}

impl Evidence {
    /// The evidence after a further failure. `healthy_at`: now on the healthy clock.
    pub(crate) fn fail(
        before: Option<Self>,
        failure: Failure,
        patience: &Patience,
        healthy_at: Micros,
        now: Micros,
    ) -> Self {
        let last_word = before.as_ref().map_or(LastWord::Unasked, |before| before.last_word);
        let (since, tries) = before.map_or((healthy_at, 0), |before| (before.since, before.tries));
        let tries = tries.saturating_add(1);
        let retry_at = now.saturating_add(patience.pause(tries, healthy_at.saturating_sub(since)));
        Evidence { since, last: healthy_at, tries, failure, retry_at, given_up: None, last_word }
    }

    /// The same for a failure that is believed when it comes a second time.
    pub(crate) fn doubt(
        before: Option<Self>,
        failure: Failure,
        pause: Micros,
        healthy_at: Micros,
        now: Micros,
    ) -> Self {
        let (since, tries) = before.map_or((healthy_at, 0), |before| (before.since, before.tries));
        let retry_at = now.saturating_add(pause);
        let last_word = LastWord::Unasked;
        Evidence {
            since,
            last: healthy_at,
            tries: tries.saturating_add(1),
            failure,
            retry_at,
            given_up: None,
            last_word,
        }
    }

    /// Forgets failures since a moment on the healthy clock, which were the crawl's own; returns whether others are left. A try since
    /// then counts as none.
    pub(crate) fn take_back(&mut self, healthy_at: Micros) -> bool {
        if self.last >= healthy_at {
            self.last = healthy_at.saturating_sub(1).max(self.since);
            self.tries = self.tries.saturating_sub(1);
        }
        self.since < healthy_at
    }

    /// Whether it is the host's name that fails.
    pub(crate) fn is_of_name(&self) -> bool {
        self.failure.kind.is_of_name() || self.failure.kind == FailureKind::AddressRefused
    }

    /// Whether the patience has run out. `alone`: since when only failing hosts are left; one of the failures has to be later.
    pub(crate) fn is_enough(&self, patience: &Patience, alone: Option<Micros>) -> bool {
        let span = self.last.saturating_sub(self.since);
        let is_all = alone.is_some_and(|since| self.last >= since);
        let needed = if is_all { patience.span } else { patience.span.saturating_mul(LONG) };
        self.tries > patience.retries && span >= needed
    }

    /// When the patience runs out if only failing hosts are left, on the healthy clock.
    pub(crate) fn until(&self, patience: &Patience) -> Micros {
        self.since.saturating_add(patience.span)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Micros = 1_000_000;

    fn patience(seconds: u64) -> Patience {
        let patience = Duration::from_secs(seconds);
        Patience::new(&Settings { patience, ..Settings::default() })
    }

    /// The times at which a host that always fails is tried until it is given up.
    fn tries(patience: &Patience, alone: Option<Micros>) -> Vec<u64> {
        let (mut now, mut evidence, mut times) = (0, None, Vec::new());
        loop {
            times.push(now / SECOND);
            let failure = Failure::new(FailureKind::ConnectRefused, "scripted");
            let after = Evidence::fail(evidence, failure, patience, now, now);
            if after.is_enough(patience, alone) {
                return times;
            }
            now = after.retry_at;
            evidence = Some(after);
        }
    }

    #[test]
    fn tries_grow_apart_and_the_last_comes_when_the_patience_ends() {
        assert_eq!(tries(&patience(300), Some(0)), [0, 10, 30, 70, 150, 300]);
        assert_eq!(tries(&patience(0), Some(0)), [0, 10, 30], "without patience the retries count");
        let late = tries(&patience(300), Some(470 * SECOND));
        assert_eq!(late.last(), Some(&600), "tried once more when it is alone: {late:?}");
        let hours = tries(&patience(7_200), Some(0));
        assert!(hours.windows(2).all(|two| two[1] - two[0] <= 600), "ten minutes apart at most: {hours:?}");
        let long = tries(&patience(300), None);
        assert!(*long.last().unwrap() >= 3600, "while other work goes on: {long:?}");
    }

    #[test]
    fn a_url_has_as_many_tries_as_span_the_patience() {
        assert_eq!((patience(300).url_retries(), patience(0).url_retries()), (5, 2));
        assert_eq!((patience(300).second_look(), patience(0).second_look()), (Some(30 * SECOND), None));
    }

    proptest! {
        #[test]
        fn jitter_only_lengthens_and_carries_no_try_past_the_patience(
            host in "[a-z]{1,9}", seconds in 0..100_000u64, jitter in 0.0..=1.0, attempt in 0..30u32,
        ) {
            let span = Duration::from_secs(seconds);
            let plain = Patience::new(&Settings { patience: span, retry_jitter: jitter, ..Settings::default() });
            let own = plain.of(&host);
            let (short, long) = (plain.url_pause(attempt), own.url_pause(attempt));
            prop_assert!(short <= long && long <= short + (short as f64 * jitter) as Micros, "{} {}", short, long);
            prop_assert_eq!(long, plain.of(&host).url_pause(attempt));
            prop_assert_eq!(own.url_retries(), plain.url_retries());
            let (times, plain_times) = (tries(&own, Some(0)), tries(&plain, Some(0)));
            // The retries alone may take longer than the patience; otherwise the last try comes when the patience ends.
            if plain_times.last() == Some(&seconds) {
                prop_assert_eq!(times.last(), Some(&seconds), "{:?} {:?}", times, plain_times);
            }
        }
    }
}
