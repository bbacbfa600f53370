//! The attempts for one name, from the first question to the answer or the last time-out.

use lycosa_names::Settings;
use lycosa_names::cache::{Answer, Resolution};

use crate::world::World;

/// Time-outs and retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Those of the system's resolver: 5 s, two attempts (resolv.conf(5)).
    System,
    /// Those of Lycosa's client with one server: at most 2 s, less if the server is known to be faster, four
    /// attempts.
    Client,
}

/// Result for a name.
pub(crate) struct Outcome {
    /// Duration in seconds.
    pub(crate) seconds: f64,
    /// The resolution.
    pub(crate) resolution: Resolution,
}

/// Asks and counts questions.
pub(crate) struct Asker<'a> {
    world: &'a World,
    rules: Rules,
    settings: Settings,
    /// Questions about each host so far.
    numbers: Vec<u32>,
    /// Smoothed round-trip time and its mean deviation, in milliseconds (RFC 6298).
    round_trip: Option<(f64, f64)>,
    /// Questions so far.
    pub(crate) questions: u64,
}

impl<'a> Asker<'a> {
    /// Creates an asker that has asked nothing yet.
    pub(crate) fn new(world: &'a World, rules: Rules) -> Self {
        let numbers = vec![0; world.hosts.len()];
        Asker { world, rules, settings: Settings::default(), numbers, round_trip: None, questions: 0 }
    }

    /// Resolves a name. A late answer to an earlier attempt counts, as with both real resolvers.
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

    /// Time-out of an attempt, and how long its answer is accepted, in milliseconds.
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

    /// Updates the round-trip time.
    fn measure(&mut self, delay: f64) {
        self.round_trip = Some(match self.round_trip {
            None => (delay, delay / 2.0),
            Some((mean, deviation)) => {
                (mean + (delay - mean) / 8.0, deviation + ((delay - mean).abs() - deviation) / 4.0)
            }
        });
    }
}
