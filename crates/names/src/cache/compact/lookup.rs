//! Lookups: one name, or many at once so that waits for memory overlap.

use std::sync::atomic::Ordering::Relaxed;

use super::super::Seconds;
use super::failures::Failure;
use super::filter::Bits;
use super::key::Key;
use super::record::{Record, State};
use super::slot::{Kind, MOST_CELLS, Slot};
use super::table::Table;
use super::{CompactCache, sets};
use crate::host::{BadName, HostName};
use crate::settings::Families;

/// Names that are brought near together: more than the reads that a core can have under way, so that it always has some.
const GROUP: usize = 32;

impl CompactCache {
    /// What is known of a name's addresses of these families.
    pub fn get(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Record> {
        self.maintain(now);
        let record = self.look_up(name, families, now, true);
        self.count_lookups(u64::from(record.is_some()), 1);
        record
    }

    /// The same without the filter: for one who tries again a name that the filter may hold by mistake.
    pub fn get_past_filter(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Record> {
        self.maintain(now);
        let record = self.look_up(name, families, now, false);
        self.count_lookups(u64::from(record.is_some()), 1);
        record
    }

    /// What the name's own entry says, or said until `since` seconds before `now`: for one who has nothing better (RFC 8767). Expired
    /// names are there until their room is needed.
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

    /// Looks up many names at once: several times as fast as one by one.
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

    /// The same for texts, which are brought into normal form first.
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
            let first = names[0];
            let Some(first) = first else { continue };
            let names: [HostName<'_>; GROUP] = std::array::from_fn(|place| names[place].unwrap_or(first));
            looked += good as u64;
            self.get_group(&table, &names[..good], families, now, |place, record| {
                hits += u64::from(record.is_some());
                found(number * GROUP + places[place], Ok(record));
            });
        }
        self.count_lookups(hits, looked);
    }

    /// Looks up at most [`GROUP`] names, whose buckets are brought near first.
    #[inline]
    fn get_group(
        &self,
        table: &Table<'_>,
        names: &[HostName<'_>],
        families: Families,
        now: Seconds,
        mut found: impl FnMut(usize, Option<Record>),
    ) {
        let mut keys = [(Key::default(), [0; 2]); GROUP];
        for (name, (key, homes)) in names.iter().zip(&mut keys) {
            *key = self.keys.of(name.as_str());
            *homes = table.homes(key);
            table.prefetch(*homes);
        }
        for (place, (name, (key, homes))) in names.iter().zip(&keys).enumerate() {
            let record = self.find(table, key, *homes, families, now);
            found(place, record.or_else(|| self.look_beyond(name.as_str(), families, now, true)));
        }
    }

    /// Looks everywhere.
    fn look_up(&self, name: HostName<'_>, families: Families, now: Seconds, filter: bool) -> Option<Record> {
        let (table, key) = (self.table(), self.keys.of(name.as_str()));
        let homes = table.homes(&key);
        table.prefetch(homes);
        self.find(&table, &key, homes, families, now)
            .or_else(|| self.look_beyond(name.as_str(), families, now, filter))
    }

    /// Looks in the table.
    #[inline]
    pub(super) fn find(
        &self,
        table: &Table<'_>,
        key: &Key,
        homes: [usize; 2],
        families: Families,
        now: Seconds,
    ) -> Option<Record> {
        let found = table.find(key, homes, key.fits(), |slot| self.set_of(slot))?;
        let record = Record::of(&found.slot, found.more, families, now)?;
        found.raise(table);
        Some(record)
    }

    /// Looks into the filter, then for a name above that does not exist, then for failures.
    fn look_beyond(&self, name: &str, families: Families, now: Seconds, filter: bool) -> Option<Record> {
        if filter && self.is_negative(name, families) {
            self.tally.negative_hits.fetch_add(1, Relaxed);
            let state = if self.clears_all() { State::Negative } else { State::NxDomain };
            return Some(Record::without(state, None));
        }
        self.cut_above(name, now).or_else(|| self.after_failure(name, families, now))
    }

    /// Whether the filter holds a name.
    pub(super) fn is_negative(&self, name: &str, families: Families) -> bool {
        let filter = self.filter();
        filter.exists() && filter.contains(self.bits(name, families))
    }

    /// The bits of a name in the filter. As published they are of one question; else they say that the name does not exist,
    /// which is so for all families.
    pub(super) fn bits(&self, name: &str, families: Families) -> Bits {
        Bits::of(&self.keys.whole(name), if self.clears_all() { families } else { Families::Both })
    }

    /// What is known where resolving failed lately: of both families, what each one's own entry says.
    fn after_failure(&self, name: &str, families: Families, now: Seconds) -> Option<Record> {
        match families {
            Families::Both => {
                let [v4, v6] = [Families::V4, Families::V6].map(|family| self.failure(name, family, now));
                if v4.is_none() && v6.is_none() {
                    return None;
                }
                let known = |family, failure| self.known(name, family, now).or(failure);
                Some(known(Families::V4, v4)?.beside(&known(Families::V6, v6)?))
            }
            one => self.failure(name, one, now),
        }
    }

    /// What the name's own slot says of families; changes no weight.
    pub(super) fn known(&self, name: &str, families: Families, now: Seconds) -> Option<Record> {
        let (table, key) = (self.table(), self.keys.of(name));
        let found = table.find(&key, table.homes(&key), key.fits(), |slot| self.set_of(slot))?;
        Record::of(&found.slot, found.more, families, now)
    }

    /// The failure that is known of a family of a name's addresses, which had none then.
    fn failure(&self, name: &str, family: Families, now: Seconds) -> Option<Record> {
        let failure = self.failures.get(&self.keys.of_failure(name, family), now)?;
        let Failure { trouble, attempts, until, is_beside, .. } = failure;
        (!is_beside).then(|| Record::without(State::Failed { trouble, attempts }, Some(until)))
    }

    /// When the pause ends after which families of a name may be asked for again that could not be resolved.
    pub fn paused_until(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Seconds> {
        let of = |family: &Families| self.failures.get(&self.keys.of_failure(name.as_str(), *family), now);
        super::insert::each(families).iter().filter_map(of).map(|failure| failure.until).min()
    }

    /// Copies the set that a slot refers to.
    #[inline]
    pub(super) fn set_of(&self, slot: &Slot) -> Option<sets::Set> {
        (slot.kind == Kind::Set)
            .then(|| self.sets(slot.value >> 31 != 0).copy(slot.value & (MOST_CELLS - 1) as u32))
            .flatten()
    }

    /// Counts lookups.
    fn count_lookups(&self, hits: u64, all: u64) {
        self.tally.hits.fetch_add(hits, Relaxed);
        self.tally.misses.fetch_add(all - hits, Relaxed);
    }
}
