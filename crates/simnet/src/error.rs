//! Errors of a simulated Internet. Faults of clients are no errors here, but records in the ledger.

use std::borrow::Cow;
use std::fmt;

/// The result of this crate's fallible calls.
pub type Result<T> = std::result::Result<T, Error>;

/// A setting that is not allowed, or a system call that failed.
#[derive(Debug)]
pub enum Error {
    /// A setting has a value that is not allowed.
    Setting {
        /// The setting's name.
        name: Cow<'static, str>,
        /// The value it was given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A system call failed.
    System {
        /// The operation, in words.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// A setting error, with the value formatted.
    pub(crate) fn setting(
        name: impl Into<Cow<'static, str>>,
        value: impl ToString,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Setting { name: name.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// A port that is in use.
    pub(crate) fn taken(name: &'static str, port: u16) -> Self {
        let option = name.replace('_', "-");
        let allowed = format!("a port that nothing listens on; --{option} 0 takes any free one");
        Self::setting(name, port, allowed)
    }

    /// A privileged port.
    pub(crate) fn reserved(name: &'static str, port: u16) -> Self {
        let option = name.replace('_', "-");
        let allowed = format!("1024 to 65535, because lower ones need root; --{option} 0 takes any free one");
        Self::setting(name, port, allowed)
    }

    /// A system error with its operation.
    pub(crate) fn system(what: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::System { what: what.into(), source: source.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { name, value, allowed } => write!(f, "{name} = {value}: allowed is {allowed}"),
            Self::System { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setting { .. } => None,
            Self::System { source, .. } => Some(source),
        }
    }
}
