//! Questions that are not cached, passed through: to an upstream and back, as they are but for [`private`](super::private) addresses.
//!
//! Guarantees: a datagram has a socket, a port and a number of its own, and only an answer to all of these that repeats the
//! question is passed back; to an upstream that is asked over TLS nothing goes in the clear; questions under way are bounded, and shared
//! out fairly between clients; the same question is under way once, so that servers which pass to each other in a circle do so once; each is answered within
//! `attempts` time-outs.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use lycosa_url::{Micros, digest_of};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::limits::Shares;
use super::lines::{Line, Lines, Route};
use super::misses::{Waiter, Way};
use super::passed::{Passed, Ready, Returned, UnderWay};
use super::pulse::Pulse;
use super::question::{HEADER, Question, rtype};
use crate::dice::Dice;
use crate::upstream::Place;
use crate::wire::PAYLOAD;

/// Questions under way, at most: each may have a socket of its own, and a process has 1,024 unless it is told otherwise.
const MOST: usize = 512;

/// Clients' questions that wait for these, at most; shared out fairly.
const WAITING: usize = 4_096;

/// Passes questions.
pub(super) struct Relay {
    route: RwLock<Arc<Route>>,
    queue: Mutex<Vec<Passed>>,
    /// What each client has waiting.
    shares: Mutex<Shares>,
    bell: UnixStream,
    ear: UnixStream,
    turn: AtomicUsize,
    pulse: Pulse,
}

impl Relay {
    /// Passes by this route.
    pub(super) fn new(route: Route) -> io::Result<Self> {
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok(Relay {
            route: RwLock::new(Arc::new(route)),
            queue: Mutex::default(),
            shares: Mutex::default(),
            bell,
            ear,
            turn: AtomicUsize::new(0),
            pulse: Pulse::default(),
        })
    }

    /// The route of now.
    fn route(&self) -> Arc<Route> {
        self.route.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Passes by another route from now on.
    pub(super) fn replace(&self, route: Route) {
        *self.route.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(route);
    }

    /// Nothing under way yet.
    pub(super) fn under_way(&self) -> UnderWay {
        UnderWay { passed: Vec::new(), lines: Lines::new(self.route()) }
    }

    /// Passes a question; gives the waiter back where there are too many.
    pub(super) fn pass(&self, question: &Question<'_>, waiter: Waiter) -> Option<Waiter> {
        if !self.shares().take(waiter.client, WAITING, WAITING) {
            return Some(waiter);
        }
        let (message, end) = message(question);
        let is_whole = matches!(waiter.way, Way::Stream(_));
        self.push(Passed::new(message, end, is_whole, vec![waiter]));
        None
    }

    /// Asks every upstream for a name for the server itself, whatever it answers.
    pub(super) fn probe(&self, name: &str, now: Micros) {
        self.pulse.ask(now);
        let mut message = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend_from_slice(label.as_bytes());
        }
        message.extend_from_slice(&[0, 0, 16, 0, 1]); // TXT
        for place in 0..self.route().servers.len() {
            self.push(Passed::probe(message.clone(), place));
        }
    }

    /// Whether no upstream has answered anything that was passed, for as long as one try lasts.
    pub(super) fn is_silent(&self, now: Micros) -> bool {
        self.pulse.is_silent(self.route().timeout, now)
    }

    /// How many questions of clients wait.
    pub(super) fn waiting(&self) -> usize {
        self.shares().taken()
    }

    /// The lock of what clients have waiting.
    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In which order the servers are asked: a name's own one first where names are spread, else each in turn.
    fn order(&self, route: &Route, name: &[u8]) -> VecDeque<Place> {
        let mut places: Vec<Place> = (0..route.servers.len()).collect();
        let turn = if route.spread {
            places.sort_unstable_by_key(|&place| route.servers[place].address); // the same for whoever has them in another order
            let digest = digest_of(&String::from_utf8_lossy(&name.to_ascii_lowercase()));
            usize::from(digest[0])
        } else {
            self.turn.fetch_add(1, Relaxed)
        };
        let by = turn % places.len().max(1);
        places.rotate_left(by);
        places.into()
    }

