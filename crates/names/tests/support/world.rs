//! A certificate authority, its certificates, and helpers for tests of clients with TLS servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder};
use domain::rdata::A;
use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Nameserver, Settings};
use lycosa_url::{FailureKind, Resolved};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;

/// A certificate authority.
pub(crate) struct World {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl World {
    /// A new one.
    pub(crate) fn new() -> World {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        World { folder, issuer: Issuer::new(params, key) }
    }

    /// The configuration of a server with a certificate for `name`.
    pub(crate) fn certified(&self, name: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let chain = vec![params.signed_by(&key, &self.issuer).unwrap().der().clone()];
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap()
    }

    /// The settings of a client of these servers.
    pub(crate) fn settings(&self, servers: &[String]) -> Settings {
        Settings {
            servers: servers.iter().map(|text| text.parse::<Nameserver>().unwrap()).collect(),
            ca_file: Some(self.folder.path().join("ca.pem")),
            timeout: Duration::from_millis(400),
            ..Settings::default()
        }
    }
}

/// A reply with one address.
pub(crate) fn answer(message: &[u8]) -> Vec<u8> {
    let query = Message::from_slice(message).unwrap();
    let mut reply = MessageBuilder::new_vec().start_answer(query, Rcode::NOERROR).unwrap();
    let name = query.sole_question().unwrap().into_qname();
    reply.push((name, 60, A::from_octets(192, 0, 2, 1))).unwrap();
    reply.finish()
}

/// A client with its own cache.
pub(crate) fn start(settings: Settings) -> Client {
    Client::start(settings, Box::new(CompactCache::in_memory(CompactSettings::default(), 0, None).unwrap()))
        .unwrap()
}

/// Resolves names, and waits for the answers.
pub(crate) fn resolve(client: &Client, names: impl Iterator<Item = String>) -> Vec<Resolved> {
    client.submit(names.map(Into::into).collect());
    let (mut answers, began) = (Vec::new(), Instant::now());
    while client.pending() > 0 {
        client.drain(&mut answers);
        assert!(began.elapsed() < Duration::from_secs(20), "{} names without answer", client.pending());
        client.wait(Duration::from_millis(10));
    }
    answers
}

/// Names of different lengths.
pub(crate) fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("n{number}.{}example", "x.".repeat(number % 7)))
}

/// The detail of a failure of this kind.
pub(crate) fn detail(answer: &Resolved, kind: FailureKind) -> &str {
    let failure = answer.result.as_ref().unwrap_err();
    assert_eq!(failure.kind, kind, "{failure:?}");
    &failure.detail
}
