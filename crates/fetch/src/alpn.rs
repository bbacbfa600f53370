//! HTTP, of the version that the server chooses: HTTP/2 if it offers that, HTTP/1.1 otherwise.
//!
//! Requests of an origin that come while its first connection is being opened wait for what the server chooses, so that an origin
//! with HTTP/2 gets one connection.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use lycosa_records::Request;
use lycosa_url::{Clock, Failure, FailureKind, Micros};
use tokio::sync::Notify;

use crate::connect::Dialer;
use crate::dial::{Dial, Dialed};
use crate::http1::Http1;
use crate::http2::Http2;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::transport::{Answer, BodyReader, Transport};

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
    /// First connections that are being opened, by origin.
    opening: RefCell<HashMap<Box<str>, Rc<Opening>>>,
}

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

    /// Opens a stream; for the first of an origin, others wait.
    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<D::Stream>, Failure> {
        progress.connecting();
        self.http1.dialer.dial(request, progress).await
    }

    /// Waits while another request opens the first connection of the origin; returns what that came to, or that this request is
    /// the first.
    async fn turn(&self, request: &Request, progress: &Progress) -> Turn<'_, D> {
        let origin = request.url.origin();
        let other = self.opening.borrow().get(origin).cloned();
        let Some(other) = other else {
            let opening = Rc::new(Opening::default());
            self.opening.borrow_mut().insert(origin.into(), opening.clone());
            return Turn::First(First { http: self, origin: origin.into(), opening });
        };
        progress.connecting();
        other.ended.notified().await;
        other.ended.notify_one(); // the next that waits
        if other.is_http1.get() { Turn::Http1 } else { Turn::Again }
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
            let turn = self.turn(request, progress).await;
            if matches!(turn, Turn::Again) {
                continue;
            }
            let dialed = self.dial(request, progress).await?;
            if dialed.protocol.as_deref() != Some(HTTP2) {
                turn.ends_with_http1();
                return Ok(self.http1.exchange_first(dialed, request, progress).await?.map(Body::One));
            }
            let session = self.http2.start(dialed, request).await?;
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
}

/// What a request that needs a new connection does.
enum Turn<'t, D: Dial> {
    /// It opens the first one.
    First(First<'t, D>),
    /// It opens one of its own, for HTTP/1.1.
    Http1,
    /// It looks for a session again.
    Again,
}

impl<D: Dial> Turn<'_, D> {
    /// Others may open connections of their own.
    fn ends_with_http1(self) {
        if let Turn::First(first) = self {
            first.opening.is_http1.set(true);
        }
    }
}

/// The request that opens the first connection, until it is open or given up.
struct First<'t, D: Dial> {
    http: &'t Http<D>,
    origin: Box<str>,
    opening: Rc<Opening>,
}

impl<D: Dial> Drop for First<'_, D> {
    fn drop(&mut self) {
        self.http.opening.borrow_mut().remove(&self.origin);
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
