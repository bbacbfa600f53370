//! State shared by workers, connections and answering threads, and the writing of answers.
//!
//! Path of a question: [`ServerState::judge`] (in [`judging`](crate::judging)) → a cache lookup by the
//! caller, in batches → [`ServerState::tell`] on a hit, [`ServerState::miss`] on a miss, which asks upstreams
//! → [`ServerState::settle`] with their answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use domain::base::iana::Rtype;
use lycosa_names::cache::compact::{Record, State};
use lycosa_names::cache::{Packet, PacketCache, Seconds};
use lycosa_names::{Families, HEADER, HostName, PacketKey, ScaledTime};
use lycosa_url::{Clock, FailureKind, Micros, Resolved};

use crate::answered::Source;
use crate::cookies::Cookies;
use crate::figures::{Count, Figures};
use crate::limits::Rates;
use crate::pending::{Miss, PendingLookups, Waiter, Wanted, Way};
use crate::policy::{Policy, is_public};
use crate::policy_cache::PolicyCache;
use crate::private::Screened;
use crate::query_log::QueryLog;
use crate::question::{Code, Question, rtype};
use crate::recent::Recent;
use crate::reply::{Asked, Reason, To};
use crate::reply_batch::ReplyBatch;

/// TTL in seconds of a negative answer whose expiry the cache does not know.
pub(crate) const SHORT: u32 = 60;

/// State that all threads of a server share.
pub(crate) struct ServerState {
    pub(crate) held: PolicyCache,
    pub(crate) pending: PendingLookups,
    pub(crate) packets: Arc<PacketCache>,
    pub(crate) cookies: Option<Cookies>,
    pub(crate) rates: Rates,
    pub(crate) recent: Recent,
    /// The query log, if it is on.
    pub(crate) log: Option<Arc<QueryLog>>,
    pub(crate) clock: Clock,
    pub(crate) time: ScaledTime,
    /// The name of this server's own probe.
    pub(crate) token: String,
    /// When the first probe since an upstream last answered was sent; 0: never.
    pub(crate) probed: AtomicU64,
    /// When the server last received its own probe; 0: never.
    pub(crate) looped: AtomicU64,
    /// Whether the server has stopped accepting questions.
    pub(crate) is_draining: AtomicBool,
}

/// Context that all questions of a batch share.
pub(crate) struct Moment<'f> {
    pub(crate) now: Micros,
    /// By the wall clock, which all processes that share the cache file use.
    pub(crate) second: Seconds,
    pub(crate) policy: Arc<Policy>,
    /// The counters of the current thread.
    pub(crate) figures: &'f Figures,
}

