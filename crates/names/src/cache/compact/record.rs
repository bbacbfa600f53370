//! The bits of a slot, and how a lookup decodes them.
//!
//! | bits | field | meaning |
//! |---|---|---|
//! | 64 | verify | half of the keyed hash of the whole name |
//! | 32 | label | murmur3_32 of the registered domain less its top-level domain |
//! | 32 | value | an IPv4 address, the index of an address set, or a [`NegativeEntry`] |
//! | 16 | expiry | minutes since 1970, modulo 2^16 |
//! | 12 | code of the top-level domain | 0: unknown |
//! | 4 | slow (1), both families known (1), weight (2) | |
//!
//! 160 bits, 20 bytes; the two bits of the [`SlotKind`] are in the bucket's control word.
//!
//! Expiries are compared modulo 2^16 minutes (45 days): an entry lives at most [`MAX_TTL`] and is swept within the same
//! time after its expiry, so that a difference never reaches half of the period.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::{Addresses, Answer, Class, Found, Seconds, Trouble};
use super::key::DomainCode;
use super::sets::AddressSet;
use crate::settings::Families;

/// The longest life of an entry and the longest time between two sweeps, in minutes: 11 days.
pub(super) const SPAN: u64 = 11 * 24 * 60;
/// The longest life of an entry, in seconds.
pub(super) const MAX_TTL: u32 = SPAN as u32 * 60;
/// Most cells of one size of address sets: 29 bits of a value.
pub(super) const MAX_CELLS: u64 = 1 << 29;
/// The highest weight.
pub(super) const MAX_WEIGHT: u32 = 3;

/// What the value of a slot means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SlotKind {
    /// The slot is empty.
    #[default]
    Empty,
    /// An IPv4 address.
    Address,
    /// The index of an address set, with its size class and families.
    Set,
    /// A [`NegativeEntry`].
    Negative,
}

impl SlotKind {
    /// The kind with these two bits.
    pub(super) fn from_bits(bits: u64) -> Self {
        [SlotKind::Empty, SlotKind::Address, SlotKind::Set, SlotKind::Negative][bits as usize & 3]
    }

    /// Whether the slot has addresses.
    pub(super) fn has_addresses(self) -> bool {
        matches!(self, SlotKind::Address | SlotKind::Set)
    }
}

/// The content of a slot; fields as in the table above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) kind: SlotKind,
    pub(super) verify: u64,
    pub(super) label: u32,
    pub(super) value: u32,
    pub(super) meta: SlotMeta,
}

impl Slot {
    /// The value for a set: size class, queried families, cell.
    pub(super) fn set_value(is_large: bool, families: Families, cell: u32) -> u32 {
        u32::from(is_large) << 31 | families_bits(families) << 29 | cell
    }

    /// The size class (whether large) and the cell of its address set, if it has one.
    #[inline]
    pub(super) fn cell(&self) -> Option<(bool, u32)> {
        let cell = self.value & (MAX_CELLS - 1) as u32;
        (self.kind == SlotKind::Set).then_some((self.value >> 31 != 0, cell))
    }

    /// The fields by which names are counted and scanned.
    pub(super) fn domain(&self) -> DomainCode {
        DomainCode { tld: self.meta.tld(), label: self.label }
    }

    /// Whether it denies its name and all names below it.
    pub(super) fn is_cut(&self) -> bool {
        self.kind == SlotKind::Negative && NegativeEntry::unpack(self.value).kind == NegativeKind::Cut
    }
}

/// Expiry, top-level domain and flags of a slot in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotMeta(pub(super) u32);

impl SlotMeta {
    /// Packs the fields, with the weight of a new name.
    pub(super) fn new(minute: u64, tld: u16, slow: bool, both: bool) -> Self {
        let flags = u32::from(slow) | u32::from(both) << 1 | u32::from(slow) << 2;
        SlotMeta(minute as u32 & 0xffff | u32::from(tld & 0xfff) << 16 | flags << 28)
    }

    /// The code of the top-level domain.
    pub(super) fn tld(self) -> u16 {
        (self.0 >> 16) as u16 & 0xfff
    }

    /// Whether resolving was slow.
    pub(super) fn slow(self) -> bool {
        self.0 >> 28 & 1 != 0
    }

    /// Whether a single address is the answer for both families.
    pub(super) fn both(self) -> bool {
        self.0 >> 29 & 1 != 0
    }

    /// The weight against eviction, up to [`MAX_WEIGHT`].
    pub(super) fn weight(self) -> u32 {
        self.0 >> 30
    }

    /// The same with another weight.
    pub(super) fn with_weight(self, weight: u32) -> Self {
        SlotMeta(self.0 & 0x3fff_ffff | weight.min(MAX_WEIGHT) << 30)
    }

