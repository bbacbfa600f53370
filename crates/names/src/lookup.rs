//! A name in flight: its questions, their answers, and how these are merged.

use std::hash::BuildHasher as _;
use std::net::IpAddr;

use hashbrown::{DefaultHashBuilder, HashTable};
use lycosa_url::{Failure, FailureKind, Micros};

use crate::extended_error::ExtendedError;
use crate::host::HostName;
use crate::packet_key::PacketKey;
use crate::settings::Families;
use crate::wire::Kind;

/// The result of one question.
pub(crate) type Part = Result<Found, Failure>;

/// Addresses with their TTL in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// At least one, in the server's order.
    pub(crate) addresses: Vec<IpAddr>,
    /// The smallest TTL on the chain to them.
    pub(crate) ttl: u32,
}

/// A name that is not yet answered.
pub(crate) struct Lookup {
    /// The name as it was submitted.
    pub(crate) name: Box<str>,
    /// Its normal form, if different.
    normal: Option<Box<str>>,
    /// The hash of the name, once it is in [`Lookups`].
    hash: u64,
    /// When it was submitted.
    pub(crate) since: Micros,
    /// When its first query began.
    pub(crate) began: Micros,
    /// When all tries must have ended; set when the first begins.
    pub(crate) until: Micros,
    /// The lane in which it waits: the group of servers for this name.
    pub(crate) lane: usize,
    /// Whether its answer is not published: the cache wants it refreshed, or it is a probe.
    pub(crate) is_quiet: bool,
    /// The TTL of NXDOMAIN or NODATA in seconds, from the replies' SOA; the smallest one.
    pub(crate) negative_ttl: Option<u32>,
    /// The question for records, if the whole reply is wanted.
    packet: Option<PacketKey>,
    /// The extended error of a server that failed.
    pub(crate) extended_error: Option<ExtendedError>,
    /// The error of a server, while others are asked.
    pub(crate) refusal: Option<Box<Failure>>,
    /// The state of the question for each address family.
    a: Question,
    aaaa: Question,
}

/// One question about a name.
enum Question {
    /// Not to be queried.
    Unasked,
    /// In flight, or about to be.
    Asked,
    /// Answered.
    Answered(Part),
}

/// What remains after the answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Other questions are open.
    Wait,
    /// This question is to be sent, too.
    Ask(Kind),
    /// The name is answered.
    Nothing,
}

impl Lookup {
    /// A queued name.
    #[inline]
    pub(crate) fn new(name: Box<str>, normal: Option<Box<str>>, since: Micros) -> Self {
        let (a, aaaa) = (Question::Unasked, Question::Unasked);
        Lookup {
            name,
            normal,
            hash: 0,
            since,
            began: since,
            until: Micros::MAX,
            lane: 0,
            is_quiet: false,
            negative_ttl: None,
            packet: None,
            extended_error: None,
            refusal: None,
            a,
            aaaa,
        }
    }

    /// A queued question for records.
    pub(crate) fn of_packet(key: PacketKey, since: Micros) -> Self {
        let name = key.text().into_boxed_str();
        Lookup { packet: Some(key), ..Lookup::new(name, None, since) }
    }

    /// The question for records, if it is one.
    pub(crate) fn packet(&self) -> Option<&PacketKey> {
        self.packet.as_ref()
    }

    /// Takes the question for records.
    pub(crate) fn take_packet(&mut self) -> Option<PacketKey> {
        self.packet.take()
    }

    /// The name by which a server is chosen.
    pub(crate) fn text(&self) -> &str {
        self.normal.as_deref().unwrap_or(&self.name)
    }

