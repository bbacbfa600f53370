//! Who asks: one name's tries, from the first question to the answer or the end of patience.

use lycosa_names::Settings;
use lycosa_names::cache::{Answer, Resolution};

use crate::world::World;

/// By whose rules it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// The system's: 5 s, two attempts (resolv.conf(5)).
    System,
    /// Our client's, with one server: 2 s at most, less as the server is known to be quicker, four attempts.
    Client,
}

/// What came of a name.
pub(crate) struct Outcome {
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// What was learned.
    pub(crate) resolution: Resolution,
}

/// Asks, and counts.
pub(crate) struct Asker<'a> {
    world: &'a World,
    rules: Rules,
    settings: Settings,
    /// Questions so far about each host.
    numbers: Vec<u32>,
    /// Smoothed round-trip time and its mean deviation, in milliseconds (RFC 6298).
    round_trip: Option<(f64, f64)>,
    /// Questions so far.
    pub(crate) questions: u64,
}

impl<'a> Asker<'a> {
    /// Nobody was asked.
    pub(crate) fn new(world: &'a World, rules: Rules) -> Self {
        let numbers = vec![0; world.hosts.len()];
        Asker { world, rules, settings: Settings::default(), numbers, round_trip: None, questions: 0 }
    }

    /// Has a name resolved. A late answer to an earlier try counts, as it does with both.
    pub(crate) fn ask(&mut self, host: u32) -> Outcome {
        let (mut sent, mut arrives) = (0.0, f64::INFINITY);
        let attempts = if self.rules == Rules::System { 2 } else { self.settings.attempts };
        for attempt in 0..attempts {
            let (wait, longest) = self.waits(attempt, attempt + 1 == attempts);
            let number = &mut self.numbers[host as usize];
            let fate = self.world.fate(host, *number);
            *number += 1;
            self.questions += 1;
            if let Some(delay) = fate.filter(|delay| *delay <= longest) {
                self.measure(delay);
                arrives = f64::min(arrives, sent + delay);
            }
            sent += wait;
            if arrives <= sent {
                break;
            }
        }
        let took = arrives.min(sent);
        let answer = self.world.answer(host, arrives <= sent);
        let held = self.world.hosts[host as usize].ttl;
        let ttl = match answer {
            Answer::Addresses(_) => {
                held.clamp(self.settings.min_ttl.as_secs() as u32, self.settings.max_ttl.as_secs() as u32)
            }
            _ => self.settings.negative_ttl.as_secs() as u32,
        };
        Outcome { seconds: took / 1e3, resolution: Resolution { answer, ttl, took: took as u32 } }
    }

    /// How long a try is waited for, and until when its answer is taken, in milliseconds.
    fn waits(&self, attempt: u32, is_last: bool) -> (f64, f64) {
        if self.rules == Rules::System {
            return (5_000.0, 10_000.0);
        }
        let ceiling = self.settings.timeout.as_secs_f64() * 1e3;
        let factor = if attempt == 0 { 1.0 } else { 2.0 };
        let soft = self.round_trip.map_or(ceiling, |(mean, deviation)| mean + 4.0 * deviation);
        let soft = soft.clamp(ceiling / 4.0, ceiling);
        (if is_last { ceiling } else { soft } * factor, ceiling * factor)
    }

    /// Learns from an answer's delay.
    fn measure(&mut self, delay: f64) {
        self.round_trip = Some(match self.round_trip {
            None => (delay, delay / 2.0),
            Some((mean, deviation)) => {
                (mean + (delay - mean) / 8.0, deviation + ((delay - mean).abs() - deviation) / 4.0)
            }
        });
    }
}
