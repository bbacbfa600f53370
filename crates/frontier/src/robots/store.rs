//! The rules that were learnt: in memory up to a budget, beyond it on disk.
//!
//! Guarantees: rules are the same in memory and on disk; those in memory take no more bytes than the budget, beside one from the
//! disk that was used last; without a directory, or while it cannot be written, all stay in memory.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Rules;
use crate::spill::{Block, Spill};

/// All rules. [`RulesStore::keep`] fills it; rules that are dropped leave it.
#[derive(Debug)]
pub(crate) struct RulesStore {
    budget: usize,
    shared: Arc<Shared>,
    spill: Spill,
    /// Rules on disk that were used last: a host's URLs are granted in a row.
    loaded: Option<(Block, Rules)>,
}

/// Counts that dropped rules change.
#[derive(Debug, Default)]
struct Shared {
    /// Bytes in memory.
    held: AtomicUsize,
    /// Pieces on disk that are no longer in use.
    freed: Mutex<Vec<Block>>,
}

/// The rules of one origin.
#[derive(Debug)]
pub(crate) struct KeptRules {
    storage: Storage,
    shared: Arc<Shared>,
}

/// Where they are stored.
#[derive(Debug)]
enum Storage {
    Memory(Rules),
    Disk { block: Block, crawl_delay: Option<Duration> },
}

impl RulesStore {
    /// An empty store of so many bytes in memory. `directory` is made when it is needed; `None`: all stays in memory.
    pub(crate) fn new(budget: usize, directory: Option<PathBuf>) -> Self {
        RulesStore { budget, shared: Arc::default(), spill: Spill::new(directory), loaded: None }
    }

    /// Keeps rules.
    pub(crate) fn keep(&mut self, rules: Rules) -> KeptRules {
        for block in self.shared.freed().drain(..) {
            self.spill.free(&block);
        }
        let bytes = rules.memory();
        let fits = self.shared.held.load(Relaxed).saturating_add(bytes) <= self.budget;
        let written =
            if fits || !self.spill.is_possible() { None } else { self.spill.write(rules.pack()).ok() };
        let storage = match written {
            Some(block) => Storage::Disk { block, crawl_delay: rules.crawl_delay() },
            None => {
                self.shared.held.fetch_add(bytes, Relaxed);
                Storage::Memory(rules)
            }
        };
        KeptRules { storage, shared: Arc::clone(&self.shared) }
    }

    /// The rules. Fails if they cannot be read back.
    pub(crate) fn get<'a>(&'a mut self, kept: &'a KeptRules) -> io::Result<&'a Rules> {
        let block = match &kept.storage {
            Storage::Memory(rules) => return Ok(rules),
            Storage::Disk { block, .. } => *block,
        };
        let loaded = match self.loaded.take() {
            Some((of, rules)) if of == block => rules,
            _ => Rules::unpack(&self.spill.read(&block)?).ok_or(io::ErrorKind::InvalidData)?,
        };
        Ok(&self.loaded.insert((block, loaded)).1)
    }

    /// The rules as bytes, for a snapshot. Fails where they cannot be read back.
    pub(crate) fn packed<'a>(&self, kept: &'a KeptRules) -> io::Result<Cow<'a, [u8]>> {
        match &kept.storage {
            Storage::Memory(rules) => Ok(rules.pack().into()),
            Storage::Disk { block, .. } => Ok(self.spill.read(block)?.into()),
        }
    }

    /// The files of rules.
    pub(crate) fn spill_files(&self) -> impl Iterator<Item = &File> {
        self.spill.files()
    }

    /// The files that have no rules any more, and those of an earlier process: to be removed.
    pub(crate) fn unused_files(&mut self) -> io::Result<Vec<PathBuf>> {
        self.spill.unused_files(&BTreeSet::new())
    }
}

impl Shared {
    /// The pieces; a panic elsewhere leaves nothing half-done behind it.
    fn freed(&self) -> MutexGuard<'_, Vec<Block>> {
        self.freed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptRules {
    /// The pause that the site asks for between requests.
    pub(crate) fn crawl_delay(&self) -> Option<Duration> {
        match &self.storage {
            Storage::Memory(rules) => rules.crawl_delay(),
            Storage::Disk { crawl_delay, .. } => *crawl_delay,
        }
    }
}

impl Drop for KeptRules {
    fn drop(&mut self) {
        match &self.storage {
            Storage::Memory(rules) => {
                self.shared.held.fetch_sub(rules.memory(), Relaxed);
            }
            Storage::Disk { block, .. } => self.shared.freed().push(*block),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules of so many lines that let nobody see /secret of a host.
    fn rules(host: u32, lines: u32) -> Rules {
        let lines: String = (0..lines).map(|line| format!("Disallow: /x{line}\n")).collect();
        let text = format!("User-agent: *\nCrawl-delay: 3\nDisallow: /secret{host}\n{lines}");
        Rules::parse(text.as_bytes(), "lycosa")
    }

    #[test]
    fn rules_beyond_the_budget_are_on_disk_and_say_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = RulesStore::new(100_000, Some(directory.path().join("robots")));
        let kept: Vec<KeptRules> = (0..200).map(|host| store.keep(rules(host, 100))).collect();
        assert!(store.shared.held.load(Relaxed) <= 100_000, "200 hosts ask for far more");
        for (host, kept) in (0..).zip(&kept) {
            for _ in 0..2 {
                let found = store.get(kept).unwrap();
                assert!(!found.allows(&format!("/secret{host}/a")) && found.allows("/open"));
            }
            assert_eq!(kept.crawl_delay(), Some(Duration::from_secs(3)));
            assert_eq!(&*store.packed(kept).unwrap(), rules(host, 100).pack());
        }
        drop(kept);
        assert_eq!(store.shared.held.load(Relaxed), 0);
        let one = store.keep(rules(1, 1));
        assert_eq!((store.shared.held.load(Relaxed), store.spill.used().len()), (one_bytes(&one), 0));
    }

    /// What rules in memory hold.
    fn one_bytes(kept: &KeptRules) -> usize {
        match &kept.storage {
            Storage::Memory(rules) => rules.memory(),
            Storage::Disk { .. } => 0,
        }
    }

    #[test]
    fn without_a_directory_all_rules_stay_in_memory() {
        let mut store = RulesStore::new(1_000, None);
        let kept: Vec<KeptRules> = (0..20).map(|host| store.keep(rules(host, 100))).collect();
        assert!(store.shared.held.load(Relaxed) > 1_000);
        assert!(kept.iter().all(|kept| one_bytes(kept) > 0));
    }
}
