//! The client with correct and faulty servers over HTTPS (RFC 8484) on real sockets.

#![allow(clippy::unwrap_used)]

#[path = "support/world.rs"]
mod world;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{Method, Request, Response};
use lycosa_names::Settings;
use lycosa_url::FailureKind;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{interval, sleep};
use tokio_rustls::TlsAcceptor;
use world::{World, answer, detail, names, resolve, start};

/// A server's behaviour on requests.
#[derive(Clone, Copy)]
struct Manners {
    /// Status code and media type.
    status: u16,
    media: &'static str,
    /// Bytes of a header field.
    field: usize,
    /// The Age header, in seconds.
    age: &'static str,
    /// Makes the reply to a query; `None`: silence.
    reply: fn(&[u8]) -> Option<Vec<u8>>,
    /// The time before the reply.
    takes: Duration,
    /// Concurrent streams.
    streams: Option<u32>,
    /// The number of replies after which it leaves each connection, and how.
    leaves: Option<(usize, Leave)>,
    /// Whether it speaks HTTP/2.
    is_modern: bool,
}

/// How a server leaves a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leave {
    /// It answers all accepted requests (GOAWAY).
    Gracefully,
    /// It drops unanswered requests (GOAWAY).
    AtOnce,
    /// Without GOAWAY.
    Silently,
}

/// A correct server.
const GOOD: Manners = Manners {
    status: 200,
    media: "application/dns-message",
    field: 1,
    age: "",
    reply: |message| Some(answer(message)),
    takes: Duration::ZERO,
    streams: None,
    leaves: None,
    is_modern: true,
};

/// A server's counts.
#[derive(Default)]
struct Server {
    /// Connections with a completed handshake.
    connections: AtomicUsize,
    /// Requests, with their bodies.
    requests: Mutex<Vec<Request<Bytes>>>,
    /// Requests in progress, and the most that were.
    open: AtomicUsize,
    most: AtomicUsize,
}

/// Starts a server with a certificate for `name`.
fn serve(world: &World, name: &str, manners: Manners) -> (SocketAddr, Arc<Server>) {
    let mut config = world.certified(name);
    if manners.is_modern {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (address, server) = (listener.local_addr().unwrap(), Arc::new(Server::default()));
    let told = server.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(listen(listener, Arc::new(config), told, manners));
    });
    (address, server)
}

/// Accepts connections.
async fn listen(
    listener: std::net::TcpListener,
    config: Arc<ServerConfig>,
    server: Arc<Server>,
    manners: Manners,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(talk(server.clone(), stream, config.clone(), manners));
    }
}

/// Serves one connection.
async fn talk(server: Arc<Server>, stream: TcpStream, config: Arc<ServerConfig>, manners: Manners) {
    let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
    server.connections.fetch_add(1, Ordering::SeqCst);
    let mut builder = Builder::new();
    if let Some(streams) = manners.streams {
        builder.max_concurrent_streams(streams);
    }
    let Ok(mut connection) = builder.handshake(stream).await else { return };
    let (answered, mut ticks, mut has_left) =
        (Arc::new(AtomicUsize::new(0)), interval(Duration::from_millis(2)), false);
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let (server, answered) = (server.clone(), answered.clone());
                tokio::spawn(async move {
                    let open = server.open.fetch_add(1, Ordering::SeqCst) + 1;
                    server.most.fetch_max(open, Ordering::SeqCst);
                    let _ = reply(&server, request, respond, manners).await;
                    server.open.fetch_sub(1, Ordering::SeqCst);
                    answered.fetch_add(1, Ordering::SeqCst);
                });
            }
            _ = ticks.tick() => {
                let is_over = |(count, _): &(usize, Leave)| answered.load(Ordering::SeqCst) >= *count;
                match manners.leaves.filter(is_over) {
                    Some((_, Leave::Gracefully)) if !has_left => connection.graceful_shutdown(),
                    Some((_, Leave::AtOnce)) if !has_left => connection.abrupt_shutdown(Reason::NO_ERROR),
                    Some((_, Leave::Silently)) => return,
                    _ => continue,
                }
                has_left = true;
            }
        }
    }
}

