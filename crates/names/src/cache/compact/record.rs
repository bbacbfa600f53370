//! What a lookup gives, without memory of its own: addresses are copied out of the shared memory.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::{Addresses, Answer, Class, Found, Seconds, Trouble};
use super::sets::{MOST, Set};
use super::slot::{Kind, Remark, Slot, Which, answers, class, expiry, families_of};
use crate::settings::Families;

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// In short.
    pub state: State,
    /// When it ceases to hold; `None` where only the filter knows the name.
    pub expires: Option<Seconds>,
    /// What resolving cost.
    pub class: Class,
    /// The addresses; none unless `state` says so.
    set: Set,
}

/// What is known of a name, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has addresses.
    Addresses,
    /// It does not exist.
    NxDomain,
    /// It has no address of the families that were asked for.
    NoData,
    /// It did not resolve; the filter cannot tell why.
    Negative,
    /// It could not be resolved.
    Failed {
        /// How.
        trouble: Trouble,
        /// How many times in a row.
        attempts: u8,
    },
}

impl Record {
    /// Its IPv4 addresses.
    pub fn v4(&self) -> impl ExactSizeIterator<Item = Ipv4Addr> {
        self.set.words[..self.set.v4].iter().map(|&word| Ipv4Addr::from(word))
    }

    /// Its IPv6 addresses.
    pub fn v6(&self) -> impl ExactSizeIterator<Item = Ipv6Addr> {
        let (words, _) = self.set.words[self.set.v4..self.set.len()].as_chunks::<4>();
        words.iter().map(|&[a, b, c, d]| {
            Ipv6Addr::from(u128::from(a) << 96 | u128::from(b) << 64 | u128::from(c) << 32 | u128::from(d))
        })
    }

    /// What this about IPv4 and another one about IPv6 say together: all addresses; else the failure, since one question without
    /// an answer leaves open whether the name has an address. It holds as long as both do.
    pub(super) fn beside(&self, v6: &Record) -> Record {
        let expires = self.expires.into_iter().chain(v6.expires).min();
        let rank = |record: &Record| match record.state {
            State::Addresses => 0,
            State::Failed { .. } => 1,
            State::Negative => 2,
            State::NoData => 3,
            State::NxDomain => 4,
        };
        let mut first = if rank(self) <= rank(v6) { *self } else { *v6 };
        if self.state == State::Addresses && v6.state == State::Addresses {
            first.set.words[first.set.v4..][..v6.set.v6 * 4].copy_from_slice(&v6.set.words[..v6.set.v6 * 4]);
            first.set.v6 = v6.set.v6;
        }
        Record { expires, ..first }
    }

    /// The same, in memory of its own.
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

    /// A name without addresses.
    pub(super) fn without(state: State, expires: Option<Seconds>) -> Self {
        let set = Set { words: [0; MOST], v4: 0, v6: 0 };
        Record { state, expires, class: Class::Failed, set }
    }

    /// What a slot and the set that it refers to say about families at a second; `None` when that is nothing.
    #[inline]
    pub(super) fn of(slot: &Slot, set: Option<Set>, families: Families, now: Seconds) -> Option<Self> {
        let minute = now / 60;
        let expires = expiry(minute, slot.meta.left(minute)?);
        let (mut set, known) = match slot.kind {
            Kind::Empty => return None,
            Kind::Remark => return Self::of_remark(Remark::unpack(slot.value), families, expires, now),
            Kind::Address => {
                let mut set = Set { words: [0; MOST], v4: 1, v6: 0 };
                set.words[0] = slot.value;
                (set, if slot.meta.both() { Families::Both } else { Families::V4 })
            }
            Kind::Set => (set?, families_of(slot.value >> 29)),
        };
        if !answers(known, families) {
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
        if set.len() == 0 {
            return Some(Record {
                class: class(slot.meta.slow()),
                ..Self::without(State::NoData, Some(expires))
            });
        }
        Some(Record { state: State::Addresses, expires: Some(expires), class: class(slot.meta.slow()), set })
    }

    /// What a remark says. Its expiry is exact: `seconds` into the minute that ends with the slot's.
    fn of_remark(remark: Remark, families: Families, expires: Seconds, now: Seconds) -> Option<Self> {
        let expires = expires - 60 + u64::from(remark.seconds);
        let applies =
            matches!(remark.which, Which::Cut | Which::NxDomain) || answers(remark.families, families);
        let state = match remark.which {
            Which::NoData => State::NoData,
            Which::NxDomain | Which::Cut => State::NxDomain,
            Which::Failed(trouble) => State::Failed { trouble, attempts: remark.attempts },
        };
        (applies && now < expires).then(|| Self::without(state, Some(expires)))
    }
}
