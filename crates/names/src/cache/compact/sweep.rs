//! What time brings: expired entries go, generations of the filter begin, counts are taken again.

use std::sync::atomic::Ordering::Relaxed;

use super::super::Seconds;
use super::bucket::SLOTS;
use super::insert::is_cut;
use super::slot::{Kind, MOST_CELLS, SPAN, Slot};
use super::{CompactCache, bucket};

impl CompactCache {
    /// Does what is due, unless another is at it.
    #[inline]
    pub(super) fn maintain(&self, now: Seconds) {
        self.watch_file(now);
        let sweep_due = (now / 60).abs_diff(self.live().swept().load(Relaxed)) >= SPAN;
        let filter = self.filter();
        if sweep_due || (filter.exists() && filter.is_due(now)) {
            self.catch_up(now, sweep_due);
        }
    }

    /// Does what is due.
    #[cold]
    pub(super) fn catch_up(&self, now: Seconds, sweep_due: bool) {
        if !self.may_write() {
            return;
        }
        self.alone_for(|| {
            self.filter().advance(now);
            if sweep_due {
                self.sweep(now);
            }
        });
    }

    /// Removes what has expired and what dead writers left: for one who does maintenance. Gives how many slots were emptied.
    pub(super) fn sweep(&self, now: Seconds) -> usize {
        let gone = self.empty(now, true);
        self.live().swept().store(now / 60, Relaxed);
        gone
    }

    /// Removes what dead writers left, and what has expired where that is due: what has is of use as long as nobody can tell
    /// anything newer (RFC 8767).
    pub(super) fn tidy(&self, now: Seconds) {
        if (now / 60).abs_diff(self.live().swept().load(Relaxed)) >= SPAN {
            self.sweep(now);
        } else {
            self.empty(now, false);
        }
    }

    /// Empties the slots that dead writers left and, by `expired`, those that have expired; gives how many.
    fn empty(&self, now: Seconds, expired: bool) -> usize {
        let (table, minute) = (self.table(), now / 60);
        // Whoever inserts sweeps first when that is due, so that nothing is younger than the last sweep by more than a
        // span, nor lives for longer. After two spans all has expired; minutes on a circle could no longer tell.
        let late = minute.abs_diff(self.live().swept().load(Relaxed)) >= 2 * SPAN;
        let is_stale = |slot: &Slot| late || (expired && slot.meta.left(minute).is_none());
        (0..table.len())
            .filter(|&home| {
                let control = table.bucket(home).control();
                bucket::used(control) > 0 || control >> 12 & 0xf_ffff != 0
            })
            .map(|home| {
                let stale = table.bucket(home).read(|glance| {
                    (0..SLOTS).any(|index| {
                        let slot = glance.slot(index);
                        slot.kind != Kind::Empty && is_stale(&slot)
                    })
                });
                if stale == Some(false) { 0 } else { self.purge(home, is_stale) }
            })
            .sum()
    }

    /// Counts names and references again: for one who is alone with the file.
    pub(super) fn recount(&self) {
        let (table, live) = (self.table(), self.live());
        let areas = [self.sets(false), self.sets(true)];
        let mut references = areas.each_ref().map(|area| vec![0_u32; area.cells()]);
        let (mut names, mut used, mut cuts) = (0, 0, 0);
        for home in 0..table.len() {
            let read = table
                .bucket(home)
                .read(|glance| std::array::from_fn::<_, SLOTS, _>(|index| glance.slot(index)));
            for slot in read.unwrap_or_default().iter().filter(|slot| slot.kind != Kind::Empty) {
                used += 1;
                names += u64::from(slot.kind.has_addresses());
                cuts += u64::from(is_cut(slot));
                let cell = (slot.value & (MOST_CELLS - 1) as u32) as usize;
                let references = &mut references[(slot.value >> 31) as usize];
                if let Some(count) = references.get_mut(cell).filter(|_| slot.kind == Kind::Set) {
                    *count = count.saturating_add(1);
                }
            }
        }
        live.names().store(names, Relaxed);
        live.used().store(used, Relaxed);
        live.cuts().store(cuts, Relaxed);
        for (area, references) in areas.iter().zip(references) {
            references.into_iter().enumerate().for_each(|(cell, count)| area.recount(cell, count));
        }
    }

    /// Empties everything: for one who is alone with the file.
    pub(super) fn wipe(&self) {
        let layout = &self.made.layout;
        for part in [layout.bucket_bytes(), layout.small_bytes(), layout.large_bytes(), layout.filter_bytes()]
        {
            let words = self.map.wide(super::in_words(part, 8));
            words.iter().for_each(|word| word.store(0, Relaxed));
        }
    }
}
