//! Detects a captive portal, or a proxy that answers for all hosts.
//!
//! When hosts of unrelated domains send responses of one *mark* (`mark.rs`) in a row, these are *held*: not recorded yet. A portal is
//! likely if some of these hosts sent other responses before. A robots.txt decides: if a healthy host sends the same for it, there is
//! a portal; if it sends its own, there is none. Parked domains, which all show one page, never sent another one. If the resolver
//! *lies* (it has an address for a name that cannot exist), all responses from that address count as the same.
//!
//! Guarantees:
//! 1. A different response to a request after the first of the same ones proves that there is no portal (any more): held responses
//!    are released, or requested again if they looked like a portal's.
//! 2. Held responses are bounded in number, bytes and time; beyond that it is decided what they are, or no request is granted
//!    until it can be.
//! 3. Responses with the portal's mark that were recorded before it was known are returned, so that they are fetched again.
//! 4. The same response again after a portal has ended is the site's own: no URL is requested endlessly.
//! 5. The response of a host to a robots.txt that it does not have is its own for pages, too.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use lycosa_records::{Outcome, Purpose};
use lycosa_url::{Micros, registered_domain};

use crate::alike::Alike;
use crate::mark::is_other_rules;
use crate::politeness::domains::DomainId;
use crate::recent::{Recent, RecentResponses};
use crate::same::{Confirmed, Giver, Portal, SAME, Same};

/// Windows for which responses are held if a host sent another one before, and for which recorded ones may be taken back: outputs
/// stay that far behind the log.
pub(crate) const CHANGED_WINDOWS: u64 = 6;
const TAKEN_BACK_WINDOWS: u64 = 5;

/// Windows after which pages alone decide, if no robots.txt does: while the first of them may still be taken back.
const UNANSWERED_WINDOWS: u64 = 4;

/// Same responses in a row, to more than one path.
const RUN: usize = 3;

/// What becomes of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is recorded.
    Clear,
    /// It is held until more is known.
    Held,
    /// No more may be held: it is requested again later.
    Again,
    /// It is a portal's.
    Portal,
}

/// Recent responses, those that are the same, and the portal.
#[derive(Debug, Default)]
pub(crate) struct Captive {
    pub(crate) recent: RecentResponses,
    alike: Alike,
    same: Option<Same>,
    portal: Option<Portal>,
    /// What is to be taken back of portals that ended before they were certain.
    ended: Vec<Confirmed>,
    /// The last portal, and when it ended.
    former: Option<(Portal, Micros)>,
    /// Held responses by lease, each with its round: those of an ended round are to be judged again.
    held: HashMap<u64, u64>,
    round: u64,
    /// The network that the resolver returns for names that cannot exist, and one of these in which sites are known to be.
    lie: Option<u64>,
    honest_lie: Option<u64>,
    /// When the resolver was checked, and whether it is to be checked again.
    checked_at: Micros,
    suspects_lie: bool,
    /// The domain and network of the last answer for a name, and how many answers in a row had that network.
    last_name: Option<(DomainId, u64, usize)>,
}

impl Captive {
    /// Whether a response came from the network of the resolver's lie.
    pub(crate) fn is_of_lie(&self, network: u64) -> bool {
        self.lie() == Some(network)
    }

    /// The network of the resolver's lie, unless sites are known to be there.
    fn lie(&self) -> Option<u64> {
        self.lie.filter(|lie| self.honest_lie != Some(*lie))
    }

