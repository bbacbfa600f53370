//! The handle of the fetch thread for other threads.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_records::{Request, Response};
use lycosa_url::{Clock, Micros};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::allocator::keep_freed_memory;
use crate::alpn::{HTTP1, Http, PROTOCOLS};
use crate::budget::Held;
use crate::connect::Dialer;
use crate::engine::Engine;
use crate::fence::Fence;
use crate::http1::Http1;
use crate::settings::Settings;
use crate::transport::Transport;

/// Fetches requests on a thread of its own. Each submitted request is returned exactly once.
pub struct Fetcher {
    clock: Clock,
    slots: usize,
    memory: usize,
    batch_bytes: usize,
    /// `None` after drop, which ends the thread.
    orders: Option<UnboundedSender<Order>>,
    counter: Arc<Counter>,
    thread: Option<JoinHandle<()>>,
}

/// A message to the fetch thread.
pub(crate) enum Order {
    /// Fetch these requests, which were submitted in a turn of the fence.
    Fetch(Vec<Request>, u64),
    /// Cancel all requests in flight.
    Cancel,
    /// Responses were taken: bodies that wait for memory may continue.
    Taken,
}

/// Approximate memory of a page, in bytes: requests are started only while there is memory for them.
const PAGE_BYTES: usize = 64 << 10;

impl Fetcher {
    /// Starts the thread with HTTP/1.1 and, if the settings allow it, HTTP/2; fails if a setting cannot be used.
    pub fn start(settings: Settings) -> io::Result<Fetcher> {
        if settings.http2 {
            Self::start_with(settings, |settings| Http::new(Dialer::new(settings, &PROTOCOLS)?, settings))
        } else {
            Self::start_with(settings, |settings| Http1::new(Dialer::new(settings, &[HTTP1])?, settings))
        }
    }

    /// Starts the thread with the transport that `make` returns, on that thread; fails if `make` does.
    ///
    /// The fetcher has the time-outs, and the limits of size and memory of bodies: a transport needs none of its own. The process keeps
    /// freed memory for further bodies: up to 16 MiB at the end of each heap, in place of 128 KiB (mallopt(3)).
    pub fn start_with<T: Transport + 'static>(
        settings: Settings,
        make: impl FnOnce(&Settings) -> io::Result<T> + Send + 'static,
    ) -> io::Result<Fetcher> {
        keep_freed_memory();
        let (orders, incoming) = unbounded_channel();
        let counter = Arc::new(Counter::default());
        let (slots, memory, batch_bytes) = (settings.slots.max(1), settings.memory, settings.batch_bytes);
        let clock = settings.clock;
        let (report, started) = mpsc::channel();
        let shared = counter.clone();
        let thread =
            std::thread::Builder::new().name("lycosa-fetch".to_owned()).spawn(move || {
                match prepare(&settings, shared, make) {
                    Ok((runtime, engine)) => {
                        let _ = report.send(Ok(()));
                        run(&runtime, engine, incoming);
                    }
                    Err(error) => {
                        let _ = report.send(Err(error));
                    }
                }
            })?;
        started.recv().map_err(io::Error::other)??;
        Ok(Fetcher { clock, slots, memory, batch_bytes, orders: Some(orders), counter, thread: Some(thread) })
    }

    /// The number of requests that would start at once. It is less than the number of free slots, down to 0,
    /// while many responses wait for [`completed`](Self::completed) or little memory is left.
    pub fn free(&self) -> usize {
        let state = self.counter.lock();
        let backlog = state.done.len();
        let slots =
            self.slots.saturating_sub(state.running).saturating_sub(backlog.saturating_sub(self.slots));
        slots.min(self.memory.saturating_sub(self.counter.held.bytes()) / PAGE_BYTES)
    }

    /// Submits requests; never blocks. Requests beyond the free slots are queued.
    pub fn submit(&self, requests: Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        self.counter.lock().running += requests.len();
        self.order(Order::Fetch(requests, self.counter.fence.turn()));
    }

    /// Waits until a response is ready or `within` has passed; returns what is ready, at most `max`
    /// responses, and not much more than [`Settings::batch_bytes`].
    pub fn completed(&self, max: usize, within: Duration) -> Vec<Response> {
        let taken = self.counter.take(max, self.batch_bytes, within);
        if !taken.is_empty() && self.counter.held.starving.swap(false, SeqCst) {
            self.order(Order::Taken);
        }
        taken
    }

    /// Fails if the thread has ended, which only a panic outside of the slots can do: no response is completed any more.
    pub fn check(&self) -> io::Result<()> {
        match &self.thread {
            Some(thread) if !thread.is_finished() => Ok(()),
            _ => Err(io::Error::other("its thread has ended because of a defect")),
        }
    }

    /// Memory of responses, in bytes, from a body's first byte until they are taken.
    pub fn held(&self) -> usize {
        self.counter.held.bytes()
    }

    /// A handle to return responses that the caller cannot process yet.
    pub fn returns(&self) -> Returns {
        Returns(self.counter.clone())
    }

    /// The number of submitted requests that [`completed`](Self::completed) has not returned.
    pub fn in_flight(&self) -> usize {
        let state = self.counter.lock();
        state.running + state.done.len()
    }

    /// Cancels all requests in flight; they complete at once as
    /// [`Cancelled`](lycosa_url::FailureKind::Cancelled).
    pub fn cancel(&self) {
        self.order(Order::Cancel);
    }

    /// The clock of the settings.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Sends no request from this time on, on the clock of the settings, until a later time is set: what was not sent before completes as
    /// [`Cancelled`](lycosa_url::FailureKind::Cancelled). Requests that were sent go on.
    ///
    /// A time that is set once the last one is passed holds for requests that are submitted from then on.
    pub fn set_fence(&self, at: Micros) {
        self.counter.fence.set(at, self.clock.now());
    }

    /// Does not send what was submitted and not sent yet: it completes as [`Cancelled`](lycosa_url::FailureKind::Cancelled).
    pub fn recall(&self) {
        self.counter.fence.recall();
    }

    /// Sends a message to the thread, which lives as long as the handle.
    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes responses back; [`Fetcher::completed`] returns them again, before all others.
