//! Questions for records of any type, answered with the whole reply.

use std::sync::Arc;

use lycosa_url::{Failure, FailureKind, Micros};

use super::{Core, later};
use crate::asked::{Sent, Try, Whom};
use crate::cache::{Packet, packet};
use crate::client::PacketAnswer;
use crate::lookup::{Lookup, LookupId};
use crate::name::is_special_use;
use crate::packet_key::PacketKey;
use crate::wire::{self, Kind, Reply};

impl Core {
    /// Answers a question from the cache, coalesces it with the same one in flight, or queues it.
    pub(super) fn accept_packet(&mut self, key: PacketKey, now: Micros) {
        if let Some(lookup) = self.lookups.find_packet(&key) {
            // Answers to a quiet lookup are not published, so the new order adopts it.
            self.statistics.coalesced += u64::from(!std::mem::take(&mut lookup.is_quiet));
            return;
        }
        let local = self.settings.local.as_ref().and_then(|local| local.records(&key, now));
        if let Some(packet) = local.and_then(|reply| self.packets.read(&reply, now)) {
            return self.publish_packet(key, 0, Arc::new(packet));
        }
        if let Some(packet) = self.packets.get(&key, now) {
            self.statistics.cache_hits += 1;
            return self.publish_packet(key, 0, packet);
        }
        if let Some(failure) = self.special(&key) {
            let packet = self.packets.put_failure(key.clone(), failure, None, now);
            return self.publish_packet(key, 0, packet);
        }
        self.enqueue(Lookup::of_packet(key, now));
    }

    /// The local answer for a special-use name (RFC 6761); `None` for a name in a zone with servers of its own.
    fn special(&self, key: &PacketKey) -> Option<Failure> {
        let top = key.top_label();
        if top.eq_ignore_ascii_case(b"localhost") {
            return Some(Failure::new(FailureKind::NameNoData, "localhost has only addresses (RFC 6761)"));
        }
        let is_special = self.settings.special_use && is_special_use(top) && !self.is_known_here(&key.text());
        is_special
            .then(|| Failure::new(FailureKind::NameNotFound, "no such name: it is not in the DNS (RFC 6761)"))
    }

    /// Queries each server once, also those that rest.
    pub(super) fn probe(&mut self, key: &PacketKey, now: Micros) {
        for place in 0..self.upstreams.count() {
            let mut lookup = Lookup::of_packet(key.clone(), now);
            lookup.is_quiet = true;
            lookup.ask(Kind::Packet);
            lookup.until = later(now, self.settings.timeout);
            lookup.lane = self.upstreams.group_number(lookup.text());
            let lane = lookup.lane;
            let lookup = self.lookups.insert(lookup);
            self.begin_one(lane);
            let (number, whom) = (self.settings.attempts, Whom::This(place));
            let profile = self.profile(Kind::Packet, 0);
            self.push(Try { number, whom, profile, ..Try::first(lookup, Kind::Packet, lane) });
        }
    }

    /// Acts on a reply.
    pub(super) fn weigh_packet(&mut self, sent: &Sent, reply: Reply, message: &[u8], now: Micros) {
        match reply {
            Reply::Packet => match self.packets.read(message, now) {
                Some(packet) => self.settle_packet(&sent.attempt, packet, now),
                None if sent.is_overdue => (), // another try is under way
                None => self.refused(sent, wire::MALFORMED, now),
            },
            Reply::Failed(_) | Reply::Misunderstood(_) => {
                if let (Some(error), Some(lookup)) =
                    (packet::extended_error(message), self.lookups.get_mut(sent.attempt.lookup))
                {
                    lookup.extended_error = Some(error);
                }
                self.weigh(sent, reply, now);
            }
            other => self.weigh(sent, other, now),
        }
    }

    /// Publishes the reply to a question.
    fn settle_packet(&mut self, attempt: &Try, packet: Packet, now: Micros) {
        let Some((key, elapsed_us, lookup)) = self.take_packet(attempt.lookup, now) else { return };
        if !lookup.is_quiet {
            let packet = self.packets.put(key.clone(), packet);
            self.publish_packet(key, elapsed_us, packet);
        }
    }

    /// Publishes the failure of a question.
    pub(super) fn fail_packet(&mut self, attempt: &Try, failure: Failure, now: Micros) {
        let Some((key, elapsed_us, mut lookup)) = self.take_packet(attempt.lookup, now) else { return };
        if !lookup.is_quiet {
            let error = lookup.extended_error.take();
            let packet = self.packets.put_failure(key.clone(), failure, error, now);
            self.publish_packet(key, elapsed_us, packet);
        }
    }

    /// Removes a question; returns its age in microseconds, too.
    fn take_packet(&mut self, id: LookupId, now: Micros) -> Option<(PacketKey, u32, Lookup)> {
        let mut lookup = self.lookups.remove(id)?;
        self.end_one(lookup.lane);
        let elapsed = u32::try_from(now.saturating_sub(lookup.since)).unwrap_or(u32::MAX).max(1);
        Some((lookup.take_packet()?, elapsed, lookup))
    }

    /// Stores an answer for the engine.
    fn publish_packet(&mut self, key: PacketKey, elapsed_us: u32, packet: Arc<Packet>) {
        let expires = self.packets.expires(&packet);
        self.packets_answered.push(PacketAnswer { key, elapsed_us, expires, packet });
    }
}
