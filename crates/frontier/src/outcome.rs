//! What becomes of an outcome: done, failed, tried again; redirects, links, robots.txt answers.

use std::io;

use lycosa_records::{Outcome, Purpose, Request, RequestOptions, Validators, key_of};
use lycosa_url::{CrawlUrl, Failure, FailureKind, Micros};

use crate::intake::AllowedLink;
use crate::leases::Lease;
use crate::patience::{Evidence, LastWord};
use crate::politeness::pace::Sign;
use crate::politeness::sign::{Word, may_pass, sign, wished_pause, word};
use crate::schedule::{AddressId, QueueId};
use crate::state::State;
use crate::waiting::{Candidate, RobotsOwner, Waiting};
use crate::{Frontier, Resolve};

/// Tries of a URL after this outcome. A crawl that was stopped cancels what is in flight: that was no try, and neither is
/// what was the crawler's own trouble.
pub(crate) fn tries(page: &Outcome) -> u32 {
    let cancelled = matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::Cancelled);
    page.response.request.attempt.saturating_add((!cancelled && !page.ours).into())
}

/// What the request to a redirect's target has beyond a GET (RFC 9110 section 15.4): method and body are sent again where the status
/// says so, header fields only to the same origin; what the user attached goes along.
fn redirected(request: &Request, target: &CrawlUrl, status: u16) -> Option<Box<RequestOptions>> {
    let mut options = request.options.clone()?;
    if !matches!(status, 307 | 308) && options.method() != "HEAD" {
        (options.method, options.body) = Default::default();
    }
    if target.origin() != request.url.origin() {
        options.headers.clear();
    }
    options.validators = Validators::default();
    Some(options).filter(|options| **options != RequestOptions::default())
}

/// Whether a redirect leads to what was asked for before. A GET of the URL that a POST was sent to is something else.
fn is_circle(request: &Request, target: &CrawlUrl, status: u16) -> bool {
    let options = redirected(request, target, status);
    let same = *target == request.url && key_of(target.borrow(), options.as_deref()) == request.key();
    same || request.chain.iter().any(|step| step.url == *target)
}

/// Redirects that a robots.txt may take (RFC 9309 section 2.3.1.2).
const ROBOTS_REDIRECTS: usize = 5;

/// Tries of a URL beyond those that the patience gives it, at most, while it is not clear whose trouble its failures are: that is
/// decided before there are more.
const MORE_TRIES: u32 = 3;

/// Tries after which a doubtful failure is believed while that is not clear, at most.
const DOUBTED_TRIES: u64 = 20;

