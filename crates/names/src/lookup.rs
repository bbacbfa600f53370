//! A name on its way: what is asked about it, what has been answered, and how that becomes one answer.

use std::net::IpAddr;

use lycosa_url::{Failure, Micros};

use crate::settings::Families;
use crate::wire::Kind;

/// The answer to one question.
pub(crate) type Part = Result<Found, Failure>;

/// Addresses, and for how many seconds they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// At least one, in the server's order.
    pub(crate) addresses: Vec<IpAddr>,
    /// The smallest TTL on the way to them.
    pub(crate) ttl: u32,
}

/// A name that is not yet answered.
pub(crate) struct Lookup {
    /// When it was submitted.
    pub(crate) since: Micros,
    /// When its first question began.
    pub(crate) began: Micros,
    /// When all tries must have ended; set when the first begins.
    pub(crate) until: Micros,
    /// What became of each question, in the order of preference of their addresses.
    parts: Vec<(Kind, Option<Part>)>,
}

impl Lookup {
    /// A name that waits for its turn.
    pub(crate) fn new(families: Families, since: Micros) -> Self {
        let kinds: &[Kind] = match families {
            Families::V4 => &[Kind::A],
            Families::V6 => &[Kind::Aaaa],
            Families::Both => &[Kind::A, Kind::Aaaa],
        };
        let parts = kinds.iter().map(|kind| (*kind, None)).collect();
        Lookup { since, began: since, until: Micros::MAX, parts }
    }

    /// What is to be asked.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.parts.iter().map(|(kind, _)| *kind).collect()
    }

    /// One question is answered; whether all are.
    pub(crate) fn answer(&mut self, kind: Kind, answer: Part) -> bool {
        if let Some((_, part)) = self.parts.iter_mut().find(|(own, _)| *own == kind) {
            *part = Some(answer);
        }
        self.parts.iter().all(|(_, part)| part.is_some())
    }

    /// The answers as one: all addresses; or the failure that leaves most hope, since one question without
    /// an answer leaves open whether the name has an address.
    pub(crate) fn merge(self) -> (Result<Vec<IpAddr>, Failure>, u32) {
        let (mut addresses, mut ttl) = (Vec::new(), u32::MAX);
        let mut failure: Option<Failure> = None;
        for part in self.parts.into_iter().filter_map(|(_, part)| part) {
            match part {
                Ok(found) => {
                    addresses.extend(found.addresses);
                    ttl = ttl.min(found.ttl);
                }
                Err(other) if failure.as_ref().is_none_or(|failure| !failure.kind.is_transient()) => {
                    failure = Some(other);
                }
                Err(_) => (),
            }
        }
        match failure {
            Some(failure) if addresses.is_empty() => (Err(failure), 0),
            _ => (Ok(addresses), ttl),
        }
    }
}

#[cfg(test)]
mod tests {
    use lycosa_url::FailureKind;

    use super::*;

    fn found(address: &str, ttl: u32) -> Part {
        Ok(Found { addresses: vec![address.parse().unwrap()], ttl })
    }

    fn failed(kind: FailureKind) -> Part {
        Err(Failure::new(kind, ""))
    }

    fn both(v4: Part, v6: Part) -> (Result<Vec<String>, FailureKind>, u32) {
        let mut lookup = Lookup::new(Families::Both, 0);
        assert!(!lookup.answer(Kind::Aaaa, v6));
        assert!(lookup.answer(Kind::A, v4));
        let (answer, ttl) = lookup.merge();
        let text = |addresses: Vec<IpAddr>| addresses.iter().map(ToString::to_string).collect();
        (answer.map(text).map_err(|failure| failure.kind), ttl)
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
}
