use std::collections::HashMap;
use std::net::SocketAddr;

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::{A, Aaaa};
use proptest::prelude::*;

use super::*;
use crate::cache::compact::{CompactCache, CompactSettings, Negative};
use crate::cache::{CacheStatistics, Seconds};

#[path = "core_gone_tests.rs"]
mod gone;
#[path = "core_unasked_tests.rs"]
mod unasked;
#[path = "core_upstreams_tests.rs"]
mod upstreams;

const SECOND: Micros = 1_000_000;

/// A cache that stores nothing, and has these names refreshed.
struct Forgetful(Vec<Box<str>>);

impl NameCache for Forgetful {
    fn lookup(&mut self, _: HostName<'_>, _: Families, _: Seconds) -> Option<Found> {
        None
    }

    fn insert(&mut self, _: HostName<'_>, _: Families, _: &Resolution, _: Seconds) {}

    fn due(&mut self, _: Seconds, most: usize) -> Vec<(Box<str>, Families)> {
        self.0.drain(..most.min(self.0.len())).map(|name| (name, Families::V4)).collect()
    }

    fn forget(&mut self, _: HostName<'_>) -> bool {
        false
    }

    fn count(&self) -> u64 {
        0
    }

    fn memory(&self) -> usize {
        0
    }

    fn statistics(&self) -> CacheStatistics {
        CacheStatistics::default()
    }
}

/// A core, a clock that only the test advances, and one socket per server.
struct Scene {
    core: Core,
    now: Micros,
}

impl Scene {
    fn new(change: impl FnOnce(&mut Settings)) -> Scene {
        let servers = vec!["192.0.2.1:53".parse().unwrap(), "192.0.2.2:53".parse().unwrap()];
        let mut settings = Settings { servers, ..Settings::default() };
        change(&mut settings);
        let compact = CompactSettings {
            capacity: 1_000,
            min_ttl: settings.min_ttl.as_secs().max(60) as u32,
            max_ttl: settings.max_ttl.as_secs().max(60) as u32,
            negative_ttl: settings.negative_ttl.as_secs() as u32,
            ..CompactSettings::default()
        };
        let cache = CompactCache::in_memory(compact, 0, None).unwrap();
        Scene::with(settings, Box::new(cache))
    }

    /// A scene that begins at the start of a minute, the unit of the compact cache.
    fn with(settings: Settings, cache: Box<dyn NameCache>) -> Scene {
        let now = 60 * SECOND;
        let packets = Arc::new(PacketCache::of(&settings, 1 << 20));
        Scene { core: Core::new(settings, (cache, packets), now), now }
    }

    /// Submits a name, answers each query with this, and returns the answer's class and remaining seconds;
    /// `None` if the cache had it.
    fn learn(&mut self, name: &str, rcode: Rcode, addresses: u8) -> Option<(NameClass, u64)> {
        self.submit(&[name]);
        let mut asked = false;
        while self.core.answers.is_empty() {
            for (socket, _, _, message) in self.sent() {
                asked = true;
                self.core.receive(socket, &reply(&message, rcode, addresses), self.now);
            }
        }
        let answer = self.core.answers.pop().unwrap();
        asked.then(|| (answer.class, (answer.expires - self.now) / SECOND))
    }

    fn submit(&mut self, names: &[&str]) -> usize {
        let order = |name: &&str| Order::Addresses { name: (*name).into(), fresh: false };
        self.core.submit(names.iter().map(order), self.now)
    }

    /// Sends all queries that are ready; returns socket, server, profile and message.
    fn sent(&mut self) -> Vec<(SocketId, String, QueryProfile, Vec<u8>)> {
        let mut sent = Vec::new();
        while let Some((attempt, place)) = self.core.next(self.now) {
            let server = self.core.server(place).unwrap().address;
            let SocketAddr::V4(v4) = server else { panic!() };
            let socket = v4.ip().octets()[3].into();
            let message = self.core.begin(attempt, place, socket, self.now).unwrap().to_vec();
            sent.push((socket, server.ip().to_string(), attempt.profile, message));
        }
        sent
    }

    /// The answer to each name.
    fn answers(&mut self) -> Vec<(String, Result<usize, FailureKind>)> {
        let answers = self.core.answers.drain(..);
        let short = |result: Result<Vec<IpAddr>, Failure>| {
            result.map(|list| list.len()).map_err(|failure| failure.kind)
        };
        answers.map(|answer| (answer.name.to_string(), short(answer.result))).collect()
    }

