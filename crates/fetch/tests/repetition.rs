//! What is sent again and what is not: reused connections that died, and methods that must not be sent twice.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::time::Duration;

use lycosa_fetch::{Fetcher, Settings};
use lycosa_records::{Request, RequestOptions};
use lycosa_url::FailureKind;
use support::*;

/// A server of one connection, which responds to the first request and reads the second one before it closes.
fn dies_on_second() -> Script {
    Box::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(&ok("one")).unwrap();
        read_request(&mut stream); // closes instead of answering
    })
}

/// A server that reads all and answers nothing.
fn silent() -> Script {
    Box::new(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    })
}

/// A request with this method.
fn with_method(method: &str, request: Request) -> Request {
    let options = RequestOptions { method: method.into(), ..RequestOptions::default() };
    Request { options: Some(Box::new(options)), ..request }
}

#[test]
fn a_request_on_a_dead_kept_connection_is_given_back_and_the_next_one_takes_a_new_connection() {
    let server = Server::start(vec![dies_on_second(), once(ok("two"))]);
    let fetcher = Fetcher::start(settings()).unwrap();
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "one");
    assert_eq!(
        kind(&fetch(&fetcher, server.request("/"))),
        FailureKind::Cancelled,
        "does not count against the site"
    );
    let third = fetch(&fetcher, server.request("/"));
    assert!(third.times.connect_us > 0);
    assert_eq!(*bytes(&page(third)), "two");
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_request_that_must_not_be_sent_twice_is_not_given_back_after_it_was_sent() {
    for (method, expected) in [
        ("HEAD", FailureKind::Cancelled),
        ("PUT", FailureKind::Cancelled),
        ("POST", FailureKind::Unanswered),
        ("PATCH", FailureKind::Unanswered),
    ] {
        let server = Server::start(vec![dies_on_second()]);
        let fetcher = Fetcher::start(settings()).unwrap();
        assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "one");
        let second = fetch(&fetcher, with_method(method, server.request("/")));
        assert_eq!((kind(&second), server.connections()), (expected, 1), "{method}");
    }
}

#[test]
fn whatever_ends_a_post_after_it_was_sent_says_so_and_before_that_nothing_changes() {
    let post = |request| with_method("POST", request);
    for (script, reason) in
        [(once(""), "connection-closed"), (silent(), "read-timeout"), (once("SSH-2.0-x\r\n\r\n"), "protocol")]
    {
        let server = Server::start(vec![script]);
        let failure = fetch_with(settings(), post(server.request("/"))).result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unanswered);
        assert!(
            failure.detail.contains("the POST was sent") && failure.detail.contains(reason),
            "{failure:?}"
        );
    }
    let server = Server::start(Vec::new());
    let url = format!("http://example.com:{}/", server.address.port());
    let refused = fetch_with(settings(), post(request(&url, &["127.7.7.7"])));
    assert_eq!(kind(&refused), FailureKind::ConnectRefused);
    let large = Server::once("HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n");
    assert_eq!(kind(&fetch_with(settings(), post(large.request("/")))), FailureKind::BodyTooLarge);
    let answers = Server::once(ok("x"));
    assert_eq!(*bytes(&page(fetch_with(settings(), post(answers.request("/"))))), "x");
}

#[test]
fn a_post_that_the_crawls_end_cancels_is_not_sent_again_if_it_was_sent() {
    let server = Server::start(vec![silent()]);
    let fetcher = Fetcher::start(Settings { slots: 1, ..settings() }).unwrap();
    fetcher.submit((0..2).map(|_| with_method("POST", server.request("/"))).collect());
    std::thread::sleep(Duration::from_millis(100));
    fetcher.cancel();
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        kinds.extend(fetcher.completed(2, Duration::from_secs(1)).iter().map(kind));
    }
    kinds.sort();
    assert_eq!(kinds, [FailureKind::Unanswered, FailureKind::Cancelled], "the second one waited for a slot");
}

#[test]
fn a_connection_closed_while_idle_is_not_used() {
    let server = Server::start(vec![several(vec![ok("one")]), several(vec![ok("two")])]);
    let fetcher = Fetcher::start(settings()).unwrap();
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "one");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "two");
}

#[test]
fn nothing_else_is_repeated() {
    let half_on_second: Script = Box::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(&ok("one")).unwrap();
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 2").unwrap();
    });
    let server = Server::start(vec![half_on_second, once(ok("two"))]);
    let fetcher = Fetcher::start(settings()).unwrap();
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "one");
    assert_eq!(kind(&fetch(&fetcher, server.request("/"))), FailureKind::ConnectionClosed);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_silent_kept_connection_is_not_repeated() {
    let silent_on_second: Script = Box::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(&ok("one")).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let server = Server::start(vec![silent_on_second, once(ok("two"))]);
    let fetcher = Fetcher::start(settings()).unwrap();
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "one");
    assert_eq!(kind(&fetch(&fetcher, server.request("/"))), FailureKind::ReadTimeout);
    assert_eq!(server.connections(), 1);
}