    /// Judges a response with its mark. `is_troubled`: the resolvers are not healthy, and each response is held until another one
    /// comes. `window`: how long responses are held at most.
    pub(crate) fn look(
        &mut self,
        page: &Outcome,
        mark: u64,
        giver: Giver,
        (is_troubled, window): (bool, Micros),
    ) -> Look {
        let (lease, at) = (page.response.request.lease, page.response.finished);
        self.held.remove(&lease);
        if self.is_portals(mark, giver.network) || self.is_former_portals(page, mark, giver, window) {
            return Look::Portal;
        }
        if self.portal.is_some() || self.alike.is_honest(mark, giver.has_changed(mark)) {
            return Look::Clear;
        }
        let (at_lie, lie) = (self.is_of_lie(giver.network), self.lie());
        let is_own = giver.rules == mark && !at_lie;
        let changed = giver.has_changed(mark);
        if let Some(same) = &mut self.same {
            if (same.mark == mark || at_lie) && !is_own {
                let is_late = at.saturating_sub(same.since) > window * CHANGED_WINDOWS;
                let is_full = same.is_full();
                same.lied |= at_lie;
                same.everything |= changed && self.recent.has_for_robots(page, mark);
                same.add(page, giver, changed);
                if (is_late || is_full) && !same.is_portal(lie) {
                    self.release();
                    return Look::Clear;
                }
                if is_full {
                    return Look::Again;
                }
                same.hold(page);
                self.held.insert(lease, self.round);
                return Look::Held;
            }
            if same.mark != mark && page.response.started >= same.seen_at {
                self.other_answered(window, at);
            }
        }
        if self.same.is_none()
            && !is_own
            && let Some(mut same) = self.begin(page, mark, giver, (at_lie, is_troubled))
        {
            same.clear_at = self.recent.last_other(mark);
            same.add(page, giver, changed);
            same.hold(page);
            self.same = Some(same);
            self.round += 1;
            self.held.insert(lease, self.round);
            return Look::Held;
        }
        Look::Clear
    }

    /// A number for the host that a response redirects to, or its mark.
    fn target(page: &Outcome, mark: u64) -> u64 {
        // The same in each process, as marks are.
        let hash = |host: &str| BuildHasherDefault::<DefaultHasher>::default().hash_one(host);
        page.redirect.as_ref().map_or(mark, |target| hash(target.host()) | 2)
    }

    /// Whether a response is the current portal's.
    fn is_portals(&self, mark: u64, network: u64) -> bool {
        self.portal.is_some_and(|portal| portal.gives(mark, network))
    }

    /// Whether a response is the last portal's; the same response to a later request is the site's own.
    fn is_former_portals(&mut self, page: &Outcome, mark: u64, giver: Giver, window: Micros) -> bool {
        let Some((portal, cleared_at)) = self.former else { return false };
        if !portal.gives(mark, giver.network) {
            return false;
        }
        let started = page.response.started;
        if started < gone_at(cleared_at, window) {
            return true;
        }
        // Later it may be another portal's, or that of the same one, which has returned.
        let is_soon = started < gone_at(cleared_at, window).saturating_add(window);
        if is_soon && !self.alike.may_return(mark) {
            self.alike.trust(mark, true);
            self.honest_lie = portal.network.or(self.honest_lie);
        }
        self.former = None;
        false
    }

    /// Begins a series of same responses, with the earlier ones.
    fn begin(
        &self,
        page: &Outcome,
        mark: u64,
        giver: Giver,
        (at_lie, is_troubled): (bool, bool),
    ) -> Option<Same> {
        let mut same = Same::new(page, mark, Self::target(page, mark), at_lie);
        let first = self.recent.first(mark);
        if first.is_some() && self.is_for_everything(page, mark, giver) {
            (same.everything, same.robots) = (true, 1);
            return Some(same);
        }
        if let Some(first) = first
            && (first.domain != giver.domain || self.is_run(page, mark, giver))
            && (!self.alike.are_mirrors(first.domain, giver.domain) || self.is_run(page, mark, giver))
        {
            same.everything = first.domain == giver.domain;
            match self.alike.held_in_vain(mark) {
                Some(hosts) => same.hosts.clone_from(hosts),
                None => same.add_host((first.domain, first.network, first.changed)),
            }
            return Some(same);
        }
        // A redirect to another domain is held until another host responds: its target would belong to the crawl.
        // In a crawl of one domain only the first: no other host will respond.
        let is_alone = || !self.recent.has_others(giver.domain);
        let is_new = || is_elsewhere(page) && !self.alike.leads(giver.domain, same.target);
        let waits = (is_troubled || is_new()) && (self.recent.is_empty() || !is_alone());
        (waits || at_lie).then_some(same)
    }

