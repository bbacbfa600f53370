//! The messages that servers of a scenario send, and the entries that describe them.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::records::{bytes, bytes_of};

/// Words of the form `key=value`.
pub(crate) type Words = HashMap<String, String>;

/// Response codes by number, if they have a name (RFC 1035, 2136, 6891, 8945, 2930, 7873).
const CODES: [&str; 24] = [
    "NOERROR",
    "FORMERR",
    "SERVFAIL",
    "NXDOMAIN",
    "NOTIMP",
    "REFUSED",
    "YXDOMAIN",
    "YXRRSET",
    "NXRRSET",
    "NOTAUTH",
    "NOTZONE",
    "11",
    "12",
    "13",
    "14",
    "15",
    "BADVERS",
    "BADKEY",
    "BADTIME",
    "BADMODE",
    "BADNAME",
    "BADALG",
    "BADTRUNC",
    "BADCOOKIE",
];

/// The sections of records, by their names in scripts.
pub(crate) const SECTIONS: [&str; 3] = ["ANSWER", "AUTHORITY", "ADDITIONAL"];

/// Keys of `ENTRY`.
const MATCHES: [&str; 10] =
    ["server", "over", "qname", "domain", "qtype", "edns", "header", "payload", "options", "nth"];

/// Keys of `ADJUST`.
const ADJUSTMENTS: [&str; 21] = [
    "pass", "id", "opcode", "qr", "ra", "question", "case", "qdcount", "ancount", "nscount", "arcount",
    "pad", "size", "cut", "delay", "hold", "copies", "port", "length", "piece", "close",
];

/// A reaction of a server.
#[derive(Clone, Default)]
pub(crate) struct Entry {
    /// The queries that it matches.
    matches: Words,
    /// Modifications of its message.
    pub(crate) adjust: Words,
    code: Option<usize>,
    flags: Vec<String>,
    /// The index of the section, and the words, of each record.
    records: Vec<(usize, Vec<String>)>,
    /// The whole message, if given.
    whole: Option<Vec<String>>,
    /// The number of queries that matched all keys but `nth`.
    seen: usize,
}

/// The part of a query that scripts refer to.
pub(crate) struct Question<'a> {
    message: &'a [u8],
    /// The end of the question section.
    end: usize,
    name: String,
    kind: &'static str,
}

