//! A panic while one page is decoded or parsed is that page's outcome: parsers are other people's code, and a page that broke
//! one off would end the crawl, now and after each restart.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lycosa_records::{Outcome, Response};
use lycosa_url::{Failure, FailureKind};

/// Makes a response's outcome; where `fill` panics, its result is [`FailureKind::ParseFailed`] and nothing of it is kept.
pub fn guard(response: Response, fill: impl FnOnce(&mut Outcome)) -> Outcome {
    let mut outcome = Outcome::new(response);
    // What `fill` left half done is dropped below, but for the response, of which only the result can have changed.
    match catch_unwind(AssertUnwindSafe(|| fill(&mut outcome))) {
        Ok(()) => outcome,
        Err(panic) => {
            let failure = Failure::new(FailureKind::ParseFailed, reason(&*panic));
            Outcome::new(Response { result: Err(failure), ..outcome.response })
        }
    }
}

/// What a panic says, in one line.
fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
    let shown: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
    format!("the parser broke off: {shown}")
}
