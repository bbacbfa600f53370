//! DNS: records of any type, as text.

use std::collections::BTreeSet;

use domain::base::iana::{Class, Rtype};
use domain::base::zonefile_fmt::{DisplayKind, ZonefileFmt as _};
use domain::base::{Message, Name};
use domain::zonefile::inplace::{Entry, Zonefile};
use lycosa_names::{Record, Records, read_records};

use crate::bounds::within;

/// Types that stand in messages only, so that zone files have no text for them: NULL, OPT, TSIG.
const NOT_IN_ZONES: [Rtype; 3] = [Rtype::NULL, Rtype::OPT, Rtype::TSIG];

/// Types whose text the library writes by RFC 9460, but cannot always read: it takes no `z` in a key, and bytes as characters.
const NOT_READ: [Rtype; 2] = [Rtype::SVCB, Rtype::HTTPS];

/// Invariant: any bytes are a reply with records of a type or none, in bounded time; each record belongs to the question or to an
/// alias that leads from it, no record is given twice, and each is one line of a zone file that says the same. The first byte says
/// which code and how many records the header has, or that all is what follows; two bytes are the type; the data are what follows
/// header and question.
pub fn records(data: &[u8]) {
    let (head, rest) = data.split_at(data.len().min(3));
    let [first, high, low] = [0, 1, 2].map(|place| head.get(place).copied().unwrap_or(0));
    let rtype = Rtype::from_int(u16::from_be_bytes([high, low]));
    let header =
        [0x12, 0x34, 0x81, 0x80 | [0, 0, 0, 3][usize::from(first >> 4 & 3)], 0, 1, 0, first & 15, 0, 0, 0, 0];
    let question = [b"\x03www\x07example\x03com\0".as_slice(), &[high, low, 0, 1]].concat();
    let message = if first & 0x80 == 0 { [&header, &question[..], rest].concat() } else { rest.to_vec() };
    let memory = (1 << 20) + 500 * message.len(); // a pointer of two bytes stands for a name of a thousand characters
    let Some(found) = within(message.len(), memory, || read_records(&message, rtype)) else { return };
    let (records, is_found) = match &found {
        Records::Found(records) => (records, true),
        Records::NoData(aliases) | Records::NxDomain(aliases) | Records::Endless(aliases) => (aliases, false),
    };
    let parsed = Message::from_slice(&message).expect("it was read");
    assert!(
        records.len() <= usize::from(parsed.header_counts().ancount()),
        "more records than the reply has"
    );
    let asked = parsed.sole_question().expect("it was read").qname().to_string();
    let (mut known, wanted) = (vec![relative(&asked)], rtype.to_string());
    assert_eq!(records.iter().any(|record| record.rtype == wanted), is_found);
    for record in records {
        assert!(known.contains(&relative(&record.owner)), "{record:?} follows from none of {known:?}");
        assert!(record.rtype == wanted || record.rtype == "CNAME", "{record:?}");
        assert!(record.ttl <= i32::MAX as u32, "{record:?}");
        if record.rtype == "CNAME" {
            known.push(relative(&record.data));
        }
        if !NOT_IN_ZONES.contains(&rtype) || record.rtype != wanted {
            check_line(record);
        }
    }
}

/// A name without the root's dot, in lower case.
fn relative(name: &str) -> String {
    let is_root = |rest: &&str| rest.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0; // else the dot is escaped
    plain(name.strip_suffix('.').filter(is_root).unwrap_or(name)).to_ascii_lowercase()
}

/// A text as the library writes it: it does not escape these in names.
fn plain(text: &str) -> String {
    let (mut plain, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        let next = if letter == '\\' { letters.next() } else { None };
        if !next.is_some_and(|next| "\";()@$".contains(next)) {
            plain.push(letter);
        }
        plain.extend(next);
    }
    plain
}

/// Reads a record as a line of a zone file.
fn check_line(record: &Record) {
    let Record { owner, rtype, ttl, data } = record;
    let dot = if owner == "." { "" } else { "." };
    let line = format!("{owner}{dot} {ttl} IN {rtype} {data}");
    assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?} has control characters");
    check_words(data);
    if let Some(unknown) = data.strip_prefix(r"\# ") {
        let (length, hexadecimal) = unknown.split_once(' ').unwrap_or((unknown, ""));
        let digits = hexadecimal
            .bytes()
            .filter(|byte| *byte != b' ')
            .inspect(|byte| assert!(byte.is_ascii_hexdigit()));
        return assert_eq!(length.parse(), Ok(digits.count() / 2), "{line:?}");
    }
    if NOT_READ.iter().any(|other| other.to_string() == *rtype) {
        return;
    }
    let mut zone = Zonefile::from(format!("{line}\n").as_str());
    zone.set_origin(Name::root());
    zone.set_default_class(Class::IN);
    let Ok(Some(Entry::Record(read))) = zone.next_entry() else {
        panic!("{line:?} is no line of a zone file")
    };
    let said = plain(&read.data().display_zonefile(DisplayKind::Simple).to_string());
    if rtype.starts_with("NSEC") {
        // Types in a strange order are a set.
        let set = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<String>>();
        assert_eq!(set(&said), set(&plain(data)), "{line:?}");
    } else {
        assert_eq!(said, plain(data), "{line:?}");
    }
    assert_eq!(
        (read.owner().to_string(), read.rtype().to_string()),
        (plain(owner), rtype.clone()),
        "{line:?}"
    );
    assert!(matches!(zone.next_entry(), Ok(None)), "{line:?} is more than one line");
}

/// A record's data are words with a blank between, which end where they seem to: quotes are closed, and no comment or parenthesis
/// begins in a word.
fn check_words(data: &str) {
    let (mut bytes, mut is_quoted, mut length) = (data.bytes(), false, 0);
    while let Some(byte) = bytes.next() {
        length += 1;
        match byte {
            b' ' if !is_quoted => {
                assert!(length > 1, "{data:?} has an empty word");
                length = 0;
            }
            b'\\' => assert!(bytes.next().is_some(), "{data:?} ends with a backslash"),
            b'"' => is_quoted = !is_quoted,
            b';' | b'(' | b')' => {
                assert!(is_quoted, "{data:?} has a {:?} that means something", char::from(byte))
            }
            _ => (),
        }
    }
    assert!(!is_quoted && length > 0, "{data:?} has no end");
}
