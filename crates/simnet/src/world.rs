//! The world: its hosts, URLs, links and responses, as a pure function of the seed.
//!
//! Guarantees, checked by the tests:
//! 1. Two worlds with the same parameters are equal.
//! 2. Every URL of a host is reachable from its front page by allowed, followed links.
//! 3. Every host's front page is reachable from the seeds in the same way.
//! 4. A redirect leads to a page that returns 200 and is allowed for all agents, if its host counts.
//!
//! Coverage counts the slots of hosts with [`Nature::counts`]: the name resolves to an IPv4 address,
//! robots.txt is available, and the web server delivers its pages as HTML to a patient crawler. Slow and
//! rate-limiting servers count, since they only require waiting; so do pages that fail once. Dribbling,
//! resetting and mislabelling servers do not: a crawler may give up on them. URLs of a trap are no slots and
//! never count.
//!
//! Each host's URLs are *slots* 0..n. They form a tree with [`FANOUT`] children: slot i links to slots 8i+1
//! to 8i+8. Every slot other than a plain page (redirect, missing, broken, disallowed, nofollow) is a leaf,
//! so it hides nothing. Front pages form a tree in the same way.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::hosts::{Hosts, Name};
use crate::model::{Families, Model};
use crate::nature::{self, Family, Gate, Manner, Nature};
use crate::params::Params;
use crate::path;
use crate::random::Rng;
use crate::robots::{Fence, Robots};
use crate::secure::{Shares, map_to_v6};
use crate::text::Text;

/// Children of a page in its host's tree.
const FANOUT: u32 = 8;

/// Children of a front page in the tree of hosts.
const HOST_FANOUT: u32 = 4;

/// Maximum length of a name in a wildcard zone: with eight aliases the answer still fits into 512 bytes.
const MAX_WILD_NAME: usize = 120;

/// Mean, minimum and maximum size of a page's HTML in bytes.
const PAGE_BYTES: (f64, f64, f64) = (27_000.0, 2_000.0, 300_000.0);

/// Kind of response at a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// 200 with a page.
    Page,
    /// 301 (`permanent`) or 302 to another page.
    Redirect {
        /// Whether the status is 301.
        permanent: bool,
        /// The target's host.
        host: u32,
        /// The target's slot.
        slot: u32,
    },
    /// 404, although pages link to it.
    Missing,
    /// Always 500 or another 5xx.
    Broken,
}

/// Position of a link on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The navigation bar.
    Navigation,
    /// In the running text.
    Text,
    /// The list of related pages at the end.
    List,
}

/// A link of a page.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The target's host.
    pub host: u32,
    /// The target's slot.
    pub slot: u32,
    /// False with `rel=nofollow`.
    pub follow: bool,
    /// Its position on the page.
    pub place: Place,
    /// Random bits for its notation.
    pub(crate) look: u32,
}

/// Layout of a page, drawn when it is rendered or its links are enumerated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Target size of the HTML, in bytes.
    pub(crate) bytes: u32,
    /// Whether a robots meta tag says nofollow.
    pub(crate) nofollow: bool,
    /// Random bits for its head and title.
    pub(crate) look: u64,
}

/// A simulated Internet's content.
pub struct World {
    /// The seed of everything.
    seed: u64,
    /// Names, addresses, numbers of URLs.
    pub(crate) hosts: Hosts,
    /// Fragments of text.
    pub(crate) text: Text,
    /// Shares of HTTPS and of bad certificates.
    pub(crate) shares: Shares,
    /// Number of hosts.
    count: u32,
    /// Its model.
    model: Model,
    /// Nature of each host; empty if all are ordinary.
    natures: Vec<Nature>,
    /// Whether IPv6 is served.
    ipv6: bool,
}

/// Purposes of random streams: one number each, so that no two properties use the same bits.
pub(crate) mod purpose {
    /// Kind of response, and whether robots.txt disallows it.
    pub(super) const SLOT: u64 = 10;
    /// Words in paths.
    pub(super) const PATH: u64 = 11;
    /// Size and head of a page.
    pub(super) const LAYOUT: u64 = 12;
    /// Links of a page.
    pub(super) const LINKS: u64 = 13;
    /// A robots.txt.
    pub(super) const ROBOTS: u64 = 14;
    /// A host's other properties.
    pub(super) const HOST: u64 = 15;
    /// Addresses of a moving host.
    pub(super) const MOVE: u64 = 16;
    /// Pages that fail.
    pub(super) const FAULT: u64 = 17;
    /// Delay and loss of an answer to a DNS question.
    pub(crate) const QUESTION: u64 = 18;
    /// Delays of a host's pages.
    pub(crate) const DELAY: u64 = 19;
}

