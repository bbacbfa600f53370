//! Answers to clients, as bytes.
//!
//! Guarantees: an answer repeats its question byte for byte, so that a client that plays with the case of letters knows it
//! again; with EDNS exactly where the question has it; addresses stand under the name that was asked for, as if it had no
//! aliases.

use std::net::IpAddr;

use lycosa_names::{ExtendedError, HEADER, PAYLOAD};

use crate::question::{Code, Edns, Question, rtype};

/// The largest answer to a datagram without EDNS (RFC 1035 section 2.3.4).
const PLAIN: u16 = 512;

/// How many times as long as its question the answer to a datagram may be whose sender may be forged: no more than this is to be
/// gained by having this server flood another one's victim.
const AMPLIFICATION: usize = 10;

/// Why the server answers as it does (RFC 8914 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Nobody can tell a newer answer; this one has expired.
    StaleAnswer = 3,
    /// It could not be told a short time ago, and is not asked for again yet.
    CachedError = 13,
    /// The operator's policy has left nothing of the answer: all addresses were private.
    Blocked = 15,
    /// The client may not ask.
    Prohibited = 18,
    /// No upstream answered in time.
    NoReachableAuthority = 22,
}

impl Reason {
    /// The same as an extended error, without a text.
    pub(crate) fn error(self) -> ExtendedError {
        ExtendedError { code: self as u16, text: Box::default() }
    }
}

/// What an answer needs of its question, for as long as the answer takes.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The message up to the end of its question.
    head: Box<[u8]>,
    edns: Option<Edns>,
    /// The longest answer by datagram.
    most: usize,
}

impl Asked {
    /// Keeps it.
    pub(crate) fn of(question: &Question<'_>) -> Self {
        let payload = usize::from(question.edns.map_or(PLAIN, |edns| edns.payload.clamp(PLAIN, PAYLOAD)));
        let most = if question.is_vouched { payload } else { payload.min(AMPLIFICATION * question.size) };
        Asked { head: question.head.into(), edns: question.edns, most }
    }

    /// The longest answer by datagram: what the client takes, of what the server sends, and what may be sent to anybody.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Where the answer begins.
    pub(crate) fn to(&self) -> To<'_> {
        To { head: &self.head, edns: self.edns, reason: None }
    }
}

/// Whom an answer is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct To<'q> {
    /// The message up to the end of its question; only its header where it has none that can be read.
    pub(crate) head: &'q [u8],
    /// What EDNS added, with the cookie that the client is to have.
    pub(crate) edns: Option<Edns>,
    /// Why it is answered so, for those who understand EDNS.
    pub(crate) reason: Option<Reason>,
}

impl<'q> To<'q> {
    /// The client that asked a question.
    pub(crate) fn of(question: &Question<'q>) -> Self {
        To { head: question.head, edns: question.edns, reason: None }
    }

    /// The same, told why.
    pub(crate) fn because(self, reason: Reason) -> Self {
        To { reason: Some(reason), ..self }
    }

    /// A code alone.
    pub(crate) fn code(self, code: Code, out: &mut Vec<u8>) {
        self.begin(code, [0, 0], out);
        self.end(code, out);
    }

    /// Not the answer, which does not fit or is not given by datagram: the client is to ask over TCP.
    pub(crate) fn truncated(self, out: &mut Vec<u8>) {
        let start = out.len();
        self.code(Code::NoError, out);
        out[start + 2] |= 2;
    }

    /// Addresses of one family; tells how many. Which one comes first differs by the question's number, which clients draw at
    /// random, so that not all connect to the same one; Unbound does so, too (rrset-roundrobin).
    pub(crate) fn addresses(
        self,
        addresses: impl Iterator<Item = IpAddr>,
        ttl: u32,
        out: &mut Vec<u8>,
    ) -> u16 {
        let start = out.len();
        self.begin(Code::NoError, [0, 0], out);
        let (first, mut count) = (out.len(), 0);
        for address in addresses {
            match address {
                IpAddr::V4(address) => record(NAME, rtype::A, ttl, &address.octets(), out),
                IpAddr::V6(address) => record(NAME, rtype::AAAA, ttl, &address.octets(), out),
            }
            count += 1;
        }
        if count > 1 {
            let (records, number) = (&mut out[first..], u16::from_be_bytes([self.head[0], self.head[1]]));
            let size = records.len() / usize::from(count);
            records.rotate_left(usize::from(number % count) * size);
        }
        out[start + 6..start + 8].copy_from_slice(&u16::to_be_bytes(count));
        self.end(Code::NoError, out);
        count
    }

