use domain::base::iana::{Rcode, Rtype};
use domain::base::message_builder::TreeCompressor;
use domain::base::{Message, MessageBuilder, Name, Serial, ToName as _, Ttl};
use domain::rdata::{Mx, Soa, Txt};
use proptest::prelude::*;

use super::super::question::{Read, read};
use super::*;

const NOW: Seconds = 1_800_000_000;

fn name(text: &str) -> Name<Vec<u8>> {
    text.parse().unwrap()
}

/// A question's bytes: with CD, and with DO where there is EDNS.
fn question(text: &str, rtype: Rtype, checking_disabled: bool, signatures: Option<bool>) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_rd(true);
    builder.header_mut().set_cd(checking_disabled);
    let mut builder = builder.question();
    builder.push((name(text), rtype)).unwrap();
    let mut builder = builder.additional();
    if let Some(signatures) = signatures {
        builder
            .opt(|opt| {
                opt.set_dnssec_ok(signatures);
                Ok(())
            })
            .unwrap();
    }
    builder.finish()
}

fn parsed(message: &[u8]) -> Question<'_> {
    match read(message) {
        Read::Question(question) => question,
        _ => panic!(),
    }
}

/// An answer to a question: a code, TTLs of MX records, and a SOA's TTL and minimum.
fn answer(message: &[u8], code: Rcode, ttls: &[u32], soa: Option<(u32, u32)>) -> Vec<u8> {
    let query = Message::from_slice(message).unwrap();
    let owner: Name<Vec<u8>> = query.sole_question().unwrap().qname().to_name();
    let builder = MessageBuilder::from_target(TreeCompressor::new(Vec::new())).unwrap();
    let mut builder = builder.start_answer(query, code).unwrap();
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

fn packets() -> Packets {
    Packets::new(1 << 20)
}

/// Puts an answer to a question; tells for how many seconds it is given.
fn kept_for(message: &[u8], reply: Option<&[u8]>, policy: &Policy) -> u32 {
    let packets = packets();
    packets.put(Key::of(&parsed(message)), reply.map(<[u8]>::to_vec).as_mut(), policy, NOW);
    (0..100_000).take_while(|&after| packets.get(&parsed(message), NOW + after).is_some()).count() as u32
}

#[test]
fn an_answer_is_given_for_its_shortest_ttl_and_its_ttls_grow_less() {
    let message = question("example.com", Rtype::MX, false, None);
    let reply = answer(&message, Rcode::NOERROR, &[600, 60], None);
    let packets = packets();
    packets.put(Key::of(&parsed(&message)), Some(&mut reply.clone()), &Policy::default(), NOW);
    for after in [0, 1, 59] {
        let given = packets.get(&parsed(&message), NOW + after).unwrap().unwrap();
        let given = Message::from_octets(given).unwrap();
        let ttls: Vec<u32> = given.answer().unwrap().map(|record| record.unwrap().ttl().as_secs()).collect();
        assert_eq!(ttls, [600 - after as u32, 60 - after as u32]);
        assert_eq!(
            given.additional().unwrap().next().unwrap().unwrap().ttl().as_secs(),
            9_999 - after as u32
        );
        assert!(given.opt().is_some(), "whose TTL is none");
        assert_eq!(given.as_slice().len(), reply.len());
    }
    assert!(packets.get(&parsed(&message), NOW + 60).is_none());
    assert_eq!(packets.size().1, 1);
}

#[test]
fn times_are_those_of_the_standards_and_the_policy() {
    let message = question("example.com", Rtype::MX, false, None);
    let policy = Policy { max_ttl: 7_200, ..Policy::default() };
    let cases = [
        (answer(&message, Rcode::NOERROR, &[90_000], None), 7_200, "no longer than the policy says"),
        (answer(&message, Rcode::NOERROR, &[0], None), 0, "not at all"),
        (answer(&message, Rcode::NOERROR, &[u32::MAX], None), 0, "RFC 2181 section 8"),
        (answer(&message, Rcode::NXDOMAIN, &[], Some((900, 300))), 300, "RFC 2308 section 5"),
        (answer(&message, Rcode::NOERROR, &[], Some((100, 300))), 100, "the same of no data"),
        (answer(&message, Rcode::NOERROR, &[50], Some((900, 300))), 50, "an alias that ends in nothing"),
        (answer(&message, Rcode::NXDOMAIN, &[], None), 0, "nothing says for how long"),
        (answer(&message, Rcode::NOERROR, &[], None), 0, "the same of no data, and a referral"),
        (
            answer(&message, Rcode::NXDOMAIN, &[], Some((9_000, 9_000))),
            900,
            "no longer than the policy says, either",
        ),
        (answer(&message, Rcode::SERVFAIL, &[], None), 5, "RFC 9520"),
    ];
    for (reply, seconds, why) in cases {
        assert_eq!(kept_for(&message, Some(&reply), &policy), seconds, "{why}");
    }
    assert_eq!(kept_for(&message, None, &policy), 5, "nobody answered");
    let mut cut = answer(&message, Rcode::NOERROR, &[600], None);
    cut[2] |= 2;
    assert_eq!(kept_for(&message, Some(&cut), &policy), 0, "cut off");
    assert_eq!(kept_for(&message, Some(&cut[..20]), &policy), 0, "no message");
}

#[test]
fn a_failure_takes_the_place_of_no_answer_and_ttls_are_shortened_also_for_who_waited() {
    let message = question("example.com", Rtype::MX, false, None);
    let mut reply = answer(&message, Rcode::NOERROR, &[90_000], None);
    let packets = packets();
    packets.put(Key::of(&parsed(&message)), Some(&mut reply), &Policy::default(), NOW);
    let told = Message::from_octets(&reply[..]).unwrap();
    assert_eq!(told.answer().unwrap().next().unwrap().unwrap().ttl().as_secs(), 86_400);
    packets.put(Key::of(&parsed(&message)), None, &Policy::default(), NOW + 1);
    let mut failure = answer(&message, Rcode::SERVFAIL, &[], None);
    packets.put(Key::of(&parsed(&message)), Some(&mut failure), &Policy::default(), NOW + 2);
    let given = packets.get(&parsed(&message), NOW + 3).unwrap().unwrap();
    assert_eq!(Message::from_octets(given).unwrap().header_counts().ancount(), 1);
}

#[test]
fn questions_that_are_answered_otherwise_are_others() {
    let packets = packets();
    let all: Vec<Vec<u8>> = [Rtype::MX, Rtype::A]
        .into_iter()
        .flat_map(|rtype| [false, true].map(|disabled| (rtype, disabled)))
        .flat_map(|(rtype, disabled)| {
            [None, Some(false), Some(true)]
                .map(|signatures| question("example.com", rtype, disabled, signatures))
        })
        .collect();
    for (number, message) in all.iter().enumerate() {
        assert!(packets.get(&parsed(message), NOW).is_none());
        let reply = answer(message, Rcode::NOERROR, &[60 + number as u32], None);
        packets.put(Key::of(&parsed(message)), Some(&mut reply.clone()), &Policy::default(), NOW);
    }
    assert_eq!(packets.size().1, 12);
    // The case of letters means nothing.
    let other = question("EXAMPLE.com", Rtype::MX, true, Some(true));
    assert!(packets.get(&parsed(&other), NOW).is_some());
    assert!(packets.get(&parsed(&question("www.example.com", Rtype::MX, true, Some(true))), NOW).is_none());
}

#[test]
fn a_question_that_is_passed_has_the_key_of_the_client_s() {
    for signatures in [None, Some(false), Some(true)] {
        let message = question("Example.com", Rtype::HTTPS, true, signatures);
        let asked = parsed(&message);
        let end = asked.head.len();
        assert_eq!(Key::of_passed(&message, end), Key::of(&asked), "{signatures:?}");
    }
}

#[test]
fn memory_is_bounded() {
    let packets = Packets::new(100_000);
    for number in 0..10_000 {
        let message = question(&format!("n{number}.example.com"), Rtype::MX, false, None);
        let reply = answer(&message, Rcode::NOERROR, &[600], None);
        packets.put(Key::of(&parsed(&message)), Some(&mut reply.clone()), &Policy::default(), NOW);
    }
    let (bytes, count) = packets.size();
    assert!(bytes <= 100_000 && count > 100, "{bytes} bytes of {count} answers");
    let none = Packets::new(0);
    let message = question("example.com", Rtype::MX, false, None);
    none.put(Key::of(&parsed(&message)), None, &Policy::default(), NOW);
    assert!(none.get(&parsed(&message), NOW).is_none() && none.size() == (0, 0));
}

proptest! {
    /// Whatever the bytes, nothing panics, and what is kept comes back with the same length.
    #[test]
    fn any_bytes_are_borne(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in 0usize..40) {
        let message = question("example.com", Rtype::MX, false, Some(true));
        let mut reply = answer(&message, Rcode::NOERROR, &[600, 60], Some((900, 300)));
        for (place, byte) in changes {
            let place = place.index(reply.len());
            reply[place] = byte;
        }
        reply.truncate(reply.len() - cut);
        let packets = packets();
        packets.put(Key::of(&parsed(&message)), Some(&mut reply.clone()), &Policy::default(), NOW);
        if let Some(Some(given)) = packets.get(&parsed(&message), NOW) {
            prop_assert_eq!(given.len(), reply.len());
        }
    }
}
