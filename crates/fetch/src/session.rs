//! HTTP/2 sessions by origin: one for each origin and route, in use by many exchanges or idle.
//!
//! Guarantees: a session serves only requests of its origin by its route, as connections of the pool do; none is idle for longer than
//! the time-out; never more than `capacity` are idle.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use h2::client::SendRequest;
use lycosa_records::{Certificate, Route};
use lycosa_url::{Clock, Micros};
use tokio::sync::{Notify, oneshot};

use crate::meter::Meter;
use crate::pool::{kept_route, serves};

/// A connection that speaks HTTP/2.
pub(crate) struct Session {
    pub(crate) address: IpAddr,
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) sender: SendRequest<Bytes>,
    /// Its traffic, and what of that was of use.
    pub(crate) meter: Rc<Meter>,
    /// Whether no exchange can begin on it any more; its task sets it when it ends.
    pub(crate) over: Rc<Cell<bool>>,
    /// Requests in a row that the server refused unread.
    pub(crate) refusals: Cell<u32>,
    /// Notifies one that waits because the server accepts no more exchanges at a time.
    freed: Notify,
    /// Tells the session's task that nobody uses it any more.
    _dropped: oneshot::Sender<()>,
    /// Exchanges on it, and the time when the last one ended.
    active: Cell<usize>,
    since: Cell<Micros>,
}

impl Session {
    /// A new session, and what ends when it is dropped.
    pub(crate) fn new(
        address: IpAddr,
        certificate: Option<Arc<Certificate>>,
        sender: SendRequest<Bytes>,
        meter: Rc<Meter>,
        now: Micros,
    ) -> (Self, oneshot::Receiver<()>) {
        let (_dropped, dropped) = oneshot::channel();
        let session = Session {
            address,
            certificate,
            sender,
            meter,
            over: Rc::default(),
            refusals: Cell::new(0),
            freed: Notify::new(),
            _dropped,
            active: Cell::new(0),
            since: Cell::new(now),
        };
        (session, dropped)
    }

    /// Whether the server accepts another exchange now.
    fn has_space(&self) -> bool {
        self.active.get() < self.sender.current_max_send_streams().max(1)
    }

    /// Whether no exchange is on it.
    fn is_idle(&self) -> bool {
        self.active.get() == 0
    }
}

/// An exchange on a session, until dropped.
pub(crate) struct Lease {
    session: Rc<Session>,
    clock: Clock,
}

impl Lease {
    /// Counts an exchange, once the server accepts it; `None` if the session ends before.
    pub(crate) async fn wait(session: Rc<Session>, clock: Clock) -> Option<Self> {
        while !session.has_space() && !session.over.get() {
            session.freed.notified().await;
        }
        if session.over.get() {
            session.freed.notify_one(); // the next that waits
            return None;
        }
        session.active.update(|active| active + 1);
        if session.has_space() {
            session.freed.notify_one();
        }
        Some(Lease { session, clock })
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.session.active.update(|active| active - 1);
        self.session.since.set(self.clock.now());
        self.session.freed.notify_one();
    }
}

/// All sessions. Dropping one closes its connection once no exchange is on it.
pub(crate) struct Sessions {
    capacity: usize,
    timeout: Micros,
    by_origin: HashMap<Box<str>, Vec<(Route, Rc<Session>)>>,
}

impl Sessions {
    /// No sessions.
    pub(crate) fn new(capacity: usize, timeout: Micros) -> Self {
        Sessions { capacity, timeout, by_origin: HashMap::new() }
    }

    /// A session on which a request of this origin by this route may begin.
    pub(crate) fn find(&mut self, origin: &str, route: &Route, now: Micros) -> Option<Rc<Session>> {
        let timeout = self.timeout;
        let sessions = self.by_origin.get_mut(origin)?;
        sessions.retain(|(_, session)| is_open(session, now, timeout));
        let found = sessions.iter().find(|(known, session)| serves(known, session.address, route));
        found.map(|(_, session)| session.clone())
    }

    /// Stores a new session.
    pub(crate) fn insert(&mut self, origin: &str, route: &Route, session: Rc<Session>) {
        let stored = (kept_route(route), session);
        match self.by_origin.get_mut(origin) {
            Some(sessions) => sessions.push(stored),
            None => {
                self.by_origin.insert(origin.into(), vec![stored]);
            }
        }
    }

    /// The number of sessions without an exchange.
    pub(crate) fn idle(&self) -> usize {
        self.by_origin.values().flatten().filter(|(_, session)| session.is_idle()).count()
    }

    /// Closes sessions that have ended or expired, and of idle ones beyond the capacity, of which `others` are in use elsewhere, those
    /// that have been idle for longest.
    pub(crate) fn expire(&mut self, now: Micros, others: usize) {
        let timeout = self.timeout;
        self.by_origin.retain(|_, sessions| {
            sessions.retain(|(_, session)| is_open(session, now, timeout));
            !sessions.is_empty()
        });
        let capacity = self.capacity.saturating_sub(others);
        let Some(excess) = self.idle().checked_sub(capacity).filter(|excess| *excess > 0) else { return };
        let mut since: Vec<Micros> = self
            .by_origin
            .values()
            .flatten()
            .filter(|(_, session)| session.is_idle())
            .map(|(_, session)| session.since.get())
            .collect();
        since.sort_unstable();
        let last = since[excess - 1];
        self.by_origin.retain(|_, sessions| {
            sessions.retain(|(_, session)| !session.is_idle() || session.since.get() > last);
            !sessions.is_empty()
        });
    }
}

/// Whether an exchange may begin on a session.
fn is_open(session: &Session, now: Micros, timeout: Micros) -> bool {
    let is_expired = session.is_idle() && now.saturating_sub(session.since.get()) >= timeout;
    !session.over.get() && !is_expired
}
