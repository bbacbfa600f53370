//! The frontier.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lycosa_frontier::{Failing, Restore, Settings, SnapshotFiles, State, Suspension};
use lycosa_url::{Clock, CrawlUrl};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::{Pages, Requests};
use crate::block_list::Watch;
use crate::errors::{self, lock, setting};
use crate::job::Job;
use crate::names::{Names, Resolver};
use crate::pulse::Pulse;

/// The longest that a caller should wait for outcomes before it asks again, in seconds: outcomes are at
/// most 50 ms late by contract.
const LONGEST_WAIT: f64 = 0.05;

/// The same while names are being resolved: their answers wake nobody.
const WAIT_FOR_NAMES: f64 = 0.005;

/// A loop that has not come by for so long is slow, in microseconds.
const SLOW_LOOP: u64 = 1_000_000;

/// Which URL next.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Frontier {
    frontier: Mutex<lycosa_frontier::Frontier<Resolver>>,
    settings: Settings,
    resolver: Resolver,
    clock: Clock,
    blocked: Option<Mutex<Watch>>,
    /// Whether the last call took all that it might: then only an outcome can change what there is to take.
    full: AtomicBool,
    /// When the last call was.
    taken_at: AtomicU64,
    /// Whether this process runs.
    pulse: Pulse,
    /// Outcomes that are judged again when more is known. Filled and emptied by `judge`.
    held: Mutex<Vec<Arc<lycosa_url::Page>>>,
    /// When the first answer came that no other one has confirmed yet: outputs wait for it.
    pub(crate) unconfirmed: Arc<AtomicU64>,
}

impl Frontier {
    /// Restores the frontier by what `feed` tells it.
    pub(crate) fn restore<T>(&self, feed: impl FnOnce(&mut Restore<'_, Resolver>) -> T) -> T {
        let mut frontier = lock(&self.frontier);
        let mut restore = frontier.restore();
        let result = feed(&mut restore);
        restore.finish(self.clock.now());
        result
    }

    /// Becomes what a snapshot holds; the log after it is to follow.
    pub(crate) fn load(&self, from: &mut dyn Read) -> io::Result<()> {
        let (frontier, _) =
            lycosa_frontier::Frontier::load(self.settings.clone(), self.resolver.clone(), from)?;
        self.become_that(frontier);
        Ok(())
    }

    /// Tells when this process did not run.
    fn tell_absences(&self, frontier: &mut lycosa_frontier::Frontier<Resolver>) {
        for (from, to) in self.pulse.absences() {
            frontier.was_away(from, to);
        }
    }

    /// Becomes empty.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.become_that(lycosa_frontier::Frontier::new(self.settings.clone(), self.resolver.clone())?);
        Ok(())
    }

    /// Takes another one's place, with the same block list.
    fn become_that(&self, mut frontier: lycosa_frontier::Frontier<Resolver>) {
        if let Some(watch) = &self.blocked {
            frontier.block(lock(watch).list());
        }
        *lock(&self.frontier) = frontier;
    }

    /// How long outcomes may be waited for before there may be something to take, in seconds.
    fn longest_wait(&self) -> f64 {
        let frontier = lock(&self.frontier);
        let longest = if frontier.counts().unresolved > 0 { WAIT_FOR_NAMES } else { LONGEST_WAIT };
        if self.full.load(Ordering::Relaxed) {
            return LONGEST_WAIT;
        }
        let due = frontier.due_at().map(|due| due.saturating_sub(self.clock.now()) as f64 / 1e6);
        due.map_or(longest, |due| due.min(longest))
    }

    /// Takes over the block list if its file has changed; gives what is wrong with the file, if that is news.
    fn look_at_block_list(&self) -> Option<String> {
        let (list, wrong) = lock(self.blocked.as_ref()?).look();
        if let Some(list) = list {
            lock(&self.frontier).block(list);
        }
        wrong
    }

    /// Writes a snapshot.
    pub(crate) fn save(&self, into: &mut dyn Write) -> io::Result<SnapshotFiles> {
        lock(&self.frontier).save(into)
    }

    /// Removes files that neither it nor a kept snapshot needs.
    pub(crate) fn remove_files(&self, kept: &[SnapshotFiles]) -> io::Result<()> {
        lock(&self.frontier).remove_files(kept)
    }
}

#[pymethods]
impl Frontier {
    /// `directory`: where waiting and known URLs go that do not fit into memory; without it all of them stay there.
    #[new]
    #[pyo3(signature = (job, names, directory = None))]
    fn new(job: Job, names: &Names, directory: Option<PathBuf>) -> PyResult<Self> {
        let [queue_directory, seen_directory] =
            ["queues", "seen"].map(|name| directory.as_ref().map(|directory| directory.join(name)));
        let settings = Settings { queue_directory, seen_directory, ..job.frontier()? };
        let resolver = names.resolver();
        let frontier = lycosa_frontier::Frontier::new(settings.clone(), resolver.clone());
        let mut frontier = frontier.map_err(|error| errors::queues(&error))?;
        let watch = job.block_list().map(Watch::new).transpose()?;
        if let Some(watch) = &watch {
            frontier.block(watch.list());
        }
        Ok(Frontier {
            frontier: Mutex::new(frontier),
            settings,
            resolver,
            clock: names.clock(),
            blocked: watch.map(Mutex::new),
            full: AtomicBool::new(false),
            taken_at: AtomicU64::new(0),
            pulse: Pulse::start(names.clock()).map_err(|error| errors::system("the pulse", &error))?,
            held: Mutex::default(),
            unconfirmed: Arc::new(AtomicU64::new(u64::MAX)),
        })
    }

