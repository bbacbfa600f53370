//! Lookups of one name, or of many at once so that their cache misses overlap.

use std::sync::atomic::Ordering::Relaxed;

use super::super::Seconds;
use super::CompactCache;
use super::key::NameKey;
use super::negative::{Failure, FilterHash};
use super::record::{Record, Slot, State};
use super::sets::AddressSet;
use super::table::{BucketTable, Located};
use crate::host::{BadName, HostName};
use crate::settings::Families;

/// Names that are prefetched together: more than a core's outstanding cache misses.
const GROUP: usize = 32;

impl CompactCache {
    /// Looks up a name's addresses of these families.
    pub fn get(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Record> {
        self.look_up(name, families, now, true)
    }

    /// The same without the negative filter: for retries of a name that may be a false positive.
    pub fn get_past_filter(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Record> {
        self.look_up(name, families, now, false)
    }

    /// The name's own entry if it was valid within `since` seconds before `now`: stale data (RFC 8767). Expired
    /// entries stay until their slot is needed.
    pub fn get_expired(
        &self,
        name: HostName<'_>,
        families: Families,
        now: Seconds,
        since: Seconds,
    ) -> Option<Record> {
        let (table, key) = (self.table(), self.keys.of(name.as_str()));
        self.find(&table, &key, table.homes(&key), families, now.saturating_sub(since))
    }

    /// Looks up many names at once, several times as fast as one by one.
    pub fn get_many(
        &self,
        names: &[HostName<'_>],
        families: Families,
        now: Seconds,
        mut found: impl FnMut(usize, Option<Record>),
    ) {
        self.maintain(now);
        let table = self.table();
        let mut hits = 0;
        for (number, group) in names.chunks(GROUP).enumerate() {
            self.get_group(&table, group, families, now, |place, record| {
                hits += u64::from(record.is_some());
                found(number * GROUP + place, record);
            });
        }
        self.count_lookups(hits, names.len() as u64);
    }

    /// The same for texts, which are normalised first.
    pub fn get_texts(
        &self,
        texts: &[&str],
        families: Families,
        now: Seconds,
        mut found: impl FnMut(usize, Result<Option<Record>, BadName>),
    ) {
        self.maintain(now);
        let table = self.table();
        let (mut hits, mut looked) = (0, 0);
        for (number, group) in texts.chunks(GROUP).enumerate() {
            let mut buffers: [String; GROUP] = Default::default();
            let (mut names, mut places) = ([const { None }; GROUP], [0; GROUP]);
            let mut good = 0;
            for (place, (text, buffer)) in group.iter().zip(&mut buffers).enumerate() {
                match HostName::normalize(text, buffer) {
                    Ok(name) => {
                        (names[good], places[good]) = (Some(name), place);
                        good += 1;
                    }
                    Err(bad) => found(number * GROUP + place, Err(bad)),
                }
            }
            let Some(first) = names[0] else { continue };
            let names: [HostName<'_>; GROUP] = std::array::from_fn(|place| names[place].unwrap_or(first));
            looked += good as u64;
            self.get_group(&table, &names[..good], families, now, |place, record| {
                hits += u64::from(record.is_some());
                found(number * GROUP + places[place], Ok(record));
            });
        }
        self.count_lookups(hits, looked);
    }

    /// Looks up at most [`GROUP`] names, whose buckets are prefetched first.
    #[inline]
    fn get_group(
        &self,
        table: &BucketTable<'_>,
        names: &[HostName<'_>],
        families: Families,
        now: Seconds,
        mut found: impl FnMut(usize, Option<Record>),
    ) {
        let mut keys = [(NameKey::default(), [0; 2]); GROUP];
        for (name, (key, homes)) in names.iter().zip(&mut keys) {
            *key = self.keys.of(name.as_str());
            *homes = table.homes(key);
            table.prefetch(*homes);
        }
        for (place, (name, (key, homes))) in names.iter().zip(&keys).enumerate() {
            let record = self.find(table, key, *homes, families, now);
            found(place, record.or_else(|| self.find_negative((name.as_str(), key), families, now, true)));
        }
    }

    /// Looks up one name, with or without the filter.
    fn look_up(&self, name: HostName<'_>, families: Families, now: Seconds, filter: bool) -> Option<Record> {
        self.maintain(now);
        let (table, key) = (self.table(), self.keys.of(name.as_str()));
        let homes = table.homes(&key);
        table.prefetch(homes);
        let record = self
            .find(&table, &key, homes, families, now)
            .or_else(|| self.find_negative((name.as_str(), &key), families, now, filter));
        self.count_lookups(u64::from(record.is_some()), 1);
        record
    }

    /// Prefetches what a lookup or an insertion of a name in normal form reads first.
    pub fn prefetch(&self, name: &str) {
        let (table, key) = (self.table(), self.keys.of(name));
        table.prefetch(table.homes(&key));
        if self.uses_filter() {
            self.filter().prefetch(self.filter_hash((name, &key), Families::Both));
        }
    }

    /// Looks in the table, and raises the weight of the entry.
    #[inline]
    fn find(
        &self,
        table: &BucketTable<'_>,
        key: &NameKey,
        homes: [usize; 2],
        families: Families,
        now: Seconds,
    ) -> Option<Record> {
        let found = table.find(key, homes, |slot| self.set_of(slot))?;
        let record = Record::of(&found.slot, found.loaded, families, now)?;
        found.raise(table);
        Some(record)
    }

    /// Looks in the filter, for a cut above the name, and for failures.
    fn find_negative(
        &self,
        (name, key): (&str, &NameKey),
        families: Families,
        now: Seconds,
        filter: bool,
    ) -> Option<Record> {
        if filter && self.is_negative((name, key), families) {
            self.tally.negative_hits.fetch_add(1, Relaxed);
            let state = if self.clears_all() { State::Negative } else { State::NxDomain };
            return Some(Record::without(state, None));
        }
        self.cut_above(name, now).or_else(|| self.after_failure(key, families, now))
    }

    /// Whether the filter has a name.
    pub(super) fn is_negative(&self, name: (&str, &NameKey), families: Families) -> bool {
        self.uses_filter() && self.filter().contains(self.filter_hash(name, families))
    }

    /// The filter's hash of a name: of one question in the published mode, else of all families, because the name does not exist.
    pub(super) fn filter_hash(&self, (name, key): (&str, &NameKey), families: Families) -> FilterHash {
        let hash = self.keys.as_keyed(name, key);
        FilterHash::of(&hash, if self.clears_all() { families } else { Families::Both })
    }

    /// The result of recent failures; for both families, joined with the known answer of the other one.
    fn after_failure(&self, key: &NameKey, families: Families, now: Seconds) -> Option<Record> {
        if families != Families::Both {
            return self.failure(key, families, now);
        }
        let both = [Families::V4, Families::V6].map(|family| (family, self.failure(key, family, now)));
        if both.iter().all(|(_, failure)| failure.is_none()) {
            return None;
        }
        let [v4, v6] = both.map(|(family, failure)| self.known(key, family, now).or(failure));
        Some(v4?.join(&v6?))
    }

    /// The recent failure of one family, unless an answer was valid at that time.
    fn failure(&self, key: &NameKey, family: Families, now: Seconds) -> Option<Record> {
        let failure = self.failures.get(key.of_failure(family), now)?;
        let Failure { trouble, attempts, until, is_beside, .. } = failure;
        (!is_beside).then(|| Record::without(State::Failed { trouble, attempts }, Some(until)))
    }

    /// When the pause after failures of these families ends, the earliest one.
    pub fn paused_until(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Seconds> {
        let key = self.keys.of(name.as_str());
        let of = |family: &Families| self.failures.get(key.of_failure(*family), now);
        each(families).iter().filter_map(of).map(|failure| failure.until).min()
    }

    /// The table's entry of a name, without raising its weight.
    pub(super) fn known(&self, key: &NameKey, families: Families, now: Seconds) -> Option<Record> {
        let found = self.locate(key, |slot| self.set_of(slot))?;
        Record::of(&found.slot, found.loaded, families, now)
    }

    /// Finds a key in the table, with the result of `load` for its slot.
    pub(super) fn locate<R>(&self, key: &NameKey, load: impl Fn(&Slot) -> R) -> Option<Located<R>> {
        let table = self.table();
        table.find(key, table.homes(key), load)
    }

    /// Copies the address set of a slot.
    #[inline]
    pub(super) fn set_of(&self, slot: &Slot) -> Option<AddressSet> {
        slot.cell().and_then(|(is_large, cell)| self.sets(is_large).copy(cell))
    }

    /// Counts lookups.
    fn count_lookups(&self, hits: u64, all: u64) {
        self.tally.hits.fetch_add(hits, Relaxed);
        self.tally.misses.fetch_add(all - hits, Relaxed);
    }
}

/// The single families.
pub(super) fn each(families: Families) -> &'static [Families] {
    match families {
        Families::V4 => &[Families::V4],
        Families::V6 => &[Families::V6],
        Families::Both => &[Families::V4, Families::V6],
    }
}
