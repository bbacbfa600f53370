//! Private namespaces: they give a simnet and its command their own ports 53, 80 and 443, network fd00::/64, resolver
//! configuration and trusted roots, so that any unmodified program can crawl it. All system calls use nix's safe wrappers.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use crate::error::{Error, Result};
use crate::secure::NETWORK6;

/// Moves the calling thread, and all threads and processes it starts later, to private mount and network namespaces.
///
/// There `lo` is up, with `ipv6` also for fd00::/64, and for each pair of `files` (own file or folder, the
/// system's) the own one is mounted over the system's. A system file that does not exist is skipped: nothing
/// is created outside. Must be called before any thread starts.
pub fn enter_private_namespaces(files: &[(&Path, &Path)], ipv6: bool) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
        .map_err(|e| Error::system("making private namespaces (needs root, or --no-namespace)", e))?;
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
        .map_err(|e| Error::system("making mounts private", e))?;
    for (own, system) in files {
        // Resolved explicitly: the system file is often a symbolic link into a directory that may not exist.
        let Ok(target) = fs::canonicalize(system) else { continue };
        mount(Some(*own), &target, nothing, MsFlags::MS_BIND, nothing)
            .map_err(|e| Error::system(format!("mounting {} over {}", own.display(), target.display()), e))?;
    }
    bring_loopback_up().map_err(|e| {
        Error::system("bringing the loopback device up (needs CAP_NET_ADMIN, or --no-namespace)", e)
    })?;
    if ipv6 {
        route_network6().map_err(|e| Error::system("routing fd00::/64 (--ipv6 0 disables IPv6)", e))?;
    }
    Ok(())
}

/// Sets IFF_UP on `lo`.
fn bring_loopback_up() -> nix::Result<()> {
    let mut body = Vec::with_capacity(16);
    // ifinfomsg: family and type unspecified, index, flags and the mask of flags to change: IFF_UP.
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&if_nametoindex("lo")?.to_ne_bytes());
    body.extend_from_slice(&1_u32.to_ne_bytes());
    body.extend_from_slice(&1_u32.to_ne_bytes());
    ask_netlink(16, 0, &body)
}

/// Makes every address of fd00::/64 local: `ip -6 route add local fd00::/64 dev lo`.
///
/// Adds a route but no address on the device: with an address, resolver libraries would assume a network without IPv4.
fn route_network6() -> nix::Result<()> {
    let mut body = Vec::with_capacity(40);
    // rtmsg: AF_INET6, 64 bits of destination, no source, no TOS, table local, protocol static, scope universe, type local.
    body.extend_from_slice(&[10, 64, 0, 0, 255, 4, 0, 2, 0, 0, 0, 0]);
    // RTA_DST and RTA_OIF: length, type, value.
    body.extend_from_slice(&20_u16.to_ne_bytes());
    body.extend_from_slice(&1_u16.to_ne_bytes());
    body.extend_from_slice(&NETWORK6.octets());
    body.extend_from_slice(&8_u16.to_ne_bytes());
    body.extend_from_slice(&4_u16.to_ne_bytes());
    body.extend_from_slice(&if_nametoindex("lo")?.to_ne_bytes());
    // NLM_F_CREATE | NLM_F_EXCL.
    ask_netlink(24, 0x600, &body)
}

/// Sends one netlink message and waits for its acknowledgement.
fn ask_netlink(kind: u16, flags: u16, body: &[u8]) -> nix::Result<()> {
    /// NLMSG_ERROR, which is also the type of an acknowledgement.
    const ACKNOWLEDGED: u16 = 2;
    let link =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut message = Vec::with_capacity(16 + body.len());
    // nlmsghdr: length, type, NLM_F_REQUEST | NLM_F_ACK, sequence, port.
    message.extend_from_slice(&(16 + body.len() as u32).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&(5 | flags).to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(body);
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
