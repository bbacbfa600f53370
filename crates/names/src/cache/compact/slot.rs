//! What a slot holds, bit by bit.
//!
//! | bits | field | meaning |
//! |---|---|---|
//! | 64 | verify | half of the keyed hash of the whole name |
//! | 32 | label | murmur3_32 of the registered domain less its top-level domain |
//! | 32 | value | a lone IPv4 address, a place in the address sets, or what else is known |
//! | 16 | expiry | minutes since 1970, modulo 2^16 |
//! | 12 | code of the top-level domain | 0: unknown |
//! | 4 | slow (1), both families known (1), weight (2) | |
//!
//! 160 bits, 20 bytes; the two bits that tell which kind of value it is are in the bucket's control word.
//!
//! Expiries compare as numbers on a circle of 45 days: an entry lives at most [`MAX_TTL`] and is swept away within as
//! much again, so that a difference never reaches half of the circle.

use super::super::{Class, Seconds, Trouble};
use crate::settings::Families;

/// The longest that an entry may live and the longest between two sweeps, in minutes: 11 days.
pub(super) const SPAN: u64 = 11 * 24 * 60;

/// The longest that an entry may live, in seconds.
pub(super) const MAX_TTL: u32 = SPAN as u32 * 60;

/// Cells of one size of address sets at most: 29 bits of a value.
pub(super) const MOST_CELLS: u64 = 1 << 29;

/// The highest weight.
pub(super) const MAX_WEIGHT: u32 = 3;

/// Which kind of value a slot has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// There is nothing in the slot.
    #[default]
    Empty,
    /// The value is an IPv4 address.
    Address,
    /// The value is a place in the address sets.
    Set,
    /// The value is a [`Remark`].
    Remark,
}

impl Kind {
    /// The kind with these two bits.
    pub(super) fn of(bits: u64) -> Self {
        [Kind::Empty, Kind::Address, Kind::Set, Kind::Remark][bits as usize & 3]
    }

    /// Whether a slot of this kind gives addresses.
    pub(super) fn has_addresses(self) -> bool {
        matches!(self, Kind::Address | Kind::Set)
    }
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    /// Which kind of value it is.
    pub(super) kind: Kind,
    /// Half of the name's hash.
    pub(super) verify: u64,
    /// The hash of the registered domain's label.
    pub(super) label: u32,
    /// The value.
    pub(super) value: u32,
    /// Expiry, top-level domain, flags.
    pub(super) meta: Meta,
}

/// Expiry, top-level domain and flags of a slot: one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meta(pub(super) u32);

impl Meta {
    /// The word of these fields; the weight is that of a name that nobody asked for again.
    pub(super) fn new(minute: u64, tld: u16, slow: bool, both: bool) -> Self {
        let flags = u32::from(slow) | u32::from(both) << 1 | u32::from(slow) << 2;
        Meta(minute as u32 & 0xffff | u32::from(tld & 0xfff) << 16 | flags << 28)
    }

    /// The code of the top-level domain.
    pub(super) fn tld(self) -> u16 {
        (self.0 >> 16) as u16 & 0xfff
    }

    /// Whether resolving was slow.
    pub(super) fn slow(self) -> bool {
        self.0 >> 28 & 1 != 0
    }

    /// Whether a lone address is all there is of both families.
    pub(super) fn both(self) -> bool {
        self.0 >> 29 & 1 != 0
    }

    /// How much the name is worth keeping, up to [`MAX_WEIGHT`].
    pub(super) fn weight(self) -> u32 {
        self.0 >> 30
    }

    /// The same with another weight.
    pub(super) fn with_weight(self, weight: u32) -> Self {
        Meta(self.0 & 0x3fff_ffff | weight.min(MAX_WEIGHT) << 30)
    }

    /// Minutes left at a minute since 1970; `None` when there are none, or more than an entry may live.
    pub(super) fn left(self, minute: u64) -> Option<u64> {
        let left = (self.0 as u16).wrapping_sub(minute as u16);
        (left != 0 && u64::from(left) <= SPAN).then_some(u64::from(left))
    }
}

