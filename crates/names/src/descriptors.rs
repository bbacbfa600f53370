//! The process's limit of file descriptors, and the error when it is reached.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The highest limit that is set: child processes inherit it, and some iterate over all descriptors.
const MOST: rlim_t = 1 << 20;

/// Raises the soft limit to the hard limit, or to [`MOST`]: the soft limit is for programs that use select(2),
/// which this client does not.
pub(crate) fn raise_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard.min(MOST)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(MOST), hard); // on failure it stays as it was
    }
}

/// The process's limit of file descriptors; `usize::MAX` without a limit.
pub(crate) fn limit() -> usize {
    getrlimit(Resource::RLIMIT_NOFILE)
        .map_or(usize::MAX, |(soft, _)| usize::try_from(soft).unwrap_or(usize::MAX))
}

/// The error for a caller that would exceed the limit.
pub(crate) fn shortage() -> io::Error {
    Errno::EMFILE.into()
}

/// The explanation of an error that is not the server's fault, with a remedy: no file descriptor is free at the
/// moment. `None` for other errors.
pub(crate) fn explain_shortage(error: &io::Error) -> Option<String> {
    match Errno::from_raw(error.raw_os_error()?) {
        Errno::EMFILE => Some(format!(
            "no file descriptor is free for a socket: this process may have {} (RLIMIT_NOFILE); raise the limit (`ulimit -Hn`, \
             `LimitNOFILE=` of systemd) or configure fewer resolvers",
            limit()
        )),
        Errno::ENFILE => Some(
            "no file descriptor is free for a socket on this machine; raise the limit (`sysctl fs.file-max`) or end programs".to_owned(),
        ),
        _ => None,
    }
}
