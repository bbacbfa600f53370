//! A child process that writes the state of this one, while this one goes on.
//!
//! The child has the memory as it was, copied by the kernel page by page as either process changes it (fork(2)). It runs on one
//! thread, so that it may use no lock that another thread could have held: only what its caller has locked itself.
//!
//! Guarantees: the child runs nothing but its work, no destructor and no signal handler; it has no descriptor but those that its work
//! needs, so that connections, locks and pipes end when its parent closes them; it ends soon after its parent has died.

#![allow(unsafe_code, reason = "fork(2), close_range(2), dup2(2) and _exit(2)")]

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::parent_id;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid};

/// Bytes of an answer, at most: so many are written to a pipe as one.
const ANSWER_BYTES: usize = 4096;

/// How an answer begins; the number of the error and its text follow.
const DONE: u8 = 0;
const FAILED: u8 = 1;

/// The highest descriptor that is closed one by one, where the system has no close_range(2).
const LAST_DESCRIPTOR: RawFd = 1 << 16;

/// A child at its work.
#[derive(Debug)]
pub struct Child {
    process: Arc<Process>,
    answer: PipeReader,
}

/// Ends a child; when it is dropped, too.
#[derive(Debug)]
pub struct Killer(Arc<Process>);

/// The child's process.
#[derive(Debug)]
struct Process {
    /// `None` after its end was taken from the system: the number may be another process's.
    pid: Mutex<Option<Pid>>,
    /// The process that forked it: a fork of that one must not end its child.
    parent: u32,
}

