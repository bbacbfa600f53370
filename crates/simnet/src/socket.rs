//! Listeners with options that the standard library does not offer: bound to a device, with receive time stamps.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket, sockopt,
};

use crate::error::{Error, Result};

/// Maximum of connections that wait to be accepted.
pub(crate) const BACKLOG: i32 = 4096;

/// Purpose of a listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// Name of the setting for its port.
    pub(crate) setting: &'static str,
    /// Whether connections use TLS.
    pub(crate) secure: bool,
    /// Whether it is IPv6, else IPv4.
    pub(crate) six: bool,
}

/// Listens on all addresses of the loopback device only; with `shared`, several listeners can share a port.
pub(crate) fn listen_on_loopback(purpose: Purpose, port: u16, shared: bool) -> Result<TcpListener> {
    let all = if purpose.six { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    listen_at(purpose, SocketAddr::new(all, port), shared)
}

/// Listens on one address of the loopback device, or on all.
pub(crate) fn listen_at(purpose: Purpose, address: SocketAddr, shared: bool) -> Result<TcpListener> {
    let port = address.port();
    let told = |e: Errno| match e {
        Errno::EADDRINUSE => Error::taken(purpose.setting, port),
        Errno::EACCES => Error::reserved(purpose.setting, port),
        e => Error::system(format!("listening on the loopback device, TCP port {port}"), e),
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let family = if purpose.six { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let fd = socket(family, SockType::Stream, flags, None).map_err(told)?;
    setsockopt(&fd, sockopt::BindToDevice, &"lo".into())
        .map_err(|e| Error::system("binding a listener to the loopback device", e))?;
    setsockopt(&fd, sockopt::ReuseAddr, &true).map_err(told)?;
    if shared {
        setsockopt(&fd, sockopt::ReusePort, &true).map_err(told)?;
    }
    // Receive time stamps, inherited by accepted sockets. Without them the ledger uses its own clock.
    let _ = setsockopt(&fd, sockopt::ReceiveTimestampns, &true);
    if purpose.six {
        // IPv4 has its own listener.
        setsockopt(&fd, sockopt::Ipv6V6Only, &true).map_err(told)?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address)).map_err(told)?;
    listen(&fd, Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN)).map_err(told)?;
    Ok(TcpListener::from(fd))
}
