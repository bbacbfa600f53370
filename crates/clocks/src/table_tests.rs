use std::collections::HashMap;
use std::process::Command;

use proptest::prelude::*;

use super::*;

const SECOND: Micros = 1_000_000;

fn key(name: &str) -> ClockKey {
    ClockKey::of(&lycosa_url::digest_of(name))
}

fn claim(name: &str, interval: Micros, concurrency: u32, now: Micros) -> Claim {
    Claim { key: key(name), interval, concurrency, until: now + 300 * SECOND }
}

fn clocks() -> (Clocks, Micros) {
    let clock = Clock::shared();
    (Clocks::in_memory(&clock).unwrap(), clock.now())
}

#[test]
fn a_second_user_waits_for_the_end_and_the_interval() {
    let (clocks, now) = clocks();
    let one = claim("a.example", SECOND, 1, now);
    let ticket = clocks.start(&one, now).unwrap();
    let busy = clocks.start(&one, now + SECOND).unwrap_err();
    assert!(
        busy.retry_at > now + SECOND && busy.retry_at < now + 2 * SECOND,
        "it is tried again soon, not after the lease"
    );
    clocks.end(&ticket, SECOND, now + 3 * SECOND);
    assert_eq!(clocks.start(&one, now + 3 * SECOND).unwrap_err().retry_at, now + 4 * SECOND);
    clocks.start(&one, now + 4 * SECOND).unwrap();
    clocks.start(&claim("b.example", SECOND, 1, now), now).unwrap();
}

#[test]
fn the_slower_user_sets_the_pace_and_is_named() {
    let (clocks, now) = clocks();
    let slow = Clocks { process: 1, ..clocks };
    let ticket = slow.start(&claim("a.example", 5 * SECOND, 1, now), now).unwrap();
    slow.end(&ticket, 5 * SECOND, now + 1);
    let clocks = Clocks { process: std::process::id(), ..slow };
    let busy = clocks.start(&claim("a.example", SECOND, 1, now), now + SECOND).unwrap_err();
    assert_eq!((busy.retry_at, busy.slower), (now + 5 * SECOND + 1, Some(5 * SECOND)));
    let next = now + 5 * SECOND + 1;
    let ticket = clocks.start(&claim("a.example", SECOND, 1, next), next).unwrap();
    clocks.end(&ticket, SECOND, next + 1);
    assert!(
        clocks.start(&claim("a.example", SECOND, 1, next), next + 2 * SECOND).is_err(),
        "it holds after a request of the faster"
    );
    // The slower one has gone: after four of its intervals it holds no longer.
    let later = now + 60 * SECOND;
    let ticket = clocks.start(&claim("a.example", SECOND, 1, later), later).unwrap();
    clocks.end(&ticket, SECOND, later + 1);
    clocks.start(&claim("a.example", SECOND, 1, later), later + SECOND + 1).unwrap();
}

#[test]
fn limits_hold_while_a_slow_request_is_in_flight_and_between_users_who_cross() {
    let (clocks, now) = clocks();
    let alone = clocks.start(&claim("a.example", SECOND, 1, now), now).unwrap();
    assert!(
        clocks.start(&claim("a.example", SECOND, 4, now), now + 60 * SECOND).is_err(),
        "one at a time, however long it takes"
    );
    clocks.end(&alone, SECOND, now + 61 * SECOND);
    // One asks for a long interval, the other for one request at a time: both hold for both, for as long as they go on.
    let mut at = now + 100 * SECOND;
    let mut last = at;
    clocks.end(&clocks.start(&claim("b.example", 5 * SECOND, 4, at), at).unwrap(), 5 * SECOND, at);
    for turn in 0..200 {
        at += SECOND / 4;
        let (interval, at_once) = if turn % 2 == 0 { (SECOND, 1) } else { (5 * SECOND, 4) };
        if let Ok(ticket) = clocks.start(&claim("b.example", interval, at_once, at), at) {
            assert!(at - last >= 5 * SECOND, "{turn}");
            clocks.end(&ticket, interval, at);
            last = at;
        }
    }
    assert!(last > now + 140 * SECOND);
}

