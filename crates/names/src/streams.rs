//! Connections to servers, over TCP or TLS: one a server, kept for further questions, many of which can be under way (RFC 7766). A
//! server that breaks a connection on which several are gets one a question from then on.
//!
//! Guarantees: what is sent and received is bounded; a connection without questions is closed after [`IDLE`]; one on which
//! questions wait, or which never comes about, is closed when nothing has come for the longest wait for a reply; no
//! question is sent before the server's certificate is verified, where there is one; more than [`ENCRYPTED`] connections over TLS
//! are never open to one server.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use lycosa_url::Micros;
use rustls::ClientConfig;

use crate::asked::SocketId;
use crate::nameserver::Nameserver;
use crate::transport::Transport;
use crate::upstream::Place;

/// How long a connection without questions is kept, in microseconds: "a few seconds" (RFC 7766 section 6.2.3).
const IDLE: Micros = 5_000_000;

/// Connections over TLS to one server that breaks those on which several questions are: each costs it a handshake.
const ENCRYPTED: usize = 8;

/// Bytes of a length before a message.
const PREFIX: usize = 2;

/// All connections.
pub(crate) struct Streams {
    /// Whose certificates are good, where servers are asked over TLS.
    trust: Option<Arc<ClientConfig>>,
    open: Vec<Stream>,
    /// The servers that bear one question a connection.
    serial: Vec<Place>,
}

/// One connection.
struct Stream {
    id: SocketId,
    place: Place,
    transport: Transport,
    /// Questions to be sent, with their lengths before them.
    outgoing: Vec<u8>,
    /// What was received of the next reply.
    incoming: Vec<u8>,
    /// Questions that were not answered, and those that were.
    waiting: u32,
    answered: u32,
    /// When it began.
    begun: Micros,
    /// When something was last received, or when the first of the questions that wait was sent.
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
    /// No connections yet.
    pub(crate) fn new(trust: Option<ClientConfig>) -> Self {
        Streams { trust: trust.map(Arc::new), open: Vec::new(), serial: Vec::new() }
    }

    /// The connection to a server; begins one where there is none.
    pub(crate) fn connect(
        &mut self,
        place: Place,
        server: &Nameserver,
        last: &mut SocketId,
        now: Micros,
    ) -> io::Result<SocketId> {
        let most = match (self.serial.contains(&place), server.is_encrypted()) {
            (false, _) => 1,
            (true, true) => ENCRYPTED,
            (true, false) => usize::MAX,
        };
        let of_it = || self.open.iter().filter(|stream| stream.place == place);
        if of_it().count() >= most
            && let Some(stream) = of_it().min_by_key(|stream| stream.waiting)
        {
            return Ok(stream.id);
        }
        *last += 1;
        let tls = self.trust.clone().zip(server.tls.clone());
        let transport = Transport::begin(server.address, tls)?;
        let (outgoing, incoming) = (Vec::new(), Vec::new());
        self.open.push(Stream {
            id: *last,
            place,
            transport,
            outgoing,
            incoming,
            waiting: 0,
            answered: 0,
            begun: now,
            used: now,
        });
        Ok(*last)
    }

    /// Puts a question into a connection's queue.
    pub(crate) fn push(&mut self, id: SocketId, message: &[u8], now: Micros) {
        let Some(stream) = self.open.iter_mut().find(|stream| stream.id == id) else { return };
        stream.outgoing.extend_from_slice(&(message.len() as u16).to_be_bytes());
        stream.outgoing.extend_from_slice(message);
        if stream.waiting == 0 {
            stream.used = now;
        }
        stream.waiting += 1;
    }

    /// The connections to wait for, and whether they wait to send.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (SocketId, BorrowedFd<'_>, bool)> {
        let sends = |stream: &Stream| stream.transport.sends(!stream.outgoing.is_empty());
        self.open.iter().map(move |stream| (stream.id, stream.transport.as_fd(), sends(stream)))
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
        if stream.waiting > 1 && !stream.transport.is_shaking() && !self.serial.contains(&stream.place) {
            self.serial.push(stream.place);
        }
        Some(stream.end(&error.to_string()))
    }

    /// Closes connections that have had no question for long, or nothing for longer than any answer is waited for; gives those.
    pub(crate) fn close_idle(&mut self, patience: Micros, now: Micros) -> Vec<Ended> {
        let is_over = |stream: &mut Stream| {
            let limit = if stream.waiting == 0 { IDLE } else { patience };
            // Who sends a handshake byte by byte has no longer than who sends nothing.
            let since = if stream.transport.is_shaking() { stream.begun } else { stream.used };
            since.saturating_add(limit) <= now
        };
        let over = self.open.extract_if(.., is_over);
        over.map(|stream| {
            let why = if stream.transport.is_shaking() { "no handshake in time" } else { "no answer" };
            stream.end(why)
        })
        .collect()
    }
}

impl Stream {
    /// Sends and receives; an error is the end of the connection.
    fn exchange(&mut self, now: Micros, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        self.transport.send(&mut self.outgoing)?;
        let mut buffer = [0; 4_096];
        while let Some(count) = self.transport.receive(&mut buffer)? {
            self.used = now;
            self.incoming.extend_from_slice(buffer.get(..count).unwrap_or_default());
            self.cut(&mut take);
        }
        // What was received may have ended the handshake.
        self.transport.send(&mut self.outgoing)
    }

    /// Its end. Over TLS a server that answers nothing does not bear questions, or does not want this client: where they are
    /// asked again decides who knows the other servers.
    fn end(&self, why: &str) -> Ended {
        let name = self.transport.name();
        let bore_several = name == "TCP" && self.waiting > 1;
        let is_worth_repeating = self.answered > 0 || bore_several;
        Ended { id: self.id, is_worth_repeating, why: format!("{name}: {why}") }
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
