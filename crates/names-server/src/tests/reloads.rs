//! Tests of what a reload changes while the server runs.

use lycosa_names::ZoneTable;

use super::*;

/// Reloads a server with other settings.
fn reload(server: &Server, change: impl FnOnce(&mut ServerSettings)) {
    let mut settings = lock(&server.settings).clone();
    change(&mut settings);
    server.reload(settings.policy, settings.upstream).unwrap();
}

#[test]
fn what_a_zone_s_new_server_may_deny_is_forgotten_at_the_reload() {
    let (outside, inside) =
        (Upstream::start(Says::Addresses(3_600)), Upstream::start(Says::Addresses(3_600)));
    let server = server_of(&[outside.address], |_| ());
    let asked =
        |upstream: &Upstream, name: &str| [Rtype::A, Rtype::AAAA].map(|rtype| upstream.asked(name, rtype));
    let ask = |name: &str| {
        for rtype in [Rtype::A, Rtype::AAAA] {
            assert_eq!(code(&ask_one(&server, name, rtype)), Rcode::NOERROR, "{name}");
        }
    };
    let names = ["www.corp.example.com", "corp.example.com", "www.example.net", "printer.intern"];
    names.iter().for_each(|name| ask(name));
    let zones = [("corp.example.com", vec![inside.address.into()]), ("intern", vec![inside.address.into()])];
    reload(&server, |settings| settings.upstream.zones = ZoneTable::new(zones).unwrap());
    for name in names {
        ask(name);
        ask(name);
        let is_inside = name != "www.example.net";
        assert_eq!(asked(&inside, name), [u32::from(is_inside); 2], "{name}");
        assert_eq!(asked(&outside, name), [1; 2], "{name}");
    }
    reload(&server, |settings| settings.upstream.zones = ZoneTable::default());
    ask("www.corp.example.com");
    assert_eq!(asked(&outside, "www.corp.example.com"), [2; 2], "and again without the zone");
    ask("www.example.net");
    assert_eq!(asked(&outside, "www.example.net"), [1; 2], "others stay");
}

#[test]
fn whole_replies_of_a_zone_are_forgotten_with_its_servers_and_others_stay() {
    let (outside, inside) = (Upstream::start(Says::Text(20)), Upstream::start(Says::Text(20)));
    let server = server_of(&[outside.address], |_| ());
    let ask =
        || ["a.corp.example", "corp.example", "b.example"].map(|name| ask_one(&server, name, Rtype::TXT));
    ask();
    reload(&server, |settings| {
        settings.upstream.zones = ZoneTable::new([("corp.example", vec![inside.address.into()])]).unwrap();
    });
    ask();
    let asked = |upstream: &Upstream| {
        ["a.corp.example", "corp.example", "b.example"].map(|name| upstream.asked(name, Rtype::TXT))
    };
    assert_eq!((asked(&inside), asked(&outside)), ([1, 1, 0], [1, 1, 1]));
}

#[test]
fn fewer_in_flight_leave_fewer_places_to_waiters() {
    let upstream = Upstream::start(Says::Nothing);
    let server =
        server_of(&[upstream.address], |settings| settings.upstream.timeout = Duration::from_secs(30));
    reload(&server, |settings| settings.upstream.in_flight = 2);
    let client = client_of(&server, "127.0.0.1");
    (0..10).for_each(|n| _ = client.send(&question(&format!("n{n}.example"), Rtype::A)).unwrap());
    for _ in 0..8 {
        assert_eq!(code(&receive(&client).unwrap()), Rcode::SERVFAIL);
    }
    assert_eq!((count(&server, "waiting"), count(&server, "unfair")), (2, 8));
}

#[test]
fn connections_are_idle_for_as_long_as_the_reload_says() {
    let upstream = Upstream::start(Says::Addresses(600));
    let server =
        server_of(&[upstream.address], |settings| settings.policy.tcp_idle = Duration::from_secs(3_600));
    let mut open = TcpStream::connect(server.listening()[0]).unwrap();
    open.write_all(&framed(&question("a.example", Rtype::A))).unwrap();
    assert!(unframed(&mut open).is_some());
    reload(&server, |settings| settings.policy.tcp_idle = Duration::from_millis(100));
    let mut new = TcpStream::connect(server.listening()[0]).unwrap();
    for stream in [&mut open, &mut new] {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    }
    assert_eq!(new.read(&mut [0; 1]).unwrap(), 0, "a new one at once");
    open.write_all(&framed(&question("a.example", Rtype::A))).unwrap();
    assert!(unframed(&mut open).is_some());
    assert_eq!(open.read(&mut [0; 1]).unwrap(), 0, "an open one after its next message");
}
