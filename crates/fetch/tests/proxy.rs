//! Proxies, scripted: what they get, and what their failures come to.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use lycosa_fetch::{Proxies, Proxy, ProxyProtocol, Settings};
use lycosa_records::{Request, Route};
use lycosa_url::{AddressPolicy, FailureKind};
use support::*;

/// The site's address, at which nobody is: only a proxy leads to it.
const SITE: &str = "192.0.2.7";

/// A proxy at a server, by the name `p`.
fn proxies(server: &Server, protocol: ProxyProtocol, resolves: bool) -> Proxies {
    let proxies = Proxies::new(settings().policy);
    let credentials = Some(("user".into(), "secret".into()));
    let (addresses, port) = (vec![server.address.ip()], server.address.port());
    proxies
        .set("p", Proxy { protocol, host: "proxy.example".into(), port, addresses, credentials, resolves });
    proxies
}

fn by_proxy(url: &str) -> Request {
    let direct = request(url, &[SITE]);
    Request { route: direct.route.by(Some("p")), ..direct }
}

/// Settings that permit the site's address.
fn with(proxies: Proxies) -> Settings {
    Settings { proxies, policy: policy(&["127.0.0.0/8", "192.0.2.0/24"]), ..settings() }
}

fn policy(allowed: &[&str]) -> AddressPolicy {
    AddressPolicy::new(allowed.iter().map(|network| network.parse().unwrap()).collect())
}

/// A text that a script has read.
fn seen(texts: &Receiver<String>) -> String {
    texts.recv_timeout(Duration::from_secs(9)).unwrap()
}

/// Reads a head, tells it, and responds.
fn answer(stream: &mut TcpStream, texts: &Sender<String>, reply: &[u8]) {
    texts.send(read_request(stream).unwrap()).unwrap();
    stream.write_all(reply).unwrap();
}

#[test]
fn a_proxy_that_resolves_gets_the_whole_url_and_its_password_is_in_no_record() {
    let (told, texts) = mpsc::channel();
    let server = Server::start(vec![Box::new(move |mut stream| {
        (0..2).for_each(|_| answer(&mut stream, &told, &ok("page")));
    })]);
    let fetcher = lycosa_fetch::Fetcher::start(with(proxies(&server, ProxyProtocol::Http, true))).unwrap();
    for path in ["/1?q", "/2"] {
        let response = fetch(&fetcher, by_proxy(&format!("http://site.example{path}")));
        assert_eq!((response.address, response.site_address()), (Some(server.address.ip()), None));
        let head = seen(&texts);
        assert!(head.starts_with(&format!("GET http://site.example{path} HTTP/1.1\r\n")), "{head}");
        assert!(head.to_lowercase().contains("proxy-authorization: basic dxnlcjpzzwnyzxq="), "{head}");
        let received = page(response);
        assert_eq!(bytes(&received), "page");
        assert!(received.sent.get("host").is_some() && received.sent.get("proxy-authorization").is_none());
    }
    assert_eq!(server.connections(), 1, "connections to proxies are kept, too");
}

#[test]
fn a_proxy_that_resolves_nothing_gets_a_permitted_address_and_the_site_gets_no_password() {
    let (told, texts) = mpsc::channel();
    let server = Server::start(vec![Box::new(move |mut stream| {
        answer(&mut stream, &told, b"HTTP/1.1 200 Connection established\r\n\r\n");
        answer(&mut stream, &told, &ok("page"));
    })]);
    let settings = with(proxies(&server, ProxyProtocol::Http, false));
    assert_eq!(bytes(&page(fetch_with(settings, by_proxy("http://site.example/")))), "page");
    assert!(seen(&texts).starts_with("CONNECT 192.0.2.7:80 HTTP/1.1\r\n"));
    let inner = seen(&texts);
    assert!(inner.starts_with("GET / HTTP/1.1\r\n") && !inner.to_lowercase().contains("proxy-"), "{inner}");
}

