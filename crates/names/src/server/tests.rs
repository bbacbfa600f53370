//! Whole servers on loopback, with an upstream that is told what to say.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::{A, Aaaa, Txt};

use super::*;
use crate::cache::compact::CompactSettings;

/// What an upstream says to all, and how often it was asked for each name and type.
#[derive(Clone)]
struct Upstream {
    address: SocketAddr,
    says: Arc<Mutex<Says>>,
    asked: Arc<Mutex<HashMap<(String, u16), u32>>>,
    is_over: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Says {
    Addresses(u32),
    /// A record of so many bytes.
    Text(usize),
    Nothing,
    Code(Rcode),
}

impl Upstream {
    fn start(says: Says) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let upstream = Upstream {
            address: socket.local_addr().unwrap(),
            says: Arc::new(Mutex::new(says)),
            asked: Arc::default(),
            is_over: Arc::default(),
        };
        let it = upstream.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while !it.is_over.load(Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                if let Some(answer) = it.answer(&buffer[..length]) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        upstream
    }

    fn answer(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let message = Message::from_slice(bytes).unwrap();
        let question = message.sole_question().unwrap();
        let name = question.qname().to_string().to_lowercase();
        if name.ends_with(LOOP_ZONE) {
            return None;
        }
        *lock(&self.asked).entry((name, question.qtype().to_int())).or_default() += 1;
        let says = *lock(&self.says);
        let code = match says {
            Says::Nothing => return None,
            Says::Code(code) => code,
            Says::Addresses(_) | Says::Text(_) => Rcode::NOERROR,
        };
        let mut answer = MessageBuilder::new_vec().start_answer(message, code).unwrap();
        answer.header_mut().set_ra(true);
        if let Says::Addresses(ttl) = says {
            let owner = question.qname();
            match question.qtype() {
                Rtype::A => answer.push((owner, ttl, A::from_octets(192, 0, 2, 7))).unwrap(),
                Rtype::AAAA => answer.push((owner, ttl, Aaaa::new("fd00::7".parse().unwrap()))).unwrap(),
                _ => (),
            }
        }
        if let Says::Text(length) = says {
            let text = Txt::<Vec<u8>>::build_from_slice(&vec![b'x'; length]).unwrap();
            answer.push((question.qname(), 60, text)).unwrap();
        }
        Some(answer.into_message().into_octets())
    }

    fn say(&self, says: Says) {
        *lock(&self.says) = says;
    }

    fn asked(&self, name: &str, rtype: Rtype) -> u32 {
        lock(&self.asked).get(&(name.to_owned(), rtype.to_int())).copied().unwrap_or(0)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.is_over.store(Arc::strong_count(&self.is_over) <= 2, Relaxed);
    }
}

fn server_of(upstreams: &[SocketAddr], change: impl FnOnce(&mut ServerSettings)) -> Server {
    let compact = CompactSettings {
        capacity: 1_000,
        negative_capacity: Some(0),
        min_ttl: 60,
        ..CompactSettings::default()
    };
    let mut settings =
        ServerSettings { listen: vec!["127.0.0.1:0".parse().unwrap()], ..ServerSettings::default() };
    settings.upstream.servers = upstreams.iter().copied().map(Into::into).collect();
    settings.upstream.timeout = Duration::from_millis(300);
    settings.upstream.attempts = 2;
    change(&mut settings);
    let now = settings.upstream.clock.now() / 1_000_000;
    Server::start(settings, Arc::new(CompactCache::in_memory(compact, now, None).unwrap())).unwrap()
}

fn question(name: &str, rtype: Rtype) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(77);
    builder.header_mut().set_rd(true);
    let mut builder = builder.question();
    builder.push((name.parse::<Name<Vec<u8>>>().unwrap(), rtype)).unwrap();
    builder.into_message().into_octets()
}

