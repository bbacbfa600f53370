//! Servers that break off, contradict themselves, or send without end: each exchange ends, with the right kind, and the next one is
//! not touched by it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use lycosa_fetch::{Fetcher, Settings};
use lycosa_records::{Request, RequestOptions};
use lycosa_url::{CrawlUrl, FailureKind};
use rustls::{ServerConnection, StreamOwned};
use support::authority::*;
use support::cut::{Cut, End};
use support::*;

/// A request to a server behind a relay.
fn through(cut: &Cut, request: Request) -> Request {
    let mut url = request.url.as_str().to_owned();
    let authority = format!(":{}/", request.url.port());
    url = url.replacen(&authority, &format!(":{}/", cut.address.port()), 1);
    Request { url: CrawlUrl::parse(&url).unwrap(), ..request }
}

/// A response with gzip, in chunks, and its body.
fn gzip_in_chunks(text: &str) -> (Vec<u8>, Vec<u8>) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let mut answer =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in body.chunks(16) {
        write!(answer, "{:x};a=b\r\n", part.len()).unwrap();
        answer.extend_from_slice(part);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\nX-Trailer: x\r\n\r\n");
    (answer, body)
}

#[test]
fn a_response_that_breaks_off_at_any_byte_is_never_taken_for_a_page() {
    let text = "the whole page ".repeat(5);
    let plain = ok(&text);
    let early = [&b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"[..], &ok(&text)].concat();
    let chunks = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n0\r\n\r\n",
        text.len()
    );
    let body = || text.clone().into_bytes();
    let answers = [(plain, body()), (early, body()), (chunks.into_bytes(), body()), gzip_in_chunks(&text)];
    for (answer, body) in answers {
        let length = answer.len();
        let server = Server::start((0..2 * length + 1).map(|_| once(answer.clone())).collect());
        let cut = Cut::start(server.address);
        let fetcher = Fetcher::start(settings()).unwrap();
        for bytes in 0..length {
            for end in [End::Close, End::Reset] {
                cut.after(bytes as u64, end);
                let response = fetch(&fetcher, through(&cut, server.request("/")));
                assert_eq!(
                    kind(&response),
                    FailureKind::ConnectionClosed,
                    "{bytes} of {length}, {end:?}: {:?}",
                    response.result
                );
            }
        }
        cut.after(length as u64, End::Close);
        let received = page(fetch(&fetcher, through(&cut, server.request("/"))));
        assert_eq!(bytes(&received)[..], body);
    }
}

#[test]
fn a_tls_connection_that_breaks_off_at_any_byte_is_never_taken_for_a_page() {
    let authority = Authority::new("cut");
    let config = Arc::new(server_config(authority.certify("example.com", false), &[]));
    let script = || -> Script {
        let config = config.clone();
        Box::new(move |stream: TcpStream| {
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
            if read_request(&mut stream).is_some() {
                let _ = stream.write_all(&ok("secret"));
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
            let _ = stream.sock.shutdown(Shutdown::Write);
            let _ = stream.sock.read(&mut [0; 1]);
        })
    };
    let server = Server::start((0..2_000).map(|_| script()).collect());
    let cut = Cut::start(server.address);
    let request = request(&format!("https://example.com:{}/", cut.address.port()), &["127.0.0.1"]);
    // No tickets: each handshake is a full one, of about the same length.
    let settings = || Settings { idle_connections: 0, ..authority.settings() };
    assert_eq!(*bytes(&page(fetch_with(settings(), request.clone()))), "secret");
    let whole = wait_for(|| Some(cut.passed()).filter(|passed| *passed > 0));
    let head = ok("secret").len() as u64;
    for bytes in (0..whole - head).step_by(3) {
        for end in [End::Close, End::Reset] {
            cut.after(bytes, end);
            let found = kind(&fetch_with(settings(), request.clone()));
            let allowed = [FailureKind::ConnectionClosed, FailureKind::TlsFailed, FailureKind::ConnectFailed];
            assert!(allowed.contains(&found), "{bytes} of {whole}, {end:?}: {found:?}");
        }
    }
    cut.after(u64::MAX, End::Close);
    assert_eq!(*bytes(&page(fetch_with(settings(), request))), "secret");
}

/// Waits for a value.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = look() {
            return value;
        }
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_follows_a_response_is_no_answer_to_the_next_request() {
    for follows in [ok("forged"), b"HTTP/1.1 200 OK\r\n".to_vec(), b"x".to_vec(), b"\r\n".to_vec()] {
        let first = [ok("one"), follows].concat();
        let server = Server::start(vec![once(first), once(ok("two")), once(ok("two"))]);
        let fetcher = Fetcher::start(settings()).unwrap();
        assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/1")))), "one");
        // Told when the connection is found to be dirty, or at once by another connection; never the forged one.
        let second = fetch(&fetcher, server.request("/2"));
        match second.result {
            Ok(received) => assert_eq!(*bytes(&received), "two"),
            Err(failure) => assert_eq!(failure.kind, FailureKind::Cancelled, "{failure:?}"),
        }
    }
}