    /// That there is no such name, or no such record, for so many seconds (RFC 2308). Which zone says so is not kept: the name
    /// above stands for it.
    pub(crate) fn negative(self, code: Code, ttl: u32, out: &mut Vec<u8>) {
        self.begin(code, [0, 1], out);
        let first = self.head.get(HEADER).map_or(0, |length| usize::from(*length));
        let above = HEADER + 1 + first;
        // A pointer to the name above; below the root, the root itself.
        let is_root = first == 0 || self.head.get(above).is_none_or(|length| *length == 0);
        let owner = if is_root { &[0][..] } else { &[0xc0, above as u8][..] };
        // No server and nobody's mailbox, then serial, refresh, retry, expire, minimum.
        let mut data = [0; 22];
        for (field, value) in data[2..].chunks_exact_mut(4).zip([1, 3_600, 600, 86_400, ttl]) {
            field.copy_from_slice(&value.to_be_bytes());
        }
        record(owner, rtype::SOA, ttl, &data, out);
        self.end(code, out);
    }

    /// What a question for whatever there is gets (RFC 8482 section 4.2).
    pub(crate) fn minimal(self, out: &mut Vec<u8>) {
        self.begin(Code::NoError, [1, 0], out);
        record(NAME, rtype::HINFO, 86_400, b"\x07RFC8482\x00", out);
        self.end(Code::NoError, out);
    }

    /// SERVFAIL, and why.
    pub(crate) fn failure(self, error: Option<&ExtendedError>, out: &mut Vec<u8>) {
        self.begin(Code::ServFail, [0, 0], out);
        self.end_with(Code::ServFail, error, out);
    }

    /// Bytes that EDNS adds to an answer.
    pub(crate) fn edns_size(self, error: Option<&ExtendedError>) -> usize {
        let Some(edns) = self.edns else { return 0 };
        let cookie = edns.given_cookie().map_or(0, |_| 28);
        11 + cookie + error.map_or(0, ExtendedError::size)
    }

    /// An upstream's answer to the same question, which has no EDNS, with this client's number, spelling and EDNS.
    pub(crate) fn passed(self, answer: &[u8], error: Option<&ExtendedError>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(answer);
        let head = self.head.len();
        out[start..start + 2].copy_from_slice(&self.head[..2]);
        // RD as the client has it; AA: this server is no authority, whatever the upstream is.
        out[start + 2] = out[start + 2] & !0x05 | self.head[2] & 0x01;
        let own = self.head[3];
        // AD goes to clients that understand it (RFC 6840 section 5.8).
        let wants_validated = own & 0x20 != 0 || self.edns.is_some_and(|edns| edns.wants_signatures);
        let kept = if wants_validated { 0x2f } else { 0x0f };
        out[start + 3] = 0x80 | own & 0x10 | out[start + 3] & kept; // RA: this server recurses; CD as the client has it
        out[start + HEADER..start + head].copy_from_slice(&self.head[HEADER..]);
        if self.edns.is_some() {
            let count = u16::from_be_bytes([out[start + 10], out[start + 11]]).saturating_add(1);
            out[start + 10..start + HEADER].copy_from_slice(&count.to_be_bytes());
            self.end_with(Code::NoError, error, out);
        }
    }

    /// Header and question.
    fn begin(self, code: Code, [answers, authorities]: [u8; 2], out: &mut Vec<u8>) {
        let (head, has_question) = (self.head, self.head.len() > HEADER);
        let flags = [0x80 | head[2] & 0x79, 0x80 | head[3] & 0x10 | code as u8 & 0xf];
        out.extend_from_slice(&[head[0], head[1], flags[0], flags[1], 0, has_question.into(), 0, answers, 0]);
        out.extend_from_slice(&[authorities, 0, self.edns.is_some().into()]);
        out.extend_from_slice(&head[HEADER..]);
    }

    /// EDNS, where the question had it, with the reason.
    fn end(self, code: Code, out: &mut Vec<u8>) {
        self.end_with(code, self.reason.map(Reason::error).as_ref(), out);
    }

    /// The same with an extended error.
    fn end_with(self, code: Code, error: Option<&ExtendedError>, out: &mut Vec<u8>) {
        let Some(edns) = self.edns else { return };
        let [high, low] = PAYLOAD.to_be_bytes();
        let signatures = u8::from(edns.wants_signatures) << 7; // RFC 3225 section 3: copied
        out.extend_from_slice(&[0, 0, rtype::OPT as u8, high, low, code as u8 >> 4, 0, signatures, 0]);
        let start = out.len();
        out.extend_from_slice(&[0, 0]);
        if let Some((client, server)) = edns.given_cookie() {
            out.extend_from_slice(&[0, 10, 0, 24]);
            out.extend_from_slice(&client);
            out.extend_from_slice(&server);
        }
        if let Some(error) = error {
            error.write(out);
        }
        let length = (out.len() - start - 2) as u16;
        out[start..start + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// A pointer to the name that was asked for.
const NAME: &[u8] = &[0xc0, HEADER as u8];

/// Appends a record of the Internet.
#[inline]
fn record(owner: &[u8], rtype: u16, ttl: u32, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(owner);
    let [[t1, t2], [l1, l2]] = [rtype.to_be_bytes(), (data.len() as u16).to_be_bytes()];
    let [a, b, c, d] = ttl.to_be_bytes();
    out.extend_from_slice(&[t1, t2, 0, 1, a, b, c, d, l1, l2]);
    out.extend_from_slice(data);
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
