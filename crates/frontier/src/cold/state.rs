//! What is known of a host, as bytes and back, while it is not in memory.
//!
//! Guarantees: a host that comes back is judged as if it had stayed: its clock, its interval, its robots.txt, its marks and its
//! failures are the same. What counts for one process only (failures, addresses by their number) is forgotten by the next one, as it is
//! for hosts that stayed. The name is asked for again.

use std::io;
use std::time::Duration;

use lycosa_url::{Failure, FailureKind, Micros};

use crate::codec::{self, put_bytes, put_number};
use crate::names::Name;
use crate::patience::{Evidence, LastWord};
use crate::politeness::pace::Pace;
use crate::queue::Queue;
use crate::robots::{Robots, RobotsCache};

/// Appends what is known of a host.
pub(crate) fn pack(queue: &Queue, robots: &RobotsCache, into: &mut Vec<u8>) -> io::Result<()> {
    put_number(into, crc32fast::hash(robots.agent().as_bytes()).into());
    queue.pace.pack(into);
    robots.pack(&queue.origins, into)?;
    put_number(into, queue.mark);
    queue.origins.pack_mark(into);
    put_number(into, queue.origins.last_delay().map_or(0, |delay| delay.as_micros() as u64 + 1));
    // What follows counts for this process only.
    for flag in [queue.answered, queue.is_there, queue.doubted] {
        put_number(into, flag.into());
    }
    put_number(into, queue.lives_at.map_or(0, |address| u64::from(address) + 1));
    let failure = match &queue.name {
        Name::Failed { failure, expires } => Some((failure, *expires)),
        _ => None,
    };
    put_number(into, failure.is_some().into());
    failure.into_iter().for_each(|(failure, expires)| put_failure(into, failure, expires));
    put_number(into, queue.trouble.is_some().into());
    queue.trouble.iter().for_each(|evidence| put_evidence(into, evidence));
    let failed: Vec<_> = queue.origins.failed().collect();
    put_number(into, failed.len() as u64);
    for (origin, failure, expires) in failed {
        put_bytes(into, origin.as_bytes());
        put_failure(into, failure, expires);
    }
    // Not in records of the version before.
    let refreshes: Vec<_> = queue.origins.refreshes().collect();
    put_number(into, refreshes.len() as u64);
    for (origin, refresh_at) in refreshes {
        put_bytes(into, origin.as_bytes());
        put_number(into, refresh_at);
    }
    // Nor these.
    let parked: Vec<_> = queue.origins.parked().collect();
    put_number(into, parked.len() as u64);
    for (origin, evidence) in parked {
        put_bytes(into, origin.as_bytes());
        put_evidence(into, evidence);
    }
    queue.pace.forgivable().into_iter().for_each(|number| put_number(into, number));
    Ok(())
}

/// Reads what is known of a host into its queue. `is_same_process`: whether this process packed it.
pub(crate) fn unpack(
    queue: &mut Queue,
    mut from: &[u8],
    is_same_process: bool,
    robots: &mut RobotsCache,
) -> Option<()> {
    if from.is_empty() {
        return Some(());
    }
    let from = &mut from;
    let is_same_agent = codec::small(from)? == crc32fast::hash(robots.agent().as_bytes());
    queue.pace = Pace::unpack(from)?;
    robots.unpack(&mut queue.origins, from, is_same_agent)?;
    queue.mark = codec::number(from)?;
    queue.origins.set_mark(codec::number(from)?, codec::number(from)? != 0);
    let delay = codec::number(from)?.checked_sub(1).map(Duration::from_micros);
    queue.origins.set_last_delay(delay);
    if !is_same_process {
        queue.answered = queue.origins.with_rules().is_some();
        return Some(());
    }
    queue.answered = codec::number(from)? != 0;
    queue.is_there = codec::number(from)? != 0;
    queue.doubted = codec::number(from)? != 0;
    queue.lives_at = match codec::number(from)?.checked_sub(1) {
        Some(address) => Some(address.try_into().ok()?),
        None => None,
    };
    if codec::number(from)? != 0 {
        let (failure, expires) = failure(from)?;
        queue.name = Name::Failed { failure, expires };
    }
    if codec::number(from)? != 0 {
        queue.trouble = Some(Box::new(evidence(from)?));
    }
    for _ in 0..codec::number(from)? {
        let origin = codec::text(from)?;
        let (failure, expires) = failure(from)?;
        queue.origins.set(origin, Robots::Failed { failure, expires });
    }
    if !from.is_empty() {
        for _ in 0..codec::number(from)? {
            let (origin, refresh_at) = (codec::text(from)?, codec::number(from)?);
            queue.origins.set_refresh(origin, refresh_at);
        }
    }
    if !from.is_empty() {
        for _ in 0..codec::number(from)? {
            let origin = codec::text(from)?;
            queue.origins.set(origin, Robots::Parked(Box::new(evidence(from)?)));
        }
        queue.pace.set_forgivable([codec::number(from)?, codec::number(from)?]);
    }
    Some(())
}

/// Appends a failure that counts until then.
fn put_failure(into: &mut Vec<u8>, failure: &Failure, expires: Micros) {
    put_bytes(into, failure.kind.as_str().as_bytes());
    put_bytes(into, failure.detail.as_bytes());
    put_number(into, expires);
}

/// Takes a failure, and until when it counts.
fn failure(from: &mut &[u8]) -> Option<(Failure, Micros)> {
    let (kind, detail) = (FailureKind::from_name(codec::text(from)?)?, codec::text(from)?);
    Some((Failure::new(kind, detail), codec::number(from)?))
}

/// Appends evidence.
fn put_evidence(into: &mut Vec<u8>, evidence: &Evidence) {
    let Evidence { since, last, tries, failure, retry_at, given_up, last_word } = evidence;
    let word = match last_word {
        LastWord::Unasked => 0,
        LastWord::Asked => 1,
        LastWord::Silent => 2,
    };
    put_failure(into, failure, *retry_at);
    for number in [*since, *last, (*tries).into(), given_up.map_or(0, |until| until.saturating_add(1)), word]
    {
        put_number(into, number);
    }
}

/// Takes evidence.
fn evidence(from: &mut &[u8]) -> Option<Evidence> {
    let (failure, retry_at) = failure(from)?;
    let (since, last, tries) = (codec::number(from)?, codec::number(from)?, codec::small(from)?);
    let given_up = codec::number(from)?.checked_sub(1);
    let last_word = match codec::number(from)? {
        0 => LastWord::Unasked,
        1 => LastWord::Asked,
        2 => LastWord::Silent,
        _ => return None,
    };
    Some(Evidence { since, last, tries, failure, retry_at, given_up, last_word })
}
