//! Starts it all: worker threads, each with a runtime and a listener of its own, and the resolver on the first of them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::authority::Authority;
use crate::dns;
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::http::{self, Site};
use crate::judge::{ALWAYS, judge};
use crate::later::Later;
use crate::ledger::file::Header;
use crate::ledger::{Ledger, NONE, Question, Records};
use crate::network::{Fate, Network};
use crate::params::Params;
use crate::ports::Ports;
use crate::report::Report;
use crate::secure::{NETWORK6, compact, map_to_v6};
use crate::socket::{Purpose, listen_on_loopback};
use crate::tls::{self, Tls};
use crate::wire::{Door, Wire};
use crate::world::World;

/// How long an idle connection is kept, in unscaled seconds; never less than 250 ms.
const IDLE: f64 = 75.0;

/// A running simulated Internet; it ends when it is dropped.
pub struct Simnet {
    /// What it was started with.
    params: Params,
    /// World and ledger, shared with the threads.
    site: Arc<Site>,
    /// The port that was found.
    http_port: u16,
    /// The port that was found; 0 when no host is on HTTPS.
    https_port: u16,
    /// The port that was found.
    dns_port: u16,
    /// Tells the threads to end.
    stop: watch::Sender<bool>,
    /// The threads that serve.
    threads: Vec<JoinHandle<()>>,
}

impl Simnet {
    /// Builds the world, opens the ports and serves.
    pub fn start(params: Params) -> Result<Self> {
        params.check()?;
        if params.ipv6 {
            check_network6()?;
        }
        let mut listeners = Vec::new();
        listeners.resize_with(params.threads as usize, Vec::new);
        let http_port = open_site(&params, HTTP, params.http_port, &mut listeners)?;
        let secure = params.https > 0.0;
        let https_port =
            if secure { open_site(&params, HTTPS, params.https_port, &mut listeners)? } else { 0 };
        let (udp, tcp, dns_port) = open_resolver(params.dns_port)?;
        let world = World::new(&params);
        let ports = Ports::new(http_port, https_port);
        let ledger = match &params.ledger {
            Some(path) => Ledger::create(params.threads, path, Header::new(&params, &ports, &world))?,
            None => Ledger::new(params.threads),
        };
        let site = Arc::new(Site {
            network: Network::new(&world, &params),
            world,
            ledger,
            ports,
            tls: if secure { Some(Tls::new(params.seed)?) } else { None },
            idle: Duration::from_secs_f64((IDLE / params.speed).clamp(0.25, 86_400.0)),
        });
        let (stop, stopped) = watch::channel(false);
        let mut net = Self { params, site, http_port, https_port, dns_port, stop, threads: Vec::new() };
        let mut resolver = Some((udp, tcp));
        for (shard, listeners) in listeners.into_iter().enumerate() {
            let (site, resolver, mut stopped) = (net.site.clone(), resolver.take(), stopped.clone());
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|e| Error::system("starting a runtime", e))?;
            let work = move || {
                runtime.block_on(async {
                    if let Some((udp, tcp)) = resolver {
                        spawn_resolver(&site, udp, tcp);
                    }
                    for (purpose, listener) in listeners {
                        tokio::spawn(accept_http(site.clone(), shard, purpose, listener));
                    }
                    // An error means that the simnet is gone: the same.
                    let _ = stopped.wait_for(|&stopped| stopped).await;
                });
                // The tasks end with their runtime.
            };
            let thread = std::thread::Builder::new().name(format!("simnet-{shard}")).spawn(work);
            net.threads.push(thread.map_err(|e| Error::system("starting a thread", e))?);
        }
        Ok(net)
    }

    /// What is simulated.
    pub fn world(&self) -> &World {
        &self.site.world
    }

    /// The parameters it was started with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The TCP port of HTTP on every host's address.
    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    /// The TCP port of HTTPS on every host's address; 0 when no host is on HTTPS.
    pub fn https_port(&self) -> u16 {
        self.https_port
    }

    /// The certificate of the authority that vouches for the hosts of a seed, as PEM. To be trusted inside a simulation only.
    pub fn authority_pem(seed: u64) -> Result<String> {
        Ok(Authority::new(seed)?.pem())
    }

    /// The resolver's address, UDP and TCP.
    pub fn resolver(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.dns_port))
    }

    /// The URLs from which everything can be reached.
    pub fn seeds(&self) -> Vec<String> {
        let world = self.world();
        world.seeds().map(|host| self.site.ports.url(world, host, "/")).collect()
    }

    /// A copy of everything recorded so far.
    pub fn records(&self) -> Result<Records> {
        self.site.ledger.records()
    }

    /// Judges everything recorded so far.
    pub fn report(&self) -> Result<Report> {
        Ok(judge(self.world(), &self.params, &self.site.ports, &self.records()?, &ALWAYS))
    }

    /// The model and how the world came out, for comparison with what is measured.
    pub fn figures(&self) -> Figures {
        Figures::of(self.world())
    }

    /// Closes all connections and ports; the ledger can still be read.
    pub fn stop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that failed has nothing left to stop.
            let _ = thread.join();
        }
        self.site.ledger.close();
    }
}

