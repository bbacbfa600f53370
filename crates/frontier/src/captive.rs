//! Whether everybody gives the same answer: a captive portal, or a proxy that answers for all.
//!
//! When hosts of unrelated domains give answers of one *mark* (`mark.rs`) in a row, these are *held*: not recorded yet. It is a
//! portal when hosts that gave other answers before are among them and nobody gives another one, not even a robots.txt. Parked
//! domains, which all show one page, never gave another one. Where the resolver *lies* (it has an address for a name that cannot
//! exist), all that is answered from that address is the same, whatever it says.
//!
//! Guarantees:
//! 1. Any other answer, asked for after the first of the same ones, shows that the way is clear: what is held is released, or,
//!    where it looked like a portal's, asked for once more.
//! 2. Held answers are bounded in number, in bytes and in time; beyond it it is decided what they are.
//! 3. What was recorded with the portal's mark before it was known is told, so that it is fetched again.
//! 4. What is answered again after the way was found clear is the site's own answer: no URL is asked for again and again.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use lycosa_url::{CrawlUrl, Micros, Page, Purpose, registered_domain};

use crate::mark::{is_other_rules, mark};
use crate::politeness::domains::DomainId;
use crate::recent::{Recent, unconfirmed};

/// Answers that are remembered, and marks that are known to be many sites' own.
pub(crate) const RECENT: usize = 512;
const HONEST: usize = 64;

/// Windows in which others are waited for where a host gave another answer before.
pub(crate) const CHANGED_WINDOWS: u64 = 6;

/// Domains that are remembered as mirrors, at most.
const MIRRORS: usize = 4096;

/// Answers in a row of one domain that are the same.
const RUN: usize = 3;

/// Whatever a domain answers.
const ALL_PAGES: u64 = 0;

/// Answers that are held, and bytes of their bodies, at most.
const HELD: usize = 256;
const HELD_BYTES: usize = 8 << 20;

/// Domains that give the same answer where it is a portal, and those of them that gave another one before. Where all are at the
/// address of the resolver's lie, two are enough.
const SAME: usize = 3;
const CHANGED: usize = 2;
const LIED: usize = 2;

/// Domain, network, and whether it gave another answer before.
type Hosts = Vec<(DomainId, u64, bool)>;

/// Hosts that give the same answer.
#[derive(Debug)]
struct Same {
    mark: u64,
    place: u64,
    status: u16,
    /// Whether one of them is at the address of the resolver's lie.
    lied: bool,
    /// When the first of them was asked, from when on other answers count, and when the last of these came before.
    since: Micros,
    seen_at: Micros,
    clear_at: Micros,
    /// When hosts that were well were first asked; 0: not yet.
    asked_at: Micros,
    /// The host of the first of them.
    example: Box<str>,
    hosts: Hosts,
    /// Bytes of what is held.
    bytes: usize,
}

/// A portal that was found.
#[derive(Debug)]
pub(crate) struct Confirmed {
    /// When its first answer was asked for, and when the last page before that was.
    pub(crate) since: Micros,
    pub(crate) clear_at: Micros,
    /// Registered domains that it answered for, and one host of them.
    pub(crate) domains: usize,
    pub(crate) example: Box<str>,
    /// What was recorded of it.
    pub(crate) recorded: Vec<Recent>,
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

/// A portal: mark and status of its answers, the network of its address where the resolver gives that for all names, and since
/// when it is certain.
#[derive(Clone, Copy, Debug)]
struct Portal {
    mark: u64,
    status: u16,
    network: Option<u64>,
    certain_at: Micros,
}

/// What is known of answers that are the same.
#[derive(Debug, Default)]
pub(crate) struct Captive {
    /// The same in each process: snapshots keep marks.
    hasher: BuildHasherDefault<DefaultHasher>,
    recent: VecDeque<Recent>,
    marks: VecDeque<u64>,
    honest: VecDeque<u64>,
    same: Option<Same>,
    /// Who was held in vain last, too few to tell, and for which mark.
    in_vain: Option<(u64, Hosts)>,
    portal: Option<Portal>,
    /// What is to be taken back of a portal that was gone before it was certain.
    ended: Option<Confirmed>,
    /// The portal that was there last, and when somebody else answered.
    former: Option<(Portal, Micros)>,
    /// Domains whose answers were held in vain, and are not held again: mirrors of each other with [`ALL_PAGES`], those that nobody
    /// followed with their answer's place.
    mirrors: HashSet<(DomainId, u64)>,
    held: HashSet<u64>,
    /// The network that the resolver gives for names that cannot exist; one that is known as that of the sites that are there.
    lie: Option<u64>,
    honest_lie: Option<u64>,
    /// When the resolver was asked, and whether it is to be asked again.
    checked_at: Micros,
    suspects_lie: bool,
    /// Whose name was answered last, with which network, and how many names in a row were.
    last_name: Option<(DomainId, u64, usize)>,
}

impl Captive {
    /// The mark of an answer.
    pub(crate) fn mark(&self, page: &Page) -> Option<u64> {
        mark(page, &self.hasher)
    }

