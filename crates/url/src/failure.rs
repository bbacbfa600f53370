//! Why a URL ended without a page: stable names, by meaning.

/// Takes an enum as it stands, and keeps what is said of each variant for programs, too.
#[macro_export]
macro_rules! described {
    ($(#[$about:meta])* pub enum $kinds:ident { $($(#[doc = $line:literal])+ $kind:ident,)+ }) => {
        $(#[$about])*
        pub enum $kinds { $($(#[doc = $line])+ $kind,)+ }

        impl $kinds {
            /// What it means, in one line: the variant's own documentation.
            pub fn meaning(self) -> &'static str {
                match self { $($kinds::$kind => concat!($($line),+).trim_ascii(),)+ }
            }
        }
    };
}

described! {
/// A kind of failure; the names are part of the output's contract and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The name does not exist (NXDOMAIN).
    NameNotFound,
    /// The name exists, but has no address.
    NameNoData,
    /// The DNS servers answered with an error (SERVFAIL, REFUSED).
    NameServerFailure,
    /// No DNS server answered in time.
    NameTimeout,
    /// The host is not a valid DNS name.
    NameBad,
    /// Every address is private, loopback, link-local or metadata, and the job does not allow it.
    AddressRefused,
    /// The server refused the connection.
    ConnectRefused,
    /// No connection in time.
    ConnectTimeout,
    /// No route, or another failure to connect.
    ConnectFailed,
    /// The certificate is not valid for this name, this time or these roots.
    TlsCertificate,
    /// TLS could not be agreed on.
    TlsFailed,
    /// The whole exchange took longer than allowed.
    Timeout,
    /// The server fell silent for longer than allowed.
    ReadTimeout,
    /// The connection broke before the response was complete.
    ConnectionClosed,
    /// This machine could not try: no file descriptor, memory or port was left. Never the site's fault.
    LocalFailure,
    /// The host answered nothing but errors (5xx) for longer than `frontier.patience`; this URL was not tried any more.
    HostUnavailable,
    /// The answer was that of a captive portal or another go-between, not the site's. The URL is fetched again.
    CaptivePortal,
    /// The response is not HTTP.
    Protocol,
    /// The response's headers are larger than allowed.
    HeadersTooLarge,
    /// The body is larger than allowed, as received or decoded.
    BodyTooLarge,
    /// The body does not decode by its Content-Encoding.
    EncodingBad,
    /// The response could not be parsed: our own parser, or one that it uses, broke off at it.
    ParseFailed,
    /// A redirect without a usable target.
    RedirectBad,
    /// More redirects in a row than allowed, or a redirect onto itself.
    RedirectLimit,
    /// robots.txt forbids it.
    RobotsDisallowed,
    /// robots.txt could not be had (5xx or unreachable), so everything is forbidden (RFC 9309 section 2.3.1.4).
    RobotsUnreachable,
    /// Its port is one that no page is fetched from, and the job does not allow it.
    PortBlocked,
    /// The job's block list names its host, its domain or its network.
    Blocked,
    /// Its registered domain has had all the pages that the job lets it have.
    DomainBudget,
    /// The crawl was stopped before the response was complete.
    Cancelled,
}
}

/// All kinds with their stable names.
const NAMES: [(FailureKind, &str); 30] = [
    (FailureKind::NameNotFound, "name-not-found"),
    (FailureKind::NameNoData, "name-no-data"),
    (FailureKind::NameServerFailure, "name-server-failure"),
    (FailureKind::NameTimeout, "name-timeout"),
    (FailureKind::NameBad, "name-bad"),
    (FailureKind::AddressRefused, "address-refused"),
    (FailureKind::ConnectRefused, "connect-refused"),
    (FailureKind::ConnectTimeout, "connect-timeout"),
    (FailureKind::ConnectFailed, "connect-failed"),
    (FailureKind::TlsCertificate, "tls-certificate"),
    (FailureKind::TlsFailed, "tls-failed"),
    (FailureKind::Timeout, "timeout"),
    (FailureKind::ReadTimeout, "read-timeout"),
    (FailureKind::ConnectionClosed, "connection-closed"),
    (FailureKind::LocalFailure, "local-failure"),
    (FailureKind::HostUnavailable, "host-unavailable"),
    (FailureKind::CaptivePortal, "captive-portal"),
    (FailureKind::Protocol, "protocol"),
    (FailureKind::HeadersTooLarge, "headers-too-large"),
    (FailureKind::BodyTooLarge, "body-too-large"),
    (FailureKind::EncodingBad, "encoding-bad"),
    (FailureKind::ParseFailed, "parse-failed"),
    (FailureKind::RedirectBad, "redirect-bad"),
    (FailureKind::RedirectLimit, "redirect-limit"),
    (FailureKind::RobotsDisallowed, "robots-disallowed"),
    (FailureKind::RobotsUnreachable, "robots-unreachable"),
    (FailureKind::PortBlocked, "port-blocked"),
    (FailureKind::Blocked, "blocked"),
    (FailureKind::DomainBudget, "domain-budget"),
    (FailureKind::Cancelled, "cancelled"),
];

impl FailureKind {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }

    /// The kind with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// All kinds, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(kind, _)| *kind)
    }

    /// What it is about; `--retry-failed` takes it for all kinds of the group.
    pub fn group(self) -> &'static str {
        use FailureKind as K;
        match self {
            _ if self.is_of_name() => "names",
            K::ConnectRefused
            | K::ConnectTimeout
            | K::ConnectFailed
            | K::Timeout
            | K::ReadTimeout
            | K::ConnectionClosed
            | K::LocalFailure
            | K::CaptivePortal
            | K::HostUnavailable => "connections",
            K::TlsCertificate | K::TlsFailed => "tls",
            K::RobotsDisallowed | K::RobotsUnreachable => "robots",
            K::AddressRefused | K::Blocked | K::DomainBudget | K::PortBlocked => "rules",
            K::Cancelled => "ended",
            _ => "responses",
        }
    }

    /// Whether the host's name did not resolve.
    pub fn is_of_name(self) -> bool {
        use FailureKind as K;
        matches!(self, K::NameNotFound | K::NameNoData | K::NameServerFailure | K::NameTimeout | K::NameBad)
    }

    /// Whether it is a bound that the response, or its site, has reached.
    pub fn is_bound(self) -> bool {
        use FailureKind as K;
        matches!(self, K::HeadersTooLarge | K::BodyTooLarge | K::RedirectLimit | K::DomainBudget)
    }

    /// Whether another try later may well end otherwise.
    pub fn is_transient(self) -> bool {
        use FailureKind as K;
        matches!(
            self,
            K::NameServerFailure
                | K::NameTimeout
                | K::ConnectRefused
                | K::ConnectTimeout
                | K::ConnectFailed
                | K::Timeout
                | K::ReadTimeout
                | K::ConnectionClosed
                | K::LocalFailure
                | K::CaptivePortal
                | K::HostUnavailable
        )
    }

    /// Whether it is believed only when it comes a second time: what captive networks and broken resolvers give as well.
    pub fn is_doubtful(self) -> bool {
        use FailureKind as K;
        matches!(
            self,
            K::NameNotFound
                | K::NameNoData
                | K::AddressRefused
                | K::TlsCertificate
                | K::TlsFailed
                | K::Protocol
        )
    }
}

/// A failure with its circumstances in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// One line for people; never parsed.
    pub detail: String,
}

impl Failure {
    /// A failure of a kind, with its circumstances.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Failure { kind, detail: detail.into() }
    }

    /// What it means for the origin whose robots.txt ended so: where the crawler itself may not ask, there is none to be had.
    pub fn of_robots(self) -> Self {
        match self.kind {
            FailureKind::Blocked
            | FailureKind::DomainBudget
            | FailureKind::HostUnavailable
            | FailureKind::PortBlocked => {
                Failure::new(FailureKind::RobotsUnreachable, format!("robots.txt: {}", self.detail))
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_come_back() {
        for (kind, name) in NAMES {
            assert_eq!(kind.as_str(), name);
            assert_eq!(FailureKind::from_name(name), Some(kind));
        }
    }

    #[test]
    fn each_kind_says_what_it_means_and_is_in_a_group() {
        for kind in FailureKind::all() {
            assert!(kind.meaning().ends_with('.'), "{kind:?}: {}", kind.meaning());
            assert!(!kind.group().is_empty());
        }
        assert_eq!(FailureKind::NameNotFound.meaning(), "The name does not exist (NXDOMAIN).");
    }
}
