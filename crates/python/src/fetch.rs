//! Fetch.

use pyo3::prelude::*;

use crate::clock::Clock;
use crate::errors::{ended, system};
use crate::job::{Job, seconds};
use crate::requests::Requests;
use crate::response::Responses;

/// HTTP over real sockets, on a thread of its own.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Fetcher(lycosa_fetch::Fetcher);

#[pymethods]
impl Fetcher {
    /// `clock`: the crawl's; without it that of this process. `memory`: bytes of all responses until they are taken; `batch`:
    /// of those that are taken at once.
    #[new]
    #[pyo3(signature = (job, clock = None, memory = None, batch = None))]
    fn new(
        py: Python<'_>,
        job: Job,
        clock: Option<&Clock>,
        memory: Option<usize>,
        batch: Option<usize>,
    ) -> PyResult<Self> {
        let mut settings = job.fetch(Clock::of(clock))?;
        settings.memory = memory.unwrap_or(settings.memory);
        settings.batch_bytes = batch.unwrap_or(settings.batch_bytes);
        let fetcher = py.detach(|| lycosa_fetch::Fetcher::start(settings));
        fetcher.map(Fetcher).map_err(|error| system("fetch", &error))
    }

    /// Slots that are free.
    fn free(&self) -> usize {
        self.0.free()
    }

    /// Requests in flight.
    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    /// Starts requests; never waits.
    fn submit(&self, py: Python<'_>, requests: &Requests) {
        py.detach(|| self.0.submit(requests.batch.take()));
    }

    /// What is complete, at most `max`; waits at most `within` seconds for the first. `LycosaError` if the thread has ended.
    fn completed(&self, py: Python<'_>, max: usize, within: f64) -> PyResult<Responses> {
        py.detach(|| {
            let responses = self.0.completed(max, seconds(within));
            if responses.is_empty() {
                self.0.check().map_err(|error| ended("fetch", &error))?;
            }
            Ok(Responses::new(responses, Some(self.0.returns())))
        })
    }

    /// Ends everything in flight at once.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel());
    }
}
