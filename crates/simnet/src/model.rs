//! The model of a world's behaviour: one TOML file, parsed and checked key by key.
//!
//! Every key defaults to its value in `lan`: no delays, no faults of names, networks or servers; every world has some pages that always
//! return 404 or 500. A file contains only what differs. Each key is documented with its field; the files in
//! `python/lycosa/simnet/profiles/` are examples. Times are unscaled; shares are of all hosts unless a key says otherwise.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model_check::{check, compare};

/// Maximum length of a chain of aliases (CNAME).
pub const MAX_CNAMES: u32 = 8;

/// The built-in profiles and their files.
pub(crate) const PROFILES: [(&str, &str); 3] = [
    ("lan", include_str!("../../../python/lycosa/simnet/profiles/lan.toml")),
    ("internet", include_str!("../../../python/lycosa/simnet/profiles/internet.toml")),
    ("hostile", include_str!("../../../python/lycosa/simnet/profiles/hostile.toml")),
];

/// How the names, addresses, servers and sites of a world behave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Description of the profile.
    pub description: String,
    /// Name resolution.
    pub dns: Dns,
    /// Addresses of hosts.
    pub addresses: Addresses,
    /// Behaviour of web servers.
    pub http: Http,
    /// Shares of difficult web servers; the rest is ordinary.
    pub manners: Manners,
    /// Shares of hosts with a crawler trap beside their pages; the rest has none.
    pub traps: Traps,
    /// Shares of difficult robots.txt files; the rest is ordinary.
    pub robots: RobotsModel,
}

/// Name resolution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dns {
    /// Delay of answers.
    pub latency: Latency,
    /// Share of datagrams that are lost.
    pub loss: f64,
    /// Shares of names by answer; they sum to 1.
    pub answers: Answers,
    /// TTLs of addresses; the shares sum to 1.
    pub ttl: Vec<Ttl>,
    /// Names that are aliases.
    pub cnames: Cnames,
    /// Share of hosts with a wildcard zone: any label in front of their name resolves.
    pub wildcards: f64,
    /// Names whose address changes.
    pub moves: Moves,
    /// IPv6 addresses, used if the simnet serves IPv6.
    pub families: Families,
}

/// A delay: log-normal, with a Pareto tail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// Median in milliseconds; 0 means no delay at all.
    pub median_ms: f64,
    /// Sigma of the logarithm. The mean is `median * exp(sigma^2 / 2)`.
    pub sigma: f64,
    /// Share of delays drawn from the tail instead.
    pub tail_share: f64,
    /// Minimum of the tail (Pareto, alpha 1), in milliseconds.
    pub tail_from_ms: f64,
    /// Maximum of the tail, in milliseconds.
    pub tail_to_ms: f64,
}

/// Shares of names by answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answers {
    /// An address.
    pub address: f64,
    /// NODATA: the name exists without an address.
    pub no_data: f64,
    /// NXDOMAIN: the name does not exist.
    pub nxdomain: f64,
    /// SERVFAIL.
    pub servfail: f64,
    /// No answer, ever: the zone's DNS servers are down.
    pub dead: f64,
}

/// A TTL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ttl {
    /// Seconds.
    pub seconds: u32,
    /// Share of names.
    pub share: f64,
}

/// Names that are aliases (CNAME).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cnames {
    /// Share of names that are aliases.
    pub share: f64,
    /// Probability of each further alias in the chain (geometric).
    pub more: f64,
    /// Maximum length of the chain, up to [`MAX_CNAMES`].
    pub most: u32,
}

/// Names whose address changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Moves {
    /// Share of names.
    pub share: f64,
    /// Time that a name stays at an address, in multiples of its TTL.
    pub every_ttls: f64,
    /// Time that the previous address still serves the host, in multiples of the TTL, at most `every_ttls`; then it returns 421. Below 1,
    /// a client that caches an address for its full TTL gets 421 too.
    pub grace_ttls: f64,
}

/// Address families; the remaining names have IPv4 only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Families {
    /// Share of names with both.
    pub both: f64,
    /// Share of names with IPv6 only.
    pub only_v6: f64,
}

/// Addresses of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Addresses {
    /// Number of addresses.
    pub pool: u32,
    /// Number of names per address; the shares sum to 1.
    pub groups: Vec<Group>,
}

/// Addresses with a similar number of names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Minimum of names on such an address.
    pub least: u32,
    /// Maximum of names on such an address; between the two, the number follows Zipf's law.
    pub most: u32,
    /// Share of names on such addresses.
    pub share: f64,
}

/// Behaviour of web servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// Delay of a host's responses, drawn once per host.
    pub latency: Latency,
    /// Sigma of the logarithm of each response's delay around its host's.
    pub jitter: f64,
    /// Bytes per second by host.
    pub bandwidth: Bandwidth,
    /// Errors by host.
    pub errors: Errors,
}

/// Bytes per second, log-normal by host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bandwidth {
    /// Median in kB/s; 0 means no limit.
    pub median_kb_s: f64,
    /// Sigma of the logarithm.
    pub sigma: f64,
    /// Minimum of any host, in kB/s.
    pub least_kb_s: f64,
}

/// Server errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// Share of hosts with errors, in addition to the 0.5 % of all pages that always return 500.
    pub hosts: f64,
    /// Share of such a host's leaf pages that always fail: 500, 502, 503, 504.
    pub lasting: f64,
    /// Share of such a host's pages that return 503 once, then succeed.
    pub passing: f64,
}

