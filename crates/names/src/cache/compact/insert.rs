//! Insertion of resolutions, and removal.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use super::super::{Addresses, Answer, Resolution, Seconds, Trouble};
use super::key::{DomainCode, NameKey};
use super::layout::word;
use super::lookup::each;
use super::record::{MAX_TTL, NegativeEntry, NegativeKind, Slot, SlotKind, SlotMeta, State};
use super::sets::AddressSet;
use super::{CompactCache, add, bucket};
use crate::host::HostName;
use crate::settings::Families;

/// The shortest retention of addresses, in seconds: expiries are in minutes.
const SHORTEST: u32 = 60;

impl CompactCache {
    /// Inserts a resolution; returns whether there was space for it.
    pub fn put(&self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) -> bool {
        self.maintain(now);
        let name = name.as_str();
        let key = self.keys.of(name);
        self.table().prefetch(self.table().homes(&key));
        let is_taken = match &resolution.answer {
            Answer::Failed { trouble, attempts } if !self.clears_all() => {
                self.add_failure(&key, families, (*trouble, *attempts), self.settings.first_pause, now);
                true
            }
            _ if !self.may_write() => false,
            Answer::Failed { .. } => {
                let known = self.known(&key, families, now);
                known.is_some_and(|known| known.state == State::Addresses)
                    || self.put_negative((name, &key), families, resolution, now)
            }
            answer => {
                let answered = if *answer == Answer::NxDomain { Families::Both } else { families };
                self.remove_failures(&key, answered);
                self.put_answer((name, &key), families, resolution, now)
            }
        };
        let count = if is_taken { &self.tally.insertions } else { &self.tally.refused };
        count.fetch_add(1, Relaxed);
        is_taken
    }

    /// Inserts an answer about families, merged with the known one about the other family: a name has one slot.
    fn put_answer(
        &self,
        (name, key): (&str, &NameKey),
        families: Families,
        resolution: &Resolution,
        now: Seconds,
    ) -> bool {
        let mut resolution = resolution.clone();
        if let Answer::Addresses(addresses) = &mut resolution.answer {
            match families {
                Families::V4 => addresses.v6.clear(),
                Families::V6 => addresses.v4.clear(),
                Families::Both => {}
            }
            if addresses.is_empty() {
                resolution.answer = Answer::NoData;
            } else {
                resolution.ttl = resolution.ttl.clamp(self.settings.min_ttl, self.settings.max_ttl);
            }
        }
        let Some((families, resolution)) = self.merge(key, families, resolution, now) else { return true };
        match &resolution.answer {
            Answer::Addresses(addresses) => {
                self.put_addresses((name, key), families, addresses, &resolution, now)
            }
            _ => self.put_negative((name, key), families, &resolution, now),
        }
    }

    /// Merges one family's answer with the known one of the other family, until the first of them expires.
    /// `None`: the entry stays.
    fn merge(
        &self,
        key: &NameKey,
        families: Families,
        new: Resolution,
        now: Seconds,
    ) -> Option<(Families, Resolution)> {
        let (other, mut addresses) = match (families, &new.answer) {
            (Families::V4, Answer::Addresses(addresses)) => (Families::V6, addresses.clone()),
            (Families::V6, Answer::Addresses(addresses)) => (Families::V4, addresses.clone()),
            (Families::V4, Answer::NoData) => (Families::V6, Addresses::default()),
            (Families::V6, Answer::NoData) => (Families::V4, Addresses::default()),
            _ => return Some((families, new)),
        };
        let known = self.known(key, other, now);
        let Some(known) = known.filter(|known| matches!(known.state, State::Addresses | State::NoData))
        else {
            return Some((families, new));
        };
        addresses.v4.extend(known.v4());
        addresses.v6.extend(known.v6());
        let left = known.expires.map_or(0, |at| u32::try_from(at.saturating_sub(now)).unwrap_or(u32::MAX));
        let ttl = new.ttl.min(left);
        if ttl < SHORTEST && !addresses.is_empty() {
            // Valid addresses are worth more than a short denial of the other family.
            let keeps_known = new.answer == Answer::NoData && known.state == State::Addresses;
            return (!keeps_known).then_some((families, new));
        }
        let answer = if addresses.is_empty() { Answer::NoData } else { Answer::Addresses(addresses) };
        Some((Families::Both, Resolution { answer, ttl, took: new.took }))
    }