impl Drop for Simnet {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What is behind `http_port`.
const HTTP: Purpose = Purpose { setting: "http_port", secure: false, six: false };

/// What is behind `https_port`.
const HTTPS: Purpose = Purpose { setting: "https_port", secure: true, six: false };

/// The listeners of one thread, each with what it is for.
type Listeners = Vec<(Purpose, std::net::TcpListener)>;

/// Opens one port for each thread and kind of address; the result is the port that was found.
fn open_site(params: &Params, purpose: Purpose, port: u16, threads: &mut [Listeners]) -> Result<u16> {
    let shared = params.threads > 1;
    let first = listen_on_loopback(purpose, port, shared)?;
    let port = first.local_addr().map_err(|e| Error::system("asking for a port", e))?.port();
    let mut first = Some(first);
    for listeners in threads {
        let listener = match first.take() {
            Some(first) => first,
            None => listen_on_loopback(purpose, port, shared)?,
        };
        listeners.push((purpose, listener));
        if params.ipv6 {
            let six = Purpose { six: true, ..purpose };
            listeners.push((six, listen_on_loopback(six, port, shared)?));
        }
    }
    Ok(port)
}

/// Refuses IPv6 where fd00::/64 does not lead to this machine.
fn check_network6() -> Result<()> {
    let first = SocketAddr::from((map_to_v6(Ipv4Addr::LOCALHOST), 9));
    // Connecting sends nothing, but chooses the way: one's own machine is reached from the loopback address or from itself.
    let from = std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect(first)?;
        socket.local_addr()
    });
    if from.is_ok_and(|from| from.ip().is_loopback() || from.ip() == first.ip()) {
        return Ok(());
    }
    let allowed = format!(
        "off, because {NETWORK6}/64 is not routed to this machine; in private namespaces (as root, without --no-namespace) it is"
    );
    Err(Error::setting("ipv6", "on", allowed))
}

/// Accepts connections for ever; each gets a task.
async fn accept_http(site: Arc<Site>, shard: usize, purpose: Purpose, listener: std::net::TcpListener) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let Some(stream) = accept(&listener).await else { continue };
        let Ok(address) = stream.local_addr().map(|local| local.ip()) else { continue };
        // The listener is bound to the loopback device; this is the second lock on the same door.
        if compact(address).is_none() || stream.set_nodelay(true).is_err() {
            continue;
        }
        let site = site.clone();
        tokio::spawn(async move {
            if purpose.secure {
                return tls::serve(&site, shard, stream, address).await;
            }
            let (wire, connection) = (Wire::new(stream), site.ledger.connect());
            let arrival = wire.arrival();
            http::serve(&site, shard, wire, arrival, Door { address, server: None }, connection).await;
        });
    }
}

