//! Judges certificate checks: a client that accepts a bad certificate would also talk to an attacker.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::judge::{EXAMPLES, Judge};
use crate::ledger::{Kind, Records, Request};
use crate::secure::Certificate;

/// Requests and handshakes with bad certificates.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Certificates {
    /// Hosts with a bad certificate.
    pub bad_hosts: u64,
    /// TLS handshakes that succeeded.
    pub handshakes: u64,
    /// TLS handshakes that failed, usually because the client rejected the certificate.
    pub failed_handshakes: u64,
    /// TLS handshakes that succeeded without a request: some clients check the certificate afterwards.
    pub silent_handshakes: u64,
    /// Requests to a host despite its bad certificate.
    pub count: u64,
    /// Number of hosts of these requests, by fault: expired, not_yet_valid, wrong_name, self_signed, unknown_authority,
    /// incomplete.
    pub accepted: BTreeMap<&'static str, u64>,
    /// The first of these requests, one per host.
    pub first: Vec<String>,
}

/// The bad certificate of a request's host; `None` if it is good or the connection was without TLS.
pub(crate) fn accepted(judge: &Judge<'_>, request: &Request) -> Option<Certificate> {
    certificate(judge, request).filter(|&certificate| certificate != Certificate::Good)
}

/// The certificate of a request's connection; `None` without TLS.
fn certificate(judge: &Judge<'_>, request: &Request) -> Option<Certificate> {
    let host = judge.base(request.host).filter(|_| !matches!(request.kind, Kind::Upgrade | Kind::Captive))?;
    judge.world.certificate(host)
}

/// Finds requests that were sent despite a bad certificate.
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
