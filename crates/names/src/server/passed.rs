//! Questions that are passed through, from their first try to their end: the state of the thread that passes them.

use std::collections::VecDeque;
use std::io;

use lycosa_url::Micros;

use super::lines::{Line, Lines};
use super::misses::Waiter;
use super::packets::Key;
use super::question::HEADER;
use crate::asked::SocketId;
use crate::dice::Dice;
use crate::upstream::Place;
use crate::wire::{self, Fit};

/// The largest datagram that is read; no answer to a question with EDNS's payload of 1,232 bytes has more.
const ROOM: usize = 4_096;

/// Bytes of type and class, behind the name.
const TYPE: usize = 4;

/// A question on its way.
pub(super) struct Passed {
    /// What is sent, but for the number.
    pub(super) message: Vec<u8>,
    /// Where its question ends.
    pub(super) end: usize,
    /// Whether the answer may be longer than a datagram.
    pub(super) is_whole: bool,
    pub(super) waiters: Vec<Waiter>,
    /// Whether the server itself asks, who waits for no answer.
    pub(super) is_probe: bool,
    /// Servers in the order in which they are asked; none are chosen yet of a client's question that was just handed over.
    pub(super) servers: VecDeque<Place>,
    pub(super) left: u32,
    until: Micros,
    pub(super) line: Option<Line>,
    /// The last error that a server answered with; another one may know better.
    error: Option<Vec<u8>>,
    /// How many servers answered so.
    errors: usize,
    /// Whether it was asked again for nothing, since a connection ended.
    was_repeated: bool,
}

/// All questions under way, and what they go by: the state of the thread that passes.
pub(super) struct UnderWay {
    pub(super) passed: Vec<Passed>,
    pub(super) lines: Lines,
}

/// What becomes of a question that was passed.
pub(super) struct Returned {
    /// Who waits.
    pub(super) waiters: Vec<Waiter>,
    /// The answer; none where there was none in time.
    pub(super) message: Option<Vec<u8>>,
    /// By what it may be kept; none where nobody was asked, or the server itself asked.
    pub(super) key: Option<Key>,
}

/// Where something has come: for a question under way, or on a connection.
pub(super) enum Ready {
    Datagram(usize),
    Stream(SocketId),
}

impl Returned {
    /// Nobody answered it; or it was answered before, and nobody waits any more.
    pub(super) fn unanswered(passed: Passed) -> Self {
        let key = passed.key().filter(|_| !passed.waiters.is_empty());
        Returned { waiters: passed.waiters, message: passed.error, key }
    }

    /// There is no room for it, so nobody was asked.
    pub(super) fn refused(passed: Passed) -> Self {
        Returned { waiters: passed.waiters, message: None, key: None }
    }
}

impl UnderWay {
    /// Receives what has come.
    pub(super) fn receive(&mut self, ready: &[Ready], now: Micros) -> Vec<Returned> {
        let mut returned = Vec::new();
        for line in ready {
            match *line {
                Ready::Datagram(place) => {
                    let passed = &mut self.passed[place];
                    returned.extend(passed.receive().and_then(|answer| passed.take(answer)));
                }
                Ready::Stream(id) => {
                    let under_way = &mut self.passed;
                    let ended = self.lines.serve(id, now, |answer| {
                        let asked =
                            under_way.iter_mut().find(|passed| passed.is_on(id) && passed.fits(answer));
                        returned.extend(asked.and_then(|passed| passed.take(answer.to_vec())));
                    });
                    if let Some(is_worth_repeating) = ended {
                        self.lose(id, is_worth_repeating);
                    }
                }
            }
        }
        returned
    }

    /// A connection has ended: what it did not answer is asked elsewhere, or there again without a try being counted.
    pub(super) fn lose(&mut self, id: SocketId, is_worth_repeating: bool) {
        for passed in self.passed.iter_mut().filter(|passed| passed.is_on(id)) {
            passed.line = None;
            if is_worth_repeating && !passed.was_repeated {
                passed.was_repeated = true;
                passed.left += 1;
                passed.servers.rotate_right(1);
            }
        }
    }

