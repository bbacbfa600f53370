//! Each host's nature: how its name answers, what its server, its pages and its robots.txt are like. Dealt once from the model's shares.
//!
//! Guarantees:
//! 1. The shares are met exactly, to the nearest whole host, as far as there are hosts that may be given such a nature.
//! 2. A host whose pages cannot be had hides no other: it is no seed and its front page leads to no host that only it leads to.
//! 3. A name that does not exist has no names beneath it (RFC 8020).

use crate::model::Model;
use crate::random::Rng;

/// How a name answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// With an address.
    #[default]
    Address,
    /// Without one, although it exists.
    NoData,
    /// It does not exist.
    NxDomain,
    /// SERVFAIL.
    ServFail,
    /// Never.
    Dead,
}

/// Which addresses a name has while IPv6 is served; otherwise all have IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4 alone.
    #[default]
    V4,
    /// Both.
    Both,
    /// IPv6 alone.
    V6,
}

/// What a server is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// As it should be.
    #[default]
    Ordinary,
    /// Answers come late.
    Slow,
    /// Bodies come in tiny pieces, for minutes.
    Dribbling,
    /// Connections are reset in mid-body.
    Resetting,
    /// 429 every few requests, Retry-After in seconds.
    Limited,
    /// 503 every few requests, Retry-After as a date.
    Overloaded,
    /// Pages labelled as what they are not.
    Mislabelled,
    /// Noise labelled as HTML.
    Binary,
    /// HTML that only a forgiving parser reads.
    Broken,
    /// Pages in a charset other than UTF-8.
    Foreign,
}

/// What lies beside a host's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trap {
    /// Nothing.
    #[default]
    None,
    /// An endless calendar.
    Calendar,
    /// Session ids in links.
    Sessions,
    /// Ever longer paths.
    Repetition,
    /// Redirects in a circle.
    Loops,
    /// Redirects in a long row.
    Chains,
    /// 200 for what does not exist.
    Soft404,
    /// Near-duplicates.
    Duplicates,
    /// Ever new names.
    Names,
}

/// What a robots.txt is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// As it should be.
    #[default]
    Ordinary,
    /// Over 500 KiB.
    Huge,
    /// Late.
    Slow,
    /// 503: everything is forbidden.
    Failing,
    /// Behind two redirects.
    Redirected,
    /// With a rule that comes and goes.
    Changing,
}

/// All that is special about a host; the default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nature {
    /// How its name answers.
    pub lookup: Lookup,
    /// Its addresses while IPv6 is served.
    pub family: Family,
    /// What its server is like.
    pub manner: Manner,
    /// What lies beside its pages.
    pub trap: Trap,
    /// What its robots.txt is like.
    pub gate: Gate,
    /// Whether its zone answers for any label.
    pub wildcard: bool,
}

impl Nature {
    /// Whether a patient crawler can have the host's pages, so that they count in the coverage.
    pub fn counts(&self) -> bool {
        let hidden = matches!(
            self.manner,
            Manner::Dribbling | Manner::Resetting | Manner::Mislabelled | Manner::Binary
        );
        self.lookup == Lookup::Address && self.family != Family::V6 && self.gate != Gate::Failing && !hidden
    }
}

/// Deals the natures of `count` hosts. `leaf` says which hosts hide no others, `parent` which names have names beneath them.
pub(crate) fn deal(
    seed: u64,
    count: u32,
    model: &Model,
    leaf: impl Fn(u32) -> bool,
    parent: impl Fn(u32) -> bool,
) -> Vec<Nature> {
    let shares = Shares::of(model);
    if shares.are_empty() {
        return Vec::new(); // All ordinary: no table at all.
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
    /// Names that do not answer with an address.
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
    /// Reads them from the model.
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

/// Deals one kind of nature after the other.
struct Dealer {
    /// The world's seed.
    seed: u64,
    /// Number of hosts.
    count: u32,
    /// The next random stream.
    purpose: u64,
    /// What was dealt.
    natures: Vec<Nature>,
}

impl Dealer {
    /// Gives each value to its share of hosts, drawn among those that may have it.
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
            // Rounded sums, not rounded shares: small worlds get as many difficult hosts as large ones.
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
