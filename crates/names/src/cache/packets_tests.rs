use domain::base::iana::{Rcode, Rtype};
use domain::base::message_builder::TreeCompressor;
use domain::base::opt::ExtendedError as DomainError;
use domain::base::{Message, MessageBuilder, Name, Serial, Ttl};
use domain::rdata::{Mx, Soa, Txt};
use lycosa_url::FailureKind;
use proptest::prelude::*;

use super::*;

const NOW: Micros = 1_800_000_000_000_000;

fn name(text: &str) -> Name<Vec<u8>> {
    text.parse().unwrap()
}

/// A question for MX records.
fn question(text: &str) -> PacketKey {
    PacketKey::of_text(text, Rtype::MX, false).unwrap()
}

/// An answer to a question: a code, TTLs of MX records, and a SOA's TTL and minimum.
fn answer(key: &PacketKey, code: Rcode, ttls: &[u32], soa: Option<(u32, u32)>) -> Vec<u8> {
    let owner = Name::from_octets(key.name().to_vec()).unwrap();
    let mut builder = MessageBuilder::from_target(TreeCompressor::new(Vec::new())).unwrap().question();
    builder.header_mut().set_id(4_711);
    builder.header_mut().set_qr(true);
    builder.header_mut().set_rcode(code);
    builder.push((&owner, key.rtype())).unwrap();
    let mut builder = builder.answer();
    for &ttl in ttls {
        builder.push((&owner, ttl, Mx::new(5, name("mx.example.com")))).unwrap();
    }
    let mut builder = builder.authority();
    if let Some((ttl, minimum)) = soa {
        let [mname, rname] = ["ns.example.com", "hostmaster.example.com"].map(name);
        let times = [3_600, 600, 86_400, minimum].map(Ttl::from_secs);
        let soa = Soa::new(mname, rname, Serial(1), times[0], times[1], times[2], times[3]);
        builder.push((name("example.com"), ttl, soa)).unwrap();
    }
    let mut builder = builder.additional();
    builder.push((name("mx.example.com"), 9_999, Txt::<Vec<u8>>::build_from_slice(b"x").unwrap())).unwrap();
    builder.opt(|_| Ok(())).unwrap();
    builder.finish().into_target()
}

fn packets() -> PacketCache {
    cache(1 << 20, 86_400)
}

fn cache(bytes: u64, max_ttl: u32) -> PacketCache {
    PacketCache::new(bytes, PacketLimits { max_ttl, negative_ttl: 900 }, NOW, 1.0)
}

/// Seconds later.
fn after(seconds: u64) -> Micros {
    NOW + seconds * 1_000_000
}

/// The seconds for which a reply is returned.
fn kept_for(key: &PacketKey, reply: &[u8], packets: &PacketCache) -> u64 {
    let Some(packet) = packets.read(reply, NOW) else { return 0 };
    packets.put(key.clone(), packet);
    (0..100_000).take_while(|&seconds| packets.get(key, after(seconds)).is_some()).count() as u64
}

#[test]
fn an_answer_is_given_for_its_shortest_ttl_and_its_ttls_grow_less() {
    let key = question("example.com");
    let reply = answer(&key, Rcode::NOERROR, &[600, 60], None);
    let packets = packets();
    packets.put(key.clone(), packets.read(&reply, NOW).unwrap());
    for seconds in [0, 1, 59] {
        let packet = packets.get(&key, after(seconds)).unwrap();
        let given = Message::from_octets(packets.message(&packet, after(seconds))).unwrap();
        let ttls: Vec<u32> = given.answer().unwrap().map(|record| record.unwrap().ttl().as_secs()).collect();
        assert_eq!(ttls, [600 - seconds as u32, 60 - seconds as u32]);
        let additional = given.additional().unwrap().next().unwrap().unwrap();
        assert_eq!(additional.ttl().as_secs(), 9_999 - seconds as u32);
        assert_eq!(
            (given.header().id(), given.opt().is_some()),
            (0, false),
            "EDNS is between neighbours only"
        );
    }
    assert!(packets.get(&key, after(60)).is_none());
    assert_eq!(packets.size().1, 1);
}

