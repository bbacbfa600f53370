//! Host names in normal form: lower case, no dot at the end, IDNA (UTS 46) applied, lengths checked.

use std::fmt;

/// The longest name in text without the root's dot (RFC 1035 section 2.3.4: 255 bytes on the wire).
pub const MAX_NAME: usize = 253;

/// The longest label.
pub const MAX_LABEL: usize = 63;

/// Why a text is no host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadName {
    /// There is nothing, or only the root's dot.
    Empty,
    /// It has more than [`MAX_NAME`] bytes.
    TooLong,
    /// Two dots stand together, or one at the start.
    EmptyLabel,
    /// A label has more than [`MAX_LABEL`] bytes.
    LongLabel,
    /// It is an address, which no server has to be asked for.
    Address,
    /// A byte that no host name has: a space, a control character.
    BadByte,
    /// It is not valid by IDNA (UTS 46).
    Idna,
}

impl fmt::Display for BadName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            BadName::Empty => "the name is empty",
            BadName::TooLong => "the name has more than 253 bytes",
            BadName::EmptyLabel => "a label is empty",
            BadName::LongLabel => "a label has more than 63 bytes",
            BadName::Address => "this is an address, not a name",
            BadName::BadByte => "only visible characters are allowed",
            BadName::Idna => "the name is not valid by IDNA (UTS 46)",
        })
    }
}

impl std::error::Error for BadName {}

/// A host name in normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName<'n>(&'n str);

impl<'n> HostName<'n> {
    /// Checks a name that is in normal form already.
    pub fn new(text: &'n str) -> Result<Self, BadName> {
        let _ = text;
        todo!()
    }

    /// The normal form of a name; `buffer` holds it where it differs from `text`.
    pub fn normalize(text: &'n str, buffer: &'n mut String) -> Result<Self, BadName> {
        let _ = (text, buffer);
        todo!()
    }

    /// The text.
    pub fn as_str(self) -> &'n str {
        self.0
    }
}
