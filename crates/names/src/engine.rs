//! The client's thread: sockets for what the [`Core`] decides.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use lycosa_url::{Clock, Micros};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::asked::{SocketId, Try};
use crate::cache::NameCache;
use crate::client::{Order, Shared};
use crate::core::Core;
use crate::dice::Dice;
use crate::settings::Settings;
use crate::wire::{Manner, PAYLOAD};

/// Sockets a server, each on a random port: what a forger must guess beside the number.
const SOCKETS: usize = 4;

/// After so many questions a socket gets a new port.
const QUESTIONS: u32 = 4_096;

/// After so long, too.
const SOCKET_LIFE: Duration = Duration::from_secs(60);

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(10);

/// State of the client's thread.
pub(crate) struct Engine {
    clock: Clock,
    core: RefCell<Core>,
    sockets: RefCell<Sockets>,
    /// The longest wait for one reply: as long a retired socket is still listened on.
    patience: Duration,
    /// Says that the core has something to send or to tell.
    changed: Notify,
    shared: Arc<Shared>,
}

/// The open sockets.
#[derive(Default)]
struct Sockets {
    last: SocketId,
    dice: Dice,
    open: HashMap<SocketAddr, Vec<Socket>>,
    /// Sockets that send no more, and when they are closed.
    retired: Vec<(Micros, Socket)>,
}

