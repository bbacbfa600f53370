//! The queries that wait for their reply.
//!
//! Guarantees: no two queries on one socket have the same id; [`Table::silent`] returns a query once, at its
//! deadline, unless it was removed before. From then on it is overdue, but its reply is still matched until the
//! reply is of no use. A header alone is accepted only if it leads to a plainer query. Every operation but
//! [`Table::take_all`] takes constant time; memory is allocated only when the table grows.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};
use lycosa_url::Micros;

use crate::dice::Dice;
use crate::lookup::{Lookup, LookupId};
use crate::upstream::Place;
use crate::wheel::Wheel;
use crate::wire::{self, Fit, Kind, Query, QueryProfile};

/// The engine's id of a socket or TCP connection; never reused.
pub(crate) type SocketId = u64;

/// Servers that answered with an error, by their indexes within their group. Indexes that are equal modulo 128
/// share a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusals {
    count: u32,
    places: u128,
}

impl Refusals {
    /// Adds a server.
    pub(crate) fn and(self, place: Place) -> Self {
        Refusals { count: self.count + 1, places: self.places | 1 << (place % 128) }
    }

    /// The number of errors.
    pub(crate) fn count(self) -> usize {
        self.count as usize
    }

    /// Whether a server is among them.
    pub(crate) fn has(self, place: Place) -> bool {
        self.places >> (place % 128) & 1 == 1
    }
}

/// Which server a try may query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// The best server.
    Any,
    /// The best server, if possible not this one.
    Other(Place),
    /// A server that has not answered with an error yet.
    Unrefused,
    /// This one.
    This(Place),
}

/// One try of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    /// The lookup that it belongs to.
    pub(crate) lookup: LookupId,
    /// What is queried.
    pub(crate) kind: Kind,
    /// The number of earlier tries of this question.
    pub(crate) number: u32,
    /// The servers that answered earlier tries with an error.
    pub(crate) refused: Refusals,
    /// How many times replies changed its profile.
    pub(crate) changes: u8,
    /// Its lane.
    pub(crate) lane: usize,
    /// Which server to query.
    pub(crate) whom: Whom,
    /// The form of the query.
    pub(crate) profile: QueryProfile,
}

impl Try {
    /// The first try of a question.
    pub(crate) fn first(lookup: LookupId, kind: Kind, lane: usize) -> Self {
        let (refused, profile) = (Refusals::default(), QueryProfile::Full);
        Try { lookup, kind, number: 0, refused, changes: 0, lane, whom: Whom::Any, profile }
    }
}

/// A try that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// The try.
    pub(crate) attempt: Try,
    /// The server that it was sent to.
    pub(crate) place: Place,
    /// When it was sent.
    pub(crate) at: Micros,
    /// Whether its deadline has passed.
    pub(crate) is_overdue: bool,
}

/// An entry of the table; free if `sent` is `None`.
struct Asked {
    sent: Option<Sent>,
    socket: SocketId,
    id: u16,
    /// Kept while the entry is free: the next query reuses its memory.
    query: Query,
    /// Until when a reply is accepted.
    end: Micros,
}

/// All entries, by socket and message id.
#[derive(Default)]
pub(crate) struct Table {
    dice: Dice,
    places: Vec<Asked>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    wheel: Wheel,
    /// Whether each server preserved the case of letters in its last reply that could show it.
    keeps_case: Vec<bool>,
}

impl Table {
    /// Registers a try on a socket, with its deadline and the time until which a reply is accepted; returns its
    /// index. `None` if no id is free, or the name cannot be encoded.
    pub(crate) fn insert(
        &mut self,
        sent: Sent,
        lookup: &Lookup,
        socket: SocketId,
        (deadline, end): (Micros, Micros),
    ) -> Option<u32> {
        let id = self.number(socket)?;
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        if self.places.len() == place as usize {
            self.places.push(Asked { sent: None, socket, id, query: Query::default(), end });
        }
        let asked = self.places.get_mut(place as usize)?;
        let Try { kind, profile, .. } = sent.attempt;
        let has_case = match profile {
            QueryProfile::Full => true,
            QueryProfile::Plain => self.keeps_case.get(sent.place).is_some_and(|keeps| *keeps),
            QueryProfile::Tcp | QueryProfile::Tls => false,
        };
        let dice = has_case.then_some(&mut self.dice);
        match lookup.packet() {
            Some(key) => asked.query.write_packet(key, id, profile, dice),
            None if asked.query.write(lookup.host().as_str(), kind, id, profile, dice) => (),
            None => {
                self.free.push(place);
                return None;
            }
        }
        (asked.sent, asked.socket, asked.id, asked.end) = (Some(sent), socket, id, end);
        self.wheel.set(place, deadline.min(end));
        let (hasher, places) = (&self.hasher, &self.places);
        self.index
            .insert_unique(hash(hasher, (socket, id)), place, |place| hash(hasher, key(places, *place)));
        Some(place)
    }

