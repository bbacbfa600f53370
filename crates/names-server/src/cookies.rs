//! DNS cookies (RFC 7873) in the format of RFC 9018 section 4: a client that returns one has received an
//! answer at its address before. Servers with the same secrets, of any vendor, accept each other's cookies.

use std::hash::Hasher as _;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

use crate::question::Cookie;
use crate::secrets::{CookieSecrets, Secret};

/// Lifetime of a cookie in seconds (RFC 9018 section 4.3).
const LIFE: u32 = 3_600;

/// Age in seconds from which a cookie is renewed (RFC 9018 section 4.3).
const OLD: u32 = 1_800;

/// Tolerated clock skew in seconds for cookies from the future (RFC 9018 section 4.3).
const AHEAD: u32 = 300;

/// Version of the format (RFC 9018 section 4.1).
const VERSION: u8 = 1;

/// Makes and verifies cookies; has a random secret for servers without a configured one.
pub(crate) struct Cookies {
    own: CookieSecrets,
}

impl Cookies {
    /// Draws a random secret.
    pub(crate) fn new() -> std::io::Result<Self> {
        let mut first = [0; 16];
        getrandom::fill(&mut first).map_err(std::io::Error::from)?;
        Ok(Cookies { own: CookieSecrets { first, second: None } })
    }

    /// Verifies a client's cookie with these secrets, or with its own. Returns whether the server cookie is
    /// valid, and the cookie for the answer. `second`: Unix time, which servers that share secrets have in
    /// common.
    pub(crate) fn judge(
        &self,
        secrets: Option<&CookieSecrets>,
        cookie: Cookie,
        client: IpAddr,
        second: u64,
    ) -> (bool, Cookie) {
        let secrets = secrets.unwrap_or(&self.own);
        let now = second as u32; // serial number arithmetic (RFC 9018)
        let shown = cookie.server.and_then(|server| {
            let [version, _, _, _, a, b, c, d, ..] = server;
            let made = u32::from_be_bytes([a, b, c, d]);
            let age = now.wrapping_sub(made);
            let is_timely = age <= LIFE || made.wrapping_sub(now) <= AHEAD;
            let is_by = |secret: &Secret| is_same(&sign(secret, cookie.client, client, server), &server);
            match () {
                () if version != VERSION || !is_timely => None,
                () if is_by(&secrets.first) => Some((server, age < OLD)),
                // Made with a secret that is being phased out or in.
                () => secrets.second.as_ref().filter(|secret| is_by(secret)).map(|_| (server, false)),
            }
        });
        let server = match shown {
            Some((server, true)) => server,
            _ => {
                let [a, b, c, d] = now.to_be_bytes();
                let made = [VERSION, 0, 0, 0, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0];
                sign(&secrets.first, cookie.client, client, made)
            }
        };
        (shown.is_some(), Cookie { client: cookie.client, server: Some(server) })
    }
}

/// Completes a server cookie with the hash over the client cookie, version, reserved bytes (as received, RFC
/// 9018 section 4.2), time and client address.
fn sign(secret: &Secret, cookie: [u8; 8], client: IpAddr, mut server: [u8; 16]) -> [u8; 16] {
    let mut hasher = SipHasher24::new_with_key(secret);
    hasher.write(&cookie);
    hasher.write(&server[..8]);
    match client {
        IpAddr::V4(address) => hasher.write(&address.octets()),
        IpAddr::V6(address) => hasher.write(&address.octets()),
    }
    server[8..].copy_from_slice(&hasher.finish().to_le_bytes());
    server
}

