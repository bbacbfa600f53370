//! Who may ask an address that hosts of several partitions share: its places are lent, by one partition.
//!
//! An address has as many places as registered domains are known to live there, up to a limit; a place is the right to ask it as if
//! one domain lived there. Each partition says how many domains of its own live at an address and how many places it needs. No
//! I/O and no clock: what comes out is a function of what came in, so that a replay of the same needs comes to the same state.
//!
//! Messages tell how things stand, not what has changed: places that were lent and that came back are counted since the address was
//! first lent, modulo 2³². One that is lost is made good by the next one, for which who waits asks again after a while.
//!
//! Guarantees: never more places are lent than the address has; a place that is called back counts as lent until it comes back; while
//! a partition that needs a place has none, places of others are called back, one for each that waits; no partition keeps two places
//! more than one that needs another; who has places is told how many are lent in all; what nobody has and needs is forgotten.

use std::cmp::Reverse;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::codec::{self, put_number};

/// Number of a partition: its place among the nodes of the ring.
pub(crate) type Partition = u32;

/// What a partition tells the keeper of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) address: IpAddr,
    /// Places that it has got so far.
    pub(crate) granted: u32,
    /// Places that it has given back so far.
    pub(crate) returned: u32,
    /// Places that it needs in all; 0: none.
    pub(crate) places: u32,
    /// Its registered domains that live there.
    pub(crate) domains: u32,
    /// Whether it has waited for long: something may be lost.
    pub(crate) repeats: bool,
}

/// What the keeper tells a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loan {
    pub(crate) address: IpAddr,
    /// Places that it was given so far.
    pub(crate) granted: u32,
    /// Places that it is to have given back.
    pub(crate) recalled: u32,
    /// Places that all partitions have of it.
    pub(crate) lent: u32,
    /// Whether it is to tell what it needs, changed or not.
    pub(crate) asks: bool,
}

/// How far a count is ahead of another one; 0: it is not.
pub(crate) fn ahead(count: u32, of: u32) -> u32 {
    let ahead = count.wrapping_sub(of);
    if ahead > u32::MAX / 2 { 0 } else { ahead }
}

/// The places of all addresses that one partition keeps.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    /// Places of an address, at most.
    most: u32,
    all: HashMap<IpAddr, Places>,
    /// Counts needs: who waits longer has the smaller number.
    turns: u64,
}

/// The places of one address.
#[derive(Clone, Debug, Default)]
struct Places {
    /// How many are lent, as its borrowers know it.
    told: u32,
    borrowers: Vec<Borrower>,
}

/// A partition that has places of an address, or waits for one.
#[derive(Clone, Copy, Debug, Default)]
struct Borrower {
    partition: Partition,
    /// Places that it was given, and that came back.
    granted: u32,
    returned: u32,
    /// Of those that it has, how many are called back.
    recalled: u32,
    needed: u32,
    domains: u32,
    /// When it began to wait, or to have what it has.
    turn: u64,
}

impl Keeper {
    /// Nothing is lent; `most`: places of an address, at most.
    pub(crate) fn new(most: u32) -> Self {
        Keeper { most: most.max(1), ..Keeper::default() }
    }

    /// Places of an address, at most.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// A partition tells what it needs; appends what partitions are to be told.
    pub(crate) fn need(&mut self, from: Partition, need: &Need, loans: &mut Vec<(Partition, Loan)>) {
        self.turns += 1;
        let places = self.all.entry(need.address).or_default();
        let borrowers = &mut places.borrowers;
        let index = borrowers.iter().position(|one| one.partition == from).unwrap_or_else(|| {
            borrowers.reserve_exact(1); // most addresses have one
            // Whoever is not known here has given everything back.
            let (granted, returned) = (need.returned, need.returned);
            borrowers.push(Borrower { partition: from, granted, returned, ..Borrower::default() });
            borrowers.len() - 1
        });
        let borrower = &mut borrowers[index];
        let waited = borrower.needed > borrower.places();
        let returned = ahead(need.returned, borrower.returned).min(borrower.places());
        borrower.returned = borrower.returned.wrapping_add(returned);
        borrower.recalled = borrower.recalled.saturating_sub(returned).min(borrower.places());
        (borrower.needed, borrower.domains) = (need.places.min(self.most), need.domains);
        if returned > 0 || !waited {
            borrower.turn = self.turns;
        }
        places.serve(self.most, need, from, loans);
        if places.borrowers.is_empty() {
            self.all.remove(&need.address);
        }
    }