#[test]
fn lengths_that_contradict_each_other_hide_no_second_response() {
    let both =
        "HTTP/1.1 200 OK\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n";
    let after = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    let server = Server::start(vec![once(format!("{both}{after}")), once(ok("two")), once(ok("two"))]);
    let fetcher = Fetcher::start(settings()).unwrap();
    // Chunks count (RFC 9112 section 6.3), or nothing does.
    match fetch(&fetcher, server.request("/1")).result {
        Ok(received) => assert_eq!(*bytes(&received), "one"),
        Err(failure) => assert_eq!(failure.kind, FailureKind::Protocol),
    }
    match fetch(&fetcher, server.request("/2")).result {
        Ok(received) => assert_eq!(*bytes(&received), "two"),
        Err(failure) => assert_eq!(failure.kind, FailureKind::Cancelled),
    }
    for fields in [
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: xchunked",
        "Content-Length: -1",
        "Content-Length: +1",
        "Content-Length: 1, 2",
        "Content-Length: 0x1",
        "Content-Length: 99999999999999999999999",
    ] {
        let server = Server::once(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nx"));
        let response = fetch_with(settings(), server.request("/"));
        // An unknown coding ends with the connection, as it is; what is no length is no HTTP.
        match response.result {
            Ok(received) => assert!(fields.starts_with("Transfer"), "{fields}: {:?}", bytes(&received)),
            Err(failure) => assert!(
                matches!(failure.kind, FailureKind::Protocol | FailureKind::BodyTooLarge),
                "{fields}: {failure:?}"
            ),
        }
    }
}

#[test]
fn what_comes_without_end_ends() {
    let endless: [(&str, &str, &str); 6] = [
        ("interim responses", "", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        ("lines of a head", "HTTP/1.1 200 OK\r\n", "X-A: b\r\n"),
        ("a chunk's extension", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "aaaaaaaa"),
        ("trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-A: b\r\n"),
        ("empty lines", "", "\r\n\r\n\r\n\r\n"),
        ("chunks of a byte", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
    ];
    for (name, begins, goes_on) in endless {
        let (begins, part) = (begins.as_bytes().to_vec(), goes_on.repeat(1_000).into_bytes());
        let server = Server::start(vec![Box::new(move |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(&begins);
            while stream.write_all(&part).is_ok() {}
        })]);
        let began = Instant::now();
        let found = kind(&fetch_with(settings(), server.request("/")));
        let allowed = [
            FailureKind::HeadersTooLarge,
            FailureKind::BodyTooLarge,
            FailureKind::Protocol,
            FailureKind::Timeout,
            FailureKind::ReadTimeout,
        ];
        assert!(allowed.contains(&found), "{name}: {found:?}");
        assert!(name != "interim responses" || found == FailureKind::Protocol, "{found:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{name}");
    }
}

#[test]
fn a_response_that_comes_before_the_request_was_read_is_the_answer() {
    let server = Server::start(vec![Box::new(|mut stream| {
        read_request(&mut stream);
        let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig";
        stream.write_all(answer.as_bytes()).unwrap();
        // The rest is not read before the client has its answer.
        std::thread::sleep(Duration::from_millis(500));
    })]);
    let body = vec![b'x'; 8 << 20];
    let options = RequestOptions { method: "POST".into(), body: body.into(), ..RequestOptions::default() };
    let post = Request { options: Some(Box::new(options)), ..server.request("/") };
    let received = page(fetch_with(settings(), post));
    assert_eq!((received.status, &bytes(&received)[..]), (413, &b"big"[..]));
}
