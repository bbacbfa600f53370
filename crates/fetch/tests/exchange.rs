//! Exchanges with servers that send exact bytes: well-formed, broken, slow and silent.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use lycosa_fetch::{Fetcher, Settings};
use lycosa_url::{AddressPolicy, FailureKind};
use support::*;

/// The result of a server's bytes.
fn ends_as(answer: impl Into<Vec<u8>>) -> Result<String, FailureKind> {
    let server = Server::once(answer);
    let response = fetch_with(settings(), server.request("/"));
    assert_eq!(server.connections(), 1, "nothing is repeated on a new connection");
    response
        .result
        .map(|page| String::from_utf8(bytes(&page).to_vec()).unwrap())
        .map_err(|failure| failure.kind)
}

#[test]
fn a_page_comes_with_everything_known_about_it() {
    let server = Server::start(vec![Box::new(|mut stream| {
        let request = read_request(&mut stream).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let head = "HTTP/1.1 404 Not Here\r\nX-A: 1\r\nSet-Cookie: a\r\nset-cookie: b\r\nX-Bin: \u{e9}\r\n";
        write!(stream, "{head}Content-Length: {}\r\n\r\n", request.len()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        stream.write_all(request.as_bytes()).unwrap();
    })]);
    let response = fetch_with(settings(), server.request("/a?b=%20c"));
    assert_eq!(response.address, Some(server.address.ip()));
    // A busy machine may show the head late, and the body at once after it.
    let (first_byte, body) = (response.times.first_byte_us, response.times.body_us);
    assert!(first_byte >= 20_000 && first_byte + body >= 40_000, "{first_byte} {body}");
    assert!(response.times.connect_us > 0 && response.times.tls_us == 0);
    assert!(response.finished - response.started >= 40_000);
    assert_eq!(response.request.lease, 1);
    let page = page(response);
    assert_eq!(page.status, 404);
    assert_eq!(page.head.get("x-a").as_deref(), Some("1"));
    assert_eq!(page.head.get_all("set-cookie").collect::<Vec<_>>(), ["a", "b"]);
    assert!(page.head.fields().any(|(name, value)| name == "X-Bin" && *value == *"é".as_bytes()));
    let sent = String::from_utf8(bytes(&page).to_vec()).unwrap();
    let agent = format!("user-agent: Lycosa/{}\r\n", env!("CARGO_PKG_VERSION"));
    assert!(sent.starts_with(&format!("GET /a?b=%20c HTTP/1.1\r\nhost: {}\r\n", server.address)), "{sent}");
    assert!(sent.contains(&agent) && sent.contains("accept-encoding: gzip, br, zstd\r\n"), "{sent}");
    assert_eq!(page.sent.raw(), sent.strip_suffix("\r\n").unwrap(), "as the server received it");
    let head = "HTTP/1.1 404 Not Here\r\nX-A: 1\r\nSet-Cookie: a\r\nset-cookie: b\r\nX-Bin: \u{e9}\r\nContent-Length: ";
    assert!(page.head.raw().starts_with(head.as_bytes()), "as the server sent it: {:?}", page.head);
    assert_eq!((page.source.as_str(), &*page.head.reason()), ("http/1.1", "Not Here"));
}

#[test]
fn connections_are_kept_alive() {
    let server = Server::start(vec![several(vec![ok("one"), ok("two"), ok("three")])]);
    let fetcher = Fetcher::start(settings()).unwrap();
    for body in ["one", "two", "three"] {
        assert_eq!(*bytes(&page(fetch(&fetcher, server.request("/")))), body);
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn bodies_end_in_several_ways() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(ends_as(ok("hello")), Ok("hello".to_owned()));
    assert_eq!(ends_as(ok("")), Ok(String::new()));
    assert_eq!(
        ends_as(format!("{chunked}3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: 1\r\n\r\n")),
        Ok("hello".to_owned())
    );
    assert_eq!(ends_as("HTTP/1.1 200 OK\r\n\r\nuntil the end"), Ok("until the end".to_owned()));
    assert_eq!(ends_as("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), Ok("ok".to_owned()));
    assert_eq!(ends_as("HTTP/1.1 204 None\r\n\r\n"), Ok(String::new()));
    assert_eq!(ends_as("HTTP/1.1 304 Same\r\nContent-Length: 99\r\n\r\n"), Ok(String::new()));
    assert_eq!(ends_as("HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200\r\n\r\nx"), Ok("x".to_owned()));
    let large = "x".repeat(99_999);
    assert_eq!(ends_as(ok(&large)), Ok(large));
}

#[test]
fn lenient_headers_are_accepted() {
    let folded = "HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length: 1\r\n\r\nx";
    let page = page(fetch_with(settings(), Server::once(folded).request("/")));
    assert!(page.head.get("x-a").is_some_and(|value| value.starts_with("one") && value.ends_with("two")));
    assert_eq!(ends_as("HTTP/1.1 200 OK\r\n@bad line\r\nContent-Length: 1\r\n\r\nx"), Ok("x".to_owned()));
    assert_eq!(ends_as("HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length: 1\r\n\r\nx"), Ok("x".to_owned()));
}

#[test]
fn what_is_cut_off_is_a_closed_connection() {
    assert_eq!(ends_as(""), Err(FailureKind::ConnectionClosed));
    assert_eq!(
        ends_as("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour"),
        Err(FailureKind::ConnectionClosed)
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel";
    assert_eq!(ends_as(chunked), Err(FailureKind::ConnectionClosed));
    assert_eq!(ends_as("HTTP/1.1 200 OK\r\nX-A: 1\r\n"), Err(FailureKind::ConnectionClosed));
}

#[test]
fn garbage_is_not_http() {
    for bytes in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        assert_eq!(ends_as(bytes), Err(FailureKind::Protocol), "{bytes:?}");
    }
}

#[test]
fn headers_have_limits() {
    let many = "a: b\r\n".repeat(201);
    let long = format!("a: {}\r\n", "b".repeat(70_000));
    let endless = format!("HTTP/1.1 200 {}", "x".repeat(200_000));
    for bytes in [format!("HTTP/1.1 200 OK\r\n{many}\r\n"), format!("HTTP/1.1 200 OK\r\n{long}\r\n"), endless]
    {
        assert_eq!(ends_as(bytes), Err(FailureKind::HeadersTooLarge));
    }
    let fits = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 1\r\n\r\nx", "a: b\r\n".repeat(150));
    assert_eq!(ends_as(fits), Ok("x".to_owned()));
    let small = Settings { max_header_bytes: 1_000, ..settings() };
    let server = Server::once(format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(2_000)));
    assert_eq!(kind(&fetch_with(small, server.request("/"))), FailureKind::HeadersTooLarge);
}

#[test]
fn bodies_have_a_limit() {
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n"; // refused without waiting for the body
    assert_eq!(ends_as(length), Err(FailureKind::BodyTooLarge));
    let stream = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100_001));
    assert_eq!(ends_as(stream), Err(FailureKind::BodyTooLarge));
    let huge = "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n";
    assert_eq!(ends_as(huge), Err(FailureKind::BodyTooLarge));
}

/// Sends a head, then a byte at intervals.
fn dribble(count: usize, interval: Duration) -> Script {
    Box::new(move |mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        for _ in 0..count {
            std::thread::sleep(interval);
            if stream.write_all(b"x").is_err() {
                return;
            }
        }
        let _ = stream.read(&mut [0; 1]);
    })
}