    /// Appends its state to a record of a snapshot.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        put_number(record, self.turns);
        put_number(record, self.all.len() as u64);
        for (address, Places { told, borrowers }) in &self.all {
            codec::put_address(record, *address);
            put_number(record, (*told).into());
            put_number(record, borrowers.len() as u64);
            for Borrower { partition, granted, returned, recalled, needed, domains, turn } in
                borrowers.iter().copied()
            {
                let numbers = [partition, granted, returned, recalled, needed, domains];
                numbers.into_iter().for_each(|number| put_number(record, number.into()));
                put_number(record, turn);
            }
        }
    }

    /// Reads it.
    pub(crate) fn unpack(&mut self, from: &mut &[u8]) -> Option<()> {
        self.turns = codec::number(from)?;
        for _ in 0..codec::number(from)? {
            let (address, told, mut borrowers) = (codec::address(from)?, codec::small(from)?, Vec::new());
            for _ in 0..codec::number(from)? {
                let mut number = || codec::small(from);
                let (partition, granted, returned) = (number()?, number()?, number()?);
                let (recalled, needed, domains) = (number()?, number()?, number()?);
                let turn = codec::number(from)?;
                borrowers.push(Borrower { partition, granted, returned, recalled, needed, domains, turn });
            }
            self.all.insert(address, Places { told, borrowers });
        }
        Some(())
    }

    /// Places of an address that are lent.
    #[cfg(test)]
    pub(crate) fn lent(&self, address: IpAddr) -> u32 {
        self.all.get(&address).map_or(0, Places::lent)
    }

    /// Addresses of which something is lent or needed.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

impl Borrower {
    /// Places that it has.
    fn places(&self) -> u32 {
        self.granted.wrapping_sub(self.returned)
    }
}

impl Places {
    /// After a need: lends what is free, to those with the fewest places first, and calls back what others wait for.
    fn serve(&mut self, most: u32, need: &Need, from: Partition, loans: &mut Vec<(Partition, Loan)>) {
        let borrowers = &mut self.borrowers;
        let before = borrowers.clone();
        let domains: u32 = borrowers.iter().fold(0, |sum, one| sum.saturating_add(one.domains));
        let lent: u32 = borrowers.iter().map(Borrower::places).sum();
        for _ in lent..domains.clamp(1, most) {
            let waiting = borrowers.iter_mut().filter(|one| one.places() < one.needed);
            let Some(next) = waiting.min_by_key(|one| (one.places(), one.turn)) else { break };
            next.granted = next.granted.wrapping_add(1);
        }
        let under_way: u32 = borrowers.iter().map(|one| one.recalled).sum();
        for _ in under_way..recalls(borrowers) {
            let able = borrowers.iter_mut().filter(|one| one.recalled < one.places());
            let Some(next) = able.max_by_key(|one| (one.places() - one.recalled, Reverse(one.turn))) else {
                break;
            };
            next.recalled += 1;
        }
        let lent = borrowers.iter().map(Borrower::places).sum();
        let is_news = std::mem::replace(&mut self.told, lent) != lent;
        let is_short = borrowers.iter().any(|one| one.partition == from && one.places() == 0);
        for (now, before) in borrowers.iter().zip(&before) {
            let is_changed = now.granted != before.granted || now.recalled != before.recalled;
            // What was told before may be lost: that it has places, or that it is to give one back.
            let asks = need.repeats && is_short && now.recalled > 0;
            let is_missed = need.repeats && now.partition == from && now.granted != need.granted;
            if is_changed || (is_news && now.places() > 0) || asks || is_missed {
                let (granted, recalled) = (now.granted, now.returned.wrapping_add(now.recalled));
                loans.push((now.partition, Loan { address: need.address, granted, recalled, lent, asks }));
            }
        }
        borrowers.retain(|one| one.places() > 0 || one.needed > 0);
    }

    /// Places that are lent.
    #[cfg(test)]
    fn lent(&self) -> u32 {
        self.borrowers.iter().map(Borrower::places).sum()
    }
}

