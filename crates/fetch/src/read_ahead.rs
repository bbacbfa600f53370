//! Reads more of a stream at once than its reader asks for.
//!
//! rustls asks for 4 KB at a time, so that a large body takes a system call for each quarter of a record. Guarantees: what is
//! read is the stream's bytes in their order; a stream that waits for bytes has no buffer.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// Bytes that are read at once, at most: four records of TLS.
const AT_ONCE: usize = 4 * (16 << 10) + 256;

/// A stream, and what was read of it and not asked for yet.
#[derive(Debug)]
pub struct ReadAhead<S> {
    inner: S,
    bytes: BytesMut,
}

impl<S> ReadAhead<S> {
    /// Nothing is read yet.
    pub(crate) fn new(inner: S) -> Self {
        ReadAhead { inner, bytes: BytesMut::new() }
    }
}

impl<S: AsyncRead + Unpin> ReadAhead<S> {
    /// Reads if nothing is left.
    fn fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.bytes.reserve(AT_ONCE);
        let read = pin!(self.inner.read_buf(&mut self.bytes)).poll(context);
        if read.is_pending() {
            self.bytes = BytesMut::new();
        }
        read.map_ok(drop)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadAhead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.fill(context))?;
        let length = self.bytes.len().min(buffer.remaining());
        buffer.put_slice(&self.bytes[..length]);
        self.bytes.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadAhead<S> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_come_in_their_order_whatever_is_asked_for() {
        let sent: Vec<u8> = (0..300_000u32).map(|number| number as u8 ^ (number >> 8) as u8).collect();
        let mut stream = ReadAhead::new(&sent[..]);
        let (mut received, mut size) = (Vec::new(), 1);
        loop {
            let mut some = vec![0; size];
            let length = stream.read(&mut some).await.unwrap();
            if length == 0 {
                break;
            }
            received.extend_from_slice(&some[..length]);
            size = size * 7 % 9_973 + 1;
        }
        assert_eq!(received, sent);
    }

    #[tokio::test]
    async fn a_stream_that_waits_has_no_buffer() {
        let (mut near, far) = tokio::io::duplex(1 << 20);
        let mut stream = ReadAhead::new(far);
        tokio::io::AsyncWriteExt::write_all(&mut near, b"abc").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
        assert!(stream.bytes.len() == 2 && stream.bytes.capacity() > 2);
        stream.read_exact(&mut [0; 2]).await.unwrap();
        let waiting = tokio::time::timeout(std::time::Duration::ZERO, stream.read_u8()).await;
        assert!(waiting.is_err());
        assert_eq!(stream.bytes.capacity(), 0);
    }
}
