//! Connections to servers over TCP, TLS or HTTPS: one per server, reused for further queries, with many in
//! flight (RFC 7766). A server that breaks a connection with more queries in flight than it has answered gets
//! one query at a time on each connection for [`SERIAL`].
//!
//! Guarantees: buffers are bounded; a connection without queries is closed after [`IDLE`]; one with queries in
//! flight, or in its handshake, is closed when nothing arrived for the longest wait for a reply; no query is
//! sent over TLS before the server's certificate is verified; at most [`ENCRYPTED`] connections over TLS or
//! HTTPS are open to one server.

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

/// How long a connection without queries stays open, in microseconds: "a few seconds" (RFC 7766 section 6.2.3).
const IDLE: Micros = 5_000_000;

/// How long a server that breaks connections with several queries gets one query at a time on each, in
/// microseconds: a restart of the server looks the same.
const SERIAL: Micros = 60_000_000;

/// Connections over TLS or HTTPS to one server that breaks those with several queries: each costs it a
/// handshake.
const ENCRYPTED: usize = 8;

/// TLS sessions of servers over HTTPS that are stored for resumption.
const SESSIONS: usize = 256;

/// Reads of 4 KiB from one connection before other connections are served.
const READS: usize = 64;

/// Bytes of the length before a message.
const PREFIX: usize = 2;

/// All connections.
pub(crate) struct Streams {
    /// The TLS configurations, if servers are queried over TLS or HTTPS.
    trust: Option<Trust>,
    open: Vec<Stream>,
    /// The servers that get one query at a time on each connection, and since when.
    serial: Vec<(Place, Micros)>,
}

/// TLS configurations with the same trusted roots, for each protocol.
struct Trust {
    tls: Arc<ClientConfig>,
    https: Arc<ClientConfig>,
}

/// The result of a query on a connection.
pub(crate) enum Came<'a> {
    /// A reply, to any query that it matches.
    Reply(&'a [u8]),
    /// The reply to the query with its id, and to no other.
    Own(&'a [u8]),
    /// The query with this id gets no reply, for this reason.
    Failed(u16, &'a str),
    /// The query with this id gets no reply here, which is not evidence against the server: repeat it on
    /// another connection.
    Gone(u16, &'a str),
}

/// One connection.
struct Stream {
    id: SocketId,
    place: Place,
    transport: Transport,
    /// HTTP/2, if the server uses it; otherwise messages with length prefixes.
    https: Option<Box<Https>>,
    /// Queries to be sent, with their length prefixes.
    outgoing: Vec<u8>,
    /// The received part of the next reply.
    incoming: Vec<u8>,
    /// Whether data may remain after the last reads.
    has_more: bool,
    /// Queries without a reply, and those with one.
    waiting: usize,
    answered: usize,
    /// When it began.
    begun: Micros,
    /// When data last arrived, or when the first of the pending queries was sent.
    used: Micros,
}

/// How a connection ended.
pub(crate) struct Ended {
    /// Its id.
    pub(crate) id: SocketId,
    /// Whether to repeat its unanswered queries on another connection: it has answered some, or several were in
    /// flight.
    pub(crate) is_worth_repeating: bool,
    /// The reason, as text.
    pub(crate) why: String,
}

impl Streams {
    /// No connections yet.
    pub(crate) fn new(trust: Option<ClientConfig>) -> Self {
        let trust = trust.map(|tls| {
            // Sessions are resumed on the same port only: another server may listen on another port.
            let mut https = tls.clone();
            https.resumption = Resumption::in_memory_sessions(SESSIONS);
            https.alpn_protocols = vec![PROTOCOL.to_vec()];
            Trust { tls: Arc::new(tls), https: Arc::new(https) }
        });
        Streams { trust, open: Vec::new(), serial: Vec::new() }
    }

    /// The connection to a server; starts one if necessary. The error is `WouldBlock` if a connection must end
    /// first.
    pub(crate) fn connect(
        &mut self,
        place: Place,
        server: &Nameserver,
        last: &mut SocketId,
        now: Micros,
    ) -> io::Result<SocketId> {
        self.serial.retain(|(_, since)| now < since.saturating_add(SERIAL));
        let is_serial = self.serial.iter().any(|(serial, _)| *serial == place);
        let most = match (is_serial, server.is_encrypted()) {
            (false, _) => 1,
            (true, true) => ENCRYPTED,
            (true, false) => usize::MAX,
        };
        let all_of_it = || self.open.iter().filter(|stream| stream.place == place);
        let of_it = || all_of_it().filter(|stream| !stream.is_leaving());
        if let Some(stream) = of_it().min_by_key(|stream| stream.waiting)
            && (stream.waiting == 0 || of_it().count() >= most)
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

    /// Appends a query to a connection's queue.
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

    /// The connections to poll, and whether they wait to send or to be served again.
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

    /// Sends and receives as much as possible on a connection; returns its end, if it ended.
    pub(crate) fn serve(&mut self, id: SocketId, now: Micros, take: impl FnMut(Came<'_>)) -> Option<Ended> {
        let place = self.open.iter().position(|stream| stream.id == id)?;
        let stream = self.open.get_mut(place)?;
        let end = stream.exchange(now, take);
        if stream.bears_one(end.is_err()) {
            self.serial.retain(|(serial, _)| *serial != stream.place);
            self.serial.push((stream.place, now));
        }
        let error = end.err()?;
        Some(self.open.swap_remove(place).end(&error.to_string()))
    }

    /// Closes and returns connections that were idle for too long, or received nothing for the longest wait for
    /// a reply.
    pub(crate) fn close_idle(&mut self, patience: Micros, now: Micros) -> Vec<Ended> {
        let is_over = |stream: &mut Stream| {
            let limit = if stream.waiting == 0 { IDLE } else { patience };
            // A handshake that arrives byte by byte gets no more time than a silent one.
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
            self.cut(&mut take)?; // produces the data to send
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
        // The received data may have completed the handshake.
        self.transport.send(&mut self.outgoing)
    }

    /// Describes its end. Over TLS, a server that answered nothing cannot handle queries, or rejects this
    /// client: the caller decides which other server to query.
    fn end(&self, why: &str) -> Ended {
        let is_https = self.https.is_some() && !self.transport.is_shaking();
        let name = if is_https { "HTTPS" } else { self.transport.name() };
        let bore_several = name == "TCP" && self.waiting > 1;
        let is_worth_repeating = self.answered > 0 || bore_several;
        Ended { id: self.id, is_worth_repeating, why: format!("{name}: {why}") }
    }

    /// Whether the server accepts no more queries on it.
    fn is_leaving(&self) -> bool {
        self.https.as_ref().is_some_and(|https| https.is_leaving())
    }

    /// Whether its server should get one query at a time on each connection: it broke this one with several in
    /// flight, and more than it had answered. Otherwise that may be its way to free resources.
    fn bears_one(&self, is_over: bool) -> bool {
        let lost = match &self.https {
            Some(https) => https.lost(is_over),
            None if is_over => self.waiting,
            None => 0,
        };
        lost > 1 && lost > self.answered && !self.transport.is_shaking()
    }

    /// Passes on the complete replies; an incomplete one stays in the buffer.
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

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
