//! The MD5 dedup tree (SYSTEMS.md section 5): which URLs are known, by their digests, with deletion.
//!
//! Beyond a budget of memory keys go to disk, in sorted runs with a filter each (the family of Mercator's and DRUM's
//! sieves). A key that no filter holds is new at once: no host waits for the disk. One that a filter
//! holds is almost surely known, so that no host needs it before [`Seen::verify`].
//!
//! Guarantees:
//! - A key is new exactly once until it is deleted, also across [`Seen::save`] and [`Seen::load`].
//! - Answers are exact: no false positives beyond those of the key itself.
//! - At 100 million keys a key takes at most 15 bytes of memory.
//! - What a saved set names stays whole: files are never changed, and removed only by
//!   [`Seen::unused_files`].
//! - If the disk is full no key is lost: keys stay in memory, beyond the budget, until there is space.

mod arena;
mod checked;
mod disk;
mod filter;
mod image;
mod key;
mod leaf;
mod run;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use hashbrown::HashSet;
use lycosa_url::{Digest, UrlRef};

use checked::{CheckedReader, CheckedWriter};
use disk::{Disk, set_memory};
use image::{SavedDisk, damaged};
pub use key::KeyKind;
use key::Secret;
use tree::{AHEAD, Tree};

/// How known URLs are kept.
#[derive(Clone, Debug)]
pub struct SeenSettings {
    /// What a URL is known by. Default: its MD5.
    pub key: KeyKind,
    /// Bytes of memory beyond which keys go to disk. Default: 1 GiB; at least 16 MiB.
    pub memory: usize,
    /// Where they go. Default: nowhere; everything stays in memory.
    pub directory: Option<PathBuf>,
}

impl Default for SeenSettings {
    fn default() -> Self {
        SeenSettings { key: KeyKind::Md5, memory: 1 << 30, directory: None }
    }
}

/// What is known of a key that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was not known; now it is.
    New,
    /// It was known.
    Known,
    /// Almost surely it was known, on disk; [`Seen::verify`] tells.
    Suspected,
}

/// The set of known URLs.
#[derive(Debug)]
pub struct Seen {
    settings: SeenSettings,
    secret: Secret,
    tree: Tree,
    disk: Option<Disk>,
    /// Keys that are in a filter and wait for [`Seen::verify`].
    suspects: HashSet<Digest>,
    /// Keys that were new, and deleted before [`Seen::verify`] could say so.
    confirmed: Vec<Digest>,
    /// The size of the tree at which writing is tried again after it failed.
    try_again: usize,
}

/// The part of the budget that is kept for deciding suspected keys and for what allocators hold back: a fifth. With an
/// eighth the process had 1,058 MB at 300 million keys and a budget of 1,000.
const RESERVE: usize = 5;

/// The part of the trees' share that is left for the next one while a tree is being written: an eighth. Writing takes
/// seconds, and only what is new in that time has to fit.
const NEXT: usize = 8;

/// A tree is not written before it has this part of the budget, whatever filters take: a sixteenth.
const LEAST: usize = 16;

impl Default for Seen {
    /// An empty set of MD5 keys that stays in memory.
    fn default() -> Self {
        let settings = SeenSettings::default();
        Seen::of(Tree::new(settings.key.width()), Secret::default(), None, settings)
    }
}

/// What a saved set begins with; the last byte is the version.
const MAGIC: &[u8; 12] = b"lycosa-seen\x02";

impl Seen {
    /// An empty set. Run files that are in the directory stay until [`Seen::unused_files`].
    pub fn open(settings: SeenSettings) -> io::Result<Seen> {
        let secret = key::draw(settings.key)?;
        let width = settings.key.width();
        let disk =
            settings.directory.clone().map(|directory| Disk::open(directory, width, &[])).transpose()?;
        Ok(Seen::of(Tree::new(width), secret, disk, settings))
    }

    /// A set of its parts.
    fn of(tree: Tree, secret: Secret, disk: Option<Disk>, settings: SeenSettings) -> Self {
        Seen { settings, secret, tree, disk, suspects: HashSet::new(), confirmed: Vec::new(), try_again: 0 }
    }