fn client_of(server: &Server, from: &str) -> UdpSocket {
    let socket = UdpSocket::bind((from.parse::<IpAddr>().unwrap(), 0)).unwrap();
    socket.connect(server.listening()[0]).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// A message as it goes over a connection.
fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

/// The next message of a connection, until its end.
fn unframed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

fn receive(socket: &UdpSocket) -> Option<Message<Vec<u8>>> {
    let mut buffer = vec![0; 2_000];
    let length = socket.recv(&mut buffer).ok()?;
    buffer.truncate(length);
    Some(Message::from_octets(buffer).unwrap())
}

fn ask_one(server: &Server, name: &str, rtype: Rtype) -> Message<Vec<u8>> {
    let socket = client_of(server, "127.0.0.1");
    socket.send(&question(name, rtype)).unwrap();
    receive(&socket).unwrap()
}

fn count(server: &Server, name: &str) -> u64 {
    server.statistics().into_iter().find(|(known, _)| *known == name).unwrap().1
}

fn code(message: &Message<Vec<u8>>) -> Rcode {
    message.header().rcode()
}

fn ttl(message: &Message<Vec<u8>>) -> u32 {
    message.answer().unwrap().next().unwrap().unwrap().ttl().as_secs()
}

#[test]
fn a_name_is_asked_for_once_and_then_known() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |_| ());
    let sockets: Vec<UdpSocket> = (0..20).map(|_| client_of(&server, "127.0.0.1")).collect();
    for socket in &sockets {
        socket.send(&question("wWw.example", Rtype::A)).unwrap();
    }
    for socket in &sockets {
        let answer = receive(socket).unwrap();
        assert_eq!((code(&answer), answer.header_counts().ancount()), (Rcode::NOERROR, 1));
        assert_eq!(answer.sole_question().unwrap().qname().to_string(), "wWw.example");
    }
    assert_eq!(upstream.asked("www.example", Rtype::A), 1, "however many ask");
    assert_eq!(ask_one(&server, "www.example", Rtype::AAAA).header_counts().ancount(), 1);
    assert_eq!(ask_one(&server, "www.example", Rtype::A).header_counts().ancount(), 1);
    assert_eq!((upstream.asked("www.example", Rtype::A), upstream.asked("www.example", Rtype::AAAA)), (1, 1));
    assert_eq!(count(&server, "answers_noerror"), 22);
}

#[test]
fn short_ttls_are_lengthened_long_ones_shortened() {
    let upstream = Upstream::start(Says::Addresses(5));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.min_ttl = 600;
        settings.policy.max_ttl = 1_200;
    });
    assert_eq!(ttl(&ask_one(&server, "short.example", Rtype::A)), 600);
    upstream.say(Says::Addresses(90_000));
    assert_eq!(ttl(&ask_one(&server, "long.example", Rtype::A)), 1_200);
    assert!((590..=659).contains(&ttl(&ask_one(&server, "short.example", Rtype::A))));
}

#[test]
fn a_failure_is_asked_for_once_and_silence_has_an_end() {
    let upstream = Upstream::start(Says::Code(Rcode::SERVFAIL));
    let server = server_of(&[upstream.address], |_| ());
    for _ in 0..5 {
        assert_eq!(code(&ask_one(&server, "bad.example", Rtype::A)), Rcode::SERVFAIL);
    }
    assert_eq!(upstream.asked("bad.example", Rtype::A), 1, "RFC 9520");
    upstream.say(Says::Nothing);
    assert_eq!(code(&ask_one(&server, "silent.example", Rtype::A)), Rcode::SERVFAIL);
    assert!(upstream.asked("silent.example", Rtype::A) <= 2);
    upstream.say(Says::Code(Rcode::NXDOMAIN));
    let gone = ask_one(&server, "gone.example", Rtype::A);
    assert_eq!((code(&gone), gone.header_counts().nscount()), (Rcode::NXDOMAIN, 1));
    assert_eq!(code(&ask_one(&server, "gone.example", Rtype::AAAA)), Rcode::NXDOMAIN);
    assert_eq!(
        upstream.asked("gone.example", Rtype::AAAA),
        0,
        "a name that does not exist has no IPv6 either"
    );
}