impl<'a> Question<'a> {
    /// Parses a query of the client, which is assumed to be well-formed.
    pub(crate) fn read(message: &'a [u8]) -> Question<'a> {
        let (mut at, mut labels) = (12, Vec::new());
        while message[at] > 0 {
            let next = at + 1 + usize::from(message[at]);
            labels.push(String::from_utf8_lossy(&message[at + 1..next]).to_ascii_lowercase());
            at = next;
        }
        let kind = if message[at + 2] == 28 { "AAAA" } else { "A" };
        Question { message, end: at + 5, name: labels.join("."), kind }
    }

    /// The properties that entries may match.
    fn facts(&self, server: usize, over: &str) -> [(&'static str, String); 9] {
        let (header, options) = (&self.message[..12], &self.message[self.end..]);
        let number =
            |at: usize| options.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let edns = if header[11] > 0 { "yes" } else { "no" };
        [
            ("server", server.to_string()),
            ("over", over.to_owned()),
            ("qname", self.name.clone()),
            ("domain", self.name.split_once('.').map_or("", |(_, domain)| domain).to_owned()),
            ("qtype", self.kind.to_owned()),
            ("edns", edns.to_owned()),
            ("header", header[2..].iter().map(|byte| format!("{byte:02x}")).collect()),
            ("payload", number(3).to_string()),
            (
                "options",
                options.get(5..).unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect(),
            ),
        ]
    }
}

impl Entry {
    /// An entry for queries that match these words.
    pub(crate) fn matching(words: &[&str]) -> Entry {
        Entry { matches: pairs_of(words, &MATCHES), ..Entry::default() }
    }

    /// Whether it reacts to a query.
    pub(crate) fn fits(&mut self, server: usize, over: &str, question: &Question<'_>) -> bool {
        let facts = question.facts(server, over);
        if !facts.iter().all(|(key, fact)| self.matches.get(*key).is_none_or(|wanted| wanted == fact)) {
            return false;
        }
        self.seen += 1;
        self.matches.get("nth").is_none_or(|nth| range(nth).contains(&self.seen))
    }

    /// Adds a line that describes the message; returns whether it is one.
    pub(crate) fn take(&mut self, words: &[&str]) -> bool {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match words {
            ["REPLY", code, flags @ ..] => {
                let known = CODES.iter().position(|known| known == code);
                (self.code, self.flags) = (Some(known.unwrap()), owned(flags));
            }
            ["ADJUST", rest @ ..] => self.adjust.extend(pairs_of(rest, &ADJUSTMENTS)),
            ["MESSAGE", rest @ ..] => self.whole = Some(owned(rest)),
            ["RAW" | "OPT", rest @ ..] => {
                let named = rest.first().and_then(|word| SECTIONS.iter().position(|section| section == word));
                let usual = if words[0] == "RAW" { 0 } else { 2 };
                let rest = &rest[usize::from(named.is_some())..];
                self.records.push((named.unwrap_or(usual), [owned(&words[..1]), owned(rest)].concat()));
            }
            [section, rest @ ..] if SECTIONS.contains(section) => {
                let number = SECTIONS.iter().position(|known| known == section).unwrap();
                self.records.push((number, owned(rest)));
            }
            _ => return false,
        }
        true
    }

    /// Its message; `None` for a silent entry.
    pub(crate) fn message(&self, question: &Question<'_>) -> Option<Vec<u8>> {
        let mut message = match &self.whole {
            Some(words) => words.iter().flat_map(|word| part(word, question)).collect(),
            None => self.composed(question)?,
        };
        match self.adjust.get("id").map(String::as_str) {
            Some("wrong") => message[1] ^= 0x55,
            Some("next") => message[1] = message[1].wrapping_add(1),
            _ => (),
        }
        message.resize(message.len() + self.number("pad", 0), 0);
        message.resize(self.number("size", message.len()), 0);
        message.truncate(self.number("cut", message.len()));
        Some(message)
    }

    /// A message made of header, question and records.
    fn composed(&self, question: &Question<'_>) -> Option<Vec<u8>> {
        let code = self.code?;
        let asked = self.question(question);
        let mut records = self.records.clone();
        if code > 15 && !records.iter().any(|(_, words)| words[0] == "OPT") {
            records.push((2, vec!["OPT".to_owned()]));
        }
        let mut header = question.message[..12].to_vec();
        let says = |flag: &str| u8::from(self.flags.iter().any(|said| said == flag));
        let lacks = |key: &str| self.adjust.get(key).is_some_and(|given| given == "no");
        header[2] |= says("AA") << 2 | says("TC") << 1 | (self.number("opcode", 0) as u8) << 3;
        header[2] |= if lacks("qr") { 0 } else { 0x80 };
        header[3] = if lacks("ra") { 0 } else { 0x80 };
        header[3] |= says("Z") << 6 | says("AD") << 5 | says("CD") << 4 | (code & 15) as u8;
        let size = asked.len() / (question.end - 12).max(1);
        let of = |section: usize| records.iter().filter(|(other, _)| *other == section).count();
        let counts = [size.max(usize::from(!asked.is_empty())), of(0), of(1), of(2)];
        for (n, key) in ["qdcount", "ancount", "nscount", "arcount"].iter().enumerate() {
            let count = self.number(key, counts[n]) as u16;
            header[4 + 2 * n..6 + 2 * n].copy_from_slice(&count.to_be_bytes());
        }
        let mut message = [header, asked].concat();
        for section in 0..SECTIONS.len() {
            for (_, words) in records.iter().filter(|(other, _)| *other == section) {
                message.extend(bytes_of(words, code));
            }
        }
        Some(message)
    }

    /// The question section of its message.
    fn question(&self, question: &Question<'_>) -> Vec<u8> {
        let mut asked = question.message[12..question.end].to_vec();
        let (name, end) = (asked.len() - 4, asked.len());
        let cases: fn(&mut u8) = match self.adjust.get("case").map(String::as_str) {
            Some("swapped") => |byte| *byte ^= 32 * u8::from(byte.is_ascii_alphabetic()),
            Some("upper") => |byte| byte.make_ascii_uppercase(),
            Some("lower") => |byte| byte.make_ascii_lowercase(),
            _ => |_| (),
        };
        asked[..name].iter_mut().for_each(cases);
        match self.adjust.get("question").map(String::as_str) {
            Some("other") => asked[1] ^= 1,
            Some("type") => asked[end - 3] ^= 1 ^ 28,
            Some("class") => asked[end - 1] = 3,
            Some("below") => drop(asked.splice(..0, [1, b'x'])),
            Some("above") => drop(asked.drain(..=usize::from(asked[0]))),
            Some("none") => asked.clear(),
            Some("twice") => asked.extend_from_within(..),
            _ => (),
        }
        asked
    }

    /// A number of `ADJUST`.
    pub(crate) fn number(&self, key: &str, default: usize) -> usize {
        self.adjust.get(key).map_or(default, |value| value.parse().unwrap())
    }
}

/// `3` or `1..9`.
fn range(text: &str) -> RangeInclusive<usize> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    first.parse().unwrap()..=last.parse().unwrap()
}

/// A part of a message in bytes: `id`, `question`, or hexadecimal digits.
fn part(word: &str, question: &Question<'_>) -> Vec<u8> {
    match word {
        "id" => question.message[..2].to_vec(),
        "question" => question.message[12..question.end].to_vec(),
        hex => bytes(hex),
    }
}

/// Parses `key=value` words, with these keys.
pub(crate) fn pairs_of(words: &[&str], known: &[&str]) -> Words {
    let pair = |word: &&str| {
        let (key, value) = word.split_once('=').unwrap();
        assert!(known.contains(&key), "{key} is none of {known:?}");
        (key.into(), value.into())
    };
    words.iter().map(pair).collect()
}
