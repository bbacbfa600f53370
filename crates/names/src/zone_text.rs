//! Formats the data of records as zone-file text (RFC 1035 section 5.1).
//!
//! Guarantee: whatever bytes a record has, its text is words separated by one space, and quotes, comments and
//! parentheses begin and end only where the record type has them.

use domain::base::iana::IpseckeyGatewayType;
use domain::base::rdata::UnknownRecordData;
use domain::base::zonefile_fmt::{DisplayKind, ZonefileFmt as _};
use domain::base::{ParsedName, ParsedRecord};
use domain::dep::octseq::Octets;
use domain::rdata::AllRecordData;
use domain::rdata::svcb::SvcParams;

/// Characters with a meaning in a zone file, besides space, dot and backslash, which the library escapes.
const SPECIAL: [char; 6] = ['"', ';', '(', ')', '@', '$'];

/// A name without the trailing dot; the root is `.`.
pub(crate) fn owner(name: &ParsedName<&[u8]>) -> String {
    if name.is_root() { ".".to_owned() } else { escaped(&name.to_string()) }
}

/// Escapes special characters in unquoted text: a name, or data that are names, numbers and the like.
fn escaped(text: &str) -> String {
    let (mut escaped, mut letters) = (String::with_capacity(text.len()), text.chars());
    while let Some(letter) = letters.next() {
        if SPECIAL.contains(&letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
        if letter == '\\' {
            escaped.extend(letters.next());
        }
    }
    escaped
}

/// The data of a record: as words if the type is known; otherwise, or if a word would be empty or missing, as
/// bytes. `None` if they are malformed.
pub(crate) fn data(record: &ParsedRecord<'_, [u8]>) -> Option<String> {
    let known = record.to_any_record::<AllRecordData<_, ParsedName<_>>>().ok()?;
    let text = known.data().display_zonefile(DisplayKind::Simple).to_string();
    let written = match known.data() {
        AllRecordData::Txt(_)
        | AllRecordData::Hinfo(_)
        | AllRecordData::Caa(_)
        | AllRecordData::Unknown(_) => Some(text),
        AllRecordData::Naptr(_) => {
            let (strings, name) = text.split_at(last_word(&text));
            Some(strings.to_owned() + &escaped(name))
        }
        AllRecordData::Svcb(data) => with_parameters(data.params(), &text),
        AllRecordData::Https(data) => with_parameters(data.params(), &text),
        // The library omits the dot that means no gateway (RFC 4025 section 3.2).
        AllRecordData::Ipseckey(key) if key.gateway_type() == IpseckeyGatewayType::NONE => None,
        _ => Some(escaped(&text)),
    };
    if let Some(text) = written.filter(|text| !has_empty_word(text)) {
        return Some(text);
    }
    let bytes = record.to_record::<UnknownRecordData<_>>().ok()??;
    Some(bytes.data().display_zonefile(DisplayKind::Simple).to_string())
}

/// The text of a service record (RFC 9460), with the key that the library names differently; `None` if a value
/// has bytes that need escapes, which the library does not write.
fn with_parameters<O: Octets + ?Sized>(parameters: &SvcParams<O>, text: &str) -> Option<String> {
    let (start, values) = text.split_at(first_words(text));
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/:+{}?=&%".contains(byte);
    let has_plain_names =
        parameters.alpn().is_none_or(|names| names.iter().all(|name| name.as_ref().iter().all(is_plain)));
    let has_plain_path = parameters.dohpath().is_none_or(|path| path.as_slice().iter().all(is_plain));
    let is_text = values.bytes().all(|byte| is_plain(&byte) || b" \\,".contains(&byte));
    let words = values.split(' ').map(|word| if word == "nodefaultalpn" { "no-default-alpn" } else { word });
    (has_plain_names && has_plain_path && is_text)
        .then(|| escaped(start) + &words.collect::<Vec<_>>().join(" "))
}

/// The offsets of unescaped spaces, in a text without quotes.
fn blanks(text: &str) -> impl Iterator<Item = usize> {
    let mut is_escaped = false;
    text.bytes().enumerate().filter_map(move |(place, byte)| {
        let is_blank = byte == b' ' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_blank.then_some(place)
    })
}

/// The offset of the last word.
fn last_word(text: &str) -> usize {
    blanks(text).last().map_or(0, |blank| blank + 1)
}

/// The offset after the first two words.
fn first_words(text: &str) -> usize {
    blanks(text).nth(1).unwrap_or(text.len())
}

/// Whether a text has no word, or an empty word without quotes: zone files cannot express an empty tag or key.
fn has_empty_word(text: &str) -> bool {
    let (mut bytes, mut is_quoted, mut is_word) = (text.bytes(), false, false);
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' if !is_quoted && !is_word => return true,
            b' ' if !is_quoted => is_word = false,
            _ => {
                is_word = true;
                is_quoted ^= byte == b'"';
                if byte == b'\\' {
                    bytes.next();
                }
            }
        }
    }
    !is_word
}