/// Plays a SOCKS server with a password up to this reply; gives the request's address part.
fn socks(stream: &mut TcpStream, reply: u8) -> Vec<u8> {
    let mut greeting = [0; 2];
    stream.read_exact(&mut greeting).unwrap();
    let mut methods = vec![0; greeting[1].into()];
    stream.read_exact(&mut methods).unwrap();
    assert!(methods.contains(&2), "user and password are offered");
    stream.write_all(&[5, 2]).unwrap();
    let mut login = [0; 13];
    stream.read_exact(&mut login).unwrap();
    assert_eq!(&login, b"\x01\x04user\x06secret");
    stream.write_all(&[1, 0]).unwrap();
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    let mut length = [4];
    if head[3] == 3 {
        stream.read_exact(&mut length).unwrap();
    }
    let mut target = vec![0; usize::from(length[0]) + 2];
    stream.read_exact(&mut target).unwrap();
    stream.write_all(&[5, reply, 0, 1, 127, 0, 0, 1, 0, 9]).unwrap();
    target
}

#[test]
fn a_socks_proxy_is_told_the_name_or_the_address() {
    for (resolves, target) in [(true, &b"site.example\x00\x50"[..]), (false, &[192, 0, 2, 7, 0, 80])] {
        let (told, texts) = mpsc::channel();
        let server = Server::start(vec![Box::new(move |mut stream| {
            let asked = socks(&mut stream, 0);
            assert_eq!(asked, target);
            answer(&mut stream, &told, &ok("page"));
        })]);
        let settings = with(proxies(&server, ProxyProtocol::Socks5, resolves));
        assert_eq!(bytes(&page(fetch_with(settings, by_proxy("http://site.example/")))), "page");
        assert!(seen(&texts).starts_with("GET / HTTP/1.1\r\n"));
    }
}

#[test]
fn what_a_proxy_does_wrong_is_no_failure_of_the_site() {
    let scripts: [&[u8]; 4] = [
        b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        b"HTTP/1.1 403 Forbidden\r\n\r\n",
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        b"",
    ];
    for reply in scripts {
        let server = Server::once(reply);
        let settings = with(proxies(&server, ProxyProtocol::Http, true));
        let response = fetch_with(settings, by_proxy("https://site.example/"));
        let failure = response.result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::ProxyFailed, "{reply:?}: {}", failure.detail);
        assert!(
            failure.detail.starts_with("p: ") && !failure.detail.contains("secret"),
            "{}",
            failure.detail
        );
    }
    let closed = Server::start(Vec::new());
    let dead = Proxies::new(settings().policy);
    for protocol in [ProxyProtocol::Http, ProxyProtocol::Https, ProxyProtocol::Socks5] {
        dead.set("p", Proxy { protocol, ..(*proxies(&closed, protocol, true).get("p").unwrap()).clone() });
        let response = fetch_with(with(dead.clone()), by_proxy("https://site.example/"));
        assert_eq!(kind(&response), FailureKind::ProxyFailed, "{protocol:?}");
    }
    let unknown = Request { route: Route::default().by(Some("other")), ..by_proxy("http://site.example/") };
    assert_eq!(kind(&fetch_with(with(dead), unknown)), FailureKind::ProxyFailed);
}

