//! A DNS server in a process without free file descriptors. A process of its own, since the limit is per
//! process.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lycosa_names::Settings;
use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names_server::{Server, ServerSettings};
use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};

/// A question for `localhost`, which every server answers itself.
const QUESTION: &[u8] = b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09localhost\x00\x00\x01\x00\x01";

fn start() -> Server {
    let cache = CompactSettings { capacity: 1_000, negative_capacity: Some(0), ..CompactSettings::default() };
    let cache = CompactCache::in_memory(cache, 0, None).unwrap();
    let settings = ServerSettings {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        upstream: Settings {
            servers: vec!["127.0.0.1:9".parse().unwrap()],
            ..ServerSettings::default().upstream
        },
        ..ServerSettings::default()
    };
    Server::start(settings, Arc::new(cache)).unwrap()
}

fn failures(server: &Server) -> u64 {
    server.statistics().into_iter().find(|(name, _)| *name == "accept_failures").unwrap().1
}

/// Takes all descriptors and connects, again and again until the server fails to accept: its own threads give a
/// descriptor back at times, with which it accepts. Returns the last connection.
fn connect_until_accept_fails(server: &Server, taken: &mut Vec<File>) -> TcpStream {
    let mut accepted = Vec::new();
    loop {
        taken.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
        taken.pop();
        let stream = TcpStream::connect(server.listening()[0]).unwrap();
        let connected = Instant::now();
        while connected.elapsed() < Duration::from_secs(1) {
            if failures(server) > 0 {
                return stream;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        accepted.push(stream);
        assert!(accepted.len() < 20, "all connections were accepted without a free descriptor");
    }
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let times = [used.user_time(), used.system_time()];
    times.iter().map(|time| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1_000)).sum()
}

#[test]
fn a_server_without_descriptors_waits_for_some_and_answers_datagrams_meanwhile() {
    let server = start();
    let address = server.listening()[0];
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.connect(address).unwrap();
    datagrams.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 256, 256).unwrap();
    let mut taken = Vec::new();
    let mut stream = connect_until_accept_fails(&server, &mut taken);
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let before = cpu();
    std::thread::sleep(Duration::from_millis(600));
    let used = cpu() - before;
    assert!(used < Duration::from_millis(150), "busy loop: {used:?} of CPU in 600 ms");
    assert!(failures(&server) < 10, "{} times", failures(&server));
    datagrams.send(QUESTION).unwrap();
    assert!(datagrams.recv(&mut [0; 512]).unwrap() > QUESTION.len());
    drop(taken);
    stream.write_all(&[&(QUESTION.len() as u16).to_be_bytes()[..], QUESTION].concat()).unwrap();
    assert!(stream.read(&mut [0; 512]).unwrap() > 0, "accepted once a descriptor is free");
}
