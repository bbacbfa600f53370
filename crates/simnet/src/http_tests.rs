//! Tests of responses, without sockets.

use std::io::Read;

use proptest::prelude::*;

use super::*;
use crate::params::Params;

/// A small site on port 8080.
fn site() -> Site {
    site_of("lan", 60)
}

/// A site of a profile.
pub(super) fn site_of(profile: &str, hosts: u32) -> Site {
    let params = Params { hosts, pages: 40, profile: profile.into(), ..Params::default() };
    let world = World::new(&params);
    let network = Network::new(&world, &params);
    let (ports, idle) = (Ports::new(8080, 8443), Duration::from_secs(1));
    let (troubles, ledger) = (Troubles::default(), Ledger::new(1));
    Site {
        world,
        network,
        ledger,
        ports,
        troubles,
        seed: 1,
        http_port: 80,
        tls: None,
        idle,
        crowded: Notify::new(),
    }
}

/// A connection to a host's address, with TLS if it is on HTTPS.
pub(super) fn door(site: &Site, host: u32) -> Door {
    let server = site.world.is_https(host).then_some(host);
    Door { address: site.world.address(host).into(), server }
}

/// The response to a request at a host's address: head and body.
pub(super) fn ask(site: &Site, host: u32, request: &str) -> (Answer, String, Vec<u8>) {
    let mut out = Vec::new();
    let (_, answer) = respond(site, door(site, host), 0, request.as_bytes(), &mut out).unwrap();
    let end = out[answer.start..].windows(4).position(|w| w == b"\r\n\r\n").unwrap() + answer.start + 4;
    let head = String::from_utf8(out[answer.start..end].to_vec()).unwrap();
    (answer, head, out[end..].to_vec())
}

/// A GET of a path of a host.
pub(super) fn get(site: &Site, host: u32, path: &str, fields: &str) -> (Answer, String, Vec<u8>) {
    ask(site, host, &format!("GET {path} HTTP/1.1\r\nHost: {}:8080\r\n{fields}\r\n", site.world.name(host)))
}

/// The value of a header field.
pub(super) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn every_url_answers_as_the_model_says() {
    let site = site();
    for host in 0..60 {
        for slot in 0..site.world.pages(host) {
            let (answer, head, body) = get(&site, host, &site.world.path(host, slot), "");
            let expected = match site.world.slot(host, slot) {
                Slot::Page => 200,
                Slot::Redirect { permanent, .. } => 302 - u16::from(permanent),
                Slot::Missing => 404,
                Slot::Broken => 500,
            };
            assert_eq!(
                (answer.status, answer.host, answer.page, answer.kind),
                (expected, host, slot, Kind::Page)
            );
            assert_eq!(field(&head, "Content-Length").unwrap(), body.len().to_string());
            assert!(head.starts_with(&format!("HTTP/1.1 {expected} ")) && answer.start > 0);
            assert_eq!(field(&head, "Location").is_some(), expected / 100 == 3);
        }
        let (answer, ..) = get(&site, host, "/robots.txt", "");
        assert_eq!(answer.status, if site.world.robots(host).exists { 200 } else { 404 });
    }
}

#[test]
fn compressed_pages_are_the_same_pages() {
    let site = site();
    let mut compressed = 0;
    for host in 0..60 {
        let (_, head, body) = get(&site, host, "/", "Accept-Encoding: br, gzip;q=0.5\r\n");
        let (_, _, plain) = get(&site, host, "/", "Accept-Encoding: gzip;q=0.0\r\n");
        if field(&head, "Content-Encoding") == Some("gzip") {
            compressed += 1;
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text, plain);
        } else {
            assert_eq!(body, plain);
        }
    }
    assert!((8..30).contains(&compressed), "{compressed}");
}

