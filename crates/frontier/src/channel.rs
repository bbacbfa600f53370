//! Whether failures are the crawl's own trouble: the resolver, the uplink, a captive network, this machine.
//!
//! A failure of one host is its own. When hosts of unrelated registered domains, at unrelated addresses, fail and no host answers
//! meanwhile, the trouble may be the crawl's own: hosts that answered before are probed (a *probe round*). If they do not answer
//! either, the channel is *suspended*: no URL is settled, no try counts, and probes go on at growing intervals until one of
//! them is answered.
//!
//! Decisions only, without I/O: `probe.rs` sends the probes, `suspension.rs` takes back the evidence.
//!
//! Guarantees:
//! 1. One answer ends any suspicion and any suspension of its channel.
//! 2. A channel on which hosts answered before is suspended only after a probe round, begun after the first failure, in
//!    which none answered.
//! 3. Hosts of one registered domain, or of one network, are one witness.

use lycosa_url::Micros;

use crate::Settings;
use crate::politeness::domains::DomainId;

/// How long failures last before the trouble may be the crawl's own, in the job's time; a second of the machine's at least, since
/// time-outs are no shorter.
const WINDOW_SECONDS: u64 = 10;
const SHORTEST_WINDOW: Micros = 1_000_000;

/// Windows in which it is most often decided whose trouble it is: hosts are probed no sooner than their pace allows.
const UNCLEAR: u64 = 3;

/// Witnesses that a suspension takes.
const WITNESSES: usize = 3;

/// Witnesses that it takes if no host has ever answered this process: no host is known to be healthy.
const STRANGERS: usize = 5;

/// The same for names while the resolver itself answers: names of dead domains are common.
const STRANGE_NAMES: usize = 50;

/// The longest pause between two probe rounds, in windows.
const LONGEST_PAUSE: u64 = 6;

/// Witnesses that are kept.
const KEPT: usize = 64;

/// A kind of question, and who answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Names, by the resolvers.
    Names,
    /// Requests, by sites.
    Connections,
}

/// Why the crawl suspends a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No resolver answers, or each answers with errors.
    Names,
    /// No site answers: the uplink, the route, a firewall.
    Connections,
    /// All hosts send the same response: a captive portal.
    Captive,
}

impl Cause {
    /// The stable name, in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Names => "names",
            Cause::Connections => "connections",
            Cause::Captive => "captive",
        }
    }
}

/// A channel that is suspended.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// Why.
    pub cause: Cause,
    /// The first failure.
    pub since: Micros,
    /// When the next probe is due.
    pub probe_at: Micros,
    /// Registered domains that failed meanwhile.
    pub domains: usize,
    /// One of the failures, in words.
    pub example: String,
}

/// A host that failed.
#[derive(Clone, Copy, Debug)]
struct Witness {
    domain: DomainId,
    network: u64,
    /// Whether it had answered before.
    known: bool,
}

/// How far a probe round is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Round {
    /// None has been begun since the first failure.
    #[default]
    None,
    /// So many answers are missing.
    Out(usize),
    /// No host answered.
    Failed,
}

/// Failures since the last answer.
#[derive(Clone, Debug, Default)]
struct Streak {
    since: Micros,
    witnesses: Vec<Witness>,
    example: String,
    round: Round,
    /// Whether the resolver's own check has failed; of names only.
    canary_failed: bool,
}

impl Streak {
    /// Whether a host fails that was healthy.
    fn has_known(&self) -> bool {
        self.witnesses.iter().any(|witness| witness.known)
    }
}

/// One channel's state.
#[derive(Debug, Default)]
pub(crate) struct Path {
    streak: Option<Streak>,
    suspended: Option<Suspension>,
    pause: Micros,
    /// No probe round begins before.
    next_round: Micros,
    window: Micros,
    /// Whether a probe round is to begin now, without any evidence.
    wanted: bool,
    /// Whether the resolver's own check had failed when the channel was suspended.
    by_canary: bool,
    /// Whether a host answered this process, or the one before it.
    pub(crate) answered: bool,
}

impl Path {
    /// No failure and no answer yet.
    pub(crate) fn new(settings: &Settings) -> Self {
        let window = settings.scaled(std::time::Duration::from_secs(WINDOW_SECONDS)).max(SHORTEST_WINDOW);
        Path { window, pause: window, ..Path::default() }
    }

