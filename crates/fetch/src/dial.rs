//! The way to a server: what opens a stream for a request, and the stream.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lycosa_records::{Certificate, Request};
use lycosa_url::Failure;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::observed::Observed;
use crate::progress::Progress;
use crate::read_ahead::ReadAhead;
use crate::tls::FirstByte;

/// Opens streams on which the requests' protocol is spoken: TCP, with TLS where the URL is `https`.
///
/// [`Dialer`](crate::Dialer) is one. A proxy or a recorder is one as well, beside it or around it.
pub trait Dial {
    /// The stream.
    type Stream: AsyncRead + AsyncWrite + Unpin + 'static;

    /// Opens a stream for a request by the request's route. Reports address and durations to `progress`.
    fn dial(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> impl Future<Output = Result<Dialed<Self::Stream>, Failure>>;
}

/// An open stream.
#[derive(Debug)]
pub struct Dialed<S> {
    /// The stream.
    pub stream: S,
    /// The address that it is connected to.
    pub address: IpAddr,
    /// The protocol that the server chose by ALPN (RFC 7301), if it did.
    pub protocol: Option<Box<[u8]>>,
    /// The certificate, over TLS.
    pub certificate: Option<Arc<Certificate>>,
}

/// A stream to the site, plain or encrypted.
#[derive(Debug)]
pub enum Socket {
    /// `http`.
    Plain(Carrier),
    /// `https`.
    Tls(Box<TlsStream<Observed<ReadAhead<Carrier>, FirstByte>>>),
}

/// What carries the bytes: a connection to the site, or a tunnel through a proxy.
#[derive(Debug)]
pub enum Carrier {
    /// TCP.
    Tcp(TcpStream),
    /// TLS to a proxy.
    Tls(Box<TlsStream<TcpStream>>),
}

/// Delegates to the stream of each variant.
macro_rules! delegate {
    ($name:ident: $($variant:ident),+) => {
        impl AsyncRead for $name {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let polled = match self.get_mut() {
                    $($name::$variant(stream) => Pin::new(stream).poll_read(context, buffer),)+
                };
                match polled {
                    // TLS that was closed without close_notify, as many servers do: treated as the end. If HTTP has the
                    // length, truncation is detected anyway; otherwise browsers accept the body, too.
                    Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
                    polled => polled,
                }
            }
        }

        impl AsyncWrite for $name {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    $($name::$variant(stream) => Pin::new(stream).poll_write(context, bytes),)+
                }
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    $($name::$variant(stream) => Pin::new(stream).poll_flush(context),)+
                }
            }

            fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    $($name::$variant(stream) => Pin::new(stream).poll_shutdown(context),)+
                }
            }
        }
    };
}

delegate!(Socket: Plain, Tls);
delegate!(Carrier: Tcp, Tls);
