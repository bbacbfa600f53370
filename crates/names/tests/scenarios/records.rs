//! Records of a scenario in wire format.

use std::net::IpAddr;

use super::message::pairs_of;

/// Bytes of hexadecimal digits; `20*61` is twenty times the byte 61.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    if let Some((count, hex)) = hex.split_once('*') {
        return bytes(hex).repeat(count.parse().unwrap());
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The wire form of a name; `@` is a pointer to the queried name.
fn wire(name: &str) -> Vec<u8> {
    if name == "@" {
        return vec![0xc0, 12];
    }
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

/// The bytes of a record's words, in a message with this response code.
pub(crate) fn bytes_of(words: &[String], code: usize) -> Vec<u8> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["RAW", rest @ ..] => rest.iter().flat_map(|hex| bytes(hex)).collect(),
        ["OPT", rest @ ..] => options(rest, code),
        [owner, ttl, class @ ("CH" | "HS" | "NONE" | "ANY"), rest @ ..] => record(owner, ttl, class, rest),
        [owner, ttl, rest @ ..] => record(owner, ttl, "IN", rest),
        other => panic!("{other:?} is no record"),
    }
}

/// An OPT record (RFC 6891 section 6.1.2).
fn options(words: &[&str], code: usize) -> Vec<u8> {
    let (pairs, data): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.contains('='));
    let pairs = pairs_of(&pairs, &["payload", "version", "owner", "do"]);
    let number = |key: &str, usual: u16| pairs.get(key).map_or(usual, |value| value.parse().unwrap());
    let data: Vec<u8> = data.iter().flat_map(|hex| bytes(hex)).collect();
    let [high, low] = number("payload", 1_232).to_be_bytes();
    let head = [0, 41, high, low, (code >> 4) as u8, number("version", 0) as u8];
    let owner = wire(pairs.get("owner").map_or(".", String::as_str));
    let do_bit = if number("do", 0) > 0 { 0x80 } else { 0 };
    [&owner[..], &head, &[do_bit, 0], &(data.len() as u16).to_be_bytes(), &data].concat()
}

/// A record.
fn record(owner: &str, ttl: &str, class: &str, rest: &[&str]) -> Vec<u8> {
    let (kind, data) = match rest {
        ["A" | "AAAA", data] => match data.parse().unwrap() {
            IpAddr::V4(address) => (1_u16, address.octets().to_vec()),
            IpAddr::V6(address) => (28, address.octets().to_vec()),
        },
        ["NS", data] => (2, wire(data)),
        ["CNAME", data] => (5, wire(data)),
        ["SOA", data, minimum @ ..] => {
            let minimum: u32 = minimum.first().map_or(0, |seconds| seconds.parse().unwrap());
            (6, [wire(data), wire(data), vec![0; 16], minimum.to_be_bytes().to_vec()].concat())
        }
        ["TXT", text] => (16, [&[text.len() as u8], text.as_bytes()].concat()),
        ["DNAME", data] => (39, wire(data)),
        [number, data @ ..] if number.starts_with("TYPE") => {
            (number[4..].parse().unwrap(), data.iter().flat_map(|hex| bytes(hex)).collect())
        }
        other => panic!("{other:?} is no type and data that scripts know"),
    };
    let class = match class {
        "IN" => 1_u16,
        "CH" => 3,
        "HS" => 4,
        "NONE" => 254,
        _ => 255,
    };
    let ttl = ttl.parse::<u32>().unwrap();
    let head = [&kind.to_be_bytes()[..], &class.to_be_bytes(), &ttl.to_be_bytes()].concat();
    [&wire(owner)[..], &head, &(data.len() as u16).to_be_bytes(), &data].concat()
}
