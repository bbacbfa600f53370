//! The judgement on certificates: whoever sends a request past a bad one would send it to a thief as well.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::judge::{EXAMPLES, Judge};
use crate::ledger::{Kind, Records, Request};
use crate::secure::Certificate;

/// What was done about certificates.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Certificates {
    /// Hosts with a bad certificate.
    pub bad_hosts: u64,
    /// TLS handshakes that succeeded.
    pub handshakes: u64,
    /// TLS handshakes that did not: as a rule because the client refused the certificate.
    pub failed_handshakes: u64,
    /// TLS handshakes that succeeded, but no request followed: some clients look at the certificate afterwards.
    pub silent_handshakes: u64,
    /// Requests that were sent to a host in spite of its bad certificate.
    pub count: u64,
    /// The hosts of these requests by what is wrong with them: expired, not_yet_valid, wrong_name, self_signed, unknown_authority,
    /// incomplete.
    pub accepted: BTreeMap<&'static str, u64>,
    /// The first of them, a host each.
    pub first: Vec<String>,
}

/// What was wrong with the certificate that a request was sent past; `None` if nothing was, or none was shown.
pub(crate) fn accepted(judge: &Judge<'_>, request: &Request) -> Option<Certificate> {
    certificate(judge, request).filter(|&certificate| certificate != Certificate::Good)
}

/// The certificate that a request's connection began with; `None` if it began without.
fn certificate(judge: &Judge<'_>, request: &Request) -> Option<Certificate> {
    let host = judge.base(request.host).filter(|_| !matches!(request.kind, Kind::Upgrade | Kind::Captive))?;
    judge.world.certificate(host)
}

/// Looks for requests that came through in spite of a bad certificate.
pub(crate) fn find(judge: &Judge<'_>, records: &Records, requests: &[Request]) -> Certificates {
    let world = judge.world;
    let mut found = Certificates {
        bad_hosts: (0..world.host_count()).filter(|&host| !world.is_trusted(host)).count() as u64,
        handshakes: records.handshakes.good.into(),
        failed_handshakes: records.handshakes.failed.into(),
        ..Certificates::default()
    };
    let secure = records.requests.iter().filter(|request| certificate(judge, request).is_some());
    let connections: HashSet<u32> = secure.map(|request| request.connection).collect();
    found.silent_handshakes = found.handshakes.saturating_sub(connections.len() as u64);
    let mut hosts = HashSet::new();
    for request in requests {
        let Some(certificate) = accepted(judge, request) else { continue };
        found.count += 1;
        if hosts.insert(request.host) {
            *found.accepted.entry(certificate.name()).or_default() += 1;
            if found.first.len() < EXAMPLES {
                let url = judge.asked(request);
                found.first.push(format!("accepted {}: {url}", certificate.name()));
            }
        }
    }
    found
}
