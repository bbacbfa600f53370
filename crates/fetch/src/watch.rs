//! Time-outs without timers: each exchange has a [`Watch`], and one coarse hand looks at all of them.
//!
//! A timer per read costs more than the read. So connections only note that bytes moved, and the engine
//! calls [`Watch::look`] on every watch a few times a second; a time-out comes at most one such tick late.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use lycosa_url::{FailureKind, Micros};

/// What an exchange is busy with, as far as time-outs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// TCP and TLS.
    Connecting,
    /// The request is being sent or the response received.
    Talking,
}

/// The three limits, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For [`Stage::Connecting`].
    pub(crate) connect: Micros,
    /// Without a byte in [`Stage::Talking`].
    pub(crate) read: Micros,
    /// From the beginning.
    pub(crate) total: Micros,
}

impl Limits {
    /// Which limit is passed, if one is: `began` the exchange, `since` the stage or the last byte.
    fn verdict(&self, stage: Stage, began: Micros, since: Micros, now: Micros) -> Option<FailureKind> {
        let (limit, kind) = match stage {
            Stage::Connecting => (self.connect, FailureKind::ConnectTimeout),
            Stage::Talking => (self.read, FailureKind::ReadTimeout),
        };
        if now.saturating_sub(since) >= limit {
            Some(kind)
        } else if now.saturating_sub(began) >= self.total {
            Some(FailureKind::Timeout)
        } else {
            None
        }
    }

    /// How often the hand must look: a tenth of the shortest limit, between 5 and 100 ms.
    pub(crate) fn tick(&self) -> std::time::Duration {
        let shortest = self.connect.min(self.read).min(self.total);
        std::time::Duration::from_micros((shortest / 10).clamp(5_000, 100_000))
    }
}

/// What a connection has seen move. Written by its stream; read by the watch and by the exchange.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// Whether bytes moved since the hand last looked.
    pub(crate) moved: Cell<bool>,
    /// Bytes received since the connection began.
    pub(crate) received: Cell<u64>,
}

/// The time-outs of one slot's exchange.
#[derive(Debug)]
pub(crate) struct Watch {
    limits: Limits,
    stage: Cell<Stage>,
    began: Cell<Micros>,
    since: Cell<Micros>,
    wire: RefCell<Option<Rc<Wire>>>,
    /// When the exchange has to end, whatever it waits for.
    deadline: Cell<Micros>,
    /// Since when we make the server wait: that is not its silence.
    paused: Cell<Option<Micros>>,
    rung: Cell<Option<FailureKind>>,
    waker: RefCell<Option<Waker>>,
}

impl Watch {
    /// A watch that is not yet running.
    pub(crate) fn new(limits: Limits) -> Self {
        Watch {
            limits,
            stage: Cell::new(Stage::Connecting),
            began: Cell::new(0),
            since: Cell::new(0),
            wire: RefCell::new(None),
            deadline: Cell::new(Micros::MAX),
            paused: Cell::new(None),
            rung: Cell::new(None),
            waker: RefCell::new(None),
        }
    }

    /// A new exchange begins; at the deadline it is given up.
    pub(crate) fn begin(&self, now: Micros, deadline: Micros) {
        self.began.set(now);
        self.deadline.set(deadline);
        self.paused.set(None);
        self.rung.set(None);
        self.connecting(now);
    }

    /// A connection is being opened.
    pub(crate) fn connecting(&self, now: Micros) {
        self.wire.replace(None);
        self.stage.set(Stage::Connecting);
        self.since.set(now);
    }

    /// The request goes out on this connection.
    pub(crate) fn talking(&self, wire: &Rc<Wire>, now: Micros) {
        self.wire.replace(Some(wire.clone()));
        self.stage.set(Stage::Talking);
        self.since.set(now);
    }

    /// From now on the server waits for us.
    pub(crate) fn pause(&self, now: Micros) {
        self.paused.set(Some(now));
    }

    /// It waits no longer: all limits move on by the pause.
    pub(crate) fn resume(&self, now: Micros) {
        if let Some(paused) = self.paused.take() {
            let pause = now.saturating_sub(paused);
            self.began.update(|began| began.saturating_add(pause));
            self.since.update(|since| since.saturating_add(pause));
        }
    }

    /// The hand passes: rings if a limit is passed.
    pub(crate) fn look(&self, now: Micros) {
        if now >= self.deadline.get() {
            return self.ring(FailureKind::Cancelled);
        }
        if self.paused.get().is_some() {
            return;
        }
        if self.wire.borrow().as_ref().is_some_and(|wire| wire.moved.take()) {
            self.since.set(now);
        }
        if let Some(kind) = self.limits.verdict(self.stage.get(), self.began.get(), self.since.get(), now) {
            self.ring(kind);
        }
    }

    /// Ends the exchange now.
    pub(crate) fn ring(&self, kind: FailureKind) {
        self.rung.set(Some(kind));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Runs the work until it is done or the watch rings.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = T>) -> Result<T, FailureKind> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Some(kind) = self.rung.get() {
                return Poll::Ready(Err(kind));
            }
            match &mut *self.waker.borrow_mut() {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            work.as_mut().poll(context).map(Ok)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { connect: 100, read: 300, total: 1_000 };

    #[test]
    fn each_stage_has_its_own_limit() {
        let verdict = |stage, since, now| LIMITS.verdict(stage, 0, since, now);
        assert_eq!(verdict(Stage::Connecting, 0, 99), None);
        assert_eq!(verdict(Stage::Connecting, 0, 100), Some(FailureKind::ConnectTimeout));
        assert_eq!(verdict(Stage::Talking, 100, 399), None);
        assert_eq!(verdict(Stage::Talking, 100, 400), Some(FailureKind::ReadTimeout));
        assert_eq!(verdict(Stage::Talking, 950, 1_000), Some(FailureKind::Timeout));
    }

    #[test]
    fn a_pause_of_ours_is_not_the_servers_silence_but_the_lease_ends_all_the_same() {
        let (watch, wire) = (Watch::new(LIMITS), Rc::new(Wire::default()));
        watch.begin(0, 5_000);
        watch.talking(&wire, 10);
        watch.pause(100);
        watch.look(4_000);
        watch.resume(4_000);
        watch.look(4_200);
        assert_eq!(watch.rung.get(), None, "90 before the pause and 200 after it");
        watch.look(4_250);
        assert_eq!(watch.rung.get(), Some(FailureKind::ReadTimeout));
        watch.begin(0, 5_000);
        watch.pause(100);
        watch.look(5_000);
        assert_eq!(watch.rung.get(), Some(FailureKind::Cancelled));
    }

    #[test]
    fn bytes_put_silence_off_but_not_the_end() {
        let (watch, wire) = (Watch::new(LIMITS), Rc::new(Wire::default()));
        watch.begin(0, Micros::MAX);
        watch.talking(&wire, 10);
        for now in [250, 500, 750] {
            wire.moved.set(true);
            watch.look(now);
            assert_eq!(watch.rung.get(), None);
        }
        wire.moved.set(true);
        watch.look(1_000);
        assert_eq!(watch.rung.get(), Some(FailureKind::Timeout));
    }
}
