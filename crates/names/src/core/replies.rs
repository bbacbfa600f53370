//! What follows from a reply to a query, from an error, or from silence.

use lycosa_url::{Failure, FailureKind, Micros};

use super::Core;
use crate::asked::{Sent, SocketId, Try, Whom};
use crate::packet_key::PacketKey;
use crate::upstream::{Place, Upstreams};
use crate::wire::{self, Fit, Kind, PAYLOAD, QueryProfile, Reply};

/// How many times replies may change the profile of one try: to TCP, to no EDNS, and to TCP again.
const CHANGES: u8 = 3;

impl Core {
    /// Handles a message from a socket. One that matches no query is only counted.
    pub(crate) fn receive(&mut self, socket: SocketId, message: &[u8], now: Micros) {
        let Some((sent, fit)) = self.asked.take(socket, message) else {
            self.statistics.mismatched += 1;
            return;
        };
        let attempt = sent.attempt;
        let is_changed = fit == Fit::OtherCase && !attempt.profile.is_stream();
        // A datagram larger than the advertised payload was truncated on receipt.
        let is_cut = message.len() > usize::from(PAYLOAD) && !attempt.profile.is_stream();
        let reply = match is_changed {
            true => None,
            false if is_cut => Some(Reply::Truncated),
            false => Some(wire::read(message, attempt.kind)),
        };
        if self.upstreams.is_public(sent.place) {
            self.heard = now;
        }
        let is_useful = match reply {
            Some(Reply::Failed(_)) => Some(false),
            // The query is repeated without EDNS. Without it there is nothing left to be misunderstood.
            Some(Reply::Misunderstood(_)) => (attempt.profile == QueryProfile::Plain).then_some(false),
            _ => Some(true),
        };
        let answered = |group: &mut Upstreams, place| {
            group.answered(place, sent.at, now, is_useful, sent.is_overdue);
        };
        self.upstreams.at(sent.place, answered);
        match reply {
            // The server does not preserve the case, or an attacker guessed port and id: TCP works with the
            // former and stops the latter.
            None => {
                self.statistics.case_mismatched += 1;
                if !sent.is_overdue {
                    self.ask_over_tcp(&sent, now);
                }
            }
            Some(reply) => {
                self.statistics.answers += 1;
                if matches!(reply, Reply::NotFound(_) | Reply::NoData)
                    && let Some(lookup) = self.lookups.get_mut(attempt.lookup)
                {
                    lookup.limit_negative(wire::negative_ttl(message));
                }
                match (reply, attempt.kind) {
                    (reply, Kind::Packet) => self.weigh_packet(&sent, reply, message, now),
                    (reply, _) => self.weigh(&sent, reply, now),
                }
            }
        }
    }

    /// Acts on a reply.
    pub(super) fn weigh(&mut self, sent: &Sent, reply: Reply, now: Micros) {
        let attempt = &sent.attempt;
        match reply {
            Reply::Addresses(found) => self.settle(attempt, Ok(found), now),
            Reply::NotFound(denied) => {
                let soa = self.lookups.get_mut(attempt.lookup).and_then(|lookup| lookup.negative_ttl);
                // With zones, NXDOMAIN of one server says nothing about names in a zone below it.
                if self.settings.nxdomain_cut && self.lanes.len() == 1 {
                    self.cut(denied.as_deref(), soa, now);
                }
                let failure = Failure::new(FailureKind::NameNotFound, "no such name (NXDOMAIN)");
                self.settle(attempt, Err(failure), now);
            }
            Reply::NoData => {
                let failure = Failure::new(FailureKind::NameNoData, "the name has no address");
                self.settle(attempt, Err(failure), now);
            }
            _ if sent.is_overdue => (), // another try is under way
            Reply::Truncated if !attempt.profile.is_stream() => {
                self.statistics.truncated += 1;
                self.ask_over_tcp(sent, now);
            }
            Reply::Truncated => self.refused(sent, "truncated over TCP", now),
            Reply::Misunderstood(_) if self.may_be_plain(attempt) => {
                self.change_profile(sent, QueryProfile::Plain, now);
            }
            Reply::Misunderstood(why) | Reply::Failed(why) => self.refused(sent, &why, now),
            Reply::Packet => self.refused(sent, wire::MALFORMED, now), // a readable reply was handled before
        }
    }

