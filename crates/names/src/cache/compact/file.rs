//! Creating, opening, upgrading, flushing and replacing the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};

use lycosa_mapped::Mapping;
use nix::errno::Errno;
use nix::fcntl::posix_fallocate;
use nix::sys::statvfs::statvfs;

use super::bucket::WriterId;
use super::key::KeyHasher;
use super::layout::{FIXED_BYTES, FileHeader, GENERATIONS, HEADER, Layout, Outdated, UNFINISHED, Upgrade};
use super::layout::{boot_digest, word};
use super::negative::Failures;
use super::settings::{CompactError, CompactSettings, Refusal};
use super::sharing::FileLocks;
use super::{CompactCache, PlaceOf, Tally};
use crate::cache::Seconds;

impl CompactCache {
    /// Opens the cache in a file, which is created if it is missing. If the disk is full, the cache is in the
    /// memory of this process instead, as [`CompactCache::place`] shows.
    ///
    /// A file of the previous version, or made with other lists of suffixes or top-level domains, is upgraded,
    /// as [`CompactCache::renewed`] shows.
    ///
    /// Errors: a setting out of range; a capacity that exceeds disk or memory; a file that is no cache, is damaged, or was made with
    /// other settings.
    pub fn open(path: &Path, settings: CompactSettings, now: Seconds) -> Result<Self, CompactError> {
        Opening { path, settings, now }.open(FileHeader::check)
    }

    /// The same for a file that may have been made with other settings, as when a DNS server and crawls share it: only capacity,
    /// verification and secret have to match.
    pub fn share(path: &Path, settings: CompactSettings, now: Seconds) -> Result<Self, CompactError> {
        Opening { path, settings, now }.open(FileHeader::check_shared)
    }

    /// Opens an existing cache with the settings of its header: for operators. Time limits are the defaults.
    pub fn open_as_made(path: &Path, now: Seconds) -> Result<Self, CompactError> {
        let locks = lock_file(path, false)?;
        let (header, outdated) = read_header(path, &locks.0)?.ok_or_else(|| no_cache(path))?;
        Opening { path, settings: settings_of(&header), now }.join(locks, header, outdated)
    }

    /// A copy-on-write view of a file as it was made: takes no locks, does not change the file, and keeps insertions in this process.
    ///
    /// Errors: a file that cannot be read, is no cache, or is outdated in more than its Public Suffix List.
    pub fn view(path: &Path) -> Result<Self, CompactError> {
        let io = |error| CompactError::io(path, error);
        let file = File::open(path).map_err(io)?;
        let (header, outdated) = read_header(path, &file)?.ok_or_else(|| no_cache(path))?;
        if let Some(outdated) = outdated.filter(|found| found.upgrade(header.verify) != Upgrade::KeepAll) {
            return Err(CompactError::refused(path, outdated.refusal()));
        }
        let map = Mapping::copy_of_file(&file, in_memory(header.layout.bytes())?).map_err(io)?;
        let place = PlaceOf::File(path.to_owned());
        Ok(Self::of(place, None, map, settings_of(&header), header, WriterId::new(1, 1)))
    }