    /// Takes out what was answered or has had all its time.
    pub(super) fn extract_over(&mut self, now: Micros) -> impl Iterator<Item = Passed> {
        self.passed
            .extract_if(.., move |passed| passed.left == 0 && (passed.line.is_none() || passed.until <= now))
    }
}

impl Passed {
    /// A question that has not begun.
    pub(super) fn new(message: Vec<u8>, end: usize, is_whole: bool, waiters: Vec<Waiter>) -> Self {
        Passed {
            message,
            end,
            is_whole,
            waiters,
            is_probe: false,
            servers: VecDeque::new(),
            left: 0,
            until: 0,
            line: None,
            error: None,
            errors: 0,
            was_repeated: false,
        }
    }

    /// A question of the server itself, to one upstream.
    pub(super) fn probe(message: Vec<u8>, server: Place) -> Self {
        let end = message.len();
        let servers = VecDeque::from([server]);
        Passed { is_probe: true, servers, left: 1, ..Passed::new(message, end, false, Vec::new()) }
    }

    /// Whether another one of a client asks the same: in names alone the case of letters means nothing.
    pub(super) fn is_as(&self, other: &Passed) -> bool {
        let (name, others) = (self.name(), other.name());
        let (rest, others_rest) = (HEADER + name.len(), HEADER + others.len());
        !other.is_probe
            && self.is_whole == other.is_whole
            && self.message[2..HEADER] == other.message[2..HEADER]
            && name.eq_ignore_ascii_case(others)
            && self.message[rest..] == other.message[others_rest..]
    }

    /// By what its answer may be kept.
    fn key(&self) -> Option<Key> {
        (!self.is_probe).then(|| Key::of_passed(&self.message, self.end))
    }

    /// The name that is asked for, on the wire.
    pub(super) fn name(&self) -> &[u8] {
        &self.message[HEADER..self.end - TYPE]
    }

    /// Whether it waits for an answer on a connection.
    fn is_on(&self, id: SocketId) -> bool {
        matches!(self.line, Some(Line::Stream(on)) if on == id)
    }

    /// Whether a message answers it.
    fn fits(&self, answer: &[u8]) -> bool {
        wire::fit_to(answer, &self.message[..self.end]) == Fit::Exact
    }

    /// Sends to the next server, if the last one had its time.
    pub(super) fn go_on(&mut self, lines: &mut Lines, dice: &mut Dice, now: Micros) {
        while self.left > 0 && (self.line.is_none() || self.until <= now) {
            self.left -= 1;
            let Some(server) = self.servers.pop_front() else { return self.left = 0 };
            self.servers.push_back(server);
            self.message[..2].copy_from_slice(&(dice.throw() as u16).to_be_bytes());
            self.line = lines.ask(server, &self.message, self.is_whole, now).ok();
            self.until = now + lines.timeout();
        }
    }

    /// The answer that has come as a datagram, if it is one.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let Some(Line::Datagram(socket)) = &self.line else { return None };
        let mut answer = vec![0; ROOM];
        loop {
            match socket.recv(&mut answer) {
                Ok(length) if self.fits(&answer[..length]) => {
                    answer.truncate(length);
                    return Some(answer);
                }
                Ok(_) => (), // another's; the wait goes on
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_) => {
                    // Nobody listens there: the next server, at once.
                    self.line = None;
                    return None;
                }
            }
        }
    }

    /// Takes an answer; where it is an error another server is asked, if there is one that was not.
    fn take(&mut self, answer: Vec<u8>) -> Option<Returned> {
        let is_error = answer.get(3).is_some_and(|flags| !matches!(flags & 0xf, 0 | 3));
        if is_error && self.left > 0 && self.errors + 1 < self.servers.len() {
            (self.errors, self.error, self.line) = (self.errors + 1, Some(answer), None);
            return None;
        }
        Some(self.finish(answer))
    }

    /// It is answered.
    fn finish(&mut self, answer: Vec<u8>) -> Returned {
        (self.left, self.line) = (0, None);
        Returned { waiters: std::mem::take(&mut self.waiters), message: Some(answer), key: self.key() }
    }
}
