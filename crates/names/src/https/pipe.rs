//! The connection and the wakers for `h2`: buffers and flags instead of sockets and tasks.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Unsent bytes from which no more are produced.
const UNSENT: usize = 1 << 16;

/// Received bytes that are not read yet, and bytes to be sent.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) incoming: Vec<u8>,
    pub(super) outgoing: Vec<u8>,
    /// Whether `outgoing` was too full for more bytes.
    pub(super) is_full: bool,
}

impl Buffers {
    /// Swaps both buffers with those of the caller.
    pub(super) fn swap(&mut self, incoming: &mut Vec<u8>, outgoing: &mut Vec<u8>) {
        std::mem::swap(&mut self.incoming, incoming);
        std::mem::swap(&mut self.outgoing, outgoing);
    }
}

/// The connection of `h2`. It wakes no task: the caller that fills or empties the buffers polls.
pub(super) struct Pipe(pub(super) Rc<RefCell<Buffers>>);

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let incoming = &mut self.0.borrow_mut().incoming;
        if incoming.is_empty() {
            return Poll::Pending;
        }
        let count = incoming.len().min(buffer.remaining());
        buffer.put_slice(&incoming[..count]);
        incoming.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let buffers = &mut *self.0.borrow_mut();
        if buffers.outgoing.len() >= UNSENT {
            buffers.is_full = true;
            return Poll::Pending;
        }
        buffers.outgoing.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A flag that `h2` sets when it wants to be polled.
pub(super) struct Flag(AtomicBool);

impl Flag {
    /// A flag that is set.
    pub(super) fn set() -> Arc<Flag> {
        Arc::new(Flag(AtomicBool::new(true)))
    }

    /// Sets it.
    pub(super) fn ring(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is set.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Clears it; returns whether it was set.
    pub(super) fn clear(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}