    /// Accepts seeds; gives how many were new.
    fn add(&self, py: Python<'_>, seeds: Vec<String>) -> PyResult<usize> {
        let parse = |seed: &String| CrawlUrl::parse(seed).map_err(|bad| setting("seed", seed, bad.allowed()));
        let urls = seeds.iter().map(parse).collect::<PyResult<Vec<_>>>()?;
        let added = py.detach(|| lock(&self.frontier).add(&urls, self.clock.now()));
        added.map_err(|error| errors::queues(&error))
    }

    /// Those of some seeds that are known and settled: done, failed or refused.
    fn settled_of(&self, py: Python<'_>, seeds: Vec<String>) -> PyResult<Vec<String>> {
        let parse = |seed: &String| CrawlUrl::parse(seed).map_err(|bad| setting("seed", seed, bad.allowed()));
        let urls = seeds.iter().map(parse).collect::<PyResult<Vec<_>>>()?;
        let settled = py.detach(|| {
            let mut frontier = lock(&self.frontier);
            let settled = frontier.settled_of(&urls, self.clock.now())?;
            io::Result::Ok(settled.into_iter().map(|url| url.as_str().to_owned()).collect())
        });
        settled.map_err(|error| errors::queues(&error))
    }

    /// Lets what an earlier process recorded last wait again if a captive portal may have given it, for one that did not end by
    /// itself. `written`: up to which position of the log outputs have it; without it, of a process that ended by itself, only rules
    /// are asked for again. Gives the outcomes that open it, which are to be recorded
    /// before outputs go on.
    #[pyo3(signature = (written = None))]
    fn doubt_last(&self, py: Python<'_>, written: Option<u64>) -> Pages {
        let pages = py.detach(|| {
            let (mut frontier, now) = (lock(&self.frontier), self.clock.now());
            match written {
                Some(written) => frontier.doubt_last(written, now),
                None => frontier.doubt_rules(now),
            }
            frontier.settled()
        });
        Pages::new(pages)
    }

    /// Takes what earlier processes recorded as the sites' own, since the last one ended by itself.
    fn confirm_last(&self, py: Python<'_>) {
        py.detach(|| lock(&self.frontier).confirm_last());
    }

    /// Takes back what a captive portal may have answered, since the process ends before that is decided. Gives the outcomes that
    /// open it, which are to be recorded before outputs go on to the end.
    fn doubt_held(&self, py: Python<'_>) -> Pages {
        let pages = py.detach(|| {
            let (mut frontier, now) = (lock(&self.frontier), self.clock.now());
            frontier.doubt_held(now);
            frontier.settled()
        });
        Pages::new(pages)
    }

    /// Lets settled URLs wait again, by outcomes that open them; they are to be recorded then, before the next `take`. URLs that
    /// are not known are dropped from the batch.
    fn reopen(&self, py: Python<'_>, pages: &Pages) -> PyResult<()> {
        let reopened = py.detach(|| {
            pages.with(|pages| {
                let (mut frontier, now) = (lock(&self.frontier), self.clock.now());
                let mut kept = Vec::with_capacity(pages.len());
                for page in pages.drain(..) {
                    if frontier.reopen(&page, now)? {
                        kept.push(page);
                    }
                }
                *pages = kept;
                io::Result::Ok(())
            })
        });
        reopened.map_err(|error| errors::queues(&error))
    }

    /// Gives at most `max` requests that may start now, each on lease.
    fn take(&self, py: Python<'_>, max: usize) -> PyResult<Requests> {
        let (taken, wrong, messages) = py.detach(|| {
            let wrong = self.look_at_block_list();
            let mut frontier = lock(&self.frontier);
            let now = self.clock.now();
            self.tell_absences(&mut frontier);
            let away = now.saturating_sub(self.taken_at.swap(now, Ordering::Relaxed).max(1));
            if (SLOW_LOOP..now).contains(&away) {
                frontier.was_slow(away);
            }
            let taken = frontier.take(max, now);
            self.full.store(taken.as_ref().is_ok_and(|taken| taken.len() == max), Ordering::Relaxed);
            (taken, wrong, frontier.messages())
        });
        for message in messages.into_iter().chain(wrong) {
            let logger = py.import("logging")?.call_method1("getLogger", ("lycosa",))?;
            logger.call_method1("warning", ("%s", message))?;
        }
        taken.map(Requests::new).map_err(|error| errors::queues(&error))
    }