#[test]
fn what_a_proxy_says_of_a_dead_site_is_the_sites_failure_and_names_the_proxy() {
    for (status, kind) in [(502, FailureKind::ConnectFailed), (504, FailureKind::ConnectTimeout)] {
        let server = Server::once(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"));
        let settings = with(proxies(&server, ProxyProtocol::Http, true));
        let response = fetch_with(settings, by_proxy("https://site.example/"));
        assert_eq!(response.address, Some(server.address.ip()), "the proxy was connected to");
        let failure = response.result.unwrap_err();
        assert_eq!(failure.kind, kind);
        assert!(failure.detail.starts_with("p: "), "{}", failure.detail);
    }
    for (reply, kind) in
        [(1, FailureKind::ProxyFailed), (4, FailureKind::ConnectFailed), (5, FailureKind::ConnectRefused)]
    {
        let server = Server::start(vec![Box::new(move |mut stream| {
            socks(&mut stream, reply);
        })]);
        let settings = with(proxies(&server, ProxyProtocol::Socks5, true));
        let failure = fetch_with(settings, by_proxy("http://site.example/")).result.unwrap_err();
        assert_eq!(failure.kind, kind, "{reply}: {}", failure.detail);
        assert!(failure.detail.starts_with("p: "), "{}", failure.detail);
    }
}

#[test]
fn a_407_to_a_whole_request_may_be_the_sites_and_is_passed_on() {
    let server =
        Server::once(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n".as_slice());
    let settings = with(proxies(&server, ProxyProtocol::Http, true));
    assert_eq!(page(fetch_with(settings, by_proxy("http://site.example/"))).status, 407);
}

#[test]
fn a_network_that_this_machine_cannot_reach_is_no_failure_of_the_proxy() {
    let proxies = Proxies::new(policy(&["224.0.0.0/4"]));
    let server = Server::start(Vec::new());
    let known = (*self::proxies(&server, ProxyProtocol::Http, true).get("p").unwrap()).clone();
    proxies.set("p", Proxy { addresses: vec!["224.0.0.1".parse().unwrap()], ..known });
    let response = fetch_with(with(proxies), by_proxy("http://site.example/"));
    assert_eq!((kind(&response), response.address), (FailureKind::ConnectFailed, None));
}

#[test]
fn a_site_whose_address_is_not_permitted_is_asked_by_no_proxy() {
    for protocol in [ProxyProtocol::Http, ProxyProtocol::Socks5] {
        for (resolves, url, addresses) in [
            (true, "http://169.254.169.254/", &[][..]),
            (true, "https://[fd00::1]/", &[]),
            (true, "http://rebind.example/", &["10.0.0.1"]),
            (false, "http://rebind.example/", &["10.0.0.1"]),
            (false, "http://rebind.example/", &[]),
        ] {
            let server = Server::once(ok("inside"));
            let request = request(url, addresses);
            let request = Request { route: request.route.by(Some("p")), ..request };
            let response = fetch_with(with(proxies(&server, protocol, resolves)), request);
            assert_eq!((kind(&response), server.connections()), (FailureKind::AddressRefused, 0), "{url}");
        }
    }
}

/// Requests of one origin by these proxies: their failures, in the order in which they end.
fn failures(settings: Settings, names: &[&str]) -> Vec<(u64, FailureKind)> {
    let fetcher = lycosa_fetch::Fetcher::start(settings).unwrap();
    let requests = names.iter().zip(1..).map(|(name, lease)| {
        let request = by_proxy("https://site.example/");
        Request { lease, route: request.route.by(Some(name)), ..request }
    });
    fetcher.submit(requests.collect());
    let mut found = Vec::new();
    while found.len() < names.len() {
        let responses = fetcher.completed(10, Duration::from_secs(10));
        assert!(!responses.is_empty());
        found.extend(responses.iter().map(|response| (response.request.lease, kind(response))));
    }
    found
}

#[test]
fn a_silent_proxy_delays_no_request_by_another_one() {
    let silent = || -> Script {
        Box::new(|mut stream| drop(stream.read(&mut [0; 9000]).and_then(|_| stream.read(&mut [0]))))
    };
    let refuses = || once(b"HTTP/1.1 407 X\r\n\r\n".as_slice());
    let quick = Settings { connect_timeout: Duration::from_millis(400), ..settings() };
    let (one, other) = (Server::start(vec![silent()]), Server::start(vec![refuses()]));
    let all = proxies(&one, ProxyProtocol::Http, true);
    all.set("q", (*proxies(&other, ProxyProtocol::Http, true).get("p").unwrap()).clone());
    let policy = with(all.clone()).policy;
    let told = failures(Settings { proxies: all, policy: policy.clone(), ..quick.clone() }, &["p", "q"]);
    assert_eq!(told, [(2, FailureKind::ProxyFailed), (1, FailureKind::ConnectTimeout)]);
    // One that has waited for a connection that could not be opened fails as that did.
    let server = Server::start(vec![silent(), refuses()]);
    let proxies = proxies(&server, ProxyProtocol::Http, true);
    let told = failures(Settings { proxies, policy, ..quick }, &["p", "p"]);
    assert_eq!(told, [(1, FailureKind::ConnectTimeout), (2, FailureKind::ConnectTimeout)]);
}

#[test]
fn a_proxy_in_a_network_that_is_not_permitted_is_not_asked() {
    let server = Server::once(ok("inside"));
    let proxies = Proxies::default();
    proxies.set("p", (*self::proxies(&server, ProxyProtocol::Http, true).get("p").unwrap()).clone());
    let response = fetch_with(with(proxies), by_proxy("http://site.example/"));
    assert_eq!((kind(&response), server.connections()), (FailureKind::ProxyFailed, 0));
}
