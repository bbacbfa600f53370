//! Keys of names, by which hosts and registered domains are known where their names would take too much memory.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher as _};

use siphasher::sip::SipHasher13;

/// Computes keys under a secret: no site can construct two names with one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameKeys {
    secret: [u8; 16],
}

impl Default for NameKeys {
    /// Draws a secret.
    fn default() -> Self {
        let random = RandomState::new();
        let secret = u128::from(random.hash_one(0)) << 64 | u128::from(random.hash_one(1));
        NameKeys { secret: secret.to_le_bytes() }
    }
}

impl NameKeys {
    /// The key of a name.
    pub(crate) fn of(&self, name: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        hasher.write(name.as_bytes());
        hasher.finish()
    }

    /// Appends the secret to a record of a snapshot: keys that it names stay valid.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(&self.secret);
    }

    /// Reads it.
    pub(crate) fn unpack(from: &mut &[u8]) -> Option<Self> {
        let (secret, rest) = from.split_first_chunk::<16>()?;
        *from = rest;
        Some(NameKeys { secret: *secret })
    }
}
