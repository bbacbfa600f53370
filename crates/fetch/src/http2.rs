//! HTTP/2 (RFC 9113): each exchange is a stream of its origin's session, which all exchanges of the origin share.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::header::CONTENT_LENGTH;
use lycosa_records::{Body, Received, Request, Source};
use lycosa_url::{Clock, Failure, FailureKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_local;
use tokio::time::sleep;

use crate::dial::Dialed;
use crate::http2_message as message;
use crate::message::Template;
use crate::meter::Meter;
use crate::observed::Observed;
use crate::progress::{Progress, since};
use crate::session::{Lease, Session, Sessions};
use crate::settings::{Settings, micros};
use crate::transport::{Answer, BodyReader};
use crate::watch::Wire;

/// Bytes of one response that a server may send before they are read: a body that waits for memory takes no more than that, beside
/// the memory that is counted.
const STREAM_WINDOW: u32 = 256 << 10;

/// The same of all responses of a session: as many as a host may have at a time (`politeness.host_concurrency`), so that bodies that
/// wait do not hold up others.
const SESSION_WINDOW: u32 = 64 * STREAM_WINDOW;

/// The largest frame that a server may send, in bytes: fewer frames than by the protocol's 16 KiB.
const FRAME_BYTES: u32 = 64 << 10;

/// Bytes of frames without content that belong to an exchange: of its settings and windows.
const EXCHANGE_BYTES: usize = 1 << 10;

/// The time in which a session that nobody uses any more is closed properly.
const GOODBYE: Duration = Duration::from_secs(1);

/// Requests in a row that a session may refuse unread: with one more it is left.
const REFUSALS: u32 = 3;

/// Sessions, and how exchanges run on them.
pub(crate) struct Http2 {
    clock: Clock,
    options: Builder,
    max_headers: usize,
    max_header_bytes: usize,
    pub(crate) sessions: RefCell<Sessions>,
}

/// An exchange of which the server has seen nothing: it may begin anew on another session.
pub(crate) struct NotBegun;

impl Http2 {
    /// No sessions.
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut options = Builder::new();
        // The protocol counts 32 bytes more for each field. Twice the limit: what is a little larger is told as such, by `head`.
        let most = settings.max_header_bytes.saturating_mul(2).min(u32::MAX as usize) as u32;
        options
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(SESSION_WINDOW)
            .max_frame_size(FRAME_BYTES)
            // Until the server has said how many it accepts: what is more would be refused.
            .initial_max_send_streams(1)
            .max_header_list_size(most);
        Http2 {
            clock: settings.clock,
            options,
            max_headers: settings.max_headers,
            max_header_bytes: settings.max_header_bytes,
            sessions: RefCell::new(Sessions::new(settings.idle_capacity(), micros(settings.idle_timeout))),
        }
    }

    /// Starts a session on a new stream; its task ends with the session.
    pub(crate) async fn start<S: AsyncRead + AsyncWrite + Unpin + 'static>(
        &self,
        dialed: Dialed<S>,
        request: &Request,
    ) -> Result<Rc<Session>, Failure> {
        let Dialed { stream, address, certificate, .. } = dialed;
        let meter = Rc::new(Meter::default());
        let stream = Observed { inner: stream, observer: meter.clone() };
        let (sender, connection) =
            self.options.handshake(stream).await.map_err(|error| message::failure(&error))?;
        let (session, dropped) = Session::new(address, certificate, sender, meter, self.clock.now());
        let (over, session) = (session.over.clone(), Rc::new(session));
        spawn_local(async move {
            tokio::select! {
                _ = connection => {} // its error reaches the exchanges
                // It says goodbye, if the server lets it: one that reads nothing would keep it open.
                () = async { let _ = dropped.await; sleep(GOODBYE).await; } => {}
            }
            over.set(true);
        });
        self.sessions.borrow_mut().insert(request.url.origin(), &request.route, session.clone());
        Ok(session)
    }

    /// One exchange on a session, up to the head of the response. `is_kept`: others have used the session before.
    pub(crate) async fn exchange(
        &self,
        session: Rc<Session>,
        request: &Request,
        template: &Template,
        progress: &Progress,
        is_kept: bool,
    ) -> Result<Result<Answer<Reader>, Failure>, NotBegun> {
        let (made, body) = match template.request2(request) {
            Ok(made) => made,
            Err(failure) => return Ok(Err(failure)),
        };
        let sent = template.without_secrets(request, message::sent(&made));
        let wire = Rc::new(Wire::default());
        let Some(lease) = Lease::wait(session, self.clock).await else { return Err(NotBegun) };
        progress.connected(lease.session().address);
        if let Err(failure) = progress.talking(&wire) {
            return Ok(Err(failure));
        }
        let mut sender: SendRequest<Bytes> = lease.session().sender.clone();
        let (mut response, mut stream) = match sender.send_request(made, body.is_empty()) {
            Ok(begun) => begun,
            // The server has said that it accepts no more, or the session has ended: nothing was sent.
            Err(error) if error.is_go_away() || error.is_io() => {
                lease.session().over.set(true);
                return Err(NotBegun);
            }
            Err(error) => return Ok(Err(message::failure(&error))),
        };
        drop(sender);
        wire.sent();
        let unheard = Unheard::new(&lease);
        let began = self.clock.now();
        if !body.is_empty()
            && let Err(error) = stream.send_data(body, true)
        {
            return Ok(Err(message::failure(&error)));
        }
        let answered = self.head(&mut response, &wire, &lease.session().meter).await;
        unheard.ends();
        progress.times(|times| times.first_byte_us = since(began, self.clock.now()));
        let (received, body) = match answered {
            Ok(answered) => {
                lease.session().refusals.set(0);
                answered
            }
            Err(failure) => {
                return Ok(Err(judged(failure, is_kept, &lease, &wire)));
            }
        };
        let (promised, certificate) = (received.1, lease.session().certificate.clone());
        let received = Received { sent, certificate, ..received.0 };
        Ok(Ok(Answer { received, body: Reader { lease, wire, body: Some(body), promised } }))
    }

    /// Waits for the head of the response, past interim ones.
    async fn head(
        &self,
        response: &mut ResponseFuture,
        wire: &Wire,
        meter: &Meter,
    ) -> Result<((Received, u64), RecvStream), Exchanged> {
        // An interim response is a sign of life.
        while let Some(Ok(_)) = poll_fn(|context| response.poll_informational(context)).await {
            wire.received();
        }
        let (parts, body) = response.await.map_err(Exchanged::Failed)?.into_parts();
        wire.received();
        let promises = !body.is_end_stream();
        let bytes: usize =
            parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        meter.used(bytes + EXCHANGE_BYTES);
        if parts.headers.len() > self.max_headers || bytes > self.max_header_bytes {
            let detail = format!("{} header fields of {bytes} bytes", parts.headers.len());
            return Err(Exchanged::Refused(Failure::new(FailureKind::HeadersTooLarge, detail)));
        }
        let promised = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let promised = promised.and_then(|value| value.parse().ok()).filter(|_| promises).unwrap_or(0);
        let received = Received {
            status: parts.status.as_u16(),
            source: Source::Http2,
            head: message::received(parts.status, &parts.headers),
            body: Body::default(),
            sent: Default::default(),
            certificate: None,
            final_url: None,
        };
        Ok(((received, promised), body))
    }
}