/// Compares in constant time.
fn is_same(one: &[u8; 16], other: &[u8; 16]) -> bool {
    one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: [u8; 8] = *b"\x24\x64\xc4\xab\xcf\x10\xc9\x57";

    /// Secrets as RFC 9018 prints them.
    fn secrets(first: &str, second: Option<&str>) -> CookieSecrets {
        let secret = |text| u128::from_str_radix(text, 16).unwrap().to_be_bytes();
        CookieSecrets { first: secret(first), second: second.map(secret) }
    }

    /// A cookie of 8 or 24 bytes as RFC 9018 prints it.
    fn cookie(text: &str) -> Cookie {
        let byte = |at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
        let server = (text.len() == 48).then(|| std::array::from_fn(|at| byte(at + 8)));
        Cookie { client: std::array::from_fn(byte), server }
    }

    /// Checks a vector of RFC 9018 appendix A: secrets, client, cookie sent and when, whether it is valid,
    /// cookie of the answer.
    fn check(by: &CookieSecrets, client: &str, shown: &str, now: u64, is_good: bool, given: &str) {
        let judged = Cookies::new().unwrap().judge(Some(by), cookie(shown), client.parse().unwrap(), now);
        assert_eq!(judged, (is_good, cookie(given)), "{shown}");
    }

    #[test]
    fn they_are_those_of_appendix_a_of_rfc_9018() {
        let by = secrets("e5e973e5a6b2a43f48e7dc849e37bfcf", None);
        // A.1: a client learns a cookie.
        let first = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
        check(&by, "198.51.100.100", "2464c4abcf10c957", 0x5cf7_9f11, false, first);
        check(&by, "198.51.100.100", first, 0x5cf7_9f12, true, first);
        // A.2: the cookie is renewed 40 minutes later.
        let renewed = "2464c4abcf10c957010000005cf7a871d4a564a1442aca77";
        check(&by, "198.51.100.100", first, 0x5cf7_a871, true, renewed);
        // A.3: non-zero reserved bytes are part of the hash; later the cookie has expired.
        let reserved = "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5";
        let renewed = "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e";
        check(&by, "203.0.113.203", reserved, 0x5cf7_a9ac, false, renewed);
        check(&by, "203.0.113.203", reserved, 0x5cf7_8f72, true, reserved);
        // A.4: IPv6, while a new secret replaces the old one.
        let (old, new) = ("dd3bdf9344b678b185a6f5cb60fca715", "445536bcd2513298075a5d379663c962");
        let shown = "22681ab97d52c298010000005cf7c57926556bd0934c72f8";
        let renewed = "22681ab97d52c298010000005cf7c609a6bb79d16625507a";
        let client = "2001:db8:220:1:59de:d0f4:8769:82b8";
        check(&secrets(new, Some(old)), client, shown, 0x5cf7_c609, true, renewed);
        check(&secrets(new, None), client, shown, 0x5cf7_c609, false, renewed);
        check(&secrets(old, Some(new)), client, shown, 0x5cf7_c609, true, shown);
    }

    #[test]
    fn another_version_is_nobody_s_cookie() {
        let by = secrets("e5e973e5a6b2a43f48e7dc849e37bfcf", None);
        let client = IpAddr::from([198, 51, 100, 100]);
        let server =
            sign(&by.first, CLIENT, client, [2, 0, 0, 0, 0x5c, 0xf7, 0x9f, 0x11, 0, 0, 0, 0, 0, 0, 0, 0]);
        let shown = Cookie { client: CLIENT, server: Some(server) };
        assert!(!Cookies::new().unwrap().judge(Some(&by), shown, client, 0x5cf7_9f11).0);
    }

    #[test]
    fn only_who_got_it_may_show_it_and_only_in_time() {
        let (cookies, home) = (Cookies::new().unwrap(), IpAddr::from([127, 0, 0, 1]));
        let now = 1_800_000_000;
        let (known, first) = cookies.judge(None, Cookie { client: CLIENT, server: None }, home, now);
        assert!(!known);
        let (known, second) = cookies.judge(None, first, home, now + 1_000);
        assert!(known && second == first);
        let (known, third) = cookies.judge(None, first, home, now + 2_000);
        assert!(known && third != first, "an old one is replaced");
        assert!(!cookies.judge(None, first, home, now + 3_601).0);
        assert!(
            cookies.judge(None, first, home, now - 200).0 && !cookies.judge(None, first, home, now - 400).0
        );
        assert!(!cookies.judge(None, first, [127, 0, 0, 2].into(), now).0);
        assert!(!cookies.judge(None, Cookie { client: [0; 8], ..first }, home, now).0);
        assert!(!Cookies::new().unwrap().judge(None, first, home, now).0, "another server's");
    }
}
