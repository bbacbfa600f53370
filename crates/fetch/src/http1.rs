//! HTTP/1.1 and 1.0: one exchange at a time on a connection, idle connections in a pool.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use lycosa_records::{Received, Request};
use lycosa_url::{Clock, Failure, FailureKind, Micros};

use crate::budget::Budget;
use crate::connect::Dialer;
use crate::connection::Connection;
use crate::message::{self, Template};
use crate::pool::Pool;
use crate::settings::{Settings, micros};
use crate::transport::{Progress, Transport, since};
use crate::watch::Watch;

/// Maximum initial allocation for a body, whatever its Content-Length.
const FIRST_BODY_BYTES: usize = 1 << 20;

/// HTTP/1.1, over TLS where the URL is `https`.
pub struct Http1 {
    clock: Clock,
    dialer: Dialer,
    template: Template,
    pool: RefCell<Pool>,
    /// The memory budget of bodies.
    budget: Rc<Budget>,
    /// Maximum size of a body, in bytes.
    max_body_bytes: usize,
}

/// A failed try, and whether the server had sent nothing.
struct Failed {
    failure: Failure,
    silent: bool,
}

impl Transport for Http1 {
    async fn exchange(&self, request: &Request, progress: &Progress) -> Result<Received, Failure> {
        let (origin, addresses) = (request.url.origin(), request.route.addresses());
        let kept = self.pool.borrow_mut().take(origin, addresses, self.clock.now());
        if let Some(connection) = kept {
            return match self.attempt(connection, request, progress).await {
                // The server may have closed the idle connection, or read the request and closed then. So the
                // failure does not count against the site, and the request is not repeated at once, without an
                // interval.
                Err(Failed { failure, silent: true }) if failure.kind == FailureKind::ConnectionClosed => {
                    Err(Failure::new(FailureKind::Cancelled, "the reused connection was closed"))
                }
                ended => ended.map_err(|failed| failed.failure),
            };
        }
        progress.watch.connecting(self.clock.now());
        progress.trace.address.set(None);
        let connection = self.dialer.dial(request, &progress.trace).await?;
        self.attempt(connection, request, progress).await.map_err(|failed| failed.failure)
    }

    fn idle(&self) -> usize {
        self.pool.borrow().len()
    }

    fn expire(&self, now: Micros) {
        self.pool.borrow_mut().expire(now);
    }
}

impl Http1 {
    /// A transport without connections; fails if a setting cannot be used.
    pub(crate) fn new(settings: &Settings, budget: Rc<Budget>) -> io::Result<Self> {
        Ok(Http1 {
            clock: settings.clock,
            dialer: Dialer::new(settings)?,
            template: Template::new(settings)?,
            pool: RefCell::new(Pool::new(settings.idle_connections, micros(settings.idle_timeout))),
            budget,
            max_body_bytes: settings.max_body_bytes,
        })
    }

    /// Exchanges request and response on one connection, which returns to the pool if it can be reused.
    async fn attempt(
        &self,
        mut connection: Connection,
        request: &Request,
        progress: &Progress,
    ) -> Result<Received, Failed> {
        let before = connection.wire.received.get();
        progress.watch.talking(&connection.wire, self.clock.now());
        progress.trace.address.set(Some(connection.address));
        match self.talk(&mut connection, request, progress).await {
            Ok(received) => {
                if connection.is_reusable() {
                    self.pool.borrow_mut().park(request.url.origin(), connection, self.clock.now());
                }
                Ok(received)
            }
            Err(failure) => Err(Failed { failure, silent: connection.wire.received.get() == before }),
        }
    }

    /// Sends the request, receives head and body.
    pub(crate) async fn talk(
        &self,
        connection: &mut Connection,
        request: &Request,
        Progress { watch, trace }: &Progress,
    ) -> Result<Received, Failure> {
        let began = self.clock.now();
        let response = connection.send(self.template.request(request)?).await;
        let response = response.map_err(|error| message::failure(&error))?;
        let arrived = self.clock.now();
        trace.times(|times| times.first_byte_us = since(began, arrived));
        if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::new(FailureKind::Protocol, "status 101 without a request to upgrade"));
        }
        let (parts, body) = response.into_parts();
        let (status, source) = (parts.status.as_u16(), message::source(parts.version));
        drop(parts); // so that hyper reuses its read buffer
        let (sent, head) = connection.tape.take();
        let certificate = connection.certificate.clone();
        let body = self.collect(connection, body, watch).await?.into();
        trace.times(|times| times.body_us = since(arrived, self.clock.now()));
        Ok(Received { status, source, head, body, sent, certificate, final_url: None })
    }

    /// Receives the body into memory of its own; fails as soon as the body is known to be too large. While all
    /// bodies together have reached the memory budget, reading is paused.
    async fn collect(
        &self,
        connection: &mut Connection,
        mut body: Incoming,
        watch: &Watch,
    ) -> Result<Bytes, Failure> {
        let limit = self.max_body_bytes;
        let too_large = || Failure::new(FailureKind::BodyTooLarge, format!("more than {limit} bytes"));
        let promised = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if promised > limit {
            return Err(too_large());
        }
        let (mut claim, mut has_waited) = (self.budget.claim(), false);
        let mut bytes = Vec::with_capacity(promised.min(FIRST_BODY_BYTES));
        while let Some(frame) = connection.frame(&mut body).await {
            let frame = frame.map_err(|error| match message::failure(&error) {
                // The server closed because we had paused.
                failure if has_waited && failure.kind == FailureKind::ConnectionClosed => {
                    Failure::new(FailureKind::Cancelled, "closed by the server while waiting for memory")
                }
                failure => failure,
            })?;
            if let Some(data) = frame.data_ref() {
                if data.len() > limit - bytes.len() {
                    return Err(too_large());
                }
                if !claim.grow_now(data.len()) {
                    has_waited = true;
                    watch.pause(self.clock.now());
                    claim.grow(data.len()).await;
                    watch.resume(self.clock.now());
                }
                bytes.extend_from_slice(data);
            }
        }
        Ok(Bytes::from(bytes.into_boxed_slice()))
    }
}
