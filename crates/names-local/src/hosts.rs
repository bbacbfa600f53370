//! The hosts file: hosts(5), small or a block list of millions of lines.
//!
//! Guarantees: each name stands in memory once, in one text with all others, so that a name with one address takes its own bytes
//! and about 30 more; what a lookup costs does not depend on the file's size; what cannot be read is told in
//! [`Hosts::warnings`] and ignored.

mod file;
mod shared;

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::IpAddr;

use hashbrown::{HashMap, HashTable};

pub use file::HostsFile;
pub use shared::SharedHosts;

use crate::warnings::{Warnings, quoted};
use lycosa_names::Families;
use lycosa_names::{BadName, HostName};

/// The largest file that is read, in bytes. The names' numbers and their places in the text fit 32 bits so.
const MAX_FILE: u64 = 64 << 20;

/// Names and addresses of a hosts file.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The names in normal form, one after the other.
    text: String,
    /// Where each name begins, and where the last one ends.
    starts: Vec<u32>,
    /// The name's number, by the hash of its text.
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// The addresses, each once.
    addresses: Vec<IpAddr>,
    /// The address' number.
    of_address: HashMap<IpAddr, u32>,
    /// Which addresses each name has, in the file's order.
    forward: Groups,
    /// Which names each address has, in the file's order: of a line, the canonical name comes first.
    reverse: Groups,
    /// What was ignored.
    warnings: Vec<String>,
}

/// U+FEFF in UTF-8, with which some editors begin a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Hosts {
    /// Reads a text, which should be UTF-8. A name in several lines has the addresses of all. More than 64 MiB are refused.
    pub fn parse(text: &[u8]) -> io::Result<Self> {
        if text.len() as u64 > MAX_FILE {
            return Err(file::too_large(text.len() as u64));
        }
        let mut reading = Reading::default();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
            reading.line(line, number);
        }
        Ok(reading.finish())
    }

    /// The addresses of a name of these families, IPv4 first, else in the file's order. Empty where the name has only others: it
    /// exists, and no server is to be asked for it (as systemd-resolved has it). None where it is not listed.
    pub fn addresses(&self, name: HostName<'_>, families: Families) -> Option<Vec<IpAddr>> {
        let own = self.forward.of(self.number(name.as_str())?);
        let all = || own.iter().map(|number| self.addresses[*number as usize]);
        let mut found = Vec::new();
        if families != Families::V6 {
            found.extend(all().filter(IpAddr::is_ipv4));
        }
        if families != Families::V4 {
            found.extend(all().filter(IpAddr::is_ipv6));
        }
        Some(found)
    }

    /// The names of an address in normal form, in the file's order; the first one is the canonical name. IPv4 that is written as IPv6 is IPv4.
    /// In a block list, an address may have all its names: take no more than are wanted.
    pub fn names_of(&self, address: IpAddr) -> impl Iterator<Item = &str> {
        let number = self.of_address.get(&address.to_canonical());
        let own = number.map_or(&[][..], |number| self.reverse.of(*number));
        own.iter().map(|number| name(&self.text, &self.starts, *number))
    }

    /// Whether a name is listed.
    pub fn has(&self, name: HostName<'_>) -> bool {
        self.number(name.as_str()).is_some()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was ignored, with its line and what is allowed; of very many, the first ones and how many more there are.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Bytes of memory that the names and addresses take.
    pub fn memory(&self) -> usize {
        let numbers = [&self.starts, &self.forward.starts, &self.forward.members];
        let numbers = numbers.into_iter().chain([&self.reverse.starts, &self.reverse.members]);
        self.text.capacity()
            + numbers.map(|numbers| 4 * numbers.capacity()).sum::<usize>()
            + self.numbers.allocation_size()
            + size_of::<IpAddr>() * self.addresses.capacity()
            + self.of_address.allocation_size()
    }

    /// A name's number.
    fn number(&self, text: &str) -> Option<u32> {
        let is_it = |number: &u32| name(&self.text, &self.starts, *number) == text;
        self.numbers.find(self.hasher.hash_one(text), is_it).copied()
    }
}

impl Default for Hosts {
    /// No names.
    fn default() -> Self {
        Reading::default().finish()
    }
}

/// The text of a name by its number.
fn name<'t>(text: &'t str, starts: &[u32], number: u32) -> &'t str {
    let number = number as usize;
    &text[starts[number] as usize..starts[number + 1] as usize]
}

