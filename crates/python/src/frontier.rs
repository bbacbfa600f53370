//! The frontier.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use lycosa_frontier::{Failing, Ownership, Settings, State as UrlState, Suspension};
use lycosa_records::{Outcome, Task};
use lycosa_store::{LogError, Position};
use lycosa_url::{Clock, CrawlUrl, RingKey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::block_list::Watch;
use crate::entries::Entries;
use crate::errors::{self, lock, setting};
use crate::job::{Job, seconds};
use crate::names::{Names, Resolver};
use crate::outcomes::Outcomes;
use crate::pulse::Pulse;
use crate::requests::Requests;
use crate::shards::Shared;
use crate::snapshots::{self, Saving, Snapshots};
use crate::url::Ring;

/// The longest that a caller should wait for outcomes before it asks again, in seconds: outcomes are at
/// most 50 ms late by contract.
const LONGEST_WAIT: f64 = 0.05;

/// The same while names are being resolved: their answers wake nobody.
const WAIT_FOR_NAMES: f64 = 0.005;

/// A loop that has not come by for so long is slow, in microseconds.
const SLOW_LOOP: u64 = 1_000_000;

/// What `tell` gives.
type Telling<'py> = (Bound<'py, PyBytes>, Vec<(String, Bound<'py, PyBytes>)>);

/// The state machine of a frontier.
pub(crate) type State = lycosa_frontier::Frontier<Resolver>;

/// Which URL next.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Frontier {
    core: Arc<Core>,
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
    held: Mutex<Vec<Arc<Outcome>>>,
    /// A snapshot that is being written.
    saving: Mutex<Option<Saving>>,
}

/// What a snapshot that is being written needs of its frontier. Locks: the snapshots before the state.
pub(crate) struct Core {
    pub(crate) state: Mutex<State>,
    /// `None` where the frontier has no directory.
    snapshots: Option<Mutex<Snapshots>>,
}

impl Core {
    /// The snapshots, under their lock.
    pub(crate) fn snapshots(&self) -> Result<MutexGuard<'_, Snapshots>, LogError> {
        let none =
            || io::Error::new(io::ErrorKind::Unsupported, "a frontier without a directory has no snapshots");
        let snapshots =
            self.snapshots.as_ref().ok_or_else(|| LogError::of(Path::new("snapshots"), none()))?;
        Ok(lock(snapshots))
    }
}

impl Frontier {
    /// Its state and its snapshots.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The name of this shard on the ring; empty without ownership.
    pub(crate) fn node(&self) -> &str {
        self.settings.ownership.as_ref().map_or("", |ownership| &ownership.node)
    }

    /// The name of the shard that owns a URL.
    pub(crate) fn owner(&self, url: &CrawlUrl) -> Option<&str> {
        self.settings.ownership.as_ref()?.owner(url.borrow())
    }

    /// Becomes what a snapshot holds; the log after it is to follow.
    pub(crate) fn become_snapshot(&self, from: &mut dyn Read) -> io::Result<()> {
        let (frontier, _) = State::load(self.settings.clone(), self.resolver.clone(), from)?;
        self.become_that(frontier);
        Ok(())
    }

    /// Works on its snapshots.
    fn with_snapshots<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Snapshots) -> Result<T, LogError> + Send,
    ) -> PyResult<T>
    where
        T: Send,
    {
        let done = py.detach(|| work(&mut *self.core.snapshots()?));
        done.map_err(|error| errors::log(&error))
    }

    /// Tells when this process did not run.
    fn tell_absences(&self, frontier: &mut State) {
        for (from, to) in self.pulse.absences() {
            frontier.was_away(from, to);
        }
    }

    /// Takes another one's place, with the same block list.
    fn become_that(&self, mut frontier: State) {
        if let Some(watch) = &self.blocked {
            frontier.block(lock(watch).list());
        }
        *lock(&self.core.state) = frontier;
    }

    /// How long outcomes may be waited for before there may be something to take, in seconds.
    fn longest_wait(&self) -> f64 {
        let frontier = lock(&self.core.state);
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
            lock(&self.core.state).block(list);
        }
        wrong
    }
}

