//! Addresses that hosts of several frontiers of a job share: what these tell each other about them.
//!
//! The ring says which frontier keeps an address: it lends its places ([`crate::politeness::keeper`]), and the others use what they
//! have ([`crate::politeness::lent`]). Messages come to each frontier once, and in the order of their sender; what a
//! frontier has told and heard is recorded with what follows from it, so that a replay of these records comes to the same state.
//!
//! ```text
//! message or record: 1 (needs, to a keeper) · sender · count · need …, or 2 (loans) · count · loan …, or 3 (needs that were told) · count · need …
//! need: address (16 bytes) · got · given back · needed · domains · whether it repeats
//! loan: address · granted · to be given back · lent in all · whether it asks
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use lycosa_url::{Micros, RingKey, digest_of};

use crate::codec::{self, put_number};
use crate::politeness::keeper::{Keeper, Loan, Need, Partition};
use crate::politeness::lent::{KEEP, Use};
use crate::{Frontier, Ownership, Resolve, Settings};

/// The shortest time for which a place is kept, whatever the job's speed: messages are no faster.
const SHORTEST_KEEP: Duration = Duration::from_secs(1);

/// Needs or loans in one message, at most.
const MOST: usize = 4096;

/// What a frontier tells others.
#[derive(Debug, Default)]
pub struct Told {
    /// To be recorded with the messages, for [`Frontier::hear_again`]; empty: nothing of its own was told.
    pub record: Vec<u8>,
    /// To whom, and what.
    pub messages: Vec<(Box<str>, Vec<u8>)>,
}

/// A frontier's part in the lending of addresses.
#[derive(Debug)]
pub(crate) struct Lending {
    ownership: Ownership,
    names: Vec<Box<str>>,
    own: Partition,
    keeper: Keeper,
    /// What borrowers are to be told.
    loans: Vec<(Partition, Loan)>,
    keep: Micros,
}

impl Lending {
    /// By the settings; `None`: all addresses are this frontier's own.
    pub(crate) fn new(settings: &Settings) -> Option<Box<Self>> {
        let ownership = settings.ownership.clone().filter(|_| settings.lends_addresses)?;
        let names: Vec<Box<str>> = ownership.ring.nodes().map(Into::into).collect();
        let own = names.iter().position(|name| *name == ownership.node)? as Partition;
        // Frontiers that share a registered domain would count it once each.
        let most = if ownership.key == RingKey::Domain { settings.address_domains } else { 1 };
        let keep = settings.scaled(KEEP).max(SHORTEST_KEEP.as_micros() as Micros);
        Some(Box::new(Lending { ownership, names, own, keeper: Keeper::new(most), loans: Vec::new(), keep }))
    }

    /// The frontier that keeps an address.
    fn keeper_of(&self, need: &Need) -> Partition {
        let mut address = Vec::with_capacity(16);
        codec::put_address(&mut address, need.address);
        let owner = self.ownership.ring.owner(&digest_of(address));
        let index = owner.and_then(|owner| self.names.binary_search_by(|name| (**name).cmp(owner)).ok());
        index.map_or(self.own, |index| index as Partition)
    }

    /// Whether a host is this frontier's.
    pub(crate) fn owns_host(&self, host: &str) -> bool {
        self.ownership.owns_host(host)
    }

    /// A partition told what it needs of an address that is kept here.
    fn need(&mut self, from: Partition, need: &Need) {
        self.keeper.need(from, need, &mut self.loans);
    }

    /// Takes out the loans to this frontier itself.
    fn own_loans(&mut self) -> Vec<Loan> {
        let own = self.own;
        self.loans.extract_if(.., |(to, _)| *to == own).map(|(_, loan)| loan).collect()
    }

    /// Appends its state to a record of a snapshot: all loans have been told.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        self.keeper.pack(record);
    }

    /// Reads it.
    pub(crate) fn unpack(&mut self, from: &mut &[u8]) -> Option<()> {
        self.keeper.unpack(from)
    }
}

impl<R: Resolve> Frontier<R> {
    /// What this frontier has to tell others of addresses, since the last call. To be recorded, and sent, before its next snapshot.
    pub fn tell(&mut self, now: Micros) -> Told {
        let starts = !self.is_held_up() && self.page_budget() > 0;
        let Some(lending) = &mut self.lending else { return Told::default() };
        let schedule = &self.schedule;
        let of = Use { keep: lending.keep, now, starts, due: |address| schedule.due_of(address) };
        let needs = self.politeness.addresses.needs(MOST, &of);
        let mut by_keeper: BTreeMap<Partition, Vec<Need>> = BTreeMap::new();
        for need in &needs {
            match lending.keeper_of(need) {
                keeper if keeper == lending.own => lending.need(keeper, need),
                keeper => by_keeper.entry(keeper).or_default().push(*need),
            }
            let id = self.politeness.addresses.id(need.address);
            self.schedule.update(&self.politeness.addresses, id);
        }
        for id in self.politeness.addresses.opened() {
            self.schedule.update(&self.politeness.addresses, id);
        }
        self.borrow_own(now);
        let Some(lending) = &mut self.lending else { return Told::default() };
        let mut by_borrower: BTreeMap<Partition, Vec<Loan>> = BTreeMap::new();
        lending.loans.drain(..).for_each(|(to, loan)| by_borrower.entry(to).or_default().push(loan));
        let mut told = Told::default();
        if !needs.is_empty() {
            told.record = message(&[3], &needs, put_need);
        }
        let mut send = |to: Partition, message| {
            told.messages.extend(lending.names.get(to as usize).map(|name| (name.clone(), message)));
        };
        for (to, needs) in by_keeper {
            needs.chunks(MOST).for_each(|some| send(to, message(&[1, lending.own.into()], some, put_need)));
        }
        for (to, loans) in by_borrower {
            loans.chunks(MOST).for_each(|some| send(to, message(&[2], some, put_loan)));
        }
        told
    }

