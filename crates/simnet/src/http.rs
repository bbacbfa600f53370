//! HTTP/1.1: [`respond`] handles a request without I/O; [`serve`] moves the bytes of one connection.

use std::cell::RefCell;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use crate::ledger::{Kind, Ledger, NONE, Request};
use crate::network::Network;
use crate::pace::Pace;
use crate::packed::Mark;
use crate::page;
use crate::path::decimal;
use crate::ports::Ports;
use crate::secure::compact;
use crate::tls::Tls;
use crate::trouble::{Befallen, PORTAL_NAME, Portal, Troubles};
use crate::wire::{Arrival, Break, Door};
use crate::world::{Slot, World};

mod hostile;

/// Maximum size of a request's head in bytes.
pub(crate) const MAX_HEAD: usize = 16 << 10;

/// Maximum of header fields of a request.
const MAX_FIELDS: usize = 100;

/// Space for a response's head before its body, so that one write sends both.
const HEAD_ROOM: usize = 640;

/// Maximum size of name and path in a redirect to HTTPS, so that it fits into [`HEAD_ROOM`].
const MAX_MOVED: usize = 400;

/// Time that a connection is drained after the server has closed it.
pub(crate) const LINGER: Duration = Duration::from_millis(250);

/// Login page of a captive portal.
const LOGIN: &str = "<!DOCTYPE html>\n<title>Log in</title>\n<h1>Welcome to the guest network</h1>\n\
    <form action=\"/login\" method=\"post\"><input name=\"room\"><button>Connect</button></form>\n";

/// Buffers of this size or more are not reused.
const KEEP_BUFFER: usize = 512 << 10;

/// State shared by the serving threads.
pub(crate) struct Site {
    /// The simulated world.
    pub(crate) world: World,
    /// Delays, losses and rate limits.
    pub(crate) network: Network,
    /// Records of all requests.
    pub(crate) ledger: Ledger,
    /// Schemes and ports of URLs.
    pub(crate) ports: Ports,
    /// Injected faults.
    pub(crate) troubles: Troubles,
    /// The world's seed.
    pub(crate) seed: u64,
    /// The TCP port of HTTP.
    pub(crate) http_port: u16,
    /// TLS state, if any host is on HTTPS.
    pub(crate) tls: Option<Tls>,
    /// How long a connection may be idle.
    pub(crate) idle: Duration,
    /// Ends idle connections, that which has been idle for longest first, while no file is free for a new one.
    pub(crate) crowded: Notify,
}

/// One rendered response: `out[start..]` are its bytes.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its start in the buffer.
    start: usize,
    /// Its status.
    status: u16,
    /// Kind of the request.
    kind: Kind,
    /// The host, or [`NONE`].
    host: u32,
    /// A slot or a string, depending on the kind.
    page: u32,
    /// Bytes of the body.
    body: u32,
    /// Whether the connection is closed after it.
    close: bool,
    /// Timing of its bytes.
    pub(crate) pace: Pace,
    /// Whether it has a body; a HEAD never completes a page.
    whole: bool,
    /// The trouble that prevents it; the ledger records status 0 for such a request.
    pub(crate) befallen: Option<Befallen>,
}

impl Answer {
    /// Its bytes in the buffer into which it was rendered.
    pub(crate) fn bytes<'a>(&self, out: &'a [u8]) -> &'a [u8] {
        &out[self.start..]
    }

    /// The requested host, or [`NONE`].
    pub(crate) fn host(&self) -> u32 {
        self.host
    }

    /// Records the request; returns its index for [`Answer::complete`].
    pub(crate) fn record(
        &self,
        site: &Site,
        shard: usize,
        time: u64,
        door: Door,
        connection: u32,
    ) -> Option<usize> {
        let &Self { status, kind, host, page, body, .. } = self;
        let request = Request {
            time,
            host,
            page,
            address: compact(door.address)?,
            connection,
            body,
            status,
            kind,
            retry_after_ms: retry_after(&site.world, host, kind, status),
            ..Request::default()
        };
        Some(site.ledger.request(shard, request))
    }

    /// Records that it was written completely.
    pub(crate) fn complete(&self, site: &Site, shard: usize, place: usize) {
        if self.whole {
            site.ledger.complete(shard, place);
        }
    }
}

