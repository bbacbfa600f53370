//! What is known of a name after one of its answers, or all of them.

use std::collections::HashMap;
use std::net::IpAddr;

use lycosa_names::cache::{PacketCache, SLOW};
use lycosa_names::{PacketAnswer, Record, Records, endless_aliases, read_records};
use lycosa_url::{Failure, FailureKind, Micros, NameClass, Resolved};

use crate::resolutions::Status;

/// The AD bit of a message: the resolver has validated the answer (RFC 4035 section 3.2.3).
const VALIDATED: u8 = 0x20;

/// What is known of a name.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) records: Vec<Record>,
    /// Whether the resolver has validated all records; `None` where none were asked for.
    pub(crate) validated: Option<bool>,
    pub(crate) expires: Micros,
    pub(crate) class: NameClass,
    pub(crate) elapsed_us: u32,
    /// What went wrong, in words.
    pub(crate) detail: Option<Box<str>>,
}

impl Outcome {
    /// A name and its addresses. `each_counts`: whether the failure of one family is a failure of the name, also where the other
    /// has addresses.
    pub(crate) fn of(resolved: Resolved, each_counts: bool) -> (Box<str>, Self) {
        let lost = resolved.lost.filter(|_| each_counts);
        let (status, addresses, detail) = match (resolved.result, lost) {
            (Ok(addresses), None) => (Status::Ok, addresses, None),
            (Ok(addresses), Some(lost)) => (Status::of(&lost), addresses, Some(lost.detail.into())),
            (Err(failure), _) => (Status::of(&failure), Vec::new(), Some(failure.detail.into())),
        };
        let Resolved { name, expires, class, elapsed_us, .. } = resolved;
        let (records, validated) = (Vec::new(), None);
        (name, Outcome { status, addresses, records, validated, expires, class, elapsed_us, detail })
    }

    /// The records of one type.
    pub(crate) fn of_packet(answer: &PacketAnswer, cache: &PacketCache) -> Self {
        let (now, rtype) = (lycosa_url::Clock::shared().now(), answer.key.rtype());
        let message = answer.packet.message().map(|_| cache.message(&answer.packet, now));
        let (status, records, detail) = match &message {
            Err(failure) => (Status::of(failure), Vec::new(), Some(told(failure, answer))),
            Ok(message) => match read_records(message, rtype) {
                Some(Records::Found(records)) => (Status::Ok, records, None),
                Some(Records::NoData(records)) => {
                    (Status::NoData, records, Some(format!("{rtype}: no such record")))
                }
                Some(Records::NxDomain(records)) => {
                    (Status::NxDomain, records, Some("no such name (NXDOMAIN)".to_owned()))
                }
                Some(Records::Endless(records)) => {
                    (Status::ServerFailure, records, Some(format!("{rtype}: {}", endless_aliases())))
                }
                None => (Status::ServerFailure, Vec::new(), Some(format!("{rtype}: malformed reply"))),
            },
        };
        let is_validated = |message: &Vec<u8>| message.get(3).is_some_and(|flags| flags & VALIDATED != 0);
        let class = match status {
            Status::Ok if answer.elapsed_us / 1_000 < SLOW => NameClass::Fast,
            Status::Ok => NameClass::Slow,
            _ => NameClass::Failed,
        };
        Outcome {
            status,
            addresses: Vec::new(),
            records,
            validated: Some(message.is_ok_and(|message| is_validated(&message))),
            expires: answer.expires,
            class,
            elapsed_us: answer.elapsed_us,
            detail: detail.map(Into::into),
        }
    }

    /// What is no name.
    pub(crate) fn bad_name(why: String) -> Self {
        Outcome {
            status: Status::BadName,
            addresses: Vec::new(),
            records: Vec::new(),
            validated: None,
            expires: 0,
            class: NameClass::Failed,
            elapsed_us: 0,
            detail: Some(why.into()),
        }
    }

    /// This one and that of another type: a failure of one is a failure of both, so that the name is asked for again; else what is
    /// there counts.
    pub(crate) fn merge(mut self, mut other: Outcome) -> Self {
        if other.status.rank() < self.status.rank() {
            (self.status, other.status) = (other.status, self.status);
            (self.class, other.class) = (other.class, self.class);
            (self.detail, other.detail) = (other.detail, self.detail);
        }
        self.addresses.append(&mut other.addresses);
        self.add_records(other.records);
        self.validated = match (self.validated, other.validated) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        };
        if self.status == other.status && other.class == NameClass::Slow {
            self.class = NameClass::Slow;
        }
        self.expires = self.expires.min(other.expires);
        self.elapsed_us = self.elapsed_us.max(other.elapsed_us);
        self
    }

    /// Takes records of another type. Each type has found the same aliases, perhaps with another TTL: they stand once, with the
    /// lowest. Nothing else can repeat.
    fn add_records(&mut self, others: Vec<Record>) {
        let is_alias = |record: &Record| record.rtype == "CNAME";
        let key = |record: &Record| (record.owner.to_ascii_lowercase(), record.data.to_ascii_lowercase());
        let own = self.records.iter().enumerate().filter(|(_, record)| is_alias(record));
        let known: HashMap<_, _> = own.map(|(place, record)| (key(record), place)).collect();
        for record in others {
            let place = if is_alias(&record) { known.get(&key(&record)) } else { None };
            match place {
                Some(place) => self.records[*place].ttl = self.records[*place].ttl.min(record.ttl),
                None => self.records.push(record),
            }
        }
    }
}

/// A failure in words, with what the server says about it (RFC 8914).
fn told(failure: &Failure, answer: &PacketAnswer) -> String {
    let rtype = answer.key.rtype();
    match answer.packet.extended_error().filter(|error| !failure.detail.contains(&error.to_string())) {
        Some(error) => format!("{rtype}: {}: {error}", failure.detail),
        None => format!("{rtype}: {}", failure.detail),
    }
}

impl Status {
    /// The status that a failure has.
    fn of(failure: &Failure) -> Status {
        match failure.kind {
            FailureKind::NameNotFound => Status::NxDomain,
            FailureKind::NameNoData => Status::NoData,
            FailureKind::NameTimeout => Status::Timeout,
            FailureKind::NameBad => Status::BadName,
            _ => Status::ServerFailure,
        }
    }

    /// Its rank: of several answers that with the lowest counts.
    fn rank(self) -> u8 {
        match self {
            Status::BadName => 0,
            Status::Timeout => 1,
            Status::ServerFailure => 2,
            Status::Ok => 3,
            Status::NoData => 4,
            Status::NxDomain => 5,
        }
    }
}
