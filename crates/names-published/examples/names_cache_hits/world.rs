//! A simulated DNS: what a name resolves to is a function of the name.

use std::net::Ipv4Addr;

use lycosa_names::cache::{Addresses, Answer, Resolution, Trouble};

/// Cumulative distribution of TTLs: 6.26 million names seen by OpenDNS in 2012
/// (00f.net/2012/05/10/distribution-of-dns-ttls), beyond an hour by its peaks at four hours and a day.
const TTLS: [(u32, f64); 6] =
    [(60, 0.098), (120, 0.163), (300, 0.399), (3_600, 0.701), (14_400, 0.8), (86_400, 1.0)];

/// Share of names that do not exist.
const ABSENT: f64 = 0.04;
/// Share of the others that are not answered in time.
const SILENT: f64 = 0.02;

/// What a resolver learns about a name.
pub(crate) fn resolution(name: &str) -> Resolution {
    let mut seed = name.bytes().fold(7, |hash, byte| mix(hash ^ u64::from(byte)));
    let mut next = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        unit(mix(seed))
    };
    let share = next();
    let ttl = TTLS.iter().find(|(_, at_most)| share <= *at_most).map_or(86_400, |(ttl, _)| *ttl);
    // Lognormal: median 60 ms, sigma 1.1, so a mean of 110 ms.
    let normal = (-2.0 * (1.0 - next()).ln()).sqrt() * (std::f64::consts::TAU * next()).cos();
    let took = (60.0 * (1.1 * normal).exp()) as u32;
    let kind = next();
    if kind < ABSENT {
        return Resolution { answer: Answer::NxDomain, ttl: 900, took };
    }
    if kind < ABSENT + SILENT {
        return Resolution {
            answer: Answer::Failed { trouble: Trouble::TimeOut, attempts: 1 },
            ttl: 0,
            took: 5_000,
        };
    }
    let address = Ipv4Addr::from((next() * f64::from(u32::MAX)) as u32);
    Resolution { answer: Answer::Addresses(Addresses { v4: vec![address], v6: Vec::new() }), ttl, took }
}

/// The address that a name resolves to, if any.
pub(crate) fn address(name: &str) -> Option<Ipv4Addr> {
    match resolution(name).answer {
        Answer::Addresses(addresses) => addresses.v4.first().copied(),
        _ => None,
    }
}

/// Whether a cache's answer is correct for a name with this address or none.
pub(crate) fn is_right(answer: &Answer, address: Option<Ipv4Addr>) -> bool {
    match answer {
        Answer::Addresses(found) => found.v4.as_slice() == address.as_slice() && found.v6.is_empty(),
        _ => address.is_none(),
    }
}

/// Spreads a number over all bits (splitmix64).
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A number from 0 to 1 out of random bits.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
