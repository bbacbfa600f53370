use domain::base::iana::{Opcode, Rtype};
use domain::base::{MessageBuilder, Name};
use proptest::prelude::*;

use super::*;

fn ask(name: &str, rtype: Rtype) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_rd(true);
    let mut builder = builder.question();
    builder.push((name.parse::<Name<Vec<u8>>>().unwrap(), rtype)).unwrap();
    builder.into_message().into_octets()
}

/// A question with these EDNS options.
fn with_edns(name: &str, version: u8, options: &[u8]) -> Vec<u8> {
    let mut message = ask(name, Rtype::A);
    message[11] = 1;
    message.extend_from_slice(&[0, 0, 41, 4, 0xd0, 0, version, 0x80, 0, 0, options.len() as u8]);
    message.extend_from_slice(options);
    message
}

fn code(message: &[u8]) -> Option<Code> {
    match read(message) {
        Read::Bad(_, code) => Some(code),
        Read::Question(_) | Read::Greeting(..) => None,
        Read::Nothing => panic!("nothing"),
    }
}

#[test]
fn a_question_is_read_with_its_name_in_lower_case() {
    let message = ask("WWW.Example.com", Rtype::AAAA);
    let Read::Question(question) = read(&message) else { panic!() };
    let mut text = String::from("before|");
    assert!(question.write_name(&mut text));
    assert_eq!((text.as_str(), question.rtype), ("before|www.example.com", 28));
    assert!(question.wants_recursion() && question.edns.is_none());
    assert_eq!(question.head.len(), message.len());
}

#[test]
fn a_cookie_may_come_without_a_question() {
    let cookie = [&[0, 10, 0, 8][..], &[7; 8]].concat();
    let alone = |options: &[u8]| {
        let mut message = with_edns(".", 0, options);
        message[5] = 0;
        message.drain(HEADER..HEADER + 5);
        message
    };
    let message = alone(&cookie);
    let Read::Greeting(head, edns) = read(&message) else { panic!() };
    assert_eq!((head.len(), edns.cookie), (HEADER, Some(Cookie { client: [7; 8], server: None })));
    assert_eq!(code(&alone(&[])), Some(Code::FormErr), "empty message");
    assert_eq!(code(&alone(&cookie[..11])), Some(Code::FormErr));
}

#[test]
fn edns_brings_payload_signatures_and_cookie() {
    let cookie = [&[0, 10, 0, 24][..], &[7; 24]].concat();
    let message = with_edns("a.example", 0, &cookie);
    let Read::Question(question) = read(&message) else { panic!() };
    let edns = question.edns.unwrap();
    assert_eq!((edns.payload, edns.wants_signatures), (1232, true));
    assert_eq!(edns.cookie, Some(Cookie { client: [7; 8], server: Some([7; 16]) }));
    assert_eq!(code(&with_edns("a.example", 1, &[])), Some(Code::BadVers));
    for bad in [
        &[0, 10, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9][..],
        &[0, 10, 0, 7, 1, 2, 3, 4, 5, 6, 7],
        &[0, 10, 0, 99],
        &[0],
    ] {
        assert_eq!(code(&with_edns("a.example", 0, bad)), Some(Code::FormErr), "{bad:?}");
    }
    let twice = [with_edns("a.example", 0, &[]), vec![0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(
        code(&{
            let mut m = twice;
            m[11] = 2;
            m
        }),
        Some(Code::FormErr),
        "two OPT records"
    );
}

#[test]
fn what_is_no_plain_question_is_told_so() {
    let good = ask("a.example", Rtype::A);
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut message = good.clone();
        change(&mut message);
        message
    };
    assert!(matches!(read(&good[..11]), Read::Nothing));
    assert!(matches!(read(&change(&|m| m[2] |= 0x80)), Read::Nothing), "an answer gets no answer");
    assert_eq!(code(&change(&|m| m[2] = Opcode::UPDATE.to_int() << 3)), Some(Code::NotImp));
    assert_eq!(code(&change(&|m| m[5] = 2)), Some(Code::FormErr), "two questions");
    assert_eq!(code(&change(&|m| m[5] = 0)), Some(Code::FormErr), "none");
    assert_eq!(code(&change(&|m| m[7] = 1)), Some(Code::FormErr), "an answer in a question");
    assert_eq!(code(&change(&|m| m.push(0))), Some(Code::FormErr), "something after the end");
    assert_eq!(code(&change(&|m| m[12] = 0xc0)), Some(Code::FormErr), "a pointer");
    assert_eq!(code(&change(&|m| *m.last_mut().unwrap() = 3)), Some(Code::Refused), "CHAOS");
    assert_eq!(code(&good[..good.len() - 1]), Some(Code::FormErr));
}

#[test]
fn labels_that_are_no_plain_text_are_left_to_others() {
    let mut message = ask("ab.example", Rtype::A);
    message[13] = b'.';
    let Read::Question(question) = read(&message) else { panic!() };
    assert!(!question.write_name(&mut String::new()), "a dot within a label");
    message[13] = 0xff;
    let Read::Question(question) = read(&message) else { panic!() };
    assert!(!question.write_name(&mut String::new()));
    let message = ask(".", Rtype::A);
    let Read::Question(question) = read(&message) else { panic!() };
    assert!(!question.write_name(&mut String::new()), "the root");
}

proptest! {
    /// No bytes cause a panic, and an accepted message ends where its counts say.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600), at in 0..60_usize, byte: u8) {
        for mut message in [bytes.clone(), with_edns("some.name.example", 0, &bytes[..bytes.len().min(200)])] {
            if let Some(place) = message.get_mut(at) {
                *place = byte;
            }
            match read(&message) {
                Read::Question(question) => {
                    prop_assert!(message.starts_with(question.head));
                    prop_assert!(question.name().len() <= 255 && question.name().ends_with(&[0]));
                    question.write_name(&mut String::new());
                }
                Read::Bad(head, _) => prop_assert!(message.starts_with(head) && head.len() >= HEADER),
                Read::Greeting(..) | Read::Nothing => (),
            }
        }
    }
}
