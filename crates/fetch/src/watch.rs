//! Time-outs without timers: each exchange has a [`Watch`], and one coarse periodic check covers all of them.
//!
//! A timer per read costs more than the read. So connections only record that bytes moved, and the engine
//! calls [`Watch::look`] on each watch a few times a second; a time-out is at most one such tick late.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use lycosa_url::{FailureKind, Micros};

use crate::settings::{Settings, micros};

/// A check that is this many ticks after the previous one is late.
const AWAY_TICKS: u64 = 10;

/// The stage of an exchange, which decides the time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// TCP and TLS.
    Connecting,
    /// The request is being sent or the response received.
    Talking,
    /// A pause before the rest of a body is asked for.
    Resting,
}

/// The three limits, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum duration of [`Stage::Connecting`].
    pub(crate) connect: Micros,
    /// Maximum time without traffic in [`Stage::Talking`].
    pub(crate) read: Micros,
    /// Maximum duration of the exchange.
    pub(crate) total: Micros,
}

impl Limits {
    /// The limits of these settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        Limits {
            connect: micros(settings.connect_timeout),
            read: micros(settings.read_timeout),
            total: micros(settings.total_timeout),
        }
    }

    /// The failure if a limit is exceeded. `began`: start of the exchange; `since`: start of the stage, or
    /// last traffic.
    fn verdict(&self, stage: Stage, began: Micros, since: Micros, now: Micros) -> Option<FailureKind> {
        let (limit, kind) = match stage {
            Stage::Connecting => (self.connect, FailureKind::ConnectTimeout),
            Stage::Talking => (self.read, FailureKind::ReadTimeout),
            Stage::Resting => (Micros::MAX, FailureKind::Timeout),
        };
        if now.saturating_sub(since) >= limit {
            Some(kind)
        } else if now.saturating_sub(began) >= self.total {
            Some(FailureKind::Timeout)
        } else {
            None
        }
    }

    /// The interval of checks, in microseconds: a tenth of the shortest limit, between 5 and 100 ms.
    pub(crate) fn tick(&self) -> Micros {
        let shortest = self.connect.min(self.read).min(self.total);
        (shortest / 10).clamp(5_000, 100_000)
    }
}

/// Traffic of one exchange at a time on a connection. Its stream reports what moves; the exchange's time-outs and the rule about
/// repetition read it.
#[derive(Debug, Default)]
pub struct Wire {
    /// Whether bytes moved since the last check.
    moved: Cell<bool>,
    /// Whether bytes were written, and received, since [`Progress::talking`](crate::Progress::talking).
    sent: Cell<bool>,
    received: Cell<bool>,
}

impl Wire {
    /// Reports that bytes of the request were written.
    pub fn sent(&self) {
        self.moved.set(true);
        self.sent.set(true);
    }

    /// Reports that bytes were received, of the response or as a sign of life.
    pub fn received(&self) {
        self.moved.set(true);
        self.received.set(true);
    }

    /// Reports that the server has done nothing with the request, and says so: it may be sent again whatever its method is.
    pub fn not_processed(&self) {
        self.sent.set(false);
    }

    /// Whether bytes were received in this exchange.
    pub(crate) fn has_received(&self) -> bool {
        self.received.get()
    }
}

/// The time-outs of one slot's exchange.
#[derive(Debug)]
pub(crate) struct Watch {
    limits: Limits,
    stage: Cell<Stage>,
    began: Cell<Micros>,
    since: Cell<Micros>,
    /// Time of the last check, and whether it was late.
    looked: Cell<Micros>,
    was_away: Cell<bool>,
    /// The limits are extended by excluded time up to this time.
    put_off_to: Cell<Micros>,
    wire: RefCell<Option<Rc<Wire>>>,
    /// Whether bytes of the request were written to an earlier wire of this exchange.
    sent: Cell<bool>,
    /// When the exchange must end, whatever it waits for.
    deadline: Cell<Micros>,
    /// Since when reading is paused, which does not count as the server's silence.
    paused: Cell<Option<Micros>>,
    rung: Cell<Option<FailureKind>>,
    waker: RefCell<Option<Waker>>,
}

