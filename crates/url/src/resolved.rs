//! The result of resolving a name: filled by names, read by the frontier.

use std::net::IpAddr;

use crate::{Failure, Micros};

/// The answer for one name. Filled by names; read by the frontier.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The name, as requested.
    pub name: Box<str>,
    /// Time to resolve it, in microseconds; 0 from a cache.
    pub elapsed_us: u32,
    /// When the answer, or the failure, expires.
    pub expires: Micros,
    /// The cost class.
    pub class: NameClass,
    /// At least one address, best first; or the failure.
    pub result: Result<Vec<IpAddr>, Failure>,
    /// If both families were queried and one failed while the other has addresses: that failure.
    pub lost: Option<Box<Failure>>,
}

/// The cost of resolving a name (SYSTEMS.md section 3): part of answers, pages and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameClass {
    /// It was resolved quickly, or without a query.
    Fast,
    /// It was resolved, but slowly.
    Slow,
    /// It was not resolved.
    Failed,
}

impl NameClass {
    /// Each class with its stable name.
    const NAMES: [(NameClass, &'static str); 3] =
        [(NameClass::Fast, "fast"), (NameClass::Slow, "slow"), (NameClass::Failed, "failed")];

    /// Its stable name, in outputs and reports.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(class, _)| *class == self).map_or("", |(_, name)| name)
    }

    /// The class with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(class, _)| *class)
    }
}
