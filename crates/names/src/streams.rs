//! Connections to servers, over TCP, TLS or HTTPS: one a server, kept for further questions, many of which can be under way (RFC 7766).
//! A server that breaks a connection on which several are gets one a question from then on.
//!
//! Guarantees: what is sent and received is bounded; a connection without questions is closed after [`IDLE`]; one on which
//! questions wait, or which never comes about, is closed when nothing has come for the longest wait for a reply; no
//! question is sent before the server's certificate is verified, where there is one; more than [`ENCRYPTED`] connections over TLS
//! or HTTPS are never open to one server.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use lycosa_url::Micros;
use rustls::ClientConfig;
use rustls::client::Resumption;

use crate::asked::SocketId;
use crate::https::{Https, PROTOCOL};
use crate::nameserver::Nameserver;
use crate::transport::Transport;
use crate::upstream::Place;

/// How long a connection without questions is kept, in microseconds: "a few seconds" (RFC 7766 section 6.2.3).
const IDLE: Micros = 5_000_000;

/// Connections over TLS or HTTPS to one server that breaks those on which several questions are: each costs it a handshake.
const ENCRYPTED: usize = 8;

/// Sessions of servers over HTTPS that are kept, to be resumed.
const SESSIONS: usize = 256;

/// Reads of 4 KiB from one connection before the others have their turn.
const READS: usize = 64;

/// Bytes of a length before a message.
const PREFIX: usize = 2;

/// All connections.
pub(crate) struct Streams {
    /// Whose certificates are good, where servers are asked over TLS.
    trust: Option<Trust>,
    open: Vec<Stream>,
    /// The servers that bear one question a connection.
    serial: Vec<Place>,
}

/// Whose certificates are good: the same ones, and what is spoken to those who have them.
struct Trust {
    tls: Arc<ClientConfig>,
    https: Arc<ClientConfig>,
}

