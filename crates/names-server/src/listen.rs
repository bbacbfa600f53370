//! Sockets to listen on.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};

/// How often a thread that waits looks whether it is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// How often a port is drawn that is free for UDP and for TCP.
const DRAWS: usize = 20;

/// Bytes that the kernel is asked to hold of questions and of answers; it gives what it may.
const KERNEL_ROOM: usize = 4 << 20;

/// The sockets of one address.
pub(crate) struct Sockets {
    /// One for each worker; the kernel spreads clients over them.
    pub(crate) datagrams: Vec<UdpSocket>,
    /// For connections.
    pub(crate) streams: TcpListener,
}

/// Listens on all of these addresses, with so many sockets for datagrams each; gives the addresses with their ports.
pub(crate) fn open(addresses: &[SocketAddr], workers: usize) -> io::Result<Vec<(SocketAddr, Sockets)>> {
    addresses.iter().map(|address| open_one(*address, workers)).collect()
}

/// Listens on one address.
fn open_one(address: SocketAddr, workers: usize) -> io::Result<(SocketAddr, Sockets)> {
    let mut draws = if address.port() == 0 { DRAWS } else { 1 };
    loop {
        draws -= 1;
        match try_open(address, workers) {
            Err(error) if draws > 0 && error.kind() == io::ErrorKind::AddrInUse => (),
            opened => return opened,
        }
    }
}

/// The same, once.
fn try_open(address: SocketAddr, workers: usize) -> io::Result<(SocketAddr, Sockets)> {
    let told = |protocol: &'static str| {
        move |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "the port is in use; stop the program that uses it, or choose another port"
                }
                io::ErrorKind::PermissionDenied => {
                    "no right to bind a port below 1024; give CAP_NET_BIND_SERVICE, or choose a higher one"
                }
                io::ErrorKind::AddrNotAvailable => "this machine does not have the address",
                _ => {
                    return io::Error::new(
                        error.kind(),
                        format!("listening on {address}, {protocol}: {error}"),
                    );
                }
            };
            io::Error::new(error.kind(), format!("listening on {address}, {protocol}: {hint}"))
        }
    };
    // Without the sharing of ports: another server that shares its own would divide the clients with this one unnoticed.
    let alone = UdpSocket::from(bound(address, SockType::Datagram, false).map_err(told("UDP"))?);
    let address = alone.local_addr()?;
    drop(alone);
    let streams = bound(address, SockType::Stream, false).map_err(told("TCP"))?;
    nix::sys::socket::listen(&streams, Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN))?;
    let streams = TcpListener::from(streams);
    streams.set_nonblocking(true)?;
    let datagrams = (0..workers).map(|_| share(address).map_err(told("UDP"))).collect::<io::Result<_>>()?;
    Ok((address, Sockets { datagrams, streams }))
}

/// A socket that shares its port with others of this server.
fn share(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bound(address, SockType::Datagram, true)?;
    let _ = setsockopt(&socket, sockopt::RcvBuf, &KERNEL_ROOM); // less is no fault, only less
    let _ = setsockopt(&socket, sockopt::SndBuf, &KERNEL_ROOM);
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

/// A socket at an address, of IPv6 alone where it is one: IPv4 has a socket of its own.
fn bound(address: SocketAddr, kind: SockType, shares_port: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
    if kind == SockType::Stream {
        setsockopt(&fd, sockopt::ReuseAddr, &true)?; // connections of an earlier server may still be ending
    }
    if shares_port {
        setsockopt(&fd, sockopt::ReusePort, &true)?;
    }
    if address.is_ipv6() {
        setsockopt(&fd, sockopt::Ipv6V6Only, &true)?;
    }
    if kind == SockType::Datagram && address.ip().is_unspecified() {
        tell_destinations(&fd, address)?; // from the first datagram on, since an answer leaves from where it came to
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(fd)
}

/// Has the kernel tell which address of this machine each datagram was sent to.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn tell_destinations(socket: &OwnedFd, address: SocketAddr) -> nix::Result<()> {
    if address.is_ipv4() {
        setsockopt(socket, sockopt::Ipv4PacketInfo, &true)
    } else {
        setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)
    }
}

/// Elsewhere the kernel chooses the address that an answer leaves from.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn tell_destinations(_: &OwnedFd, _: SocketAddr) -> nix::Result<()> {
    Ok(())
}
