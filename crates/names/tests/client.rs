//! The client with scripted DNS servers on real sockets.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder};
use domain::rdata::{A, Aaaa};
use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Families, Settings};
use lycosa_url::{FailureKind, Resolved};

use support::bind_both;

/// The reaction of a server to a query over UDP: the messages that it sends.
type Script = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>> + Send>;

/// A server on UDP, and on TCP if it returns two addresses.
struct Server {
    address: SocketAddr,
    questions: Arc<AtomicUsize>,
}

impl Server {
    fn start(mut script: Script) -> Server {
        let (tcp, udp) = bind_both();
        let address = tcp.local_addr().unwrap();
        let questions = Arc::new(AtomicUsize::new(0));
        let counter = questions.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((count, client)) = udp.recv_from(&mut buffer) {
                counter.fetch_add(1, Ordering::SeqCst);
                for reply in script(&buffer[..count]) {
                    let _ = udp.send_to(&reply, client);
                }
            }
        });
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let (mut length, mut message) = ([0; 2], vec![0; 2_000]);
                stream.read_exact(&mut length).unwrap();
                message.truncate(u16::from_be_bytes(length).into());
                stream.read_exact(&mut message).unwrap();
                let reply = answer(&message, 2);
                stream.write_all(&u16::try_from(reply.len()).unwrap().to_be_bytes()).unwrap();
                stream.write_all(&reply).unwrap();
            }
        });
        Server { address, questions }
    }

    fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

/// A reply with only a code.
fn code(message: &[u8], rcode: Rcode) -> Vec<u8> {
    MessageBuilder::new_vec().start_answer(Message::from_slice(message).unwrap(), rcode).unwrap().finish()
}

/// A reply with that many addresses of the queried family.
fn answer(message: &[u8], addresses: u8) -> Vec<u8> {
    let query = Message::from_slice(message).unwrap();
    let question = query.sole_question().unwrap();
    let mut reply = MessageBuilder::new_vec().start_answer(query, Rcode::NOERROR).unwrap();
    for last in 1..=addresses {
        let v6 = Aaaa::new(std::net::Ipv6Addr::from(u128::from(last)));
        match question.qtype().to_int() {
            28 => reply.push((question.qname(), 60, v6)).unwrap(),
            _ => reply.push((question.qname(), 60, A::from_octets(192, 0, 2, last))).unwrap(),
        }
    }
    reply.finish()
}

fn settings(servers: &[&Server]) -> Settings {
    Settings {
        servers: servers.iter().map(|server| server.address.into()).collect(),
        timeout: Duration::from_millis(150),
        ..Settings::default()
    }
}

/// Waits until all names are answered.
fn finish(client: &Client) -> Vec<Resolved> {
    let (mut answers, began) = (Vec::new(), Instant::now());
    while client.pending() > 0 {
        client.drain(&mut answers);
        assert!(began.elapsed() < Duration::from_secs(10), "{} names without answer", client.pending());
        std::thread::sleep(Duration::from_millis(1));
    }
    answers
}

fn start(settings: Settings) -> Client {
    let cache = CompactSettings { capacity: 10_000, ..CompactSettings::default() };
    let now = settings.clock.wall() / 1_000_000;
    Client::start(settings, Box::new(CompactCache::in_memory(cache, now, None).unwrap())).unwrap()
}

fn resolve(settings: Settings, names: &[&str]) -> Vec<Resolved> {
    let client = start(settings);
    client.submit(names.iter().map(|name| (*name).into()).collect());
    finish(&client)
}

fn kind(resolved: &Resolved) -> FailureKind {
    resolved.result.as_ref().unwrap_err().kind
}

#[test]
fn many_names_are_resolved() {
    let server = Server::start(Box::new(|message| vec![answer(message, 1)]));
    let client = start(settings(&[&server]));
    for batch in 0..10 {
        client.submit((0..500).map(|n| format!("n{n}.b{batch}.example").into()).collect());
    }
    let answers = finish(&client);
    assert_eq!(answers.len(), 5_000);
    assert!(answers.iter().all(|answer| answer.result.is_ok() && answer.elapsed_us > 0));
    assert!(server.questions() >= 5_000);
    client.submit(vec!["n1.b1.example".into(), "n1.b1.example".into()]);
    assert_eq!(finish(&client).len(), 2); // both from the cache
    assert_eq!(client.statistics().cache_hits, 2);
}

#[test]
fn both_families_are_asked_together() {
    let server = Server::start(Box::new(|message| vec![answer(message, 1)]));
    let answers = resolve(Settings { families: Families::Both, ..settings(&[&server]) }, &["a.example"]);
    let expected: Vec<IpAddr> = vec!["192.0.2.1".parse().unwrap(), "::1".parse().unwrap()];
    assert_eq!(answers[0].result, Ok(expected));
}

#[test]
fn names_in_flight_are_asked_for_once() {
    let server = Server::start(Box::new(|message| {
        std::thread::sleep(Duration::from_millis(50));
        vec![answer(message, 1)]
    }));
    let client = start(settings(&[&server]));
    client.submit(vec!["a.example".into(), "a.example".into()]);
    client.submit(vec!["a.example".into()]);
    assert_eq!(finish(&client).len(), 1);
    assert_eq!((server.questions(), client.statistics().coalesced), (1, 2));
}