    /// The name in normal form.
    pub(crate) fn host(&self) -> HostName<'_> {
        HostName::of_normal(self.text())
    }

    /// The question of a kind; the one for records shares the slot of A.
    fn question(&mut self, kind: Kind) -> &mut Question {
        match kind {
            Kind::A | Kind::Packet => &mut self.a,
            Kind::Aaaa => &mut self.aaaa,
        }
    }

    /// Marks a question as asked.
    pub(crate) fn ask(&mut self, kind: Kind) {
        *self.question(kind) = Question::Asked;
    }

    /// Whether a question waits for its answer.
    pub(crate) fn waits_for(&mut self, kind: Kind) -> bool {
        matches!(self.question(kind), Question::Asked)
    }

    /// Lowers the negative TTL to that of a reply's SOA.
    pub(crate) fn limit_negative(&mut self, seconds: Option<u32>) {
        self.negative_ttl = self.negative_ttl.into_iter().chain(seconds).min();
    }

    /// Stores the answer to a question. With `prefer_v4`, a name without IPv4 addresses leads to an AAAA query.
    pub(crate) fn answer(&mut self, kind: Kind, answer: Part, prefer_v4: bool) -> Left {
        let has_none = answer.as_ref().is_err_and(|failure| failure.kind == FailureKind::NameNoData);
        *self.question(kind) = Question::Answered(answer);
        match (&self.a, &self.aaaa) {
            (Question::Asked, _) | (_, Question::Asked) => Left::Wait,
            (_, Question::Unasked) if prefer_v4 && has_none => Left::Ask(Kind::Aaaa),
            _ => Left::Nothing,
        }
    }

    /// Merges the answers: all addresses; or the most hopeful failure, since a question without an answer
    /// leaves open whether the name has an address.
    #[inline]
    pub(crate) fn merge(self) -> Merged {
        let families = match (&self.a, &self.aaaa) {
            (_, Question::Unasked) => Families::V4,
            (Question::Unasked, _) => Families::V6,
            _ => Families::Both,
        };
        let lost = match (self.a.is_lost(), self.aaaa.is_lost()) {
            (true, false) if families == Families::Both => Some(Families::V4),
            (false, true) if families == Families::Both => Some(Families::V6),
            _ => None,
        };
        let asked = AskedFor { name: self.name, normal: self.normal, families };
        let (mut addresses, mut ttl) = (Vec::new(), u32::MAX);
        let mut failure: Option<Failure> = None;
        for question in [self.a, self.aaaa] {
            let Question::Answered(part) = question else { continue };
            match part {
                Ok(found) if addresses.is_empty() => (addresses, ttl) = (found.addresses, found.ttl),
                Ok(found) => {
                    addresses.extend(found.addresses);
                    ttl = ttl.min(found.ttl);
                }
                Err(other) if failure.as_ref().is_none_or(|failure| hope(&other) > hope(failure)) => {
                    failure = Some(other);
                }
                Err(_) => (),
            }
        }
        let lost = lost.and_then(|family| Some((family, failure.clone()?)));
        match failure {
            Some(failure) if addresses.is_empty() => Merged { asked, result: Err(failure), ttl: 0, lost },
            _ => Merged { asked, result: Ok(addresses), ttl, lost },
        }
    }
}

/// How likely the name has an address despite a failure: a transient failure ranks highest, then NODATA, then
/// NXDOMAIN.
fn hope(failure: &Failure) -> u8 {
    match failure.kind {
        FailureKind::NameNotFound => 0,
        kind if !kind.is_transient() => 1,
        _ => 2,
    }
}

impl Question {
    /// Whether it failed without a definite answer.
    fn is_lost(&self) -> bool {
        matches!(self, Question::Answered(Err(failure)) if failure.kind.is_transient())
    }
}

/// The merged answers to a name's questions.
pub(crate) struct Merged {
    /// The name and the queried families.
    pub(crate) asked: AskedFor,
    /// All addresses, or the most hopeful failure.
    pub(crate) result: Result<Vec<IpAddr>, Failure>,
    /// The TTL of the addresses in seconds.
    pub(crate) ttl: u32,
    /// The family that failed while the other one was answered, and how it failed.
    pub(crate) lost: Option<(Families, Failure)>,
}

/// A name that is answered.
pub(crate) struct AskedFor {
    /// The name as it was submitted.
    pub(crate) name: Box<str>,
    normal: Option<Box<str>>,
    /// The families that were queried.
    pub(crate) families: Families,
}

impl AskedFor {
    /// The name in normal form.
    pub(crate) fn host(&self) -> HostName<'_> {
        HostName::of_normal(self.normal.as_deref().unwrap_or(&self.name))
    }
}

/// A lookup's index and generation; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LookupId {
    place: u32,
    turn: u32,
}

/// All lookups, by id and by name.
#[derive(Default)]
pub(crate) struct Lookups {
    /// Each entry with its generation.
    places: Vec<(u32, Option<Lookup>)>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Lookups {
    /// The address lookup of a name as it was submitted.
    pub(crate) fn find(&mut self, name: &str) -> Option<&mut Lookup> {
        let is_it = |lookup: &Lookup| *lookup.name == *name && lookup.packet.is_none();
        self.find_by(self.hasher.hash_one(name), is_it)
    }

    /// The lookup of a question for records.
    pub(crate) fn find_packet(&mut self, key: &PacketKey) -> Option<&mut Lookup> {
        self.find_by(self.hasher.hash_one(key), |lookup| lookup.packet.as_ref() == Some(key))
    }

    /// The matching lookup with this hash.
    fn find_by(&mut self, hash: u64, is_it: impl Fn(&Lookup) -> bool) -> Option<&mut Lookup> {
        let places = &self.places;
        let lookup_at = |place: &u32| places.get(*place as usize).and_then(|(_, lookup)| lookup.as_ref());
        let place = *self.index.find(hash, |place| lookup_at(place).is_some_and(&is_it))?;
        self.places.get_mut(place as usize)?.1.as_mut()
    }

    /// Inserts a lookup that is not present.
    #[inline]
    pub(crate) fn insert(&mut self, mut lookup: Lookup) -> LookupId {
        let hash = match &lookup.packet {
            Some(key) => self.hasher.hash_one(key),
            None => self.hasher.hash_one(&*lookup.name),
        };
        lookup.hash = hash;
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        if self.places.len() == place as usize {
            self.places.push((0, None));
        }
        let slot = &mut self.places[place as usize];
        slot.1 = Some(lookup);
        let id = LookupId { place, turn: slot.0 };
        let places = &self.places;
        let lookup_at = |place: &u32| places.get(*place as usize).and_then(|(_, lookup)| lookup.as_ref());
        self.index.insert_unique(hash, place, |place| lookup_at(place).map_or(0, |lookup| lookup.hash));
        id
    }

    /// The lookup with an id.
    pub(crate) fn get_mut(&mut self, id: LookupId) -> Option<&mut Lookup> {
        let (turn, lookup) = self.places.get_mut(id.place as usize)?;
        lookup.as_mut().filter(|_| *turn == id.turn)
    }

    /// The normal form of a lookup's name.
    pub(crate) fn text(&self, id: LookupId) -> Option<&str> {
        Some(self.places.get(id.place as usize)?.1.as_ref()?.text())
    }

    /// Removes a lookup.
    #[inline]
    pub(crate) fn remove(&mut self, id: LookupId) -> Option<Lookup> {
        let (turn, lookup) = self.places.get_mut(id.place as usize).filter(|(turn, _)| *turn == id.turn)?;
        let lookup = lookup.take()?;
        *turn = turn.wrapping_add(1);
        if let Ok(entry) = self.index.find_entry(lookup.hash, |other| *other == id.place) {
            entry.remove();
        }
        self.free.push(id.place);
        Some(lookup)
    }

    /// The number of lookups.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.index.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(address: &str, ttl: u32) -> Part {
        Ok(Found { addresses: vec![address.parse().unwrap()], ttl })
    }

