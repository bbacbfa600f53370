//! The model of a world's behaviour: one TOML file, read, checked key by key, and nothing else.
//!
//! Every key has a default, that of `lan`: no delays, no trouble of names, networks or servers; pages that answer 404 or 500 for ever are in
//! every world. A file says only what differs. What each key means stands with its field; the files in `python/lycosa/simnet/profiles/` are
//! the examples. Times are unscaled; shares are of all hosts unless a key says otherwise.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model_check::{check, compare};

/// Most aliases between a name and its address.
pub const MAX_CNAMES: u32 = 8;

/// The profiles that every simnet knows, with their files.
pub(crate) const PROFILES: [(&str, &str); 3] = [
    ("lan", include_str!("../../../python/lycosa/simnet/profiles/lan.toml")),
    ("internet", include_str!("../../../python/lycosa/simnet/profiles/internet.toml")),
    ("hostile", include_str!("../../../python/lycosa/simnet/profiles/hostile.toml")),
];

/// How the names, addresses, servers and sites of a world behave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// What the profile is for, in words.
    pub description: String,
    /// How names are answered.
    pub dns: Dns,
    /// Where hosts live.
    pub addresses: Addresses,
    /// How servers answer.
    pub http: Http,
    /// Which hosts are servers of a difficult kind; the rest is ordinary.
    pub manners: Manners,
    /// Which hosts have a trap beside their pages; the rest has none.
    pub traps: Traps,
    /// Which hosts have a difficult robots.txt; the rest is ordinary.
    pub robots: RobotsModel,
}

/// How names are answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dns {
    /// How long an answer takes.
    pub latency: Latency,
    /// Share of datagrams that are lost.
    pub loss: f64,
    /// What names answer; the shares sum to 1.
    pub answers: Answers,
    /// Times to live of addresses; the shares sum to 1.
    pub ttl: Vec<Ttl>,
    /// Names that are aliases.
    pub cnames: Cnames,
    /// Share of hosts whose zone answers for any label in front of their name.
    pub wildcards: f64,
    /// Names whose address changes.
    pub moves: Moves,
    /// IPv6 addresses, given out when the simnet serves IPv6.
    pub families: Families,
}

/// A delay: log-normal, with a Pareto tail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// Median in milliseconds; 0 is no delay at all.
    pub median_ms: f64,
    /// Sigma of the logarithm. The mean is `median * exp(sigma^2 / 2)`.
    pub sigma: f64,
    /// Share of answers that come from the tail instead.
    pub tail_share: f64,
    /// Where the tail (Pareto, alpha 1) begins, in milliseconds.
    pub tail_from_ms: f64,
    /// Where it is cut off.
    pub tail_to_ms: f64,
}

/// What names answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answers {
    /// An address.
    pub address: f64,
    /// The name exists, an address does not.
    pub no_data: f64,
    /// The name does not exist.
    pub nxdomain: f64,
    /// The resolver failed.
    pub servfail: f64,
    /// Nothing, ever: the zone's servers are dead.
    pub dead: f64,
}

/// A time to live.
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
    /// Share of names that are.
    pub share: f64,
    /// Chance of each further alias on the way (geometric).
    pub more: f64,
    /// Most aliases on the way, up to [`MAX_CNAMES`].
    pub most: u32,
}

/// Names whose address changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Moves {
    /// Share of names.
    pub share: f64,
    /// How long a name stays at an address, in its times to live.
    pub every_ttls: f64,
    /// How long the address before still answers, in times to live, less than `every_ttls`; then it refuses (421). Under 1, whoever keeps an
    /// address for its time to live is refused too.
    pub grace_ttls: f64,
}

/// IPv6 addresses; the rest has IPv4 alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Families {
    /// Share of names with both.
    pub both: f64,
    /// Share of names with IPv6 alone.
    pub only_v6: f64,
}

/// Where hosts live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Addresses {
    /// Addresses that there are.
    pub pool: u32,
    /// How many names share an address; the shares sum to 1.
    pub groups: Vec<Group>,
}

