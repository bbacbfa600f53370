//! Reads the records of a reply as text.

use domain::base::Message;
use domain::base::iana::{Class, Rcode, Rtype};
use domain::rdata::Cname;

use crate::wire::MAX_CHAIN;
use crate::zone_text;

/// A record as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The owner name as in a zone file, without the trailing dot; the root is `.`.
    pub owner: String,
    /// Its type, such as `MX` or `TYPE65280`.
    pub rtype: String,
    /// The TTL in seconds.
    pub ttl: u32,
    /// Its data as in a zone file (RFC 1035 section 5.1; RFC 3597 section 5 for unknown types).
    pub data: String,
}

/// The content of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// The records, after the aliases that lead to them.
    Found(Vec<Record>),
    /// The name exists, but has no record of this type; with the aliases that lead to it.
    NoData(Vec<Record>),
    /// The name does not exist; with the aliases that lead to it.
    NxDomain(Vec<Record>),
    /// The aliases lead to no answer: more than are followed, or a loop of them; with these. A failure of the
    /// zone, as for addresses.
    Endless(Vec<Record>),
}

/// Reads the records that follow from the question, through aliases, and ignores others; `None` for a malformed
/// reply. Codes other than NOERROR and NXDOMAIN count as no data: callers check for failures first.
pub fn read_records(reply: &[u8], rtype: Rtype) -> Option<Records> {
    let message = Message::from_slice(reply).ok()?;
    let mut name = message.sole_question().ok()?.into_qname();
    let (mut records, mut is_found, mut names) = (Vec::new(), false, Vec::new());
    let mut is_endless = true;
    for _ in 0..=MAX_CHAIN {
        let mut alias = None;
        for record in message.answer().ok()? {
            let record = record.ok()?;
            if record.class() != Class::IN || record.owner() != name {
                continue;
            }
            let is_wanted = record.rtype() == rtype;
            if !is_wanted && record.rtype() != Rtype::CNAME {
                continue;
            }
            if !is_wanted && alias.is_none() {
                alias = Some(*record.to_record::<Cname<_>>().ok()??.data().cname());
            }
            is_found |= is_wanted;
            let ttl = record.ttl().as_secs();
            records.push(Record {
                owner: zone_text::owner(&record.owner()),
                rtype: record.rtype().to_string(),
                ttl: if ttl >> 31 == 0 { ttl } else { 0 }, // RFC 2181 section 8
                data: zone_text::data(&record)?,
            });
        }
        names.push(name);
        // A loop of aliases ends where it began, so that no record is returned twice.
        match alias.filter(|_| !is_found) {
            Some(target) if names.contains(&target) => break,
            Some(target) => name = target,
            None => {
                is_endless = false;
                break;
            }
        }
    }
    Some(match message.header().rcode() {
        _ if is_found => Records::Found(records),
        Rcode::NXDOMAIN => Records::NxDomain(records),
        _ if is_endless => Records::Endless(records),
        _ => Records::NoData(records),
    })
}

#[cfg(test)]
mod tests {
    use domain::base::{MessageBuilder, Name};
    use domain::rdata::{Mx, Txt};

    use super::*;

    fn name(text: &str) -> Name<Vec<u8>> {
        text.parse().unwrap()
    }

    /// A reply to an MX question for `www.example`, with these aliases and an MX record of `owner`.
    fn reply(aliases: &[(&str, &str)], owner: Option<&str>, code: Rcode) -> Vec<u8> {
        let mut builder = MessageBuilder::new_vec().question();
        builder.header_mut().set_rcode(code);
        builder.push((name("www.example"), Rtype::MX)).unwrap();
        let mut builder = builder.answer();
        if let Some(owner) = owner {
            builder.push((name(owner), 60, Mx::new(5, name("mail.example")))).unwrap();
            let text = Txt::<Vec<u8>>::build_from_slice(b"a \"text\"").unwrap();
            builder.push((name(owner), 60, text)).unwrap();
        }
        for (from, to) in aliases {
            builder.push((name(from), 30, Cname::new(name(to)))).unwrap();
        }
        builder.finish()
    }

