//! What to ask, whom, how often, and what the replies mean: all decisions, no I/O.
//!
//! One name's way: [`Core::submit`] → answered at once, joined to a question in flight, or queued →
//! [`Core::next_try`], which the engine sends with the number that [`Core::begin`] gives → a reply
//! ([`Core::receive`]), an error ([`Core::fail`]) or silence ([`Core::expire`]) → another try, or an answer.
//!
//! Guarantees: every name that [`Core::submit`] accepts is answered exactly once; a name in flight is asked
//! for once; at most `in_flight` names are asked for at a time; each is answered within a bounded time.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use hashbrown::HashMap;
use lycosa_url::{Failure, FailureKind, Micros, NameClass, Resolved};

use crate::answer;
use crate::asked::{SocketId, Table, Try};
use crate::cache::{self, FIRST_PAUSE, NameCache, Resolution, SLOW};
use crate::client::Order;
use crate::host::HostName;
use crate::lookup::{Lookup, Part};
use crate::name::{self, Known};
use crate::scaled::ScaledTime;
use crate::settings::{Settings, Statistics};
use crate::wire::{self, Fit, Manner, Reply};

/// How many scaled seconds the answer of a filter holds, which does not know when it expires. Short, so that a name is
/// refused hardly longer than the filter keeps it; until then only the filter is asked again.
const UNDATED: u64 = 1;

/// The decisions of one client.
pub(crate) struct Core {
    settings: Settings,
    cache: Box<dyn NameCache>,
    time: ScaledTime,
    lookups: HashMap<Rc<str>, Lookup>,
    /// Names whose questions have not begun.
    queue: VecDeque<Rc<str>>,
    /// Names whose questions have.
    active: usize,
    /// Tries to be sent. Filled here, emptied by the engine.
    outgoing: VecDeque<Try>,
    asked: Table,
    /// The server that is asked first: the first one, until it falls silent.
    preferred: usize,
    /// Answers. Filled here, emptied by the engine.
    pub(crate) answers: Vec<Resolved>,
    /// Counts.
    pub(crate) statistics: Statistics,
}

