//! A transport that records what passes through another one, in memory: for tests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lycosa_records::{Received, Request};
use lycosa_url::{Failure, Micros};

use crate::transport::{Progress, Transport};

/// One exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// Its response or failure; `None` while the exchange runs, and if a time-out or a cancellation ended it.
    pub result: Option<Result<Received, Failure>>,
}

/// Recorded exchanges, in the order in which they began. Clones are the same record, for any thread.
#[derive(Clone, Debug, Default)]
pub struct Exchanges(Arc<Mutex<Vec<Exchange>>>);

impl Exchanges {
    /// All so far.
    pub fn all(&self) -> Vec<Exchange> {
        self.lock().clone()
    }

    /// Records a request; returns its place.
    fn begin(&self, request: &Request) -> usize {
        let mut all = self.lock();
        all.push(Exchange { request: request.clone(), result: None });
        all.len() - 1
    }

    /// Records the result of the exchange at a place.
    fn end(&self, place: usize, result: &Result<Received, Failure>) {
        if let Some(exchange) = self.lock().get_mut(place) {
            exchange.result = Some(result.clone());
        }
    }

    /// Locks the record; a panic elsewhere does not leave it inconsistent.
    fn lock(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records the exchanges of another transport.
#[derive(Debug)]
pub struct Recorder<T> {
    inner: T,
    exchanges: Exchanges,
}

impl<T> Recorder<T> {
    /// Records the exchanges of `inner` in `exchanges`.
    pub fn new(inner: T, exchanges: Exchanges) -> Self {
        Recorder { inner, exchanges }
    }
}

impl<T: Transport> Transport for Recorder<T> {
    async fn exchange(&self, request: &Request, progress: &Progress) -> Result<Received, Failure> {
        let place = self.exchanges.begin(request);
        let result = self.inner.exchange(request, progress).await;
        self.exchanges.end(place, &result);
        result
    }

    fn idle(&self) -> usize {
        self.inner.idle()
    }

    fn expire(&self, now: Micros) {
        self.inner.expire(now);
    }
}
