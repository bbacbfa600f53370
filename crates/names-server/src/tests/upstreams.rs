//! Tests of questions to upstreams and the use of their answers.

use lycosa_names::ZoneTable;

use super::*;

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
    assert_eq!(upstream.asked("www.example", Rtype::A), 1, "however many clients ask");
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
fn dead_names_are_no_silence_of_upstreams() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |_| ());
    let is_resting = || server.upstreams()[0].is_resting;
    for n in 0..3 {
        assert_eq!(code(&ask_one(&server, &format!("dead.n{n}.example"), Rtype::A)), Rcode::SERVFAIL);
    }
    assert!(is_resting(), "it has been silent");
    std::thread::sleep(Duration::from_millis(400)); // longer than an attempt
    assert_eq!(count(&server, "silent"), 0, "but it answers the probe");
    upstream.say(Says::Nothing);
    let until = Instant::now() + Duration::from_secs(10);
    for n in 3..6 {
        assert_eq!(code(&ask_one(&server, &format!("n{n}.example"), Rtype::A)), Rcode::SERVFAIL);
    }
    while count(&server, "silent") == 0 {
        assert!(Instant::now() < until, "never silent");
        std::thread::sleep(Duration::from_millis(20));
    }
    upstream.say(Says::Addresses(60));
    while count(&server, "silent") == 1 {
        assert!(Instant::now() < until, "silent for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
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
    assert_eq!(silent, [1, 2], "its own upstream twice, and the other one before the lookup fails");
    for upstream in [&one, &other] {
        upstream.say(Says::Code(Rcode::SERVFAIL));
    }
    for n in 0..20 {
        let name = format!("n{n}.example");
        assert_eq!(code(&ask_one(&server, &name, Rtype::A)), Rcode::SERVFAIL);
        assert_eq!(asked(&name).iter().sum::<u32>(), 1, "the first SERVFAIL is final");
    }
}

#[test]
fn upstreams_that_rotate_have_as_many_questions_each() {
    let upstreams = [(); 3].map(|()| Upstream::start(Says::Addresses(60)));
    let addresses = upstreams.each_ref().map(|upstream| upstream.address);
    let server = server_of(&addresses, |settings| settings.upstream.rotate = true);
    let counts = || upstreams.each_ref().map(|upstream| lock(&upstream.asked).len());
    for n in 0..30 {
        assert_eq!(code(&ask_one(&server, &format!("n{n}.example"), Rtype::A)), Rcode::NOERROR);
    }
    assert!(counts().iter().all(|count| (9..=12).contains(count)), "{:?}", counts());
}

#[test]
fn other_types_are_passed_through_and_any_is_not() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |_| ());
    for _ in 0..2 {
        assert_eq!(code(&ask_one(&server, "a.example", Rtype::MX)), Rcode::NOERROR);
    }
    assert_eq!(upstream.asked("a.example", Rtype::MX), 1, "NODATA without an SOA is known for 5 s");
    let any = ask_one(&server, "a.example", Rtype::ANY);
    assert_eq!(any.answer().unwrap().next().unwrap().unwrap().rtype(), Rtype::HINFO);
    assert_eq!(upstream.asked("a.example", Rtype::ANY), 0);
    assert_eq!(code(&ask_one(&server, "a.example", Rtype::AXFR)), Rcode::NOTIMP);
    upstream.say(Says::Nothing);
    assert_eq!(code(&ask_one(&server, "b.example", Rtype::MX)), Rcode::SERVFAIL);
}

#[test]
fn what_was_passed_through_is_known_for_its_time() {
    let upstream = Upstream::start(Says::Text(20)); // TTL of a minute
    // A real second is half a simulated minute.
    let server = server_of(&[upstream.address], |settings| settings.upstream.speed = 30.0);
    let before = ttl(&ask_one(&server, "a.example", Rtype::TXT));
    std::thread::sleep(Duration::from_millis(500));
    let after = ttl(&ask_one(&server, "A.Example", Rtype::TXT));
    assert!(before == 60 && (30..=50).contains(&after), "{after} s are left");
    assert_eq!((upstream.asked("a.example", Rtype::TXT), count(&server, "packet_hits")), (1, 1));
    // CD is part of the key.
    let mut unchecked = question("a.example", Rtype::TXT);
    unchecked[3] |= 0x10;
    ask_bytes(&server, &unchecked);
    assert_eq!(upstream.asked("a.example", Rtype::TXT), 2);
    std::thread::sleep(Duration::from_millis(1_700));
    assert_eq!(ttl(&ask_one(&server, "a.example", Rtype::TXT)), 60);
    assert_eq!(upstream.asked("a.example", Rtype::TXT), 3);
    // A failure is cached.
    upstream.say(Says::Nothing);
    for _ in 0..3 {
        assert_eq!(code(&ask_one(&server, "dead.example", Rtype::TXT)), Rcode::SERVFAIL);
    }
    assert_eq!(upstream.asked("dead.example", Rtype::TXT), 2, "two attempts");
}