#[test]
fn an_answer_that_has_expired_is_there_for_whom_upstreams_fail() {
    let key = question("example.com");
    let packets = packets();
    packets.put(key.clone(), packets.read(&answer(&key, Rcode::NOERROR, &[60], None), NOW).unwrap());
    assert!(packets.get_stale(&key, after(59), 100).is_none(), "it holds");
    packets.put_failure(key.clone(), Failure::new(FailureKind::NameTimeout, "silence"), None, after(70));
    assert!(packets.get(&key, after(74)).unwrap().message().is_err(), "nobody is asked for a while");
    assert!(packets.get(&key, after(75)).is_none());
    let stale = packets.get_stale(&key, after(159), 100).unwrap();
    let given = Message::from_octets(packets.stale_message(&stale)).unwrap();
    assert_eq!(given.answer().unwrap().next().unwrap().unwrap().ttl().as_secs(), STALE_TTL);
    assert!(packets.get_stale(&key, after(160), 100).is_none(), "its time is over");
}

#[test]
fn an_opt_record_goes_wherever_it_stands() {
    let key = question("example.com");
    let mut builder = MessageBuilder::from_target(TreeCompressor::new(Vec::new())).unwrap().question();
    builder.push((name("example.com"), Rtype::MX)).unwrap();
    let mut builder = builder.answer();
    builder.push((name("example.com"), 60, Mx::new(5, name("mx.other.example")))).unwrap();
    let mut builder = builder.additional();
    builder.opt(|opt| opt.push(&DomainError::<Vec<u8>>::from(22_u16))).unwrap();
    for number in 0..2 {
        let text = Txt::<Vec<u8>>::build_from_slice(b"x").unwrap();
        builder.push((name(&format!("a{number}.third.example")), 60, text)).unwrap();
    }
    let packets = packets();
    let packet = packets.read(&builder.finish().into_target(), NOW).unwrap();
    assert_eq!(packet.extended_error().unwrap().code, 22);
    let packet = packets.put(key, packet);
    let given = Message::from_octets(packets.message(&packet, after(20))).unwrap();
    assert!(given.opt().is_none());
    let others: Vec<(String, u32)> = given
        .additional()
        .unwrap()
        .map(|record| record.map(|record| (record.owner().to_string(), record.ttl().as_secs())).unwrap())
        .collect();
    assert_eq!(others, [("a0.third.example".to_owned(), 40), ("a1.third.example".to_owned(), 40)]);
}

#[test]
fn the_random_case_of_a_question_shows_nowhere() {
    let mut builder = MessageBuilder::from_target(TreeCompressor::new(Vec::new())).unwrap().question();
    builder.push((name("eXaMPle.COM"), Rtype::MX)).unwrap();
    let mut builder = builder.answer();
    builder.push((name("eXaMPle.COM"), 60, Mx::new(5, name("mail.eXaMPle.COM")))).unwrap();
    let packets = packets();
    let packet = packets.read(&builder.finish().into_target(), NOW).unwrap();
    let given = Message::from_octets(packet.message().unwrap()).unwrap();
    let mx = given.answer().unwrap().limit_to::<Mx<_>>().next().unwrap().unwrap();
    assert_eq!(
        (mx.owner().to_string(), mx.data().exchange().to_string()),
        ("example.com".to_owned(), "mail.example.com".to_owned())
    );
}

#[test]
fn a_question_whose_name_ends_with_a_pointer_is_none() {
    // Both bytes of a pointer may be letters: in lower case, it would point elsewhere.
    let header = [0, 1, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0];
    let label = [&[63][..], &[0; 63]].concat();
    let with_end = |end: &[u8]| [&header[..], &label, end, b"\0\x0f\0\x01"].concat();
    assert!(packets().read(&with_end(b"\0"), NOW).is_some());
    for pointer in [b"\xc0\x41", b"\xc0\0"] {
        let reply = with_end(pointer);
        assert!(Message::from_slice(&reply).unwrap().sole_question().is_ok(), "its name can be read");
        assert!(packets().read(&reply, NOW).is_none());
    }
}