/// Serves the requests of one connection until it is closed, idle for too long, or broken.
pub(crate) async fn serve<S>(
    site: &Site,
    shard: usize,
    mut stream: S,
    arrival: Arrival,
    door: Door,
    connection: u32,
) where
    S: AsyncRead + AsyncWrite + Break + Unpin,
{
    let mut buffer = vec![0; 2048];
    let (mut filled, mut time) = (0, 0);
    loop {
        let mut out = Buffer::take();
        let Some((used, answer)) = respond(site, door, time, &buffer[..filled], &mut out.0) else {
            if filled == buffer.len() {
                buffer.resize(MAX_HEAD.min(filled * 2) + 1, 0);
            }
            drop(out);
            let read = tokio::time::timeout(site.idle, stream.read(&mut buffer[filled..]));
            let read = tokio::select! {
                biased;
                read = read => read,
                () = site.crowded.notified(), if filled == 0 => return,
            };
            let Ok(Ok(length @ 1..)) = read else { return };
            filled += length;
            time = site.ledger.time(arrival.last());
            continue;
        };
        let Some(place) = answer.record(site, shard, time, door, connection) else { return };
        if answer.befallen.is_some() {
            if answer.befallen == Some(Befallen::Silent) {
                site.troubles.pass(door.address, Some(answer.host)).await;
            }
            return stream.reset();
        }
        let (mut from, bytes) = (0, answer.bytes(&out.0));
        for (until, pause) in answer.pace.pieces(bytes.len()) {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            if write(&mut stream, &bytes[from..until], site.idle).await.is_none() {
                return;
            }
            from = until;
        }
        if answer.pace.cut {
            // Discards unsent bytes: the client sees a reset.
            return stream.reset();
        }
        answer.complete(site, shard, place);
        if answer.close {
            return hang_up(stream, &mut buffer).await;
        }
        buffer.copy_within(used..filled, 0);
        filled -= used;
    }
}

/// The Retry-After of a response in milliseconds; 0 without one.
fn retry_after(world: &World, host: u32, kind: Kind, status: u16) -> u32 {
    let asks = matches!(status, 429 | 503) && kind != Kind::Robots;
    world.retry_after(host).filter(|_| asks).unwrap_or_default().saturating_mul(1000)
}

/// Closes a connection so that the last response arrives: closing with unread bytes would reset it (RFC 9112, 9.6).
async fn hang_up(mut stream: impl AsyncRead + AsyncWrite + Unpin, buffer: &mut [u8]) {
    let drain = async {
        stream.shutdown().await?;
        // Bounded, in case the client never stops sending.
        for _ in 0..64 {
            if stream.read(buffer).await? == 0 {
                break;
            }
        }
        std::io::Result::Ok(())
    };
    // Errors are ignored, since the response has been sent.
    let _ = tokio::time::timeout(LINGER, drain).await;
}

/// Writes all bytes; returns `None` if the client has disconnected or does not read.
async fn write(stream: &mut (impl AsyncWrite + Unpin), mut bytes: &[u8], idle: Duration) -> Option<()> {
    while !bytes.is_empty() {
        match tokio::time::timeout(idle, stream.write(bytes)).await {
            Ok(Ok(written @ 1..)) => bytes = &bytes[written..],
            _ => return None,
        }
    }
    tokio::time::timeout(idle, stream.flush()).await.ok()?.ok()
}

/// The relevant parts of a request's head.
struct Head<'a> {
    /// Whether the method is GET.
    get: bool,
    /// Whether the method is HEAD.
    head: bool,
    /// The path with the query.
    path: &'a str,
    /// The authority of an absolute target, else the Host field.
    host: &'a str,
    /// Whether gzip is accepted.
    gzip: bool,
    /// Whether the connection is closed after the response.
    close: bool,
}

