//! Header fields in records: bytes in MessagePack, objects that people can read in JSON.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Header fields as [`crate::Outcome`] has them.
type Headers<'a> = Vec<(Cow<'a, str>, Cow<'a, [u8]>)>;

/// A field in JSON: its value as text, or as base64 where it is no UTF-8.
#[derive(Serialize, Deserialize)]
struct Readable<'a> {
    name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
}

/// Writes header fields.
pub(crate) fn serialize<S: Serializer>(headers: &Headers<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    if !serializer.is_human_readable() {
        return serializer
            .collect_seq(headers.iter().map(|(name, value)| (name, Raw(Cow::Borrowed(&**value)))));
    }
    serializer.collect_seq(headers.iter().map(|(name, bytes)| {
        let value = std::str::from_utf8(bytes).ok();
        let value_base64 = value.is_none().then(|| STANDARD.encode(bytes));
        Readable { name: Cow::Borrowed(&**name), value: value.map(Cow::Borrowed), value_base64 }
    }))
}

/// Reads header fields.
pub(crate) fn deserialize<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Headers<'a>, D::Error> {
    if !deserializer.is_human_readable() {
        let fields = Vec::<(String, Raw<'static>)>::deserialize(deserializer)?;
        return Ok(fields.into_iter().map(|(name, value)| (name.into(), value.0)).collect());
    }
    let fields = Vec::<Readable<'static>>::deserialize(deserializer)?;
    let field = |field: Readable<'static>| match (field.value, field.value_base64) {
        (Some(value), None) => Ok((field.name, Cow::Owned(value.into_owned().into_bytes()))),
        (None, Some(text)) => {
            let bytes =
                STANDARD.decode(text).map_err(|error| D::Error::custom(format!("value_base64: {error}")))?;
            Ok((field.name, Cow::Owned(bytes)))
        }
        _ => Err(D::Error::custom("a header field has either value or value_base64")),
    };
    fields.into_iter().map(field).collect()
}

/// Bytes as such: serde's own way would write each as a number.
struct Raw<'a>(Cow<'a, [u8]>);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Raw<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(RawVisitor)
    }
}

/// Takes bytes, and the numbers that logs before 0.1 have in their place.
struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Raw(bytes.to_vec().into()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(Raw(bytes.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        Ok(Raw(bytes.into()))
    }
}
