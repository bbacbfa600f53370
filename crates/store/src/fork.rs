//! A child process that writes the state of this one, while this one goes on.
//!
//! The child has the memory as it was, copied by the kernel page by page as either process changes it (fork(2)). It runs on one
//! thread, so that it may use no lock that another thread could have held: only what its caller has locked itself.
//!
//! Guarantees: the child runs nothing but its work, no destructor and no signal handler; it ends soon after its parent has died, and
//! does not keep the parent's log locked ([`crate::lock`]).

#![allow(unsafe_code, reason = "fork(2) and _exit(2)")]

use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::parent_id;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid};

use crate::lock;

/// Bytes of an answer, at most: so many are written to a pipe as one.
const ANSWER_BYTES: usize = 4096;

/// How an answer begins; the number of the error and its text follow.
const DONE: u8 = 0;
const FAILED: u8 = 1;

/// A child at its work. It is ended when this is dropped.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    answer: PipeReader,
}

impl Child {
    /// Forks; the child does the work and ends. Fails where the system has no memory or no process for it: then nothing was done.
    ///
    /// `work` may use no lock that another thread uses, and cannot change anything in this process.
    pub fn start(work: impl FnOnce() -> io::Result<()>) -> io::Result<Child> {
        let (answer, mut answers) = io::pipe()?;
        fcntl(&answer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let locks = lock::descriptors();
        // What a terminal sends to the group is the parent's; Python's handlers write to descriptors that both have.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        // SAFETY: the child calls `live`, which never returns, and works on this thread alone. It takes no lock but those of the
        // allocator, which the C library takes over fork(2) itself.
        let forked = unsafe { nix::unistd::fork() };
        if let Ok(ForkResult::Child) = forked {
            lock::close(&locks);
            live(work, &mut answers);
        }
        before.thread_set_mask()?;
        match forked? {
            ForkResult::Parent { child } => Ok(Child { pid: child, answer }),
            ForkResult::Child => Err(io::ErrorKind::Unsupported.into()), // never reached
        }
    }

    /// The result of its work, or that it was killed; `None` while it works. The result is given once.
    pub fn try_wait(&mut self) -> Option<io::Result<()>> {
        let mut answer = [0; ANSWER_BYTES];
        let read = loop {
            match self.answer.read(&mut answer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) => return Some(Err(error)),
                Ok(read) => break read,
            }
        };
        Some(match (read, answer[0]) {
            (..5, _) => Err(io::Error::other("the process that wrote it was killed")),
            (_, DONE) => Ok(()),
            _ => Err(match i32::from_le_bytes([answer[1], answer[2], answer[3], answer[4]]) {
                0 => io::Error::other(String::from_utf8_lossy(&answer[5..read]).into_owned()),
                number => io::Error::from_raw_os_error(number),
            }),
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(kill(self.pid, Signal::SIGKILL));
        while waitpid(self.pid, None) == Err(Errno::EINTR) {}
    }
}

/// Fails in a child whose parent has died: nobody will complete its work. `parent`: the process that began it.
pub(crate) fn check_parent(parent: u32) -> io::Result<()> {
    let is_wanted = std::process::id() == parent || parent_id() == parent;
    if is_wanted { Ok(()) } else { Err(io::Error::other("the process that wanted it has ended")) }
}

/// The child's life.
fn live(work: impl FnOnce() -> io::Result<()>, answers: &mut impl Write) -> ! {
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The result of a child's work.
    fn wait(mut child: Child) -> io::Result<()> {
        loop {
            if let Some(result) = child.try_wait() {
                return result;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_child_has_what_was_there_and_the_parent_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let mut state = vec![1; 1 << 20];
        let child = Child::start(|| std::fs::write(&path, &state)).unwrap();
        state.fill(2);
        wait(child).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), vec![1; 1 << 20]);
    }

    #[test]
    fn errors_of_its_work_come_back_and_so_does_its_death() {
        let full = Child::start(|| Err(io::Error::from_raw_os_error(libc::ENOSPC))).unwrap();
        assert_eq!(wait(full).unwrap_err().kind(), io::ErrorKind::StorageFull);
        let other = Child::start(|| Err(io::Error::other("why"))).unwrap();
        assert_eq!(wait(other).unwrap_err().to_string(), "why");
        let panics = Child::start(|| panic!("a test's")).unwrap();
        assert!(wait(panics).unwrap_err().to_string().contains("a defect"));
        let mut slow = Child::start(|| {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        })
        .unwrap();
        assert!(slow.try_wait().is_none());
        kill(slow.pid, Signal::SIGKILL).unwrap();
        assert!(wait(slow).unwrap_err().to_string().contains("killed"));
    }

    #[test]
    fn dropping_it_ends_it() {
        let begun = Instant::now();
        let slow = Child::start(|| {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        });
        drop(slow.unwrap());
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