/// Answers one request.
async fn reply(
    server: &Server,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    manners: Manners,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    let mut message = Vec::new();
    while let Some(part) = body.data().await {
        message.extend_from_slice(&part?);
    }
    server.requests.lock().unwrap().push(Request::from_parts(head, message.clone().into()));
    sleep(manners.takes).await;
    let Some(reply) = (manners.reply)(&message) else {
        return std::future::poll_fn(|context| respond.poll_reset(context)).await.map(drop);
    };
    let response = Response::builder().status(manners.status).header("content-type", manners.media);
    let response = response
        .header("location", "/elsewhere")
        .header("age", manners.age)
        .header("set-cookie", "a".repeat(manners.field))
        .body(())
        .unwrap();
    respond.send_response(response, false)?.send_data(reply.into(), true)
}

/// The server as a resolver's address.
fn text(address: SocketAddr) -> String {
    format!("https://{address}/dns-query#dns.example")
}

/// The failure of a name with a server that behaves like this.
fn failure_of(manners: Manners) -> String {
    let world = World::new();
    let (address, server) = serve(&world, "dns.example", manners);
    let client = start(world.settings(&[text(address)]));
    let answers = resolve(&client, names(1));
    let requests = server.requests.lock().unwrap();
    assert!(requests.len() <= 4 && requests.iter().all(|request| request.uri().path() == "/dns-query"));
    assert!(client.upstreams()[0].trouble.is_some());
    let told = detail(&answers[0], FailureKind::NameServerFailure);
    told.strip_prefix(&format!("{}: ", text(address))).unwrap().to_owned()
}

#[test]
fn many_questions_go_over_one_connection_and_say_nothing_else() {
    let world = World::new();
    let (address, server) = serve(&world, "dns.example", GOOD);
    let client = start(world.settings(&[format!("https://{address}#dns.example")]));
    let answers = resolve(&client, names(1_000));
    assert!(answers.len() == 1_000 && answers.iter().all(|answer| answer.result.is_ok()));
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    assert!(server.most.load(Ordering::SeqCst) > 1);
    let requests = server.requests.lock().unwrap();
    assert_eq!(requests.len(), 1_000);
    for request in &*requests {
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri().to_string(), format!("https://dns.example:{}/dns-query", address.port()));
        let mut fields: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        fields.sort();
        let media = "application/dns-message";
        assert_eq!(
            fields,
            [format!("accept: {media}"), "content-length: 128".to_owned(), format!("content-type: {media}")]
        );
        assert_eq!((request.body().len(), &request.body()[..2]), (128, &[0, 0][..]));
    }
    let upstream = &client.upstreams()[0];
    assert_eq!(upstream.server.to_string(), text(address));
    assert!(upstream.trouble.is_none() && client.statistics().mismatched == 0);
}

#[test]
fn without_a_name_the_certificate_must_bear_the_address_which_is_asked_by_the_given_path() {
    let world = World::new();
    let (address, server) = serve(&world, "127.0.0.1", GOOD);
    let client = start(world.settings(&[format!("https://{address}/other/path")]));
    assert!(resolve(&client, names(1))[0].result.is_ok());
    let uri = server.requests.lock().unwrap()[0].uri().to_string();
    assert_eq!(uri, format!("https://{address}/other/path"));
}

#[test]
fn a_server_with_a_bad_certificate_gets_no_question_while_others_go_on() {
    let world = World::new();
    let (bad, stranger) = serve(&World::new(), "dns.example", GOOD);
    let (other, misnamed) = serve(&world, "other.example", GOOD);
    for (server, told) in [(bad, "BadSignature"), (other, "not valid for name \"dns.example\"")] {
        let (good, _) = serve(&world, "dns.example", GOOD);
        let alone = start(world.settings(&[text(server)]));
        for answer in resolve(&alone, names(3)) {
            let detail = detail(&answer, FailureKind::NameServerFailure);
            assert!(detail.contains(": TLS: invalid peer certificate") && detail.contains(told), "{detail}");
        }
        let both = start(world.settings(&[text(server), text(good)]));
        let answers = resolve(&both, names(300));
        assert!(answers.len() == 300 && answers.iter().all(|answer| answer.result.is_ok()));
        assert!(both.upstreams()[0].is_resting && !both.upstreams()[1].is_resting);
    }
    assert!(stranger.requests.lock().unwrap().is_empty() && misnamed.requests.lock().unwrap().is_empty());
}

#[test]
fn a_server_that_does_not_speak_http_2_gets_no_question() {
    assert_eq!(failure_of(Manners { is_modern: false, ..GOOD }), "HTTPS: the server does not speak HTTP/2");
}

