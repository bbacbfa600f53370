//! Tests of answer times by source.

use lycosa_names::TIME_BOUNDS;

use super::*;

/// Number of answers of a source, and the least bound that contains them all, in microseconds.
fn took(server: &Server, source: &str) -> (u64, u64) {
    let (_, times) = server.answer_times().into_iter().find(|(name, _)| *name == source).unwrap();
    let last = times.counts.iter().rposition(|count| *count > 0).unwrap_or_default();
    (times.counts.iter().sum(), TIME_BOUNDS.get(last).copied().unwrap_or(u64::MAX))
}

/// Waits until `count` answers of a source are counted, that is, sent.
fn wait(server: &Server, source: &str, count: u64) -> u64 {
    let until = Instant::now() + Duration::from_secs(5);
    while took(server, source).0 != count {
        assert!(Instant::now() < until, "{:?}", server.answer_times());
        std::thread::sleep(Duration::from_millis(1));
    }
    took(server, source).1
}

#[test]
fn each_answer_is_timed_by_where_it_came_from() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |settings| {
        settings.policy.allow = vec!["127.0.0.1".parse().unwrap()];
    });
    for _ in 0..3 {
        ask_one(&server, "a.example", Rtype::A);
    }
    ask_one(&server, "a.example", Rtype::MX);
    ask_one(&server, "a.local", Rtype::A);
    let mut stream = TcpStream::connect(server.listening()[0]).unwrap();
    stream.write_all(&framed(&question("a.example", Rtype::A))).unwrap();
    unframed(&mut stream).unwrap();
    let stranger = client_of(&server, "127.0.0.9");
    stranger.send(&question("a.example", Rtype::A)).unwrap();
    receive(&stranger).unwrap();
    for (source, count) in [("cache", 3), ("upstream", 2), ("own", 1), ("refused", 1)] {
        assert!(wait(&server, source, count) <= 3_000_000, "{source}");
    }
    assert_eq!((took(&server, "stale").0, took(&server, "limited").0), (0, 0));
}

#[test]
fn who_waits_in_vain_has_waited_for_all_tries() {
    let upstream = Upstream::start(Says::Nothing);
    let server = server_of(&[upstream.address], |_| ());
    ask_one(&server, "silent.example", Rtype::A);
    // Two attempts of 300 ms.
    assert!(wait(&server, "upstream", 1) >= 1_000_000);
}

#[test]
fn replies_of_an_upstream_are_timed_over_both_families() {
    let upstream = Upstream::start(Says::Addresses(3_600));
    let server = server_of(&[upstream.address], |_| ());
    let replies = || server.upstreams().first().map_or(Times::default(), |known| known.round_trips.clone());
    for name in ["a.example", "b.example"] {
        ask_one(&server, name, Rtype::A);
        ask_one(&server, name, Rtype::AAAA);
    }
    let until = Instant::now() + Duration::from_secs(5);
    // Includes the loop probe.
    while replies().counts.iter().sum::<u64>() < 4 {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    assert!(replies().sum > 0);
    assert_eq!(replies().counts.iter().sum::<u64>(), server.upstreams()[0].answers);
}
