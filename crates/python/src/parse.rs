//! Parse: decoding and parsing of a batch, on all cores.

use lycosa_url::{Page, Response};
use pyo3::prelude::*;

use crate::batch::{Pages, Responses};
use crate::job::Job;

/// Pages that are worth a thread of their own: starting one costs about as much as parsing one page.
const PAGES_PER_THREAD: usize = 8;

/// Responses to pages.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Parser {
    settings: lycosa_parse::Settings,
    max_decoded_bytes: usize,
    threads: usize,
}

#[pymethods]
impl Parser {
    #[new]
    fn new(job: Job) -> Self {
        Parser {
            settings: job.parse(),
            max_decoded_bytes: job.max_decoded_bytes(),
            threads: job.parse_threads(),
        }
    }

    /// Parses a batch.
    fn parse(&self, py: Python<'_>, responses: &Responses) -> Pages {
        py.detach(|| Pages::new(self.parse_all(responses.take())))
    }
}

impl Parser {
    /// Parses responses in order, shared out over threads where there are enough of them.
    fn parse_all(&self, mut responses: Vec<Response>) -> Vec<Page> {
        let threads = self.threads.min(responses.len() / PAGES_PER_THREAD);
        if threads <= 1 {
            return responses.into_iter().map(|response| self.parse_one(response)).collect();
        }
        let share = responses.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let mut handles = Vec::with_capacity(threads - 1);
            while responses.len() > share {
                let tail = responses.split_off(responses.len() - share);
                handles.push(scope.spawn(|| tail.into_iter().map(|r| self.parse_one(r)).collect::<Vec<_>>()));
            }
            let mut pages: Vec<Page> =
                responses.into_iter().map(|response| self.parse_one(response)).collect();
            for handle in handles.into_iter().rev() {
                match handle.join() {
                    Ok(part) => pages.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            pages
        })
    }

    /// Decodes and parses one response.
    fn parse_one(&self, response: Response) -> Page {
        lycosa_parse::guard(response, |page| {
            let decoded = match &page.response.result {
                Ok(received) => {
                    let coding = received.headers.get("content-encoding");
                    lycosa_fetch::decode(&received.body, coding, self.max_decoded_bytes)
                }
                Err(failure) => Err(failure.clone()),
            };
            lycosa_parse::parse_into(page, decoded, &self.settings);
        })
    }
}