/// How many places are to be on their way back: one for each borrower that needs some and has none; if there is no such one, one
/// if a borrower has two places more than one that needs another.
fn recalls(borrowers: &[Borrower]) -> u32 {
    let without = borrowers.iter().filter(|one| one.places() == 0 && one.needed > 0).count() as u32;
    let fewest = borrowers.iter().filter(|one| one.places() < one.needed).map(Borrower::places).min();
    let most = borrowers.iter().map(Borrower::places).max();
    let is_uneven = fewest.zip(most).is_some_and(|(fewest, most)| most > fewest + 1);
    without.max(u32::from(is_uneven))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 0, 0, 1));

    /// A keeper, and what it told each partition so far.
    struct Told {
        keeper: Keeper,
        loans: HashMap<Partition, Loan>,
        returned: HashMap<Partition, u32>,
    }

    impl Told {
        fn new(most: u32) -> Self {
            Told { keeper: Keeper::new(most), loans: HashMap::new(), returned: HashMap::new() }
        }

        /// What a partition says of itself, if that gives so many more places back.
        fn need(&mut self, from: Partition, (returned, places, domains): (u32, u32, u32)) -> Need {
            let all = self.returned.entry(from).or_default();
            *all = all.wrapping_add(returned);
            let granted = self.loans.get(&from).map_or(0, |loan| loan.granted);
            Need { address: ADDRESS, granted, returned: *all, places, domains, repeats: false }
        }
    }

    /// Tells a keeper what a partition needs; gives what others are told: partition, and how many are granted and called back anew.
    fn tell(told: &mut Told, from: Partition, of: (u32, u32, u32)) -> Vec<(Partition, u32, u32)> {
        let (need, mut loans) = (told.need(from, of), Vec::new());
        told.keeper.need(from, &need, &mut loans);
        let mut news = Vec::new();
        for (to, loan) in loans {
            let before = told.loans.insert(to, loan);
            let granted = loan.granted - before.map_or(0, |before| before.granted);
            let recalled = before.map_or(0, |before| before.recalled).max(told.returned[&to]);
            let recalled = ahead(loan.recalled, recalled);
            news.extend((granted + recalled > 0).then_some((to, granted, recalled)));
        }
        news
    }

    #[test]
    fn each_domain_is_a_place_up_to_the_limit() {
        let mut keeper = Told::new(3);
        assert_eq!(tell(&mut keeper, 1, (0, 1, 1)), [(1, 1, 0)]);
        assert_eq!(tell(&mut keeper, 2, (0, 1, 1)), [(2, 1, 0)]);
        assert_eq!(tell(&mut keeper, 2, (0, 2, 2)), [(2, 1, 0)]);
        assert_eq!(tell(&mut keeper, 1, (0, 2, 2)), [], "it has one, and waits for the second");
        assert_eq!(keeper.keeper.lent(ADDRESS), 3);
    }

    #[test]
    fn all_that_have_places_know_how_many_are_lent() {
        let (mut told, mut loans) = (Told::new(3), Vec::new());
        for partition in 1..3 {
            let need = told.need(partition, (0, 1, 1));
            told.keeper.need(partition, &need, &mut loans);
        }
        let told: Vec<_> = loans.iter().map(|(to, loan)| (*to, loan.granted, loan.lent)).collect();
        assert_eq!(told, [(1, 1, 1), (1, 1, 2), (2, 1, 2)]);
    }

    #[test]
    fn places_are_spread_evenly() {
        let mut keeper = Told::new(4);
        tell(&mut keeper, 1, (0, 4, 4));
        assert_eq!(tell(&mut keeper, 2, (0, 9, 9)), [(1, 0, 1)]);
        assert_eq!(tell(&mut keeper, 1, (1, 4, 4)), [(1, 0, 1), (2, 1, 0)]);
        assert_eq!(tell(&mut keeper, 1, (1, 4, 4)), [(2, 1, 0)], "each has two");
    }

    #[test]
    fn who_has_none_gets_one_back_from_who_has_most() {
        let mut keeper = Told::new(3);
        tell(&mut keeper, 1, (0, 1, 1));
        tell(&mut keeper, 2, (0, 2, 9));
        assert_eq!(keeper.keeper.lent(ADDRESS), 3);
        assert_eq!(tell(&mut keeper, 3, (0, 1, 1)), [(2, 0, 1)]);
        assert_eq!(tell(&mut keeper, 3, (0, 1, 1)), [], "one is on its way");
        assert_eq!(tell(&mut keeper, 2, (1, 2, 9)), [(3, 1, 0)]);
        assert_eq!(keeper.keeper.lent(ADDRESS), 3);
    }

    #[test]
    fn a_place_goes_around() {
        let mut keeper = Told::new(1);
        assert_eq!(tell(&mut keeper, 1, (0, 1, 1)), [(1, 1, 0)]);
        assert_eq!(tell(&mut keeper, 2, (0, 1, 1)), [(1, 0, 1)]);
        assert_eq!(tell(&mut keeper, 3, (0, 1, 1)), []);
        assert_eq!(tell(&mut keeper, 1, (1, 1, 1)), [(2, 1, 1)], "it is called back for the next at once");
        assert_eq!(tell(&mut keeper, 2, (1, 0, 1)), [(3, 1, 1)]);
        assert_eq!(tell(&mut keeper, 3, (1, 0, 1)), [(1, 1, 0)]);
        assert_eq!(tell(&mut keeper, 1, (1, 0, 1)), []);
        assert!(keeper.keeper.all.is_empty());
    }

    #[test]
    fn nobody_gives_back_more_than_was_lent() {
        let mut keeper = Told::new(2);
        tell(&mut keeper, 1, (0, 2, 2));
        assert_eq!(tell(&mut keeper, 2, (9, 1, 1)), [(1, 0, 1)]);
        // What it says to have given back counts for the two that it had: one is for each of them now.
        tell(&mut keeper, 1, (9, u32::MAX, u32::MAX));
        assert_eq!(keeper.keeper.lent(ADDRESS), 2);
        let places: Vec<_> = keeper.keeper.all[&ADDRESS].borrowers.iter().map(Borrower::places).collect();
        assert_eq!(places, [1, 1]);
    }
}
