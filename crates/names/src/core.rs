//! All decisions of the client, without I/O: which upstream gets which query, retries, and what replies mean.
//!
//! A name's path: [`Core::submit`] → answered at once, coalesced with a lookup in flight, or queued →
//! [`Core::next`], when a server has a free slot → [`Core::begin`], which returns the message → a reply
//! ([`Core::receive`]), an error ([`Core::fail`]) or silence ([`Core::expire`]) → another try, or an answer.
//!
//! Guarantees: every name that [`Core::submit`] accepts is answered exactly once; concurrent requests for one
//! name share one lookup; at most `in_flight` lookups are active; each is answered within a bounded time.
//!
//! One try of each question is current: it is about to be sent, or in flight and not overdue. Only the current
//! try leads to another one; a reply to an overdue try can still answer the question, and has no other effect.

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
use crate::cache::{self, FIRST_PAUSE, Found, NameCache, PacketCache, Resolution, Seconds, packet};
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

/// Scaled seconds for which the answer of a negative filter is valid, which does not know its expiry. It is
/// short, so that a name is refused hardly longer than the filter stores it; afterwards only the filter is
/// looked up again.
const UNDATED: u64 = 1;

/// The state of one client.
pub(crate) struct Core {
    settings: Settings,
    cache: Box<dyn NameCache>,
    /// Whole replies; shared.
    packets: Arc<PacketCache>,
    time: ScaledTime,
    lookups: Lookups,
    /// Lookups by group of servers.
    lanes: Vec<Lane>,
    /// The lane that is served next.
    turn: usize,
    /// Lookups whose queries have begun.
    active: usize,
    asked: Table,
    upstreams: UpstreamGroups,
    /// The last second in which the cache was asked for names that are due.
    refreshed: Seconds,
    /// Domains that answer for any name (wildcards), if enabled.
    wildcards: Option<Wildcards>,
    /// A buffer for the normal form of a name.
    buffer: String,
    /// Answers about addresses, for the engine to take.
    pub(crate) answers: Vec<Resolved>,
    /// Answers about records, for the engine to take.
    pub(crate) packets_answered: Vec<PacketAnswer>,
    /// When an upstream for names in no zone last replied; 0 before the first reply.
    pub(crate) heard: Micros,
    /// Counts since the start.
    pub(crate) statistics: Statistics,
}

impl Core {
    /// Creates a core; scaled time starts at `now`.
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

    /// Sets how many microseconds the wall clock is ahead of the crawl's clock: the cache's seconds follow the
    /// wall clock.
    pub(crate) fn follow_wall(&mut self, offset: i64) {
        self.time = self.time.on_wall(offset);
    }

    /// Takes orders; returns how many were coalesced with a lookup in flight, and so get no answer of their
    /// own.
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

    /// Answers a name at once (from the cache unless `fresh`), coalesces it with a lookup in flight, or queues
    /// it.
    fn accept(&mut self, name: Box<str>, fresh: bool, buffer: &mut String, now: Micros) {
        if let Some(lookup) = self.lookups.find(&name) {
            // Answers to a quiet lookup are not published, so the new order adopts it.
            self.statistics.coalesced += u64::from(!std::mem::take(&mut lookup.is_quiet));
            return;
        }
        let Settings { families, special_use, local, .. } = &self.settings;
        let known = |host: HostName<'_>| local.as_ref()?.addresses(host, *families, now);
        let is_special = |name: &str| *special_use && !self.is_known_here(name);
        let host = match name::judge(&name, buffer, *families, is_special, known) {
            Known::Ask(host) => host,
            Known::Local(found) => return self.publish_local(name, found, now),
            Known::Addresses(addresses) => {
                return self.publish(name, 0, self.forever(now), NameClass::Fast, Ok(addresses), None);
            }
            Known::Bad(failure) => {
                return self.publish(name, 0, self.forever(now), NameClass::Failed, Err(failure), None);
            }
        };
        let second = self.time.seconds(now);
        let found = if fresh { None } else { self.look_up(host, second) };
        if let Some(found) = found {
            self.statistics.cache_hits += 1;
            let expires = self.time.moment(found.expires.unwrap_or(second + UNDATED));
            let lost = self.lost_before(host, &found, second);
            return self.publish(name, 0, expires, found.class, answer::told(found.answer), lost);
        }
        if !fresh
            && let Some((addresses, until)) =
                self.wildcards.as_mut().and_then(|wildcards| wildcards.infer(host.as_str(), now))
        {
            self.statistics.inferred += 1;
            return self.publish(name, 0, until, NameClass::Fast, Ok(addresses), None);
        }
        // The name moves; its normal form is the name itself, or is in the buffer.
        let lookup = if std::ptr::eq(host.as_str(), &*name) {
            Lookup::new(name, None, now)
        } else {
            let normal = Some(host.as_str().into());
            Lookup::new(name, normal, now)
        };
        self.enqueue(lookup);
    }

