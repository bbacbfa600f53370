//! The waiting URLs of one host by priority: one backlog per level in use, the greatest level first.
//!
//! Guarantees: URLs of a level come out in the order in which they went in; a URL comes out before all of lower levels; a host
//! without priorities has one backlog, as if there were no levels.

use std::io;

use crate::backlog::Backlog;
use crate::codec::{self, damaged, put_number};
use crate::spill::Spill;
use crate::waiting::Waiting;

/// What a priority counts as: `-MOST` to `MOST`. Greater levels are served first.
pub(crate) type Level = i8;

/// The greatest level; the lowest one is below 0 by as much. Each level in use costs a host the memory of a backlog.
pub(crate) const MOST: Level = 4;

/// Bytes of a level that is in use, beside its URLs.
const LEVEL_BYTES: usize = size_of::<(Level, Backlog)>();

/// The level of a priority.
pub(crate) fn level_of(priority: i32) -> Level {
    priority.clamp((-MOST).into(), MOST.into()) as Level
}

/// The waiting URLs of one host.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Those of level 0: all URLs of most hosts.
    usual: Backlog,
    /// The other levels in use.
    others: Option<Box<Others>>,
}

/// Backlogs of levels other than 0, none of them empty, the greatest level first.
#[derive(Debug, Default)]
struct Others(Vec<(Level, Backlog)>);

impl Levels {
    /// URLs that are packed one after the other. `held`, the bytes in memory, grows by them.
    pub(crate) fn of(packed: Vec<u8>, len: usize, host: &str, held: &mut usize) -> io::Result<Self> {
        let mut levels = Levels::default();
        // Most hosts have level 0 only: then the bytes stay as they are.
        for is_usual in [false, true] {
            let mut from = &packed[..];
            while !from.is_empty() {
                let before = from;
                let level = Waiting::unpack(host, &mut from).ok_or_else(damaged)?.level();
                let url = &before[..before.len() - from.len()];
                if (level == 0) == is_usual {
                    *held += levels.push(level, |into| into.extend_from_slice(url));
                }
            }
            if levels.others.is_none() {
                return Ok(Levels { usual: Backlog::of(packed, len, held), others: None });
            }
        }
        Ok(levels)
    }

    /// All URLs, packed one after the other, the greatest level first.
    pub(crate) fn packed(&self, host: &str, spill: &Spill) -> io::Result<Vec<u8>> {
        let mut packed = Vec::new();
        for (_, backlog) in self.all() {
            packed.extend(backlog.packed(host, spill)?);
        }
        Ok(packed)
    }

    /// Drops all URLs; `held` shrinks by what is freed.
    pub(crate) fn clear(&mut self, spill: &mut Spill, held: &mut usize) {
        self.all_mut().for_each(|(_, backlog)| backlog.clear(spill, held));
        self.drop_empty(held);
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.all().map(|(_, backlog)| backlog.len()).sum()
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.usual.is_empty() && self.others.is_none()
    }

    /// The level of the next URL.
    pub(crate) fn level(&self) -> Option<Level> {
        self.all().find(|(_, backlog)| !backlog.is_empty()).map(|(level, _)| level)
    }

    /// Puts in what `pack` appends: one URL. Returns by how many bytes its memory has grown.
    pub(crate) fn push(&mut self, level: Level, pack: impl FnOnce(&mut Vec<u8>)) -> usize {
        if level == 0 {
            return self.usual.push(pack);
        }
        let others = &mut self.others.get_or_insert_default().0;
        let (place, new) = match others.binary_search_by(|(other, _)| level.cmp(other)) {
            Ok(place) => (place, 0),
            Err(place) => {
                others.insert(place, (level, Backlog::default()));
                (place, LEVEL_BYTES)
            }
        };
        others[place].1.push(pack) + new
    }

    /// Takes out the next URL; `held`, the bytes in memory, shrinks by what is freed and grows by what is read.
    pub(crate) fn pop(
        &mut self,
        host: &str,
        spill: &mut Spill,
        held: &mut usize,
    ) -> io::Result<Option<Waiting>> {
        self.pop_if(host, spill, held, |_| true)
    }

    /// Takes out the first URL of a level, the greatest level first, if it is the one that is looked for.
    pub(crate) fn pop_if(
        &mut self,
        host: &str,
        spill: &mut Spill,
        held: &mut usize,
        wanted: impl Fn(&Waiting) -> bool,
    ) -> io::Result<Option<Waiting>> {
        let mut found = None;
        for (_, backlog) in self.all_mut() {
            found = backlog.pop_if(host, spill, held, &wanted)?;
            if found.is_some() {
                break;
            }
        }
        if found.is_some() {
            self.drop_empty(held);
        }
        Ok(found)
    }