#[test]
fn a_lower_server_waits_for_the_upper_one_that_a_name_is_spread_to() {
    let (one, other) = (Upstream::start(Says::Nothing), Upstream::start(Says::Nothing));
    let server = server_of(&[one.address, other.address], |settings| {
        settings.upstream.spread = true;
        settings.upstream.attempts = 3;
    });
    let asked = |name: &str| [&one, &other].map(|upstream| upstream.asked(name, Rtype::A));
    assert_eq!(code(&ask_one(&server, "dead.example", Rtype::A)), Rcode::SERVFAIL);
    let mut silent = asked("dead.example");
    silent.sort_unstable();
    assert_eq!(silent, [1, 2], "its own twice, and the other one before it is given up");
    for upstream in [&one, &other] {
        upstream.say(Says::Code(Rcode::SERVFAIL));
    }
    for n in 0..20 {
        let name = format!("n{n}.example");
        assert_eq!(code(&ask_one(&server, &name, Rtype::A)), Rcode::SERVFAIL);
        assert_eq!(asked(&name).iter().sum::<u32>(), 1, "who has asked others is believed");
    }
}

#[test]
fn other_types_are_passed_through_and_any_is_not() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |_| ());
    for _ in 0..2 {
        assert_eq!(code(&ask_one(&server, "a.example", Rtype::MX)), Rcode::NOERROR);
    }
    assert_eq!(upstream.asked("a.example", Rtype::MX), 2);
    let any = ask_one(&server, "a.example", Rtype::ANY);
    assert_eq!(any.answer().unwrap().next().unwrap().unwrap().rtype(), Rtype::HINFO);
    assert_eq!(upstream.asked("a.example", Rtype::ANY), 0);
    assert_eq!(code(&ask_one(&server, "a.example", Rtype::AXFR)), Rcode::NOTIMP);
    upstream.say(Says::Nothing);
    assert_eq!(code(&ask_one(&server, "b.example", Rtype::MX)), Rcode::SERVFAIL);
}

#[test]
fn connections_take_many_questions_at_once() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |_| ());
    let mut stream = TcpStream::connect(server.listening()[0]).unwrap();
    let mut names: Vec<String> = (0..50).map(|n| format!("n{n}.example")).collect();
    let questions = names.iter().map(|name| framed(&question(name, Rtype::A)));
    stream.write_all(&questions.collect::<Vec<_>>().concat()).unwrap();
    let mut told: Vec<String> = Vec::new();
    for _ in &names {
        let answer = Message::from_octets(unframed(&mut stream).unwrap()).unwrap();
        assert_eq!(answer.header_counts().ancount(), 1);
        told.push(answer.sole_question().unwrap().qname().to_string());
    }
    told.sort();
    names.sort();
    assert_eq!(told, names);
}

