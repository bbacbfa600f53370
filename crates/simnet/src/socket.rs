//! Sockets with properties that the standard library does not offer: bound to a device, with time stamps of arrival.

use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrIn, bind, listen,
    recvmsg, setsockopt, socket, sockopt,
};
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::error::{Error, Result};

/// A listener for all addresses of the loopback device and of no other; several can share a port.
pub(crate) fn listen_on_loopback(port: u16, shared: bool) -> Result<TcpListener> {
    let told = |e: Errno| match e {
        Errno::EADDRINUSE => {
            Error::setting("http_port", port, "a port that nothing listens on, or 0 for any free port")
        }
        Errno::EACCES => {
            Error::setting("http_port", port, "1024 to 65535, or 0 for any free port: lower ones need root")
        }
        e => Error::system(format!("listening on the loopback device, TCP port {port}"), e),
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None).map_err(told)?;
    setsockopt(&fd, sockopt::BindToDevice, &"lo".into())
        .map_err(|e| Error::system("binding a listener to the loopback device", e))?;
    setsockopt(&fd, sockopt::ReuseAddr, &true).map_err(told)?;
    if shared {
        setsockopt(&fd, sockopt::ReusePort, &true).map_err(told)?;
    }
    // Time stamps of arrival; accepted sockets inherit this. Without them the ledger uses its own clock.
    let _ = setsockopt(&fd, sockopt::ReceiveTimestampns, &true);
    bind(fd.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))).map_err(told)?;
    listen(&fd, Backlog::new(4096).unwrap_or(Backlog::MAXCONN)).map_err(told)?;
    Ok(TcpListener::from(fd))
}

/// Reads what is there; the second value is when the kernel received the last of it, since 1970.
pub(crate) async fn receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    stream
        .async_io(Interest::READABLE, || {
            // Room for one SCM_TIMESTAMPNS message: header and two 64-bit numbers, aligned.
            let mut control = [0_u64; 8].map(u64::to_ne_bytes).concat();
            let mut slices = [IoSliceMut::new(buffer)];
            let message =
                recvmsg::<()>(stream.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
            let stamp = message.cmsgs()?.find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
                _ => None,
            });
            Ok((message.bytes, stamp))
        })
        .await
}
