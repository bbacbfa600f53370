//! One request: its exchange with a server up to the end of the body, and further ones for the rest of a body that breaks off.

use std::pin::pin;
use std::time::Duration;

use lycosa_records::{Received, Request};
use lycosa_url::{Clock, Failure, FailureKind, Micros};
use tokio::time::sleep;

use crate::budget::Budget;
use crate::collect::Collected;
use crate::media_types::{MediaTypes, Verdict};
use crate::progress::{Progress, since};
use crate::resume::{self, Kind, Rest};
use crate::settings::{Settings, micros};
use crate::transport::{Answer, BodyReader, Transport};

/// Runs requests on a transport, within the limits of bodies.
pub(crate) struct Exchanges<T> {
    /// What sends requests.
    pub(crate) transport: T,
    /// The memory of bodies.
    pub(crate) budget: Budget,
    clock: Clock,
    max_body_bytes: usize,
    resume_bytes: Option<usize>,
    resume_pause: Micros,
    media_types: MediaTypes,
}

impl<T: Transport> Exchanges<T> {
    /// Exchanges with the limits of these settings.
    pub(crate) fn new(settings: &Settings, transport: T, budget: Budget) -> Self {
        Exchanges {
            transport,
            budget,
            clock: settings.clock,
            max_body_bytes: settings.max_body_bytes,
            resume_bytes: settings.resume_bytes,
            resume_pause: micros(settings.resume_pause),
            media_types: settings.media_types.clone(),
        }
    }

    /// Runs a request up to the end of the response's body, within its time-outs.
    pub(crate) async fn run(&self, request: &Request, progress: &Progress) -> Result<Received, Failure> {
        let mut part = None;
        let begun = progress.guard(pin!(self.begin(request, progress, &mut part))).await;
        match begun {
            Ok(()) => {}
            // Most failures have no part of a body.
            Err(failure) => match part {
                Some(_) => {
                    // Boxed: few bodies break off, and its state is large.
                    Box::pin(self.go_on(request, failure, progress, &mut part)).await?;
                    self.check_type(request, part.as_ref())?;
                }
                None => return Err(failure),
            },
        }
        let Some(Part { mut received, body, arrived }) = part else { return Err(nothing()) };
        received.body = body.finish().into();
        progress.times(|times| times.body_us = since(arrived, self.clock.now()));
        Ok(received)
    }

