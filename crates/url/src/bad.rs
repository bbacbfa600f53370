//! Why a text is not a URL that can be crawled.

use std::fmt;

/// Why a text is not a URL that can be crawled; the names are stable and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadUrl {
    /// Longer than [`MAX_URL_BYTES`].
    TooLong,
    /// Neither `http` nor `https`.
    Scheme,
    /// No host, or one that is not valid (IDNA, IPv4 or IPv6 syntax).
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// User name or password in the URL: credentials are never sent by accident.
    UserInfo,
    /// A relative reference where an absolute URL is needed.
    Relative,
    /// Another error of the WHATWG parser.
    Syntax,
}

impl BadUrl {
    /// The stable name, as counted in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            BadUrl::TooLong => "url-too-long",
            BadUrl::Scheme => "url-scheme",
            BadUrl::Host => "url-host",
            BadUrl::Port => "url-port",
            BadUrl::UserInfo => "url-userinfo",
            BadUrl::Relative => "url-relative",
            BadUrl::Syntax => "url-syntax",
        }
    }

    /// What is allowed, for error messages.
    pub fn allowed(self) -> &'static str {
        match self {
            BadUrl::TooLong => "a URL of at most 8192 bytes",
            BadUrl::Scheme => "a URL that starts with http:// or https://",
            BadUrl::Host => "a URL with a valid host name or address",
            BadUrl::Port => "a port from 1 to 65535",
            BadUrl::UserInfo => "a URL without user name and password",
            BadUrl::Relative => "an absolute URL such as https://example.com/",
            BadUrl::Syntax => "a URL such as https://example.com/path",
        }
    }
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for BadUrl {}

impl From<url::ParseError> for BadUrl {
    fn from(error: url::ParseError) -> Self {
        use url::ParseError as E;
        match error {
            E::EmptyHost
            | E::IdnaError
            | E::InvalidIpv4Address
            | E::InvalidIpv6Address
            | E::InvalidDomainCharacter => BadUrl::Host,
            E::InvalidPort => BadUrl::Port,
            E::RelativeUrlWithoutBase | E::RelativeUrlWithCannotBeABaseBase => BadUrl::Relative,
            E::Overflow => BadUrl::TooLong,
            _ => BadUrl::Syntax,
        }
    }
}
