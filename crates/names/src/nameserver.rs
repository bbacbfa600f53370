//! The address of a DNS server, and whether it is queried over TLS or HTTPS. Only this file parses and formats
//! them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;

/// The ports of DNS, DNS over TLS (RFC 7858 section 3.1) and HTTPS.
const PORTS: (u16, u16, u16) = (53, 853, 443);

/// The default path of DNS over HTTPS.
const PATH: &str = "/dns-query";

/// The longest path.
const LONGEST: usize = 1_024;

/// The prefix of a DNS server over TLS.
const TLS: &str = "tls://";

/// The prefix of a DNS server over HTTPS.
const HTTPS: &str = "https://";

/// A DNS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nameserver {
    /// Its address and port.
    pub address: SocketAddr,
    /// The name in its certificate; `None`: the server is queried over UDP, with TCP as fallback.
    pub(crate) tls: Option<ServerName<'static>>,
    /// The URI of DNS over HTTPS; `None`: the server is not queried over HTTPS. `Some` only if `tls` is.
    pub(crate) https: Option<Uri>,
}

impl Nameserver {
    /// The allowed forms, for messages.
    pub const ALLOWED: &'static str = "an address, with or without port: 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53; over TLS \
         or HTTPS, with the name that its certificate bears: tls://192.0.2.1#dns.example, tls://192.0.2.1:853#dns.example, \
         https://192.0.2.1/dns-query#dns.example";

    /// Whether it is queried over TLS or HTTPS.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }
}

impl From<SocketAddr> for Nameserver {
    fn from(address: SocketAddr) -> Self {
        Nameserver { address, tls: None, https: None }
    }
}

impl FromStr for Nameserver {
    type Err = &'static str;

    /// Parses the forms of [`Nameserver::ALLOWED`]. Without a name, the certificate of a server over TLS or
    /// HTTPS must contain its address.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text).ok_or(Self::ALLOWED)
    }
}

impl Nameserver {
    /// Parses a text.
    fn read(text: &str) -> Option<Self> {
        let (encrypted, is_https) = match (text.strip_prefix(TLS), text.strip_prefix(HTTPS)) {
            (None, None) => return address(text, PORTS.0).map(Nameserver::from),
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
        };
        let (place, name) = match encrypted.split_once('#') {
            Some((place, name)) => (place, Some(name)),
            None => (encrypted, None),
        };
        let (place, path) = match place.find('/').filter(|_| is_https) {
            Some(slash) => place.split_at(slash),
            None => (place, PATH),
        };
        let address = address(place, if is_https { PORTS.2 } else { PORTS.1 })?;
        let name = match name {
            Some(name) => ServerName::try_from(name.to_owned()).ok()?,
            None => address.ip().into(),
        };
        let https = if is_https { Some(target(&name, address.port(), path)?) } else { None };
        Some(Nameserver { address, tls: Some(name), https })
    }
}

impl fmt::Display for Nameserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = &self.tls else { return self.address.fmt(f) };
        match &self.https {
            None => write!(f, "{TLS}{}", self.address)?,
            Some(target) => write!(f, "{HTTPS}{}{}", self.address, target.path())?,
        }
        if *name == self.address.ip().into() { Ok(()) } else { write!(f, "#{}", name.to_str()) }
    }
}

/// The URI of DNS over HTTPS. A path consists of letters, digits and marks without a special meaning: no
/// template, no query string.
fn target(name: &ServerName<'static>, port: u16, path: &str) -> Option<Uri> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:@".contains(&byte);
    if path.len() > LONGEST || !path.bytes().all(is_plain) {
        return None;
    }
    let host = match name {
        ServerName::IpAddress(address) => match IpAddr::from(*address) {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        },
        name => name.to_str().into_owned(),
    };
    let authority = if port == PORTS.2 { host } else { format!("{host}:{port}") };
    Uri::builder().scheme(Scheme::HTTPS).authority(authority).path_and_query(path).build().ok()
}

/// An address, with or without port.
fn address(text: &str, port: u16) -> Option<SocketAddr> {
    let bare = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    text.parse().ok().or_else(|| bare().map(|address| SocketAddr::new(address, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5300", "192.0.2.1:5300"),
            ("2001:db8::1", "[2001:db8::1]:53"),
            ("[2001:db8::1]:5300", "[2001:db8::1]:5300"),
            ("tls://192.0.2.1", "tls://192.0.2.1:853"),
            ("tls://192.0.2.1#192.0.2.1", "tls://192.0.2.1:853"),
            ("tls://192.0.2.1#dns.example", "tls://192.0.2.1:853#dns.example"),
            ("tls://[2001:db8::1]:8853#dns.example", "tls://[2001:db8::1]:8853#dns.example"),
            ("https://192.0.2.1", "https://192.0.2.1:443/dns-query"),
            ("https://192.0.2.1#dns.example", "https://192.0.2.1:443/dns-query#dns.example"),
            ("https://192.0.2.1:8443/a/b#dns.example", "https://192.0.2.1:8443/a/b#dns.example"),
            ("https://[2001:db8::1]/#2001:db8::1", "https://[2001:db8::1]:443/"),
        ] {
            let server: Nameserver = text.parse().unwrap();
            assert_eq!(server.to_string(), expected);
            assert_eq!(expected.parse(), Ok(server));
        }
        for text in [
            "",
            "dns.example",
            "tls://",
            "tls://dns.example",
            "tls://192.0.2.1#",
            "tls://192.0.2.1/dns-query#dns.example",
            "https://dns.example/dns-query",
            "https://192.0.2.1/dns-query#",
            "https://192.0.2.1/dns-query{?dns}#dns.example",
            "https://192.0.2.1/dns query",
            "https://user@192.0.2.1/dns-query",
            "http://192.0.2.1/dns-query",
            "192.0.2.1#dns.example",
            "tcp://192.0.2.1",
        ] {
            assert_eq!(text.parse::<Nameserver>(), Err(Nameserver::ALLOWED), "{text}");
        }
    }

    #[test]
    fn what_is_asked_for_over_https_names_the_server() {
        for (text, expected) in [
            ("https://192.0.2.1#dns.example", "https://dns.example/dns-query"),
            ("https://192.0.2.1:8443/q#dns.example", "https://dns.example:8443/q"),
            ("https://192.0.2.1", "https://192.0.2.1/dns-query"),
            ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443/dns-query"),
        ] {
            let server: Nameserver = text.parse().unwrap();
            assert_eq!(server.https.unwrap().to_string(), expected);
        }
    }
}
