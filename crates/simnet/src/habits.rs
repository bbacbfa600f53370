//! Bad habits: judgements that need all requests to a host, not only consecutive ones.

use std::collections::BTreeMap;

use crate::judge::{EXAMPLES, Judge, TOLERANCE, seconds};
use crate::ledger::{Kind, NONE, Request};
use crate::report::{Habit, Habits, Ignored, SpeedUp};
use crate::verdict::is_plea;

/// Number of intervals compared before and after a 429 or 503.
const NEAR: usize = 5;

/// Minimum of intervals before and after: fewer are not significant.
const ENOUGH: usize = 3;

/// An interval below this share of the earlier one counts as deliberately shorter.
const FASTER: f64 = 0.9;

/// A crawler with this multiple of the minimum interval after a 429 or 503 is slow enough.
const COURTEOUS: f64 = 2.0;

/// A host's requests.
#[derive(Default)]
struct Visits {
    /// Time and status of each.
    requests: Vec<(u64, u16)>,
    /// Whether one was for robots.txt.
    robots: bool,
    /// Whether one was for a URL to which robots rules apply.
    pages: bool,
}

/// Finds habits in requests in order of time; hosts without a request from `since` on are ignored.
pub(crate) fn find(judge: &Judge<'_>, requests: &[Request], since: u64) -> Habits {
    let mut hosts: BTreeMap<u32, Visits> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.host != NONE) {
        let visits = hosts.entry(request.host).or_default();
        visits.requests.push((request.time, request.status));
        visits.robots |= request.kind == Kind::Robots;
        visits.pages |= matches!(request.kind, Kind::Page | Kind::Unknown | Kind::Trap);
    }
    let mut habits = Habits::default();
    for (&host, visits) in &hosts {
        if visits.requests.last().is_none_or(|(time, _)| *time < since) {
            continue;
        }
        let name = || judge.name(host).to_owned();
        let gaps: Vec<f64> = visits.requests.windows(2).map(|pair| seconds(pair[1].0 - pair[0].0)).collect();
        let allowed_s = judge.interval(host);
        if visits.pages {
            enter(&mut habits.robots_never_asked, !visits.robots, name);
        }
        if judge.has_delay(host) && !gaps.is_empty() {
            let median_s = median(&gaps);
            let ignored =
                || Ignored { key: name(), allowed_s, median_s, requests: visits.requests.len() as u64 };
            enter(&mut habits.crawl_delay_ignored, median_s < allowed_s * TOLERANCE, ignored);
        }
        match speeds_up(&visits.requests, &gaps, allowed_s) {
            Some(Some((at, before_s, after_s))) => {
                let (time, status) = visits.requests[at];
                let found = || SpeedUp { key: name(), at_s: seconds(time), status, before_s, after_s };
                enter(&mut habits.speeding_up, true, found);
            }
            Some(None) => habits.speeding_up.of += 1,
            None => {}
        }
    }
    habits
}

/// Counts a host and stores the first examples.
fn enter<T>(habit: &mut Habit<T>, guilty: bool, example: impl FnOnce() -> T) {
    habit.of += 1;
    if guilty {
        habit.hosts += 1;
        if habit.first.len() < EXAMPLES {
            habit.first.push(example());
        }
    }
}

/// Finds the first 429 or 503 after which requests came faster than before, with the intervals before and
/// after; `None` if none can be judged.
///
/// To exclude chance, the median of the intervals after is compared with the *shortest* one before.
fn speeds_up(requests: &[(u64, u16)], gaps: &[f64], allowed_s: f64) -> Option<Option<(usize, f64, f64)>> {
    let mut judged = None;
    for (at, _) in requests.iter().enumerate().filter(|(_, (_, status))| is_plea(*status)) {
        // gaps[at] is the first interval after request `at`.
        let before = &gaps[at.saturating_sub(NEAR)..at];
        let after = &gaps[at..(at + NEAR).min(gaps.len())];
        if before.len() < ENOUGH || after.len() < ENOUGH {
            continue;
        }
        let before_s = before.iter().copied().fold(f64::INFINITY, f64::min);
        let after_s = median(after);
        if after_s < before_s * FASTER && after_s < allowed_s * COURTEOUS {
            return Some(Some((at, before_s, after_s)));
        }
        judged = Some(None);
    }
    judged
}

/// The median; the upper of two; 0 if empty.
fn median(gaps: &[f64]) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
#[path = "habits_tests.rs"]
mod tests;