    /// Whether an answer came from where the resolver's lie leads.
    pub(crate) fn is_of_lie(&self, network: u64) -> bool {
        self.lie() == Some(network)
    }

    /// The network of the resolver's lie, unless sites are known to live there.
    fn lie(&self) -> Option<u64> {
        self.lie.filter(|lie| self.honest_lie != Some(*lie))
    }

    /// Looks at an answer with its mark. `is_troubled`: the resolvers are not well, and each answer waits for another one. `window`:
    /// how long answers are held at most.
    pub(crate) fn look(
        &mut self,
        page: &Page,
        mark: u64,
        giver: Giver,
        (is_troubled, window): (bool, Micros),
    ) -> Look {
        let (lease, at) = (page.response.request.lease, page.response.finished);
        self.held.remove(&lease);
        if self.is_portals(mark, giver.network) {
            return Look::Portal;
        }
        if self.is_former_portals(page, mark, giver.network, window) {
            return Look::Portal;
        }
        if self.portal.is_some() || self.honest.contains(&mark) || self.is_mirror(page, mark, giver.domain) {
            return Look::Clear;
        }
        let (at_lie, lie) = (self.is_of_lie(giver.network), self.lie());
        let changed = giver.before != 0 && giver.before != mark;
        if let Some(same) = &mut self.same {
            if same.mark == mark || at_lie {
                same.lied |= at_lie;
                same.add(giver, changed);
                same.bytes += page.memory();
                let is_over = at.saturating_sub(same.since) > window * CHANGED_WINDOWS
                    || self.held.len() >= HELD
                    || same.bytes > HELD_BYTES;
                if is_over && !same.is_portal(lie) {
                    self.release();
                    return Look::Clear;
                }
                self.held.insert(lease);
                return Look::Held;
            }
            if page.response.started >= same.seen_at {
                self.other_answered(at);
            }
        }
        if self.same.is_none()
            && let Some(mut same) = self.begin(page, mark, giver, (at_lie, is_troubled))
        {
            same.add(giver, changed);
            self.same = Some(same);
            self.held.insert(lease);
            return Look::Held;
        }
        Look::Clear
    }

    /// Whether an answer's like were held in vain before.
    fn is_mirror(&self, page: &Page, mark: u64, domain: DomainId) -> bool {
        !self.mirrors.is_empty()
            && (self.mirrors.contains(&(domain, ALL_PAGES))
                || self.mirrors.contains(&(domain, self.place(page, mark))))
    }

    /// Where an answer leads: the host that it redirects to, or itself.
    fn place(&self, page: &Page, mark: u64) -> u64 {
        page.redirect.as_ref().map_or(mark, |target| self.hasher.hash_one(target.host()) | 2)
    }

    /// Whether an answer is the portal's that is there now.
    fn is_portals(&self, mark: u64, network: u64) -> bool {
        self.portal.is_some_and(|portal| portal.mark == mark || portal.network == Some(network))
    }

