//! The bytes of responses, from a body's first byte until the response is taken.
//!
//! Guarantees: what is held exceeds the limit by at most one body; whoever waits for bytes does not read, so that TCP
//! slows its server down; who began first goes on first; as long as responses are taken some body can go on, because
//! the oldest may exceed the limit where nobody else is left to give bytes back.
//!
//! [`Budget`] and [`Claim`] live on the fetch thread. [`Held`] is shared with whoever takes responses.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Poll, Waker};

/// What is held, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// By bodies that are being received. Written by the fetch thread.
    pub(crate) receiving: AtomicUsize,
    /// By responses that wait to be taken.
    pub(crate) completed: AtomicUsize,
    /// Whether a body waits until responses have been taken.
    pub(crate) starving: AtomicBool,
}

impl Held {
    /// All of it.
    pub(crate) fn bytes(&self) -> usize {
        self.receiving.load(SeqCst).saturating_add(self.completed.load(SeqCst))
    }
}

/// Shares bytes out to bodies.
pub(crate) struct Budget {
    limit: usize,
    held: Arc<Held>,
    /// The number of the next claim: who began first has the smallest.
    next: Cell<u64>,
    /// The one that may exceed the limit.
    beyond: Cell<Option<u64>>,
    waiting: RefCell<BTreeMap<u64, Waker>>,
}

impl Budget {
    /// Nothing is held yet.
    pub(crate) fn new(limit: usize, held: Arc<Held>) -> Self {
        Budget { limit, held, next: Cell::new(0), beyond: Cell::new(None), waiting: RefCell::default() }
    }

    /// A body begins; it holds nothing yet.
    pub(crate) fn claim(&self) -> Claim<'_> {
        let number = self.next.get();
        self.next.set(number + 1);
        Claim { budget: self, number, bytes: 0 }
    }

    /// Bytes may have become free: the oldest that waits looks, and wakes the next if it can go on.
    pub(crate) fn wake(&self) {
        if let Some((_, waker)) = self.waiting.borrow().first_key_value() {
            waker.wake_by_ref();
        }
    }

    /// Gives bytes to a claim, if it may have them now.
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

/// What one body holds; given back when it is dropped.
pub(crate) struct Claim<'a> {
    budget: &'a Budget,
    number: u64,
    bytes: usize,
}

impl Claim<'_> {
    /// Holds more, if that is possible without waiting.
    pub(crate) fn grow_now(&mut self, bytes: usize) -> bool {
        let given = self.budget.give(self.number, bytes);
        if given {
            self.bytes += bytes;
        }
        given
    }

    /// Holds more; waits until it may.
    pub(crate) async fn grow(&mut self, bytes: usize) {
        let (budget, number) = (self.budget, self.number);
        poll_fn(|context| {
            if budget.give(number, bytes) {
                return Poll::Ready(());
            }
            budget.waiting.borrow_mut().insert(number, context.waker().clone());
            budget.held.starving.store(true, SeqCst);
            // Once more: responses may have been taken before anybody could know that this one waits.
            if budget.give(number, bytes) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.bytes += bytes;
        self.stop_waiting();
    }

    /// Lets the next one look.
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

    /// Whether a future is done when it is looked at once.
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
        assert!(!second.grow_now(1) && !first.grow_now(1), "who takes the 30 gives bytes back");
        held.completed.store(0, SeqCst);
        assert!(first.grow_now(60) && first.grow_now(1_000), "one body to its end");
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
        assert!(held.starving.swap(false, SeqCst), "whoever takes responses is told that it matters");
        held.completed.store(0, SeqCst);
        drop(second);
        assert!(!third.grow_now(10), "not before the first");
        assert!(is_ready(first.grow(80)) && is_ready(third.grow(10)));
        drop((first, third));
        assert_eq!((held.bytes(), budget.waiting.borrow().len()), (0, 0));
    }
}
