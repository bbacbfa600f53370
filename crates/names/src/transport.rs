//! A connection to a server: TCP, or TLS over TCP (RFC 7858, RFC 8484). Nothing here blocks.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

/// A connection.
pub(crate) struct Transport {
    tcp: TcpStream,
    session: Option<Box<ClientConnection>>,
    /// The ALPN protocol that the server must have selected, if any.
    protocol: Option<&'static [u8]>,
}

impl Transport {
    /// Starts a connection; with `tls`, to a server whose certificate bears this name and that selects
    /// `protocol`, if given.
    pub(crate) fn begin(
        address: SocketAddr,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
        protocol: Option<&'static [u8]>,
    ) -> io::Result<Transport> {
        let session = tls.map(|(trust, name)| ClientConnection::new(trust, name));
        let session = session.transpose().map_err(io::Error::other)?.map(Box::new);
        Ok(Transport { tcp: begin(address)?, session, protocol })
    }

    /// The descriptor to poll.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.tcp.as_fd()
    }

    /// The protocol's name, for messages.
    pub(crate) fn name(&self) -> &'static str {
        if self.session.is_some() { "TLS" } else { "TCP" }
    }

    /// Whether the TLS handshake is not finished.
    pub(crate) fn is_shaking(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_handshaking())
    }

    /// Whether it has something to send; `has_outgoing`: whether application data is waiting.
    pub(crate) fn sends(&self, has_outgoing: bool) -> bool {
        let wants_write = self.session.as_ref().is_some_and(|session| session.wants_write());
        wants_write || has_outgoing && !self.is_shaking()
    }

    /// Sends as much as possible, from the front of `outgoing`. Returns the error of a failed connection.
    pub(crate) fn send(&mut self, outgoing: &mut Vec<u8>) -> io::Result<()> {
        if let Some(error) = self.tcp.take_error()? {
            return Err(error);
        }
        loop {
            let sent = match &mut self.session {
                None if outgoing.is_empty() => return Ok(()),
                None => self.tcp.write(outgoing).map(|count| drop(outgoing.drain(..count))),
                Some(session) => {
                    if !session.is_handshaking() && !outgoing.is_empty() {
                        if self.protocol.is_some() && session.alpn_protocol() != self.protocol {
                            return Err(io::Error::other("the server does not speak HTTP/2"));
                        }
                        let count = session.writer().write(outgoing)?;
                        outgoing.drain(..count);
                    }
                    if !session.wants_write() {
                        return Ok(());
                    }
                    session.write_tls(&mut self.tcp).map(drop)
                }
            };
            match sent {
                Ok(()) => (),
                Err(error) if is_busy(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives; returns `None` if nothing is available now. The end of the connection is an error.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let received = match &mut self.session {
                None => self.tcp.read(buffer),
                Some(session) => match session.reader().read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        match session.read_tls(&mut self.tcp) {
                            Ok(_) => {
                                if let Err(error) = session.process_new_packets() {
                                    let _ = session.write_tls(&mut self.tcp); // sends the alert to the server
                                    return Err(io::Error::other(error));
                                }
                                continue;
                            }
                            Err(error) => Err(error),
                        }
                    }
                    received => received,
                },
            };
            return match received {
                Ok(0) => Err(closed()),
                Ok(count) => Ok(Some(count)),
                Err(error) if is_busy(&error) => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(closed()),
                Err(error) => Err(error),
            };
        }
    }
}

impl Drop for Transport {
    /// Sends the TLS close alert.
    fn drop(&mut self) {
        if let Some(session) = &mut self.session {
            session.send_close_notify();
            let _ = session.write_tls(&mut self.tcp);
        }
    }
}

/// The error for a connection that the server closed.
fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

/// Whether to repeat a call when the connection is ready again.
fn is_busy(error: &io::Error) -> bool {
    // Not connected: the connection is being established.
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}

/// Starts a TCP connection without blocking.
fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let descriptor: OwnedFd = socket(family, SockType::Stream, SockFlag::empty(), None)?;
    // As the standard library does; not every system accepts the flag in socket(2).
    fcntl(&descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    let stream = TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    // A query is sent at once, even while an earlier one is unacknowledged.
    let _ = setsockopt(&stream, sockopt::TcpNoDelay, &true);
    match connect(stream.as_raw_fd(), &SockaddrStorage::from(server)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(stream),
        Err(error) => Err(error.into()),
    }
}
