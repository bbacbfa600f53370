//! The list of names that a breadth-first crawler asks for: the host of each URL, in the order of its queue.
//!
//! Pages have links like those of the simulated Internet (`crates/simnet/src/world.rs`): navigation,
//! children, and one for each 480 bytes, a quarter of which lead to other hosts by popularity (Zipf). A host
//! whose name does not resolve has no pages; only links from other hosts lead to it. Each URL is visited
//! once.

use std::collections::{HashSet, VecDeque};

use crate::world::{Dice, Kind, World};

/// Links on every page to the front page and the other navigation pages.
const NAVIGATION: u32 = 6;

/// Children of a page, and of a front page in the host tree.
const CHILDREN: (u32, u32) = (8, 4);

/// Page size in bytes: mean, sigma of the logarithm, minimum, maximum.
const BYTES: (f64, f64, f64, f64) = (27_000.0, 0.9, 2_000.0, 300_000.0);

/// The first `count` names of the list, as host numbers.
pub(crate) fn breadth_first(world: &World, count: usize) -> Vec<u32> {
    let hosts = world.hosts.len() as u32;
    let seeds = (hosts / 100).max(10).min(hosts);
    let (mut queue, mut known) = (VecDeque::new(), HashSet::new());
    let mut list = Vec::with_capacity(count);
    (0..seeds).for_each(|host| add(&mut queue, &mut known, host, 0));
    while list.len() < count {
        let (host, slot): (u32, u32) = queue.pop_front().expect("a world with URLs enough");
        list.push(host);
        let is_page = world.hosts[host as usize].kind == Kind::Address;
        if is_page && list.len() + queue.len() < count {
            links(world, seeds, host, slot, |host, slot| add(&mut queue, &mut known, host, slot));
        }
    }
    list
}

/// Enqueues a URL unless it is known.
fn add(queue: &mut VecDeque<(u32, u32)>, known: &mut HashSet<(u32, u32)>, host: u32, slot: u32) {
    if known.insert((host, slot)) {
        queue.push_back((host, slot));
    }
}

/// Visits the links of a page.
fn links(world: &World, seeds: u32, host: u32, slot: u32, mut visit: impl FnMut(u32, u32)) {
    let hosts = world.hosts.len() as u32;
    let own = pages(world, host);
    let mut dice = Dice::new(4, u64::from(host), u64::from(slot));
    (0..own.min(NAVIGATION)).for_each(|target| visit(host, target));
    let child = slot * CHILDREN.0 + 1;
    (child.min(own)..(child + CHILDREN.0).min(own)).for_each(|target| visit(host, target));
    if slot == 0 {
        let child = seeds + host * CHILDREN.1;
        (child.min(hosts)..(child + CHILDREN.1).min(hosts)).for_each(|target| visit(target, 0));
    }
    let (mean, sigma, least, most) = BYTES;
    let count = (log_normal(&mut dice, mean, sigma).clamp(least, most) / 480.0).clamp(4.0, 200.0) as u32;
    for number in 0..count {
        let is_outer = number >= count - count / 4;
        let host = if is_outer { popular(&mut dice, hosts) } else { host };
        let pages = pages(world, host);
        let is_front = is_outer && dice.unit() < 0.6;
        // The minimum of two draws: early pages are linked more often.
        let target = if is_front { 0 } else { dice.below(pages).min(dice.below(pages)) };
        visit(host, target);
    }
}

/// Number of pages of a host.
fn pages(world: &World, host: u32) -> u32 {
    let drawn = log_normal(&mut Dice::new(3, u64::from(host), 0), world.pages, 0.7);
    drawn.clamp(1.0, world.pages * 15.0).round() as u32
}

/// A random host with popularity ~ 1/rank: an octave, then a position in it.
fn popular(dice: &mut Dice, hosts: u32) -> u32 {
    let octave = dice.below(32 - hosts.leading_zeros());
    let rank = (1 << octave) - 1 + dice.below(1 << octave);
    if rank < hosts { rank } else { dice.below(hosts) }
}

/// A lognormal random number with this mean.
fn log_normal(dice: &mut Dice, mean: f64, sigma: f64) -> f64 {
    let normal = (-2.0 * (1.0 - dice.unit()).ln()).sqrt() * (std::f64::consts::TAU * dice.unit()).cos();
    mean * (sigma * normal - sigma * sigma / 2.0).exp()
}