#[test]
fn what_came_over_tcp_is_passed_over_tcp_also_to_who_closes_after_each_answer() {
    const LONG: usize = 3_000;
    let upstream = Upstream::start(Says::Text(LONG));
    let listener = TcpListener::bind(upstream.address).unwrap();
    let (it, connections) = (upstream.clone(), Arc::new(AtomicU64::new(0)));
    let counted = connections.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Relaxed);
            if let Some(asked) = unframed(&mut stream) {
                let answer = it.answer(&asked).unwrap_or_default();
                stream.write_all(&framed(&answer)).unwrap();
            }
        }
    });
    let server = server_of(&[upstream.address], |settings| settings.upstream.attempts = 3);
    let mut client = TcpStream::connect(server.listening()[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let names: Vec<String> = (0..5).map(|n| format!("n{n}.example")).collect();
    let questions = names.iter().map(|name| framed(&question(name, Rtype::TXT)));
    client.write_all(&questions.collect::<Vec<_>>().concat()).unwrap();
    for _ in &names {
        let answer = Message::from_octets(unframed(&mut client).unwrap()).unwrap();
        assert_eq!((code(&answer), answer.header().id()), (Rcode::NOERROR, 77));
        assert!(!answer.header().tc() && answer.as_slice().len() > LONG, "{} bytes", answer.as_slice().len());
    }
    assert!(connections.load(Relaxed) >= 5, "one for each");
    assert_eq!(count(&server, "waiting"), 0);
}

#[test]
fn who_may_not_ask_is_refused_and_who_asks_too_much_is_limited() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.allow = vec!["127.0.0.1".parse().unwrap()];
        settings.policy.rate = Some(10.0);
    });
    let stranger = client_of(&server, "127.0.0.9");
    stranger.send(&question("a.example", Rtype::A)).unwrap();
    assert_eq!(code(&receive(&stranger).unwrap()), Rcode::REFUSED);
    assert_eq!((count(&server, "refused_clients"), upstream.asked("a.example", Rtype::A)), (1, 0));
    let client = client_of(&server, "127.0.0.1");
    client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    for _ in 0..30 {
        client.send(&question("a.example", Rtype::A)).unwrap();
    }
    let answers: Vec<_> = std::iter::from_fn(|| receive(&client)).collect();
    let (cut, whole): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.header().tc());
    assert!((10..=14).contains(&whole.len()), "{} whole answers", whole.len());
    assert!((8..=10).contains(&cut.len()), "{} that send the client to TCP", cut.len());
}

#[test]
fn old_answers_are_given_where_nobody_can_tell_newer_ones() {
    let upstream = Upstream::start(Says::Addresses(60));
    // A second is two minutes.
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.speed = 120.0;
        settings.policy.min_ttl = 60;
        settings.policy.prefetch = false;
    });
    assert_eq!(ask_one(&server, "a.example", Rtype::A).header_counts().ancount(), 1);
    upstream.say(Says::Code(Rcode::SERVFAIL));
    std::thread::sleep(Duration::from_millis(1_050)); // two minutes and a little: it is held for less than two
    let old = ask_one(&server, "a.example", Rtype::A);
    assert_eq!((code(&old), old.header_counts().ancount()), (Rcode::NOERROR, 1));
    assert!(ttl(&old) <= 90 && count(&server, "stale") == 1);
    upstream.say(Says::Nothing);
    std::thread::sleep(Duration::from_millis(1_000));
    let old = ask_one(&server, "a.example", Rtype::A);
    assert_eq!(old.header_counts().ancount(), 1, "silence is failure too");
}

#[test]
fn private_addresses_are_taken_out_where_that_is_wanted() {
    let upstream = Upstream::start(Says::Addresses(600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.filter_private = true;
        settings.policy.private_names = Zones::new(["home.example".into()]);
    });
    for _ in 0..2 {
        // 192.0.2.7 is for documentation, fd00::7 is private: neither is the public Internet's.
        assert_eq!(ask_one(&server, "evil.example", Rtype::AAAA).header_counts().ancount(), 0);
        assert_eq!(ask_one(&server, "nas.home.example", Rtype::AAAA).header_counts().ancount(), 1);
    }
    assert_eq!(count(&server, "private_filtered"), 2);
}

#[test]
fn a_full_cache_answers_all_the_same() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |_| ());
    let client = client_of(&server, "127.0.0.1");
    for batch in 0..40 {
        for n in 0..100 {
            client.send(&question(&format!("n{n}.b{batch}.example"), Rtype::A)).unwrap();
        }
        for _ in 0..100 {
            assert_eq!(receive(&client).unwrap().header_counts().ancount(), 1);
        }
    }
    assert!(count(&server, "cache_used") < 2_000, "room for 1,000, 4,000 asked for");
}