    /// Whether a host that sent other responses before sends this one for a page and for its robots.txt.
    fn is_for_everything(&self, page: &Outcome, mark: u64, giver: Giver) -> bool {
        giver.has_changed(mark)
            && !self.alike.is_uniform(giver.domain)
            && self.recent.has_for_robots(page, mark)
            && self.recent.has_others(giver.domain)
    }

    /// Whether the last responses were all the same, to different paths, from hosts that sent others before.
    fn is_run(&self, page: &Outcome, mark: u64, giver: Giver) -> bool {
        let last = || self.recent.iter().rev().take(RUN - 1);
        let path = page.response.request.url.path_and_query();
        let is_alone = last().all(|recent| recent.domain == giver.domain);
        self.recent.len() >= RUN
            && last().all(|recent| recent.mark == mark)
            && last().any(|recent| recent.changed)
            && last().any(|recent| recent.url.path_and_query() != path)
            && !(is_alone && self.alike.is_uniform(giver.domain))
            && self.recent.has_others(giver.domain)
    }

    /// Judges a response for a robots.txt while responses are held: one that no portal sends proves that there is none; one of their
    /// mark is another of them. Returns whether it is that, from a host that had rules before.
    pub(crate) fn look_at_robots(&mut self, page: &Outcome, giver: Giver, window: Micros) -> bool {
        let at_lie = self.is_of_lie(giver.network);
        let Some(same) = &mut self.same else { return false };
        if page.mark == same.mark {
            same.add(page, giver, giver.before != 0);
            return giver.before != 0;
        }
        let is_other = is_other_rules(page, same.status, giver.rules);
        if page.response.started >= same.seen_at && !at_lie && is_other {
            self.other_answered(window, page.response.finished);
        }
        false
    }

    /// A host sends its own robots.txt: no portal answers for it.
    pub(crate) fn is_there(&mut self, page: &Outcome, mark: u64, window: Micros) {
        let is_later = |same: &Same| page.response.started >= same.seen_at;
        // If its response for missing pages is the same one, that says nothing of the other hosts.
        if self.same.as_ref().is_some_and(|same| is_later(same) && same.mark != mark) {
            self.other_answered(window, page.response.finished);
        }
    }

    /// Whether a response for a robots.txt is the host's own while a portal answers for pages. `rules`: the mark of the one before.
    pub(crate) fn is_past_portal(&self, page: &Outcome, network: u64, rules: u64) -> bool {
        self.portal
            .filter(|portal| portal.network != Some(network))
            .is_some_and(|portal| is_other_rules(page, portal.status, rules))
    }

    /// Whether healthy hosts are to be probed for other responses: before the decision, if no other host responds, and again if no
    /// probe was answered.
    pub(crate) fn wants_others(&mut self, window: Micros, now: Micros) -> bool {
        let lie = self.lie();
        self.same.as_mut().is_some_and(|same| {
            let is_late = now.saturating_sub(same.since) >= window / 8;
            let is_due = same.asked_at == 0 || now.saturating_sub(same.asked_last) >= window;
            let wants = is_due && !same.is_lied(lie) && (is_late || same.is_portal(lie));
            if wants {
                same.asked_last = now;
                same.asked_at = if same.asked_at == 0 { now } else { same.asked_at };
            }
            wants
        })
    }