/// Why there is no head.
enum Exchanged {
    /// By the protocol.
    Failed(h2::Error),
    /// By a limit of ours.
    Refused(Failure),
}

/// The failure of an exchange before its head was received.
fn judged(exchanged: Exchanged, is_kept: bool, lease: &Lease, wire: &Wire) -> Failure {
    let error = match exchanged {
        Exchanged::Failed(error) => error,
        Exchanged::Refused(failure) => return failure,
    };
    let session = lease.session();
    // The server has not begun with it, and says so (RFC 9113 section 8.7).
    let is_refused = error.is_remote() && error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
    let has_left = error.is_remote() && error.is_go_away() && error.reason() == Some(Reason::NO_ERROR);
    if is_refused || has_left {
        wire.not_processed();
    }
    if is_refused {
        session.refusals.update(|refusals| refusals + 1);
        if session.refusals.get() <= REFUSALS {
            return Failure::new(FailureKind::Cancelled, "the server refused the request unread");
        }
    }
    if !error.is_reset() || is_refused {
        session.over.set(true);
    }
    let failure = message::failure(&error);
    // As with HTTP/1: the session may have ended, or was ended by us for what others of its exchanges got, before the server read the
    // request.
    if is_kept && !error.is_reset() && !wire.has_received() {
        return Failure::new(FailureKind::Cancelled, "the reused connection was closed");
    }
    failure
}

/// An exchange that has received nothing yet. If it is dropped, and nothing came on its session meanwhile, the session is dead: the way
/// to the server has forgotten it. No other exchange is to find that out by its time-out.
struct Unheard<'l> {
    lease: &'l Lease,
    received: u64,
    is_over: bool,
}

impl<'l> Unheard<'l> {
    /// An exchange that begins now.
    fn new(lease: &'l Lease) -> Self {
        Unheard { lease, received: lease.session().meter.received(), is_over: false }
    }

    /// It has a response or a failure.
    fn ends(mut self) {
        self.is_over = true;
    }
}

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        let session = self.lease.session();
        if !self.is_over && session.meter.received() == self.received {
            session.over.set(true);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.body.is_some() {
            // What the server has sent of it already is not its fault.
            self.lease.session().meter.used(STREAM_WINDOW as usize);
        }
    }
}

/// Receives the body of a response.
pub(crate) struct Reader {
    lease: Lease,
    wire: Rc<Wire>,
    /// `None` after the end.
    body: Option<RecvStream>,
    promised: u64,
}

impl BodyReader for Reader {
    fn promised(&self) -> u64 {
        self.promised
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some(body) = &mut self.body else { return Ok(None) };
        match body.data().await {
            Some(Ok(data)) => {
                self.wire.received();
                self.promised = self.promised.saturating_sub(data.len() as u64);
                self.lease.session().meter.used(data.len());
                // The caller stores it: the server may send as much again.
                body.flow_control().release_capacity(data.len()).map_err(|error| message::failure(&error))?;
                Ok(Some(data))
            }
            Some(Err(error)) => Err(message::failure(&error)),
            None => {
                self.body = None;
                Ok(None)
            }
        }
    }
}
