//! Each host's nature: the behaviour of its name, its web server, its pages and its robots.txt. Assigned once from the model's shares.
//!
//! Guarantees:
//! 1. The shares are met exactly, to the nearest whole host, if there are enough hosts that may have such a nature.
//! 2. A host whose pages cannot be fetched hides no other: it is no seed, and no host is reachable only through it.
//! 3. A name that does not exist has no names below it (RFC 8020).

use crate::model::Model;
use crate::random::Rng;

/// Result of resolving a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// An address.
    #[default]
    Address,
    /// NODATA: the name exists without an address.
    NoData,
    /// NXDOMAIN: the name does not exist.
    NxDomain,
    /// SERVFAIL.
    ServFail,
    /// No answer, ever.
    Dead,
}

/// Address families of a name if IPv6 is served; otherwise every name has IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4 only.
    #[default]
    V4,
    /// Both.
    Both,
    /// IPv6 only.
    V6,
}

/// Behaviour of a web server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// Ordinary.
    #[default]
    Ordinary,
    /// Responses are delayed.
    Slow,
    /// Bodies are sent in tiny pieces, for minutes.
    Dribbling,
    /// Connections are reset in the middle of a body.
    Resetting,
    /// Every few requests return 429 with Retry-After in seconds.
    Limited,
    /// Every few requests return 503 with Retry-After as a date.
    Overloaded,
    /// Pages with a wrong Content-Type.
    Mislabelled,
    /// Random bytes labelled as HTML.
    Binary,
    /// Invalid HTML that only a lenient parser reads.
    Broken,
    /// Pages in a charset other than UTF-8.
    Foreign,
}

/// Crawler trap beside a host's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trap {
    /// No trap.
    #[default]
    None,
    /// An infinite calendar.
    Calendar,
    /// Session ids in links.
    Sessions,
    /// Relative links that lengthen the path.
    Repetition,
    /// Redirect loops.
    Loops,
    /// Long redirect chains.
    Chains,
    /// 200 for missing pages.
    Soft404,
    /// Near-duplicates.
    Duplicates,
    /// Links to ever new names of a wildcard zone.
    Names,
}

/// Behaviour of a robots.txt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// Ordinary.
    #[default]
    Ordinary,
    /// Over 500 KiB.
    Huge,
    /// Delayed.
    Slow,
    /// 503: everything is disallowed.
    Failing,
    /// Behind two redirects.
    Redirected,
    /// With a rule that alternately appears and disappears.
    Changing,
}

/// All properties in which a host may differ from an ordinary one; the default is ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nature {
    /// Result of resolving its name.
    pub lookup: Lookup,
    /// Its address families if IPv6 is served.
    pub family: Family,
    /// Behaviour of its web server.
    pub manner: Manner,
    /// Crawler trap beside its pages.
    pub trap: Trap,
    /// Behaviour of its robots.txt.
    pub gate: Gate,
    /// Whether its zone has a wildcard.
    pub wildcard: bool,
}

impl Nature {
    /// Whether a patient crawler can fetch the host's pages, so that they count in coverage.
    pub fn counts(&self) -> bool {
        let hidden = matches!(
            self.manner,
            Manner::Dribbling | Manner::Resetting | Manner::Mislabelled | Manner::Binary
        );
        self.lookup == Lookup::Address && self.family != Family::V6 && self.gate != Gate::Failing && !hidden
    }
}

/// Assigns the natures of `count` hosts. `leaf` returns whether no other host depends on a host, `parent`
/// whether a name has names below it.
pub(crate) fn deal(
    seed: u64,
    count: u32,
    model: &Model,
    leaf: impl Fn(u32) -> bool,
    parent: impl Fn(u32) -> bool,
) -> Vec<Nature> {
    let shares = Shares::of(model);
    if shares.are_empty() {
        return Vec::new(); // All hosts are ordinary: no table is needed.
    }
    let mut dealer = Dealer { seed, count, purpose: 20, natures: vec![Nature::default(); count as usize] };
    dealer.give(
        &shares.lookups,
        |nature, lookup| nature.lookup = lookup,
        |host, nature, lookup| {
            leaf(host) && *nature == Nature::default() && !(lookup == Lookup::NxDomain && parent(host))
        },
    );
    let whole = |host: u32, nature: &Nature| leaf(host) && nature.counts();
    dealer.give(
        &shares.gates,
        |nature, gate| nature.gate = gate,
        |host, nature, gate| match gate {
            Gate::Failing => whole(host, nature),
            _ => nature.counts(),
        },
    );
    dealer.give(
        &shares.manners,
        |nature, manner| nature.manner = manner,
        |host, nature, manner| {
            whole(host, nature) || (nature.counts() && Nature { manner, ..*nature }.counts())
        },
    );
    dealer.give(
        &shares.families,
        |nature, family| nature.family = family,
        |host, nature, family| match family {
            Family::V6 => whole(host, nature),
            _ => nature.lookup == Lookup::Address,
        },
    );
    dealer.give(&shares.traps, |nature, trap| nature.trap = trap, |_, nature, _| nature.counts());
    dealer.give(
        &shares.wildcards,
        |nature, wildcard| nature.wildcard = wildcard,
        |_, nature, _| nature.counts() && !nature.wildcard,
    );
    for nature in &mut dealer.natures {
        nature.wildcard |= nature.trap == Trap::Names;
    }
    dealer.natures
}

