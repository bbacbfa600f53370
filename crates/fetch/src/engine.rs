//! The fetch thread: slots that process a queue, a periodic check of time-outs, an outbox of responses.
//!
//! All state here belongs to that one thread. Orders fill `queue`, slots take from it; slots fill `outbox`,
//! and the loop delivers it, once for all responses that completed in the meantime.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use http::Method;
use lycosa_records::{Received, Request, Response, Times};
use lycosa_url::{Clock, Failure, FailureKind, Micros};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_local;
use tokio::time::{MissedTickBehavior, interval};

use crate::budget::Budget;
use crate::exchange::Exchanges;
use crate::fetcher::{Counter, Order};
use crate::progress::{Progress, ended_by};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::watch::{Limits, Watch};

/// State of the fetch thread.
pub(crate) struct Engine<T> {
    clock: Clock,
    exchanges: Exchanges<T>,
    limits: Limits,
    slots: usize,
    working: Cell<usize>,
    /// Requests, each with the turn of the fence in which it was submitted.
    queue: RefCell<VecDeque<(Request, u64)>>,
    watches: RefCell<Vec<Rc<Watch>>>,
    outbox: RefCell<Vec<Response>>,
    outgoing: Notify,
    counter: Arc<Counter>,
}

impl<T: Transport + 'static> Engine<T> {
    /// An engine with these settings; `counter` receives completed responses.
    pub(crate) fn new(settings: &Settings, counter: Arc<Counter>, transport: T) -> Self {
        let budget = Budget::new(settings.memory, counter.held.clone());
        Engine {
            clock: settings.clock,
            exchanges: Exchanges::new(settings, transport, budget),
            limits: Limits::new(settings),
            slots: settings.slots.max(1),
            working: Cell::new(0),
            queue: RefCell::default(),
            watches: RefCell::default(),
            outbox: RefCell::default(),
            outgoing: Notify::new(),
            counter,
        }
    }

    /// The thread's loop; ends when the fetcher is dropped.
    pub(crate) async fn run(self: Rc<Self>, mut orders: UnboundedReceiver<Order>) {
        let mut hand = interval(Duration::from_micros(self.limits.tick()));
        hand.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.outgoing.notified() => {
                    self.counter.deliver(&mut self.outbox.borrow_mut());
                    self.open_slots(); // replaces a slot that a panic ended
                }
                order = orders.recv() => match order {
                    Some(Order::Fetch(requests, turn)) => self.accept(requests, turn),
                    Some(Order::Cancel) => self.cancel(),
                    Some(Order::Taken) => self.exchanges.budget.wake(),
                    None => return,
                },
                _ = hand.tick(), if self.has_timed() => self.look(),
            }
        }
    }

    /// Queues requests and opens slots for them.
    fn accept(self: &Rc<Self>, requests: Vec<Request>, turn: u64) {
        self.queue.borrow_mut().extend(requests.into_iter().map(|request| (request, turn)));
        self.open_slots();
    }

    /// Spawns a task per queued request, as long as slots are free.
    fn open_slots(self: &Rc<Self>) {
        let waiting = self.queue.borrow().len();
        for _ in 0..waiting.min(self.slots.saturating_sub(self.working.get())) {
            spawn_local(Slot::open(self).work());
        }
    }

    /// Cancels all requests in flight.
    fn cancel(&self) {
        let queued: Vec<_> = self.queue.borrow_mut().drain(..).collect();
        let now = self.clock.now();
        for (request, _) in queued {
            self.complete(request, Default::default(), now, Err(cancelled()));
        }
        for watch in &*self.watches.borrow() {
            watch.ring(FailureKind::Cancelled);
        }
    }

    /// Whether anything can time out.
    fn has_timed(&self) -> bool {
        self.working.get() > 0 || self.exchanges.transport.idle() > 0
    }

    /// Checks all watches and idle connections.
    fn look(&self) {
        let now = self.clock.now();
        for watch in &*self.watches.borrow() {
            watch.look(now);
        }
        self.exchanges.transport.expire(now);
    }

    /// Completes a request: puts its response into the outbox.
    fn complete(
        &self,
        request: Request,
        (address, times): (Option<IpAddr>, Times),
        started: Micros,
        result: Result<Received, Failure>,
    ) {
        let times = Times { wall_offset_us: self.clock.wall_offset(), ..times };
        let finished = self.clock.now();
        let response = Response { request, address, started, finished, times, result };
        self.counter.held.completed.fetch_add(response.memory(), SeqCst);
        self.outbox.borrow_mut().push(response);
        self.outgoing.notify_one();
    }
}

