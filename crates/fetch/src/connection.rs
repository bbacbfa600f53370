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
use std::task::{Context, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lycosa_records::Certificate;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::dial::Dialed;
use crate::observed::{Observed, Observer};
use crate::tape::Tape;
use crate::watch::Wire;

/// The I/O half of hyper's connection.
type Driver<S> = http1::Connection<TokioIo<Observed<S, Recorder>>, Full<Bytes>>;

/// Records the traffic and the heads of a connection.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    /// The traffic.
    pub(crate) wire: Rc<Wire>,
    /// The heads of the current exchange.
    pub(crate) tape: Rc<Tape>,
}

impl Observer for Recorder {
    fn received(&self, bytes: &[u8]) -> io::Result<()> {
        self.wire.received();
        self.tape.received(bytes)
    }

    fn sent(&self, bytes: &[u8]) {
        self.wire.sent();
        self.tape.sent(bytes);
    }
}

/// An open connection; at most one exchange uses it at a time.
pub(crate) struct Connection<S: AsyncRead + AsyncWrite + Unpin + 'static> {
    /// The server's address.
    pub(crate) address: IpAddr,
    /// Its traffic and heads.
    pub(crate) recorder: Recorder,
    /// The certificate, over TLS.
    pub(crate) certificate: Option<Arc<Certificate>>,
    link: Link<S>,
    /// Counts it as open.
    _open: Rc<()>,
}

/// hyper's two halves of an open connection.
struct Halves<S: AsyncRead + AsyncWrite + Unpin + 'static> {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` after hyper has finished with the connection.
    driver: Option<Driver<S>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Halves<S> {
    /// The bare stream; `None` if it has ended, or bytes that belong to no response have come.
    fn into_stream(self) -> Option<S> {
        let parts = self.driver?.into_parts();
        parts.read_buf.is_empty().then(|| parts.io.into_inner().inner)
    }
}

/// What an exchange uses.
enum Link<S: AsyncRead + AsyncWrite + Unpin + 'static> {
    /// hyper's halves.
    Open(Box<Halves<S>>),
    /// The bare stream of a connection that has been idle for a while: hyper's buffers take 64 KiB and more.
    Resting(S),
    /// Nothing: hyper has finished with the connection.
    Closed,
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Link<S> {
    /// Starts HTTP/1 on a stream.
    async fn open(stream: S, recorder: &Recorder, options: &http1::Builder) -> hyper::Result<Self> {
        let stream = Observed { inner: stream, observer: recorder.clone() };
        let (sender, driver) = options.handshake(TokioIo::new(stream)).await?;
        Ok(Link::Open(Box::new(Halves { sender, driver: Some(driver) })))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Connection<S> {
    /// Starts HTTP/1 on a stream. Until it is dropped, the connection has a clone of `open`.
    pub(crate) async fn start(
        dialed: Dialed<S>,
        open: &Rc<()>,
        options: &http1::Builder,
    ) -> hyper::Result<Self> {
        let Dialed { stream, address, certificate, .. } = dialed;
        let recorder = Recorder::default();
        let link = Link::open(stream, &recorder, options).await?;
        Ok(Connection { address, recorder, certificate, link, _open: open.clone() })
    }

    /// Drops the buffers of an idle connection until [`Connection::wake`].
    pub(crate) fn rest(&mut self) {
        self.link = match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Open(halves) => halves.into_stream().map_or(Link::Closed, Link::Resting),
            other => other,
        };
    }

    /// Starts HTTP/1 anew on a connection that rests.
    pub(crate) async fn wake(&mut self, options: &http1::Builder) -> hyper::Result<()> {
        match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Resting(stream) => self.link = Link::open(stream, &self.recorder, options).await?,
            other => self.link = other,
        }
        Ok(())
    }

    /// Sends a request and waits for the head of its response; `None` if the connection is closed.
    pub(crate) async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> Option<hyper::Result<http::Response<Incoming>>> {
        self.recorder.tape.begin();
        let Link::Open(halves) = &mut self.link else { return None };
        let Halves { sender, driver } = &mut **halves;
        let mut response = pin!(sender.send_request(request));
        let answered = poll_fn(|context| {
            drive(driver, context);
            response.as_mut().poll(context)
        });
        Some(answered.await)
    }

    /// Waits for the next part of a body.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|context| {
            let ready = Pin::new(&mut *body).poll_frame(context);
            if ready.is_ready() {
                return ready;
            }
            if let Link::Open(halves) = &mut self.link {
                drive(&mut halves.driver, context);
            }
            Pin::new(&mut *body).poll_frame(context)
        })
        .await
    }

    /// Whether another request may be sent: the server keeps the connection alive and has not closed it, as
    /// far as is known.
    pub(crate) fn is_reusable(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        match &mut self.link {
            Link::Open(halves) => {
                drive(&mut halves.driver, &mut context);
                halves.driver.is_some() && halves.sender.is_ready()
            }
            // Whatever it has sent meanwhile, its end included, belongs to no response.
            Link::Resting(stream) => {
                let mut byte = [0];
                Pin::new(stream).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
            }
            Link::Closed => false,
        }
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