#[test]
fn what_is_no_reply_fails_the_try_and_is_told() {
    let failing = |status| failure_of(Manners { status, ..GOOD });
    assert_eq!(failing(500), "HTTPS: status 500");
    assert_eq!(failing(302), "HTTPS: status 302", "which is not followed");
    assert_eq!(
        failure_of(Manners { media: "text/html; charset=utf-8", ..GOOD }),
        "HTTPS: the content type is \"text/html; charset=utf-8\" instead of application/dns-message"
    );
    let replying = |reply| failure_of(Manners { reply, ..GOOD });
    assert_eq!(replying(|_| Some(Vec::new())), "HTTPS: the reply is not a DNS message");
    assert_eq!(replying(|_| Some(vec![0; 65_536])), "HTTPS: a reply of more than 65535 bytes");
    assert_eq!(replying(|_| Some(vec![0; 5_000_000])), "HTTPS: a reply of more than 65535 bytes");
    let of_another = |message: &[u8]| {
        let mut other = answer(message);
        other[13] ^= 1;
        Some(other)
    };
    assert_eq!(replying(of_another), "HTTPS: a reply to another question");
}

#[test]
fn the_time_that_a_reply_was_in_caches_on_the_way_counts() {
    let world = World::new();
    let expires = |age| {
        let (address, _) = serve(&world, "dns.example", Manners { age, ..GOOD });
        let client = start(Settings { min_ttl: Duration::ZERO, ..world.settings(&[text(address)]) });
        resolve(&client, names(1))[0].expires
    };
    for (age, left) in [("50", 10), ("0", 60), ("soon", 60), ("99999999999", 0)] {
        let took = Instant::now();
        let (before, then) = (expires(""), expires(age));
        let lost = Duration::from_micros(before.saturating_sub(then)) + took.elapsed();
        let due = Duration::from_secs(60 - left);
        assert!(
            lost >= due && lost < due + 2 * took.elapsed() + Duration::from_millis(10),
            "{age}: {lost:?}"
        );
    }
}

#[test]
fn header_fields_are_bounded() {
    assert_eq!(failure_of(Manners { status: 404, field: 8_000, ..GOOD }), "HTTPS: status 404");
    let told = failure_of(Manners { field: 60_000, ..GOOD });
    assert!(told.starts_with("HTTPS: "), "{told}");
}

#[test]
fn a_server_that_sends_without_end_and_reads_nothing_is_left_while_others_go_on() {
    let world = World::new();
    let mut config = world.certified("dns.example");
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (config, listener) = (Arc::new(config), std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let (address, ended) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let told = ended.clone();
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), tcp.unwrap());
            // SETTINGS, and then PING, each of which requires a response.
            let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
            let pings = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(100);
            while stream.write_all(&pings).is_ok() {}
            told.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (good, _) = serve(&world, "dns.example", GOOD);
    let client = start(world.settings(&[text(address), text(good)]));
    let answers = resolve(&client, names(300));
    assert!(answers.len() == 300 && answers.iter().all(|answer| answer.result.is_ok()));
    let alone = start(Settings { timeout: Duration::from_secs(5), ..world.settings(&[text(address)]) });
    let answers = resolve(&alone, names(1));
    let detail = detail(&answers[0], FailureKind::NameServerFailure);
    assert!(detail.ends_with("HTTPS: the server sends and does not read"), "{detail}");
    assert!(ended.load(Ordering::SeqCst) > 0);
}

#[test]
fn others_are_asked_while_one_server_fails() {
    let world = World::new();
    let (failing, _) = serve(&world, "dns.example", Manners { status: 500, ..GOOD });
    let (good, _) = serve(&world, "dns.example", GOOD);
    let client = start(world.settings(&[text(failing), text(good)]));
    let answers = resolve(&client, names(300));
    assert!(answers.len() == 300 && answers.iter().all(|answer| answer.result.is_ok()));
    assert_eq!(client.upstreams()[0].trouble.as_deref(), Some("HTTPS: status 500"));
}