impl<R: Resolve> Frontier<R> {
    /// Decides which outcomes are the last of their URL, before they are written to the log: a redirect
    /// that leads nowhere becomes a failure, a failure that may pass becomes a further try.
    pub fn judge<'a>(&mut self, pages: impl IntoIterator<Item = &'a mut Outcome>) {
        for page in pages {
            self.restore_identity(page);
            self.weigh(page);
            if page.response.request.purpose == Purpose::Robots {
                continue;
            }
            let request = &page.response.request;
            if let Some(target) = &page.redirect {
                let circle = is_circle(
                    request,
                    target,
                    page.response.result.as_ref().map_or(0, |received| received.status),
                );
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
            page.retry = cancelled || page.ours || self.may_be_tried_again(page);
        }
    }

    /// What a lease was for stays what its outcome is about, also where a stage sent another method or body: a restart finds it by that.
    fn restore_identity(&self, page: &mut Outcome) {
        let request = &mut page.response.request;
        let Some(lease) = self.leases.get(request.lease) else { return };
        let waiting = &lease.waiting;
        if request.url != waiting.url {
            request.url = waiting.url.clone();
        }
        if request.options != waiting.options {
            request.options.clone_from(&waiting.options);
        }
    }

    /// Whether what speaks against a URL and its host leaves it another try.
    fn may_be_tried_again(&self, page: &Outcome) -> bool {
        let (attempt, at) = (page.response.request.attempt, page.response.finished);
        let failure = page.response.result.as_ref().err();
        if failure.is_some_and(|failure| failure.kind.is_doubtful()) {
            return attempt < self.further_looks(at);
        }
        if !may_pass(page) {
            return false;
        }
        let lease = self.leases.get(page.response.request.lease);
        let queue = lease.map(|lease| &self.hosts[lease.queue]);
        let trouble = queue.filter(|queue| !queue.is_there).and_then(|queue| queue.trouble.as_deref());
        match (trouble, failure) {
            // Nobody has answered at this host since: it is the host that fails, not the URL.
            (Some(trouble), Some(failure)) => {
                let well = self.health.clock(at);
                let after = Evidence::fail(Some(trouble.clone()), failure.clone(), &self.patience, well, at);
                !self.is_enough(&after, at)
            }
            _ => {
                let retries = self.patience.url_retries();
                let is_early = attempt < retries + MORE_TRIES && self.may_be_ours(at);
                attempt < retries || failure.is_some() && (is_early || self.is_unclear(at))
            }
        }
    }

    /// How often a doubtful failure is looked at again before it is believed: once, and while it is not clear whose trouble it is as often as
    /// it takes to span that.
    fn further_looks(&self, now: Micros) -> u32 {
        let Some(pause) = self.patience.second_look() else { return 0 };
        let looks = self.health.connections.unclear_span().div_ceil(pause) + 1;
        if self.may_be_ours(now) { looks.min(DOUBTED_TRIES) as u32 } else { 1 }
    }

    /// Whether failures are enough to give up a host: the patience has run out, and it is clear that the trouble is not the crawl's own.
    pub(crate) fn is_enough(&self, evidence: &Evidence, now: Micros) -> bool {
        evidence.is_enough(&self.patience, self.only_failing) && !self.is_unclear(now)
    }

    /// Whether it may turn out soon that what fails now is the crawl's own trouble, and the patience is over before that. A longer one
    /// spans it, and without patience the retries alone count.
    pub(crate) fn is_unclear(&self, now: Micros) -> bool {
        self.patience.span < self.health.connections.unclear_span() && self.may_be_ours(now)
    }

    /// Whether it may turn out soon that what fails now is the crawl's own trouble, where there is patience.
    pub(crate) fn may_be_ours(&self, now: Micros) -> bool {
        self.patience.span > 0 && self.health.is_unclear(now)
    }

    /// Whether an outcome is waited for. One that is not came after its lease had run out: its URL waits again, so
    /// the outcome must not be recorded; but the site was asked, and its clocks know. What the frontier settled itself
    /// has no lease, and is recorded.
    pub fn expects(&mut self, page: &Outcome) -> bool {
        let response = &page.response;
        let lease = response.request.lease;
        if lease == 0 || self.leases.get(lease).is_some() {
            return true;
        }
        self.leases.count_late();
        self.learn_late(page);
        false
    }

    /// Takes in judged outcomes: ends their leases, admits their redirects and links. What the frontier
    /// settled itself has no lease, and passes. Fails when waiting URLs cannot be written to the disk, for another
    /// reason than that it is full.
    pub fn done<'a>(&mut self, pages: impl IntoIterator<Item = &'a Outcome>, now: Micros) -> io::Result<()> {
        let mut links = Vec::new();
        for page in pages {
            self.review_wanted |= !self.troubled.is_empty();
            let request = &page.response.request;
            // Clocks count from the response's own end, which is earlier than this batch.
            let Some(lease) = self.end_lease(request.lease, page.response.finished) else { continue };
            let queue = lease.queue;
            // Where the first address did not answer, another one was asked: its pace counts from here on.
            let asked = page.response.address.map_or(lease.address, |address| self.politeness.addresses.id(address));
            if asked != lease.address {
                self.politeness.addresses.rest(asked, page.response.finished);
            }
            self.learn(queue, asked, page);
            if let Err(failure) = &page.response.result {
                self.names.doubt(&mut self.hosts, queue, failure.kind, now);
            }
            match request.purpose {
                Purpose::Robots => self.robots_done(lease, page, now),
                _ => self.page_done(lease, page, &mut links, now)?,
            }
            self.place(queue, now);
        }
        self.admit_links(&links, now)
    }

    /// A page's outcome; its links that may be admitted go to `links`.
    fn page_done<'a>(
        &mut self,
        lease: Lease,
        page: &'a Outcome,
        links: &mut Vec<AllowedLink<'a>>,
        now: Micros,
    ) -> io::Result<()> {
        self.cookies.receive(&page.response);
        if page.retry {
            let due = self.due_again(page);
            self.put_back(lease.queue, Waiting { attempt: tries(page), due, ..lease.waiting }, now);
            return Ok(());
        }
        match &page.response.result {
            Ok(received) => self.follow(lease.queue, page, received.status, links, now),
            Err(failure) => {
                self.counts.tally.shift(State::Leased, State::settled(failure), 1);
                Ok(())
            }
        }
    }

    /// When a URL may be tried again; 0: at any time.
    pub(crate) fn due_again(&self, page: &Outcome) -> Micros {
        let failure = page.response.result.as_ref().err();
        let pause = match failure {
            _ if page.ours => 0,
            Some(failure) if failure.kind.is_doubtful() => self.patience.second_look().unwrap_or(0),
            _ if may_pass(page) => self.patience.url_pause(page.response.request.attempt),
            _ => 0,
        };
        if pause == 0 { 0 } else { page.response.finished.saturating_add(pause) }
    }

    /// A page that was received: its redirect is admitted, or its links that may be go to `links`.
    pub(crate) fn follow<'a>(
        &mut self,
        id: QueueId,
        page: &'a Outcome,
        status: u16,
        links: &mut Vec<AllowedLink<'a>>,
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
            chain.push(lycosa_records::Step { url: request.url.clone(), status });
            let options = redirected(request, target, status);
            let (url, depth, options) = (target.borrow(), request.depth, options.as_deref());
            let candidate = Candidate { url, depth, chain: &chain, options };
            if depth == 0 {
                self.outbox.announce(&candidate);
            }
            return self.admit(&candidate, now).map(drop);
        }
        self.counts.pages += 1;
        self.politeness.domains.count_page(self.hosts[id].domain);
        self.learn_canonical(page);
        self.allowed_links(page, links);
        Ok(())
    }

    /// Learns from an outcome how its host and its address are, and how long they want to be left alone.
    pub(crate) fn learn(&mut self, id: QueueId, address: AddressId, page: &Outcome) {
        let at = page.response.finished;
        if page.ours {
            return;
        }
        self.learn_address(address, page);
        let failed = self.learn_trouble(id, page);
        if let Some(sign) = self.sign_of(page) {
            self.politeness.observe((id, &mut self.hosts[id]), address, sign, at);
            self.schedule.update(&self.politeness.addresses, address);
        }
        let wished = wished_pause(page).unwrap_or_default().min(self.settings.max_retry_after);
        let pause = failed.max(self.settings.scaled(wished));
        if pause > 0 {
            self.hosts[id].pace.hold(at.saturating_add(pause));
        }
        if let Ok(received) = &page.response.result {
            self.politeness.received(received.bytes(), at);
        }
    }

    /// What an outcome says of the site. How long it took is not known where this process was stopped meanwhile.
    fn sign_of(&self, page: &Outcome) -> Option<Sign> {
        match sign(page) {
            Some(Sign::Success(_)) if self.health.was_stopped(page) => Some(Sign::Success(0)),
            sign => sign,
        }
    }

    /// Learns whether anybody answers at an address.
    fn learn_address(&mut self, address: AddressId, page: &Outcome) {
        let (at, well) = (page.response.finished, self.health.clock(page.response.finished));
        match (word(page), &page.response.result) {
            (Word::Answered, _) => drop(self.failing_addresses.remove(&address)),
            (Word::Silent, Err(failure)) if self.patience.span > 0 => {
                let before = self.failing_addresses.remove(&address);
                let evidence = Evidence::fail(before, failure.clone(), &self.patience, well, at);
                self.failing_addresses.insert(address, evidence);
                self.review_wanted = true;
            }
            _ => {}
        }
    }

    /// Learns whether a host answers; gives how long it is left alone after a failure that may pass.
    fn learn_trouble(&mut self, id: QueueId, page: &Outcome) -> Micros {
        let (at, well) = (page.response.finished, self.health.clock(page.response.finished));
        let queue = &mut self.hosts[id];
        let failure = match &page.response.result {
            Ok(received) if received.status >= 500 => {
                let detail = format!("nothing but errors, the last one status {}", received.status);
                Failure::new(FailureKind::HostUnavailable, detail)
            }
            Err(failure) if failure.kind.is_transient() => failure.clone(),
            Ok(_) if may_pass(page) => return self.patience.url_pause(0),
            _ => {
                if word(page) == Word::Answered {
                    // It was asked whether it is there: from now on each URL has its own tries.
                    queue.is_there |=
                        queue.trouble.take().is_some_and(|evidence| evidence.last_word == LastWord::Asked);
                }
                return 0;
            }
        };
        // Of a robots.txt its origin's own evidence is kept; without patience each URL has its own tries.
        if page.response.request.purpose == Purpose::Robots {
            return self.patience.url_pause(0);
        }
        if self.patience.span == 0 {
            return self.patience.url_pause(page.response.request.attempt);
        }
        let before = queue.trouble.take().filter(|evidence| !evidence.is_of_name()).map(|evidence| *evidence);
        let evidence = Evidence::fail(before, failure, &self.patience, well, at);
        // Of a host that is there only some pages fail: the others need not wait.
        let pause =
            if queue.is_there { self.patience.url_pause(0) } else { evidence.retry_at.saturating_sub(at) };
        queue.trouble = Some(Box::new(evidence));
        self.troubled.insert(id);
        self.review_wanted = true;
        pause
    }

    /// Learns from an outcome that ends no lease of this process.
    pub(crate) fn learn_late(&mut self, page: &Outcome) {
        let (id, at) = (self.hosts.find(page.response.request.url.host()), page.response.finished);
        let address = page.response.address.map(|address| self.politeness.addresses.id(address));
        if let (Some(id), Some(address)) = (id, address) {
            self.learn(id, address, page);
        }
        if let Some(id) = id {
            self.politeness.rest_host(&mut self.hosts[id], at);
        }
        if let Some(address) = address {
            self.politeness.addresses.rest(address, at);
        }
    }

    /// The outcome of a robots.txt (RFC 9309 section 2.3.1).
    fn robots_done(&mut self, lease: Lease, page: &Outcome, now: Micros) {
        let Some(owner) = lease.waiting.owner else { return };
        let attempt = lease.waiting.attempt;
        let received = match &page.response.result {
            Ok(received) => received,
            Err(failure) => {
                // What was not asked has not failed.
                let ours = page.ours || failure.kind == FailureKind::Cancelled;
                return self.robots_failed(&owner, failure.clone(), ours, now);
            }
        };
        if page.redirect.is_some() && lease.waiting.chain.len() < ROBOTS_REDIRECTS {
            return self.robots_redirected(lease.waiting.chain, owner, attempt, page, now);
        }
        let origins = &mut self.hosts[owner.queue].origins;
        if !self.robots.learn(origins, &owner.origin, (page, received.status), now) {
            let detail = format!("robots.txt: status {}", received.status);
            let failure = Failure::new(FailureKind::RobotsUnreachable, detail);
            return self.robots_failed(&owner, failure, page.ours, now);
        }
        // The delay that it asks for holds from the request that brought it.
        self.politeness.rest_host(&mut self.hosts[owner.queue], page.response.finished);
        self.place(owner.queue, now);
    }

    /// Follows a robots.txt to its new place, in that host's queue and at its pace.
    fn robots_redirected(
        &mut self,
        mut chain: Vec<lycosa_records::Step>,
        owner: Box<RobotsOwner>,
        attempt: u32,
        page: &Outcome,
        now: Micros,
    ) {
        let (Some(target), Ok(received)) = (&page.redirect, &page.response.result) else { return };
        chain.push(lycosa_records::Step { url: page.response.request.url.clone(), status: received.status });
        let queue = self.queue_of(target.host());
        let waiting = Waiting { attempt, chain, owner: Some(owner), ..Waiting::new(target.clone()) };
        self.hosts[queue].front.push(waiting);
        self.place(queue, now);
    }

    /// A robots.txt that could not be had: its origin's URLs wait until it can, or fail when the patience has run out.
    pub(crate) fn robots_failed(&mut self, owner: &RobotsOwner, failure: Failure, ours: bool, now: Micros) {
        let (patience, well) = (self.patience, self.health.clock(now));
        let may_pass = failure.kind.is_transient() || failure.kind == FailureKind::RobotsUnreachable;
        let before = owner.before.as_deref().cloned();
        // One that failed otherwise before is believed, but while it is not clear whose trouble that is.
        let looks = if self.may_be_ours(now) { self.further_looks(now) } else { 0 };
        let is_early = before.as_ref().is_none_or(|before| before.tries < looks);
        let doubtful = failure.kind.is_doubtful() && is_early;
        let evidence = match patience.second_look() {
            Some(pause) if doubtful => Some(Evidence::doubt(before, failure.clone(), pause, well, now)),
            _ if may_pass => Some(Evidence::fail(before, failure.clone(), &patience, well, now))
                .filter(|evidence| !self.is_enough(evidence, now)),
            _ => None,
        };
        let queue = &mut self.hosts[owner.queue];
        if let Some(trouble) = queue.trouble.as_mut().filter(|trouble| trouble.last_word == LastWord::Asked) {
            trouble.last_word = if ours { LastWord::Unasked } else { LastWord::Silent };
            self.review_wanted = true;
        }
        let (origins, pause) = (&mut queue.origins, patience.url_pause(0));
        if ours {
            self.robots.withdraw(origins, owner);
        } else if self.robots.fail(origins, &owner.origin, (failure, evidence), pause, now) {
            self.troubled.insert(owner.queue);
            self.review_wanted = true;
        }
        self.place(owner.queue, now);
    }
}
