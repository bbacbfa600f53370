//! Links that another frontier owns: a job may be divided among several, by a ring.
//!
//! Guarantees: without ownership everything belongs to this frontier; a link that is not its own is given out at least once after
//! its page was recorded; links that were given out lately are not given out again, since most links of a page are known.

use lycosa_records::Request;
use lycosa_url::{Digest, Ring, RingKey, UrlRef};

use crate::codec;
use crate::waiting::Candidate;

/// Links that were given out lately and are remembered: 1 MiB.
const RECENT: usize = 1 << 16;

/// Which URLs a frontier owns.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// All owners.
    pub ring: Ring,
    /// What of a URL decides its owner.
    pub key: RingKey,
    /// Which of them this frontier is.
    pub node: Box<str>,
}

/// Links on their way to other owners. Filled by admission, emptied by whoever carries them there.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ownership: Option<Ownership>,
    links: Vec<(Box<str>, Request)>,
    /// Digests of links that were given out, each at the place that its last bytes say.
    recent: Vec<Digest>,
}

impl Outbox {
    /// An empty one.
    pub(crate) fn new(ownership: Option<Ownership>) -> Self {
        let recent = if ownership.is_some() { vec![Digest::default(); RECENT] } else { Vec::new() };
        Outbox { ownership, links: Vec::new(), recent }
    }

    /// Whether a URL belongs to this frontier.
    pub(crate) fn owns(&self, url: UrlRef<'_>) -> bool {
        self.ownership.as_ref().is_none_or(|ownership| {
            ownership.ring.owner(&ownership.key.digest(url)).is_none_or(|owner| *owner == *ownership.node)
        })
    }

    /// Takes a link that another frontier owns; gives whether it is one.
    pub(crate) fn takes(&mut self, candidate: &Candidate<'_>) -> bool {
        let Some(ownership) = &self.ownership else { return false };
        let url = candidate.url;
        let owner = ownership.ring.owner(&ownership.key.digest(url));
        let Some(owner) = owner.filter(|owner| **owner != *ownership.node) else { return false };
        let digest = url.digest();
        let place = usize::from(u16::from_le_bytes([digest[14], digest[15]])) % RECENT;
        // Redirects and requests of their own are rare, and say more than a link.
        let is_link = candidate.chain.is_empty() && candidate.options.is_none();
        if !is_link || self.recent[place] != *digest {
            self.recent[place] = *digest;
            let (depth, chain) = (candidate.depth, candidate.chain.to_vec());
            let options = candidate.options.cloned().map(Box::new);
            self.links
                .push((owner.into(), Request { depth, chain, options, ..Request::get(url.to_owned()) }));
        }
        true
    }

    /// Gives what is in it.
    pub(crate) fn take(&mut self) -> Vec<(Box<str>, Request)> {
        std::mem::take(&mut self.links)
    }

    /// Appends it to a record of a snapshot.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        // Requests that cannot be encoded do not exist: they are numbers, texts and JSON.
        let packed: Vec<_> = self
            .links
            .iter()
            .filter_map(|(owner, request)| Some((owner, rmp_serde::to_vec_named(request).ok()?)))
            .collect();
        codec::put_number(record, packed.len() as u64);
        for (owner, request) in packed {
            codec::put_bytes(record, owner.as_bytes());
            codec::put_bytes(record, &request);
        }
    }

    /// Reads it.
    pub(crate) fn unpack(&mut self, from: &mut &[u8]) -> Option<()> {
        for _ in 0..codec::number(from)? {
            let owner = codec::text(from)?.into();
            self.links.push((owner, rmp_serde::from_slice(codec::bytes(from)?).ok()?));
        }
        Some(())
    }
}
