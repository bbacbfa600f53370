//! Making, opening, closing and replacing the file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use nix::fcntl::posix_fallocate;
use nix::sys::statvfs::statvfs;

use super::bucket::Writer;
use super::error::{CompactError, Refusal};
use super::failures::Failures;
use super::header::{FIXED_BYTES, Kept, Live, Made, Outdated, UNFINISHED, boot_digest};
use super::key::Keys;
use super::layout::Layout;
use super::map::Mapping;
use super::roster::Locks;
use super::settings::CompactSettings;
use super::{CompactCache, PlaceOf, Tally, directory};
use crate::cache::Seconds;

impl CompactCache {
    /// Opens the cache in a file, which is made if there is none. Where the disk is full the cache is made in the memory of
    /// this process; [`CompactCache::place`] says so.
    ///
    /// A file that was made with other lists of suffixes or of top-level domains, or of the version before, is brought up to date;
    /// [`CompactCache::renewed`] says so.
    ///
    /// Errors: a setting beyond its limits; a capacity that neither the disk nor memory can ever hold; a file that is no cache,
    /// damaged, or made in another way than the settings say.
    pub fn open(path: &Path, settings: CompactSettings, now: Seconds) -> Result<Self, CompactError> {
        Self::open_if(path, settings, now, Made::fits)
    }

    /// The same for a file that others may have made for the same names in another way, such as a server of names that crawls
    /// on its machine share: only capacity, verification and secret have to be those of the settings.
    pub fn share(path: &Path, settings: CompactSettings, now: Seconds) -> Result<Self, CompactError> {
        Self::open_if(path, settings, now, Made::can_be_shared)
    }

    /// Opens a file if it `fits`, or makes it.
    fn open_if(
        path: &Path,
        settings: CompactSettings,
        now: Seconds,
        fits: fn(&Made, &CompactSettings) -> Result<(), Refusal>,
    ) -> Result<Self, CompactError> {
        settings.check()?;
        let io = |error: io::Error| CompactError::of(path, error);
        let needed = Layout::of(&settings).bytes();
        let exists = fs::metadata(path).is_ok_and(|found| found.len() > 0);
        if !exists && let Some(why) = check_disk(path, needed)? {
            return Self::in_memory(settings, now, Some(why));
        }
        let locks = enter(path, true).map_err(io)?;
        let opened = match begin(&locks.0).map_err(io)? {
            // What others have open was cut to nothing: theirs and the new one are not to share a file.
            Begin::Nothing if !locks.alone() => {
                let mut made = Self::rebuild(path, settings, now)?;
                let text = "it was emptied while others had it open: a new one takes its place";
                made.renewed = Some(format!("{}: {text}", path.display()));
                drop(locks);
                Ok(made)
            }
            // Nothing, or what one left who was killed while making it.
            Begin::Nothing => match allocate(&locks.0, needed) {
                Ok(()) => Self::make(path, locks, settings, now),
                Err(error) => {
                    // Best effort: an empty file is made into a cache by whoever comes next.
                    drop(locks.0.set_len(0));
                    drop(fs::remove_file(path));
                    match error.kind() {
                        // The disk is full, or this user's part of it, or no file may be so large.
                        io::ErrorKind::StorageFull
                        | io::ErrorKind::QuotaExceeded
                        | io::ErrorKind::FileTooLarge => {
                            return Self::in_memory(
                                settings,
                                now,
                                Some(format!("{}: {error}", path.display())),
                            );
                        }
                        _ => return Err(io(error)),
                    }
                }
            },
            Begin::Header(start, bytes) => {
                let refused = |refusal| CompactError::Refused { path: path.to_owned(), refusal };
                let (made, outdated) = Made::read(&start, bytes).map_err(refused)?;
                fits(&made, &settings).map_err(refused)?;
                Self::join_renewed(path, locks, settings, (made, outdated), now)
            }
        }?;
        if let Some(locks) = &opened.locks {
            locks.leave();
        }
        Ok(opened)
    }

