//! What to ask, whom, how often, and what the replies mean: all decisions, no I/O.
//!
//! One name's way: [`Core::submit`] → answered at once, joined to a question in flight, or queued →
//! [`Core::next`], when a server has room for it → [`Core::begin`], which gives the message → a reply
//! ([`Core::receive`]), an error ([`Core::fail`]) or silence ([`Core::expire`]) → another try, or an answer.
//!
//! Guarantees: every name that [`Core::submit`] accepts is answered exactly once; a name in flight is asked
//! for once; at most `in_flight` names are asked for at a time; each is answered within a bounded time.
//!
//! Of the tries of one question, one is the current one: it is about to be sent, or is in flight and not overdue. Only what
//! becomes of that one leads to another try; an overdue one can still answer the question, and does nothing else.

mod lanes;
mod packets;
mod replies;

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lanes::Lane;
use lycosa_url::{Failure, FailureKind, Micros, NameClass, Resolved};

use crate::answer;
use crate::asked::{Sent, SocketId, Table, Try};
use crate::cache::{self, FIRST_PAUSE, Found, NameCache, PacketCache, Resolution, Seconds};
use crate::client::{Order, PacketAnswer};
use crate::host::HostName;
use crate::local::LocalAddresses;
use crate::lookup::{Left, Lookup, LookupId, Lookups, Merged, Part};
use crate::name::{self, Known};
use crate::nameserver::Nameserver;
use crate::scaled::ScaledTime;
use crate::settings::{Families, Settings, Statistics, UpstreamFigures};
use crate::upstream::{Place, UpstreamGroups, micros};
use crate::wildcards::Wildcards;
use crate::wire::{Kind, QueryProfile};

/// How many scaled seconds the answer of a filter holds, which does not know when it expires. Short, so that a name is
/// refused hardly longer than the filter keeps it; until then only the filter is asked again.
const UNDATED: u64 = 1;

/// The decisions of one client.
pub(crate) struct Core {
    settings: Settings,
    cache: Box<dyn NameCache>,
    /// Whole answers; shared.
    packets: Arc<PacketCache>,
    time: ScaledTime,
    lookups: Lookups,
    /// What waits, by group of servers.
    lanes: Vec<Lane>,
    /// The lane whose turn it is.
    turn: usize,
    /// Names whose questions have begun.
    active: usize,
    asked: Table,
    upstreams: UpstreamGroups,
    /// When the cache was asked for names that are due.
    refreshed: Seconds,
    /// Domains that answer for any name, if that is wanted.
    wildcards: Option<Wildcards>,
    /// Holds a name's normal form while it is accepted.
    buffer: String,
    /// Answers. Filled here, emptied by the engine.
    pub(crate) answers: Vec<Resolved>,
    /// The same about records.
    pub(crate) packets_answered: Vec<PacketAnswer>,
    /// When a server answered something last; 0: never.
    pub(crate) heard: Micros,
    /// Counts.
    pub(crate) statistics: Statistics,
}

impl Core {
    /// A core; scaled time begins now.
    pub(crate) fn new(
        settings: Settings,
        (cache, packets): (Box<dyn NameCache>, Arc<PacketCache>),
        now: Micros,
    ) -> Self {
        let upstreams = UpstreamGroups::new(&settings);
        let lanes = std::iter::repeat_with(Lane::default).take(upstreams.groups()).collect();
        Core {
            cache,
            packets,
            time: ScaledTime::start(now, settings.speed),
            upstreams,
            refreshed: 0,
            wildcards: settings.wildcards.then(|| Wildcards::new(settings.speed)),
            settings,
            lookups: Lookups::default(),
            lanes,
            turn: 0,
            active: 0,
            asked: Table::default(),
            buffer: String::new(),
            answers: Vec::new(),
            packets_answered: Vec::new(),
            heard: 0,
            statistics: Statistics::default(),
        }
    }

    /// The wall clock is so far ahead of the crawl's now, in microseconds: the cache's seconds follow it.
    pub(crate) fn follow_wall(&mut self, offset: i64) {
        self.time = self.time.on_wall(offset);
    }

    /// Takes names; gives how many of them were in flight already, and so get no answer of their own.
    pub(crate) fn submit(&mut self, orders: impl IntoIterator<Item = Order>, now: Micros) -> usize {
        let before = self.statistics.coalesced;
        let mut buffer = std::mem::take(&mut self.buffer);
        for order in orders {
            match order {
                Order::Addresses { name, fresh } => self.accept(name, fresh, &mut buffer, now),
                Order::Packet(key) => self.accept_packet(key, now),
                Order::Probe(key) => self.probe(&key, now),
            }
        }
        self.buffer = buffer;
        usize::try_from(self.statistics.coalesced - before).unwrap_or(usize::MAX)
    }

