//! TCP connections to servers: one a server, kept for further questions, many of which can be under way (RFC 7766). A server
//! that breaks a connection on which several are gets one a question from then on.
//!
//! Guarantees: what is sent and received is bounded; a connection without questions is closed after [`IDLE`]; one that never
//! comes about is closed after the longest wait for a reply.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use lycosa_url::Micros;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};

use crate::asked::SocketId;
use crate::upstream::Place;

/// How long a connection without questions is kept, in microseconds: "a few seconds" (RFC 7766 section 6.2.3).
const IDLE: Micros = 5_000_000;

/// Bytes of a length before a message.
const PREFIX: usize = 2;

/// All connections.
#[derive(Default)]
pub(crate) struct Streams {
    open: Vec<Stream>,
    /// The servers that bear one question a connection.
    serial: Vec<Place>,
}

/// One connection.
struct Stream {
    id: SocketId,
    place: Place,
    stream: TcpStream,
    /// Questions to be sent, with their lengths before them.
    outgoing: Vec<u8>,
    /// What was received of the next reply.
    incoming: Vec<u8>,
    /// Questions that were not answered, and those that were.
    waiting: u32,
    answered: u32,
    /// When something was last sent or received.
    used: Micros,
}

/// How a connection ended.
pub(crate) struct Ended {
    /// Which one.
    pub(crate) id: SocketId,
    /// Whether the questions that it has not answered are to be asked on another one, since it has answered some, or
    /// because there were several.
    pub(crate) is_worth_repeating: bool,
    /// Why, in words.
    pub(crate) why: String,
}

impl Streams {
    /// The connection to a server; begins one where there is none.
    pub(crate) fn connect(
        &mut self,
        place: Place,
        server: SocketAddr,
        last: &mut SocketId,
        now: Micros,
    ) -> io::Result<SocketId> {
        if !self.serial.contains(&place)
            && let Some(stream) = self.open.iter().find(|stream| stream.place == place)
        {
            return Ok(stream.id);
        }
        *last += 1;
        let stream = begin(server)?;
        let (outgoing, incoming) = (Vec::new(), Vec::new());
        self.open.push(Stream {
            id: *last,
            place,
            stream,
            outgoing,
            incoming,
            waiting: 0,
            answered: 0,
            used: now,
        });
        Ok(*last)
    }

    /// Puts a question into a connection's queue.
    pub(crate) fn push(&mut self, id: SocketId, message: &[u8], now: Micros) {
        let Some(stream) = self.open.iter_mut().find(|stream| stream.id == id) else { return };
        stream.outgoing.extend_from_slice(&(message.len() as u16).to_be_bytes());
        stream.outgoing.extend_from_slice(message);
        stream.waiting += 1;
        stream.used = now;
    }

    /// The connections to wait for, and whether they wait to send.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (SocketId, BorrowedFd<'_>, bool)> {
        self.open.iter().map(|stream| (stream.id, stream.stream.as_fd(), !stream.outgoing.is_empty()))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Sends and receives what a connection lets through; gives its end, if it has come.
    pub(crate) fn serve(&mut self, id: SocketId, now: Micros, take: impl FnMut(&[u8])) -> Option<Ended> {
        let place = self.open.iter().position(|stream| stream.id == id)?;
        let error = self.open.get_mut(place)?.exchange(now, take).err()?;
        let stream = self.open.swap_remove(place);
        if stream.waiting > 1 && !self.serial.contains(&stream.place) {
            self.serial.push(stream.place);
        }
        let is_worth_repeating = stream.answered > 0 || stream.waiting > 1;
        Some(Ended { id, is_worth_repeating, why: format!("TCP: {error}") })
    }

    /// Closes connections that have had no question for long, or no answer for longer than any is waited for; gives those.
    pub(crate) fn close_idle(&mut self, patience: Micros, now: Micros) -> Vec<SocketId> {
        let is_over = |stream: &mut Stream| {
            let limit = if stream.waiting == 0 { IDLE } else { patience };
            stream.used.saturating_add(limit) <= now
        };
        self.open.extract_if(.., is_over).map(|stream| stream.id).collect()
    }
}

impl Stream {
    /// Sends and receives; an error is the end of the connection.
    fn exchange(&mut self, now: Micros, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if is_busy(&error) => break,
                Err(error) => return Err(error),
            }
        }
        let mut buffer = [0; 4_096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    ));
                }
                Ok(count) => {
                    self.used = now;
                    self.incoming.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    self.cut(&mut take);
                }
                Err(error) if is_busy(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands over the replies that are whole. What is left is shorter than one.
    fn cut(&mut self, mut take: impl FnMut(&[u8])) {
        let mut start = 0;
        while let Some(&prefix) = self.incoming.get(start..).and_then(|rest| rest.first_chunk::<PREFIX>()) {
            let end = start + PREFIX + usize::from(u16::from_be_bytes(prefix));
            let Some(message) = self.incoming.get(start + PREFIX..end) else { break };
            take(message);
            self.answered += 1;
            self.waiting = self.waiting.saturating_sub(1);
            start = end;
        }
        self.incoming.drain(..start);
    }
}

/// Whether a call is to be repeated when the connection is ready again.
fn is_busy(error: &io::Error) -> bool {
    // Not connected: it is about to be.
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}

/// Begins a connection, without waiting for it.
fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let descriptor: OwnedFd = socket(family, SockType::Stream, SockFlag::empty(), None)?;
    // As the standard library does with its own; not every system can do it in the call above.
    fcntl(&descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    let stream = TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    // A question is sent at once, also while the one before it is under way.
    let _ = setsockopt(&stream, sockopt::TcpNoDelay, &true);
    match connect(stream.as_raw_fd(), &SockaddrStorage::from(server)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(stream),
        Err(error) => Err(error.into()),
    }
}
