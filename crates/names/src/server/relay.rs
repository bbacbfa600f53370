//! Questions of types that are not cached, passed through: to an upstream and back, as they are.
//!
//! Guarantees: each question has a socket, a port and a number of its own, and only an answer to all of these that repeats
//! the question is passed back; questions under way are bounded; the same question is under way once, so that servers which
//! pass to each other in a circle do so once; each is answered within `attempts` time-outs.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use lycosa_url::{Micros, digest_of};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::misses::Waiter;
use super::question::{HEADER, Question, rtype};
use crate::dice::Dice;
use crate::sockets::connected;
use crate::wire::{self, Fit, PAYLOAD};

/// Questions under way, at most.
const MOST: usize = 512;

/// The largest answer that is read; no answer to a question with EDNS's payload of 1,232 bytes has more.
const ROOM: usize = 4_096;

/// Who is asked, and how often.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The servers.
    pub(super) servers: Vec<SocketAddr>,
    /// Whether each name has a server of its own.
    pub(super) spread: bool,
    /// For one try.
    pub(super) timeout: Duration,
    /// Tries in all.
    pub(super) attempts: u32,
}

/// A question on its way.
pub(super) struct Passed {
    /// What is sent, but for the number.
    message: Vec<u8>,
    /// Where its question ends.
    end: usize,
    /// Nobody, where the server itself asks.
    waiters: Vec<Waiter>,
    /// Servers in the order in which they are asked.
    servers: VecDeque<SocketAddr>,
    left: u32,
    until: Micros,
    socket: Option<UdpSocket>,
}

/// Passes questions.
pub(super) struct Relay {
    route: RwLock<Route>,
    queue: Mutex<Vec<Passed>>,
    /// Under way and queued.
    pending: AtomicUsize,
    bell: UnixStream,
    ear: UnixStream,
    turn: AtomicUsize,
}

/// What becomes of a question that was passed.
pub(super) struct Returned {
    /// Who waits.
    pub(super) waiters: Vec<Waiter>,
    /// The answer; none where there was none in time.
    pub(super) message: Option<Vec<u8>>,
}

impl Relay {
    /// Passes by this route.
    pub(super) fn new(route: Route) -> io::Result<Self> {
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok(Relay {
            route: RwLock::new(route),
            queue: Mutex::default(),
            pending: AtomicUsize::new(0),
            bell,
            ear,
            turn: AtomicUsize::new(0),
        })
    }

    /// The route of now.
    fn route(&self) -> Route {
        self.route.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Passes by another route from now on.
    pub(super) fn replace(&self, route: Route) {
        *self.route.write().unwrap_or_else(PoisonError::into_inner) = route;
    }

    /// Passes a question; gives the waiter back where there are too many.
    pub(super) fn pass(&self, question: &Question<'_>, waiter: Waiter) -> Result<(), Waiter> {
        if self.pending.load(Relaxed) >= MOST {
            return Err(waiter);
        }
        let route = self.route();
        let servers = self.order(&route, question.name());
        let (message, end) = message(question);
        self.push(Passed {
            message,
            end,
            waiters: vec![waiter],
            left: route.attempts,
            servers,
            until: 0,
            socket: None,
        });
        Ok(())
    }

    /// Asks every upstream for a name for the server itself, whatever it answers.
    pub(super) fn probe(&self, name: &str) {
        let mut message = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend_from_slice(label.as_bytes());
        }
        message.extend_from_slice(&[0, 0, 16, 0, 1]); // TXT
        let end = message.len();
        for server in self.route().servers {
            let (message, servers) = (message.clone(), VecDeque::from([server]));
            self.push(Passed { message, end, waiters: Vec::new(), servers, left: 1, until: 0, socket: None });
        }
    }

    /// How many questions are under way.
    pub(super) fn pending(&self) -> usize {
        self.pending.load(Relaxed)
    }

    /// In which order the servers are asked: a name's own one first where names are spread, else each in turn.
    fn order(&self, route: &Route, name: &[u8]) -> VecDeque<SocketAddr> {
        let mut servers: VecDeque<SocketAddr> = route.servers.iter().copied().collect();
        let turn = if route.spread {
            servers.make_contiguous().sort_unstable(); // whoever has them in another order comes to the same one
            let digest = digest_of(&String::from_utf8_lossy(&name.to_ascii_lowercase()));
            usize::from(digest[0])
        } else {
            self.turn.fetch_add(1, Relaxed)
        };
        let by = turn % servers.len().max(1);
        servers.rotate_left(by);
        servers
    }

    /// Hands a question to the thread.
    fn push(&self, passed: Passed) {
        self.pending.fetch_add(1, Relaxed);
        self.queue().push(passed);
        let _ = (&self.bell).write(&[0]); // one that is full has been rung
    }

