//! Encoding of this crate's types in records: URLs and stable names as text, which every encoding supports.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::{Bound, Bounds, CrawlUrl, Failure, FailureKind, NameClass};

/// Deserializes a value from text. `expected`: the kind of value, for errors.
pub fn read_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Text { expected, parse })
}

/// A visitor that parses a text.
struct Text<F> {
    expected: &'static str,
    parse: F,
}

impl<T, F: FnOnce(&str) -> Result<T, String>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(|why| E::custom(format!("{text:?} is not a valid {}{why}", self.expected)))
    }
}

impl Serialize for CrawlUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Parses the text, since an earlier version may have had another canonical form.
impl<'de> Deserialize<'de> for CrawlUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "URL to crawl", |text| {
            CrawlUrl::parse(text).map_err(|bad| format!(": {bad}"))
        })
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Reads an unknown kind as [`FailureKind::Cancelled`], which says nothing about the site.
impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "kind of failure", |name| {
            Ok(FailureKind::from_name(name).unwrap_or(FailureKind::Cancelled))
        })
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("Failure", 2)?;
        map.serialize_field("kind", &self.kind)?;
        map.serialize_field("detail", &self.detail)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Fields {
            kind: FailureKind,
            #[serde(default)]
            detail: String,
        }
        let Fields { kind, detail } = Fields::deserialize(deserializer)?;
        Ok(Failure { kind, detail })
    }
}

impl Serialize for NameClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NameClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "class of names", |name| {
            NameClass::from_name(name).ok_or_else(|| "; allowed: fast, slow, failed".to_owned())
        })
    }
}

impl Serialize for Bounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Bound::as_str))
    }
}

/// Ignores unknown bounds.
impl<'de> Deserialize<'de> for Bounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<Cow<str>>::deserialize(deserializer)?;
        Ok(names.iter().filter_map(|name| Bound::from_name(name)).collect())
    }
}