    fn wait(&mut self, seconds: u64) {
        self.now += seconds * SECOND;
        self.core.expire(self.now);
    }
}

/// The reply to a message: a code, and that many addresses of the queried family.
fn reply(message: &[u8], rcode: Rcode, addresses: u8) -> Vec<u8> {
    let query = Message::from_slice(message).unwrap();
    let is_v6 = query.sole_question().unwrap().qtype() == Rtype::AAAA;
    let name: Name<Vec<u8>> = Name::from_octets(name_in(message)).unwrap();
    let mut reply = MessageBuilder::new_vec().start_answer(query, rcode).unwrap();
    for last in 0..addresses {
        if is_v6 {
            let address = [0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into()];
            reply.push((&name, 100, Aaaa::new(address.into()))).unwrap();
        } else {
            reply.push((&name, 100, A::from_octets(192, 0, 2, last))).unwrap();
        }
    }
    reply.finish()
}

/// The bytes of the question's name.
fn name_in(message: &[u8]) -> Vec<u8> {
    let end = message[12..].iter().position(|byte| *byte == 0).unwrap();
    message[12..=12 + end].to_vec()
}

/// The question's name as text, in lower case.
fn text_in(message: &[u8]) -> String {
    let name: Name<Vec<u8>> = Name::from_octets(name_in(message)).unwrap();
    name.to_string().to_ascii_lowercase()
}

fn swap_case(mut message: Vec<u8>) -> Vec<u8> {
    let end = 12 + name_in(&message).len();
    for byte in &mut message[12..end] {
        *byte = if byte.is_ascii_uppercase() { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
    }
    message
}

#[test]
fn a_name_is_asked_once_and_answered_once() {
    let mut scene = Scene::new(|_| ());
    assert_eq!(scene.submit(&["a.example", "a.example"]), 1);
    assert_eq!(scene.submit(&["a.example"]), 1);
    let sent = scene.sent();
    assert_eq!(sent.len(), 1);
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 2), scene.now + 7);
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 2), scene.now + 8); // a duplicate
    assert_eq!(scene.core.answers[0].elapsed_us, 7);
    assert_eq!(scene.answers(), [("a.example".to_owned(), Ok(2))]);
    assert_eq!(scene.core.statistics.mismatched, 1);
}

#[test]
fn a_fresh_answer_is_asked_for_past_the_cache_and_takes_its_place() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 1), scene.now);
    scene.core.submit([Order::Addresses { name: "a.example".into(), fresh: true }], scene.now);
    let sent = scene.sent();
    assert_eq!(sent.len(), 1, "although it is cached");
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 3), scene.now);
    scene.submit(&["a.example"]);
    let known: Vec<_> = scene.answers().into_iter().map(|(_, answer)| answer).collect();
    assert_eq!(known, [Ok(1), Ok(3), Ok(3)]);
    assert!(scene.sent().is_empty());
}

#[test]
fn hosts_of_a_domain_that_answers_for_any_name_are_not_asked_for_where_that_is_wanted() {
    for (wildcards, expected) in [(false, 30), (true, 4 + 3 + 1)] {
        let mut scene = Scene::new(|settings| settings.wildcards = wildcards);
        let mut asked = 0;
        for host in 0..30 {
            scene.submit(&[&format!("h{host}.shop.example")]);
            loop {
                let sent = scene.sent();
                if sent.is_empty() {
                    break;
                }
                asked += sent.len();
                sent.iter().for_each(|sent| {
                    scene.core.receive(sent.0, &reply(&sent.3, Rcode::NOERROR, 2), scene.now)
                });
            }
            let answers = scene.answers();
            assert_eq!(answers, [(format!("h{host}.shop.example"), Ok(2))], "nobody sees what was made up");
        }
        assert_eq!(asked, expected);
        assert_eq!(scene.core.statistics.inferred, 30 + 3 * u64::from(wildcards) - asked as u64);
    }
}

