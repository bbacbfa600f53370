//! What the dedup tree costs: memory a key, nanoseconds a new and a known key. `seen_cost COUNT`

use lycosa_frontier::{Answer, Seen};
use lycosa_url::Digest;

/// Digests as evenly spread as MD5's, made fast enough not to be measured.
fn digests(from: u64, count: u64) -> Vec<Digest> {
    let mix = |mut z: u64| {
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let digest = |n: u64| {
        (u128::from(mix(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))) << 64 | u128::from(mix(!n))).to_le_bytes()
    };
    (from..from + count).map(digest).collect()
}

/// CPU time of this thread, in seconds.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_ascii_whitespace().next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

/// Resident memory of this process, in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}

fn main() {
    const BATCH: u64 = 10_000;
    let count: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let before = resident();
    let mut seen = Seen::default();
    for round in ["new", "known"] {
        let mut seconds = 0.0;
        for from in (0..count).step_by(BATCH as usize) {
            let batch = digests(from, BATCH);
            let start = processor_time();
            let new = seen.add(&batch);
            seconds += processor_time() - start;
            assert!(new.iter().all(|answer| (*answer == Answer::New) == (round == "new")));
        }
        println!(
            "{round}: {:.0} ns a key, {:.2} bytes a key resident, {:.2} by count",
            seconds * 1e9 / count as f64,
            (resident() - before) / count as f64,
            seen.memory() as f64 / count as f64
        );
    }
}
