//! The frontier from the log: replays what a crashed crawl had recorded.
//!
//! Guarantees: after [`Restore::finish`] a URL is settled exactly if its last outcome was recorded, and waits
//! otherwise; no host and no address gets a request before its interval has passed since then, because requests in flight at the
//! crash may have arrived at any moment before; a longer pause that a site asked for continues; a host whose response was lost
//! may have asked for one, and is delayed by [`UNANSWERED_PAUSE`].

use std::io;
use std::time::Duration;

use lycosa_records::{Entry, Outcome, Purpose, Request};
use lycosa_url::{CrawlUrl, Micros};

use crate::captive::SOME_PAGE;
use crate::cold::Event;
use crate::health::network_of;
use crate::outcome::tries;
use crate::same::Giver;
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::{Candidate, Waiting};
use crate::{Frontier, Resolve};

/// The delay of a host whose response was lost with the process: sites that count requests by the minute, as most
/// do, ask with Retry-After for no longer pause. In the job's time.
const UNANSWERED_PAUSE: Duration = Duration::from_secs(60);

/// How far the log has been replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Replay {
    /// When the replayed process began, and its last time in the log.
    process: Micros,
    last: Micros,
    /// Where the record that is replayed now ends.
    position: u64,
}

impl Replay {
    /// Nothing is replayed yet; `last`: the last time that a snapshot has.
    pub(crate) fn after(last: Micros) -> Self {
        Replay { last, ..Replay::default() }
    }
}

/// A frontier that is being restored; fed in the order of the log.
pub struct Restore<'a, R> {
    frontier: &'a mut Frontier<R>,
}

impl<R: Resolve> Frontier<R> {
    /// Begins or resumes the replay into a frontier that is empty or was loaded from a snapshot.
    pub fn restore(&mut self) -> Restore<'_, R> {
        self.replay.get_or_insert(Replay::after(self.trouble.died_at));
        Restore { frontier: self }
    }

    /// The replay's state.
    fn replay(&mut self) -> &mut Replay {
        self.replay.get_or_insert_default()
    }
}