#[cfg(test)]
mod tests {
    use domain::base::iana::Rtype;
    use domain::base::{Message, MessageBuilder, Name};

    use super::*;

    /// The text of a record with these data.
    fn text(rtype: Rtype, bytes: &[u8]) -> Option<String> {
        let mut builder = MessageBuilder::new_vec().question();
        let name: Name<Vec<u8>> = "www.example".parse().unwrap();
        builder.push((&name, rtype)).unwrap();
        let mut builder = builder.answer();
        builder.push((name, 1, UnknownRecordData::from_octets(rtype, bytes).unwrap())).unwrap();
        let message = builder.finish();
        let record = Message::from_slice(&message).unwrap().answer().unwrap().next().unwrap().unwrap();
        data(&record)
    }

    #[test]
    fn data_that_words_cannot_tell_are_bytes() {
        let cases = [
            (Rtype::TXT, &b""[..], r"\# 0"),
            (Rtype::TXT, b"\x03a  \x00", r#""a  " """#),
            (Rtype::CAA, b"\x00\x00x", r"\# 3 00 00 78"),
            (Rtype::DS, b"\x00\x01\x08\x02", r"\# 4 00 01 08 02"),
            (Rtype::IPSECKEY, b"\x0a\x00\x02k", r"\# 4 0a 00 02 6b"),
            (Rtype::IPSECKEY, b"\x0a\x01\x02\xc0\x00\x02\x01k", "10 1 2 192.0.2.1 aw=="),
            (Rtype::CAA, b"\x00\x05issue", r#"0 issue """#),
        ];
        for (rtype, bytes, expected) in cases {
            assert_eq!(text(rtype, bytes).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_name_opens_no_quotes_and_begins_no_comment() {
        let cases = [
            (Rtype::CNAME, &b"\x04\";()\x02@$\x00"[..], r#"\"\;\(\).\@\$."#),
            (Rtype::MX, b"\x00\x05\x03a b\x02\\\"\x00", r#"5 a\ b.\\\"."#),
            (Rtype::NAPTR, b"\x00\x01\x00\x02\x01u\x01;\x02(\"\x02;\"\x00", r#"1 2 "u" ";" "(\"" \;\"."#),
            (Rtype::HTTPS, b"\x00\x01\x02;\"\x00\x00\x01\x00\x03\x02h2", r#"1 \;\". alpn=h2"#),
            (
                Rtype::HTTPS,
                b"\x00\x01\x00\x00\x01\x00\x03\x02h2\x00\x02\x00\x00",
                "1 . alpn=h2 no-default-alpn",
            ),
            (Rtype::HTTPS, b"\x00\x01\x00\x00\x01\x00\x03\x02\x1b;", r"\# 10 00 01 00 00 01 00 03 02 1b 3b"),
            (Rtype::SVCB, b"\x00\x01\x00\x00\x07\x00\x02/\xff", r"\# 9 00 01 00 00 07 00 02 2f ff"),
            (Rtype::SVCB, b"\x00\x01\x00\x00\x07\x00\x09/d{?dns}x", "1 . dohpath=/d{?dns}x"),
            (Rtype::TXT, b"\x02;\"", r#"";\"""#),
        ];
        for (rtype, bytes, expected) in cases {
            assert_eq!(text(rtype, bytes).as_deref(), Some(expected));
        }
    }
}
