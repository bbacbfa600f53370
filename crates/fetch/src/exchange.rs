//! The exchange of one request and its response.

use std::cell::Cell;
use std::net::IpAddr;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use lycosa_records::{Received, Request, Times};
use lycosa_url::{Failure, FailureKind, Micros};

use crate::connection::Connection;
use crate::engine::Engine;
use crate::message;
use crate::watch::Watch;

/// Maximum initial allocation for a body, whatever its Content-Length.
const FIRST_BODY_BYTES: usize = 1 << 20;

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

/// A failed try, and whether the server had sent nothing.
struct Failed {
    failure: Failure,
    silent: bool,
}

/// Runs a request on an idle connection or, if there is none, on a new one.
pub(crate) async fn exchange(
    engine: &Engine,
    request: &Request,
    watch: &Watch,
    trace: &Trace,
) -> Result<Received, Failure> {
    let kept =
        engine.pool.borrow_mut().take(request.url.origin(), request.route.addresses(), engine.clock.now());
    if let Some(connection) = kept {
        return match attempt(engine, connection, request, watch, trace).await {
            // The server may have closed the idle connection, or read the request and closed then. So the
            // failure does not count against the site, and the request is not repeated at once, without an
            // interval.
            Err(Failed { failure, silent: true }) if failure.kind == FailureKind::ConnectionClosed => {
                Err(Failure::new(FailureKind::Cancelled, "the reused connection was closed"))
            }
            ended => ended.map_err(|failed| failed.failure),
        };
    }
    watch.connecting(engine.clock.now());
    trace.address.set(None);
    let connection = engine.dialer.dial(request, trace).await?;
    attempt(engine, connection, request, watch, trace).await.map_err(|failed| failed.failure)
}

/// Exchanges request and response on one connection, which returns to the pool if it can be reused.
async fn attempt(
    engine: &Engine,
    mut connection: Connection,
    request: &Request,
    watch: &Watch,
    trace: &Trace,
) -> Result<Received, Failed> {
    let before = connection.wire.received.get();
    watch.talking(&connection.wire, engine.clock.now());
    trace.address.set(Some(connection.address));
    match talk(engine, &mut connection, request, watch, trace).await {
        Ok(received) => {
            if connection.is_reusable() {
                engine.pool.borrow_mut().park(request.url.origin(), connection, engine.clock.now());
            }
            Ok(received)
        }
        Err(failure) => Err(Failed { failure, silent: connection.wire.received.get() == before }),
    }
}

/// Sends the request, receives head and body.
pub(crate) async fn talk(
    engine: &Engine,
    connection: &mut Connection,
    request: &Request,
    watch: &Watch,
    trace: &Trace,
) -> Result<Received, Failure> {
    let began = engine.clock.now();
    let response = connection.send(engine.template.request(request)?).await;
    let response = response.map_err(|error| message::failure(&error))?;
    let arrived = engine.clock.now();
    trace.times(|times| times.first_byte_us = since(began, arrived));
    if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::new(FailureKind::Protocol, "status 101 without a request to upgrade"));
    }
    let (parts, body) = response.into_parts();
    let (status, source) = (parts.status.as_u16(), message::source(parts.version));
    drop(parts); // so that hyper reuses its read buffer
    let (sent, head) = connection.tape.take();
    let certificate = connection.certificate.clone();
    let body = collect(engine, connection, body, watch).await?.into();
    trace.times(|times| times.body_us = since(arrived, engine.clock.now()));
    Ok(Received { status, source, head, body, sent, certificate, final_url: None })
}

/// Receives the body into memory of its own; fails as soon as the body is known to be too large. While all
/// bodies together have reached the memory budget, reading is paused.
async fn collect(
    engine: &Engine,
    connection: &mut Connection,
    mut body: Incoming,
    watch: &Watch,
) -> Result<Bytes, Failure> {
    let limit = engine.max_body_bytes;
    let too_large = || Failure::new(FailureKind::BodyTooLarge, format!("more than {limit} bytes"));
    let promised = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if promised > limit {
        return Err(too_large());
    }
    let (mut claim, mut has_waited) = (engine.budget.claim(), false);
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
                watch.pause(engine.clock.now());
                claim.grow(data.len()).await;
                watch.resume(engine.clock.now());
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(Bytes::from(bytes.into_boxed_slice()))
}

/// The microseconds from one time to another, as a record stores them.
pub(crate) fn since(from: Micros, to: Micros) -> u32 {
    u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX)
}