#[test]
fn a_client_that_may_be_forged_gets_no_flood() {
    let upstream = Upstream::start(Says::Text(600));
    let server = server_of(&[upstream.address], |_| ());
    let cut = ask_one(&server, "big.example", Rtype::TXT);
    assert!(cut.header().tc() && cut.as_slice().len() < 100, "a long answer to a short question");
    upstream.say(Says::Text(100));
    let whole = ask_one(&server, "big.example", Rtype::TXT);
    assert!(!whole.header().tc() && whole.as_slice().len() > 100);
}

#[test]
fn another_upstream_takes_over_at_a_reload() {
    let (first, second) = (Upstream::start(Says::Nothing), Upstream::start(Says::Addresses(600)));
    let server = server_of(&[first.address], |_| ());
    let waiting = client_of(&server, "127.0.0.1");
    waiting.send(&question("early.example", Rtype::A)).unwrap();
    while count(&server, "waiting") == 0 {
        std::thread::yield_now();
    }
    let settings = lock(&server.settings).clone();
    let upstream = Settings { servers: vec![second.address.into()], ..settings.upstream.clone() };
    // Nobody, and one whose certificate nothing could vouch for.
    for servers in [Vec::new(), vec!["tls://127.0.0.1#dns.example".parse().unwrap()]] {
        let ca_file = Some("/nowhere/ca.pem".into());
        let upstream = Settings { servers, ca_file, ..settings.upstream.clone() };
        assert!(server.reload(settings.policy.clone(), upstream).is_err());
    }
    server.reload(settings.policy, upstream).unwrap();
    assert_eq!(ask_one(&server, "a.example", Rtype::A).header_counts().ancount(), 1);
    assert_eq!(
        code(&receive(&waiting).unwrap()),
        Rcode::SERVFAIL,
        "what was under way ends with whom it was asked of"
    );
    assert_eq!(server.upstreams()[0].server.address, second.address);
}

#[test]
fn draining_answers_what_is_under_way_and_takes_no_more() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |_| ());
    let client = client_of(&server, "127.0.0.1");
    client.send(&question("slow.example", Rtype::A)).unwrap();
    while count(&server, "waiting") == 0 {
        std::thread::yield_now();
    }
    assert!(server.drain(Duration::from_secs(5)));
    assert_eq!(code(&receive(&client).unwrap()), Rcode::SERVFAIL);
}

#[test]
fn a_server_that_asks_itself_finds_out() {
    let upstream = Upstream::start(Says::Addresses(60));
    let one = server_of(&[upstream.address], |_| ());
    let other = server_of(&[one.listening()[0]], |_| ());
    assert_eq!(ask_one(&other, "a.example", Rtype::A).header_counts().ancount(), 1);
    let settings = lock(&one.settings).clone();
    let round = Settings { servers: vec![other.listening()[0].into()], ..settings.upstream };
    one.reload(settings.policy, round).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while count(&one, "loop") == 0 {
        assert!(Instant::now() < until, "no loop seen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn all_addresses_of_both_families_can_be_listened_on() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server =
        server_of(&[upstream.address], |settings| settings.listen = vec!["0.0.0.0:0".parse().unwrap()]);
    let port = server.listening()[0].port();
    let six = SocketAddr::new(std::net::Ipv6Addr::UNSPECIFIED.into(), port);
    let _other = server_of(&[upstream.address], |settings| settings.listen = vec![six]);
}

#[test]
fn a_port_in_use_is_told_with_its_address() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |_| ());
    let taken = server.listening()[0];
    let settings = ServerSettings {
        listen: vec![taken],
        upstream: Settings { servers: vec![upstream.address.into()], ..Settings::default() },
        ..ServerSettings::default()
    };
    let cache =
        CompactCache::in_memory(CompactSettings { capacity: 1_000, ..CompactSettings::default() }, 0, None);
    let error = Server::start(settings, Arc::new(cache.unwrap())).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&taken.to_string()), "{error}");
}