    /// The message of the query at an index.
    pub(crate) fn message(&self, place: u32) -> Option<&[u8]> {
        self.places.get(place as usize).map(|asked| asked.query.bytes())
    }

    /// A random id that is free on a socket, or `None` after 64 attempts.
    fn number(&mut self, socket: SocketId) -> Option<u16> {
        (0..64).find_map(|_| {
            let id = self.dice.throw() as u16;
            self.find(socket, id).is_none().then_some(id)
        })
    }

    /// The index of a query.
    fn find(&self, socket: SocketId, id: u16) -> Option<u32> {
        let is_it = |place: &u32| key(&self.places, *place) == (socket, id);
        self.index.find(hash(&self.hasher, (socket, id)), is_it).copied()
    }

    /// The name that a message replies to, and a byte of the query: see
    /// [`Core::foresee`](crate::core::Core::foresee).
    pub(crate) fn foresee(&self, socket: SocketId, message: &[u8]) -> Option<(LookupId, u8)> {
        let asked = self.places.get(self.find(socket, wire::id(message)?)? as usize)?;
        Some((asked.sent?.attempt.lookup, *asked.query.bytes().first()?))
    }

    /// Removes the query that a message replies to, and returns how well it matches; a message without a match
    /// changes nothing.
    pub(crate) fn take(&mut self, socket: SocketId, message: &[u8]) -> Option<(Sent, Fit)> {
        let place = self.find(socket, wire::id(message)?)?;
        let asked = self.places.get(place as usize)?;
        let (fit, has_case) = (wire::fit(message, &asked.query), asked.query.has_case());
        let is_stream = asked.sent?.attempt.profile.is_stream();
        if fit == Fit::No || (fit == Fit::NotUnderstood && is_stream) {
            return None;
        }
        let sent = self.remove(place)?;
        if has_case && fit != Fit::NotUnderstood {
            self.note_case(sent.place, fit == Fit::Exact);
        }
        Some((sent, fit))
    }

    /// Records whether a server preserves the case of letters.
    fn note_case(&mut self, server: Place, keeps: bool) {
        if self.keeps_case.len() <= server {
            self.keeps_case.resize(server + 1, false);
        }
        self.keeps_case[server] = keeps;
    }

    /// Removes the query with this id on a socket.
    pub(crate) fn take_one(&mut self, socket: SocketId, number: u16) -> Option<Sent> {
        let place = self.find(socket, number)?;
        self.remove(place)
    }

    /// Removes all queries on a socket.
    pub(crate) fn take_all(&mut self, socket: SocketId) -> Vec<Sent> {
        let is_of_it = |asked: &Asked| asked.sent.is_some() && asked.socket == socket;
        let places = (0_u32..).zip(&self.places).filter(|(_, asked)| is_of_it(asked));
        let places: Vec<u32> = places.map(|(place, _)| place).collect();
        places.into_iter().filter_map(|place| self.remove(place)).collect()
    }

    /// Returns the next query whose deadline has passed.
    pub(crate) fn silent(&mut self, now: Micros) -> Option<Sent> {
        while let Some(place) = self.wheel.pop(now) {
            let asked = self.places.get_mut(place as usize)?;
            let was_overdue =
                asked.sent.as_mut().is_none_or(|sent| std::mem::replace(&mut sent.is_overdue, true));
            let sent = asked.sent;
            if !was_overdue && asked.end > now {
                self.wheel.set(place, asked.end);
            } else {
                self.remove(place);
            }
            if !was_overdue {
                return sent;
            }
        }
        None
    }

    /// Frees an entry.
    fn remove(&mut self, place: u32) -> Option<Sent> {
        let key = key(&self.places, place);
        let sent = self.places.get_mut(place as usize)?.sent.take()?;
        self.wheel.clear(place);
        if let Ok(entry) = self.index.find_entry(hash(&self.hasher, key), |other| *other == place) {
            entry.remove();
        }
        self.free.push(place);
        Some(sent)
    }

    /// Whether no query waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }
}

/// The key of an entry.
fn key(places: &[Asked], place: u32) -> (SocketId, u16) {
    places.get(place as usize).map_or((0, 0), |asked| (asked.socket, asked.id))
}

/// The hash of a key.
fn hash(hasher: &DefaultHashBuilder, (socket, id): (SocketId, u16)) -> u64 {
    hasher.hash_one(socket << 16 | u64::from(id))
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
