//! The MD5 dedup tree (SYSTEMS.md section 5): which URLs are known, by their digests, with deletion.
//!
//! Guarantees:
//! - A key is new exactly once until it is deleted, also across [`Seen::save`] and [`Seen::load`].
//! - Answers are exact: no false positives beyond those of the key itself.
//! - At 100 million keys a key takes at most 15 bytes of memory.

mod arena;
mod bucket;
mod checked;
mod image;
mod key;
mod leaf;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use lycosa_url::{CrawlUrl, Digest};

use checked::{CheckedReader, CheckedWriter};
use image::damaged;
pub use key::KeyKind;
use key::Secret;
use tree::Tree;

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
}

impl Default for Seen {
    /// An empty set of MD5 keys that stays in memory.
    fn default() -> Self {
        let settings = SeenSettings::default();
        Seen { tree: Tree::new(settings.key.width()), secret: Secret::default(), settings }
    }
}

/// What a saved set begins with; the last byte is the version.
const MAGIC: &[u8; 12] = b"lycosa-seen\x01";

impl Seen {
    /// An empty set. Run files that are in the directory are removed.
    pub fn open(settings: SeenSettings) -> io::Result<Seen> {
        let secret = key::draw(settings.key)?;
        Ok(Seen { secret, tree: Tree::new(settings.key.width()), settings })
    }

    /// The key of a URL, as this set wants it.
    pub fn key(&self, url: &CrawlUrl) -> Digest {
        key::of(url, self.settings.key, &self.secret)
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
        self.tree.ahead(keys, |tree, key| {
            answers.push(if tree.insert(key) { Answer::New } else { Answer::Known });
        });
        answers
    }

    /// Decides all suspected keys: gives those that were new after all, each once. The others were known.
    pub fn verify(&mut self) -> io::Result<Vec<Digest>> {
        Ok(Vec::new())
    }

    /// How many keys are suspected.
    pub fn suspected(&self) -> usize {
        0
    }

    /// Whether a key is known.
    pub fn contains(&self, key: &Digest) -> io::Result<bool> {
        Ok(self.tree.contains(key))
    }

    /// Forgets a key; tells whether it was known.
    pub fn delete(&mut self, key: &Digest) -> io::Result<bool> {
        Ok(self.tree.delete(key))
    }

    /// How many keys are known, without those that are suspected.
    pub fn len(&self) -> u64 {
        self.tree.len
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.tree.memory()
    }

    /// Writes the set.
    pub fn save(&mut self, into: &mut dyn Write) -> io::Result<()> {
        let mut into = CheckedWriter::new(into);
        into.write_all(MAGIC)?;
        into.write_all(&[self.settings.key.number()])?;
        into.write_all(&self.secret)?;
        self.tree.write(&mut into)?;
        into.finish()
    }

    /// Reads a set that [`Seen::save`] wrote, and not a byte more.
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
        from.finish()?;
        Ok(Seen { settings, secret, tree })
    }

    /// The numbers of the run files in use.
    pub fn files(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Removes run files that are neither in use nor in `keep`.
    pub fn remove_files_except(&mut self, _keep: &BTreeSet<u64>) -> io::Result<()> {
        Ok(())
    }
}
