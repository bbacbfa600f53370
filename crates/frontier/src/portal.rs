//! Responses that are the same on all hosts, as behind a captive portal: they are held, taken back and requested again.
//!
//! `captive.rs` decides what is a portal.

use lycosa_records::{Outcome, Purpose, Received};
use lycosa_url::{CrawlUrl, Failure, FailureKind, Micros};

use crate::captive::{CHANGED_WINDOWS, Look, SOME_PAGE};
use crate::channel::Cause;
use crate::cold::Event;
use crate::mark::{is_own_rules, rules_mark, rules_of};
use crate::recent::Recent;
use crate::robots::Robots;
use crate::same::{Confirmed, Giver, SAME};
use crate::schedule::QueueId;
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Checks for a captive portal; returns whether this response is held, or a portal's.
    pub(crate) fn is_same_answer(&mut self, page: &mut Outcome, id: QueueId, network: u64) -> bool {
        if page.response.request.is_for_tdmrep() {
            return self.is_unknown_tdmrep(page);
        }
        let is_page = page.response.request.purpose == Purpose::Page;
        // Set again if the response is recorded as compared, or held; a robots.txt keeps its mark.
        let mark = Some(page.mark).filter(|mark| *mark != 0);
        if is_page {
            page.mark = 0;
        }
        if !is_page && self.is_own_robots(page, id, network) {
            return false;
        }
        // Rules that no portal sends prove that there is none; anything else is compared as pages are.
        if !is_page && !self.trouble.captive.is_captive() && (mark.is_none() || gives_rules(page)) {
            return self.is_same_robots(page, id, network);
        }
        let Some(mark) = mark else {
            // An error instead of a robots.txt may be the portal's, too.
            let is_unknown = page.answer().is_some()
                && if is_page {
                    self.trouble.captive.is_at_portal(network)
                } else {
                    !self.trouble.captive.is_past_portal(page, network, self.hosts[id].origins.mark())
                };
            if is_unknown {
                discard(page, "asked behind a captive portal");
            }
            return is_unknown;
        };
        let is_troubled = self.trouble.health.names.suspended().is_some();
        let queue = &self.hosts[id];
        let rules = queue.origins.own_mark();
        let giver = Giver { domain: queue.domain, network, before: queue.mark, rules };
        match self.trouble.captive.look(
            page,
            mark,
            giver,
            (is_troubled, self.trouble.health.connections.window()),
        ) {
            Look::Clear => {
                page.mark = mark;
                self.trouble.captive.remember(page, mark, giver, 0);
                let queue = &mut self.hosts[id];
                match is_page {
                    true => queue.learn_mark(mark),
                    // A host's first page is compared with its robots.txt.
                    false if queue.mark == 0 => queue.mark = mark,
                    false => {}
                }
                false
            }
            Look::Held => {
                page.mark = mark;
                // Other hosts at its address have to be asked, to know more.
                self.free_lease(page.response.request.lease, page.response.finished);
                self.enqueue(id, page.response.finished);
                true
            }
            Look::Portal => {
                discard(page, "the answer that every site gives now");
                self.was_answered_by_portal(&page.response.request.url, page.response.finished);
                true
            }
            Look::Again => {
                discard(page, "many sites give this answer now, and no more of it may wait");
                true
            }
        }
    }

    /// The same for a tdmrep.json. Sites have the same one for good reason: it is compared with nothing, and not believed while it is
    /// unclear who answers.
    fn is_unknown_tdmrep(&self, page: &mut Outcome) -> bool {
        page.mark = 0;
        let captive = &self.trouble.captive;
        let is_unknown = page.response.result.is_ok() && (captive.is_suspicious() || captive.is_captive());
        if is_unknown {
            discard(page, "asked while every site may give the same answer");
        }
        is_unknown
    }

    /// Whether a robots.txt is known to be the host's own: then there is no portal any more.
    fn is_own_robots(&mut self, page: &Outcome, id: QueueId, network: u64) -> bool {
        let Some(mark) = rules_mark(page) else { return false };
        let is_own = self.hosts[id].origins.own_mark() == mark
            && !self.trouble.captive.is_of_lie(network)
            && !self.trouble.captive.is_at_portal(network);
        if is_own {
            self.trouble.captive.is_there(page, mark, self.trouble.health.connections.window());
        }
        is_own
    }

    /// The same for a robots.txt: whether it is the response of other hosts instead of its own.
    fn is_same_robots(&mut self, page: &mut Outcome, id: QueueId, network: u64) -> bool {
        let queue = &mut self.hosts[id];
        if self.trouble.captive.is_suspicious() {
            let origin = page.response.request.url.origin();
            let is_known = matches!(queue.origins.get(origin), Some(Robots::Known { .. }));
            let before = if is_known { SOME_PAGE } else { 0 };
            let giver = Giver { domain: queue.domain, network, before, rules: queue.origins.mark() };
            if self.trouble.captive.look_at_robots(page, giver, self.trouble.health.connections.window()) {
                discard(page, "the answer that other sites give for their pages");
                return true;
            }
        }
        // A host's first page is compared with its robots.txt.
        if queue.mark == 0 && page.response.result.is_ok() {
            queue.mark = page.mark.max(SOME_PAGE);
        }
        false
    }

    /// Whether an outcome that was judged waits until more is known: it is to be judged again when [`Frontier::is_decided`].
    pub fn is_held(&self, page: &Outcome) -> bool {
        self.trouble.captive.is_held(page.response.request.lease)
    }

    /// Whether more is known of an outcome that is held.
    pub fn is_decided(&self, page: &Outcome) -> bool {
        self.trouble.captive.is_decided(page.response.request.lease)
    }

    /// Decides what held outcomes are; to be called before [`Frontier::is_decided`].
    pub fn decide(&mut self, now: Micros) {
        if self.trouble.captive.wants_check(self.trouble.health.connections.window(), now) {
            let names = vec![self.trouble.health.next_canary()];
            self.names.ask_fresh(names);
        }
        let window = self.trouble.health.connections.window();
        if self.trouble.captive.wants_others(window, now) {
            self.trouble.health.connections.ask_now(now);
        }
        let is_held = |lease: u64| self.trouble.captive.is_held(lease);
        let is_asking = self.trouble.health.is_probing(is_held);
        if let Some(Confirmed { since, clear_at, domains, example, recorded }) =
            self.trouble.captive.confirm(is_asking, window, now)
        {
            let example = example.into_string();
            self.trouble.health.connections.suspend_for(Cause::Captive, since, (domains, example), now);
            self.ask_again(recorded, now);
            // Rules may have been learnt before the first page.
            self.forget_what_the_portal_said(clear_at, now);
            self.begin_suspension(since, now);
        }
        for Confirmed { clear_at, domains, recorded, .. } in self.trouble.captive.take_ended() {
            recorded.iter().for_each(|recent| self.was_answered_by_portal(&recent.url, now));
            self.ask_again(recorded, now);
            match domains < SAME {
                true => self.forget_rules(clear_at, now),
                false => self.forget_what_the_portal_said(clear_at, now),
            }
        }
        self.trouble.captive.decide(self.trouble.health.names.suspended().is_some(), window, now);
    }

    /// Opens the pages again that an earlier process recorded last, and forgets the rules that it learnt then: it died before a later
    /// request had a different response, so that these may be a captive portal's. `written`: the position up to which outputs have the log.
    pub fn doubt_last(&mut self, written: u64, now: Micros) {
        let since = self.trouble.died_at.saturating_sub(self.longest_doubt());
        if self.has_others() {
            let unconfirmed = self.trouble.captive.take_unconfirmed(since, written);
            self.ask_again(unconfirmed, now);
        }
        self.doubt_rules(now);
    }

    /// Confirms what earlier processes recorded: the last one ended regularly. It is not requested again when a later
    /// process dies.
    pub fn confirm_last(&mut self) {
        self.trouble.captive.recent.confirm_all();
    }

    /// Forgets the rules that an earlier process learnt last: rules are not compared between hosts.
    pub fn doubt_rules(&mut self, now: Micros) {
        if self.trouble.died_at > 0 {
            self.forget_rules(self.trouble.died_at.saturating_sub(self.longest_doubt()), now);
        }
    }

    /// How long a portal stays undetected, at most.
    pub(crate) fn longest_doubt(&self) -> Micros {
        self.trouble.health.connections.window() * CHANGED_WINDOWS
    }

    /// Opens pages again that may be a portal's, since the process ends before that is decided.
    pub fn doubt_held(&mut self, now: Micros) {
        let window = self.trouble.health.connections.window();
        if let Some(Confirmed { clear_at, recorded, .. }) = self.trouble.captive.take_suspected(window, now) {
            self.ask_again(recorded, now);
            self.forget_rules(clear_at, now);
        }
    }

    /// When the first recorded response came that may be a captive portal's: no later request had a different one.
    pub fn unconfirmed_since(&self) -> Option<Micros> {
        self.trouble.captive.doubted().map(|recent| recent.finished).min().filter(|_| self.has_others())
    }

    /// Whether the crawl has more than one domain: responses of a single one cannot be confirmed.
    fn has_others(&self) -> bool {
        self.politeness.domains.len() > 1
    }

    /// Opens recorded pages again.
    fn ask_again(&mut self, recorded: Vec<Recent>, now: Micros) {
        // For a robots.txt the rules are forgotten instead.
        for recent in recorded.into_iter().filter(|recent| recent.is_page) {
            let mut page = Outcome::reopened(recent.url, recent.depth, now, Ok(recent.status))
                .with_options(recent.options);
            page.redirect = recent.redirect;
            self.open(&page, now);
            self.settled.push(page);
        }
    }

    /// The address of a URL's host may be the portal's; the host is delayed until the portal has ended.
    fn was_answered_by_portal(&mut self, url: &CrawlUrl, now: Micros) {
        if let Some(id) = self.host(url.host(), now) {
            let until = self.trouble.captive.lasts_until(self.trouble.health.connections.window());
            let queue = &mut self.hosts[id];
            queue.doubt_name();
            queue.pace.delay_until(until.unwrap_or(0));
        }
    }

    /// Forgets all names, and the rules that were learnt since then: they may be the portal's.
    pub(crate) fn forget_what_the_portal_said(&mut self, since: Micros, now: Micros) {
        self.hosts.cold.happens(Event::DoubtedNames);
        self.hosts.iter_mut().for_each(|(_, queue)| queue.doubt_name());
        self.forget_rules(since, now);
    }

    /// Forgets rules that were learnt since then: they may be a portal's.
    fn forget_rules(&mut self, since: Micros, now: Micros) {
        self.hosts.cold.happens(Event::DoubtedRules(since));
        let robots = &self.robots;
        let mut forgotten = Vec::new();
        for (_, queue) in self.hosts.iter_mut() {
            queue.origins.doubt_tdmrep();
            queue.origins.doubt(|origin, expires| {
                let is_new = robots.learnt_at(expires) >= since;
                if is_new {
                    forgotten.push(format!("{origin}/robots.txt"));
                }
                is_new
            });
        }
        for text in forgotten {
            let Ok(url) = CrawlUrl::parse(&text) else { continue };
            let failure =
                Failure::new(FailureKind::CaptivePortal, "its rules were learnt behind a captive portal");
            let mut page = Outcome::reopened(url, 0, now, Err(failure));
            page.response.request.purpose = Purpose::Robots;
            self.settled.push(page);
        }
    }
}

/// Makes a response that may be a captive portal's a failure that counts as no try.
fn discard(page: &mut Outcome, text: &str) {
    page.response.result = Err(Failure::new(FailureKind::CaptivePortal, text));
    (page.redirect, page.ours, page.mark) = (None, true, 0);
    (page.decoded, page.refused, page.links, page.requests) = Default::default();
}

/// Whether a response for a robots.txt is the host's own: rules, or a 404.
fn gives_rules(page: &Outcome) -> bool {
    let own = |received: &Received| is_own_rules(received.status, rules_of(page));
    page.redirect.is_none() && page.response.result.as_ref().is_ok_and(own)
}