#[test]
fn times_are_those_of_the_standards_and_the_limits() {
    let key = question("example.com");
    let cases = [
        (answer(&key, Rcode::NOERROR, &[90_000], None), 7_200, "no longer than the limit"),
        (answer(&key, Rcode::NOERROR, &[0], None), 0, "not at all"),
        (answer(&key, Rcode::NOERROR, &[u32::MAX], None), 0, "RFC 2181 section 8"),
        (answer(&key, Rcode::NXDOMAIN, &[], Some((900, 300))), 300, "RFC 2308 section 5"),
        (answer(&key, Rcode::NOERROR, &[], Some((100, 300))), 100, "the same of no data"),
        (answer(&key, Rcode::NOERROR, &[50], Some((900, 300))), 50, "an alias that ends in nothing"),
        (answer(&key, Rcode::NXDOMAIN, &[], None), 5, "nothing says for how long"),
        (answer(&key, Rcode::NOERROR, &[], None), 5, "the same of no data, and a referral"),
        (answer(&key, Rcode::NOERROR, &[3], None), 3, "an alias of 3 s"),
        (answer(&key, Rcode::NXDOMAIN, &[], Some((9_000, 9_000))), 900, "no longer than the limit, either"),
    ];
    for (reply, seconds, why) in cases {
        assert_eq!(kept_for(&key, &reply, &cache(1 << 20, 7_200)), seconds, "{why}");
    }
    let mut cut = answer(&key, Rcode::NOERROR, &[600], None);
    cut[2] |= 2;
    assert_eq!(kept_for(&key, &cut, &packets()), 0, "cut off");
    assert_eq!(kept_for(&key, &cut[..20], &packets()), 0, "no message");
    let packets = packets();
    packets.put_failure(key.clone(), Failure::new(FailureKind::NameTimeout, "silence"), None, NOW);
    assert!(packets.get(&key, after(4)).is_some() && packets.get(&key, after(5)).is_none(), "RFC 9520");
}

#[test]
fn a_denial_is_told_for_no_longer_than_its_soa_allows() {
    let key = question("gone.example.com");
    for (soa, told) in [((3_600, 60), 60), ((60, 3_600), 60), ((3_600, 3_600), 900)] {
        let packets = packets();
        let packet = packets.read(&answer(&key, Rcode::NXDOMAIN, &[], Some(soa)), NOW).unwrap();
        packets.put(key.clone(), packet);
        for seconds in [0, 7] {
            let packet = packets.get(&key, after(seconds)).unwrap();
            let given = Message::from_octets(packets.message(&packet, after(seconds))).unwrap();
            let soa = given.authority().unwrap().next().unwrap().unwrap();
            assert_eq!(u64::from(soa.ttl().as_secs()), told - seconds, "RFC 2308 section 3");
        }
    }
}

#[test]
fn names_whose_answers_are_not_valid_any_more_are_forgotten() {
    let packets = packets();
    let keys = ["corp.example", "a.corp.example", "xcorp.example"].map(question);
    for key in &keys {
        packets.put(key.clone(), packets.read(&answer(key, Rcode::NOERROR, &[600], None), NOW).unwrap());
    }
    packets.forget(|name| name == "corp.example" || name.ends_with(".corp.example"));
    assert_eq!(keys.each_ref().map(|key| packets.get(key, NOW).is_some()), [false, false, true]);
}

#[test]
fn a_failure_takes_the_place_of_no_answer_and_ttls_are_shortened_also_for_who_waited() {
    let key = question("example.com");
    let packets = packets();
    let packet = packets.read(&answer(&key, Rcode::NOERROR, &[90_000], None), NOW).unwrap();
    let told = Message::from_octets(packet.message().unwrap()).unwrap();
    assert_eq!(told.answer().unwrap().next().unwrap().unwrap().ttl().as_secs(), 86_400);
    packets.put(key.clone(), packet);
    let failure = Failure::new(FailureKind::NameServerFailure, "SERVFAIL");
    let told = packets.put_failure(key.clone(), failure, None, after(1));
    assert!(told.message().is_ok() && packets.get(&key, after(2)).unwrap().message().is_ok());
}

#[test]
fn memory_is_bounded() {
    let packets = cache(100_000, 86_400);
    for number in 0..10_000 {
        let key = question(&format!("n{number}.example.com"));
        packets.put(key.clone(), packets.read(&answer(&key, Rcode::NOERROR, &[600], None), NOW).unwrap());
    }
    let (bytes, count) = packets.size();
    assert!(bytes <= 100_000 && count > 100, "{bytes} bytes of {count} answers");
    let (none, key) = (cache(0, 86_400), question("example.com"));
    none.put_failure(key.clone(), Failure::new(FailureKind::NameTimeout, "silence"), None, NOW);
    assert!(none.get(&key, NOW).is_none() && none.size() == (0, 0));
}

proptest! {
    /// Whatever the bytes, nothing panics, and a stored message can be parsed again.
    #[test]
    fn any_bytes_are_borne(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in 0usize..40) {
        let key = question("example.com");
        let mut reply = answer(&key, Rcode::NOERROR, &[600, 60], Some((900, 300)));
        for (place, byte) in changes {
            let place = place.index(reply.len());
            reply[place] = byte;
        }
        reply.truncate(reply.len() - cut);
        let packets = packets();
        if let Some(packet) = packets.read(&reply, NOW) {
            let packet = packets.put(key, packet);
            let given = packets.message(&packet, after(1));
            prop_assert!(given.len() <= 2 * reply.len() && packets.read(&given, NOW).is_some());
        }
    }
}

