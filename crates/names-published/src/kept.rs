//! Shared by the published designs: a compact answer, and memory accounting.

use std::net::Ipv4Addr;

use lycosa_names::cache::{Addresses, Answer, FIRST_PAUSE, LAST_PAUSE, Resolution, Trouble, pause};

/// Maximum seconds that NXDOMAIN and NODATA are cached (RFC 2308 section 5: one to three hours).
const LONGEST_NEGATIVE: u32 = 3 * 3600;

/// How long a resolution without addresses is cached, in seconds: its TTL, or the back-off of a failure.
pub(crate) fn negative_ttl(resolution: &Resolution) -> u32 {
    match resolution.answer {
        Answer::Failed { attempts, .. } => pause(attempts, FIRST_PAUSE, LAST_PAUSE),
        Answer::Addresses(_) | Answer::NxDomain | Answer::NoData | Answer::Negative => {
            resolution.ttl.min(LONGEST_NEGATIVE)
        }
    }
}

/// An answer in 16 bytes; more only for several addresses or IPv6.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// A single IPv4 address, as most names have.
    One(Ipv4Addr),
    /// Several addresses, or IPv6.
    Several(Box<Addresses>),
    /// The name does not exist.
    NxDomain,
    /// The name has no address.
    NoData,
    /// A failure, with the number of failures in a row.
    Failed(Trouble, u8),
}

impl Kept {
    /// Converts an answer.
    pub(crate) fn new(answer: &Answer) -> Self {
        match answer {
            Answer::Addresses(addresses) => match (addresses.v4.as_slice(), addresses.v6.as_slice()) {
                ([], []) => Kept::NoData,
                ([address], []) => Kept::One(*address),
                _ => Kept::Several(Box::new(addresses.clone())),
            },
            Answer::NxDomain => Kept::NxDomain,
            Answer::NoData | Answer::Negative => Kept::NoData,
            Answer::Failed { trouble, attempts } => Kept::Failed(*trouble, *attempts),
        }
    }

    /// Converts back to an answer.
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Kept::One(address) => Answer::Addresses(Addresses { v4: vec![*address], v6: Vec::new() }),
            Kept::Several(addresses) => Answer::Addresses(Addresses::clone(addresses)),
            Kept::NxDomain => Answer::NxDomain,
            Kept::NoData => Answer::NoData,
            Kept::Failed(trouble, attempts) => Answer::Failed { trouble: *trouble, attempts: *attempts },
        }
    }

    /// Number of failures in a row.
    pub(crate) fn failures(&self) -> u8 {
        match self {
            Kept::Failed(_, attempts) => *attempts,
            Kept::One(_) | Kept::Several(_) | Kept::NxDomain | Kept::NoData => 0,
        }
    }

    /// Heap memory in bytes.
    pub(crate) fn heap(&self) -> usize {
        match self {
            Kept::Several(addresses) => {
                heap(size_of::<Addresses>())
                    + heap(addresses.v4.capacity() * 4)
                    + heap(addresses.v6.capacity() * 16)
            }
            _ => 0,
        }
    }
}

/// Memory of an allocation: glibc's malloc on 64 bits adds 8 bytes, rounds up to 16 and uses at least 32.
pub(crate) fn heap(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_from_its_little_memory() {
        let address = |last| Ipv4Addr::new(192, 0, 2, last);
        for v4 in [vec![address(1)], vec![address(1), address(2)]] {
            let answer = Answer::Addresses(Addresses { v4, v6: Vec::new() });
            assert_eq!(Kept::new(&answer).answer(), answer);
        }
        for answer in [Answer::NxDomain, Answer::NoData] {
            assert_eq!(Kept::new(&answer).answer(), answer);
        }
    }

    #[test]
    fn a_failure_is_kept_longer_each_time_and_five_minutes_at_most() {
        let after = |attempts| {
            let answer = Answer::Failed { trouble: Trouble::TimeOut, attempts };
            assert_eq!(Kept::new(&answer).answer(), answer);
            negative_ttl(&Resolution { answer, ttl: 86_400, took: 5_000 })
        };
        assert_eq!([0, 1, 2, 3, 6, 7, 255].map(after), [1, 1, 2, 4, 32, 64, 300]);
        assert_eq!(negative_ttl(&Resolution { answer: Answer::NxDomain, ttl: 60, took: 5 }), 60);
        assert_eq!(negative_ttl(&Resolution { answer: Answer::NoData, ttl: 86_400, took: 5 }), 10_800);
    }
}
