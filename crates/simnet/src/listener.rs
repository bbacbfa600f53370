//! Accepts connections to hosts, and applies trouble: listeners are really closed, and the kernel really drops connection attempts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{Backlog, Shutdown, SockaddrStorage, bind, listen, shutdown};
use socket2::{SockFilter, SockRef};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::http::{self, Site};
use crate::secure::{compact, map_to_v6};
use crate::socket::{BACKLOG, Purpose, listen_at};
use crate::tls;
use crate::trouble::{Dropped, Refused, State, Struck};
use crate::wire::{Door, Wire};

/// Idle connections that are ended at once where no file is free for a new one.
const CROWD: usize = 64;

/// One listener of one thread.
#[derive(Clone)]
pub(crate) struct Gate {
    /// Shared state.
    pub(crate) site: Arc<Site>,
    /// The thread's number.
    pub(crate) shard: usize,
    /// Its purpose.
    pub(crate) purpose: Purpose,
    /// Its port.
    pub(crate) port: u16,
    /// Whether other threads listen on the same port.
    pub(crate) shared: bool,
}

/// The listener for all addresses.
enum Listener {
    /// Connections are accepted.
    Open(TcpListener),
    /// The kernel refuses connections; the port stays bound.
    Shut(StdListener),
}

impl Gate {
    /// Accepts connections for ever and applies trouble; `number` identifies the listener in `trouble.rs`.
    pub(crate) async fn keep(self, listener: StdListener, number: usize) {
        let mut changes = self.site.troubles.watch();
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        let mut listener = Some(Listener::Open(listener));
        loop {
            let state = changes.borrow_and_update().clone();
            let mut others = JoinSet::new();
            if state.generation > 0 {
                // After an error, the change is not reported as applied, so that its caller gets a time-out error.
                let Ok(()) = self.obey(&state, &mut listener, &mut others) else { return };
                self.site.troubles.followed(number, state.generation);
            }
            tokio::select! {
                () = self.accept(listener.as_ref()) => {}
                changed = changes.changed() => if changed.is_err() { return },
            }
            // Closes the other listeners before the listener for all addresses opens again.
            others.shutdown().await;
        }
    }

    /// Opens and closes listeners as the state requires.
    fn obey(&self, state: &State, listener: &mut Option<Listener>, others: &mut JoinSet<()>) -> Result<()> {
        let program = program(&state.dropped(), self.purpose.six);
        let system = |error| Error::system("applying a change of trouble", error);
        let refused = state.refused();
        let own = match (listener.take(), refused == Refused::None) {
            (Some(Listener::Open(open)), false) => {
                let shut = open.into_std().map_err(system)?;
                shut_port(&shut).map_err(system)?;
                Listener::Shut(shut)
            }
            (Some(Listener::Shut(shut)), true) => {
                listen(&shut, Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN))
                    .map_err(|e| system(e.into()))?;
                Listener::Open(TcpListener::from_std(shut).map_err(system)?)
            }
            (Some(same), _) => same,
            (None, _) => return Ok(()),
        };
        if let Listener::Open(open) = &own {
            filter(&SockRef::from(open), &program).map_err(system)?;
        }
        *listener = Some(own);
        let Refused::Some(refused) = refused else { return Ok(()) };
        for address in
            self.addresses().filter(|&address| compact(address).is_none_or(|a| !refused.contains(&a)))
        {
            let other = listen_at(self.purpose, SocketAddr::new(address, self.port), self.shared)?;
            filter(&SockRef::from(&other), &program).map_err(system)?;
            let (gate, other) = (self.clone(), TcpListener::from_std(other).map_err(system)?);
            others.spawn(async move { gate.accept(Some(&Listener::Open(other))).await });
        }
        Ok(())
    }

    /// Addresses of all hosts, without duplicates.
    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let world = &self.site.world;
        let mut all: Vec<Ipv4Addr> = (0..world.host_count()).map(|host| world.address(host)).collect();
        all.sort_unstable();
        all.dedup();
        let six = self.purpose.six;
        all.into_iter().map(move |address| if six { map_to_v6(address).into() } else { address.into() })
    }

    /// Accepts connections for ever and spawns a task for each.
    async fn accept(&self, listener: Option<&Listener>) {
        let Some(Listener::Open(listener)) = listener else { return std::future::pending().await };
        loop {
            let Some(stream) = accept(listener).await else {
                (0..CROWD).for_each(|_| self.site.crowded.notify_one());
                continue;
            };
            let Ok(address) = stream.local_addr().map(|local| local.ip()) else { continue };
            // The listener is bound to the loopback device; this is the second lock on the same door.
            if compact(address).is_none() || stream.set_nodelay(true).is_err() {
                continue;
            }
            tokio::spawn(serve(self.site.clone(), self.shard, self.purpose.secure, stream, address));
        }
    }
}

