//! A question for records of any type: what upstreams are queried for, and the key of the cached reply.

use std::fmt;
use std::net::IpAddr;

use domain::base::Name;
use domain::base::iana::Rtype;

use crate::host::HostName;

/// The DO flag of a key: signatures are wanted (RFC 3225).
const DNSSEC_OK: u8 = 0x80;

/// The CD flag of a key: answers that fail validation are wanted, too (RFC 4035 section 3.2.2).
const CHECKING_DISABLED: u8 = 0x10;

/// Bytes of type and flags.
const TAIL: usize = 3;

/// A name, a record type, and the DO and CD bits: everything that the answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketKey(Box<[u8]>);

impl PacketKey {
    /// The key of an uncompressed, complete name in wire format, with the root label. Letters may have any
    /// case.
    pub fn of_wire(name: &[u8], rtype: u16, dnssec_ok: bool, checking_disabled: bool) -> Self {
        let flags =
            if dnssec_ok { DNSSEC_OK } else { 0 } | if checking_disabled { CHECKING_DISABLED } else { 0 };
        let name = name.iter().map(u8::to_ascii_lowercase);
        PacketKey(name.chain(rtype.to_be_bytes()).chain([flags]).collect())
    }

    /// The key of a name as users write it: a host name in any script, or anything that RFC 1035 section 5.1
    /// can express; an IP address becomes its name in `in-addr.arpa` or `ip6.arpa`.
    ///
    /// # Errors
    ///
    /// Why the text is not a name, for users.
    pub fn of_text(text: &str, rtype: Rtype, dnssec_ok: bool) -> Result<Self, String> {
        let mut buffer = String::new();
        let reverse = text.parse::<IpAddr>().ok().map(reverse_name);
        let text = reverse.as_deref().unwrap_or(text);
        let normal = HostName::normalize(text, &mut buffer);
        let text = normal.as_ref().map_or(text, |name| name.as_str());
        let name: Name<Vec<u8>> = text.parse().map_err(|error| match &normal {
            Err(why) if !text.is_ascii() => why.to_string(),
            _ => format!("not a domain name: {error}"),
        })?;
        Ok(PacketKey::of_wire(name.as_slice(), rtype.to_int(), dnssec_ok, false))
    }

    /// The name in wire format, in lower case, with the root label.
    pub fn name(&self) -> &[u8] {
        &self.0[..self.0.len() - TAIL]
    }

    /// The last label of the name; empty for the root.
    pub(crate) fn top_label(&self) -> &[u8] {
        let (mut rest, mut top) = (self.name(), &[][..]);
        while let Some((&length, after)) = rest.split_first().filter(|(length, _)| **length > 0) {
            let Some((label, next)) = after.split_at_checked(length.into()) else { break };
            (top, rest) = (label, next);
        }
        top
    }

    /// The record type.
    pub fn rtype(&self) -> Rtype {
        let tail = self.0.last_chunk::<TAIL>().copied().unwrap_or_default();
        Rtype::from_int(u16::from_be_bytes([tail[0], tail[1]]))
    }

    /// Whether signatures are wanted.
    pub(crate) fn dnssec_ok(&self) -> bool {
        self.0.last().is_some_and(|flags| flags & DNSSEC_OK != 0)
    }

    /// Whether answers that fail validation are wanted.
    pub(crate) fn checking_disabled(&self) -> bool {
        self.0.last().is_some_and(|flags| flags & CHECKING_DISABLED != 0)
    }

    /// The name as text without the trailing dot; `.` for the root. Bytes that are not graphic ASCII, and dots
    /// and backslashes within labels, are escaped as decimal numbers (RFC 1035 section 5.1), so that each dot
    /// separates two labels.
    pub fn text(&self) -> String {
        let (mut text, mut rest) = (String::with_capacity(self.0.len()), self.name());
        while let Some((&length, after)) = rest.split_first().filter(|(length, _)| **length > 0) {
            let Some((label, next)) = after.split_at_checked(length.into()) else { break };
            if !text.is_empty() {
                text.push('.');
            }
            for &byte in label {
                match byte {
                    b'.' | b'\\' => text.push_str(&format!("\\{byte:03}")),
                    _ if byte.is_ascii_graphic() => text.push(byte.into()),
                    _ => text.push_str(&format!("\\{byte:03}")),
                }
            }
            rest = next;
        }
        if text.is_empty() { ".".to_owned() } else { text }
    }

    /// Bytes of the key.
    pub(crate) fn size(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for PacketKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.text(), self.rtype())
    }
}

/// The name under which an address has its PTR records (RFC 1035 section 3.5, RFC 3596 section 2.5).
fn reverse_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let nibbles = address.octets().into_iter().rev().flat_map(|byte| [byte & 0xf, byte >> 4]);
            nibbles.map(|nibble| format!("{nibble:x}.")).collect::<String>() + "ip6.arpa"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, rtype: Rtype) -> PacketKey {
        PacketKey::of_text(text, rtype, false).unwrap()
    }

    #[test]
    fn names_are_written_as_people_write_them() {
        assert_eq!(key("WWW.Example.com.", Rtype::MX).name(), b"\x03www\x07example\x03com\x00");
        assert_eq!(key("_dmarc.example.com", Rtype::TXT).text(), "_dmarc.example.com");
        assert_eq!(key("bücher.example", Rtype::HTTPS).text(), "xn--bcher-kva.example");
        assert_eq!(key("*.example", Rtype::TXT).name(), b"\x01*\x07example\x00");
        assert_eq!(key(".", Rtype::NS).name(), b"\x00");
        assert_eq!(key(r"a\.b.example", Rtype::TXT).name(), b"\x03a.b\x07example\x00");
        assert_eq!(key("www.example", Rtype::TXT).top_label(), b"example");
        assert_eq!(key(".", Rtype::NS).top_label(), b"");
    }

    #[test]
    fn an_address_stands_for_its_reverse_name() {
        assert_eq!(key("192.0.2.7", Rtype::PTR).text(), "7.2.0.192.in-addr.arpa");
        assert_eq!(
            key("2001:db8::1", Rtype::PTR).text(),
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
        );
    }

    #[test]
    fn what_is_no_name_is_told() {
        let long = "a".repeat(64);
        let wide = vec!["a".repeat(63); 5].join(".");
        for text in ["", "a..b", &long, &wide, r"a\300.example", "ü..example"] {
            let why = PacketKey::of_text(text, Rtype::MX, false).unwrap_err();
            assert!(!why.is_empty(), "{text}");
        }
    }

    #[test]
    fn keys_tell_types_and_flags_apart_but_not_the_case_of_letters() {
        let name = b"\x01A\x02bc\x00";
        let all: Vec<PacketKey> = [1, 28, 65]
            .into_iter()
            .flat_map(|rtype| {
                [(false, false), (true, false), (false, true), (true, true)]
                    .map(|(dnssec_ok, disabled)| PacketKey::of_wire(name, rtype, dnssec_ok, disabled))
            })
            .collect();
        for (place, one) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == one), Some(place));
            let again = PacketKey::of_wire(
                b"\x01a\x02BC\x00",
                one.rtype().to_int(),
                one.dnssec_ok(),
                one.checking_disabled(),
            );
            assert_eq!(&again, one);
        }
    }
}