#[test]
fn a_name_lost_in_a_crowd_is_asked_for_as_long_as_there_is_time() {
    // Each such name loses its first four queries: one in four, or one in all.
    for (each, unanswered) in [(4, 0), (200, 1)] {
        let mut scene = Scene::new(|settings| settings.servers.truncate(1));
        let names: Vec<String> = (0..200).map(|name| format!("n{name}.example")).collect();
        scene.submit(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let (mut tries, mut answers, began) = (HashMap::<String, u32>::new(), Vec::new(), scene.now);
        while answers.len() < names.len() {
            for sent in scene.sent() {
                let name = String::from_utf8(name_in(&sent.3)[2..].to_ascii_lowercase()).unwrap();
                let number: u32 = name.split('\u{7}').next().unwrap().parse().unwrap();
                let tried = tries.entry(name).or_default();
                *tried += 1;
                if !number.is_multiple_of(each) || *tried > 4 {
                    scene.core.receive(sent.0, &reply(&sent.3, Rcode::NOERROR, 1), scene.now);
                }
            }
            answers.extend(scene.answers());
            scene.wait(1);
            assert!(scene.now <= began + 40 * SECOND, "within a bounded time");
        }
        let lost = answers.iter().filter(|(_, answer)| *answer == Err(FailureKind::NameTimeout)).count();
        assert_eq!(lost, unanswered);
    }
}

#[test]
fn the_cache_honours_the_ttl() {
    let mut scene = Scene::new(|settings| settings.min_ttl = Duration::from_secs(60));
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    scene.core.receive(1, &reply(&sent[0].3, Rcode::NOERROR, 1), scene.now);
    assert_eq!(scene.core.answers[0].expires, scene.now + 100 * SECOND);
    scene.answers();
    scene.wait(59); // the compact cache keeps it to the end of the last full minute
    scene.submit(&["a.example"]);
    assert!(scene.sent().is_empty());
    assert_eq!(scene.core.answers[0].elapsed_us, 0);
    assert_eq!(scene.answers().len(), 1);
    assert_eq!(scene.core.statistics.cache_hits, 1);
    scene.wait(41);
    scene.submit(&["a.example"]);
    assert_eq!(scene.sent().len(), 1);
}

#[test]
fn ttls_have_bounds_and_failures_have_their_own() {
    let expires = |min: u64, max: u64, rcode, addresses| {
        let mut scene = Scene::new(|settings| {
            settings.servers.truncate(1);
            settings.min_ttl = Duration::from_secs(min);
            settings.max_ttl = Duration::from_secs(max);
        });
        scene.submit(&["a.example"]);
        let sent = scene.sent();
        scene.core.receive(1, &reply(&sent[0].3, rcode, addresses), scene.now);
        (scene.core.answers[0].expires - scene.now) / SECOND
    };
    assert_eq!(expires(60, 1_000, Rcode::NOERROR, 1), 100);
    assert_eq!(expires(200, 1_000, Rcode::NOERROR, 1), 200);
    assert_eq!(expires(60, 80, Rcode::NOERROR, 1), 80);
    assert_eq!(expires(60, 1_000, Rcode::NXDOMAIN, 0), 60);
    assert_eq!(expires(60, 1_000, Rcode::NOERROR, 0), 60);
    assert_eq!(expires(60, 1_000, Rcode::SERVFAIL, 0), 2);
}

#[test]
fn speed_divides_every_ttl() {
    let mut scene = Scene::new(|settings| {
        settings.speed = 600.0;
        settings.min_ttl = Duration::from_secs(600);
    });
    assert_eq!(scene.learn("a.example", Rcode::NOERROR, 1), Some((NameClass::Fast, 1)));
    scene.now += SECOND - 1;
    assert_eq!(scene.learn("a.example", Rcode::NOERROR, 1), None);
    let hit = scene.core.statistics.cache_hits;
    scene.now += 1;
    assert_eq!((hit, scene.learn("a.example", Rcode::NOERROR, 1)), (1, Some((NameClass::Fast, 1))));
}

#[test]
fn a_name_that_the_filter_holds_is_refused_no_longer_than_negative_ttl() {
    let mut scene = Scene::new(|settings| settings.negative_ttl = Duration::from_secs(400));
    let began = scene.now;
    // Without an SOA for the shortest time; the filter's time is its own.
    assert_eq!(scene.learn("a.example", Rcode::NXDOMAIN, 0), Some((NameClass::Failed, 300)));
    while scene.learn("a.example", Rcode::NXDOMAIN, 0).is_none() {
        // The filter does not know the expiry, so its answer is valid for a second only.
        scene.now += SECOND;
    }
    let held = (scene.now - began) / SECOND;
    assert!((300..=400).contains(&held), "three quarters of its time at least, all of it at most: {held} s");
}

#[test]
fn a_denial_without_an_soa_is_held_as_shortly_for_addresses_as_for_records() {
    let mut scene = Scene::new(|settings| {
        (settings.min_ttl, settings.negative_ttl) = (Duration::ZERO, Duration::from_secs(400));
    });
    assert_eq!(scene.learn("a.example", Rcode::NXDOMAIN, 0), Some((NameClass::Failed, 5)));
    assert_eq!(scene.learn("b.example", Rcode::NOERROR, 0), Some((NameClass::Failed, 5)));
}

#[test]
fn a_name_without_addresses_is_told_from_one_that_does_not_exist_also_the_second_time() {
    let mut scene = Scene::new(|_| ());
    for (name, code, kind) in [
        ("mail.example", Rcode::NOERROR, FailureKind::NameNoData),
        ("gone.example", Rcode::NXDOMAIN, FailureKind::NameNotFound),
    ] {
        scene.learn(name, code, 0);
        scene.submit(&[name]);
        let answer = scene.core.answers.pop().unwrap();
        assert_eq!((answer.result.unwrap_err().kind, answer.class), (kind, NameClass::Failed));
    }
    assert_eq!(scene.core.statistics.cache_hits, 2);
}

#[test]
fn a_family_that_was_lost_is_asked_for_again_and_never_taken_for_no_address() {
    for lost in [Rcode::SERVFAIL, Rcode::REFUSED] {
        let mut scene = Scene::new(|settings| settings.families = Families::Both);
        let ask = |scene: &mut Scene, lost: Option<Rcode>| {
            scene.submit(&["a.example"]);
            while scene.core.answers.is_empty() {
                for (socket, _, _, message) in scene.sent() {
                    let question = Message::from_slice(&message).unwrap().sole_question().unwrap();
                    let reply = match lost.filter(|_| question.qtype() == Rtype::AAAA) {
                        Some(code) => reply(&message, code, 0),
                        None => reply(&message, Rcode::NOERROR, 1),
                    };
                    scene.core.receive(socket, &reply, scene.now);
                }
            }
            scene.core.answers.pop().unwrap()
        };
        let first = ask(&mut scene, Some(lost));
        assert_eq!(first.result.unwrap().len(), 1, "the other one is told");
        let how = first.lost.unwrap();
        assert_eq!(how.kind, FailureKind::NameServerFailure);
        assert!(how.detail.starts_with("AAAA: 192.0.2."), "{}", how.detail);
        let questions = scene.core.statistics.questions;
        let second = ask(&mut scene, Some(lost));
        assert_eq!(second.result.unwrap().len(), 1, "and cached");
        assert_eq!(second.lost.unwrap().detail, "AAAA: the servers failed, 1 times in a row");
        assert_eq!(scene.core.statistics.questions, questions);
        // After the pause both are queried again: half an answer is not cached for an hour.
        scene.now += 3 * SECOND;
        let third = ask(&mut scene, None);
        assert_eq!((third.result.unwrap().len(), third.lost), (2, None));
    }
}

#[test]
fn servers_that_fail_again_are_left_alone_for_longer() {
    let settings = || Settings { servers: vec!["192.0.2.1:53".parse().unwrap()], ..Settings::default() };
    let plain = CompactSettings { capacity: 1_000, ..CompactSettings::default() };
    let unfiltered =
        CompactSettings { negative: Negative::Generations(2), negative_capacity: Some(0), ..plain };
    let cache = CompactCache::in_memory(unfiltered, 0, None).unwrap();
    let mut scene = Scene::with(settings(), Box::new(cache));
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let (class, pause) = scene.learn("a.example", Rcode::SERVFAIL, 0).unwrap();
        assert_eq!((class, scene.learn("a.example", Rcode::SERVFAIL, 0)), (NameClass::Failed, None));
        pauses.push(pause - 1); // the second that has begun does not count
        scene.wait(pause);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    assert_eq!(scene.core.statistics.failed, 20);
    // A design that stores no failures leaves the pauses to its caller.
    let mut scene = Scene::with(settings(), Box::new(Forgetful(Vec::new())));
    assert_eq!(scene.learn("a.example", Rcode::SERVFAIL, 0), Some((NameClass::Failed, 2)));
    assert_eq!(scene.learn("a.example", Rcode::SERVFAIL, 0), Some((NameClass::Failed, 2)));
}

#[test]
fn an_answer_has_the_class_of_its_time_also_from_the_cache() {
    let mut scene = Scene::new(|settings| settings.in_flight = 1);
    scene.submit(&["slow.example", "fast.example"]);
    let sent = scene.sent();
    scene.now += SECOND / 2;
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 1), scene.now);
    // The time in the queue is not part of the name's resolving time.
    let sent = scene.sent();
    scene.now += SECOND / 2 - 1;
    scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 1), scene.now);
    scene.submit(&["slow.example", "fast.example"]);
    let classes: Vec<NameClass> = scene.core.answers.iter().map(|answer| answer.class).collect();
    assert_eq!(classes, [NameClass::Slow, NameClass::Fast].repeat(2));
    let statistics = scene.core.statistics;
    assert_eq!((statistics.slow, statistics.fast, statistics.failed), (2, 2, 0));
}

