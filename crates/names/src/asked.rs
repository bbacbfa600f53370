//! What was sent and waits for its reply.
//!
//! Guarantees: no two questions on one socket bear the same number; what is taken out is gone; a question
//! comes out of [`Table::expired`] at its deadline, unless it was taken out before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::rc::Rc;

use hashbrown::HashMap;
use lycosa_url::Micros;

use crate::dice::Dice;
use crate::host::HostName;
use crate::wire::{self, Fit, Kind, Manner, Query};

/// The engine's number for a socket or a TCP connection; never used twice.
pub(crate) type SocketId = u64;

/// One try of one question.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    /// The name as submitted.
    pub(crate) name: Rc<str>,
    /// What is asked about it.
    pub(crate) kind: Kind,
    /// Earlier tries of this question.
    pub(crate) number: u32,
    /// Earlier tries that ended with an error of a server.
    pub(crate) errors: usize,
    /// Whom to ask.
    pub(crate) server: SocketAddr,
    /// How.
    pub(crate) manner: Manner,
}

/// A try that waits for its reply.
struct Asked {
    attempt: Try,
    query: Query,
    deadline: Micros,
}

/// All of them, by socket and message number.
#[derive(Default)]
pub(crate) struct Table {
    dice: Dice,
    asked: HashMap<(SocketId, u16), Asked>,
    /// Deadlines; those of questions that were taken out are skipped when they come up.
    deadlines: BinaryHeap<Reverse<(Micros, SocketId, u16)>>,
}

impl Table {
    /// Registers a try; gives the message to send, or the try back when it cannot be sent.
    pub(crate) fn insert(
        &mut self,
        attempt: Try,
        socket: SocketId,
        deadline: Micros,
    ) -> Result<Vec<u8>, Box<Try>> {
        let Some((id, query)) = self.number(&attempt, socket) else { return Err(Box::new(attempt)) };
        let bytes = query.bytes.clone();
        self.deadlines.push(Reverse((deadline, socket, id)));
        self.asked.insert((socket, id), Asked { attempt, query, deadline });
        Ok(bytes)
    }

    /// A number that is free on a socket, and the message; random, so several throws may be needed.
    fn number(&mut self, attempt: &Try, socket: SocketId) -> Option<(u16, Query)> {
        for _ in 0..64 {
            let [a, b, ..] = self.dice.throw().to_be_bytes();
            let id = u16::from_be_bytes([a, b]);
            if !self.asked.contains_key(&(socket, id)) {
                let mut buffer = String::new();
                let name = HostName::normalize(&attempt.name, &mut buffer).ok()?.as_str();
                return Some((id, wire::query(name, attempt.kind, id, attempt.manner, &mut self.dice)?));
            }
        }
        None
    }

    /// Takes out what a message replies to, with how well it fits; a message that fits nothing changes nothing.
    pub(crate) fn take(&mut self, socket: SocketId, message: &[u8]) -> Option<(Try, Fit)> {
        let key = (socket, wire::id(message)?);
        let fit = wire::fit(message, &self.asked.get(&key)?.query);
        if fit == Fit::No {
            return None;
        }
        self.asked.remove(&key).map(|asked| (asked.attempt, fit))
    }

    /// Takes out all that was asked on a socket.
    pub(crate) fn take_all(&mut self, socket: SocketId) -> Vec<Try> {
        self.asked.extract_if(|(own, _), _| *own == socket).map(|(_, asked)| asked.attempt).collect()
    }

    /// Takes out one whose deadline has come.
    pub(crate) fn expired(&mut self, now: Micros) -> Option<Try> {
        while let Some(Reverse((deadline, socket, id))) = self.deadlines.peek().copied()
            && deadline <= now
        {
            self.deadlines.pop();
            if self.asked.get(&(socket, id)).is_some_and(|asked| asked.deadline == deadline) {
                return self.asked.remove(&(socket, id)).map(|asked| asked.attempt);
            }
        }
        None
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }
}
