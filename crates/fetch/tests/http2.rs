//! HTTP/2 against scripted servers: what is shared, what is refused, and what hostile frames come to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::Response;
use lycosa_fetch::{Credentials, Fetcher, Settings};
use lycosa_records::{Request, RequestOptions, Source};
use lycosa_url::FailureKind;
use support::authority::*;
use support::cut::{Cut, End};
use support::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A connection to a scripted server.
type Stream = TlsStream<TcpStream>;

/// What a server does with its n-th connection.
type Script = Arc<dyn Fn(usize, Stream) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A server with TLS whose protocols are given.
struct Secure {
    port: u16,
    authority: Authority,
    connections: Arc<AtomicUsize>,
}

impl Secure {
    fn start<F>(
        name: &str,
        protocols: &[&[u8]],
        script: impl Fn(usize, Stream) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let script: Script = Arc::new(move |number, stream| Box::pin(script(number, stream)));
        let authority = Authority::new(name);
        let config = server_config(authority.certify("example.com", false), protocols);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = connections.clone();
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                serve(TcpListener::from_std(listener).unwrap(), config, script, counter).await
            });
        });
        Secure { port, authority, connections }
    }

    /// A server whose connections speak HTTP/2; `answer` gets each request.
    fn http2<F>(
        name: &str,
        answer: impl Fn(http::Request<RecvStream>, SendResponse<Bytes>) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start(name, &[b"h2", b"http/1.1"], move |_, stream| {
            let answer = answer.clone();
            async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, respond))) = connection.accept().await {
                    tokio::spawn(answer(request, respond));
                }
            }
        })
    }

    fn request(&self, path: &str) -> Request {
        request(&format!("https://example.com:{}{path}", self.port), &["127.0.0.1"])
    }

    fn settings(&self) -> Settings {
        Settings { max_body_bytes: 4 << 20, ..self.authority.settings() }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(
    listener: TcpListener,
    config: rustls::ServerConfig,
    script: Script,
    counter: Arc<AtomicUsize>,
) {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    while let Ok((stream, _)) = listener.accept().await {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        let (acceptor, script) = (acceptor.clone(), script.clone());
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                script(number, stream).await;
            }
        });
    }
}

/// Responds with a body.
fn reply(mut respond: SendResponse<Bytes>, body: impl Into<Bytes>) {
    let body = body.into();
    let head = Response::builder().header("X-Length", body.len()).body(()).unwrap();
    let mut stream = respond.send_response(head, body.is_empty()).unwrap();
    if !body.is_empty() {
        stream.send_data(body, true).unwrap();
    }
}

/// Fetches several requests at once; responses in the requests' order.
fn fetch_all(fetcher: &Fetcher, requests: Vec<Request>) -> Vec<lycosa_records::Response> {
    let count = requests.len();
    fetcher.submit(requests);
    let (mut responses, began) = (Vec::new(), Instant::now());
    while responses.len() < count && began.elapsed() < Duration::from_secs(20) {
        responses.extend(fetcher.completed(100, Duration::from_millis(200)));
    }
    assert_eq!(responses.len(), count);
    responses.sort_by_key(|response| response.request.url.as_str().to_owned());
    responses
}