#[test]
fn where_a_name_does_not_exist_nothing_below_it_is_asked_for() {
    let mut scene = Scene::new(|settings| settings.nxdomain_cut = true);
    assert!(scene.learn("gone.example.com", Rcode::NXDOMAIN, 0).is_some());
    scene.submit(&["www.gone.example.com", "a.b.gone.example.com"]);
    let gone = |name: &str| (name.to_owned(), Err(FailureKind::NameNotFound));
    assert_eq!(scene.answers(), [gone("www.gone.example.com"), gone("a.b.gone.example.com")]);
    assert!(scene.learn("other.example.com", Rcode::NOERROR, 1).is_some());
    // The cut expires.
    scene.now += 3_600 * SECOND;
    assert!(scene.learn("www.gone.example.com", Rcode::NOERROR, 1).is_some());
    // If the option is off, a server that denies a name with others below it hides none of them.
    let mut scene = Scene::new(|_| ());
    assert!(scene.learn("gone.example.com", Rcode::NXDOMAIN, 0).is_some());
    assert!(scene.learn("www.gone.example.com", Rcode::NOERROR, 1).is_some());
}

#[test]
fn what_a_cache_wants_to_have_refreshed_is_asked_for_in_the_room_that_is_left_and_told_to_nobody() {
    let names = ["a.example", "b.example", "c.example"].map(Box::from).to_vec();
    let settings =
        Settings { servers: vec!["192.0.2.1:53".parse().unwrap()], in_flight: 2, ..Settings::default() };
    let mut scene = Scene::with(settings, Box::new(Forgetful(names)));
    let answer = |scene: &mut Scene| {
        for (socket, _, _, message) in scene.sent() {
            scene.core.receive(socket, &reply(&message, Rcode::NOERROR, 1), scene.now);
        }
        scene.answers()
    };
    scene.core.refresh(scene.now);
    scene.core.refresh(scene.now);
    // A request for a name in flight gets its answer.
    assert_eq!(scene.submit(&["b.example"]), 0);
    assert_eq!(answer(&mut scene), [("b.example".to_owned(), Ok(1))]);
    assert_eq!(scene.core.statistics.questions, 2);
    scene.now += SECOND;
    scene.core.refresh(scene.now);
    assert_eq!((answer(&mut scene), scene.core.statistics.questions), (vec![], 3));
}

