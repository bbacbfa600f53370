//! What the designs that keep whole names have in common: an answer in little memory, its class, what memory costs.

use std::net::{IpAddr, Ipv4Addr};

use super::{Addresses, Answer, Class, MAX_ADDRESSES, Resolution, Trouble};

/// From how many milliseconds on a name counts as slow, unless told otherwise: servers that answer take 130 ms in the
/// mean (Googlebot's, as Google Public DNS tells), and 1 to 2 % of their answers take longer than this.
pub const SLOW: u32 = 500;

/// The pause after a first failure that says nothing about the name, in seconds; each further one in a row doubles it
/// (RFC 9520 section 3.2: at least 1 s).
pub const FIRST_PAUSE: u32 = 1;

/// The longest such pause, in seconds (RFC 9520 section 3.2).
pub const LAST_PAUSE: u32 = 300;

/// The longest that "no such name" and "no data" are kept, in seconds (RFC 2308 section 5: one to three hours).
const LONGEST_NEGATIVE: u32 = 3 * 3600;

impl Addresses {
    /// Sorts addresses, drops repeats, and cuts off what is more than [`MAX_ADDRESSES`] of a family.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let mut found = Addresses::default();
        for address in addresses {
            match address {
                IpAddr::V4(address) => found.v4.push(address),
                IpAddr::V6(address) => found.v6.push(address),
            }
        }
        found.v4.sort_unstable();
        found.v4.dedup();
        found.v4.truncate(MAX_ADDRESSES);
        found.v6.sort_unstable();
        found.v6.dedup();
        found.v6.truncate(MAX_ADDRESSES);
        found
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }
}

impl Resolution {
    /// Its class; `slow` is the first time, in milliseconds, that is no longer quick.
    pub fn class(&self, slow: u32) -> Class {
        match &self.answer {
            Answer::Addresses(_) if self.took < slow => Class::Fast,
            Answer::Addresses(_) => Class::Slow,
            Answer::NxDomain | Answer::NoData | Answer::Negative | Answer::Failed { .. } => Class::Failed,
        }
    }
}

/// How long a resolution is kept that has no address, in seconds: its TTL, or the back-off of a failure.
pub(super) fn negative_ttl(resolution: &Resolution) -> u32 {
    match resolution.answer {
        Answer::Failed { attempts, .. } => pause(attempts, FIRST_PAUSE, LAST_PAUSE),
        Answer::Addresses(_) | Answer::NxDomain | Answer::NoData | Answer::Negative => {
            resolution.ttl.min(LONGEST_NEGATIVE)
        }
    }
}

/// The pause after so many failures in a row, at least one: doubled each time.
pub(super) fn pause(attempts: u8, first: u32, last: u32) -> u32 {
    first.saturating_mul(1_u32.checked_shl(u32::from(attempts.max(1)) - 1).unwrap_or(u32::MAX)).min(last)
}

/// An answer in 16 bytes, and more only for several addresses.
#[derive(Clone, Debug)]
pub(super) enum Kept {
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
    pub(super) fn new(answer: &Answer) -> Self {
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
    pub(super) fn answer(&self) -> Answer {
        match self {
            Kept::One(address) => Answer::Addresses(Addresses { v4: vec![*address], v6: Vec::new() }),
            Kept::Several(addresses) => Answer::Addresses(Addresses::clone(addresses)),
            Kept::NxDomain => Answer::NxDomain,
            Kept::NoData => Answer::NoData,
            Kept::Failed(trouble, attempts) => Answer::Failed { trouble: *trouble, attempts: *attempts },
        }
    }

    /// How many failures in a row.
    pub(super) fn failures(&self) -> u8 {
        match self {
            Kept::Failed(_, attempts) => *attempts,
            Kept::One(_) | Kept::Several(_) | Kept::NxDomain | Kept::NoData => 0,
        }
    }

    /// Bytes beyond its own place.
    pub(super) fn heap(&self) -> usize {
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
pub(super) fn heap(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::compact::CompactSettings;

    #[test]
    fn addresses_are_sorted_without_repeats_and_four_of_a_family_at_most() {
        let last = [9, 3, 3, 7, 1, 5, 9].map(|last| IpAddr::from([192, 0, 2, last]));
        let v6: IpAddr = "2001:db8::1".parse().unwrap();
        let found = Addresses::new(last.into_iter().chain([v6, v6]));
        assert_eq!(found.v4.iter().map(|address| address.octets()[3]).collect::<Vec<_>>(), [1, 3, 5, 7]);
        assert_eq!(found.v6.len(), 1);
        assert_eq!(Kept::new(&Answer::Addresses(found.clone())).answer(), Answer::Addresses(found));
        assert!(Addresses::new([]).is_empty());
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

    #[test]
    fn the_designs_have_their_numbers_in_common() {
        let compact = CompactSettings::default();
        let [first, last, slow] = [compact.first_pause, compact.last_pause, compact.slow];
        assert_eq!([first, last, slow], [FIRST_PAUSE, LAST_PAUSE, SLOW]);
    }

    #[test]
    fn a_name_is_classed_by_success_and_time() {
        let class = |answer, took| Resolution { answer, ttl: 60, took }.class(SLOW);
        let found = || Answer::Addresses(Addresses::new([IpAddr::from([192, 0, 2, 1])]));
        assert_eq!([class(found(), 499), class(found(), 500)], [Class::Fast, Class::Slow]);
        assert_eq!([class(Answer::NxDomain, 1), class(Answer::NoData, 1)], [Class::Failed; 2]);
    }
}
