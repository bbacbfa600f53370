//! A DNS server that is asked: where it listens, and whether it is asked over TLS. The one place that reads and writes such texts.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use rustls::pki_types::ServerName;

/// The port of DNS, and of DNS over TLS (RFC 7858 section 3.1).
const PORTS: (u16, u16) = (53, 853);

/// What a text of a server that is asked over TLS begins with.
const TLS: &str = "tls://";

/// A DNS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nameserver {
    /// Where it listens.
    pub address: SocketAddr,
    /// What its certificate must bear; without it, the server is asked over UDP, and over TCP where that does not do.
    pub(crate) tls: Option<ServerName<'static>>,
}

impl Nameserver {
    /// What texts are allowed.
    pub const ALLOWED: &'static str = "an address, with or without port: 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53; over TLS, \
         with the name that its certificate bears: tls://192.0.2.1#dns.example, tls://192.0.2.1:853#dns.example";

    /// Whether it is asked over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }
}

impl From<SocketAddr> for Nameserver {
    fn from(address: SocketAddr) -> Self {
        Nameserver { address, tls: None }
    }
}

impl FromStr for Nameserver {
    type Err = &'static str;

    /// Reads [`Nameserver::ALLOWED`]. Without a name, the certificate of a server that is asked over TLS must bear its address.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(encrypted) = text.strip_prefix(TLS) else {
            return address(text, PORTS.0).map(Nameserver::from).ok_or(Self::ALLOWED);
        };
        let (place, name) = match encrypted.split_once('#') {
            Some((place, name)) => (place, Some(name)),
            None => (encrypted, None),
        };
        let address = address(place, PORTS.1).ok_or(Self::ALLOWED)?;
        let name = match name {
            Some(name) => ServerName::try_from(name.to_owned()).map_err(|_| Self::ALLOWED)?,
            None => address.ip().into(),
        };
        Ok(Nameserver { address, tls: Some(name) })
    }
}

impl fmt::Display for Nameserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tls {
            None => self.address.fmt(f),
            Some(name) if *name == self.address.ip().into() => write!(f, "{TLS}{}", self.address),
            Some(name) => write!(f, "{TLS}{}#{}", self.address, name.to_str()),
        }
    }
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
            "192.0.2.1#dns.example",
            "tcp://192.0.2.1",
        ] {
            assert_eq!(text.parse::<Nameserver>(), Err(Nameserver::ALLOWED), "{text}");
        }
    }
}
