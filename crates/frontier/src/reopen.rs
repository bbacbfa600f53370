//! URLs that were settled and wait again: done → waiting, failed → waiting, refused → waiting.
//!
//! Guarantee: what is opened is recorded (as an outcome that is not its URL's last, without a lease) before it is sent, so that
//! a restart finds it waiting.

use std::io;

use lycosa_url::{CrawlUrl, Failure, Micros, Page};

use crate::intake::Ghost;
use crate::queue::{Name, Robots};
use crate::schedule::QueueId;
use crate::state::State;
use crate::waiting::pack;
use crate::{Frontier, Resolve};

impl<R: Resolve> Frontier<R> {
    /// Opens a URL again that had failed, or had been refused, for this reason. Gives whether it was known.
    pub fn reopen_failed(
        &mut self,
        url: &CrawlUrl,
        depth: u32,
        failure: Failure,
        now: Micros,
    ) -> io::Result<bool> {
        let key = self.seen.key(url);
        if !self.seen.contains(&key)? {
            return Ok(false);
        }
        if depth == 0 {
            self.admission.include(url);
        }
        self.settled.push(Page::reopened(url.clone(), depth, now, Err(failure.clone())));
        self.open(url, depth, State::settled(&failure), now);
        Ok(true)
    }

    /// Opens a URL again that ended with a response of this status.
    pub fn reopen_done(&mut self, url: &CrawlUrl, depth: u32, status: u16, now: Micros) {
        self.settled.push(Page::reopened(url.clone(), depth, now, Ok(status)));
        if !(300..400).contains(&status) {
            self.counts.pages = self.counts.pages.saturating_sub(1);
        }
        self.open(url, depth, State::Done, now);
    }

    /// Lets a known URL wait.
    fn open(&mut self, url: &CrawlUrl, depth: u32, from: State, now: Micros) {
        self.counts.tally.shift(from, State::Waiting, 1);
        let id = self.queue_of(url.host());
        self.forgive_host(id);
        let queue = &mut self.queues[id as usize];
        self.held += queue.backlog.push(|into| pack(into, url, depth, (0, 0), &[]));
        self.place(id, now);
    }

    /// What an earlier process opened again; told by the log.
    pub(crate) fn restore_reopened(&mut self, page: &Page) -> io::Result<()> {
        let request = &page.response.request;
        let (url, digest) = (&request.url, request.url.digest());
        let key = self.seen.key(url);
        if !self.seen.contains(&key)? {
            return Ok(());
        }
        let from = match &page.response.result {
            Ok(_) => State::Done,
            Err(failure) => State::settled(failure),
        };
        if matches!(&page.response.result, Ok(received) if !(300..400).contains(&received.status)) {
            self.counts.pages = self.counts.pages.saturating_sub(1);
        }
        // Its entry may stand in its queue still, settled by what the log told before.
        if self.ghosts.get(digest) == Some(&Ghost::Settled) {
            self.ghosts.remove(digest);
            self.counts.tally.shift(from, State::Waiting, 1);
        } else {
            self.open(url, request.depth, from, 0);
        }
        Ok(())
    }

    /// What spoke against a host speaks no more: somebody wants it tried again.
    fn forgive_host(&mut self, id: QueueId) {
        let queue = &mut self.queues[id as usize];
        queue.trouble = None;
        queue.robots.retain(|(_, robots)| !matches!(robots, Robots::Failed { .. }));
        if matches!(queue.name, Name::Failed { .. }) {
            queue.name = Name::Unknown;
            queue.doubted = true;
        }
    }
}
