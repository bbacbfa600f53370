//! The ledger over time: data for a plot, and the flatness of the request rate.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;

use crate::judge::{Judge, seconds};
use crate::ledger::{NONE, Records, Request};
use crate::params::Params;
use crate::ports::Ports;
use crate::report::Flatness;
use crate::verdict::Verdicts;
use crate::world::World;

/// Maximum of buckets in a plot.
const BUCKETS: u64 = 400;

/// Number of hosts with a curve of their own.
const BUSIEST: usize = 6;

/// Number of buckets over which a plot's flatness is computed.
const SLIDING: usize = 20;

/// Number of windows for flatness: fewer are not significant, more need too much memory.
const WINDOWS: Range<u64> = 5..5_000_000;

/// A ledger in buckets of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Start of the first bucket, in seconds of the wall clock.
    pub from_s: f64,
    /// Length of a bucket.
    pub bucket_s: f64,
    /// Requests in each bucket.
    pub requests: Vec<u32>,
    /// Responses with status 429 or from 500 on.
    pub errors: Vec<u32>,
    /// Requests with a violation.
    pub violations: Vec<u32>,
    /// DNS questions.
    pub questions: Vec<u32>,
    /// Coefficient of variation of requests in the buckets around each; `None` without requests.
    pub variation: Vec<Option<f64>>,
    /// The hosts with most requests, busiest first.
    pub busiest: Vec<Busy>,
}

/// A host with many requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Busy {
    /// Its name.
    pub host: String,
    /// Requests in each bucket.
    pub requests: Vec<u32>,
}

impl Series {
    /// Counts the records of a window; records must be in order of time.
    pub fn new(
        world: &World,
        params: &Params,
        ports: &Ports,
        records: &Records,
        window: &Range<u64>,
    ) -> Self {
        let judge = Judge { world, params, ports, strings: &records.strings };
        let times = || {
            let requests = records.requests.iter().map(|request| request.time);
            requests
                .chain(records.questions.iter().map(|question| question.time))
                .filter(|at| window.contains(at))
        };
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return Self::default() };
        let bucket = bucket(last - first);
        let start = first - first % bucket;
        let count = ((last - start) / bucket + 1) as usize;
        let at = |time: u64| ((time - start) / bucket) as usize;
        let empty = || vec![0_u32; count];
        let mut series = Self {
            from_s: seconds(start),
            bucket_s: seconds(bucket),
            requests: empty(),
            errors: empty(),
            violations: empty(),
            questions: empty(),
            ..Self::default()
        };
        let mut hosts: HashMap<u32, u64> = HashMap::new();
        let mut verdicts = Verdicts::new(&judge);
        for request in &records.requests {
            let verdict = verdicts.next(request);
            if window.contains(&request.time) {
                let at = at(request.time);
                series.requests[at] += 1;
                series.errors[at] += u32::from(request.status == 429 || request.status >= 500);
                series.violations[at] += u32::from(!verdict.offences().is_empty());
                *hosts.entry(request.host).or_default() += 1;
            }
        }
        hosts.remove(&NONE);
        let mut hosts: Vec<_> = hosts.into_iter().collect();
        hosts.sort_by_key(|&(host, requests)| (std::cmp::Reverse(requests), host));
        hosts.truncate(BUSIEST);
        series.busiest = hosts
            .iter()
            .map(|&(host, _)| Busy { host: judge.name(host).to_owned(), requests: empty() })
            .collect();
        let places: HashMap<u32, usize> =
            hosts.iter().enumerate().map(|(place, &(host, _))| (host, place)).collect();
        for request in records.requests.iter().filter(|request| window.contains(&request.time)) {
            if let Some(&place) = places.get(&request.host) {
                series.busiest[place].requests[at(request.time)] += 1;
            }
        }
        for question in records.questions.iter().filter(|question| window.contains(&question.time)) {
            series.questions[at(question.time)] += 1;
        }
        series.variation = (0..count)
            .map(|at| {
                let around = at.saturating_sub(SLIDING / 2)..(at + SLIDING / 2).min(count);
                variation(series.requests[around].iter().copied()).map(|(_, variation)| variation)
            })
            .collect();
        series
    }
}

/// How evenly requests (in order of time) were distributed, over windows of 0.1 s to a minute, if there are enough windows.
pub(crate) fn flatness(requests: &[Request]) -> Vec<Flatness> {
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return Vec::new() };
    let span = last.time - first.time;
    let of = |window: u64| {
        let windows = span / window;
        let mut counts = vec![0_u32; windows as usize];
        for request in requests {
            // The last, incomplete window is ignored.
            if let Some(count) = counts.get_mut(((request.time - first.time) / window) as usize) {
                *count += 1;
            }
        }
        let (mean, variation) = variation(counts.iter().copied())?;
        let window_s = seconds(window);
        Some(Flatness { window_s, windows, requests_per_s: mean / window_s, variation })
    };
    let lengths = [100_000, 1_000_000, 10_000_000, 60_000_000];
    lengths.into_iter().filter(|length| WINDOWS.contains(&(span / length))).filter_map(of).collect()
}

/// Mean and coefficient of variation; `None` if the mean is 0.
fn variation(counts: impl Iterator<Item = u32> + Clone) -> Option<(f64, f64)> {
    let number = counts.clone().count() as f64;
    let mean = counts.clone().map(f64::from).sum::<f64>() / number;
    let variance = counts.map(|count| (f64::from(count) - mean).powi(2)).sum::<f64>() / number;
    (mean > 0.0).then(|| (mean, variance.sqrt() / mean))
}

/// Length of a bucket: 1, 2 or 5 times a power of ten microseconds, at least 10 ms.
fn bucket(span: u64) -> u64 {
    let mut length = 10_000;
    loop {
        for bucket in [length, length * 2, length * 5] {
            if span / bucket < BUCKETS {
                return bucket;
            }
        }
        length *= 10;
    }
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