impl Core {
    /// A core; scaled time begins now.
    pub(crate) fn new(settings: Settings, cache: Box<dyn NameCache>, now: Micros) -> Self {
        Core {
            cache,
            time: ScaledTime::start(now, settings.speed),
            settings,
            lookups: HashMap::new(),
            queue: VecDeque::new(),
            active: 0,
            outgoing: VecDeque::new(),
            asked: Table::default(),
            preferred: 0,
            answers: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// Takes names; gives how many of them were in flight already, and so get no answer of their own.
    pub(crate) fn submit(&mut self, order: Order, now: Micros) -> usize {
        let before = self.statistics.coalesced;
        for name in order.names {
            self.accept(name, order.fresh, now);
        }
        self.start(now);
        usize::try_from(self.statistics.coalesced - before).unwrap_or(usize::MAX)
    }

    /// Answers a name at once, unless a fresh answer is wanted, joins it to its question in flight, or queues it.
    fn accept(&mut self, name: Box<str>, fresh: bool, now: Micros) {
        if self.lookups.contains_key(&*name) {
            self.statistics.coalesced += 1;
            return;
        }
        let mut buffer = String::new();
        let host = match name::judge(&name, &mut buffer, self.settings.families) {
            Known::Ask(host) => host,
            Known::Addresses(addresses) => {
                return self.publish(name, 0, self.forever(now), NameClass::Fast, Ok(addresses));
            }
            Known::Bad(failure) => {
                return self.publish(name, 0, self.forever(now), NameClass::Failed, Err(failure));
            }
        };
        let second = self.time.seconds(now);
        let found = if fresh { None } else { self.cache.lookup(host, self.settings.families, second) };
        if let Some(found) = found {
            self.statistics.cache_hits += 1;
            let expires = self.time.moment(found.expires.unwrap_or(second + UNDATED));
            return self.publish(name, 0, expires, found.class, answer::told(found.answer));
        }
        let name: Rc<str> = name.into();
        self.lookups.insert(name.clone(), Lookup::new(self.settings.families, now));
        self.queue.push_back(name);
    }

    /// Begins queued names as far as the bound allows.
    fn start(&mut self, now: Micros) {
        while self.active < self.settings.in_flight.max(1) {
            let Some(name) = self.queue.pop_front() else { return };
            let Some(lookup) = self.lookups.get_mut(&name) else { continue };
            lookup.began = now;
            lookup.until = later(
                now,
                self.settings.timeout.saturating_mul(2).saturating_mul(self.settings.attempts.max(1)),
            );
            self.active += 1;
            for kind in lookup.kinds() {
                let (server, manner) = (self.first(), self.manner(0));
                self.outgoing.push_back(Try {
                    name: name.clone(),
                    kind,
                    number: 0,
                    errors: 0,
                    server,
                    manner,
                });
            }
        }
    }

    /// The next try to be sent.
    pub(crate) fn next_try(&mut self) -> Option<Try> {
        self.outgoing.pop_front()
    }

    /// Registers a try on a socket; gives the message to send. Without one, the try has ended.
    pub(crate) fn begin(&mut self, attempt: Try, socket: SocketId, now: Micros) -> Option<Vec<u8>> {
        let round = attempt.number as usize / self.settings.servers.len().max(1);
        let wait = self.settings.timeout.saturating_mul(if round == 0 { 1 } else { 2 });
        let until = self.lookups.get(&attempt.name).map_or(now, |lookup| lookup.until);
        match self.asked.insert(attempt, socket, later(now, wait).min(until)) {
            Ok(message) => {
                self.statistics.questions += 1;
                Some(message)
            }
            Err(attempt) => {
                self.unsent(*attempt, "no free message number", now);
                None
            }
        }
    }

    /// A message came in on a socket. One that fits no question is counted, and the wait goes on.
    pub(crate) fn receive(&mut self, socket: SocketId, message: &[u8], now: Micros) {
        match self.asked.take(socket, message) {
            None => self.statistics.mismatched += 1,
            // Either a server that does not keep the case, or a forger who guessed port and number: TCP
            // satisfies the one and stops the other.
            Some((attempt, Fit::OtherCase)) if attempt.manner != Manner::Tcp => {
                self.statistics.case_mismatched += 1;
                self.ask_over_tcp(attempt);
            }
            Some((attempt, _)) => {
                self.statistics.answers += 1;
                let reply = wire::read(message, attempt.kind);
                self.weigh(attempt, reply, now);
            }
        }
    }

    /// What follows from a reply.
    fn weigh(&mut self, mut attempt: Try, reply: Reply, now: Micros) {
        match reply {
            Reply::Addresses(found) => self.settle(&attempt, Ok(found), now),
            Reply::NotFound(denied) => {
                self.cut(denied.as_deref(), now);
                let failure = Failure::new(FailureKind::NameNotFound, "no such name (NXDOMAIN)");
                self.settle(&attempt, Err(failure), now);
            }
            Reply::NoData => {
                let failure = Failure::new(FailureKind::NameNoData, "the name has no address");
                self.settle(&attempt, Err(failure), now);
            }
            Reply::Truncated if attempt.manner != Manner::Tcp => {
                self.statistics.truncated += 1;
                self.ask_over_tcp(attempt);
            }
            Reply::Truncated => self.refused(attempt, "truncated over TCP", now),
            Reply::Misunderstood(_) if attempt.manner != Manner::Plain => {
                attempt.manner = Manner::Plain;
                self.statistics.retries += 1;
                self.outgoing.push_back(attempt);
            }
            Reply::Misunderstood(why) | Reply::Failed(why) => self.refused(attempt, &why, now),
        }
    }

    /// A server answered with an error. Each server is believed once: repeating the question to it at once
    /// would only double its load.
    fn refused(&mut self, mut attempt: Try, why: &str, now: Micros) {
        let failure = Failure::new(FailureKind::NameServerFailure, format!("{}: {why}", attempt.server));
        attempt.errors += 1;
        if attempt.errors >= self.settings.servers.len() {
            self.settle(&attempt, Err(failure), now);
        } else {
            self.again(attempt, failure, now);
        }
    }

    /// The same try, over TCP (RFC 7766).
    fn ask_over_tcp(&mut self, attempt: Try) {
        self.statistics.retries += 1;
        self.outgoing.push_back(Try { manner: Manner::Tcp, ..attempt });
    }

    /// A socket is of no use any more: what was asked on it is asked elsewhere.
    pub(crate) fn fail(&mut self, socket: SocketId, why: &str, now: Micros) {
        for attempt in self.asked.take_all(socket) {
            self.unsent(attempt, why, now);
        }
    }

    /// A try could not be sent, or its reply cannot come.
    pub(crate) fn unsent(&mut self, attempt: Try, why: &str, now: Micros) {
        let detail = format!("{}: {why}", attempt.server);
        self.again(attempt, Failure::new(FailureKind::NameServerFailure, detail), now);
    }

    /// Ends the tries whose time is up.
    pub(crate) fn expire(&mut self, now: Micros) {
        while let Some(attempt) = self.asked.expired(now) {
            self.statistics.timeouts += 1;
            if self.first() == attempt.server {
                self.preferred = (self.preferred + 1) % self.settings.servers.len().max(1);
            }
            let detail = format!("{}: no answer in time", attempt.server);
            self.again(attempt, Failure::new(FailureKind::NameTimeout, detail), now);
        }
    }

    /// Whether anything waits for a reply.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Asks the next server, or gives up with the failure.
    fn again(&mut self, attempt: Try, failure: Failure, now: Micros) {
        let number = attempt.number + 1;
        let until = self.lookups.get(&attempt.name).map_or(0, |lookup| lookup.until);
        if number >= self.settings.attempts || now >= until {
            return self.settle(&attempt, Err(failure), now);
        }
        self.statistics.retries += 1;
        let server = self.after(attempt.server);
        let manner = self.manner(number);
        self.outgoing.push_back(Try { number, server, manner, ..attempt });
    }

    /// A question is answered; the name is, when all its questions are.
    fn settle(&mut self, attempt: &Try, part: Part, now: Micros) {
        let Some(lookup) = self.lookups.get_mut(&attempt.name) else { return };
        if !lookup.answer(attempt.kind, part) {
            return;
        }
        let Some(lookup) = self.lookups.remove(&attempt.name) else { return };
        self.active -= 1;
        let elapsed = u32::try_from(now.saturating_sub(lookup.since)).unwrap_or(u32::MAX).max(1);
        let took = self.time.millis(now.saturating_sub(lookup.began));
        let (result, ttl) = lookup.merge();
        let held = match &result {
            Ok(_) => Duration::from_secs(ttl.into()).min(self.settings.max_ttl).max(self.settings.min_ttl),
            Err(_) => self.settings.negative_ttl,
        };
        let ttl = u32::try_from(held.as_secs()).unwrap_or(u32::MAX);
        let resolution = Resolution { answer: answer::kept(&result), ttl, took };
        let paused = self.keep(&attempt.name, &resolution, now);
        let expires = paused.unwrap_or_else(|| {
            now.saturating_add(self.time.real(Micros::from(ttl).saturating_mul(1_000_000)))
        });
        // Of several addresses, those that the cache keeps, so that the next answer is the same.
        let result = result.and_then(|_| answer::told(resolution.answer.clone()));
        self.publish((&*attempt.name).into(), elapsed, expires, resolution.class(SLOW), result);
        self.start(now);
    }

    /// Has the cache take what was learned; tells when the pause after a server's failure or silence ends, which the
    /// cache counts.
    fn keep(&mut self, name: &str, resolution: &Resolution, now: Micros) -> Option<Micros> {
        let (second, families) = (self.time.seconds(now), self.settings.families);
        let mut buffer = String::new();
        let host = HostName::normalize(name, &mut buffer).ok()?;
        let is_failure = |answer: &cache::Answer| matches!(answer, cache::Answer::Failed { .. });
        // A pause of a second is not to end with the second that has begun.
        let from = second + u64::from(is_failure(&resolution.answer));
        self.cache.insert(host, families, resolution, from);
        is_failure(&resolution.answer).then(|| {
            let found = self.cache.lookup(host, families, second).filter(|found| is_failure(&found.answer));
            let known = found.and_then(|found| found.expires);
            self.time.moment(known.unwrap_or(from + u64::from(FIRST_PAUSE)))
        })
    }

    /// Has the cache take that neither a name nor any below it exists (RFC 8020).
    fn cut(&mut self, denied: Option<&str>, now: Micros) {
        let mut buffer = String::new();
        let Some(Ok(denied)) = denied.map(|name| HostName::normalize(name, &mut buffer)) else { return };
        let ttl = u32::try_from(self.settings.negative_ttl.as_secs()).unwrap_or(u32::MAX);
        self.cache.cut(denied, ttl, self.time.seconds(now));
    }

    /// Until when a name holds that no server needs to be asked for.
    fn forever(&self, now: Micros) -> Micros {
        later(now, self.settings.max_ttl)
    }

    /// Puts an answer out.
    fn publish(
        &mut self,
        name: Box<str>,
        elapsed_us: u32,
        expires: Micros,
        class: NameClass,
        result: Result<Vec<IpAddr>, Failure>,
    ) {
        let count = match class {
            NameClass::Fast => &mut self.statistics.fast,
            NameClass::Slow => &mut self.statistics.slow,
            NameClass::Failed => &mut self.statistics.failed,
        };
        *count += 1;
        self.answers.push(Resolved { name, elapsed_us, expires, class, result });
    }

    /// The server that is asked first.
    fn first(&self) -> SocketAddr {
        let servers = &self.settings.servers;
        servers.get(self.preferred).copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 53)))
    }

    /// The server behind another one.
    fn after(&self, server: SocketAddr) -> SocketAddr {
        let servers = &self.settings.servers;
        let place = servers.iter().position(|other| *other == server).map_or(0, |place| place + 1);
        servers.get(place % servers.len().max(1)).copied().unwrap_or(server)
    }

    /// How try `number` is made: the last one plainly, for servers or paths that lose everything modern.
    fn manner(&self, number: u32) -> Manner {
        if number > 0 && number + 1 >= self.settings.attempts { Manner::Plain } else { Manner::Full }
    }
}

/// A moment later.
fn later(now: Micros, duration: Duration) -> Micros {
    now.saturating_add(Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX))
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
