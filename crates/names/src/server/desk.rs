//! Where questions are judged and answers written: all that workers, connections and the answering threads share.
//!
//! A question's way: [`Desk::judge`] → a lookup, by the caller, many at once → [`Desk::tell`] what is known, or
//! [`Desk::ask`] others → [`Desk::settle`] when they have answered.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lycosa_url::{Clock, FailureKind, Micros, Resolved};

use super::cookies::Cookies;
use super::figures::{Count, Figures};
use super::held::Held;
use super::limits::Rates;
use super::misses::{Miss, Misses, Waiter, Way};
use super::policy::{Policy, is_public};
use super::question::{Code, Cookie, Edns, HEADER, Question, Read, read, rtype};
use super::recent::Recent;
use super::relay::Relay;
use super::reply::{Asked, To};
use crate::cache::Seconds;
use crate::cache::compact::{Record, State};
use crate::host::HostName;
use crate::scaled::ScaledTime;
use crate::settings::Families;

/// For how many seconds clients may keep an answer that has expired (RFC 8767 section 4).
const STALE_TTL: u32 = 30;

/// For how many seconds clients may keep that there is nothing, where the cache does not know for how long it holds.
const SHORT: u32 = 60;

/// The zone below which a server asks its upstreams for itself: who is asked for a name that he made up is in a loop. It is
/// no name of the DNS (RFC 9476).
pub(super) const LOOP_ZONE: &str = "loop.lycosa.alt";

/// What all threads of a server share.
pub(super) struct Desk {
    pub(super) held: Held,
    pub(super) misses: Misses,
    pub(super) relay: Relay,
    pub(super) cookies: Option<Cookies>,
    pub(super) rates: Rates,
    pub(super) recent: Recent,
    pub(super) clock: Clock,
    pub(super) time: ScaledTime,
    /// The name that only this server asks for.
    pub(super) token: String,
    /// When it was asked for it last.
    pub(super) looped: AtomicU64,
    /// Whether no questions are taken any more.
    pub(super) is_draining: AtomicBool,
}

/// What holds for all questions of a batch.
pub(super) struct Moment<'f> {
    pub(super) now: Micros,
    pub(super) second: Seconds,
    pub(super) policy: Arc<Policy>,
    /// The counts of the thread that is at work.
    pub(super) figures: &'f Figures,
}