#[test]
fn ipv6_that_was_asked_for_second_is_known_the_next_time() {
    let mut scene = Scene::new(|settings| {
        settings.families = Families::Both;
        settings.prefer_v4 = true;
    });
    assert!(scene.learn("four.example", Rcode::NOERROR, 1).is_some());
    assert_eq!(scene.learn("four.example", Rcode::NOERROR, 1), None);
    scene.submit(&["none.example"]);
    for asked in 1..=2 {
        let sent = scene.sent();
        assert_eq!(sent.len(), 1, "one question at a time");
        scene.core.receive(sent[0].0, &reply(&sent[0].3, Rcode::NOERROR, 0), scene.now);
        assert_eq!(scene.core.answers.len(), asked - 1);
    }
    assert_eq!(scene.answers(), [("none.example".to_owned(), Err(FailureKind::NameNoData))]);
    scene.submit(&["none.example"]);
    assert!(scene.sent().is_empty() && scene.answers().len() == 1);
}

#[test]
fn truncated_and_changed_case_lead_to_tcp() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["truncated.example", "case.example"]);
    let sent = scene.sent();
    let mut truncated = reply(&sent[0].3, Rcode::NOERROR, 0);
    truncated[2] |= 2;
    scene.core.receive(1, &truncated, scene.now);
    scene.core.receive(1, &swap_case(reply(&sent[1].3, Rcode::NOERROR, 1)), scene.now);
    assert!(scene.core.answers.is_empty());
    let sent = scene.sent();
    assert!(
        sent.iter().all(|(_, server, profile, _)| server == "192.0.2.1" && *profile == QueryProfile::Tcp)
    );
    for (_, _, _, message) in sent {
        scene.core.receive(1, &swap_case(reply(&message, Rcode::NOERROR, 1)), scene.now);
    }
    assert_eq!(scene.answers().len(), 2);
    let statistics = scene.core.statistics;
    assert_eq!((statistics.truncated, statistics.case_mismatched, statistics.retries), (1, 1, 2));
}

