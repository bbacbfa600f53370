//! The client with correct and faulty servers over TLS (RFC 7858) on real sockets.

#![allow(clippy::unwrap_used)]

#[path = "support/world.rs"]
mod world;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Settings};
use lycosa_url::FailureKind;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use world::{World, answer, detail, names, resolve, start};

/// A server's behaviour on connections.
#[derive(Clone, Copy, PartialEq)]
enum Manners {
    /// It answers each query.
    Answer,
    /// It closes the connection after each answer.
    AnswerOne,
    /// It breaks a connection on which a query arrives.
    Break,
    /// It starts no handshake, and keeps the connection open.
    Silent,
    /// It sends a handshake byte by byte, and never completes it.
    Drip,
}

/// A server over TLS, and its counts.
#[derive(Default)]
struct Server {
    /// The kind of each completed handshake.
    connections: Mutex<Vec<HandshakeKind>>,
    /// Lengths of queries.
    questions: Mutex<Vec<usize>>,
    /// Connections accepted, open connections, and the most that were open.
    accepted: AtomicUsize,
    open: AtomicUsize,
    most: AtomicUsize,
}

impl World {
    /// Starts a server with a certificate for `name`.
    fn serve(&self, name: &str, manners: Manners) -> (SocketAddr, Arc<Server>) {
        let config = Arc::new(self.certified(name));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, server) = (listener.local_addr().unwrap(), Arc::new(Server::default()));
        let told = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, server, stream) = (config.clone(), told.clone(), stream.unwrap());
                std::thread::spawn(move || {
                    server.accepted.fetch_add(1, Ordering::SeqCst);
                    let open = server.open.fetch_add(1, Ordering::SeqCst) + 1;
                    server.most.fetch_max(open, Ordering::SeqCst);
                    let _ = server.talk(&config, stream, manners);
                    server.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        (address, server)
    }
}