    /// Opens a cache that exists, as it was made: for operators. Limits of time are the defaults.
    pub fn open_as_made(path: &Path, now: Seconds) -> Result<Self, CompactError> {
        let io = |error: io::Error| CompactError::of(path, error);
        let locks = enter(path, false).map_err(io)?;
        let refused = |refusal| CompactError::Refused { path: path.to_owned(), refusal };
        let Begin::Header(start, bytes) = begin(&locks.0).map_err(io)? else {
            return Err(refused(Refusal::NoCache));
        };
        let (made, outdated) = Made::read(&start, bytes).map_err(refused)?;
        let opened = Self::join_renewed(path, locks, as_made(&made), (made, outdated), now)?;
        if let Some(locks) = &opened.locks {
            locks.leave();
        }
        Ok(opened)
    }

    /// A view of a file as it was made, for who only looks: nothing in the file changes, nobody waits, and what is put into the
    /// view stays in the memory of this process.
    ///
    /// Errors: a file that cannot be read, is no cache, or is of before in more than its Public Suffix List.
    pub fn view(path: &Path) -> Result<Self, CompactError> {
        let io = |error: io::Error| CompactError::of(path, error);
        let refused = |refusal| CompactError::Refused { path: path.to_owned(), refusal };
        let file = File::open(path).map_err(io)?;
        let Begin::Header(start, bytes) = begin(&file).map_err(io)? else {
            return Err(refused(Refusal::NoCache));
        };
        let (made, outdated) = Made::read(&start, bytes).map_err(refused)?;
        if let Some(outdated) = outdated.filter(|outdated| outdated.keeps(made.verify) != Kept::All) {
            return Err(refused(outdated.refusal()));
        }
        let map = Mapping::copy_of_file(&file, in_memory(made.layout.bytes())?).map_err(io)?;
        let place = PlaceOf::File(path.to_owned());
        Ok(Self::of(place, None, map, as_made(&made), made, Writer::new(1, 1)))
    }

