//! The memory budget of responses, from a body's first byte until the response is taken.
//!
//! Guarantees: memory in use exceeds the limit by at most one body; a body that waits for memory is not read,
//! so that TCP slows its server down; bodies continue in the order in which they began; as long as responses
//! are taken, some body can continue, since the oldest may exceed the limit if no other can release memory.
//!
//! [`Budget`] and [`Claim`] belong to the fetch thread. [`Held`] is shared with the threads that take
//! responses.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Poll, Waker};

/// Memory in use, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Of bodies that are being received. Written by the fetch thread.
    pub(crate) receiving: AtomicUsize,
    /// Of responses that wait to be taken.
    pub(crate) completed: AtomicUsize,
    /// Whether a body waits for responses to be taken.
    pub(crate) starving: AtomicBool,
}

impl Held {
    /// The total.
    pub(crate) fn bytes(&self) -> usize {
        self.receiving.load(SeqCst).saturating_add(self.completed.load(SeqCst))
    }
}

/// Allots memory to bodies.
pub(crate) struct Budget {
    limit: usize,
    held: Arc<Held>,
    /// The number of the next claim: older claims have smaller numbers.
    next: Cell<u64>,
    /// The claim that may exceed the limit.
    beyond: Cell<Option<u64>>,
    waiting: RefCell<BTreeMap<u64, Waker>>,
}

impl Budget {
    /// A budget with nothing in use.
    pub(crate) fn new(limit: usize, held: Arc<Held>) -> Self {
        Budget { limit, held, next: Cell::new(0), beyond: Cell::new(None), waiting: RefCell::default() }
    }

    /// The claim of a new body, without memory.
    pub(crate) fn claim(&self) -> Claim<'_> {
        let number = self.next.get();
        self.next.set(number + 1);
        Claim { budget: self, number, bytes: 0 }
    }

    /// Wakes the oldest waiting claim, since memory may have been released; it wakes the next if it can
    /// continue.
    pub(crate) fn wake(&self) {
        if let Some((_, waker)) = self.waiting.borrow().first_key_value() {
            waker.wake_by_ref();
        }
    }

    /// Allots bytes to a claim, if it may have them now.
    fn give(&self, number: u64, bytes: usize) -> bool {
        let is_first = self.waiting.borrow().first_key_value().is_none_or(|(first, _)| *first >= number);
        let fits = self.limit.saturating_sub(self.held.bytes()) >= bytes;
        let may_exceed = self.beyond.get().is_none() && self.held.completed.load(SeqCst) == 0;
        if self.beyond.get() != Some(number) && !(is_first && (fits || may_exceed)) {
            return false;
        }
        if !fits {
            self.beyond.set(Some(number));
        }
        self.held.receiving.fetch_add(bytes, SeqCst);
        true
    }
}

/// The memory of one body; released when dropped.
pub(crate) struct Claim<'a> {
    budget: &'a Budget,
    number: u64,
    bytes: usize,
}

impl Claim<'_> {
    /// Claims more bytes, if that is possible without waiting.
    pub(crate) fn grow_now(&mut self, bytes: usize) -> bool {
        let given = self.budget.give(self.number, bytes);
        if given {
            self.bytes += bytes;
        }
        given
    }

    /// Claims more bytes; waits until that is possible.
    pub(crate) async fn grow(&mut self, bytes: usize) {
        let (budget, number) = (self.budget, self.number);
        poll_fn(|context| {
            if budget.give(number, bytes) {
                return Poll::Ready(());
            }
            budget.waiting.borrow_mut().insert(number, context.waker().clone());
            budget.held.starving.store(true, SeqCst);
            // Tries again: responses may have been taken before `starving` was set.
            if budget.give(number, bytes) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.bytes += bytes;
        self.stop_waiting();
    }

    /// Leaves the queue and wakes the next claim.
    fn stop_waiting(&self) {
        self.budget.waiting.borrow_mut().remove(&self.number);
        self.budget.wake();
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.budget.held.receiving.fetch_sub(self.bytes, SeqCst);
        if self.budget.beyond.get() == Some(self.number) {
            self.budget.beyond.set(None);
        }
        self.stop_waiting();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    /// Whether a future is ready on its first poll.
    fn is_ready(future: impl Future<Output = ()>) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn the_oldest_alone_may_exceed_the_limit_and_only_where_nobody_gives_bytes_back() {
        let held = Arc::new(Held::default());
        let budget = Budget::new(100, held.clone());
        let (mut first, mut second, mut third) = (budget.claim(), budget.claim(), budget.claim());
        assert!(first.grow_now(40) && second.grow_now(50));
        assert!(third.grow_now(10), "as much as there is");
        held.completed.store(30, SeqCst);
        assert!(!second.grow_now(1) && !first.grow_now(1), "the taker of the 30 releases memory");
        held.completed.store(0, SeqCst);
        assert!(first.grow_now(60) && first.grow_now(1_000), "one body up to its end");
        assert!(!second.grow_now(1) && !third.grow_now(1));
        drop(first);
        assert_eq!(held.bytes(), 60);
        assert!(third.grow_now(40));
    }

    #[test]
    fn who_waits_goes_on_in_the_order_of_its_beginning() {
        let held = Arc::new(Held::default());
        let budget = Budget::new(100, held.clone());
        let (mut first, mut second, mut third) = (budget.claim(), budget.claim(), budget.claim());
        assert!(second.grow_now(100));
        held.completed.store(1, SeqCst);
        assert!(!is_ready(first.grow(80)) && !is_ready(third.grow(10)));
        assert!(held.starving.swap(false, SeqCst), "takers of responses must notify");
        held.completed.store(0, SeqCst);
        drop(second);
        assert!(!third.grow_now(10), "not before the first");
        assert!(is_ready(first.grow(80)) && is_ready(third.grow(10)));
        drop((first, third));
        assert_eq!((held.bytes(), budget.waiting.borrow().len()), (0, 0));
    }
}