    /// Whether an answer is one of the portal that was there last; what is asked for later and answered as before is the
    /// site's own.
    fn is_former_portals(&mut self, page: &Page, mark: u64, network: u64, window: Micros) -> bool {
        let Some((portal, cleared_at)) = self.former else { return false };
        if portal.mark != mark && portal.network != Some(network) {
            return false;
        }
        let started = page.response.started;
        if started < gone_at(cleared_at, window) {
            return true;
        }
        if started < cleared_at.saturating_add(window * CHANGED_WINDOWS) {
            self.trust(mark);
            self.honest_lie = portal.network.or(self.honest_lie);
        }
        self.former = None;
        false
    }

    /// The beginning of answers that are the same, with those before this one.
    fn begin(
        &self,
        page: &Page,
        mark: u64,
        giver: Giver,
        (at_lie, is_troubled): (bool, bool),
    ) -> Option<Same> {
        let (since, seen_at, status) = (page.response.started, page.response.finished, status_of(page));
        let same = |clear_at, hosts| Same {
            mark,
            place: self.place(page, mark),
            status,
            lied: at_lie,
            since,
            seen_at,
            clear_at,
            asked_at: 0,
            example: page.response.request.url.host().into(),
            hosts,
            bytes: page.memory(),
        };
        if self.is_run(mark, giver) {
            return Some(same(self.other_before(mark), Vec::new()));
        }
        if let Some(first) = self.marks.iter().position(|known| *known == mark)
            && let Some(first) = self.recent.get(first).filter(|first| first.domain != giver.domain)
        {
            let known = self.in_vain.as_ref().filter(|(held, _)| *held == mark);
            let hosts = known.map_or_else(
                || vec![(first.domain, first.network, first.changed)],
                |(_, hosts)| hosts.clone(),
            );
            return Some(same(self.other_before(mark), hosts));
        }
        // A redirect to somewhere else waits for the next answer of somebody else: its target would belong to the crawl.
        // Of a crawl of one domain only the first: nobody else will answer.
        let is_alone = || self.recent.iter().all(|recent| recent.domain == giver.domain);
        let waits = (is_elsewhere(page) || is_troubled) && (self.recent.is_empty() || !is_alone());
        (waits || at_lie).then(|| same(self.other_before(mark), Vec::new()))
    }

    /// Whether the last answers were all of one domain, which gave others before and gives the same one again and again: others are
    /// asked whether they give it, too.
    fn is_run(&self, mark: u64, giver: Giver) -> bool {
        let is_same = |recent: &Recent| recent.mark == mark && recent.domain == giver.domain;
        let mut last = self.recent.iter().rev().take(RUN - 1);
        self.recent.len() >= RUN
            && last.clone().all(is_same)
            && last.any(|recent| recent.changed)
            && self.recent.iter().any(|recent| recent.domain != giver.domain)
    }

    /// When the last answer was asked for that was another one.
    fn other_before(&self, mark: u64) -> Micros {
        self.recent.iter().filter(|recent| recent.mark != mark).map(|recent| recent.at).max().unwrap_or(0)
    }

    /// Looks at an answer for a robots.txt while answers are held: one that no portal gives shows that the way is clear, and one of
    /// their mark is another of them. Gives whether it is that, from a host that gave rules before.
    pub(crate) fn look_at_robots(&mut self, page: &Page, giver: Giver) -> bool {
        let mark = self.mark(page);
        let at_lie = self.is_of_lie(giver.network);
        let Some(same) = &mut self.same else { return false };
        if mark == Some(same.mark) {
            same.add(giver, giver.before != 0);
            return giver.before != 0;
        }
        if page.response.started >= same.seen_at && !at_lie && is_other_rules(page, same.status) {
            self.other_answered(page.response.finished);
        }
        false
    }

    /// Whether an answer for a robots.txt is the host's own while a portal answers for pages.
    pub(crate) fn is_past_portal(&self, page: &Page, network: u64) -> bool {
        self.portal
            .is_some_and(|portal| portal.network != Some(network) && is_other_rules(page, portal.status))
    }