#[test]
fn truncated_replies_are_asked_again_over_tcp() {
    let server = Server::start(Box::new(|message| {
        let mut reply = code(message, Rcode::NOERROR);
        reply[2] |= 2;
        vec![reply]
    }));
    let answers = resolve(settings(&[&server]), &["a.example"]);
    assert_eq!(answers[0].result.as_ref().unwrap().len(), 2);
}

#[test]
fn a_server_that_changes_the_case_is_asked_over_tcp() {
    let server = Server::start(Box::new(|message| {
        let reply = answer(message, 1);
        let end = 12 + reply[12..].iter().position(|byte| *byte == 0).unwrap();
        let mut changed = reply.clone();
        changed[12..end].make_ascii_uppercase();
        if changed == reply { vec![] } else { vec![changed] }
    }));
    let answers = resolve(settings(&[&server]), &["long-enough-a-name.example"]);
    assert_eq!(answers[0].result.as_ref().unwrap().len(), 2);
}

#[test]
fn an_old_server_that_answers_edns_with_a_header_alone_is_asked_plainly_at_once() {
    for rcode in [1, 4] {
        let server = Server::start(Box::new(move |message| match message[11] {
            0 => vec![answer(message, 1)],
            _ => vec![[&message[..2], &[0x80, rcode, 0, 0, 0, 0, 0, 0, 0, 0]].concat()],
        }));
        let client = start(settings(&[&server]));
        client.submit(vec!["a.example".into()]);
        assert_eq!(finish(&client)[0].result.as_ref().unwrap().len(), 1);
        let counts = client.statistics();
        assert_eq!((counts.timeouts, counts.mismatched, server.questions()), (0, 0, 2));
    }
}

#[test]
fn a_forged_header_alone_gives_no_answer() {
    let server = Server::start(Box::new(|message| match message[11] {
        0 => vec![answer(message, 1)],
        // Any code; the last one has the effect that the query is repeated in a plainer form.
        _ => [0, 2, 3, 5, 1]
            .map(|rcode| [&message[..2], &[0x80, rcode, 0, 0, 0, 0, 0, 0, 0, 0]].concat())
            .to_vec(),
    }));
    let client = start(settings(&[&server]));
    client.submit(vec!["a.example".into()]);
    assert_eq!(finish(&client)[0].result.as_ref().unwrap().len(), 1);
    assert_eq!(client.statistics().mismatched, 4);
}

#[test]
fn forged_replies_change_nothing() {
    let server = Server::start(Box::new(|message| {
        let mut number = answer(message, 3);
        number[0] ^= 1;
        let mut name = answer(message, 3);
        name[13] ^= 1;
        vec![b"x".to_vec(), number, name, message.to_vec(), answer(message, 1)]
    }));
    let client = start(settings(&[&server]));
    client.submit(vec!["a.example".into()]);
    assert_eq!(finish(&client)[0].result.as_ref().unwrap().len(), 1);
    assert_eq!(client.statistics().mismatched, 4);
}

#[test]
fn failures_have_their_kinds() {
    for (rcode, expected) in [
        (Rcode::NXDOMAIN, FailureKind::NameNotFound),
        (Rcode::NOERROR, FailureKind::NameNoData),
        (Rcode::SERVFAIL, FailureKind::NameServerFailure),
        (Rcode::REFUSED, FailureKind::NameServerFailure),
    ] {
        let server = Server::start(Box::new(move |message| vec![code(message, rcode)]));
        assert_eq!(kind(&resolve(settings(&[&server]), &["a.example"])[0]), expected);
        assert_eq!(server.questions(), 1);
    }
}

#[test]
fn the_second_server_helps_out() {
    let failing = Server::start(Box::new(|message| vec![code(message, Rcode::SERVFAIL)]));
    let silent = Server::start(Box::new(|_| Vec::new()));
    let good = Server::start(Box::new(|message| vec![answer(message, 1)]));
    for servers in [[&failing, &good], [&silent, &good]] {
        assert!(resolve(settings(&servers), &["a.example"])[0].result.is_ok());
    }
    let mut closed = settings(&[&good]);
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    closed.servers.insert(0, nobody.into());
    assert!(resolve(closed, &["a.example"])[0].result.is_ok());
}

#[test]
fn silence_is_a_timeout_within_the_bound() {
    let server = Server::start(Box::new(|_| Vec::new()));
    let began = Instant::now();
    let answers = resolve(settings(&[&server]), &["a.example", "b.example"]);
    assert!(answers.iter().all(|answer| kind(answer) == FailureKind::NameTimeout));
    let elapsed = began.elapsed();
    assert!((1_050..1_400).contains(&elapsed.as_millis()), "150 + 3 × 300 ms, but {elapsed:?}");
    assert_eq!(server.questions(), 8);
}

#[test]
fn nobody_listening_ends_quickly() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = Settings { servers: vec![nobody.into()], ..Settings::default() };
    let began = Instant::now();
    assert_eq!(kind(&resolve(settings, &["a.example"])[0]), FailureKind::NameServerFailure);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[test]
fn servers_are_known_from_the_start() {
    let servers = vec!["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()];
    let known = start(Settings { servers: servers.clone(), ..Settings::default() }).upstreams();
    assert_eq!(
        known.iter().map(|known| &*known.server).collect::<Vec<_>>(),
        servers.iter().collect::<Vec<_>>()
    );
}

#[test]
fn a_client_needs_a_server() {
    let cache = CompactCache::in_memory(CompactSettings::default(), 0, None).unwrap();
    assert!(Client::start(Settings::default(), Box::new(cache)).is_err());
}
