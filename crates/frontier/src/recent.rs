//! Recently recorded responses: which of them no different response has confirmed, also across a snapshot.

use std::collections::{HashSet, VecDeque};

use lycosa_records::{Outcome, Purpose, RequestOptions};
use lycosa_url::{CrawlUrl, Digest, Micros};

use crate::codec::{self, put_bytes, put_number};
use crate::politeness::domains::DomainId;

/// Responses that are remembered.
pub(crate) const RECENT: usize = 512;

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

/// The last recorded responses, in the order in which they were recorded.
#[derive(Debug, Default)]
pub(crate) struct RecentResponses {
    all: VecDeque<Recent>,
    /// The mark of each: most lookups are by these, and read one cache line for eight of them.
    marks: VecDeque<u64>,
}

impl RecentResponses {
    /// Adds a response; the oldest one is forgotten.
    pub(crate) fn add(&mut self, recent: Recent) {
        if self.all.len() >= RECENT {
            self.all.pop_front();
            self.marks.pop_front();
        }
        self.marks.push_back(recent.mark);
        self.all.push_back(recent);
    }

    /// Replaces all by those of a snapshot.
    pub(crate) fn load(&mut self, all: VecDeque<Recent>) {
        self.marks = all.iter().map(|recent| recent.mark).collect();
        self.all = all;
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Recent> {
        self.all.iter()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The oldest one with a mark.
    pub(crate) fn first(&self, mark: u64) -> Option<&Recent> {
        self.marks.iter().position(|known| *known == mark).and_then(|index| self.all.get(index))
    }

    /// When the last one with another mark was requested.
    pub(crate) fn last_other(&self, mark: u64) -> Micros {
        self.all.iter().filter(|recent| recent.mark != mark).map(|recent| recent.at).max().unwrap_or(0)
    }

    /// Whether other domains respond in this crawl.
    pub(crate) fn has_others(&self, domain: DomainId) -> bool {
        self.all.iter().any(|recent| recent.domain != domain)
    }

    /// Whether the host of a response sent the same one for its robots.txt and for a page.
    pub(crate) fn has_for_robots(&self, page: &Outcome, mark: u64) -> bool {
        let request = &page.response.request;
        let is_page = request.purpose == Purpose::Page;
        let is_same =
            |one: &Recent| one.mark == mark && one.is_page != is_page && one.url.host() == request.url.host();
        self.all.iter().any(is_same)
    }

    /// Those that may be a captive portal's: no later request had a different response.
    pub(crate) fn unconfirmed(&self) -> impl Iterator<Item = &Recent> {
        let last = self.all.iter().max_by_key(|one| one.at);
        let is_last = move |one: &Recent| last.is_some_and(|last| last.mark == one.mark);
        let other = self.all.iter().filter(move |one| !is_last(one)).max_by_key(|one| one.at);
        self.all.iter().filter(move |one| {
            let later = if is_last(one) { other } else { last };
            one.finished > 0 && later.is_none_or(|later| later.at <= one.finished)
        })
    }

    /// Confirms all of them.
    pub(crate) fn confirm_all(&mut self) {
        self.all.iter_mut().for_each(|recent| recent.finished = 0);
    }

    /// All of them were recorded before that position.
    pub(crate) fn set_position(&mut self, position: u64) {
        self.all.iter_mut().for_each(|recent| recent.position = position);
    }

    /// Takes those of a portal, by its mark and the network of the resolver's lie, that came after `clear_at` and may be taken back:
    /// not older than `oldest`. The others came before, and are confirmed.
    pub(crate) fn take_same(
        &mut self,
        (mark, network): (u64, Option<u64>),
        clear_at: Micros,
        oldest: Micros,
    ) -> Vec<Recent> {
        let (mut taken, mut kept) = (Vec::new(), VecDeque::new());
        let mut is_tail = true;
        // From the last one on: responses from the address of the lie, up to the last other one.
        for recent in std::mem::take(&mut self.all).into_iter().rev() {
            is_tail &= Some(recent.network) == network;
            // Outputs have what is older.
            let may_go = recent.finished.max(recent.at) >= oldest;
            let is_same = recent.mark == mark && recent.at.max(recent.finished) >= clear_at;
            match may_go && (is_tail || is_same) {
                true => taken.push(recent),
                false if recent.mark != mark => kept.push_front(recent),
                false => {}
            }
        }
        taken.reverse();
        self.load(kept);
        self.confirm_all();
        taken
    }

    /// Forgets the response to a request: it was opened again.
    pub(crate) fn forget(&mut self, key: &Digest) {
        if let Some(index) = self.all.iter().rposition(|recent| recent.key() == *key) {
            self.all.remove(index);
            self.marks.remove(index);
        }
    }

    /// Forgets the response to a request that an earlier process opened again. Those that it did not doubt then are confirmed; it may
    /// have died before it recorded the others.
    pub(crate) fn forget_reopened(&mut self, key: &Digest) {
        // Most are opened again for another reason, such as `--retry-failed`.
        if !self.all.iter().any(|recent| recent.key() == *key) {
            return;
        }
        let doubted: HashSet<Digest> = self.unconfirmed().map(Recent::key).collect();
        self.all
            .iter_mut()
            .filter(|recent| !doubted.contains(&recent.key()))
            .for_each(|recent| recent.finished = 0);
        self.forget(key);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.load(VecDeque::new());
    }
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