/// What becomes of a message.
pub(super) enum Verdict<'m> {
    /// It gets no answer.
    Silence,
    /// Its answer is written.
    Written,
    /// Its name, which is appended to the texts, is to be looked up.
    LookUp(Question<'m>, Families),
    /// It is to be passed through.
    Pass(Question<'m>),
}

impl Desk {
    /// What holds now.
    pub(super) fn moment<'f>(&self, figures: &'f Figures) -> Moment<'f> {
        let now = self.clock.now();
        Moment { now, second: self.time.seconds(now), policy: self.held.policy(), figures }
    }

    /// Whether no upstream answers: those that names are asked of rest, and none has answered anything else either.
    pub(super) fn is_silent(&self) -> bool {
        self.misses.upstream().is_resting() && self.relay.is_silent(self.clock.now())
    }

    /// Judges a message of a client.
    pub(super) fn judge<'m>(
        &self,
        message: &'m [u8],
        (client, is_stream): (IpAddr, bool),
        moment: &Moment<'_>,
        texts: &mut String,
        out: &mut Vec<u8>,
    ) -> Verdict<'m> {
        let parsed = match read(message) {
            Read::Nothing => {
                moment.figures.add(Count::Dropped);
                return Verdict::Silence;
            }
            parsed => parsed,
        };
        let is_allowed = moment.policy.allows(client);
        let mut vouched = is_stream;
        let parsed = match (parsed, &self.cookies) {
            (Read::Question(mut question), Some(cookies)) => {
                if let Some(edns) = &mut question.edns
                    && let Some(cookie) = edns.cookie
                {
                    vouched |= self.judge_cookie(cookies, edns, cookie, client, moment);
                }
                question.is_vouched = vouched;
                Read::Question(question)
            }
            (Read::Greeting(head, mut edns), Some(cookies)) => {
                if let Some(cookie) = edns.cookie {
                    vouched |= self.judge_cookie(cookies, &mut edns, cookie, client, moment);
                }
                Read::Greeting(head, edns)
            }
            (Read::Greeting(head, _), None) => Read::Bad(head, Code::FormErr),
            (parsed, _) => parsed,
        };
        if let (false, Some(rate)) = (vouched, moment.policy.rate)
            && !self.rates.take(client, rate, moment.now)
        {
            return self.limit(&parsed, moment, out);
        }
        match parsed {
            Read::Question(question) if !is_allowed => {
                moment.figures.add(Count::RefusedClients);
                written(moment.figures, out, |out| To::of(&question).code(Code::Refused, out))
            }
            Read::Question(question) => self.sort(question, moment, texts, out),
            Read::Greeting(head, edns) => {
                moment.figures.add_many(Count::RefusedClients, u64::from(!is_allowed));
                let code = if is_allowed { Code::NoError } else { Code::Refused };
                written(moment.figures, out, |out| To { head, edns: Some(edns) }.code(code, out))
            }
            Read::Bad(head, code) => {
                moment.figures.add_many(Count::RefusedClients, u64::from(!is_allowed));
                let code = if is_allowed { code } else { Code::Refused };
                // RFC 6891 section 6.1.3: who is told of the version gets EDNS.
                let edns = Edns { payload: 0, wants_signatures: false, cookie: None };
                let to = To { head, edns: (code == Code::BadVers).then_some(edns) };
                written(moment.figures, out, |out| to.code(code, out))
            }
            Read::Nothing => Verdict::Silence,
        }
    }

    /// Judges a cookie; has the answer bring the one that is good from now on. Tells whether it was good.
    fn judge_cookie(
        &self,
        cookies: &Cookies,
        edns: &mut Edns,
        cookie: Cookie,
        client: IpAddr,
        moment: &Moment<'_>,
    ) -> bool {
        let (is_good, next) = cookies.judge(cookie, client, moment.now / 1_000_000);
        if !is_good && cookie.server.is_some() {
            moment.figures.add(Count::BadCookies);
        }
        edns.cookie = Some(next);
        is_good
    }

    /// What a client gets that is beyond its rate: now and then a reason to come back over TCP, which a forged address cannot.
    fn limit(&self, parsed: &Read<'_>, moment: &Moment<'_>, out: &mut Vec<u8>) -> Verdict<'static> {
        moment.figures.add(Count::Limited);
        match parsed {
            Read::Question(question) if moment.figures.get(Count::Limited).is_multiple_of(2) => {
                moment.figures.add(Count::Truncated);
                written(moment.figures, out, |out| To::of(question).truncated(out))
            }
            _ => {
                moment.figures.add(Count::Dropped);
                Verdict::Silence
            }
        }
    }

    /// What kind of question it is.
    fn sort<'m>(
        &self,
        question: Question<'m>,
        moment: &Moment<'_>,
        texts: &mut String,
        out: &mut Vec<u8>,
    ) -> Verdict<'m> {
        let code =
            |code, out: &mut Vec<u8>| written(moment.figures, out, |out| To::of(&question).code(code, out));
        let families = match question.rtype {
            rtype::ANY => return written(moment.figures, out, |out| To::of(&question).minimal(out)),
            0 | rtype::OPT => return code(Code::FormErr, out),
            rtype::FIRST_META..rtype::ANY => return code(Code::NotImp, out),
            rtype::A => Some(Families::V4),
            rtype::AAAA => Some(Families::V6),
            _ => None,
        };
        let start = texts.len();
        let is_host = question.write_name(texts) && HostName::new(&texts[start..]).is_ok();
        let name = &texts[start..];
        if name.len() > LOOP_ZONE.len() && name.ends_with(LOOP_ZONE) && name.starts_with(&self.token) {
            self.looped.store(moment.now, Relaxed);
            return code(Code::Refused, out);
        }
        let is_filtered = moment.policy.filters(name);
        let wants_signatures = question.edns.is_some_and(|edns| edns.wants_signatures);
        match families {
            // Signatures are not cached; where addresses are filtered there are none that fit.
            Some(families) if is_host && (is_filtered || !wants_signatures) => {
                return Verdict::LookUp(question, families);
            }
            // The addresses that these hold are not looked at, so none are given.
            None if is_filtered && matches!(question.rtype, rtype::SVCB | rtype::HTTPS) => {
                moment.figures.add(Count::PrivateFiltered);
                texts.truncate(start);
                return written(moment.figures, out, |out| {
                    To::of(&question).negative(Code::NoError, SHORT, out)
                });
            }
            _ => (),
        }
        texts.truncate(start);
        if question.wants_recursion() { Verdict::Pass(question) } else { code(Code::Refused, out) }
    }

    /// Writes what the cache knows.
    pub(super) fn tell(
        &self,
        question: &Question<'_>,
        name: &str,
        record: &Record,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) {
        let left = record
            .expires
            .map_or(SHORT, |at| u32::try_from(at.saturating_sub(moment.second)).unwrap_or(u32::MAX).max(1));
        moment.figures.add(Count::Hits);
        self.write_record(To::of(question), name, record, left, moment, out);
    }

    /// Writes what is known of a name.
    fn write_record(
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
            // A filter cannot tell whether the name exists; that it has no address is right in either case.
            State::NoData | State::Negative => {
                write(moment.figures, out, |out| to.negative(Code::NoError, ttl, out));
            }
            State::Failed { .. } => write(moment.figures, out, |out| to.code(Code::ServFail, out)),
        }
    }

    /// Writes addresses, without those that the policy takes out.
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
            to.negative(Code::NoError, SHORT, out);
        }
        moment.figures.add_code(out[start + 3] & 0xf);
    }

    /// Whether a name that is known is to be asked for anew, so that it is known when it expires; tells it once.
    pub(super) fn is_worth_prefetching(
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

    /// Has names asked for anew.
    pub(super) fn prefetch(&self, names: Vec<Box<str>>, families: Families, moment: &Moment<'_>) {
        if !names.is_empty() {
            moment.figures.add_many(Count::Prefetches, names.len() as u64);
            self.misses.upstream().client(families).refresh(names);
        }
    }

    /// Makes a question that nothing is known about one for others; it is refused where the client does not want that.
    pub(super) fn miss<'n>(
        &self,
        question: &Question<'_>,
        name: &'n str,
        families: Families,
        way: Way,
        client: IpAddr,
        moment: &Moment<'_>,
    ) -> Miss<'n> {
        let has_stale = moment.policy.stale > 0
            && self.held.stale(HostName::of_normal(name), families, moment.second).is_some();
        let waiter = Waiter { asked: Asked::of(question), way, client };
        Miss { name, families, waiter, has_stale }
    }

    /// Writes the answer of others to one who waits for it.
    pub(super) fn settle(
        &self,
        answer: &Resolved,
        families: Families,
        to: To<'_>,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) {
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
                _ if self.tell_stale(name, families, to, moment, out) => (),
                _ => write(moment.figures, out, |out| to.code(Code::ServFail, out)),
            },
        }
    }

    /// Writes an old answer, where there is one and nobody can tell a newer one; tells whether there is.
    pub(super) fn tell_stale(
        &self,
        name: &str,
        families: Families,
        to: To<'_>,
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok(host) = HostName::new(name) else { return false };
        let Some(record) = self.held.stale(host, families, moment.second) else { return false };
        moment.figures.add(Count::Stale);
        self.write_record(to, name, &record, STALE_TTL, moment, out);
        true
    }
}

/// Writes an answer and counts its code.
fn write(figures: &Figures, out: &mut Vec<u8>, answer: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    answer(out);
    debug_assert!(out.len() >= start + HEADER);
    figures.add_code(out[start + 3] & 0xf);
}

/// The same, for a question that is settled with it.
fn written(figures: &Figures, out: &mut Vec<u8>, answer: impl FnOnce(&mut Vec<u8>)) -> Verdict<'static> {
    write(figures, out, answer);
    Verdict::Written
}
