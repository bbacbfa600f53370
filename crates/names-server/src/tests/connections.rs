//! Tests of TCP connections: who gets one, for how long, and questions over them.

use super::*;

/// Connects from an address of this machine.
fn connect(server: &Server, from: [u8; 4]) -> TcpStream {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
    use std::os::fd::AsRawFd as _;
    let SocketAddr::V4(to) = server.listening()[0] else { panic!() };
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
    bind(fd.as_raw_fd(), &SockaddrIn::from(std::net::SocketAddrV4::new(from.into(), 0))).unwrap();
    connect(fd.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
    let stream = TcpStream::from(fd);
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

/// Whether the server answers on a connection.
fn is_served(stream: &mut TcpStream) -> bool {
    stream.write_all(&framed(&question("a.example", Rtype::A))).is_ok() && unframed(stream).is_some()
}

#[test]
fn who_may_not_ask_gets_no_connection() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.allow = vec!["127.0.0.1".parse().unwrap()];
        settings.tcp_connections = 4;
    });
    let mut strangers: Vec<TcpStream> = (0..8).map(|_| connect(&server, [127, 0, 0, 9])).collect();
    for stranger in &mut strangers {
        assert_eq!(stranger.read(&mut [0; 1]).unwrap(), 0, "closed without an answer");
    }
    assert_eq!((count(&server, "tcp_open"), count(&server, "refused_clients")), (0, 8));
    let mut client = connect(&server, [127, 0, 0, 1]);
    assert!(is_served(&mut client));
    // A client that is no longer allowed is disconnected at the next question.
    let settings = lock(&server.settings).clone();
    let policy = Policy { allow: vec!["127.0.0.2".parse().unwrap()], ..settings.policy };
    server.reload(policy, settings.upstream).unwrap();
    assert!(!is_served(&mut client));
}

#[test]
fn who_sends_byte_by_byte_has_no_longer_than_others() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.tcp_idle = Duration::from_millis(400);
    });
    let mut slow = connect(&server, [127, 0, 0, 1]);
    slow.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (start, message) = (Instant::now(), framed(&question("a.example", Rtype::A)));
    let mut is_closed = false;
    for byte in message {
        is_closed = slow.write_all(&[byte]).is_err()
            || match slow.read(&mut [0; 512]) {
                Ok(0) => true,
                Ok(_) => panic!("answered after {:?}", start.elapsed()),
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            };
        if is_closed {
            break;
        }
    }
    assert!(is_closed, "still open after {:?}", start.elapsed());
    assert!(start.elapsed() >= Duration::from_millis(300), "closed after {:?}", start.elapsed());
}

#[test]
fn who_shuts_down_its_side_has_a_connection_until_it_is_answered() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |settings| {
        settings.tcp_connections = 4;
        settings.upstream.timeout = Duration::from_secs(30);
    });
    let mut half_closed: Vec<TcpStream> = (0..20).map(|n| connect(&server, [127, 0, 0, n / 2 + 1])).collect();
    for stream in &mut half_closed {
        let is_sent = stream.write_all(&framed(&question("a.example", Rtype::A)));
        let _ = is_sent.and_then(|()| stream.shutdown(std::net::Shutdown::Write));
    }
    // Those without a connection are closed at once.
    let mut closed = 0;
    for stream in &mut half_closed[4..] {
        closed += u32::from(!matches!(stream.read(&mut [0; 1]), Ok(1)));
    }
    let until = Instant::now() + Duration::from_secs(5);
    while count(&server, "waiting") < 4 {
        assert!(Instant::now() < until, "{} wait", count(&server, "waiting"));
        std::thread::yield_now();
    }
    assert_eq!((closed, count(&server, "tcp_open"), count(&server, "waiting")), (16, 4, 4));
    let other = Upstream::start(Says::Addresses(60)); // held, or it ends before it has answered
    reload_with(&server, other.address);
    for stream in &mut half_closed[..4] {
        assert!(unframed(stream).is_some());
    }
    while count(&server, "tcp_open") > 0 {
        assert!(Instant::now() < until, "connections are not given back");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Replaces the upstream.
fn reload_with(server: &Server, upstream: SocketAddr) {
    let settings = lock(&server.settings).clone();
    let upstream = Settings { servers: vec![upstream.into()], ..settings.upstream };
    server.reload(settings.policy, upstream).unwrap();
}

#[test]
fn one_client_has_half_of_the_connections_at_most() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| settings.tcp_connections = 10);
    let mut greedy: Vec<TcpStream> = (0..10).map(|_| connect(&server, [127, 0, 0, 1])).collect();
    let served = greedy.iter_mut().map(is_served).filter(|is_served| *is_served).count();
    assert_eq!(served, 5);
    let mut other = connect(&server, [127, 0, 0, 2]);
    assert!(is_served(&mut other), "other clients still get connections");
}

#[test]
fn a_name_that_is_asked_for_over_a_connection_shortly_before_it_expires_is_asked_for_anew() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.clock = lycosa_url::Clock::scripted(1_800_000_000_000_000).0;
        settings.policy.min_ttl = 600; // prefetch in the last minute of the TTL
        settings.policy.keep_ttl = Zones::new(["example".into()]);
    });
    let mut client = connect(&server, [127, 0, 0, 1]);
    assert!(is_served(&mut client) && is_served(&mut client));
    let until = Instant::now() + Duration::from_secs(5);
    while upstream.asked("a.example", Rtype::A) < 2 || count(&server, "prefetches") == 0 {
        assert!(Instant::now() < until, "not prefetched");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(count(&server, "prefetches"), 1);
}
