//! What becomes of an outcome: done, failed, tried again; redirects, links, robots.txt answers.

use std::io;

use lycosa_url::{CrawlUrl, Failure, FailureKind, Micros, Page, Purpose};

use crate::politeness::sign::{may_pass, sign, wished_pause};
use crate::queue::Robots;
use crate::robots::Rules;
use crate::schedule::{AddressId, QueueId};
use crate::state::State;
use crate::waiting::{RobotsOwner, Waiting};
use crate::{Frontier, Lease, Resolve};

/// Tries of a URL after this outcome. A crawl that was stopped cancels what is in flight: that was no try.
pub(crate) fn tries(page: &Page) -> u32 {
    let cancelled = matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::Cancelled);
    page.response.request.attempt + u32::from(!cancelled)
}

/// Redirects that a robots.txt may take (RFC 9309 section 2.3.1.2).
const ROBOTS_REDIRECTS: usize = 5;

impl<R: Resolve> Frontier<R> {
    /// Decides which outcomes are the last of their URL, before they are written to the log: a redirect
    /// that leads nowhere becomes a failure, a failure that may pass becomes a further try.
    pub fn judge<'a>(&self, pages: impl IntoIterator<Item = &'a mut Page>) {
        for page in pages {
            if page.response.request.purpose == Purpose::Robots {
                continue;
            }
            let request = &page.response.request;
            if let Some(target) = &page.redirect {
                let circle = *target == request.url || request.chain.iter().any(|step| step.url == *target);
                let limit = self.settings.max_redirects;
                let again = *target == request.url && request.attempt < self.settings.retries;
                if again && self.cookies.would_change(&page.response) {
                    // The site wants its cookie back.
                    page.retry = true;
                    continue;
                }
                if circle || request.chain.len() >= limit {
                    let detail = if circle {
                        "redirects in a circle".to_owned()
                    } else {
                        format!("more than {limit}")
                    };
                    page.redirect = None;
                    page.response.result = Err(Failure::new(FailureKind::RedirectLimit, detail));
                    continue;
                }
            }
            let cancelled =
                matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::Cancelled);
            page.retry = cancelled || (request.attempt < self.settings.retries && may_pass(page));
        }
    }

    /// Whether an outcome is waited for. One that is not came after its lease had run out: its URL waits again, so
    /// the outcome must not be recorded; but the site was asked, and its clocks know. What the frontier settled itself
    /// has no lease, and is recorded.
    pub fn expects(&mut self, page: &Page) -> bool {
        let response = &page.response;
        let lease = response.request.lease;
        if lease == 0 || self.leases.contains_key(&lease) {
            return true;
        }
        self.counts.late += 1;
        self.learn_late(page);
        false
    }

    /// Takes in judged outcomes: ends their leases, admits their redirects and links. What the frontier
    /// settled itself has no lease, and passes. Fails when waiting URLs cannot be written to the disk, for another
    /// reason than that it is full.
    pub fn done<'a>(&mut self, pages: impl IntoIterator<Item = &'a Page>, now: Micros) -> io::Result<()> {
        let mut links = Vec::new();
        for page in pages {
            let request = &page.response.request;
            // Clocks count from the response's own end, which is earlier than this batch.
            let Some(lease) = self.end_lease(request.lease, page.response.finished) else { continue };
            let queue = lease.queue;
            // Where the first address did not answer, another one was asked: its pace counts from here on.
            let asked = page.response.address.map_or(lease.address, |address| self.schedule.address(address));
            if asked != lease.address {
                self.schedule.rest(asked, page.response.finished);
            }
            self.learn(queue, asked, page);
            if let Err(failure) = &page.response.result {
                self.doubt_name(queue, failure.kind, now);
            }
            match request.purpose {
                Purpose::Robots => self.robots_done(lease, page, now),
                Purpose::Page => self.page_done(lease, page, &mut links, now)?,
            }
            self.place(queue, now);
        }
        self.admit_links(&links, now)
    }

    /// A page's outcome; its links that may be admitted go to `links`.
    fn page_done<'a>(
        &mut self,
        lease: Lease,
        page: &'a Page,
        links: &mut Vec<(&'a CrawlUrl, u32)>,
        now: Micros,
    ) -> io::Result<()> {
        self.cookies.receive(&page.response);
        if page.retry {
            self.put_back(lease.queue, Waiting { attempt: tries(page), ..lease.waiting }, now);
            return Ok(());
        }
        match &page.response.result {
            Ok(received) => self.follow(lease.queue, page, received.status, links, now),
            Err(_) => {
                self.counts.tally.shift(State::Leased, State::Failed, 1);
                Ok(())
            }
        }
    }

    /// A page that was received: its redirect is admitted, or its links that may be go to `links`.
    pub(crate) fn follow<'a>(
        &mut self,
        id: QueueId,
        page: &'a Page,
        status: u16,
        links: &mut Vec<(&'a CrawlUrl, u32)>,
        now: Micros,
    ) -> io::Result<()> {
        let request = &page.response.request;
        self.counts.tally.shift(State::Leased, State::Done, 1);
        if let Some(target) = &page.redirect {
            // A seed that moved brings its new place into the crawl.
            if request.depth == 0 {
                self.admission.include(target);
            }
            let mut chain = request.chain.clone();
            chain.push(lycosa_url::Step { url: request.url.clone(), status });
            return self.admit(target, request.depth, &chain, now).map(|_| ());
        }
        self.counts.pages += 1;
        self.schedule.domains.count_page(self.queues[id as usize].domain);
        self.learn_canonical(page);
        self.allowed_links(page, links);
        Ok(())
    }

    /// Learns from an outcome how its host and its address are, and how long they want to be left alone.
    pub(crate) fn learn(&mut self, id: QueueId, address: AddressId, page: &Page) {
        let at = page.response.finished;
        if let Some(sign) = sign(page) {
            let limits = self.host_limits(id);
            self.queues[id as usize].pace.observe(&limits, sign, at);
            self.schedule.observe(address, id, sign, at);
        }
        let wished = wished_pause(page).unwrap_or_default().min(self.settings.max_retry_after);
        let failed = if may_pass(page) { self.settings.backoff(page.response.request.attempt) } else { 0 };
        let pause = failed.max(self.settings.scaled(wished));
        if pause > 0 {
            self.queues[id as usize].pace.hold(at.saturating_add(pause));
        }
        if let Ok(received) = &page.response.result {
            self.manners.bytes.take(received.bytes(), at);
        }
    }

    /// Learns from an outcome that ends no lease of this process.
    pub(crate) fn learn_late(&mut self, page: &Page) {
        let (id, at) = (self.known_queue(page.response.request.url.host()), page.response.finished);
        let address = page.response.address.map(|address| self.schedule.address(address));
        if let (Some(id), Some(address)) = (id, address) {
            self.learn(id, address, page);
        }
        if let Some(id) = id {
            self.rest(id, at);
        }
        if let Some(address) = address {
            self.schedule.rest(address, at);
        }
    }

    /// The outcome of a robots.txt (RFC 9309 section 2.3.1).
    fn robots_done(&mut self, lease: Lease, page: &Page, now: Micros) {
        let Some(owner) = lease.waiting.owner else { return };
        let attempt = lease.waiting.attempt;
        let received = match &page.response.result {
            Ok(received) => received,
            Err(failure) => return self.robots_failed(&owner, attempt, failure.clone(), now),
        };
        if page.redirect.is_some() && lease.waiting.chain.len() < ROBOTS_REDIRECTS {
            return self.robots_redirected(lease.waiting.chain, owner, attempt, page, now);
        }
        let Some(rules) = Rules::of_answer(received.status, &page.body, &self.settings.robots_agent) else {
            let detail = format!("robots.txt: status {}", received.status);
            let failure = Failure::new(FailureKind::RobotsUnreachable, detail);
            return self.robots_failed(&owner, attempt, failure, now);
        };
        let robots = self.settings.robots_known(rules, now);
        self.queues[owner.queue as usize].set_robots(&owner.origin, robots);
        // The delay that it asks for holds from the request that brought it.
        self.rest(owner.queue, page.response.finished);
        self.place(owner.queue, now);
    }

    /// Follows a robots.txt to its new place, in that host's queue and at its pace.
    fn robots_redirected(
        &mut self,
        mut chain: Vec<lycosa_url::Step>,
        owner: Box<RobotsOwner>,
        attempt: u32,
        page: &Page,
        now: Micros,
    ) {
        let (Some(target), Ok(received)) = (&page.redirect, &page.response.result) else { return };
        chain.push(lycosa_url::Step { url: page.response.request.url.clone(), status: received.status });
        let queue = self.queue_of(target.host());
        let waiting = Waiting { url: target.clone(), depth: 0, attempt, chain, owner: Some(owner) };
        self.queues[queue as usize].front.push(waiting);
        self.place(queue, now);
    }

    /// A robots.txt that could not be had: tried again, or everything of its origin is forbidden.
    pub(crate) fn robots_failed(&mut self, owner: &RobotsOwner, attempt: u32, failure: Failure, now: Micros) {
        let may_pass = failure.kind.is_transient() || failure.kind == FailureKind::RobotsUnreachable;
        let pause = self.settings.backoff(attempt);
        let expires = now.saturating_add(self.settings.scaled(self.settings.robots_ttl));
        let queue = &mut self.queues[owner.queue as usize];
        if queue.keeps_robots(&owner.origin, pause, now) {
            queue.pace.hold(now.saturating_add(pause));
        } else if may_pass && attempt < self.settings.retries {
            queue.set_robots(&owner.origin, Robots::Again { attempt: attempt + 1 });
            queue.pace.hold(now.saturating_add(pause));
        } else {
            queue.set_robots(&owner.origin, Robots::Failed { failure, expires });
        }
        self.place(owner.queue, now);
    }
}
