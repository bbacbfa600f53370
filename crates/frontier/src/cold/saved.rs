//! Hosts on disk in a snapshot: where the newest record of each is, and what all of them have missed.

use std::io::{self, Read, Write};

use super::index::{Place, Wait};
use super::{Cold, Event};
use crate::codec::{self, damaged, put_number, read_record, write_record};
use crate::keys::NameKeys;

/// Hosts in one record of a snapshot.
const PART: usize = 1 << 16;

impl Cold {
    /// Writes the records of a snapshot; [`Cold::sync`] comes before.
    pub(crate) fn save(&self, into: &mut dyn Write) -> io::Result<()> {
        let mut scratch = Vec::new();
        write_record(into, &mut scratch, |record| {
            self.keys.pack(record);
            [self.scan, self.hosts as u64, self.urls, self.index.len() as u64, self.events.len() as u64]
                .into_iter()
                .for_each(|number| put_number(record, number));
            for event in &self.events {
                let (kind, at, healthy_at) = match event {
                    Event::Began(at) => (0, *at, None),
                    Event::DoubtedNames => (1, 0, None),
                    Event::DoubtedRules(since) => (2, *since, None),
                    Event::TookBack(since, healthy_at) => (3, *since, Some(*healthy_at)),
                };
                [kind, at].into_iter().chain(healthy_at).for_each(|number| put_number(record, number));
            }
            self.waiting.pack(record);
            self.rested.pack(record);
        })?;
        let mut all = self.index.iter().peekable();
        while all.peek().is_some() {
            write_record(into, &mut scratch, |record| {
                for (key, records, place) in all.by_ref().take(PART) {
                    record.extend_from_slice(&key.to_le_bytes()[..6]);
                    record.push(records);
                    record.extend_from_slice(&place.number().to_le_bytes()[..5]);
                }
            })?;
        }
        Ok(())
    }

    /// Reads them, as a version of the snapshot has them.
    pub(crate) fn load(&mut self, from: &mut dyn Read, version: u64) -> io::Result<()> {
        let mut record = Vec::new();
        read_record(from, &mut record)?;
        let mut rest = &record[..];
        let len = self.unpack_head(&mut rest).ok_or_else(damaged)?;
        self.waiting.unpack(&mut rest, version)?;
        self.rested.unpack(&mut rest, version)?;
        let (mut read, mut waiting) = (0, 0);
        while read < len {
            read_record(from, &mut record)?;
            let entries = record.chunks_exact(12);
            if record.is_empty() || !entries.remainder().is_empty() {
                return Err(damaged());
            }
            self.index.reserve(entries.len(), usize::try_from(len).unwrap_or(usize::MAX));
            for entry in entries {
                let number =
                    |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                let mut place = Place::of_number(number(&entry[7..])).ok_or_else(damaged)?;
                let key = number(&entry[..6]);
                match place.wait {
                    Wait::Space => waiting += 1,
                    // Which address or time it was is not stored: it may be another one now.
                    Wait::Address | Wait::Time => {
                        place.wait = Wait::Address;
                        self.before.push_back(key);
                    }
                    Wait::Url => {}
                }
                read += 1;
                if !self.index.insert(key, entry[6], place) {
                    return Err(damaged());
                }
            }
        }
        let with_urls = (waiting + self.before.len()) as u64;
        let has_urls = (with_urls == 0) == (self.urls == 0) && self.urls >= with_urls;
        if read == len && waiting == self.hosts && has_urls { Ok(()) } else { Err(damaged()) }
    }

    /// Reads the counts of a snapshot; returns the number of hosts.
    fn unpack_head(&mut self, from: &mut &[u8]) -> Option<u64> {
        self.keys = NameKeys::unpack(from)?;
        self.scan = codec::number(from)?;
        self.hosts = codec::count(from)?.try_into().ok()?;
        self.urls = codec::count(from)?;
        let (len, events) = (codec::count(from)?, codec::number(from)?);
        for _ in 0..events {
            let (kind, at) = (codec::number(from)?, codec::number(from)?);
            self.events.push(match kind {
                0 => Event::Began(at),
                1 => Event::DoubtedNames,
                2 => Event::DoubtedRules(at),
                3 => Event::TookBack(at, codec::number(from)?),
                _ => return None,
            });
        }
        Some(len)
    }
}
