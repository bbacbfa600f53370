//! Replies as most are: only records that were asked for, each under the name that was asked for. They are read in one pass; all others
//! by `domain`, by whose reading the tests measure this one.

use std::net::IpAddr;

use domain::base::iana::{Class, Rtype};

use super::{Found, HEADER, Kind, Reply, skip_uncompressed_name, sound_ttl};

/// How an owner is written that is the name of the question (RFC 1035 section 4.1.4): a reference to where that one begins.
const OWNER: [u8; 2] = [0xc0, HEADER as u8];

/// The addresses of a reply; none where it has anything else in its answer section, or nothing, or cannot be read.
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
