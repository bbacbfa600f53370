//! Cookies (RFC 7873), made as RFC 9018 section 4 says: who shows one again has received an answer at its address before.

use std::hash::Hasher as _;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

use super::question::Cookie;

/// For how many seconds a cookie is good (RFC 9018 section 4.3).
const LIFE: u32 = 3_600;

/// From what age on, in seconds, it is replaced (RFC 9018 section 4.3).
const OLD: u32 = 1_800;

/// For how many seconds it may lie in the future, by clocks that differ (RFC 9018 section 4.3).
const AHEAD: u32 = 300;

/// The secret by which cookies are made.
pub(super) struct Cookies {
    key: [u8; 16],
}

impl Cookies {
    /// A secret of its own.
    pub(super) fn new() -> std::io::Result<Self> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(std::io::Error::from)?;
        Ok(Cookies { key })
    }

    /// Judges a client's cookie: whether the server's part is right, and the cookie that the client is to have from now on.
    pub(super) fn judge(&self, cookie: Cookie, client: IpAddr, second: u64) -> (bool, Cookie) {
        let now = second as u32; // serial number arithmetic, as RFC 9018 has it
        let shown = cookie.server.and_then(|server| {
            let made = u32::from_be_bytes([server[4], server[5], server[6], server[7]]);
            let age = now.wrapping_sub(made);
            let is_timely = age <= LIFE || made.wrapping_sub(now) <= AHEAD;
            (is_timely && same(&self.make(cookie.client, client, made), &server)).then_some((server, age))
        });
        let server = match shown {
            Some((server, age)) if age < OLD => server,
            _ => self.make(cookie.client, client, now),
        };
        (shown.is_some(), Cookie { client: cookie.client, server: Some(server) })
    }

    /// Version 1, time, and the hash of all that it vouches for.
    fn make(&self, cookie: [u8; 8], client: IpAddr, made: u32) -> [u8; 16] {
        let mut server = [0; 16];
        server[0] = 1;
        server[4..8].copy_from_slice(&made.to_be_bytes());
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&cookie);
        hasher.write(&server[..8]);
        match client {
            IpAddr::V4(address) => hasher.write(&address.octets()),
            IpAddr::V6(address) => hasher.write(&address.octets()),
        }
        server[8..].copy_from_slice(&hasher.finish().to_le_bytes());
        server
    }
}

/// Compares in a time that does not depend on where they differ.
fn same(one: &[u8; 16], other: &[u8; 16]) -> bool {
    one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: [u8; 8] = *b"\x24\x64\xc4\xab\xcf\x10\xc9\x57";

    #[test]
    fn it_is_made_as_rfc_9018_has_it() {
        // Appendix A.1.
        let key = u128::from_str_radix("e5e973e5a6b2a43f48e7dc849e37bfcf", 16).unwrap().to_be_bytes();
        let made = Cookies { key }.make(CLIENT, [198, 51, 100, 100].into(), 0x5cf7_9f11);
        let told = u128::from_str_radix("010000005cf79f111f8130c3eee29480", 16).unwrap().to_be_bytes();
        assert_eq!(made, told);
    }

    #[test]
    fn only_who_got_it_may_show_it_and_only_in_time() {
        let (cookies, home) = (Cookies::new().unwrap(), IpAddr::from([127, 0, 0, 1]));
        let now = 1_800_000_000;
        let (known, first) = cookies.judge(Cookie { client: CLIENT, server: None }, home, now);
        assert!(!known);
        let (known, second) = cookies.judge(first, home, now + 1_000);
        assert!(known && second == first);
        let (known, third) = cookies.judge(first, home, now + 2_000);
        assert!(known && third != first, "an old one is replaced");
        assert!(!cookies.judge(first, home, now + 3_601).0);
        assert!(cookies.judge(first, home, now - 200).0 && !cookies.judge(first, home, now - 400).0);
        assert!(!cookies.judge(first, [127, 0, 0, 2].into(), now).0);
        assert!(!cookies.judge(Cookie { client: [0; 8], ..first }, home, now).0);
        assert!(!Cookies::new().unwrap().judge(first, home, now).0, "another server's");
    }
}
