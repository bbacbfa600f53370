//! Encodings of field types without one of their own: compact in MessagePack, readable in JSON.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lycosa_url::read_text;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::Purpose;

/// Whether a field has its default value and is omitted: most fields are empty in most records.
pub(crate) fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

impl Serialize for Purpose {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Purpose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "purpose", |name| {
            Purpose::from_name(name).ok_or_else(|| "; allowed: page, robots, sitemap, resource".to_owned())
        })
    }
}

/// Bytes: binary in MessagePack; in JSON text, or `base64:` and base64 if they are not UTF-8 or begin with
/// `base64:`.
#[derive(Default)]
pub(crate) struct Blob<'a>(pub(crate) Cow<'a, [u8]>);

/// The prefix of base64 in JSON.
const BASE64: &str = "base64:";

impl Serialize for Blob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.starts_with(BASE64) => serializer.serialize_str(text),
            _ => serializer.collect_str(&format_args!("{BASE64}{}", STANDARD.encode(&self.0))),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Blob<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(BlobVisitor),
            false => deserializer.deserialize_bytes(BlobVisitor),
        }
    }
}

struct BlobVisitor;

impl<'de> Visitor<'de> for BlobVisitor {
    type Value = Blob<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Blob(bytes.into()))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Blob(bytes.to_vec().into()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(Blob(bytes.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let bytes = match text.strip_prefix(BASE64) {
            Some(encoded) => STANDARD.decode(encoded).map_err(E::custom)?,
            None => text.as_bytes().to_vec(),
        };
        Ok(Blob(bytes.into()))
    }

    /// Logs before 0.1 have a sequence of numbers instead.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        Ok(Blob(bytes.into()))
    }
}

/// A field of [`bytes::Bytes`].
pub(crate) mod bytes {
    use ::bytes::Bytes;

    use super::{Blob, Cow, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        Blob(Cow::Borrowed(bytes)).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        Ok(Blob::deserialize(deserializer)?.0.into_owned().into())
    }
}

/// An address: its 4 or 16 bytes in MessagePack, its text in JSON.
struct Address(std::net::IpAddr);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            address if serializer.is_human_readable() => serializer.collect_str(&address),
            std::net::IpAddr::V4(address) => serializer.serialize_bytes(&address.octets()),
            std::net::IpAddr::V6(address) => serializer.serialize_bytes(&address.octets()),
        }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return read_text(deserializer, "address", |text| {
                text.parse().map(Address).map_err(|_| String::new())
            });
        }
        let bytes = Blob::deserialize(deserializer)?.0;
        match (<[u8; 4]>::try_from(&*bytes), <[u8; 16]>::try_from(&*bytes)) {
            (Ok(v4), _) => Ok(Address(v4.into())),
            (_, Ok(v6)) => Ok(Address(v6.into())),
            _ => Err(D::Error::custom(format!("an address of {} bytes; allowed: 4, 16", bytes.len()))),
        }
    }
}

/// A field of `Option<IpAddr>`.
pub(crate) mod address {
    use std::net::IpAddr;

    use super::{Address, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        address: &Option<IpAddr>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        address.map(Address).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<IpAddr>, D::Error> {
        Ok(Option::<Address>::deserialize(deserializer)?.map(|address| address.0))
    }
}

/// A field of `Vec<IpAddr>`.
pub(crate) mod addresses {
    use std::net::IpAddr;

    use super::{Address, Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(addresses: &[IpAddr], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(addresses.iter().copied().map(Address))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpAddr>, D::Error> {
        Ok(Vec::<Address>::deserialize(deserializer)?.into_iter().map(|address| address.0).collect())
    }
}
