//! Links that another frontier owns: a job may be divided among several, by a ring.
//!
//! Guarantees: without ownership everything belongs to this frontier; a link that is not its own is given out at least once after
//! its page was recorded, and again, also by the next process, until it is said that its owner has recorded it; links that were
//! given out lately are not given out again, since most links of a page are known; beyond [`FULL`] links no page is fetched.

use lycosa_records::Request;
use lycosa_url::{Digest, Ring, RingKey, UrlRef, digest_of};

use crate::codec;
use crate::waiting::Candidate;

/// Links that were given out lately and are remembered: 1 MiB.
const RECENT: usize = 1 << 16;

/// Hosts that are remembered with whether others own them.
const HOSTS: usize = 1 << 12;

/// Links from which on no more requests are given out until others have these: about 40 MB.
const FULL: usize = 1 << 17;

/// Which URLs a frontier owns.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// All owners.
    pub ring: Ring,
    /// The part of a URL that decides its owner.
    pub key: RingKey,
    /// Which of them this frontier is.
    pub node: Box<str>,
}

impl Ownership {
    /// The owner of a URL.
    pub fn owner(&self, url: UrlRef<'_>) -> Option<&str> {
        self.ring.owner(&self.key.digest(url))
    }

    /// Whether a host is this frontier's, as far as a host decides that.
    pub(crate) fn owns_host(&self, host: &str) -> bool {
        let Some(key) = self.key.text_of_host(host) else { return true };
        self.ring.owner(&digest_of(key)) == Some(&*self.node)
    }

    /// The number of this frontier's first lease, and the step to the next one.
    pub(crate) fn leases(&self) -> (u64, u64) {
        let (index, count) =
            (self.ring.nodes().position(|name| *name == *self.node), self.ring.nodes().count());
        (index.unwrap_or(0) as u64 + 1, count.max(1) as u64)
    }
}

/// Links for other owners. Filled by admission, emptied by [`Outbox::delivered`].
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ownership: Option<Ownership>,
    links: Vec<(Box<str>, Request)>,
    /// How many of these, from the first on, were taken and not delivered yet.
    taken: usize,
    /// Digests of links that were returned lately, each in the slot of its last bytes.
    recent: Vec<Digest>,
    /// Whether other frontiers own hosts that were seen lately, each in the slot of its checksum.
    hosts: Vec<(Box<str>, bool)>,
}

impl Outbox {
    /// An empty one.
    pub(crate) fn new(ownership: Option<Ownership>) -> Self {
        let (recent, hosts) = match ownership {
            Some(_) => (vec![Digest::default(); RECENT], vec![Default::default(); HOSTS]),
            None => Default::default(),
        };
        Outbox { ownership, links: Vec::new(), taken: 0, recent, hosts }
    }

    /// Whether a URL belongs to this frontier.
    pub(crate) fn owns(&self, url: UrlRef<'_>) -> bool {
        let is_own =
            |ownership: &Ownership| ownership.owner(url).is_none_or(|owner| *owner == *ownership.node);
        self.ownership.as_ref().is_none_or(is_own)
    }

    /// Takes a link that another frontier owns; returns whether it is one.
    pub(crate) fn takes(&mut self, candidate: &Candidate<'_>) -> bool {
        let url = candidate.url;
        if self.ownership.is_none() || !self.is_foreign(url) {
            return false;
        }
        let digest = url.digest();
        let slot = usize::from(u16::from_le_bytes([digest[14], digest[15]])) % RECENT;
        // Redirects and requests of their own are rare, and say more than a link.
        if (!candidate.is_link() || self.recent[slot] != *digest)
            && let Some(owner) = self.ownership.as_ref().and_then(|ownership| ownership.owner(url))
        {
            self.recent[slot] = *digest;
            self.links.push((owner.into(), request_of(candidate)));
        }
        true
    }

    /// Whether another frontier owns a URL. The answer for a host is remembered: finding its registered domain and its place on the
    /// ring costs as much as all else that is done for a link.
    fn is_foreign(&mut self, url: UrlRef<'_>) -> bool {
        if self.ownership.as_ref().is_some_and(|ownership| ownership.key == RingKey::Url) {
            return !self.owns(url);
        }
        let host = url.host();
        let hash = crc32fast::hash(host.as_bytes()) as usize;
        let slot = hash % self.hosts.len().max(1);
        if let Some((known, is_foreign)) = self.hosts.get(slot)
            && **known == *host
        {
            return *is_foreign;
        }
        let is_foreign = !self.owns(url);
        if let Some(remembered) = self.hosts.get_mut(slot) {
            *remembered = (host.into(), is_foreign);
        }
        is_foreign
    }

    /// Announces a seed's redirect target to all other frontiers: it belongs to the crawl now. Its owner gets it as any link.
    pub(crate) fn announce(&mut self, candidate: &Candidate<'_>) {
        let Some(ownership) = &self.ownership else { return };
        let (node, owner) = (&*ownership.node, ownership.owner(candidate.url));
        let others = ownership.ring.nodes().filter(|other| *other != node && Some(*other) != owner);
        self.links.extend(others.map(|other| (other.into(), request_of(candidate))));
    }

    /// The links in it. They stay until [`Outbox::delivered`].
    pub(crate) fn take(&mut self) -> Vec<(Box<str>, Request)> {
        self.taken = self.links.len();
        self.links.clone()
    }

    /// The links that were taken last have been recorded by their owners.
    pub(crate) fn delivered(&mut self) {
        self.links.drain(..std::mem::take(&mut self.taken));
    }

    /// Links in it.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are as many as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.links.len() >= FULL
    }

    /// Appends it to a record of a snapshot.
    pub(crate) fn pack(&self, record: &mut Vec<u8>) {
        let packed: Vec<_> = self
            .links
            .iter()
            .filter_map(|(owner, request)| Some((owner, lycosa_records::write_map(request)?)))
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
            self.links.push((owner, lycosa_records::read_map(codec::bytes(from)?)?));
        }
        Some(())
    }
}

/// The request that another frontier is to accept.
fn request_of(candidate: &Candidate<'_>) -> Request {
    let (depth, chain) = (candidate.depth, candidate.chain.to_vec());
    let options = candidate.options.cloned().map(Box::new);
    Request { depth, chain, options, ..Request::get(candidate.url.to_owned()) }
}
