//! HTTP/2 (RFC 9113): each stream is one request, translated to the bytes that HTTP/1.1 has for it, so that the pages, the ledger and
//! whatever else answers know one protocol alone.

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

/// Streams that a client may have open at once: what nginx allows.
const MAX_STREAMS: u32 = 128;

/// Most bytes of answers that wait in one connection. An answer counts as written when its last byte is among them.
const SEND_BUFFER: usize = 64 << 10;

/// Fields that belong to a connection and have no place in HTTP/2 (RFC 9113, 8.2.2), or that say what `:authority` says.
const LEFT_OUT: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"];

/// Answers the streams of one connection until the client leaves, breaks it, or is idle for too long.
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
    // Each stream in work holds one.
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
    // GOAWAY, and time for it to arrive: a request that crosses it is the client's to repeat elsewhere (RFC 9113, 6.8).
    streams.graceful_shutdown();
    let _ = tokio::time::timeout(LINGER, poll_fn(|cx| streams.poll_closed(cx))).await;
}

/// Answers one stream.
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
    // Neither half of the translation can fail, unless there is a bug in it.
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
        // What HTTP/1.1 does to a connection is done to a stream here.
        return stream.send_reset(Reason::INTERNAL_ERROR);
    }
    answer.complete(site, shard, place);
}

/// Waits, if there is anything to wait for.
async fn rest(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// Sends bytes as the client's windows open, with `last` the end of the stream; `None` when they stay shut or the client is gone.
async fn send(site: &Site, stream: &mut SendStream<Bytes>, mut bytes: Bytes, last: bool) -> Option<()> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = tokio::time::timeout(site.idle, poll_fn(|cx| stream.poll_capacity(cx))).await;
        let part = bytes.split_to(room.ok()??.ok()?.min(bytes.len()));
        stream.send_data(part, last && bytes.is_empty()).ok()?;
    }
    Some(())
}

/// The head of a request as HTTP/1.1 has it. Names and values have been checked: no line can be smuggled in.
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

/// The answer that HTTP/1.1 has, in two parts; `None` if it is none, which would be a bug.
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