#[test]
fn hosts_on_https_only_say_where_they_are_without() {
    let world = World::new(&Params { hosts: 60, pages: 40, https: 0.5, ..Params::default() });
    let site = Site { world, ..site() };
    let host = (0..60).find(|&host| site.world.is_https(host)).unwrap();
    let name = site.world.name(host).to_owned();
    let plain = Door { server: None, ..door(&site, host) };
    let mut out = Vec::new();
    let long = format!("/{}", "x".repeat(2_000));
    for (path, status) in [("/", 301), ("/robots.txt", 301), ("/no/such?a=b", 301), (&long, 414)] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n");
        let (_, answer) = respond(&site, plain, 0, request.as_bytes(), &mut out).unwrap();
        assert_eq!((answer.status, answer.kind, answer.host), (status, Kind::Upgrade, host));
        let head = String::from_utf8(answer.bytes(&out).to_vec()).unwrap();
        let location = (status == 301).then(|| format!("https://{name}:8443{path}"));
        assert_eq!(field(&head, "Location"), location.as_deref());
    }
    let (answer, ..) = get(&site, host, "/", "");
    assert_eq!((answer.status, answer.kind), (200, Kind::Page));
    // A handshake for one host is not valid for another, even at the same address.
    let other = Door { server: Some(host + 1), ..plain };
    let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n");
    let (_, answer) = respond(&site, other, 0, request.as_bytes(), &mut out).unwrap();
    assert_eq!((answer.status, answer.kind), (421, Kind::Misdirected));
}

#[test]
fn strangers_are_misdirected() {
    let site = site();
    let other = (1..60).find(|&h| site.world.address(h) != site.world.address(0)).unwrap();
    let name = site.world.name(other);
    for host in [name, "no.such.host", "", "127.0.0.1:8080", &"x".repeat(300)] {
        let (answer, ..) = ask(&site, 0, &format!("GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!((answer.status, answer.kind, answer.host), (421, Kind::Misdirected, NONE), "{host}");
    }
    assert_eq!(site.ledger.records().unwrap().strings[0], format!("{name}/x"));
}

#[test]
fn names_are_compared_as_dns_does() {
    let site = site();
    let name = site.world.name(0).to_uppercase();
    let (answer, ..) = ask(&site, 0, &format!("GET / HTTP/1.1\r\nHost: {name}.:80\r\n\r\n"));
    assert_eq!(answer.status, 200);
    let (answer, ..) = ask(&site, 0, &format!("GET http://{name}/ HTTP/1.1\r\nHost: ignored\r\n\r\n"));
    assert_eq!((answer.status, answer.page), (200, 0));
}

#[test]
fn head_has_no_body_and_never_completes() {
    let site = site();
    let request = format!("HEAD / HTTP/1.1\r\nHost: {}\r\n\r\n", site.world.name(0));
    let (answer, head, body) = ask(&site, 0, &request);
    let (_, same, whole) = get(&site, 0, "/", "");
    assert_eq!((head, body.len(), answer.body, answer.whole), (same, 0, 0, false));
    assert!(!whole.is_empty());
}

#[test]
fn bad_requests_are_refused_and_end_the_connection() {
    let site = site();
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(200));
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(MAX_HEAD));
    for (request, status) in [
        ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("\u{1}\u{2}", 400),
        (&many, 431),
        (&long, 431),
    ] {
        let (answer, head, _) = ask(&site, 0, request);
        assert_eq!((answer.status, answer.close), (status, true));
        assert_eq!(field(&head, "Connection"), Some("close"));
    }
}

#[test]
fn connections_close_when_asked() {
    let site = site();
    let name = site.world.name(0);
    for (version, fields, close) in [
        ("1.1", "", false),
        ("1.1", "Connection: Close\r\n", true),
        ("1.0", "", true),
        ("1.0", "Connection: keep-alive\r\n", false),
        ("1.1", "Content-Length: 5\r\n", true),
    ] {
        let (answer, ..) = ask(&site, 0, &format!("GET / HTTP/{version}\r\nHost: {name}\r\n{fields}\r\n"));
        assert_eq!(answer.close, close, "{version} {fields}");
    }
}

#[test]
fn pipelined_requests_are_taken_one_by_one() {
    let site = site();
    let one = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", site.world.name(0));
    let (used, _) = respond(&site, door(&site, 0), 0, one.repeat(2).as_bytes(), &mut Vec::new()).unwrap();
    assert_eq!(used, one.len());
    for end in 0..one.len() {
        assert!(respond(&site, door(&site, 0), 0, &one.as_bytes()[..end], &mut Vec::new()).is_none());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400), path in "/[ -~]{0,80}") {
        let site = site();
        respond(&site, door(&site, 0), 0, &bytes, &mut Vec::new());
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", site.world.name(0));
        let answered = respond(&site, door(&site, 0), 0, request.as_bytes(), &mut Vec::new());
        prop_assert!(answered.is_some());
    }
}
