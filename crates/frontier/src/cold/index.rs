//! Where the newest record of each host is that is not in memory: 13 bytes a host and free space.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as TableEntry;

use super::journal::{END, Position, UNIT};

/// Bits of a place that are a position.
const POSITION_BITS: u32 = (END / UNIT).trailing_zeros();

/// Bits of a key. Of ten million hosts two have the same with a probability of 16 %; they share a chain of records then.
pub(super) const KEY_BITS: u32 = 48;

/// What a host on disk waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For space in memory: it comes back in the order of the journal of waiting hosts.
    Space = 0,
    /// For other hosts of its address ([`super::Cold::put_aside`]).
    Address = 1,
    /// For a URL: it has none.
    Url = 2,
    /// For the time of its next try: it fails (`hosts/retries.rs`).
    Time = 3,
}

/// The newest record of a host, which names the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What the host waits for: the journal in which the record lies.
    pub(super) wait: Wait,
    /// Where it begins.
    pub(super) position: Position,
}

impl Place {
    /// As a number of 40 bits.
    pub(super) fn number(self) -> u64 {
        (self.wait as u64) << POSITION_BITS | (self.position / UNIT)
    }

    /// From that number.
    pub(super) fn of_number(number: u64) -> Option<Self> {
        let wait = match number >> POSITION_BITS {
            0 => Wait::Space,
            1 => Wait::Address,
            2 => Wait::Url,
            3 => Wait::Time,
            _ => return None,
        };
        Some(Place { wait, position: (number & (END / UNIT - 1)) * UNIT })
    }
}

/// Key (48 bits), number of records (8 bits, the greatest for more), place (40 bits).
#[derive(Clone, Copy, Debug)]
struct Entry([u32; 3]);

impl Entry {
    fn new(key: u64, records: u8, place: Place) -> Self {
        let place = place.number();
        let middle = (key >> 32) as u32 | u32::from(records) << 16 | ((place >> 32) as u32) << 24;
        Entry([key as u32, middle, place as u32])
    }

    fn key(self) -> u64 {
        u64::from(self.0[1] & 0xffff) << 32 | u64::from(self.0[0])
    }

    fn records(self) -> u8 {
        (self.0[1] >> 16) as u8
    }

    fn place(self) -> Option<Place> {
        Place::of_number(u64::from(self.0[1] >> 24) << 32 | u64::from(self.0[2]))
    }
}

/// All hosts that are not in memory, by key.
#[derive(Debug, Default)]
pub(super) struct Index {
    table: HashTable<Entry>,
}

impl Index {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// A host's number of records, and the place of the newest.
    pub(super) fn get(&self, key: u64) -> Option<(u8, Place)> {
        let entry = self.table.find(spread(key), |entry| entry.key() == key)?;
        Some((entry.records(), entry.place()?))
    }

    /// Sets the place of a host's newest record, and counts it.
    pub(super) fn set(&mut self, key: u64, place: Place) {
        match self.table.entry(spread(key), |entry| entry.key() == key, |entry| spread(entry.key())) {
            TableEntry::Occupied(mut known) => {
                let records = known.get().records().saturating_add(1);
                *known.get_mut() = Entry::new(key, records, place);
            }
            TableEntry::Vacant(vacant) => drop(vacant.insert(Entry::new(key, 1, place))),
        }
    }

    /// Prepares for `next` hosts more of a snapshot that says to have `hosts` in all. The snapshot has them in the order of a table:
    /// inserted in that order into a table without as much free space, they would fill it unevenly, and slowly. Space is reserved
    /// for twice the hosts that are there, not for all: the snapshot may be damaged.
    pub(super) fn reserve(&mut self, next: usize, hosts: usize) {
        let wanted = (2 * (self.len() + next)).min(hosts);
        self.table.reserve(wanted.saturating_sub(self.len()), |entry| spread(entry.key()));
    }

    /// Adds a host of a snapshot; whether it was not there.
    pub(super) fn insert(&mut self, key: u64, records: u8, place: Place) -> bool {
        let is_new = self.get(key).is_none();
        if is_new {
            self.table
                .insert_unique(spread(key), Entry::new(key, records, place), |entry| spread(entry.key()));
        }
        is_new
    }

    /// Sets the place of a host's newest record, which was written again.
    pub(super) fn moved(&mut self, key: u64, place: Place) {
        if let Some(entry) = self.table.find_mut(spread(key), |entry| entry.key() == key) {
            *entry = Entry::new(key, entry.records(), place);
        }
    }

    /// Removes a host.
    pub(super) fn remove(&mut self, key: u64) {
        if let Ok(entry) = self.table.find_entry(spread(key), |entry| entry.key() == key) {
            entry.remove();
        }
    }

    /// All hosts, in no order: key, number of records, place of the newest.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u8, Place)> {
        self.table.iter().filter_map(|entry| Some((entry.key(), entry.records(), entry.place()?)))
    }
}

/// The hash of a key, which is random already: the table needs bits at both ends.
fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_say_what_was_set() {
        let mut index = Index::default();
        let place = |number: u64| Place {
            wait: [Wait::Space, Wait::Address, Wait::Url, Wait::Time][number as usize % 4],
            position: (END - UNIT) / (number + 1) / UNIT * UNIT,
        };
        let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        for number in 0..1000 {
            index.set(key(number), place(number + 1));
            index.set(key(number), place(number));
        }
        for number in 0..1000 {
            assert_eq!(index.get(key(number)), Some((2, place(number))));
            assert_eq!(Place::of_number(place(number).number()), Some(place(number)));
        }
        assert!(!index.insert(key(1), 9, place(1)) && index.insert(key(1001), 9, place(1)));
        assert_eq!((index.get(key(1001)), index.len()), (Some((9, place(1))), 1001));
        index.remove(key(7));
        assert_eq!((index.get(key(7)), index.iter().count()), (None, 1000));
        (0..300).for_each(|_| index.set(key(1), place(1)));
        assert_eq!(index.get(key(1)), Some((255, place(1))), "more are not counted");
        assert_eq!((Place::of_number(4 << POSITION_BITS), size_of::<Entry>()), (None, 12));
    }
}
