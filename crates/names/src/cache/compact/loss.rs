//! What others do to the file of a cache while it is open: they cut it, write over it, remove it, put another one in its place.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use super::file::{Begin, begin};
use super::header::Made;
use super::{CompactCache, PlaceOf};
use crate::cache::Seconds;

/// How often the file is looked at, in seconds.
const LOOK: Seconds = 60;

/// What happened to a cache's file while it was open: each is told once, with what to do.
#[derive(Default)]
pub struct Notices {
    lost: OnceLock<String>,
    replaced: OnceLock<String>,
    listener: OnceLock<Listener>,
}

/// Who is told, on the thread that notices.
type Listener = Box<dyn Fn(&str) + Send + Sync>;

impl Notices {
    /// Has a function told what happened and what will. It is called in the midst of a lookup, once or twice in all.
    pub fn listen(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        let listener = self.listener.get_or_init(|| Box::new(listener));
        [&self.lost, &self.replaced].into_iter().filter_map(OnceLock::get).for_each(|text| listener(text));
    }

    /// Why the cache is empty and takes nothing any more: its file was cut or written over.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Why nobody else shares the cache any more: its file was removed, or another one took its place.
    pub fn replaced(&self) -> Option<&str> {
        self.replaced.get().map(String::as_str)
    }

    /// Takes what happened, unless it is known.
    fn tell(&self, what: &OnceLock<String>, text: impl FnOnce() -> String) {
        if what.get().is_some() {
            return;
        }
        let text = text();
        if what.set(text.clone()).is_ok()
            && let Some(listener) = self.listener.get()
        {
            listener(&text);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Notices").field("lost", &self.lost).field("replaced", &self.replaced).finish()
    }
}

impl CompactCache {
    /// Looks after the file where that is due.
    #[inline]
    pub(super) fn watch_file(&self, now: Seconds) {
        if now.abs_diff(self.looked.load(Relaxed)) >= LOOK {
            self.look_after_file(now);
        }
    }

    /// Whether its file was cut or written over; says so once.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        let is_lost = self.map.is_lost();
        if is_lost {
            self.tell_lost();
        }
        is_lost
    }

    /// Looks whether the file is what it was, and is still found.
    #[cold]
    fn look_after_file(&self, now: Seconds) {
        self.looked.store(now, Relaxed);
        let (Some(locks), PlaceOf::File(path)) = (&self.locks, &self.place) else { return };
        if self.is_lost() {
            return;
        }
        let is_same = |start: &_, bytes| Made::read(start, bytes).is_ok_and(|(made, _)| made == self.made);
        match begin(&locks.0) {
            Err(_) => {} // the disk's trouble, which may pass
            Ok(Begin::Header(start, bytes)) if is_same(&start, bytes) => self.look_for_file(path, &locks.0),
            Ok(_) => {
                // What others wrote there is not read any more, nor written over.
                self.map.lose();
                self.tell_lost();
            }
        }
    }

    /// Looks whether the path leads to the file that is open.
    fn look_for_file(&self, path: &Path, open: &fs::File) {
        let inode = |found: fs::Metadata| (found.dev(), found.ino());
        let Ok(here) = open.metadata().map(inode) else { return };
        let is_there = match fs::metadata(path) {
            Ok(found) => inode(found) == here,
            Err(error) => error.kind() != std::io::ErrorKind::NotFound, // who may not look knows nothing
        };
        if !is_there {
            self.notices.tell(&self.notices.replaced, || {
                format!(
                    "{}: it was removed, or another file took its place: this process goes on with the one that it has open, which \
                     nobody else finds; start it again to share the new one",
                    path.display()
                )
            });
        }
    }

    /// Says once that the file was cut or written over.
    #[cold]
    fn tell_lost(&self) {
        self.notices.tell(&self.notices.lost, || {
            // Whoever was writing as it happened has gone on: that goes, too.
            self.map.lose();
            let path = match &self.place {
                PlaceOf::File(path) => path.display().to_string(),
                PlaceOf::Memory(_) => "memory".to_owned(),
            };
            format!(
                "{path}: it was cut or written over while it was open: this process asks for all names again and keeps none; make the \
                 file anew with `lycosa cache rebuild {path}` and start this program again (a file that is in use is replaced \
                 by `mv`, never by `cp`)"
            )
        });
    }
}
