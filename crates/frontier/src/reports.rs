//! What the shards of a crawl report to each other: answers and hosts that fail, by which each judges the crawl's own network, and
//! whether a shard has work other than hosts that fail.
//!
//! Each shard decides for itself whether the trouble is the crawl's own (`channel.rs`), from what all shards report: one with few hosts
//! decides no worse than one with many, and dead hosts of one do not suspend it while the others' hosts answer.
//!
//! Guarantees: an answer of any shard ends a suspicion that began before it in all shards; a failure is reported to each other shard
//! once, unless more than [`KEPT`] came since it looked.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lycosa_url::Micros;

use crate::channel::Channel;

/// Failures that are stored for the other shards: more than the witnesses that a decision takes.
const KEPT: usize = 256;

/// Answers are reported no more often than this, so that lanes do not wait for each other's memory; far less than the time after which
/// failures count.
const RESOLUTION: Micros = 50_000;

/// The reports of all shards of a crawl.
#[derive(Debug, Default)]
pub struct Reports {
    /// When a host answered last, by channel.
    answered: [AtomicU64; 2],
    /// Failures so far.
    count: AtomicU64,
    /// The last of them, the newest at the back.
    failures: Mutex<VecDeque<Failing>>,
    shards: AtomicU64,
    /// Shards that have work other than hosts that fail.
    busy: AtomicU64,
}

/// A host of another shard that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failing {
    shard: u64,
    pub(crate) channel: Channel,
    /// The registered domain's name.
    pub(crate) domain: Box<str>,
    /// The part of its address that unrelated hosts do not share.
    pub(crate) network: u64,
    /// Whether it had answered before.
    pub(crate) known: bool,
    /// The failure in words.
    pub(crate) example: Box<str>,
    pub(crate) at: Micros,
}

/// One shard's side of the reports; without other shards it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    reports: Option<Arc<Reports>>,
    shard: u64,
    /// Failures that it has read.
    read: u64,
    /// Whether it is counted among the busy ones.
    is_busy: bool,
}

impl Reporter {
    /// Of a new shard.
    pub(crate) fn new(reports: Option<Arc<Reports>>) -> Self {
        let shard = reports.as_ref().map_or(0, |reports| reports.shards.fetch_add(1, Relaxed));
        Reporter { reports, shard, read: 0, is_busy: false }
    }

    /// This shard has work other than hosts that fail, or none.
    pub(crate) fn set_busy(&mut self, is_busy: bool) {
        let Some(reports) = &self.reports else { return };
        match (std::mem::replace(&mut self.is_busy, is_busy), is_busy) {
            (false, true) => drop(reports.busy.fetch_add(1, Relaxed)),
            (true, false) => drop(reports.busy.fetch_sub(1, Relaxed)),
            _ => {}
        }
    }

    /// Whether another shard has work other than hosts that fail.
    pub(crate) fn are_others_busy(&self) -> bool {
        let busy = self.reports.as_ref().map_or(0, |reports| reports.busy.load(Relaxed));
        busy > u64::from(self.is_busy)
    }

    /// A host of this shard answered.
    pub(crate) fn answered(&self, channel: Channel, at: Micros) {
        let Some(reports) = &self.reports else { return };
        let last = &reports.answered[channel as usize];
        if last.load(Relaxed).saturating_add(RESOLUTION) <= at {
            last.fetch_max(at, Relaxed);
        }
    }

    /// When a host of any shard answered last.
    pub(crate) fn last_answer(&self, channel: Channel) -> Micros {
        self.reports.as_ref().map_or(0, |reports| reports.answered[channel as usize].load(Relaxed))
    }

    /// A host of this shard failed; `example` makes the failure in words.
    pub(crate) fn failed(
        &self,
        channel: Channel,
        (domain, network, known): (&str, u64, bool),
        example: impl FnOnce() -> String,
        at: Micros,
    ) {
        let Some(reports) = &self.reports else { return };
        let (domain, example) = (domain.into(), example().into());
        let failing = Failing { shard: self.shard, channel, domain, network, known, example, at };
        let mut failures = reports.failures();
        if failures.len() >= KEPT {
            failures.pop_front();
        }
        failures.push_back(failing);
        reports.count.fetch_add(1, Relaxed);
    }

    /// The other shards' failures since the last call.
    pub(crate) fn news(&mut self) -> Vec<Failing> {
        let Some(reports) = &self.reports else { return Vec::new() };
        if reports.count.load(Relaxed) == self.read {
            return Vec::new();
        }
        let failures = reports.failures();
        let count = reports.count.load(Relaxed);
        let new = usize::try_from(count - self.read).map_or(failures.len(), |new| new.min(failures.len()));
        self.read = count;
        failures
            .range(failures.len() - new..)
            .filter(|failing| failing.shard != self.shard)
            .cloned()
            .collect()
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.set_busy(false);
    }
}

impl Reports {
    /// The failures; a panic elsewhere leaves nothing half-done behind it.
    fn failures(&self) -> MutexGuard<'_, VecDeque<Failing>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    #[test]
    fn each_shard_hears_of_the_others_once() {
        let reports = Arc::new(Reports::default());
        let [mut one, mut two] = [(); 2].map(|()| Reporter::new(Some(Arc::clone(&reports))));
        one.failed(Channel::Connections, ("a.com", 7, true), || "a.com: refused".to_owned(), SECOND);
        assert!(one.news().is_empty(), "it knows its own");
        let news = two.news();
        assert_eq!((&*news[0].domain, news[0].network, news[0].at), ("a.com", 7, SECOND));
        assert!(two.news().is_empty());
        for number in 0..1_000 {
            one.failed(Channel::Names, ("b.com", number, false), String::new, SECOND);
        }
        let news = two.news();
        assert_eq!((news.len(), news[0].network), (KEPT, 1_000 - KEPT as u64), "the newest, and bounded");
    }

    #[test]
    fn a_shard_hears_whether_others_are_busy() {
        let reports = Arc::new(Reports::default());
        let [mut one, mut two] = [(); 2].map(|()| Reporter::new(Some(Arc::clone(&reports))));
        one.set_busy(true);
        one.set_busy(true);
        assert_eq!((one.are_others_busy(), two.are_others_busy()), (false, true));
        two.set_busy(true);
        assert!(one.are_others_busy());
        drop(two);
        assert!(!one.are_others_busy());
    }

    #[test]
    fn answers_are_the_newest_of_any_shard_and_seldom_written() {
        let reports = Arc::new(Reports::default());
        let [one, two] = [(); 2].map(|()| Reporter::new(Some(Arc::clone(&reports))));
        one.answered(Channel::Connections, SECOND);
        two.answered(Channel::Connections, SECOND + 1);
        assert_eq!(two.last_answer(Channel::Connections), SECOND, "within the resolution");
        two.answered(Channel::Connections, 2 * SECOND);
        one.answered(Channel::Connections, SECOND + RESOLUTION);
        assert_eq!(one.last_answer(Channel::Connections), 2 * SECOND);
        assert_eq!(one.last_answer(Channel::Names), 0);
        let alone = Reporter::new(None);
        alone.answered(Channel::Names, SECOND);
        assert_eq!(alone.last_answer(Channel::Names), 0);
    }
}
