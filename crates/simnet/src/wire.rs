//! One connection: its bytes, their time of arrival, and its destination. HTTP, TLS and HTTP/2 all read through it.

use std::io::{self, IoSliceMut};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Destination of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    /// The destination address.
    pub(crate) address: IpAddr,
    /// The host of the TLS handshake's server name; `None` without TLS.
    pub(crate) server: Option<u32>,
}

/// Arrival time of the last bytes. The connection writes it, the serving code reads it; shared, because TLS and HTTP/2 own the
/// connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival(Arc<Cell>);

/// State of a connection that is shared with its users.
#[derive(Debug, Default)]
struct Cell {
    /// Nanoseconds since 1970; 0 before the first bytes.
    nanos: AtomicU64,
    /// Whether the connection is reset on drop.
    doomed: AtomicBool,
}

impl Arrival {
    /// The kernel's time stamp of the last bytes, since 1970; `None` without one.
    pub(crate) fn last(&self) -> Option<Duration> {
        Some(self.0.nanos.load(Ordering::Relaxed)).filter(|&nanos| nanos > 0).map(Duration::from_nanos)
    }

    /// Makes the connection be reset, not closed, on drop.
    pub(crate) fn doom(&self) {
        self.0.doomed.store(true, Ordering::Relaxed);
    }
}

/// A connection that can be reset.
pub(crate) trait Break {
    /// Drops the connection and discards unsent bytes: the client sees a reset.
    fn reset(self);
}

impl Break for Wire {
    fn reset(self) {
        self.arrival.doom();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.arrival.0.doomed.load(Ordering::Relaxed) {
            // Discards unsent bytes.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl Break for TlsStream<Wire> {
    fn reset(self) {
        self.into_inner().0.reset();
    }
}

/// A TCP connection that records when its bytes arrive.
pub(crate) struct Wire {
    /// The connection.
    stream: TcpStream,
    /// Arrival time of its last bytes.
    arrival: Arrival,
}

impl Wire {
    /// Wraps a connection.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, arrival: Arrival::default() }
    }

    /// Handle to the arrival time.
    pub(crate) fn arrival(&self) -> Arrival {
        self.arrival.clone()
    }

    /// Reads available bytes without blocking.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // Space for one SCM_TIMESTAMPNS message: header and two 64-bit numbers, aligned.
        let mut control = [0_u64; 8].map(u64::to_ne_bytes).concat();
        let mut slices = [IoSliceMut::new(buffer)];
        let message =
            recvmsg::<()>(self.stream.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmTimestampns(at) = control {
                // 64 bits of nanoseconds last until the year 2554.
                self.arrival.0.nanos.store(Duration::from(at).as_nanos() as u64, Ordering::Relaxed);
            }
        }
        Ok(message.bytes)
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            let buffer = buf.initialize_unfilled();
            match self.stream.try_io(Interest::READABLE, || self.receive(buffer)) {
                Ok(length) => {
                    buf.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TCP has nothing to flush.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
