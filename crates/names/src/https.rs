//! DNS over HTTPS (RFC 8484): queries and replies as HTTP/2 requests on one connection, by the `h2` crate. No
//! I/O and no thread: received and outgoing bytes are in buffers, and `h2` is polled whenever data arrives or a
//! query is added.
//!
//! Guarantees: each query ends once, with a reply, a failure with its reason, or its return to the caller,
//! unless the connection ends; replies have at most 65,535 bytes, header lists [`HEADERS`], and outgoing bytes
//! are bounded (`pipe`); at most [`STREAMS`] queries are in flight, and no more than the server allows, the
//! others are queued; only status 200 with the media type of DNS is a reply: no redirects, decoding or caching.

mod pipe;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use hashbrown::HashMap;
use http::header::{ACCEPT, AGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use lycosa_url::Micros;

use self::pipe::{Buffers, Flag, Pipe};
use crate::cache::packet::lower_ttls;
use crate::streams::Came;
use crate::wire::HEADER;

/// The ALPN name of HTTP/2 (RFC 9113 section 3.2).
pub(crate) const PROTOCOL: &[u8] = b"h2";

/// The media type of DNS messages (RFC 8484 section 6).
const MESSAGE: &str = "application/dns-message";

/// The longest reply, in bytes.
const LONGEST: usize = 65_535;

/// The most queries in flight: so many incomplete replies can be in memory.
const STREAMS: usize = 256;

/// Queries before the server announces its limit, which it does at once (RFC 9113 section 3.4).
const FIRST: usize = 1;

/// The most bytes of a reply's header fields.
const HEADERS: u32 = 16_384;

/// Unread bytes of all replies together; one reply has [`LONGEST`].
const WINDOW: u32 = 1 << 18;

/// The most received bytes that cannot be processed because the responses to them cannot be sent; the windows
/// allow fewer.
const UNREAD: usize = 1 << 20;

/// HTTP/2 on one connection.
pub(crate) struct Https {
    buffers: Rc<RefCell<Buffers>>,
    requests: SendRequest<Bytes>,
    connection: Connection<Pipe, Bytes>,
    /// Set when the connection has to be polled.
    alarm: Arc<Flag>,
    /// The template of each request.
    request: Request<()>,
    /// Queries to be sent, the oldest first.
    queue: VecDeque<Question>,
    /// Queries in flight, by their ids.
    open: HashMap<u16, Exchange>,
    /// Whether the server accepts no more queries.
    is_leaving: bool,
    /// The number of queries that the server accepted and then refused to answer.
    given_back: usize,
}

/// A query to be sent.
struct Question {
    number: u16,
    message: Bytes,
    /// When it was added.
    at: Micros,
}

/// A query in flight, and the progress of its reply.
struct Exchange {
    at: Micros,
    stage: Stage,
    /// Set when its reply has to be polled.
    news: Arc<Flag>,
}

/// The progress of a reply.
enum Stage {
    Head(ResponseFuture),
    /// The rest of the body, the received part, and the seconds that the reply has spent in HTTP caches.
    Body(RecvStream, Vec<u8>, u32),
}

/// Why a query gets no reply.
enum Trouble {
    /// The connection accepts or answers no more queries.
    Gone(String),
    /// The server's response is not a DNS reply.
    Failed(String),
}

impl Https {
    /// Starts HTTP/2, whose first bytes are put into `outgoing`.
    pub(crate) fn begin(target: &Uri, outgoing: &mut Vec<u8>) -> io::Result<Https> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MESSAGE));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(MESSAGE));
        let buffers = Rc::<RefCell<Buffers>>::default();
        let mut builder = Builder::new();
        builder.enable_push(false).max_header_list_size(HEADERS).initial_max_send_streams(FIRST);
        builder.initial_window_size(LONGEST as u32).initial_connection_window_size(WINDOW);
        builder.max_concurrent_reset_streams(STREAMS);
        let beginning = pin!(builder.handshake(Pipe(buffers.clone())));
        // It waits only for buffer space, which is available.
        let Poll::Ready(begun) = beginning.poll(&mut Context::from_waker(Waker::noop())) else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let (requests, connection) = begun.map_err(io::Error::other)?;
        std::mem::swap(&mut buffers.borrow_mut().outgoing, outgoing);
        Ok(Https {
            buffers,
            requests,
            connection,
            alarm: Flag::set(),
            request,
            queue: VecDeque::new(),
            open: HashMap::new(),
            is_leaving: false,
            given_back: 0,
        })
    }

    /// Adds a query. Its id is sent as 0 (RFC 8484 section 4.1), since the stream identifies the reply.
    pub(crate) fn push(&mut self, message: &[u8], at: Micros) {
        let Some((number, rest)) = message.split_first_chunk() else { return };
        let number = u16::from_be_bytes(*number);
        let message = [&[0, 0], rest].concat().into();
        self.open.remove(&number); // the core has given up the query with this id
        self.queue.push_back(Question { number, message, at });
        self.alarm.ring();
    }

    /// Queries without a reply.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len() + self.open.len()
    }

    /// Whether the server accepts no more queries.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// The number of queries that the server accepted but will not answer; `is_over`: the connection has ended.
    pub(crate) fn lost(&self, is_over: bool) -> usize {
        self.given_back + if is_over { self.open.len() } else { 0 }
    }

    /// Whether there is work before data arrives.
    pub(crate) fn is_busy(&self) -> bool {
        self.alarm.is_set() || self.buffers.borrow().is_full
    }

    /// Drops queries whose replies are no longer of use.
    pub(crate) fn forget(&mut self, patience: Micros, now: Micros) {
        let (before, is_new) = (self.waiting(), |at: Micros| at.saturating_add(patience) > now);
        while self.queue.front().is_some_and(|question| !is_new(question.at)) {
            self.queue.pop_front();
        }
        self.open.retain(|_, exchange| is_new(exchange.at));
        if self.waiting() < before {
            self.alarm.ring(); // sends the cancellation
        }
    }

    /// Processes the received bytes, produces those to send, and passes on the results of queries. An error
    /// ends the connection.
    pub(crate) fn exchange(
        &mut self,
        incoming: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
        mut take: impl FnMut(Came<'_>),
    ) -> io::Result<()> {
        self.buffers.borrow_mut().swap(incoming, outgoing);
        self.buffers.borrow_mut().is_full = false;
        let turned = self.turn(&mut take);
        self.buffers.borrow_mut().swap(incoming, outgoing);
        if incoming.len() > UNREAD {
            return Err(io::Error::other("the server sends and does not read"));
        }
        turned
    }

    /// Polls `h2` until it has no more work.
    fn turn(&mut self, take: &mut impl FnMut(Came<'_>)) -> io::Result<()> {
        let waker = Waker::from(self.alarm.clone());
        let context = &mut Context::from_waker(&waker);
        loop {
            self.alarm.clear();
            let polled = Pin::new(&mut self.connection).poll(context);
            self.collect(take);
            self.send(context, take);
            match polled {
                Poll::Ready(Ok(())) => return Err(closed()),
                Poll::Ready(Err(error)) => return Err(io::Error::other(error)),
                Poll::Pending if self.is_leaving && self.waiting() == 0 => return Err(closed()),
                Poll::Pending => (),
            }
            if !self.alarm.is_set() {
                return Ok(());
            }
        }
    }

    /// Sends queries, as many as the server allows.
    fn send(&mut self, context: &mut Context<'_>, take: &mut impl FnMut(Came<'_>)) {
        loop {
            match self.requests.poll_ready(context) {
                Poll::Ready(Ok(())) => (),
                Poll::Ready(Err(error)) => {
                    self.is_leaving = true;
                    let why = explain(&error);
                    self.queue.drain(..).for_each(|question| take(Came::Gone(question.number, &why)));
                    return;
                }
                Poll::Pending => return,
            }
            // Beyond its limit `h2` would queue them itself, and it would be unknown which of them the server
            // has.
            if self.open.len() >= self.requests.current_max_send_streams().min(STREAMS) {
                return;
            }
            let Some(Question { number, message, at }) = self.queue.pop_front() else { return };
            let mut request = self.request.clone();
            request.headers_mut().insert(CONTENT_LENGTH, message.len().into());
            let sent = self.requests.send_request(request, false).and_then(|(response, mut body)| {
                body.send_data(message, true)?;
                Ok(Stage::Head(response))
            });
            match sent {
                Ok(stage) => drop(self.open.insert(number, Exchange { at, stage, news: Flag::set() })),
                Err(error) => take(Came::Failed(number, &explain(&error))),
            }
        }
    }

    /// Passes on the finished queries: answered ones first, since these show that the server works.
    fn collect(&mut self, take: &mut impl FnMut(Came<'_>)) {
        let mut gone = Vec::new();
        self.open.retain(|number, exchange| {
            if !exchange.news.clear() {
                return true;
            }
            let waker = Waker::from(exchange.news.clone());
            let Poll::Ready(end) = exchange.advance(&mut Context::from_waker(&waker)) else { return true };
            self.alarm.ring(); // a slot is free for another query
            match end {
                Ok(mut reply) if reply.len() >= HEADER => {
                    reply[..2].copy_from_slice(&number.to_be_bytes());
                    take(Came::Own(&reply));
                }
                Ok(_) => take(Came::Failed(*number, "HTTPS: the reply is not a DNS message")),
                Err(Trouble::Failed(why)) => take(Came::Failed(*number, &why)),
                Err(Trouble::Gone(why)) => gone.push((*number, why)),
            }
            false
        });
        self.given_back += gone.len();
        gone.iter().for_each(|(number, why)| take(Came::Gone(*number, why)));
    }
}

impl Exchange {
    /// Processes the received part of the reply.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<u8>, Trouble>> {
        loop {
            match &mut self.stage {
                Stage::Head(response) => {
                    let response = ready!(Pin::new(response).poll(context))?;
                    judge(&response).map_err(|why| Trouble::Failed(format!("HTTPS: {why}")))?;
                    let age = age(&response);
                    self.stage = Stage::Body(response.into_body(), Vec::new(), age);
                }
                Stage::Body(body, reply, age) => {
                    let Some(part) = ready!(body.poll_data(context)).transpose()? else {
                        lower_ttls(reply, *age);
                        return Poll::Ready(Ok(std::mem::take(reply)));
                    };
                    body.flow_control().release_capacity(part.len())?;
                    if reply.len() + part.len() > LONGEST {
                        return Poll::Ready(Err(Trouble::Failed(format!("HTTPS: {}", too_long()))));
                    }
                    reply.extend_from_slice(&part);
                }
            }
        }
    }
}

