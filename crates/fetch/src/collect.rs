//! Receives bodies, whatever the transport: within the limits of size and memory.

use bytes::Bytes;
use lycosa_url::{Failure, FailureKind};

use crate::budget::{Budget, Claim};
use crate::progress::Progress;
use crate::transport::BodyReader;

/// Maximum initial allocation for a body, whatever its Content-Length: most pages fit, and thousands of servers that promise more than
/// they send hold little.
const FIRST_BODY_BYTES: usize = 256 << 10;

/// What has been received of a body, with its part of the memory budget.
pub(crate) struct Collected<'b> {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    claim: Claim<'b>,
}

impl<'b> Collected<'b> {
    /// Nothing yet.
    pub(crate) fn new(budget: &'b Budget) -> Self {
        Collected { bytes: Vec::new(), claim: budget.claim() }
    }

    /// Receives a body, after what is there already; fails as soon as all is known to be larger than `limit`, or `check`, which sees all
    /// that is there, fails. While all bodies together have reached the memory budget, reading is paused.
    pub(crate) async fn receive(
        &mut self,
        body: &mut impl BodyReader,
        limit: usize,
        progress: &Progress,
        mut check: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let too_large = || Failure::new(FailureKind::BodyTooLarge, format!("more than {limit} bytes"));
        let promised = usize::try_from(body.promised()).unwrap_or(usize::MAX);
        if promised > limit.saturating_sub(self.bytes.len()) {
            return Err(too_large());
        }
        let mut has_waited = false;
        self.bytes.reserve_exact(promised.min(FIRST_BODY_BYTES));
        loop {
            let data = match body.read().await {
                Ok(Some(data)) => data,
                Ok(None) => return Ok(()),
                // The server closed because we had paused.
                Err(failure) if has_waited && failure.kind == FailureKind::ConnectionClosed => {
                    let detail = "closed by the server while waiting for memory";
                    return Err(Failure::new(FailureKind::Cancelled, detail));
                }
                Err(failure) => return Err(failure),
            };
            if data.len() > limit.saturating_sub(self.bytes.len()) {
                return Err(too_large());
            }
            if !self.claim.grow_now(data.len()) {
                has_waited = true;
                progress.watch.pause(progress.now());
                self.claim.grow(data.len()).await;
                progress.watch.resume(progress.now());
            }
            self.bytes.extend_from_slice(&data);
            check(&self.bytes)?;
        }
    }

    /// The body, whose memory is the caller's from now on.
    pub(crate) fn finish(self) -> Bytes {
        Bytes::from(self.bytes.into_boxed_slice())
    }
}
