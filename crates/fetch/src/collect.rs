//! Receives bodies, whatever the transport: within the limits of size and memory.

use bytes::Bytes;
use lycosa_url::{Failure, FailureKind};

use crate::budget::Budget;
use crate::progress::Progress;
use crate::transport::BodyReader;

/// Maximum initial allocation for a body, whatever its Content-Length.
const FIRST_BODY_BYTES: usize = 1 << 20;

/// Receives a body into memory of its own; fails as soon as the body is known to be larger than `limit`. While all bodies
/// together have reached the memory budget, reading is paused.
pub(crate) async fn collect(
    body: &mut impl BodyReader,
    limit: usize,
    budget: &Budget,
    progress: &Progress,
) -> Result<Bytes, Failure> {
    let too_large = || Failure::new(FailureKind::BodyTooLarge, format!("more than {limit} bytes"));
    let promised = usize::try_from(body.promised()).unwrap_or(usize::MAX);
    if promised > limit {
        return Err(too_large());
    }
    let (mut claim, mut has_waited) = (budget.claim(), false);
    let mut bytes = Vec::with_capacity(promised.min(FIRST_BODY_BYTES));
    loop {
        let data = match body.read().await {
            Ok(Some(data)) => data,
            Ok(None) => return Ok(Bytes::from(bytes.into_boxed_slice())),
            // The server closed because we had paused.
            Err(failure) if has_waited && failure.kind == FailureKind::ConnectionClosed => {
                let detail = "closed by the server while waiting for memory";
                return Err(Failure::new(FailureKind::Cancelled, detail));
            }
            Err(failure) => return Err(failure),
        };
        if data.len() > limit - bytes.len() {
            return Err(too_large());
        }
        if !claim.grow_now(data.len()) {
            has_waited = true;
            progress.watch.pause(progress.now());
            claim.grow(data.len()).await;
            progress.watch.resume(progress.now());
        }
        bytes.extend_from_slice(&data);
    }
}
