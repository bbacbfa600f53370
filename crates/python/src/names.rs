//! Names: the DNS client, and how the frontier sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use lycosa_frontier::Resolve;
use lycosa_names::{Client, Statistics};
use lycosa_url::Resolved;
use pyo3::prelude::*;

use crate::cache::Fallback;
use crate::clock::Clock;
use crate::errors::{lock, system};
use crate::job::Job;

/// The DNS client of a crawl, on a thread of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Names {
    client: Arc<Client>,
    /// Where several frontiers ask.
    router: Option<Arc<Mutex<Router>>>,
    clock: lycosa_url::Clock,
    fallback: Option<Fallback>,
}

impl Names {
    /// The crawl's clock.
    pub(crate) fn clock(&self) -> lycosa_url::Clock {
        self.clock
    }

    /// The client as the frontier's resolver.
    pub(crate) fn resolver(&self) -> Resolver {
        let seat = self.router.as_ref().map(|router| Arc::new(Seat::new(router)));
        Resolver { client: Arc::clone(&self.client), seat }
    }
}

#[pymethods]
impl Names {
    /// `clock`: the crawl's; without it that of this process. `is_shared`: whether several frontiers ask it, each of which is given the
    /// answers to its own questions.
    #[new]
    #[pyo3(signature = (job, clock = None, *, is_shared = false))]
    fn new(py: Python<'_>, job: Job, clock: Option<&Clock>, is_shared: bool) -> PyResult<Self> {
        let clock = Clock::of(clock);
        let settings = job.names(py, clock)?;
        py.detach(|| {
            let (cache, fallback) = job.name_cache(&settings)?;
            let client = Client::start(settings, cache).map_err(|error| system("the DNS client", &error))?;
            Ok(Names { client: Arc::new(client), router: is_shared.then(Arc::default), clock, fallback })
        })
    }

    /// Why its cache is not in the file where it was to be.
    #[getter]
    fn fallen_back(&self) -> Option<String> {
        self.fallback.as_ref().and_then(Fallback::why)
    }

    /// Names that wait for their answer.
    fn pending(&self) -> usize {
        self.client.pending()
    }

    /// Counts since the start.
    fn statistics(&self) -> HashMap<&'static str, u64> {
        statistics(&self.client.statistics())
    }
}

/// A client's counts, by name.
pub(crate) fn statistics(counts: &Statistics) -> HashMap<&'static str, u64> {
    HashMap::from([
        ("questions", counts.questions),
        ("answers", counts.answers),
        ("cache_hits", counts.cache_hits),
        ("coalesced", counts.coalesced),
        ("retries", counts.retries),
        ("timeouts", counts.timeouts),
        ("mismatched", counts.mismatched + counts.case_mismatched),
        ("truncated", counts.truncated),
        ("inferred", counts.inferred),
        ("fast", counts.fast),
        ("slow", counts.slow),
        ("failed", counts.failed),
    ])
}

/// What the frontier asks.
#[derive(Clone)]
pub(crate) struct Resolver {
    client: Arc<Client>,
    /// Where several frontiers ask: which of them this one is.
    seat: Option<Arc<Seat>>,
}

impl Resolve for Resolver {
    fn submit(&mut self, names: Vec<Box<str>>) {
        if let Some(seat) = &self.seat {
            lock(&seat.router).asks(&names, seat.number);
        }
        self.client.submit(names);
    }

    fn refresh(&mut self, names: Vec<Box<str>>) {
        if let Some(seat) = &self.seat {
            lock(&seat.router).asks(&names, seat.number);
        }
        self.client.refresh(names);
    }

    fn drain(&mut self, into: &mut Vec<Resolved>) {
        let Some(seat) = &self.seat else { return self.client.drain(into) };
        let mut router = lock(&seat.router);
        let mut answers = Vec::new();
        self.client.drain(&mut answers);
        router.route(answers);
        into.append(router.answers.entry(seat.number).or_default());
    }
}

/// Brings answers to the frontiers that have asked for them. Guarantees: each frontier is given one answer for a name that it has asked
/// for, however many have asked. Of two that ask for one name at one time, one of them past the cache, both get the answer that comes first.
#[derive(Default)]
struct Router {
    seats: u64,
    /// Who waits for a name.
    asked: HashMap<Box<str>, Vec<u64>>,
    /// Filled by whoever drains the client, emptied by their frontiers.
    answers: HashMap<u64, Vec<Resolved>>,
}

impl Router {
    /// A frontier asks for names.
    fn asks(&mut self, names: &[Box<str>], seat: u64) {
        for name in names {
            let asked = self.asked.entry(name.clone()).or_default();
            if !asked.contains(&seat) {
                asked.push(seat);
            }
        }
    }

    /// Answers have come. A second one for a name, for which the client was asked twice, has nobody left to go to.
    fn route(&mut self, answers: Vec<Resolved>) {
        for answer in answers {
            for seat in self.asked.remove(&answer.name).into_iter().flatten() {
                // A frontier that is gone has no place.
                if let Some(answers) = self.answers.get_mut(&seat) {
                    answers.push(answer.clone());
                }
            }
        }
    }
}

/// A frontier's place among those that ask one client.
struct Seat {
    router: Arc<Mutex<Router>>,
    number: u64,
}

impl Seat {
    /// A new place.
    fn new(router: &Arc<Mutex<Router>>) -> Self {
        let mut places = lock(router);
        places.seats += 1;
        let number = places.seats;
        places.answers.insert(number, Vec::new());
        Seat { router: Arc::clone(router), number }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.router).answers.remove(&self.number);
    }
}
