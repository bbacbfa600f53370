//! What a URL is known by.

use std::hash::Hasher as _;
use std::io;

use lycosa_url::Digest;
use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// What a URL's key is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyKind {
    /// All 16 bytes of the MD5: two of 100 million URLs collide with probability 1.5e-23, unless someone makes them
    /// collide on purpose.
    #[default]
    Md5,
    /// The middle 8 bytes of the MD5 (`md5-16`: "16-digit MD5"), as published: 2.7e-4.
    Md5Published,
    /// SipHash-1-3 of 128 bits under a secret of this set: like the first, and no site can construct collisions.
    Keyed,
}

impl KeyKind {
    /// Bytes of a key that are not always zero.
    pub(super) fn width(self) -> usize {
        match self {
            KeyKind::Md5 | KeyKind::Keyed => 16,
            KeyKind::Md5Published => 8,
        }
    }

    /// The number that stands for it in files.
    pub(super) fn number(self) -> u8 {
        match self {
            KeyKind::Md5 => 1,
            KeyKind::Md5Published => 2,
            KeyKind::Keyed => 3,
        }
    }
}

/// The secret of a keyed set; the others have none.
pub(super) type Secret = [u8; 16];

/// Draws a secret where the kind has one.
pub(super) fn draw(kind: KeyKind) -> io::Result<Secret> {
    let mut secret = Secret::default();
    if kind == KeyKind::Keyed {
        getrandom::fill(&mut secret)?;
    }
    Ok(secret)
}

/// The key of what has this digest and this text.
pub(super) fn of(digest: &Digest, text: &[u8], kind: KeyKind, secret: &Secret) -> Digest {
    match kind {
        KeyKind::Md5 => *digest,
        KeyKind::Md5Published => {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&digest[4..12]);
            key
        }
        KeyKind::Keyed => {
            let mut hasher = SipHasher13::new_with_key(secret);
            hasher.write(text);
            hasher.finish128().as_bytes()
        }
    }
}