#[test]
fn what_came_over_tcp_is_passed_over_tcp_also_to_who_closes_after_each_answer() {
    const LONG: usize = 3_000;
    let (upstream, connections) = Upstream::start_with_tcp(Says::Text(LONG));
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
fn old_answers_are_given_where_nobody_can_tell_newer_ones() {
    let upstream = Upstream::start(Says::Addresses(60));
    // A real second is two simulated minutes.
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.speed = 120.0;
        settings.policy.min_ttl = 60;
        settings.policy.prefetch = false;
    });
    assert_eq!(ask_one(&server, "a.example", Rtype::A).header_counts().ancount(), 1);
    upstream.say(Says::Code(Rcode::SERVFAIL));
    std::thread::sleep(Duration::from_millis(1_050)); // just over two minutes: longer than it is cached
    let old = ask_one(&server, "a.example", Rtype::A);
    assert_eq!((code(&old), old.header_counts().ancount()), (Rcode::NOERROR, 1));
    assert!(ttl(&old) == 30 && count(&server, "stale") == 1, "RFC 8767 section 4");
    upstream.say(Says::Nothing);
    std::thread::sleep(Duration::from_millis(1_000));
    let old = ask_one(&server, "a.example", Rtype::A);
    assert_eq!(old.header_counts().ancount(), 1, "a time-out is a failure, too");
}

#[test]
fn an_old_answer_ends_with_its_time_however_often_it_is_given() {
    let upstream = Upstream::start(Says::Addresses(60));
    // A real second is ten simulated minutes; the answer is valid for one and stale for twenty.
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.speed = 600.0;
        settings.policy = Policy { min_ttl: 60, stale: 1_200, prefetch: false, ..Policy::default() };
    });
    for rtype in [Rtype::A, Rtype::AAAA] {
        assert_eq!(ask_one(&server, "a.example", rtype).header_counts().ancount(), 1);
    }
    upstream.say(Says::Code(Rcode::SERVFAIL));
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    let mut given = 0;
    while began.elapsed() < Duration::from_millis(1_700) {
        let old = ask_one(&server, "a.example", Rtype::A);
        assert_eq!((old.header_counts().ancount(), ttl(&old)), (1, 30), "{:?}", began.elapsed());
        given += 1;
        assert_eq!(count(&server, "stale"), given);
        std::thread::sleep(Duration::from_millis(100));
    }
    let other = ask_one(&server, "a.example", Rtype::AAAA);
    assert_eq!(other.header_counts().ancount(), 1, "A questions did not shorten the AAAA entry");
    std::thread::sleep(Duration::from_millis(2_600).saturating_sub(began.elapsed()));
    assert_eq!(code(&ask_one(&server, "a.example", Rtype::A)), Rcode::SERVFAIL, "too old to serve");
}

#[test]
fn a_family_that_fails_is_not_asked_for_again_at_once_though_the_other_one_is_known() {
    let upstream = Upstream::start(Says::Addresses(600));
    let server = server_of(&[upstream.address], |_| ());
    assert_eq!(ask_one(&server, "a.example", Rtype::A).header_counts().ancount(), 1);
    upstream.say(Says::Code(Rcode::SERVFAIL));
    for _ in 0..20 {
        assert_eq!(code(&ask_one(&server, "a.example", Rtype::AAAA)), Rcode::SERVFAIL);
    }
    assert_eq!(upstream.asked("a.example", Rtype::AAAA), 1, "RFC 9520");
    assert_eq!(ask_one(&server, "a.example", Rtype::A).header_counts().ancount(), 1);
}

#[test]
fn what_one_upstream_refuses_another_one_is_asked_for() {
    let (one, other) = (Upstream::start(Says::Code(Rcode::REFUSED)), Upstream::start(Says::Text(20)));
    let server = server_of(&[one.address, other.address], |settings| settings.upstream.attempts = 3);
    for number in 0..20 {
        let answer = ask_one(&server, &format!("n{number}.example"), Rtype::TXT);
        assert_eq!((code(&answer), answer.header_counts().ancount()), (Rcode::NOERROR, 1), "{number}");
    }
    // If all upstreams return errors, the client gets an error: each was asked once.
    other.say(Says::Code(Rcode::SERVFAIL));
    let answer = ask_one(&server, "dead-end.example", Rtype::TXT);
    assert!(matches!(code(&answer), Rcode::SERVFAIL | Rcode::REFUSED));
    let asked = [&one, &other].map(|upstream| upstream.asked("dead-end.example", Rtype::TXT));
    assert_eq!(asked, [1, 1]);
}

