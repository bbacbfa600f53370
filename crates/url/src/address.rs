//! Which addresses may be spoken to. Asked twice: after resolution and at connect (DNS rebinding).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A block of addresses in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether the block contains an address; IPv4-mapped IPv6 addresses count as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix); // 32 empties the comparison: everything matches
                u32::from(network).checked_shr(shift) == u32::from(address).checked_shr(shift)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix);
                u128::from(network).checked_shr(shift) == u128::from(address).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const ALLOWED: &str = "an address or a network such as 127.0.0.0/8 or fd00::/64";
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| ALLOWED)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(bits), str::parse::<u8>).map_err(|_| ALLOWED)?;
        if prefix > bits {
            return Err(ALLOWED);
        }
        Ok(Network { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Public addresses, and those that the job allows by name.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    allowed: Vec<Network>,
}

impl AddressPolicy {
    /// A policy that allows these networks beside the public Internet.
    pub fn new(allowed: Vec<Network>) -> Self {
        AddressPolicy { allowed }
    }

    /// Whether a connection to the address is permitted.
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.allowed.iter().any(|network| network.contains(address))
    }
}

/// Whether an address is globally reachable unicast (IANA special-purpose registries, RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// IPv4 special-purpose blocks; 169.254.169.254, the clouds' metadata, is link-local.
fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let shared = a == 100 && b & 0xc0 == 64;
    let protocol = a == 192 && b == 0 && c == 0;
    let relay = a == 192 && b == 88 && c == 99;
    let benchmark = a == 198 && b & 0xfe == 18;
    !(a == 0
        || a >= 240
        || v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_multicast()
        || v4.is_documentation()
        || shared
        || protocol
        || relay
        || benchmark)
}

/// IPv6: global unicast 2000::/3 less its special blocks; embedded IPv4 addresses are judged as IPv4.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let s = v6.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_refused() {
        let policy = AddressPolicy::default();
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "::127.0.0.1",
        ] {
            assert!(!policy.permits(address.parse().unwrap()), "{address}");
        }
        for address in ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "64:ff9b::808:808"] {
            assert!(policy.permits(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_job_may_allow_a_network() {
        let policy = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap(), "fd00::/64".parse().unwrap()]);
        assert!(policy.permits("127.9.9.9".parse().unwrap()));
        assert!(policy.permits("::ffff:127.9.9.9".parse().unwrap()));
        assert!(policy.permits("fd00::5".parse().unwrap()));
        assert!(!policy.permits("fd01::5".parse().unwrap()));
        assert!(!policy.permits("10.0.0.1".parse().unwrap()));
        for bad in ["", "127.0.0.0/33", "x/8", "127.0.0.0/", "::/129"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        assert!("0.0.0.0/0".parse::<Network>().unwrap().contains("8.8.8.8".parse().unwrap()));
    }
}
