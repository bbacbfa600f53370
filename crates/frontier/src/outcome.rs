//! What becomes of an outcome: done, failed, tried again; redirects, links, robots.txt answers.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lycosa_url::{CrawlUrl, Failure, FailureKind, Micros, Page, Purpose};

use crate::queue::Robots;
use crate::robots::Rules;
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::{RobotsOwner, Waiting};
use crate::{Frontier, Lease, Resolve};

/// Redirects that a robots.txt may take (RFC 9309 section 2.3.1.2).
const ROBOTS_REDIRECTS: usize = 5;

/// The longest Retry-After that is obeyed; a longer one counts as this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

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
        if let Some(id) = self.known_queue(response.request.url.host()) {
            self.start_host_clock(id, response.finished);
        }
        if let Some(address) = response.address {
            let pause = self.settings.scaled(self.settings.address_interval);
            let clock = self.schedule.address(address);
            self.schedule.hold(clock, response.finished.saturating_add(pause));
        }
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
            self.slow_down(lease.queue, page, now);
            let queue = lease.queue;
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
            // A crawl that was stopped cancels what is in flight: that was no try.
            let cancelled =
                matches!(&page.response.result, Err(failure) if failure.kind == FailureKind::Cancelled);
            let attempt = lease.waiting.attempt + u32::from(!cancelled);
            self.put_back(lease.queue, Waiting { attempt, ..lease.waiting }, now);
            return Ok(());
        }
        let request = &page.response.request;
        let Ok(received) = &page.response.result else {
            self.counts.tally.shift(State::Leased, State::Failed, 1);
            return Ok(());
        };
        self.counts.tally.shift(State::Leased, State::Done, 1);
        if let Some(target) = &page.redirect {
            // A seed that moved brings its new place into the crawl.
            if request.depth == 0 {
                self.admission.include(target);
            }
            let mut chain = request.chain.clone();
            chain.push(lycosa_url::Step { url: request.url.clone(), status: received.status });
            self.admit(target, request.depth, &chain, now)?;
            return Ok(());
        }
        self.counts.pages += 1;
        self.allowed_links(page, links);
        Ok(())
    }

    /// Moves a host's clock after an outcome that asks for it.
    pub(crate) fn slow_down(&mut self, id: QueueId, page: &Page, now: Micros) {
        if !may_pass(page) {
            return;
        }
        let asked =
            page.response.result.as_ref().ok().and_then(|received| received.headers.get("retry-after"));
        let asked = asked.and_then(|value| retry_after(value, now)).unwrap_or_default().min(MAX_RETRY_AFTER);
        let pause = self.settings.backoff(page.response.request.attempt).max(self.settings.scaled(asked));
        let queue = &mut self.queues[id as usize];
        queue.ready_at = queue.ready_at.max(page.response.finished.saturating_add(pause));
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
        let expires = now.saturating_add(self.settings.scaled(self.settings.robots_ttl));
        self.queues[owner.queue as usize].set_robots(&owner.origin, Robots::Known { rules, expires });
        // The delay that it asks for holds from the request that brought it.
        self.start_host_clock(owner.queue, page.response.finished);
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
        if may_pass && attempt < self.settings.retries {
            queue.set_robots(&owner.origin, Robots::Again { attempt: attempt + 1 });
            queue.ready_at = queue.ready_at.max(now.saturating_add(pause));
        } else {
            queue.set_robots(&owner.origin, Robots::Failed { failure, expires });
        }
        self.place(owner.queue, now);
    }
}

/// Whether another try may end otherwise: time-outs, broken connections, overload, an address that the name has left.
fn may_pass(page: &Page) -> bool {
    match &page.response.result {
        Ok(received) => matches!(received.status, 408 | 421 | 429 | 502 | 503 | 504),
        Err(failure) => failure.kind.is_transient(),
    }
}

/// The pause that a Retry-After asks for: seconds, or a date (RFC 9110 section 10.2.3).
pub(crate) fn retry_after(value: &str, now: Micros) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date: SystemTime = httpdate::parse_http_date(value).ok()?;
    let date = date.duration_since(UNIX_EPOCH).ok()?;
    Some(date.saturating_sub(Duration::from_micros(now)))
}