#[test]
fn silence_is_a_read_timeout() {
    let silent: Script = Box::new(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for script in [silent, dribble(2, Duration::from_millis(50)), dribble(9, Duration::from_millis(600))] {
        let server = Server::start(vec![script]);
        let began = Instant::now();
        assert_eq!(kind(&fetch_with(settings(), server.request("/"))), FailureKind::ReadTimeout);
        assert!((300..900).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    }
}

#[test]
fn a_dribble_without_end_is_a_timeout() {
    let server = Server::start(vec![dribble(100, Duration::from_millis(100))]);
    let began = Instant::now();
    let response = fetch_with(settings(), server.request("/"));
    assert_eq!(kind(&response), FailureKind::Timeout);
    assert!(response.address.is_some() && response.times.first_byte_us > 0);
    assert!((1_500..2_200).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}

#[test]
fn connections_may_be_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(kind(&fetch_with(settings(), request(&url, &["127.0.0.1"]))), FailureKind::ConnectRefused);
}

#[test]
fn the_next_address_is_tried() {
    let server = Server::once(ok("x"));
    let url = format!("http://example.com:{}/", server.address.port());
    let response = fetch_with(settings(), request(&url, &["10.0.0.1", "127.7.7.7", "127.0.0.1"]));
    assert_eq!(response.address, Some("127.0.0.1".parse().unwrap()));
    assert_eq!(*bytes(&page(response)), "x");
}

#[test]
fn a_refusal_says_more_than_an_address_that_cannot_be_reached() {
    // No connection to a multicast address is possible (ENETUNREACH); nothing listens at the other one.
    let policy = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap(), "224.0.0.0/4".parse().unwrap()]);
    let settings = || Settings { policy: policy.clone(), ..settings() };
    let server = Server::start(Vec::new());
    let url = format!("http://example.com:{}/", server.address.port());
    let unreachable = fetch_with(settings(), request(&url, &["224.0.0.1"]));
    assert_eq!(kind(&unreachable), FailureKind::ConnectFailed);
    for addresses in [["127.7.7.7", "224.0.0.1"], ["224.0.0.1", "127.7.7.7"]] {
        let failure = fetch_with(settings(), request(&url, &addresses)).result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::ConnectRefused);
        assert!(failure.detail.contains("127.7.7.7"), "{failure:?}");
    }
}

