//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};

/// Interval at which waiting threads check whether they must end.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

/// Backlog of connections to accept.
const BACKLOG: i32 = 128;

/// Attempts to find a port that is free for both UDP and TCP.
const DRAWS: usize = 20;

/// Requested size of the kernel's receive and send buffers in bytes; the kernel may grant less.
const KERNEL_ROOM: usize = 4 << 20;

/// The sockets of one address.
pub(crate) struct Sockets {
    /// One per worker; the kernel distributes clients over them.
    pub(crate) datagrams: Vec<UdpSocket>,
    /// The TCP listener.
    pub(crate) streams: TcpListener,
}

/// Listens on these addresses with `workers` UDP sockets each; returns the addresses with their ports.
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

/// Tries once to listen on one address.
fn try_open(address: SocketAddr, workers: usize) -> io::Result<(SocketAddr, Sockets)> {
    let told = |protocol: &'static str| {
        move |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "the port is in use; stop the program that uses it, or choose another port"
                }
                io::ErrorKind::PermissionDenied => {
                    "no right to bind a port below 1024; grant CAP_NET_BIND_SERVICE, or choose a higher port"
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
    // Without SO_REUSEPORT: otherwise a server that uses it on the same port would silently get part of the
    // clients.
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

/// A UDP socket that shares its port with this server's other workers.
fn share(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bound(address, SockType::Datagram, true)?;
    let _ = setsockopt(&socket, sockopt::RcvBuf, &KERNEL_ROOM); // a smaller buffer is acceptable
    let _ = setsockopt(&socket, sockopt::SndBuf, &KERNEL_ROOM);
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

/// Binds a socket. An IPv6 socket takes no IPv4 traffic, which has its own socket.
fn bound(address: SocketAddr, kind: SockType, shares_port: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
    if kind == SockType::Stream {
        setsockopt(&fd, sockopt::ReuseAddr, &true)?; // connections of an earlier server may be in TIME_WAIT
    }
    if shares_port {
        setsockopt(&fd, sockopt::ReusePort, &true)?;
    }
    if address.is_ipv6() {
        setsockopt(&fd, sockopt::Ipv6V6Only, &true)?;
    }
    if kind == SockType::Datagram && address.ip().is_unspecified() {
        tell_destinations(&fd, address)?; // before the first datagram: an answer leaves from the address that was asked
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(fd)
}

/// Requests the destination address of each datagram from the kernel.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn tell_destinations(socket: &OwnedFd, address: SocketAddr) -> nix::Result<()> {
    if address.is_ipv4() {
        setsockopt(socket, sockopt::Ipv4PacketInfo, &true)
    } else {
        setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)
    }
}

/// On other systems the kernel chooses the source address of an answer.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn tell_destinations(_: &OwnedFd, _: SocketAddr) -> nix::Result<()> {
    Ok(())
}
