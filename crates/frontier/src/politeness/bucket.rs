//! A cap on a sum over all sites: requests, or bytes, a second.
//!
//! Guarantee: over any stretch of time, at most rate × (time + [`BURST`]) is taken, and one request's excess: a response's bytes
//! are known when it has been received. A pure function of what is taken and a clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lycosa_url::Micros;

/// What may be caught up at once after less was taken, in microseconds of the rate.
const BURST: u64 = 100_000;

/// Nanoseconds in a microsecond.
const NANOS: u64 = 1_000;

/// The caps over all sites, on requests and on bytes; clones share them.
#[derive(Clone, Debug)]
pub struct Caps(Arc<Mutex<Buckets>>);

#[derive(Debug)]
struct Buckets {
    requests: Bucket,
    bytes: Bucket,
}

impl Caps {
    /// So many a second; `None`: no cap.
    pub fn new(requests: Option<f64>, bytes: Option<f64>) -> Self {
        Caps(Arc::new(Mutex::new(Buckets { requests: Bucket::new(requests), bytes: Bucket::new(bytes) })))
    }

    /// Sets other rates, for all that is taken from now on.
    pub fn set_rates(&self, requests: Option<f64>, bytes: Option<f64>) {
        let mut buckets = self.lock();
        buckets.requests.set_rate(requests);
        buckets.bytes.set_rate(bytes);
    }

    /// A request starts.
    pub(crate) fn start(&self, now: Micros) {
        self.lock().requests.take(1, now);
    }

    /// A response has been received.
    pub(crate) fn received(&self, bytes: u64, at: Micros) {
        self.lock().bytes.take(bytes, at);
    }

    /// When the next request may start.
    pub(crate) fn ready_at(&self) -> Micros {
        let [requests, bytes] = self.each();
        requests.max(bytes)
    }

    /// The same, by each cap: of requests, of bytes.
    pub(crate) fn each(&self) -> [Micros; 2] {
        let buckets = self.lock();
        [buckets.requests.ready_at(), buckets.bytes.ready_at()]
    }

    /// No token of the times before may be taken any more, of requests and of bytes: another process may have taken it.
    pub(crate) fn delay_until(&self, [requests, bytes]: [Micros; 2]) {
        let mut buckets = self.lock();
        buckets.requests.delay_until(requests);
        buckets.bytes.delay_until(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Buckets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A token bucket, as the time until which all tokens are used (the generic cell rate algorithm).
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// What one token costs, in nanoseconds; 0: no cap.
    cost: f64,
    /// When the next may be taken, in nanoseconds.
    next: u64,
}

impl Bucket {
    /// This many a second; `None`: no cap.
    pub(crate) fn new(per_second: Option<f64>) -> Self {
        let mut bucket = Bucket { cost: 0.0, next: 0 };
        bucket.set_rate(per_second);
        bucket
    }

    /// This many a second from now on.
    fn set_rate(&mut self, per_second: Option<f64>) {
        self.cost = per_second.filter(|rate| *rate > 0.0).map_or(0.0, |rate| 1e9 / rate);
    }

    /// Takes this many, now.
    pub(crate) fn take(&mut self, count: u64, now: Micros) {
        if self.cost > 0.0 {
            let earliest = now.saturating_sub(BURST).saturating_mul(NANOS);
            let cost = (count as f64 * self.cost).ceil() as u64; // `as` saturates
            self.next = self.next.max(earliest).saturating_add(cost);
        }
    }

    /// When the next may be taken.
    pub(crate) fn ready_at(&self) -> Micros {
        self.next.div_ceil(NANOS)
    }

    /// No token of the time before may be taken any more: another process may have taken it.
    pub(crate) fn delay_until(&mut self, until: Micros) {
        if self.cost > 0.0 {
            self.next = self.next.max(until.saturating_mul(NANOS));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clones_share_a_cap_whose_rate_may_change() {
        let caps = Caps::new(Some(10.0), None);
        let other = caps.clone();
        caps.delay_until([1_000_000, 0]);
        caps.start(1_000_000);
        assert_eq!(other.ready_at(), 1_100_000);
        other.set_rates(Some(1.0), Some(100.0));
        caps.start(1_100_000);
        assert_eq!(other.each(), [2_100_000, 0]);
        other.received(1_000, 2_000_000);
        assert_eq!(caps.ready_at(), 11_900_000, "a tenth of a second may be caught up");
    }

    #[test]
    fn no_cap_never_waits() {
        let mut bucket = Bucket::new(None);
        bucket.take(u64::MAX, 5);
        assert_eq!(bucket.ready_at(), 0);
    }

    #[test]
    fn debts_are_paid() {
        let mut bucket = Bucket::new(Some(1_000.0));
        bucket.take(3_000, 10_000_000);
        assert_eq!(bucket.ready_at(), 12_900_000, "three seconds' worth, less what was saved");
    }

    proptest! {
        #[test]
        fn over_any_stretch_of_time_no_more_is_taken_than_the_rate_allows(
            rate in 1.0f64..100_000.0,
            waits in proptest::collection::vec(0u64..300_000, 1..200),
        ) {
            let mut bucket = Bucket::new(Some(rate));
            let (mut now, mut taken) = (50_000_000, Vec::new());
            for wait in waits {
                now = (now + wait).max(bucket.ready_at());
                bucket.take(1, now);
                taken.push(now);
            }
            for (first, start) in taken.iter().enumerate() {
                for (last, end) in taken.iter().enumerate().skip(first) {
                    let allowed = rate * ((end - start + BURST) as f64 / 1e6) + 1.0;
                    prop_assert!((last - first + 1) as f64 <= allowed + 1e-6);
                }
            }
        }
    }
}