/// Lists of numbers, one after the other: each owner's.
#[derive(Clone, Debug)]
struct Groups {
    /// Where each owner's list begins, and where the last one ends.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Groups pairs of owner and member by owner; an owner's members keep their order.
    fn new(owners: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; owners + 1];
        let mut count = 0;
        for (owner, _) in pairs.clone() {
            starts[owner as usize + 1] += 1;
            count += 1;
        }
        for owner in 0..owners {
            starts[owner + 1] += starts[owner];
        }
        let (mut next, mut members) = (starts.clone(), vec![0; count]);
        for (owner, member) in pairs {
            let place = &mut next[owner as usize];
            members[*place as usize] = member;
            *place += 1;
        }
        Groups { starts, members }
    }

    /// An owner's members.
    fn of(&self, owner: u32) -> &[u32] {
        let owner = owner as usize;
        &self.members[self.starts[owner] as usize..self.starts[owner + 1] as usize]
    }
}

/// A file as far as it was read.
struct Reading {
    text: String,
    starts: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    addresses: Vec<IpAddr>,
    of_address: HashMap<IpAddr, u32>,
    /// Name and address of each entry.
    pairs: Vec<(u32, u32)>,
    warnings: Warnings,
    /// Memory for normal forms.
    buffer: String,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            text: String::new(),
            starts: vec![0],
            numbers: HashTable::new(),
            hasher: RandomState::new(),
            addresses: Vec::new(),
            of_address: HashMap::new(),
            pairs: Vec::new(),
            warnings: Warnings::default(),
            buffer: String::new(),
        }
    }
}

impl Reading {
    /// Reads a line.
    fn line(&mut self, line: &[u8], number: usize) {
        let end = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
        let line = String::from_utf8_lossy(&line[..end]); // what is no UTF-8 is no address and no name
        let mut words = line.split_ascii_whitespace();
        let Some(word) = words.next() else { return };
        let Ok(address) = word.parse::<IpAddr>() else {
            let given = || quoted(word);
            return self.warnings.add(|| {
                format!(
                    "hosts line {number}: {} is no address, the line is ignored; allowed: 192.0.2.1 or 2001:db8::1, \
                     then names",
                    given()
                )
            });
        };
        let mut words = words.peekable();
        if words.peek().is_none() {
            return self.warnings.add(|| {
                format!("hosts line {number}: {address} has no name, the line is ignored; allowed: an address, then names")
            });
        }
        let address = self.address(address.to_canonical());
        for word in words {
            match self.name(word) {
                Ok(name) => self.pairs.push((name, address)),
                Err(why) => self.warnings.add(|| {
                    format!("hosts line {number}: {} is ignored: {why}; allowed: host names", quoted(word))
                }),
            }
        }
    }

    /// The number of an address.
    fn address(&mut self, address: IpAddr) -> u32 {
        *self.of_address.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            self.addresses.len() as u32 - 1
        })
    }

    /// The number of a name.
    fn name(&mut self, word: &str) -> Result<u32, BadName> {
        let Reading { text, starts, numbers, hasher, .. } = self;
        let new = HostName::normalize(word, &mut self.buffer)?.as_str();
        let is_it = |number: &u32| name(text, starts, *number) == new;
        let hash = hasher.hash_one(new);
        if let Some(number) = numbers.find(hash, is_it) {
            return Ok(*number);
        }
        let number = starts.len() as u32 - 1;
        text.push_str(new);
        starts.push(text.len() as u32);
        numbers.insert_unique(hash, number, |number| hasher.hash_one(name(text, starts, *number)));
        Ok(number)
    }

    /// What was read, in no more memory than it takes.
    fn finish(self) -> Hosts {
        let Reading { mut text, mut starts, mut numbers, hasher, mut addresses, .. } = self;
        text.shrink_to_fit();
        starts.shrink_to_fit();
        addresses.shrink_to_fit();
        numbers.shrink_to_fit(|number| hasher.hash_one(name(&text, &starts, *number)));
        let pairs = each_once(self.pairs);
        Hosts {
            forward: Groups::new(starts.len() - 1, pairs.iter().copied()),
            reverse: Groups::new(addresses.len(), pairs.iter().map(|&(name, address)| (address, name))),
            text,
            starts,
            numbers,
            hasher,
            addresses,
            of_address: self.of_address,
            warnings: self.warnings.finish(),
        }
    }
}

/// Pairs in their order, repeated ones only at their first place.
fn each_once(pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut placed: Vec<_> = pairs.into_iter().zip(0_u32..).collect();
    placed.sort_unstable();
    placed.dedup_by_key(|(pair, _)| *pair);
    placed.sort_unstable_by_key(|(_, place)| *place);
    placed.into_iter().map(|(pair, _)| pair).collect()
}

#[cfg(test)]
mod tests;
