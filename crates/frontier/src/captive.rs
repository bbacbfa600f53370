//! Whether everybody gives the same answer: a captive portal, or a proxy that answers for all.
//!
//! An answer's *mark* is a hash of what it says: the beginning of its body, or where it redirects to. When hosts of unrelated
//! domains give one mark in a row, their answers are *held*: not recorded yet. It is a portal when hosts that gave other
//! answers before are among them and nobody gives another one. Parked domains, which all show one page, never gave another one.
//!
//! Guarantees:
//! 1. Any other answer, asked for after the first of the same ones, shows that the way is clear: what is held is released.
//! 2. Held answers are bounded in number, in bytes and in time; beyond it it is decided what they are.
//! 3. What was recorded with the portal's mark before it was known is told, so that it is fetched again.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, Hasher};

use hashbrown::DefaultHashBuilder;
use lycosa_url::{CrawlUrl, Micros, Page, registered_domain};

use crate::politeness::domains::DomainId;

/// Bytes of a body that make its mark, with its length.
const MARKED_BYTES: usize = 4096;

/// The shortest body that has a mark: shorter ones are alike by chance.
const SHORTEST: usize = 16;

/// Answers that are remembered, and marks that are known to be many sites' own.
const RECENT: usize = 512;
const HONEST: usize = 64;

/// Windows in which others are waited for where a host gave another answer before.
const CHANGED_WINDOWS: u64 = 6;

/// Domains that are remembered as mirrors, at most.
const MIRRORS: usize = 4096;

/// Answers that are held, and bytes of their bodies, at most.
const HELD: usize = 256;
const HELD_BYTES: usize = 8 << 20;

/// Domains that give the same answer where it is a portal, and those of them that gave another one before. Where the resolver gives
/// their address for a name that cannot exist, two are enough.
const SAME: usize = 3;
const CHANGED: usize = 2;
const LIED: usize = 2;

/// An answer that was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    mark: u64,
    domain: DomainId,
    network: u64,
    changed: bool,
    at: Micros,
    /// The URL, its depth, its status and where it redirected to.
    pub(crate) url: CrawlUrl,
    pub(crate) depth: u32,
    pub(crate) status: u16,
    pub(crate) redirect: Option<CrawlUrl>,
}

/// Hosts that give the same answer.
#[derive(Debug)]
struct Same {
    mark: u64,
    /// When the first of them was asked, and when the last other answer came before.
    since: Micros,
    clear_at: Micros,
    /// Domain, network, and whether it gave another answer before.
    hosts: Vec<(DomainId, u64, bool)>,
    /// Bytes of what is held.
    bytes: usize,
}

/// What is to become of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is recorded.
    Clear,
    /// It waits until more is known.
    Held,
    /// It is the portal's.
    Portal,
}

/// Who gave an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Giver {
    pub(crate) domain: DomainId,
    pub(crate) network: u64,
    /// The mark of the page that this host gave before; 0: none, 1: one that is not remembered.
    pub(crate) before: u64,
}

/// What is known of answers that are the same.
#[derive(Debug, Default)]
pub(crate) struct Captive {
    hasher: DefaultHashBuilder,
    recent: VecDeque<Recent>,
    marks: VecDeque<u64>,
    honest: VecDeque<u64>,
    same: Option<Same>,
    portal: Option<u64>,
    /// Domains that were waited for in vain: mirrors of each other. Their answers are not held again.
    mirrors: HashSet<DomainId>,
    held: HashSet<u64>,
    /// When the last answer came that is no suspected one.
    clear_at: Micros,
    /// The network that the resolver gives for names that cannot exist, and when it was asked.
    lie: Option<u64>,
    checked_at: Micros,
}