    /// A server answered with an error. Each server's error is final: repeating the query at once would only
    /// double the server's load.
    pub(super) fn refused(&mut self, sent: &Sent, why: &str, now: Micros) {
        let failure = self.failure(FailureKind::NameServerFailure, sent.place, why);
        let attempt = Try {
            refused: sent.attempt.refused.and(self.upstreams.place_in_group(sent.place)),
            ..sent.attempt
        };
        if attempt.refused.count() >= self.upstreams.believed(sent.place, now) {
            return self.give_up(&attempt, failure, now);
        }
        if let Some(lookup) = self.lookups.get_mut(attempt.lookup) {
            lookup.refusal = Some(Box::new(failure.clone()));
        }
        self.again(attempt, sent.place, failure, now);
    }

    /// Repeats the try over TCP (RFC 7766).
    fn ask_over_tcp(&mut self, sent: &Sent, now: Micros) {
        self.change_profile(sent, QueryProfile::Tcp, now);
    }

    /// Repeats the try at the same server, in another profile, as its reply demands. After [`CHANGES`] such
    /// replies the server has failed.
    fn change_profile(&mut self, sent: &Sent, profile: QueryProfile, now: Micros) {
        if sent.attempt.changes >= CHANGES {
            return self.refused(sent, "it answers the query in no profile", now);
        }
        self.repeat(
            &Sent { attempt: Try { changes: sent.attempt.changes + 1, ..sent.attempt }, ..*sent },
            profile,
        );
    }

    /// Repeats the try at the same server; it takes the slot that the reply has freed.
    fn repeat(&mut self, sent: &Sent, profile: QueryProfile) {
        self.statistics.retries += 1;
        let again = Try { profile, whom: Whom::This(sent.place), ..sent.attempt };
        self.lanes[again.lane].ready.push_front(again);
    }

    /// Whether a query may be repeated without EDNS: not over TLS or HTTPS, whose servers all support EDNS; not
    /// if only TCP is allowed; not if signatures are wanted, which need EDNS.
    fn may_be_plain(&mut self, attempt: &Try) -> bool {
        let is_modern = !matches!(attempt.profile, QueryProfile::Plain | QueryProfile::Tls);
        let key = self.lookups.get_mut(attempt.lookup).and_then(|lookup| lookup.packet());
        is_modern && !self.settings.tcp_only && !key.is_some_and(PacketKey::dnssec_ok)
    }

    /// A socket failed: its queries go to other servers.
    pub(crate) fn fail(&mut self, socket: SocketId, why: &str, now: Micros) {
        for sent in self.asked.take_all(socket) {
            // A server that refuses TCP may still answer over UDP.
            let tells = sent.attempt.profile != QueryProfile::Tcp || self.settings.tcp_only;
            self.fail_sent(&sent, tells, why, now);
        }
    }

    /// One query, given by its id on a socket, gets no reply, so another server is queried. Does nothing if it was
    /// answered before.
    pub(crate) fn fail_one(&mut self, (socket, number): (SocketId, u16), why: &str, now: Micros) {
        if let Some(sent) = self.asked.take_one(socket, number) {
            self.fail_sent(&sent, false, why, now);
        }
    }

    /// Handles a query that gets no reply. `tells`: whether this is evidence about the path to the server, too.
    fn fail_sent(&mut self, sent: &Sent, tells: bool, why: &str, now: Micros) {
        self.upstreams.at(sent.place, |group, place| group.blame(place, why));
        if !sent.is_overdue {
            self.lose(sent, now);
            let is_late = sent.attempt.number + 2 >= self.settings.attempts;
            if tells {
                self.upstreams.at(sent.place, |group, place| group.sent_back(place, is_late, now));
            }
            self.unsent(sent.attempt, sent.place, why, now);
        }
    }

    /// A connection ended, which is not evidence against the server: its unanswered queries are repeated on
    /// another one.
    pub(crate) fn reconnect(&mut self, socket: SocketId) {
        for sent in self.asked.take_all(socket) {
            self.withdraw(&sent);
        }
    }

    /// The same for one query, given by its id on a socket.
    pub(crate) fn reconnect_one(&mut self, (socket, number): (SocketId, u16)) {
        if let Some(sent) = self.asked.take_one(socket, number) {
            self.withdraw(&sent);
        }
    }

    /// Repeats a query on another connection.
    fn withdraw(&mut self, sent: &Sent) {
        if !sent.is_overdue {
            self.upstreams.at(sent.place, Upstreams::withdrawn);
            self.repeat(sent, sent.attempt.profile);
        }
    }

