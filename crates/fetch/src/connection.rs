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
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::certificate;
use crate::tape::Tape;
use crate::watch::Wire;

/// The I/O half of hyper's connection.
type Driver = http1::Connection<TokioIo<Stream>, Full<Bytes>>;

/// An open connection; at most one exchange uses it at a time.
pub(crate) struct Connection {
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
    driver: Option<Driver>,
}

impl Connection {
    /// Starts HTTP/1 on a stream.
    pub(crate) async fn start(
        socket: Socket,
        address: IpAddr,
        options: &http1::Builder,
    ) -> hyper::Result<Self> {
        let (wire, tape) = (Rc::new(Wire::default()), Rc::new(Tape::default()));
        let certificate = match &socket {
            Socket::Plain(_) => None,
            Socket::Tls(stream) => certificate::summary(stream.get_ref().1),
        };
        let stream = Stream { socket, wire: wire.clone(), tape: tape.clone() };
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
fn drive(driver: &mut Option<Driver>, context: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(context).is_ready()) {
        *driver = None; // also fails a request that hyper never began
    }
}

/// Plain or encrypted.
pub(crate) enum Socket {
    /// `http`.
    Plain(TcpStream),
    /// `https`.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A socket that records traffic and heads.
struct Stream {
    socket: Socket,
    wire: Rc<Wire>,
    tape: Rc<Tape>,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Tls(stream) => match Pin::new(stream).poll_read(context, buffer) {
                // Closed without close_notify, as many servers do: treated as the end. If HTTP has the
                // length, truncation is detected anyway; otherwise browsers accept the body, too.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                polled => polled,
            },
        };
        let count = buffer.filled().len() - before;
        if count > 0 {
            self.wire.moved.set(true);
            self.wire.received.update(|total| total + count as u64);
            self.tape.received(&buffer.filled()[before..]);
        }
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        if let Poll::Ready(written) = &polled {
            self.wire.moved.set(true);
            self.tape.sent(&bytes[..*written.as_ref().unwrap_or(&0)]);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_flush(context),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