#[test]
fn no_more_is_asked_at_a_time_than_the_server_allows() {
    let world = World::new();
    for streams in [1, 7] {
        let manners = Manners { streams: Some(streams), takes: Duration::from_millis(1), ..GOOD };
        let (address, server) = serve(&world, "dns.example", manners);
        let client = start(Settings { timeout: Duration::from_secs(5), ..world.settings(&[text(address)]) });
        let answers = resolve(&client, names(200));
        assert!(answers.len() == 200 && answers.iter().all(|answer| answer.result.is_ok()));
        assert_eq!(server.most.load(Ordering::SeqCst), streams as usize);
        assert_eq!(server.requests.lock().unwrap().len(), 200);
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn who_leaves_a_connection_is_asked_on_another_one_and_no_name_is_lost() {
    let world = World::new();
    for leave in [Leave::Gracefully, Leave::AtOnce, Leave::Silently] {
        let manners = Manners { leaves: Some((50, leave)), takes: Duration::from_millis(5), ..GOOD };
        let manners = Manners { streams: Some(20), ..manners };
        let (address, server) = serve(&world, "dns.example", manners);
        let client = start(Settings {
            timeout: Duration::from_secs(5),
            attempts: 1,
            ..world.settings(&[text(address)])
        });
        let answers = resolve(&client, names(400));
        let failed: Vec<_> = answers.iter().filter(|answer| answer.result.is_err()).collect();
        assert!(answers.len() == 400 && failed.is_empty(), "{} {failed:?}", failed.len());
        let connections = server.connections.load(Ordering::SeqCst);
        assert!((5..=10).contains(&connections), "{leave:?}: {connections}");
        assert_eq!(client.statistics().timeouts, 0);
        assert!(client.upstreams()[0].trouble.is_none());
    }
}

#[test]
fn a_server_that_leaves_behind_each_answer_costs_connections_but_no_name() {
    let world = World::new();
    for leave in [Leave::Gracefully, Leave::AtOnce, Leave::Silently] {
        let (address, server) = serve(&world, "dns.example", Manners { leaves: Some((1, leave)), ..GOOD });
        let client = start(Settings { timeout: Duration::from_secs(5), ..world.settings(&[text(address)]) });
        let answers = resolve(&client, names(60));
        let failed: Vec<_> = answers.iter().filter(|answer| answer.result.is_err()).collect();
        assert!(answers.len() == 60 && failed.is_empty(), "{} {failed:?}", failed.len());
        assert!(server.connections.load(Ordering::SeqCst) > 1);
        assert!(!client.upstreams()[0].is_resting);
    }
}

#[test]
fn a_server_that_leaves_without_an_answer_is_given_up_in_bounded_time() {
    let world = World::new();
    for leave in [Leave::AtOnce, Leave::Silently] {
        let (address, server) = serve(&world, "dns.example", Manners { leaves: Some((0, leave)), ..GOOD });
        let client = start(world.settings(&[text(address)]));
        let answers = resolve(&client, names(20));
        assert!(answers.iter().all(|answer| answer.result.is_err()));
        let connections = server.connections.load(Ordering::SeqCst);
        assert!(connections <= 4 * 20, "a connection a try at most: {connections}");
    }
}

#[test]
fn who_says_nothing_is_waited_for_as_long_as_is_said() {
    let world = World::new();
    let (address, _) = serve(&world, "dns.example", Manners { reply: |_| None, ..GOOD });
    let client = start(world.settings(&[text(address)]));
    let began = Instant::now();
    for answer in resolve(&client, names(10)) {
        let failure = answer.result.unwrap_err();
        let told = failure.detail.strip_prefix(&format!("{}: ", text(address))).unwrap();
        // The last try ends with its own time-out, or with the connection's.
        assert!(
            matches!(
                (failure.kind, told),
                (FailureKind::NameTimeout, "no answer in time")
                    | (FailureKind::NameServerFailure, "HTTPS: no answer")
            ),
            "{told}"
        );
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_question_without_answer_gives_its_stream_back_while_the_connection_goes_on() {
    let world = World::new();
    let reply = |message: &[u8]| (!message[13..].starts_with(b"mute")).then(|| answer(message));
    let (address, server) = serve(&world, "dns.example", Manners { reply, streams: Some(5), ..GOOD });
    let client = start(Settings { attempts: 1, ..world.settings(&[text(address)]) });
    client.submit((0..4).map(|number| format!("mute{number}.example").into()).collect());
    let (mut answers, began) = (Vec::new(), Instant::now());
    for name in names(1_000) {
        client.submit(vec![name.into()]);
        client.wait(Duration::from_millis(100));
        client.drain(&mut answers);
        std::thread::sleep(Duration::from_millis(20));
        if answers.len() > 10 && server.open.load(Ordering::SeqCst) == 0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{} streams", server.open.load(Ordering::SeqCst));
    }
    let failed = answers.iter().filter(|answer| answer.result.is_err());
    assert!(failed.clone().count() == 4 && failed.clone().all(|answer| answer.name.starts_with("mute")));
    assert_eq!(server.most.load(Ordering::SeqCst), 5);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}
