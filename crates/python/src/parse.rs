//! Parse: decoding and parsing of a batch, on all cores.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use bytes::Bytes;
use lycosa_fetch::{BATCH_BYTES, Returns};
use lycosa_records::{Outcome, Purpose, Received, Response};
use lycosa_url::{Failure, FailureKind};
use pyo3::prelude::*;

use crate::errors::lock;
use crate::job::Job;
use crate::outcomes::Outcomes;
use crate::response::Responses;

/// Pages that are worth a thread of their own: starting one costs about as much as parsing one page.
const PAGES_PER_THREAD: usize = 8;

/// gzip and deflate make no more than this of a byte (zlib's documentation); other codings make any amount.
const INFLATED: usize = 1_032;

/// Responses to pages.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Parser {
    settings: lycosa_parse::Settings,
    max_decoded_bytes: usize,
    threads: usize,
    batch: usize,
    decoding: Gate,
    /// Where bodies in files may be.
    bodies: Option<PathBuf>,
    /// Responses that did not fit, of a fetch that does not take them back: they come first the next time.
    rest: Mutex<Vec<Response>>,
}

#[pymethods]
impl Parser {
    /// `batch`: bytes of the pages of one batch, from which on the rest goes back to fetch; `decoding`: of bodies that are
    /// decoded at once; `bodies`: the directory below which bodies in files are, which other processes have written; without it none
    /// is read; `links`: whether links are looked for.
    #[new]
    #[pyo3(signature = (job, batch = BATCH_BYTES, decoding = BATCH_BYTES, bodies = None, links = true))]
    fn new(job: Job, batch: usize, decoding: usize, bodies: Option<PathBuf>, links: bool) -> Self {
        let mut settings = job.parse();
        if !links {
            settings.links = 0;
        }
        Parser {
            settings,
            max_decoded_bytes: job.max_decoded_bytes(),
            threads: job.parse_threads(),
            batch,
            decoding: Gate::new(decoding),
            bodies,
            rest: Mutex::default(),
        }
    }

    /// Parses a batch, as far as its pages fit into memory; the rest is given by fetch again, or parsed with the next batch.
    fn parse(&self, py: Python<'_>, responses: &Responses) -> Outcomes {
        py.detach(|| {
            let outcomes = self.parse_all(responses.batch.take(), responses.returns());
            Outcomes::bounded(outcomes, self.max_decoded_bytes)
        })
    }

    /// Reads robots.txt alone: all others become outcomes of which only the frontier learns how the site is.
    fn unparsed(&self, py: Python<'_>, responses: &Responses) -> Outcomes {
        let unparsed = |response: Response| match response.request.purpose {
            Purpose::Robots => self.parse_one(response),
            _ => Outcome::new(response),
        };
        py.detach(|| Outcomes::new(responses.batch.take().into_iter().map(unparsed).collect()))
    }
}

impl Parser {
    /// Parses responses in order, shared out over threads where there are enough of them.
    fn parse_all(&self, mut responses: Vec<Response>, returns: Option<&Returns>) -> Vec<Outcome> {
        let before = std::mem::take(&mut *lock(&self.rest));
        responses.splice(..0, before);
        let threads = self.threads.min(responses.len() / PAGES_PER_THREAD).max(1);
        let (share, held) = (responses.len().div_ceil(threads), AtomicUsize::new(0));
        let (pages, rest) = std::thread::scope(|scope| {
            let mut handles = Vec::with_capacity(threads - 1);
            while responses.len() > share {
                let tail = responses.split_off(responses.len() - share);
                handles.push(scope.spawn(|| self.parse_some(tail, &held)));
            }
            let (mut pages, mut rest) = self.parse_some(responses, &held);
            for handle in handles.into_iter().rev() {
                match handle.join() {
                    Ok((some, others)) => {
                        pages.extend(some);
                        rest.extend(others);
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            (pages, rest)
        });
        match returns {
            _ if rest.is_empty() => {}
            Some(returns) => returns.give_back(rest),
            None => *lock(&self.rest) = rest,
        }
        pages
    }

    /// Parses responses in order until the pages of all threads hold so many bytes; gives what is left, too.
    fn parse_some(&self, responses: Vec<Response>, held: &AtomicUsize) -> (Vec<Outcome>, Vec<Response>) {
        let mut pages = Vec::with_capacity(responses.len());
        let mut responses = responses.into_iter();
        while held.load(Relaxed) < self.batch {
            let Some(response) = responses.next() else { break };
            let decoded = self.decoded_bytes(&response);
            let page = self.decoding.pass(decoded, || self.parse_one(response));
            held.fetch_add(page.memory(), Relaxed);
            pages.push(page);
        }
        (pages, responses.collect())
    }

    /// Bytes that a body may have when it is decoded; 0 where it stays as it is.
    fn decoded_bytes(&self, response: &Response) -> usize {
        let Ok(received) = &response.result else { return 0 };
        let length = usize::try_from(received.body.len()).unwrap_or(usize::MAX);
        let longest = match received.head.get("content-encoding").as_deref() {
            None => 0,
            Some("gzip" | "deflate") => length.saturating_mul(INFLATED),
            Some(_) => usize::MAX,
        };
        longest.min(self.max_decoded_bytes)
    }

    /// Decodes and parses one response.
    fn parse_one(&self, response: Response) -> Outcome {
        lycosa_parse::guard(response, |outcome| {
            let decoded = match &mut outcome.response.result {
                Ok(received) => self.read(received).and_then(|body| {
                    let coding = received.head.get("content-encoding");
                    lycosa_fetch::decode(&body, coding.as_deref(), self.max_decoded_bytes)
                }),
                Err(failure) => Err(failure.clone()),
            };
            lycosa_parse::parse_into(outcome, decoded, &self.settings);
        })
    }

    /// The body as received, wherever it is; from here on it is in memory, and goes into the log.
    fn read(&self, received: &mut Received) -> Result<Bytes, Failure> {
        let failed =
            |error| Failure::new(FailureKind::LocalFailure, format!("the body cannot be read: {error}"));
        let bytes = received.body.read(self.bodies.as_deref()).map_err(failed)?;
        received.body = bytes.clone().into();
        Ok(bytes)
    }
}

/// Lets work pass as long as the bytes that it may need fit together; work that needs more passes alone.
struct Gate {
    limit: usize,
    used: Mutex<usize>,
    freed: Condvar,
}

impl Gate {
    /// A gate for so many bytes.
    fn new(limit: usize) -> Self {
        Gate { limit, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Does work that needs so many bytes.
    fn pass<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes == 0 {
            return work();
        }
        let mut used = lock(&self.used);
        while *used > 0 && used.saturating_add(bytes) > self.limit {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        drop(used);
        let _passing = Passing { gate: self, bytes };
        work()
    }
}

/// Gives the bytes back, also when the work panics.
struct Passing<'a> {
    gate: &'a Gate,
    bytes: usize,
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        *lock(&self.gate.used) -= self.bytes;
        self.gate.freed.notify_all();
    }
}