    /// Adds a failure with a first pause that differs from the cache's own, in seconds.
    pub fn put_failure(
        &self,
        name: HostName<'_>,
        families: Families,
        trouble: Trouble,
        first_pause: u32,
        now: Seconds,
    ) {
        self.maintain(now);
        self.add_failure(&self.keys.of(name.as_str()), families, (trouble, 1), first_pause, now);
        self.tally.insertions.fetch_add(1, Relaxed);
    }

    /// Adds a failure for each family.
    fn add_failure(
        &self,
        key: &NameKey,
        families: Families,
        failure: (Trouble, u8),
        first_pause: u32,
        now: Seconds,
    ) {
        for &family in each(families) {
            let is_beside = self.known(key, family, now).is_some();
            let pauses = (first_pause, self.settings.last_pause);
            self.failures.add(key.of_failure(family), failure, pauses, is_beside, now);
        }
    }

    /// Removes the failures of families of a name; returns whether there were any.
    pub fn forget_failures(&self, name: HostName<'_>, families: Families) -> bool {
        self.remove_failures(&self.keys.of(name.as_str()), families)
    }

    /// The same by the name's key.
    fn remove_failures(&self, key: &NameKey, families: Families) -> bool {
        let forget = |family: &Families| self.failures.remove(key.of_failure(*family));
        each(families).iter().map(forget).fold(false, |any, known| any | known)
    }

    /// Removes a name; returns whether it was known. The filter cannot remove names.
    pub fn remove(&self, name: HostName<'_>) -> bool {
        let key = self.keys.of(name.as_str());
        self.purge_key(&key, |_| true) | self.remove_failures(&key, Families::Both)
    }

    /// Empties a key's matching slots; returns whether there were any.
    fn purge_key(&self, key: &NameKey, matches: impl Fn(&Slot) -> bool) -> bool {
        let is_own = key.matches();
        let matches = |slot: &Slot| slot.verify == key.verify && is_own(slot) && matches(slot);
        let [first, second] = self.table().homes(key);
        // The first bucket again, in case the name was moved there meanwhile.
        [first, second, first].into_iter().fold(false, |any, home| any | (self.purge(home, matches) > 0))
    }

    /// Empties the matching slots of a bucket; returns their number.
    pub(super) fn purge(&self, home: usize, matches: impl Fn(&Slot) -> bool) -> usize {
        if !self.may_write() {
            return 0;
        }
        let Some((removed, inherited)) = self.table().purge(home, &self.writers(), matches) else {
            return 0;
        };
        self.tally.inherited.fetch_add(inherited.into(), Relaxed);
        removed.iter().for_each(|slot| self.discard(slot));
        removed.len()
    }

    /// Inserts a slot and updates the counts. `flags`: slow, both families known.
    fn insert(
        &self,
        name: &str,
        key: &NameKey,
        (kind, value): (SlotKind, u32),
        minute: u64,
        flags: (bool, bool),
        now: Seconds,
    ) -> bool {
        let DomainCode { tld, label } = DomainCode::of(name);
        let slot = Slot {
            kind,
            verify: key.verify,
            label,
            value,
            meta: SlotMeta::new(minute, tld, flags.0, flags.1),
        };
        let (table, used) = (self.table(), self.live(word::USED));
        let slots = table.len() * bucket::SLOTS;
        let load = used.load(Relaxed).saturating_mul(100) / slots.max(1) as u64;
        let Some(insertion) = table.insert(key, slot, now / 60, load, &self.writers()) else {
            self.release(&slot);
            return false;
        };
        add(used, 1);
        add(self.live(word::NAMES), kind.has_addresses().into());
        self.tally.inherited.fetch_add(insertion.inherited.into(), Relaxed);
        self.tally.evictions.fetch_add(insertion.early.into(), Relaxed);
        insertion.before.iter().for_each(|before| self.discard(before));
        true
    }

    /// Updates the counts for a removed slot, and drops its reference.
    fn discard(&self, slot: &Slot) {
        add(self.live(word::USED), -1);
        add(self.live(word::NAMES), -i64::from(slot.kind.has_addresses()));
        self.release(slot);
    }

    /// Drops the reference of a slot that is not in the table.
    fn release(&self, slot: &Slot) {
        if let Some((is_large, cell)) = slot.cell() {
            self.sets(is_large).release(cell);
        }
    }

    /// Inserts addresses.
    fn put_addresses(
        &self,
        (name, key): (&str, &NameKey),
        families: Families,
        addresses: &Addresses,
        resolution: &Resolution,
        now: Seconds,
    ) -> bool {
        if self.is_negative((name, key), families) {
            self.tally.suspected.fetch_add(1, Relaxed);
        }
        // Rounded down: an answer never outlives its TTL, unless that is below the shortest retention.
        let minute = (now + u64::from(resolution.ttl.min(MAX_TTL))) / 60;
        let slow = resolution.took >= self.settings.slow;
        let (kind, value, both) = self.address_value(&to_set(addresses, families), families);
        kind != SlotKind::Empty && self.insert(name, key, (kind, value), minute, (slow, both), now)
    }