/// Renders the response to the first request in `bytes`, which arrived at `time`, and returns it with the
/// request's length; `None` if the head is incomplete.
pub(crate) fn respond(
    site: &Site,
    door: Door,
    time: u64,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Option<(usize, Answer)> {
    out.clear();
    out.resize(HEAD_ROOM, 0);
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let used = match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) if used <= MAX_HEAD => used,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => return None,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Some((bytes.len(), refuse(431, out))),
        Err(_) => return Some((bytes.len(), refuse(400, out))),
    };
    let mut answer = match read_head(&request) {
        Ok(head) if head.get || head.head => self::answer(site, door, time, &head, out),
        Ok(_) => refuse(501, out),
        Err(status) => refuse(status, out),
    };
    answer.befallen =
        site.troubles.befalls(Some(answer.host)).filter(|b| matches!(b, Befallen::Broken | Befallen::Silent));
    if answer.befallen.is_some() {
        (answer.status, answer.body, answer.whole) = (0, 0, false);
        return Some((used, answer));
    }
    let Answer { host, page, kind, status, body, .. } = answer;
    answer.pace = site.network.pace(&site.world, host, page, kind, status, body);
    Some((used, answer))
}

/// Reads a parsed head; the error is the status of the response.
fn read_head<'a>(request: &httparse::Request<'_, 'a>) -> Result<Head<'a>, u16> {
    let old = request.version == Some(0);
    let method = request.method.unwrap_or_default();
    let mut path = request.path.unwrap_or_default();
    let mut head =
        Head { get: method == "GET", head: method == "HEAD", path, host: "", gzip: false, close: old };
    let mut hosts = 0;
    for field in request.headers.iter() {
        let Ok(value) = std::str::from_utf8(field.value) else { continue };
        match field.name.len() {
            4 if field.name.eq_ignore_ascii_case("host") => {
                head.host = value.trim();
                hosts += 1;
            }
            10 if field.name.eq_ignore_ascii_case("connection") => {
                head.close = has_token(value, "close") || old && !has_token(value, "keep-alive");
            }
            15 if field.name.eq_ignore_ascii_case("accept-encoding") => head.gzip = has_token(value, "gzip"),
            // Bodies are not read, so the connection must be closed, or the body would be parsed as a request.
            14 if field.name.eq_ignore_ascii_case("content-length") => head.close |= value.trim() != "0",
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => head.close = true,
            _ => {}
        }
    }
    if let Some(rest) = path.strip_prefix("http://").or_else(|| path.strip_prefix("https://")) {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        (head.host, path) = rest.split_at(end);
        head.path = if path.is_empty() { "/" } else { path };
    }
    // RFC 9112, 3.2: exactly one Host field in HTTP/1.1.
    if hosts > 1 || hosts == 0 && !old || !head.path.starts_with('/') { Err(400) } else { Ok(head) }
}

/// Whether a comma-separated list has a token without `q=0`.
fn has_token(list: &str, token: &str) -> bool {
    list.split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(token));
        named
            && !parts.any(|p| {
                p.strip_prefix("q=0").is_some_and(|rest| rest.bytes().all(|b| b == b'.' || b == b'0'))
            })
    })
}

