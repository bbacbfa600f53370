//! Whether everybody gives the same answer: a captive portal, or a proxy that answers for all.
//!
//! When hosts of unrelated domains give answers of one *mark* (`mark.rs`) in a row, these are *held*: not recorded yet. That hosts
//! which gave other answers before are among them makes a portal likely; a robots.txt decides: where a host that was well gives the
//! same for it, it is a portal, and where it gives its own, it is none. Parked domains, which all show one page, never gave another
//! one. Where the resolver *lies* (it has an address for a name that cannot exist), all that is answered from that address is the
//! same, whatever it says.
//!
//! Guarantees:
//! 1. Any other answer, asked for after the first of the same ones, shows that the way is clear: what is held is released, or,
//!    where it looked like a portal's, asked for once more.
//! 2. Held answers are bounded in number, in bytes and in time; beyond it it is decided what they are, or nothing more is asked for
//!    until it can be.
//! 3. What was recorded with the portal's mark before it was known is told, so that it is fetched again.
//! 4. What is answered again after the way was found clear is the site's own answer: no URL is asked for again and again.
//! 5. What a host gives for a robots.txt that it does not have is its own answer for pages, too.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use lycosa_records::{Outcome, Purpose};
use lycosa_url::{Digest, Micros, registered_domain};

use crate::alike::Alike;
use crate::mark::is_other_rules;
use crate::politeness::domains::DomainId;
use crate::recent::{Recent, unconfirmed};
use crate::same::{Confirmed, Giver, Portal, SAME, Same};

/// Answers that are remembered.
pub(crate) const RECENT: usize = 512;

/// Windows in which others are waited for where a host gave another answer before, and in which what was recorded may be taken back:
/// outputs stay so far behind the log.
pub(crate) const CHANGED_WINDOWS: u64 = 6;
const TAKEN_BACK_WINDOWS: u64 = 5;

/// Windows after which pages alone tell, where no robots.txt does: while the first of them may still be taken back.
const UNTOLD_WINDOWS: u64 = 4;

/// Answers in a row that are the same, for more than one path.
const RUN: usize = 3;

/// What is to become of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is recorded.
    Clear,
    /// It waits until more is known.
    Held,
    /// No more may be held: it is asked for again when more is known.
    Again,
    /// It is the portal's.
    Portal,
}