/// Checks whether a response has a DNS reply; if not, returns the reason.
fn judge(response: &Response<RecvStream>) -> Result<(), String> {
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status().as_u16()));
    }
    let field = |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let media = field(CONTENT_TYPE).unwrap_or_default();
    if !media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case(MESSAGE)) {
        let told: String = media.chars().filter(|letter| !letter.is_control()).take(64).collect();
        return Err(format!("the content type is {told:?} instead of {MESSAGE}"));
    }
    let length = field(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > LONGEST as u64) { Err(too_long()) } else { Ok(()) }
}

/// The seconds that a reply has spent in HTTP caches (RFC 8484 section 5.1); 0 if the field is invalid.
fn age(response: &Response<RecvStream>) -> u32 {
    let text = response.headers().get(AGE).and_then(|value| value.to_str().ok());
    text.and_then(|text| text.trim().parse::<u64>().ok())
        .map_or(0, |age| u32::try_from(age).unwrap_or(u32::MAX))
}

/// The failure for a reply that is longer than any DNS message.
fn too_long() -> String {
    format!("a reply of more than {LONGEST} bytes")
}

/// The error for a connection that was closed without a fault.
fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

/// An error of `h2` as text.
fn explain(error: &h2::Error) -> String {
    if error.is_go_away() && error.reason() == Some(Reason::NO_ERROR) {
        return "HTTPS: the server is about to close the connection".to_owned();
    }
    format!("HTTPS: {error}")
}

impl From<h2::Error> for Trouble {
    fn from(error: h2::Error) -> Self {
        let why = explain(&error);
        if error.is_go_away() || error.is_io() { Trouble::Gone(why) } else { Trouble::Failed(why) }
    }
}
