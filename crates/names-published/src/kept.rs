//! What the published designs have in common: an answer in little memory, and what memory costs.

use std::net::Ipv4Addr;

use lycosa_names::cache::{Addresses, Answer, FIRST_PAUSE, LAST_PAUSE, Resolution, Trouble, pause};

/// The longest that "no such name" and "no data" are kept, in seconds (RFC 2308 section 5: one to three hours).
const LONGEST_NEGATIVE: u32 = 3 * 3600;

/// How long a resolution is kept that has no address, in seconds: its TTL, or the back-off of a failure.
pub(crate) fn negative_ttl(resolution: &Resolution) -> u32 {
    match resolution.answer {
        Answer::Failed { attempts, .. } => pause(attempts, FIRST_PAUSE, LAST_PAUSE),
        Answer::Addresses(_) | Answer::NxDomain | Answer::NoData | Answer::Negative => {
            resolution.ttl.min(LONGEST_NEGATIVE)
        }
    }
}

/// An answer in 16 bytes, and more only for several addresses.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// A lone IPv4 address, as most names have.
    One(Ipv4Addr),
    /// Several, or IPv6.
    Several(Box<Addresses>),
    /// No such name.
    NxDomain,
    /// No address.
    NoData,
    /// A failure.
    Failed(Trouble, u8),
}

impl Kept {
    /// Keeps an answer.
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

    /// The answer.
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Kept::One(address) => Answer::Addresses(Addresses { v4: vec![*address], v6: Vec::new() }),
            Kept::Several(addresses) => Answer::Addresses(Addresses::clone(addresses)),
            Kept::NxDomain => Answer::NxDomain,
            Kept::NoData => Answer::NoData,
            Kept::Failed(trouble, attempts) => Answer::Failed { trouble: *trouble, attempts: *attempts },
        }
    }

    /// How many failures in a row.
    pub(crate) fn failures(&self) -> u8 {
        match self {
            Kept::Failed(_, attempts) => *attempts,
            Kept::One(_) | Kept::Several(_) | Kept::NxDomain | Kept::NoData => 0,
        }
    }

    /// Bytes beyond its own place.
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

/// What an allocation takes: glibc's malloc on 64 bits adds 8 bytes, rounds up to 16 and gives no less than 32.
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