/// Difficult servers: shares of hosts, together at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manners {
    /// Responses are delayed.
    pub slow: f64,
    /// Their delay, in seconds.
    pub slow_s: f64,
    /// Bodies are sent in tiny pieces.
    pub dribbling: f64,
    /// Duration of such a body, in seconds.
    pub dribble_s: f64,
    /// Connections are reset in the middle of a body.
    pub resetting: f64,
    /// Every few requests return 429 with Retry-After in seconds.
    pub limited: f64,
    /// Every few requests return 503 with Retry-After as a date.
    pub overloaded: f64,
    /// Minimum of Retry-After, in seconds.
    pub retry_least_s: u32,
    /// Maximum of Retry-After, in seconds.
    pub retry_most_s: u32,
    /// Pages with the Content-Type of an image, of plain text or of PDF.
    pub mislabelled: f64,
    /// Random bytes, labelled as HTML.
    pub binary: f64,
    /// Invalid HTML that only a lenient parser reads.
    pub broken: f64,
    /// Pages in charsets other than UTF-8, declared in the header, in the page, or not at all.
    pub foreign: f64,
}

/// Crawler traps: shares of hosts, together at most 1. Their URLs are infinite or worthless and do not count in coverage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Traps {
    /// An infinite calendar.
    pub calendar: f64,
    /// A session id in links, a new one on each page.
    pub sessions: f64,
    /// Relative links that lengthen the path: /a/b/a/b/…
    pub repetition: f64,
    /// Redirect loops.
    pub loops: f64,
    /// Long redirect chains.
    pub chains: f64,
    /// Length of such a chain.
    pub chain_length: u32,
    /// Missing pages return 200, and pages link to them.
    pub soft_404: f64,
    /// Near-duplicates that differ by a number.
    pub duplicates: f64,
    /// A wildcard zone whose pages always link to new names in it.
    pub names: f64,
}

/// Difficult robots.txt files: shares of hosts, together at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobotsModel {
    /// Over 500 KiB, with the relevant rules after 400 KiB of others.
    pub huge: f64,
    /// Delayed.
    pub slow: f64,
    /// Its delay, in seconds.
    pub slow_s: f64,
    /// 503: everything is disallowed (RFC 9309, 2.3.1.4).
    pub failing: f64,
    /// Behind two redirects.
    pub redirected: f64,
    /// With a rule that alternately appears and disappears.
    pub changing: f64,
    /// Time between two changes, in seconds.
    pub change_s: f64,
}

impl Model {
    /// Loads the model of a profile: a built-in name, or the path of a TOML file.
    pub fn load(profile: &str) -> Result<Self> {
        if let Some((_, text)) = PROFILES.iter().find(|(name, _)| *name == profile) {
            return Self::parse(text);
        }
        let names = PROFILES.map(|(name, _)| name).join(", ");
        let allowed = || format!("{names}, or the path of a profile that ends in .toml");
        if !profile.ends_with(".toml") {
            return Err(Error::setting("profile", profile, allowed()));
        }
        let text = std::fs::read_to_string(profile)
            .map_err(|e| Error::setting("profile", format!("{profile} ({e})"), allowed()))?;
        Self::parse(&text)
    }

    /// Parses and checks the text of a model file.
    pub fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = text[..e.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            Error::setting("profile", format!("line {line}: {}", one_line(e.message())), "a TOML file")
        })?;
        let known = toml::Table::try_from(Self::template())
            .map_err(|e| Error::setting("profile", one_line(&e.to_string()), "a TOML file"))?;
        compare("", &table, &known)?;
        let model: Self = table
            .try_into()
            .map_err(|e: toml::de::Error| Error::setting("profile", one_line(e.message()), "a profile"))?;
        check(&model)?;
        Ok(model)
    }

    /// A model with every known key.
    fn template() -> Self {
        Self::default()
    }

    /// Whether any HTTP response has a latency or a bandwidth limit.
    pub(crate) fn is_timed(&self) -> bool {
        self.http.latency.median_ms > 0.0 || self.http.bandwidth.median_kb_s > 0.0
    }
}

/// Joins the lines of a message.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Default for Dns {
    fn default() -> Self {
        let ttl = [(60, 0.1), (300, 0.3), (3600, 0.3), (14_400, 0.1), (86_400, 0.2)];
        Self {
            latency: Latency::default(),
            loss: 0.0,
            answers: Answers::default(),
            ttl: ttl.map(|(seconds, share)| Ttl { seconds, share }).to_vec(),
            cnames: Cnames::default(),
            wildcards: 0.0,
            moves: Moves::default(),
            families: Families::default(),
        }
    }
}

impl Default for Answers {
    fn default() -> Self {
        Self { address: 1.0, no_data: 0.0, nxdomain: 0.0, servfail: 0.0, dead: 0.0 }
    }
}

impl Default for Addresses {
    fn default() -> Self {
        let groups = vec![Group { least: 1, most: 1, share: 0.8 }, Group { least: 2, most: 8, share: 0.2 }];
        Self { pool: crate::params::MAX_HOSTS, groups }
    }
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            slow: 0.0,
            slow_s: 8.0,
            dribbling: 0.0,
            dribble_s: 600.0,
            resetting: 0.0,
            limited: 0.0,
            overloaded: 0.0,
            retry_least_s: 5,
            retry_most_s: 60,
            mislabelled: 0.0,
            binary: 0.0,
            broken: 0.0,
            foreign: 0.0,
        }
    }
}

impl Default for Traps {
    fn default() -> Self {
        Self {
            calendar: 0.0,
            sessions: 0.0,
            repetition: 0.0,
            loops: 0.0,
            chains: 0.0,
            chain_length: 30,
            soft_404: 0.0,
            duplicates: 0.0,
            names: 0.0,
        }
    }
}

impl Default for RobotsModel {
    fn default() -> Self {
        Self {
            huge: 0.0,
            slow: 0.0,
            slow_s: 20.0,
            failing: 0.0,
            redirected: 0.0,
            changing: 0.0,
            change_s: 3600.0,
        }
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
