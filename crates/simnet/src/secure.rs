//! The transport part of the world: hosts on HTTPS, the quality of their certificates, and the formats of IPv4 and
//! IPv6 addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::params::Params;
use crate::random::Rng;
use crate::world::World;

/// The network of all IPv6 addresses: fd00::/64 (unique local, RFC 4193).
pub(crate) const NETWORK6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0);

/// Purposes of random streams.
mod purpose {
    /// Whether a host is on HTTPS.
    pub(super) const SCHEME: u64 = 41;
    /// Quality of its certificate.
    pub(super) const CERTIFICATE: u64 = 42;
}

/// Quality of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certificate {
    /// Valid.
    Good,
    /// Expired.
    Expired,
    /// Not yet valid.
    NotYetValid,
    /// Issued for another name.
    WrongName,
    /// Self-signed.
    SelfSigned,
    /// Signed by an unknown authority.
    UnknownAuthority,
    /// The intermediate certificate is not sent.
    Incomplete,
}

impl Certificate {
    /// All variants, `Good` first.
    pub const ALL: [Self; 7] = [
        Self::Good,
        Self::Expired,
        Self::NotYetValid,
        Self::WrongName,
        Self::SelfSigned,
        Self::UnknownAuthority,
        Self::Incomplete,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::WrongName => "wrong_name",
            Self::SelfSigned => "self_signed",
            Self::UnknownAuthority => "unknown_authority",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Counts of TLS handshakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Successful.
    pub good: u32,
    /// Failed on either side.
    pub failed: u32,
}

/// Shares per million hosts.
pub(crate) struct Shares {
    /// Hosts on HTTPS.
    https: u32,
    /// Leaf hosts on HTTPS with a bad certificate.
    bad_certificates: u32,
}

impl Shares {
    /// Takes the shares from checked parameters.
    pub(crate) fn new(params: &Params) -> Self {
        let millionths = |share: f64| (share * 1e6) as u32;
        // Only leaves of the tree of hosts, 3 of 4, may have bad certificates, or they would hide other hosts.
        let leaves = (params.bad_certificates * 4.0 / 3.0).min(1.0);
        Self { https: millionths(params.https), bad_certificates: millionths(leaves) }
    }
}

impl World {
    /// Whether the host's URLs are `https`; its HTTP port only redirects to them.
    pub fn is_https(&self, host: u32) -> bool {
        let share = self.shares.https;
        share > 0 && self.rng(purpose::SCHEME, host, 0).below(1_000_000) < share
    }

    /// The host's certificate; `None` for a host that is not on HTTPS.
    pub fn certificate(&self, host: u32) -> Option<Certificate> {
        if !self.is_https(host) {
            return None;
        }
        let mut rng: Rng = self.rng(purpose::CERTIFICATE, host, 0);
        let bad = self.is_childless(host) && rng.below(1_000_000) < self.shares.bad_certificates;
        let kinds = Certificate::ALL.len() as u32 - 1;
        // Index 0 is the good one.
        Some(Certificate::ALL[if bad { 1 + rng.below(kinds) as usize } else { 0 }])
    }

    /// Whether a careful client accepts the host: without TLS, or with a good certificate.
    pub fn is_trusted(&self, host: u32) -> bool {
        self.certificate(host).is_none_or(|certificate| certificate == Certificate::Good)
    }

    /// Whether the host is served at an address at a world age in unscaled seconds.
    pub(crate) fn serves_at(&self, host: u32, address: IpAddr, seconds: f64) -> bool {
        match address {
            IpAddr::V4(address) => self.lives_at(host, address, seconds),
            IpAddr::V6(address) => self.address6(host) == Some(address),
        }
    }
}

/// Maps an IPv4 address to IPv6: 127.1.0.5 to fd00::7f01:5.
pub(crate) fn map_to_v6(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(NETWORK6.to_bits() | u128::from(address.to_bits()))
}

/// First byte of all IPv4 addresses of hosts.
const LOOPBACK: u32 = 127 << 24;

/// Encodes an address in 32 bits: IPv4 unchanged, IPv6 as its last 24 bits. `None` for an address that no host can have.
///
/// IPv4 addresses here begin with 127, so the two ranges are disjoint.
pub(crate) fn compact(address: IpAddr) -> Option<u32> {
    match address {
        IpAddr::V4(address) => address.is_loopback().then(|| address.to_bits()),
        IpAddr::V6(address) => {
            let end = u32::try_from(address.to_bits().checked_sub(NETWORK6.to_bits())?).ok()?;
            end.checked_sub(LOOPBACK).filter(|&end| end < 1 << 24)
        }
    }
}

/// The inverse of [`compact`].
pub(crate) fn expand(address: u32) -> IpAddr {
    if address < 1 << 24 {
        IpAddr::V6(map_to_v6((LOOPBACK | address).into()))
    } else {
        IpAddr::V4(address.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world with these shares.
    fn world(https: f64, bad_certificates: f64, ipv6_share: f64) -> World {
        let ipv6 = ipv6_share > 0.0;
        World::new(&Params { hosts: 4_000, https, bad_certificates, ipv6, ipv6_share, ..Params::default() })
    }

    #[test]
    fn shares_are_as_asked() {
        let world = world(0.6, 0.3, 0.4);
        let count = |test: &dyn Fn(u32) -> bool| (0..4_000).filter(|&host| test(host)).count();
        let https = count(&|host| world.is_https(host));
        assert!((2_250..2_550).contains(&https), "{https}");
        let bad = count(&|host| !world.is_trusted(host));
        assert!((27..33).contains(&(bad * 100 / https)), "{bad}");
        for kind in &Certificate::ALL[1..] {
            assert!(count(&|host| world.certificate(host) == Some(*kind)) > bad / 12, "{kind:?}");
        }
        let six = count(&|host| world.address6(host).is_some());
        assert!((1_590..1_610).contains(&six), "{six}");
    }

    #[test]
    fn without_shares_nothing_is_new() {
        let world = world(0.0, 1.0, 0.0);
        assert!((0..4_000).all(|host| !world.is_https(host) && world.is_trusted(host)));
        assert!((0..4_000).all(|host| world.address6(host).is_none()));
    }

    #[test]
    fn addresses_survive_being_compacted() {
        let world = world(0.0, 0.0, 1.0);
        for host in 0..4_000 {
            for address in [IpAddr::V4(world.address(host)), IpAddr::V6(world.address6(host).unwrap())] {
                assert_eq!(compact(address).map(expand), Some(address));
                assert!(world.serves_at(host, address, 0.0));
            }
        }
        for foreign in
            ["::1", "fd00::1:5", "fd00::1:7f01:5", "fd00::8001:5", "fd01::7f01:5", "ffff::", "10.0.0.1"]
        {
            assert_eq!(compact(foreign.parse().unwrap()), None, "{foreign}");
        }
    }
}
