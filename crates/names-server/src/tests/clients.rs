//! Tests of access, limits and answers of clients.

use super::*;

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
    assert!((8..=10).contains(&cut.len()), "{} truncated answers", cut.len());
}

#[test]
fn private_addresses_are_taken_out_where_that_is_wanted() {
    let upstream = Upstream::start(Says::Addresses(600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.filter_private = true;
        settings.policy.private_names = Zones::new(["home.example".into()]);
    });
    for _ in 0..2 {
        // 192.0.2.7 is a documentation address, fd00::7 is private: neither is public.
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
    assert!(count(&server, "cache_used") < 2_000, "capacity 1,000, 4,000 asked for");
}

#[test]
fn a_client_that_may_be_forged_gets_no_flood() {
    let upstream = Upstream::start(Says::Text(600));
    let server = server_of(&[upstream.address], |_| ());
    let cut = ask_one(&server, "big.example", Rtype::TXT);
    assert!(cut.header().tc() && cut.as_slice().len() < 100, "a long answer to a short question");
    upstream.say(Says::Text(100));
    let whole = ask_one(&server, "small.example", Rtype::TXT);
    assert!(!whole.header().tc() && whole.as_slice().len() > 100);
}

#[test]
fn what_waits_to_be_passed_through_is_bounded() {
    let (upstream, _) = Upstream::start_with_tcp(Says::Nothing);
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.attempts = 1;
        settings.upstream.in_flight = 1_000;
    });
    let mut client = TcpStream::connect(server.listening()[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let many = framed(&question("a.example", Rtype::MX)).repeat(5_000);
    client.write_all(&many).unwrap();
    let mut most = 0;
    for _ in 0..5_000 {
        most = most.max(count(&server, "waiting"));
        assert_eq!(code(&Message::from_octets(unframed(&mut client).unwrap()).unwrap()), Rcode::SERVFAIL);
    }
    assert!((1..=1_000).contains(&most), "{most} concurrent");
    assert!((1..=3).contains(&upstream.asked("a.example", Rtype::MX)), "once at a time");
    assert_eq!(count(&server, "waiting"), 0);
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
fn once_the_server_is_drained_nobody_is_left_who_takes_a_question() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |_| ());
    assert!(server.drain(Duration::from_secs(5)));
    assert!(server.receivers.iter().all(JoinHandle::is_finished));
    let client = client_of(&server, "127.0.0.1");
    client.send(&question("late.example", Rtype::A)).unwrap();
    std::thread::sleep(listen::LOOK);
    assert_eq!((count(&server, "questions_udp"), count(&server, "waiting")), (0, 0));
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

#[test]
fn each_client_gets_another_one_of_several_addresses_first() {
    const LAST: std::ops::RangeInclusive<u8> = 1..=6;
    let upstream = Upstream::start(Says::Built(|asked| {
        let mut answer = MessageBuilder::new_vec().start_answer(asked, Rcode::NOERROR).unwrap();
        let owner = asked.sole_question().unwrap().into_qname();
        LAST.for_each(|last| answer.push((owner, 600, A::from_octets(192, 0, 2, last))).unwrap());
        answer.into_message().into_octets()
    }));
    let server = server_of(&[upstream.address], |_| ());
    let client = client_of(&server, "127.0.0.1");
    let mut firsts = std::collections::BTreeSet::new();
    for number in 0..8_u16 {
        let mut message = question("many.example", Rtype::A);
        message[..2].copy_from_slice(&number.to_be_bytes());
        client.send(&message).unwrap();
        let answer = receive(&client).unwrap();
        let records = answer.answer().unwrap().limit_to::<A>();
        let told: Vec<u8> = records.map(|record| record.unwrap().data().addr().octets()[3]).collect();
        firsts.insert(told[0]);
        let mut sorted = told.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3, 4], "the lowest four are kept");
        assert!(told.windows(2).all(|pair| pair[1] == pair[0] % 4 + 1), "in turn: {told:?}");
    }
    assert_eq!(firsts.len(), 4);
}

#[test]
fn an_answer_comes_from_the_address_that_was_asked() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    for (all, addresses) in [("0.0.0.0:0", &["127.0.0.1", "127.0.0.2"][..]), ("[::]:0", &["::1"])] {
        let server = server_of(&[upstream.address], |settings| settings.listen = vec![all.parse().unwrap()]);
        let port = server.listening()[0].port();
        let home: IpAddr = addresses[0].parse().unwrap();
        let clients: Vec<UdpSocket> = addresses
            .iter()
            .map(|address| {
                let client = UdpSocket::bind((home, 0)).unwrap();
                client.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
                // Connected sockets drop datagrams from other addresses.
                client.connect((address.parse::<IpAddr>().unwrap(), port)).unwrap();
                client
            })
            .collect();
        for (name, times) in [("missed.example", 1), ("missed.example", 1), ("many.example", 40)] {
            for client in &clients {
                for _ in 0..times {
                    client.send(&question(name, Rtype::A)).unwrap();
                }
            }
            for (client, address) in clients.iter().zip(addresses) {
                for _ in 0..times {
                    let answer = receive(client).unwrap_or_else(|| panic!("{address} does not answer"));
                    assert_eq!(answer.header_counts().ancount(), 1);
                }
            }
        }
        for client in &clients {
            client.send(&question("a.example", Rtype::MX)).unwrap();
            assert_eq!(code(&receive(client).unwrap()), Rcode::NOERROR, "also for questions passed through");
        }
    }
}
