//! Fetch, and scripted answers for tests.

use lycosa_url::{Failure, FailureKind, Headers, Received, Request, Response, Times};
use pyo3::prelude::*;

use crate::batch::{Requests, Responses};
use crate::clock::Clock;
use crate::errors::{setting, system};
use crate::job::{Job, seconds};

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
        py.detach(|| self.0.submit(requests.take()));
    }

    /// What is complete, at most `max`; waits at most `within` seconds for the first.
    fn completed(&self, py: Python<'_>, max: usize, within: f64) -> Responses {
        py.detach(|| Responses::new(self.0.completed(max, seconds(within)), Some(self.0.returns())))
    }

    /// Ends everything in flight at once.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel());
    }
}

/// A scripted answer: status, headers and body, or the name of a failure.
#[derive(FromPyObject)]
pub(crate) enum Answer {
    /// A response.
    Received(u16, Vec<(String, String)>, Vec<u8>),
    /// A failure's stable name.
    Failed(String),
}

/// Answers requests without a network.
pub(crate) fn scripted(requests: Vec<Request>, answers: Vec<Answer>) -> PyResult<Vec<Response>> {
    if requests.len() != answers.len() {
        return Err(setting(
            "answers",
            answers.len(),
            format!("one for each of the {} requests", requests.len()),
        ));
    }
    let now = Clock::of(None).now();
    let respond = |(request, answer): (Request, Answer)| {
        let result = match answer {
            Answer::Received(status, headers, body) => {
                let field = |(name, value): (String, String)| {
                    (name.to_ascii_lowercase().into_boxed_str(), value.into_bytes().into_boxed_slice())
                };
                let headers = Headers(headers.into_iter().map(field).collect());
                Ok(Received { status, headers, body: body.into() })
            }
            Answer::Failed(name) => {
                let kind = FailureKind::from_name(&name).ok_or_else(|| {
                    setting("answers", &name, "the stable name of a failure, such as connect-timeout")
                })?;
                Err(Failure::new(kind, "scripted"))
            }
        };
        let address = request.addresses.first().copied();
        Ok(Response { request, address, started: now, finished: now, times: Times::default(), result })
    };
    requests.into_iter().zip(answers).map(respond).collect()
}
