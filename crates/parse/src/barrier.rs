//! Turns a panic while one page is decoded or parsed into that page's outcome: parsers are third-party code,
//! and a page that makes one panic would otherwise end the crawl, now and after each restart.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lycosa_records::{Outcome, Response};
use lycosa_url::{Failure, FailureKind};

/// Builds a response's outcome with `fill`; if `fill` panics, the result is [`FailureKind::ParseFailed`] and
/// other data is discarded.
pub fn guard(response: Response, fill: impl FnOnce(&mut Outcome)) -> Outcome {
    let mut outcome = Outcome::new(response);
    // Data that `fill` left inconsistent is dropped below; of the response, only the result can have changed.
    match caught(|| fill(&mut outcome)) {
        Ok(()) => outcome,
        Err(reason) => {
            let failure = Failure::new(FailureKind::ParseFailed, reason);
            Outcome::new(Response { result: Err(failure), ..outcome.response })
        }
    }
}

/// Does something; if it panics, the message of that in one line. What it has changed until then may be inconsistent.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| reason(&*panic))
}

/// The message of a panic, in one line.
fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
    let shown: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
    format!("the parser aborted: {shown}")
}