    /// Whether a name is in a zone with servers of its own or in a domain of the own network: it is queried even
    /// if it is a special-use name.
    fn is_known_here(&self, name: &str) -> bool {
        self.upstreams.has_zone(name) || self.settings.is_own(name)
    }

    /// Answers a name that is known locally.
    fn publish_local(&mut self, name: Box<str>, found: LocalAddresses, now: Micros) {
        let expires = now.saturating_add(self.time.real(Micros::from(found.ttl).saturating_mul(1_000_000)));
        if found.addresses.is_empty() {
            let failure = Failure::new(FailureKind::NameNoData, "the name has no address: known locally");
            return self.publish(name, 0, expires, NameClass::Failed, Err(failure), None);
        }
        self.publish(name, 0, expires, NameClass::Fast, Ok(found.addresses), None);
    }

    /// Resolves again the names that the cache wants refreshed (SYSTEMS.md section 5), once a second and within
    /// the free `in_flight` slots; these answers are not published.
    pub(crate) fn refresh(&mut self, now: Micros) {
        let second = self.time.seconds(now);
        if std::mem::replace(&mut self.refreshed, second) == second {
            return;
        }
        let space = self.settings.in_flight.saturating_sub(self.active + self.queued());
        for (name, _) in self.cache.due(second, space) {
            if self.lookups.find(&name).is_none() {
                let mut lookup = Lookup::new(name, None, now);
                lookup.is_quiet = true;
                self.enqueue(lookup);
            }
        }
    }

    /// Looks a name up in the cache. With `prefer_v4` the cache has no IPv6 entry for names with an IPv4
    /// address.
    fn look_up(&mut self, host: HostName<'_>, second: Seconds) -> Option<Found> {
        if !self.prefers_v4() {
            return self.cache.lookup(host, self.settings.families, second);
        }
        match self.cache.lookup(host, Families::V4, second) {
            Some(found) if found.answer != cache::Answer::NoData => Some(found),
            _ => self.cache.lookup(host, Families::Both, second),
        }
    }

    /// How a family failed, if a cached answer has addresses of the other family alone.
    fn lost_before(&mut self, host: HostName<'_>, found: &Found, second: Seconds) -> Option<Box<Failure>> {
        let cache::Answer::Addresses(addresses) = &found.answer else { return None };
        let missing = match (addresses.v4.is_empty(), addresses.v6.is_empty()) {
            _ if self.settings.families != Families::Both || self.prefers_v4() => return None,
            (true, _) => Families::V4,
            (_, true) => Families::V6,
            _ => return None,
        };
        let found = self.cache.lookup(host, missing, second)?;
        let failure = answer::told(found.answer).err().filter(|failure| failure.kind.is_transient())?;
        Some(answer::lost(missing, &failure))
    }

    /// Whether to query IPv6 only for names without IPv4 addresses.
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

    /// Registers a try on a socket; returns the message to send, or `None` when the try has ended.
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

    /// Touches the memory that a batch of messages will need, before they are received one by one. So the cache
    /// misses, which are most of a name's cost, overlap. Changes nothing.
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

    /// The same for the next names of each lane.
    pub(crate) fn foresee_next(&self, names: usize) {
        let queues = self.lanes.iter().flat_map(|lane| lane.queue.iter().take(names));
        let bytes = queues.filter_map(|id| self.lookups.text(*id)?.as_bytes().first());
        black_box(bytes.fold(0, |all, byte| all ^ byte));
    }

    /// The server at an index.
    pub(crate) fn server(&self, place: Place) -> Option<&Nameserver> {
        self.upstreams.server(place)
    }

    /// Figures of each upstream.
    pub(crate) fn upstreams(&self) -> Vec<UpstreamFigures> {
        self.upstreams.figures()
    }

