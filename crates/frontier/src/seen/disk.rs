//! What is beyond memory: sorted runs, the tree that is becoming one, and the threads that write and merge them.
//!
//! Guarantees: a run file never changes and is never removed while it is in use or kept; what was deleted from a run
//! stays deleted when it is merged; when writing fails nothing is lost, and it is tried again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use hashbrown::HashSet;

use super::arena::Arena;
use super::filter::Filter;
use super::run::{self, Run};
use super::tree::{Key, Tree};
use super::write::{Source, Target, write_merged, write_tree};

/// Runs of about one size that are merged: more write less, fewer keep fewer filters to look at.
const FAN: usize = 4;

/// A run is rewritten when this part of its keys is deleted.
const DELETED: u64 = 4;

/// Or when what was deleted from it takes this part of the memory budget.
const DELETED_MEMORY: usize = 32;

/// Merging takes no less memory than of this budget: even the smallest set has few runs.
const LEAST_BUDGET: usize = 16 << 20;

/// A run, and what was deleted from it since it was written.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) run: Arc<Run>,
    pub(super) deleted: HashSet<Key>,
    synced: bool,
}

/// A tree that takes no more keys until it is a run.
#[derive(Debug)]
pub(super) struct Frozen {
    pub(super) tree: Arc<Tree>,
    pub(super) deleted: HashSet<Key>,
}

/// A thread that writes a run.
#[derive(Debug)]
struct Work {
    number: u64,
    thread: JoinHandle<io::Result<Run>>,
}

/// A merge that is under way: its sources, with what was deleted from them when it began.
#[derive(Debug)]
struct Merge {
    work: Work,
    sources: Vec<(u64, Arc<HashSet<Key>>)>,
    /// Bytes of memory of the filter that it fills.
    memory: usize,
}

/// The part of the set that is on disk or on its way there.
#[derive(Debug)]
pub(super) struct Disk {
    directory: PathBuf,
    width: usize,
    next_number: u64,
    pub(super) levels: Vec<Level>,
    pub(super) frozen: Option<Frozen>,
    flush: Option<Work>,
    merge: Option<Merge>,
    cancelled: Arc<AtomicBool>,
    /// Why writing failed last.
    error: Option<io::Error>,
}