/// The next connection; `None`, after a pause, when there are too many.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(_) => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            None
        }
    }
}

/// Binds the resolver's two sockets to one port.
fn open_resolver(port: u16) -> Result<(std::net::UdpSocket, std::net::TcpListener, u16)> {
    let told = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::AddrInUse => Error::taken("dns_port", port),
        std::io::ErrorKind::PermissionDenied => Error::reserved("dns_port", port),
        _ => Error::system(format!("opening the resolver's port {port} on 127.0.0.1"), e),
    };
    let mut attempts = if port == 0 { 20 } else { 1 };
    loop {
        attempts -= 1;
        let tcp = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(told)?;
        let free = tcp.local_addr().map_err(told)?.port();
        match std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, free)) {
            Ok(udp) => {
                tcp.set_nonblocking(true).and_then(|()| udp.set_nonblocking(true)).map_err(told)?;
                return Ok((udp, tcp, free));
            }
            // A port free for TCP can be taken for UDP: try another.
            Err(error) if attempts == 0 => return Err(told(error)),
            Err(_) => {}
        }
    }
}

/// Serves DNS on both sockets.
fn spawn_resolver(site: &Arc<Site>, udp: std::net::UdpSocket, tcp: std::net::TcpListener) {
    let site_of_udp = site.clone();
    tokio::spawn(async move {
        if let Ok(socket) = UdpSocket::from_std(udp) {
            resolve_udp(&site_of_udp, &socket).await;
        }
    });
    let site = site.clone();
    tokio::spawn(async move {
        let Ok(listener) = TcpListener::from_std(tcp) else { return };
        loop {
            if let Some(stream) = accept(&listener).await {
                let site = site.clone();
                tokio::spawn(async move { resolve_tcp(&site, stream).await });
            }
        }
    });
}

/// Answers datagrams for ever.
async fn resolve_udp(site: &Site, socket: &UdpSocket) {
    let (mut message, mut out) = ([0; 4096], Vec::with_capacity(1024));
    let mut later = Later::default();
    loop {
        let received = match later.next() {
            None => socket.recv_from(&mut message).await,
            Some(at) => {
                // Here, not only when the timer fires: under load there is always something to receive.
                while let Some((asker, answer)) = later.due(Instant::now()) {
                    let _ = socket.send_to(&answer, asker).await;
                }
                match tokio::time::timeout_at(at, socket.recv_from(&mut message)).await {
                    Ok(received) => received,
                    Err(_) => continue,
                }
            }
        };
        // An error belongs to an earlier answer that its asker did not want any more (ICMP).
        let Ok((length, asker)) = received else { continue };
        let Some(delay) = resolve(site, &message[..length], false, &mut out) else { continue };
        if !later.take(delay, asker, &out) {
            let _ = socket.send_to(&out, asker).await;
        }
    }
}

/// Answers the questions of one connection (RFC 7766): any number, each with its length in front.
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
    // Ends when the client has hung up, broken off or fallen silent.
    let _: std::io::Result<()> = work.await;
}

/// Answers one message and records it; the result is how late the answer leaves, `None` means silence.
fn resolve(site: &Site, message: &[u8], tcp: bool, out: &mut Vec<u8>) -> Option<Duration> {
    let time = site.ledger.time(None);
    let answered = dns::answer(&site.world, site.network.age(time), message, out);
    let fate = answered.map(|a| site.network.question(&site.world, a.host, tcp));
    let (host, qtype, rcode) = answered.map_or((NONE, 0, u8::MAX), |a| (a.host, a.qtype, a.rcode));
    let (rcode, delay) = match fate {
        Some(Fate::After(delay)) => (rcode, Some(delay)),
        Some(Fate::Lost) | None => (u8::MAX, None),
    };
    site.ledger.question(0, Question { time, host, qtype, rcode, tcp });
    delay
}
