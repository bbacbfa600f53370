//! Proxies: how each is spoken to, where it is, and with which credentials.
//!
//! A request has its proxy's name only ([`Route::Proxy`](lycosa_records::Route::Proxy)), so that no record has a password.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lycosa_url::AddressPolicy;

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// HTTP: `http` URLs in absolute form (RFC 9112 section 3.2.2), others through a tunnel (CONNECT, RFC 9110 section 9.3.6).
    Http,
    /// The same over TLS.
    Https,
    /// SOCKS 5 (RFC 1928, RFC 1929).
    Socks5,
}

impl ProxyProtocol {
    /// The protocol of a scheme.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "http" => Some(ProxyProtocol::Http),
            "https" => Some(ProxyProtocol::Https),
            "socks5" => Some(ProxyProtocol::Socks5),
            _ => None,
        }
    }
}

/// A proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// How it is spoken to.
    pub protocol: ProxyProtocol,
    /// Its host: over TLS its certificate must be valid for it.
    pub host: Box<str>,
    /// Its port.
    pub port: u16,
    /// The addresses of its host.
    pub addresses: Vec<IpAddr>,
    /// User and password.
    pub credentials: Option<(Box<str>, Box<str>)>,
    /// Whether it resolves the sites' names; `false`: it gets addresses, which the crawl has resolved and permitted.
    pub resolves: bool,
}

impl Proxy {
    /// Whether a request goes to it as it is, without a tunnel.
    pub(crate) fn takes_whole(&self, is_https: bool) -> bool {
        !is_https && self.resolves && self.protocol != ProxyProtocol::Socks5
    }

    /// The value of `Proxy-Authorization` (RFC 7617).
    pub(crate) fn authorization(&self) -> Option<String> {
        let (user, password) = self.credentials.as_ref()?;
        Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
    }
}

impl fmt::Debug for Proxy {
    /// Without the credentials.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}:{}", self.protocol, self.host, self.port)
    }
}

/// The proxies of a process by name, shared by all its fetchers.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    policy: AddressPolicy,
    all: Arc<RwLock<HashMap<Box<str>, Arc<Proxy>>>>,
}

impl Proxies {
    /// None yet; where they may be.
    pub fn new(policy: AddressPolicy) -> Self {
        Proxies { policy, ..Proxies::default() }
    }

    /// The addresses at which a proxy may be: lists of proxies come from strangers.
    pub(crate) fn policy(&self) -> &AddressPolicy {
        &self.policy
    }

    /// The proxy with a name.
    pub fn get(&self, name: &str) -> Option<Arc<Proxy>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Adds a proxy, or replaces the one with this name.
    pub fn set(&self, name: &str, proxy: Proxy) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), Arc::new(proxy));
    }

    /// Removes a proxy.
    pub fn remove(&self, name: &str) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