    /// Whether there are answers to publish.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty() || !self.packets_answered.is_empty()
    }

    /// Whether a deadline or a pause may require action.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty() || self.has_ready()
    }

    /// Whether something can be sent as soon as a server's rate allows.
    pub(crate) fn is_held_back(&self) -> bool {
        self.settings.rate.is_some() && (self.has_ready() || self.queued() > 0)
    }

    /// Whether no name is queued, and less than half of `in_flight` is in use.
    pub(crate) fn is_at_leisure(&self) -> bool {
        let is_light = 2 * self.active < self.settings.in_flight.max(1);
        is_light && !self.has_ready() && self.queued() == 0
    }

    /// Records the result of a question; publishes the name's answer when no question is left.
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
            Err(_) => Duration::from_secs(self.negative_ttl(negative).into()),
        };
        let ttl = whole_seconds(held);
        let resolution = Resolution { answer: answer::kept(&result), ttl, took };
        let paused = match &lost {
            None => self.keep(asked.host(), asked.families, &resolution, now),
            Some((lost, failure)) => self.keep_half(asked.host(), (*lost, failure.kind), &resolution, now),
        };
        let expires = paused.unwrap_or_else(|| {
            now.saturating_add(self.time.real(Micros::from(ttl).saturating_mul(1_000_000)))
        });
        let class = resolution.class(self.settings.slow);
        // Returns the addresses that the cache stores, so that later answers from it are the same.
        let result = result.map(|addresses| answer::retold(resolution.answer, addresses));
        let addresses = result.as_deref().unwrap_or_default();
        let is_probe = self.learn_wildcard(asked.host(), addresses, expires, now);
        if !is_probe && !is_quiet {
            let lost =
                lost.filter(|_| result.is_ok()).map(|(family, failure)| answer::lost(family, &failure));
            self.publish(asked.name, elapsed, expires, class, result, lost);
        }
    }

    /// The TTL in seconds of a negative answer whose SOA allows `soa` seconds.
    fn negative_ttl(&self, soa: Option<u32>) -> u32 {
        let Settings { min_ttl, negative_ttl, .. } = &self.settings;
        packet::negative_ttl(soa, (whole_seconds(*min_ttl), whole_seconds(*negative_ttl)))
    }

    /// Inserts an answer into the cache. For a failure (SERVFAIL or time-out), returns when the pause after it
    /// ends, which the cache counts.
    fn keep(
        &mut self,
        host: HostName<'_>,
        families: Families,
        resolution: &Resolution,
        now: Micros,
    ) -> Option<Micros> {
        let second = self.time.seconds(now);
        let is_failure = |answer: &cache::Answer| matches!(answer, cache::Answer::Failed { .. });
        // A pause starts at the next full second, so that one of a second is not cut short.
        let from = second + u64::from(is_failure(&resolution.answer));
        self.cache.insert(host, families, resolution, from);
        is_failure(&resolution.answer).then(|| {
            let known = self.cache.paused_until(host, families, second);
            self.time.moment(known.unwrap_or(from + u64::from(FIRST_PAUSE)))
        })
    }

    /// The same where the queries of one family failed: each family is cached separately, so that a failure is
    /// not cached as NODATA.
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
        // If the other family has no address, the whole name failed; the TTL is from its SOA.
        let has_addresses = matches!(resolution.answer, cache::Answer::Addresses(_));
        let answer = if has_addresses { resolution.answer.clone() } else { cache::Answer::NoData };
        self.keep(host, answered, &Resolution { answer, ..*resolution }, now);
        paused.filter(|_| !has_addresses)
    }

    /// Updates the detection of wildcard domains; returns whether the name was a made-up sample of it.
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

    /// Caches that neither a name nor any name below it exists (RFC 8020).
    fn cut(&mut self, denied: Option<&str>, soa: Option<u32>, now: Micros) {
        let mut buffer = String::new();
        let Some(Ok(denied)) = denied.map(|name| HostName::normalize(name, &mut buffer)) else { return };
        self.cache.cut(denied, self.negative_ttl(soa), self.time.seconds(now));
    }

    /// The expiry of answers that need no query: `max_ttl` from now.
    fn forever(&self, now: Micros) -> Micros {
        later(now, self.settings.max_ttl)
    }

    /// Counts and stores an answer.
    fn publish(
        &mut self,
        name: Box<str>,
        elapsed_us: u32,
        expires: Micros,
        class: NameClass,
        result: Result<Vec<IpAddr>, Failure>,
        lost: Option<Box<Failure>>,
    ) {
        let count = match class {
            NameClass::Fast => &mut self.statistics.fast,
            NameClass::Slow => &mut self.statistics.slow,
            NameClass::Failed => &mut self.statistics.failed,
        };
        *count += 1;
        self.answers.push(Resolved { name, elapsed_us, expires, class, result, lost });
    }

    /// The profile of try `number`. The last try is plain, for servers or paths that drop EDNS; not for
    /// records, since signatures would be missing.
    fn profile(&self, kind: Kind, number: u32) -> QueryProfile {
        if self.settings.tcp_only {
            return QueryProfile::Tcp;
        }
        let is_last = number > 0 && number + 1 >= self.settings.attempts;
        if is_last && kind != Kind::Packet { QueryProfile::Plain } else { QueryProfile::Full }
    }
}

/// A duration in whole seconds.
fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

/// `now` plus a duration.
fn later(now: Micros, duration: Duration) -> Micros {
    now.saturating_add(micros(duration))
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
