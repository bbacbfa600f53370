//! The fast path for the most common replies: only records of the queried type, each under the queried name.
//! One pass reads them; `domain` parses all others, and the tests compare both results.

use std::net::IpAddr;

use domain::base::iana::{Class, Rtype};

use super::{Found, HEADER, Kind, Reply, skip_uncompressed_name, sound_ttl};

/// An owner name that is a compression pointer to the question's name (RFC 1035 section 4.1.4).
const OWNER: [u8; 2] = [0xc0, HEADER as u8];

/// The addresses of a reply; `None` if its answer section has any other record, is empty, or is malformed.
pub(super) fn addresses(message: &[u8], kind: Kind) -> Option<Reply> {
    let (rtype, length) = match kind {
        Kind::A => (Rtype::A, 4),
        Kind::Aaaa => (Rtype::AAAA, 16),
        Kind::Packet => return None,
    };
    let count = match message.get(4..8)? {
        [0, 1, high, low] => u16::from_be_bytes([*high, *low]),
        _ => return None,
    };
    let (mut addresses, mut ttl) = (Vec::with_capacity(usize::from(count.min(4))), u32::MAX);
    let mut rest = message.get(skip_uncompressed_name(message, HEADER)? + 4..)?;
    for _ in 0..count {
        let ([o1, o2, t1, t2, c1, c2, seconds @ .., l1, l2], data) = rest.split_first_chunk::<12>()?;
        let head = [[*o1, *o2], [*t1, *t2], [*c1, *c2], [*l1, *l2]];
        let due = [OWNER, rtype.to_int().to_be_bytes(), Class::IN.to_int().to_be_bytes(), [0, length]];
        if head != due {
            return None;
        }
        let (data, behind) = data.split_at_checked(length.into())?;
        addresses.push(match <[u8; 4]>::try_from(data) {
            Ok(four) => IpAddr::from(four),
            Err(_) => IpAddr::from(<[u8; 16]>::try_from(data).ok()?),
        });
        ttl = ttl.min(sound_ttl(u32::from_be_bytes(*seconds)));
        rest = behind;
    }
    (count > 0).then_some(Reply::Addresses(Found { addresses, ttl }))
}
