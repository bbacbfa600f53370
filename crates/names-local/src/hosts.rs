//! The hosts file, hosts(5): small, or a block list of millions of lines.
//!
//! Guarantees: each name is stored once, in one string for all names, so that a name with one address takes
//! its own bytes and about 30 more; the cost of a lookup does not depend on the size of the file; malformed
//! entries are ignored and reported in [`Hosts::warnings`].

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

/// Maximum size of the file in bytes. It bounds name numbers and text offsets to 32 bits.
const MAX_FILE: u64 = 64 << 20;

/// Names and addresses of a hosts file.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The names in normal form, concatenated.
    text: String,
    /// Offset of each name, and the end of the last one.
    starts: Vec<u32>,
    /// Numbers of the names, by the hash of the name.
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// The distinct addresses.
    addresses: Vec<IpAddr>,
    /// Numbers of the addresses.
    of_address: HashMap<IpAddr, u32>,
    /// Addresses by name, in file order.
    forward: Groups,
    /// Names by address, in file order; the first name of a line is the canonical one.
    reverse: Groups,
    /// Warnings about ignored entries.
    warnings: Vec<String>,
}

/// U+FEFF in UTF-8: the byte order mark of some editors.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Hosts {
    /// Parses a text, which should be UTF-8. A name in several lines has the addresses of all. Rejects more
    /// than 64 MiB.
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

    /// The addresses of a name in these families, IPv4 first, then in file order. Empty if the name has only
    /// addresses of the other family: it exists, and no server is asked for it (as in systemd-resolved).
    /// `None` if the name is not listed.
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

    /// The names of an address in normal form and file order; the first one is the canonical name.
    /// IPv4-mapped IPv6 addresses count as IPv4. In a block list one address may have all names, so limit how
    /// many are taken.
    pub fn names_of(&self, address: IpAddr) -> impl Iterator<Item = &str> {
        let number = self.of_address.get(&address.to_canonical());
        let own = number.map_or(&[][..], |number| self.reverse.of(*number));
        own.iter().map(|number| name(&self.text, &self.starts, *number))
    }

    /// Whether a name is listed.
    pub fn has(&self, name: HostName<'_>) -> bool {
        self.number(name.as_str()).is_some()
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ignored entries with line number and what is allowed; only the first ones and the number of further
    /// ones if there are many.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Memory of names and addresses in bytes.
    pub fn memory(&self) -> usize {
        let numbers = [&self.starts, &self.forward.starts, &self.forward.members];
        let numbers = numbers.into_iter().chain([&self.reverse.starts, &self.reverse.members]);
        self.text.capacity()
            + numbers.map(|numbers| 4 * numbers.capacity()).sum::<usize>()
            + self.numbers.allocation_size()
            + size_of::<IpAddr>() * self.addresses.capacity()
            + self.of_address.allocation_size()
    }

    /// Number of a name.
    fn number(&self, text: &str) -> Option<u32> {
        let is_it = |number: &u32| name(&self.text, &self.starts, *number) == text;
        self.numbers.find(self.hasher.hash_one(text), is_it).copied()
    }
}

impl Default for Hosts {
    /// An empty file.
    fn default() -> Self {
        Reading::default().finish()
    }
}

/// Text of a name.
fn name<'t>(text: &'t str, starts: &[u32], number: u32) -> &'t str {
    let number = number as usize;
    &text[starts[number] as usize..starts[number + 1] as usize]
}

/// Lists of numbers, one per owner, concatenated.
#[derive(Clone, Debug)]
struct Groups {
    /// Offset of each owner's list, and the end of the last one.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Groups (owner, member) pairs by owner, keeping the order of members.
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

    /// The members of an owner.
    fn of(&self, owner: u32) -> &[u32] {
        let owner = owner as usize;
        &self.members[self.starts[owner] as usize..self.starts[owner + 1] as usize]
    }
}

/// State of the parser.
struct Reading {
    text: String,
    starts: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    addresses: Vec<IpAddr>,
    of_address: HashMap<IpAddr, u32>,
    /// Name and address number of each entry.
    pairs: Vec<(u32, u32)>,
    warnings: Warnings,
    /// Buffer for normal forms.
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
    /// Parses a line.
    fn line(&mut self, line: &[u8], number: usize) {
        let end = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
        let line = String::from_utf8_lossy(&line[..end]); // invalid UTF-8 is neither an address nor a name
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

    /// Returns the number of an address; adds it if it is new.
    fn address(&mut self, address: IpAddr) -> u32 {
        *self.of_address.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            self.addresses.len() as u32 - 1
        })
    }

    /// Returns the number of a name; adds it if it is new.
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

    /// Builds the result without spare capacity.
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

/// Removes duplicate pairs; each keeps its first position.
fn each_once(pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut placed: Vec<_> = pairs.into_iter().zip(0_u32..).collect();
    placed.sort_unstable();
    placed.dedup_by_key(|(pair, _)| *pair);
    placed.sort_unstable_by_key(|(_, place)| *place);
    placed.into_iter().map(|(pair, _)| pair).collect()
}

#[cfg(test)]
mod tests;