    /// Whether hosts that were well are to be asked whether they give other answers: before it is decided, and where one host's
    /// answer is not followed by another one's.
    pub(crate) fn wants_others(&mut self, window: Micros, now: Micros) -> bool {
        let lie = self.lie();
        self.same.as_mut().is_some_and(|same| {
            let is_late = now.saturating_sub(same.since) >= window / 8;
            let wants = same.asked_at == 0 && !same.is_lied(lie) && (is_late || same.is_portal(lie));
            if wants {
                same.asked_at = now;
            }
            wants
        })
    }

    /// Whether the resolver is to be asked for a name that cannot exist.
    pub(crate) fn wants_check(&mut self, window: Micros, now: Micros) -> bool {
        let wants = (self.suspects_lie || self.same.as_ref().is_some_and(|same| same.hosts.len() >= SAME))
            && (self.checked_at == 0 || now.saturating_sub(self.checked_at) > window);
        if wants {
            self.checked_at = now;
            self.suspects_lie = false;
        }
        wants
    }

    /// What the resolver says of a name: of unrelated domains in one network the resolver may tell a lie.
    pub(crate) fn name_answered(&mut self, domain: DomainId, network: u64) {
        let alike = match self.last_name {
            Some((last, at, alike)) if at == network => alike + usize::from(last != domain),
            _ => 1,
        };
        self.last_name = Some((domain, network, alike));
        self.suspects_lie |= alike >= SAME;
    }

    /// What the resolver says of a name that cannot exist: the network of an address, or nothing.
    pub(crate) fn resolver_says(&mut self, lie: Option<u64>) {
        self.lie = lie;
        if lie.is_none() {
            self.honest_lie = None;
        }
    }