/// Addresses with a like number of names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Least names on such an address.
    pub least: u32,
    /// Most names on such an address; between the two, small numbers are frequent (Zipf).
    pub most: u32,
    /// Share of names that live on such addresses.
    pub share: f64,
}

/// How servers answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// A host's own delay before its answers.
    pub latency: Latency,
    /// Sigma of the logarithm of each answer's delay around its host's.
    pub jitter: f64,
    /// Bytes a second by host.
    pub bandwidth: Bandwidth,
    /// Errors by host.
    pub errors: Errors,
}

/// Bytes a second, log-normal by host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bandwidth {
    /// Median in kB/s; 0 is no limit.
    pub median_kb_s: f64,
    /// Sigma of the logarithm.
    pub sigma: f64,
    /// No host is slower than this, in kB/s.
    pub least_kb_s: f64,
}

/// Server errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// Share of hosts that have any, beside the 0.5 % of all pages that answer 500.
    pub hosts: f64,
    /// Share of such a host's pages without children that fail for ever: 500, 502, 503, 504.
    pub lasting: f64,
    /// Share of such a host's pages that answer 503 once, then well.
    pub passing: f64,
}

/// Difficult servers: shares of hosts, together at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manners {
    /// Answers come late.
    pub slow: f64,
    /// How late, in seconds.
    pub slow_s: f64,
    /// Bodies come in tiny pieces.
    pub dribbling: f64,
    /// How long a body takes, in seconds.
    pub dribble_s: f64,
    /// Connections are reset in mid-body.
    pub resetting: f64,
    /// Every few requests 429, with Retry-After in seconds.
    pub limited: f64,
    /// Every few requests 503, with Retry-After as a date.
    pub overloaded: f64,
    /// Least pause that Retry-After asks for, in seconds.
    pub retry_least_s: u32,
    /// Most pause that Retry-After asks for.
    pub retry_most_s: u32,
    /// Pages with the type of an image or of plain text.
    pub mislabelled: f64,
    /// Bytes of no meaning, labelled as HTML.
    pub binary: f64,
    /// HTML that only a forgiving parser reads.
    pub broken: f64,
    /// Pages in many charsets, labelled in the header, in the page, or not at all.
    pub foreign: f64,
}

/// Traps: shares of hosts, together at most 1. Their URLs are endless or worthless and count in no coverage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Traps {
    /// A calendar without end.
    pub calendar: f64,
    /// A session id in links, a new one on each page.
    pub sessions: f64,
    /// Relative links that lengthen the path: /a/b/a/b/…
    pub repetition: f64,
    /// Redirects in a circle.
    pub loops: f64,
    /// Redirects in a long row.
    pub chains: f64,
    /// How long the row is.
    pub chain_length: u32,
    /// Missing pages answer 200, and pages link to them.
    pub soft_404: f64,
    /// Pages that differ by a number.
    pub duplicates: f64,
    /// A wildcard zone whose pages link to ever new names of it.
    pub names: f64,
}

/// Difficult robots.txt files: shares of hosts, together at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobotsModel {
    /// Over 500 KiB, the rules behind 400 KiB of others.
    pub huge: f64,
    /// Late.
    pub slow: f64,
    /// How late, in seconds.
    pub slow_s: f64,
    /// 503: everything is forbidden (RFC 9309, 2.3.1.4).
    pub failing: f64,
    /// Behind two redirects.
    pub redirected: f64,
    /// With a rule that comes and goes.
    pub changing: f64,
    /// How long it stays and stays away, in seconds.
    pub change_s: f64,
}

impl Model {
    /// The model of a profile: a known name, or the path of a TOML file.
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

    /// Reads and checks a model file's text.
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

    /// A model with every key that there is.
    fn template() -> Self {
        Self::default()
    }

    /// Whether every answer leaves at once and every host is ordinary: then nobody need ask further.
    pub(crate) fn is_timed(&self) -> bool {
        self.http.latency.median_ms > 0.0 || self.http.bandwidth.median_kb_s > 0.0
    }
}

/// The first line of a message, the others behind it.
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
