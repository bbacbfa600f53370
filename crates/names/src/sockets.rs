//! The pool of UDP sockets: several per server on random ports, connected, so that the kernel drops packets of
//! other senders.
//!
//! Guarantees: a socket sends to one server only; its send queue is bounded by [`BATCH`](crate::batch::BATCH);
//! a worn socket still receives for as long as a reply to it can be of use; the pool uses at most half of the
//! process's file descriptors, and if there are too many servers for that, they use the sockets in turn.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};

use lycosa_url::Micros;
use nix::sys::socket::{setsockopt, sockopt};

use crate::asked::SocketId;
use crate::batch::{Incoming, Outgoing};
use crate::descriptors;
use crate::dice::Dice;
use crate::upstream::Place;
use crate::wire::PAYLOAD;

/// Sockets per server, each on a random port, which an attacker must guess besides the id.
const SOCKETS: usize = 8;

/// Sockets in total, if each server has at least one: with more servers each has fewer, and an attacker must
/// guess which server is queried.
const ALL_SOCKETS: usize = 1_024;

/// Queries after which a socket is replaced by one on a new port.
const QUESTIONS: u32 = 16_384;

/// The time after which a socket is replaced as well, in microseconds.
const SOCKET_LIFE: Micros = 60_000_000;

/// The requested size of the kernel's receive buffer of a socket, in bytes; the kernel may limit it.
const KERNEL_ROOM: usize = 4 << 20;

/// All UDP sockets.
pub(crate) struct Sockets {
    dice: Dice,
    /// The sockets that send, in the order of their ids.
    open: Vec<Socket>,
    /// Worn sockets, which only receive, and when they are closed.
    worn: Vec<(Micros, Socket)>,
    /// The sockets of each server.
    servers: Vec<Own>,
    /// The most sockets per server and in total.
    each: usize,
    most: usize,
    incoming: Incoming,
    /// How long a worn socket still receives.
    patience: Micros,
}

/// The sockets of one server that send.
#[derive(Clone, Default)]
struct Own {
    ids: Vec<SocketId>,
    /// The one that sends now.
    turn: SocketId,
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
    /// When it was last selected, and the number of queries that may still be answered.
    used: Micros,
    waiting: u32,
}

impl Sockets {
    /// An empty pool for so many servers, in a process with this limit of file descriptors.
    pub(crate) fn new(patience: Micros, servers: usize, descriptors: usize) -> Self {
        let most = (descriptors / 2).max(1);
        Sockets {
            dice: Dice::default(),
            open: Vec::new(),
            worn: Vec::new(),
            servers: vec![Own::default(); servers],
            each: (ALL_SOCKETS.min(most) / servers.max(1)).clamp(1, SOCKETS),
            most,
            // One byte more than the payload, so that an oversized datagram is recognized by its length.
            incoming: Incoming::new(usize::from(PAYLOAD) + 1),
            patience,
        }
    }

    /// The socket for a server's next query: one of its sockets, selected at random for each batch. The error
    /// is that of the system, or [`descriptors::shortage`] if the limit is reached.
    pub(crate) fn turn(
        &mut self,
        place: Place,
        server: SocketAddr,
        last: &mut SocketId,
        now: Micros,
    ) -> io::Result<SocketId> {
        if self.servers.len() <= place {
            self.servers.resize_with(place + 1, Own::default);
        }
        let turn = self.servers[place].turn;
        if self.find(turn).is_some_and(|socket| !socket.outgoing.is_full()) {
            return Ok(turn);
        }
        self.wear_out(place, now);
        if self.servers[place].ids.len() < self.each {
            match self.open(place, server, last, now) {
                Err(error) if self.servers[place].ids.is_empty() => return Err(error),
                _ => (), // its other sockets suffice
            }
        }
        let own = &self.servers[place].ids;
        let drawn = self.dice.below(own.len());
        let drawn = own.get(drawn).copied().ok_or_else(descriptors::shortage)?;
        self.servers[place].turn = drawn;
        if let Some(socket) = self.find(drawn) {
            socket.used = now;
        }
        Ok(drawn)
    }

    /// Stops sending on a server's worn sockets, if they can be replaced.
    fn wear_out(&mut self, place: Place, now: Micros) {
        let Sockets { servers, open, worn, most, patience, .. } = self;
        servers[place].ids.retain(|id| {
            let Ok(at) = open.binary_search_by_key(id, |socket| socket.id) else { return false };
            let socket = &open[at];
            let is_worn =
                (socket.questions >= QUESTIONS || socket.until <= now) && socket.outgoing.is_empty();
            if is_worn && open.len() + worn.len() < *most {
                worn.push((now.saturating_add(*patience), open.remove(at)));
                return false;
            }
            true
        });
    }

