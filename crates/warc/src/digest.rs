//! Digests of records: SHA-1 in Base32, as archives write them.

use sha1::{Digest, Sha1};

/// The alphabet of RFC 4648 section 6.
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// `sha1:` and the digest of some bytes in Base32.
pub fn sha1(parts: &[&[u8]]) -> String {
    let mut digest = Sha1::new();
    parts.iter().for_each(|part| digest.update(part));
    format!("sha1:{}", base32(&digest.finalize()))
}

/// Bytes in Base32, without padding. 20 bytes have 32 letters.
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for five in bytes.chunks(5) {
        let mut number = [0; 8];
        number[3..3 + five.len()].copy_from_slice(five);
        let number = u64::from_be_bytes(number);
        let letters = (five.len() * 8).div_ceil(5);
        for place in 0..letters {
            text.push(char::from(ALPHABET[(number >> (35 - 5 * place)) as usize & 31]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_digest_of_nothing_is_known() {
        assert_eq!(sha1(&[]), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(sha1(&[b"ab", b"c"]), sha1(&[b"abc"]));
    }
}
