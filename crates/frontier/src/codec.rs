//! Numbers and texts as bytes: the one encoding of packed queues and snapshots. Numbers are LEB128 varints,
//! texts and bytes have their length before them.
//!
//! Guarantee: any bytes decode to a value or to `None`, in bounded memory; never a panic.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr};

/// The longest text or byte string that is believed: a length beyond it is damage, not data.
const MAX_BYTES: u64 = 1 << 32;

/// The greatest count that is believed: no crawl comes to it, and sums of some of them are numbers.
pub(crate) const MAX_COUNT: u64 = 1 << 60;

/// Appends a number.
pub(crate) fn put_number(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Appends bytes with their length.
pub(crate) fn put_bytes(into: &mut Vec<u8>, bytes: &[u8]) {
    put_number(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

/// Takes a number from the front.
pub(crate) fn number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes a number of 32 bits from the front.
pub(crate) fn small(from: &mut &[u8]) -> Option<u32> {
    number(from)?.try_into().ok()
}

/// Takes a count from the front.
pub(crate) fn count(from: &mut &[u8]) -> Option<u64> {
    number(from).filter(|count| *count <= MAX_COUNT)
}

/// Takes bytes from the front.
pub(crate) fn bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}

/// Takes text from the front.
pub(crate) fn text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(bytes(from)?).ok()
}

/// Appends an address, IPv4 as mapped to IPv6.
pub(crate) fn put_address(into: &mut Vec<u8>, address: IpAddr) {
    let address = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    into.extend_from_slice(&address.octets());
}

/// Takes an address from the front.
pub(crate) fn address(from: &mut &[u8]) -> Option<IpAddr> {
    let (octets, rest) = from.split_first_chunk::<16>()?;
    *from = rest;
    Some(Ipv6Addr::from(*octets).to_canonical())
}

/// Writes one record of a snapshot: its length, then what `fill` put into `scratch`.
pub(crate) fn write_record(
    into: &mut dyn Write,
    scratch: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>),
) -> io::Result<()> {
    scratch.clear();
    fill(scratch);
    into.write_all(&(scratch.len() as u64).to_le_bytes())?;
    into.write_all(scratch)
}

/// Reads one record of a snapshot into `scratch`.
pub(crate) fn read_record(from: &mut dyn Read, scratch: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_BYTES {
        return Err(damaged());
    }
    scratch.clear();
    // Grows as bytes arrive: a length that lies costs no memory.
    let mut part = from.take(length);
    if part.read_to_end(scratch)? as u64 == length { Ok(()) } else { Err(damaged()) }
}

/// The error for a snapshot that does not decode.
pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the frontier's snapshot is damaged")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_is_taken(numbers: Vec<u64>, texts: Vec<String>) {
            let mut packed = Vec::new();
            numbers.iter().for_each(|n| put_number(&mut packed, *n));
            texts.iter().for_each(|t| put_bytes(&mut packed, t.as_bytes()));
            let mut rest = &packed[..];
            for n in numbers {
                prop_assert_eq!(number(&mut rest), Some(n));
            }
            for t in &texts {
                prop_assert_eq!(text(&mut rest), Some(t.as_str()));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_give_something_or_nothing(garbage: Vec<u8>) {
            let mut rest = &garbage[..];
            while !rest.is_empty() && (number(&mut rest).is_some() && text(&mut rest).is_some()) {}
            let _ = read_record(&mut &garbage[..], &mut Vec::new());
        }
    }
}
