//! What a transport reports of an exchange: its stage and its facts, which are known even if it ends early.

use std::cell::Cell;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use lycosa_records::Times;
use lycosa_url::{Clock, Failure, FailureKind, Micros};

use crate::fence::Fence;
use crate::watch::{Limits, Watch, Wire};

/// Progress of one exchange. It begins in the stage of connecting.
#[derive(Debug)]
pub struct Progress {
    clock: Clock,
    fence: Arc<Fence>,
    /// The turn of the fence in which the request was submitted.
    turn: Cell<u64>,
    pub(crate) watch: Rc<Watch>,
    address: Cell<Option<IpAddr>>,
    times: Cell<Times>,
}

impl Progress {
    /// Progress of exchanges with these limits, which send only what the fence permits.
    pub(crate) fn new(clock: Clock, limits: Limits, fence: Arc<Fence>) -> Self {
        Progress {
            clock,
            fence,
            turn: Cell::default(), // `begin` sets it
            watch: Rc::new(Watch::new(limits)),
            address: Cell::default(),
            times: Cell::default(),
        }
    }

    /// Starts a new exchange, which is cancelled at the deadline. `turn`: of the fence, in which its request was submitted.
    pub(crate) fn begin(&self, now: Micros, deadline: Micros, turn: u64) {
        self.turn.set(turn);
        self.address.take();
        self.times.take();
        self.watch.begin(now, deadline);
    }

    /// Starts the stage of connecting anew: `connect_timeout` counts from now.
    pub fn connecting(&self) {
        self.address.take();
        self.watch.connecting(self.clock.now());
    }

    /// Reports the server's address. Where the route is not direct, it is that of the proxy.
    pub fn connected(&self, address: IpAddr) {
        self.address.set(Some(address));
    }

    /// Starts the stage of request and response: from now on `read_timeout` limits the time in which nothing moves on the wire.
    ///
    /// Fails if the request must not be sent any more: its deadline is over, or the fetcher's fence does not permit it. That is found
    /// here, since the process may have been suspended while the connection was opened.
    pub fn talking(&self, wire: &Rc<Wire>) -> Result<(), Failure> {
        let now = self.clock.now();
        if !self.is_permitted(now) || self.watch.is_over(now) {
            return Err(ended_by(FailureKind::Cancelled));
        }
        self.watch.talking(wire, now);
        Ok(())
    }

    /// Whether the fetcher's fence permits that the request is sent.
    pub(crate) fn is_permitted(&self, now: Micros) -> bool {
        self.fence.permits(self.turn.get(), now)
    }

    /// Starts a pause before the rest of a body is asked for, within the same `total_timeout`.
    pub(crate) fn resting(&self) {
        self.watch.resting(self.now());
    }

    /// The time until the exchange has to be over.
    pub(crate) fn left(&self) -> Micros {
        self.watch.left(self.now())
    }

    /// Runs a part of the exchange until it completes or a time-out ends it.
    pub(crate) async fn guard<V>(
        &self,
        work: Pin<&mut impl Future<Output = Result<V, Failure>>>,
    ) -> Result<V, Failure> {
        self.watch.guard(work).await.unwrap_or_else(|kind| Err(ended_by(kind)))
    }

    /// Updates the durations.
    pub fn times(&self, note: impl FnOnce(&mut Times)) {
        let mut times = self.times.get();
        note(&mut times);
        self.times.set(times);
    }

    /// The time now, on the clock of all durations.
    pub(crate) fn now(&self) -> Micros {
        self.clock.now()
    }

    /// Address and durations so far.
    pub(crate) fn facts(&self) -> (Option<IpAddr>, Times) {
        (self.address.get(), self.times.get())
    }
}

/// The failure of an exchange that its watch or a panic ended.
pub(crate) fn ended_by(kind: FailureKind) -> Failure {
    let detail = match kind {
        FailureKind::ConnectTimeout => "no connection in time",
        FailureKind::ReadTimeout => "the server sent nothing in time",
        FailureKind::Timeout => "the exchange took too long",
        FailureKind::Internal => "the fetch aborted: standard error has the panic's message",
        _ => "cancelled",
    };
    Failure::new(kind, detail)
}

/// The microseconds from one time to another, as a record stores them.
pub(crate) fn since(from: Micros, to: Micros) -> u32 {
    u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX)
}