/// Serves one connection until it ends or trouble affects it.
async fn serve(site: Arc<Site>, shard: usize, secure: bool, stream: TcpStream, address: IpAddr) {
    let wire = Wire::new(stream);
    let arrival = wire.arrival();
    let work = async {
        if secure {
            return tls::serve(&site, shard, wire, address).await;
        }
        let (connection, arrival) = (site.ledger.connect(), wire.arrival());
        http::serve(&site, shard, wire, arrival, Door { address, server: None }, connection).await;
    };
    // Pinned outside of `select!`, which drops its branches before a handler runs.
    tokio::pin!(work);
    tokio::select! {
        // Trouble takes precedence: requests that arrive after its start are never answered.
        biased;
        struck = site.troubles.strikes(address) => {
            // The connection stays open but unserved until `work` is dropped at the end.
            if struck == Struck::Silent {
                site.troubles.pass(address, None).await;
            }
            arrival.doom();
        }
        () = &mut work => {}
    }
}

/// Accepts the next connection; on an error, such as too many open files, returns `None` after a pause.
pub(crate) async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(_) => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            None
        }
    }
}

/// Makes the kernel refuse connections to a listener's port, which stays bound.
pub(crate) fn shut_port(listener: &StdListener) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    shutdown(listener.as_raw_fd(), Shutdown::Both)?;
    // The shutdown releases a port that the kernel had chosen, so it is bound again; an explicit port is still bound.
    match bind(listener.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(nix::errno::Errno::EINVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Attaches a BPF program to a listener; an empty one detaches the current program.
fn filter(socket: &SockRef<'_>, program: &[SockFilter]) -> std::io::Result<()> {
    if !program.is_empty() {
        return socket.attach_filter(program);
    }
    match socket.detach_filter() {
        Err(error) if error.raw_os_error() != Some(nix::errno::Errno::ENOENT as i32) => Err(error),
        _ => Ok(()),
    }
}

/// A classic BPF program that drops connection attempts (SYN without ACK) and passes everything else; empty if nothing is dropped.
fn program(dropped: &[Dropped], six: bool) -> Vec<SockFilter> {
    /// Opcodes (linux/filter.h).
    mod code {
        /// Loads a byte of the packet.
        pub(super) const LDB: u16 = 0x30;
        /// Loads a word of the packet.
        pub(super) const LD: u16 = 0x20;
        /// Bitwise AND with a constant.
        pub(super) const AND: u16 = 0x54;
        /// Returns the number of bytes to pass.
        pub(super) const RET: u16 = 0x06;
        /// Jumps unconditionally.
        pub(super) const JA: u16 = 0x05;
        /// Jumps by equality with a constant.
        pub(super) const JEQ: u16 = 0x15;
        /// Jumps by comparison with a constant (at least).
        pub(super) const JGE: u16 = 0x35;
    }
    use code::{AND, JA, JEQ, JGE, LD, LDB, RET};
    /// Offset of the IP header.
    const NETWORK: u32 = 0xfff0_0000;
    /// Offset at which a random number is loaded.
    const RANDOM: u32 = 0xffff_f000 + 56;
    /// Offset of the flags in a TCP header: SYN is 2, ACK 16.
    const FLAGS: u32 = 13;
    let make = SockFilter::new;
    let pass = || make(RET, 0, 0, u32::MAX);
    if dropped.is_empty() {
        return Vec::new();
    }
    let mut program = vec![make(LDB, 0, 0, FLAGS), make(AND, 0, 0, 0x12), make(JEQ, 1, 0, 0x02), pass()];
    for Dropped { addresses, share } in dropped {
        let verdict = match share {
            1.0.. => vec![make(RET, 0, 0, 0)],
            _ => {
                let least = (share * f64::from(u32::MAX)) as u32;
                vec![make(LD, 0, 0, RANDOM), make(JGE, 1, 0, least), make(RET, 0, 0, 0)]
            }
        };
        if let Some(addresses) = addresses {
            // Last word of the destination address: in IPv6, it is the mapped IPv4 address.
            program.push(make(LD, 0, 0, NETWORK + if six { 36 } else { 16 }));
            let mut left = 2 * addresses.len() as u32;
            for &address in addresses {
                left -= 2;
                // Jumps are relative to the next instruction; one more jump follows the last address.
                program.extend([make(JEQ, 0, 1, address), make(JA, 0, 0, left + 1)]);
            }
            program.push(make(JA, 0, 0, verdict.len() as u32));
        }
        program.extend(verdict);
    }
    program.push(pass());
    program
}
