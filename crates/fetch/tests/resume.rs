//! Bodies that break off: their rest is asked for, and joined only to what it belongs to.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lycosa_fetch::{MediaTypes, Settings};
use lycosa_records::{Received, Request, RequestOptions};
use lycosa_url::FailureKind;
use support::*;

/// Requests that servers got.
type Asked = Arc<Mutex<Vec<String>>>;

/// Settings of a job that asks for the rest of bodies of 1,000 bytes.
fn resuming() -> Settings {
    Settings { resume_bytes: Some(1_000), total_timeout: Duration::from_secs(5), ..settings() }
}

/// A body in which each position differs from its neighbours.
fn whole() -> Vec<u8> {
    (0..9_000u32).map(|n| (n * 7 % 251) as u8).collect()
}

const STRONG: &str = "ETag: \"a\"\r\nAccept-Ranges: bytes\r\n";

/// The first response: its body breaks off at a position.
fn broken(fields: &str, at: usize) -> Vec<u8> {
    let body = whole();
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), &body[..at]].concat()
}

/// A response with a part of the body, whose range is called so.
fn part(range: &str, fields: &str, from: usize, to: usize) -> Vec<u8> {
    let body = &whole()[from..to];
    let head = format!(
        "HTTP/1.1 206 Partial\r\nContent-Range: bytes {range}/9000\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The rest from a position on.
fn rest(from: usize) -> Vec<u8> {
    part(&format!("{from}-8999"), STRONG, from, 9_000)
}

/// A server that answers the n-th request with the n-th of these, each on a connection that it closes then.
fn server(replies: Vec<Vec<u8>>) -> (Server, Asked) {
    let asked = Asked::default();
    let scripts = replies.into_iter().map(|reply| -> Script {
        let asked = asked.clone();
        Box::new(move |mut stream: TcpStream| {
            asked.lock().unwrap().push(read_request(&mut stream).unwrap());
            let _ = stream.write_all(&reply);
        })
    });
    (Server::start(scripts.collect()), asked)
}

/// What a request comes to, and what was asked.
fn ends_as(replies: Vec<Vec<u8>>) -> (Result<Received, FailureKind>, Vec<String>) {
    let (server, asked) = server(replies);
    let response = fetch_with(resuming(), server.request("/"));
    let asked = asked.lock().unwrap().clone();
    (response.result.map_err(|failure| failure.kind), asked)
}

/// The value of a field of a request.
fn field<'r>(request: &'r str, name: &str) -> Option<&'r str> {
    let line = request.lines().find(|line| line.starts_with(&format!("{name}: ")))?;
    Some(&line[name.len() + 2..])
}

#[test]
fn the_rest_of_a_body_is_asked_for_and_joined() {
    let (ended, asked) = ends_as(vec![broken(STRONG, 4_000), rest(4_000)]);
    let page = ended.unwrap();
    assert_eq!((page.status, &bytes(&page)[..]), (200, &whole()[..]));
    assert_eq!(page.head.get("content-length").as_deref(), Some("9000"), "the head is the first response's");
    assert_eq!((field(&asked[0], "range"), field(&asked[0], "if-range")), (None, None));
    assert_eq!(field(&asked[1], "range"), Some("bytes=4000-"));
    assert_eq!(field(&asked[1], "if-range"), Some("\"a\""));
}

#[test]
fn a_rest_that_breaks_off_is_gone_on_with_three_times() {
    let short = part("5000-5999", STRONG, 5_000, 6_000); // the server sends what it likes of a range
    let cut = rest(4_000)[..rest(4_000).len() - 4_000].to_vec(); // up to 5,000
    let (ended, asked) = ends_as(vec![broken(STRONG, 4_000), cut.clone(), short, rest(6_000)]);
    assert_eq!(bytes(&ended.unwrap())[..], whole());
    let ranges: Vec<_> = asked.iter().filter_map(|request| field(request, "range")).collect();
    assert_eq!(ranges, ["bytes=4000-", "bytes=5000-", "bytes=6000-"]);
    let nothing = || rest(4_000)[..rest(4_000).len() - 5_000].to_vec();
    let (ended, asked) = ends_as(vec![broken(STRONG, 4_000), nothing(), nothing(), nothing(), rest(4_000)]);
    assert_eq!((ended.unwrap_err(), asked.len()), (FailureKind::ConnectionClosed, 4));
}

#[test]
fn a_server_that_sends_the_whole_body_again_replaces_what_was_there() {
    let other = "HTTP/1.1 200 OK\r\nETag: \"b\"\r\nContent-Length: 5\r\n\r\nother";
    let (ended, asked) = ends_as(vec![broken(STRONG, 4_000), other.into()]);
    let page = ended.unwrap();
    assert_eq!((&bytes(&page)[..], page.head.get("etag").as_deref()), (&b"other"[..], Some("\"b\"")));
    assert_eq!(asked.len(), 2);
}

