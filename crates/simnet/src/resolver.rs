//! The resolver's sockets: UDP and TCP on one port, on the first thread. They apply trouble: a refusing port is really closed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener, UdpSocket as StdSocket};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{Backlog, listen};
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::Instant;

use crate::dns;
use crate::error::{Error, Result};
use crate::http::Site;
use crate::later::Later;
use crate::ledger::{NONE, Question};
use crate::listener::{accept, shut_port};
use crate::network::Fate;
use crate::socket::BACKLOG;
use crate::trouble::{Asked, PORTAL, Trouble};

/// Peer of a UDP socket while its port is closed: discard (port 9), without a listener.
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

/// Binds the resolver's two sockets to one port.
pub(crate) fn open(port: u16) -> Result<(StdSocket, StdListener, u16)> {
    let told = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::AddrInUse => Error::taken("dns_port", port),
        std::io::ErrorKind::PermissionDenied => Error::reserved("dns_port", port),
        _ => Error::system(format!("opening the resolver's port {port} on 127.0.0.1"), e),
    };
    let mut attempts = if port == 0 { 20 } else { 1 };
    loop {
        attempts -= 1;
        let tcp = StdListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(told)?;
        let free = tcp.local_addr().map_err(told)?.port();
        match bind_udp(free) {
            Ok(udp) => {
                tcp.set_nonblocking(true).map_err(told)?;
                return Ok((udp, tcp, free));
            }
            // A port that is free for TCP may be in use for UDP: try another.
            Err(error) if attempts == 0 => return Err(told(error)),
            Err(_) => {}
        }
    }
}

/// Binds a UDP socket to a port, even if the connected socket of a closed port still has it.
fn bind_udp(port: u16) -> std::io::Result<StdSocket> {
    // While the port is closed, the old socket keeps it reserved.
    let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    Ok(socket.into())
}

/// Serves DNS on both sockets; `numbers` are their listener numbers for trouble.
pub(crate) fn spawn(site: &Arc<Site>, udp: StdSocket, tcp: StdListener, numbers: [usize; 2]) {
    let site_of_udp = site.clone();
    tokio::spawn(async move { keep_udp(&site_of_udp, udp, numbers[0]).await });
    let site = site.clone();
    tokio::spawn(async move { keep_tcp(&site, tcp, numbers[1]).await });
}

/// Answers datagrams while the port is open, for ever. Returns on a system error, so that the caller of the change gets a time-out error.
async fn keep_udp(site: &Site, socket: StdSocket, number: usize) -> Option<()> {
    let mut changes = site.troubles.watch();
    let port = socket.local_addr().ok()?.port();
    let (mut socket, mut shut) = (UdpSocket::from_std(socket).ok()?, false);
    loop {
        let state = changes.borrow_and_update().clone();
        let wanted = state.has(Trouble::ResolverRefused);
        if wanted && !shut {
            // A connected socket receives only from its peer: for others, the port is closed.
            socket.connect(NOBODY).await.ok()?;
        } else if shut && !wanted {
            socket = UdpSocket::from_std(bind_udp(port).ok()?).ok()?;
        }
        shut = wanted;
        site.troubles.followed(number, state.generation);
        tokio::select! {
            () = resolve_udp(site, &socket), if !shut => {}
            changed = changes.changed() => changed.ok()?,
        }
    }
}

/// Serves connections while the port is open, for ever.
async fn keep_tcp(site: &Arc<Site>, listener: StdListener, number: usize) -> Option<()> {
    let mut changes = site.troubles.watch();
    let (mut open, mut closed) = (Some(TcpListener::from_std(listener).ok()?), None);
    loop {
        let state = changes.borrow_and_update().clone();
        if state.has(Trouble::ResolverRefused) {
            if let Some(listener) = open.take() {
                let listener = listener.into_std().ok()?;
                shut_port(&listener).ok()?;
                closed = Some(listener);
            }
        } else if let Some(listener) = closed.take() {
            listen(&listener, Backlog::new(BACKLOG).ok()?).ok()?;
            open = Some(TcpListener::from_std(listener).ok()?);
        }
        site.troubles.followed(number, state.generation);
        tokio::select! {
            () = accept_tcp(site, open.as_ref()) => {}
            changed = changes.changed() => changed.ok()?,
        }
    }
}

