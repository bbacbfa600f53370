//! Starts it all: worker threads, each with a runtime and a listener of its own, and the resolver on the first of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::time::Instant;

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
use crate::report::Report;
use crate::socket::listen_on_loopback;
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
        let shared = params.threads > 1;
        let first = listen_on_loopback(params.http_port, shared)?;
        let http_port = first.local_addr().map_err(|e| Error::system("asking for the HTTP port", e))?.port();
        let mut listeners = vec![first];
        for _ in 1..params.threads {
            listeners.push(listen_on_loopback(http_port, shared)?);
        }
        let (udp, tcp, dns_port) = open_resolver(params.dns_port)?;
        let world = World::new(&params);
        let port = if http_port == 80 { String::new() } else { format!(":{http_port}") };
        let ledger = match &params.ledger {
            Some(path) => Ledger::create(params.threads, path, Header::new(&params, &port, &world))?,
            None => Ledger::new(params.threads),
        };
        let site = Arc::new(Site {
            network: Network::new(&world, &params),
            world,
            ledger,
            port,
            idle: Duration::from_secs_f64((IDLE / params.speed).clamp(0.25, 86_400.0)),
        });
        let (stop, stopped) = watch::channel(false);
        let mut net = Self { params, site, http_port, dns_port, stop, threads: Vec::new() };
        let mut resolver = Some((udp, tcp));
        for (shard, listener) in listeners.into_iter().enumerate() {
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
                    tokio::spawn(accept_http(site, shard, listener));
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

    /// The resolver's address, UDP and TCP.
    pub fn resolver(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.dns_port))
    }

    /// The URLs from which everything can be reached.
    pub fn seeds(&self) -> Vec<String> {
        let world = self.world();
        world.seeds().map(|host| format!("http://{}{}/", world.name(host), self.site.port)).collect()
    }

    /// A copy of everything recorded so far.
    pub fn records(&self) -> Result<Records> {
        self.site.ledger.records()
    }

    /// Judges everything recorded so far.
    pub fn report(&self) -> Result<Report> {
        Ok(judge(self.world(), &self.params, &self.site.port, &self.records()?, &ALWAYS))
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

/// Accepts connections for ever; each gets a task.
async fn accept_http(site: Arc<Site>, shard: usize, listener: std::net::TcpListener) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let Some(stream) = accept(&listener).await else { continue };
        let Ok(SocketAddr::V4(local)) = stream.local_addr() else { continue };
        // The listener is bound to the loopback device; this is the second lock on the same door.
        if local.ip().is_loopback() && stream.set_nodelay(true).is_ok() {
            let site = site.clone();
            tokio::spawn(async move { http::serve(&site, shard, stream, *local.ip()).await });
        }
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
        std::io::ErrorKind::AddrInUse => {
            Error::setting("dns_port", port, "a port that nothing listens on, or 0 for any free port")
        }
        std::io::ErrorKind::PermissionDenied => {
            Error::setting("dns_port", port, "1024 to 65535, or 0 for any free port: lower ones need root")
        }
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
