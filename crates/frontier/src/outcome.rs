//! From an outcome to what follows: done, failed, retried; redirects, links, robots.txt.

use std::io;
use std::time::Duration;

use lycosa_records::{Outcome, Purpose, Request, RequestOptions, Validators, key_of};
use lycosa_url::{CrawlUrl, Failure, FailureKind, Micros};

use crate::intake::AllowedLink;
use crate::leases::Lease;
use crate::politeness::pace::HealthSignal;
use crate::politeness::signal::{signal, wished_pause};
use crate::robots::TdmrepState;
use crate::schedule::{AddressId, QueueId};
use crate::state::State;
use crate::waiting::{Candidate, OriginFile, RobotsOwner, Waiting};
use crate::{Frontier, Resolve};

/// The longest pause after a failure that other crawls keep as well: sites with limits per minute ask for no more. A pause that the site
/// states in Retry-After is theirs, too, however long.
const SHARED_PAUSE: Duration = Duration::from_secs(60);

/// Tries of a URL after this outcome. A request that was cancelled when the crawl stopped counts as no try, and neither does
/// one that failed by the crawl's own trouble.
pub(crate) fn tries(page: &Outcome) -> u32 {
    let cancelled = matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::Cancelled);
    page.response.request.attempt.saturating_add((!cancelled && !page.ours).into())
}

/// Options of the request to a redirect's target (RFC 9110 section 15.4): method and body are sent again if the status says so,
/// header fields only to the same origin; the user's metadata stays.
fn redirected(request: &Request, target: &CrawlUrl, status: u16) -> Option<Box<RequestOptions>> {
    let mut options = request.options.clone()?;
    if !matches!(status, 307 | 308) && options.method() != "HEAD" {
        (options.method, options.body) = Default::default();
    }
    if target.origin() != request.url.origin() {
        options.headers.clear();
    }
    options.validators = Validators::default();
    // The target is another request: by its own URL it may be known.
    options.key = Box::default();
    Some(options).filter(|options| **options != RequestOptions::default())
}

/// Whether a redirect leads to an earlier request. A GET of the URL of a POST is another request.
fn is_circle(request: &Request, target: &CrawlUrl, status: u16) -> bool {
    let options = redirected(request, target, status);
    let same = *target == request.url && key_of(target.borrow(), options.as_deref()) == request.key();
    same || request.chain.iter().any(|step| step.url == *target)
}

/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const ROBOTS_REDIRECTS: usize = 5;