impl Captive {
    /// The mark of an answer; `None` where it has none: errors but refusals, and bodies that are alike by chance.
    pub(crate) fn mark(&self, page: &Page) -> Option<u64> {
        let is_marked = |status: u16| status < 400 || matches!(status, 401 | 403 | 407 | 451);
        let received = page.response.result.as_ref().ok().filter(|received| is_marked(received.status))?;
        let mut hasher = self.hasher.build_hasher();
        if let Some(target) = &page.redirect {
            let path = target.path_and_query().split('?').next().unwrap_or_default();
            // Only hosts of other places are the same for all.
            (target.host() != page.response.request.url.host()).then_some(())?;
            hasher.write(target.host().as_bytes());
            hasher.write(path.as_bytes());
        } else {
            (received.body.len() >= SHORTEST).then_some(())?;
            hasher.write_usize(received.body.len());
            hasher.write(&received.body[..received.body.len().min(MARKED_BYTES)]);
        }
        Some(hasher.finish() | 2)
    }

    /// Looks at an answer with its mark. `window`: how long answers are held at most.
    pub(crate) fn look(&mut self, page: &Page, mark: u64, giver: Giver, window: Micros) -> Look {
        let (lease, at) = (page.response.request.lease, page.response.finished);
        self.held.remove(&lease);
        if self.portal == Some(mark) {
            return Look::Portal;
        }
        if self.portal.is_some() || self.honest.contains(&mark) || self.mirrors.contains(&giver.domain) {
            return Look::Clear;
        }
        let changed = giver.before != 0 && giver.before != mark;
        if let Some(same) = &mut self.same {
            if same.mark == mark {
                same.add(giver, changed);
                same.bytes += page.memory();
                let is_over = at.saturating_sub(same.since) > window * CHANGED_WINDOWS
                    || self.held.len() >= HELD
                    || same.bytes > HELD_BYTES;
                if is_over && !same.is_portal(self.lie) {
                    self.release(mark);
                    return Look::Clear;
                }
                self.held.insert(lease);
                return Look::Held;
            }
            if page.response.started >= same.since {
                let mark = same.mark;
                self.release(mark);
            }
        }
        if self.same.is_none()
            && let Some(first) = self.marks.iter().position(|known| *known == mark)
            && let Some(first) = self.recent.get(first).filter(|first| first.domain != giver.domain)
        {
            let hosts = vec![(first.domain, first.network, first.changed)];
            let since = page.response.started;
            let (clear_at, bytes) = (self.clear_at.min(first.at), page.memory());
            let mut same = Same { mark, since, clear_at, hosts, bytes };
            same.add(giver, changed);
            self.same = Some(same);
            self.held.insert(lease);
            return Look::Held;
        }
        // A redirect to somewhere else waits for the next answer of somebody else: its target would belong to the crawl.
        // Of a crawl of one domain only the first: nobody else will answer.
        let is_alone = || self.recent.iter().all(|recent| recent.domain == giver.domain);
        if self.same.is_none() && is_elsewhere(page) && (self.recent.is_empty() || !is_alone()) {
            let (since, hosts) = (page.response.started, vec![(giver.domain, giver.network, changed)]);
            let clear_at = self.clear_at.min(since);
            self.same = Some(Same { mark, since, clear_at, hosts, bytes: page.memory() });
            self.held.insert(lease);
            return Look::Held;
        }
        self.clear_at = at;
        Look::Clear
    }

    /// Whether the resolver is to be asked for a name that cannot exist.
    pub(crate) fn wants_check(&mut self, window: Micros, now: Micros) -> bool {
        let wants = self.same.as_ref().is_some_and(|same| same.hosts.len() > 1)
            && (self.checked_at == 0 || now.saturating_sub(self.checked_at) > window);
        if wants {
            self.checked_at = now;
        }
        wants
    }

    /// What the resolver says of a name that cannot exist: the network of an address, or nothing.
    pub(crate) fn resolver_says(&mut self, lie: Option<u64>) {
        self.lie = lie;
    }

