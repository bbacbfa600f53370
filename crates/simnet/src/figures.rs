//! Figures that benchmarks compare with measurements: the model, quantiles of its distributions, and the
//! actual shares of the world's hosts.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::model::{Latency, Model};
use crate::nature::{Family, Lookup, Manner, Trap};
use crate::network::draw;
use crate::random::Rng;
use crate::world::World;

/// Number of draws for quantiles.
const DRAWS: usize = 100_000;

/// A world's figures, unscaled.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The model, with defaults filled in.
    pub model: Model,
    /// Delay of DNS answers, in milliseconds.
    pub dns_latency_ms: Quantiles,
    /// The hosts' own delay of HTTP responses, in milliseconds.
    pub http_latency_ms: Quantiles,
    /// Actual shares of this world's hosts.
    pub world: Shares,
}

/// Quantiles of a distribution.
#[derive(Clone, Debug, Serialize)]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// Pairs of percent and quantile: 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9.
    pub percent: Vec<(f64, f64)>,
}

/// Shares of a world's names.
#[derive(Clone, Debug, Serialize)]
pub struct Shares {
    /// By answer: address, nodata, nxdomain, servfail, dead.
    pub answers: BTreeMap<&'static str, f64>,
    /// Cumulative by TTL: seconds, share of names with at most that TTL.
    pub ttl: Vec<(u32, f64)>,
    /// Cumulative by number of names on the address, including the name itself: number, share of names with at most that many.
    pub names_per_address: Vec<(u32, f64)>,
    /// By number of aliases.
    pub aliases: BTreeMap<u32, f64>,
    /// With IPv4 only, both, IPv6 only; the last two are 0 unless IPv6 is served.
    pub families: [f64; 3],
    /// With a difficult web server.
    pub difficult: f64,
    /// With a trap.
    pub traps: f64,
    /// With pages that count in coverage.
    pub counting: f64,
}

impl Figures {
    /// Computes a world's figures.
    pub fn of(world: &World) -> Self {
        let model = world.model().clone();
        Self {
            dns_latency_ms: Quantiles::of(&model.dns.latency),
            http_latency_ms: Quantiles::of(&model.http.latency),
            world: Shares::of(world),
            model,
        }
    }

    /// The figures as one line of JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl Quantiles {
    /// Estimates by drawing: with the truncated tail, formulas would be long.
    fn of(latency: &Latency) -> Self {
        let mut rng = Rng::new(1, 40, 0, 0);
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw(latency, &mut rng)).collect();
        drawn.sort_by(f64::total_cmp);
        let percents = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];
        Self {
            mean: drawn.iter().sum::<f64>() / DRAWS as f64,
            percent: percents.map(|p| (p, drawn[(p / 100.0 * DRAWS as f64) as usize])).to_vec(),
        }
    }
}

impl Shares {
    /// Counts a world's hosts.
    fn of(world: &World) -> Self {
        let hosts = 0..world.host_count();
        let count = f64::from(world.host_count());
        let share = |fits: &dyn Fn(u32) -> bool| hosts.clone().filter(|&h| fits(h)).count() as f64 / count;
        let lookup = |kind| share(&|h| world.nature(h).lookup == kind);
        let v6 = |h| world.address6(h).is_some();
        let mut names: HashMap<_, u32> = HashMap::new();
        hosts.clone().for_each(|h| *names.entry(world.address(h)).or_default() += 1);
        let mut aliases = BTreeMap::new();
        hosts.clone().for_each(|h| *aliases.entry(world.aliases(h)).or_default() += 1.0 / count);
        Self {
            answers: BTreeMap::from([
                ("address", lookup(Lookup::Address)),
                ("nodata", lookup(Lookup::NoData)),
                ("nxdomain", lookup(Lookup::NxDomain)),
                ("servfail", lookup(Lookup::ServFail)),
                ("dead", lookup(Lookup::Dead)),
            ]),
            ttl: cumulate(hosts.clone().map(|h| world.ttl(h))),
            names_per_address: cumulate(hosts.clone().map(|h| names[&world.address(h)])),
            aliases,
            families: [
                share(&|h| !v6(h)),
                share(&|h| v6(h) && world.has_v4(h)),
                share(&|h| world.nature(h).family == Family::V6 && v6(h)),
            ],
            difficult: share(&|h| world.nature(h).manner != Manner::Ordinary),
            traps: share(&|h| world.nature(h).trap != Trap::None),
            counting: share(&|h| world.nature(h).counts()),
        }
    }
}

/// Cumulative distribution: each value with the share of values that are not larger.
fn cumulate(values: impl Iterator<Item = u32>) -> Vec<(u32, f64)> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let total = counts.values().sum::<u64>() as f64;
    let mut sum = 0;
    let add = |(value, count)| {
        sum += count;
        (value, sum as f64 / total)
    };
    counts.into_iter().map(add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    #[test]
    fn figures_of_the_internet_are_the_issues() {
        let params = Params { profile: "internet".into(), hosts: 10_000, pages: 2, ..Params::default() };
        let figures = Figures::of(&World::new(&params));
        let at = |percent| figures.dns_latency_ms.percent.iter().find(|q| q.0 == percent).unwrap().1;
        assert!((58.0..63.0).contains(&at(50.0)) && at(99.9) > 3_000.0);
        let names = &figures.world.names_per_address;
        assert_eq!((names[0], names.last().unwrap().1), ((1, 0.2), 1.0));
        let hundred = names.iter().rfind(|n| n.0 <= 100).unwrap().1;
        assert!((hundred - 0.7).abs() < 1e-9, "{hundred}");
        assert_eq!(figures.world.answers["address"], 0.88);
        assert!(figures.to_json().unwrap().contains("\"median_ms\":60.0"));
    }
}