impl<R: Resolve> Frontier<R> {
    /// Decides which outcomes are the last of their URL, before they are written to the log: a redirect
    /// in a circle becomes a failure, a failure that may pass becomes a retry.
    pub fn judge<'a>(&mut self, pages: impl IntoIterator<Item = &'a mut Outcome>) {
        for page in pages {
            self.restore_identity(page);
            self.assess(page);
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
                    // The site redirects to set its cookie.
                    (page.retry, page.requests) = (true, Vec::new());
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
            let may_retry = || self.trouble.may_be_tried_again(&self.hosts, &self.leases, page);
            let retry = cancelled || page.ours || (!page.response.is_cached() && may_retry());
            page.retry = retry;
            if retry {
                // They are added to the outcome of the next try.
                page.requests = Vec::new();
            }
        }
    }

    /// Restores URL and options of the lease, in case a stage has changed them: a restart finds the URL by them. A stage whose clock is
    /// behind may have ended the request before it was granted: it ends now, since intervals begin at its end.
    fn restore_identity(&self, page: &mut Outcome) {
        let Some(lease) = self.leases.get(page.response.request.lease) else { return };
        if page.response.finished < lease.granted {
            page.response.finished = self.trouble.health.looked().max(lease.granted);
            page.response.started = page.response.started.max(lease.granted);
        }
        let request = &mut page.response.request;
        let waiting = &lease.waiting;
        if request.url != waiting.url {
            request.url = waiting.url.clone();
        }
        if request.options != waiting.options {
            request.options.clone_from(&waiting.options);
        }
    }

    /// Whether an outcome is expected. One that is not came after its lease had expired: its URL waits again, so the outcome must
    /// not be recorded; but the site was asked, and its clocks move. Outcomes without a fetch have no lease, and are recorded.
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

    /// Applies judged outcomes: ends their leases, admits their redirects and links. Outcomes without a lease are ignored. Fails if
    /// waiting URLs cannot be written to the disk, unless it is full.
    pub fn done<'a>(&mut self, pages: impl IntoIterator<Item = &'a Outcome>, now: Micros) -> io::Result<()> {
        let mut links = Vec::new();
        for page in pages {
            self.trouble.review_soon(&self.hosts);
            let request = &page.response.request;
            // Clocks count from the response's own end, which is earlier than this batch.
            let Some(lease) = self.end_lease(request.lease, page.response.finished) else { continue };
            let queue = lease.queue;
            // If the first address did not answer, another one was asked: its clock starts, too.
            let asked = page
                .response
                .site_address()
                .map_or(lease.address, |address| self.politeness.addresses.id(address));
            if asked != lease.address {
                self.politeness.addresses.delay_from(asked, page.response.finished);
            }
            self.learn(queue, asked, page);
            if let Err(failure) = &page.response.result {
                self.names.doubt(&mut self.hosts, queue, failure.kind, now);
            }
            match request.purpose {
                Purpose::Robots => self.robots_done(lease, page, now)?,
                _ => self.page_done(lease, page, &mut links, now)?,
            }
            self.enqueue(queue, now);
        }
        self.settle_pages();
        self.admit_links(&links, now)
    }

    /// Applies a page's outcome; appends its allowed links to `links`.
    fn page_done<'a>(
        &mut self,
        lease: Lease,
        page: &'a Outcome,
        links: &mut Vec<AllowedLink<'a>>,
        now: Micros,
    ) -> io::Result<()> {
        self.cookies.receive(&page.response);
        if page.retry {
            let due = self.trouble.due_again(page);
            self.requeue(lease.queue, Waiting { attempt: tries(page), due, ..lease.waiting }, now);
            return Ok(());
        }
        match &page.response.result {
            Ok(received) => self.follow(lease.queue, page, received.status, links, now),
            Err(failure) => {
                self.tally.shift(State::Leased, State::settled(failure), 1);
                self.admit_requests(page, now)
            }
        }
    }

    /// Applies a page that was received: admits its redirect, or appends its allowed links to `links`; admits requests of the user's.
    pub(crate) fn follow<'a>(
        &mut self,
        id: QueueId,
        page: &'a Outcome,
        status: u16,
        links: &mut Vec<AllowedLink<'a>>,
        now: Micros,
    ) -> io::Result<()> {
        let request = &page.response.request;
        self.tally.shift(State::Leased, State::Done, 1);
        self.admit_requests(page, now)?;
        if let Some(target) = &page.redirect {
            // The target of a seed belongs to the crawl.
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
        self.pages += 1;
        self.politeness.domains.count_page(self.hosts[id].domain);
        self.learn_canonical(page);
        self.allowed_links(page, links);
        Ok(())
    }

    /// Learns from an outcome the health of host and address, and how long they are delayed.
    pub(crate) fn learn(&mut self, id: QueueId, address: AddressId, page: &Outcome) {
        let at = page.response.finished;
        if page.ours || page.response.is_cached() {
            return;
        }
        self.trouble.learn_address(address, page);
        let failed = self.trouble.learn_host((id, &mut self.hosts[id]), page);
        if let Some(signal) = self.signal_of(page) {
            self.politeness.observe(&mut self.hosts[id], address, signal, at);
            self.schedule.update(&self.politeness.addresses, address);
        }
        let wished = wished_pause(page).unwrap_or_default().min(self.settings.max_retry_after);
        let wished = self.settings.scaled(wished);
        let pause = failed.max(wished);
        if pause > 0 {
            self.hosts[id].pace.delay_until(at.saturating_add(pause));
        }
        if let Some(received) = page.answer() {
            self.politeness.received(received.bytes(), at);
        }
        // How long this crawl waits until it tries again is not what others owe the site.
        let shared = wished.max(failed.min(self.settings.scaled(SHARED_PAUSE)));
        let until = at.saturating_add(shared);
        self.sharing.delay(&self.politeness, &self.hosts[id], (address, until), at);
    }

    /// What an outcome says of the site. The response time is unknown if this process was stopped meanwhile.
    fn signal_of(&self, page: &Outcome) -> Option<HealthSignal> {
        match signal(page) {
            Some(HealthSignal::Success(_)) if self.trouble.health.was_stopped(page) => {
                Some(HealthSignal::Success(0))
            }
            signal => signal,
        }
    }

    /// Learns from an outcome that ends no lease of this process.
    pub(crate) fn learn_late(&mut self, page: &Outcome) {
        let at = page.response.finished;
        let id = self.host(page.response.request.url.host(), at);
        let address = page.response.site_address().map(|address| self.politeness.addresses.id(address));
        if let (Some(id), Some(address)) = (id, address) {
            self.learn(id, address, page);
        }
        if let Some(id) = id {
            self.politeness.delay_host(&mut self.hosts[id], at);
        }
        if let Some(address) = address {
            self.politeness.addresses.delay_from(address, at);
        }
    }

    /// Applies the outcome of a robots.txt (RFC 9309 section 2.3.1) or a tdmrep.json. Fails if rules cannot be read back.
    fn robots_done(&mut self, lease: Lease, page: &Outcome, now: Micros) -> io::Result<()> {
        let Some(owner) = lease.waiting.owner else { return Ok(()) };
        let attempt = lease.waiting.attempt;
        let received = match &page.response.result {
            Ok(received) => received,
            Err(failure) => {
                // A request that was not sent has not failed.
                let ours = page.ours || failure.kind == FailureKind::Cancelled;
                self.robots_failed(&owner, failure.clone(), ours, now);
                return Ok(());
            }
        };
        if page.redirect.is_some() && lease.waiting.chain.len() < ROBOTS_REDIRECTS {
            self.robots_redirected(lease.waiting.chain, owner, attempt, page, now);
            return Ok(());
        }
        let (origins, answer) = (&mut self.hosts[owner.queue].origins, (page, received.status));
        let is_learnt = match owner.file {
            OriginFile::Robots => self.robots.learn(origins, &owner.origin, answer, now),
            OriginFile::Tdmrep(_) => self.robots.learn_tdmrep(origins, &owner.origin, answer)?,
        };
        if !is_learnt {
            let detail = format!("robots.txt: status {}", received.status);
            let failure = Failure::new(FailureKind::RobotsUnreachable, detail);
            self.robots_failed(&owner, failure, page.ours, now);
            return Ok(());
        }
        // Its Crawl-delay counts from the request that brought it.
        self.politeness.delay_host(&mut self.hosts[owner.queue], page.response.finished);
        self.sharing.delay_host(&self.hosts[owner.queue], page.response.finished);
        self.enqueue(owner.queue, now);
        Ok(())
    }

    /// Follows a redirect of a robots.txt or a tdmrep.json, in the target host's queue and at its pace.
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
        let queue = self.queue_of(target.host(), now);
        if queue != owner.queue {
            self.guests.insert(queue);
        }
        let waiting = Waiting { attempt, chain, owner: Some(owner), ..Waiting::new(target.clone()) };
        self.hosts[queue].front.push(waiting);
        self.enqueue(queue, now);
    }

    /// A robots.txt could not be had: its origin's URLs wait for a retry, or fail when the patience has run out. Without a tdmrep.json
    /// they are fetched after some tries: the origin does not implement it (TDMRep).
    pub(crate) fn robots_failed(&mut self, owner: &RobotsOwner, failure: Failure, ours: bool, now: Micros) {
        let queue = &mut self.hosts[owner.queue];
        if let OriginFile::Tdmrep(tries) = owner.file {
            let tries = tries.saturating_add(u32::from(!ours));
            queue.origins.set_tdmrep(&owner.origin, TdmrepState::Unknown(tries));
            return self.enqueue(owner.queue, now);
        }
        let evidence = self.trouble.robots_failed(queue, owner, (&failure, ours), now);
        let pause = self.trouble.patience.of(&queue.host).url_pause(0);
        if ours {
            self.robots.withdraw(&mut queue.origins, owner);
        } else if self.robots.fail(&mut queue.origins, &owner.origin, (failure, evidence), pause, now) {
            self.trouble.add(owner.queue);
        }
        self.enqueue(owner.queue, now);
    }
}
