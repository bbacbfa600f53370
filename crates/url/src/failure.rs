//! Kinds of failures, with stable names and meanings.

/// Declares an enum and makes the documentation of its variants available at run time.
#[macro_export]
macro_rules! described {
    ($(#[$about:meta])* pub enum $kinds:ident { $($(#[doc = $line:literal])+ $kind:ident,)+ }) => {
        $(#[$about])*
        pub enum $kinds { $($(#[doc = $line])+ $kind,)+ }

        impl $kinds {
            /// Its meaning, in one line: the variant's documentation.
            pub fn meaning(self) -> &'static str {
                match self { $($kinds::$kind => concat!($($line),+).trim_ascii(),)+ }
            }
        }
    };
}

described! {
/// A kind of failure; names are part of the outputs' contract and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The name does not exist (NXDOMAIN).
    NameNotFound,
    /// The name exists, but has no address.
    NameNoData,
    /// The DNS servers returned an error (SERVFAIL, REFUSED).
    NameServerFailure,
    /// No DNS server answered in time.
    NameTimeout,
    /// The host is not a valid DNS name.
    NameBad,
    /// Every address is private, loopback, link-local or metadata, and the job does not allow it.
    AddressRefused,
    /// The server refused the connection.
    ConnectRefused,
    /// The connection was not established in time.
    ConnectTimeout,
    /// No route, or another failure to connect.
    ConnectFailed,
    /// The certificate is not valid for this name, this time or these roots.
    TlsCertificate,
    /// The TLS handshake failed.
    TlsFailed,
    /// The server has only TLS 1.0 or 1.1, only cipher suites without forward secrecy, or only keys and signatures that are too weak.
    /// A server without a certificate for the name may look the same.
    TlsTooOld,
    /// The whole exchange took longer than allowed.
    Timeout,
    /// The server sent nothing for longer than allowed.
    ReadTimeout,
    /// The connection broke before the response was complete.
    ConnectionClosed,
    /// The request was sent, no complete response came, and its method does not allow to send it again (RFC
    /// 9110 section 9.2.2).
    Unanswered,
    /// This machine had no file descriptor, memory or port left. Never the site's fault.
    LocalFailure,
    /// The host returned only errors (5xx) for longer than `frontier.patience`; the URL was not tried any
    /// more.
    HostUnavailable,
    /// The response came from a captive portal or another intermediary, not from the site. The URL is fetched
    /// again.
    CaptivePortal,
    /// The response is not HTTP.
    Protocol,
    /// The response's headers are larger than allowed.
    HeadersTooLarge,
    /// The body is larger than allowed, as received or decoded.
    BodyTooLarge,
    /// The body does not decode by its Content-Encoding.
    EncodingBad,
    /// The response could not be parsed: the parser, or a library that it uses, aborted.
    ParseFailed,
    /// Lycosa, or a library that it uses, aborted during the exchange.
    Internal,
    /// A redirect without a usable target.
    RedirectBad,
    /// More redirects in a row than allowed, or a redirect onto itself.
    RedirectLimit,
    /// robots.txt forbids it.
    RobotsDisallowed,
    /// robots.txt could not be fetched (5xx or unreachable), so everything is forbidden (RFC 9309 section
    /// 2.3.1.4).
    RobotsUnreachable,
    /// The site does not allow a use of the page for which the job crawls.
    UsageRefused,
    /// Its port is blocked, and the job does not allow it.
    PortBlocked,
    /// The job's block list names its host, its domain or its network.
    Blocked,
    /// The body has a media type that the job does not want (`fetch.content_types`).
    ContentType,
    /// Its registered domain has used up the pages that the job allows it.
    DomainBudget,
    /// The crawl was stopped before the response was complete, or a reused connection was closed before it
    /// began. Does not count as a try.
    Cancelled,
    /// The request's proxy could not be used: no connection, wrong credentials, or it refused. Says nothing about the site.
    ProxyFailed,
    /// A middleware of the crawl dropped the request.
    Dropped,
    /// A middleware of the crawl raised an exception.
    MiddlewareFailed,
    /// The page is no content: it asks for a script, a puzzle or a proof of work. Nothing is solved.
    PageChallenge,
    /// The page is no content: it says that the crawler, its address or its country is not let in.
    PageBlocked,
    /// The page is no content: it says that there were too many requests.
    PageRateLimited,
    /// The page is no content: it asks to log in.
    PageLogin,
    /// The page is no content: it asks for consent before it shows anything.
    PageConsent,
    /// The page is no content: its domain is for sale, or has none.
    PageParked,
    /// The page is no content: it says, with a status of success, that there is no such page.
    PageNotFound,
    /// The page is no content: it says, with a status of success, that the server has failed.
    PageServerError,
}
}

/// Properties of kinds, as bits.
mod mark {
    /// A later try may succeed.
    pub(super) const TRANSIENT: u8 = 1;
    /// Final only if repeated, since captive networks, broken resolvers or chance cause it, too.
    pub(super) const DOUBTFUL: u8 = 2;
    /// The response, or its site, exceeded a limit.
    pub(super) const BOUND: u8 = 4;
    /// The site is in trouble: requests to it are slowed down.
    pub(super) const TROUBLE: u8 = 8;
    /// There was no response, or not one of a site with this name.
    pub(super) const SILENT: u8 = 16;
    /// The site responded, even if the response exceeded a limit.
    pub(super) const ANSWERED: u8 = 32;
}

/// Each kind in order: stable name, group, properties. The only table of kinds.
const KINDS: [(FailureKind, &str, &str, u8); 46] = {
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
        (K::TlsTooOld, "tls-too-old", "tls", DOUBTFUL | SILENT),
        (K::Timeout, "timeout", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::ReadTimeout, "read-timeout", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::ConnectionClosed, "connection-closed", "connections", TRANSIENT | TROUBLE | SILENT),
        (K::Unanswered, "unanswered", "connections", TROUBLE),
        (K::LocalFailure, "local-failure", "connections", TRANSIENT | SILENT),
        (K::HostUnavailable, "host-unavailable", "connections", TRANSIENT),
        (K::CaptivePortal, "captive-portal", "connections", TRANSIENT),
        (K::Protocol, "protocol", "responses", DOUBTFUL | SILENT),
        (K::HeadersTooLarge, "headers-too-large", "responses", BOUND | ANSWERED),
        (K::BodyTooLarge, "body-too-large", "responses", BOUND | ANSWERED),
        (K::EncodingBad, "encoding-bad", "responses", ANSWERED),
        (K::ParseFailed, "parse-failed", "responses", 0),
        (K::Internal, "internal", "responses", DOUBTFUL),
        (K::RedirectBad, "redirect-bad", "responses", ANSWERED),
        (K::RedirectLimit, "redirect-limit", "responses", BOUND | ANSWERED),
        (K::RobotsDisallowed, "robots-disallowed", "robots", 0),
        (K::RobotsUnreachable, "robots-unreachable", "robots", 0),
        (K::UsageRefused, "usage-refused", "robots", ANSWERED),
        (K::PortBlocked, "port-blocked", "rules", 0),
        (K::Blocked, "blocked", "rules", 0),
        (K::ContentType, "content-type", "rules", ANSWERED),
        (K::DomainBudget, "domain-budget", "rules", BOUND),
        (K::Cancelled, "cancelled", "ended", 0),
        (K::ProxyFailed, "proxy-failed", "proxies", TRANSIENT),
        (K::Dropped, "dropped", "middleware", 0),
        (K::MiddlewareFailed, "middleware-failed", "middleware", 0),
        (K::PageChallenge, "page-challenge", "refusals", TROUBLE | ANSWERED),
        (K::PageBlocked, "page-blocked", "refusals", TROUBLE | ANSWERED),
        (K::PageRateLimited, "page-rate-limited", "refusals", TRANSIENT | TROUBLE | ANSWERED),
        (K::PageLogin, "page-login", "refusals", ANSWERED),
        (K::PageConsent, "page-consent", "refusals", ANSWERED),
        (K::PageParked, "page-parked", "refusals", ANSWERED),
        (K::PageNotFound, "page-not-found", "refusals", ANSWERED),
        (K::PageServerError, "page-server-error", "refusals", TRANSIENT | ANSWERED),
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

    /// All kinds, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// Its group, which `--retry-failed` accepts for all kinds in it.
    pub fn group(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// Whether the host's name did not resolve.
    pub fn is_of_name(self) -> bool {
        self.group() == "names"
    }

    /// Whether a later try may succeed.
    pub fn is_transient(self) -> bool {
        self.has(mark::TRANSIENT)
    }

    /// Whether the frontier may have a request sent again after it.
    pub fn may_be_repeated(self) -> bool {
        self.is_transient() || self.is_doubtful() || self == FailureKind::Cancelled
    }

    /// Whether it is final only if repeated, since captive networks, broken resolvers or chance cause it, too.
    pub fn is_doubtful(self) -> bool {
        self.has(mark::DOUBTFUL)
    }

    /// Whether the response, or its site, exceeded a limit.
    pub fn is_bound(self) -> bool {
        self.has(mark::BOUND)
    }

    /// Whether the site gave a page that is no content.
    pub fn is_refusal(self) -> bool {
        self.group() == "refusals"
    }

    /// Whether the site is in trouble, so that requests to it are slowed down.
    pub fn is_trouble(self) -> bool {
        self.has(mark::TROUBLE)
    }

    /// Whether the site responded; `None` if no request was sent to it.
    pub fn answered(self) -> Option<bool> {
        match (self.has(mark::ANSWERED), self.has(mark::SILENT)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Whether it has a property.
    fn has(self, mark: u8) -> bool {
        KINDS[self as usize].3 & mark != 0
    }
}

/// A failure with details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// One human-readable line; never parsed.
    pub detail: String,
}

impl Failure {
    /// A failure of a kind, with details.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Failure { kind, detail: detail.into() }
    }

    /// Converts the failure of a robots.txt to that of its origin's pages: if the crawler may not request it,
    /// robots.txt is unreachable.
    pub fn of_robots(self) -> Self {
        match self.kind {
            FailureKind::Blocked
            | FailureKind::DomainBudget
            | FailureKind::Dropped
            | FailureKind::HostUnavailable
            | FailureKind::MiddlewareFailed
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