    /// Hands a question to the thread.
    fn push(&self, passed: Passed) {
        self.queue().push(passed);
        let _ = (&self.bell).write(&[0]); // one that is full has been rung
    }

    /// The lock of the queue.
    fn queue(&self) -> MutexGuard<'_, Vec<Passed>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was handed over, sends, waits for a short time, gives what is answered or given up: a step of the thread.
    pub(super) fn step(
        &self,
        under_way: &mut UnderWay,
        dice: &mut Dice,
        now: &dyn Fn() -> Micros,
    ) -> Vec<Returned> {
        let mut returned = self.take(under_way);
        let moment = now();
        for (id, is_worth_repeating) in under_way.lines.close_idle(moment) {
            under_way.lose(id, is_worth_repeating);
        }
        for passed in &mut under_way.passed {
            passed.go_on(&mut under_way.lines, dice, moment);
        }
        let (ready, moment) = (self.wait(under_way), now());
        let answered = under_way.receive(&ready, moment);
        if !answered.is_empty() {
            self.pulse.hear(moment);
        }
        returned.extend(answered);
        returned.extend(under_way.extract_over(moment).map(Returned::unanswered));
        let mut shares = self.shares();
        for waiter in returned.iter().flat_map(|returned| &returned.waiters) {
            shares.give(waiter.client);
        }
        returned
    }

    /// Takes what was handed over; gives what there is no room for. Where the route is another one, what is under way begins
    /// anew.
    fn take(&self, under_way: &mut UnderWay) -> Vec<Returned> {
        // In this order, so that no question is for a later route than the one it meets.
        let handed_over = std::mem::take(&mut *self.queue());
        let route = self.route();
        if !under_way.lines.go_by(&route) {
            under_way.lines = Lines::new(route.clone());
            under_way.passed.retain(|passed| !passed.is_probe); // those are of servers that are asked no more
            under_way.passed.iter_mut().for_each(|passed| self.direct(passed, &route));
        }
        let mut refused = Vec::new();
        for mut passed in handed_over {
            let is_full = under_way.passed.len() >= MOST;
            let same = under_way.passed.iter_mut().find(|other| passed.is_as(other));
            match same {
                _ if passed.is_probe => under_way.passed.push(passed),
                Some(same) => same.waiters.extend(passed.waiters),
                None if is_full => refused.push(Returned::refused(passed)),
                None => {
                    self.direct(&mut passed, &route);
                    under_way.passed.push(passed);
                }
            }
        }
        refused
    }

    /// Sends a client's question along a route.
    fn direct(&self, passed: &mut Passed, route: &Route) {
        passed.servers = self.order(route, passed.name());
        passed.left = route.attempts;
        passed.line = None;
    }

    /// Waits for answers and for new questions; gives where there is something.
    fn wait(&self, under_way: &UnderWay) -> Vec<Ready> {
        let mut polled = vec![PollFd::new(self.ear.as_fd(), PollFlags::POLLIN)];
        let mut lines = Vec::new();
        for (place, passed) in under_way.passed.iter().enumerate() {
            if let Some(Line::Datagram(socket)) = &passed.line {
                polled.push(PollFd::new(socket.as_fd(), PollFlags::POLLIN));
                lines.push(Ready::Datagram(place));
            }
        }
        for (id, stream, sends) in under_way.lines.streams() {
            let flags = if sends { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
            polled.push(PollFd::new(stream, flags));
            lines.push(Ready::Stream(id));
        }
        let within: PollTimeout = if under_way.passed.is_empty() { 200_u16 } else { 20 }.into();
        if poll(&mut polled, within).is_err() {
            return Vec::new(); // interrupted
        }
        let is_ready = |polled: &PollFd<'_>| polled.any().unwrap_or(false);
        if is_ready(&polled[0]) {
            let _ = (&self.ear).read(&mut [0; 256]);
        }
        let ready = polled[1..].iter().zip(lines).filter(|(polled, _)| is_ready(polled));
        ready.map(|(_, line)| line).collect()
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