    fn lines(records: &[Record]) -> Vec<String> {
        let line =
            |record: &Record| format!("{} {} {} {}", record.owner, record.ttl, record.rtype, record.data);
        records.iter().map(line).collect()
    }

    #[test]
    fn records_follow_from_the_question() {
        let Some(Records::Found(records)) = read_records(
            &reply(
                &[("b.example", "a.example"), ("WWW.example", "b.example")],
                Some("a.example"),
                Rcode::NOERROR,
            ),
            Rtype::MX,
        ) else {
            panic!()
        };
        let expected = [
            "WWW.example 30 CNAME b.example.",
            "b.example 30 CNAME a.example.",
            "a.example 60 MX 5 mail.example.",
        ];
        assert_eq!(lines(&records), expected);
    }

    #[test]
    fn what_does_not_follow_is_left_out() {
        let stray = reply(&[], Some("stray.example"), Rcode::NOERROR);
        assert_eq!(read_records(&stray, Rtype::MX), Some(Records::NoData(Vec::new())));
        let gone = reply(&[("www.example", "gone.example")], Some("stray.example"), Rcode::NXDOMAIN);
        let Some(Records::NxDomain(aliases)) = read_records(&gone, Rtype::MX) else { panic!() };
        assert_eq!(lines(&aliases), ["www.example 30 CNAME gone.example."]);
        let round =
            reply(&[("www.example", "a.example"), ("a.example", "www.example")], None, Rcode::NOERROR);
        let Some(Records::Endless(aliases)) = read_records(&round, Rtype::MX) else { panic!() };
        let expected = ["www.example 30 CNAME a.example.", "a.example 30 CNAME www.example."];
        assert_eq!(lines(&aliases), expected, "a loop has an end, and each alias is told once");
    }

    #[test]
    fn more_aliases_than_are_followed_are_a_failure_as_for_addresses() {
        let chain = |length: usize| {
            let name = |n| if n == 0 { "www.example".to_owned() } else { format!("a{n}.example") };
            let names: Vec<String> = (0..=length).map(name).collect();
            let pairs: Vec<(&str, &str)> = names.windows(2).map(|pair| (&*pair[0], &*pair[1])).collect();
            read_records(&reply(&pairs, names.last().map(String::as_str), Rcode::NOERROR), Rtype::MX)
        };
        assert!(matches!(chain(MAX_CHAIN), Some(Records::Found(_))));
        assert!(matches!(chain(MAX_CHAIN + 1), Some(Records::Endless(_))));
    }

    #[test]
    fn the_root_has_a_name() {
        let mut builder = MessageBuilder::new_vec().question();
        builder.push((Name::root_vec(), Rtype::MX)).unwrap();
        let mut builder = builder.answer();
        builder.push((Name::root_vec(), 60, Mx::new(5, Name::root_vec()))).unwrap();
        let Some(Records::Found(records)) = read_records(&builder.finish(), Rtype::MX) else { panic!() };
        assert_eq!(lines(&records), [". 60 MX 5 ."]);
    }

    #[test]
    fn an_alias_is_data_where_it_is_asked_for() {
        let alias = reply(&[("www.example", "a.example")], None, Rcode::NOERROR);
        assert!(
            matches!(read_records(&alias, Rtype::CNAME), Some(Records::Found(records)) if records.len() == 1)
        );
    }

    #[test]
    fn text_is_quoted_and_unknown_types_are_bytes() {
        let mut builder = MessageBuilder::new_vec().question();
        builder.push((name("www.example"), Rtype::TXT)).unwrap();
        let mut builder = builder.answer();
        builder
            .push((name("www.example"), 1, Txt::<Vec<u8>>::build_from_slice(b"a \"b\"").unwrap()))
            .unwrap();
        let Some(Records::Found(records)) = read_records(&builder.finish(), Rtype::TXT) else { panic!() };
        assert_eq!(records[0].data, r#""a \"b\"""#);
        assert_eq!(read_records(b"short", Rtype::TXT), None);
    }
}
