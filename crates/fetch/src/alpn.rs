//! HTTP, of the version that the server chooses: HTTP/2 if it offers that, HTTP/1.1 otherwise.
//!
//! Requests of an origin that come while its first connection is being opened by the same route wait for what the server chooses, so
//! that an origin with HTTP/2 gets one connection. If it cannot be opened, those that wait for the same addresses fail as it did: one
//! after the other, each would wait for as long as the first.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use bytes::Bytes;
use lycosa_records::Request;
use lycosa_url::{Clock, Failure, FailureKind, Micros};
use tokio::sync::Notify;

use crate::connect::Dialer;
use crate::dial::{Dial, Dialed};
use crate::http1::Http1;
use crate::http2::Http2;
use crate::progress::{Progress, ended_by};
use crate::settings::Settings;
use crate::transport::{Answer, BodyReader, Transport};
use crate::watch::Watch;

/// The names of the protocols (RFC 7301; RFC 9113 section 3.1).
pub(crate) const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// What is offered to servers, the preferred one first.
pub(crate) const PROTOCOLS: [&[u8]; 2] = [HTTP2, HTTP1];

/// HTTP/1.1 and HTTP/2 on the streams that a dialer opens, which offers both.
pub struct Http<D: Dial = Dialer> {
    clock: Clock,
    http1: Http1<D>,
    http2: Http2,
    /// First connections that are being opened.
    opening: RefCell<HashMap<Way, Rc<Opening>>>,
}

/// An origin and the name of the proxy: one that is silent delays nobody else.
type Way = (Box<str>, Option<Box<str>>);

impl<D: Dial> Http<D> {
    /// A transport without connections; fails if a setting cannot be used.
    pub fn new(dialer: D, settings: &Settings) -> io::Result<Self> {
        Ok(Http {
            clock: settings.clock,
            http1: Http1::new(dialer, settings)?,
            http2: Http2::new(settings),
            opening: RefCell::default(),
        })
    }

    /// Opens a stream; for the first of a way, others wait.
    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<D::Stream>, Failure> {
        progress.connecting();
        // Boxed: few requests open connections, and its state is large.
        Box::pin(self.http1.dialer.dial(request, progress)).await
    }

    /// Waits while another request opens the first connection of the origin by the same route; returns what that came to, or that
    /// this request is the first.
    async fn turn(&self, request: &Request, progress: &Progress) -> Turn<'_, D> {
        let way: Way = (request.url.origin().into(), request.route.proxy().map(Box::from));
        let other = self.opening.borrow().get(&way).cloned();
        let Some(other) = other else {
            let addresses = request.route.addresses().into();
            let opening = Rc::new(Opening { addresses, ..Opening::default() });
            self.opening.borrow_mut().insert(way.clone(), opening.clone());
            return Turn::First(First { http: self, way, opening, watch: progress.watch.clone() });
        };
        progress.resting(); // connect_timeout is for this request's own connection
        other.ended.notified().await;
        other.ended.notify_one(); // the next that waits
        let failure = other.failure.borrow().clone();
        match failure {
            Some(failure) if *other.addresses == *request.route.addresses() => Turn::Failed(failure),
            _ if other.is_http1.get() => Turn::Http1,
            _ => Turn::Again,
        }
    }
}

impl<D: Dial> Transport for Http<D> {
    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<Answer<impl BodyReader>, Failure> {
        let Request { url, route, .. } = request;
        loop {
            if let Some(connection) = self.http1.take_idle(request) {
                let answer = self.http1.exchange_again(connection, request, progress).await?;
                return Ok(answer.map(Body::One));
            }
            if !url.is_https() {
                let dialed = self.dial(request, progress).await?;
                return Ok(self.http1.exchange_first(dialed, request, progress).await?.map(Body::One));
            }
            let found = self.http2.sessions.borrow_mut().find(url.origin(), route, self.clock.now());
            if let Some(session) = found {
                match self.http2.exchange(session, request, &self.http1.template, progress, true).await {
                    Ok(answered) => return Ok(answered?.map(Body::Two)),
                    Err(_not_begun) => continue,
                }
            }
            let turn = match self.turn(request, progress).await {
                Turn::Again => continue,
                Turn::Failed(failure) => return Err(failure),
                turn => turn,
            };
            let dialed = match self.dial(request, progress).await {
                Ok(dialed) => dialed,
                Err(failure) => {
                    turn.ends_with_failure(&failure);
                    return Err(failure);
                }
            };
            if dialed.protocol.as_deref() != Some(HTTP2) {
                turn.ends_with_http1();
                return Ok(self.http1.exchange_first(dialed, request, progress).await?.map(Body::One));
            }
            let session = Box::pin(self.http2.start(dialed, request)).await?;
            drop(turn);
            let begun = self.http2.exchange(session, request, &self.http1.template, progress, false).await;
            return match begun {
                Ok(answered) => Ok(answered?.map(Body::Two)),
                Err(_) => {
                    let detail = "the server ended the HTTP/2 connection before the first request";
                    Err(Failure::new(FailureKind::ConnectionClosed, detail))
                }
            };
        }
    }

    fn idle(&self) -> usize {
        self.http1.idle() + self.http2.sessions.borrow().idle()
    }

    fn expire(&self, now: Micros) {
        self.http1.expire(now);
        self.http2.sessions.borrow_mut().expire(now, self.http1.idle());
    }
}

/// The first connection of an origin that is being opened.
#[derive(Default)]
struct Opening {
    /// Has a permit once it is open, or was given up.
    ended: Notify,
    /// Whether the server chose HTTP/1.1: those that wait open connections of their own.
    is_http1: Cell<bool>,
    /// The addresses that it is opened to.
    addresses: Box<[IpAddr]>,
    /// Why it could not be opened.
    failure: RefCell<Option<Failure>>,
}

/// What a request that needs a new connection does.
enum Turn<'t, D: Dial> {
    /// It opens the first one.
    First(First<'t, D>),
    /// It opens one of its own, for HTTP/1.1.
    Http1,
    /// It looks for a session again.
    Again,
    /// It fails as the first one did.
    Failed(Failure),
}

impl<D: Dial> Turn<'_, D> {
    /// Others may open connections of their own.
    fn ends_with_http1(self) {
        if let Turn::First(first) = self {
            first.opening.is_http1.set(true);
        }
    }

    /// Others fail, too.
    fn ends_with_failure(self, failure: &Failure) {
        if let Turn::First(first) = self {
            *first.opening.failure.borrow_mut() = Some(failure.clone());
        }
    }
}

/// The request that opens the first connection, until it is open or given up.
struct First<'t, D: Dial> {
    http: &'t Http<D>,
    way: Way,
    opening: Rc<Opening>,
    /// The time-outs of its exchange.
    watch: Rc<Watch>,
}

impl<D: Dial> Drop for First<'_, D> {
    fn drop(&mut self) {
        let silent = FailureKind::ConnectTimeout;
        if self.watch.rung() == Some(silent) {
            *self.opening.failure.borrow_mut() = Some(ended_by(silent));
        }
        self.http.opening.borrow_mut().remove(&self.way);
        self.opening.ended.notify_one();
    }
}

/// A body by either version.
enum Body<One, Two> {
    One(One),
    Two(Two),
}

impl<One: BodyReader, Two: BodyReader> BodyReader for Body<One, Two> {
    fn promised(&self) -> u64 {
        match self {
            Body::One(body) => body.promised(),
            Body::Two(body) => body.promised(),
        }
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Body::One(body) => body.read().await,
            Body::Two(body) => body.read().await,
        }
    }
}