impl Disk {
    /// Opens a directory, which is made if it is missing; the runs of `numbers` are in use.
    pub(super) fn open(directory: PathBuf, width: usize, numbers: &[u64]) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let mut disk = Disk {
            directory,
            width,
            next_number: 1,
            levels: Vec::new(),
            frozen: None,
            flush: None,
            merge: None,
            cancelled: Arc::default(),
            error: None,
        };
        // Newer runs than those in use may be there, if this is an older snapshot: their names are not used again.
        disk.next_number = disk.on_disk()?.into_iter().map(|(number, _)| number + 1).max().unwrap_or(1);
        for number in numbers {
            let run = Arc::new(Run::open(&disk.directory, *number, width)?);
            disk.levels.push(Level { run, deleted: HashSet::new(), synced: true });
        }
        Ok(disk)
    }

    /// Whether a key may be in a run.
    pub(super) fn may_contain(&self, key: &Key) -> bool {
        self.levels.iter().any(|level| level.run.filter.may_contain(key))
    }

    /// Whether a key is in the tree that is becoming a run.
    pub(super) fn frozen_contains(&self, key: &Key) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen.tree.contains(key) && !frozen.deleted.contains(key))
    }

    /// Loads what looking for keys will look at.
    pub(super) fn touch(&self, keys: &[Key]) -> u8 {
        let tree = self.frozen.as_ref().map_or(0, |frozen| frozen.tree.touch(keys));
        let filters = self.levels.iter().flat_map(|level| keys.iter().map(|key| level.run.filter.touch(key)));
        filters.fold(tree, |all, load| all | load)
    }

    /// Which of `keys`, which are sorted, are in runs.
    pub(super) fn find(&self, keys: &[Key]) -> io::Result<Vec<bool>> {
        let mut found = vec![false; keys.len()];
        for level in &self.levels {
            let asked = |at: &usize| !found[*at] && level.run.filter.may_contain(&keys[*at]);
            let positions: Vec<usize> = (0..keys.len()).filter(asked).collect();
            let wanted: Vec<Key> = positions.iter().map(|at| keys[*at]).collect();
            level.run.find(&wanted, |at| found[positions[at]] |= !level.deleted.contains(&wanted[at]))?;
        }
        Ok(found)
    }

    /// Deletes a key from the run, or from the tree becoming one, that holds it; tells whether one did.
    pub(super) fn delete(&mut self, key: &Key) -> io::Result<bool> {
        if self.frozen_contains(key) {
            return Ok(self.frozen.as_mut().is_some_and(|frozen| frozen.deleted.insert(*key)));
        }
        for level in &mut self.levels {
            let mut here = false;
            if level.run.filter.may_contain(key) {
                level.run.find(&[*key], |_| here = true)?;
            }
            if here && level.deleted.insert(*key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many keys are here.
    pub(super) fn len(&self) -> u64 {
        let runs: u64 = self.levels.iter().map(|level| level.run.keys - level.deleted.len() as u64).sum();
        runs + self.frozen.as_ref().map_or(0, |frozen| frozen.tree.len - frozen.deleted.len() as u64)
    }

    /// Bytes of memory held for runs and for those that are being written, without the tree that is becoming one.
    pub(super) fn memory_of_runs(&self) -> usize {
        let runs: usize =
            self.levels.iter().map(|level| level.run.memory() + set_memory(&level.deleted)).sum();
        let flush = self.frozen.as_ref().map_or(0, |frozen| Filter::size(frozen.tree.len));
        runs + flush + self.merge.as_ref().map_or(0, |merge| merge.memory)
    }

    /// Bytes of memory held by the tree that is becoming a run.
    pub(super) fn memory_of_frozen(&self) -> usize {
        self.frozen.as_ref().map_or(0, |frozen| frozen.tree.memory() + set_memory(&frozen.deleted))
    }

    /// Begins to make a run of a tree.
    pub(super) fn freeze(&mut self, tree: Tree, deleted: HashSet<Key>) {
        self.frozen = Some(Frozen { tree: Arc::new(tree), deleted });
        self.write_frozen();
    }

    /// Begins, again if need be, to write the frozen tree.
    pub(super) fn write_frozen(&mut self) {
        let Some(frozen) = self.frozen.as_ref().filter(|_| self.flush.is_none()) else { return };
        let tree = frozen.tree.clone();
        match self.spawn(move |target| write_tree(target, &tree)) {
            Ok(work) => self.flush = Some(work),
            Err(error) => self.error = Some(error),
        }
    }

    /// Applies what the threads have done; returns the memory of a tree that has become a run.
    pub(super) fn collect(&mut self, wait: bool, budget: usize) -> Option<Arena> {
        let mut arena = None;
        if let Some(work) = self.flush.take_if(|work| wait || work.thread.is_finished()) {
            match (join(work), self.frozen.take()) {
                (Ok(run), Some(frozen)) => {
                    self.levels.push(Level { run: Arc::new(run), deleted: frozen.deleted, synced: false });
                    arena = Arc::try_unwrap(frozen.tree).ok().map(|tree| tree.arena);
                    self.error = None;
                }
                (Ok(_), None) => {}
                (Err(error), frozen) => {
                    self.frozen = frozen;
                    self.error = Some(error);
                }
            }
            self.merge_some(budget);
        }
        if let Some(merge) = self.merge.take_if(|merge| merge.work.thread.is_finished()) {
            self.end_merge(merge);
            self.merge_some(budget);
        }
        arena
    }

    /// Puts a merged run in the place of its sources.
    fn end_merge(&mut self, Merge { work, sources, .. }: Merge) {
        let run = match join(work) {
            Ok(run) => run,
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        let mut deleted = HashSet::new();
        for (number, before) in sources {
            if let Some(at) = self.levels.iter().position(|level| level.run.number == number) {
                deleted.extend(
                    self.levels.swap_remove(at).deleted.into_iter().filter(|key| !before.contains(key)),
                );
            }
        }
        if run.keys > 0 {
            self.levels.push(Level { run: Arc::new(run), deleted, synced: false });
        }
    }

    /// Begins a merge where there is something to merge and memory for it.
    fn merge_some(&mut self, budget: usize) {
        if self.merge.is_some() || self.error.is_some() {
            return;
        }
        let Some(chosen) = self.to_merge(budget) else { return };
        let memory = Filter::size(chosen.iter().map(|(run, _)| run.keys).sum());
        if self.memory_of_runs() + memory > budget.max(LEAST_BUDGET) / 4 * 3 {
            return;
        }
        let sources = chosen.iter().map(|(run, deleted)| (run.number, deleted.clone())).collect();
        match self.spawn(move |target| write_merged(target, &chosen)) {
            Ok(work) => self.merge = Some(Merge { work, sources, memory }),
            Err(error) => self.error = Some(error),
        }
    }

    /// Runs of about one size, or one of which much was deleted.
    fn to_merge(&self, budget: usize) -> Option<Vec<Source>> {
        let source = |level: &Level| (level.run.clone(), Arc::new(level.deleted.clone()));
        let much = |level: &&Level| {
            level.deleted.len() as u64 * DELETED > level.run.keys
                || set_memory(&level.deleted) > budget.max(LEAST_BUDGET) / DELETED_MEMORY
        };
        if let Some(level) = self.levels.iter().find(much) {
            return Some(vec![source(level)]);
        }
        let mut by_size: Vec<&Level> = self.levels.iter().collect();
        by_size.sort_by_key(|level| level.run.keys);
        let alike = |few: &&[&Level]| few[FAN - 1].run.keys < few[0].run.keys.saturating_mul(FAN as u64 - 1);
        by_size.windows(FAN).find(alike).map(|few| few.iter().map(|level| source(level)).collect())
    }

    /// Begins to write the next run.
    fn spawn(&mut self, write: impl FnOnce(&Target) -> io::Result<Run> + Send + 'static) -> io::Result<Work> {
        let number = self.next_number;
        self.next_number += 1;
        let (directory, cancelled) = (self.directory.clone(), self.cancelled.clone());
        let target = Target { directory, number, width: self.width, cancelled };
        let thread = Builder::new().name("lycosa-seen".into()).spawn(move || write(&target))?;
        Ok(Work { number, thread })
    }

    /// Why writing failed, if it did since it last was asked.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Makes sure that the runs in use outlive a power failure.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let mut any = false;
        for level in self.levels.iter_mut().filter(|level| !level.synced) {
            level.run.sync()?;
            (level.synced, any) = (true, true);
        }
        if any { File::open(&self.directory)?.sync_all() } else { Ok(()) }
    }

    /// The numbers of the runs in use.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.levels.iter().map(|level| level.run.number).collect()
    }

    /// Files of runs that are neither in use, nor in `keep`, nor being written. No later run gets such a name.
    pub(super) fn unused(&self, keep: &BTreeSet<u64>) -> io::Result<Vec<PathBuf>> {
        let works = self.flush.iter().chain(self.merge.as_ref().map(|merge| &merge.work));
        let used: BTreeSet<u64> = self.numbers().into_iter().chain(works.map(|work| work.number)).collect();
        let is_unused = |number: &u64| !used.contains(number) && !keep.contains(number);
        let files = self.on_disk()?.into_iter();
        Ok(files.filter(|(number, _)| is_unused(number)).map(|(_, path)| path).collect())
    }

    /// The files of runs, whole and in part.
    fn on_disk(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            files.extend(
                entry.file_name().to_str().and_then(run::number).map(|number| (number, entry.path())),
            );
        }
        Ok(files)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A thread must not write on under a number that the next set in this directory may take.
        self.cancelled.store(true, Ordering::Relaxed);
        let merge = self.merge.take().map(|merge| merge.work);
        self.flush.take().into_iter().chain(merge).for_each(|work| drop(join(work)));
    }
}

/// The result of a thread.
fn join(work: Work) -> io::Result<Run> {
    work.thread
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that wrote known URLs ended unexpectedly")))
}

/// Bytes of memory of a set of keys, about.
pub(super) fn set_memory(keys: &HashSet<Key>) -> usize {
    // A byte of control a place, and an eighth of the places is kept free.
    keys.capacity() * 8 / 7 * (size_of::<Key>() + 1)
}