    /// Remembers an answer that is being recorded.
    pub(crate) fn remember(&mut self, page: &Page, mark: u64, giver: Giver) {
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
            self.marks.pop_front();
        }
        let request = &page.response.request;
        self.recent.push_back(Recent {
            mark,
            domain: giver.domain,
            network: giver.network,
            changed: giver.before != 0 && giver.before != mark,
            at: page.response.started,
            url: request.url.clone(),
            depth: request.depth,
            status: page.response.result.as_ref().map_or(0, |received| received.status),
            redirect: page.redirect.clone(),
        });
        self.marks.push_back(mark);
    }

    /// Whether an answer is held.
    pub(crate) fn is_held(&self, lease: u64) -> bool {
        self.held.contains(&lease)
    }

    /// Whether the same answers are a portal's: gives since when other answers are missing, of how many domains, and what was
    /// recorded of it.
    pub(crate) fn confirm(&mut self, window: Micros, now: Micros) -> Option<(Micros, usize, Vec<Recent>)> {
        let (lie, held) = (self.lie, self.held.len());
        let lasted = |same: &Same| {
            now.saturating_sub(same.since) >= window / 4 || held >= HELD / 2 || same.bytes > HELD_BYTES
        };
        let same = self.same.take_if(|same| same.is_portal(lie) && (lie.is_some() || lasted(same)))?;
        self.portal = Some(same.mark);
        self.held.clear();
        let of_portal = |recent: &Recent| recent.mark == same.mark && recent.at >= same.clear_at;
        let recorded = self.recent.iter().filter(|recent| of_portal(recent)).cloned().collect();
        self.recent.retain(|recent| recent.mark != same.mark);
        self.marks.retain(|mark| *mark != same.mark);
        Some((same.clear_at, same.hosts.len(), recorded))
    }

    /// Releases what has been held for too long; whether anything that was held may be looked at again.
    pub(crate) fn has_decided(&mut self, window: Micros, now: Micros) -> bool {
        let is_over = |same: &&Same| {
            // One host alone, as at the beginning of a crawl, is not waited for as long.
            // Where a host gave another answer before, others are waited for longer.
            let has_changed = same.hosts.iter().any(|(.., changed)| *changed);
            let longest = match same.hosts.len() {
                1 => window / 4,
                _ if has_changed => window * CHANGED_WINDOWS,
                _ => window,
            };
            now.saturating_sub(same.since) > longest
        };
        if let Some(same) = self.same.take_if(|same| is_over(&&*same)) {
            if self.mirrors.len() < MIRRORS {
                self.mirrors.extend(same.hosts.iter().map(|(domain, ..)| *domain));
            }
            self.release(same.mark);
        }
        self.held.is_empty()
    }

    /// The portal is gone.
    pub(crate) fn clear(&mut self) {
        self.portal = None;
    }

    /// Whether a portal answers.
    pub(crate) fn is_captive(&self) -> bool {
        self.portal.is_some()
    }

    /// A mark is many sites' own.
    fn release(&mut self, mark: u64) {
        if self.honest.len() >= HONEST {
            self.honest.pop_front();
        }
        self.honest.push_back(mark);
        self.same = None;
        self.held.clear();
    }
}

impl Same {
    /// Another host gives the answer.
    fn add(&mut self, giver: Giver, changed: bool) {
        match self.hosts.iter_mut().find(|(domain, ..)| *domain == giver.domain) {
            Some((.., known)) => *known |= changed,
            None => self.hosts.push((giver.domain, giver.network, changed)),
        }
    }

    /// Whether it is a portal.
    fn is_portal(&self, lie: Option<u64>) -> bool {
        let changed = self.hosts.iter().filter(|(.., changed)| *changed).count();
        let is_there = self.hosts.iter().all(|(_, network, _)| Some(*network) == lie);
        let lied = lie.is_some() && (self.hosts.len() >= SAME || (self.hosts.len() >= LIED && is_there));
        lied || (self.hosts.len() >= SAME && changed >= CHANGED)
    }
}

/// Whether an answer redirects to another registered domain.
fn is_elsewhere(page: &Page) -> bool {
    let host = page.response.request.url.host();
    page.redirect.as_ref().is_some_and(|target| registered_domain(target.host()) != registered_domain(host))
}

/// The mark of a host that gave a page which is not remembered.
pub(crate) const SOME_PAGE: u64 = 1;