    /// The lock of the queue.
    fn queue(&self) -> MutexGuard<'_, Vec<Passed>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was handed over, sends, waits for at most so long, gives what is answered or given up: a step of the thread
    /// that has `under_way`.
    pub(super) fn step(
        &self,
        under_way: &mut Vec<Passed>,
        dice: &mut Dice,
        now: &dyn Fn() -> Micros,
    ) -> Vec<Returned> {
        let route = self.route();
        for passed in std::mem::take(&mut *self.queue()) {
            // The server's own questions have different servers; clients' questions have the same ones.
            let same = under_way
                .iter_mut()
                .find(|other| !other.waiters.is_empty() && !passed.waiters.is_empty() && passed.is_as(other));
            match same {
                Some(same) => {
                    same.waiters.extend(passed.waiters);
                    self.pending.fetch_sub(1, Relaxed);
                }
                None => under_way.push(passed),
            }
        }
        let mut returned = Vec::new();
        for passed in under_way.iter_mut() {
            passed.go_on(&route, dice, now());
        }
        let ready = self.wait(under_way);
        for place in ready {
            if let Some(answer) = under_way[place].receive() {
                let waiters = std::mem::take(&mut under_way[place].waiters);
                returned.push(Returned { waiters, message: Some(answer) });
                under_way[place].left = 0;
                under_way[place].socket = None;
            }
        }
        let moment = now();
        let is_over =
            |passed: &mut Passed| passed.left == 0 && (passed.socket.is_none() || passed.until <= moment);
        for over in under_way.extract_if(.., is_over) {
            self.pending.fetch_sub(1, Relaxed);
            if !over.waiters.is_empty() {
                returned.push(Returned { waiters: over.waiters, message: None });
            }
        }
        returned
    }

    /// Waits for answers and for new questions; gives the places of those that have an answer, the last one first.
    fn wait(&self, under_way: &[Passed]) -> Vec<usize> {
        let mut polled = vec![PollFd::new(self.ear.as_fd(), PollFlags::POLLIN)];
        let mut places = Vec::new();
        for (place, passed) in under_way.iter().enumerate() {
            if let Some(socket) = &passed.socket {
                polled.push(PollFd::new(socket.as_fd(), PollFlags::POLLIN));
                places.push(place);
            }
        }
        let within: PollTimeout = if under_way.is_empty() { 200_u16 } else { 20 }.into();
        if poll(&mut polled, within).is_err() {
            return Vec::new(); // interrupted
        }
        let is_ready = |polled: &PollFd<'_>| polled.any().unwrap_or(false);
        if is_ready(&polled[0]) {
            let _ = (&self.ear).read(&mut [0; 256]);
        }
        let ready = polled[1..].iter().zip(places).filter(|(polled, _)| is_ready(polled));
        ready.map(|(_, place)| place).collect()
    }

    /// Asks over TCP, waits for the answer: for a client that came over TCP itself, on its own thread.
    pub(super) fn exchange(&self, question: &Question<'_>) -> Option<Vec<u8>> {
        let route = self.route();
        let (mut message, end) = message(question);
        let mut dice = Dice::default();
        for server in self.order(&route, question.name()).into_iter().take(route.attempts as usize) {
            message[..2].copy_from_slice(&(dice.throw() as u16).to_be_bytes());
            if let Ok(mut answer) = exchange(server, &message, route.timeout)
                && fits(&answer, &message[..end])
            {
                answer[..2].copy_from_slice(&question.head[..2]);
                return Some(answer);
            }
        }
        None
    }
}

impl Passed {
    /// Whether another one asks the same.
    fn is_as(&self, other: &Passed) -> bool {
        self.message[2..].eq_ignore_ascii_case(&other.message[2..])
    }

    /// Sends to the next server, if the last one had its time.
    fn go_on(&mut self, route: &Route, dice: &mut Dice, now: Micros) {
        while self.left > 0 && (self.socket.is_none() || self.until <= now) {
            self.left -= 1;
            let Some(server) = self.servers.pop_front() else { return self.left = 0 };
            self.servers.push_back(server);
            self.message[..2].copy_from_slice(&(dice.throw() as u16).to_be_bytes());
            self.socket = ask(server, &self.message).ok();
            self.until = now + Micros::try_from(route.timeout.as_micros()).unwrap_or(Micros::MAX);
        }
    }

    /// The answer that has come, if it is one.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut answer = vec![0; ROOM];
        loop {
            match self.socket.as_ref()?.recv(&mut answer) {
                Ok(length) if fits(&answer[..length], &self.message[..self.end]) => {
                    answer.truncate(length);
                    return Some(answer);
                }
                Ok(_) => (), // another's; the wait goes on
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_) => {
                    // Nobody listens there: the next server, at once.
                    self.socket = None;
                    return None;
                }
            }
        }
    }
}

/// The question as it is passed: with EDNS where the client has it, but nothing that is between it and this server only.
fn message(question: &Question<'_>) -> (Vec<u8>, usize) {
    let mut message = question.head.to_vec();
    message[2] = 1; // recursion desired
    message[3] = question.head[3] & 0x30; // AD and CD as the client has them
    message[4..HEADER].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, question.edns.is_some().into()]);
    let end = message.len();
    if let Some(edns) = question.edns {
        let [high, low] = PAYLOAD.to_be_bytes();
        let signatures = u8::from(edns.wants_signatures) << 7;
        message.extend_from_slice(&[0, 0, rtype::OPT as u8, high, low, 0, 0, signatures, 0, 0, 0]);
    }
    (message, end)
}

/// Whether a message answers a question.
fn fits(answer: &[u8], question: &[u8]) -> bool {
    wire::fit_to(answer, question) == Fit::Exact
}

/// Sends a message from a port of its own.
fn ask(server: SocketAddr, message: &[u8]) -> io::Result<UdpSocket> {
    let socket = connected(server)?;
    socket.send(message)?;
    Ok(socket)
}

/// Sends a message over TCP and waits for one.
fn exchange(server: SocketAddr, message: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes();
    stream.write_all(&[&length, message].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}
