//! The handle: what other threads see of the client's thread.

use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use lycosa_url::Resolved;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::cache::NameCache;
use crate::engine::Engine;
use crate::settings::{Settings, Statistics};

/// Resolves names on a thread of its own.
pub struct Client {
    /// None once dropped, which ends the thread.
    orders: Option<UnboundedSender<Vec<Box<str>>>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Client {
    /// Starts the thread; fails without servers. The cache is the client's alone, unless its design is shared by itself.
    pub fn start(settings: Settings, cache: Box<dyn NameCache>) -> io::Result<Client> {
        if settings.servers.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no DNS server; at least one is needed"));
        }
        let (orders, incoming) = unbounded_channel();
        let shared = Arc::new(Shared::default());
        let told = shared.clone();
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let thread = std::thread::Builder::new().name("lycosa-names".to_owned()).spawn(move || {
            let tasks = LocalSet::new();
            tasks.block_on(&runtime, Rc::new(Engine::new(settings, cache, told)).run(incoming));
        })?;
        Ok(Client { orders: Some(orders), shared, thread: Some(thread) })
    }

    /// Hands names over; never blocks. Addresses are answered at once. A name that is in flight already is
    /// not asked for again, and the one answer serves both.
    pub fn submit(&self, names: Vec<Box<str>>) {
        if names.is_empty() {
            return;
        }
        self.shared.pending.fetch_add(names.len(), Ordering::AcqRel);
        if let Some(orders) = &self.orders {
            let _ = orders.send(names); // the thread lives as long as the handle
        }
    }

    /// Gives the answers that are there.
    pub fn drain(&self, into: &mut Vec<Resolved>) {
        let mut told = self.shared.lock();
        self.shared.pending.fetch_sub(told.answers.len(), Ordering::AcqRel);
        into.append(&mut told.answers);
    }

    /// Waits at most so long until there are answers to drain; tells whether there are.
    pub fn wait(&self, within: Duration) -> bool {
        let nothing = |told: &mut Told| told.answers.is_empty();
        let waited = self.shared.arrived.wait_timeout_while(self.shared.lock(), within, nothing);
        !waited.unwrap_or_else(PoisonError::into_inner).0.answers.is_empty()
    }

    /// Names that were submitted and whose answer [`drain`](Self::drain) has not given.
    pub fn pending(&self) -> usize {
        self.shared.pending.load(Ordering::Acquire)
    }

    /// Counts since the start.
    pub fn statistics(&self) -> Statistics {
        self.shared.lock().statistics
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where the threads meet. Filled by the client's thread, emptied by `drain`.
#[derive(Default)]
pub(crate) struct Shared {
    pending: AtomicUsize,
    told: Mutex<Told>,
    /// Wakes who waits for answers.
    arrived: Condvar,
}

/// What the lock guards.
#[derive(Default)]
struct Told {
    answers: Vec<Resolved>,
    statistics: Statistics,
}

impl Shared {
    /// Names that will get no answer of their own.
    pub(crate) fn forget(&self, names: usize) {
        self.pending.fetch_sub(names, Ordering::AcqRel);
    }

    /// Puts answers where `drain` finds them.
    pub(crate) fn publish(&self, answers: &mut Vec<Resolved>, statistics: Statistics) {
        let mut told = self.lock();
        told.answers.append(answers);
        told.statistics = statistics;
        if !told.answers.is_empty() {
            self.arrived.notify_all();
        }
    }

    /// The lock; a panic elsewhere leaves nothing half-done behind it.
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
