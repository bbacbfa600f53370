//! Tests of expired answers while upstreams are silent, and of the lookups behind them.

use lycosa_url::{Clock, Script};

use super::*;

/// Maximum number of questions in flight; half of it may be for names with a stale answer.
const IN_FLIGHT: usize = 10;

/// Names that are cached and expired.
const NAMES: usize = 200;

/// A server whose cached names, `n0.example` and so on, have expired, and its upstream, which is silent. Time
/// passes only by the script; an attempt lasts an hour.
fn with_expired() -> (Upstream, Server, &'static Script) {
    let upstream = Upstream::start(Says::Addresses(60));
    let (clock, script) = Clock::scripted(1_800_000_000_000_000);
    let server = server_of(&[upstream.address], |settings| {
        settings.upstream.clock = clock;
        settings.upstream.in_flight = IN_FLIGHT;
        settings.upstream.timeout = Duration::from_secs(3_600);
    });
    for n in 0..NAMES {
        assert_eq!(ask_one(&server, &format!("n{n}.example"), Rtype::A).header_counts().ancount(), 1);
    }
    upstream.say(Says::Nothing);
    script.advance(Duration::from_secs(700));
    (upstream, server, script)
}

/// Asks for all names; returns how many answers come although no time passes. All are checked to be stale.
fn ask_all(server: &Server, client: &UdpSocket, may_wait: usize) -> usize {
    let mut received = 0;
    for n in 0..NAMES {
        client.send(&question(&format!("n{n}.example"), Rtype::A)).unwrap();
        while n % 20 == 19 && received + may_wait <= n {
            check_stale(&receive(client).unwrap());
            received += 1;
        }
    }
    let lookups = server.state.pending.upstream().client(Families::V4).pending();
    assert!(lookups <= IN_FLIGHT / 2, "{lookups} lookups");
    received
}

fn check_stale(answer: &Message<Vec<u8>>) {
    assert_eq!((code(answer), answer.header_counts().ancount()), (Rcode::NOERROR, 1));
    assert_eq!(ttl(answer), 30, "stale");
}

#[test]
fn however_many_expired_names_are_asked_for_all_are_answered_and_few_lookups_are_pending() {
    let (_upstream, server, script) = with_expired();
    let client = client_of(&server, "127.0.0.1");
    let waiting = NAMES - ask_all(&server, &client, IN_FLIGHT / 2);
    assert_eq!((waiting, count(&server, "waiting")), (IN_FLIGHT / 2, IN_FLIGHT as u64 / 2));
    script.advance(Duration::from_secs(2)); // longer than a client's patience (RFC 8767 section 5: 1.8 s)
    (0..waiting).for_each(|_| check_stale(&receive(&client).unwrap()));
    for _ in 0..3 {
        // Their lookups go on, and so nobody waits for them any more.
        assert_eq!(ask_all(&server, &client, 0), NAMES);
        script.advance(Duration::from_secs(2));
    }
    assert_eq!((count(&server, "answers_servfail"), count(&server, "unfair")), (0, 0));
    assert_eq!(count(&server, "waiting"), 0);
}

#[test]
fn a_name_without_any_answer_finds_capacity_behind_expired_ones() {
    let (upstream, server, _) = with_expired();
    ask_all(&server, &client_of(&server, "127.0.0.1"), IN_FLIGHT / 2);
    upstream.say(Says::Addresses(60));
    assert_eq!(code(&ask_one(&server, "new.example", Rtype::A)), Rcode::NOERROR);
}

#[test]
fn a_lookup_that_outlasts_its_clients_patience_refreshes_the_answer() {
    let (_upstream, server, script) = with_expired();
    let client = client_of(&server, "127.0.0.1");
    client.send(&question("n0.example", Rtype::A)).unwrap();
    while count(&server, "waiting") == 0 {
        std::thread::yield_now();
    }
    script.advance(Duration::from_secs(2));
    check_stale(&receive(&client).unwrap());
    let second = Upstream::start(Says::Addresses(600));
    let settings = lock(&server.settings).clone();
    let upstream = Settings { servers: vec![second.address.into()], ..settings.upstream };
    server.reload(settings.policy, upstream).unwrap();
    assert_ne!(
        ttl(&ask_one(&server, "n0.example", Rtype::A)),
        30,
        "the lookup of before ended with its upstream"
    );
}

#[test]
fn records_that_have_expired_are_answered_at_once_too_when_too_many_are_looked_up() {
    let (upstream, server, script) = with_expired();
    upstream.say(Says::Text(20));
    assert_eq!(code(&ask_one(&server, "a.example", Rtype::TXT)), Rcode::NOERROR);
    upstream.say(Says::Nothing);
    script.advance(Duration::from_secs(700));
    ask_all(&server, &client_of(&server, "127.0.0.1"), IN_FLIGHT / 2);
    check_stale(&ask_one(&server, "a.example", Rtype::TXT));
}

/// NXDOMAIN with an SOA of a minute.
fn gone(message: &Message<[u8]>) -> Vec<u8> {
    let answer = MessageBuilder::new_vec().start_answer(message, Rcode::NXDOMAIN).unwrap();
    let mut answer = answer.authority();
    let name = |text: &str| text.parse::<Name<Vec<u8>>>().unwrap();
    let times = [3_600, 600, 86_400, 60].map(domain::base::Ttl::from_secs);
    let (mname, rname) = (name("ns.example"), name("h.example"));
    let serial = domain::base::Serial(1);
    let soa = domain::rdata::Soa::new(mname, rname, serial, times[0], times[1], times[2], times[3]);
    answer.push((name("example"), 3_600, soa)).unwrap();
    answer.finish()
}

#[test]
fn a_name_that_is_created_is_known_after_the_minute_of_its_soa_though_a_crawl_made_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names");
    let (clock, script) = Clock::scripted(1_800_000_000_000_000);
    let crawl = CompactSettings { capacity: 1_000, ..CompactSettings::default() };
    drop(CompactCache::open(&path, crawl.clone(), clock.wall() / 1_000_000).unwrap());
    let own = CompactSettings { negative_capacity: Some(0), min_ttl: 60, ..crawl };
    let cache = CompactCache::share(&path, own, clock.wall() / 1_000_000).unwrap();
    assert!(cache.details().filter_bytes > 0, "the file has a filter");
    let upstream = Upstream::start(Says::Built(gone));
    let settings = ServerSettings {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        upstream: Settings { servers: vec![upstream.address.into()], clock, ..Settings::default() },
        ..ServerSettings::default()
    };
    let server = Server::start(settings, Arc::new(cache)).unwrap();
    for _ in 0..2 {
        assert_eq!(code(&ask_one(&server, "new.example", Rtype::A)), Rcode::NXDOMAIN);
    }
    assert_eq!(upstream.asked("new.example", Rtype::A), 1);
    upstream.say(Says::Addresses(600));
    script.advance(Duration::from_secs(61));
    assert_eq!(code(&ask_one(&server, "new.example", Rtype::A)), Rcode::NOERROR);
}

#[test]
fn a_wall_clock_that_is_set_back_lengthens_no_denial() {
    let upstream = Upstream::start(Says::Built(gone));
    let (clock, script) = Clock::scripted(1_800_000_000_000_000);
    let server = server_of(&[upstream.address], |settings| settings.upstream.clock = clock);
    ask_one(&server, "gone.example", Rtype::A);
    script.step(-3 * 86_400);
    let denied = ask_one(&server, "gone.example", Rtype::A);
    let told = denied.authority().unwrap().next().unwrap().unwrap().ttl().as_secs();
    assert!(told <= 900, "{told} s; negative_ttl is 900");
}