    /// Minutes left at a minute since 1970; `None` if expired or more than [`SPAN`].
    pub(super) fn left(self, minute: u64) -> Option<u64> {
        let left = (self.0 as u16).wrapping_sub(minute as u16);
        (left != 0 && u64::from(left) <= SPAN).then_some(u64::from(left))
    }
}

/// A slot's value without addresses: 2 bits kind, 2 families, 1 trouble, 7 attempts, 6 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NegativeEntry {
    /// The kind of entry.
    pub(super) kind: NegativeKind,
    /// The queried families.
    pub(super) families: Families,
    /// Failures in a row.
    pub(super) attempts: u8,
    /// Seconds of the expiry within the last minute, 0 to 59.
    pub(super) seconds: u8,
}

/// The kind of a [`NegativeEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NegativeKind {
    /// The name has no address of these families.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// Neither the name nor any name below it exists (RFC 8020).
    Cut,
    /// Resolving failed.
    Failed(Trouble),
}

/// The kinds with their codes: bits 0, 1 and 4 of the value.
const CODES: [(NegativeKind, u32); 5] = [
    (NegativeKind::NoData, 0),
    (NegativeKind::Cut, 1),
    (NegativeKind::Failed(Trouble::ServerFailure), 2),
    (NegativeKind::NxDomain, 3),
    (NegativeKind::Failed(Trouble::TimeOut), 0b10010),
];

impl NegativeEntry {
    /// Packs it into 32 bits.
    pub(super) fn pack(self) -> u32 {
        let code = CODES.iter().find(|(kind, _)| *kind == self.kind).map_or(0, |(_, code)| *code);
        let attempts = u32::from(self.attempts.min(127));
        code | families_bits(self.families) << 2 | attempts << 5 | u32::from(self.seconds) << 12
    }

    /// Unpacks 32 bits. Only failures use bit 4.
    pub(super) fn unpack(bits: u32) -> Self {
        let kind = if bits & 0b10011 == 0b10010 { CODES[4].0 } else { CODES[bits as usize & 3].0 };
        let (attempts, seconds) = ((bits >> 5 & 127) as u8, (bits >> 12 & 63) as u8);
        NegativeEntry { kind, families: families_from(bits >> 2), attempts, seconds: seconds.min(59) }
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
pub(super) fn families_from(bits: u32) -> Families {
    [Families::V4, Families::V6, Families::Both, Families::Both][bits as usize & 3]
}

/// The result of a lookup, without heap memory: addresses are copied from the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The state of the name.
    pub state: State,
    /// When it expires; `None` if only the negative filter has the name.
    pub expires: Option<Seconds>,
    /// The cost of resolving it.
    pub class: Class,
    /// The addresses, if `state` is [`State::Addresses`].
    set: AddressSet,
}

/// The state of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has addresses.
    Addresses,
    /// It does not exist.
    NxDomain,
    /// It has no address of the queried families.
    NoData,
    /// It did not resolve; the filter does not store why.
    Negative,
    /// It could not be resolved.
    Failed {
        /// The kind of failure.
        trouble: Trouble,
        /// Failures in a row.
        attempts: u8,
    },
}

impl Record {
    /// Its IPv4 addresses.
    #[inline]
    pub fn v4(&self) -> impl ExactSizeIterator<Item = Ipv4Addr> {
        self.set.words[..self.set.v4].iter().map(|&word| Ipv4Addr::from(word))
    }

    /// Its IPv6 addresses.
    #[inline]
    pub fn v6(&self) -> impl ExactSizeIterator<Item = Ipv6Addr> {
        let (addresses, _) = self.set.words[self.set.v4..self.set.len()].as_chunks::<4>();
        let whole = |words: &[u32; 4]| words.iter().fold(0, |bits, &word| bits << 32 | u128::from(word));
        addresses.iter().map(move |words| Ipv6Addr::from(whole(words)))
    }

    /// The same with its addresses on the heap.
    pub fn found(&self) -> Found {
        let answer = match self.state {
            State::Addresses => {
                Answer::Addresses(Addresses { v4: self.v4().collect(), v6: self.v6().collect() })
            }
            State::NxDomain => Answer::NxDomain,
            State::NoData => Answer::NoData,
            State::Negative => Answer::Negative,
            State::Failed { trouble, attempts } => Answer::Failed { trouble, attempts },
        };
        Found { answer, expires: self.expires, class: self.class }
    }