/// Renders the response to a valid request.
fn answer(site: &Site, door: Door, time: u64, head: &Head<'_>, out: &mut Vec<u8>) -> Answer {
    let world = &site.world;
    let (age, mut lower) = (site.network.age(time), [0; 255]);
    let name = lower_name(head.host, &mut lower).unwrap_or_default();
    let host = world.find_host(name);
    match site.troubles.befalls(host.or_else(|| world.find_zone(name))) {
        Some(Befallen::Portal(kind)) => return portal(site, host, name, kind, time, head, out),
        Some(Befallen::Unavailable) if head.path == "/robots.txt" && host.is_some() => {
            return plain(503, Kind::Robots, host.unwrap_or(NONE), NONE, head, out);
        }
        _ => {}
    }
    // With TLS, the host must be that of the handshake (RFC 9110, 7.4).
    let serves = |&host: &u32| {
        world.serves_at(host, door.address, age) && door.server.is_none_or(|named| named == host)
    };
    let Some(host) = host.filter(serves) else {
        let zone = if host.is_none() { world.find_zone(name) } else { None };
        if let Some(zone) = zone.filter(serves) {
            return hostile::wild(site, zone, door.server.is_some(), name, head, out);
        }
        let text = format!("{}{}", head.host, head.path);
        return plain(421, Kind::Misdirected, NONE, site.ledger.intern(&text), head, out);
    };
    if door.server.is_none() && world.is_https(host) {
        return upgrade(site, host, host, name, head, out);
    }
    if world.has_natures()
        && let Some(answer) = hostile::answer(site, host, time, head, out)
    {
        return answer;
    }
    if head.path == "/robots.txt" {
        let robots = world.robots(host);
        if !robots.exists {
            return plain(404, Kind::Robots, host, NONE, head, out);
        }
        robots.write(out);
        return finish(
            200,
            Kind::Robots,
            host,
            NONE,
            head,
            &["Content-Type: text/plain; charset=utf-8\r\n"],
            out,
        );
    }
    let Some(slot) = world.find_slot(host, head.path.as_bytes()) else {
        return plain(404, Kind::Unknown, host, site.ledger.intern(head.path), head, out);
    };
    match world.slot(host, slot) {
        Slot::Missing => plain(404, Kind::Page, host, slot, head, out),
        Slot::Broken => plain(world.fault(host, slot), Kind::Page, host, slot, head, out),
        Slot::Redirect { permanent, host: to, slot: target } => {
            let status = if permanent { 301 } else { 302 };
            let path = world.path(to, target);
            // Half of the redirects within a host are relative (RFC 9110, 10.2.2).
            let location = if to == host && slot % 2 == 0 {
                format!("Location: {path}\r\n")
            } else {
                format!("Location: {}\r\n", site.ports.url(world, to, &path))
            };
            moved(status, Kind::Page, host, slot, head, &location, out)
        }
        Slot::Page => {
            if let Some(kind) = hostile::render(site, host, slot, HEAD_ROOM, out) {
                return finish(200, Kind::Page, host, slot, head, &[&kind], out);
            }
            let encoding = match (world.compresses(host), head.gzip) {
                (true, true) => {
                    compressed(site, host, slot, out);
                    "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
                }
                (true, false) => "Vary: Accept-Encoding\r\n",
                (false, _) => "",
            };
            if !encoding.starts_with('C') {
                page::render(world, &site.ports, host, slot, out);
            }
            let (mut a, mut b) = ([0; 10], [0; 10]);
            let (a, b) = (decimal(host, &mut a), decimal(slot, &mut b));
            let tag = if encoding.starts_with('C') { "-gzip\"\r\n" } else { "\"\r\n" };
            // One host in eight declares its charset only in the page.
            let charset = if host % 8 == 7 { "\r\n" } else { "; charset=utf-8\r\n" };
            let fields = ["Content-Type: text/html", charset, encoding, "ETag: \"", a, "-", b, tag];
            finish(200, Kind::Page, host, slot, head, &fields, out)
        }
    }
}

/// The name in a Host field, in lower case and without the port.
fn lower_name<'a>(field: &str, lower: &'a mut [u8; 255]) -> Option<&'a str> {
    let name = field.rsplit_once(':').map_or(field, |(name, _)| name);
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    let lower = std::str::from_utf8(lower).ok()?;
    Some(lower.strip_suffix('.').unwrap_or(lower))
}

/// Redirects a request without TLS to a host on HTTPS. `own` is the host, or the name in its zone, for the ledger.
fn upgrade(site: &Site, host: u32, own: u32, name: &str, head: &Head<'_>, out: &mut Vec<u8>) -> Answer {
    let path = site.ledger.intern(head.path);
    if name.len() + head.path.len() > MAX_MOVED {
        return plain(414, Kind::Upgrade, own, path, head, out);
    }
    let (scheme, port) = site.ports.around(&site.world, host);
    let location = format!("Location: {scheme}{name}{port}{}\r\n", head.path);
    moved(301, Kind::Upgrade, own, path, head, &location, out)
}

/// Response of a captive portal to any request.
fn portal(
    site: &Site,
    host: Option<u32>,
    name: &str,
    kind: Portal,
    time: u64,
    head: &Head<'_>,
    out: &mut Vec<u8>,
) -> Answer {
    let text = site.ledger.intern(head.path);
    let (own, html) = (host.unwrap_or(NONE), "Content-Type: text/html; charset=utf-8\r\n");
    if kind == Portal::Redirect && name != PORTAL_NAME {
        let location = format!("Location: http://{PORTAL_NAME}:{}/login\r\n", site.http_port);
        return moved(302, Kind::Captive, own, text, head, &location, out);
    }
    out.extend_from_slice(LOGIN.as_bytes());
    if kind == Portal::Varied {
        let visit = format!("<p>Visit {time} of http://{name}{}\n", head.path);
        out.extend_from_slice(visit.as_bytes());
    }
    let status = if kind == Portal::Refusal { 403 } else { 200 };
    finish(status, Kind::Captive, own, text, head, &[html], out)
}

