//! Passwords and tokens of sites: to whom they are sent, and that no record has them.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write as _;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use lycosa_fetch::{Credentials, Fetcher, Settings};
use lycosa_records::{Request, RequestOptions, Response};
use rustls::{ServerConnection, StreamOwned};
use support::authority::*;
use support::*;

/// `u:s3cret` in base64, which nothing but the request may contain.
const SECRET: &str = "dTpzM2NyZXQ=";

/// Settings with credentials of this text.
fn with(text: &str, settings: Settings) -> Settings {
    Settings { credentials: Arc::new(Credentials::parse(text).unwrap()), ..settings }
}

/// A server that sends what it was asked, and answers 200.
fn telling() -> (Server, mpsc::Receiver<String>) {
    let (heads, seen) = mpsc::channel();
    let scripts = (0..3).map(|_| -> Script {
        let heads = heads.clone();
        Box::new(move |mut stream| {
            while let Some(head) = read_request(&mut stream) {
                heads.send(head).unwrap();
                stream.write_all(&ok("x")).unwrap();
            }
        })
    });
    (Server::start(scripts.collect()), seen)
}

/// What the server got.
fn seen(heads: &mpsc::Receiver<String>) -> String {
    heads.recv_timeout(Duration::from_secs(9)).unwrap()
}

/// Asserts that a response has no secret, wherever one looks.
fn is_clean(response: &Response) -> bool {
    let text = format!("{response:?}");
    !text.contains(SECRET) && !text.contains("s3cret")
}

#[test]
fn an_origin_gets_its_password_and_the_record_does_not() {
    let (server, heads) = telling();
    let settings = with(&format!("http://{} basic u:s3cret", server.address), settings());
    assert!(!format!("{settings:?}").contains(SECRET));
    let fetcher = Fetcher::start(settings).unwrap();
    let response = fetch(&fetcher, server.request("/"));
    assert!(seen(&heads).contains(&format!("authorization: Basic {SECRET}\r\n")));
    assert!(is_clean(&response));
    assert_eq!(page(response).sent.get("authorization").as_deref(), Some("***"));
    // Another name of the same server is another origin.
    let url = format!("http://localhost:{}/", server.address.port());
    fetch(&fetcher, request(&url, &["127.0.0.1"]));
    assert!(!seen(&heads).contains("authorization"));
}

#[test]
fn a_password_of_https_is_never_sent_in_the_clear() {
    let (server, heads) = telling();
    let settings = with(&format!("https://{} basic u:s3cret", server.address), settings());
    page(fetch_with(settings, server.request("/")));
    assert!(!seen(&heads).contains("authorization"));
}

#[test]
fn a_request_of_its_own_keeps_its_own() {
    let (server, heads) = telling();
    let settings = with(&format!("http://{} basic u:s3cret", server.address), settings());
    let headers = vec![("Authorization".into(), "Bearer mine".into())];
    let options = Some(Box::new(RequestOptions { headers, ..RequestOptions::default() }));
    let response = fetch_with(settings, Request { options, ..server.request("/") });
    let head = seen(&heads);
    assert!(head.contains("authorization: Bearer mine\r\n") && !head.contains(SECRET), "{head}");
    assert_eq!(page(response).sent.get("authorization").as_deref(), Some("Bearer mine"));
}

#[test]
fn over_tls_a_token_is_sent() {
    let authority = Authority::new("credentials");
    let config = Arc::new(server_config(authority.certify("example.com", false), &[]));
    let (heads, seen_heads) = mpsc::channel();
    let server = Server::start(vec![Box::new(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        heads.send(read_request(&mut stream).unwrap()).unwrap();
        stream.write_all(&ok("x")).unwrap();
    })]);
    let origin = format!("https://example.com:{}", server.address.port());
    let settings = with(&format!("{origin} bearer s3cret"), authority.settings());
    let response = fetch_with(settings, request(&format!("{origin}/"), &["127.0.0.1"]));
    assert!(seen(&seen_heads).contains("authorization: Bearer s3cret\r\n"));
    assert!(is_clean(&response));
    assert_eq!(page(response).sent.get("authorization").as_deref(), Some("***"));
}
