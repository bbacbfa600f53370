//! Which addresses connections may be made to. Checked twice: after resolution and at connect (DNS
//! rebinding).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::is_blocked_port;

/// A block of addresses in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The canonical form of an address: an IPv4-mapped IPv6 address (`::ffff:0:0/96`, RFC 4291 section 2.5.5.2)
/// and one with NAT64's well-known prefix (`64:ff9b::/96`, RFC 6052 section 2.1) become IPv4. They reach the
/// same host, so that block list, pace and policy must not distinguish them.
pub fn canonical_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                IpAddr::V4(embedded_v4(high, low))
            }
            _ => address,
        },
        IpAddr::V4(_) => address,
    }
}

/// The IPv4 address of the site that a 6to4 address (`2002::/16`, RFC 3056) belongs to: another host of the
/// same site.
pub fn owner_of_6to4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V6(v6) => match v6.segments() {
            [0x2002, high, low, ..] => Some(embedded_v4(high, low)),
            _ => None,
        },
        IpAddr::V4(_) => None,
    }
}

/// The IPv4 address in two groups of an IPv6 address.
fn embedded_v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

impl Network {
    /// Whether the block contains an address in its canonical form ([`canonical_address`]), or, within
    /// NAT64's prefix, as IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        let canonical = canonical_address(address);
        self.holds(canonical) || (canonical != address.to_canonical() && self.holds(address))
    }

    /// Whether the block contains an address as it is written.
    fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix); // 32 shifts all bits out: every address matches
                u32::from(network).checked_shr(shift) == u32::from(address).checked_shr(shift)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix);
                u128::from(network).checked_shr(shift) == u128::from(address).checked_shr(shift)
            }
            _ => false,
        }
    }

    /// Converts a block of IPv6 addresses that stand for IPv4 to a block of IPv4. NAT64's whole prefix is not
    /// converted: it does not mean all of IPv4.
    fn canonical(self) -> Self {
        let least = if self.address.to_canonical() == self.address { 97 } else { 96 };
        match canonical_address(self.address) {
            address @ IpAddr::V4(_) if self.address.is_ipv6() && self.prefix >= least => {
                Network { address, prefix: self.prefix - 96 }
            }
            _ => self,
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
        Ok(Network { address, prefix }.canonical())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Permits public addresses and unblocked ports, and those that the job allows.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    allowed: Vec<Network>,
    ports: Vec<u16>,
}

impl AddressPolicy {
    /// A policy that allows these networks besides the public Internet.
    pub fn new(allowed: Vec<Network>) -> Self {
        AddressPolicy { allowed, ports: Vec::new() }
    }

    /// Allows these ports besides those that are not blocked.
    pub fn with_ports(self, ports: Vec<u16>) -> Self {
        AddressPolicy { ports, ..self }
    }

    /// Whether a page may be fetched from the port.
    pub fn permits_port(&self, port: u16) -> bool {
        !is_blocked_port(port) || self.ports.contains(&port)
    }

    /// Whether a connection to the address is permitted.
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.allowed.iter().any(|network| network.contains(address))
    }
}

/// Whether an address is globally reachable unicast (IANA special-purpose registries, RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match canonical_address(address) {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Whether an IPv4 address is in no special-purpose block; 169.254.169.254, cloud metadata, is link-local.
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

/// Whether an IPv6 address is global unicast (2000::/3) and in no special block; for 6to4 addresses, whether
/// the embedded IPv4 address is public.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    if let Some(owner) = owner_of_6to4(IpAddr::V6(v6)) {
        return is_public_v4(owner);
    }
    match v6.segments() {
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

    #[test]
    fn ipv4_written_as_ipv6_is_ipv4() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for text in ["1.2.3.4", "::ffff:1.2.3.4", "64:ff9b::1.2.3.4", "64:ff9b::102:304"] {
            assert_eq!(canonical_address(address(text)), address("1.2.3.4"), "{text}");
        }
        for text in ["::1.2.3.4", "64:ff9b:1::1.2.3.4", "2002:102:304::1", "2606:2800:220:1::1"] {
            assert_eq!(canonical_address(address(text)), address(text));
        }
        assert_eq!(owner_of_6to4(address("2002:102:304::1")).map(IpAddr::V4), Some(address("1.2.3.4")));
        assert_eq!(owner_of_6to4(address("2003:102:304::1")), None);
    }

    #[test]
    fn a_network_holds_an_address_however_both_are_written() {
        for network in ["192.0.2.0/24", "::ffff:192.0.2.0/120", "64:ff9b::192.0.2.0/120"] {
            let network: Network = network.parse().unwrap();
            for inside in ["192.0.2.7", "::ffff:192.0.2.7", "64:ff9b::192.0.2.7"] {
                assert!(network.contains(inside.parse().unwrap()), "{network} {inside}");
            }
            for outside in ["192.0.3.7", "::ffff:192.0.3.7", "64:ff9b::192.0.3.7", "::192.0.2.7"] {
                assert!(!network.contains(outside.parse().unwrap()), "{network} {outside}");
            }
        }
        let prefix: Network = "64:ff9b::/96".parse().unwrap();
        assert!(prefix.contains("64:ff9b::192.0.2.7".parse().unwrap()));
        assert!(!prefix.contains("192.0.2.7".parse().unwrap()));
        assert!("::ffff:0:0/96".parse::<Network>().unwrap().contains("192.0.2.7".parse().unwrap()));
        assert!(!"::/0".parse::<Network>().unwrap().contains("::ffff:10.0.0.1".parse().unwrap()));
    }
}