impl Child {
    /// Forks; the child does the work and ends. Fails where the system has no memory or no process for it: then nothing was done.
    ///
    /// `work` may use no lock that another thread uses, and cannot change anything in this process. `descriptors`: the open files that
    /// it uses.
    pub fn start(
        descriptors: &[RawFd],
        work: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<(Child, Killer)> {
        if !has_memory(Path::new("/")) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (answer, mut answers) = io::pipe()?;
        let mut kept = descriptors.to_vec();
        kept.push(answers.as_raw_fd());
        kept.sort_unstable();
        // What a terminal sends to the group is the parent's; Python's handlers write to descriptors that both have.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        // SAFETY: the child calls `live`, which never returns, and works on this thread alone. It takes no lock but those of the
        // allocator, which the C library takes over fork(2) itself.
        let forked = unsafe { nix::unistd::fork() };
        if let Ok(ForkResult::Child) = forked {
            close_all_but(&kept);
            live(work, &mut answers);
        }
        before.thread_set_mask()?;
        match forked? {
            ForkResult::Parent { child } => {
                let process = Process { pid: Mutex::new(Some(child)), parent: std::process::id() };
                let process = Arc::new(process);
                Ok((Child { process: Arc::clone(&process), answer }, Killer(process)))
            }
            ForkResult::Child => Err(io::ErrorKind::Unsupported.into()), // never reached
        }
    }

    /// Waits until it has ended; returns the error of its work, or that it was killed.
    pub fn wait(mut self) -> io::Result<()> {
        let mut answer = [0; ANSWER_BYTES];
        let read = loop {
            match self.answer.read(&mut answer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.process.reap();
        match (read, answer[0]) {
            (..5, _) => Err(io::Error::other("the process that wrote it was killed")),
            (_, DONE) => Ok(()),
            _ => Err(match i32::from_le_bytes([answer[1], answer[2], answer[3], answer[4]]) {
                0 => io::Error::other(String::from_utf8_lossy(&answer[5..read]).into_owned()),
                number => io::Error::from_raw_os_error(number),
            }),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.process.kill();
        self.process.reap();
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Process {
    /// Ends it at once.
    fn kill(&self) {
        if let Some(pid) = *self.pid() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }

    /// Takes its end from the system.
    fn reap(&self) {
        if let Some(pid) = self.pid().take() {
            while waitpid(pid, None) == Err(Errno::EINTR) {}
        }
    }

    /// Its number, in the process that forked it.
    fn pid(&self) -> MutexGuard<'_, Option<Pid>> {
        let mut pid = self.pid.lock().unwrap_or_else(PoisonError::into_inner);
        pid.take_if(|_| std::process::id() != self.parent);
        pid
    }
}

/// Fails in a child whose parent has died: nobody will complete its work. `parent`: the process that began it.
pub(crate) fn check_parent(parent: u32) -> io::Result<()> {
    let is_wanted = std::process::id() == parent || parent_id() == parent;
    if is_wanted { Ok(()) } else { Err(io::Error::other("the process that wanted it has ended")) }
}

/// The child's life.
fn live(work: impl FnOnce() -> io::Result<()>, answers: &mut PipeWriter) -> ! {
    // Where memory is short, this process is the one to end.
    drop(std::fs::write("/proc/self/oom_score_adj", "1000"));
    let result = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(io::Error::other("a defect in Lycosa: the process that wrote it panicked")));
    let mut answer = vec![DONE, 0, 0, 0, 0];
    if let Err(error) = &result {
        let is_full = error.kind() == io::ErrorKind::StorageFull;
        let number = error.raw_os_error().unwrap_or(if is_full { libc::ENOSPC } else { 0 });
        answer[0] = FAILED;
        answer[1..].copy_from_slice(&number.to_le_bytes());
        answer.extend(error.to_string().bytes().take(ANSWER_BYTES - answer.len()));
    }
    drop(answers.write_all(&answer));
    // SAFETY: ends the process without destructors: what they would end belongs to the parent.
    unsafe { libc::_exit(0) }
}

/// Closes all descriptors of a forked child but these, which are sorted; the standard ones lead nowhere.
fn close_all_but(kept: &[RawFd]) {
    if let Ok(nowhere) = File::options().read(true).write(true).open("/dev/null") {
        for standard in 0..3 {
            // SAFETY: replaces a descriptor of this process, in which nobody uses it.
            unsafe { libc::dup2(nowhere.as_raw_fd(), standard) };
        }
    }
    let ends = kept.iter().copied().chain([RawFd::MAX]);
    let begins = [2].into_iter().chain(kept.iter().copied());
    for (begin, end) in begins.zip(ends) {
        let (first, last) = (begin.max(2) + 1, end - 1);
        // SAFETY: closes descriptors of a process in which no owner of them runs.
        let closed = first > last || unsafe { libc::close_range(first as u32, last as u32, 0) } == 0;
        for descriptor in if closed { first..first } else { first..last.min(LAST_DESCRIPTOR) } {
            // SAFETY: the same.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Whether a copy of what changes fits into the control group of this process. It matters only where the kernel ends the whole group when
/// memory is short (`memory.oom.group`): elsewhere it ends the child. `root`: parent of `proc` and `sys`.
fn has_memory(root: &Path) -> bool {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return true };
    let directory = root.join("sys/fs/cgroup").join(group);
    let read = |name| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    let number = |name| read(name).trim().parse::<u64>().ok();
    if number("memory.oom.group") != Some(1) {
        return true;
    }
    match (number("memory.max"), number("memory.current")) {
        // As much again would be the worst case; most of it does not change while a snapshot is written.
        (Some(limit), Some(used)) => limit.saturating_sub(used) >= used / 4,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn start(work: impl FnOnce() -> io::Result<()>) -> (Child, Killer) {
        Child::start(&[], work).unwrap()
    }

    #[test]
    fn the_child_has_what_was_there_and_the_parent_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let mut state = vec![1; 1 << 20];
        let (child, _killer) = start(|| std::fs::write(&path, &state));
        state.fill(2);
        child.wait().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), vec![1; 1 << 20]);
    }

    #[test]
    fn errors_of_its_work_come_back_and_so_does_its_death() {
        let (full, _one) = start(|| Err(io::Error::from_raw_os_error(libc::ENOSPC)));
        assert_eq!(full.wait().unwrap_err().kind(), io::ErrorKind::StorageFull);
        let (other, _two) = start(|| Err(io::Error::other("why")));
        assert_eq!(other.wait().unwrap_err().to_string(), "why");
        let (panics, _three) = start(|| panic!("a test's"));
        assert!(panics.wait().unwrap_err().to_string().contains("a defect"));
        let (slow, killer) = start(|| {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        });
        let begun = Instant::now();
        drop(killer);
        assert!(slow.wait().unwrap_err().to_string().contains("killed"));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn it_has_the_descriptors_that_it_needs_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let [used, other] = ["used", "other"].map(|name| File::create(directory.path().join(name)).unwrap());
        let (child, _killer) = Child::start(&[used.as_raw_fd()], || {
            (&used).write_all(b"here")?;
            match (&other).write_all(b"here") {
                Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
                _ => Err(io::Error::other("it has the other one")),
            }
        })
        .unwrap();
        child.wait().unwrap();
        assert_eq!(std::fs::read(directory.path().join("used")).unwrap(), b"here");
    }

    #[test]
    fn where_the_whole_group_would_be_ended_for_its_memory_no_child_is_started() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("sys/fs/cgroup/pod");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/cgroup"), "0::/pod\n").unwrap();
        let is_allowed = |is_group: &str, limit: &str| {
            for (name, text) in
                [("memory.oom.group", is_group), ("memory.max", limit), ("memory.current", "1000")]
            {
                std::fs::write(group.join(name), format!("{text}\n")).unwrap();
            }
            has_memory(root.path())
        };
        assert!(!is_allowed("1", "1100"));
        assert!(is_allowed("1", "1300") && is_allowed("1", "max") && is_allowed("0", "1100"));
        assert!(has_memory(&root.path().join("nowhere")));
    }
}