impl ServerState {
    /// The context at this moment.
    pub(crate) fn moment<'f>(&self, figures: &'f Figures) -> Moment<'f> {
        let now = self.clock.now();
        let second = self.time.on_wall(self.clock.wall_offset()).seconds(now);
        Moment { now, second, policy: self.held.policy(), figures }
    }

    /// Whether no upstream answers: all are backed off and none has answered the loop probe within the
    /// time-out. The probe rules out that only dead names were asked for.
    pub(crate) fn is_silent(&self) -> bool {
        let (upstream, probed) = (self.pending.upstream(), self.probed.load(Relaxed));
        let patience = upstream.timeout;
        let is_overdue = probed > 0 && self.clock.now().saturating_sub(probed) >= patience;
        upstream.is_resting() && is_overdue && upstream.heard() < probed
    }

    /// Sends the loop probe to each upstream.
    pub(crate) fn probe(&self, now: Micros) {
        let upstream = self.pending.upstream();
        // An unanswered probe counts from its first transmission.
        if self.probed.load(Relaxed) <= upstream.heard() {
            self.probed.store(now, Relaxed);
        }
        if let Ok(key) = PacketKey::of_text(&self.token, Rtype::TXT, false) {
            upstream.packets().probe(key);
        }
    }

    /// Writes the answer of a cache record; returns its source.
    pub(crate) fn tell(
        &self,
        question: &Question<'_>,
        name: &str,
        record: &Record,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) -> Source {
        let is_failure = matches!(record.state, State::Failed { .. });
        if is_failure && self.tell_stale(name, families_of(question), To::of(question), moment, out) {
            return Source::Stale;
        }
        let left = record
            .expires
            .map_or(SHORT, |at| u32::try_from(at.saturating_sub(moment.second)).unwrap_or(u32::MAX).max(1));
        // After the wall clock is set back, more time seems to be left than the record ever had.
        let longest = match record.state {
            State::Addresses => moment.policy.longest(name),
            _ => moment.policy.negative_ttl.max(1),
        };
        let left = left.min(longest);
        moment.figures.add(Count::Hits);
        self.write_record(To::of(question), name, record, left, moment, out);
        Source::Cache
    }

    /// Writes the answer that a cache record describes.
    pub(crate) fn write_record(
        &self,
        to: To<'_>,
        name: &str,
        record: &Record,
        ttl: u32,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) {
        match record.state {
            State::Addresses => {
                let addresses = record.v4().map(IpAddr::V4).chain(record.v6().map(IpAddr::V6));
                self.write_addresses(to, name, addresses, ttl, moment, out);
            }
            State::NxDomain => write(moment.figures, out, |out| to.negative(Code::NxDomain, ttl, out)),
            // A filter cannot distinguish NXDOMAIN from NODATA; NODATA is correct in both cases.
            State::NoData | State::Negative => {
                write(moment.figures, out, |out| to.negative(Code::NoError, ttl, out));
            }
            State::Failed { .. } => {
                write(moment.figures, out, |out| to.because(Reason::CachedError).code(Code::ServFail, out));
            }
        }
    }

    /// Writes addresses without those that the policy filters.
    fn write_addresses(
        &self,
        to: To<'_>,
        name: &str,
        addresses: impl Iterator<Item = IpAddr>,
        ttl: u32,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) {
        if !moment.policy.filters(name) {
            write(moment.figures, out, |out| _ = to.addresses(addresses, ttl, out));
            return;
        }
        let mut taken = 0;
        let public = addresses.filter(|address| {
            taken += u64::from(!is_public(*address));
            is_public(*address)
        });
        let start = out.len();
        let left = to.addresses(public, ttl, out);
        moment.figures.add_many(Count::PrivateFiltered, u64::from(taken > 0));
        if left == 0 {
            out.truncate(start);
            let to = if taken > 0 { to.because(Reason::Blocked) } else { to };
            to.negative(Code::NoError, SHORT, out);
        }
        moment.figures.add_code(out[start + 3] & 0xf);
    }

    /// Whether a cached name is about to expire and must be prefetched; `true` once per name and family
    /// within a minute.
    pub(crate) fn is_worth_prefetching(
        &self,
        name: &str,
        families: Families,
        record: &Record,
        moment: &Moment<'_>,
    ) -> bool {
        let policy = &moment.policy;
        let window = Seconds::from((policy.min_ttl / 10).clamp(5, 60));
        policy.prefetch
            && record.state == State::Addresses
            && record.expires.is_some_and(|at| at.saturating_sub(moment.second) <= window)
            && self.recent.is_new(name, families, moment.second)
    }

    /// Prefetches names as far as the client has capacity. The others are asked for on the next miss after
    /// their expiry.
    pub(crate) fn prefetch(&self, names: Vec<Box<str>>, families: Families, moment: &Moment<'_>) {
        if !names.is_empty() {
            let taken = self.pending.upstream().client(families).prefetch(names);
            moment.figures.add_many(Count::Prefetches, taken as u64);
        }
    }

    /// Builds a pending lookup from a cache miss, with whether a stale answer exists.
    pub(crate) fn miss(
        &self,
        question: &Question<'_>,
        name: &str,
        families: Families,
        way: Way,
        client: IpAddr,
        moment: &Moment<'_>,
    ) -> Miss {
        let has_stale = moment.policy.stale > 0
            && self.held.stale(HostName::of_normal(name), families, moment.second).is_some();
        let waiter = Waiter { asked: Asked::of(question), way, client, received: moment.now };
        Miss { wanted: Wanted::addresses(families, name.into()), waiter, has_stale }
    }

    /// Asks upstreams about cache misses; those that cannot wait are answered now.
    pub(crate) fn ask(
        &self,
        misses: impl Iterator<Item = Miss>,
        batch: &mut ReplyBatch,
        moment: &Moment<'_>,
    ) {
        for miss in self.pending.add(misses, moment.now) {
            self.turn_away(&miss, batch, moment);
        }
    }

    /// Answers a question for whole replies from the cache, or asks upstreams.
    pub(crate) fn pass(
        &self,
        question: &Question<'_>,
        waiter: Waiter,
        batch: &mut ReplyBatch,
        moment: &Moment<'_>,
    ) {
        let (figures, key) = (moment.figures, question.key());
        if let Some(packet) = self.packets.get(&key, moment.now) {
            figures.add(Count::PacketHits);
            return self.tell_packet(&key, &packet, &[waiter], Source::Cache, batch, moment);
        }
        figures.add(Count::PassedThrough);
        let has_stale = self.packets.get_stale(&key, moment.now, moment.policy.stale).is_some();
        self.ask([Miss { wanted: Wanted::Packet(key), waiter, has_stale }].into_iter(), batch, moment);
    }

    /// Writes a whole reply to all its waiters; in place of a failure, an expired reply if there is one.
    pub(crate) fn tell_packet(
        &self,
        key: &PacketKey,
        packet: &Packet,
        waiters: &[Waiter],
        source: Source,
        batch: &mut ReplyBatch,
        moment: &Moment<'_>,
    ) {
        if packet.message().is_err() && self.tell_stale_packet(key, waiters, batch, moment) {
            return;
        }
        let own = packet.message().err().and_then(|failure| match failure.kind {
            _ if source == Source::Cache => Some(Reason::CachedError.error()),
            FailureKind::NameTimeout => Some(Reason::NoReachableAuthority.error()),
            _ => None,
        });
        let error = packet.extended_error().or(own.as_ref());
        let message = packet.message().is_ok().then(|| self.packets.message(packet, moment.now));
        let screened = Screened::of(message, &moment.policy);
        for waiter in waiters {
            batch.pass_back(waiter, &screened, error, source, moment.figures);
        }
    }

    /// Writes an upstream's answer to a waiter, or in place of a failure a stale one; returns the source.
    pub(crate) fn settle(
        &self,
        answer: &Resolved,
        families: Families,
        to: To<'_>,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) -> Source {
        let left = answer.expires.saturating_sub(moment.now);
        let ttl = self.time.millis(left).div_ceil(1_000).max(1);
        let name = &*answer.name;
        match &answer.result {
            Ok(addresses) => {
                let ttl = moment.policy.ttl(name, ttl).max(1);
                let addresses = addresses
                    .iter()
                    .copied()
                    .filter(|address| address.is_ipv6() == (families == Families::V6));
                self.write_addresses(to, name, addresses, ttl, moment, out);
            }
            Err(failure) => match failure.kind {
                FailureKind::NameNotFound => {
                    write(moment.figures, out, |out| to.negative(Code::NxDomain, ttl, out));
                }
                FailureKind::NameNoData => {
                    write(moment.figures, out, |out| to.negative(Code::NoError, ttl, out));
                }
                _ if self.tell_stale(name, families, to, moment, out) => return Source::Stale,
                FailureKind::NameTimeout => write(moment.figures, out, |out| {
                    to.because(Reason::NoReachableAuthority).code(Code::ServFail, out);
                }),
                _ => write(moment.figures, out, |out| to.code(Code::ServFail, out)),
            },
        }
        Source::Upstream
    }
}

/// The address family that a question asks for.
fn families_of(question: &Question<'_>) -> Families {
    if question.rtype == rtype::AAAA { Families::V6 } else { Families::V4 }
}

/// Writes an answer and counts its response code.
pub(crate) fn write(figures: &Figures, out: &mut Vec<u8>, answer: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    answer(out);
    debug_assert!(out.len() >= start + HEADER);
    figures.add_code(out[start + 3] & 0xf);
}
