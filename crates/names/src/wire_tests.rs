use domain::base::message_builder::HashCompressor;
use domain::base::{MessageBuilder, Name};
use proptest::prelude::*;

use super::*;

/// A reply to a query: the answer section is given as (owner, TTL, record data).
fn reply(query: &Query, rcode: Rcode, records: &[(&str, u32, &str)]) -> Vec<u8> {
    let query = Message::from_slice(&query.bytes).unwrap();
    let target = HashCompressor::new(Vec::new());
    let mut message = MessageBuilder::from_target(target).unwrap().start_answer(query, rcode).unwrap();
    for (owner, ttl, data) in records {
        let owner: Name<Vec<u8>> = owner.parse().unwrap();
        match data.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => message.push((owner, *ttl, A::new(address))).unwrap(),
            Ok(IpAddr::V6(address)) => message.push((owner, *ttl, Aaaa::new(address))).unwrap(),
            Err(_) => {
                message.push((owner, *ttl, Cname::new(data.parse::<Name<Vec<u8>>>().unwrap()))).unwrap()
            }
        }
    }
    message.finish().into_target()
}

fn query(name: &str, kind: Kind, profile: QueryProfile, dice: &mut Dice) -> Option<Query> {
    let mut query = Query::default();
    query.write(name, kind, 7, profile, (profile == QueryProfile::Full).then_some(dice)).then_some(query)
}

fn asked(profile: QueryProfile) -> Query {
    query("www.example.com", Kind::A, profile, &mut Dice::default()).unwrap()
}

fn answer(records: &[(&str, u32, &str)]) -> Reply {
    read(&reply(&asked(QueryProfile::Full), Rcode::NOERROR, records), Kind::A)
}

fn found(addresses: &[&str], ttl: u32) -> Reply {
    Reply::Addresses(Found { addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(), ttl })
}