#[test]
fn a_server_that_does_not_know_edns_is_asked_plainly() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    scene.core.receive(1, &reply(&sent[0].3, Rcode::FORMERR, 0), scene.now);
    let sent = scene.sent();
    assert_eq!((sent[0].1.as_str(), sent[0].2), ("192.0.2.1", QueryProfile::Plain));
    scene.core.receive(1, &reply(&sent[0].3, Rcode::NOERROR, 1), scene.now);
    assert_eq!(scene.answers()[0].1, Ok(1));
}

#[test]
fn what_fits_no_question_is_ignored() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example"]);
    let sent = scene.sent();
    let good = reply(&sent[0].3, Rcode::NOERROR, 1);
    let mut wrong_number = good.clone();
    wrong_number[0] ^= 0xff;
    let mut wrong_name = good.clone();
    wrong_name[13] = b'b';
    for message in [&wrong_number[..], &wrong_name, &sent[0].3, b"", b"short"] {
        scene.core.receive(1, message, scene.now);
    }
    scene.core.receive(2, &good, scene.now); // on the other server's socket
    assert!(scene.core.answers.is_empty());
    assert_eq!(scene.core.statistics.mismatched, 6);
    scene.core.receive(1, &good, scene.now);
    assert_eq!(scene.answers()[0].1, Ok(1));
}

#[test]
fn a_failed_socket_moves_its_questions_to_the_next_server() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["a.example", "b.example"]);
    scene.sent();
    scene.core.fail(1, "nobody listens", scene.now);
    assert!(scene.sent().iter().all(|(_, server, _, _)| server == "192.0.2.2"));
}

#[test]
fn what_is_over_the_bound_waits() {
    let mut scene = Scene::new(|settings| settings.in_flight = 2);
    scene.submit(&["a.example", "b.example", "c.example"]);
    let sent = scene.sent();
    assert_eq!(sent.len(), 2);
    scene.core.receive(1, &reply(&sent[0].3, Rcode::NXDOMAIN, 0), scene.now);
    assert_eq!(scene.sent().len(), 1);
}

proptest! {
    /// Whatever happens to the messages, each name is answered exactly once, and within the time limit.
    #[test]
    fn every_name_is_answered_once(events in proptest::collection::vec((0..6_u8, any::<u8>()), 0..60)) {
        let mut scene = Scene::new(|settings| settings.in_flight = 3);
        let names = ["a.example", "b.example", "c.example", "d.example", "e.example"];
        scene.submit(&names);
        let mut sent = Vec::new();
        for (event, which) in events {
            sent.extend(scene.sent());
            let picked = sent.get(usize::from(which) % sent.len().max(1)).cloned();
            let Some((socket, _, _, message)) = picked else { continue };
            let now = scene.now;
            match event {
                0 => scene.core.receive(socket, &reply(&message, Rcode::NOERROR, 1), now),
                1 => scene.core.receive(socket, &reply(&message, Rcode::SERVFAIL, 0), now),
                2 => scene.core.receive(socket, &swap_case(reply(&message, Rcode::NOERROR, 1)), now),
                3 => scene.core.receive(socket, &message, now),
                4 => scene.core.fail(socket, "gone", now),
                _ => scene.wait(1),
            }
        }
        for _ in 0..3 * 16 {
            scene.sent();
            scene.wait(1);
        }
        let mut answered: Vec<String> = scene.answers().into_iter().map(|(name, _)| name).collect();
        answered.sort();
        prop_assert_eq!(answered, names);
        prop_assert!(!scene.core.is_waiting() && scene.core.lookups.count() == 0 && scene.core.active == 0);
    }
}