    /// Opens a socket for a server; if necessary, closes an idle one of another server.
    fn open(&mut self, place: Place, server: SocketAddr, last: &mut SocketId, now: Micros) -> io::Result<()> {
        if self.open.len() + self.worn.len() >= self.most && !self.close_idle(place, now) {
            return Err(descriptors::shortage());
        }
        let opened = match Socket::open(*last + 1, place, server, now) {
            // The rest of the process uses the remaining descriptors.
            Err(error) if descriptors::explain_shortage(&error).is_some() && self.close_idle(place, now) => {
                Socket::open(*last + 1, place, server, now)
            }
            opened => opened,
        }?;
        *last += 1;
        self.servers[place].ids.push(*last);
        self.open.push(opened);
        Ok(())
    }

    /// Closes an idle socket of another server; returns whether there was one.
    fn close_idle(&mut self, except: Place, now: Micros) -> bool {
        let is_idle = |socket: &&Socket| socket.place != except && socket.is_idle(self.patience, now);
        let idle = self.open.iter().filter(is_idle).min_by_key(|socket| socket.used).map(|socket| socket.id);
        idle.inspect(|id| self.close(*id)).is_some()
    }

    /// Appends a message to a socket's queue; sends the queue when it is full.
    pub(crate) fn push(&mut self, id: SocketId, message: &[u8]) -> io::Result<()> {
        let Some(socket) = self.find(id) else { return Ok(()) };
        socket.questions += 1;
        socket.waiting += 1;
        socket.outgoing.push(message);
        if socket.outgoing.is_full() { socket.outgoing.send(&socket.socket) } else { Ok(()) }
    }

    /// Sends all queues; returns the sockets that failed. Selects other sockets for the next batch.
    pub(crate) fn flush(&mut self) -> Vec<(SocketId, io::Error)> {
        self.servers.iter_mut().for_each(|own| own.turn = 0);
        let waiting = self.open.iter_mut().filter(|socket| !socket.outgoing.is_empty());
        let failed = waiting.filter_map(|socket| match socket.outgoing.send(&socket.socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Some((socket.id, error)),
            _ => None,
        });
        failed.collect()
    }

    /// Whether the kernel accepts no more data on one of them for now.
    pub(crate) fn is_blocked(&self) -> bool {
        self.open.iter().any(|socket| !socket.outgoing.is_empty())
    }

    /// The sockets to poll, and whether they wait to send.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (SocketId, BorrowedFd<'_>, bool)> {
        let all = self.open.iter().chain(self.worn.iter().map(|(_, socket)| socket));
        all.map(|socket| (socket.id, socket.socket.as_fd(), !socket.outgoing.is_empty()))
    }

    /// Passes on all datagrams that arrived on a socket, batch by batch.
    pub(crate) fn receive(&mut self, id: SocketId, mut take: impl FnMut(&Incoming)) -> io::Result<()> {
        let Sockets { open, worn, incoming, .. } = self;
        let socket = match open.binary_search_by_key(&id, |socket| socket.id) {
            Ok(at) => open.get_mut(at),
            Err(_) => worn.iter_mut().map(|(_, socket)| socket).find(|socket| socket.id == id),
        };
        let Some(socket) = socket else { return Ok(()) };
        loop {
            let more = incoming.receive(&socket.socket)?;
            socket.waiting = socket.waiting.saturating_sub(incoming.messages().count() as u32);
            take(incoming);
            if !more {
                return Ok(());
            }
        }
    }

    /// Closes a socket that failed.
    pub(crate) fn close(&mut self, id: SocketId) {
        if let Ok(at) = self.open.binary_search_by_key(&id, |socket| socket.id) {
            let socket = self.open.remove(at);
            self.servers[socket.place].ids.retain(|own| *own != id);
        }
        self.worn.retain(|(_, socket)| socket.id != id);
    }

    /// Closes worn sockets whose time is over, and idle ones that would be worn when used.
    pub(crate) fn close_worn(&mut self, now: Micros) {
        self.worn.retain(|(end, _)| *end > now);
        let is_over = |socket: &&Socket| socket.until <= now && socket.is_idle(self.patience, now);
        let over: Vec<SocketId> = self.open.iter().filter(is_over).map(|socket| socket.id).collect();
        over.into_iter().for_each(|id| self.close(id));
    }

    /// A sending socket by its id.
    fn find(&mut self, id: SocketId) -> Option<&mut Socket> {
        let at = self.open.binary_search_by_key(&id, |socket| socket.id).ok()?;
        self.open.get_mut(at)
    }
}

/// A non-blocking socket on its own port, connected to one server.
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
        let _ = setsockopt(&socket, sockopt::RcvBuf, &KERNEL_ROOM); // the kernel may set a smaller size
        let until = now.saturating_add(SOCKET_LIFE);
        let outgoing = Outgoing::default();
        Ok(Socket { id, place, socket, outgoing, questions: 0, until, used: now, waiting: 0 })
    }

    /// Whether no reply is expected: all queries were answered, or are too old.
    fn is_idle(&self, patience: Micros, now: Micros) -> bool {
        self.outgoing.is_empty() && (self.waiting == 0 || self.used.saturating_add(patience) <= now)
    }
}

#[cfg(test)]
#[path = "sockets_tests.rs"]
mod tests;