#[test]
fn loopback_is_refused_by_default() {
    let server = Server::once(ok("x"));
    let settings = Settings { policy: AddressPolicy::default(), ..settings() };
    let response = fetch_with(settings, server.request("/"));
    assert_eq!((kind(&response), response.address), (FailureKind::AddressRefused, None));
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_port_of_another_protocol_is_not_connected_to() {
    // No process listens on port 1: the machine refuses connections.
    let request = || request("http://example.com:1/", &["127.0.0.1"]);
    let refused = fetch_with(settings(), request());
    assert_eq!((kind(&refused), refused.address), (FailureKind::PortBlocked, None));
    let policy = settings().policy.with_ports(vec![1]);
    let tried = fetch_with(Settings { policy, ..settings() }, request());
    assert_eq!(kind(&tried), FailureKind::ConnectRefused);
}

#[test]
fn a_kept_connection_serves_only_its_own_address() {
    let server = Server::start(vec![several(vec![ok("one"), ok("two")])]);
    let fetcher = Fetcher::start(settings()).unwrap();
    let url = format!("http://example.com:{}/", server.address.port());
    assert_eq!(*bytes(&page(fetch(&fetcher, request(&url, &["127.0.0.1"])))), "one");
    let elsewhere = fetch(&fetcher, request(&url, &["127.7.7.7"]));
    assert_eq!(kind(&elsewhere), FailureKind::ConnectRefused);
    assert_eq!(*bytes(&page(fetch(&fetcher, request(&url, &["127.7.7.7", "127.0.0.1"])))), "two");
}

#[test]
fn what_is_over_the_slots_waits_inside() {
    // The responses announce the close: on a connection that closes without notice the next request would be
    // cancelled.
    let closes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    let scripts = (0..20).map(|_| once(closes)).collect();
    let server = Server::start(scripts);
    let fetcher = Fetcher::start(Settings { slots: 2, ..settings() }).unwrap();
    assert_eq!(fetcher.free(), 2);
    fetcher.submit((0..20).map(|_| server.request("/")).collect());
    let mut count = 0;
    while count < 20 {
        let responses = fetcher.completed(3, Duration::from_secs(5));
        assert!((1..=3).contains(&responses.len()));
        count += responses.len();
        assert!(responses.iter().all(|response| response.result.is_ok()));
        assert_eq!(fetcher.in_flight(), 20 - count);
    }
    assert_eq!(fetcher.free(), 2);
    assert!(fetcher.completed(1, Duration::from_millis(10)).is_empty());
}

#[test]
fn cancel_ends_everything_at_once() {
    let scripts = (0..2).map(|_| dribble(100, Duration::from_millis(50))).collect();
    let server = Server::start(scripts);
    let fetcher = Fetcher::start(Settings { slots: 2, ..settings() }).unwrap();
    fetcher.submit((0..5).map(|_| server.request("/")).collect());
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    fetcher.cancel();
    let mut kinds = Vec::new();
    while kinds.len() < 5 {
        kinds.extend(fetcher.completed(5, Duration::from_secs(1)).iter().map(kind));
    }
    assert_eq!(kinds, [FailureKind::Cancelled; 5]);
    assert!(began.elapsed() < Duration::from_millis(100));
    assert_eq!((fetcher.in_flight(), fetcher.free()), (0, 2));
}

#[test]
fn dropping_ends_the_thread_in_the_middle_of_work() {
    let server = Server::start(vec![dribble(100, Duration::from_millis(50))]);
    let fetcher = Fetcher::start(settings()).unwrap();
    fetcher.submit(vec![server.request("/")]);
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    drop(fetcher);
    assert!(began.elapsed() < Duration::from_millis(100));
}

#[test]
fn unusable_settings_are_named() {
    let wrong = |settings| Fetcher::start(settings).err().map(|error| error.to_string()).unwrap_or_default();
    let file = "/nonexistent/roots.pem";
    assert!(wrong(Settings { ca_file: Some(file.into()), ..settings() }).contains(file));
    assert!(wrong(Settings { user_agent: "a\nb".to_owned(), ..settings() }).contains("user agent"));
}

#[test]
fn a_connection_that_has_rested_is_used_again_and_one_that_was_closed_meanwhile_is_not() {
    let server = Server::start(vec![several(vec![ok("one"), ok("two")]), several(vec![ok("three")])]);
    let fetcher = Fetcher::start(settings()).unwrap();
    let body =
        |path| String::from_utf8(bytes(&page(fetch(&fetcher, server.request(path)))).to_vec()).unwrap();
    assert_eq!(body("/1"), "one");
    std::thread::sleep(Duration::from_millis(1_300));
    assert_eq!((body("/2").as_str(), server.connections()), ("two", 1));
    // The server has closed it.
    std::thread::sleep(Duration::from_millis(1_300));
    assert_eq!((body("/3").as_str(), server.connections()), ("three", 2));
}
