//! The judgement on certificates: whoever sends a request past a bad one would send it to a thief as well.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::ledger::{Kind, NONE, Records};
use crate::ports::Ports;
use crate::secure::Certificate;
use crate::world::World;

/// Examples listed.
const EXAMPLES: usize = 20;

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

/// Looks for requests that came through in spite of a bad certificate.
pub(crate) fn judge(world: &World, ports: &Ports, records: &Records) -> Certificates {
    let mut found = Certificates {
        bad_hosts: (0..world.host_count()).filter(|&host| !world.is_trusted(host)).count() as u64,
        handshakes: records.handshakes.good,
        failed_handshakes: records.handshakes.failed,
        ..Certificates::default()
    };
    let (mut hosts, mut connections) = (HashSet::new(), HashSet::new());
    for request in &records.requests {
        // A request without TLS saw no certificate.
        if request.host == NONE || request.kind == Kind::Upgrade {
            continue;
        }
        let Some(certificate) = world.certificate(request.host) else { continue };
        connections.insert(request.connection);
        if certificate == Certificate::Good {
            continue;
        }
        found.count += 1;
        if hosts.insert(request.host) {
            *found.accepted.entry(certificate.name()).or_default() += 1;
            if found.first.len() < EXAMPLES {
                let url = ports.url(world, request.host, "/");
                found.first.push(format!("accepted {}: {url}", certificate.name()));
            }
        }
    }
    found.silent_handshakes = found.handshakes.saturating_sub(connections.len() as u64);
    found
}
