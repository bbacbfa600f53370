//! What can be decided about a name without a query.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lycosa_url::{Failure, FailureKind};

use crate::host::HostName;
use crate::local::LocalAddresses;
use crate::settings::Families;

/// How to proceed with a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known<'n> {
    /// An IP address, or a name with fixed addresses.
    Addresses(Vec<IpAddr>),
    /// It is in the local data.
    Local(LocalAddresses),
    /// It is invalid, or must not be queried.
    Bad(Failure),
    /// It must be queried.
    Ask(HostName<'n>),
}

/// Classifies a name as submitted; `buffer` stores its normal form if different. `special_use`: whether its
/// special-use top-level domain means that it does not exist; `local`: looks the name up in the local data,
/// which has precedence.
pub(crate) fn judge<'n>(
    name: &'n str,
    buffer: &'n mut String,
    families: Families,
    special_use: impl FnOnce(&str) -> bool,
    local: impl FnOnce(HostName<'_>) -> Option<LocalAddresses>,
) -> Known<'n> {
    let name = match HostName::normalize(name, buffer) {
        Ok(name) => name,
        Err(why) => {
            // An IP address is not a host name.
            let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
            let bad = |_| Known::Bad(Failure::new(FailureKind::NameBad, why.to_string()));
            return literal.parse().map_or_else(bad, |address: IpAddr| Known::Addresses(vec![address]));
        }
    };
    if let Some(found) = local(name) {
        return Known::Local(found);
    }
    match name.as_str().rsplit('.').next() {
        // RFC 6761 section 6.3: never queried.
        Some("localhost") => Known::Addresses(loopback(families)),
        Some(top) if is_special_use(top.as_bytes()) && special_use(name.as_str()) => {
            let why =
                format!("no such name: .{top} is not in the DNS (RFC 6761) and no server is asked for it");
            Known::Bad(Failure::new(FailureKind::NameNotFound, why))
        }
        _ => Known::Ask(name),
    }
}

/// Whether names that end with this label, in any case, are not in the DNS, so that a query would only disclose
/// them: `invalid` (RFC 6761 section 6.4), `local` (RFC 6762 section 22.1), `onion` (RFC 7686 section 2), `alt`
/// (RFC 9476 section 2). `test` and `example` are ordinary names: a tester may have a DNS server for them (RFC
/// 6761 sections 6.2 and 6.5).
pub fn is_special_use(top: &[u8]) -> bool {
    let special = [&b"invalid"[..], b"local", b"onion", b"alt"];
    special.iter().any(|special| top.eq_ignore_ascii_case(special))
}

/// The addresses of `localhost`.
pub fn loopback(families: Families) -> Vec<IpAddr> {
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
        let mut buffer = String::new();
        matches!(judge(name, &mut buffer, Families::V4, |_| true, |_| None), Known::Bad(failure) if failure.kind == FailureKind::NameBad)
    }

    #[test]
    fn names_are_checked_before_they_are_asked_for() {
        for name in ["example.com", "Example.com.", "_dmarc.example.com", "bücher.example"] {
            let mut buffer = String::new();
            assert!(
                matches!(judge(name, &mut buffer, Families::V4, |_| true, |_| None), Known::Ask(_)),
                "{name}"
            );
        }
        for name in ["", ".", "a..b", "a b", "xn--a", "0x7f.1"] {
            assert!(is_bad(name), "{name:?}");
        }
    }

    #[test]
    fn special_use_names_do_not_exist_and_are_told_to_nobody() {
        for name in ["gone.invalid", "printer.local", "Local", "abcdef.ONION.", "a.b.alt", "invalid"] {
            let mut buffer = String::new();
            let Known::Bad(failure) = judge(name, &mut buffer, Families::Both, |_| true, |_| None) else {
                panic!("{name}")
            };
            assert_eq!(failure.kind, FailureKind::NameNotFound, "{name}");
            assert!(failure.detail.contains("no server is asked"), "{failure:?}");
        }
        for name in ["example", "www.example", "a.test", "local.example", "onion.test", "xlocal", "a-alt.com"]
        {
            let mut buffer = String::new();
            assert!(
                matches!(judge(name, &mut buffer, Families::Both, |_| true, |_| None), Known::Ask(_)),
                "{name}"
            );
        }
    }

    #[test]
    fn addresses_need_no_server() {
        for name in ["127.0.0.1", "::1", "[::1]"] {
            let mut buffer = String::new();
            assert!(
                matches!(judge(name, &mut buffer, Families::V4, |_| true, |_| None), Known::Addresses(_)),
                "{name}"
            );
        }
        let mut buffer = String::new();
        assert_eq!(
            judge("App.Localhost", &mut buffer, Families::Both, |_| true, |_| None),
            Known::Addresses(loopback(Families::Both))
        );
    }
}