    /// Remembers an answer that is being recorded; `position`: where its record ends, of what an earlier process recorded.
    pub(crate) fn remember(&mut self, page: &Page, mark: u64, giver: Giver, position: u64) {
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
            finished: page.response.finished,
            position,
            is_page: request.purpose == Purpose::Page,
            url: request.url.clone(),
            depth: request.depth,
            status: page.response.result.as_ref().map_or(0, |received| received.status),
            redirect: page.redirect.clone(),
        });
        self.marks.push_back(mark);
    }

    /// Forgets what was recorded of a URL: an earlier process opened it again. What it did not doubt then stays so, without what has
    /// confirmed it; it may have died before it recorded the others.
    pub(crate) fn forget_reopened(&mut self, url: &CrawlUrl) {
        let doubted: HashSet<CrawlUrl> = unconfirmed(&self.recent).map(|recent| recent.url.clone()).collect();
        self.recent
            .iter_mut()
            .filter(|recent| !doubted.contains(&recent.url))
            .for_each(|recent| recent.finished = 0);
        self.forget(url);
    }

    /// Forgets what was recorded.
    pub(crate) fn forget_all(&mut self) {
        self.recent.clear();
        self.marks.clear();
    }

    /// Takes in what a snapshot remembers.
    pub(crate) fn load(&mut self, recent: Recent) {
        self.marks.push_back(recent.mark);
        self.recent.push_back(recent);
    }

    /// Forgets what was recorded of a URL: it was opened again.
    pub(crate) fn forget(&mut self, url: &CrawlUrl) {
        if let Some(place) = self.recent.iter().rposition(|recent| recent.url == *url) {
            self.recent.remove(place);
            self.marks.remove(place);
        }
    }

    /// Pages that were recorded and may be a portal's.
    pub(crate) fn doubted(&self) -> impl Iterator<Item = &Recent> {
        unconfirmed(&self.recent).filter(|recent| recent.is_page && !self.honest.contains(&recent.mark))
    }

    /// Takes what was recorded last and may be a portal's, if it was asked for since then and recorded after a position of the log.
    pub(crate) fn take_unconfirmed(&mut self, since: Micros, written: u64) -> Vec<Recent> {
        let is_wanted = |recent: &&Recent| recent.at >= since && recent.position > written;
        let unconfirmed: Vec<Recent> = self.doubted().filter(is_wanted).cloned().collect();
        unconfirmed.iter().for_each(|recent| self.forget(&recent.url));
        self.recent.iter_mut().for_each(|recent| recent.finished = 0);
        unconfirmed
    }

    /// What a snapshot remembers was recorded before that position.
    pub(crate) fn is_before(&mut self, position: u64) {
        self.recent.iter_mut().for_each(|recent| recent.position = position);
    }

    /// Whether an answer is held.
    pub(crate) fn is_held(&self, lease: u64) -> bool {
        self.held.contains(&lease)
    }

    /// Whether the same answers are a portal's. `is_asking`: hosts that were well are asked and have not answered yet.
    pub(crate) fn confirm(&mut self, is_asking: bool, window: Micros, now: Micros) -> Option<Confirmed> {
        let (lie, held) = (self.lie(), self.held.len());
        let lasted = |same: &Same| {
            let is_full = held >= HELD || same.bytes > HELD_BYTES;
            // Answers may be looked at long after they came: whoever is asked then has time to answer, unless nobody could be asked.
            let asked_for = now.saturating_sub(same.asked_at);
            is_full || (same.asked_at > 0 && (asked_for >= window || (!is_asking && asked_for >= window / 4)))
        };
        let same = self.same.take_if(|same| same.is_lied(lie) || (same.is_portal(lie) && lasted(same)))?;
        self.portal = Some(same.portal(lie, now));
        Some(self.collect(same))
    }

    /// Somebody gave another answer than those that are held. What looked like a portal until now may have been one that is gone
    /// again: it is asked for once more, and believed then.
    fn other_answered(&mut self, at: Micros) {
        let lie = self.lie();
        let Some(same) = self.same.take_if(|same| same.is_portal(lie)) else { return self.release() };
        self.former = Some((same.portal(lie, at), at));
        self.ended = Some(self.collect(same));
    }

    /// What was recorded of answers that are held: nothing will be known of them in time.
    pub(crate) fn take_suspected(&mut self) -> Option<Confirmed> {
        let same = self.same.take()?;
        Some(self.collect(same))
    }

    /// A portal that was gone before it was certain.
    pub(crate) fn take_ended(&mut self) -> Option<Confirmed> {
        self.ended.take()
    }

    /// What is known of a portal; forgets what was recorded of it.
    fn collect(&mut self, same: Same) -> Confirmed {
        let network = self.lie().filter(|_| same.lied);
        self.held.clear();
        let (mut recorded, mut kept) = (Vec::new(), VecDeque::new());
        let mut is_tail = true;
        // From the last one on: answers from the address of the lie, up to the last other one.
        for recent in std::mem::take(&mut self.recent).into_iter().rev() {
            is_tail &= Some(recent.network) == network;
            match is_tail || (recent.mark == same.mark && recent.at.max(recent.finished) >= same.clear_at) {
                true => recorded.push(recent),
                false if recent.mark != same.mark => kept.push_front(recent),
                false => {}
            }
        }
        recorded.reverse();
        // Nothing else is doubted: it came before.
        kept.iter_mut().for_each(|recent| recent.finished = 0);
        self.marks = kept.iter().map(|recent| recent.mark).collect();
        self.recent = kept;
        let since = recorded.iter().map(|recent| recent.at).min().unwrap_or(same.since);
        let before = self.recent.iter().map(|recent| recent.at).filter(|at| *at < since);
        let (clear_at, domains) = (before.max().unwrap_or(0), same.hosts.len());
        Confirmed { since, clear_at, domains, example: same.example, recorded }
    }

    /// Releases what has been held for too long; whether anything that was held may be looked at again.
    pub(crate) fn has_decided(&mut self, is_troubled: bool, window: Micros, now: Micros) -> bool {
        let is_over = |same: &&Same| {
            // One host alone, as at the beginning of a crawl, is not waited for as long.
            // Where a host gave another answer before, others are waited for longer.
            let has_changed = same.hosts.iter().any(|(.., changed)| *changed);
            let longest = match same.hosts.len() {
                _ if is_troubled => window * CHANGED_WINDOWS,
                1 => window / 2,
                _ if has_changed => window * CHANGED_WINDOWS,
                _ => window,
            };
            now.saturating_sub(same.since) > longest
        };
        if let Some(same) = self.same.take_if(|same| is_over(&&*same)) {
            if self.mirrors.len() < MIRRORS {
                let of = if same.hosts.len() > 1 { ALL_PAGES } else { same.place };
                self.mirrors.extend(same.hosts.iter().map(|(domain, ..)| (*domain, of)));
            }
            // What two say may be a third one's, too; what many say is their own.
            if same.hosts.len() >= SAME {
                self.same = Some(same);
                self.release();
            } else {
                self.held.clear();
                self.in_vain = Some((same.mark, same.hosts));
            }
        }
        self.held.is_empty()
    }

    /// The portal is gone: somebody else has answered.
    pub(crate) fn clear(&mut self, now: Micros) {
        self.former = self.portal.take().map(|portal| (portal, now));
    }

    /// Until when the portal that was there last may answer still.
    pub(crate) fn lasts_until(&self, window: Micros) -> Option<Micros> {
        self.former.filter(|_| self.portal.is_none()).map(|(_, cleared_at)| gone_at(cleared_at, window))
    }

    /// Whether answers are held that may be a portal's.
    pub(crate) fn is_suspicious(&self) -> bool {
        self.same.is_some()
    }

    /// Whether an answer that was asked for then shows that the portal is gone: not one that was under way when it came.
    pub(crate) fn ends(&self, started: Micros) -> bool {
        self.portal.is_none_or(|portal| started >= portal.certain_at)
    }

    /// Whether a portal answers at an address of this network.
    pub(crate) fn is_at_portal(&self, network: u64) -> bool {
        self.portal.is_some_and(|portal| portal.network == Some(network))
    }

    /// Whether a portal answers.
    pub(crate) fn is_captive(&self) -> bool {
        self.portal.is_some()
    }

    /// What is held is many sites' own.
    fn release(&mut self) {
        if let Some(same) = self.same.take() {
            self.trust(same.mark);
            // A site with many pages that are alike is held up once.
            if let [(domain, ..)] = same.hosts[..]
                && self.mirrors.len() < MIRRORS
            {
                self.mirrors.insert((domain, ALL_PAGES));
            }
            if same.lied {
                self.honest_lie = self.lie;
            }
        }
        self.held.clear();
    }

    /// A mark is many sites' own.
    fn trust(&mut self, mark: u64) {
        if self.honest.len() >= HONEST {
            self.honest.pop_front();
        }
        self.honest.push_back(mark);
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

    /// The portal that they are.
    fn portal(&self, lie: Option<u64>, certain_at: Micros) -> Portal {
        Portal { mark: self.mark, status: self.status, network: lie.filter(|_| self.lied), certain_at }
    }

    /// Whether all are at the address of the resolver's lie.
    fn is_lied(&self, lie: Option<u64>) -> bool {
        let is_there = || self.hosts.iter().all(|(_, network, _)| Some(*network) == lie);
        lie.is_some() && self.hosts.len() >= LIED && is_there()
    }

    /// Whether it is a portal, if nobody gives another answer.
    fn is_portal(&self, lie: Option<u64>) -> bool {
        let changed = self.hosts.iter().filter(|(.., changed)| *changed).count();
        self.is_lied(lie) || (self.hosts.len() >= SAME && (changed >= CHANGED || lie.is_some()))
    }
}

/// When no connection and no name of before leads to a portal any more.
fn gone_at(cleared_at: Micros, window: Micros) -> Micros {
    cleared_at.saturating_add(window / 2)
}

/// The status of an answer.
fn status_of(page: &Page) -> u16 {
    page.response.result.as_ref().map_or(0, |received| received.status)
}

/// Whether an answer redirects to another registered domain.
fn is_elsewhere(page: &Page) -> bool {
    let host = page.response.request.url.host();
    page.redirect.as_ref().is_some_and(|target| registered_domain(target.host()) != registered_domain(host))
}

/// The mark of a host that gave a page which is not remembered.
pub(crate) const SOME_PAGE: u64 = 1;