impl World {
    /// Builds the world from checked parameters.
    pub fn new(params: &Params) -> Self {
        Self::with_model(params, params.model().unwrap_or_default())
    }

    /// Builds the world with a given model, ignoring the parameters' profile.
    pub(crate) fn with_model(params: &Params, mut model: Model) -> Self {
        if params.ipv6_share > 0.0 {
            model.dns.families = Families { both: params.ipv6_share, only_v6: 0.0 };
        }
        let mut world = Self {
            seed: params.seed,
            hosts: Hosts::new(params.seed, params.hosts, params.pages, &model.addresses),
            text: Text::new(params.seed),
            shares: Shares::new(params),
            count: params.hosts,
            model,
            natures: Vec::new(),
            ipv6: params.ipv6,
        };
        let seeds = world.seeds();
        let leaf = |host| !seeds.contains(&host) && seeds.end + host * HOST_FANOUT >= world.count;
        let parent = |host| world.hosts.is_parent(host);
        world.natures = nature::deal(world.seed, world.count, &world.model, leaf, parent);
        world
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Nature of the host.
    pub fn nature(&self, host: u32) -> Nature {
        self.natures.get(host as usize).copied().unwrap_or_default()
    }

    /// Number of hosts.
    pub fn host_count(&self) -> u32 {
        self.count
    }

    /// Number of URLs of all hosts, without robots.txt.
    pub fn url_count(&self) -> u64 {
        self.hosts.total()
    }

    /// The host's name.
    pub fn name(&self, host: u32) -> &str {
        self.hosts.name(host)
    }

    /// Finds the host of a lower-case name.
    pub fn find_host(&self, name: &str) -> Option<u32> {
        match self.hosts.find(name) {
            Some(Name::Host(host)) => Some(host),
            _ => None,
        }
    }

    /// The host's initial address.
    pub fn address(&self, host: u32) -> Ipv4Addr {
        self.hosts.address(host)
    }

    /// The host's address at a world age in unscaled seconds.
    pub fn address_at(&self, host: u32, seconds: f64) -> Ipv4Addr {
        let moves = &self.model.dns.moves;
        // Names with IPv6 never move, since both families would have to move at once.
        if moves.share == 0.0
            || self.address6(host).is_some()
            || !self.rng(purpose::HOST, host, 3).share(moves.share)
        {
            return self.address(host);
        }
        match (seconds.max(0.0) / self.stay(host)) as u32 {
            0 => self.address(host),
            n => self.address(self.rng(purpose::MOVE, host, n).below(self.count)),
        }
    }

    /// Whether the host is served at an address: its current one, or its previous one within the grace time.
    pub fn lives_at(&self, host: u32, address: Ipv4Addr, seconds: f64) -> bool {
        let grace = self.model.dns.moves.grace_ttls * f64::from(self.ttl(host).max(1));
        self.address_at(host, seconds) == address || self.address_at(host, seconds - grace) == address
    }

    /// Time that a moving host stays at one address, in unscaled seconds.
    fn stay(&self, host: u32) -> f64 {
        self.model.dns.moves.every_ttls * f64::from(self.ttl(host).max(1))
    }

    /// The host's IPv6 address, mapped from its IPv4 address into fd00::/64; `None` without IPv6.
    pub fn address6(&self, host: u32) -> Option<Ipv6Addr> {
        let has = self.ipv6 && self.nature(host).family != Family::V4;
        has.then(|| map_to_v6(self.address(host)))
    }

    /// Whether the host has an IPv4 address.
    pub(crate) fn has_v4(&self, host: u32) -> bool {
        !self.ipv6 || self.nature(host).family != Family::V6
    }

    /// Finds the host whose wildcard zone contains a name that belongs to no host.
    pub fn find_zone(&self, name: &str) -> Option<u32> {
        if self.natures.is_empty() || name.len() > MAX_WILD_NAME {
            return None;
        }
        let mut rest = name;
        while let Some((_, parent)) = rest.split_once('.') {
            rest = parent;
            // The closest name that exists decides (RFC 4592, 3.3.1).
            match self.hosts.find(rest) {
                Some(Name::Host(host)) => return Some(host).filter(|&host| self.nature(host).wildcard),
                Some(Name::Parent) => return None,
                None => {}
            }
        }
        None
    }

    /// Length of the alias chain between the host's name and its address.
    pub(crate) fn aliases(&self, host: u32) -> u32 {
        let cnames = &self.model.dns.cnames;
        let mut rng = self.rng(purpose::HOST, host, 4);
        if cnames.share == 0.0 || !rng.share(cnames.share) {
            return 0;
        }
        let mut count = 1;
        while count < cnames.most && rng.share(cnames.more) {
            count += 1;
        }
        count.min(cnames.most)
    }

    /// The host's number of URLs.
    pub fn pages(&self, host: u32) -> u32 {
        self.hosts.pages(host)
    }

    /// The hosts whose front pages are seeds: the roots of the tree of hosts.
    pub fn seeds(&self) -> std::ops::Range<u32> {
        0..(self.count / 100).max(10).min(self.count)
    }

    /// Whether the host is a leaf of the tree of hosts: no host depends on it.
    pub(crate) fn is_childless(&self, host: u32) -> bool {
        u64::from(self.seeds().end) + u64::from(host) * u64::from(HOST_FANOUT) >= u64::from(self.count)
    }

    /// The host's robots.txt; the stricter version if it changes.
    pub fn robots(&self, host: u32) -> Robots {
        let mut robots = Robots::draw(self.rng(purpose::ROBOTS, host, 0));
        match self.nature(host).gate {
            Gate::Ordinary => {}
            Gate::Failing => robots.refuses = true,
            Gate::Changing => (robots.exists, robots.shuts_blog) = (true, true),
            Gate::Huge | Gate::Slow | Gate::Redirected => robots.exists = true,
        }
        robots
    }

    /// The host's robots.txt at a world age in unscaled seconds.
    pub fn robots_at(&self, host: u32, seconds: f64) -> Robots {
        let mut robots = self.robots(host);
        // The stricter version comes first, so that short crawls meet it too.
        robots.shuts_blog &= ((seconds / self.model.robots.change_s) as u64).is_multiple_of(2);
        robots
    }

    /// The host's Retry-After in unscaled seconds; `None` if it never sends one.
    pub fn retry_after(&self, host: u32) -> Option<u32> {
        let manners = &self.model.manners;
        let asks = matches!(self.nature(host).manner, Manner::Limited | Manner::Overloaded);
        let spread = manners.retry_most_s - manners.retry_least_s + 1;
        asks.then(|| manners.retry_least_s + self.rng(purpose::HOST, host, 5).below(spread))
    }

    /// The host's bandwidth in bytes per second; `None` without a limit.
    pub(crate) fn bandwidth(&self, host: u32) -> Option<f64> {
        let bandwidth = &self.model.http.bandwidth;
        let drawn = || self.rng(purpose::HOST, host, 7).around(bandwidth.median_kb_s, bandwidth.sigma);
        (bandwidth.median_kb_s > 0.0).then(|| drawn().max(bandwidth.least_kb_s).max(0.1) * 1e3)
    }

    /// Whether any host may differ from an ordinary one.
    pub(crate) fn has_natures(&self) -> bool {
        !self.natures.is_empty() || self.model.http.errors.hosts > 0.0
    }

    /// Whether some of the host's pages fail.
    fn errs(&self, host: u32) -> bool {
        let errors = &self.model.http.errors;
        // Not hosts with Retry-After: each of their refusals must have it.
        errors.hosts > 0.0
            && self.rng(purpose::HOST, host, 6).share(errors.hosts)
            && self.retry_after(host).is_none()
    }

    /// Whether a page returns 503 to its first request.
    pub(crate) fn fails_once(&self, host: u32, slot: u32) -> bool {
        self.errs(host) && self.rng(purpose::FAULT, host, slot).unit() > 1.0 - self.model.http.errors.passing
    }

    /// Status of a [`Slot::Broken`].
    pub(crate) fn fault(&self, host: u32, slot: u32) -> u16 {
        if self.errs(host) { 500 + [0, 2, 3, 4][(host ^ slot) as usize % 4] } else { 500 }
    }

    /// Whether the host compresses for clients that accept it: 30 % do.
    pub(crate) fn compresses(&self, host: u32) -> bool {
        self.rng(purpose::HOST, host, 0).chance(300)
    }

    /// TTL of the host's address, in unscaled seconds.
    pub(crate) fn ttl(&self, host: u32) -> u32 {
        let mut draw = self.rng(purpose::HOST, host, 1).unit();
        let ttls = &self.model.dns.ttl;
        let drawn = ttls.iter().find(|ttl| {
            draw -= ttl.share;
            draw < 0.0
        });
        // Rounded shares may sum to less than 1: use the last.
        drawn.or(ttls.last()).map_or(0, |ttl| ttl.seconds)
    }

    /// Kind of response at a slot.
    pub fn slot(&self, host: u32, slot: u32) -> Slot {
        if !self.is_special(host, slot) {
            return Slot::Page;
        }
        if self.errs(host) && self.rng(purpose::FAULT, host, slot).unit() < self.model.http.errors.lasting {
            return Slot::Broken;
        }
        let mut rng = self.rng(purpose::SLOT, host, slot);
        // Shares of leaves, which are 7 of 8 slots: 2 % redirects, 1 % missing, 0.5 % broken of all slots.
        match rng.below(1000) {
            0..23 => {
                let permanent = rng.chance(600);
                let host = if rng.chance(400) { rng.zipf(self.count) } else { host };
                Slot::Redirect { permanent, host, slot: rng.below(inner(self.pages(host))) }
            }
            23..35 => Slot::Missing,
            35..41 => Slot::Broken,
            _ => Slot::Page,
        }
    }

    /// Appends the path (and query) of a slot.
    pub fn write_path(&self, out: &mut Vec<u8>, host: u32, slot: u32) {
        path::write(out, slot, self.rng(purpose::PATH, host, slot), self.fence(host, slot));
    }

    /// Finds the slot of a path, if the host has it.
    pub fn find_slot(&self, host: u32, path: &[u8]) -> Option<u32> {
        let slot = path::candidate(path).filter(|&slot| slot < self.pages(host))?;
        let mut own = Vec::with_capacity(96);
        self.write_path(&mut own, host, slot);
        (own == path).then_some(slot)
    }

    /// The path of a slot as text.
    pub fn path(&self, host: u32, slot: u32) -> String {
        let mut out = Vec::new();
        self.write_path(&mut out, host, slot);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Whether a page's links are followed: it is a page without a nofollow meta tag.
    pub fn follows(&self, host: u32, slot: u32) -> bool {
        self.slot(host, slot) == Slot::Page && !self.layout(host, slot).nofollow
    }

    /// Layout of a page.
    pub(crate) fn layout(&self, host: u32, slot: u32) -> Layout {
        let mut rng = self.rng(purpose::LAYOUT, host, slot);
        let (mean, least, most) = PAGE_BYTES;
        let bytes = rng.log_normal(mean, 0.9).clamp(least, most) as u32;
        let nofollow = self.is_special(host, slot) && rng.chance(15);
        Layout { bytes, nofollow, look: rng.bits() }
    }

    /// Visits the links of a page in their order on the page.
    pub fn links(&self, host: u32, slot: u32, visit: impl FnMut(Link)) {
        self.links_of(host, slot, self.layout(host, slot).bytes, visit);
    }

    /// [`World::links`] of a page whose size is known.
    pub(crate) fn links_of(&self, host: u32, slot: u32, bytes: u32, mut visit: impl FnMut(Link)) {
        let mut rng = self.rng(purpose::LINKS, host, slot);
        let pages = self.pages(host);
        let mut give = |host, slot, follow, place, look: u64| {
            visit(Link { host, slot, follow, place, look: (look >> 32) as u32 });
        };
        for target in 0..pages.min(1 + path::NAVIGATION.len() as u32) {
            give(host, target, true, Place::Navigation, rng.bits());
        }
        let child = slot * FANOUT + 1;
        for target in child.min(pages)..(child + FANOUT).min(pages) {
            give(host, target, true, Place::Text, rng.bits());
        }
        if slot == 0 {
            let child = self.seeds().end + host * HOST_FANOUT;
            for target in child.min(self.count)..(child + HOST_FANOUT).min(self.count) {
                give(target, 0, true, Place::Text, rng.bits());
            }
        }
        // One link per 480 bytes: about 60 on a page of mean size, including navigation.
        let links = (bytes / 480).clamp(4, 200);
        let outer = links / 4;
        for i in 0..links {
            let place = if i < links / 2 { Place::Text } else { Place::List };
            let follow = !rng.chance(40);
            // The last quarter leads to other hosts. The minimum of two draws favours early pages.
            if i < links - outer {
                let target = rng.below(pages).min(rng.below(pages));
                give(host, target, follow, place, rng.bits());
            } else {
                let host = rng.zipf(self.count);
                let pages = self.pages(host);
                let target = if rng.chance(600) { 0 } else { rng.below(pages).min(rng.below(pages)) };
                give(host, target, follow, place, rng.bits());
            }
        }
    }

    /// The robots rule that covers a slot: one leaf in eight, if the host's robots.txt has such a rule.
    fn fence(&self, host: u32, slot: u32) -> Option<Fence> {
        if !self.is_special(host, slot) {
            return None;
        }
        let fence = self.robots(host).fence?;
        let mut rng = self.rng(purpose::SLOT, host, slot);
        let closed = rng.below(1000) >= 41 && rng.chance(125);
        // Half of the pages of a fence with an Allow rule are allowed.
        closed.then(|| if fence == Fence::Open && rng.chance(500) { Fence::Private } else { fence })
    }

    /// Whether a slot may be other than a plain page: a leaf that is not in the navigation.
    fn is_special(&self, host: u32, slot: u32) -> bool {
        slot > path::NAVIGATION.len() as u32 && slot >= inner(self.pages(host))
    }

    /// The random stream of a purpose, a host and a slot.
    pub(crate) fn rng(&self, purpose: u64, host: u32, slot: u32) -> Rng {
        Rng::new(self.seed, purpose, u64::from(host), u64::from(slot))
    }
}

/// Number of slots with children, at least 1; they are plain pages.
fn inner(pages: u32) -> u32 {
    pages.saturating_sub(1).div_ceil(FANOUT).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world with these numbers of hosts and pages.
    fn world(hosts: u32, pages: u32, seed: u64) -> World {
        World::new(&Params { hosts, pages, seed, ..Params::default() })
    }

    #[test]
    fn every_page_and_host_is_reached_by_allowed_links_alone() {
        for (hosts, pages, seed) in [(1, 1, 1), (3, 2, 2), (120, 40, 3), (600, 7, 4)] {
            let world = world(hosts, pages, seed);
            let mut seen = vec![false; world.url_count() as usize];
            let mut queue: Vec<(u32, u32)> = world.seeds().map(|host| (host, 0)).collect();
            queue.iter().for_each(|&(host, _)| seen[world.hosts.first(host) as usize] = true);
            while let Some((host, slot)) = queue.pop() {
                let allowed = world.robots(host).allows("*", world.path(host, slot).as_bytes());
                if !allowed || !world.follows(host, slot) {
                    continue;
                }
                world.links(host, slot, |link| {
                    let place = (world.hosts.first(link.host) + u64::from(link.slot)) as usize;
                    if link.follow && !seen[place] {
                        seen[place] = true;
                        queue.push((link.host, link.slot));
                    }
                });
            }
            assert!(seen.iter().all(|&s| s), "{hosts} hosts, {pages} pages");
        }
    }

    #[test]
    fn paths_are_unique_and_found() {
        let world = world(50, 100, 5);
        for host in 0..50 {
            for slot in 0..world.pages(host) {
                assert_eq!(world.find_slot(host, world.path(host, slot).as_bytes()), Some(slot));
            }
        }
        assert_eq!(world.find_slot(0, b"/news/2024/no-such-17.html"), None);
        assert_eq!(world.find_slot(0, b"/a?id=4294967295"), None);
    }

    #[test]
    fn shares_are_as_documented() {
        let world = world(2_000, 50, 6);
        let (mut redirects, mut missing, mut broken, mut closed, mut nofollow) = (0, 0, 0, 0, 0);
        for host in 0..2_000 {
            for slot in 0..world.pages(host) {
                match world.slot(host, slot) {
                    Slot::Page => nofollow += u64::from(!world.follows(host, slot)),
                    Slot::Redirect { host, slot, .. } => {
                        redirects += 1;
                        assert_eq!(world.slot(host, slot), Slot::Page);
                        assert!(world.robots(host).allows("*", world.path(host, slot).as_bytes()));
                    }
                    Slot::Missing => missing += 1,
                    Slot::Broken => broken += 1,
                }
                closed += u64::from(!world.robots(host).allows("*", world.path(host, slot).as_bytes()));
            }
        }
        let permille = |n: u64| n * 1000 / world.url_count();
        assert!((15..25).contains(&permille(redirects)), "{redirects}");
        assert!((7..13).contains(&permille(missing)), "{missing}");
        assert!((3..7).contains(&permille(broken)), "{broken}");
        assert!((5..25).contains(&permille(closed)), "{closed}");
        assert!((5..20).contains(&permille(nofollow)), "{nofollow}");
        let robots = |test: fn(&Robots) -> bool| (0..2_000).filter(|&h| test(&world.robots(h))).count() / 20;
        assert!((17..24).contains(&robots(|r| !r.exists)));
        assert!((12..19).contains(&robots(|r| r.fence.is_some())));
        assert!((3..8).contains(&robots(|r| r.crawl_delay.is_some())));
    }

    #[test]
    fn pages_have_some_60_links_in_the_mean() {
        let world = world(200, 50, 7);
        let mut links = 0;
        for host in 0..200 {
            (0..world.pages(host)).for_each(|slot| world.links(host, slot, |_| links += 1));
        }
        let mean = links / world.url_count();
        assert!((52..68).contains(&mean), "{mean}");
    }
}