    /// A try could not be sent because no file descriptor is free, which is not evidence against its server:
    /// the try is delayed, and the server is paused, so that servers with a socket are queried.
    pub(crate) fn postpone(&mut self, attempt: Try, place: Place, why: &str, now: Micros) {
        self.upstreams.at(place, |group, place| group.pause(place, why, now));
        let is_encrypted = attempt.profile == QueryProfile::Tls; // for this server; another may be unencrypted
        let profile = if is_encrypted { self.profile(attempt.kind, attempt.number) } else { attempt.profile };
        self.push(Try { profile, ..attempt });
    }

    /// A try could not be sent, since its server is unreachable.
    pub(crate) fn unreachable(&mut self, attempt: Try, place: Place, why: &str, now: Micros) {
        self.upstreams.at(place, |group, place| group.unreachable(place, now));
        self.unsent(attempt, place, why, now);
    }

    /// A try could not be sent, or its reply cannot arrive.
    pub(crate) fn unsent(&mut self, attempt: Try, place: Place, why: &str, now: Micros) {
        let failure = self.failure(FailureKind::NameServerFailure, place, why);
        self.again(attempt, place, failure, now);
    }

    /// Repeats overdue tries at other servers.
    pub(crate) fn expire(&mut self, now: Micros) {
        while let Some(sent) = self.asked.silent(now) {
            self.statistics.timeouts += 1;
            self.lose(&sent, now);
            let failure = self.failure(FailureKind::NameTimeout, sent.place, "no answer in time");
            self.again(sent.attempt, sent.place, failure, now);
        }
    }

    /// Counts a try as lost: it got no reply in time, or cannot get one.
    fn lose(&mut self, sent: &Sent, now: Micros) {
        self.upstreams
            .at(sent.place, |group, place| group.lost(place, sent.at, now, sent.attempt.number == 0));
    }

    /// A failure whose text names the server.
    fn failure(&self, kind: FailureKind, place: Place, why: &str) -> Failure {
        match self.server(place) {
            Some(server) => Failure::new(kind, format!("{server}: {why}")),
            None => Failure::new(kind, why),
        }
    }

    /// Ends a question without an answer. Silence after an error is no better evidence: the error is told.
    pub(super) fn give_up(&mut self, attempt: &Try, failure: Failure, now: Micros) {
        let is_silence = failure.kind == FailureKind::NameTimeout && attempt.refused.count() > 0;
        let lookup = self.lookups.get_mut(attempt.lookup).filter(|_| is_silence);
        let failure = lookup.and_then(|lookup| lookup.refusal.as_deref().cloned()).unwrap_or(failure);
        match attempt.kind {
            Kind::Packet => self.fail_packet(attempt, failure, now),
            Kind::A | Kind::Aaaa => self.settle(attempt, Err(failure), now),
        }
    }

    /// Queries another server, or gives up with the failure.
    fn again(&mut self, attempt: Try, place: Place, failure: Failure, now: Micros) {
        // Under congestion the last try is repeated until the deadline.
        let is_crowded = self.settings.eager
            && failure.kind == FailureKind::NameTimeout
            && self.upstreams.is_crowded(place, now);
        let most = if is_crowded { self.settings.attempts.saturating_sub(1) } else { u32::MAX };
        // A try that did not reach a server that may be restarting does not count.
        let counted = u32::from(!self.upstreams.is_gone(place, now));
        let number = (attempt.number + counted).min(most);
        let Some(lookup) = self.lookups.get_mut(attempt.lookup) else { return };
        if !lookup.waits_for(attempt.kind) {
            return;
        }
        if number >= self.settings.attempts || now >= lookup.until {
            return self.give_up(&attempt, failure, now);
        }
        self.statistics.retries += 1;
        let profile = self.profile(attempt.kind, number);
        // If names are spread, a silent server is queried again, at little cost to it: it may itself wait for
        // its upstreams. Only the last try goes to another server.
        let stays = self.upstreams.is_spread(place)
            && failure.kind == FailureKind::NameTimeout
            && number + 1 < self.settings.attempts;
        let whom = match () {
            () if stays => Whom::Any,
            () if attempt.refused.count() > 0 => Whom::Unrefused,
            () => Whom::Other(place),
        };
        self.push(Try { number, whom, profile, changes: 0, ..attempt });
    }
}
