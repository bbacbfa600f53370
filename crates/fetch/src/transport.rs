//! How a request becomes a response: what the slots of a [`Fetcher`](crate::Fetcher) run.
//!
//! [`Http1`](crate::Http1) is a transport. Another protocol or a recorder is one as well, beside it or around it; what changes the
//! way to the server, such as a proxy, implements [`Dial`](crate::Dial). Dispatch is static: `Engine<Recorder<Http1<Proxy>>>`. A
//! wrapper costs its own work only.

use std::future::Future;

use bytes::Bytes;
use lycosa_records::{Received, Request};
use lycosa_url::{Failure, Micros};

use crate::progress::Progress;

/// Sends requests and receives responses. It belongs to the fetch thread and owns its connections.
pub trait Transport {
    /// Sends a request and receives the head of its response, on a connection that is reused or new. It reports to `progress`, to
    /// which the time-outs belong.
    ///
    /// A failure is the site's or the network's, with its kind; nothing is repeated. If a time-out or
    /// [`cancel`](crate::Fetcher::cancel) ends the exchange, the future, or the body's reader, is dropped.
    fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> impl Future<Output = Result<Answer<impl BodyReader>, Failure>>;

    /// The number of idle connections.
    fn idle(&self) -> usize;

    /// Closes the connections whose idle time-out has passed. Called several times a second while there are idle ones.
    fn expire(&self, now: Micros);
}

/// The head of a response, and a body that is still to be received.
#[derive(Debug)]
pub struct Answer<B> {
    /// The response, without its body.
    pub received: Received,
    /// Its body.
    pub body: B,
}

impl<B> Answer<B> {
    /// The same answer with another reader of its body.
    pub fn map<C>(self, wrap: impl FnOnce(B) -> C) -> Answer<C> {
        Answer { received: self.received, body: wrap(self.body) }
    }
}

/// Receives a body. The fetcher counts its bytes against its limits, and reads on when there is memory for more.
pub trait BodyReader {
    /// The number of bytes that are still to come, as far as the server has announced it; 0 if unknown.
    fn promised(&self) -> u64;

    /// Receives the next bytes; `None` at the end, with which the connection may be reused.
    fn read(&mut self) -> impl Future<Output = Result<Option<Bytes>, Failure>>;
}

/// A body that is in memory.
impl BodyReader for Bytes {
    fn promised(&self) -> u64 {
        self.len() as u64
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Failure> {
        Ok(Some(std::mem::take(self)).filter(|bytes| !bytes.is_empty()))
    }
}
