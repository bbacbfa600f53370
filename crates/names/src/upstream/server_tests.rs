use proptest::prelude::*;

use super::*;

const MS: Micros = 1_000;
const SECOND: Micros = 1_000_000;

const LIMITS: Limits =
    Limits { floor: SECOND / 2, ceiling: 2 * SECOND, window: 2_000, rate: None, failures: FAILURES };

/// Sends a query that is answered after `takes`.
fn ask(server: &mut Server, at: Micros, takes: Micros) {
    server.sent(at);
    server.answered(at, at + takes, Some(true), false);
}

#[test]
fn a_burst_of_quick_answers_does_not_pull_the_timeout_below_the_floor() {
    let mut server = Server::new(LIMITS, Pace::default());
    assert_eq!(server.timeout(), LIMITS.ceiling, "as long as nothing is known");
    for n in 0..10_000 {
        ask(&mut server, n, 50);
    }
    assert_eq!(server.round_trip(), Some(Duration::from_micros(50)));
    assert_eq!(server.timeout(), LIMITS.floor);
}

#[test]
fn the_timeout_follows_the_server_up_to_the_ceiling() {
    let mut server = Server::new(LIMITS, Pace::default());
    for n in 0..100 {
        ask(&mut server, n * SECOND, 700 * MS);
    }
    assert!((700 * MS..710 * MS).contains(&server.timeout()));
    ask(&mut server, 0, 900 * MS);
    assert!((850 * MS..LIMITS.ceiling).contains(&server.timeout()), "one slow answer widens it");
    for n in 0..100 {
        ask(&mut server, n * SECOND, 30 * SECOND);
    }
    assert_eq!(server.timeout(), LIMITS.ceiling);
}

#[test]
fn silence_doubles_the_timeout_and_a_late_answer_ends_the_doubling() {
    let mut server = Server::new(LIMITS, Pace::default());
    ask(&mut server, 0, MS);
    server.sent(0);
    server.lost(0, LIMITS.floor, true);
    assert_eq!(server.timeout(), 2 * LIMITS.floor);
    server.answered(0, 600 * MS, Some(true), true);
    assert!(server.timeout() < 2 * LIMITS.floor);
    assert_eq!((server.in_flight, server.answers, server.timeouts), (0, 2, 1));
}

#[test]
fn the_window_grows_only_while_it_limits() {
    let mut server = Server::new(LIMITS, Pace::default());
    (0..1_000).for_each(|n| ask(&mut server, n, 1));
    assert_eq!(server.window(), 128);
    while server.has_room(0) {
        server.sent(0);
    }
    for _ in 0..64 {
        server.answered(0, 1, Some(true), false);
        server.sent(1);
    }
    assert_eq!(server.window(), 192);
}

#[test]
fn losses_of_one_round_halve_the_window_once() {
    let mut server = Server::new(LIMITS, Pace::default());
    for _ in 0..20 {
        while server.has_room(0) {
            server.sent(0);
        }
        (0..server.in_flight).for_each(|_| server.answered(0, 1, Some(true), false));
    }
    assert_eq!(server.window(), LIMITS.window);
    while server.has_room(10) {
        server.sent(10);
    }
    (0..server.in_flight).for_each(|_| server.lost(10, SECOND, true));
    assert_eq!(server.window(), LIMITS.window / 2);
}

#[test]
fn a_few_dead_names_do_not_narrow_the_window() {
    let mut server = Server::new(LIMITS, Pace::default());
    for at in 0..10_000 {
        server.sent(at);
        if at % 20 == 0 {
            server.lost(at, at + 1, true)
        } else {
            server.answered(at, at + 1, Some(true), false)
        }
    }
    assert_eq!(server.window(), 128);
}

#[test]
fn names_that_are_silent_again_and_again_do_not_narrow_the_window() {
    let mut server = Server::new(LIMITS, Pace::default());
    for at in 0..10_000 {
        server.sent(at);
        // One in twelve is silent, four times: the average on the real Internet.
        match at % 15 {
            0 => server.lost(at, at + 1, true),
            1..=3 => server.lost(at, at + 1, false),
            _ => server.answered(at, at + 1, Some(true), false),
        }
    }
    assert_eq!((server.window(), server.in_flight), (128, 0));
}

#[test]
fn a_rate_holds_over_time_and_does_not_run_ahead() {
    let mut server = Server::new(Limits { rate: Some(1_000.0), ..LIMITS }, Pace::default());
    let mut sent = 0;
    for now in (SECOND..2 * SECOND).step_by(100) {
        while server.has_room(now) {
            ask(&mut server, now, 1);
            sent += 1;
        }
        assert!(sent <= 12 + (now - SECOND) / MS);
    }
    assert!((1_000..=1_012).contains(&sent), "{sent} in a second");
}

/// A plain model of the window: the outcomes since the round began, as a list.
struct Model {
    window: f64,
    threshold: f64,
    limited: bool,
    round: Micros,
    outcomes: Vec<bool>,
}

impl Model {
    fn end(&mut self, sent: Micros, now: Micros, in_flight: u32, is_loss: bool) {
        if !is_loss && self.limited {
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
            self.window = self.window.min(2_000.0);
        }
        if sent >= self.round {
            self.outcomes.push(is_loss);
            let losses = self.outcomes.iter().filter(|lost| **lost).count() as f64;
            let share = losses / (self.outcomes.len() as f64).max(256.0);
            if is_loss && share > 0.1 {
                self.window = (self.window / 2.0).clamp(64.0, 2_000.0);
                self.threshold = self.window;
                self.round = now;
                self.outcomes.clear();
            } else if self.outcomes.len() as f64 >= self.window.max(256.0) {
                self.outcomes.clear();
            }
        }
        if in_flight < self.window as u32 / 2 {
            self.limited = false;
        }
    }
}

proptest! {
    /// Whatever is sent, answered and lost in any order: the window equals the model's, and is within its
    /// bounds.
    #[test]
    fn the_window_is_the_plain_models(events in proptest::collection::vec((0..4_u8, 1..200_usize), 0..120)) {
        let mut server = Server::new(LIMITS, Pace::default());
        let (mut model, mut flying, mut now) = (
            Model { window: 128.0, threshold: 2_000.0, limited: false, round: 0, outcomes: Vec::new() },
            std::collections::VecDeque::new(),
            0,
        );
        for (event, count) in events {
            for _ in 0..count {
                now += 1;
                match event {
                    0 | 1 if server.has_room(now) => {
                        server.sent(now);
                        flying.push_back(now);
                        model.limited |= flying.len() >= model.window as usize;
                    }
                    2 | 3 => {
                        let Some(sent) = flying.pop_front() else { break };
                        let is_loss = event == 3;
                        if is_loss { server.lost(sent, now, true) } else { server.answered(sent, now, Some(true), false) }
                        model.end(sent, now, flying.len() as u32, is_loss);
                    }
                    _ => break,
                }
                prop_assert_eq!(server.window(), model.window as u32);
                prop_assert_eq!(server.in_flight as usize, flying.len());
                prop_assert!((64..=2_000).contains(&server.window()));
            }
        }
    }
}