    /// The key of a URL, as this set wants it.
    pub fn key<'a>(&self, url: impl Into<UrlRef<'a>>) -> Digest {
        let url = url.into();
        key::of(url.digest(), url.as_str().as_bytes(), self.settings.key, &self.secret)
    }

    /// The key of a request that is no plain GET, whose own key is a digest ([`Request::key`](lycosa_records::Request::key)).
    pub fn key_of_digest(&self, digest: &Digest) -> Digest {
        key::of(digest, digest, self.settings.key, &self.secret)
    }

    /// A digest, cut to what keys of this kind have.
    #[cfg(test)]
    fn cut(&self, key: Digest) -> Digest {
        let mut cut = [0; 16];
        let width = self.settings.key.width();
        cut[..width].copy_from_slice(&key[..width]);
        cut
    }

    /// Adds keys in order. A key that is added again while it is suspected is known.
    pub fn add(&mut self, keys: &[Digest]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(keys.len());
        for group in keys.chunks(AHEAD) {
            let loaded = self.tree.touch(group) | self.disk.as_ref().map_or(0, |disk| disk.touch(group));
            std::hint::black_box(loaded);
            answers.extend(group.iter().map(|key| self.add_one(key)));
        }
        self.relieve();
        answers
    }

    /// Adds a key.
    fn add_one(&mut self, key: &Digest) -> Answer {
        if let Some(disk) = &self.disk {
            if self.tree.contains(key) || disk.frozen_contains(key) || self.suspects.contains(key) {
                return Answer::Known;
            }
            if disk.may_contain(key) {
                self.suspects.insert(*key);
                return Answer::Suspected;
            }
        }
        if self.tree.insert(key) { Answer::New } else { Answer::Known }
    }

    /// Decides all suspected keys: gives those that were new after all, each once. The others were known.
    ///
    /// After an error all are suspected as before.
    pub fn verify(&mut self) -> io::Result<Vec<Digest>> {
        let mut new = Vec::new();
        if let Some(disk) = self.disk.as_ref().filter(|_| !self.suspects.is_empty()) {
            let mut keys: Vec<Digest> = self.suspects.iter().copied().collect();
            keys.sort_unstable_by_key(|key| u128::from_be_bytes(*key));
            let found = disk.find(&keys)?;
            new.extend(keys.into_iter().zip(found).filter(|(_, found)| !found).map(|(key, _)| key));
        }
        self.suspects.clear();
        for key in &new {
            self.tree.insert(key);
        }
        new.append(&mut self.confirmed);
        self.relieve();
        Ok(new)
    }

    /// Whether a key waits for [`Seen::verify`].
    pub fn is_suspected(&self, key: &Digest) -> bool {
        self.suspects.contains(key)
    }

    /// How many keys [`Seen::verify`] will decide or tell of.
    pub fn suspected(&self) -> usize {
        self.suspects.len() + self.confirmed.len()
    }

    /// Whether a key is known; a suspected one is.
    pub fn contains(&self, key: &Digest) -> io::Result<bool> {
        if self.tree.contains(key) || self.suspects.contains(key) {
            return Ok(true);
        }
        let Some(disk) = &self.disk else { return Ok(false) };
        Ok(disk.frozen_contains(key) || disk.find(&[*key])? == [true])
    }

    /// Forgets a key; tells whether it was known. A suspected one is decided by that.
    pub fn delete(&mut self, key: &Digest) -> io::Result<bool> {
        if self.tree.delete(key) {
            return Ok(true);
        }
        let Some(disk) = &mut self.disk else { return Ok(false) };
        let deleted = disk.delete(key)?;
        let suspected = self.suspects.remove(key);
        if suspected && !deleted {
            self.confirmed.push(*key);
        }
        Ok(deleted || suspected)
    }

    /// How many keys are known, without those that are suspected.
    pub fn len(&self) -> u64 {
        self.tree.len + self.disk.as_ref().map_or(0, Disk::len)
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let disk = self.disk.as_ref().map_or(0, |disk| disk.memory_of_runs() + disk.memory_of_frozen());
        self.tree.memory()
            + disk
            + set_memory(&self.suspects)
            + self.confirmed.capacity() * size_of::<Digest>()
    }

    /// Why keys could not be written to disk or merged there, if that failed since this was last asked. Nothing is
    /// lost by it, and it is tried again.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.disk.as_mut().and_then(Disk::take_error)
    }

    /// Gives the tree to be written when it has its share of the budget.
    fn relieve(&mut self) {
        let budget = self.settings.memory;
        let Some(disk) = &mut self.disk else { return };
        let others = disk.memory_of_runs() + set_memory(&self.suspects) + budget / RESERVE;
        // Two trees at a time: one that takes keys, one that is being written.
        let share = budget.saturating_sub(others).max(budget / LEAST);
        let full = |tree: &Tree, disk: &Disk| match disk.memory_of_frozen() {
            0 => tree.used_memory() > share - share / NEXT,
            frozen => tree.used_memory() + frozen > share,
        };
        let wait = disk.frozen.is_some() && full(&self.tree, disk);
        if let Some(arena) = disk.collect(wait, budget) {
            self.tree.arena.reuse(arena);
        }
        // The share shrinks while runs grow: what the trees have no use for any more is given back.
        let trees = self.tree.used_memory() + disk.memory_of_frozen();
        self.tree.arena.spare_at_most(share.saturating_sub(trees));
        if !full(&self.tree, disk) || self.tree.used_memory() < self.try_again {
            return;
        }
        if disk.frozen.is_some() {
            // It could not be written: meanwhile the tree goes on growing.
            self.try_again = self.tree.used_memory() + share / 8;
            disk.write_frozen();
            return;
        }
        self.try_again = 0;
        let mut next = Tree::new(self.settings.key.width());
        next.arena.reuse_spare(&mut self.tree.arena);
        disk.freeze(std::mem::replace(&mut self.tree, next), HashSet::new());
    }

    /// Writes the set; runs that it names are then safe on disk.
    ///
    /// An error of the kind `InvalidInput` while keys are suspected: [`Seen::verify`] decides them.
    pub fn save(&mut self, into: &mut dyn Write) -> io::Result<()> {
        if self.suspected() > 0 {
            let message = format!("{} keys are suspected: call verify before save", self.suspected());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut into = CheckedWriter::new(into);
        into.write_all(MAGIC)?;
        into.write_all(&[self.settings.key.number()])?;
        into.write_all(&self.secret)?;
        self.tree.write(&mut into)?;
        match &mut self.disk {
            Some(disk) => {
                disk.sync()?;
                disk.write(&mut into)?;
            }
            None => Disk::write_none(&mut into)?,
        }
        into.finish()
    }

    /// Reads a set that [`Seen::save`] wrote, and not a byte more.
    ///
    /// Errors: `InvalidData` for what is damaged or no such set, `InvalidInput` where the settings do not fit it,
    /// `NotFound` where a run is missing.
    pub fn load(settings: SeenSettings, from: &mut dyn Read) -> io::Result<Seen> {
        let mut from = CheckedReader::new(from);
        let (mut magic, mut kind, mut secret) = ([0; 12], [0], Secret::default());
        from.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(damaged("it begins with something else"));
        }
        from.read_exact(&mut kind)?;
        if kind[0] != settings.key.number() {
            let message = format!(
                "the saved set of known URLs has keys of another kind than {:?}: \
                 use the kind that it was begun with, or begin anew",
                settings.key
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        from.read_exact(&mut secret)?;
        let tree = Tree::read(settings.key.width(), &mut from)?;
        let saved = SavedDisk::read(settings.key.width(), &mut from)?;
        from.finish()?;
        let disk = saved.open(settings.directory.clone(), settings.key.width())?;
        Ok(Seen::of(tree, secret, disk, settings))
    }

    /// The run files in use.
    pub fn files_in_use(&self) -> impl Iterator<Item = &File> {
        self.disk.iter().flat_map(|disk| disk.levels.iter().map(|level| level.run.file()))
    }

    /// The numbers of the run files in use.
    pub fn files(&self) -> Vec<u64> {
        self.disk.as_ref().map(Disk::numbers).unwrap_or_default()
    }

    /// Run files that are neither in use nor in `keep`, which are those that kept snapshots name: to be removed.
    pub fn unused_files(&self, keep: &BTreeSet<u64>) -> io::Result<Vec<PathBuf>> {
        self.disk.as_ref().map_or(Ok(Vec::new()), |disk| disk.unused(keep))
    }
}
