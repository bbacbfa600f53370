//! Clocks. Rules take the time as an argument, so that tests can advance it.
//!
//! A crawl has one [`Clock`]. It starts with the machine's Unix time when the crawl begins and advances with
//! CLOCK_BOOTTIME: NTP steps and changes of the wall clock do not affect it, and time in which the machine is
//! suspended counts. The next process continues it ([`Clock::resume`]), so that a delay that a site asked for
//! ends on time, whatever happens to the wall clock. Records, and data shared with other programs, have wall
//! time ([`Clock::to_wall`]).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch.
pub type Micros = u64;

/// Up to this difference, in microseconds, wall time and the crawl's time count as equal: NTP steps are
/// larger (128 ms, RFC 5905), and the delay between two readings is smaller.
const SAME: i64 = 100_000;

/// A crawl's clock. Copies have the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Added to the time since boot.
    origin: i64,
}

/// Readings of all clocks at one moment, from which a later process continues the crawl's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The machine's boot ID (Linux: `/proc/sys/kernel/random/boot_id`); empty if unknown.
    pub boot_id: String,
    /// Microseconds since boot, including suspended time.
    pub boottime_us: i64,
    /// The crawl's time.
    pub now_us: Micros,
    /// Wall time.
    pub wall_us: Micros,
}

impl Clock {
    /// The clock of this process if it resumes no crawl: Unix time at the first call, advanced from there.
    pub fn shared() -> Self {
        static ORIGIN: OnceLock<i64> = OnceLock::new();
        let source = Source::Machine;
        Clock { source, origin: *ORIGIN.get_or_init(|| source.wall().saturating_sub(source.boottime())) }
    }

    /// A clock that starts at `wall_us` and is advanced by its script only; for tests.
    pub fn scripted(wall_us: Micros) -> (Self, &'static Script) {
        // Leaked: clocks are copied freely.
        let script: &'static Script = Box::leak(Box::default());
        script.wall.store(signed(wall_us), Relaxed);
        let source = Source::Scripted(script);
        (Clock { source, origin: signed(wall_us) }, script)
    }

    /// Continues the time of an earlier process, on this machine or another. `boot_id`: of the current boot.
    ///
    /// If both ran in the same boot, the time between is exact. Otherwise it is the wall clock's difference,
    /// or 0 if that is negative.
    #[must_use]
    pub fn resume(self, earlier: &Anchor, boot_id: &str) -> Self {
        let boottime = self.source.boottime();
        let is_same_boot =
            earlier.boot_id == boot_id && !boot_id.is_empty() && boottime >= earlier.boottime_us;
        let passed = match is_same_boot {
            true => boottime.saturating_sub(earlier.boottime_us),
            false => self.source.wall().saturating_sub(signed(earlier.wall_us)).max(0),
        };
        Clock { origin: signed(earlier.now_us).saturating_add(passed).saturating_sub(boottime), ..self }
    }

    /// The anchor for [`Clock::resume`] in a later process. `boot_id`: of the current boot.
    pub fn anchor(&self, boot_id: &str) -> Anchor {
        let boottime_us = self.source.boottime();
        let now_us = unsigned(boottime_us.saturating_add(self.origin));
        Anchor { boot_id: boot_id.to_owned(), boottime_us, now_us, wall_us: self.wall() }
    }

    /// The crawl's time: for intervals, time-outs and deadlines. It never decreases.
    pub fn now(&self) -> Micros {
        self.at_boottime(self.source.boottime())
    }

    /// The crawl's time at a time since boot, in microseconds, including suspended time.
    pub fn at_boottime(&self, boottime_us: i64) -> Micros {
        unsigned(boottime_us.saturating_add(self.origin))
    }

    /// The wall clock's time, which may be set: for records, and for other programs.
    pub fn wall(&self) -> Micros {
        unsigned(self.source.wall())
    }

    /// How far the wall clock is ahead of the crawl's time, in microseconds; 0 if the difference is below 100
    /// ms.
    pub fn wall_offset(&self) -> i64 {
        let offset = self.source.wall().saturating_sub(signed(self.now()));
        if offset.abs() < SAME { 0 } else { offset }
    }

    /// Converts the crawl's time to wall time, by the current offset.
    pub fn to_wall(&self, at: Micros) -> Micros {
        at.saturating_add_signed(self.wall_offset())
    }

    /// Converts wall time to the crawl's time, by the current offset.
    pub fn from_wall(&self, at: Micros) -> Micros {
        at.saturating_add_signed(self.wall_offset().saturating_neg())
    }
}

/// The source of time.
#[derive(Clone, Copy, Debug)]
enum Source {
    Machine,
    Scripted(&'static Script),
}

impl Source {
    /// Microseconds since boot, including suspended time.
    fn boottime(self) -> i64 {
        match self {
            // On other systems this clock counts suspended time, or the system has no clock that does.
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            Source::Machine => read(ClockId::CLOCK_MONOTONIC),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Source::Machine => read(ClockId::CLOCK_BOOTTIME),
            Source::Scripted(script) => script.boottime.load(Relaxed),
        }
    }

    /// Microseconds since the Unix epoch.
    fn wall(self) -> i64 {
        match self {
            Source::Machine => read(ClockId::CLOCK_REALTIME),
            Source::Scripted(script) => script.wall.load(Relaxed),
        }
    }
}

/// Controls a scripted clock.
#[derive(Debug, Default)]
pub struct Script {
    boottime: AtomicI64,
    wall: AtomicI64,
}

impl Script {
    /// Advances boot time and wall time.
    pub fn advance(&self, time: Duration) {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        self.boottime.fetch_add(micros, Relaxed);
        self.wall.fetch_add(micros, Relaxed);
    }