#[derive(Clone)]
pub struct Returns(Arc<Counter>);

impl Returns {
    /// Takes responses back, in their order.
    pub fn give_back(&self, responses: Vec<Response>) {
        let bytes = responses.iter().map(Response::memory).sum();
        self.0.held.completed.fetch_add(bytes, SeqCst);
        let mut state = self.0.lock();
        responses.into_iter().rev().for_each(|response| state.done.push_front(response));
    }
}

/// The part of the start that can fail.
fn prepare<T: Transport + 'static>(
    settings: &Settings,
    counter: Arc<Counter>,
    make: impl FnOnce(&Settings) -> io::Result<T>,
) -> io::Result<(Runtime, Engine<T>)> {
    let engine = Engine::new(settings, counter, make(settings)?);
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    Ok((runtime, engine))
}

/// The thread's main function.
fn run<T: Transport + 'static>(runtime: &Runtime, engine: Engine<T>, orders: UnboundedReceiver<Order>) {
    let tasks = LocalSet::new();
    tasks.block_on(runtime, Rc::new(engine).run(orders));
}

/// The queue of completed responses. Filled by the fetch thread, emptied by callers of `completed`.
#[derive(Default)]
pub(crate) struct Counter {
    /// Memory of bodies and of the responses that wait here.
    pub(crate) held: Arc<Held>,
    /// Which requests may be sent.
    pub(crate) fence: Arc<Fence>,
    state: Mutex<State>,
    filled: Condvar,
}

/// The state that the lock guards.
#[derive(Default)]
struct State {
    done: VecDeque<Response>,
    /// Requests that are submitted and not completed.
    running: usize,
    /// Threads that wait in `take`.
    waiting: usize,
}

impl Counter {
    /// Enqueues completed responses; notifies a thread only if one waits.
    pub(crate) fn deliver(&self, responses: &mut Vec<Response>) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(responses.len());
        state.done.extend(responses.drain(..));
        if state.waiting > 0 && !state.done.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Takes at most `max` responses, and after the first only as many as fit into `max_bytes`; waits
    /// `within` for the first.
    fn take(&self, max: usize, max_bytes: usize, within: Duration) -> Vec<Response> {
        let began = Instant::now();
        let mut state = self.lock();
        while state.done.is_empty() {
            let left = within.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Vec::new();
            }
            state.waiting += 1;
            state = self.filled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
        let mut bytes = 0;
        let fits = |response: &&Response| {
            let is_first = bytes == 0;
            bytes += response.memory();
            is_first || bytes <= max_bytes
        };
        let count = state.done.iter().take(max).take_while(fits).count();
        let taken: Vec<Response> = state.done.drain(..count).collect();
        self.held.completed.fetch_sub(taken.iter().map(Response::memory).sum(), SeqCst);
        if state.waiting > 0 && !state.done.is_empty() {
            self.filled.notify_one(); // the rest may be for another waiting thread
        }
        taken
    }

    /// Locks the state; a panic elsewhere does not leave it inconsistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
