//! Time-outs without timers: each exchange has a [`Watch`], and one coarse periodic check covers all of them.
//!
//! A timer per read costs more than the read. So connections only record that bytes moved, and the engine
//! calls [`Watch::look`] on each watch a few times a second; a time-out is at most one such tick late.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use lycosa_url::{FailureKind, Micros};

/// A check that is this many ticks after the previous one is late.
const AWAY_TICKS: u64 = 10;

/// The stage of an exchange, which decides the time-out.
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
    /// Maximum duration of [`Stage::Connecting`].
    pub(crate) connect: Micros,
    /// Maximum time without traffic in [`Stage::Talking`].
    pub(crate) read: Micros,
    /// Maximum duration of the exchange.
    pub(crate) total: Micros,
}

impl Limits {
    /// The failure if a limit is exceeded. `began`: start of the exchange; `since`: start of the stage, or
    /// last traffic.
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

    /// The interval of checks, in microseconds: a tenth of the shortest limit, between 5 and 100 ms.
    pub(crate) fn tick(&self) -> Micros {
        let shortest = self.connect.min(self.read).min(self.total);
        (shortest / 10).clamp(5_000, 100_000)
    }
}

/// Traffic of a connection. Written by its stream; read by the watch and by the exchange.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// Whether bytes moved since the last check.
    pub(crate) moved: Cell<bool>,
    /// Bytes received on the connection.
    pub(crate) received: Cell<u64>,
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
    }

    /// Starts the stage of connecting.
    pub(crate) fn connecting(&self, now: Micros) {
        self.wire.replace(None);
        self.stage.set(Stage::Connecting);
        self.since.set(now);
    }

    /// Starts the stage of request and response on this connection.
    pub(crate) fn talking(&self, wire: &Rc<Wire>, now: Micros) {
        self.wire.replace(Some(wire.clone()));
        self.stage.set(Stage::Talking);
        self.since.set(now);
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

    /// Ends the exchange now, with this failure.
    pub(crate) fn ring(&self, kind: FailureKind) {
        self.rung.set(Some(kind));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Runs the work until it completes or the watch ends it.
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

    /// Limits that are long compared with ten ticks of 5 ms.
    const LONG: Limits = Limits { connect: 500_000, read: 600_000, total: 900_000 };

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
    fn the_time_in_which_the_process_was_stopped_is_nobodys_silence() {
        let (watch, wire) = (Watch::new(LONG), Rc::new(Wire::default()));
        watch.begin(0, 60_000_000);
        watch.talking(&wire, 0);
        watch.look(100_000);
        // Stopped for 50 s. What the server sent meanwhile is unread.
        watch.look(50_100_000);
        assert_eq!(watch.rung.get(), None);
        let mut now = 50_100_000;
        while watch.rung.get().is_none() {
            now += 100_000;
            watch.look(now);
        }
        let silent = now - 50_000_000;
        assert_eq!((watch.rung.get(), silent), (Some(FailureKind::ReadTimeout), LONG.read));
        // Stopped until after the lease expired: received data can still be read before the next check.
        watch.begin(now, now + 10_000_000);
        watch.talking(&wire, now);
        watch.look(now + 20_000_000);
        assert_eq!(watch.rung.get(), None);
        watch.look(now + 20_050_000);
        assert_eq!(watch.rung.get(), Some(FailureKind::Cancelled));
    }

    /// The time from `from` until a limit ends the exchange with a silent server, and the failure.
    fn rings_after(watch: &Watch, from: Micros) -> (FailureKind, Micros) {
        let passes = (1..).map(|pass| from + pass * 50_000);
        let rung = passes.map(|now| {
            watch.look(now);
            watch.rung.get().map(|kind| (kind, now - from))
        });
        rung.flatten().next().unwrap()
    }

    #[test]
    fn a_stop_while_the_server_waits_counts_once() {
        const STOP: Micros = 50_000_000;
        // The order of events at the end of the stop.
        for order in ["look resume", "resume look", "pause look resume"] {
            let (watch, wire) = (Watch::new(LONG), Rc::new(Wire::default()));
            watch.begin(0, Micros::MAX);
            watch.talking(&wire, 0);
            watch.look(100_000);
            if !order.starts_with("pause") {
                watch.pause(200_000);
            }
            for act in order.split(' ') {
                match act {
                    "look" => watch.look(STOP),
                    "pause" => watch.pause(STOP),
                    _ => watch.resume(STOP),
                }
            }
            assert_eq!(watch.rung.get(), None, "{order}");
            let (kind, left) = rings_after(&watch, STOP);
            assert_eq!(kind, FailureKind::ReadTimeout, "{order}");
            assert!((LONG.read - 200_000..=LONG.read).contains(&left), "{order}: {left}");
        }
    }

    #[test]
    fn what_begins_right_after_a_stop_has_its_usual_time() {
        let (watch, wire) = (Watch::new(LONG), Rc::new(Wire::default()));
        watch.begin(0, Micros::MAX);
        watch.look(100_000);
        watch.talking(&wire, 60_000_000);
        watch.look(60_000_000);
        assert_eq!(rings_after(&watch, 60_000_000), (FailureKind::ReadTimeout, LONG.read));
    }

    #[test]
    fn a_thread_that_is_always_late_keeps_no_exchange_beyond_its_lease() {
        let watch = Watch::new(LONG);
        watch.begin(0, 5_000_000);
        for second in 1..5 {
            watch.look(second * 1_000_000);
            assert_eq!(watch.rung.get(), None);
        }
        watch.look(5_000_000);
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