impl Watch {
    /// A watch that has not started.
    pub(crate) fn new(limits: Limits) -> Self {
        Watch {
            limits,
            stage: Cell::new(Stage::Connecting),
            began: Cell::new(0),
            since: Cell::new(0),
            looked: Cell::new(0),
            was_away: Cell::new(false),
            put_off_to: Cell::new(0),
            wire: RefCell::new(None),
            sent: Cell::new(false),
            deadline: Cell::new(Micros::MAX),
            paused: Cell::new(None),
            rung: Cell::new(None),
            waker: RefCell::new(None),
        }
    }

    /// Starts a new exchange, which is cancelled at the deadline.
    pub(crate) fn begin(&self, now: Micros, deadline: Micros) {
        self.began.set(now);
        self.looked.set(now);
        self.was_away.set(false);
        self.put_off_to.set(now);
        self.deadline.set(deadline);
        self.paused.set(None);
        self.rung.set(None);
        self.connecting(now);
        self.sent.set(false);
    }

    /// Starts the stage of connecting.
    pub(crate) fn connecting(&self, now: Micros) {
        self.enter(Stage::Connecting, None, now);
    }

    /// Starts a pause, after which the exchange goes on although something has ended it; `total` goes on as well.
    pub(crate) fn resting(&self, now: Micros) {
        self.rung.set(None);
        self.resume(now);
        self.enter(Stage::Resting, None, now);
    }

    /// Whether the exchange's deadline is over.
    pub(crate) fn is_over(&self, now: Micros) -> bool {
        now >= self.deadline.get()
    }

    /// The time until the exchange has to be over.
    pub(crate) fn left(&self, now: Micros) -> Micros {
        let end = self.began.get().saturating_add(self.limits.total).min(self.deadline.get());
        end.saturating_sub(now)
    }

    /// Starts the stage of request and response on this connection.
    pub(crate) fn talking(&self, wire: &Rc<Wire>, now: Micros) {
        wire.sent.set(false);
        wire.received.set(false);
        self.enter(Stage::Talking, Some(wire.clone()), now);
    }

    /// Starts a stage.
    fn enter(&self, stage: Stage, wire: Option<Rc<Wire>>, now: Micros) {
        let before = self.wire.replace(wire);
        self.sent.update(|sent| sent || before.is_some_and(|wire| wire.sent.get()));
        self.stage.set(stage);
        self.since.set(now);
    }

    /// Whether bytes of the exchange's request were written.
    pub(crate) fn has_sent(&self) -> bool {
        self.sent.get() || self.wire.borrow().as_ref().is_some_and(|wire| wire.sent.get())
    }

    /// Stops the clock: reading is paused.
    pub(crate) fn pause(&self, now: Micros) {
        self.paused.set(Some(now));
    }

    /// Ends the pause: all limits are extended by it.
    pub(crate) fn resume(&self, now: Micros) {
        if let Some(paused) = self.paused.take() {
            self.put_off(paused, now);
        }
    }

    /// Extends all limits by a time that does not count; overlaps with earlier ones count once.
    fn put_off(&self, from: Micros, to: Micros) {
        let by = to.saturating_sub(from.max(self.put_off_to.replace(to)));
        self.began.update(|began| began.saturating_add(by).min(to));
        self.since.update(|since| since.saturating_add(by).min(to));
    }

    /// Checks the limits and ends the exchange if one is exceeded.
    ///
    /// A late check means that this process was stopped, or its thread blocked: data that arrived in the
    /// meantime is unread in the socket. So it ends nothing, and the time does not count. If two checks in a
    /// row are late, the second enforces deadline and limits.
    pub(crate) fn look(&self, now: Micros) {
        let looked = self.looked.replace(now);
        let is_away = now.saturating_sub(looked) >= AWAY_TICKS * self.limits.tick();
        let was_away = self.was_away.replace(is_away);
        if is_away {
            self.put_off(looked, now);
        }
        if is_away && !was_away {
            return;
        }
        if self.is_over(now) {
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

    /// Ends the exchange now, with this failure.
    pub(crate) fn ring(&self, kind: FailureKind) {
        self.rung.set(Some(kind));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// What has ended the exchange, if something has.
    pub(crate) fn rung(&self) -> Option<FailureKind> {
        self.rung.get()
    }

    /// Runs the work until it completes or the watch ends it. By reference: each function that takes a future by value holds it twice.
    pub(crate) async fn guard<T>(
        &self,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, FailureKind> {
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
#[path = "watch_tests.rs"]
mod tests;