#[test]
fn an_answer_that_is_not_the_rest_is_not_joined() {
    for answer in [
        part("4001-8999", STRONG, 4_001, 9_000),
        part("0-8999", STRONG, 0, 9_000),
        part("4000-8999", "ETag: \"b\"\r\n", 4_000, 9_000),
        part("4000-8999", "Content-Encoding: gzip\r\n", 4_000, 9_000),
        b"HTTP/1.1 206 Partial\r\nContent-Length: 1\r\n\r\nx".to_vec(),
        b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n".to_vec(),
        b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n".to_vec(),
    ] {
        let (ended, asked) = ends_as(vec![broken(STRONG, 4_000), answer, rest(4_000)]);
        assert_eq!((ended.unwrap_err(), asked.len()), (FailureKind::ConnectionClosed, 2), "{asked:?}");
    }
    let long = b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 4000-8999/9000\r\n\r\n".to_vec();
    let long = [long, vec![7; 50_000]].concat();
    assert_eq!(ends_as(vec![broken(STRONG, 4_000), long]).0.unwrap_err(), FailureKind::ConnectionClosed);
}

#[test]
fn nothing_is_asked_for_that_could_be_another_body_or_is_not_worth_it() {
    for fields in [
        "",
        "ETag: \"a\"\r\n",
        "ETag: W/\"a\"\r\nAccept-Ranges: bytes\r\n",
        "Accept-Ranges: bytes\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "ETag: \"a\"\r\nAccept-Ranges: none\r\n",
    ] {
        let (ended, asked) = ends_as(vec![broken(fields, 4_000), rest(4_000)]);
        assert_eq!((ended.unwrap_err(), asked.len()), (FailureKind::ConnectionClosed, 1), "{fields}");
    }
    let (ended, asked) = ends_as(vec![broken(STRONG, 999), rest(999)]);
    assert_eq!((ended.unwrap_err(), asked.len()), (FailureKind::ConnectionClosed, 1));
    let (server, asked) = server(vec![broken(STRONG, 4_000), rest(4_000)]);
    let never = Settings { resume_bytes: None, ..resuming() };
    assert_eq!(kind(&fetch_with(never, server.request("/"))), FailureKind::ConnectionClosed);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[test]
fn a_post_is_not_resumed() {
    let (server, asked) = server(vec![broken(STRONG, 4_000), rest(4_000)]);
    let options = RequestOptions { method: "POST".into(), ..RequestOptions::default() };
    let post = Request { options: Some(Box::new(options)), ..server.request("/") };
    assert_eq!(kind(&fetch_with(resuming(), post)), FailureKind::Unanswered);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[test]
fn a_date_that_is_old_enough_is_a_validator() {
    let dated = "Accept-Ranges: bytes\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 09:49:37 GMT\r\n";
    let (ended, asked) = ends_as(vec![broken(dated, 4_000), part("4000-8999", dated, 4_000, 9_000)]);
    assert_eq!(bytes(&ended.unwrap())[..], whole());
    assert_eq!(field(&asked[1], "if-range"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
}

#[test]
fn a_coded_body_is_resumed_as_it_was_sent_and_only_with_its_coding() {
    let coded = "ETag: \"a\"\r\nAccept-Ranges: bytes\r\nContent-Encoding: gzip\r\n";
    let (ended, _) = ends_as(vec![broken(coded, 4_000), part("4000-8999", coded, 4_000, 9_000)]);
    assert_eq!(bytes(&ended.unwrap())[..], whole(), "the range is one of the coded body");
    let (ended, _) = ends_as(vec![broken(coded, 4_000), rest(4_000)]);
    assert_eq!(ended.unwrap_err(), FailureKind::ConnectionClosed, "a part without the coding");
}

#[test]
fn a_silent_server_is_asked_again_after_a_pause_and_within_the_total_time() {
    let silent = |asked: &Asked| -> Script {
        let asked = asked.clone();
        Box::new(move |mut stream: TcpStream| {
            asked.lock().unwrap().push(read_request(&mut stream).unwrap());
            stream.write_all(&broken(STRONG, 4_000)).unwrap();
            let _ = stream.read(&mut [0]);
        })
    };
    let asked = Asked::default();
    let server = Server::start(vec![silent(&asked), once(rest(4_000))]);
    let began = Instant::now();
    let request = Request { interval: 400_000, ..server.request("/") };
    let settings = Settings { resume_pause: Duration::from_millis(100), ..resuming() };
    let response = fetch_with(settings, request);
    assert!(response.times.body_us > 700_000 && response.times.first_byte_us < 300_000);
    assert_eq!(bytes(&page(response))[..], whole());
    assert!((700..1_700).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    // The interval is longer than what is left of the total time.
    let server = Server::start(vec![silent(&asked), once(rest(4_000))]);
    let request = Request { interval: 60_000_000, ..server.request("/") };
    let began = Instant::now();
    assert_eq!(kind(&fetch_with(resuming(), request)), FailureKind::ReadTimeout);
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(server.connections(), 1);
    // Each rest is silent, too: the total time ends it.
    let server = Server::start((0..4).map(|_| silent(&asked)).collect());
    let brief = Settings { total_timeout: Duration::from_millis(700), ..resuming() };
    let began = Instant::now();
    let ended = kind(&fetch_with(brief, server.request("/")));
    assert!(matches!(ended, FailureKind::Timeout | FailureKind::ReadTimeout), "{ended:?}");
    assert!(began.elapsed() < Duration::from_millis(1_400), "{:?}", began.elapsed());
}

#[test]
fn a_cancelled_fetch_is_not_resumed() {
    let (server, _) = server(vec![broken(STRONG, 4_000), rest(4_000)]);
    let fetcher = lycosa_fetch::Fetcher::start(resuming()).unwrap();
    fetcher.submit(vec![Request { interval: 3_000_000, ..server.request("/") }]);
    std::thread::sleep(Duration::from_millis(300)); // it waits for the interval
    let began = Instant::now();
    fetcher.cancel();
    let responses = fetcher.completed(1, Duration::from_secs(5));
    assert_eq!(kind(&responses[0]), FailureKind::Cancelled);
    assert!(began.elapsed() < Duration::from_millis(500) && fetcher.held() == 0);
    assert_eq!(server.connections(), 1);
}

#[test]
fn limits_hold_for_the_joined_body() {
    let (server, _) =
        server(vec![broken(STRONG, 4_000), b"HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n".to_vec()]);
    assert_eq!(kind(&fetch_with(resuming(), server.request("/"))), FailureKind::BodyTooLarge);
    let chunked = format!("HTTP/1.1 200 OK\r\n{STRONG}Transfer-Encoding: chunked\r\n\r\nfa0\r\n");
    let first = [chunked.as_bytes(), &whole()[..4_000], b"\r\n"].concat();
    let (ended, _) = ends_as(vec![first.clone(), rest(4_000)]);
    assert_eq!(bytes(&ended.unwrap())[..], whole(), "its length was not announced");
    let large =
        b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 4000-199999/200000\r\nContent-Length: 196000\r\n\r\n";
    assert_eq!(ends_as(vec![first, large.to_vec()]).0.unwrap_err(), FailureKind::BodyTooLarge);
}

#[test]
fn what_the_job_does_not_want_is_not_wanted_the_second_time_either() {
    let image = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 1\r\n\r\nx".to_vec();
    let fields = format!("{STRONG}Content-Type: text/html\r\n");
    let (server, _) = server(vec![broken(&fields, 4_000), image]);
    let pages = Settings { media_types: MediaTypes::new(["text/html"]), ..resuming() };
    assert_eq!(kind(&fetch_with(pages, server.request("/"))), FailureKind::ContentType);
}

#[test]
fn what_only_the_whole_body_tells_is_judged_of_the_joined_body() {
    let image = [b"\x89PNG\r\n\x1a\n".as_slice(), &whole()[8..]].concat();
    let fields = format!("{STRONG}Content-Type: application/octet-stream\r\nContent-Length: 9000\r\n\r\n");
    let first = [b"HTTP/1.1 200 OK\r\n", fields.as_bytes(), &image[..1_100]].concat();
    let (server, _) = server(vec![first, rest(1_100)]);
    let pages = Settings { media_types: MediaTypes::new(["text/html"]), ..resuming() };
    assert_eq!(kind(&fetch_with(pages, server.request("/"))), FailureKind::ContentType);
}

#[test]
fn a_site_that_asks_for_a_pause_instead_of_the_rest_is_heard() {
    for status in [429, 503] {
        let busy = format!("HTTP/1.1 {status} Busy\r\nRetry-After: 3600\r\nContent-Length: 4\r\n\r\nbusy");
        let (ended, asked) = ends_as(vec![broken(STRONG, 4_000), busy.into(), rest(4_000)]);
        let page = ended.unwrap();
        assert_eq!((page.status, &bytes(&page)[..], asked.len()), (status, &b"busy"[..], 2));
        assert_eq!(page.head.get("retry-after").as_deref(), Some("3600"));
    }
}