    fn failed(kind: FailureKind) -> Part {
        Err(Failure::new(kind, ""))
    }

    fn lookup(kinds: &[Kind]) -> Lookup {
        let mut lookup = Lookup::new("a.example".into(), None, 0);
        kinds.iter().for_each(|kind| lookup.ask(*kind));
        lookup
    }

    fn merged(lookup: Lookup) -> (Result<Vec<String>, FailureKind>, u32) {
        let Merged { result: answer, ttl, .. } = lookup.merge();
        let text = |addresses: Vec<IpAddr>| addresses.iter().map(ToString::to_string).collect();
        (answer.map(text).map_err(|failure| failure.kind), ttl)
    }

    fn both(v4: Part, v6: Part) -> (Result<Vec<String>, FailureKind>, u32) {
        let mut lookup = lookup(&[Kind::A, Kind::Aaaa]);
        assert_eq!(lookup.answer(Kind::Aaaa, v6, false), Left::Wait);
        assert_eq!(lookup.answer(Kind::A, v4, false), Left::Nothing);
        merged(lookup)
    }

    #[test]
    fn both_families_make_one_answer() {
        use FailureKind::{NameNoData, NameNotFound, NameTimeout};
        let (v4, v6) = ("192.0.2.1", "2001:db8::1");
        let list = |texts: &[&str]| Ok(texts.iter().map(ToString::to_string).collect());
        assert_eq!(both(found(v4, 9), found(v6, 5)), (list(&[v4, v6]), 5));
        assert_eq!(both(found(v4, 9), failed(NameTimeout)), (list(&[v4]), 9));
        assert_eq!(both(failed(NameNoData), found(v6, 5)), (list(&[v6]), 5));
        assert_eq!(both(failed(NameNoData), failed(NameTimeout)), (Err(NameTimeout), 0));
        assert_eq!(both(failed(NameTimeout), failed(NameNoData)), (Err(NameTimeout), 0));
        assert_eq!(both(failed(NameNotFound), failed(NameNotFound)), (Err(NameNotFound), 0));
    }

    #[test]
    fn ipv6_is_asked_for_where_there_is_no_ipv4_if_so_preferred() {
        let mut known = lookup(&[Kind::A]);
        assert_eq!(known.answer(Kind::A, found("192.0.2.1", 9), true), Left::Nothing);
        assert_eq!(known.merge().asked.families, Families::V4);
        let mut unknown = lookup(&[Kind::A]);
        assert_eq!(unknown.answer(Kind::A, failed(FailureKind::NameNoData), true), Left::Ask(Kind::Aaaa));
        unknown.ask(Kind::Aaaa);
        assert_eq!(unknown.answer(Kind::Aaaa, found("2001:db8::1", 5), true), Left::Nothing);
        let Merged { asked, result, .. } = unknown.merge();
        assert_eq!((asked.families, result.unwrap().len()), (Families::Both, 1));
        let mut gone = lookup(&[Kind::A]);
        assert_eq!(gone.answer(Kind::A, failed(FailureKind::NameNotFound), true), Left::Nothing);
    }

    #[test]
    fn a_number_means_one_name_only() {
        let mut lookups = Lookups::default();
        let first = lookups.insert(lookup(&[]));
        assert!(lookups.find("a.example").is_some() && lookups.find("b.example").is_none());
        assert!(lookups.remove(first).is_some());
        let second = lookups.insert(lookup(&[]));
        assert!(lookups.get_mut(first).is_none() && lookups.remove(first).is_none());
        assert!(lookups.get_mut(second).is_some());
        assert_eq!(lookups.count(), 1);
    }
}