#[pymethods]
impl Frontier {
    /// `directory`: where waiting and known URLs go that do not fit into memory; without it all of them stay there.
    ///
    /// `end`: where the log ends: later snapshots are of records that are gone. `task`: job and task that its requests belong to.
    /// `ownership`: of a job that several frontiers share, the ring of their names, what of a URL it looks at (host, domain, url), and
    /// which of them this one is. `lends`: whether addresses are lent among these. `shared`: what it shares with the other frontiers of this process, or of the machine.
    #[new]
    #[pyo3(signature = (job, names, directory = None, *, end = Position::MAX, task = None, ownership = None, lends = false, shared = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        job: Job,
        names: &Names,
        directory: Option<PathBuf>,
        end: Position,
        task: Option<(String, String)>,
        ownership: Option<(Bound<'_, Ring>, String, String)>,
        lends: bool,
        shared: Option<Bound<'_, Shared>>,
    ) -> PyResult<Self> {
        let beside = |name| directory.as_ref().map(|directory: &PathBuf| directory.join(name));
        let [queue_directory, seen_directory] = ["queues", "seen"].map(beside);
        let snapshots = match beside("snapshots") {
            Some(directory) => {
                let opened = py.detach(|| Snapshots::open(&directory, end));
                Some(Mutex::new(opened.map_err(|error| errors::log(&error))?))
            }
            None => None,
        };
        let task = task.map(|(job, name)| Task { job: job.into(), name: name.into() });
        let settings = Settings {
            queue_directory,
            seen_directory,
            task: task.map(Arc::new).unwrap_or_default(),
            ownership: ownership.map(owned).transpose()?,
            lends_addresses: lends,
            shared: shared.map(|shared| shared.get().0.clone()).unwrap_or_default(),
            ..job.frontier()?
        };
        let resolver = names.resolver();
        let frontier = State::new(settings.clone(), resolver.clone());
        let mut frontier = frontier.map_err(|error| errors::queues(&error))?;
        let watch = job.block_list().map(Watch::new).transpose()?;
        if let Some(watch) = &watch {
            frontier.block(watch.list());
        }
        Ok(Frontier {
            core: Arc::new(Core { state: Mutex::new(frontier), snapshots }),
            settings,
            resolver,
            clock: names.clock(),
            blocked: watch.map(Mutex::new),
            full: AtomicBool::new(false),
            taken_at: AtomicU64::new(0),
            pulse: Pulse::start(names.clock()).map_err(|error| errors::system("the pulse", &error))?,
            held: Mutex::default(),
            saving: Mutex::default(),
        })
    }

    /// Accepts seeds; gives how many were new.
    fn add(&self, py: Python<'_>, seeds: Vec<String>) -> PyResult<usize> {
        let parse = |seed: &String| CrawlUrl::parse(seed).map_err(|bad| setting("seed", seed, bad.allowed()));
        let urls = seeds.iter().map(parse).collect::<PyResult<Vec<_>>>()?;
        let added = py.detach(|| lock(&self.core.state).add(&urls, self.clock.now()));
        added.map_err(|error| errors::queues(&error))
    }

    /// Accepts requests: seeds with more than a URL, and links that other frontiers have handed over; gives how many were new.
    fn add_requests(&self, py: Python<'_>, requests: &Requests) -> PyResult<usize> {
        let requests: Vec<_> = requests.batch.all().iter().map(|request| (**request).clone()).collect();
        let added = py.detach(|| lock(&self.core.state).add_requests(&requests, self.clock.now()));
        added.map_err(|error| errors::queues(&error))
    }

    /// The links that other frontiers own, by their owners; again, until they are said to be delivered.
    fn take_outbox(&self, py: Python<'_>) -> HashMap<String, Requests> {
        let links = py.detach(|| lock(&self.core.state).take_outbox());
        let mut parted: HashMap<String, Vec<_>> = HashMap::new();
        for (owner, request) in links {
            parted.entry(owner.into()).or_default().push(request);
        }
        parted.into_iter().map(|(owner, requests)| (owner, Requests::new(requests, self.clock))).collect()
    }

    /// What `take_outbox` gave last has been recorded by its owners.
    fn outbox_delivered(&self, py: Python<'_>) {
        py.detach(|| lock(&self.core.state).outbox_delivered());
    }

