//! What is known of a name without asking anybody.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lycosa_url::{Failure, FailureKind};

use crate::settings::Families;

/// The longest name in text without the root's dot (RFC 1035 section 2.3.4: 255 bytes on the wire).
const MAX_NAME: usize = 253;

/// The longest label.
const MAX_LABEL: usize = 63;

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
    let name = relative(name);
    if let Some(why) = fault(name) {
        return Known::Bad(Failure::new(FailureKind::NameBad, why));
    }
    match name.rsplit('.').next() {
        // RFC 6761 section 6.3: never asked of a server.
        Some(top) if top.eq_ignore_ascii_case("localhost") => Known::Addresses(loopback(families)),
        _ => Known::Ask,
    }
}

/// The name without the root's dot.
pub(crate) fn relative(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Why a name cannot be asked for, if it cannot.
fn fault(name: &str) -> Option<String> {
    if name.len() > MAX_NAME {
        return Some(format!("{} bytes; at most {MAX_NAME}", name.len()));
    }
    if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("only visible ASCII is allowed".to_owned());
    }
    let bad = name.split('.').find(|label| label.is_empty() || label.len() > MAX_LABEL)?;
    Some(format!("a label of {} bytes; 1 to {MAX_LABEL} are allowed", bad.len()))
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
        let long = format!("{}.com", "a.".repeat(124).trim_end_matches('.'));
        let label = "a".repeat(63);
        for name in ["example.com", "example.com.", "_dmarc.example.com", "x", label.as_str(), long.as_str()]
        {
            assert_eq!(judge(name, Families::V4), Known::Ask, "{name}");
        }
        for name in ["", ".", "a..b", ".a", "a b", "bücher.example", "a\n"] {
            assert!(is_bad(name), "{name:?}");
        }
        assert!(is_bad(&"a".repeat(64)));
        assert!(is_bad(&"a.".repeat(128)));
    }

    #[test]
    fn addresses_need_no_server() {
        for name in ["127.0.0.1", "::1", "[::1]"] {
            assert!(matches!(judge(name, Families::V4), Known::Addresses(_)), "{name}");
        }
        assert_eq!(judge("App.Localhost", Families::Both), Known::Addresses(loopback(Families::Both)));
    }
}
