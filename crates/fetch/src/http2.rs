//! HTTP/2 (RFC 9113): each exchange is a stream of its origin's session, which all exchanges of the origin share.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::header::CONTENT_LENGTH;
use lycosa_records::{Body, Received, Request, Source};
use lycosa_url::{Clock, Failure, FailureKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_local;

use crate::dial::Dialed;
use crate::http2_message as message;
use crate::message::Template;
use crate::meter::{Meter, Metered};
use crate::progress::{Progress, since};
use crate::session::{Lease, Session, Sessions};
use crate::settings::{Settings, micros};
use crate::transport::{Answer, BodyReader};
use crate::watch::Wire;

/// Bytes of one response that a server may send before they are read, and of all responses of a session: what waits for memory
/// takes no more than that, beside the memory that is counted.
const STREAM_WINDOW: u32 = 256 << 10;
const SESSION_WINDOW: u32 = 512 << 10;

/// The largest frame that a server may send, in bytes: fewer frames than by the protocol's 16 KiB.
const FRAME_BYTES: u32 = 64 << 10;

/// Bytes of frames without content that belong to an exchange: of its settings and windows.
const EXCHANGE_BYTES: usize = 1 << 10;

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
        let stream = Metered::new(stream, meter.clone());
        let (sender, connection) =
            self.options.handshake(stream).await.map_err(|error| message::failure(&error))?;
        let session = Rc::new(Session::new(address, certificate, sender, meter, self.clock.now()));
        let over = session.over.clone();
        spawn_local(async move {
            let _ = connection.await; // its error reaches the exchanges
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
        let sent = message::sent(&made);
        let wire = Rc::new(Wire::default());
        let mut sender: SendRequest<Bytes> = session.sender.clone();
        // Fails if the server has said that it accepts no more, or the session has ended: nothing was sent.
        let Ok((mut response, mut stream)) = sender.send_request(made, body.is_empty()) else {
            session.over.set(true);
            return Err(NotBegun);
        };
        drop(sender);
        let lease = Lease::new(session, self.clock);
        progress.connected(lease.session().address);
        progress.talking(&wire);
        wire.sent();
        let began = self.clock.now();
        if !body.is_empty()
            && let Err(error) = stream.send_data(body, true)
        {
            return Ok(Err(message::failure(&error)));
        }
        let answered = self.head(&mut response, &wire, &lease.session().meter).await;
        progress.times(|times| times.first_byte_us = since(began, self.clock.now()));
        let (received, body) = match answered {
            Ok(answered) => answered,
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
        let bytes: usize =
            parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        meter.used(bytes + EXCHANGE_BYTES);
        if parts.headers.len() > self.max_headers || bytes > self.max_header_bytes {
            let detail = format!("{} header fields of {bytes} bytes", parts.headers.len());
            return Err(Exchanged::Refused(Failure::new(FailureKind::HeadersTooLarge, detail)));
        }
        let promised = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let promised = promised.and_then(|value| value.parse().ok()).unwrap_or(0);
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
    // The server has not begun with it, and says so (RFC 9113 section 8.7); a session that always does is left.
    let is_unprocessed = error.is_remote()
        && match error.reason() {
            Some(Reason::REFUSED_STREAM) => error.is_reset(),
            Some(Reason::NO_ERROR) => error.is_go_away(),
            _ => false,
        };
    if is_unprocessed {
        lease.session().over.set(true);
        wire.not_processed();
    }
    let failure = message::failure(&error);
    // As with HTTP/1: the server may have closed the idle session before it read the request.
    let is_closed = failure.kind == FailureKind::ConnectionClosed && !wire.has_received();
    if is_kept && (is_unprocessed || (is_closed && !error.is_reset())) {
        return Failure::new(FailureKind::Cancelled, "the reused connection was closed");
    }
    failure
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
                body.flow_control()
                    .release_capacity(data.len())
                    .map_err(|error| message::failure(&error))?;
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