    /// Joins this record of IPv4 with one of IPv6, until the first of them expires. If only one has addresses,
    /// it wins; if none has, a failure takes precedence over a denial, because a family without an answer may
    /// have addresses.
    pub(super) fn join(&self, v6: &Record) -> Record {
        let expires = self.expires.into_iter().chain(v6.expires).min();
        let rank = |record: &Record| match record.state {
            State::Addresses => 0,
            State::Failed { .. } => 1,
            State::Negative => 2,
            State::NoData => 3,
            State::NxDomain => 4,
        };
        let mut joined = if rank(self) <= rank(v6) { *self } else { *v6 };
        if self.state == State::Addresses && v6.state == State::Addresses {
            joined.set.words[joined.set.v4..][..v6.set.v6 * 4]
                .copy_from_slice(&v6.set.words[..v6.set.v6 * 4]);
            joined.set.v6 = v6.set.v6;
        }
        Record { expires, ..joined }
    }

    /// A record without addresses.
    pub(super) fn without(state: State, expires: Option<Seconds>) -> Self {
        Record { state, expires, class: Class::Failed, set: AddressSet::default() }
    }

    /// Decodes a slot and its address set for families at a time; `None` if expired or not about these
    /// families.
    #[inline]
    pub(super) fn of(slot: &Slot, set: Option<AddressSet>, families: Families, now: Seconds) -> Option<Self> {
        let minute = now / 60;
        let expires = (minute + slot.meta.left(minute)?) * 60;
        let (mut set, known) = match slot.kind {
            SlotKind::Empty => return None,
            SlotKind::Negative => return Self::of_negative(slot.value, families, expires, now),
            SlotKind::Address => {
                let mut set = AddressSet { v4: 1, ..AddressSet::default() };
                set.words[0] = slot.value;
                (set, if slot.meta.both() { Families::Both } else { Families::V4 })
            }
            SlotKind::Set => (set?, families_from(slot.value >> 29)),
        };
        if known != Families::Both && known != families {
            return None;
        }
        match families {
            Families::V4 => set.v6 = 0,
            Families::V6 if set.v4 > 0 => {
                set.words.copy_within(set.v4.., 0);
                set.v4 = 0;
            }
            Families::V6 | Families::Both => {}
        }
        let class = if slot.meta.slow() { Class::Slow } else { Class::Fast };
        if set.len() == 0 {
            return Some(Record { class, ..Self::without(State::NoData, Some(expires)) });
        }
        Some(Record { state: State::Addresses, expires: Some(expires), class, set })
    }

    /// Decodes a negative entry. Its expiry is exact to the second, within the minute before `expires`.
    fn of_negative(value: u32, families: Families, expires: Seconds, now: Seconds) -> Option<Self> {
        let entry = NegativeEntry::unpack(value);
        let expires = expires - 60 + u64::from(entry.seconds);
        let (state, for_all) = match entry.kind {
            NegativeKind::NoData => (State::NoData, false),
            NegativeKind::NxDomain | NegativeKind::Cut => (State::NxDomain, true),
            NegativeKind::Failed(trouble) => (State::Failed { trouble, attempts: entry.attempts }, false),
        };
        let applies = for_all || entry.families == Families::Both || entry.families == families;
        (applies && now < expires).then(|| Self::without(state, Some(expires)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_are_those_of_existing_files() {
        for (bits, kind) in [
            (0b1100, NegativeKind::NoData),
            (0b11101, NegativeKind::Cut),
            (0b10, NegativeKind::Failed(Trouble::ServerFailure)),
            (0b10010, NegativeKind::Failed(Trouble::TimeOut)),
            (0b10011, NegativeKind::NxDomain),
        ] {
            assert_eq!(NegativeEntry::unpack(bits).kind, kind, "{bits:b}");
        }
    }

    proptest! {
        #[test]
        fn every_field_is_unpacked_as_packed(
            (minute, left) in (0u64..1 << 40, 1..=SPAN), tld in 0u16..4096, slow: bool, both: bool, weight in 0..=MAX_WEIGHT,
        ) {
            let meta = SlotMeta::new(minute + left, tld, slow, both).with_weight(weight);
            prop_assert_eq!((meta.tld(), meta.slow(), meta.both(), meta.weight()), (tld, slow, both, weight));
            prop_assert_eq!(meta.left(minute), Some(left));
            // An expired entry stays expired until it is swept, 11 days later at most.
            for later in [left, left + 1, left + SPAN] {
                prop_assert_eq!(meta.left(minute + later), None);
            }
        }

        #[test]
        fn a_negative_entry_is_unpacked_as_packed(kind in 0usize..5, families in 0u32..3, attempts in 0u8..=127, seconds in 0u8..60) {
            let entry = NegativeEntry { kind: CODES[kind].0, families: families_from(families), attempts, seconds };
            prop_assert_eq!(NegativeEntry::unpack(entry.pack()), entry);
        }
    }
}
