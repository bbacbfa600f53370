//! HTTP/1.1 and 1.0: one exchange at a time on a connection, idle connections in a pool.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use lycosa_records::{Body, Received, Request};
use lycosa_url::{Clock, Failure, FailureKind, Micros};

use crate::connect::Dialer;
use crate::connection::Connection;
use crate::dial::{Dial, Dialed};
use crate::message::{self, Template};
use crate::pool::Pool;
use crate::progress::{Progress, since};
use crate::settings::{Settings, micros};
use crate::transport::{Answer, BodyReader, Transport};

/// Open connections from which on each has small buffers, and none while it is idle: 64 KiB for each of thousands are more than they
/// save, and a crawl with so many comes back to each of them late.
const MANY: usize = 128;

/// HTTP/1.1, on the streams that a dialer opens.
pub struct Http1<D: Dial = Dialer> {
    clock: Clock,
    pub(crate) dialer: D,
    pub(crate) template: Template,
    /// hyper's options, and those of connections beyond [`MANY`].
    options: http1::Builder,
    frugal: http1::Builder,
    /// Has a clone in each open connection, which counts them.
    open: Rc<()>,
    pool: RefCell<Pool<Connection<D::Stream>>>,
}

impl<D: Dial> Transport for Http1<D> {
    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<Answer<impl BodyReader>, Failure> {
        match self.take_idle(request) {
            Some(connection) => self.exchange_again(connection, request, progress).await,
            None => {
                progress.connecting();
                // Boxed: few requests open connections, and its state is large.
                let dialed = Box::pin(self.dialer.dial(request, progress)).await?;
                self.exchange_first(dialed, request, progress).await
            }
        }
    }

    fn idle(&self) -> usize {
        self.pool.borrow().len()
    }

    fn expire(&self, now: Micros) {
        self.pool.borrow_mut().expire(now);
    }
}

impl<D: Dial> Http1<D> {
    /// A transport without connections; fails if a setting cannot be used.
    pub fn new(dialer: D, settings: &Settings) -> io::Result<Self> {
        let (options, frugal) = message::options(settings);
        Ok(Http1 {
            clock: settings.clock,
            dialer,
            template: Template::new(settings)?,
            options,
            frugal,
            open: Rc::default(),
            pool: RefCell::new(Pool::new(settings.idle_capacity(), micros(settings.idle_timeout))),
        })
    }

    /// Whether many connections are open.
    fn has_many(&self) -> bool {
        Rc::strong_count(&self.open) > MANY
    }

    /// hyper's options for one more exchange.
    fn options(&self) -> &http1::Builder {
        if self.has_many() { &self.frugal } else { &self.options }
    }

    /// An idle connection for a request.
    pub(crate) fn take_idle(&self, request: &Request) -> Option<Connection<D::Stream>> {
        self.pool.borrow_mut().take(request.url.origin(), &request.route, self.clock.now())
    }

    /// The exchange on a connection that others have used before.
    pub(crate) async fn exchange_again<'t, 'r>(
        &'t self,
        mut connection: Connection<D::Stream>,
        request: &'r Request,
        progress: &Progress,
    ) -> Result<Answer<Reader<'t, 'r, D>>, Failure> {
        connection.wake(self.options()).await.map_err(|error| message::failure(&error))?;
        match self.talk(&mut connection, request, progress).await {
            Ok(head) => Ok(self.answer(connection, request, head)),
            // The server may have closed the idle connection, or read the request and closed then. So the failure does not
            // count against the site, and the request is not repeated at once, without an interval.
            Err(failure)
                if failure.kind == FailureKind::ConnectionClosed
                    && !connection.recorder.wire.has_received() =>
            {
                Err(Failure::new(FailureKind::Cancelled, "the reused connection was closed"))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The exchange on a new stream. Its connection is reused later if it can be.
    pub(crate) async fn exchange_first<'t, 'r>(
        &'t self,
        dialed: Dialed<D::Stream>,
        request: &'r Request,
        progress: &Progress,
    ) -> Result<Answer<Reader<'t, 'r, D>>, Failure> {
        let mut connection = self.start(dialed).await?;
        let head = self.talk(&mut connection, request, progress).await?;
        Ok(self.answer(connection, request, head))
    }

    /// Starts HTTP/1 on a new stream.
    async fn start(&self, dialed: Dialed<D::Stream>) -> Result<Connection<D::Stream>, Failure> {
        Connection::start(dialed, &self.open, self.options()).await.map_err(|error| message::failure(&error))
    }

    /// Sends the request; receives the head, and the body as far as hyper has it.
    async fn talk(
        &self,
        connection: &mut Connection<D::Stream>,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Received, Incoming), Failure> {
        progress.connected(connection.address);
        progress.talking(&connection.recorder.wire)?;
        let began = self.clock.now();
        let Some(response) = connection.send(self.template.request(request)?).await else {
            return Err(Failure::new(FailureKind::ConnectionClosed, "the connection is closed"));
        };
        let response = response.map_err(|error| message::failure(&error))?;
        progress.times(|times| times.first_byte_us = since(began, self.clock.now()));
        if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::new(FailureKind::Protocol, "status 101 without a request to upgrade"));
        }
        let (parts, body) = response.into_parts();
        let (status, source) = (parts.status.as_u16(), message::source(parts.version));
        drop(parts); // so that hyper reuses its read buffer
        let (sent, head) = connection.recorder.tape.take();
        let sent = self.template.without_secrets(request, sent);
        let certificate = connection.certificate.clone();
        let received =
            Received { status, source, head, body: Body::default(), sent, certificate, final_url: None };
        Ok((received, body))
    }

    /// The response with this head; its body's reader has the connection.
    fn answer<'t, 'r>(
        &'t self,
        connection: Connection<D::Stream>,
        request: &'r Request,
        (received, body): (Received, Incoming),
    ) -> Answer<Reader<'t, 'r, D>> {
        Answer { received, body: Reader { http1: self, request, open: Some((connection, body)) } }
    }
}

/// Receives the body of a response, then keeps its connection for another request.
pub(crate) struct Reader<'t, 'r, D: Dial> {
    http1: &'t Http1<D>,
    request: &'r Request,
    /// `None` after the end.
    open: Option<(Connection<D::Stream>, Incoming)>,
}

impl<D: Dial> BodyReader for Reader<'_, '_, D> {
    fn promised(&self) -> u64 {
        self.open.as_ref().map_or(0, |(_, body)| body.size_hint().lower())
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some((connection, body)) = &mut self.open else { return Ok(None) };
        while let Some(frame) = connection.frame(body).await {
            // A frame without data has trailers.
            if let Ok(data) = frame.map_err(|error| message::failure(&error))?.into_data() {
                return Ok(Some(data));
            }
        }
        if let Some((mut connection, body)) = self.open.take() {
            drop(body);
            if connection.is_reusable() {
                let Request { url, route, .. } = self.request;
                let now = self.http1.clock.now();
                if self.http1.has_many() {
                    connection.rest();
                }
                self.http1.pool.borrow_mut().park(url.origin(), route, connection, now);
            }
        }
        Ok(None)
    }
}
