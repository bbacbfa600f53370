//! The handle: what other threads see of the fetch thread.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_url::{Request, Response};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::engine::Engine;
use crate::settings::Settings;

/// Fetches requests on a thread of its own. Every request that is submitted comes back exactly once.
pub struct Fetcher {
    slots: usize,
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
}

impl Fetcher {
    /// Starts the thread; fails when a setting cannot be used.
    pub fn start(settings: Settings) -> io::Result<Fetcher> {
        let (orders, incoming) = unbounded_channel();
        let counter = Arc::new(Counter::default());
        let slots = settings.slots.max(1);
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
        Ok(Fetcher { slots, orders: Some(orders), counter, thread: Some(thread) })
    }

    /// How many requests would start at once. 0 also while more than a full set of slots waits to be taken by
    /// [`completed`](Self::completed), so that a slow consumer bounds the bodies in memory.
    pub fn free(&self) -> usize {
        let state = self.counter.lock();
        let backlog = state.done.len();
        self.slots.saturating_sub(state.running).saturating_sub(backlog.saturating_sub(self.slots))
    }

    /// Hands requests over; never blocks. Beyond the free slots they wait inside.
    pub fn submit(&self, requests: Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        self.counter.lock().running += requests.len();
        self.order(Order::Fetch(requests));
    }

    /// Waits until a response is there or `within` has passed; gives what is ready then, at most `max`.
    pub fn completed(&self, max: usize, within: Duration) -> Vec<Response> {
        self.counter.take(max, within)
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

    /// Takes at most `max` responses, waiting `within` for the first.
    fn take(&self, max: usize, within: Duration) -> Vec<Response> {
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
        let count = state.done.len().min(max);
        let taken = state.done.drain(..count).collect();
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
