//! HTTP/2 (RFC 9113): each stream is one request, which is translated to HTTP/1.1, so that all other code deals with one
//! protocol only.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::http::{self as http1, Buffer, LINGER, MAX_HEAD, Site};
use crate::trouble::Befallen;
use crate::wire::{Arrival, Door};

/// Maximum of concurrent streams: the default of nginx.
const MAX_STREAMS: u32 = 128;

/// Maximum of buffered response bytes per connection. A response counts as written when its last byte is buffered.
const SEND_BUFFER: usize = 64 << 10;

/// Fields that are connection-specific and not allowed in HTTP/2 (RFC 9113, 8.2.2), or redundant or irrelevant here.
const LEFT_OUT: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"];

/// Serves the streams of one connection until it is closed, broken, or idle for too long.
pub(crate) async fn serve<S>(
    site: &Arc<Site>,
    shard: usize,
    stream: S,
    arrival: Arrival,
    door: Door,
    connection: u32,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = Builder::new()
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD as u32)
        .max_send_buffer_size(SEND_BUFFER)
        .handshake(stream);
    let Ok(Ok(mut streams)) = tokio::time::timeout(site.idle, handshake).await else { return };
    // Each active stream has a clone.
    let working = Arc::new(());
    loop {
        match tokio::time::timeout(site.idle, streams.accept()).await {
            Ok(Some(Ok((request, respond)))) => {
                let time = site.ledger.time(arrival.last());
                let (site, working) = (site.clone(), working.clone());
                tokio::spawn(async move {
                    answer(&site, shard, time, door, connection, &request, respond).await;
                    drop(working);
                });
            }
            Ok(Some(Err(_)) | None) => return,
            Err(_) if Arc::strong_count(&working) > 1 => {}
            Err(_) => break,
        }
    }
    // Sends GOAWAY and waits for it to arrive; the client may retry requests that crossed it (RFC 9113, 6.8).
    streams.graceful_shutdown();
    let _ = tokio::time::timeout(LINGER, poll_fn(|cx| streams.poll_closed(cx))).await;
}

/// Serves one stream.
async fn answer(
    site: &Site,
    shard: usize,
    time: u64,
    door: Door,
    connection: u32,
    request: &Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let mut out = Buffer::take();
    let rendered = http1::respond(site, door, time, &translate(request), &mut out.0);
    // The translation fails only in case of a bug.
    let Some((_, answer)) = rendered else { return respond.send_reset(Reason::INTERNAL_ERROR) };
    let Some((head, mut body)) = translate_back(answer.bytes(&out.0)) else {
        return respond.send_reset(Reason::INTERNAL_ERROR);
    };
    drop(out);
    let Some(place) = answer.record(site, shard, time, door, connection) else { return };
    if let Some(befallen) = answer.befallen {
        if befallen == Befallen::Silent {
            site.troubles.pass(door.address, Some(answer.host())).await;
        }
        return respond.send_reset(Reason::INTERNAL_ERROR);
    }
    let length = body.len();
    let mut pieces = answer.pace.pieces(length).peekable();
    rest(pieces.peek().map(|&(_, pause)| pause).unwrap_or_default()).await;
    let Ok(mut stream) = respond.send_response(head, body.is_empty()) else { return };
    for (i, (until, pause)) in pieces.enumerate() {
        if i > 0 {
            rest(pause).await;
        }
        let piece = body.split_to(until + body.len() - length);
        if send(site, &mut stream, piece, body.is_empty()).await.is_none() {
            return stream.send_reset(Reason::CANCEL);
        }
    }
    if answer.pace.cut {
        // HTTP/1.1 resets the connection here, HTTP/2 the stream.
        return stream.send_reset(Reason::INTERNAL_ERROR);
    }
    answer.complete(site, shard, place);
}

/// Sleeps, unless the pause is zero.
async fn rest(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// Sends bytes within the flow-control windows, and ends the stream if `last`; `None` on time-out or disconnection.
async fn send(site: &Site, stream: &mut SendStream<Bytes>, mut bytes: Bytes, last: bool) -> Option<()> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let space = tokio::time::timeout(site.idle, poll_fn(|cx| stream.poll_capacity(cx))).await;
        let part = bytes.split_to(space.ok()??.ok()?.min(bytes.len()));
        stream.send_data(part, last && bytes.is_empty()).ok()?;
    }
    Some(())
}

/// Translates a request's head to HTTP/1.1. Names and values have been checked, so that no line can be injected.
fn translate(request: &Request<RecvStream>) -> Vec<u8> {
    let (uri, fields) = (request.uri(), request.headers());
    let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = authority.or_else(|| fields.get("host").map(|value| value.as_bytes())).unwrap_or_default();
    let path = uri.path_and_query().map_or("*", |path| path.as_str());
    let mut head = Vec::with_capacity(512);
    for part in [request.method().as_str(), " ", path, " HTTP/1.1\r\nHost: "] {
        head.extend_from_slice(part.as_bytes());
    }
    head.extend_from_slice(host);
    head.extend_from_slice(b"\r\n");
    for (name, value) in fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Translates an HTTP/1.1 response to head and body; `None` if it is invalid, which would be a bug.
fn translate_back(bytes: &[u8]) -> Option<(Response<()>, Bytes)> {
    let mut fields = [httparse::EMPTY_HEADER; 24];
    let mut parsed = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(end) = parsed.parse(bytes).ok()? else { return None };
    let mut head = Response::builder().status(parsed.code?);
    for field in parsed.headers.iter().filter(|field| !field.name.eq_ignore_ascii_case("connection")) {
        head = head.header(field.name, field.value);
    }
    Some((head.body(()).ok()?, Bytes::copy_from_slice(&bytes[end..])))
}