impl<R: Resolve> Restore<'_, R> {
    /// The position in the log of the next record's end. First that of the snapshot, if there was one.
    pub fn at(&mut self, position: u64) {
        if std::mem::replace(&mut self.frontier.replay().position, position) == 0 {
            self.frontier.trouble.captive.recent.set_position(position);
        }
    }

    /// Replays a record of the log, which ends at a position.
    pub fn entry(&mut self, entry: &Entry<'_>, end: u64) -> io::Result<()> {
        self.at(end);
        match entry {
            Entry::Accepted(accepted) => self.seed(&accepted.request),
            Entry::Leased(leased) => {
                self.lease(&leased.url, leased.lease, leased.process, leased.granted);
                Ok(())
            }
            Entry::Outcome(outcome) => self.outcome(outcome),
        }
    }

    /// A record of another shard, which ends at a position: its time counts, and what it says of a lease. The lease of a redirected
    /// robots.txt belongs to the shard of the host that is asked, which is to be left alone if it is lost, and its outcome to the
    /// shard that granted it.
    pub fn others(&mut self, entry: &Entry<'_>, end: u64) {
        self.at(end);
        match entry {
            Entry::Accepted(_) => {}
            Entry::Leased(leased) => self.granted(leased.lease, leased.process, leased.granted),
            Entry::Outcome(outcome) => {
                self.last(outcome.response.finished);
                self.frontier.leases.was_answered(outcome.request().lease);
            }
        }
    }

    /// Takes the links that other shards own and that replayed records have found: their owners replay them before the next record.
    pub fn take_outbox(&mut self) -> Vec<(Box<str>, Request)> {
        let links = self.frontier.take_outbox();
        self.frontier.outbox_delivered();
        links
    }

    /// A seed, or a link that another frontier had handed over, that was accepted.
    pub fn seed(&mut self, request: &Request) -> io::Result<()> {
        self.frontier.add_requests(std::slice::from_ref(request), 0).map(drop)
    }

    /// A request that was about to be sent, by a process that began at `process`.
    pub fn lease(&mut self, url: &CrawlUrl, number: u64, process: Micros, granted: Micros) {
        self.granted(number, process, granted);
        let queue = self.frontier.queue_of(url.host(), 0);
        self.frontier.leases.await_outcome(number, queue, granted);
    }

    /// A lease of this number was granted, by this frontier or another one, in a process that began at `process`.
    fn granted(&mut self, number: u64, process: Micros, granted: Micros) {
        self.begin(process);
        self.last(granted);
        self.frontier.leases.was_granted(number);
        self.frontier.delay_unanswered(process, process);
    }

    /// A process began then: before that none ran.
    fn begin(&mut self, process: Micros) {
        let replay = self.frontier.replay();
        if std::mem::replace(&mut replay.process, process) != process && process > replay.last {
            self.was_down(process);
            // It has opened again what the process before it left in doubt.
            self.frontier.trouble.captive.recent.clear();
        }
        self.last(process);
    }

    /// A record has this time.
    fn last(&mut self, at: Micros) {
        let replay = self.frontier.replay();
        replay.last = replay.last.max(at);
    }

    /// No process ran between the last time in the log and this one.
    fn was_down(&mut self, until: Micros) {
        let last = self.frontier.replay().last;
        if last > 0 {
            self.frontier.trouble.was_down(&mut self.frontier.hosts, until.saturating_sub(last));
        }
    }

    /// An outcome that was recorded.
    pub fn outcome(&mut self, page: &Outcome) -> io::Result<()> {
        let request = &page.response.request;
        self.last(page.response.finished);
        if page.is_reopened() {
            self.frontier.trouble.captive.recent.forget_reopened(&request.key());
            return match request.purpose {
                Purpose::Robots => {
                    self.forget_robots(&request.url);
                    Ok(())
                }
                _ => self.frontier.restore_reopened(page).and_then(|()| self.sweep()),
            };
        }
        self.frontier.leases.was_answered(request.lease);
        if request.purpose == Purpose::Robots {
            self.frontier.queue_of(request.url.host(), 0);
        }
        if request.lease > 0 {
            self.frontier.learn_late(page);
        }
        match request.purpose {
            Purpose::Robots => self.robots(page)?,
            _ => self.page(page)?,
        }
        self.sweep()
    }

    /// Has hosts leave memory that are too many: they come back in time.
    fn sweep(&mut self) -> io::Result<()> {
        let last = self.frontier.replay().last;
        self.frontier.sweep(last)
    }

    /// Starts all clocks, and schedules every queue. Fails if waiting URLs cannot be read from the disk.
    pub fn finish(self, now: Micros) -> io::Result<()> {
        let mut this = self;
        this.frontier.trouble.died_at = this.frontier.replay().last;
        this.was_down(now);
        // There may be less space than the process before had.
        if let Err(error) = this.sweep() {
            this.frontier.hosts.fail(error);
        }
        let frontier = this.frontier;
        frontier.check_queues()?;
        frontier.replay = None;
        frontier.delay_unanswered(Micros::MAX, now);
        frontier.politeness.restart(now);
        frontier.remember_healthy();
        frontier.settle_pages();
        frontier.hosts.cold.happens(Event::Began(now));
        let all: Vec<QueueId> = frontier.hosts.iter().map(|(id, _)| id).collect();
        for id in all {
            frontier.politeness.delay_host(&mut frontier.hosts[id], now);
            frontier.enqueue(id, now);
        }
        Ok(())
    }

    /// A page's outcome.
    fn page(&mut self, page: &Outcome) -> io::Result<()> {
        let position = self.frontier.replay().position;
        let frontier = &mut *self.frontier;
        let request = &page.response.request;
        let (digest, candidate) = (&request.key(), Candidate::of(request));
        // It was fetched, so that it had been decided by then.
        if frontier.dedup.is_suspected(&candidate) {
            frontier.verify(0)?;
        }
        let id = match frontier.host(request.url.host(), 0) {
            Some(id) if frontier.dedup.contains(&candidate)? => id,
            _ => frontier.admit_again(&candidate)?,
        };
        let is_settled = frontier.dedup.tombstones.is_settled(digest);
        if is_settled && !page.retry {
            return Ok(());
        }
        frontier.cookies.receive(&page.response);
        let waiting = frontier.hosts.take_out(id, digest, &mut frontier.dedup.tombstones)?;
        if page.retry {
            let (attempt, due) = (tries(page), frontier.trouble.due_again(page));
            match waiting {
                Some(waiting) => frontier.hosts.requeue(id, &Waiting { attempt, due, ..waiting }),
                None => {
                    let waiting = Waiting { attempt, due, ..Waiting::of(&candidate) };
                    frontier.dedup.tombstones.tried(*digest, waiting);
                }
            }
            return Ok(());
        }
        if waiting.is_none() {
            frontier.dedup.tombstones.ended(*digest, request.url.host());
        }
        frontier.tally.shift(State::Waiting, State::Leased, 1);
        let queue = &mut frontier.hosts[id];
        let network = page.response.site_address().map_or(0, network_of);
        // A log of an earlier version has no marks.
        if page.mark != 0 {
            let giver = Giver { domain: queue.domain, network, before: queue.mark, rules: 0 };
            frontier.trouble.captive.remember(page, page.mark, giver, position);
            queue.learn_mark(page.mark);
        }
        let received = match &page.response.result {
            Ok(received) => received,
            Err(failure) => {
                frontier.tally.shift(State::Leased, State::settled(failure), 1);
                return frontier.admit_requests(page, 0);
            }
        };
        let mut links = Vec::new();
        frontier.follow(id, page, received.status, &mut links, 0)?;
        frontier.admit_links(&links, 0)
    }

    /// Rules that were a captive portal's.
    fn forget_robots(&mut self, url: &CrawlUrl) {
        if let Some(id) = self.frontier.host(url.host(), 0) {
            self.frontier.hosts[id].origins.doubt(|origin, _| origin == url.origin());
        }
    }

    /// The outcome of a robots.txt or a tdmrep.json; without rules, it is asked for again.
    fn robots(&mut self, page: &Outcome) -> io::Result<()> {
        let frontier = &mut *self.frontier;
        let asked = page.response.request.first_url();
        let queue = frontier.queue_of(asked.host(), 0);
        let Ok(received) = &page.response.result else { return Ok(()) };
        if (300..=399).contains(&received.status) {
            return Ok(());
        }
        let (queue, answer) = (&mut frontier.hosts[queue], (page, received.status));
        if page.response.request.is_for_tdmrep() {
            return frontier.robots.learn_tdmrep(&mut queue.origins, asked.origin(), answer).map(drop);
        }
        let at = page.response.finished;
        if frontier.robots.learn(&mut queue.origins, asked.origin(), answer, at) && queue.mark == 0 {
            queue.mark = page.mark.max(SOME_PAGE);
        }
        Ok(())
    }
}

impl<R: Resolve> Frontier<R> {
    /// Delays hosts with unanswered leases that were granted before a process began: the one before it
    /// has died by then.
    fn delay_unanswered(&mut self, process: Micros, from: Micros) {
        let until = from.saturating_add(self.settings.scaled(UNANSWERED_PAUSE));
        for queue in self.leases.take_unanswered(process) {
            self.hosts[queue].pace.delay_until(until);
        }
    }
}

impl<R> std::fmt::Debug for Restore<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restore").finish_non_exhaustive()
    }
}