/// A slot: a task that processes the queue until it is empty.
struct Slot<T: Transport + 'static> {
    engine: Rc<Engine<T>>,
    progress: Progress,
    started: Micros,
    /// The current request; it is completed in any case, even if a library panics.
    request: Option<Request>,
}

impl<T: Transport + 'static> Slot<T> {
    /// Occupies a free slot.
    fn open(engine: &Rc<Engine<T>>) -> Self {
        let progress = Progress::new(engine.clock, engine.limits, engine.counter.fence.clone());
        progress.begin(engine.clock.now(), Micros::MAX, engine.counter.fence.turn());
        engine.watches.borrow_mut().push(progress.watch.clone());
        engine.working.update(|working| working + 1);
        Slot { engine: engine.clone(), progress, started: 0, request: None }
    }

    /// Processes requests until the queue is empty.
    async fn work(mut self) {
        while self.begin() {
            let result = match &self.request {
                Some(request) if self.is_late(request) => Err(cancelled()),
                Some(request) => self.engine.exchanges.run(request, &self.progress).await,
                None => return,
            };
            self.end(result);
        }
    }

    /// Whether the exchange might outlive the request's lease, after which the frontier may grant it again, or is not permitted.
    fn is_late(&self, request: &Request) -> bool {
        !self.progress.is_permitted(self.started)
            || self.started.saturating_add(self.engine.limits.total) > request.deadline
    }

    /// Takes the next request; returns whether there is one.
    fn begin(&mut self) -> bool {
        self.started = self.engine.clock.now();
        let Some((request, turn)) = self.engine.queue.borrow_mut().pop_front() else { return false };
        self.progress.begin(self.started, request.deadline, turn);
        self.request = Some(request);
        true
    }

    /// Completes the current request.
    fn end(&mut self, result: Result<Received, Failure>) {
        if let Some(request) = self.request.take() {
            let has_sent = self.progress.watch.has_sent();
            let result = result.map_err(|failure| judged(&request, has_sent, failure));
            self.engine.complete(request, self.progress.facts(), self.started, result);
        }
    }
}

impl<T: Transport + 'static> Drop for Slot<T> {
    fn drop(&mut self) {
        // A panic counts as a try: the same bytes would cause it again.
        let is_panic = std::thread::panicking();
        self.end(Err(if is_panic { ended_by(FailureKind::Internal) } else { cancelled() }));
        self.engine.watches.borrow_mut().retain(|watch| !Rc::ptr_eq(watch, &self.progress.watch));
        self.engine.working.update(|working| working - 1);
    }
}

/// The failure of a cancelled request.
fn cancelled() -> Failure {
    ended_by(FailureKind::Cancelled)
}

/// The failure of an exchange of which bytes were sent or not. A request whose method is not idempotent must not be sent again after
/// that (RFC 9110 section 9.2.2), whatever ended the exchange.
fn judged(request: &Request, has_sent: bool, failure: Failure) -> Failure {
    let is_idempotent =
        || Method::from_bytes(request.method().as_bytes()).is_ok_and(|method| method.is_idempotent());
    if !has_sent || !failure.kind.may_be_repeated() || is_idempotent() {
        return failure;
    }
    let (method, kind) = (request.method(), failure.kind.as_str());
    let detail = format!("the {method} was sent and is not sent again: {kind}: {}", failure.detail);
    Failure::new(FailureKind::Unanswered, detail)
}