    /// The suspension, if there is one.
    pub(crate) fn suspended(&self) -> Option<&Suspension> {
        self.suspended.as_ref()
    }

    /// A host answered; returns the suspension that this ends.
    pub(crate) fn answer(&mut self, now: Micros) -> Option<Suspension> {
        self.answered = true;
        if let Some(streak) = self.streak.take()
            && streak.round != Round::None
        {
            // The probe round was needless: the next one comes later.
            self.pause = (self.pause * 2).min(self.window * LONGEST_PAUSE);
            self.next_round = now.saturating_add(self.pause);
        }
        let ended = self.suspended.take()?;
        self.pause = self.window;
        Some(ended)
    }

    /// A host of any shard answered last at this time; returns the suspension that this ends.
    pub(crate) fn others_answer(&mut self, at: Micros) -> Option<Suspension> {
        let begun = self.streak.as_ref().map(|streak| streak.since);
        let begun = begun.or(self.suspended.as_ref().map(|suspended| suspended.since));
        self.answered |= at > 0;
        if begun.is_some_and(|begun| begun < at) { self.answer(at) } else { None }
    }

    /// A host failed. `network`: the part of its address that unrelated hosts do not share.
    pub(crate) fn fail(
        &mut self,
        domain: DomainId,
        network: u64,
        known: bool,
        example: impl FnOnce() -> String,
        now: Micros,
    ) {
        let streak = self.streak.get_or_insert_with(|| Streak { since: now, ..Streak::default() });
        if streak.example.is_empty() {
            streak.example = example();
        }
        let is_same = |witness: &&mut Witness| witness.domain == domain || witness.network == network;
        if let Some(witness) = streak.witnesses.iter_mut().find(is_same) {
            witness.known |= known && witness.domain == domain;
        } else if streak.witnesses.len() < KEPT {
            streak.witnesses.push(Witness { domain, network, known });
        } else if let Some(stranger) = streak.witnesses.iter_mut().find(|witness| known && !witness.known) {
            // A host that was healthy says more.
            *stranger = Witness { domain, network, known };
        }
        if let Some(suspended) = &mut self.suspended {
            suspended.domains = streak.witnesses.len().max(suspended.domains);
            // Then an answer for a name that cannot exist does not end it.
            self.by_canary &= !known;
        }
    }

    /// An answer came that a broken resolver gives, too: healthy hosts are to be probed.
    pub(crate) fn suspect(&mut self, now: Micros) {
        self.streak.get_or_insert_with(|| Streak { since: now, ..Streak::default() });
    }

    /// Whether the channel has worked, or its own check failed.
    pub(crate) fn has_proof(&self) -> bool {
        self.answered || self.by_canary
    }

    /// The failures since the last answer, if they have lasted for fewer windows than these.
    fn young(&self, windows: u64, now: Micros) -> Option<&Streak> {
        self.streak.as_ref().filter(|streak| now.saturating_sub(streak.since) < self.window * windows)
    }

    /// Whether there is time left to probe others.
    pub(crate) fn may_wait(&self, now: Micros) -> bool {
        self.young(2, now).is_some()
    }

    /// Whether a host fails that was healthy, and it is not decided yet whose trouble that is.
    pub(crate) fn is_undecided(&self, now: Micros) -> bool {
        self.young(2, now).is_some_and(Streak::has_known)
    }

    /// Whether unrelated hosts fail, one of which was healthy, for too short a time to give up any host.
    pub(crate) fn is_unclear(&self, now: Micros) -> bool {
        self.young(UNCLEAR, now).is_some_and(|streak| streak.witnesses.len() > 1 && streak.has_known())
    }

    /// Whether a host fails that was healthy, for no longer than that.
    pub(crate) fn is_fresh(&self, now: Micros) -> bool {
        self.young(UNCLEAR, now).is_some_and(Streak::has_known)
    }

    /// How long that time is.
    pub(crate) fn unclear_span(&self) -> Micros {
        self.window * UNCLEAR
    }

    /// Wants a probe round now.
    pub(crate) fn ask_now(&mut self, now: Micros) {
        self.suspect(now);
        self.wanted = true;
    }

    /// Allows a probe round at once, and not only after the pause since the last one.
    pub(crate) fn ask_soon(&mut self, now: Micros) {
        self.next_round = self.next_round.min(now);
    }