    /// Answers a name at once, unless a fresh answer is wanted, joins it to its question in flight, or queues it.
    fn accept(&mut self, name: Box<str>, fresh: bool, buffer: &mut String, now: Micros) {
        if let Some(lookup) = self.lookups.find(&name) {
            // Where nobody waited for it, its answer is this one's.
            self.statistics.coalesced += u64::from(!std::mem::take(&mut lookup.is_quiet));
            return;
        }
        let Settings { families, special_use, local, .. } = &self.settings;
        let known = |host: HostName<'_>| local.as_ref()?.addresses(host, *families, now);
        let is_special = |name: &str| *special_use && !self.upstreams.has_zone(name);
        let host = match name::judge(&name, buffer, *families, is_special, known) {
            Known::Ask(host) => host,
            Known::Local(found) => return self.publish_local(name, found, now),
            Known::Addresses(addresses) => {
                return self.publish(name, 0, self.forever(now), NameClass::Fast, Ok(addresses));
            }
            Known::Bad(failure) => {
                return self.publish(name, 0, self.forever(now), NameClass::Failed, Err(failure));
            }
        };
        let second = self.time.seconds(now);
        let found = if fresh { None } else { self.look_up(host, second) };
        if let Some(found) = found {
            self.statistics.cache_hits += 1;
            let expires = self.time.moment(found.expires.unwrap_or(second + UNDATED));
            return self.publish(name, 0, expires, found.class, answer::told(found.answer));
        }
        if !fresh
            && let Some((addresses, until)) =
                self.wildcards.as_mut().and_then(|wildcards| wildcards.infer(host.as_str(), now))
        {
            self.statistics.inferred += 1;
            return self.publish(name, 0, until, NameClass::Fast, Ok(addresses));
        }
        // The name moves; its normal form is the name itself, or in the buffer.
        let lookup = if std::ptr::eq(host.as_str(), &*name) {
            Lookup::new(name, None, now)
        } else {
            let normal = Some(host.as_str().into());
            Lookup::new(name, normal, now)
        };
        self.enqueue(lookup);
    }

    /// Answers a name that is known locally.
    fn publish_local(&mut self, name: Box<str>, found: LocalAddresses, now: Micros) {
        let expires = now.saturating_add(self.time.real(Micros::from(found.ttl).saturating_mul(1_000_000)));
        if found.addresses.is_empty() {
            let failure = Failure::new(FailureKind::NameNoData, "the name has no address: known locally");
            return self.publish(name, 0, expires, NameClass::Failed, Err(failure));
        }
        self.publish(name, 0, expires, NameClass::Fast, Ok(found.addresses));
    }

    /// Asks again for names that the cache wants to have resolved periodically (SYSTEMS.md section 5), once a second and as far as
    /// others leave room; nobody is told.
    pub(crate) fn refresh(&mut self, now: Micros) {
        let second = self.time.seconds(now);
        if std::mem::replace(&mut self.refreshed, second) == second {
            return;
        }
        let room = self.settings.in_flight.saturating_sub(self.active + self.queued());
        for (name, _) in self.cache.due(second, room) {
            if self.lookups.find(&name).is_none() {
                let mut lookup = Lookup::new(name, None, now);
                lookup.is_quiet = true;
                self.enqueue(lookup);
            }
        }
    }

    /// What the cache knows of a name. By `prefer_v4` it has been told of IPv4 alone where there was any.
    fn look_up(&mut self, host: HostName<'_>, second: Seconds) -> Option<Found> {
        if !self.prefers_v4() {
            return self.cache.lookup(host, self.settings.families, second);
        }
        match self.cache.lookup(host, Families::V4, second) {
            Some(found) if found.answer != cache::Answer::NoData => Some(found),
            _ => self.cache.lookup(host, Families::Both, second),
        }
    }

    /// Whether IPv6 is asked for only where there is no IPv4.
    fn prefers_v4(&self) -> bool {
        self.settings.prefer_v4 && self.settings.families == Families::Both
    }

    /// Makes the first try of a question ready.
    fn first_try(&mut self, lookup: LookupId, kind: Kind) {
        let Some(name) = self.lookups.get_mut(lookup) else { return };
        name.ask(kind);
        let (lane, profile) = (name.lane, self.profile(kind, 0));
        self.push(Try { profile, ..Try::first(lookup, kind, lane) });
    }

