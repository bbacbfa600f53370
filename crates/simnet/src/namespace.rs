//! Private namespaces: there a simnet and its command have the ports 53 and 80 and a resolver configuration for themselves, so any
//! program can crawl it unmodified. All system-call wrappers used are nix's safe ones.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use crate::error::{Error, Result};

/// Moves the calling thread, and all threads and processes that it starts later, into private mount and network namespaces.
///
/// There `lo` is up, and each pair of `files` (own file, system file) shows the own file in the system file's place.
/// A system file that does not exist is left out: nothing is created outside. Must be called before any thread starts.
pub fn enter_private_namespaces(files: &[(&Path, &Path)]) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).map_err(|e| {
        Error::system("making private namespaces (needs root; --no-namespace does without)", e)
    })?;
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
        .map_err(|e| Error::system("making mounts private", e))?;
    for (own, system) in files {
        // Followed by hand: the system file is often a link into a directory that may not exist.
        let Ok(target) = fs::canonicalize(system) else { continue };
        mount(Some(*own), &target, nothing, MsFlags::MS_BIND, nothing)
            .map_err(|e| Error::system(format!("mounting {} over {}", own.display(), target.display()), e))?;
    }
    bring_loopback_up().map_err(|e| Error::system("bringing the loopback device up", e))
}

/// Sets IFF_UP on `lo` with one netlink message.
fn bring_loopback_up() -> nix::Result<()> {
    /// NLMSG_ERROR: also the type of an acknowledgement.
    const ACKNOWLEDGED: u16 = 2;
    let index = if_nametoindex("lo")?;
    let link =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut message = Vec::with_capacity(32);
    // nlmsghdr: length, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, sequence, port.
    message.extend_from_slice(&32_u32.to_ne_bytes());
    message.extend_from_slice(&16_u16.to_ne_bytes());
    message.extend_from_slice(&5_u16.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    // ifinfomsg: family and type unspecified, index, flags and the mask of flags to change: IFF_UP.
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&index.to_ne_bytes());
    message.extend_from_slice(&1_u32.to_ne_bytes());
    message.extend_from_slice(&1_u32.to_ne_bytes());
    send(link.as_raw_fd(), &message, MsgFlags::empty())?;
    let mut answer = [0; 128];
    let length = recv(link.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let field =
        |at: usize| answer[..length].get(at..at + 4).and_then(|b| b.try_into().ok()).map(i32::from_ne_bytes);
    match (u16::from_ne_bytes([answer[4], answer[5]]), field(16)) {
        (ACKNOWLEDGED, Some(0)) => Ok(()),
        (ACKNOWLEDGED, Some(error)) => Err(Errno::from_raw(-error)),
        _ => Err(Errno::EPROTO),
    }
}
