//! What resolvers learned goes in; what is to be forgotten goes out.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use super::super::{Addresses, Answer, Resolution, Seconds, Trouble};
use super::header::Live;
use super::key::{Fields, Key};
use super::record::{Record, State};
use super::sets::{MOST, Set};
use super::slot::{Kind, MAX_TTL, MOST_CELLS, Meta, Remark, Slot, Which, families_bits};
use super::{CompactCache, bucket};
use crate::host::HostName;
use crate::settings::Families;

/// The shortest that addresses are held, in seconds: the cache counts in minutes.
const SHORTEST: u32 = 60;

/// What one family's answer becomes beside what is known of the other one.
enum Joined {
    /// It stands alone: nothing is known of the other one.
    Alone,
    /// Both have one entry.
    Both(Resolution),
    /// What is known stays as it is.
    Kept,
}

impl CompactCache {
    /// Takes what a resolver learned; tells whether there was room for it.
    pub fn put(&self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) -> bool {
        self.maintain(now);
        let text = name.as_str();
        let taken = match &resolution.answer {
            Answer::Failed { trouble, attempts } if !self.clears_all() => {
                self.enter_failure(text, families, (*trouble, *attempts), self.settings.first_pause, now);
                true
            }
            _ if !self.may_write() => false,
            Answer::Failed { .. } => {
                let known = self.known(text, families, now);
                known.is_some_and(|known| known.state == State::Addresses)
                    || self.put_negative(text, families, resolution, now)
            }
            answer => {
                let concerned = if *answer == Answer::NxDomain { Families::Both } else { families };
                self.forget_failures(name, concerned);
                self.put_answer(text, families, resolution, now)
            }
        };
        let count = if taken { &self.tally.insertions } else { &self.tally.refused };
        count.fetch_add(1, Relaxed);
        taken
    }

    /// Takes an answer about families, beside what is known of the other one: a name has one slot.
    fn put_answer(&self, name: &str, families: Families, resolution: &Resolution, now: Seconds) -> bool {
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
        match self.beside(name, families, &resolution, now) {
            Joined::Alone => self.put_one(name, families, &resolution, now),
            Joined::Both(joined) => self.put_one(name, Families::Both, &joined, now),
            Joined::Kept => true,
        }
    }

    /// Puts an answer in the place of what is known.
    fn put_one(&self, name: &str, families: Families, resolution: &Resolution, now: Seconds) -> bool {
        match &resolution.answer {
            Answer::Addresses(addresses) => self.put_addresses(name, families, addresses, resolution, now),
            _ => self.put_negative(name, families, resolution, now),
        }
    }

    /// Joins one family's answer with what is known of the other one; the whole holds as long as both do.
    fn beside(&self, name: &str, families: Families, new: &Resolution, now: Seconds) -> Joined {
        let other = match families {
            Families::V4 => Families::V6,
            Families::V6 => Families::V4,
            Families::Both => return Joined::Alone,
        };
        let mut addresses = match &new.answer {
            Answer::Addresses(addresses) => addresses.clone(),
            Answer::NoData => Addresses::default(),
            _ => return Joined::Alone,
        };
        let Some(known) = self.known(name, other, now) else { return Joined::Alone };
        let has_addresses = match known.state {
            State::Addresses => true,
            State::NoData => false,
            _ => return Joined::Alone,
        };
        addresses.v4.extend(known.v4());
        addresses.v6.extend(known.v6());
        let left = known.expires.map_or(0, |at| u32::try_from(at.saturating_sub(now)).unwrap_or(u32::MAX));
        let ttl = new.ttl.min(left);
        match (ttl < SHORTEST, new.answer == Answer::NoData && has_addresses) {
            // Addresses that hold are worth more than that the other family has none for a moment.
            (true, true) => Joined::Kept,
            (true, _) if !addresses.is_empty() => Joined::Alone,
            _ => {
                let answer = if addresses.is_empty() { Answer::NoData } else { Answer::Addresses(addresses) };
                Joined::Both(Resolution { answer, ttl, took: new.took })
            }
        }
    }

    /// Takes that a name could not be resolved, with another first pause than the cache's own, in seconds.
    pub fn put_failure(
        &self,
        name: HostName<'_>,
        families: Families,
        trouble: Trouble,
        first_pause: u32,
        now: Seconds,
    ) {
        self.maintain(now);
        self.enter_failure(name.as_str(), families, (trouble, 1), first_pause, now);
        self.tally.insertions.fetch_add(1, Relaxed);
    }

