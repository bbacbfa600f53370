//! Reads more of a stream at once than its reader asks for.
//!
//! rustls asks for 4 KB at a time, so that a large body takes a system call for each quarter of a record. Guarantees: what is
//! read is the stream's bytes in their order; a stream whose reader was told to wait, or that ended, has no buffer; each read
//! spends a unit of the task's budget, so that no stream keeps the thread from the others.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::task::coop;

/// Bytes that are read at once, at most: two records of TLS. A body that waits for memory holds so many beyond its budget;
/// twice as many are not faster.
const AT_ONCE: usize = 2 * (16 << 10) + 128;

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
            // The stream spends the budget only when it is read itself.
            ready!(coop::poll_proceed(context)).made_progress();
            return Poll::Ready(Ok(()));
        }
        self.bytes.reserve(AT_ONCE);
        let read = pin!(self.inner.read_buf(&mut self.bytes)).poll(context);
        if self.bytes.is_empty() {
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
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;
    use std::time::Duration;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// What a scripted stream does when it is read.
    #[derive(Clone, Debug)]
    enum Step {
        Bytes(Vec<u8>),
        Wait,
        Fail,
    }

    /// A stream that does what its script says, and then ends.
    struct Scripted(VecDeque<Step>);

    impl AsyncRead for Scripted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            match self.0.pop_front() {
                Some(Step::Bytes(mut bytes)) => {
                    let rest = bytes.split_off(bytes.len().min(buffer.remaining()));
                    buffer.put_slice(&bytes);
                    if !rest.is_empty() {
                        self.0.push_front(Step::Bytes(rest));
                    }
                    Poll::Ready(Ok(()))
                }
                Some(Step::Wait) => {
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                Some(Step::Fail) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                None => Poll::Ready(Ok(())),
            }
        }
    }

    /// Reads in these sizes until the stream ends; an error is one of the results.
    async fn read_all(mut stream: impl AsyncRead + Unpin, sizes: &[usize]) -> Vec<Result<u8, io::ErrorKind>> {
        let mut read = Vec::new();
        for size in sizes.iter().cycle() {
            let mut some = vec![0; *size];
            match stream.read(&mut some).await {
                Ok(0) => return read,
                Ok(length) => read.extend(some[..length].iter().copied().map(Ok)),
                Err(error) => read.push(Err(error.kind())),
            }
        }
        read
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1usize..100_000, any::<u8>())
                .prop_map(|(size, seed)| Step::Bytes((0..size).map(|at| (at / 7) as u8 ^ seed).collect())),
            2 => Just(Step::Wait),
            1 => Just(Step::Fail),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_read_is_what_the_stream_gives(
            script in vec(step(), 0..12),
            sizes in vec(1usize..50_000, 1..6),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let bare = runtime.block_on(read_all(Scripted(script.clone().into()), &sizes));
            let ahead = runtime.block_on(read_all(ReadAhead::new(Scripted(script.into())), &sizes));
            prop_assert_eq!(ahead, bare);
        }
    }

    #[tokio::test]
    async fn a_stream_that_waits_or_has_ended_has_no_buffer() {
        let (mut near, far) = tokio::io::duplex(1 << 20);
        let mut stream = ReadAhead::new(far);
        near.write_all(b"abc").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
        assert!(stream.bytes.len() == 2 && stream.bytes.capacity() > 2);
        stream.read_exact(&mut [0; 2]).await.unwrap();
        assert!(tokio::time::timeout(Duration::ZERO, stream.read_u8()).await.is_err());
        assert_eq!(stream.bytes.capacity(), 0);
        drop(near);
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(stream.bytes.capacity(), 0);
    }

    #[tokio::test]
    async fn a_stream_that_always_has_bytes_lets_others_run() {
        let reads = Rc::new(Cell::new(0));
        let mut endless = Box::pin({
            let reads = Rc::clone(&reads);
            async move {
                let mut stream = ReadAhead::new(tokio::io::repeat(0));
                loop {
                    stream.read_u8().await.unwrap();
                    reads.set(reads.get() + 1);
                }
            }
        });
        assert!(
            std::future::poll_fn(|context| Poll::Ready(endless.as_mut().poll(context).is_pending())).await
        );
        // A task of tokio may do 128 things before others are to run.
        assert_eq!(reads.get(), 128);
    }
}
