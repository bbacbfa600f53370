//! Tests of time-outs.

use super::*;

const LIMITS: Limits = Limits { connect: 100, read: 300, total: 1_000 };

/// Limits that are long compared with ten ticks of 5 ms.
const LONG: Limits = Limits { connect: 500_000, read: 600_000, total: 900_000 };

#[test]
fn each_stage_has_its_own_limit() {
    let verdict = |stage, since, now| LIMITS.verdict(stage, 0, since, now);
    assert_eq!(verdict(Stage::Connecting, 0, 99), None);
    assert_eq!(verdict(Stage::Connecting, 0, 100), Some(FailureKind::ConnectTimeout));
    assert_eq!(verdict(Stage::Talking, 100, 399), None);
    assert_eq!(verdict(Stage::Talking, 100, 400), Some(FailureKind::ReadTimeout));
    assert_eq!(verdict(Stage::Talking, 950, 1_000), Some(FailureKind::Timeout));
}

#[test]
fn a_pause_of_ours_is_not_the_servers_silence_but_the_lease_ends_all_the_same() {
    let (watch, wire) = (Watch::new(LIMITS), Rc::new(Wire::default()));
    watch.begin(0, 5_000);
    watch.talking(&wire, 10);
    watch.pause(100);
    watch.look(4_000);
    watch.resume(4_000);
    watch.look(4_200);
    assert_eq!(watch.rung.get(), None, "90 before the pause and 200 after it");
    watch.look(4_250);
    assert_eq!(watch.rung.get(), Some(FailureKind::ReadTimeout));
    watch.begin(0, 5_000);
    watch.pause(100);
    watch.look(5_000);
    assert_eq!(watch.rung.get(), Some(FailureKind::Cancelled));
}

#[test]
fn the_time_in_which_the_process_was_stopped_is_nobodys_silence() {
    let (watch, wire) = (Watch::new(LONG), Rc::new(Wire::default()));
    watch.begin(0, 60_000_000);
    watch.talking(&wire, 0);
    watch.look(100_000);
    // Stopped for 50 s. What the server sent meanwhile is unread.
    watch.look(50_100_000);
    assert_eq!(watch.rung.get(), None);
    let mut now = 50_100_000;
    while watch.rung.get().is_none() {
        now += 100_000;
        watch.look(now);
    }
    let silent = now - 50_000_000;
    assert_eq!((watch.rung.get(), silent), (Some(FailureKind::ReadTimeout), LONG.read));
    // Stopped until after the lease expired: received data can still be read before the next check.
    watch.begin(now, now + 10_000_000);
    watch.talking(&wire, now);
    watch.look(now + 20_000_000);
    assert_eq!(watch.rung.get(), None);
    watch.look(now + 20_050_000);
    assert_eq!(watch.rung.get(), Some(FailureKind::Cancelled));
}

/// The time from `from` until a limit ends the exchange with a silent server, and the failure.
fn rings_after(watch: &Watch, from: Micros) -> (FailureKind, Micros) {
    let passes = (1..).map(|pass| from + pass * 50_000);
    let rung = passes.map(|now| {
        watch.look(now);
        watch.rung.get().map(|kind| (kind, now - from))
    });
    rung.flatten().next().unwrap()
}

#[test]
fn a_stop_while_the_server_waits_counts_once() {
    const STOP: Micros = 50_000_000;
    // The order of events at the end of the stop.
    for order in ["look resume", "resume look", "pause look resume"] {
        let (watch, wire) = (Watch::new(LONG), Rc::new(Wire::default()));
        watch.begin(0, Micros::MAX);
        watch.talking(&wire, 0);
        watch.look(100_000);
        if !order.starts_with("pause") {
            watch.pause(200_000);
        }
        for act in order.split(' ') {
            match act {
                "look" => watch.look(STOP),
                "pause" => watch.pause(STOP),
                _ => watch.resume(STOP),
            }
        }
        assert_eq!(watch.rung.get(), None, "{order}");
        let (kind, left) = rings_after(&watch, STOP);
        assert_eq!(kind, FailureKind::ReadTimeout, "{order}");
        assert!((LONG.read - 200_000..=LONG.read).contains(&left), "{order}: {left}");
    }
}

#[test]
fn what_begins_right_after_a_stop_has_its_usual_time() {
    let (watch, wire) = (Watch::new(LONG), Rc::new(Wire::default()));
    watch.begin(0, Micros::MAX);
    watch.look(100_000);
    watch.talking(&wire, 60_000_000);
    watch.look(60_000_000);
    assert_eq!(rings_after(&watch, 60_000_000), (FailureKind::ReadTimeout, LONG.read));
}

#[test]
fn a_thread_that_is_always_late_keeps_no_exchange_beyond_its_lease() {
    let watch = Watch::new(LONG);
    watch.begin(0, 5_000_000);
    for second in 1..5 {
        watch.look(second * 1_000_000);
        assert_eq!(watch.rung.get(), None);
    }
    watch.look(5_000_000);
    assert_eq!(watch.rung.get(), Some(FailureKind::Cancelled));
}

#[test]
fn bytes_put_silence_off_but_not_the_end() {
    let (watch, wire) = (Watch::new(LIMITS), Rc::new(Wire::default()));
    watch.begin(0, Micros::MAX);
    watch.talking(&wire, 10);
    for now in [250, 500, 750] {
        wire.received();
        watch.look(now);
        assert_eq!(watch.rung.get(), None);
    }
    wire.received();
    watch.look(1_000);
    assert_eq!(watch.rung.get(), Some(FailureKind::Timeout));
}
