//! What resolvers learned goes in; what is to be forgotten goes out.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use super::super::kept::pause;
use super::super::{Addresses, Answer, Resolution, Seconds, Trouble};
use super::filter::Bits;
use super::header::Live;
use super::key::Fields;
use super::sets::{MOST, Set};
use super::settings::Negative;
use super::slot::{Kind, MAX_TTL, MOST_CELLS, Meta, Remark, Slot, Which, families_bits};
use super::{CompactCache, bucket};
use crate::host::HostName;
use crate::settings::Families;

impl CompactCache {
    /// Takes what a resolver learned; tells whether there was room for it.
    pub fn put(&self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) -> bool {
        self.maintain(now);
        let name = name.as_str();
        let taken = self.may_write()
            && match &resolution.answer {
                Answer::Addresses(addresses) => {
                    self.put_addresses(name, families, addresses, resolution, now)
                }
                Answer::NxDomain | Answer::NoData | Answer::Negative => {
                    self.put_negative(name, families, resolution, now)
                }
                Answer::Failed { .. }
                    if self.settings.negative == Negative::ClearAll && self.filter().exists() =>
                {
                    self.put_negative(name, families, resolution, now)
                }
                Answer::Failed { trouble, attempts } => {
                    self.enter_failure(name, families, (*trouble, *attempts), self.settings.first_pause, now)
                }
            };
        let count = if taken { &self.tally.insertions } else { &self.tally.refused };
        count.fetch_add(1, Relaxed);
        taken
    }

    /// Takes that a name could not be resolved, with another first pause than the cache's own, in seconds; tells whether there was
    /// room for it.
    pub fn put_failure(
        &self,
        name: HostName<'_>,
        families: Families,
        trouble: Trouble,
        first_pause: u32,
        now: Seconds,
    ) -> bool {
        self.maintain(now);
        let taken =
            self.may_write() && self.enter_failure(name.as_str(), families, (trouble, 1), first_pause, now);
        let count = if taken { &self.tally.insertions } else { &self.tally.refused };
        count.fetch_add(1, Relaxed);
        taken
    }

    /// Takes a failure, which counts with those before it.
    fn enter_failure(
        &self,
        name: &str,
        families: Families,
        (trouble, attempts): (Trouble, u8),
        first_pause: u32,
        now: Seconds,
    ) -> bool {
        let before = self.failures_before(name);
        let attempts = attempts.max(before.saturating_add(1)).clamp(1, 127);
        let seconds = pause(attempts, first_pause, self.settings.last_pause);
        let remark = Remark { which: Which::Failed(trouble), families, attempts, seconds: 0 };
        self.put_remark(name, remark, now + u64::from(seconds), now)
    }

    /// Forgets a name; tells whether it was known. The filter forgets by itself only.
    pub fn remove(&self, name: HostName<'_>) -> bool {
        let (table, key) = (self.table(), self.keys.of(name.as_str()));
        let fits = key.fits();
        let [first, second] = table.homes(&key);
        let mut known = false;
        // The second one again if the name moved there meanwhile.
        for home in [first, second, first] {
            known |= self.purge(home, |slot| slot.verify == key.verify && fits(slot)) > 0;
        }
        known
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
    fn enter(&self, name: &str, slot: Slot, now: Seconds) -> bool {
        let (table, live, key) = (self.table(), self.live(), self.keys.of(name));
        let slots = table.len() * bucket::SLOTS;
        let load = live.used().load(Relaxed).saturating_mul(100) / slots.max(1) as u64;
        let slot = Slot { verify: key.verify, ..slot };
        let placed = table.place(&key, slot, now / 60, load, &self.roster(), key.fits());
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
        if set.len() == 0 {
            return self.put_negative(
                name,
                families,
                &Resolution { answer: Answer::NoData, ..*resolution },
                now,
            );
        }
        if self.filter().exists() && self.is_negative(name, families) {
            self.tally.suspected.fetch_add(1, Relaxed);
        }
        let Fields { tld, label } = Fields::of(name);
        let ttl = resolution.ttl.clamp(self.settings.min_ttl, self.settings.max_ttl);
        // Rounded down: an answer is never given beyond its TTL, unless that is below the shortest that is held.
        let minute = (now + u64::from(ttl.min(MAX_TTL))) / 60;
        let slow = resolution.took >= self.settings.slow;
        let (kind, value, both) = self.value_of(&set, families);
        if kind == Kind::Empty {
            return false;
        }
        self.enter(
            name,
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

    /// Takes that a name did not resolve, into the filter if there is one.
    fn put_negative(&self, name: &str, families: Families, resolution: &Resolution, now: Seconds) -> bool {
        let filter = self.filter();
        if !filter.exists() {
            let which = if resolution.answer == Answer::NxDomain { Which::NxDomain } else { Which::NoData };
            let remark = Remark { which, families, attempts: 0, seconds: 0 };
            return self.put_remark(
                name,
                remark,
                now + u64::from(resolution.ttl).clamp(1, self.made.negative_ttl),
                now,
            );
        }
        if filter.is_full() {
            self.catch_up(now, false);
        }
        filter.insert(Bits::of(&self.keys.whole(name), families));
        // In place of what was known; a cut stays, since it says the same of more names.
        let (table, key) = (self.table(), self.keys.of(name));
        let fits = key.fits();
        let stale = |slot: &Slot| slot.verify == key.verify && fits(slot) && !is_cut(slot);
        if table.find(&key, table.homes(&key), stale, |_| ()).is_some() {
            table.homes(&key).into_iter().for_each(|home| {
                self.purge(home, stale);
            });
        }
        true
    }

    /// Puts a remark into the table.
    pub(super) fn put_remark(&self, name: &str, remark: Remark, expires: Seconds, now: Seconds) -> bool {
        let Fields { tld, label } = Fields::of(name);
        let seconds = (expires % 60) as u8;
        let meta = Meta::new(expires / 60 + 1, tld, false, false);
        let value = Remark { seconds, ..remark }.pack();
        self.enter(name, Slot { kind: Kind::Remark, verify: 0, label, value, meta }, now)
    }

    /// How many failures in a row are known of a name, even if the pause after them is over.
    fn failures_before(&self, name: &str) -> u8 {
        let (table, key) = (self.table(), self.keys.of(name));
        let found = table.find(&key, table.homes(&key), key.fits(), |_| ());
        let remark = found
            .filter(|found| found.slot.kind == Kind::Remark)
            .map(|found| Remark::unpack(found.slot.value));
        remark.filter(|remark| matches!(remark.which, Which::Failed(_))).map_or(0, |remark| remark.attempts)
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