    /// Takes a failure of each family by itself.
    fn enter_failure(
        &self,
        name: &str,
        families: Families,
        failure: (Trouble, u8),
        first_pause: u32,
        now: Seconds,
    ) {
        for &family in each(families) {
            let is_beside = self.known(name, family, now).is_some();
            let key = self.keys.of_failure(name, family);
            self.failures.add(&key, failure, (first_pause, self.settings.last_pause), is_beside, now);
        }
    }

    /// Forgets that families of a name's addresses could not be resolved; tells whether that was known.
    pub fn forget_failures(&self, name: HostName<'_>, families: Families) -> bool {
        let forget = |family: &Families| self.failures.remove(&self.keys.of_failure(name.as_str(), *family));
        each(families).iter().map(forget).fold(false, |any, known| any | known)
    }

    /// Empties a key's slots of which this holds; tells whether there were any.
    fn purge_key(&self, key: &Key, holds: impl Fn(&Slot) -> bool) -> bool {
        let fits = key.fits();
        let holds = |slot: &Slot| slot.verify == key.verify && fits(slot) && holds(slot);
        let [first, second] = self.table().homes(key);
        // The second one again if the name moved there meanwhile.
        [first, second, first].into_iter().fold(false, |any, home| any | (self.purge(home, holds) > 0))
    }

    /// Forgets a name; tells whether it was known. The filter forgets by itself only.
    pub fn remove(&self, name: HostName<'_>) -> bool {
        let known = self.purge_key(&self.keys.of(name.as_str()), |_| true);
        known | self.forget_failures(name, Families::Both)
    }

    /// Empties the slots of a bucket of which this holds; gives how many.
    pub(super) fn purge(&self, home: usize, holds: impl Fn(&Slot) -> bool) -> usize {
        if !self.may_write() {
            return 0;
        }
        let Some((gone, inherited)) = self.table().purge(home, &self.roster(), holds) else {
            return 0;
        };
        self.tally.inherited.fetch_add(inherited.into(), Relaxed);
        gone.iter().for_each(|slot| self.let_go(slot));
        gone.len()
    }

    /// Puts a slot into the table and keeps the counts.
    fn enter(&self, key: &Key, slot: Slot, now: Seconds) -> bool {
        let (table, live) = (self.table(), self.live());
        let slots = table.len() * bucket::SLOTS;
        let load = live.used().load(Relaxed).saturating_mul(100) / slots.max(1) as u64;
        let slot = Slot { verify: key.verify, ..slot };
        let placed = table.place(key, slot, now / 60, load, &self.roster(), key.fits());
        let Some(placed) = placed else {
            self.release(&slot);
            return false;
        };
        Live::add(live.used(), 1);
        Live::add(live.names(), slot.kind.has_addresses().into());
        self.tally.inherited.fetch_add(placed.inherited.into(), Relaxed);
        self.tally.evictions.fetch_add(placed.early.into(), Relaxed);
        if let Some(before) = &placed.before {
            self.let_go(before);
        }
        true
    }

    /// Counts a slot that is gone, and drops its reference.
    fn let_go(&self, slot: &Slot) {
        Live::add(self.live().used(), -1);
        Live::add(self.live().names(), -i64::from(slot.kind.has_addresses()));
        self.release(slot);
    }

    /// Drops the reference of a slot that is gone, or never came.
    fn release(&self, slot: &Slot) {
        if slot.kind == Kind::Set {
            self.sets(slot.value >> 31 != 0).release(slot.value & (MOST_CELLS - 1) as u32);
        }
    }

    /// Takes addresses.
    fn put_addresses(
        &self,
        name: &str,
        families: Families,
        addresses: &Addresses,
        resolution: &Resolution,
        now: Seconds,
    ) -> bool {
        let set = set_of(addresses, families);
        if self.is_negative(name, families) {
            self.tally.suspected.fetch_add(1, Relaxed);
        }
        let Fields { tld, label } = Fields::of(name);
        // Rounded down: an answer is never given beyond its TTL, unless that is below the shortest that is held.
        let minute = (now + u64::from(resolution.ttl.min(MAX_TTL))) / 60;
        let slow = resolution.took >= self.settings.slow;
        let (kind, value, both) = self.value_of(&set, families);
        if kind == Kind::Empty {
            return false;
        }
        self.enter(
            &self.keys.of(name),
            Slot { kind, verify: 0, label, value, meta: Meta::new(minute, tld, slow, both) },
            now,
        )
    }