impl Server {
    /// Serves one connection.
    fn talk(&self, config: &Arc<ServerConfig>, mut tcp: TcpStream, manners: Manners) -> std::io::Result<()> {
        if manners == Manners::Silent {
            return tcp.read_to_end(&mut Vec::new()).map(drop);
        }
        if manners == Manners::Drip {
            // The header of a long handshake record, and then its bytes.
            for byte in [22, 3, 3, 0x40, 0].into_iter().chain(std::iter::repeat(2)) {
                tcp.write_all(&[byte])?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        self.connections.lock().unwrap().push(stream.conn.handshake_kind().unwrap());
        loop {
            let mut length = [0; 2];
            stream.read_exact(&mut length)?;
            let mut message = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut message)?;
            self.questions.lock().unwrap().push(message.len());
            if manners == Manners::Break {
                return Ok(());
            }
            let reply = answer(&message);
            stream.write_all(&[&u16::try_from(reply.len()).unwrap().to_be_bytes(), &reply[..]].concat())?;
            stream.flush()?;
            if manners == Manners::AnswerOne {
                stream.conn.send_close_notify();
                return stream.conn.complete_io(&mut stream.sock).map(drop);
            }
        }
    }

    fn kinds(&self) -> Vec<HandshakeKind> {
        self.connections.lock().unwrap().clone()
    }
}

#[test]
fn many_questions_go_over_one_connection_all_as_long() {
    let world = World::new();
    let (address, server) = world.serve("dns.example", Manners::Answer);
    let client = start(world.settings(&[format!("tls://{address}#dns.example")]));
    let answers = resolve(&client, names(2_000));
    assert!(answers.len() == 2_000 && answers.iter().all(|answer| answer.result.is_ok()));
    assert_eq!(server.kinds(), [HandshakeKind::Full]);
    let questions = server.questions.lock().unwrap();
    assert!(questions.len() == 2_000 && questions.iter().all(|length| *length == 128));
    let upstream = &client.upstreams()[0];
    assert_eq!(upstream.server.to_string(), format!("tls://{address}#dns.example"));
    assert!(upstream.trouble.is_none() && client.statistics().mismatched == 0);
}

#[test]
fn without_a_name_the_certificate_must_bear_the_address() {
    let world = World::new();
    let (address, _) = world.serve("127.0.0.1", Manners::Answer);
    let client = start(world.settings(&[format!("tls://{address}")]));
    assert!(resolve(&client, names(1))[0].result.is_ok());
    let (address, _) = world.serve("dns.example", Manners::Answer);
    let client = start(world.settings(&[format!("tls://{address}")]));
    let answers = resolve(&client, names(1));
    let detail = detail(&answers[0], FailureKind::NameServerFailure);
    assert!(detail.starts_with(&format!("tls://{address}: TLS: invalid peer certificate")), "{detail}");
}

#[test]
fn a_server_with_a_bad_certificate_gets_no_question_and_rests_while_others_go_on() {
    let world = World::new();
    // An authority with the same name and another key.
    let (bad, stranger) = World::new().serve("dns.example", Manners::Answer);
    let (other, misnamed) = world.serve("other.example", Manners::Answer);
    for (server, told) in [(bad, "BadSignature"), (other, "not valid for name \"dns.example\"")] {
        let (good, _) = world.serve("dns.example", Manners::Answer);
        let alone = start(world.settings(&[format!("tls://{server}#dns.example")]));
        for answer in resolve(&alone, names(3)) {
            let detail = detail(&answer, FailureKind::NameServerFailure);
            assert!(detail.contains("invalid peer certificate") && detail.contains(told), "{detail}");
        }
        let both = start(
            world.settings(&[format!("tls://{server}#dns.example"), format!("tls://{good}#dns.example")]),
        );
        let answers = resolve(&both, names(500));
        assert!(answers.len() == 500 && answers.iter().all(|answer| answer.result.is_ok()));
        let upstreams = both.upstreams();
        assert!(upstreams[0].is_resting && !upstreams[1].is_resting);
        assert!(upstreams[0].trouble.as_deref().unwrap().contains(told) && upstreams[1].trouble.is_none());
    }
    assert!(stranger.questions.lock().unwrap().is_empty() && misnamed.questions.lock().unwrap().is_empty());
}

#[test]
fn a_server_that_closes_behind_each_answer_costs_handshakes_that_are_resumed_but_no_name() {
    let world = World::new();
    let (address, server) = world.serve("dns.example", Manners::AnswerOne);
    let client = start(Settings {
        timeout: Duration::from_secs(5),
        ..world.settings(&[format!("tls://{address}#dns.example")])
    });
    let answers = resolve(&client, names(60));
    assert!(answers.len() == 60 && answers.iter().all(|answer| answer.result.is_ok()));
    let resumed = server.kinds().iter().filter(|kind| **kind == HandshakeKind::Resumed).count();
    assert!(resumed > 30, "{resumed} of {}", server.kinds().len());
    assert!(server.most.load(Ordering::SeqCst) <= 10, "eight, and those that are about to end");
    assert!(!client.upstreams()[0].is_resting);
}

#[test]
fn a_server_that_breaks_connections_is_given_up_in_bounded_time() {
    let world = World::new();
    let (address, server) = world.serve("dns.example", Manners::Break);
    let client = start(world.settings(&[format!("tls://{address}#dns.example")]));
    for answer in resolve(&client, names(20)) {
        let detail = detail(&answer, FailureKind::NameServerFailure);
        // A connection that is closed with unread data is reset, by whichever side closes first.
        let (_, how) = detail.split_once("TLS: ").unwrap();
        assert!(how == "the server closed the connection" || how.starts_with("Connection reset"), "{detail}");
    }
    assert!(server.kinds().len() <= 4 * 20, "a connection a try at most: {}", server.kinds().len());
}

#[test]
fn a_server_that_never_finishes_its_handshake_is_left_for_another() {
    let world = World::new();
    let (silent, server) = world.serve("dns.example", Manners::Silent);
    let (good, _) = world.serve("dns.example", Manners::Answer);
    let silent = format!("tls://{silent}#dns.example");
    let alone = start(world.settings(std::slice::from_ref(&silent)));
    let began = Instant::now();
    let answers = resolve(&alone, names(10));
    assert!(answers.iter().all(|answer| answer.result.is_err()));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert!(server.most.load(Ordering::SeqCst) <= 2);
    let both = start(world.settings(&[silent, format!("tls://{good}#dns.example")]));
    let answers = resolve(&both, names(300));
    assert!(answers.len() == 300 && answers.iter().all(|answer| answer.result.is_ok()));
    assert!(both.upstreams()[0].is_resting);
}

#[test]
fn who_drips_a_handshake_has_no_longer_than_who_is_silent() {
    let world = World::new();
    let (address, server) = world.serve("dns.example", Manners::Drip);
    let client = start(world.settings(&[format!("tls://{address}#dns.example")]));
    for answer in resolve(&client, names(10)) {
        let failure = answer.result.unwrap_err();
        assert!(failure.detail.contains("no handshake in time") || failure.kind == FailureKind::NameTimeout);
    }
    assert!(server.accepted.load(Ordering::SeqCst) > 1 && server.open.load(Ordering::SeqCst) <= 2);
}

#[test]
fn a_file_of_roots_that_cannot_be_used_is_told_at_the_start() {
    let cache = || Box::new(CompactCache::in_memory(CompactSettings::default(), 0, None).unwrap());
    let settings = Settings {
        servers: vec!["tls://192.0.2.1".parse().unwrap()],
        ca_file: Some("/nonexistent/ca.pem".into()),
        ..Settings::default()
    };
    let error = Client::start(settings.clone(), cache()).err().unwrap();
    assert!(error.to_string().starts_with("/nonexistent/ca.pem: "), "{error}");
    let plain = Settings { servers: vec!["192.0.2.1".parse().unwrap()], ..settings };
    assert!(Client::start(plain, cache()).is_ok(), "nobody needs it");
}
