//! What all designs share: which addresses are stored, an answer's class, how long a failure pauses.

use std::net::IpAddr;

use super::{Addresses, Answer, Class, MAX_ADDRESSES, Resolution};

/// Milliseconds from which a name counts as slow, by default: servers that answer take 130 ms on average
/// (Googlebot's, according to Google Public DNS), and 1 to 2 % of their answers take longer than this.
pub const SLOW: u32 = 500;

/// The pause after a first resolution failure, in seconds; each further one in a row doubles it (RFC 9520
/// section 3.2: at least 1 s).
pub const FIRST_PAUSE: u32 = 1;

/// The longest such pause, in seconds (RFC 9520 section 3.2).
pub const LAST_PAUSE: u32 = 300;

impl Addresses {
    /// Sorts addresses, removes duplicates, and cuts off those beyond [`MAX_ADDRESSES`] of a family.
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
    /// Its class; resolutions of `slow` milliseconds or more are slow.
    pub fn class(&self, slow: u32) -> Class {
        match &self.answer {
            Answer::Addresses(_) if self.took < slow => Class::Fast,
            Answer::Addresses(_) => Class::Slow,
            Answer::NxDomain | Answer::NoData | Answer::Negative | Answer::Failed { .. } => Class::Failed,
        }
    }
}

/// The pause after so many failures in a row, in seconds: `first`, doubled by each further failure, at most
/// `last` (RFC 9520 section 3.2).
pub fn pause(attempts: u8, first: u32, last: u32) -> u32 {
    first.saturating_mul(1_u32.checked_shl(u32::from(attempts.max(1)) - 1).unwrap_or(u32::MAX)).min(last)
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
        assert!(Addresses::new([]).is_empty());
    }

    #[test]
    fn a_failure_pauses_longer_each_time_and_five_minutes_at_most() {
        assert_eq!(
            [0, 1, 2, 3, 6, 7, 255].map(|row| pause(row, FIRST_PAUSE, LAST_PAUSE)),
            [1, 1, 2, 4, 32, 64, 300]
        );
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