/// The model's shares by kind.
struct Shares {
    /// Names without an address.
    lookups: Vec<(Lookup, f64)>,
    /// Names with IPv6.
    families: Vec<(Family, f64)>,
    /// Difficult servers.
    manners: Vec<(Manner, f64)>,
    /// Traps.
    traps: Vec<(Trap, f64)>,
    /// Difficult robots.txt files.
    gates: Vec<(Gate, f64)>,
    /// Wildcard zones.
    wildcards: Vec<(bool, f64)>,
}

impl Shares {
    /// Collects the shares of the model.
    fn of(model: &Model) -> Self {
        let (answers, families) = (&model.dns.answers, &model.dns.families);
        let (manners, traps, robots) = (&model.manners, &model.traps, &model.robots);
        Self {
            lookups: vec![
                (Lookup::NxDomain, answers.nxdomain),
                (Lookup::NoData, answers.no_data),
                (Lookup::ServFail, answers.servfail),
                (Lookup::Dead, answers.dead),
            ],
            families: vec![(Family::V6, families.only_v6), (Family::Both, families.both)],
            manners: vec![
                (Manner::Dribbling, manners.dribbling),
                (Manner::Resetting, manners.resetting),
                (Manner::Mislabelled, manners.mislabelled),
                (Manner::Binary, manners.binary),
                (Manner::Slow, manners.slow),
                (Manner::Limited, manners.limited),
                (Manner::Overloaded, manners.overloaded),
                (Manner::Broken, manners.broken),
                (Manner::Foreign, manners.foreign),
            ],
            traps: vec![
                (Trap::Calendar, traps.calendar),
                (Trap::Sessions, traps.sessions),
                (Trap::Repetition, traps.repetition),
                (Trap::Loops, traps.loops),
                (Trap::Chains, traps.chains),
                (Trap::Soft404, traps.soft_404),
                (Trap::Duplicates, traps.duplicates),
                (Trap::Names, traps.names),
            ],
            gates: vec![
                (Gate::Failing, robots.failing),
                (Gate::Huge, robots.huge),
                (Gate::Slow, robots.slow),
                (Gate::Redirected, robots.redirected),
                (Gate::Changing, robots.changing),
            ],
            wildcards: vec![(true, model.dns.wildcards)],
        }
    }

    /// Whether every host is ordinary.
    fn are_empty(&self) -> bool {
        /// The sum of a kind's shares.
        fn sum<T>(shares: &[(T, f64)]) -> f64 {
            shares.iter().map(|(_, share)| share).sum()
        }
        sum(&self.lookups)
            + sum(&self.families)
            + sum(&self.manners)
            + sum(&self.traps)
            + sum(&self.gates)
            + sum(&self.wildcards)
            == 0.0
    }
}

/// Assigns one property after the other.
struct Dealer {
    /// The world's seed.
    seed: u64,
    /// Number of hosts.
    count: u32,
    /// Purpose of the last random stream.
    purpose: u64,
    /// The natures assigned so far.
    natures: Vec<Nature>,
}

impl Dealer {
    /// Assigns each value to its share of hosts, drawn from those that may have it.
    fn give<T: Copy>(
        &mut self,
        shares: &[(T, f64)],
        set: impl Fn(&mut Nature, T),
        may: impl Fn(u32, &Nature, T) -> bool,
    ) {
        self.purpose += 1;
        if shares.iter().all(|&(_, share)| share == 0.0) {
            return;
        }
        let mut rng = Rng::new(self.seed, self.purpose, 0, 0);
        let mut order: Vec<u32> = (0..self.count).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i as u32 + 1) as usize);
        }
        let (mut sum, mut given) = (0.0, 0);
        for &(value, share) in shares {
            // Rounds the sums, not the shares, so that small worlds get the same total share of difficult hosts as large ones.
            sum += share;
            let until = (sum * f64::from(self.count)).round() as u32;
            let wanted = until.saturating_sub(given);
            given = until;
            let mut left = wanted;
            order.retain(|&host| {
                let nature = &mut self.natures[host as usize];
                let takes = left > 0 && may(host, nature, value);
                if takes {
                    set(nature, value);
                    left -= 1;
                }
                !takes
            });
        }
    }
}

#[cfg(test)]
#[path = "nature_tests.rs"]
mod tests;
