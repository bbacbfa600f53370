//! Tests of prefetching before expiry.

use lycosa_url::Clock;

use super::*;

/// Maximum number of names in flight.
const IN_FLIGHT: usize = 8;

/// A server whose cached names are all due for prefetch, and an upstream that is silent from now on.
fn with_expiring(names: usize) -> (Upstream, Server) {
    let upstream = Upstream::start(Says::Addresses(60));
    let server = server_of(&[upstream.address], |settings| {
        // The clock is frozen at the start of a minute, the cache's unit of time: nothing expires, no attempt
        // times out.
        settings.upstream.clock = Clock::scripted(1_800_000_000_000_000).0;
        settings.upstream.in_flight = IN_FLIGHT;
        settings.policy.min_ttl = 600; // prefetch in the last minute of the TTL
        settings.policy.keep_ttl = Zones::new(["example".into()]);
    });
    let client = client_of(&server, "127.0.0.1");
    for round in 0..2 {
        for n in 0..names {
            client.send(&question(&format!("n{n}.example"), Rtype::A)).unwrap();
            assert_eq!(receive(&client).unwrap().header_counts().ancount(), 1);
            if round == 0 && n + 1 == names {
                upstream.say(Says::Nothing);
            }
        }
    }
    (upstream, server)
}

#[test]
fn a_name_that_nobody_knows_does_not_wait_for_those_that_are_asked_for_anew() {
    const NAMES: usize = 40;
    let (upstream, server) = with_expiring(NAMES);
    let miss = client_of(&server, "127.0.0.1");
    miss.send(&question("miss.example", Rtype::A)).unwrap();
    let asked = || lock(&upstream.asked).iter().position(|(name, _)| name == "miss.example");
    let until = Instant::now() + Duration::from_secs(5);
    let place = loop {
        match asked() {
            Some(place) => break place,
            None => assert!(Instant::now() < until, "not asked for"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let before = lock(&upstream.asked)[..place].iter().filter(|(name, _)| name.starts_with('n')).count();
    assert!(before <= NAMES + IN_FLIGHT, "{} were prefetched before", before - NAMES);
}

#[test]
fn so_many_wait_to_be_asked_for_anew_and_no_more() {
    let (upstream, server) = with_expiring(1);
    let names = (0..1_500).map(|n| format!("m{n}.example").into()).collect();
    let taken = server.state.pending.upstream().client(Families::V4).prefetch(names);
    assert!((1_020..=1_024).contains(&taken), "{taken}, and the name that is asked for twice");
    assert!(lock(&upstream.asked).len() <= 3 + IN_FLIGHT / 2, "only part of `in_flight`");
}
