//! The handle: what other threads see of the fetch thread.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_records::{Request, Response};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::budget::Held;
use crate::engine::Engine;
use crate::settings::Settings;

/// Fetches requests on a thread of its own. Every request that is submitted comes back exactly once.
pub struct Fetcher {
    slots: usize,
    memory: usize,
    batch_bytes: usize,
    /// None once dropped, which ends the thread.
    orders: Option<UnboundedSender<Order>>,
    counter: Arc<Counter>,
    thread: Option<JoinHandle<()>>,
}

/// What the fetch thread is told.
pub(crate) enum Order {
    /// Fetch these.
    Fetch(Vec<Request>),
    /// End everything in flight.
    Cancel,
    /// Responses were taken that bodies wait for.
    Taken,
}

/// What a page takes, about: as many requests are started as there is memory for.
const PAGE_BYTES: usize = 64 << 10;

impl Fetcher {
    /// Starts the thread; fails when a setting cannot be used.
    pub fn start(settings: Settings) -> io::Result<Fetcher> {
        let (orders, incoming) = unbounded_channel();
        let counter = Arc::new(Counter::default());
        let (slots, memory, batch_bytes) = (settings.slots.max(1), settings.memory, settings.batch_bytes);
        let (report, started) = mpsc::channel();
        let shared = counter.clone();
        let thread =
            std::thread::Builder::new().name("lycosa-fetch".to_owned()).spawn(move || {
                match prepare(&settings, shared) {
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
        Ok(Fetcher { slots, memory, batch_bytes, orders: Some(orders), counter, thread: Some(thread) })
    }

    /// How many requests would start at once. Fewer than there are slots, down to 0, while much waits to be taken by
    /// [`completed`](Self::completed) or there is little memory left.
    pub fn free(&self) -> usize {
        let state = self.counter.lock();
        let backlog = state.done.len();
        let slots =
            self.slots.saturating_sub(state.running).saturating_sub(backlog.saturating_sub(self.slots));
        slots.min(self.memory.saturating_sub(self.counter.held.bytes()) / PAGE_BYTES)
    }

    /// Hands requests over; never blocks. Beyond the free slots they wait inside.
    pub fn submit(&self, requests: Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        self.counter.lock().running += requests.len();
        self.order(Order::Fetch(requests));
    }

    /// Waits until a response is there or `within` has passed; gives what is ready then, at most `max`, and not much more
    /// than [`Settings::batch_bytes`].
    pub fn completed(&self, max: usize, within: Duration) -> Vec<Response> {
        let taken = self.counter.take(max, self.batch_bytes, within);
        if !taken.is_empty() && self.counter.held.starving.swap(false, SeqCst) {
            self.order(Order::Taken);
        }
        taken
    }

    /// Bytes that responses hold, from a body's first byte until they are taken.
    pub fn held(&self) -> usize {
        self.counter.held.bytes()
    }

    /// Where responses may be returned to that there is no room for yet.
    pub fn returns(&self) -> Returns {
        Returns(self.counter.clone())
    }

    /// Requests that were submitted and have not been given back by [`completed`](Self::completed).
    pub fn in_flight(&self) -> usize {
        let state = self.counter.lock();
        state.running + state.done.len()
    }

    /// Everything in flight completes at once as [`Cancelled`](lycosa_url::FailureKind::Cancelled).
    pub fn cancel(&self) {
        self.order(Order::Cancel);
    }

    /// Tells the thread; it lives as long as the handle.
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

/// Takes responses back; [`Fetcher::completed`] gives them again, before all others.
#[derive(Clone)]
pub struct Returns(Arc<Counter>);

impl Returns {
    /// Takes them back, in their order.
    pub fn give_back(&self, responses: Vec<Response>) {
        let bytes = responses.iter().map(Response::memory).sum();
        self.0.held.completed.fetch_add(bytes, SeqCst);
        let mut state = self.0.lock();
        responses.into_iter().rev().for_each(|response| state.done.push_front(response));
    }
}

/// Everything that can fail at the start.
fn prepare(settings: &Settings, counter: Arc<Counter>) -> io::Result<(Runtime, Engine)> {
    let engine = Engine::new(settings, counter)?;
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    Ok((runtime, engine))
}

/// The thread's whole life.
fn run(runtime: &Runtime, engine: Engine, orders: UnboundedReceiver<Order>) {
    let tasks = LocalSet::new();
    tasks.block_on(runtime, Rc::new(engine).run(orders));
}

/// Where the threads meet. Filled by the fetch thread, emptied by whoever calls `completed`.
#[derive(Default)]
pub(crate) struct Counter {
    /// What is held by bodies and by what waits here.
    pub(crate) held: Arc<Held>,
    state: Mutex<State>,
    filled: Condvar,
}

/// What the lock guards.
#[derive(Default)]
struct State {
    done: VecDeque<Response>,
    /// Submitted and not completed.
    running: usize,
    /// Threads that wait in `take`.
    waiting: usize,
}

impl Counter {
    /// Puts completed responses on the counter; wakes somebody only if somebody waits.
    pub(crate) fn deliver(&self, responses: &mut Vec<Response>) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(responses.len());
        state.done.extend(responses.drain(..));
        if state.waiting > 0 && !state.done.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Takes at most `max` responses, and after the first no more than fit into `max_bytes`; waits `within` for the first.
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
            self.filled.notify_one(); // what is left may be for another thread that waits
        }
        taken
    }

    /// The lock; a panic elsewhere leaves nothing half-done behind it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
