//! Tests of the filter for private addresses, in all the ways that they can arrive.

use domain::base::iana::Class;
use domain::base::message_builder::OptBuilder;
use domain::base::{ParsedName, Record, ToName, Ttl, UnknownRecordData};
use domain::rdata::svcb::value::Ipv4Hint;
use domain::rdata::svcb::{Https, SvcParams};
use domain::rdata::{Cname, Mx};

use super::*;

/// A private address and a public one.
const PRIVATE: [u8; 4] = [10, 1, 2, 3];
const PUBLIC: [u8; 4] = [198, 41, 0, 4];

fn address(octets: [u8; 4]) -> A {
    A::new(octets.into())
}

fn name(text: &str) -> Name<Vec<u8>> {
    text.parse().unwrap()
}

/// A question with arbitrary label bytes and EDNS.
fn question_of(labels: &[&[u8]], rtype: Rtype) -> Vec<u8> {
    let mut message = vec![0, 77, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in labels {
        message.push(label.len() as u8);
        message.extend_from_slice(label);
    }
    message.push(0);
    message.extend_from_slice(&rtype.to_int().to_be_bytes());
    message.extend_from_slice(&[0, 1, 0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0]);
    message
}

fn has(message: &Message<Vec<u8>>, address: [u8; 4]) -> bool {
    message.as_slice().windows(4).any(|bytes| bytes == address)
}

fn filtering(upstream: &Upstream) -> Server {
    server_of(&[upstream.address], |settings| {
        settings.policy.filter_private = true;
        settings.policy.private_names = Zones::new(["home.example".into()]);
    })
}

/// A reply with private addresses wherever the question's type allows them.
fn lead_inside(asked: &Message<[u8]>) -> Vec<u8> {
    let question = asked.sole_question().unwrap();
    let (owner, qtype) = (question.qname(), question.qtype());
    let mut builder = MessageBuilder::new_vec().start_answer(asked, Rcode::NOERROR).unwrap();
    builder.header_mut().set_ra(true);
    builder.header_mut().set_ad(true);
    match qtype {
        Rtype::A if owner.to_string().starts_with("odd") => {
            builder.push((owner, 60, Cname::new(name("^.evil.example")))).unwrap();
            builder.push((name("^.evil.example"), 60, address(PRIVATE))).unwrap();
        }
        Rtype::A => builder.push((owner, 60, address(PRIVATE))).unwrap(),
        Rtype::AAAA => builder.push((owner, 60, Aaaa::new("fd00::7".parse().unwrap()))).unwrap(),
        Rtype::MX => builder.push((owner, 60, Mx::new(10, name("mail.evil.example")))).unwrap(),
        Rtype::HTTPS => {
            for (priority, hint) in [(1, PRIVATE), (2, PUBLIC)] {
                let hint = std::net::Ipv4Addr::from(hint);
                let hint = Ipv4Hint::<Vec<u8>>::from_addrs([hint]).unwrap();
                let params = SvcParams::<Vec<u8>>::from_values(|params| params.push(&hint)).unwrap();
                let service = Https::new(priority, name("svc.evil.example"), params).unwrap();
                builder.push((owner, 60, service)).unwrap();
            }
        }
        _ => {
            let cut = UnknownRecordData::from_octets(Rtype::A, PRIVATE[..3].to_vec()).unwrap();
            builder.push(Record::new(owner, Class::IN, Ttl::from_secs(60), cut)).unwrap();
        }
    }
    let mut builder = builder.authority();
    if qtype == Rtype::MX {
        builder.push((name("ns.evil.example"), 60, address(PRIVATE))).unwrap();
    }
    let mut builder = builder.additional();
    if qtype == Rtype::MX {
        builder.push((name("mail.evil.example"), 60, address(PRIVATE))).unwrap();
        builder.push((name("mail.evil.example"), 60, address(PUBLIC))).unwrap();
    }
    let payload = |opt: &mut OptBuilder<'_, Vec<u8>>| {
        opt.set_udp_payload_size(1_232);
        Ok(())
    };
    builder.opt(payload).unwrap();
    builder.into_message().into_octets()
}

#[test]
fn a_name_that_is_no_host_name_leads_to_no_private_address() {
    let upstream = Upstream::start(Says::Built(lead_inside));
    let server = filtering(&upstream);
    let evil: [&[&[u8]]; 9] = [
        &[b"xn--a", b"evil", b"example"],
        &[b"^", b"evil", b"example"],
        &[b"%", b"evil", b"example"],
        &[b"\xff", b"evil", b"example"],
        &[b"a.b", b"evil", b"example"],
        &[b"odd^", b"evil", b"example"],
        // As text they look like names that may have private addresses.
        &[b"x.home", b"example"],
        &[b"home", b"example", b"\xff"],
        &[b"home.example"],
    ];
    for labels in evil {
        for rtype in [Rtype::A, Rtype::AAAA] {
            let answer = ask_bytes(&server, &question_of(labels, rtype));
            let told = (code(&answer), answer.header_counts().ancount(), answer.header_counts().nscount());
            assert_eq!(told, (Rcode::NOERROR, 0, 1), "{labels:?}");
            assert!(!has(&answer, PRIVATE) && answer.opt().is_some(), "{labels:?}");
        }
    }
    assert_eq!(count(&server, "private_filtered"), 18);
    let kept = ask_bytes(&server, &question_of(&[b"xn--a", b"home", b"example"], Rtype::A));
    assert!(has(&kept, PRIVATE), "a name that may have them");
}