    /// The URLs, the greatest level first; a piece on disk is read when its first URL is asked for, and not stored.
    pub(crate) fn iter<'a>(
        &'a self,
        host: &'a str,
        spill: &'a Spill,
    ) -> impl Iterator<Item = io::Result<Waiting>> + use<'a> {
        self.all().flat_map(|(_, backlog)| backlog.iter(host, spill))
    }

    /// Drops the heads from memory that are on disk: they are read again later.
    pub(crate) fn forget_head(&mut self, spill: &mut Spill, held: &mut usize) {
        self.all_mut().for_each(|(_, backlog)| backlog.forget_head(spill, held));
    }

    /// Writes URLs behind the heads to the disk, as [`Backlog::spill`] does.
    pub(crate) fn spill(&mut self, least: usize, spill: &mut Spill, held: &mut usize) -> io::Result<()> {
        self.all_mut().try_for_each(|(_, backlog)| backlog.spill(least, spill, held))
    }

    /// Bytes that are in memory and not next.
    pub(crate) fn spillable(&self) -> usize {
        self.all().map(|(_, backlog)| backlog.spillable()).sum()
    }

    /// Appends level 0 to a snapshot. `count` packed URLs come before all others, also before greater levels.
    pub(crate) fn pack(&self, first: &[u8], count: usize, into: &mut Vec<u8>) {
        match self.is_first_usual() {
            true => self.usual.pack(first, count, into),
            false => self.usual.pack(&[], 0, into),
        }
    }

    /// Appends the other levels, with the same URLs before all others.
    pub(crate) fn pack_others(&self, first: &[u8], count: usize, into: &mut Vec<u8>) {
        let others = self.others.iter().flat_map(|others| &others.0);
        put_number(into, others.clone().count() as u64);
        let mut first = if self.is_first_usual() { (&[][..], 0) } else { (first, count) };
        for (level, backlog) in others {
            put_number(into, (level + MOST) as u64);
            let (bytes, count) = std::mem::take(&mut first);
            backlog.pack(bytes, count, into);
        }
    }

    /// Reads level 0 from a snapshot.
    pub(crate) fn unpack(from: &mut &[u8], spill: &mut Spill, held: &mut usize) -> io::Result<Self> {
        Ok(Levels { usual: Backlog::unpack(from, spill, held)?, others: None })
    }

    /// Reads the other levels; versions before have none.
    pub(crate) fn unpack_others(
        &mut self,
        from: &mut &[u8],
        spill: &mut Spill,
        held: &mut usize,
    ) -> io::Result<()> {
        let count = if from.is_empty() { 0 } else { codec::number(from).ok_or_else(damaged)? };
        let mut others = Others::default();
        for _ in 0..count {
            let level = codec::number(from).and_then(|number| Level::try_from(number).ok());
            let level = level.filter(|level| *level <= 2 * MOST).ok_or_else(damaged)? - MOST;
            let is_in_order = others.0.last().is_none_or(|(last, _)| level < *last);
            let backlog = Backlog::unpack(from, spill, held)?;
            if level == 0 || !is_in_order || backlog.is_empty() {
                return Err(damaged());
            }
            *held += LEVEL_BYTES;
            others.0.push((level, backlog));
        }
        self.others = (!others.0.is_empty()).then(|| Box::new(others));
        Ok(())
    }

    /// Whether level 0 is the greatest one in use, or none is.
    fn is_first_usual(&self) -> bool {
        let greatest = self.others.as_ref().and_then(|others| others.0.first());
        greatest.is_none_or(|(level, _)| *level < 0 && !self.usual.is_empty())
    }

    /// Drops levels without URLs.
    fn drop_empty(&mut self, held: &mut usize) {
        if let Some(others) = &mut self.others {
            let before = others.0.len();
            others.0.retain(|(_, backlog)| !backlog.is_empty());
            *held = held.saturating_sub((before - others.0.len()) * LEVEL_BYTES);
            if others.0.is_empty() {
                self.others = None;
            }
        }
    }

    /// All backlogs, the greatest level first.
    fn all(&self) -> impl Iterator<Item = (Level, &Backlog)> {
        let others = self.others.as_ref().map_or(&[][..], |others| &others.0);
        let (above, below) = others.split_at(others.partition_point(|(level, _)| *level > 0));
        above.iter().map(pair).chain([(0, &self.usual)]).chain(below.iter().map(pair))
    }

    /// All backlogs, to be changed.
    fn all_mut(&mut self) -> impl Iterator<Item = (Level, &mut Backlog)> {
        let others = self.others.as_mut().map_or(&mut [][..], |others| &mut others.0);
        let above = others.partition_point(|(level, _)| *level > 0);
        let (above, below) = others.split_at_mut(above);
        above.iter_mut().map(pair_mut).chain([(0, &mut self.usual)]).chain(below.iter_mut().map(pair_mut))
    }
}

/// A level with its backlog.
fn pair((level, backlog): &(Level, Backlog)) -> (Level, &Backlog) {
    (*level, backlog)
}

/// The same, to be changed.
fn pair_mut((level, backlog): &mut (Level, Backlog)) -> (Level, &mut Backlog) {
    (*level, backlog)
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