    /// Whether hosts of a probe round have not answered yet.
    pub(crate) fn is_asking(&self) -> bool {
        self.wanted || self.streak.as_ref().is_some_and(|streak| matches!(streak.round, Round::Out(_)))
    }

    /// Whether a domain or a network is among those that fail now.
    pub(crate) fn is_failing(&self, domain: DomainId, network: u64) -> bool {
        let is = |witness: &Witness| witness.domain == domain || witness.network == network;
        self.streak.as_ref().is_some_and(|streak| streak.witnesses.iter().any(is))
    }

    /// Whether a probe round should begin now.
    pub(crate) fn wants_round(&self, now: Micros) -> bool {
        if let Some(suspended) = &self.suspended {
            return suspended.probe_at <= now;
        }
        if self.wanted {
            return true;
        }
        let worth = |streak: &Streak| {
            streak.round == Round::None
                && (streak.witnesses.len() >= WITNESSES
                    || now.saturating_sub(streak.since) >= self.window / 4)
        };
        now >= self.next_round && self.streak.as_ref().is_some_and(worth)
    }

    /// When [`Path::wants_round`] or [`Path::suspend`] may change without an event.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        if let Some(suspended) = &self.suspended {
            return Some(suspended.probe_at);
        }
        let streak = self.streak.as_ref()?;
        match streak.round {
            Round::None => Some(self.next_round.max(streak.since + self.window / 4)),
            _ => Some(streak.since + self.window),
        }
    }

    /// A probe round has begun: so many were asked.
    pub(crate) fn begin_round(&mut self, asked: usize, now: Micros) {
        // Hosts whose pace allowed no probe are probed a little later.
        self.wanted &= asked == 0;
        if let Some(suspended) = &mut self.suspended {
            suspended.probe_at = now.saturating_add(self.pause);
            self.pause = (self.pause * 2).min(self.window * LONGEST_PAUSE);
        }
        if let Some(streak) = &mut self.streak {
            streak.round = if asked == 0 { Round::Failed } else { Round::Out(asked) };
        }
    }

    /// A probe was not answered.
    pub(crate) fn end_probe(&mut self) {
        if let Some(streak) = &mut self.streak
            && let Round::Out(left) = streak.round
        {
            streak.round = if left <= 1 { Round::Failed } else { Round::Out(left - 1) };
        }
    }

    /// The result of the resolver's own check. Returns whether it ends a suspension that began with its failure.
    pub(crate) fn canary(&mut self, failed: bool) -> bool {
        if let Some(streak) = &mut self.streak {
            streak.canary_failed = failed;
        }
        !failed && self.by_canary && self.suspended.is_some()
    }

    /// Suspends the channel if the trouble is the crawl's own; returns since when. `known`: hosts that were healthy, of as many
    /// domains; `domains`: domains in the crawl.
    pub(crate) fn suspend(
        &mut self,
        channel: Channel,
        known: usize,
        domains: usize,
        now: Micros,
    ) -> Option<Micros> {
        let streak = self.streak.as_ref().filter(|_| self.suspended.is_none())?;
        let witnesses = streak.witnesses.len();
        let healthy = streak.witnesses.iter().filter(|witness| witness.known).count();
        let asked = streak.round == Round::Failed;
        let lasted = now.saturating_sub(streak.since) >= self.window;
        let is_ours = match channel {
            Channel::Names if streak.canary_failed => asked,
            _ if !lasted => false,
            Channel::Names if !self.answered => witnesses >= STRANGE_NAMES,
            Channel::Connections if !self.answered => witnesses >= STRANGERS,
            _ => asked && healthy >= known.clamp(1, WITNESSES) && witnesses >= domains.clamp(2, WITNESSES),
        };
        let (since, example) = (streak.since, streak.example.clone());
        let cause = if channel == Channel::Names { Cause::Names } else { Cause::Connections };
        let (domains, by_canary) = (witnesses, streak.canary_failed && healthy == 0);
        is_ours.then(|| self.suspend_for(cause, since, (domains, example), now))?;
        self.by_canary = by_canary;
        Some(since)
    }

    /// How long failures last before they may be the crawl's own.
    pub(crate) fn window(&self) -> Micros {
        self.window
    }

    /// Suspends the channel for a cause, since then.
    pub(crate) fn suspend_for(
        &mut self,
        cause: Cause,
        since: Micros,
        (domains, example): (usize, String),
        now: Micros,
    ) {
        self.by_canary = false;
        self.pause = self.window / 2;
        let probe_at = now.saturating_add(self.pause);
        self.suspended = Some(Suspension { cause, since, probe_at, domains, example });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    fn path() -> Path {
        Path::new(&Settings::default())
    }

    fn fail(path: &mut Path, domain: u32, known: bool, at: u64) {
        path.fail(domain, u64::from(domain), known, || "a.example: refused".to_owned(), at * SECOND);
    }

    #[test]
    fn hosts_that_answered_before_are_asked_before_the_crawl_suspends() {
        let mut path = path();
        path.answer(0);
        (1..=3).for_each(|domain| fail(&mut path, domain, true, 20));
        assert!(path.wants_round(20 * SECOND));
        path.begin_round(2, 20 * SECOND);
        assert_eq!(path.suspend(Channel::Connections, 5, 9, 31 * SECOND), None, "two may answer yet");
        path.end_probe();
        path.end_probe();
        assert_eq!(path.suspend(Channel::Connections, 5, 9, 29 * SECOND), None, "it has not lasted");
        assert_eq!(path.suspend(Channel::Connections, 5, 9, 31 * SECOND), Some(20 * SECOND));
        let ended = path.answer(99 * SECOND).unwrap();
        assert_eq!((ended.cause, ended.since, ended.domains), (Cause::Connections, 20 * SECOND, 3));
        assert!(path.suspended().is_none());
    }

    #[test]
    fn one_answer_ends_a_suspicion_and_makes_the_next_round_later() {
        let mut path = path();
        path.answer(0);
        (1..=3).for_each(|domain| fail(&mut path, domain, true, 20));
        path.begin_round(1, 20 * SECOND);
        assert!(path.answer(21 * SECOND).is_none());
        (1..=3).for_each(|domain| fail(&mut path, domain, true, 22));
        assert!(!path.wants_round(30 * SECOND), "the round before was for nothing");
        assert!(path.wants_round(41 * SECOND));
        assert_eq!(path.suspend(Channel::Connections, 5, 9, 60 * SECOND), None, "nobody was asked");
    }

    #[test]
    fn one_domain_or_one_network_is_one_witness() {
        let mut path = path();
        path.answer(0);
        for number in 0..100 {
            path.fail(7, number, true, String::new, 20 * SECOND);
            path.fail(number as u32, 9, true, String::new, 20 * SECOND);
        }
        path.begin_round(0, 20 * SECOND);
        assert_eq!(path.suspend(Channel::Connections, 5, 9, 60 * SECOND), None);
    }

    #[test]
    fn strangers_take_more_witnesses_and_dead_names_a_resolver_that_fails() {
        let mut connections = path();
        (1..=4).for_each(|domain| fail(&mut connections, domain, false, 0));
        connections.begin_round(0, 0);
        assert_eq!(connections.suspend(Channel::Connections, 0, 9, 60 * SECOND), None);
        fail(&mut connections, 5, false, 1);
        assert_eq!(connections.suspend(Channel::Connections, 0, 9, 60 * SECOND), Some(0));
        let mut names = path();
        (1..=9).for_each(|domain| fail(&mut names, domain, false, 0));
        names.begin_round(0, 0);
        assert_eq!(names.suspend(Channel::Names, 0, 9, 60 * SECOND), None, "the resolver answers");
        names.canary(true);
        assert_eq!(names.suspend(Channel::Names, 0, 9, SECOND), Some(0));
    }

    #[test]
    fn probes_of_a_suspended_channel_grow_apart() {
        let mut path = path();
        (1..=5).for_each(|domain| fail(&mut path, domain, false, 0));
        path.begin_round(0, 0);
        let mut now = 60 * SECOND;
        path.suspend(Channel::Connections, 0, 9, now).unwrap();
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let probe_at = path.suspended().unwrap().probe_at;
            pauses.push((probe_at - now) / SECOND);
            now = probe_at;
            assert!(path.wants_round(now));
            path.begin_round(3, now);
        }
        assert_eq!(pauses, [5, 5, 10, 20, 40, 60]);
    }
}