/// Accepts connections for ever.
async fn accept_tcp(site: &Arc<Site>, listener: Option<&TcpListener>) {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        if let Some(stream) = accept(listener).await {
            let site = site.clone();
            tokio::spawn(async move {
                let mut changes = site.troubles.watch();
                tokio::select! {
                    () = resolve_tcp(&site, stream) => {}
                    _ = changes.wait_for(|state| state.has(Trouble::ResolverRefused)) => {}
                }
            });
        }
    }
}

/// Answers datagrams for ever.
async fn resolve_udp(site: &Site, socket: &UdpSocket) {
    let (mut message, mut out) = ([0; 4096], Vec::with_capacity(1024));
    let mut later = Later::default();
    loop {
        let received = match later.next() {
            None => socket.recv_from(&mut message).await,
            Some(at) => {
                // Not only when the timer fires: under load, receiving always succeeds first.
                while let Some((asker, answer)) = later.due(Instant::now()) {
                    let _ = socket.send_to(&answer, asker).await;
                }
                match tokio::time::timeout_at(at, socket.recv_from(&mut message)).await {
                    Ok(received) => received,
                    Err(_) => continue,
                }
            }
        };
        // An error concerns an earlier answer whose client has closed its port (ICMP).
        let Ok((length, asker)) = received else { continue };
        let Some(delay) = resolve(site, &message[..length], false, &mut out) else { continue };
        if !later.take(delay, asker, &out) {
            let _ = socket.send_to(&out, asker).await;
        }
    }
}

/// Answers any number of queries on one connection, each with a length prefix (RFC 7766).
async fn resolve_tcp(site: &Site, mut stream: TcpStream) {
    let (mut message, mut out) = (Vec::new(), Vec::new());
    let work = async {
        loop {
            let length = tokio::time::timeout(site.idle, stream.read_u16()).await??;
            message.resize(usize::from(length), 0);
            tokio::time::timeout(site.idle, stream.read_exact(&mut message)).await??;
            if let Some(delay) = resolve(site, &message, true, &mut out) {
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                out.splice(0..0, (out.len() as u16).to_be_bytes());
                tokio::time::timeout(site.idle, stream.write_all(&out)).await??;
            }
        }
    };
    // Ends when the client disconnects, resets the connection or is idle for too long.
    let _: std::io::Result<()> = work.await;
}

/// Answers one message and records it; returns the delay of the answer, or `None` for no answer.
fn resolve(site: &Site, message: &[u8], tcp: bool, out: &mut Vec<u8>) -> Option<Duration> {
    let time = site.ledger.time(None);
    let mut answered = dns::answer(&site.world, site.network.age(time), message, out);
    let mut fate = answered.map(|a| site.network.question(&site.world, a.host, tcp));
    if let Some(first) = answered {
        match site.troubles.asks(site.seed, first.host, tcp) {
            None => {}
            Some(Asked::Nothing) => fate = Some(Fate::Lost),
            Some(Asked::Failure) => answered = dns::fail(message, first, out).or(answered),
            Some(Asked::NoName) => answered = dns::deny(message, first, out).or(answered),
            Some(Asked::Portal) => {
                answered = dns::capture(message, first, PORTAL, out).or(answered);
                fate = Some(Fate::After(Duration::ZERO));
            }
        }
    }
    let (host, qtype, rcode) = answered.map_or((NONE, 0, u8::MAX), |a| (a.host, a.qtype, a.rcode));
    let (rcode, delay) = match fate {
        Some(Fate::After(delay)) => (rcode, Some(delay)),
        Some(Fate::Lost) | None => (u8::MAX, None),
    };
    site.ledger.question(0, Question { time, host, qtype, rcode, tcp });
    delay
}
