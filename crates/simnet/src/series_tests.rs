//! Tests of buckets, flatness and the busiest hosts with hand-written records.

use super::*;
use crate::judge::ALWAYS;
use crate::ledger::Question;

/// Requests at times in milliseconds, to hosts 0, 0, 1, 0, 0, 1, …
fn requests(times: impl Iterator<Item = u64>) -> Vec<Request> {
    let request = |(i, ms): (usize, u64)| Request {
        time: ms * 1000,
        host: u32::from(i % 3 == 2),
        ..Request::default()
    };
    times.enumerate().map(request).collect()
}

#[test]
fn an_even_rate_is_flat() {
    let flat = flatness(&requests((0..2_000).map(|i| i * 10)));
    assert_eq!(flat.iter().map(|f| f.window_s).collect::<Vec<_>>(), [0.1, 1.0]);
    assert!(flat.iter().all(|f| f.variation < 1e-9 && (f.requests_per_s - 100.0).abs() < 1e-9), "{flat:?}");
    let bursts = flatness(&requests((0..2_000).map(|i| i / 100 * 1_000)));
    assert!(bursts[0].variation > 2.0 && bursts[1].variation < 1e-9, "{bursts:?}");
    assert!(flatness(&[]).is_empty() && flatness(&requests(0..1)).is_empty());
}

#[test]
fn everything_is_in_a_bucket() {
    let params = Params { hosts: 20, ..Params::default() };
    let world = World::new(&params);
    let mut records = Records { requests: requests((0..900).map(|i| 500 + i * 7)), ..Records::default() };
    records.requests[5].status = 429;
    records.questions = vec![Question { time: 9_000_000, host: 0, qtype: 1, rcode: 0, tcp: false }];
    let series = Series::new(&world, &params, &crate::ports::Ports::default(), &records, &ALWAYS);
    let sum = |counts: &[u32]| counts.iter().sum::<u32>();
    assert_eq!((series.from_s, series.bucket_s, series.requests.len()), (0.5, 0.05, 171));
    assert_eq!((sum(&series.requests), sum(&series.questions), sum(&series.errors)), (900, 1, 1));
    assert_eq!((series.busiest.len(), series.busiest[0].host.as_str()), (2, world.name(0)));
    assert_eq!((sum(&series.busiest[0].requests), sum(&series.busiest[1].requests)), (600, 300));
    assert!(
        sum(&series.violations) > 800 && series.variation.len() == 171 && series.variation[170].is_none()
    );
    let part =
        Series::new(&world, &params, &crate::ports::Ports::default(), &records, &(1_000_000..2_000_000));
    assert_eq!(sum(&part.requests), 143);
    let none = Series::new(&world, &params, &crate::ports::Ports::default(), &records, &(0..1));
    assert_eq!(none, Series::default());
}
