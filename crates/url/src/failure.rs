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
    /// The crawl was stopped before the response was complete, or a kept connection was closed before it began: no try.
    Cancelled,
}
}

/// What is said of a kind: any of these.
mod mark {
    /// Another try later may well end otherwise.
    pub(super) const TRANSIENT: u8 = 1;
    /// Believed only when it comes a second time: captive networks and broken resolvers give it as well.
    pub(super) const DOUBTFUL: u8 = 2;
    /// A bound that the response, or its site, has reached.
    pub(super) const BOUND: u8 = 4;
    /// The site is in trouble: it is asked more slowly.
    pub(super) const TROUBLE: u8 = 8;
    /// Nobody answered, or not as a site of this name does.
    pub(super) const SILENT: u8 = 16;
    /// The site answered, if only with too much.
    pub(super) const ANSWERED: u8 = 32;
}

/// All that is known of each kind, in their order: stable name, what it is about, marks. The one place where kinds are told apart.
const KINDS: [(FailureKind, &str, &str, u8); 30] = {
    use FailureKind as K;
    use mark::{ANSWERED, BOUND, DOUBTFUL, SILENT, TRANSIENT, TROUBLE};
    [
        (K::NameNotFound, "name-not-found", "names", DOUBTFUL),
        (K::NameNoData, "name-no-data", "names", DOUBTFUL),
        (K::NameServerFailure, "name-server-failure", "names", TRANSIENT),
        (K::NameTimeout, "name-timeout", "names", TRANSIENT),
        (K::NameBad, "name-bad", "names", 0),
        (K::AddressRefused, "address-refused", "rules", DOUBTFUL),
        (K::ConnectRefused, "connect-refused", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::ConnectTimeout, "connect-timeout", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::ConnectFailed, "connect-failed", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::TlsCertificate, "tls-certificate", "tls", DOUBTFUL | SILENT),
        (K::TlsFailed, "tls-failed", "tls", DOUBTFUL | SILENT),
        (K::Timeout, "timeout", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::ReadTimeout, "read-timeout", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::ConnectionClosed, "connection-closed", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::LocalFailure, "local-failure", "connections", TRANSIENT | SILENT),
        (K::HostUnavailable, "host-unavailable", "connections", TRANSIENT),
        (K::CaptivePortal, "captive-portal", "connections", TRANSIENT),
        (K::Protocol, "protocol", "responses", DOUBTFUL | SILENT),
        (K::HeadersTooLarge, "headers-too-large", "responses", BOUND | ANSWERED),
        (K::BodyTooLarge, "body-too-large", "responses", BOUND | ANSWERED),
        (K::EncodingBad, "encoding-bad", "responses", ANSWERED),
        (K::ParseFailed, "parse-failed", "responses", 0),
        (K::RedirectBad, "redirect-bad", "responses", ANSWERED),
        (K::RedirectLimit, "redirect-limit", "responses", BOUND | ANSWERED),
        (K::RobotsDisallowed, "robots-disallowed", "robots", 0),
        (K::RobotsUnreachable, "robots-unreachable", "robots", 0),
        (K::PortBlocked, "port-blocked", "rules", 0),
        (K::Blocked, "blocked", "rules", 0),
        (K::DomainBudget, "domain-budget", "rules", BOUND),
        (K::Cancelled, "cancelled", "ended", 0),
    ]
};

impl FailureKind {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind with this stable name.
    pub fn from_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known, ..)| *known == name).map(|(kind, ..)| *kind)
    }

    /// All kinds, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// What it is about; `--retry-failed` takes it for all kinds of the group.
    pub fn group(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// Whether the host's name did not resolve.
    pub fn is_of_name(self) -> bool {
        self.group() == "names"
    }

    /// Whether another try later may well end otherwise.
    pub fn is_transient(self) -> bool {
        self.has(mark::TRANSIENT)
    }

    /// Whether it is believed only when it comes a second time: what captive networks and broken resolvers give as well.
    pub fn is_doubtful(self) -> bool {
        self.has(mark::DOUBTFUL)
    }

    /// Whether it is a bound that the response, or its site, has reached.
    pub fn is_bound(self) -> bool {
        self.has(mark::BOUND)
    }

    /// Whether the site is in trouble, so that it is asked more slowly.
    pub fn is_trouble(self) -> bool {
        self.has(mark::TROUBLE)
    }

    /// Whether the site answered; `None` where it was not asked.
    pub fn answered(self) -> Option<bool> {
        match (self.has(mark::ANSWERED), self.has(mark::SILENT)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Whether a mark is said of it.
    fn has(self, mark: u8) -> bool {
        KINDS[self as usize].3 & mark != 0
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
        for (place, (kind, name, ..)) in KINDS.into_iter().enumerate() {
            assert_eq!((kind.as_str(), kind as usize), (name, place));
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