/// A connected socket and the task that listens on it.
struct Socket {
    id: SocketId,
    socket: Rc<UdpSocket>,
    listener: AbortHandle,
    questions: u32,
    until: Micros,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Engine {
    /// An engine by the settings.
    pub(crate) fn new(settings: Settings, cache: Box<dyn NameCache>, shared: Arc<Shared>) -> Self {
        let now = settings.clock.now();
        Engine {
            clock: settings.clock,
            patience: settings.timeout.saturating_mul(2),
            core: RefCell::new(Core::new(settings, cache, now)),
            sockets: RefCell::default(),
            changed: Notify::new(),
            shared,
        }
    }

    /// The thread's loop; ends when the client is dropped.
    pub(crate) async fn run(self: Rc<Self>, mut orders: UnboundedReceiver<Order>) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let waiting = self.core.borrow().is_waiting();
            tokio::select! {
                biased;
                () = self.changed.notified() => (),
                order = orders.recv() => match order {
                    Some(order) => self.submit(order),
                    None => return,
                },
                _ = tick.tick(), if waiting => self.pass(),
            }
            self.flush().await;
        }
    }

    /// Hands names to the core.
    fn submit(&self, order: Order) {
        let coalesced = self.core.borrow_mut().submit(order, self.clock.now());
        self.shared.forget(coalesced);
    }

    /// Time has passed.
    fn pass(&self) {
        let now = self.clock.now();
        self.core.borrow_mut().expire(now);
        self.sockets.borrow_mut().retired.retain(|(until, _)| *until > now);
    }

    /// Sends what the core wants sent and tells what it knows.
    async fn flush(self: &Rc<Self>) {
        loop {
            let next = self.core.borrow_mut().next_try();
            match next {
                Some(attempt) if attempt.manner == Manner::Tcp => {
                    spawn_local(self.clone().ask_over_tcp(attempt));
                }
                Some(attempt) => self.ask(attempt).await,
                None => break,
            }
        }
        let mut core = self.core.borrow_mut();
        let statistics = core.statistics;
        self.shared.publish(&mut core.answers, statistics);
    }

    /// One question in a datagram.
    async fn ask(self: &Rc<Self>, attempt: Try) {
        let now = self.clock.now();
        let (id, socket) = match self.socket(attempt.server, now) {
            Ok(found) => found,
            Err(error) => return self.core.borrow_mut().unsent(attempt, &error.to_string(), now),
        };
        let Some(message) = self.core.borrow_mut().begin(attempt, id, now) else { return };
        // Waits only while the kernel's send queue is full.
        if let Err(error) = socket.send(&message).await {
            self.lose(id, &error);
        }
    }

    /// A random one of the server's sockets; opened where it does not yet exist, replaced where it is worn out.
    fn socket(self: &Rc<Self>, server: SocketAddr, now: Micros) -> io::Result<(SocketId, Rc<UdpSocket>)> {
        let mut sockets = self.sockets.borrow_mut();
        let place = sockets.dice.below(SOCKETS);
        let open = sockets.open.entry(server).or_default();
        let worn = |socket: &Socket| socket.questions >= QUESTIONS || socket.until <= now;
        if open.get(place).is_some_and(worn) {
            let old = open.swap_remove(place);
            sockets.retired.push((now.saturating_add(micros(self.patience)), old));
        }
        let open = sockets.open.entry(server).or_default();
        if open.get(place).is_none() {
            sockets.last += 1;
            let socket = self.open(server, sockets.last, now)?;
            sockets.open.entry(server).or_default().push(socket);
        }
        let open = sockets.open.entry(server).or_default();
        let last = open.len().saturating_sub(1);
        let socket = open.get_mut(place.min(last)).ok_or(io::ErrorKind::NotFound)?;
        socket.questions += 1;
        Ok((socket.id, socket.socket.clone()))
    }

    /// A new socket, connected to the server, so that the kernel drops what comes from elsewhere.
    fn open(self: &Rc<Self>, server: SocketAddr, id: SocketId, now: Micros) -> io::Result<Socket> {
        let any: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = std::net::UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        let socket = Rc::new(UdpSocket::from_std(socket)?);
        let listener = spawn_local(self.clone().listen(id, socket.clone())).abort_handle();
        let until = now.saturating_add(micros(SOCKET_LIFE));
        Ok(Socket { id, socket, listener, questions: 0, until })
    }

    /// Hands the datagrams of a socket to the core until the socket fails.
    async fn listen(self: Rc<Self>, id: SocketId, socket: Rc<UdpSocket>) {
        let error = loop {
            if let Err(error) = wait(&socket).await.and_then(|()| self.receive(id, &socket)) {
                break error;
            }
            self.changed.notify_one();
        };
        self.lose(id, &error);
    }

    /// Receives all that is there.
    fn receive(&self, id: SocketId, socket: &UdpSocket) -> io::Result<()> {
        let mut buffer = [0; PAYLOAD as usize + 1]; // an oversized one shows as malformed
        loop {
            match socket.try_recv(&mut buffer) {
                Ok(count) => {
                    let message = buffer.get(..count).unwrap_or_default();
                    self.core.borrow_mut().receive(id, message, self.clock.now());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// A socket failed; most often the server's host says that nobody listens there.
    fn lose(&self, id: SocketId, error: &io::Error) {
        let mut sockets = self.sockets.borrow_mut();
        for open in sockets.open.values_mut() {
            open.retain(|socket| socket.id != id);
        }
        drop(sockets);
        self.core.borrow_mut().fail(id, &error.to_string(), self.clock.now());
        self.changed.notify_one();
    }

    /// One question over a TCP connection of its own.
    async fn ask_over_tcp(self: Rc<Self>, attempt: Try) {
        let (now, server) = (self.clock.now(), attempt.server);
        let id = {
            let mut sockets = self.sockets.borrow_mut();
            sockets.last += 1;
            sockets.last
        };
        let Some(message) = self.core.borrow_mut().begin(attempt, id, now) else {
            return self.changed.notify_one();
        };
        // No reply in time is the core's matter; here it only ends the connection.
        match timeout(self.patience, over_tcp(server, &message)).await {
            Ok(Ok(reply)) => {
                let mut core = self.core.borrow_mut();
                core.receive(id, &reply, self.clock.now());
                core.fail(id, "the reply over TCP does not fit", self.clock.now());
            }
            Ok(Err(error)) => self.core.borrow_mut().fail(id, &error.to_string(), self.clock.now()),
            Err(_) => (),
        }
        self.changed.notify_one();
    }
}

/// Waits for datagrams, or for the kernel's word that nobody listens at the other end (ICMP), which makes a
/// UDP socket neither readable nor writable.
async fn wait(socket: &UdpSocket) -> io::Result<()> {
    let ready = socket.ready(Interest::READABLE | Interest::ERROR).await?;
    match socket.take_error()? {
        Some(error) => Err(error),
        None if !ready.is_error() => Ok(()),
        None => {
            // Nothing to take any more: this only clears the readiness.
            let _ =
                socket.try_io(Interest::ERROR, || io::Result::<()>::Err(io::ErrorKind::WouldBlock.into()));
            Ok(())
        }
    }
}

/// Sends a message and reads one, both with their length before them (RFC 7766 section 8).
async fn over_tcp(server: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend_from_slice(message);
    stream.write_all(&framed).await?;
    let mut reply = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut reply).await?;
    Ok(reply)
}

/// A duration in microseconds.
fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