    /// What is to be told to other frontiers of addresses that are lent: the record of it, and messages with their receivers.
    fn tell<'py>(&self, py: Python<'py>) -> Telling<'py> {
        let told = py.detach(|| lock(&self.core.state).tell(self.clock.now()));
        let messages = told.messages.into_iter();
        let messages = messages.map(|(to, message)| (to.into(), PyBytes::new(py, &message))).collect();
        (PyBytes::new(py, &told.record), messages)
    }

    /// Takes over what another frontier has told; `again`: replays that, or the record of what was told.
    #[pyo3(signature = (message, *, again = false))]
    fn hear(&self, py: Python<'_>, message: &[u8], again: bool) -> PyResult<()> {
        let heard = py.detach(|| {
            let mut frontier = lock(&self.core.state);
            if again { frontier.hear_again(message) } else { frontier.hear(message, self.clock.now()) }
        });
        heard.ok_or_else(|| PyValueError::new_err("no message about addresses that are lent"))
    }

    /// The positions of its snapshots, in order; whether they are whole is known when they are loaded.
    fn snapshots(&self, py: Python<'_>) -> PyResult<Vec<Position>> {
        if self.core.snapshots.is_none() {
            return Ok(Vec::new());
        }
        self.with_snapshots(py, |snapshots| snapshots.positions())
    }

    /// Begins a snapshot of now, for a position of the log, with what the log counts up to there; a forked process writes it. Nothing may
    /// be between its record in the log and its confirmation.
    fn save(&self, py: Python<'_>, position: Position, views: &[u8]) -> PyResult<()> {
        let saving = snapshots::begin(py, vec![Arc::clone(&self.core)], position, views)?;
        *lock(&self.saving) = Some(saving);
        Ok(())
    }

    /// The bytes of the snapshot that was begun last, once it is complete and has its name; 0 where the disk was full, or none was begun;
    /// None while it is written. The log up to its position is to be durable.
    fn saved(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let Some(saving) = lock(&self.saving).take() else { return Ok(Some(0)) };
        let saved = saving.saved(py)?;
        if saved.is_none() {
            *lock(&self.saving) = Some(saving);
        }
        Ok(saved)
    }

    /// Becomes what the snapshot of a position holds; gives what the log counted up to there. What the log has recorded since is to
    /// follow: `restore`, then `restored`.
    fn load<'py>(&self, py: Python<'py>, position: Position) -> PyResult<Bound<'py, PyBytes>> {
        let views = self.with_snapshots(py, |snapshots| snapshots.load(self, position))?;
        // What it remembers was recorded before that position, also where the log ends there.
        py.detach(|| lock(&self.core.state).restore().at(position));
        Ok(PyBytes::new(py, &views))
    }

    /// Becomes empty: the whole log is to follow.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let cleared = py.detach(|| {
            self.become_that(State::new(self.settings.clone(), self.resolver.clone())?);
            io::Result::Ok(())
        });
        cleared.map_err(|error| errors::queues(&error))
    }

    /// Does again what the log has recorded.
    fn restore(&self, py: Python<'_>, entries: &Entries) -> PyResult<()> {
        let restored = py.detach(|| {
            let mut frontier = lock(&self.core.state);
            let mut restore = frontier.restore();
            entries.entries.iter().try_for_each(|logged| restore.entry(&logged.entry, logged.end))
        });
        restored.map_err(|error| errors::queues(&error))
    }

    /// Ends the restoring: the whole log was told. Snapshots that could not be loaded are removed.
    #[pyo3(signature = (unreadable = Vec::new()))]
    fn restored(&self, py: Python<'_>, unreadable: Vec<Position>) -> PyResult<()> {
        let finished = py.detach(|| lock(&self.core.state).restore().finish(self.clock.now()));
        finished.map_err(|error| errors::queues(&error))?;
        if self.core.snapshots.is_none() {
            return Ok(());
        }
        self.with_snapshots(py, |snapshots| snapshots.remove(&self.core, &unreadable))
    }

    /// Since when outcomes may be a captive portal's, in seconds of the crawl's time: no other answer has confirmed them yet; None
    /// where there are none.
    fn doubted_since(&self, py: Python<'_>) -> Option<f64> {
        py.detach(|| lock(&self.core.state).unconfirmed_since()).map(|since| since as f64 / 1e6)
    }

    /// Those of some requests that are known and settled: done, failed or refused.
    fn settled_of(&self, py: Python<'_>, requests: &Requests) -> PyResult<Requests> {
        let settled = py.detach(|| {
            let requests = requests.batch.all();
            let mut frontier = lock(&self.core.state);
            let settled = frontier.settled_of(requests.iter().map(AsRef::as_ref), self.clock.now())?;
            io::Result::Ok(settled.into_iter().cloned().collect())
        });
        let settled = settled.map(|requests| Requests::new(requests, self.clock));
        settled.map_err(|error| errors::queues(&error))
    }

    /// Lets what an earlier process recorded last wait again if a captive portal may have given it, for one that did not end by
    /// itself. `written`: up to which position of the log outputs have it; without it, of a process that ended by itself, only rules
    /// are asked for again. Gives the outcomes that open it, which are to be recorded
    /// before outputs go on.
    #[pyo3(signature = (written = None))]
    fn doubt_last(&self, py: Python<'_>, written: Option<u64>) -> Outcomes {
        let pages = py.detach(|| {
            let (mut frontier, now) = (lock(&self.core.state), self.clock.now());
            match written {
                Some(written) => frontier.doubt_last(written, now),
                None => frontier.doubt_rules(now),
            }
            frontier.settled()
        });
        Outcomes::new(pages)
    }

    /// Takes what earlier processes recorded as the sites' own, since the last one ended by itself.
    fn confirm_last(&self, py: Python<'_>) {
        py.detach(|| lock(&self.core.state).confirm_last());
    }

    /// Takes back what a captive portal may have answered, since the process ends before that is decided. Gives the outcomes that
    /// open it, which are to be recorded before outputs go on to the end.
    fn doubt_held(&self, py: Python<'_>) -> Outcomes {
        let pages = py.detach(|| {
            let (mut frontier, now) = (lock(&self.core.state), self.clock.now());
            frontier.doubt_held(now);
            frontier.settled()
        });
        Outcomes::new(pages)
    }

    /// Lets settled URLs wait again, by outcomes that open them; gives those of URLs that are known, which are to be recorded before
    /// the next `take`.
    fn reopen(&self, py: Python<'_>, outcomes: &Outcomes) -> PyResult<Outcomes> {
        let reopened = py.detach(|| {
            let (mut frontier, now) = (lock(&self.core.state), self.clock.now());
            let mut kept = Vec::new();
            for mut outcome in outcomes.batch.with(std::mem::take) {
                if frontier.reopen(&outcome, now)? {
                    Arc::make_mut(&mut outcome).response.request.task = Arc::clone(&self.settings.task);
                    kept.push(outcome);
                }
            }
            io::Result::Ok(kept)
        });
        reopened.map(Outcomes::shared).map_err(|error| errors::queues(&error))
    }

    /// Gives at most `max` requests that may start now, each on lease.
    fn take(&self, py: Python<'_>, max: usize) -> PyResult<Requests> {
        let (taken, wrong, messages) = py.detach(|| {
            let wrong = self.look_at_block_list();
            let mut frontier = lock(&self.core.state);
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
        let taken = taken.map(|taken| Requests::new(taken, self.clock));
        taken.map_err(|error| errors::queues(&error))
    }

    /// Decides which outcomes are their URL's last; gives them, with those of URLs that the frontier settled itself.
    fn judge(&self, py: Python<'_>, outcomes: &Outcomes) -> Outcomes {
        py.detach(|| {
            let mut outcomes = outcomes.batch.with(std::mem::take);
            // A host would be left alone until a time that a stage's clock has, and this one has not.
            let now = self.clock.now();
            for outcome in outcomes.iter_mut().filter(|outcome| outcome.response.finished > now) {
                let response = &mut Arc::make_mut(outcome).response;
                (response.started, response.finished) = (response.started.min(now), now);
            }
            let mut frontier = lock(&self.core.state);
            // Before anything is counted against a host.
            self.tell_absences(&mut frontier);
            let mut held = lock(&self.held);
            frontier.decide(self.clock.now());
            // In the midst of trouble there is always one that is held; the others go on.
            outcomes.extend(held.extract_if(.., |outcome| frontier.is_decided(outcome)));
            outcomes.retain(|outcome| frontier.expects(outcome));
            // One that somebody holds is copied: its judgement must not be lost.
            frontier.judge(outcomes.iter_mut().map(Arc::make_mut));
            held.extend(outcomes.extract_if(.., |outcome| frontier.is_held(outcome)));
            let wall_offset_us = self.clock.wall_offset();
            outcomes.extend(frontier.settled().into_iter().map(|mut outcome| {
                outcome.response.times.wall_offset_us = wall_offset_us;
                Arc::new(outcome)
            }));
            Outcomes::shared(outcomes)
        })
    }

    /// Confirms judged outcomes: leases end, links are admitted.
    fn done(&self, py: Python<'_>, outcomes: &Outcomes) -> PyResult<()> {
        let done = py.detach(|| {
            let outcomes = outcomes.batch.all();
            lock(&self.core.state).done(outcomes.iter().map(AsRef::as_ref), self.clock.now())
        });
        done.map_err(|error| errors::queues(&error))
    }

    /// Sets the intervals of hosts and addresses in seconds, for all requests that start or end from now on.
    fn set_intervals(&self, py: Python<'_>, host: f64, address: f64) {
        py.detach(|| lock(&self.core.state).set_intervals(seconds(host), seconds(address)));
    }

    /// Sets the number of pages after which it ends.
    fn set_max_pages(&self, py: Python<'_>, pages: u64) {
        py.detach(|| lock(&self.core.state).set_max_pages(pages));
    }

    /// Pages that may still be leased, and URLs that wait.
    fn room(&self, py: Python<'_>) -> (u64, u64) {
        py.detach(|| lock(&self.core.state).room())
    }

    /// Keeps to the sites that are a node's by each of these rings (with which part of a URL decides, and its name); without one, to all:
    /// URLs of others that wait end as cancelled at their turn.
    fn keep_to(&self, py: Python<'_>, sites: Vec<(Bound<'_, Ring>, String, String)>) -> PyResult<()> {
        let sites = sites.into_iter().map(sites_of).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| lock(&self.core.state).keep_to(sites));
        Ok(())
    }

    /// Whether the crawl has ended.
    fn idle(&self, py: Python<'_>) -> bool {
        py.detach(|| lock(&self.core.state).idle())
    }

    /// Why the crawl is suspended, if it is: `cause` (names, connections, captive), `since` and `probe_at` in seconds since
    /// the epoch, `domains` that failed, `example`, and whether that is `over`: it has lasted longer than it may.
    fn suspensions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (suspensions, over) = py.detach(|| {
            let frontier = lock(&self.core.state);
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
        let failing = py.detach(|| lock(&self.core.state).failing(max, self.clock.now()));
        let tuple = |host: Failing| (host.host, host.kind.as_str(), host.waiting, host.until as f64 / 1e6);
        failing.into_iter().map(tuple).collect()
    }

    /// The URL that is out longest, and for how many seconds; `None`: none is.
    fn oldest(&self, py: Python<'_>) -> Option<(String, f64)> {
        let (oldest, now) = py.detach(|| (lock(&self.core.state).oldest(), self.clock.now()));
        oldest.map(|(url, granted)| (url, now.saturating_sub(granted) as f64 / 1e6))
    }

    /// Hosts that are asked more slowly since the last call, for trouble of their own: host, and the interval before and now in seconds
    /// of the job. The first call begins.
    fn slowed(&self, py: Python<'_>) -> Vec<(String, f64, f64)> {
        let slowed = py.detach(|| lock(&self.core.state).take_slowed());
        let seconds = |micros: u64| micros as f64 / 1e6;
        slowed.into_iter().map(|one| (one.host, seconds(one.before), seconds(one.interval))).collect()
    }

    /// Whether nothing but failing hosts is left: the crawl ends when the patience with them has run out.
    fn only_failing(&self, py: Python<'_>) -> bool {
        py.detach(|| lock(&self.core.state).only_failing())
    }

    /// How long outcomes may be waited for before there may be something to take, in seconds.
    fn wait(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.longest_wait())
    }

    /// Seconds until there is something to take, at the earliest, of the job's time; below 0: it has been there for so long, or since
    /// ever; `None`: only outcomes or answers to names can change that.
    fn due(&self, py: Python<'_>) -> Option<f64> {
        py.detach(|| {
            let due = lock(&self.core.state).due_at()?;
            Some(due as f64 / 1e6 - self.clock.now() as f64 / 1e6)
        })
    }

    /// Numbers for progress and reports.
    fn counts(&self, py: Python<'_>) -> HashMap<&'static str, u64> {
        let counts = py.detach(|| lock(&self.core.state).counts());
        HashMap::from([
            ("known", counts.known),
            ("waiting", counts.tally.count(UrlState::Waiting)),
            ("leased", counts.tally.count(UrlState::Leased)),
            ("done", counts.tally.count(UrlState::Done)),
            ("failed", counts.tally.count(UrlState::Failed)),
            ("refused", counts.tally.count(UrlState::Refused)),
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
            ("outbox", counts.outbox),
            ("idle_for_politeness_us", counts.idle.politeness),
            ("idle_suspended_us", counts.idle.suspended),
            ("idle_slots_us", counts.idle.nothing),
            ("next_turn_us", counts.next_turn_us),
            ("ready", counts.ready),
        ])
    }
}

/// Which URLs a frontier owns, which is a node of the ring.
fn owned(given: (Bound<'_, Ring>, String, String)) -> PyResult<Ownership> {
    let owned = sites_of(given)?;
    if !owned.ring.nodes().any(|name| *name == *owned.node) {
        return Err(setting("ownership", &owned.node, "the name of a node of the ring"));
    }
    Ok(owned)
}

/// Which URLs are those of a node: none if the ring lacks it.
fn sites_of((ring, key, node): (Bound<'_, Ring>, String, String)) -> PyResult<Ownership> {
    let key: RingKey = crate::url::ring_key_named(&key)?;
    Ok(Ownership { ring: ring.get().0.clone(), key, node: node.into() })
}
