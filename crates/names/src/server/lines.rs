//! The ways to upstreams of what is passed through: a datagram from a port of its own; or one of the connections, which are kept
//! for further questions.

use std::io;
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use lycosa_url::Micros;
use rustls::ClientConfig;

use crate::asked::SocketId;
use crate::nameserver::Nameserver;
use crate::settings::Settings;
use crate::sockets::connected;
use crate::streams::Streams;
use crate::upstream::{Place, micros};

/// Who is asked, and how often.
pub(super) struct Route {
    /// The servers.
    pub(super) servers: Vec<Nameserver>,
    /// Whose certificates are good, where one is asked over TLS.
    trust: Option<ClientConfig>,
    /// Whether each name has a server of its own.
    pub(super) spread: bool,
    /// For one try.
    pub(super) timeout: Micros,
    /// Tries in all.
    pub(super) attempts: u32,
}

impl Route {
    /// By these settings; fails where the file of further roots is needed and cannot be used.
    pub(super) fn new(settings: &Settings) -> io::Result<Self> {
        Ok(Route {
            servers: settings.servers.clone(),
            trust: settings.trust()?,
            spread: settings.spread,
            timeout: micros(settings.timeout),
            attempts: settings.attempts,
        })
    }
}

/// Where an answer is waited for.
pub(super) enum Line {
    /// On a socket of its own.
    Datagram(UdpSocket),
    /// On a connection.
    Stream(SocketId),
}

/// The ways of one route.
pub(super) struct Lines {
    route: Arc<Route>,
    streams: Streams,
    /// The number of the newest connection.
    last: SocketId,
}

impl Lines {
    /// No connections yet.
    pub(super) fn new(route: Arc<Route>) -> Self {
        Lines { streams: Streams::new(route.trust.clone()), route, last: 0 }
    }

    /// Whether they are those of a route.
    pub(super) fn go_by(&self, route: &Arc<Route>) -> bool {
        Arc::ptr_eq(&self.route, route)
    }

    /// For how long one try is waited for.
    pub(super) fn timeout(&self) -> Micros {
        self.route.timeout
    }

    /// Sends a message; over a connection where its answer may be longer than a datagram, or must be encrypted.
    pub(super) fn ask(
        &mut self,
        place: Place,
        message: &[u8],
        is_whole: bool,
        now: Micros,
    ) -> io::Result<Line> {
        let Some(server) = self.route.servers.get(place) else {
            return Err(io::ErrorKind::NotFound.into()); // of a route before this one
        };
        if is_whole || server.is_encrypted() {
            let id = self.streams.connect(place, server, &mut self.last, now)?;
            self.streams.push(id, message, now);
            return Ok(Line::Stream(id));
        }
        let socket = connected(server.address)?;
        socket.send(message)?;
        Ok(Line::Datagram(socket))
    }

    /// The connections to wait for, and whether they wait to send.
    pub(super) fn streams(&self) -> impl Iterator<Item = (SocketId, BorrowedFd<'_>, bool)> {
        self.streams.polled()
    }

    /// Sends and receives what a connection lets through. Where it has ended: whether its questions are worth repeating.
    pub(super) fn serve(&mut self, id: SocketId, now: Micros, take: impl FnMut(&[u8])) -> Option<bool> {
        self.streams.serve(id, now, take).map(|ended| ended.is_worth_repeating)
    }

    /// Closes connections that are not used, or of no use; gives those, with whether their questions are worth repeating.
    pub(super) fn close_idle(&mut self, now: Micros) -> Vec<(SocketId, bool)> {
        let patience = self.timeout().saturating_mul(2);
        let ended = self.streams.close_idle(patience, now);
        ended.into_iter().map(|ended| (ended.id, ended.is_worth_repeating)).collect()
    }
}
