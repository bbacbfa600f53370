//! What is known of a name without asking anybody.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lycosa_url::{Failure, FailureKind};

use crate::host::HostName;
use crate::settings::Families;

/// What to do about a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is an address, or a name that is always the same one.
    Addresses(Vec<IpAddr>),
    /// No server could know it.
    Bad(Failure),
    /// To be asked for.
    Ask,
}

/// Judges a name as it was submitted.
pub(crate) fn judge(name: &str, families: Families) -> Known {
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if let Ok(address) = literal.parse::<IpAddr>() {
        return Known::Addresses(vec![address]);
    }
    let mut buffer = String::new();
    let name = match HostName::normalize(name, &mut buffer) {
        Ok(name) => name.as_str(),
        Err(why) => return Known::Bad(Failure::new(FailureKind::NameBad, why.to_string())),
    };
    match name.rsplit('.').next() {
        // RFC 6761 section 6.3: never asked of a server.
        Some("localhost") => Known::Addresses(loopback(families)),
        _ => Known::Ask,
    }
}

/// The addresses of `localhost`.
fn loopback(families: Families) -> Vec<IpAddr> {
    let (v4, v6) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
    match families {
        Families::V4 => vec![v4],
        Families::V6 => vec![v6],
        Families::Both => vec![v4, v6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_bad(name: &str) -> bool {
        matches!(judge(name, Families::V4), Known::Bad(failure) if failure.kind == FailureKind::NameBad)
    }

    #[test]
    fn names_are_checked_before_they_are_asked_for() {
        for name in ["example.com", "Example.com.", "_dmarc.example.com", "bücher.example"] {
            assert_eq!(judge(name, Families::V4), Known::Ask, "{name}");
        }
        for name in ["", ".", "a..b", "a b", "xn--a", "0x7f.1"] {
            assert!(is_bad(name), "{name:?}");
        }
    }

    #[test]
    fn addresses_need_no_server() {
        for name in ["127.0.0.1", "::1", "[::1]"] {
            assert!(matches!(judge(name, Families::V4), Known::Addresses(_)), "{name}");
        }
        assert_eq!(judge("App.Localhost", Families::Both), Known::Addresses(loopback(Families::Both)));
    }
}