#[test]
fn a_zone_below_local_is_asked_for_where_it_is_listed_as_private() {
    let upstream = Upstream::start(Says::Addresses(600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.private_names = Zones::new(["cluster.local".into()]);
    });
    let ask = |name: &str| ask_one(&server, name, Rtype::A).header_counts().ancount();
    assert_eq!(["api.default.svc.cluster.local", "printer.local"].map(ask), [1, 0]);
}

#[test]
fn another_upstream_takes_over_at_a_reload() {
    let (_first, server, waiting) = waiting_for_silence("early.example");
    let second = Upstream::start(Says::Addresses(600));
    let settings = lock(&server.settings).clone();
    let upstream = Settings { servers: vec![second.address.into()], ..settings.upstream.clone() };
    // No upstream, and one whose certificate cannot be verified.
    for servers in [Vec::new(), vec!["tls://127.0.0.1#dns.example".parse().unwrap()]] {
        let ca_file = Some("/nowhere/ca.pem".into());
        let upstream = Settings { servers, ca_file, ..settings.upstream.clone() };
        assert!(server.reload(settings.policy.clone(), upstream).is_err());
    }
    server.reload(settings.policy, upstream).unwrap();
    assert_eq!(ask_one(&server, "a.example", Rtype::A).header_counts().ancount(), 1);
    let early = receive(&waiting).unwrap();
    assert_eq!(
        (code(&early), early.header_counts().ancount()),
        (Rcode::NOERROR, 1),
        "the new one is asked for it, too"
    );
    assert_eq!(server.upstreams()[0].server.address, second.address);
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
fn the_same_question_is_passed_once_and_another_type_is_another_question() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |settings| settings.upstream.attempts = 1);
    // The numbers of the last two types differ only by the case bit of an ASCII letter.
    let asked = [("a.example", Rtype::MX), ("A.Example", Rtype::MX), ("a.example", Rtype::HTTPS)];
    let asked = asked.into_iter().chain([("a.example", Rtype::from_int(97))]);
    let clients: Vec<UdpSocket> = asked
        .map(|(name, rtype)| {
            let client = client_of(&server, "127.0.0.1");
            client.send(&question(name, rtype)).unwrap();
            client
        })
        .collect();
    for client in &clients {
        assert_eq!(code(&receive(client).unwrap()), Rcode::SERVFAIL);
    }
    let times =
        [Rtype::MX, Rtype::HTTPS, Rtype::from_int(97)].map(|rtype| upstream.asked("a.example", rtype));
    assert_eq!(times, [1, 1, 1]);
}

#[test]
fn nobody_is_asked_for_names_that_are_not_in_the_dns() {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |_| ());
    for rtype in [Rtype::A, Rtype::AAAA, Rtype::MX] {
        for name in
            ["a.invalid", "Printer.Local", "local", "a.onion", "xn--a.onion", "a.b.alt", "\\255.onion"]
        {
            let answer = ask_one(&server, name, rtype);
            let told = (code(&answer), answer.header_counts().nscount());
            assert_eq!(told, (Rcode::NXDOMAIN, 1), "{name} {rtype}");
        }
        assert_eq!(code(&ask_one(&server, "a.localhost", rtype)), Rcode::NOERROR);
    }
    let v4 = ask_one(&server, "localhost", Rtype::A);
    let found = v4.answer().unwrap().limit_to::<A>().next().unwrap().unwrap();
    assert_eq!(found.data().addr(), std::net::Ipv4Addr::LOCALHOST);
    let mx = ask_one(&server, "localhost", Rtype::MX);
    assert_eq!((mx.header_counts().ancount(), mx.header_counts().nscount()), (0, 1));
    assert_eq!(code(&ask_one(&server, "a.onion.example", Rtype::A)), Rcode::NOERROR);
    // The probe of another server is answered by the upstreams.
    let probe = format!("0123.{LOOP_ZONE}");
    assert_eq!(code(&ask_one(&server, &probe, Rtype::TXT)), Rcode::NXDOMAIN);
    let asked = lock(&upstream.asked);
    let others: Vec<_> =
        asked.iter().filter(|(name, _)| *name != probe && !name.starts_with(&server.state.token)).collect();
    assert_eq!(others, [&("a.onion.example".to_owned(), 1)], "and that name is forwarded");
    assert!(asked.iter().any(|(name, _)| *name == probe));
}