#[test]
fn queries_are_as_resolvers_expect_them() {
    let plain = asked(QueryProfile::Plain).bytes;
    assert_eq!(plain[..12], [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(plain[12..], *b"\x03www\x07example\x03com\0\0\x01\0\x01");
    let full = asked(QueryProfile::Full).bytes;
    assert_eq!(full[12..plain.len()].to_ascii_lowercase(), plain[12..]);
    assert_eq!(full[plain.len()..], [0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]); // OPT, 1232
    let long = "a".repeat(63) + "." + &"b".repeat(63) + "." + &"c".repeat(63) + "." + &"d".repeat(61);
    assert!(query(&long, Kind::Aaaa, QueryProfile::Full, &mut Dice::default()).is_some());
    assert!(query(&"a.".repeat(140), Kind::A, QueryProfile::Full, &mut Dice::default()).is_none());
}

#[test]
fn the_case_of_letters_is_random() {
    let mut dice = Dice::default();
    let mut names: Vec<Vec<u8>> = (0..20)
        .map(|_| query("averylongname.example", Kind::A, QueryProfile::Full, &mut dice).unwrap().bytes)
        .collect();
    names.sort();
    names.dedup();
    assert!(names.len() > 15);
}

#[test]
fn only_the_reply_to_the_whole_question_fits() {
    let query = asked(QueryProfile::Full);
    let good = reply(&query, Rcode::NOERROR, &[]);
    assert_eq!(fit(&good, &query), Fit::Exact);
    let with = |place: usize, flip: u8| {
        let mut bytes = good.clone();
        bytes[place] ^= flip;
        fit(&bytes, &query)
    };
    assert_eq!(with(1, 1), Fit::No, "another number");
    assert_eq!(with(2, 0x80), Fit::No, "a query");
    assert_eq!(with(2, 0x08), Fit::No, "another opcode");
    assert_eq!(with(5, 2), Fit::No, "several questions");
    assert_eq!(with(14, 0x20), Fit::OtherCase);
    assert_eq!(with(14, 0x01), Fit::No, "another name");
    let end = query.end;
    assert_eq!(with(end - 3, 28), Fit::No, "another type");
    assert_eq!(with(end - 1, 2), Fit::No, "another class");
    assert_eq!(fit(&good[..end - 1], &query), Fit::No, "cut off");
}

#[test]
fn a_header_alone_says_that_edns_was_not_understood_and_nothing_else() {
    let full = asked(QueryProfile::Full);
    let header = |rcode: u8| vec![0, 7, 0x81, 0x80 | rcode, 0, 0, 0, 0, 0, 0, 0, 0];
    for rcode in [1, 4] {
        assert_eq!(fit(&header(rcode), &full), Fit::NotUnderstood);
        assert!(matches!(read(&header(rcode), Kind::A), Reply::Misunderstood(_)));
        assert_eq!(fit(&header(rcode), &asked(QueryProfile::Plain)), Fit::No, "no plainer way is left");
    }
    for rcode in [0, 2, 3, 5] {
        assert_eq!(fit(&header(rcode), &full), Fit::No, "code {rcode}");
    }
    for (place, flip) in [(0, 1), (1, 1), (2, 0x80), (2, 0x02), (2, 0x08), (5, 1), (7, 1), (9, 1), (11, 1)] {
        let mut other = header(1);
        other[place] ^= flip;
        assert_eq!(fit(&other, &full), Fit::No, "byte {place}");
    }
    assert_eq!(fit(&header(1)[..11], &full), Fit::No, "cut off");
    assert_eq!(fit(&[header(1), vec![0]].concat(), &full), Fit::No, "with something behind it");
}

#[test]
fn aliases_lead_to_addresses() {
    assert_eq!(
        answer(&[("www.example.com", 60, "192.0.2.1"), ("WWW.example.COM", 30, "192.0.2.2")]),
        found(&["192.0.2.1", "192.0.2.2"], 30)
    );
    let chain =
        [("b.example", 20, "192.0.2.1"), ("www.example.com", 9, "a.example"), ("A.example", 5, "b.EXAMPLE")];
    assert_eq!(answer(&chain), found(&["192.0.2.1"], 5));
    assert_eq!(answer(&[("www.example.com", 0x8000_0000, "192.0.2.1")]), found(&["192.0.2.1"], 0));
}

#[test]
fn only_what_follows_from_the_question_counts() {
    assert_eq!(answer(&[]), Reply::NoData);
    assert_eq!(answer(&[("other.example", 60, "192.0.2.1")]), Reply::NoData);
    assert_eq!(answer(&[("www.example.com", 60, "2001:db8::1")]), Reply::NoData);
    assert_eq!(
        answer(&[("www.example.com", 60, "a.example"), ("b.example", 60, "192.0.2.1")]),
        Reply::NoData
    );
}

#[test]
fn chains_and_loops_end() {
    let looped = [("www.example.com", 60, "a.example"), ("a.example", 60, "www.example.com")];
    assert!(matches!(answer(&looped), Reply::Failed(_)));
    let names: Vec<String> = (0..12).map(|n| format!("n{n}.example")).collect();
    let chain = |length: usize| {
        let mut records = vec![("www.example.com", 60, names[0].as_str())];
        records.extend((1..length).map(|n| (names[n - 1].as_str(), 60, names[n].as_str())));
        records.push((&names[length - 1], 60, "192.0.2.1"));
        answer(&records)
    };
    assert_eq!(chain(MAX_CHAIN), found(&["192.0.2.1"], 60));
    assert!(matches!(chain(MAX_CHAIN + 1), Reply::Failed(_)));
}

#[test]
fn what_does_not_exist_is_the_last_alias() {
    let denied = |records: &[(&str, u32, &str)]| match read(
        &reply(&asked(QueryProfile::Full), Rcode::NXDOMAIN, records),
        Kind::A,
    ) {
        Reply::NotFound(denied) => denied.map(|name| name.to_ascii_lowercase()),
        other => panic!("{other:?}"),
    };
    assert_eq!(denied(&[]).as_deref(), Some("www.example.com"));
    let chain = [("www.example.com", 60, "a.example.net"), ("a.example.net", 60, "b.example.org")];
    assert_eq!(denied(&chain).as_deref(), Some("b.example.org"));
    assert_eq!(denied(&[("www.example.com", 60, "a.example"), ("a.example", 60, "www.example.com")]), None);
}

#[test]
fn response_codes_have_their_meaning() {
    let read = |rcode| read(&reply(&asked(QueryProfile::Full), rcode, &[]), Kind::A);
    assert!(matches!(read(Rcode::FORMERR), Reply::Misunderstood(_)));
    for rcode in [Rcode::SERVFAIL, Rcode::REFUSED, Rcode::NOTAUTH] {
        assert!(matches!(read(rcode), Reply::Failed(_)), "{rcode}");
    }
    let mut truncated = reply(&asked(QueryProfile::Full), Rcode::NOERROR, &[]);
    truncated[2] |= 2;
    assert_eq!(super::read(&truncated, Kind::A), Reply::Truncated);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = (id(&bytes), fit(&bytes, &asked(QueryProfile::Full)), read(&bytes, Kind::A), read(&bytes, Kind::Aaaa));
    }

    #[test]
    fn damaged_replies_are_read(
        damage in proptest::collection::vec((0..200_usize, any::<u8>()), 0..6),
        length in 0..200_usize,
    ) {
        let records = [("www.example.com", 9, "a.example"), ("a.example", 5, "192.0.2.1")];
        let mut bytes = reply(&asked(QueryProfile::Full), Rcode::NOERROR, &records);
        for (place, value) in damage {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
        }
        bytes.truncate(length);
        let _ = (fit(&bytes, &asked(QueryProfile::Full)), read(&bytes, Kind::A), read(&bytes, Kind::Aaaa));
    }
}

/// A reply with the most common records, in which some bytes are replaced.
fn spoilt_reply() -> impl Strategy<Value = (Vec<u8>, Kind)> {
    let record =
        ("(www|WWW|mail)\\.example\\.com", 0..4_u32, "192\\.0\\.2\\.[1-9]|2001:db8::[1-9]|a\\.example");
    let records = prop::collection::vec(record, 0..6);
    let spoilt = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (records, spoilt, cut, any::<bool>()).prop_map(|(records, spoilt, cut, is_v6)| {
        let kind = if is_v6 { Kind::Aaaa } else { Kind::A };
        let query = query("www.example.com", kind, QueryProfile::Full, &mut Dice::default()).unwrap();
        let listed: Vec<_> =
            records.iter().map(|(owner, ttl, data)| (&**owner, ttl << 30, &**data)).collect();
        let mut bytes = reply(&query, Rcode::NOERROR, &listed);
        for (place, byte) in spoilt {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        (bytes, kind)
    })
}

#[test]
fn most_replies_are_read_in_one_pass() {
    for (kind, one, other) in
        [(Kind::A, "192.0.2.1", "192.0.2.2"), (Kind::Aaaa, "2001:db8::1", "2001:db8::2")]
    {
        let query = query("www.example.com", kind, QueryProfile::Full, &mut Dice::default()).unwrap();
        let records = [("www.example.com", 60, one), ("www.example.com", 30, other)];
        let quick = plain::addresses(&reply(&query, Rcode::NOERROR, &records), kind);
        assert_eq!(quick, Some(found(&[one, other], 30)));
    }
}

proptest! {
    #[test]
    fn what_is_read_in_one_pass_reads_in_the_same_way_by_the_library((bytes, kind) in spoilt_reply()) {
        if let (Some(quick), Ok(parsed)) = (plain::addresses(&bytes, kind), Message::from_slice(&bytes)) {
            prop_assert_eq!(Ok(quick), addresses(parsed, kind));
        }
    }

    #[test]
    fn the_case_of_letters_changes_and_nothing_else(name in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut changed, mut dice) = (0, Dice::default());
        for _ in 0..40 {
            let mut tossed = name.clone();
            toss(&mut tossed, &mut dice);
            for (place, (&before, &after)) in name.iter().zip(&tossed).enumerate() {
                let may_change = before.is_ascii_lowercase() && after == before.to_ascii_uppercase();
                prop_assert!(after == before || may_change, "byte {}: {} to {}", place, before, after);
                changed += u32::from(after != before);
            }
        }
        // Each letter is random: none stays in 40 draws except by chance, and half of all draws change it.
        let letters = name.iter().filter(|byte| byte.is_ascii_lowercase()).count() as u32;
        prop_assert!(changed >= 10 * letters && changed <= 30 * letters || letters < 4);
    }
}