/// What is known of a name other than addresses: 2 bits which, 2 bits families, 1 bit trouble, 7 bits attempts, 6 bits
/// seconds beyond the expiry's minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// What it is.
    pub(super) which: Which,
    /// Which families were asked for.
    pub(super) families: Families,
    /// Attempts in a row, of a failure.
    pub(super) attempts: u8,
    /// Seconds that it holds beyond the minute before its expiry, 0 to 59.
    pub(super) seconds: u8,
}

/// What a [`Remark`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The name has no address of these families.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// Neither this name nor one below it exists (RFC 8020).
    Cut,
    /// It could not be resolved.
    Failed(Trouble),
}

impl Remark {
    /// Its 32 bits.
    pub(super) fn pack(self) -> u32 {
        let (which, late) = match self.which {
            Which::NoData => (0, 0),
            Which::Cut => (1, 0),
            Which::NxDomain => (3, 0),
            Which::Failed(Trouble::ServerFailure) => (2, 0),
            Which::Failed(Trouble::TimeOut) => (2, 1),
        };
        let attempts = u32::from(self.attempts.min(127));
        which | families_bits(self.families) << 2 | late << 4 | attempts << 5 | u32::from(self.seconds) << 12
    }

    /// What these bits say.
    pub(super) fn unpack(bits: u32) -> Self {
        let which = match (bits & 3, bits >> 4 & 1) {
            (0, _) => Which::NoData,
            (1, _) => Which::Cut,
            (3, _) => Which::NxDomain,
            (_, 0) => Which::Failed(Trouble::ServerFailure),
            (_, _) => Which::Failed(Trouble::TimeOut),
        };
        let (attempts, seconds) = ((bits >> 5 & 127) as u8, (bits >> 12 & 63) as u8);
        Remark { which, families: families_of(bits >> 2), attempts, seconds: seconds.min(59) }
    }
}

/// Two bits for the families.
pub(super) fn families_bits(families: Families) -> u32 {
    match families {
        Families::V4 => 0,
        Families::V6 => 1,
        Families::Both => 2,
    }
}

/// The families of two bits.
pub(super) fn families_of(bits: u32) -> Families {
    match bits & 3 {
        0 => Families::V4,
        1 => Families::V6,
        _ => Families::Both,
    }
}

/// Whether knowing `known` answers a question for `asked`.
pub(super) fn answers(known: Families, asked: Families) -> bool {
    known == Families::Both || known == asked
}

/// The class of a name with addresses.
pub(super) fn class(slow: bool) -> Class {
    if slow { Class::Slow } else { Class::Fast }
}

/// The second at which an entry with so many minutes left ceases to hold.
pub(super) fn expiry(minute: u64, left: u64) -> Seconds {
    (minute + left) * 60
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_field_comes_back(minute in 0u64..1 << 40, left in 1..=SPAN, tld in 0u16..4096, slow: bool, both: bool, weight in 0u32..=MAX_WEIGHT) {
            let meta = Meta::new(minute + left, tld, slow, both).with_weight(weight);
            prop_assert_eq!((meta.tld(), meta.slow(), meta.both(), meta.weight()), (tld, slow, both, weight));
            prop_assert_eq!(meta.left(minute), Some(left));
            // Nothing comes back to life before it is swept, 11 days later at most.
            for later in [left, left + 1, left + SPAN] {
                prop_assert_eq!(meta.left(minute + later), None);
            }
        }

        #[test]
        fn a_remark_comes_back(which in 0u32..5, families in 0u32..3, attempts in 0u8..=127, seconds in 0u8..60) {
            let which = [Which::NoData, Which::NxDomain, Which::Cut, Which::Failed(Trouble::ServerFailure), Which::Failed(Trouble::TimeOut)][which as usize];
            let remark = Remark { which, families: families_of(families), attempts, seconds };
            prop_assert_eq!(Remark::unpack(remark.pack()), remark);
        }
    }
}
