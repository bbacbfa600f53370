use std::net::Ipv4Addr;

use domain::base::iana::{OptRcode, Rcode};
use domain::base::{Message, MessageBuilder, Name, Rtype};
use domain::rdata::{A, Soa};

use super::*;
use crate::question::{Cookie, Read, read};

fn question(name: &str) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(0x1234);
    builder.header_mut().set_rd(true);
    let mut builder = builder.question();
    builder.push((name.parse::<Name<Vec<u8>>>().unwrap(), Rtype::A)).unwrap();
    builder.into_message().into_octets()
}

/// The answer to a question, parsed by another implementation.
fn answered(name: &str, edns: Option<Edns>, write: impl FnOnce(To<'_>, &mut Vec<u8>)) -> Message<Vec<u8>> {
    let message = question(name);
    let Read::Question(question) = read(&message) else { panic!() };
    let mut out = b"before".to_vec();
    write(To { edns, ..To::of(&question) }, &mut out);
    assert!(out.starts_with(b"before"), "the existing bytes stay");
    let message = Message::from_octets(out.split_off(6)).unwrap();
    assert_eq!(message.header().id(), 0x1234);
    assert!(
        message.header().qr() && message.header().ra() && message.header().rd() && !message.header().aa()
    );
    assert_eq!(message.sole_question().unwrap().qname().to_string(), name, "as it was spelled");
    message
}

#[test]
fn addresses_stand_under_the_name_that_was_asked_for() {
    let addresses = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
    let message = answered("wWw.Example", None, |to, out| {
        assert_eq!(to.addresses(addresses.map(IpAddr::from).into_iter(), 77, out), 2);
    });
    let records: Vec<_> = message.answer().unwrap().limit_to::<A>().map(Result::unwrap).collect();
    assert_eq!(records.iter().map(|record| record.data().addr()).collect::<Vec<_>>(), addresses);
    assert!(records.iter().all(|record| record.ttl().as_secs() == 77));
    assert_eq!(records[0].owner().to_string(), "wWw.Example");
    assert!(message.opt().is_none());
}

#[test]
fn a_negative_answer_has_a_zone_that_can_be_cached() {
    for (name, zone) in [("www.example.com", "example.com"), ("com", ""), ("a.b", "b")] {
        let message = answered(name, None, |to, out| to.negative(Code::NxDomain, 900, out));
        assert_eq!(message.header().rcode(), Rcode::NXDOMAIN);
        let mut authority = message.authority().unwrap().limit_to::<Soa<_>>();
        let soa = authority.next().unwrap().unwrap();
        assert_eq!(soa.owner().to_string().trim_end_matches('.'), zone);
        assert_eq!((soa.ttl().as_secs(), soa.data().minimum().as_secs()), (900, 900));
    }
}

#[test]
fn edns_is_answered_where_it_was_asked_with() {
    let cookie = Some(Cookie { client: *b"clientco", server: Some(*b"the server's one") });
    let edns = Some(Edns { payload: 4096, wants_signatures: true, cookie });
    let message = answered("a.example", edns, |to, out| to.code(Code::ServFail, out));
    let opt = message.opt().unwrap();
    assert_eq!((opt.udp_payload_size(), opt.dnssec_ok(), opt.version()), (1232, true, 0));
    assert!(message.as_slice().ends_with(b"clientcothe server's one"));
    let bare = Some(Edns { payload: 0, wants_signatures: false, cookie: None });
    let message = answered("a.example", bare, |to, out| to.code(Code::BadVers, out));
    assert_eq!(message.opt().unwrap().rcode(message.header()), OptRcode::BADVERS);
}

#[test]
fn other_answers_are_what_they_are_called() {
    let message = answered("a.example", None, |to, out| to.truncated(out));
    assert!(message.header().tc() && message.header_counts().ancount() == 0);
    let message = answered("a.example", None, |to, out| to.minimal(out));
    let records: Vec<_> = message.answer().unwrap().map(|record| record.unwrap().rtype()).collect();
    assert_eq!(records, [Rtype::HINFO]);
}

#[test]
fn what_an_upstream_said_gets_the_client_s_number_spelling_and_cookie() {
    let upstream = answered("A.EXAMPLE", None, |to, out| {
        to.addresses([IpAddr::from([192, 0, 2, 1])].into_iter(), 5, out);
    });
    let mut bytes = upstream.as_slice().to_vec();
    bytes[0] = 0xff;
    bytes[3] |= 0x20; // AD
    let cookie = Some(Cookie { client: [1; 8], server: Some([2; 16]) });
    let edns = Some(Edns { payload: 1232, wants_signatures: false, cookie });
    let message = answered("a.ExamplE", edns, |to, out| to.passed(&bytes, None, out));
    assert_eq!(message.answer().unwrap().count(), 1);
    assert!(message.opt().is_some() && message.as_slice().ends_with(&[2; 16]));
    assert!(!message.header().ad(), "no AD unless asked for (RFC 6840 section 5.8)");
    let error = ExtendedError { code: 3, text: "old".into() };
    let message = answered("a.ExamplE", edns, |to, out| to.passed(&bytes, Some(&error), out));
    let size = To { head: &[], edns, reason: None }.edns_size(Some(&error));
    assert_eq!(message.as_slice().len(), bytes.len() + size);
    assert!(message.as_slice().ends_with(b"\0\x0f\0\x05\0\x03old"));
    let signed = Some(Edns { payload: 1232, wants_signatures: true, cookie: None });
    let message = answered("a.ExamplE", signed, |to, out| to.passed(&bytes, None, out));
    assert!(message.header().ad() && message.opt().unwrap().dnssec_ok());
    let message = answered("a.ExamplE", None, |to, out| to.passed(&bytes, Some(&error), out));
    assert!(message.opt().is_none(), "no EDNS if the question has none");
}