#[test]
fn the_smaller_concurrency_counts_and_a_delay_holds_for_all() {
    let (clocks, now) = clocks();
    let wide = claim("a.example", 0, 3, now);
    let tickets: Vec<_> = (0..3).map(|_| clocks.start(&wide, now).unwrap()).collect();
    assert!(clocks.start(&wide, now).is_err());
    tickets.iter().for_each(|ticket| clocks.end(ticket, 0, now));
    let ticket = clocks.start(&claim("a.example", 0, 1, now), now).unwrap();
    assert!(clocks.start(&wide, now + 1).is_err(), "one at a time, since another user says so");
    clocks.cancel(&ticket, now + 2);
    clocks.start(&wide, now + 2).unwrap();
    clocks.delay(key("c.example"), now + 9 * SECOND, now);
    let busy = clocks.start(&claim("c.example", 0, 1, now), now + SECOND).unwrap_err();
    assert_eq!(busy.retry_at, now + 9 * SECOND);
}

#[test]
fn a_request_of_a_dead_process_does_not_block_a_key() {
    let (clocks, now) = clocks();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let dead = Clocks { process: child.id(), ..self::clocks().0 };
    let dead = Clocks { mapping: clocks.mapping, ..dead };
    dead.start(&claim("a.example", SECOND, 1, now), now).unwrap();
    // Its lock of a bucket does not either.
    let begin = HEADER_BYTES as u64 + ((key("a.example").0 >> 8) % BUCKETS) * (BUCKET_WORDS as u64 * 8);
    dead.mapping.words(begin..begin + 8).0[0].store(u64::from(child.id()), Release);
    let living = Clocks { process: std::process::id(), ..dead };
    // Nor one with the PID of a process that lives: this one's own, after a restart in a container.
    living.mapping.words(begin..begin + 8).0[0].store(u64::from(living.process), Release);
    assert!(living.start(&claim("a.example", SECOND, 1, now), now).is_err(), "its interval holds");
    living.start(&claim("a.example", SECOND, 1, now), now + SECOND).unwrap();
}

#[test]
fn a_full_neighbourhood_delays_and_never_lets_pass() {
    let (clocks, now) = clocks();
    // All of one bucket and its neighbours: keys that differ in their low bits only.
    let all: Vec<_> = (1..=60u64).map(|low| ClockKey(0x1234_5600 | low)).collect();
    let claim = |key| Claim { key, interval: SECOND, concurrency: 1, until: now + SECOND };
    let started: Vec<_> = all.iter().filter(|key| clocks.start(&claim(**key), now).is_ok()).collect();
    assert!(started.len() < all.len() && started.len() > 10, "{}", started.len());
    for key in started {
        assert!(clocks.start(&claim(*key), now + 1).is_err(), "what has started is known");
    }
}

#[derive(Clone, Debug)]
enum Event {
    Start(u8, Micros, u32),
    End(usize),
    Wait(Micros),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0u8..4, 0u64..3_000, 1u32..4).prop_map(|(host, interval, at_once)| Event::Start(host, interval * 1000, at_once)),
        3 => (0usize..8).prop_map(Event::End),
        2 => (0u64..2_000_000).prop_map(Event::Wait),
    ]
}

proptest! {
    /// Against a list of all that ever started: two starts are never closer than the interval of the later one.
    #[test]
    fn no_start_is_too_close_and_no_request_too_many(events in proptest::collection::vec(event(), 0..100)) {
        let (clocks, mut now) = clocks();
        let mut out: Vec<(u8, u32, Micros, Ticket)> = Vec::new();
        let mut last: HashMap<u8, Micros> = HashMap::new();
        for event in events {
            match event {
                Event::Start(host, interval, at_once) => {
                    let wished = claim(&format!("{host}.example"), interval, at_once, now);
                    let before = last.get(&host).copied();
                    match clocks.start(&wished, now) {
                        Ok(ticket) => {
                            let others = out.iter().filter(|(other, ..)| *other == host);
                            prop_assert!((others.count() as u32) < at_once.min(255));
                            // The interval of an earlier start, rounded up to a millisecond, is what the table knows.
                            prop_assert!(before.is_none_or(|before| now >= before));
                            out.push((host, at_once, interval, ticket));
                            last.insert(host, now + interval);
                        }
                        Err(busy) => prop_assert!(busy.retry_at > now),
                    }
                }
                Event::End(index) if index < out.len() => {
                    let (host, _, interval, ticket) = out.swap_remove(index);
                    clocks.end(&ticket, interval, now);
                    let ready = last.entry(host).or_default();
                    *ready = (*ready).max(now + interval);
                }
                Event::End(_) => {}
                Event::Wait(time) => now += time,
            }
        }
    }
}
