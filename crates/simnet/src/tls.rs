//! HTTPS: the server name (SNI) selects the certificate; ALPN selects HTTP/1.1 or HTTP/2.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::{Acceptor, NoServerSessionStorage, ServerSessionMemoryCache};
use rustls::sign::SingleCertAndKey;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::authority::Authority;
use crate::error::{Error, Result};
use crate::http::{self, Site};
use crate::http2;
use crate::secure::Certificate;
use crate::trouble::Befallen;
use crate::wire::{Door, Wire};

/// Maximum of cached certificates, about 2 KB each; creating one takes a fraction of a millisecond.
const MAX_KEPT: usize = 4_096;

/// Maximum of TLS sessions that can be resumed, over all hosts.
const MAX_SESSIONS: usize = 4_096;

/// ALPN protocol name of HTTP/2 (RFC 7540, 11.1).
const HTTP2: &[u8] = b"h2";

/// TLS state shared by the serving threads.
pub(crate) struct Tls {
    /// The authority that issues certificates.
    authority: Authority,
    /// Settings of all hosts, without a certificate.
    common: Arc<ServerConfig>,
    /// Cached settings by name, shared by all threads; cleared when full.
    names: Mutex<HashMap<Box<str>, Arc<ServerConfig>>>,
}

impl Tls {
    /// TLS state with the authority of a seed.
    pub(crate) fn new(seed: u64) -> Result<Self> {
        // Explicit, so that no other crate can make the default provider ambiguous.
        let mut common = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::system("setting TLS up", std::io::Error::other(error)))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(NoCertificate));
        common.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        common.session_storage = ServerSessionMemoryCache::new(MAX_SESSIONS);
        Ok(Self { authority: Authority::new(seed)?, common: Arc::new(common), names: Mutex::default() })
    }

    /// Performs the handshake for the server name, a host or a name in its zone, if it is served here on HTTPS.
    async fn shake(&self, site: &Site, wire: Wire, address: IpAddr) -> Option<(u32, TlsStream<Wire>)> {
        let (world, arrival) = (&site.world, wire.arrival());
        let start = LazyConfigAcceptor::new(Acceptor::default(), wire).await.ok()?;
        let age = site.network.age(site.ledger.time(arrival.last()));
        let name = start.client_hello().server_name().unwrap_or_default().to_ascii_lowercase();
        let named = world.find_host(&name).or_else(|| world.find_zone(&name));
        let host = named.filter(|&host| world.serves_at(host, address, age));
        // A captive portal has no host's certificate.
        let shown =
            host.filter(|&host| !matches!(site.troubles.befalls(Some(host)), Some(Befallen::Portal(_))));
        let config = shown.and_then(|host| self.config(&name, world.certificate(host)?));
        // Without a certificate, the handshake ends with an alert.
        let stream = start.into_stream(config.unwrap_or_else(|| self.common.clone())).await.ok()?;
        Some((host?, stream))
    }

    /// Returns the settings for a name; `None` if no certificate can be issued, which would be a bug in the model.
    fn config(&self, name: &str, certificate: Certificate) -> Option<Arc<ServerConfig>> {
        let kept = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = kept().get(name) {
            return Some(config.clone());
        }
        let certified = self.authority.certify(name, certificate).ok()?;
        let mut config = ServerConfig::clone(&self.common);
        config.cert_resolver = Arc::new(SingleCertAndKey::from(certified));
        if certificate != Certificate::Good {
            // No resumption: the certificate would not be sent again, and the client would not be tested again.
            config.session_storage = Arc::new(NoServerSessionStorage {});
        }
        let config = Arc::new(config);
        let mut kept = kept();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(name.into(), config.clone());
        Some(config)
    }
}

/// Serves one connection: handshake, then the negotiated protocol.
pub(crate) async fn serve(site: &Arc<Site>, shard: usize, wire: Wire, address: IpAddr) {
    let Some(tls) = &site.tls else { return };
    let connection = site.ledger.connect();
    let arrival = wire.arrival();
    let shaken = tokio::time::timeout(site.idle, tls.shake(site, wire, address)).await;
    let shaken = shaken.ok().flatten();
    site.ledger.shaken(shaken.is_some());
    let Some((host, stream)) = shaken else { return };
    let door = Door { address, server: Some(host) };
    if stream.get_ref().1.alpn_protocol() == Some(HTTP2) {
        http2::serve(site, shard, stream, arrival, door, connection).await;
    } else {
        http::serve(site, shard, stream, arrival, door, connection).await;
    }
}

/// A certificate resolver without certificates, replaced for each name.
#[derive(Debug)]
struct NoCertificate;

impl rustls::server::ResolvesServerCert for NoCertificate {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }
}