#[test]
fn no_section_of_what_is_passed_through_holds_a_private_address() {
    let (upstream, _) = Upstream::start_with_tcp(Says::Built(lead_inside));
    let server = filtering(&upstream);
    let cookie = [0, 12, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut asked = question_of(&[b"evil", b"example"], Rtype::MX);
    asked.truncate(asked.len() - 2);
    asked.extend_from_slice(&cookie);
    let answer = ask_bytes(&server, &asked);
    let mx = answer.answer().unwrap().limit_to::<Mx<ParsedName<_>>>().next().unwrap().unwrap();
    assert!(mx.data().exchange().name_eq(&name("mail.evil.example")));
    let counts = answer.header_counts();
    assert_eq!([counts.ancount(), counts.nscount(), counts.arcount()], [1, 0, 2]);
    assert!(has(&answer, PUBLIC) && !has(&answer, PRIVATE));
    let header = answer.header();
    assert!(header.ra() && !header.aa() && !header.ad(), "the rest was not validated");
    assert_eq!((header.id(), header.rd(), header.qr()), (77, true, true));
    assert_eq!(answer.opt().unwrap().opt().len(), 28, "with the cookie");
    let mut stream = TcpStream::connect(server.listening()[0]).unwrap();
    stream.write_all(&framed(&question_of(&[b"evil", b"example"], Rtype::MX))).unwrap();
    let answer = Message::from_octets(unframed(&mut stream).unwrap()).unwrap();
    assert!(has(&answer, PUBLIC) && !has(&answer, PRIVATE), "over TCP, too");
    let mut asked = question_of(&[b"home", b"example"], Rtype::MX);
    asked[3] |= 0x20; // AD: the client wants to know whether the answer was validated
    let kept = ask_bytes(&server, &asked);
    assert!(has(&kept, PRIVATE) && kept.header().ad(), "a name that may have them");
}

#[test]
fn services_are_told_without_those_that_hint_at_private_addresses() {
    let upstream = Upstream::start(Says::Built(lead_inside));
    let server = filtering(&upstream);
    let answer = ask_bytes(&server, &question_of(&[b"evil", b"example"], Rtype::HTTPS));
    assert_eq!((code(&answer), answer.header_counts().ancount()), (Rcode::NOERROR, 1));
    assert!(has(&answer, PUBLIC) && !has(&answer, PRIVATE));
    let answer = ask_bytes(&server, &question_of(&[b"home", b"example"], Rtype::HTTPS));
    assert_eq!(answer.header_counts().ancount(), 2);
}

#[test]
fn what_cannot_be_read_is_not_passed_on_where_addresses_are_filtered() {
    let upstream = Upstream::start(Says::Built(lead_inside));
    let server = filtering(&upstream);
    let answer = ask_bytes(&server, &question_of(&[b"evil", b"example"], Rtype::TXT));
    assert_eq!((code(&answer), answer.header_counts().ancount()), (Rcode::SERVFAIL, 0));
    let open = server_of(&[upstream.address], |_| ());
    for rtype in [Rtype::TXT, Rtype::MX] {
        let answer = ask_bytes(&open, &question_of(&[b"evil", b"example"], rtype));
        assert_eq!(code(&answer), Rcode::NOERROR, "replies are not parsed");
        assert!(rtype == Rtype::TXT || has(&answer, PRIVATE));
    }
}

#[test]
fn what_is_kept_as_it_came_is_filtered_by_the_policy_of_now() {
    let upstream = Upstream::start(Says::Built(lead_inside));
    let server = server_of(&[upstream.address], |_| ());
    let asked = question_of(&[b"evil", b"example"], Rtype::MX);
    assert!(has(&ask_bytes(&server, &asked), PRIVATE));
    let settings = lock(&server.settings).clone();
    let policy = Policy { filter_private: true, ..settings.policy };
    server.reload(policy, settings.upstream).unwrap();
    let answer = ask_bytes(&server, &asked);
    assert!(has(&answer, PUBLIC) && !has(&answer, PRIVATE));
    assert_eq!((upstream.asked("evil.example", Rtype::MX), count(&server, "private_filtered")), (1, 1));
}