#[test]
fn exchanges_of_an_origin_share_one_connection_and_have_their_heads() {
    let server = Secure::http2("share", |request, respond| async move {
        let text = format!("{} {}", request.uri().path(), request.headers()["user-agent"].to_str().unwrap());
        reply(respond, text);
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    let requests = (0..50).map(|number| server.request(&format!("/{number:02}?a=b"))).collect();
    let responses = fetch_all(&fetcher, requests);
    assert_eq!(server.connections(), 1);
    assert_eq!(responses.iter().filter(|response| response.times.tls_us > 0).count(), 1);
    for (number, response) in responses.into_iter().enumerate() {
        let page = page(response);
        assert_eq!((page.status, page.source), (200, Source::Http2));
        assert!(bytes(&page).starts_with(format!("/{number:02} Lycosa/").as_bytes()));
        assert!(page.certificate.is_some());
        let sent = String::from_utf8(page.sent.raw().to_vec()).unwrap();
        assert!(
            sent.starts_with(&format!(
                "GET /{number:02}?a=b HTTP/2\r\nhost: example.com:{}\r\nuser-agent: ",
                server.port
            )),
            "{sent}"
        );
        let length = bytes(&page).len();
        assert_eq!(*page.head.raw(), format!("HTTP/2 200\r\nx-length: {length}\r\n"));
    }
    let again = fetch(&fetcher, server.request("/again"));
    assert_eq!((again.times.connect_us, server.connections()), (0, 1));
}

#[test]
fn where_a_server_chooses_http1_each_request_gets_a_connection_of_its_own() {
    let server = Secure::start("chooses", &[b"http/1.1"], |_, mut stream| async move {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            text.push(stream.read_u8().await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(&ok("one")).await.unwrap();
        let _ = stream.read_u8().await;
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    let responses = fetch_all(&fetcher, (0..4).map(|number| server.request(&format!("/{number}"))).collect());
    assert!(responses.into_iter().all(|response| page(response).source == Source::Http11));
    assert_eq!(server.connections(), 4);
}

#[test]
fn requests_that_wait_for_a_connection_that_cannot_be_opened_fail_with_it() {
    // Nobody accepts: TLS gets no answer.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let authority = Authority::new("unopened");
    let settings = Settings { total_timeout: Duration::from_secs(15), ..authority.settings() };
    let fetcher = Fetcher::start(settings).unwrap();
    let requests =
        (0..8).map(|number| request(&format!("https://example.com:{port}/{number}"), &["127.0.0.1"]));
    let began = Instant::now();
    let responses = fetch_all(&fetcher, requests.collect());
    assert!(responses.iter().all(|response| kind(response) == FailureKind::ConnectTimeout));
    assert!(began.elapsed() < Duration::from_secs(4), "connect_timeout is one second: {:?}", began.elapsed());
}

#[test]
fn a_job_may_want_http1_alone() {
    let server = Secure::start("alone", &[b"h2", b"http/1.1"], |_, mut stream| async move {
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let _ = stream.read(&mut [0; 2000]).await;
        stream.write_all(&ok("one")).await.unwrap();
        let _ = stream.read_u8().await;
    });
    let settings = Settings { http2: false, ..server.settings() };
    assert_eq!(page(fetch_with(settings, server.request("/"))).source, Source::Http11);
}

#[test]
fn a_body_larger_than_the_windows_arrives_whole_and_one_above_the_limit_fails() {
    let server = Secure::http2("windows", |_, respond| async move {
        reply(respond, vec![b'a'; 3 << 20]);
    });
    let settings = server.settings();
    let response = page(fetch_with(settings.clone(), server.request("/")));
    assert_eq!(bytes(&response).len(), 3 << 20);
    let fetcher = Fetcher::start(Settings { max_body_bytes: 1 << 20, ..settings }).unwrap();
    assert_eq!(kind(&fetch(&fetcher, server.request("/"))), FailureKind::BodyTooLarge);
    // The session goes on.
    assert_eq!(kind(&fetch(&fetcher, server.request("/"))), FailureKind::BodyTooLarge);
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_request_with_a_body_is_sent_with_its_length() {
    let server = Secure::http2("post", |request, respond| async move {
        let length = request.headers()["content-length"].to_str().unwrap().to_owned();
        let method = request.method().clone();
        let mut body = request.into_body();
        let mut text = format!("{method} {length} ").into_bytes();
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            body.flow_control().release_capacity(data.len()).unwrap();
            text.extend_from_slice(&data);
        }
        reply(respond, text);
    });
    let body = Bytes::from(vec![b'x'; 200_000]);
    let options = RequestOptions { method: "POST".into(), body: body.clone(), ..RequestOptions::default() };
    let request = Request { options: Some(Box::new(options)), ..server.request("/form") };
    let page = page(fetch_with(server.settings(), request));
    assert_eq!(*bytes(&page), [b"POST 200000 ", &body[..]].concat());
}

#[test]
fn interim_responses_are_passed_and_keep_an_exchange_alive() {
    let server = Secure::http2("interim", |_, mut respond| async move {
        for _ in 0..5 {
            respond
                .send_informational(
                    Response::builder().status(103).header("link", "</a.css>").body(()).unwrap(),
                )
                .unwrap();
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        reply(respond, "late");
    });
    let settings = Settings { total_timeout: Duration::from_secs(5), ..server.settings() };
    let page = page(fetch_with(settings, server.request("/")));
    assert_eq!((page.status, &bytes(&page)[..]), (200, &b"late"[..]));
}

#[test]
fn a_silent_stream_times_out_and_the_others_of_its_session_go_on() {
    let server = Secure::http2("silent", |request, respond| async move {
        if request.uri().path() == "/silent" {
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        reply(respond, "here");
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    page(fetch(&fetcher, server.request("/a")));
    let responses = fetch_all(&fetcher, vec![server.request("/b"), server.request("/silent")]);
    assert_eq!(kind(&responses[1]), FailureKind::ReadTimeout);
    page(fetch(&fetcher, server.request("/c")));
    assert_eq!(server.connections(), 1);
}

#[test]
fn heads_beyond_the_limits_are_told_as_such() {
    let server = Secure::http2("heads", |request, mut respond| async move {
        let mut head = Response::builder();
        let (fields, length) = if request.uri().path() == "/many" { (201, 3) } else { (70, 1_000) };
        for number in 0..fields {
            head = head.header(format!("x-{number}"), "a".repeat(length));
        }
        let _ = respond.send_response(head.body(()).unwrap(), true);
    });
    for path in ["/many", "/large"] {
        let response = fetch_with(server.settings(), server.request(path));
        assert_eq!(kind(&response), FailureKind::HeadersTooLarge, "{path}");
    }
}

/// Answers the first request of each connection, then ends it as `how` does.
fn ends(name: &str, how: fn(&mut Connection<Stream, Bytes>, SendResponse<Bytes>)) -> Secure {
    Secure::start(name, &[b"h2"], move |_, stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        if let Some(Ok((_, respond))) = connection.accept().await {
            reply(respond, "first");
        }
        if let Some(Ok((_, respond))) = connection.accept().await {
            how(&mut connection, respond);
        }
        while connection.accept().await.is_some() {}
    })
}

#[test]
fn a_server_that_leaves_counts_against_no_request_that_it_has_not_begun() {
    let leaves = ends("leaves", |connection, mut respond| {
        respond.send_reset(Reason::REFUSED_STREAM);
        connection.graceful_shutdown();
    });
    let breaks = ends("breaks", |connection, _| connection.abrupt_shutdown(Reason::NO_ERROR));
    for server in [leaves, breaks] {
        let fetcher = Fetcher::start(server.settings()).unwrap();
        page(fetch(&fetcher, server.request("/1")));
        assert_eq!(kind(&fetch(&fetcher, server.request("/2"))), FailureKind::Cancelled);
        page(fetch(&fetcher, server.request("/3")));
        assert_eq!(server.connections(), 2);
    }
}

#[test]
fn a_request_that_a_server_refuses_unread_may_be_sent_again_though_it_is_a_post() {
    let server = ends("refuses", |_, mut respond| respond.send_reset(Reason::REFUSED_STREAM));
    let fetcher = Fetcher::start(server.settings()).unwrap();
    page(fetch(&fetcher, server.request("/1")));
    let options = RequestOptions { method: "POST".into(), ..RequestOptions::default() };
    let post = Request { options: Some(Box::new(options)), ..server.request("/2") };
    assert_eq!(kind(&fetch(&fetcher, post.clone())), FailureKind::Cancelled);
    let server = ends("dies", |connection, _| connection.abrupt_shutdown(Reason::INTERNAL_ERROR));
    let fetcher = Fetcher::start(server.settings()).unwrap();
    page(fetch(&fetcher, server.request("/1")));
    let post = Request { url: server.request("/2").url, ..post };
    assert_eq!(kind(&fetch(&fetcher, post)), FailureKind::Unanswered);
}

#[test]
fn a_session_that_breaks_off_at_any_byte_ends_its_requests() {
    let server = Secure::http2("cut", |_, respond| async move { reply(respond, "the whole page") });
    let cut = Cut::start(([127, 0, 0, 1], server.port).into());
    let request = request(&format!("https://example.com:{}/", cut.address.port()), &["127.0.0.1"]);
    page(fetch_with(server.settings(), request.clone()));
    let deadline = Instant::now() + Duration::from_secs(10);
    while cut.passed() == 0 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(1));
    }
    // Of a session more than half is the handshake.
    for bytes in (0..cut.passed()).step_by(7) {
        cut.after(bytes, if bytes % 2 == 0 { End::Close } else { End::Reset });
        match fetch_with(server.settings(), request.clone()).result {
            Ok(received) => assert_eq!(*support::bytes(&received), "the whole page", "at {bytes}"),
            Err(failure) => assert!(
                matches!(
                    failure.kind,
                    FailureKind::ConnectionClosed | FailureKind::TlsFailed | FailureKind::Protocol
                ),
                "at {bytes}: {failure:?}"
            ),
        }
    }
}

#[test]
fn a_flood_of_frames_without_content_ends_the_session_and_nothing_else() {
    // The preface, then PING frames without end.
    let server = Secure::start("flood", &[b"h2"], |number, stream| async move {
        if number > 0 {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, respond))) = connection.accept().await {
                reply(respond, "after");
            }
            return;
        }
        let (mut read, mut write) = tokio::io::split(stream);
        tokio::spawn(async move { while read.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {} });
        let _ = write.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
        let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat().repeat(1_000);
        while write.write_all(&ping).await.is_ok() {}
    });
    let settings = Settings {
        read_timeout: Duration::from_secs(20),
        total_timeout: Duration::from_secs(20),
        ..server.settings()
    };
    let fetcher = Fetcher::start(settings).unwrap();
    assert_eq!(kind(&fetch(&fetcher, server.request("/"))), FailureKind::Protocol);
    assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), "after");
}

#[test]
fn a_session_whose_peer_has_vanished_times_out_once() {
    let server = Secure::start("vanished", &[b"h2"], |number, stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Ok(Some(Ok((_, respond)))) =
            tokio::time::timeout(Duration::from_millis(100), connection.accept()).await
        {
            reply(respond, "here");
        }
        if number == 0 {
            tokio::time::sleep(Duration::from_secs(30)).await; // reads nothing any more, and is not closed
        }
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    page(fetch(&fetcher, server.request("/1")));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(kind(&fetch(&fetcher, server.request("/2"))), FailureKind::ReadTimeout);
    page(fetch(&fetcher, server.request("/3")));
    assert_eq!(server.connections(), 2);
}

#[test]
fn requests_are_signed_for_the_authority_that_the_server_sees() {
    let (identity, (results, seen)) = (Arc::new(signed::identity()), mpsc::channel());
    let (keys, others) = (signed::keys(&identity), signed::keys(&signed::identity()));
    let server = Secure::http2("signed", move |request, respond| {
        let fields = |name: &str| Some(request.headers().get(name)?.to_str().unwrap().to_owned());
        let authority = request.uri().authority().unwrap().as_str();
        let by = |authority, keys| signed::is_signed(&signed::Message { authority, fields: &fields }, keys);
        results.send([by(authority, &keys), by("other.example", &keys), by(authority, &others)]).unwrap();
        async move { reply(respond, "") }
    });
    let settings = Settings { identity: Some(identity), ..server.settings() };
    let received = page(fetch_with(settings, server.request("/")));
    assert_eq!(seen.recv_timeout(Duration::from_secs(9)), Ok([true, false, false]));
    assert!(received.sent.get("signature").is_some(), "the log has the head as it was sent");
}

#[test]
fn a_password_is_sent_to_its_origin_and_is_in_no_record() {
    let server = Secure::http2("password", |request, respond| async move {
        reply(respond, (request.headers()["authorization"] == "Basic dTpw").to_string());
    });
    let text = format!("https://example.com:{} basic u:p", server.port);
    let credentials = Arc::new(Credentials::parse(&text).unwrap());
    let response = fetch_with(Settings { credentials, ..server.settings() }, server.request("/"));
    assert!(!format!("{response:?}").contains("dTpw"));
    let page = page(response);
    assert_eq!((page.source, &bytes(&page)[..]), (Source::Http2, &b"true"[..]));
    assert_eq!(page.sent.get("authorization").as_deref(), Some("***"));
}

#[test]
fn a_body_whose_stream_is_reset_is_gone_on_with() {
    let server = Secure::http2("rest", |request, mut respond| async move {
        let body: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let head = |status: u16| {
            let head = Response::builder().status(status).header("ETag", "\"a\"");
            head.header("Accept-Ranges", "bytes")
        };
        let Some(range) = request.headers().get("range") else {
            let whole = head(200).header("Content-Length", body.len()).body(()).unwrap();
            let mut stream = respond.send_response(whole, false).unwrap();
            stream.send_data(body[..9_000].to_vec().into(), false).unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            return stream.send_reset(Reason::INTERNAL_ERROR);
        };
        assert_eq!(
            (range.to_str().unwrap(), &request.headers()["if-range"]),
            ("bytes=9000-", &"\"a\"".parse().unwrap())
        );
        let rest = head(206).header("Content-Range", "bytes 9000-299999/300000").body(()).unwrap();
        let mut stream = respond.send_response(rest, false).unwrap();
        stream.send_data(body[9_000..].to_vec().into(), true).unwrap();
    });
    let settings = Settings { resume_bytes: Some(1_000), ..server.settings() };
    let page = page(fetch_with(settings, server.request("/")));
    assert_eq!((page.status, bytes(&page).len()), (200, 300_000));
    assert!(bytes(&page).iter().zip(0u32..).all(|(byte, n)| u32::from(*byte) == n % 251));
    assert_eq!(server.connections(), 1, "the session goes on");
}

#[test]
fn a_response_without_a_body_promises_none() {
    let server = Secure::http2("head", |_, mut respond| async move {
        let head = Response::builder().header("content-length", "1000000000").body(()).unwrap();
        respond.send_response(head, true).unwrap();
    });
    let options = RequestOptions { method: "HEAD".into(), ..RequestOptions::default() };
    let head = Request { options: Some(Box::new(options)), ..server.request("/") };
    let page = page(fetch_with(server.settings(), head));
    assert_eq!((page.status, page.body.len()), (200, 0));
}

#[test]
fn a_server_with_few_streams_gets_no_more_at_a_time() {
    let server = Secure::start("few", &[b"h2"], |_, stream| async move {
        let mut connection =
            h2::server::Builder::new().max_concurrent_streams(2).handshake(stream).await.unwrap();
        while let Some(Ok((_, respond))) = connection.accept().await {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                reply(respond, "here");
            });
        }
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    let requests = (0..20).map(|number| server.request(&format!("/{number}"))).collect();
    assert!(fetch_all(&fetcher, requests).into_iter().all(|response| page(response).status == 200));
    assert_eq!(server.connections(), 1);
}

#[test]
fn many_small_exchanges_are_no_flood() {
    let server = Secure::http2("small", |_, mut respond| async move {
        let head = Response::builder().status(304).header("x", "a".repeat(2_000)).body(()).unwrap();
        let _ = respond.send_response(head, true);
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    for round in 0..30 {
        let requests = (0..100).map(|number| server.request(&format!("/{round}/{number}"))).collect();
        assert!(fetch_all(&fetcher, requests).into_iter().all(|response| page(response).status == 304));
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn what_is_no_http2_is_a_protocol_failure_and_no_panic() {
    let server = Secure::start("garbage", &[b"h2"], |number, mut stream| async move {
        let bytes: &[u8] = match number {
            0 => b"HTTP/1.1 200 OK\r\n\r\nbody",
            1 => &[0xff; 64],
            2 => &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0, 0, 0, 1, 0xff],
            _ => b"",
        };
        let _ = stream.write_all(bytes).await;
        let _ = stream.read(&mut [0; 2000]).await;
    });
    let fetcher = Fetcher::start(server.settings()).unwrap();
    for expected in
        [FailureKind::Protocol, FailureKind::Protocol, FailureKind::Protocol, FailureKind::ConnectionClosed]
    {
        assert_eq!(kind(&fetch(&fetcher, server.request("/"))), expected);
    }
    assert_eq!(server.connections(), 4);
}

#[test]
fn idle_sessions_expire_and_are_not_more_than_may_be() {
    let server = Secure::http2("idle", |_, respond| async move { reply(respond, "x") });
    let settings = Settings { idle_timeout: Duration::from_millis(200), ..server.settings() };
    let fetcher = Fetcher::start(settings.clone()).unwrap();
    page(fetch(&fetcher, server.request("/1")));
    std::thread::sleep(Duration::from_millis(400));
    page(fetch(&fetcher, server.request("/2")));
    assert_eq!(server.connections(), 2);
    let fetcher = Fetcher::start(Settings { idle_connections: 0, ..settings }).unwrap();
    page(fetch(&fetcher, server.request("/3")));
    std::thread::sleep(Duration::from_millis(150));
    page(fetch(&fetcher, server.request("/4")));
    assert_eq!(server.connections(), 4);
}
