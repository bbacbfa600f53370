//! File descriptors: how many a process may have, and what to say when there are no more.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// To what the limit is raised at most: children inherit it, and some look at each descriptor that there may be.
const MOST: rlim_t = 1 << 20;

/// Raises the limit of this process to the highest one that it may give itself, or [`MOST`]: the lower one is for programs that
/// call select(2), which this client does not.
pub(crate) fn raise_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard.min(MOST)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(MOST), hard); // a system that refuses leaves it as it was
    }
}

/// How many file descriptors this process may have; as many as can be counted where there is no limit.
pub(crate) fn limit() -> usize {
    getrlimit(Resource::RLIMIT_NOFILE)
        .map_or(usize::MAX, |(soft, _)| usize::try_from(soft).unwrap_or(usize::MAX))
}

/// The error of who would need more than there may be.
pub(crate) fn shortage() -> io::Error {
    Errno::EMFILE.into()
}

/// What an error says that is no fault of a server: there are no file descriptors left, which passes; and what to do about it.
pub(crate) fn explain_shortage(error: &io::Error) -> Option<String> {
    match Errno::from_raw(error.raw_os_error()?) {
        Errno::EMFILE => Some(format!(
            "no file descriptor is free for a socket: this process may have {} (RLIMIT_NOFILE); raise the limit (`ulimit -Hn`, \
             `LimitNOFILE=` of systemd) or give fewer resolvers",
            limit()
        )),
        Errno::ENFILE => Some(
            "no file descriptor is free for a socket on this machine; raise the limit (`sysctl fs.file-max`) or end programs".to_owned(),
        ),
        _ => None,
    }
}
