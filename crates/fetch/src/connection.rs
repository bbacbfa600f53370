//! One connection to one server: hyper's HTTP/1 state machine over a stream that counts bytes.
//!
//! hyper is designed to be polled by a task of its own. Here the exchange polls the connection, so that a
//! response costs no task switch; an idle connection is polled only before reuse.

use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lycosa_records::Certificate;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::dial::Dialed;
use crate::tape::Tape;
use crate::watch::Wire;

/// The I/O half of hyper's connection.
type Driver<S> = http1::Connection<TokioIo<Stream<S>>, Full<Bytes>>;

/// An open connection; at most one exchange uses it at a time.
pub(crate) struct Connection<S: AsyncRead + AsyncWrite + Unpin + 'static> {
    /// The server's address.
    pub(crate) address: IpAddr,
    /// Its traffic.
    pub(crate) wire: Rc<Wire>,
    /// The heads of the current exchange.
    pub(crate) tape: Rc<Tape>,
    /// The certificate, over TLS.
    pub(crate) certificate: Option<Arc<Certificate>>,
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` after hyper has finished with the connection.
    driver: Option<Driver<S>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Connection<S> {
    /// Starts HTTP/1 on a stream.
    pub(crate) async fn start(dialed: Dialed<S>, options: &http1::Builder) -> hyper::Result<Self> {
        let Dialed { stream, address, certificate, .. } = dialed;
        let (wire, tape) = (Rc::new(Wire::default()), Rc::new(Tape::default()));
        let stream = Stream { inner: stream, wire: wire.clone(), tape: tape.clone() };
        let (sender, driver) = options.handshake(TokioIo::new(stream)).await?;
        Ok(Connection { address, wire, tape, certificate, sender, driver: Some(driver) })
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> hyper::Result<http::Response<Incoming>> {
        self.tape.begin();
        let mut response = pin!(self.sender.send_request(request));
        let driver = &mut self.driver;
        poll_fn(|context| {
            drive(driver, context);
            response.as_mut().poll(context)
        })
        .await
    }

    /// Waits for the next part of a body.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|context| {
            let ready = Pin::new(&mut *body).poll_frame(context);
            if ready.is_ready() {
                return ready;
            }
            drive(&mut self.driver, context);
            Pin::new(&mut *body).poll_frame(context)
        })
        .await
    }

    /// Whether another request may be sent: the server keeps the connection alive and has not closed it, as
    /// far as is known.
    pub(crate) fn is_reusable(&mut self) -> bool {
        drive(&mut self.driver, &mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Lets hyper read and write. Its errors reach the exchange through response and body.
fn drive<S: AsyncRead + AsyncWrite + Unpin + 'static>(
    driver: &mut Option<Driver<S>>,
    context: &mut Context<'_>,
) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(context).is_ready()) {
        *driver = None; // also fails a request that hyper never began
    }
}

/// A stream that records traffic and heads.
struct Stream<S> {
    inner: S,
    wire: Rc<Wire>,
    tape: Rc<Tape>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.wire.received();
            self.tape.received(&buffer.filled()[before..]);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.wire.sent();
            self.tape.sent(&bytes[..written]);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
