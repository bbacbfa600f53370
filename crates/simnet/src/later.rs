//! Delayed datagrams: one heap and one timer for all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

/// Minimum delay; shorter ones are ignored, since timers have a resolution of milliseconds.
const LEAST: Duration = Duration::from_micros(500);

/// A datagram, ordered by its time of sending.
type Datagram = (Instant, u64, SocketAddr, Vec<u8>);

/// Queue of delayed datagrams, used by the resolver's task only.
#[derive(Default)]
pub(crate) struct Later {
    /// Heap with the next datagram on top.
    heap: BinaryHeap<Reverse<Datagram>>,
    /// Number of datagrams so far: orders datagrams with equal times.
    count: u64,
}

impl Later {
    /// Enqueues a datagram; returns false if its delay is too short and it should be sent at once.
    pub(crate) fn take(&mut self, delay: Duration, to: SocketAddr, bytes: &[u8]) -> bool {
        if delay < LEAST {
            return false;
        }
        self.count += 1;
        self.heap.push(Reverse((Instant::now() + delay, self.count, to, bytes.to_vec())));
        true
    }

    /// When the next datagram is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes a datagram that is due at `now`.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(SocketAddr, Vec<u8>)> {
        self.next().filter(|&at| at <= now)?;
        self.heap.pop().map(|Reverse((_, _, to, bytes))| (to, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_leave_in_the_order_of_their_times() {
        let (mut later, to) = (Later::default(), SocketAddr::from(([127, 0, 0, 1], 9)));
        assert!(!later.take(Duration::from_micros(100), to, b"now"));
        for (ms, name) in [(30, b"c"), (10, b"a"), (20, b"b")] {
            assert!(later.take(Duration::from_millis(ms), to, name));
        }
        let now = Instant::now();
        assert_eq!(later.due(now), None);
        let sent: Vec<_> =
            std::iter::from_fn(|| later.due(now + Duration::from_millis(25))).map(|d| d.1).collect();
        assert_eq!(sent, [b"a", b"b"]);
        assert!(later.next().is_some());
    }
}
