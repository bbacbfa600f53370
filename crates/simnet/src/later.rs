//! Datagrams that leave later: one heap and one timer for all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

/// Delays below this leave at once: timers are in milliseconds.
const LEAST: Duration = Duration::from_micros(500);

/// A datagram, first by when it leaves.
type Datagram = (Instant, u64, SocketAddr, Vec<u8>);

/// Datagrams on their way. The resolver's task fills and empties it.
#[derive(Default)]
pub(crate) struct Later {
    /// The next to leave on top.
    heap: BinaryHeap<Reverse<Datagram>>,
    /// Of datagrams that leave at one moment, the earlier asked for goes first.
    count: u64,
}

impl Later {
    /// Takes a datagram whose delay is worth a timer; false when it is to leave at once.
    pub(crate) fn take(&mut self, delay: Duration, to: SocketAddr, bytes: &[u8]) -> bool {
        if delay < LEAST {
            return false;
        }
        self.count += 1;
        self.heap.push(Reverse((Instant::now() + delay, self.count, to, bytes.to_vec())));
        true
    }

    /// When the next one leaves.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes one that leaves by `now`.
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