    /// The slot's value for addresses: a single IPv4 address, else a set; and whether the address is all of both families.
    fn address_value(&self, set: &AddressSet, families: Families) -> (SlotKind, u32, bool) {
        if set.v4 == 1 && set.v6 == 0 && families != Families::V6 {
            return (SlotKind::Address, set.words[0], families == Families::Both);
        }
        let hash = self.keys.of_words(&set.words[..set.len()]);
        let acquire = |is_large: bool| {
            let area = self.sets(is_large);
            let cell = (set.len() <= area.capacity()).then(|| area.acquire(set, hash)).flatten()?;
            Some(Slot::set_value(is_large, families, cell))
        };
        if let Some(value) = acquire(false).or_else(|| acquire(true)) {
            return (SlotKind::Set, value, false);
        }
        self.tally.sets_full.fetch_add(1, Relaxed);
        // One address is better than none, but does not answer for IPv6.
        let keeps_one = set.v4 > 0 && families == Families::V4;
        (if keeps_one { SlotKind::Address } else { SlotKind::Empty }, set.words[0], false)
    }

    /// Inserts a name that did not resolve: into the filter if it is used. NODATA is inserted there in the
    /// published mode only, since the filter cannot distinguish it from NXDOMAIN.
    fn put_negative(
        &self,
        (name, key): (&str, &NameKey),
        families: Families,
        resolution: &Resolution,
        now: Seconds,
    ) -> bool {
        let filter = self.filter();
        let is_no_data = resolution.answer == Answer::NoData;
        if !self.uses_filter() || (is_no_data && !self.clears_all()) {
            let kind = if is_no_data { NegativeKind::NoData } else { NegativeKind::NxDomain };
            let entry = NegativeEntry { kind, families, attempts: 0, seconds: 0 };
            let ttl = u64::from(resolution.ttl).clamp(1, self.header.negative_ttl);
            // A cut already denies the name and those below it.
            let is_cut = !is_no_data && self.cut_at(key, now).is_some();
            return is_cut || self.put_entry(name, key, entry, now + ttl, now);
        }
        if filter.is_full() {
            self.catch_up(now, false);
        }
        filter.insert(self.filter_hash((name, key), families));
        // It replaces the name's entry, except a cut, which denies the names below as well.
        if self.locate(key, |_| ()).is_some_and(|found| !found.slot.is_cut()) {
            self.purge_key(key, |slot| !slot.is_cut());
        }
        true
    }

    /// Inserts a negative entry into the table.
    pub(super) fn put_entry(
        &self,
        name: &str,
        key: &NameKey,
        entry: NegativeEntry,
        expires: Seconds,
        now: Seconds,
    ) -> bool {
        let value = NegativeEntry { seconds: (expires % 60) as u8, ..entry }.pack();
        self.insert(name, key, (SlotKind::Negative, value), expires / 60 + 1, (false, false), now)
    }

    /// Whether this process may write: not if the file is lost, in a forked child (which shares the parent's writer ID), or if the
    /// dirty flag cannot be flushed.
    pub(super) fn may_write(&self) -> bool {
        let marks_dirty = || self.live(word::CLEAN).load(Relaxed) != 1 || self.mark_dirty().is_ok();
        !self.is_lost() && (self.locks.is_none() || (std::process::id() == self.process && marks_dirty()))
    }
}

/// Addresses of the given families as words: sorted, deduplicated, truncated.
fn to_set(addresses: &Addresses, families: Families) -> AddressSet {
    let v4 = addresses.v4.iter().copied().map(IpAddr::from);
    let kept = Addresses::new(v4.chain(addresses.v6.iter().copied().map(IpAddr::from)));
    let mut set = AddressSet::default();
    if families != Families::V6 {
        set.v4 = kept.v4.len();
        set.words.iter_mut().zip(&kept.v4).for_each(|(word, address)| *word = (*address).into());
    }
    if families != Families::V4 {
        set.v6 = kept.v6.len();
        let words = kept.v6.iter().flat_map(|address| {
            let bits = u128::from(*address);
            [96, 64, 32, 0].map(|shift| (bits >> shift) as u32)
        });
        set.words[set.v4..].iter_mut().zip(words).for_each(|(word, bits)| *word = bits);
    }
    set
}
