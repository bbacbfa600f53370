//! The pool of UDP sockets: several a server on random ports, connected, so that the kernel drops what comes from elsewhere.
//!
//! Guarantees: a socket sends to one server only; what waits to be sent is bounded by [`BATCH`](crate::batch::BATCH) a socket;
//! a worn socket is still listened on for as long as an answer to it can be of use.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};

use lycosa_url::Micros;
use nix::sys::socket::{setsockopt, sockopt};

use crate::asked::SocketId;
use crate::batch::{Incoming, Outgoing};
use crate::dice::Dice;
use crate::upstream::Place;
use crate::wire::PAYLOAD;

/// Sockets a server, each on a random port: what a forger must guess beside the number.
const SOCKETS: usize = 8;

/// After so many questions a socket gets a new port.
const QUESTIONS: u32 = 16_384;

/// After so long, too, in microseconds.
const SOCKET_LIFE: Micros = 60_000_000;

/// Bytes that the kernel is asked to hold for a socket that is not read at once; it gives what it may.
const KERNEL_ROOM: usize = 4 << 20;

/// All UDP sockets.
pub(crate) struct Sockets {
    dice: Dice,
    /// The sockets that send; few, so that they are searched one by one.
    open: Vec<Socket>,
    /// Those that only receive, and when they are closed.
    worn: Vec<(Micros, Socket)>,
    /// Which one of a server's sockets sends now.
    turns: Vec<SocketId>,
    incoming: Incoming,
    /// For how long a worn socket is listened on.
    patience: Micros,
}

/// A socket.
struct Socket {
    id: SocketId,
    place: Place,
    socket: UdpSocket,
    outgoing: Outgoing,
    questions: u32,
    /// Until when it sends.
    until: Micros,
}

impl Sockets {
    /// No sockets yet.
    pub(crate) fn new(patience: Micros) -> Self {
        Sockets {
            dice: Dice::default(),
            open: Vec::new(),
            worn: Vec::new(),
            turns: Vec::new(),
            // An oversized datagram shows by its length.
            incoming: Incoming::new(usize::from(PAYLOAD) + 1),
            patience,
        }
    }

    /// The socket on which a server is asked next: one of its sockets, drawn anew for each batch.
    pub(crate) fn turn(
        &mut self,
        place: Place,
        server: SocketAddr,
        last: &mut SocketId,
        now: Micros,
    ) -> io::Result<SocketId> {
        if self.turns.len() <= place {
            self.turns.resize(place + 1, 0);
        }
        if let Some(socket) = self.find(self.turns[place])
            && !socket.outgoing.is_full()
        {
            return Ok(self.turns[place]);
        }
        let is_worn = |socket: &mut Socket| {
            (socket.questions >= QUESTIONS || socket.until <= now) && socket.outgoing.is_empty()
        };
        let end = now.saturating_add(self.patience);
        self.worn.extend(self.open.extract_if(.., is_worn).map(|socket| (end, socket)));
        let is_of_it = |socket: &&Socket| socket.place == place;
        if self.open.iter().filter(is_of_it).count() < SOCKETS {
            *last += 1;
            self.open.push(Socket::open(*last, place, server, now)?);
        }
        let count = self.open.iter().filter(is_of_it).count();
        let drawn = self.dice.below(count);
        let drawn = self.open.iter().filter(is_of_it).nth(drawn).map_or(*last, |socket| socket.id);
        self.turns[place] = drawn;
        Ok(drawn)
    }

    /// Puts a message into a socket's queue; sends the queue when it is full.
    pub(crate) fn push(&mut self, id: SocketId, message: &[u8]) -> io::Result<()> {
        let Some(socket) = self.find(id) else { return Ok(()) };
        socket.questions += 1;
        socket.outgoing.push(message);
        if socket.outgoing.is_full() { socket.outgoing.send(&socket.socket) } else { Ok(()) }
    }

    /// Sends all queues; gives the sockets that failed. Draws other sockets for the next batch.
    pub(crate) fn flush(&mut self) -> Vec<(SocketId, io::Error)> {
        self.turns.fill(0);
        let waiting = self.open.iter_mut().filter(|socket| !socket.outgoing.is_empty());
        let failed = waiting.filter_map(|socket| match socket.outgoing.send(&socket.socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Some((socket.id, error)),
            _ => None,
        });
        failed.collect()
    }

    /// Whether the kernel takes no more on one of them for now.
    pub(crate) fn is_blocked(&self) -> bool {
        self.open.iter().any(|socket| !socket.outgoing.is_empty())
    }

    /// The sockets to listen on, and whether they wait to send.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (SocketId, BorrowedFd<'_>, bool)> {
        let all = self.open.iter().chain(self.worn.iter().map(|(_, socket)| socket));
        all.map(|socket| (socket.id, socket.socket.as_fd(), !socket.outgoing.is_empty()))
    }

    /// Hands over all that has arrived on a socket, batch by batch.
    pub(crate) fn receive(&mut self, id: SocketId, mut take: impl FnMut(&Incoming)) -> io::Result<()> {
        let mut all = self.open.iter().chain(self.worn.iter().map(|(_, socket)| socket));
        let Some(socket) = all.find(|socket| socket.id == id) else { return Ok(()) };
        loop {
            let more = self.incoming.receive(&socket.socket)?;
            take(&self.incoming);
            if !more {
                return Ok(());
            }
        }
    }

    /// Closes a socket that failed.
    pub(crate) fn close(&mut self, id: SocketId) {
        self.open.retain(|socket| socket.id != id);
        self.worn.retain(|(_, socket)| socket.id != id);
    }

    /// Closes the worn sockets whose time is up.
    pub(crate) fn close_worn(&mut self, now: Micros) {
        self.worn.retain(|(end, _)| *end > now);
    }

    /// A socket that sends, by its number.
    fn find(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.open.iter_mut().find(|socket| socket.id == id)
    }
}

/// A socket of its own port that speaks to one server and does not wait.
pub(crate) fn connected(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Socket {
    /// A new socket, connected to the server.
    fn open(id: SocketId, place: Place, server: SocketAddr, now: Micros) -> io::Result<Socket> {
        let socket = connected(server)?;
        let _ = setsockopt(&socket, sockopt::RcvBuf, &KERNEL_ROOM); // less is no fault, only less
        let until = now.saturating_add(SOCKET_LIFE);
        Ok(Socket { id, place, socket, outgoing: Outgoing::default(), questions: 0, until })
    }
}
