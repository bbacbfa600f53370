//! Who writes to a file, and who of them still lives.
//!
//! Each writer has a number for itself: a byte of the file that it holds locked. The lock belongs to the open file (an open
//! file description lock, fcntl(2)), so that the kernel drops it when the process ends, however it ends; it is seen in other
//! containers and name spaces, where process numbers mean nothing. A number that is used again counts a turn, so that a
//! bucket taken by its last owner is not taken for the new one's.
//!
//! A process that forks shares the lock with its child: until both have ended its number counts as alive.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::bucket::{Writer, Writers};
use super::layout::WRITERS;

/// Where the locked bytes begin: far behind any content. The first is that of maintenance.
const LOCKS: i64 = 1 << 50;

/// The open file through which locks are taken and seen.
#[derive(Debug)]
pub(super) struct Locks(pub(super) File);

impl Locks {
    /// Waits until nobody else opens, sweeps or closes the file, and keeps them away until [`Self::leave`].
    pub(super) fn enter(&self) -> io::Result<()> {
        let lock = range(libc::F_WRLCK, 0, 1);
        loop {
            match fcntl(&self.0, FcntlArg::F_OFD_SETLKW(&lock)) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The same without waiting; tells whether it was free.
    pub(super) fn try_enter(&self) -> bool {
        self.lock(0)
    }

    /// Ends what [`Self::enter`] began.
    pub(super) fn leave(&self) {
        let lock = range(libc::F_UNLCK, 0, 1);
        // Unlocking what one holds cannot fail.
        let _ = fcntl(&self.0, FcntlArg::F_OFD_SETLK(&lock));
    }

    /// Takes a number that nobody has; `None` when all are taken.
    pub(super) fn claim(&self, turns: &[AtomicU32]) -> Option<Writer> {
        let number = (1..WRITERS.min(turns.len())).find(|&number| self.lock(number as i64))?;
        let turn = turns[number].load(Acquire).wrapping_add(1);
        turns[number].store(turn, Release);
        Some(Writer::new(number as u32, turn))
    }

    /// Whether no other open file has a number.
    pub(super) fn alone(&self) -> bool {
        self.is_free(1, WRITERS as i64 - 1)
    }

    /// Locks a byte, if nobody else has.
    fn lock(&self, byte: i64) -> bool {
        let lock = range(libc::F_WRLCK, byte, 1);
        fcntl(&self.0, FcntlArg::F_OFD_SETLK(&lock)).is_ok()
    }

    /// Whether no other open file has one of these bytes; in doubt, no.
    fn is_free(&self, first: i64, count: i64) -> bool {
        let mut lock = range(libc::F_WRLCK, first, count);
        fcntl(&self.0, FcntlArg::F_OFD_GETLK(&mut lock)).is_ok() && i32::from(lock.l_type) == libc::F_UNLCK
    }
}

/// A lock on some of the bytes behind [`LOCKS`].
fn range(kind: i32, first: i64, count: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: LOCKS + first,
        l_len: count,
        l_pid: 0,
    }
}

/// One writer's view of the others.
pub(super) struct Roster<'c> {
    /// The file; `None` when the memory is this process's alone.
    pub(super) locks: Option<&'c Locks>,
    /// How often each number was taken.
    pub(super) turns: &'c [AtomicU32],
    /// Who we are.
    pub(super) me: Writer,
}

impl Writers for Roster<'_> {
    fn me(&self) -> Writer {
        self.me
    }

    fn is_dead(&self, writer: Writer) -> bool {
        if writer == self.me {
            return false; // another thread of ours
        }
        let Some(locks) = self.locks else { return true };
        let number = writer.number();
        // A number of ours that we have not taken this time, one that has been taken again, or one that nobody holds.
        number == self.me.number()
            || self.turns.get(number as usize).is_none_or(|turn| turn.load(Acquire) & 0x3ff != writer.turn())
            || locks.is_free(number.into(), 1)
    }
}