    /// Whether as many responses are held as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.same.as_ref().is_some_and(Same::is_full)
    }

    /// Whether the resolver is to be checked with a name that cannot exist.
    pub(crate) fn wants_check(&mut self, window: Micros, now: Micros) -> bool {
        let wants = (self.suspects_lie || self.same.as_ref().is_some_and(|same| same.hosts.len() >= SAME))
            && (self.checked_at == 0 || now.saturating_sub(self.checked_at) > window);
        if wants {
            self.checked_at = now;
            self.suspects_lie = false;
        }
        wants
    }

    /// The resolver answered for a name: it may lie if unrelated domains are in one network.
    pub(crate) fn name_answered(&mut self, domain: DomainId, network: u64) {
        let alike = match self.last_name {
            Some((last, at, alike)) if at == network => alike + usize::from(last != domain),
            _ => 1,
        };
        self.last_name = Some((domain, network, alike));
        self.suspects_lie |= alike >= SAME;
    }

    /// The resolver answered for a name that cannot exist: with the network of an address, or with `None`.
    pub(crate) fn resolver_says(&mut self, lie: Option<u64>) {
        self.lie = lie;
        if lie.is_none() {
            self.honest_lie = None;
        }
    }

    /// Remembers a response that is being recorded; `position`: where its record ends, if an earlier process recorded it.
    pub(crate) fn remember(&mut self, page: &Outcome, mark: u64, giver: Giver, position: u64) {
        let request = &page.response.request;
        self.recent.add(Recent {
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
            options: request.options.clone(),
            status: page.answer().map_or(0, |received| received.status),
            redirect: page.redirect.clone(),
        });
    }

    /// Recorded pages that may be a portal's.
    pub(crate) fn doubted(&self) -> impl Iterator<Item = &Recent> {
        let is_honest = |recent: &&Recent| self.alike.is_honest(recent.mark, recent.changed);
        self.recent.unconfirmed().filter(move |recent| recent.is_page && !is_honest(recent))
    }

    /// Takes the recorded pages that may be a portal's, if they were requested since then and recorded after a position of the log.
    pub(crate) fn take_unconfirmed(&mut self, since: Micros, written: u64) -> Vec<Recent> {
        let is_wanted = |recent: &&Recent| recent.at >= since && recent.position > written;
        let unconfirmed: Vec<Recent> = self.doubted().filter(is_wanted).cloned().collect();
        unconfirmed.iter().for_each(|recent| self.recent.forget(&recent.key()));
        self.recent.confirm_all();
        unconfirmed
    }

    /// Whether a response is held.
    pub(crate) fn is_held(&self, lease: u64) -> bool {
        self.held.contains_key(&lease)
    }

    /// Whether a held response is to be judged again.
    pub(crate) fn is_decided(&self, lease: u64) -> bool {
        self.held.get(&lease).is_none_or(|round| self.same.is_none() || *round != self.round)
    }

    /// Decides whether the same responses are a portal's. `is_asking`: healthy hosts are being probed.
    pub(crate) fn confirm(&mut self, is_asking: bool, window: Micros, now: Micros) -> Option<Confirmed> {
        let lie = self.lie();
        let lasted = |same: &Same| {
            // Responses may be judged long after they came: hosts that are probed then have time to respond.
            let asked_for = now.saturating_sub(same.asked_at);
            let is_answered = same.robots > 0 || lie.is_some();
            let is_enough = same.is_full() || asked_for >= window || (!is_asking && asked_for >= window / 4);
            // If no host can be probed, pages alone decide.
            same.asked_at > 0 && ((is_answered && is_enough) || asked_for >= window * UNANSWERED_WINDOWS)
        };
        let same = self.same.take_if(|same| same.is_lied(lie) || (same.is_portal(lie) && lasted(same)))?;
        self.portal = Some(same.portal(lie, now));
        Some(self.collect(same, window, now))
    }

    /// A host sent a different response than the held ones. Those of hosts that sent others before may be of a portal that has ended:
    /// they are requested once more, and believed then.
    fn other_answered(&mut self, window: Micros, at: Micros) {
        let lie = self.lie();
        let Some(same) = self.same.take_if(|same| same.may_be_portal(lie)) else {
            return self.release();
        };
        // Sites that show the same pages are delayed once.
        self.alike.learn(&same);
        self.former = Some((same.portal(lie, at), at));
        let ended = self.collect(same, window, at);
        self.ended.push(ended);
    }

    /// Takes what was recorded of held responses: they will not be decided in time.
    pub(crate) fn take_suspected(&mut self, window: Micros, now: Micros) -> Option<Confirmed> {
        let same = self.same.take()?;
        Some(self.collect(same, window, now))
    }

    /// Takes what is to be taken back of portals that ended before they were certain.
    pub(crate) fn take_ended(&mut self) -> Vec<Confirmed> {
        std::mem::take(&mut self.ended)
    }

    /// Collects what was recorded of a portal, and forgets it.
    fn collect(&mut self, same: Same, window: Micros, now: Micros) -> Confirmed {
        let network = self.lie().filter(|_| same.lied);
        let oldest = now.saturating_sub(window * TAKEN_BACK_WINDOWS);
        let recorded = self.recent.take_same((same.mark, network), same.clear_at, oldest);
        let since = recorded.iter().map(|recent| recent.at).min().unwrap_or(same.since);
        let before = self.recent.iter().map(|recent| recent.at).filter(|at| *at < since);
        let (clear_at, domains) = (before.max().unwrap_or(0), same.hosts.len());
        Confirmed { since, clear_at, domains, example: same.example, recorded }
    }

    /// Releases responses that have been held for too long.
    pub(crate) fn decide(&mut self, is_troubled: bool, window: Micros, now: Micros) {
        let lie = self.lie();
        let is_over = |same: &&Same| {
            // Time does not disprove a portal.
            if same.is_portal(lie) {
                return false;
            }
            // One host alone, as at the beginning of a crawl, is held for less time,
            // hosts that sent another response before for more.
            let has_changed = same.hosts.iter().any(|(.., changed)| *changed);
            let longest = match same.hosts.len() {
                _ if is_troubled => window * CHANGED_WINDOWS,
                1 if same.everything => window,
                1 => window / 2,
                _ if has_changed => window * CHANGED_WINDOWS,
                _ => window,
            };
            now.saturating_sub(same.since) > longest
        };
        if let Some(same) = self.same.take_if(|same| is_over(&&*same)) {
            // The response of two may be a third one's, too; that of many is their own.
            if same.hosts.len() >= SAME {
                self.same = Some(same);
                self.release();
            } else {
                self.alike.waited_in_vain(same);
            }
        }
        if self.same.is_none() {
            self.held.clear();
        }
    }

    /// The portal has ended: another host has responded.
    pub(crate) fn clear(&mut self, now: Micros) {
        self.former = self.portal.take().map(|portal| (portal, now));
        if let Some((portal, _)) = self.former {
            self.alike.was_portal(portal.mark);
        }
    }

    /// Until when the last portal may still respond.
    pub(crate) fn lasts_until(&self, window: Micros) -> Option<Micros> {
        self.former.filter(|_| self.portal.is_none()).map(|(_, cleared_at)| gone_at(cleared_at, window))
    }

    /// Whether responses are held that may be a portal's.
    pub(crate) fn is_suspicious(&self) -> bool {
        self.same.is_some()
    }

    /// Whether a response to a request that started then proves that the portal has ended: not if it was in flight when it came.
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

    /// The held responses are the sites' own.
    fn release(&mut self) {
        if let Some(same) = self.same.take() {
            self.alike.release(&same);
            if same.lied {
                self.honest_lie = self.lie;
            }
            let round = self.round;
            self.held.retain(|_, held| *held != round);
        }
    }
}

/// When no earlier connection or name leads to a portal any more.
fn gone_at(cleared_at: Micros, window: Micros) -> Micros {
    cleared_at.saturating_add(window / 2)
}

/// Whether a response redirects to another registered domain.
fn is_elsewhere(page: &Outcome) -> bool {
    let host = page.response.request.url.host();
    page.redirect.as_ref().is_some_and(|target| registered_domain(target.host()) != registered_domain(host))
}

/// The mark of a host whose last page is not remembered.
pub(crate) const SOME_PAGE: u64 = 1;
