//! The parameters of a simulated Internet: each with its default, minimum and maximum.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::hosts;
use crate::model::Model;

/// Number of addresses: 127.1.0.1 to 127.254.255.254 without final 0 and 255.
pub const MAX_HOSTS: u32 = 254 * 256 * 254;

/// Maximum of the mean number of URLs per host.
const MAX_PAGES: u32 = 100_000;

/// The world to simulate, where to serve it, and the limits by which crawlers are judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Number of host names. Default 200, 1 to [`MAX_HOSTS`].
    pub hosts: u32,
    /// Mean number of URLs per host. Default 20, 1 to 100,000.
    pub pages: u32,
    /// The world's seed. Default 1.
    pub seed: u64,
    /// The world's behaviour: `lan`, `internet`, `hostile`, or the path of a profile. Default `lan`: no delays, no trouble.
    pub profile: String,
    /// Scaled time: every delay is divided by it. Default 1, above 0 up to 1,000,000.
    pub speed: f64,
    /// TCP port of HTTP; 0 picks a free one. Default 0.
    pub http_port: u16,
    /// TCP port of HTTPS, used if any host is on HTTPS; 0 picks a free one. Default 0.
    pub https_port: u16,
    /// UDP and TCP port of DNS on 127.0.0.1; 0 picks a free one. Default 0.
    pub dns_port: u16,
    /// Share of hosts whose URLs are `https`. Default 0, 0 to 1.
    pub https: f64,
    /// Share of those hosts that present a bad certificate. Default 0, 0 to 0.75: hosts that lead to others have good ones.
    pub bad_certificates: f64,
    /// Minimum interval between requests to a host without Crawl-delay, in unscaled seconds. Default 1.
    pub host_interval: f64,
    /// Minimum interval between requests to an address, in unscaled seconds. Default 0.25.
    pub address_interval: f64,
    /// Number of serving threads. Default 1, 1 to 64.
    pub threads: u32,
    /// The product token by which the crawler under test is judged against robots.txt. Default `*`.
    pub agent: String,
    /// Whether hosts are served on IPv6 too, with AAAA records by the model's shares. Default false; true only where
    /// fd00::/64 is routed to this machine.
    pub ipv6: bool,
    /// Share of hosts with both address families, instead of the model's shares. Default 0: the model's; 0 to 1.
    pub ipv6_share: f64,
    /// The file of the ledger; `None` keeps it in memory.
    #[serde(skip)]
    pub ledger: Option<PathBuf>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            hosts: 200,
            pages: 20,
            seed: 1,
            profile: "lan".to_owned(),
            speed: 1.0,
            http_port: 0,
            https_port: 0,
            dns_port: 0,
            https: 0.0,
            bad_certificates: 0.0,
            host_interval: 1.0,
            address_interval: 0.25,
            threads: 1,
            agent: "*".to_owned(),
            ipv6: false,
            ipv6_share: 0.0,
            ledger: None,
        }
    }
}

impl Params {
    /// Checks every value; the error names the first invalid one.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_HOSTS).contains(&self.hosts) {
            let allowed =
                format!("1 to {MAX_HOSTS}, the number of addresses in 127.1.0.0 to 127.254.255.255");
            return Err(Error::setting("hosts", self.hosts, allowed));
        }
        if !(1..=MAX_PAGES).contains(&self.pages) {
            return Err(Error::setting("pages", self.pages, format!("1 to {MAX_PAGES}")));
        }
        self.model()?;
        if !(self.speed > 0.0 && self.speed <= 1e6) {
            return Err(Error::setting("speed", self.speed, "above 0, up to 1000000"));
        }
        for (name, value, most) in [
            ("https", self.https, 1.0),
            ("bad_certificates", self.bad_certificates, 0.75),
            ("ipv6_share", self.ipv6_share, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(Error::setting(name, value, format!("0 to {most}")));
            }
        }
        if self.http_port == self.https_port && self.http_port != 0 && self.https > 0.0 {
            return Err(Error::setting("https_port", self.https_port, "another port than http_port"));
        }
        for (name, value) in
            [("host_interval", self.host_interval), ("address_interval", self.address_interval)]
        {
            if !(0.0..=86_400.0).contains(&value) {
                return Err(Error::setting(name, value, "0 to 86400 seconds"));
            }
        }
        if !(1..=64).contains(&self.threads) {
            return Err(Error::setting("threads", self.threads, "1 to 64"));
        }
        if self.agent.is_empty() || !self.agent.is_ascii() {
            return Err(Error::setting("agent", &self.agent, "* or a product token"));
        }
        Ok(())
    }

    /// Loads the profile's model and checks that it has enough addresses for the hosts.
    pub(crate) fn model(&self) -> Result<Model> {
        let model = Model::load(&self.profile)?;
        let pool = model.addresses.pool as usize;
        if pool < self.hosts as usize && hosts::groups(self.seed, self.hosts, &model.addresses).len() > pool {
            let allowed =
                format!("at most as many as share {pool} addresses (addresses.pool of {})", self.profile);
            return Err(Error::setting("hosts", self.hosts, allowed));
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_value_is_named() {
        let good = Params::default();
        assert!(good.check().is_ok());
        let bad = [
            ("hosts", Params { hosts: 0, ..good.clone() }),
            ("hosts", Params { hosts: MAX_HOSTS + 1, ..good.clone() }),
            ("pages", Params { pages: 0, ..good.clone() }),
            ("profile", Params { profile: "moon".into(), ..good.clone() }),
            ("speed", Params { speed: 0.0, ..good.clone() }),
            ("speed", Params { speed: f64::NAN, ..good.clone() }),
            ("host_interval", Params { host_interval: -1.0, ..good.clone() }),
            ("address_interval", Params { address_interval: f64::INFINITY, ..good.clone() }),
            ("https", Params { https: 1.5, ..good.clone() }),
            ("https", Params { https: f64::NAN, ..good.clone() }),
            ("bad_certificates", Params { bad_certificates: 0.8, ..good.clone() }),
            ("ipv6_share", Params { ipv6_share: -0.1, ..good.clone() }),
            ("https_port", Params { https: 0.5, http_port: 81, https_port: 81, ..good.clone() }),
            ("threads", Params { threads: 0, ..good.clone() }),
            ("agent", Params { agent: String::new(), ..good }),
        ];
        for (name, params) in bad {
            match params.check() {
                Err(Error::Setting { name: told, .. }) => assert_eq!(told, name),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
