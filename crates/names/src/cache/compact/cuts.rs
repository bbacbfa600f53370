//! Cuts (RFC 8020): where a name does not exist, nothing below it does.
//!
//! A cut stands in the table, verified like any name: a filter's false positive would silence a whole domain. It is taken at
//! or below the registered domain only, so that no answer silences what others registered, and holds for the last target of
//! a chain of aliases, which is the name that does not exist; the alias itself does (RFC 6604 section 3).

use std::sync::atomic::Ordering::Relaxed;

use lycosa_url::registered_domain;

use super::super::Seconds;
use super::header::Live;
use super::record::{Record, State};
use super::slot::{Remark, Which};
use super::{CompactCache, scan};
use crate::host::HostName;
use crate::settings::Families;

impl CompactCache {
    /// Takes that neither a name nor any below it exists: the name that was asked for or, where that is an alias, the last
    /// one in the chain. Tells whether it was taken; a public suffix is not.
    pub fn put_cut(&self, name: HostName<'_>, ttl: u32, now: Seconds) -> bool {
        let name = name.as_str();
        if scan::is_public_suffix(name) || !self.may_write() {
            return false;
        }
        let ttl = ttl.clamp(1, self.made.negative_ttl.try_into().unwrap_or(u32::MAX));
        let remark = Remark { which: Which::Cut, families: Families::Both, attempts: 0, seconds: 0 };
        Live::add(self.live().cuts(), 1);
        self.put_remark(name, &self.keys.of(name), remark, now + u64::from(ttl), now)
    }

    /// What a cut above a name says of it.
    pub(super) fn cut_above(&self, name: &str, now: Seconds) -> Option<Record> {
        if self.live().cuts().load(Relaxed) == 0 {
            return None;
        }
        let (table, domain) = (self.table(), registered_domain(name));
        let mut above = name;
        while above.len() > domain.len() {
            above = above.split_once('.')?.1;
            let key = self.keys.of(above);
            let record = table
                .find(&key, table.homes(&key), key.fits(), |_| ())
                .filter(|found| super::insert::is_cut(&found.slot))
                .and_then(|found| Record::of(&found.slot, None, Families::Both, now));
            if let Some(Record { state: State::NxDomain, expires, .. }) = record {
                return Some(Record::without(State::NxDomain, expires));
            }
        }
        None
    }
}