/// A short page for a redirect.
fn moved(
    status: u16,
    kind: Kind,
    host: u32,
    page: u32,
    head: &Head<'_>,
    location: &str,
    out: &mut Vec<u8>,
) -> Answer {
    out.extend_from_slice(b"<!DOCTYPE html>\n<title>Moved</title>\n<p>This page has moved.\n");
    finish(status, kind, host, page, head, &[location, "Content-Type: text/html; charset=utf-8\r\n"], out)
}

/// A short page for an error.
fn plain(status: u16, kind: Kind, host: u32, page: u32, head: &Head<'_>, out: &mut Vec<u8>) -> Answer {
    let text = ["<!DOCTYPE html>\n<title>", reason(status), "</title>\n<h1>", reason(status), "</h1>\n"];
    text.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    finish(status, kind, host, page, head, &["Content-Type: text/html; charset=utf-8\r\n"], out)
}

/// Response to an invalid request; closes the connection.
fn refuse(status: u16, out: &mut Vec<u8>) -> Answer {
    let head = Head { get: true, head: false, path: "", host: "", gzip: false, close: true };
    plain(status, Kind::Bad, NONE, NONE, &head, out)
}

/// Writes the head before the body in `out`.
fn finish(
    status: u16,
    kind: Kind,
    host: u32,
    page: u32,
    head: &Head<'_>,
    fields: &[&str],
    out: &mut Vec<u8>,
) -> Answer {
    let body = (out.len() - HEAD_ROOM) as u32;
    let (mut code, mut length) = ([0; 10], [0; 10]);
    let first =
        ["HTTP/1.1 ", decimal(u32::from(status), &mut code), " ", reason(status), "\r\nServer: simnet\r\n"];
    let close = if head.close { "Connection: close\r\n" } else { "" };
    let last = ["Content-Length: ", decimal(body, &mut length), "\r\n", close, "\r\n"];
    let parts = || first.iter().chain(fields).chain(&last);
    let size: usize = parts().map(|part| part.len()).sum();
    // Always fits: paths are under 100 bytes and names under 80. A head that did not fit would be a bug.
    let start = HEAD_ROOM.saturating_sub(size);
    let mut at = start;
    for part in parts() {
        if let Some(place) = out.get_mut(at..at + part.len()) {
            place.copy_from_slice(part.as_bytes());
        }
        at += part.len();
    }
    if head.head {
        out.truncate(HEAD_ROOM);
    }
    let body = if head.head { 0 } else { body };
    Answer {
        start,
        status,
        kind,
        host,
        page,
        body,
        close: head.close,
        pace: Pace::default(),
        whole: !head.head,
        befallen: None,
    }
}

/// Reason phrase of a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        414 => "URI Too Long",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Not Implemented",
    }
}

/// Renders a page as gzip, from compressed fragments.
fn compressed(site: &Site, host: u32, slot: u32, out: &mut Vec<u8>) {
    thread_local! {
        /// The uncompressed page and the positions of its fragments.
        static PLAIN: RefCell<(Vec<u8>, Vec<Mark>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    }
    PLAIN.with_borrow_mut(|(plain, marks)| {
        plain.clear();
        marks.clear();
        page::render_marked(&site.world, &site.ports, host, slot, Some(marks), plain);
        let text = &site.world.text;
        text.packed().gzip(plain, marks, |n| text.fragment(n).len(), out);
    });
}

/// An output buffer from the thread's pool; idle connections need none.
pub(crate) struct Buffer(pub(crate) Vec<u8>);

thread_local! {
    /// Free buffers, at most as many as responses were ever in flight at once.
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Buffer {
    /// Takes a free buffer or creates one.
    pub(crate) fn take() -> Self {
        Self(POOL.with_borrow_mut(Vec::pop).unwrap_or_default())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if buffer.capacity() < KEEP_BUFFER {
            // Fails if the thread is ending; the buffer is dropped then.
            let _ = POOL.try_with(|pool| pool.borrow_mut().push(buffer));
        }
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
