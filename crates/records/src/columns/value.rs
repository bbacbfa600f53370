//! Values that callers set in columns.

use std::fmt;

use bytes::Bytes;

use crate::{Metadata, Request};

/// A value, independent of the caller's language.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    None,
    /// A flag.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Bytes),
    /// Texts.
    Texts(Vec<String>),
    /// Requests.
    Requests(Vec<Request>),
    /// Whole numbers.
    Numbers(Vec<i64>),
    /// Pairs of texts, such as header fields.
    Pairs(Vec<(String, String)>),
    /// JSON values by name.
    Map(Metadata),
}

/// A value that a column does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// The kind of value that was passed.
    pub given: &'static str,
    /// The kinds that are allowed.
    pub allowed: &'static str,
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is given; allowed: {}", self.given, self.allowed)
    }
}

/// Names and values.
type Pairs = Vec<(Box<str>, Box<str>)>;

impl Value {
    /// The kind of value.
    pub fn name(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Flag(_) => "a bool",
            Value::Number(_) => "an int",
            Value::Text(_) => "a str",
            Value::Bytes(_) => "bytes",
            Value::Texts(_) => "a list of str",
            Value::Requests(_) => "a list of Request",
            Value::Numbers(_) => "a list of int",
            Value::Pairs(_) => "a list of pairs of str",
            Value::Map(_) => "a dict",
        }
    }

    /// The error of a value that is not allowed.
    pub(crate) fn wrong(&self, allowed: &'static str) -> WrongValue {
        WrongValue { given: self.name(), allowed }
    }

    /// A flag.
    pub(crate) fn flag(self) -> Result<bool, WrongValue> {
        match self {
            Value::Flag(flag) => Ok(flag),
            other => Err(other.wrong("a bool")),
        }
    }

    /// A number of this type.
    pub(crate) fn number<N: TryFrom<i64>>(self, allowed: &'static str) -> Result<N, WrongValue> {
        match self {
            Value::Number(number) => N::try_from(number).map_err(|_| self.wrong(allowed)),
            other => Err(other.wrong(allowed)),
        }
    }

    /// A text, or `None`.
    pub(crate) fn text(self) -> Result<Option<Box<str>>, WrongValue> {
        match self {
            Value::None => Ok(None),
            Value::Text(text) => Ok(Some(text.into())),
            other => Err(other.wrong("a str or None")),
        }
    }

    /// Bytes.
    pub(crate) fn bytes(self) -> Result<Bytes, WrongValue> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong("bytes")),
        }
    }

    /// Texts.
    pub(crate) fn texts(self) -> Result<Vec<String>, WrongValue> {
        match self {
            Value::Texts(texts) => Ok(texts),
            other => Err(other.wrong("a list of str")),
        }
    }

    /// Numbers of this type.
    pub(crate) fn numbers<N: TryFrom<i64>>(self, allowed: &'static str) -> Result<Vec<N>, WrongValue> {
        match self {
            Value::Numbers(ref numbers) => {
                let numbers = numbers.iter().map(|number| N::try_from(*number)).collect::<Result<_, _>>();
                numbers.map_err(|_| self.wrong(allowed))
            }
            // An empty list is one of anything.
            Value::Texts(texts) if texts.is_empty() => Ok(Vec::new()),
            other => Err(other.wrong(allowed)),
        }
    }

    /// Pairs of texts.
    pub(crate) fn pairs(self) -> Result<Pairs, WrongValue> {
        match self {
            Value::Pairs(pairs) => {
                Ok(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
            }
            // An empty list is one of anything.
            Value::Texts(texts) if texts.is_empty() => Ok(Vec::new()),
            other => Err(other.wrong("a list of pairs of str")),
        }
    }

    /// JSON values by name.
    pub(crate) fn map(self) -> Result<Metadata, WrongValue> {
        match self {
            Value::Map(map) => Ok(map),
            Value::None => Ok(Metadata::new()),
            other => Err(other.wrong("a dict or None")),
        }
    }
}