    /// Puts an empty cache in the place of a file, whatever is there now. Processes that have the old one open go on with it.
    pub fn rebuild(path: &Path, settings: CompactSettings, now: Seconds) -> Result<Self, CompactError> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".new.{}", std::process::id()));
        let aside = PathBuf::from(aside);
        let io = |error: io::Error| CompactError::of(path, error);
        drop(fs::remove_file(&aside)); // what an earlier process with this number left
        let mut made = Self::open(&aside, settings, now)?;
        if made.locks.is_some() {
            fs::rename(&aside, path).inspect_err(|_| drop(fs::remove_file(&aside))).map_err(io)?;
            made.place = PlaceOf::File(path.to_owned());
        }
        Ok(made)
    }

    /// A cache in the memory of this process, which nobody shares.
    pub fn in_memory(
        settings: CompactSettings,
        now: Seconds,
        why: Option<String>,
    ) -> Result<Self, CompactError> {
        settings.check()?;
        let needed = Layout::of(&settings).bytes();
        check_memory(needed, "MemAvailable:")?;
        let io = |error: io::Error| CompactError::of(Path::new("memory"), error);
        let made = Made::new(&settings).map_err(io)?;
        let map = Mapping::anonymous(in_memory(needed)?).map_err(io)?;
        let cache = Self::of(PlaceOf::Memory(why), None, map, settings, made, Writer::new(1, 1));
        made.write(cache.map.wide(0..512));
        cache.live().swept().store(now / 60, Relaxed);
        cache.live().generation().store(now, Relaxed);
        Ok(cache)
    }

    /// Brings all to the disk and, if nobody else has the file open, notes that it is whole until the next change: only then does
    /// it outlive a loss of power. Without this call it outlives the process, not the machine. To be called while no other thread
    /// of this process writes.
    pub fn flush(&self) -> io::Result<()> {
        let Some(locks) = &self.locks else { return Ok(()) };
        let _guard = self.maintenance.lock();
        locks.enter()?;
        let whole = self.map.flush().and_then(|()| match locks.alone() {
            true => {
                self.live().clean().store(1, Release);
                self.map.flush_header()
            }
            false => Ok(()),
        });
        locks.leave();
        whole
    }

    /// Notes that the file is about to change, before anything else does: a loss of power must not leave changes in a file that
    /// says it is whole.
    #[cold]
    pub(super) fn begin_changes(&self) -> io::Result<()> {
        self.live().clean().store(0, Release);
        self.map.flush_header()
    }

    /// Makes a cache in an empty file that is large enough.
    fn make(
        path: &Path,
        locks: Locks,
        settings: CompactSettings,
        now: Seconds,
    ) -> Result<Self, CompactError> {
        let io = |error: io::Error| CompactError::of(path, error);
        let made = Made::new(&settings).map_err(io)?;
        let map = Mapping::of_file(&locks.0, in_memory(made.layout.bytes())?).map_err(io)?;
        let live = Live(map.wide(0..512));
        live.swept().store(now / 60, Relaxed);
        live.generation().store(now, Relaxed);
        live.boot().store(boot_digest(), Relaxed);
        let me =
            locks.claim(map.narrow(1_024..2_048)).ok_or_else(|| CompactError::Crowded(path.to_owned()))?;
        made.write(map.wide(0..512));
        Ok(Self::of(PlaceOf::File(path.to_owned()), Some(locks), map, settings, made, me))
    }

    /// Joins those who have a file open.
    fn join(
        path: &Path,
        locks: Locks,
        settings: CompactSettings,
        made: Made,
        now: Seconds,
    ) -> Result<Self, CompactError> {
        let map = Mapping::of_file(&locks.0, in_memory(made.layout.bytes())?)
            .map_err(|error| CompactError::of(path, error))?;
        let me =
            locks.claim(map.narrow(1_024..2_048)).ok_or_else(|| CompactError::Crowded(path.to_owned()))?;
        let alone = locks.alone();
        let cache = Self::of(PlaceOf::File(path.to_owned()), Some(locks), map, settings, made, me);
        let (live, boot) = (cache.live(), boot_digest());
        if alone && live.is_doubtful(boot) {
            // After a loss of power parts of the file may be older than others: a name could have another's addresses.
            cache.wipe();
        }
        live.boot().store(boot, Relaxed);
        if live.clean().load(Relaxed) == 1 {
            cache.begin_changes().map_err(|error| CompactError::of(path, error))?;
        }
        cache.filter().advance(now);
        if alone {
            cache.tidy(now);
            cache.recount();
        }
        Ok(cache)
    }

    /// The same for a file that may be outdated, and is brought up to date first.
    ///
    /// What others have open is changed only where they notice nothing; else they go on with it, and an empty file takes its place.
    fn join_renewed(
        path: &Path,
        locks: Locks,
        settings: CompactSettings,
        (made, outdated): (Made, Option<Outdated>),
        now: Seconds,
    ) -> Result<Self, CompactError> {
        let Some(outdated) = outdated else { return Self::join(path, locks, settings, made, now) };
        let (kept, alone) = (outdated.keeps(made.verify), locks.alone());
        let refusal = outdated.refusal();
        if !alone && kept != Kept::All {
            // The lock is held until the new file is there: who waits for it finds that one.
            let mut new = Self::rebuild(path, settings, now)?;
            new.renewed = Some(format!(
                "{}: {refusal}, and others have it open: an empty one takes its place",
                path.display()
            ));
            drop(locks);
            return Ok(new);
        }
        let mut cache = Self::join(path, locks, settings, made, now)?;
        if alone {
            match kept {
                Kept::All => {}
                Kept::Table => cache.filter().clear(),
                Kept::Nothing => cache.wipe(),
            }
            cache.recount();
            // Last, and at once: who is killed before is followed by one who does all of it again.
            let start = cache.made.start();
            let written = cache.locks.as_ref().map_or(Ok(()), |locks| locks.0.write_all_at(&start, 0));
            written.map_err(|error| CompactError::of(path, error))?;
        }
        let kept = match kept {
            Kept::All => "its names are kept",
            Kept::Table => "its names are kept, not those that did not resolve",
            Kept::Nothing => "it begins empty",
        };
        cache.renewed = Some(format!("{}: {refusal}: {kept}", path.display()));
        Ok(cache)
    }

    /// A cache of its parts.
    fn of(
        place: PlaceOf,
        locks: Option<Locks>,
        map: Mapping,
        settings: CompactSettings,
        made: Made,
        me: Writer,
    ) -> Self {
        CompactCache {
            keys: Keys { secret: made.secret, verify: made.verify },
            process: std::process::id(),
            maintenance: Mutex::new(()),
            failures: Failures::new(made.capacity),
            tally: Tally::default(),
            renewed: None,
            notices: Arc::default(),
            looked: AtomicU64::default(),
            settings,
            made,
            map,
            place,
            locks,
            me,
        }
    }
}