    /// Drops outcomes that came too late, decides which of the others are their URL's last, and adds those that the
    /// frontier settled itself.
    fn judge(&self, py: Python<'_>, pages: &Pages) {
        py.detach(|| {
            pages.with(|pages| {
                let mut frontier = lock(&self.frontier);
                // Before anything is counted against a host.
                self.tell_absences(&mut frontier);
                let mut held = lock(&self.held);
                frontier.decide(self.clock.now());
                // In the midst of trouble there is always one that is held; the others go on.
                pages.extend(held.extract_if(.., |page| frontier.is_decided(page)));
                pages.retain(|page| frontier.expects(page));
                // A page that somebody holds is copied: its judgement must not be lost.
                frontier.judge(pages.iter_mut().map(Arc::make_mut));
                held.extend(pages.extract_if(.., |page| frontier.is_held(page)));
                let wall_offset_us = self.clock.wall_offset();
                pages.extend(frontier.settled().into_iter().map(|mut page| {
                    page.response.times.wall_offset_us = wall_offset_us;
                    Arc::new(page)
                }));
            });
        });
    }

    /// Confirms judged outcomes: leases end, links are admitted.
    fn done(&self, py: Python<'_>, pages: &Pages) -> PyResult<()> {
        let done = py.detach(|| {
            pages.with(|pages| {
                let mut frontier = lock(&self.frontier);
                let done = frontier.done(pages.iter().map(AsRef::as_ref), self.clock.now());
                self.unconfirmed.store(frontier.unconfirmed_since().unwrap_or(u64::MAX), Ordering::Relaxed);
                done
            })
        });
        done.map_err(|error| errors::queues(&error))
    }

    /// Whether the crawl has ended.
    fn idle(&self, py: Python<'_>) -> bool {
        py.detach(|| lock(&self.frontier).idle())
    }

    /// Why the crawl is suspended, if it is: `cause` (names, connections, captive), `since` and `probe_at` in seconds since
    /// the epoch, `domains` that failed, `example`, and whether that is `over`: it has lasted longer than it may.
    fn suspensions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (suspensions, over) = py.detach(|| {
            let frontier = lock(&self.frontier);
            (frontier.suspensions(), frontier.is_suspended_for_too_long())
        });
        let dict = |suspension: Suspension| {
            let dict = PyDict::new(py);
            dict.set_item("cause", suspension.cause.as_str())?;
            dict.set_item("since", suspension.since as f64 / 1e6)?;
            dict.set_item("probe_at", suspension.probe_at as f64 / 1e6)?;
            dict.set_item("domains", suspension.domains)?;
            dict.set_item("example", suspension.example)?;
            dict.set_item("over", over)?;
            Ok(dict)
        };
        suspensions.into_iter().map(dict).collect()
    }

    /// Hosts that fail and that something waits for, at most `max`: host, kind of failure, URLs that wait, and until when, in
    /// seconds since the epoch, it is tried at least. Those that are given up last come first.
    fn failing(&self, py: Python<'_>, max: usize) -> Vec<(String, &'static str, usize, f64)> {
        let failing = py.detach(|| lock(&self.frontier).failing(max, self.clock.now()));
        let tuple = |host: Failing| (host.host, host.kind.as_str(), host.waiting, host.until as f64 / 1e6);
        failing.into_iter().map(tuple).collect()
    }

    /// Whether nothing but failing hosts is left: the crawl ends when the patience with them has run out.
    fn only_failing(&self, py: Python<'_>) -> bool {
        py.detach(|| lock(&self.frontier).only_failing())
    }

    /// How long outcomes may be waited for before there may be something to take, in seconds.
    fn wait(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.longest_wait())
    }

    /// Numbers for progress and reports.
    fn counts(&self, py: Python<'_>) -> HashMap<&'static str, u64> {
        let counts = py.detach(|| lock(&self.frontier).counts());
        HashMap::from([
            ("known", counts.known),
            ("waiting", counts.tally.count(State::Waiting)),
            ("leased", counts.tally.count(State::Leased)),
            ("done", counts.tally.count(State::Done)),
            ("failed", counts.tally.count(State::Failed)),
            ("refused", counts.tally.count(State::Refused)),
            ("pages", counts.pages),
            ("hosts", counts.hosts),
            ("unresolved", counts.unresolved),
            ("idle_for_names_us", counts.idle_for_names_us),
            ("late", counts.late),
            ("links_known", counts.refused.known),
            ("links_out_of_scope", counts.refused.scope),
            ("links_too_deep", counts.refused.depth),
            ("links_nofollow", counts.refused.nofollow),
            ("links_port_blocked", counts.refused.port),
            ("links_hosts_full", counts.refused.hosts),
            ("idle_for_politeness_us", counts.idle.politeness),
            ("idle_suspended_us", counts.idle.suspended),
            ("idle_slots_us", counts.idle.nothing),
            ("next_turn_us", counts.next_turn_us),
        ])
    }
}