    /// Registers a try on a socket; gives the message to send. Without one, the try has ended.
    pub(crate) fn begin(
        &mut self,
        attempt: Try,
        place: Place,
        socket: SocketId,
        now: Micros,
    ) -> Option<&[u8]> {
        let lookup = self.lookups.get_mut(attempt.lookup)?;
        let (until, is_last) = (lookup.until, attempt.number + 1 >= self.settings.attempts);
        let (soft, longest) = self.upstreams.waits(place, attempt.number, is_last);
        let end = now.saturating_add(longest).min(until);
        let deadline = now.saturating_add(soft).min(end);
        let sent = Sent { attempt, place, at: now, is_overdue: false };
        let Some(asked) = self.asked.insert(sent, lookup, socket, (deadline, end)) else {
            self.unsent(attempt, place, "no free message number", now);
            return None;
        };
        self.statistics.questions += 1;
        self.upstreams.at(place, |group, place| group.sent(place, now));
        self.asked.message(asked)
    }

    /// Looks at what a batch of messages will be about, before they are received one by one: so the waits for memory, of which
    /// most of a name's cost consists, fall together. Changes nothing.
    pub(crate) fn foresee<'a>(&self, socket: SocketId, messages: impl Iterator<Item = &'a [u8]> + Clone) {
        let byte = |message| {
            let (lookup, byte) = self.asked.foresee(socket, message)?;
            Some(byte ^ self.lookups.text(lookup)?.as_bytes().first()?)
        };
        black_box(messages.clone().filter_map(byte).fold(0, |all, byte| all ^ byte));
        let name = |message| self.lookups.text(self.asked.foresee(socket, message)?.0);
        messages.filter_map(name).for_each(|name| self.cache.foresee(name));
    }

    /// The same for names that are submitted next.
    pub(crate) fn foresee_orders(&self, orders: &[Order]) {
        for order in orders {
            if let Order::Addresses { name, .. } = order {
                self.cache.foresee(name);
            }
        }
    }

    /// The same for the names that are next.
    pub(crate) fn foresee_next(&self, names: usize) {
        let queues = self.lanes.iter().flat_map(|lane| lane.queue.iter().take(names));
        let bytes = queues.filter_map(|id| self.lookups.text(*id)?.as_bytes().first());
        black_box(bytes.fold(0, |all, byte| all ^ byte));
    }

    /// Who is asked there.
    pub(crate) fn server(&self, place: Place) -> Option<&Nameserver> {
        self.upstreams.server(place)
    }

    /// What is known of each server.
    pub(crate) fn upstreams(&self) -> Vec<UpstreamFigures> {
        self.upstreams.figures()
    }

    /// Whether there are answers to be given out.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty() || !self.packets_answered.is_empty()
    }

    /// Whether time alone may change something.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty() || self.has_ready()
    }

    /// Whether something could be sent as soon as a server's rate allows.
    pub(crate) fn is_held_back(&self) -> bool {
        self.settings.rate.is_some() && (self.has_ready() || self.queued() > 0)
    }

    /// Whether no name waits to be asked for, and less than half of those that may be under way are.
    pub(crate) fn is_at_leisure(&self) -> bool {
        let is_light = 2 * self.active < self.settings.in_flight.max(1);
        is_light && !self.has_ready() && self.queued() == 0
    }

    /// A question is answered; the name is, when all its questions are.
    fn settle(&mut self, attempt: &Try, part: Part, now: Micros) {
        let prefers_v4 = self.prefers_v4();
        let Some(lookup) = self.lookups.get_mut(attempt.lookup) else { return };
        if !lookup.waits_for(attempt.kind) {
            return;
        }
        match lookup.answer(attempt.kind, part, prefers_v4) {
            Left::Wait => return,
            Left::Ask(kind) => return self.first_try(attempt.lookup, kind),
            Left::Nothing => (),
        }
        let Some(lookup) = self.lookups.remove(attempt.lookup) else { return };
        self.end_one(lookup.lane);
        let elapsed = u32::try_from(now.saturating_sub(lookup.since)).unwrap_or(u32::MAX).max(1);
        let took = self.time.millis(now.saturating_sub(lookup.began));
        let (negative, is_quiet) = (lookup.negative_ttl, lookup.is_quiet);
        let Merged { asked, result, ttl, lost } = lookup.merge();
        let held = match &result {
            Ok(_) => Duration::from_secs(ttl.into()).min(self.settings.max_ttl).max(self.settings.min_ttl),
            Err(_) => self.negative_ttl(negative),
        };
        let ttl = u32::try_from(held.as_secs()).unwrap_or(u32::MAX);
        let resolution = Resolution { answer: answer::kept(&result), ttl, took };
        let paused = match lost {
            None => self.keep(asked.host(), asked.families, &resolution, now),
            Some((lost, kind)) => self.keep_half(asked.host(), (lost, kind), &resolution, now),
        };
        let expires = paused.unwrap_or_else(|| {
            now.saturating_add(self.time.real(Micros::from(ttl).saturating_mul(1_000_000)))
        });
        let class = resolution.class(self.settings.slow);
        // Of several addresses, those that the cache keeps, so that the next answer is the same.
        let result = result.map(|addresses| answer::retold(resolution.answer, addresses));
        let addresses = result.as_deref().unwrap_or_default();
        let is_probe = self.learn_wildcard(asked.host(), addresses, expires, now);
        if !is_probe && !is_quiet {
            self.publish(asked.name, elapsed, expires, class, result);
        }
    }

    /// How long a negative answer holds whose SOA says so many seconds.
    fn negative_ttl(&self, soa: Option<u32>) -> Duration {
        let longest = self.settings.negative_ttl;
        soa.map_or(longest, |seconds| {
            Duration::from_secs(seconds.into()).max(self.settings.min_ttl).min(longest)
        })
    }

    /// Has the cache take what was learned; tells when the pause after a server's failure or silence ends, which the
    /// cache counts.
    fn keep(
        &mut self,
        host: HostName<'_>,
        families: Families,
        resolution: &Resolution,
        now: Micros,
    ) -> Option<Micros> {
        let second = self.time.seconds(now);
        let is_failure = |answer: &cache::Answer| matches!(answer, cache::Answer::Failed { .. });
        // A pause of a second is not to end with the second that has begun.
        let from = second + u64::from(is_failure(&resolution.answer));
        self.cache.insert(host, families, resolution, from);
        is_failure(&resolution.answer).then(|| {
            let known = self.cache.paused_until(host, families, second);
            self.time.moment(known.unwrap_or(from + u64::from(FIRST_PAUSE)))
        })
    }

    /// The same where one family was lost: each one is told for itself, so that what was not learned is not taken for no address.
    fn keep_half(
        &mut self,
        host: HostName<'_>,
        (lost, kind): (Families, FailureKind),
        resolution: &Resolution,
        now: Micros,
    ) -> Option<Micros> {
        let failed = Resolution { answer: answer::kept(&Err(Failure::new(kind, ""))), ..*resolution };
        let paused = self.keep(host, lost, &failed, now);
        let answered = if lost == Families::V4 { Families::V6 } else { Families::V4 };
        // Where the family that was answered has no address, the whole is a failure; its TTL is the SOA's.
        let has_addresses = matches!(resolution.answer, cache::Answer::Addresses(_));
        let answer = if has_addresses { resolution.answer.clone() } else { cache::Answer::NoData };
        self.keep(host, answered, &Resolution { answer, ..*resolution }, now);
        paused.filter(|_| !has_addresses)
    }

    /// Learns whether a domain answers for any name; tells whether the name was made up for that.
    fn learn_wildcard(
        &mut self,
        host: HostName<'_>,
        addresses: &[IpAddr],
        expires: Micros,
        now: Micros,
    ) -> bool {
        let Some(wildcards) = &mut self.wildcards else { return false };
        let lesson = wildcards.learn(host.as_str(), addresses, expires, now);
        if let Some(name) = lesson.probe {
            self.enqueue(Lookup::new(name, None, now));
        }
        lesson.is_probe
    }

    /// Has the cache take that neither a name nor any below it exists (RFC 8020).
    fn cut(&mut self, denied: Option<&str>, soa: Option<u32>, now: Micros) {
        let mut buffer = String::new();
        let Some(Ok(denied)) = denied.map(|name| HostName::normalize(name, &mut buffer)) else { return };
        let ttl = u32::try_from(self.negative_ttl(soa).as_secs()).unwrap_or(u32::MAX);
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

    /// How try `number` is made: the last one plainly, for servers or paths that lose everything modern; but not about records, whose
    /// signatures would be missing.
    fn profile(&self, kind: Kind, number: u32) -> QueryProfile {
        if self.settings.tcp_only {
            return QueryProfile::Tcp;
        }
        let is_last = number > 0 && number + 1 >= self.settings.attempts;
        if is_last && kind != Kind::Packet { QueryProfile::Plain } else { QueryProfile::Full }
    }
}

/// A moment later.
fn later(now: Micros, duration: Duration) -> Micros {
    now.saturating_add(micros(duration))
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
