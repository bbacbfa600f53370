//! Starts a simnet: serving threads, each with its own runtime and listeners, and the resolver on the first of them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::watch;

use crate::authority::Authority;
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::http::Site;
use crate::judge::{ALWAYS, judge};
use crate::ledger::file::Header;
use crate::ledger::{Ledger, Records};
use crate::listener::Gate;
use crate::network::Network;
use crate::params::Params;
use crate::ports::Ports;
use crate::report::Report;
use crate::resolver;
use crate::secure::{NETWORK6, map_to_v6};
use crate::socket::{Purpose, listen_on_loopback};
use crate::tls::Tls;
use crate::trouble::{Trouble, Troubles};
use crate::world::World;

/// Idle time-out of connections, in unscaled seconds; at least 250 ms in wall-clock time.
const IDLE: f64 = 75.0;

/// A running simulated Internet; stops on drop.
pub struct Simnet {
    /// Its parameters.
    params: Params,
    /// State shared with the serving threads.
    site: Arc<Site>,
    /// The HTTP port in use.
    http_port: u16,
    /// The HTTPS port in use; 0 if no host is on HTTPS.
    https_port: u16,
    /// The DNS port in use.
    dns_port: u16,
    /// Signals the threads to end.
    stop: watch::Sender<bool>,
    /// The serving threads.
    threads: Vec<JoinHandle<()>>,
}

impl Simnet {
    /// Builds the world, opens the ports and starts serving.
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
        let (udp, tcp, dns_port) = resolver::open(params.dns_port)?;
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
            troubles: Troubles::default(),
            seed: params.seed,
            http_port,
            tls: if secure { Some(Tls::new(params.seed)?) } else { None },
            idle: Duration::from_secs_f64((IDLE / params.speed).clamp(0.25, 86_400.0)),
            crowded: Notify::new(),
        });
        let (stop, stopped) = watch::channel(false);
        let mut net = Self { params, site, http_port, https_port, dns_port, stop, threads: Vec::new() };
        let mut resolver = Some((udp, tcp));
        for (shard, listeners) in listeners.into_iter().enumerate() {
            let (site, resolver, mut stopped) = (net.site.clone(), resolver.take(), stopped.clone());
            let resolver = resolver.map(|(udp, tcp)| (udp, tcp, [(); 2].map(|()| site.troubles.follow())));
            let listeners: Vec<_> = listeners.into_iter().map(|l| (l, site.troubles.follow())).collect();
            let shared = net.params.threads > 1;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|e| Error::system("starting a runtime", e))?;
            let work = move || {
                runtime.block_on(async {
                    if let Some((udp, tcp, numbers)) = resolver {
                        resolver::spawn(&site, udp, tcp, numbers);
                    }
                    for ((purpose, listener), number) in listeners {
                        let port = if purpose.secure { https_port } else { http_port };
                        let gate = Gate { site: site.clone(), shard, purpose, port, shared };
                        tokio::spawn(gate.keep(listener, number));
                    }
                    // An error means that the simnet has been dropped, with the same consequence.
                    let _ = stopped.wait_for(|&stopped| stopped).await;
                });
                // Tasks end with their runtime.
            };
            let thread = std::thread::Builder::new().name(format!("simnet-{shard}")).spawn(work);
            net.threads.push(thread.map_err(|e| Error::system("starting a thread", e))?);
        }
        Ok(net)
    }

    /// The simulated world.
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

    /// The TCP port of HTTPS on every host's address; 0 if no host is on HTTPS.
    pub fn https_port(&self) -> u16 {
        self.https_port
    }

    /// The root certificate of a seed's authority, as PEM. Must be trusted inside a simulation only.
    pub fn authority_pem(seed: u64) -> Result<String> {
        Ok(Authority::new(seed)?.pem())
    }

    /// The resolver's address, UDP and TCP.
    pub fn resolver(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.dns_port))
    }

    /// The seed URLs, from which everything is reachable.
    pub fn seeds(&self) -> Vec<String> {
        let world = self.world();
        world.seeds().map(|host| self.site.ports.url(world, host, "/")).collect()
    }

    /// A copy of all records so far.
    pub fn records(&self) -> Result<Records> {
        self.site.ledger.records()
    }

    /// Judges all records so far. Pages of the hosts in `without` do not count in coverage.
    pub fn report(&self, without: &[&str]) -> Result<Report> {
        let without = self.find_hosts("without", without)?.into_iter().collect();
        Ok(judge(self.world(), &self.params, &self.site.ports, &self.records()?, &ALWAYS, &without))
    }

    /// Starts a trouble for some hosts (`None` for all), or changes the hosts and the share of an active one.
    /// It is in effect when this returns.
    ///
    /// Trouble with connections affects the hosts' addresses, and so all hosts there. `share` is the share of
    /// packets that [`Trouble::Loss`] loses.
    pub fn trouble(&self, trouble: Trouble, hosts: Option<&[&str]>, share: f64) -> Result<()> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::setting("share", share, "0 to 1"));
        }
        let hosts = hosts.map(|hosts| self.find_hosts("hosts", hosts)).transpose()?;
        if hosts.is_some() && trouble == Trouble::ResolverRefused {
            return Err(Error::setting(
                "hosts",
                "given",
                "all, because the resolver's ports are closed for all hosts",
            ));
        }
        self.site.troubles.begin(self.world(), trouble, hosts.as_deref(), share)
    }

    /// Ends a trouble; `None` ends all. It is over when this returns.
    pub fn calm(&self, trouble: Option<Trouble>) -> Result<()> {
        self.site.troubles.end(trouble)
    }

    /// Finds the numbers of hosts.
    fn find_hosts(&self, setting: &'static str, names: &[&str]) -> Result<Vec<u32>> {
        let find = |name: &&str| {
            let found = self.world().find_host(name);
            found.ok_or_else(|| Error::setting(setting, name, "names of this simnet's hosts"))
        };
        names.iter().map(find).collect()
    }

    /// Figures of the model and the world, for comparison with measurements.
    pub fn figures(&self) -> Figures {
        Figures::of(self.world())
    }

    /// Closes all connections and ports; the ledger remains readable.
    pub fn stop(&mut self) {
        self.stop.send_replace(true);
        self.site.troubles.stop();
        for thread in self.threads.drain(..) {
            // A panicked thread needs no stop.
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

/// Purpose of `http_port`.
const HTTP: Purpose = Purpose { setting: "http_port", secure: false, six: false };

/// Purpose of `https_port`.
const HTTPS: Purpose = Purpose { setting: "https_port", secure: true, six: false };

/// The listeners of one thread, each with its purpose.
type Listeners = Vec<(Purpose, std::net::TcpListener)>;

/// Opens one listener per thread and address family; returns the port in use.
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

/// Fails if fd00::/64 is not routed to this machine.
fn check_network6() -> Result<()> {
    let first = SocketAddr::from((map_to_v6(Ipv4Addr::LOCALHOST), 9));
    // Connecting a UDP socket sends nothing but selects a source address: a local destination has the loopback address or itself.
    let from = std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect(first)?;
        socket.local_addr()
    });
    if from.is_ok_and(|from| from.ip().is_loopback() || from.ip() == first.ip()) {
        return Ok(());
    }
    let allowed = format!(
        "off, because {NETWORK6}/64 is not routed to this machine; it is in private namespaces (as root, without --no-namespace)"
    );
    Err(Error::setting("ipv6", "on", allowed))
}
