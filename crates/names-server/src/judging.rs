//! Decides what happens to a message by its cookie, rate limit, access list, name and type.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use lycosa_names::{Families, HostName, LocalNames, is_special_use, loopback};

use crate::answered::Source;
use crate::figures::{Count, Figures};
use crate::policy::Policy;
use crate::question::{Code, Edns, Question, Read, read, rtype};
use crate::reply::{Asked, Reason, To};
use crate::state::{Moment, ServerState, write};

/// Forwarding-loop probe zone: a server that receives its own probe is in a loop. The zone is not in the DNS
/// (RFC 9476).
pub(crate) const LOOP_ZONE: &str = "loop.lycosa.alt";

/// TTL in seconds of NXDOMAIN for special-use names, as the root servers have it.
const SPECIAL_TTL: u32 = 86_400;

/// The decision about a message.
pub(crate) enum Verdict<'m> {
    /// The message gets no answer.
    Silence,
    /// The answer is written.
    Written(Source),
    /// The name, which is appended to the texts, must be looked up.
    LookUp(Question<'m>, Families),
    /// The question must be passed through.
    Pass(Question<'m>),
}

impl ServerState {
    /// Whether the access list allows a client; refusals are counted.
    pub(crate) fn admits(&self, client: IpAddr, moment: &Moment<'_>) -> bool {
        let is_allowed = moment.policy.allows(client);
        moment.figures.add_many(Count::RefusedClients, u64::from(!is_allowed));
        is_allowed
    }

    /// Decides about a client's message.
    pub(crate) fn judge<'m>(
        &self,
        message: &'m [u8],
        (client, is_stream): (IpAddr, bool),
        moment: &Moment<'_>,
        texts: &mut String,
        out: &mut Vec<u8>,
    ) -> Verdict<'m> {
        let mut parsed = read(message);
        let vouched = is_stream
            | match &mut parsed {
                Read::Nothing => {
                    moment.figures.add(Count::Dropped);
                    return Verdict::Silence;
                }
                Read::Question(question) => {
                    question.edns.as_mut().is_some_and(|edns| self.judge_cookie(edns, client, moment))
                }
                Read::Greeting(_, edns) => self.judge_cookie(edns, client, moment),
                Read::Bad(..) => false,
            };
        if let (false, Some(rate)) = (vouched, moment.policy.rate)
            && !self.rates.take(client, rate, moment.now)
        {
            return self.limit(&parsed, moment, out);
        }
        let is_allowed = self.admits(client, moment);
        let (to, code) = match parsed {
            Read::Question(mut question) if is_allowed => {
                question.is_vouched = vouched;
                return self.sort(question, is_stream, moment, texts, out);
            }
            Read::Question(question) => (To::of(&question), Code::Refused),
            Read::Greeting(head, edns) if self.cookies.is_some() => {
                (To { head, edns: Some(edns), reason: None }, Code::NoError)
            }
            Read::Greeting(head, _) => (To { head, edns: None, reason: None }, Code::FormErr),
            Read::Bad(head, code) => {
                // RFC 6891 section 6.1.3: a BADVERS response has EDNS.
                let edns = Edns { payload: 0, wants_signatures: false, cookie: None };
                let edns = (is_allowed && code == Code::BadVers).then_some(edns);
                (To { head, edns, reason: None }, code)
            }
            Read::Nothing => return Verdict::Silence,
        };
        let (to, code) =
            if is_allowed { (to, code) } else { (to.because(Reason::Prohibited), Code::Refused) };
        written(Source::of(code), moment.figures, out, |out| to.code(code, out))
    }

    /// Verifies the cookie, if any, and replaces it with the one for the answer. Returns whether it is valid.
    fn judge_cookie(&self, edns: &mut Edns, client: IpAddr, moment: &Moment<'_>) -> bool {
        let (Some(cookies), Some(cookie)) = (&self.cookies, edns.cookie) else { return false };
        let secrets = moment.policy.cookie_secrets.as_ref();
        let (is_good, next) = cookies.judge(secrets, cookie, client, moment.second);
        if !is_good && cookie.server.is_some() {
            moment.figures.add(Count::BadCookies);
        }
        edns.cookie = Some(next);
        is_good
    }

    /// Handles a client beyond its rate: every other question is answered with TC, so that a genuine client
    /// can retry over TCP, which a forged address cannot.
    fn limit(&self, parsed: &Read<'_>, moment: &Moment<'_>, out: &mut Vec<u8>) -> Verdict<'static> {
        moment.figures.add(Count::Limited);
        match parsed {
            Read::Question(question) if moment.figures.get(Count::Limited).is_multiple_of(2) => {
                moment.figures.add(Count::Truncated);
                written(Source::Limited, moment.figures, out, |out| To::of(question).truncated(out))
            }
            _ => {
                moment.figures.add(Count::Dropped);
                Verdict::Silence
            }
        }
    }

    /// Decides about a question of an allowed client by its type and name.
    fn sort<'m>(
        &self,
        question: Question<'m>,
        is_stream: bool,
        moment: &Moment<'_>,
        texts: &mut String,
        out: &mut Vec<u8>,
    ) -> Verdict<'m> {
        let own = Source::Own;
        let code = |code, out: &mut Vec<u8>| {
            written(Source::of(code), moment.figures, out, |out| To::of(&question).code(code, out))
        };
        let families = match question.rtype {
            rtype::ANY => return written(own, moment.figures, out, |out| To::of(&question).minimal(out)),
            0 | rtype::OPT => return code(Code::FormErr, out),
            rtype::FIRST_META..rtype::ANY => return code(Code::NotImp, out),
            rtype::A => Some(Families::V4),
            rtype::AAAA => Some(Families::V6),
            _ => None,
        };
        let start = texts.len();
        let is_text = question.write_name(texts);
        let name = &texts[start..];
        let is_host = is_text && HostName::new(name).is_ok();
        let is_probe = is_text && name.strip_suffix(LOOP_ZONE).is_some_and(|above| above.ends_with('.'));
        if is_probe && name.starts_with(&self.token) {
            self.looped.store(moment.now, Relaxed);
            return code(Code::Refused, out);
        }
        if let (true, Some(local)) = (is_text, &moment.policy.local)
            && self.write_local(
                &**local,
                (&question, is_stream),
                (name, families.filter(|_| is_host)),
                moment,
                out,
            )
        {
            texts.truncate(start);
            return Verdict::Written(Source::Own);
        }
        let top = question.top_label();
        let is_localhost = top.eq_ignore_ascii_case(b"localhost");
        // The probe of another server is forwarded, so that loops through several servers are found. A
        // cluster's own zone may be below `local`: it is listed as private or has its own upstreams.
        let Policy { private_names, own_zones, .. } = &*moment.policy;
        let is_own = || is_text && (private_names.has(name) || own_zones.has(name));
        if is_localhost || is_special_use(top) && !is_probe && !is_own() {
            texts.truncate(start);
            if let (true, Some(families)) = (is_localhost, families) {
                let addresses = loopback(families).into_iter(); // RFC 6761 section 6.3; not subject to `filter_private`
                return written(own, moment.figures, out, |out| {
                    _ = To::of(&question).addresses(addresses, SPECIAL_TTL, out);
                });
            }
            let code = if is_localhost { Code::NoError } else { Code::NxDomain };
            return written(own, moment.figures, out, |out| {
                To::of(&question).negative(code, SPECIAL_TTL, out)
            });
        }
        // With DO or CD, the whole reply is needed.
        let wants_packet =
            question.head[3] & 0x10 != 0 || question.edns.is_some_and(|edns| edns.wants_signatures);
        if let Some(families) = families.filter(|_| is_host && !wants_packet) {
            return Verdict::LookUp(question, families);
        }
        // Replies to questions passed through are filtered on arrival, whatever their name and type.
        texts.truncate(start);
        if question.wants_recursion() { Verdict::Pass(question) } else { code(Code::Refused, out) }
    }
}

