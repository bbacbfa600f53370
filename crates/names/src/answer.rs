//! Converts answers between the frontier's form and the caches' form.

use std::net::IpAddr;

use lycosa_url::{Failure, FailureKind};

use crate::cache::{Addresses, Answer, Trouble};
use crate::settings::Families;

/// The form for a cache. A failure counts as the first in a row: the cache counts on.
pub(crate) fn kept(answer: &Result<Vec<IpAddr>, Failure>) -> Answer {
    let failed = |trouble| Answer::Failed { trouble, attempts: 1 };
    match answer {
        Ok(addresses) => Answer::Addresses(Addresses::new(addresses.iter().copied())),
        Err(failure) => match failure.kind {
            FailureKind::NameNotFound => Answer::NxDomain,
            FailureKind::NameNoData => Answer::NoData,
            FailureKind::NameTimeout => failed(Trouble::TimeOut),
            _ => failed(Trouble::ServerFailure),
        },
    }
}

/// The form for the frontier. Addresses are in the cache's order, IPv4 first: a host's first address, which
/// politeness uses, stays the same from answer to answer.
pub(crate) fn told(answer: Answer) -> Result<Vec<IpAddr>, Failure> {
    let failure = |kind, detail: String| Err(Failure::new(kind, detail));
    match answer {
        Answer::Addresses(_) => Ok(retold(answer, Vec::new())),
        Answer::NxDomain => failure(FailureKind::NameNotFound, "no such name (NXDOMAIN)".to_owned()),
        Answer::NoData => failure(FailureKind::NameNoData, "the name has no address".to_owned()),
        Answer::Negative => failure(
            FailureKind::NameNotFound,
            "no such name, or no address: the negative cache does not know which".to_owned(),
        ),
        Answer::Failed { trouble: Trouble::TimeOut, attempts } => {
            failure(FailureKind::NameTimeout, format!("no answer in time, {attempts} times in a row"))
        }
        Answer::Failed { trouble: Trouble::ServerFailure, attempts } => {
            failure(FailureKind::NameServerFailure, format!("the servers failed, {attempts} times in a row"))
        }
    }
}

/// The addresses of an answer, in a reused vector.
pub(crate) fn retold(answer: Answer, mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.clear();
    if let Answer::Addresses(Addresses { v4, v6 }) = answer {
        addresses.extend(v4.into_iter().map(IpAddr::from));
        addresses.extend(v6.into_iter().map(IpAddr::from));
    }
    addresses
}

/// The failure of one family while the other has addresses; its text names the type of records.
pub(crate) fn lost(family: Families, failure: &Failure) -> Box<Failure> {
    let rtype = if family == Families::V6 { "AAAA" } else { "A" };
    Box::new(Failure::new(failure.kind, format!("{rtype}: {}", failure.detail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_keeps_its_kind_in_a_cache() {
        use FailureKind::{NameNoData, NameNotFound, NameServerFailure, NameTimeout};
        for kind in [NameNotFound, NameNoData, NameServerFailure, NameTimeout] {
            assert_eq!(told(kept(&Err(Failure::new(kind, "")))).unwrap_err().kind, kind);
        }
        let filter = told(Answer::Negative).unwrap_err();
        assert_eq!(filter.kind, NameNotFound);
        assert!(filter.detail.contains("negative cache"));
    }

    #[test]
    fn addresses_are_sorted_ipv4_first() {
        let list = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let answer = Ok(list(&["2001:db8::1", "192.0.2.9", "192.0.2.1", "192.0.2.9"]));
        assert_eq!(told(kept(&answer)), Ok(list(&["192.0.2.1", "192.0.2.9", "2001:db8::1"])));
    }
}