    /// What a slot says of addresses: a lone address of IPv4 itself, else a place in the sets.
    fn value_of(&self, set: &Set, families: Families) -> (Kind, u32, bool) {
        let lone = set.v4 == 1 && set.v6 == 0 && families != Families::V6;
        if lone {
            return (Kind::Address, set.words[0], families == Families::Both);
        }
        let hash = self.keys.of_words(&set.words[..set.len()]);
        let sizes = [false, true].into_iter().filter(|&large| set.len() <= self.sets(large).room());
        let cell = sizes.filter_map(|large| Some((large, self.sets(large).acquire(set, hash)?))).next();
        match cell {
            Some((large, cell)) => {
                (Kind::Set, u32::from(large) << 31 | families_bits(families) << 29 | cell, false)
            }
            None => {
                self.tally.sets_full.fetch_add(1, Relaxed);
                // One address is better than none; it says nothing of IPv6.
                let kind = if set.v4 > 0 && families == Families::V4 { Kind::Address } else { Kind::Empty };
                (kind, set.words[0], false)
            }
        }
    }

    /// Takes that a name did not resolve: into the filter if there is one, and no-data only where that is as published, since
    /// a filter could not tell it from a name that does not exist.
    fn put_negative(&self, name: &str, families: Families, resolution: &Resolution, now: Seconds) -> bool {
        let (filter, key) = (self.filter(), self.keys.of(name));
        let is_no_data = resolution.answer == Answer::NoData;
        if !filter.exists() || (is_no_data && !self.clears_all()) {
            // A cut says the same of more names.
            let is_cut_off = !is_no_data && self.is_cut_off(&key, now);
            let which = if is_no_data { Which::NoData } else { Which::NxDomain };
            let remark = Remark { which, families, attempts: 0, seconds: 0 };
            let ttl = u64::from(resolution.ttl).clamp(1, self.made.negative_ttl);
            return is_cut_off || self.put_remark(name, &key, remark, now + ttl, now);
        }
        if filter.is_full() {
            self.catch_up(now, false);
        }
        filter.insert(self.bits(name, families));
        // In place of what was known; a cut stays, since it says the same of more names.
        let (table, fits) = (self.table(), key.fits());
        let is_known = |slot: &Slot| fits(slot) && !is_cut(slot);
        if table.find(&key, table.homes(&key), is_known, |_| ()).is_some() {
            self.purge_key(&key, |slot| !is_cut(slot));
        }
        true
    }

    /// Whether a cut at a name holds.
    fn is_cut_off(&self, key: &Key, now: Seconds) -> bool {
        let table = self.table();
        let found = table.find(key, table.homes(key), key.fits(), |_| ());
        found.is_some_and(|found| {
            is_cut(&found.slot) && Record::of(&found.slot, None, Families::Both, now).is_some()
        })
    }

    /// Puts a remark into the table.
    pub(super) fn put_remark(
        &self,
        name: &str,
        key: &Key,
        remark: Remark,
        expires: Seconds,
        now: Seconds,
    ) -> bool {
        let Fields { tld, label } = Fields::of(name);
        let seconds = (expires % 60) as u8;
        let meta = Meta::new(expires / 60 + 1, tld, false, false);
        let value = Remark { seconds, ..remark }.pack();
        self.enter(key, Slot { kind: Kind::Remark, verify: 0, label, value, meta }, now)
    }

    /// Whether this process may write: a child of a fork has its parent's number, which only one of them may use. Nor may
    /// anybody where the disk does not take note that the file changes, or whose file is lost.
    pub(super) fn may_write(&self) -> bool {
        !self.is_lost()
            && (self.locks.is_none()
                || (std::process::id() == self.process
                    && (self.live().clean().load(Relaxed) != 1 || self.begin_changes().is_ok())))
    }
}

/// Families one by one.
pub(super) fn each(families: Families) -> &'static [Families] {
    match families {
        Families::V4 => &[Families::V4],
        Families::V6 => &[Families::V6],
        Families::Both => &[Families::V4, Families::V6],
    }
}

/// Whether a slot says that nothing exists at or below a name.
pub(super) fn is_cut(slot: &Slot) -> bool {
    slot.kind == Kind::Remark && Remark::unpack(slot.value).which == Which::Cut
}

/// Addresses as words: sorted, without repeats, no more than are kept, of the families that were asked for.
fn set_of(addresses: &Addresses, families: Families) -> Set {
    let v4 = addresses.v4.iter().copied().map(IpAddr::from);
    let kept = Addresses::new(v4.chain(addresses.v6.iter().copied().map(IpAddr::from)));
    let mut set = Set { words: [0; MOST], v4: 0, v6: 0 };
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