impl ServerState {
    /// Answers from hosts files and local data; returns whether they know the name.
    fn write_local(
        &self,
        local: &dyn LocalNames,
        (question, is_stream): (&Question<'_>, bool),
        (name, families): (&str, Option<Families>),
        moment: &Moment<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let to = To::of(question);
        if let (Some(families), Ok(host)) = (families, HostName::new(name)) {
            let Some(found) = local.addresses(host, families, moment.now) else { return false };
            moment.figures.add(Count::Local);
            let start = out.len();
            match found.addresses.is_empty() {
                true => to.negative(Code::NoError, found.ttl, out),
                false => _ = to.addresses(found.addresses.into_iter(), found.ttl, out),
            }
            if !is_stream && out.len() - start > Asked::of(question).most() {
                out.truncate(start);
                to.truncated(out);
            }
            moment.figures.add_code(out[start + 3] & 0xf);
            return true;
        }
        let Some(reply) = local.records(&question.key(), moment.now) else { return false };
        moment.figures.add(Count::Local);
        let fits = is_stream || reply.len() + to.edns_size(None) <= Asked::of(question).most();
        write(moment.figures, out, |out| if fits { to.passed(&reply, None, out) } else { to.truncated(out) });
        true
    }
}

/// Writes an answer, counts its response code and returns [`Verdict::Written`].
fn written(
    source: Source,
    figures: &Figures,
    out: &mut Vec<u8>,
    answer: impl FnOnce(&mut Vec<u8>),
) -> Verdict<'static> {
    write(figures, out, answer);
    Verdict::Written(source)
}
