//! Filter for private addresses in replies to questions that are passed through.
//!
//! Guarantees: if the policy filters, no forwarded reply contains a private address in any section, as an
//! address record (A, AAAA) or as a service hint (SVCB, HTTPS), and malformed replies are not forwarded; a
//! reply without private addresses is forwarded byte for byte. If the policy does not filter, replies are not
//! parsed.

use std::net::IpAddr;

use domain::base::iana::Rtype;
use domain::base::message::Section;
use domain::base::{Message, ParsedName, ParsedRecord};
use domain::rdata::svcb::value::{Ipv4Hint, Ipv6Hint};
use domain::rdata::svcb::{Https, SvcParams, Svcb};
use domain::rdata::{A, Aaaa};
use lycosa_names::copy_records;

use crate::policy::{Policy, is_public};

/// An upstream's reply after filtering.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Screened {
    /// The unchanged reply.
    Whole(Vec<u8>),
    /// The reply without the records that contain private addresses.
    Rest(Vec<u8>),
    /// All records of the requested type were removed.
    NoData,
    /// No reply, or a malformed one.
    Unusable,
}

impl Screened {
    /// Filters a reply by a policy.
    pub(crate) fn of(answer: Option<Vec<u8>>, policy: &Policy) -> Self {
        match answer {
            None => Screened::Unusable,
            Some(answer) if policy.filters_answer(&answer) => screen(answer).unwrap_or(Screened::Unusable),
            Some(answer) => Screened::Whole(answer),
        }
    }

    /// Whether private addresses were removed.
    pub(crate) fn is_filtered(&self) -> bool {
        matches!(self, Screened::Rest(_) | Screened::NoData)
    }
}

/// Filters a reply; `None` if it is malformed.
fn screen(answer: Vec<u8>) -> Option<Screened> {
    let message = Message::from_slice(&answer).ok()?;
    let asked = message.sole_question().ok()?.qtype();
    let (mut is_found, mut is_left, mut is_lost) = (false, false, false);
    for record in message.iter() {
        let (record, section) = record.ok()?;
        let is_private = is_private(&record)?;
        is_found |= is_private;
        if section == Section::Answer {
            is_lost |= is_private;
            is_left |= !is_private && record.rtype() == asked;
        }
    }
    match () {
        () if !is_found => Some(Screened::Whole(answer)),
        () if is_lost && !is_left => Some(Screened::NoData),
        () => rebuild(message).map(Screened::Rest),
    }
}

/// Copies a message without the records that contain private addresses. AD is cleared: the copy is not what
/// was validated.
fn rebuild(message: &Message<[u8]>) -> Option<Vec<u8>> {
    let mut copy = copy_records(message, |record| is_private(record).map(|is_private| !is_private))?;
    copy[3] &= !0x20; // AD
    Some(copy)
}

/// Whether a record contains a private address; `None` if it is malformed.
fn is_private(record: &ParsedRecord<'_, [u8]>) -> Option<bool> {
    let is_private = |address: IpAddr| !is_public(address);
    Some(match record.rtype() {
        Rtype::A => is_private(record.to_record::<A>().ok()??.data().addr().into()),
        Rtype::AAAA => is_private(record.to_record::<Aaaa>().ok()??.data().addr().into()),
        Rtype::SVCB => has_private_hint(record.to_record::<Svcb<_, ParsedName<_>>>().ok()??.data().params())?,
        Rtype::HTTPS => {
            has_private_hint(record.to_record::<Https<_, ParsedName<_>>>().ok()??.data().params())?
        }
        _ => false,
    })
}

/// Whether a service has a private address among its hints; `None` if they are malformed. The whole record is
/// removed then: with mandatory hints, the rest would be malformed (RFC 9460 section 8).
fn has_private_hint(params: &SvcParams<&[u8]>) -> Option<bool> {
    let mut is_found = false;
    for hint in params.iter::<Ipv4Hint<_>>() {
        is_found |= hint.ok()?.iter().any(|address| !is_public(address.into()));
    }
    for hint in params.iter::<Ipv6Hint<_>>() {
        is_found |= hint.ok()?.iter().any(|address| !is_public(address.into()));
    }
    Some(is_found)
}

#[cfg(test)]
mod tests {
    use domain::base::message_builder::TreeCompressor;
    use domain::base::{MessageBuilder, Name, Rtype, ToName};
    use domain::rdata::Mx;
    use proptest::prelude::*;

    use super::*;

    /// A reply with an address in each section; bit n of `privates` makes the n-th one private.
    fn answer(privates: u8) -> Vec<u8> {
        let name = |text: &str| text.parse::<Name<Vec<u8>>>().unwrap();
        let address = |place| A::from_octets(if privates >> place & 1 == 1 { 10 } else { 11 }, 0, 0, place);
        let mut builder = MessageBuilder::from_target(TreeCompressor::new(Vec::new())).unwrap().question();
        builder.push((name("evil.example"), Rtype::MX)).unwrap();
        let mut builder = builder.answer();
        builder.push((name("evil.example"), 60, Mx::new(5, name("a.evil.example")))).unwrap();
        builder.push((name("evil.example"), 60, address(0))).unwrap();
        let mut builder = builder.authority();
        builder.push((name("b.evil.example"), 60, address(1))).unwrap();
        let mut builder = builder.additional();
        builder.push((name("a.evil.example"), 60, address(2))).unwrap();
        builder.finish().into_target()
    }

    #[test]
    fn what_holds_nothing_private_stays_as_it_is() {
        assert_eq!(screen(answer(0)), Some(Screened::Whole(answer(0))));
    }

    #[test]
    fn private_records_go_and_names_stay_whole() {
        for privates in 1..8_u8 {
            let Some(Screened::Rest(rest)) = screen(answer(privates)) else { panic!("{privates}") };
            let message = Message::from_octets(rest.as_slice()).unwrap();
            let counts = message.header_counts();
            let left = |place: u8| 1 - u16::from(privates >> place & 1);
            assert_eq!(
                [counts.ancount(), counts.nscount(), counts.arcount()],
                [1 + left(0), left(1), left(2)]
            );
            let mx = message.answer().unwrap().limit_to::<Mx<_>>().next().unwrap().unwrap();
            assert!(mx.data().exchange().name_eq(&"a.evil.example".parse::<Name<Vec<u8>>>().unwrap()));
            assert_eq!(screen(rest.clone()), Some(Screened::Whole(rest)));
        }
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_nothing_private_is_left(privates in 0..8_u8, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
            let mut bytes = answer(privates);
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Some(Screened::Rest(rest)) = screen(bytes) {
                prop_assert_eq!(screen(rest.clone()), Some(Screened::Whole(rest)));
            }
        }
    }
}
