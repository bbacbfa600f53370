//! The frontier from the log: what a crashed crawl had recorded is done again, without fetching.
//!
//! Guarantees: after [`Restore::finish`] a URL is settled exactly if its last outcome was recorded, and waits
//! otherwise; no host and no address is asked before its interval has passed since then, because what
//! was in flight at the crash may have arrived at the server at any moment before.

use std::collections::HashMap;

use lycosa_url::{CrawlUrl, Digest, FailureKind, Micros, Page, Purpose, Step};

use crate::queue::{Robots, Waiting};
use crate::robots::Rules;
use crate::state::State;
use crate::{Frontier, Resolve};

/// A frontier that is being restored; fed in the order of the log.
pub struct Restore<'a, R> {
    frontier: &'a mut Frontier<R>,
    /// URLs admitted and not settled, with their order of admission.
    waiting: HashMap<Digest, (u64, Waiting)>,
    next: u64,
}

impl<R: Resolve> Frontier<R> {
    /// Begins to restore an empty frontier.
    pub fn restore(&mut self) -> Restore<'_, R> {
        Restore { frontier: self, waiting: HashMap::new(), next: 0 }
    }
}

impl<R: Resolve> Restore<'_, R> {
    /// A seed that was accepted.
    pub fn seed(&mut self, url: &CrawlUrl) {
        self.frontier.admission.include(url);
        self.admit(url, 0, false, Vec::new());
    }

    /// An outcome that was recorded.
    pub fn outcome(&mut self, page: &Page) {
        match page.response.request.purpose {
            Purpose::Robots => self.robots(page),
            Purpose::Page => self.page(page),
        }
    }

    /// Puts what is not settled into its hosts' queues, in its old order, and starts all clocks.
    pub fn finish(self, now: Micros) {
        let frontier = self.frontier;
        let mut waiting: Vec<(u64, Waiting)> = self.waiting.into_values().collect();
        waiting.sort_unstable_by_key(|(number, _)| *number);
        let pause = frontier.settings.scaled(frontier.settings.address_interval);
        frontier.not_before = now.saturating_add(pause);
        for (_, waiting) in waiting {
            let queue = frontier.queue_of(waiting.url.host());
            frontier.start_host_clock(queue, now);
            frontier.queues[queue as usize].waiting.push_back(waiting);
            frontier.place(queue, now);
        }
    }

    /// Admits a URL by the rules that admitted it then.
    fn admit(&mut self, url: &CrawlUrl, depth: u32, nofollow: bool, chain: Vec<Step>) {
        if let Some(waiting) = self.frontier.accept(url, depth, nofollow, chain) {
            self.waiting.insert(*url.digest(), (self.next, waiting));
            self.next += 1;
        }
    }

    /// A page's outcome.
    fn page(&mut self, page: &Page) {
        let request = &page.response.request;
        if page.retry {
            if let Some((_, waiting)) = self.waiting.get_mut(request.url.digest()) {
                // A crawl that was stopped cancels what is in flight: that was no try.
                let cancelled = matches!(&page.response.result, Err(f) if f.kind == FailureKind::Cancelled);
                waiting.attempt = request.attempt + u32::from(!cancelled);
            }
            return;
        }
        if self.waiting.remove(request.url.digest()).is_none() {
            return;
        }
        let frontier = &mut *self.frontier;
        frontier.counts.tally.shift(State::Waiting, State::Leased, 1);
        let to = match &page.response.result {
            Ok(_) => State::Done,
            Err(f) if matches!(f.kind, FailureKind::RobotsDisallowed | FailureKind::RobotsUnreachable) => {
                State::Refused
            }
            Err(_) => State::Failed,
        };
        frontier.counts.tally.shift(State::Leased, to, 1);
        let Ok(received) = &page.response.result else { return };
        if let Some(target) = &page.redirect {
            if request.depth == 0 {
                frontier.admission.include(target);
            }
            let mut chain = request.chain.clone();
            chain.push(Step { url: request.url.clone(), status: received.status });
            self.admit(target, request.depth, false, chain);
            return;
        }
        frontier.counts.pages += 1;
        for link in &page.links {
            self.admit(&link.url, request.depth + 1, link.nofollow, Vec::new());
        }
    }

    /// The rules that a robots.txt gave; where it gave none, it is asked for again.
    fn robots(&mut self, page: &Page) {
        let Ok(received) = &page.response.result else { return };
        let frontier = &mut *self.frontier;
        if (300..=399).contains(&received.status) {
            return;
        }
        let agent = &frontier.settings.robots_agent;
        let Some(rules) = Rules::of_answer(received.status, &page.body, agent) else { return };
        let request = &page.response.request;
        let asked = request.chain.first().map_or(&request.url, |step| &step.url);
        let ttl = frontier.settings.scaled(frontier.settings.robots_ttl);
        let expires = page.response.finished.saturating_add(ttl);
        let queue = frontier.queue_of(asked.host());
        frontier.queues[queue as usize].set_robots(asked.origin(), Robots::Known { rules, expires });
    }
}

impl<R> std::fmt::Debug for Restore<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restore").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
