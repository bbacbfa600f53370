//! Questions about many names: counts, scans and forgetting, by one pass over all buckets at the speed of memory.
//!
//! Names themselves are not kept; a slot has the code of the top-level domain and the hash of the registered domain's label.
//! What these fields cannot express is refused. Two registered domains under one top-level domain are taken for one with
//! probability 2^-32.

use std::fmt;
use std::ops::RangeInclusive;

use lycosa_url::registered_domain;

use super::super::Seconds;
use super::CompactCache;
use super::bucket::SLOTS;
use super::key::{self, Fields, UNKNOWN};
use super::record::Record;
use super::slot::{Kind, Slot};
use crate::host::{BadName, HostName};
use crate::settings::Families;

/// Names in the order of their keys: by top-level domain, in the order of their codes, then by the label's hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange(RangeInclusive<u64>);

/// Why a question cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRange {
    /// It is about something that is no name.
    Name(String, BadName),
    /// Unknown top-level domains share one code.
    Unknown(String),
    /// A public suffix of several labels: slots know the top-level domain and the registered domain only.
    Suffix(String),
    /// A name below a registered domain: slots know that domain only.
    Deeper {
        /// The name.
        name: String,
        /// Its registered domain.
        domain: String,
    },
}

impl fmt::Display for BadRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadRange::Name(name, why) => write!(formatter, "{name:?}: {why}"),
            BadRange::Unknown(name) => write!(
                formatter,
                "{name}: no top-level domain of the list that is compiled in; unknown ones are kept together"
            ),
            BadRange::Suffix(name) => write!(
                formatter,
                "{name} is a public suffix of several labels: ask for its top-level domain or for a registered domain"
            ),
            BadRange::Deeper { name, domain } => write!(
                formatter,
                "{name} lies below the registered domain {domain}: ask for that, or look the name up"
            ),
        }
    }
}

impl std::error::Error for BadRange {}

impl KeyRange {
    /// All names.
    pub fn all() -> Self {
        KeyRange(0..=u64::MAX)
    }

    /// Names under a top-level domain or a registered domain, itself included; all for an empty text or the root's dot.
    pub fn under(text: &str) -> Result<Self, BadRange> {
        if text.is_empty() || text == "." {
            return Ok(Self::all());
        }
        let mut buffer = String::new();
        let name = HostName::normalize(text, &mut buffer)
            .map_err(|why| BadRange::Name(text.to_owned(), why))?
            .as_str();
        if !name.contains('.') {
            return match key::code(name) {
                UNKNOWN => Err(BadRange::Unknown(name.to_owned())),
                code => Ok(Self::of_codes(code, code)),
            };
        }
        let domain = registered_domain(name);
        match () {
            () if domain != name => {
                Err(BadRange::Deeper { name: name.to_owned(), domain: domain.to_owned() })
            }
            () if is_public_suffix(name) => Err(BadRange::Suffix(name.to_owned())),
            () => {
                let number = Fields::of(name).number();
                Ok(KeyRange(number..=number))
            }
        }
    }

    /// Names under all top-level domains from one to another, in the order of the alphabet.
    pub fn between(first: &str, last: &str) -> Result<Self, BadRange> {
        let code = |top: &str| {
            Some(key::code(top))
                .filter(|&code| code != UNKNOWN)
                .ok_or_else(|| BadRange::Unknown(top.to_owned()))
        };
        Ok(Self::of_codes(code(first)?, code(last)?))
    }

    /// Names under the top-level domains with these codes.
    fn of_codes(first: u16, last: u16) -> Self {
        KeyRange(u64::from(first) << 32..=u64::from(last) << 32 | 0xffff_ffff)
    }

    /// Whether it holds a slot.
    #[inline]
    fn holds(&self, slot: &Slot) -> bool {
        self.0.contains(&Fields { tld: slot.meta.tld(), label: slot.label }.number())
    }
}

/// A slot, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The top-level domain, if it is known.
    pub top: Option<&'static str>,
    /// murmur3_32 of the registered domain less its top-level domain.
    pub label: u32,
    /// 64 bits of the keyed hash of the whole name.
    pub hash: u64,
    /// What is known of the name.
    pub record: Record,
}

impl CompactCache {
    /// How many names with addresses that hold now are in a range. Names that are written meanwhile may or may not count.
    pub fn count_in(&self, range: &KeyRange, now: Seconds) -> u64 {
        let mut count = 0;
        self.pass(now, |slot| count += u64::from(range.holds(slot)));
        count
    }

    /// How many names with addresses that hold now are under each top-level domain, the most first; `None`: unknown ones.
    pub fn count_by_tld(&self, now: Seconds) -> Vec<(Option<&'static str>, u64)> {
        let mut counts = vec![0_u64; 4_096];
        self.pass(now, |slot| counts[usize::from(slot.meta.tld())] += 1);
        let names = std::iter::once(None).chain(key::TOP_LEVEL.iter().copied().map(Some));
        let mut named: Vec<_> = names.zip(counts).filter(|(_, count)| *count > 0).collect();
        named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        named
    }

    /// Tells all that holds now in a range, in no order.
    pub fn scan(&self, range: &KeyRange, now: Seconds, mut tell: impl FnMut(Entry)) {
        self.maintain(now);
        let table = self.table();
        for home in 0..table.len() {
            let bucket = table.bucket(home);
            if super::bucket::used(bucket.control()) == 0 {
                continue;
            }
            let read = bucket.read(|glance| {
                std::array::from_fn::<_, SLOTS, _>(|index| {
                    let slot = glance.slot(index);
                    (slot, range.holds(&slot).then(|| self.set_of(&slot)).flatten())
                })
            });
            for (slot, set) in read.into_iter().flatten().filter(|(slot, _)| range.holds(slot)) {
                let families = [Families::Both, Families::V4, Families::V6];
                let record = families.into_iter().find_map(|families| Record::of(&slot, set, families, now));
                if let Some(record) = record {
                    let top = slot
                        .meta
                        .tld()
                        .checked_sub(1)
                        .and_then(|place| key::TOP_LEVEL.get(usize::from(place)).copied());
                    tell(Entry { top, label: slot.label, hash: slot.verify, record });
                }
            }
        }
    }

    /// Forgets all names in a range; gives how many slots were emptied.
    pub fn forget_in(&self, range: &KeyRange) -> u64 {
        let table = self.table();
        (0..table.len())
            .filter(|&home| {
                let held = |index| {
                    let slot = table.bucket(home).glimpse(index);
                    slot.kind != Kind::Empty && range.holds(&slot)
                };
                (0..SLOTS).any(held)
            })
            .map(|home| self.purge(home, |slot| range.holds(slot)) as u64)
            .sum()
    }

    /// Looks at each slot with addresses that hold now. What is being written may be seen half: for counts only.
    #[inline]
    fn pass(&self, now: Seconds, mut see: impl FnMut(&Slot)) {
        self.maintain(now);
        let (table, minute) = (self.table(), now / 60);
        for home in 0..table.len() {
            let bucket = table.bucket(home);
            for index in 0..SLOTS {
                let slot = bucket.glimpse(index);
                if slot.kind.has_addresses() && slot.meta.left(minute).is_some() {
                    see(&slot);
                }
            }
        }
    }
}

/// Whether a name is a public suffix: what is registered below it belongs to others.
pub(super) fn is_public_suffix(name: &str) -> bool {
    let below = format!("x.{name}");
    registered_domain(&below) == below
}