    /// Takes over what another frontier has told; `None`: it is no such message, or of no such frontier.
    pub fn hear(&mut self, message: &[u8], now: Micros) -> Option<()> {
        match Message::read(message)? {
            Message::Needs(from, needs) => {
                let lending = self.lending.as_mut()?;
                (lending.names.len() > from as usize).then_some(())?;
                needs.iter().for_each(|need| lending.need(from, need));
                self.borrow_own(now);
            }
            Message::Loans(loans) => {
                let most = self.lending.as_ref()?.keeper.most();
                let addresses = &self.politeness.addresses;
                loans.iter().all(|loan| addresses.is_possible(loan, most)).then_some(())?;
                loans.iter().for_each(|loan| self.borrow_place(loan, now));
            }
            Message::Told(_) => return None,
        }
        Some(())
    }

    /// Replays a message that was heard, or the record of what was told; what follows for others was told as well.
    pub fn hear_again(&mut self, record: &[u8]) -> Option<()> {
        match Message::read(record)? {
            Message::Told(needs) => {
                let lending = self.lending.as_mut()?;
                for need in &needs {
                    self.politeness.addresses.told(need);
                    if lending.keeper_of(need) == lending.own {
                        lending.need(lending.own, need);
                    }
                }
                self.borrow_own(0);
            }
            _ => self.hear(record, 0)?,
        }
        self.lending.as_mut()?.loans.clear();
        Some(())
    }

    /// Takes over what this frontier lends to itself.
    fn borrow_own(&mut self, now: Micros) {
        let own = self.lending.as_mut().map(|lending| lending.own_loans()).unwrap_or_default();
        own.iter().for_each(|loan| self.borrow_place(loan, now));
    }

    /// Takes over a loan.
    fn borrow_place(&mut self, loan: &Loan, now: Micros) {
        let Some(lending) = &self.lending else { return };
        let id = self.politeness.addresses.borrow(loan, lending.keep, now);
        self.schedule.update(&self.politeness.addresses, id);
    }
}

/// A message or a record, read.
enum Message {
    Needs(Partition, Vec<Need>),
    Loans(Vec<Loan>),
    Told(Vec<Need>),
}

impl Message {
    /// Reads one; all of it.
    fn read(mut from: &[u8]) -> Option<Self> {
        let from = &mut from;
        let message = match codec::number(from)? {
            1 => Message::Needs(codec::small(from)?, read_all(from, read_need)?),
            2 => Message::Loans(read_all(from, read_loan)?),
            3 => Message::Told(read_all(from, read_need)?),
            _ => return None,
        };
        from.is_empty().then_some(message)
    }
}

/// A message of these numbers, and items.
fn message<T>(head: &[u64], items: &[T], put: impl Fn(&mut Vec<u8>, &T)) -> Vec<u8> {
    let mut message = Vec::new();
    head.iter().for_each(|number| put_number(&mut message, *number));
    put_number(&mut message, items.len() as u64);
    items.iter().for_each(|item| put(&mut message, item));
    message
}

/// Reads items, as many as are said.
fn read_all<T>(from: &mut &[u8], read: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let count = codec::number(from)?;
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(read(from)?);
    }
    Some(items)
}

/// Appends a need.
fn put_need(into: &mut Vec<u8>, need: &Need) {
    codec::put_address(into, need.address);
    let Need { granted, returned, places, domains, repeats, .. } = *need;
    [granted, returned, places, domains, repeats.into()]
        .into_iter()
        .for_each(|number| put_number(into, number.into()));
}

/// Reads one.
fn read_need(from: &mut &[u8]) -> Option<Need> {
    let address = codec::address(from)?;
    let mut number = || codec::small(from);
    let (granted, returned, places, domains) = (number()?, number()?, number()?, number()?);
    let repeats = number()? != 0;
    Some(Need { address, granted, returned, places, domains, repeats })
}

/// Appends a loan.
fn put_loan(into: &mut Vec<u8>, loan: &Loan) {
    codec::put_address(into, loan.address);
    let Loan { granted, recalled, lent, asks, .. } = *loan;
    [granted, recalled, lent, asks.into()]
        .into_iter()
        .for_each(|number: u32| put_number(into, number.into()));
}

/// Reads one.
fn read_loan(from: &mut &[u8]) -> Option<Loan> {
    let address = codec::address(from)?;
    let mut number = || codec::small(from);
    let (granted, recalled, lent, asks) = (number()?, number()?, number()?, number()? != 0);
    Some(Loan { address, granted, recalled, lent, asks })
}

#[cfg(test)]
#[path = "lending_tests.rs"]
mod tests;