/// The same question with EDNS.
fn with_edns(mut question: Vec<u8>) -> Vec<u8> {
    question[11] += 1;
    question.extend_from_slice(&[0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]);
    question
}

/// The code of the first extended error of an answer.
fn extended_error(answer: &Message<Vec<u8>>) -> Option<u16> {
    let opt = answer.opt()?;
    let first = opt.opt().iter::<domain::base::opt::ExtendedError<_>>().next()?;
    Some(first.unwrap().code().to_int())
}

#[test]
fn records_outlive_their_ttl_while_upstreams_fail() {
    let upstream = Upstream::start(Says::Text(20)); // TTL of a minute
    // A real second is ten simulated minutes: an answer is valid for a tenth of a second and stale for two.
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.speed = 600.0;
        settings.policy = Policy { stale: 1_200, ..Policy::default() };
    });
    let asked = with_edns(question("a.example", Rtype::TXT));
    let fresh = ask_bytes(&server, &asked);
    assert!((1..=60).contains(&ttl(&fresh)) && extended_error(&fresh).is_none());
    upstream.say(Says::Code(Rcode::SERVFAIL));
    std::thread::sleep(Duration::from_millis(300));
    let old = ask_bytes(&server, &asked);
    assert_eq!((code(&old), old.header_counts().ancount(), ttl(&old)), (Rcode::NOERROR, 1, 30));
    assert_eq!((extended_error(&old), count(&server, "stale")), (Some(3), 1), "RFC 8914: stale answer");
    std::thread::sleep(Duration::from_millis(2_100));
    assert_eq!(code(&ask_bytes(&server, &asked)), Rcode::SERVFAIL, "too old to serve");
}

#[test]
fn who_is_impatient_gets_old_records() {
    let upstream = Upstream::start(Says::Text(20));
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.speed = 600.0;
        settings.upstream.timeout = Duration::from_secs(4);
        settings.policy = Policy { stale: 86_400, ..Policy::default() };
    });
    ask_one(&server, "a.example", Rtype::TXT);
    upstream.say(Says::Nothing);
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    assert_eq!(ttl(&ask_one(&server, "a.example", Rtype::TXT)), 30);
    let waited = begun.elapsed();
    assert!(
        (Duration::from_millis(1_700)..Duration::from_secs(4)).contains(&waited),
        "{waited:?}: RFC 8767 section 5"
    );
}

#[test]
fn why_an_upstream_fails_is_passed_on() {
    /// SERVFAIL because of bogus signatures.
    fn bogus(message: &Message<[u8]>) -> Vec<u8> {
        let answer = MessageBuilder::new_vec().start_answer(message, Rcode::SERVFAIL).unwrap();
        let mut answer = answer.additional();
        answer.opt(|opt| opt.push(&domain::base::opt::ExtendedError::<Vec<u8>>::from(6_u16))).unwrap();
        answer.finish()
    }
    let upstream = Upstream::start(Says::Built(bogus));
    let server = server_of(&[upstream.address], |_| ());
    for _ in 0..2 {
        let answer = ask_bytes(&server, &with_edns(question("a.example", Rtype::MX)));
        assert_eq!((code(&answer), extended_error(&answer)), (Rcode::SERVFAIL, Some(6)), "cached, too");
    }
    assert_eq!(upstream.asked("a.example", Rtype::MX), 1);
    assert!(ask_one(&server, "a.example", Rtype::MX).opt().is_none(), "not without EDNS");
}

#[test]
fn zones_have_upstreams_of_their_own_for_all_types() {
    let (outside, inside) = (Upstream::start(Says::Addresses(60)), Upstream::start(Says::Text(20)));
    let server = server_of(&[outside.address], |settings| {
        settings.upstream.zones = ZoneTable::new([("corp.example", vec![inside.address.into()])]).unwrap();
    });
    assert_eq!(ask_one(&server, "www.corp.example", Rtype::TXT).header_counts().ancount(), 1);
    ask_one(&server, "www.corp.example", Rtype::A);
    ask_one(&server, "www.example", Rtype::TXT);
    let asked = |upstream: &Upstream, name| [Rtype::A, Rtype::TXT].map(|rtype| upstream.asked(name, rtype));
    assert_eq!((asked(&inside, "www.corp.example"), asked(&outside, "www.corp.example")), ([1, 1], [0, 0]));
    assert_eq!((asked(&inside, "www.example"), asked(&outside, "www.example")), ([0, 0], [0, 1]));
}