    /// Replaces any file by an empty cache. Processes that have the old one open keep using it. Unless the settings say whether
    /// there is a negative filter, there is one as before, as far as the old file can be read.
    pub fn rebuild(path: &Path, settings: CompactSettings, now: Seconds) -> Result<Self, CompactError> {
        let settings = CompactSettings {
            negative_capacity: settings.negative_capacity.or_else(|| has_no_filter(path).then_some(0)),
            ..settings
        };
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".new.{}", std::process::id()));
        let aside = PathBuf::from(aside);
        drop(fs::remove_file(&aside)); // left by an earlier process with this PID
        let mut cache = Self::open(&aside, settings, now)?;
        if cache.locks.is_some() {
            let renamed = fs::rename(&aside, path).inspect_err(|_| drop(fs::remove_file(&aside)));
            renamed.map_err(|error| CompactError::io(path, error))?;
            cache.place = PlaceOf::File(path.to_owned());
        }
        Ok(cache)
    }

    /// A cache in the memory of this process, and why it is not in a file.
    pub fn in_memory(
        settings: CompactSettings,
        now: Seconds,
        why: Option<String>,
    ) -> Result<Self, CompactError> {
        settings.check()?;
        let needed = Layout::of(&settings).bytes();
        check_memory(needed, "MemAvailable:")?;
        let io = |error| CompactError::io(Path::new("memory"), error);
        let header = FileHeader::new(&settings).map_err(io)?;
        let map = Mapping::anonymous(in_memory(needed)?).map_err(io)?;
        let cache = Self::of(PlaceOf::Memory(why), None, map, settings, header, WriterId::new(1, 1));
        cache.initialise(now);
        Ok(cache)
    }

    /// Flushes everything to the disk and, if no other process has the file open, marks it clean until the next change: only a clean
    /// file survives a power failure; any file survives the process. Other threads must not write meanwhile.
    pub fn flush(&self) -> io::Result<()> {
        let Some(locks) = &self.locks else { return Ok(()) };
        let _guard = self.maintenance.lock();
        locks.enter()?;
        let mut flushed = self.map.flush();
        if flushed.is_ok() && locks.alone() {
            self.live(word::CLEAN).store(1, Release);
            flushed = self.map.flush_header();
        }
        locks.leave();
        flushed
    }

    /// Flushes the dirty flag before the first change: after a power failure a changed file must not look clean.
    #[cold]
    pub(super) fn mark_dirty(&self) -> io::Result<()> {
        self.live(word::CLEAN).store(0, Release);
        self.map.flush_header()
    }

    /// Writes the header of a new cache.
    fn initialise(&self, now: Seconds) {
        self.live(word::SWEPT).store(now / 60, Relaxed);
        self.live(word::FILTER).store(now, Relaxed);
        self.live(word::BOOT).store(boot_digest(), Relaxed);
        self.header.write(self.map.words(HEADER).0);
    }

    /// A cache made of its parts.
    fn of(
        place: PlaceOf,
        locks: Option<FileLocks>,
        map: Mapping,
        settings: CompactSettings,
        header: FileHeader,
        me: WriterId,
    ) -> Self {
        CompactCache {
            keys: KeyHasher { secret: header.secret, verify: header.verify },
            process: std::process::id(),
            maintenance: Mutex::new(()),
            failures: Failures::new(header.capacity),
            tally: Tally::default(),
            renewed: None,
            notices: Arc::default(),
            checked: AtomicU64::default(),
            settings,
            header,
            map,
            place,
            locks,
            me,
        }
    }
}

/// The arguments of all ways to open a file.
struct Opening<'p> {
    path: &'p Path,
    settings: CompactSettings,
    now: Seconds,
}