#[test]
fn what_a_newer_answer_without_ttl_contradicts_is_not_given_any_more() {
    let key = question("example.com");
    let packets = packets();
    packets.put(key.clone(), packets.read(&answer(&key, Rcode::NOERROR, &[60], None), NOW).unwrap());
    // It has expired, and the name no longer exists: without an SOA, or with a TTL of 0.
    packets.put(
        key.clone(),
        packets.read(&answer(&key, Rcode::NXDOMAIN, &[], Some((0, 0))), after(70)).unwrap(),
    );
    packets.put_failure(key.clone(), Failure::new(FailureKind::NameTimeout, "silence"), None, after(80));
    assert!(packets.get_stale(&key, after(80), 86_400).is_none(), "retracted, and given for a day");
}

#[test]
fn a_success_ends_a_failure_that_is_remembered() {
    let key = question("example.com");
    let packets = packets();
    packets.put_failure(key.clone(), Failure::new(FailureKind::NameTimeout, "silence"), None, NOW);
    packets.put(key.clone(), packets.read(&answer(&key, Rcode::NOERROR, &[0], None), after(1)).unwrap());
    assert!(packets.get(&key, after(2)).is_none());
}

#[test]
fn aliases_to_nothing_are_kept_no_longer_than_what_does_not_exist() {
    let alias = |code, soa: Option<(u32, u32)>| {
        let key = question("www.example.com");
        let mut builder = MessageBuilder::new_vec().question();
        builder.header_mut().set_rcode(code);
        builder.push((name("www.example.com"), Rtype::MX)).unwrap();
        let mut builder = builder.answer();
        let target = domain::rdata::Cname::new(name("gone.example.com"));
        builder.push((name("www.example.com"), 86_400, target)).unwrap();
        let mut builder = builder.authority();
        if let Some((ttl, minimum)) = soa {
            let [mname, rname] = ["ns.example.com", "hostmaster.example.com"].map(name);
            let times = [3_600, 600, 86_400, minimum].map(Ttl::from_secs);
            let soa = Soa::new(mname, rname, Serial(1), times[0], times[1], times[2], times[3]);
            builder.push((name("example.com"), ttl, soa)).unwrap();
        }
        kept_for(&key, &builder.finish(), &packets())
    };
    let kept = [
        alias(Rcode::NXDOMAIN, Some((86_400, 86_400))),
        alias(Rcode::NXDOMAIN, None),
        alias(Rcode::NOERROR, None),
    ];
    assert!(kept.iter().all(|seconds| *seconds <= 900), "{kept:?} seconds; negative_ttl is 900");
}

#[test]
fn a_new_answer_never_says_that_it_is_old() {
    let key = question("example.com");
    let packets = packets();
    let packet =
        packets.put(key.clone(), packets.read(&answer(&key, Rcode::NOERROR, &[1], None), NOW).unwrap());
    // It is read a few microseconds later, in the next second.
    let told = Message::from_octets(packets.message(&packet, after(1))).unwrap();
    assert!(told.answer().unwrap().next().unwrap().unwrap().ttl().as_secs() <= 1);
}

#[test]
fn an_extended_error_has_a_bound_in_bytes() {
    let mut options = vec![0, 15, 0, 202, 0, 3];
    options.extend_from_slice(&[0xff; 200]);
    assert!(ExtendedError::read(&options).unwrap().text.len() <= 200);
}

#[test]
fn a_failure_never_replaces_an_answer_that_comes_at_the_same_time() {
    let packets = cache(1 << 28, 86_400);
    let keys: Vec<PacketKey> = (0..200).map(|n| question(&format!("n{n}.example"))).collect();
    let place = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for key in &keys {
                let packet = packets.read(&answer(key, Rcode::NOERROR, &[600], None), NOW).unwrap();
                place.fetch_add(1, Relaxed);
                while place.load(Relaxed) % 2 == 1 {
                    std::thread::yield_now();
                }
                packets.put(key.clone(), packet);
            }
        });
        scope.spawn(|| {
            for key in &keys {
                let failure = Failure::new(FailureKind::NameTimeout, "silence");
                while place.load(Relaxed).is_multiple_of(2) {
                    std::thread::yield_now();
                }
                place.fetch_add(1, Relaxed);
                packets.put_failure(key.clone(), failure, None, NOW);
            }
        });
    });
    let lost = keys.iter().filter(|key| packets.get(key, NOW).is_none_or(|packet| packet.message().is_err()));
    assert_eq!(lost.count(), 0, "of {}", keys.len());
}
