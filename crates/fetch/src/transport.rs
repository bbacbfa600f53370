//! How a request becomes a response: what the slots of a [`Fetcher`](crate::Fetcher) run.
//!
//! [`Http1`](crate::Http1) is a transport. Another protocol, a proxy or a recorder is one as well, beside it or around it.
//! Dispatch is static: `Engine<Recorder<Http1>>`. A wrapper costs its own work only.

use std::cell::Cell;
use std::future::Future;
use std::net::IpAddr;
use std::rc::Rc;

use lycosa_records::{Received, Request, Times};
use lycosa_url::{Failure, Micros};

use crate::watch::Watch;

/// Sends requests and receives responses. It belongs to the fetch thread and owns its connections.
pub trait Transport {
    /// Runs one exchange, on a connection that is reused or new. Its address, durations and time-outs belong to `progress`.
    ///
    /// A failure is the site's or the network's, with its kind; nothing is repeated. If a time-out or
    /// [`cancel`](crate::Fetcher::cancel) ends the exchange, the future is dropped before it is ready.
    fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> impl Future<Output = Result<Received, Failure>>;

    /// The number of idle connections.
    fn idle(&self) -> usize;

    /// Closes the connections whose idle time-out has passed. Called several times a second while there are idle ones.
    fn expire(&self, now: Micros);
}

/// Progress of one exchange: its time-outs, and the facts that are known even if it ends early.
#[derive(Debug)]
pub struct Progress {
    pub(crate) watch: Rc<Watch>,
    pub(crate) trace: Trace,
}

/// Facts about an exchange that are known even if it ends early.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// The server's address.
    pub(crate) address: Cell<Option<IpAddr>>,
    times: Cell<Times>,
}

impl Trace {
    /// Updates the durations.
    pub(crate) fn times(&self, note: impl FnOnce(&mut Times)) {
        let mut times = self.times.get();
        note(&mut times);
        self.times.set(times);
    }

    /// The durations so far.
    pub(crate) fn so_far(&self) -> Times {
        self.times.get()
    }
}

/// The microseconds from one time to another, as a record stores them.
pub(crate) fn since(from: Micros, to: Micros) -> u32 {
    u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX)
}