impl Opening<'_> {
    /// Opens a file that passes `check`, or creates it.
    fn open(
        self,
        check: fn(&FileHeader, &CompactSettings) -> Result<(), Refusal>,
    ) -> Result<CompactCache, CompactError> {
        self.settings.check()?;
        let needed = Layout::of(&self.settings).bytes();
        let exists = fs::metadata(self.path).is_ok_and(|found| found.len() > 0);
        if !exists && let Some(why) = check_disk(self.path, needed)? {
            return CompactCache::in_memory(self.settings, self.now, Some(why));
        }
        let locks = lock_file(self.path, true)?;
        if let Some((header, outdated)) = read_header(self.path, &locks.0)? {
            check(&header, &self.settings).map_err(|refusal| CompactError::refused(self.path, refusal))?;
            return self.join(locks, header, outdated);
        }
        if !locks.alone() {
            // Truncated while other processes have it open: they keep their mapping.
            return self
                .replace(&locks, "it was truncated while others had it open: an empty file replaces it");
        }
        let Err(error) = allocate(&locks.0, needed) else { return self.create(locks) };
        // Best effort: an empty file is made into a cache by the next process.
        drop(locks.0.set_len(0));
        drop(fs::remove_file(self.path));
        if !matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
        ) {
            return Err(self.io(error));
        }
        let why = format!("{}: {error}", self.path.display());
        CompactCache::in_memory(self.settings, self.now, Some(why))
    }

    /// Rebuilds the file while the old one is locked, so that processes waiting for it find the new one.
    fn replace(self, _locked: &FileLocks, why: &str) -> Result<CompactCache, CompactError> {
        let mut cache = CompactCache::rebuild(self.path, self.settings, self.now)?;
        cache.renewed = Some(format!("{}: {why}", self.path.display()));
        Ok(cache)
    }

    /// Makes a cache of an allocated empty file.
    fn create(self, locks: FileLocks) -> Result<CompactCache, CompactError> {
        let header = FileHeader::new(&self.settings).map_err(|error| self.io(error))?;
        let cache = self.map(locks, header)?;
        cache.initialise(self.now);
        cache.locks.iter().for_each(FileLocks::leave);
        Ok(cache)
    }

    /// Opens an existing file, and upgrades it if it is outdated.
    ///
    /// If other processes have an outdated file open, it is changed only if they do not notice; otherwise they
    /// keep it, and an empty file replaces it.
    fn join(
        self,
        locks: FileLocks,
        header: FileHeader,
        outdated: Option<Outdated>,
    ) -> Result<CompactCache, CompactError> {
        let alone = locks.alone();
        let upgrade = outdated.map(|outdated| (outdated.refusal(), outdated.upgrade(header.verify)));
        if let Some((reason, Upgrade::KeepTable | Upgrade::Reset)) = &upgrade
            && !alone
        {
            let why = format!("{reason}, and other processes have it open: an empty file replaces it");
            return self.replace(&locks, &why);
        }
        let (mut cache, boot) = (self.map(locks, header)?, boot_digest());
        let is_clean = cache.live(word::CLEAN).load(Acquire) == 1;
        if alone && !is_clean && cache.live(word::BOOT).load(Acquire) != boot {
            // After a power failure pages may be inconsistent: a name could have another's addresses.
            cache.wipe();
        }
        cache.live(word::BOOT).store(boot, Relaxed);
        if is_clean {
            cache.mark_dirty().map_err(|error| self.io(error))?;
        }
        cache.filter().advance(self.now);
        if alone {
            cache.repair(self.now);
        }
        if let Some((reason, upgrade)) = upgrade {
            let kept = match upgrade {
                Upgrade::KeepAll => "its names are kept",
                Upgrade::KeepTable => {
                    cache.filter().clear();
                    "its names are kept, except those that did not resolve"
                }
                Upgrade::Reset => {
                    cache.wipe();
                    cache.recount();
                    "it is empty now"
                }
            };
            if let Some(locks) = cache.locks.as_ref().filter(|_| alone) {
                // Last, and in one write: a process that dies before it leaves a file that is upgraded again.
                locks.0.write_all_at(&cache.header.to_bytes(), 0).map_err(|error| self.io(error))?;
            }
            cache.renewed = Some(format!("{}: {reason}: {kept}", self.path.display()));
        }
        cache.locks.iter().for_each(FileLocks::leave);
        Ok(cache)
    }

    /// Maps the file and claims a writer ID.
    fn map(&self, locks: FileLocks, header: FileHeader) -> Result<CompactCache, CompactError> {
        let map = Mapping::of_file(&locks.0, in_memory(header.layout.bytes())?);
        let map = map.map_err(|error| self.io(error))?;
        let me = locks.claim(map.words(GENERATIONS).1);
        let me = me.ok_or_else(|| CompactError::Crowded(self.path.to_owned()))?;
        let place = PlaceOf::File(self.path.to_owned());
        Ok(CompactCache::of(place, Some(locks), map, self.settings.clone(), header, me))
    }

    /// A system error about the file.
    fn io(&self, error: io::Error) -> CompactError {
        CompactError::io(self.path, error)
    }
}

/// The error for an empty file where a cache has to exist.
fn no_cache(path: &Path) -> CompactError {
    CompactError::refused(path, Refusal::NoCache)
}

