//! A stream that ends when its server sends much that is of no use: frames that cost work and carry nothing (floods of PING, SETTINGS,
//! empty frames, padding).

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that a server may send beyond twice what is of use: a session's whole window that is not read yet, and frames' own bytes.
const MAX_OVERHEAD: u64 = 20 << 20;

/// Traffic of a session.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    received: Cell<u64>,
    useful: Cell<u64>,
}

impl Meter {
    /// Counts bytes of a body that were read.
    pub(crate) fn used(&self, bytes: usize) {
        self.useful.update(|useful| useful + bytes as u64);
    }

    /// Bytes that were received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.get()
    }

    /// Counts bytes that were received; returns whether that is too much.
    fn receive(&self, bytes: usize) -> bool {
        self.received.update(|received| received + bytes as u64);
        self.received.get() > self.useful.get() * 2 + MAX_OVERHEAD
    }
}

/// A stream with a meter.
pub(crate) struct Metered<S> {
    inner: S,
    meter: Rc<Meter>,
}

impl<S> Metered<S> {
    /// A stream whose traffic the meter counts.
    pub(crate) fn new(inner: S, meter: Rc<Meter>) -> Self {
        Metered { inner, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        if self.meter.receive(buffer.filled().len() - before) {
            let text = "the server sends frames without content";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