    /// Receives a whole response into `part`.
    async fn begin<'b>(
        &'b self,
        request: &Request,
        progress: &Progress,
        part: &mut Option<Part<'b>>,
    ) -> Result<(), Failure> {
        let answer = self.transport.exchange(request, progress).await?;
        self.receive(request, answer, progress, part).await
    }

    /// Receives the body of a whole response into `part`, in place of what is there.
    async fn receive<'b>(
        &'b self,
        request: &Request,
        Answer { received, mut body }: Answer<impl BodyReader>,
        progress: &Progress,
        part: &mut Option<Part<'b>>,
    ) -> Result<(), Failure> {
        let arrived = self.clock.now();
        let mut verdict = self.media_types.check_head(request, &received)?;
        *part = None; // releases its memory
        let Part { received, body: collected, .. } =
            part.insert(Part { received, body: Collected::new(&self.budget), arrived });
        let check = |bytes: &[u8]| {
            if matches!(verdict, Verdict::Open(length) if bytes.len() >= length) {
                verdict = self.media_types.check_body(&received.head, bytes)?;
            }
            Ok(())
        };
        collected.receive(&mut body, self.max_body_bytes, progress, check).await?;
        if verdict != Verdict::Wanted {
            self.media_types.check_body(&received.head, &collected.bytes)?;
        }
        Ok(())
    }

    /// Asks for the rest of a body, as long as it breaks off, after a pause, which doubles. Fails with the first failure if that is in
    /// vain.
    async fn go_on<'b>(
        &'b self,
        request: &Request,
        mut failure: Failure,
        progress: &Progress,
        part: &mut Option<Part<'b>>,
    ) -> Result<(), Failure> {
        if !matches!(failure.kind, FailureKind::ConnectionClosed | FailureKind::ReadTimeout) {
            return Err(failure);
        }
        for attempt in 0..resume::ATTEMPTS {
            let Some(rest) = self.rest(request, part.as_ref()) else { break };
            let pause = request.interval.max(self.resume_pause).saturating_mul(1 << attempt);
            if progress.left() <= pause {
                break;
            }
            progress.resting();
            let rested = async {
                sleep(Duration::from_micros(pause)).await;
                Ok(())
            };
            progress.guard(pin!(rested)).await?;
            let (_, times) = progress.facts();
            let ended = progress.guard(pin!(self.add(&rest, progress, part))).await;
            progress.times(|now| *now = times); // those of the response's head
            use FailureKind as K;
            match ended {
                Ok(None) => return Ok(()),
                Ok(Some(why)) => {
                    failure.detail = format!("{}; its rest could not be had: {why}", failure.detail);
                    break;
                }
                Err(again)
                    if matches!(again.kind, K::Cancelled | K::Timeout | K::BodyTooLarge | K::ContentType) =>
                {
                    return Err(again);
                }
                // It broke off once more, or there was no connection.
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Checks the media type of a body that was received in parts: the first one may have been too short to tell.
    fn check_type(&self, request: &Request, part: Option<&Part<'_>>) -> Result<(), Failure> {
        let Some(Part { received, body, .. }) = part else { return Ok(()) };
        match self.media_types.check_head(request, received)? {
            Verdict::Wanted => Ok(()),
            _ => self.media_types.check_body(&received.head, &body.bytes).map(drop),
        }
    }

    /// The rest of a part that is worth asking for.
    fn rest(&self, request: &Request, part: Option<&Part<'_>>) -> Option<Rest> {
        let Part { received, body, .. } = part?;
        let is_worth = self.resume_bytes.is_some_and(|least| body.bytes.len() >= least.max(1));
        if is_worth { Rest::of(request, received, body.bytes.len() as u64) } else { None }
    }

    /// Asks for the rest of a part and adds it; returns why the answer is of no use, if it is not.
    async fn add<'b>(
        &'b self,
        rest: &Rest,
        progress: &Progress,
        part: &mut Option<Part<'b>>,
    ) -> Result<Option<String>, Failure> {
        let answer = self.transport.exchange(&rest.request, progress).await.map_err(|failure| {
            // A reused connection was closed. The request does not go back to its queue for that: a part is there.
            let is_reused = failure.kind == FailureKind::Cancelled;
            let kind = if is_reused { FailureKind::ConnectionClosed } else { failure.kind };
            Failure { kind, ..failure }
        })?;
        let length = match rest.judge(&answer.received) {
            Kind::Neither(why) => return Ok(Some(why)),
            Kind::Other => return self.receive(&rest.request, answer, progress, part).await.map(|()| None),
            Kind::Rest(length) => length,
        };
        let Some(Part { body: collected, .. }) = part else { return Err(nothing()) };
        let mut body = answer.body;
        let is_more = |bytes: &[u8]| bytes.len() as u64 > length;
        let check = |bytes: &[u8]| {
            let detail = "the server sent more than the range";
            if is_more(bytes) { Err(Failure::new(FailureKind::Protocol, detail)) } else { Ok(()) }
        };
        let received = collected.receive(&mut body, self.max_body_bytes, progress, check).await;
        if is_more(&collected.bytes) {
            return Ok(Some("the server sent more than the range".to_owned()));
        }
        received?;
        if (collected.bytes.len() as u64) < length {
            let detail = "the server sent less than the rest";
            return Err(Failure::new(FailureKind::ConnectionClosed, detail));
        }
        Ok(None)
    }
}

/// A response whose body may be a part.
struct Part<'b> {
    /// The response, without its body.
    received: Received,
    body: Collected<'b>,
    /// When its head was received.
    arrived: Micros,
}

/// The failure of a response that is not there, which cannot be.
fn nothing() -> Failure {
    Failure::new(FailureKind::Internal, "no response")
}