/// What came of a question on a connection.
pub(crate) enum Came<'a> {
    /// A reply, to whichever question it fits.
    Reply(&'a [u8]),
    /// The reply to the question whose number it bears, and to no other.
    Own(&'a [u8]),
    /// The question of this number gets none, for this reason.
    Failed(u16, &'a str),
    /// It gets none here, which is no fault of the server: it is to be asked on another connection.
    Gone(u16, &'a str),
}

/// One connection.
struct Stream {
    id: SocketId,
    place: Place,
    transport: Transport,
    /// HTTP/2, where that is spoken; else messages stand behind one another.
    https: Option<Box<Https>>,
    /// Questions to be sent, with their lengths before them.
    outgoing: Vec<u8>,
    /// What was received of the next reply.
    incoming: Vec<u8>,
    /// Whether there was more to be read than at one time is.
    has_more: bool,
    /// Questions that were not answered, and those that were.
    waiting: usize,
    answered: usize,
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
        let trust = trust.map(|tls| {
            // Sessions are resumed where they began: on another port another server may listen.
            let mut https = tls.clone();
            https.resumption = Resumption::in_memory_sessions(SESSIONS);
            https.alpn_protocols = vec![PROTOCOL.to_vec()];
            Trust { tls: Arc::new(tls), https: Arc::new(https) }
        });
        Streams { trust, open: Vec::new(), serial: Vec::new() }
    }

    /// The connection to a server; begins one where there is none. Would block where it has to be waited for.
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
        let all_of_it = || self.open.iter().filter(|stream| stream.place == place);
        let of_it = || all_of_it().filter(|stream| !stream.is_leaving());
        if of_it().count() >= most
            && let Some(stream) = of_it().min_by_key(|stream| stream.waiting)
        {
            return Ok(stream.id);
        }
        if server.is_encrypted() && all_of_it().count() >= ENCRYPTED {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "the server is about to close all connections",
            ));
        }
        *last += 1;
        let (mut outgoing, incoming) = (Vec::new(), Vec::new());
        let https = server.https.as_ref().map(|target| Https::begin(target, &mut outgoing)).transpose()?;
        let speaks = |trust: &Trust| if https.is_some() { trust.https.clone() } else { trust.tls.clone() };
        let tls = self.trust.as_ref().map(speaks).zip(server.tls.clone());
        let transport = Transport::begin(server.address, tls, https.as_ref().map(|_| PROTOCOL))?;
        self.open.push(Stream {
            id: *last,
            place,
            transport,
            https: https.map(Box::new),
            outgoing,
            incoming,
            has_more: false,
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
        if let Some(https) = &mut stream.https {
            https.push(message, now);
        } else {
            stream.outgoing.extend_from_slice(&(message.len() as u16).to_be_bytes());
            stream.outgoing.extend_from_slice(message);
        }
        if stream.waiting == 0 {
            stream.used = now;
        }
        stream.waiting += 1;
    }

    /// The connections to wait for, and whether they wait to send, or for their next turn.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (SocketId, BorrowedFd<'_>, bool)> {
        let is_busy =
            |stream: &Stream| stream.has_more || stream.https.as_ref().is_some_and(|https| https.is_busy());
        let sends =
            move |stream: &Stream| stream.transport.sends(!stream.outgoing.is_empty() || is_busy(stream));
        self.open.iter().map(move |stream| (stream.id, stream.transport.as_fd(), sends(stream)))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Sends and receives what a connection lets through; gives its end, if it has come.
    pub(crate) fn serve(&mut self, id: SocketId, now: Micros, take: impl FnMut(Came<'_>)) -> Option<Ended> {
        let place = self.open.iter().position(|stream| stream.id == id)?;
        let stream = self.open.get_mut(place)?;
        let end = stream.exchange(now, take);
        if stream.bears_one(end.is_err()) && !self.serial.contains(&stream.place) {
            self.serial.push(stream.place);
        }
        let error = end.err()?;
        Some(self.open.swap_remove(place).end(&error.to_string()))
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
        let ended = over.map(|stream| {
            let why = if stream.transport.is_shaking() { "no handshake in time" } else { "no answer" };
            stream.end(why)
        });
        let ended = ended.collect();
        for stream in &mut self.open {
            if let Some(https) = &mut stream.https {
                https.forget(patience, now);
                stream.waiting = https.waiting();
            }
        }
        ended
    }
}

impl Stream {
    /// Sends and receives; an error is the end of the connection.
    fn exchange(&mut self, now: Micros, mut take: impl FnMut(Came<'_>)) -> io::Result<()> {
        if self.https.is_some() {
            self.cut(&mut take)?; // makes what is to be sent
        }
        self.transport.send(&mut self.outgoing)?;
        let mut buffer = [0; 4_096];
        self.has_more = true;
        for _ in 0..READS {
            let Some(count) = self.transport.receive(&mut buffer)? else {
                self.has_more = false;
                break;
            };
            self.used = now;
            self.incoming.extend_from_slice(buffer.get(..count).unwrap_or_default());
            self.cut(&mut take)?;
            if self.https.is_some() {
                self.transport.send(&mut self.outgoing)?;
            }
        }
        // What was received may have ended the handshake.
        self.transport.send(&mut self.outgoing)
    }

    /// Its end. Over TLS a server that answers nothing does not bear questions, or does not want this client: where they are
    /// asked again decides who knows the other servers.
    fn end(&self, why: &str) -> Ended {
        let is_https = self.https.is_some() && !self.transport.is_shaking();
        let name = if is_https { "HTTPS" } else { self.transport.name() };
        let bore_several = name == "TCP" && self.waiting > 1;
        let is_worth_repeating = self.answered > 0 || bore_several;
        Ended { id: self.id, is_worth_repeating, why: format!("{name}: {why}") }
    }

    /// Whether the server takes no more questions on it.
    fn is_leaving(&self) -> bool {
        self.https.as_ref().is_some_and(|https| https.is_leaving())
    }

    /// Whether its server is better asked one question a connection: it broke this one on which there were several. Over HTTPS that
    /// may be its way to make room for others, unless it gave back more than it answered.
    fn bears_one(&self, is_over: bool) -> bool {
        let (lost, answered) = match &self.https {
            Some(https) => (https.lost(is_over), self.answered),
            None => (if is_over { self.waiting } else { 0 }, 0),
        };
        lost > 1 && lost > answered && !self.transport.is_shaking()
    }

    /// Hands over the replies that are whole. What is left is shorter than one.
    fn cut(&mut self, mut take: impl FnMut(Came<'_>)) -> io::Result<()> {
        if let Some(https) = &mut self.https {
            let answered = &mut self.answered;
            let end = https.exchange(&mut self.incoming, &mut self.outgoing, |came| {
                *answered += usize::from(matches!(came, Came::Own(_)));
                take(match came {
                    Came::Gone(number, why) if *answered == 0 => Came::Failed(number, why),
                    came => came,
                });
            });
            self.waiting = https.waiting();
            return end;
        }
        let mut start = 0;
        while let Some(&prefix) = self.incoming.get(start..).and_then(|rest| rest.first_chunk::<PREFIX>()) {
            let end = start + PREFIX + usize::from(u16::from_be_bytes(prefix));
            let Some(message) = self.incoming.get(start + PREFIX..end) else { break };
            take(Came::Reply(message));
            self.answered += 1;
            self.waiting = self.waiting.saturating_sub(1);
            start = end;
        }
        self.incoming.drain(..start);
        Ok(())
    }
}