/// Opens a file, made if it is missing and `create` says so, and keeps others from opening, sweeping or closing it.
fn enter(path: &Path, create: bool) -> io::Result<Locks> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).truncate(false).mode(0o600);
        let locks = Locks(options.open(path)?);
        locks.enter()?;
        // Who was waited for may have put another file in its place, or removed it.
        let (here, there) = (locks.0.metadata()?, fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
            return Ok(locks);
        }
    }
}

/// The settings by which a file was made, as far as they are known. Limits of time are the defaults.
fn as_made(made: &Made) -> CompactSettings {
    CompactSettings { capacity: made.capacity, verify: made.verify, ..CompactSettings::default() }
}

/// How a file begins.
pub(super) enum Begin {
    /// There is nothing yet.
    Nothing,
    /// Its first words, and how long it is.
    Header(Box<[u8; FIXED_BYTES]>, u64),
}

/// Reads how a file begins.
pub(super) fn begin(file: &File) -> io::Result<Begin> {
    let bytes = file.metadata()?.len();
    let mut start = [0; FIXED_BYTES];
    let read = file.read_at(&mut start, 0)?;
    Ok(if read == 0 || start.starts_with(&UNFINISHED) {
        Begin::Nothing
    } else {
        Begin::Header(Box::new(start), bytes)
    })
}

/// Has the disk keep room for the whole file: a full disk is found now, not as a signal in the midst of a write.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    file.write_all_at(&UNFINISHED, 0)?;
    match posix_fallocate(
        file,
        0,
        bytes.try_into().map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?,
    ) {
        Ok(()) => Ok(()),
        Err(Errno::EINTR) => allocate(file, bytes),
        Err(error) => Err(error.into()),
    }
}

/// Checks that a file of this size fits; tells why not if that is so only because the disk is full now.
fn check_disk(path: &Path, needed: u64) -> Result<Option<String>, CompactError> {
    check_memory(needed, "MemTotal:")?;
    let disk = statvfs(directory(path)).map_err(|error| CompactError::of(path, error))?;
    #[allow(clippy::unnecessary_cast, reason = "the width differs between systems")]
    let [total, available] = [disk.blocks() as u64, disk.blocks_available() as u64]
        .map(|blocks| blocks.saturating_mul(disk.fragment_size() as u64));
    let place = format!("the disk of {}", path.display());
    if needed > total {
        return Err(CompactError::NoRoom { place, needed, available: total });
    }
    Ok((needed > available).then(|| format!("the cache needs {needed} bytes; {place} has {available}")))
}

/// Checks that this many bytes of memory are there, by a line of /proc/meminfo and by the limit of the control group.
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

/// A size as this machine counts memory.
fn in_memory(bytes: u64) -> Result<usize, CompactError> {
    bytes.try_into().map_err(|_| CompactError::NoRoom {
        place: "memory".to_owned(),
        needed: bytes,
        available: usize::MAX as u64,
    })
}
