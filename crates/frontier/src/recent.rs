//! Recently recorded responses: which of them no different response has confirmed, also across a snapshot.

use std::collections::VecDeque;

use lycosa_records::RequestOptions;
use lycosa_url::{CrawlUrl, Digest, Micros};

use crate::codec::{self, put_bytes, put_number};
use crate::politeness::domains::DomainId;

/// A response that was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    /// The mark of its content: `mark.rs`.
    pub(crate) mark: u64,
    pub(crate) domain: DomainId,
    pub(crate) network: u64,
    /// Whether its host sent another response before.
    pub(crate) changed: bool,
    /// When it was requested, and when it had been received; 0: it is confirmed.
    pub(crate) at: Micros,
    pub(crate) finished: Micros,
    /// Where its record ends in the log, if an earlier process recorded it.
    pub(crate) position: u64,
    /// Whether it is a page; a robots.txt otherwise.
    pub(crate) is_page: bool,
    /// URL, depth, options of the request, status and redirect target.
    pub(crate) url: CrawlUrl,
    pub(crate) depth: u32,
    pub(crate) options: Option<Box<RequestOptions>>,
    pub(crate) status: u16,
    pub(crate) redirect: Option<CrawlUrl>,
}

/// Those that may be a captive portal's: no later request had a different response.
pub(crate) fn unconfirmed(recent: &VecDeque<Recent>) -> impl Iterator<Item = &Recent> {
    let last = recent.iter().max_by_key(|one| one.at);
    let is_last = move |one: &Recent| last.is_some_and(|last| last.mark == one.mark);
    let other = recent.iter().filter(move |one| !is_last(one)).max_by_key(|one| one.at);
    recent.iter().filter(move |one| {
        let later = if is_last(one) { other } else { last };
        one.finished > 0 && later.is_none_or(|later| later.at <= one.finished)
    })
}

impl Recent {
    /// The key of its request.
    pub(crate) fn key(&self) -> Digest {
        lycosa_records::key_of(self.url.borrow(), self.options.as_deref())
    }

    /// Appends it to a record of a snapshot, without its options: [`pack_options`] has those.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        put_bytes(record, self.url.as_str().as_bytes());
        put_bytes(record, self.redirect.as_ref().map_or("", CrawlUrl::as_str).as_bytes());
        let numbers = [self.mark, self.network, self.changed.into(), self.at, self.finished];
        let small = [self.depth.into(), self.status.into()];
        numbers.into_iter().chain(small).for_each(|number| put_number(record, number));
    }

    /// Reads it; `domain` returns the domain of a URL's host.
    pub(crate) fn unpack(from: &mut &[u8], domain: impl FnOnce(&CrawlUrl) -> DomainId) -> Option<Self> {
        let url = CrawlUrl::parse(codec::text(from)?).ok()?;
        let redirect = match codec::text(from)? {
            "" => None,
            text => Some(CrawlUrl::parse(text).ok()?),
        };
        Some(Recent {
            mark: codec::number(from)?,
            domain: domain(&url),
            network: codec::number(from)?,
            changed: codec::number(from)? != 0,
            at: codec::number(from)?,
            finished: codec::number(from)?,
            position: 0,
            is_page: true,
            url,
            depth: codec::small(from)?,
            options: None,
            status: codec::small(from)?.try_into().ok()?,
            redirect,
        })
    }
}

/// Appends the options of those that have some, each after its index.
pub(crate) fn pack_options(recent: &[&Recent], record: &mut Vec<u8>) {
    let options =
        |(index, one): (usize, &&Recent)| Some((index, lycosa_records::write_map(one.options.as_deref()?)?));
    let packed: Vec<_> = recent.iter().enumerate().filter_map(options).collect();
    put_number(record, packed.len() as u64);
    for (index, options) in packed {
        put_number(record, index as u64);
        put_bytes(record, &options);
    }
}

/// Reads them into those that were read before, in the same order.
pub(crate) fn unpack_options(recent: &mut VecDeque<Recent>, from: &mut &[u8]) -> Option<()> {
    for _ in 0..codec::number(from)? {
        let index = usize::try_from(codec::number(from)?).ok()?;
        let options = lycosa_records::read_map(codec::bytes(from)?)?;
        recent.get_mut(index)?.options = Some(options);
    }
    Some(())
}
