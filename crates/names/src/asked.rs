//! What was sent and waits for its reply.
//!
//! Guarantees: no two questions on one socket bear the same number; what is taken out is gone; a question
//! comes out of [`Table::silent`] once, at its deadline, unless it was taken out before. From then on it is overdue, and its
//! reply is still known until that is of no use to anybody. A header alone is believed only where it leads to a plainer question.
//! Everything takes constant time, and no memory that was not taken
//! before, but for the growth of the table.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};
use lycosa_url::Micros;

use crate::dice::Dice;
use crate::lookup::{Lookup, LookupId};
use crate::upstream::Place;
use crate::wheel::Wheel;
use crate::wire::{self, Fit, Kind, Query, QueryProfile};

/// The engine's number for a socket or a TCP connection; never used twice.
pub(crate) type SocketId = u64;

/// Servers that have answered with an error, by their places in their group. Where there are more than 128, one counts for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusals {
    count: u32,
    places: u128,
}

impl Refusals {
    /// The same and one more.
    pub(crate) fn and(self, place: Place) -> Self {
        Refusals { count: self.count + 1, places: self.places | 1 << (place % 128) }
    }

    /// How many errors there were.
    pub(crate) fn count(self) -> usize {
        self.count as usize
    }

    /// Whether a server is one of them.
    pub(crate) fn has(self, place: Place) -> bool {
        self.places >> (place % 128) & 1 == 1
    }
}

/// Whom a try may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Whichever server is best.
    Any,
    /// The same, but another one than this if there is one.
    Other(Place),
    /// One that has not answered with an error yet.
    Unrefused,
    /// This one.
    This(Place),
}

/// One try of one question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    /// The name.
    pub(crate) lookup: LookupId,
    /// What is asked about it.
    pub(crate) kind: Kind,
    /// Earlier tries of this question.
    pub(crate) number: u32,
    /// The servers that answered earlier tries with an error.
    pub(crate) refused: Refusals,
    /// How often its profile was changed as a reply demanded.
    pub(crate) changes: u8,
    /// The lane in which it waits.
    pub(crate) lane: usize,
    /// Whom to ask.
    pub(crate) whom: Whom,
    /// How.
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
    /// Whom it asked.
    pub(crate) place: Place,
    /// When.
    pub(crate) at: Micros,
    /// Whether its deadline has passed.
    pub(crate) is_overdue: bool,
}

/// A try that waits for its reply; free if it has no `sent`.
struct Asked {
    sent: Option<Sent>,
    socket: SocketId,
    id: u16,
    /// Kept when the place is free: its memory serves the next one.
    query: Query,
    /// Until when a reply is taken.
    end: Micros,
}

/// All of them, by socket and message number.
#[derive(Default)]
pub(crate) struct Table {
    dice: Dice,
    places: Vec<Asked>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    wheel: Wheel,
    /// The servers that repeated the case of letters in their last reply that could tell.
    keeps_case: Vec<bool>,
}

impl Table {
    /// Registers a try on a socket, with its deadline and the time until which a reply is taken; gives its place.
    /// None where no number is free, or the name does not fit the wire.
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

    /// The message of the question at a place.
    pub(crate) fn message(&self, place: u32) -> Option<&[u8]> {
        self.places.get(place as usize).map(|asked| asked.query.bytes())
    }

    /// A number that is free on a socket; random, so several throws may be needed.
    fn number(&mut self, socket: SocketId) -> Option<u16> {
        (0..64).find_map(|_| {
            let id = self.dice.throw() as u16;
            self.find(socket, id).is_none().then_some(id)
        })
    }

    /// The place of a question.
    fn find(&self, socket: SocketId, id: u16) -> Option<u32> {
        let is_it = |place: &u32| key(&self.places, *place) == (socket, id);
        self.index.find(hash(&self.hasher, (socket, id)), is_it).copied()
    }

    /// The name that a message replies to, and a byte of what was asked: see [`Core::foresee`](crate::core::Core::foresee).
    pub(crate) fn foresee(&self, socket: SocketId, message: &[u8]) -> Option<(LookupId, u8)> {
        let asked = self.places.get(self.find(socket, wire::id(message)?)? as usize)?;
        Some((asked.sent?.attempt.lookup, *asked.query.bytes().first()?))
    }

    /// Takes out what a message replies to, with how well it fits; a message that fits nothing changes nothing.
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

    /// Remembers whether a server repeats the case of letters.
    fn note_case(&mut self, server: Place, keeps: bool) {
        if self.keeps_case.len() <= server {
            self.keeps_case.resize(server + 1, false);
        }
        self.keeps_case[server] = keeps;
    }

    /// Takes out what was asked by this number on a socket.
    pub(crate) fn take_one(&mut self, socket: SocketId, number: u16) -> Option<Sent> {
        let place = self.find(socket, number)?;
        self.remove(place)
    }

    /// Takes out all that was asked on a socket.
    pub(crate) fn take_all(&mut self, socket: SocketId) -> Vec<Sent> {
        let is_of_it = |asked: &Asked| asked.sent.is_some() && asked.socket == socket;
        let places = (0_u32..).zip(&self.places).filter(|(_, asked)| is_of_it(asked));
        let places: Vec<u32> = places.map(|(place, _)| place).collect();
        places.into_iter().filter_map(|place| self.remove(place)).collect()
    }

    /// Gives one whose deadline has come.
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

    /// Frees a place.
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

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }
}

/// By what a question is found.
fn key(places: &[Asked], place: u32) -> (SocketId, u16) {
    places.get(place as usize).map_or((0, 0), |asked| (asked.socket, asked.id))
}

/// Its hash.
fn hash(hasher: &DefaultHashBuilder, (socket, id): (SocketId, u16)) -> u64 {
    hasher.hash_one(socket << 16 | u64::from(id))
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