/// What is known of answers that are the same.
#[derive(Debug, Default)]
pub(crate) struct Captive {
    recent: VecDeque<Recent>,
    marks: VecDeque<u64>,
    alike: Alike,
    same: Option<Same>,
    portal: Option<Portal>,
    /// What is to be taken back of portals that were gone before they were certain.
    ended: Vec<Confirmed>,
    /// The portal that was there last, and when somebody else answered.
    former: Option<(Portal, Micros)>,
    /// Answers that are held, each with its round: of one that has ended they are to be looked at again.
    held: HashMap<u64, u64>,
    round: u64,
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
                same.everything |= changed && gives_for_robots(&self.recent, page, mark);
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
            same.clear_at = self.other_before(mark);
            same.add(page, giver, changed);
            same.hold(page);
            self.same = Some(same);
            self.round += 1;
            self.held.insert(lease, self.round);
            return Look::Held;
        }
        Look::Clear
    }

    /// Where an answer leads: the host that it redirects to, or itself.
    fn place(page: &Outcome, mark: u64) -> u64 {
        // The same in each process, as marks are.
        let hash = |host: &str| BuildHasherDefault::<DefaultHasher>::default().hash_one(host);
        page.redirect.as_ref().map_or(mark, |target| hash(target.host()) | 2)
    }

    /// Whether an answer is the portal's that is there now.
    fn is_portals(&self, mark: u64, network: u64) -> bool {
        self.portal.is_some_and(|portal| portal.gives(mark, network))
    }

    /// Whether an answer is one of the portal that was there last; what is asked for later and answered as before is the
    /// site's own.
    fn is_former_portals(&mut self, page: &Outcome, mark: u64, giver: Giver, window: Micros) -> bool {
        let Some((portal, cleared_at)) = self.former else { return false };
        if !portal.gives(mark, giver.network) {
            return false;
        }
        let started = page.response.started;
        if started < gone_at(cleared_at, window) {
            return true;
        }
        // Later it may be another portal's, or the same one's that has come back.
        let is_soon = started < gone_at(cleared_at, window).saturating_add(window);
        if is_soon && !self.alike.may_return(mark) {
            self.alike.trust(mark, true);
            self.honest_lie = portal.network.or(self.honest_lie);
        }
        self.former = None;
        false
    }

    /// The beginning of answers that are the same, with those before this one.
    fn begin(
        &self,
        page: &Outcome,
        mark: u64,
        giver: Giver,
        (at_lie, is_troubled): (bool, bool),
    ) -> Option<Same> {
        let mut same = Same::new(page, mark, Self::place(page, mark), at_lie);
        let first =
            self.marks.iter().position(|known| *known == mark).and_then(|place| self.recent.get(place));
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
        // A redirect to somewhere else waits for the next answer of somebody else: its target would belong to the crawl.
        // Of a crawl of one domain only the first: nobody else will answer.
        let is_alone = || self.recent.iter().all(|recent| recent.domain == giver.domain);
        let is_new = || is_elsewhere(page) && !self.alike.leads(giver.domain, same.place);
        let waits = (is_troubled || is_new()) && (self.recent.is_empty() || !is_alone());
        (waits || at_lie).then_some(same)
    }

    /// Whether a host that gave other answers before gives this one for a page and for its robots.txt.
    fn is_for_everything(&self, page: &Outcome, mark: u64, giver: Giver) -> bool {
        giver.has_changed(mark)
            && !self.alike.is_uniform(giver.domain)
            && gives_for_robots(&self.recent, page, mark)
            && self.has_others(giver)
    }

    /// Whether the last answers were all the same, for one path after the other, though those who gave them gave others before.
    fn is_run(&self, page: &Outcome, mark: u64, giver: Giver) -> bool {
        let last = || self.recent.iter().rev().take(RUN - 1);
        let path = page.response.request.url.path_and_query();
        let is_alone = last().all(|recent| recent.domain == giver.domain);
        self.recent.len() >= RUN
            && last().all(|recent| recent.mark == mark)
            && last().any(|recent| recent.changed)
            && last().any(|recent| recent.url.path_and_query() != path)
            && !(is_alone && self.alike.is_uniform(giver.domain))
            && self.has_others(giver)
    }

    /// Whether anybody else answers in this crawl.
    fn has_others(&self, giver: Giver) -> bool {
        self.recent.iter().any(|recent| recent.domain != giver.domain)
    }

    /// When the last answer was asked for that was another one.
    fn other_before(&self, mark: u64) -> Micros {
        self.recent.iter().filter(|recent| recent.mark != mark).map(|recent| recent.at).max().unwrap_or(0)
    }

    /// Looks at an answer for a robots.txt while answers are held: one that no portal gives shows that the way is clear, and one of
    /// their mark is another of them. Gives whether it is that, from a host that gave rules before.
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

    /// A host gives what is known as its own for its robots.txt: no portal answers for it.
    pub(crate) fn is_there(&mut self, page: &Outcome, mark: u64, window: Micros) {
        let is_later = |same: &Same| page.response.started >= same.seen_at;
        // Where it gives for pages that it does not have what all give now, that says nothing of the others.
        if self.same.as_ref().is_some_and(|same| is_later(same) && same.mark != mark) {
            self.other_answered(window, page.response.finished);
        }
    }

    /// Whether an answer for a robots.txt is the host's own while a portal answers for pages. `rules`: the mark of the one before.
    pub(crate) fn is_past_portal(&self, page: &Outcome, network: u64, rules: u64) -> bool {
        self.portal
            .filter(|portal| portal.network != Some(network))
            .is_some_and(|portal| is_other_rules(page, portal.status, rules))
    }

    /// Whether hosts that were well are to be asked whether they give other answers: before it is decided, where one host's answer
    /// is not followed by another one's, and again where nobody has told.
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

    /// Whether as many answers are held as may be, and it is not decided yet what they are.
    pub(crate) fn is_full(&self) -> bool {
        self.same.as_ref().is_some_and(Same::is_full)
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
    pub(crate) fn remember(&mut self, page: &Outcome, mark: u64, giver: Giver, position: u64) {
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
            options: request.options.clone(),
            status: page.response.result.as_ref().map_or(0, |received| received.status),
            redirect: page.redirect.clone(),
        });
        self.marks.push_back(mark);
    }

    /// Forgets what was recorded of a request: an earlier process opened it again. What it did not doubt then stays so, without what has
    /// confirmed it; it may have died before it recorded the others.
    pub(crate) fn forget_reopened(&mut self, key: &Digest) {
        // Most were opened again for another reason, such as `--retry-failed`.
        if !self.recent.iter().any(|recent| recent.key() == *key) {
            return;
        }
        let doubted: HashSet<Digest> = unconfirmed(&self.recent).map(Recent::key).collect();
        self.recent
            .iter_mut()
            .filter(|recent| !doubted.contains(&recent.key()))
            .for_each(|recent| recent.finished = 0);
        self.forget(key);
    }

    /// Forgets what was recorded.
    pub(crate) fn forget_all(&mut self) {
        self.recent.clear();
        self.marks.clear();
    }

    /// Takes in what a snapshot remembers.
    pub(crate) fn load(&mut self, recent: VecDeque<Recent>) {
        self.marks = recent.iter().map(|recent| recent.mark).collect();
        self.recent = recent;
    }

    /// Forgets what was recorded of a request: it was opened again.
    pub(crate) fn forget(&mut self, key: &Digest) {
        if let Some(place) = self.recent.iter().rposition(|recent| recent.key() == *key) {
            self.recent.remove(place);
            self.marks.remove(place);
        }
    }

    /// Pages that were recorded and may be a portal's.
    pub(crate) fn doubted(&self) -> impl Iterator<Item = &Recent> {
        unconfirmed(&self.recent)
            .filter(|recent| recent.is_page && !self.alike.is_honest(recent.mark, recent.changed))
    }

    /// Takes what was recorded last and may be a portal's, if it was asked for since then and recorded after a position of the log.
    pub(crate) fn take_unconfirmed(&mut self, since: Micros, written: u64) -> Vec<Recent> {
        let is_wanted = |recent: &&Recent| recent.at >= since && recent.position > written;
        let unconfirmed: Vec<Recent> = self.doubted().filter(is_wanted).cloned().collect();
        unconfirmed.iter().for_each(|recent| self.forget(&recent.key()));
        self.confirm_all();
        unconfirmed
    }

    /// Nothing that was recorded is doubted any more.
    pub(crate) fn confirm_all(&mut self) {
        self.recent.iter_mut().for_each(|recent| recent.finished = 0);
    }

    /// What a snapshot remembers was recorded before that position.
    pub(crate) fn is_before(&mut self, position: u64) {
        self.recent.iter_mut().for_each(|recent| recent.position = position);
    }

    /// Whether an answer is held.
    pub(crate) fn is_held(&self, lease: u64) -> bool {
        self.held.contains_key(&lease)
    }

    /// Whether an answer that is held is to be looked at again.
    pub(crate) fn is_decided(&self, lease: u64) -> bool {
        self.held.get(&lease).is_none_or(|round| self.same.is_none() || *round != self.round)
    }

    /// Whether the same answers are a portal's. `is_asking`: hosts that were well are asked and have not answered yet.
    pub(crate) fn confirm(&mut self, is_asking: bool, window: Micros, now: Micros) -> Option<Confirmed> {
        let lie = self.lie();
        let lasted = |same: &Same| {
            // Answers may be looked at long after they came: who is asked then has time to answer.
            let asked_for = now.saturating_sub(same.asked_at);
            let is_told = same.robots > 0 || lie.is_some();
            let is_enough = same.is_full() || asked_for >= window || (!is_asking && asked_for >= window / 4);
            // Where nobody can be asked, pages alone have to tell.
            same.asked_at > 0 && ((is_told && is_enough) || asked_for >= window * UNTOLD_WINDOWS)
        };
        let same = self.same.take_if(|same| same.is_lied(lie) || (same.is_portal(lie) && lasted(same)))?;
        self.portal = Some(same.portal(lie, now));
        Some(self.collect(same, window, now))
    }

    /// Somebody gave another answer than those that are held. What was given where other answers were given before may have been a
    /// portal's that is gone again: it is asked for once more, and believed then.
    fn other_answered(&mut self, window: Micros, at: Micros) {
        let lie = self.lie();
        let Some(same) = self.same.take_if(|same| same.may_be_portal(lie)) else {
            return self.release();
        };
        // Sites that show the same pages are held up once.
        self.alike.learn(&same);
        self.former = Some((same.portal(lie, at), at));
        let ended = self.collect(same, window, at);
        self.ended.push(ended);
    }

    /// What was recorded of answers that are held: nothing will be known of them in time.
    pub(crate) fn take_suspected(&mut self, window: Micros, now: Micros) -> Option<Confirmed> {
        let same = self.same.take()?;
        Some(self.collect(same, window, now))
    }

    /// What is to be taken back of portals that were gone before they were certain.
    pub(crate) fn take_ended(&mut self) -> Vec<Confirmed> {
        std::mem::take(&mut self.ended)
    }

    /// What is known of a portal; forgets what was recorded of it.
    fn collect(&mut self, same: Same, window: Micros, now: Micros) -> Confirmed {
        let network = self.lie().filter(|_| same.lied);
        let oldest = now.saturating_sub(window * TAKEN_BACK_WINDOWS);
        let (mut recorded, mut kept) = (Vec::new(), VecDeque::new());
        let mut is_tail = true;
        // From the last one on: answers from the address of the lie, up to the last other one.
        for recent in std::mem::take(&mut self.recent).into_iter().rev() {
            is_tail &= Some(recent.network) == network;
            // What is older than that is in outputs.
            let may_go = recent.finished.max(recent.at) >= oldest;
            let is_same = recent.mark == same.mark && recent.at.max(recent.finished) >= same.clear_at;
            match may_go && (is_tail || is_same) {
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

    /// Releases what has been held for too long.
    pub(crate) fn decide(&mut self, is_troubled: bool, window: Micros, now: Micros) {
        let lie = self.lie();
        let is_over = |same: &&Same| {
            // Time is no proof that it is none.
            if same.is_portal(lie) {
                return false;
            }
            // One host alone, as at the beginning of a crawl, is not waited for as long.
            // Where a host gave another answer before, others are waited for longer.
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
            // What two say may be a third one's, too; what many say is their own.
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

    /// The portal is gone: somebody else has answered.
    pub(crate) fn clear(&mut self, now: Micros) {
        self.former = self.portal.take().map(|portal| (portal, now));
        if let Some((portal, _)) = self.former {
            self.alike.was_portal(portal.mark);
        }
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

    /// What is held is the sites' own.
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

/// Whether a host gave an answer for its robots.txt that it gives for a page, or the other way round.
fn gives_for_robots(recent: &VecDeque<Recent>, page: &Outcome, mark: u64) -> bool {
    let request = &page.response.request;
    let is_page = request.purpose == Purpose::Page;
    let is_same =
        |one: &Recent| one.mark == mark && one.is_page != is_page && one.url.host() == request.url.host();
    recent.iter().any(is_same)
}

/// When no connection and no name of before leads to a portal any more.
fn gone_at(cleared_at: Micros, window: Micros) -> Micros {
    cleared_at.saturating_add(window / 2)
}

/// Whether an answer redirects to another registered domain.
fn is_elsewhere(page: &Outcome) -> bool {
    let host = page.response.request.url.host();
    page.redirect.as_ref().is_some_and(|target| registered_domain(target.host()) != registered_domain(host))
}

/// The mark of a host that gave a page which is not remembered.
pub(crate) const SOME_PAGE: u64 = 1;