/// Opens a file, created if it is missing and `create` is set, and takes its maintenance lock.
fn lock_file(path: &Path, create: bool) -> Result<FileLocks, CompactError> {
    let attempt = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).truncate(false).mode(0o600);
        let locks = FileLocks(options.open(path)?);
        locks.enter()?;
        // The previous holder of the lock may have removed or replaced the file.
        let (opened, there) = (locks.0.metadata()?, fs::metadata(path));
        let is_same = there.is_ok_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino()));
        io::Result::Ok(is_same.then_some(locks))
    };
    loop {
        if let Some(locks) = attempt().map_err(|error| CompactError::io(path, error))? {
            return Ok(locks);
        }
    }
}

/// The settings by which a file was made, as far as its header has them. Time limits are the defaults.
fn settings_of(header: &FileHeader) -> CompactSettings {
    CompactSettings { capacity: header.capacity, verify: header.verify, ..CompactSettings::default() }
}

/// Reads the header of an open file, and how it is outdated; `None` if the file is empty or its creation was interrupted.
pub(super) fn read_header(
    path: &Path,
    file: &File,
) -> Result<Option<(FileHeader, Option<Outdated>)>, CompactError> {
    let mut start = [0; FIXED_BYTES];
    let read = file.metadata().and_then(|found| Ok((found.len(), file.read_at(&mut start, 0)?)));
    let (bytes, read) = read.map_err(|error| CompactError::io(path, error))?;
    if read == 0 || start.starts_with(&UNFINISHED) {
        return Ok(None);
    }
    FileHeader::read(&start, bytes).map(Some).map_err(|refusal| CompactError::refused(path, refusal))
}

/// Whether a file is a cache without a negative filter.
fn has_no_filter(path: &Path) -> bool {
    let header = File::open(path).ok().and_then(|file| read_header(path, &file).ok().flatten());
    header.is_some_and(|(header, _)| header.layout.filter_words == 0)
}

/// Allocates the whole file: a full disk is an error now, not a SIGBUS later.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    file.write_all_at(&UNFINISHED, 0)?;
    let length = bytes.try_into().map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
    match posix_fallocate(file, 0, length) {
        Err(Errno::EINTR) => allocate(file, bytes),
        result => Ok(result?),
    }
}

/// Checks that a file of this size fits; returns the reason if it does not fit only because the disk is full
/// now.
fn check_disk(path: &Path, needed: u64) -> Result<Option<String>, CompactError> {
    check_memory(needed, "MemTotal:")?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let disk = statvfs(directory).map_err(|error| CompactError::io(path, error.into()))?;
    #[allow(clippy::unnecessary_cast, reason = "the width differs between systems")]
    let [total, available] = [disk.blocks() as u64, disk.blocks_available() as u64]
        .map(|blocks| blocks.saturating_mul(disk.fragment_size() as u64));
    let place = format!("the disk of {}", path.display());
    if needed > total {
        return Err(CompactError::NoRoom { place, needed, available: total });
    }
    Ok((needed > available).then(|| format!("the cache needs {needed} bytes; {place} has {available}")))
}

/// Checks available memory, by a line of /proc/meminfo and by the limit of the control group.
fn check_memory(needed: u64, line: &str) -> Result<(), CompactError> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let of_line = |text: &str| text.strip_prefix(line)?.split_ascii_whitespace().next()?.parse::<u64>().ok();
    let machine =
        read("/proc/meminfo").lines().find_map(of_line).map_or(u64::MAX, |kib| kib.saturating_mul(1_024));
    let group = read("/sys/fs/cgroup/memory.max").trim().parse().unwrap_or(u64::MAX);
    let available = machine.min(group);
    if needed > available {
        return Err(CompactError::NoRoom { place: "memory".to_owned(), needed, available });
    }
    Ok(())
}

/// A size as the machine addresses memory.
fn in_memory(needed: u64) -> Result<usize, CompactError> {
    let available = usize::MAX as u64;
    needed.try_into().map_err(|_| CompactError::NoRoom { place: "memory".to_owned(), needed, available })
}
