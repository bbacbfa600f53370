//! HTTPS: which certificates are accepted, and the failures of others.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use lycosa_fetch::{Dial, Dialed, Dialer, Fetcher, Http1, Progress, Settings, Socket};
use lycosa_records::Request;
use lycosa_url::{Failure, FailureKind};
use rcgen::{Certificate, CertificateParams, KeyPair};
use rustls::{ServerConnection, StreamOwned};
use support::authority::*;
use support::*;

/// A script that serves TLS with a certificate and responds to requests until the replies are used up; then
/// it closes, with or without `close_notify`.
fn tls(certified: (Certificate, KeyPair), replies: Vec<Vec<u8>>, is_polite: bool) -> Script {
    tls_with(certified, replies, is_polite, &[])
}

/// The same, with protocols that it accepts by ALPN.
fn tls_with(
    certified: (Certificate, KeyPair),
    replies: Vec<Vec<u8>>,
    is_polite: bool,
    protocols: &[&[u8]],
) -> Script {
    let config = server_config(certified, protocols);
    Box::new(move |stream: TcpStream| {
        let session = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        for reply in replies {
            if read_request(&mut stream).is_none() {
                return;
            }
            let _ = stream.write_all(&reply);
        }
        if is_polite {
            stream.conn.send_close_notify();
        }
        let _ = stream.flush();
    })
}

fn https(server: &Server, host: &str) -> Request {
    request(&format!("https://{host}:{}/", server.address.port()), &["127.0.0.1"])
}

#[test]
fn a_good_certificate_is_accepted_and_the_connection_kept() {
    let authority = Authority::new("good");
    let replies = vec![ok("one"), ok("two")];
    let server = Server::start(vec![tls(authority.certify("example.com", false), replies, true)]);
    let fetcher = Fetcher::start(authority.settings()).unwrap();
    let first = fetch(&fetcher, https(&server, "example.com"));
    assert!(first.times.tls_us > 0 && first.times.connect_us > 0);
    assert_eq!(*bytes(&page(first)), "one");
    let second = fetch(&fetcher, https(&server, "example.com"));
    assert_eq!(second.times.tls_us, 0);
    assert_eq!(*bytes(&page(second)), "two");
    assert_eq!(server.connections(), 1);
}

/// Writes the protocols that servers chose, then goes on with HTTP/1.1.
struct Choosing(Dialer, Arc<Mutex<Vec<Protocol>>>);

/// What a server chose by ALPN.
type Protocol = Option<Box<[u8]>>;

impl Dial for Choosing {
    type Stream = Socket;

    async fn dial(&self, request: &Request, progress: &Progress) -> Result<Dialed<Socket>, Failure> {
        let dialed = self.0.dial(request, progress).await?;
        self.1.lock().unwrap().push(dialed.protocol.clone());
        Ok(dialed)
    }
}

#[test]
fn a_transport_learns_which_of_its_protocols_the_server_chose() {
    let authority = Authority::new("alpn");
    let certified = || authority.certify("example.com", false);
    let replies = || vec![ok("x")];
    let chooses = |protocols: &[&[u8]]| tls_with(certified(), replies(), true, protocols);
    let server = Server::start(vec![chooses(&[b"h2"]), chooses(&[b"http/1.1"]), chooses(&[])]);
    let chosen = Arc::new(Mutex::new(Vec::new()));
    let inner = chosen.clone();
    let make = |settings: &Settings| {
        Http1::new(Choosing(Dialer::new(settings, &[b"h2", b"http/1.1"])?, inner), settings)
    };
    let settings = Settings { idle_connections: 0, ..authority.settings() };
    let fetcher = Fetcher::start_with(settings, make).unwrap();
    for _ in 0..3 {
        fetch(&fetcher, https(&server, "example.com"));
    }
    let expected: [Protocol; 3] = [Some((*b"h2").into()), Some((*b"http/1.1").into()), None];
    assert_eq!(*chosen.lock().unwrap(), expected);
}

#[test]
fn an_address_may_be_the_name() {
    let authority = Authority::new("address");
    let server = Server::start(vec![tls(authority.certify("127.0.0.1", false), vec![ok("x")], true)]);
    assert_eq!(*bytes(&page(fetch_with(authority.settings(), https(&server, "127.0.0.1")))), "x");
}

#[test]
fn bad_certificates_are_told_from_other_failures() {
    let (authority, other) = (Authority::new("bad"), Authority::new("other"));
    let self_signed = {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap(), key)
    };
    for (what, certificate) in [
        ("wrong name", authority.certify("example.net", false)),
        ("expired", authority.certify("example.com", true)),
        ("unknown authority", other.certify("example.com", false)),
        ("self-signed", self_signed),
    ] {
        let server = Server::start(vec![tls(certificate, vec![ok("x")], true)]);
        let response = fetch_with(authority.settings(), https(&server, "example.com"));
        assert_eq!(kind(&response), FailureKind::TlsCertificate, "{what}");
        assert!(response.address.is_some());
    }
}

#[test]
fn a_server_without_tls_is_no_certificate_failure() {
    let server = Server::start(vec![Box::new(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    })]);
    assert_eq!(kind(&fetch_with(settings(), https(&server, "example.com"))), FailureKind::TlsFailed);
    let server = Server::start(Vec::new());
    assert_eq!(kind(&fetch_with(settings(), https(&server, "example.com"))), FailureKind::TlsFailed);
}

#[test]
fn a_silent_handshake_is_a_connect_timeout() {
    let server = Server::start(vec![Box::new(|mut stream| {
        let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
    })]);
    let response = fetch_with(settings(), https(&server, "example.com"));
    assert_eq!(kind(&response), FailureKind::ConnectTimeout);
}

#[test]
fn a_rude_close_ends_a_body_of_unknown_length_only() {
    let authority = Authority::new("rude");
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody".to_vec();
    for (reply, result) in
        [(b"HTTP/1.1 200 OK\r\n\r\nbody".to_vec(), Ok("body")), (cut, Err(FailureKind::ConnectionClosed))]
    {
        let server = Server::start(vec![tls(authority.certify("example.com", false), vec![reply], false)]);
        let response = fetch_with(authority.settings(), https(&server, "example.com"));
        let ended = response.result.as_ref().map(|page| &bytes(page)[..]).map_err(|failure| failure.kind);
        assert_eq!(ended, result.map(str::as_bytes));
    }
}
