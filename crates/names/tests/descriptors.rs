//! The client with few file descriptors: each test runs in its own process with its own limit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::HashSet;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder};
use domain::rdata::A;
use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Settings};
use lycosa_url::{FailureKind, Resolved};
use nix::cmsg_space;
use nix::libc::in_pktinfo;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, sendmsg, setsockopt, sockopt,
};

/// Runs a test of this file in a process with limits; returns its output.
fn run(test: &str, limits: &str) -> String {
    let output = Command::new("bash")
        .args(["-c", &format!(r#"{limits} && exec "$0" --exact {test} --nocapture"#)])
        .arg(std::env::current_exe().unwrap())
        .env("LYCOSA_LIMITED", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{limits}: {told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

/// Whether this is a process with limits.
fn is_limited() -> bool {
    std::env::var_os("LYCOSA_LIMITED").is_some()
}

/// The addresses at which queries arrived.
type Asked = Arc<Mutex<HashSet<Ipv4Addr>>>;

/// A server at every loopback address on one socket: it answers from the queried address.
fn server() -> (u16, Asked) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    setsockopt(&socket, sockopt::Ipv4PacketInfo, &true).unwrap();
    setsockopt(&socket, sockopt::RcvBuf, &(8 << 20)).unwrap();
    let (port, asked) = (socket.local_addr().unwrap().port(), Asked::default());
    let told = asked.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 2_000];
        loop {
            let mut space = cmsg_space!(in_pktinfo);
            let mut slices = [IoSliceMut::new(&mut buffer)];
            let received =
                recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::empty());
            let received = received.unwrap();
            let (bytes, client) = (received.bytes, received.address.unwrap());
            let info = received.cmsgs().unwrap().find_map(|message| match message {
                ControlMessageOwned::Ipv4PacketInfo(info) => Some(info),
                _ => None,
            });
            let here = info.unwrap().ipi_addr;
            told.lock().unwrap().insert(Ipv4Addr::from(u32::from_be(here.s_addr)));
            let from = in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: here, ipi_addr: here };
            let reply = answer(&buffer[..bytes]);
            let messages = [ControlMessage::Ipv4PacketInfo(&from)];
            let sent = sendmsg(
                socket.as_raw_fd(),
                &[IoSlice::new(&reply)],
                &messages,
                MsgFlags::empty(),
                Some(&client),
            );
            let _ = sent; // the client may have exited
        }
    });
    (port, asked)
}

/// A reply with one address.
fn answer(message: &[u8]) -> Vec<u8> {
    let query = Message::from_slice(message).unwrap();
    let name = query.sole_question().unwrap().into_qname();
    let mut reply = MessageBuilder::new_vec().start_answer(query, Rcode::NOERROR).unwrap();
    reply.push((name, 60, A::from_octets(192, 0, 2, 1))).unwrap();
    reply.finish()
}

fn start(settings: Settings) -> Client {
    Client::start(settings, Box::new(CompactCache::in_memory(CompactSettings::default(), 0, None).unwrap()))
        .unwrap()
}

/// Waits until all names are answered.
fn finish(client: &Client) -> Vec<Resolved> {
    let (mut answers, began) = (Vec::new(), Instant::now());
    while client.pending() > 0 {
        client.wait(Duration::from_millis(20));
        client.drain(&mut answers);
        assert!(began.elapsed() < Duration::from_secs(20), "{} names without answer", client.pending());
    }
    answers
}

/// Resolves names through a thousand servers; on its own, with the limits unchanged.
#[test]
fn a_thousand_resolvers() {
    let (port, asked) = server();
    let loopback = |n: u16| Ipv4Addr::new(127, 0, 1 + (n / 250) as u8, 1 + (n % 250) as u8);
    let servers = (0..1_000).map(|n| SocketAddr::V4(SocketAddrV4::new(loopback(n), port)).into()).collect();
    // Each name has its own server, so that all of them are queried.
    let settings = Settings { servers, spread: true, in_flight: 500, ..Settings::default() };
    let client = start(settings);
    client.submit((0..4_000).map(|n| format!("n{n}.example").into()).collect());
    let answers = finish(&client);
    let failed = answers.iter().find(|answer| answer.result.is_err());
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(answers.len(), 4_000);
    // The ring assigns a server fewer or more names, or none.
    assert!(asked.lock().unwrap().len() > 900);
}

#[test]
fn a_thousand_resolvers_are_asked_with_a_soft_limit_of_1024_descriptors() {
    run("a_thousand_resolvers", "ulimit -Sn 1024");
}

#[test]
fn a_thousand_resolvers_are_asked_where_1024_descriptors_are_all_that_there_may_be() {
    run("a_thousand_resolvers", "ulimit -n 1024");
}

#[test]
fn a_try_waits_where_no_descriptor_is_free_and_the_failure_names_the_limit() {
    if !is_limited() {
        run("a_try_waits_where_no_descriptor_is_free_and_the_failure_names_the_limit", "ulimit -n 64");
        return;
    }
    let (port, _) = server();
    let servers = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()];
    let settings =
        Settings { servers, timeout: Duration::from_millis(100), attempts: 2, ..Settings::default() };
    let client = start(settings);
    let mut taken: Vec<File> = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    client.submit(vec!["never.example".into()]);
    let answers = finish(&client);
    let failure = answers[0].result.as_ref().unwrap_err();
    assert_eq!(failure.kind, FailureKind::NameTimeout, "{failure:?}");
    assert!(failure.detail.contains("this process may have 64 (RLIMIT_NOFILE)"), "{failure:?}");
    let trouble = client.upstreams()[0].trouble.clone().unwrap();
    assert!(trouble.contains("RLIMIT_NOFILE"), "{trouble}");
    client.submit(vec!["later.example".into()]);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(client.pending(), 1, "it waits");
    taken.truncate(10);
    assert!(finish(&client)[0].result.is_ok());
}