    /// Sets the wall clock forward or back by `seconds`.
    pub fn step(&self, seconds: i64) {
        self.wall.fetch_add(seconds.saturating_mul(1_000_000), Relaxed);
    }

    /// Reboots the machine: boot time restarts at 0.
    pub fn reboot(&self) {
        self.boottime.store(0, Relaxed);
    }
}

/// Microseconds since boot, including suspended time: the same for all processes.
pub fn boottime() -> i64 {
    Source::Machine.boottime()
}

/// The CPU time that the calling thread has used.
pub fn thread_cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Reads a system clock, in microseconds. The clocks used here cannot fail on systems that have them.
fn read(id: ClockId) -> i64 {
    clock_gettime(id)
        .map_or(0, |time| time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_nsec() / 1_000))
}

/// A time as a signed number, for subtraction.
fn signed(at: Micros) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// A signed number as a time; 0 if it is negative.
fn unsigned(at: i64) -> Micros {
    Micros::try_from(at).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Micros = 1_800_000_000_000_000;
    const HOUR: i64 = 3_600;

    /// Seconds.
    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_wall_clock_that_is_set_moves_what_is_recorded_and_no_interval() {
        for step in [HOUR, -HOUR, 10 * 365 * 24 * HOUR] {
            let (clock, script) = Clock::scripted(START);
            script.advance(seconds(10));
            assert_eq!((clock.now(), clock.wall_offset()), (START + 10_000_000, 0));
            script.step(step);
            assert_eq!(clock.now(), START + 10_000_000, "no interval ends earlier or later");
            assert_eq!(clock.wall_offset(), step * 1_000_000);
            assert_eq!(clock.wall(), clock.to_wall(clock.now()));
            assert_eq!(clock.from_wall(clock.to_wall(START)), START);
            script.advance(seconds(5));
            assert_eq!(clock.now(), START + 15_000_000);
        }
    }

    #[test]
    fn a_slewed_wall_clock_is_not_one_that_was_set() {
        let (clock, script) = Clock::scripted(START);
        script.wall.fetch_add(SAME - 1, Relaxed);
        assert_eq!((clock.wall_offset(), clock.to_wall(START)), (0, START));
        script.wall.fetch_add(1, Relaxed);
        assert_eq!(clock.wall_offset(), SAME);
    }

    #[test]
    fn a_crawl_goes_on_with_its_time_whatever_was_done_to_the_wall_clock_meanwhile() {
        for step in [0, HOUR, -HOUR, -400 * 24 * HOUR] {
            let (first, script) = Clock::scripted(START);
            script.advance(seconds(60));
            let anchor = first.anchor("one start");
            script.step(step);
            script.advance(seconds(7));
            // Another process has another origin.
            let second = Clock { origin: 5, ..first }.resume(&anchor, "one start");
            assert_eq!(second.now(), START + 67_000_000);
            assert_eq!(second.wall_offset(), step * 1_000_000, "recorded times follow the wall clock");
        }
    }

    #[test]
    fn after_another_start_of_the_machine_the_wall_clock_tells_the_time_between_and_never_less_than_none() {
        for (step, passed) in [(0, 7), (HOUR, 7 + 3_600), (-HOUR, 0)] {
            let (first, script) = Clock::scripted(START);
            script.advance(seconds(60));
            let anchor = first.anchor("one start");
            script.reboot();
            script.step(step);
            script.advance(seconds(7));
            assert_eq!(first.resume(&anchor, "another").now(), START + 60_000_000 + passed * 1_000_000);
        }
        // Without boot IDs, two boots count as different.
        let (first, script) = Clock::scripted(START);
        let anchor = first.anchor("");
        script.step(30);
        assert_eq!(first.resume(&anchor, "").now(), START + 30_000_000);
    }

    #[test]
    fn an_anchor_is_kept_as_text_and_one_from_the_end_of_time_is_no_panic() {
        let anchor =
            Anchor { boot_id: "a".into(), boottime_us: i64::MIN, now_us: u64::MAX, wall_us: u64::MAX };
        let text = serde_json::to_string(&anchor).unwrap();
        assert_eq!(serde_json::from_str::<Anchor>(&text).unwrap(), anchor);
        let (clock, _) = Clock::scripted(START);
        for boot_id in ["a", "b"] {
            let resumed = clock.resume(&anchor, boot_id);
            let _ = (resumed.now(), resumed.wall_offset(), resumed.to_wall(u64::MAX), resumed.from_wall(0));
        }
    }

    #[test]
    fn the_clocks_of_a_process_agree_and_go_by_the_time_since_the_machines_start() {
        let (one, other) = (Clock::shared(), Clock::shared());
        let (before, since) = (one.now(), Source::Machine.boottime());
        let (after, passed) = (other.now(), Source::Machine.boottime() - since);
        assert!(
            before <= after && after - before <= unsigned(passed) + 1_000_000,
            "{before} {after} {passed}"
        );
        assert_eq!(one.origin, other.origin);
        #[cfg(target_os = "linux")]
        {
            let text = std::fs::read_to_string("/proc/uptime").unwrap();
            let uptime: f64 = text.split(' ').next().unwrap().parse().unwrap();
            let shown = Source::Machine.boottime() as f64 / 1e6;
            // The kernel's uptime counts suspended time (proc(5)).
            assert!((shown - uptime).abs() < 5.0, "{shown} {uptime}");
        }
    }
}
