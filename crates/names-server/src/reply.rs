//! Encoder of answers to clients.
//!
//! Guarantees: an answer repeats its question byte for byte, so that clients that randomize letter case can
//! verify it; it has EDNS exactly if the question has; address records are owned by the name in the question,
//! without the CNAME chain.

use std::net::IpAddr;

use lycosa_names::{ExtendedError, HEADER, PAYLOAD};

use crate::question::{Code, Edns, Question, rtype};

/// Maximum size of a UDP answer without EDNS (RFC 1035 section 2.3.4).
const PLAIN: u16 = 512;

/// Maximum amplification: UDP answer size as a multiple of the question size for unverified client addresses,
/// which limits the use of the server in reflection attacks.
const AMPLIFICATION: usize = 10;

/// Extended DNS error codes of the server (RFC 8914 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Stale answer: no newer one is available.
    StaleAnswer = 3,
    /// Cached failure, which is not retried yet.
    CachedError = 13,
    /// Blocked: all addresses of the answer were private.
    Blocked = 15,
    /// The client is not allowed.
    Prohibited = 18,
    /// No upstream answered in time.
    NoReachableAuthority = 22,
}

impl Reason {
    /// The extended error without text.
    pub(crate) fn error(self) -> ExtendedError {
        ExtendedError { code: self as u16, text: Box::default() }
    }
}

/// Data of a pending question that its answer needs.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Header and question section.
    head: Box<[u8]>,
    edns: Option<Edns>,
    /// Maximum size of a UDP answer.
    most: usize,
}

impl Asked {
    /// Copies the data of a question.
    pub(crate) fn of(question: &Question<'_>) -> Self {
        let payload = usize::from(question.edns.map_or(PLAIN, |edns| edns.payload.clamp(PLAIN, PAYLOAD)));
        let most = if question.is_vouched { payload } else { payload.min(AMPLIFICATION * question.size) };
        Asked { head: question.head.into(), edns: question.edns, most }
    }

    /// Maximum size of a UDP answer: the least of the client's limit, the server's limit and, for unverified
    /// addresses, the amplification limit.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// The header data of the answer.
    pub(crate) fn to(&self) -> To<'_> {
        To { head: &self.head, edns: self.edns, reason: None }
    }
}

/// Question data that an answer is written from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct To<'q> {
    /// Header and question section; only the header if the question cannot be parsed.
    pub(crate) head: &'q [u8],
    /// EDNS data, with the cookie for the answer.
    pub(crate) edns: Option<Edns>,
    /// Extended error, for clients with EDNS.
    pub(crate) reason: Option<Reason>,
}

impl<'q> To<'q> {
    /// Data of a question.
    pub(crate) fn of(question: &Question<'q>) -> Self {
        To { head: question.head, edns: question.edns, reason: None }
    }

    /// Adds an extended error.
    pub(crate) fn because(self, reason: Reason) -> Self {
        To { reason: Some(reason), ..self }
    }

    /// Writes a response code without records.
    pub(crate) fn code(self, code: Code, out: &mut Vec<u8>) {
        self.begin(code, [0, 0], out);
        self.end(code, out);
    }

    /// Writes a truncated answer (TC) without records: the client is to ask over TCP.
    pub(crate) fn truncated(self, out: &mut Vec<u8>) {
        let start = out.len();
        self.code(Code::NoError, out);
        out[start + 2] |= 2;
    }

    /// Writes addresses of one family; returns how many. They are rotated by the message ID, which clients
    /// choose at random, to spread connections; Unbound does so, too (rrset-roundrobin).
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

    /// Writes NXDOMAIN or NODATA with this TTL in seconds (RFC 2308). The zone's SOA is not cached; the SOA
    /// record is owned by the parent name instead.
    pub(crate) fn negative(self, code: Code, ttl: u32, out: &mut Vec<u8>) {
        self.begin(code, [0, 1], out);
        let first = self.head.get(HEADER).map_or(0, |length| usize::from(*length));
        let above = HEADER + 1 + first;
        // A pointer to the parent name; for top-level names the root itself.
        let is_root = first == 0 || self.head.get(above).is_none_or(|length| *length == 0);
        let owner = if is_root { &[0][..] } else { &[0xc0, above as u8][..] };
        // Root as MNAME and RNAME, then serial, refresh, retry, expire, minimum.
        let mut data = [0; 22];
        for (field, value) in data[2..].chunks_exact_mut(4).zip([1, 3_600, 600, 86_400, ttl]) {
            field.copy_from_slice(&value.to_be_bytes());
        }
        record(owner, rtype::SOA, ttl, &data, out);
        self.end(code, out);
    }

    /// Writes the answer to ANY (RFC 8482 section 4.2).
    pub(crate) fn minimal(self, out: &mut Vec<u8>) {
        self.begin(Code::NoError, [1, 0], out);
        record(NAME, rtype::HINFO, 86_400, b"\x07RFC8482\x00", out);
        self.end(Code::NoError, out);
    }

    /// Writes SERVFAIL with an extended error.
    pub(crate) fn failure(self, error: Option<&ExtendedError>, out: &mut Vec<u8>) {
        self.begin(Code::ServFail, [0, 0], out);
        self.end_with(Code::ServFail, error, out);
    }

    /// Size of the OPT record of an answer.
    pub(crate) fn edns_size(self, error: Option<&ExtendedError>) -> usize {
        let Some(edns) = self.edns else { return 0 };
        let cookie = edns.given_cookie().map_or(0, |_| 28);
        11 + cookie + error.map_or(0, ExtendedError::size)
    }

    /// Writes an upstream's reply, which has no EDNS, with this client's ID, spelling and EDNS.
    pub(crate) fn passed(self, answer: &[u8], error: Option<&ExtendedError>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(answer);
        let head = self.head.len();
        out[start..start + 2].copy_from_slice(&self.head[..2]);
        // RD as the client sent it; AA cleared, since this server is not authoritative.
        out[start + 2] = out[start + 2] & !0x05 | self.head[2] & 0x01;
        let own = self.head[3];
        // AD only for clients that understand it (RFC 6840 section 5.8).
        let wants_validated = own & 0x20 != 0 || self.edns.is_some_and(|edns| edns.wants_signatures);
        let kept = if wants_validated { 0x2f } else { 0x0f };
        out[start + 3] = 0x80 | own & 0x10 | out[start + 3] & kept; // RA set; CD as the client sent it
        out[start + HEADER..start + head].copy_from_slice(&self.head[HEADER..]);
        if self.edns.is_some() {
            let count = u16::from_be_bytes([out[start + 10], out[start + 11]]).saturating_add(1);
            out[start + 10..start + HEADER].copy_from_slice(&count.to_be_bytes());
            self.end_with(Code::NoError, error, out);
        }
    }

    /// Writes header and question.
    fn begin(self, code: Code, [answers, authorities]: [u8; 2], out: &mut Vec<u8>) {
        let (head, has_question) = (self.head, self.head.len() > HEADER);
        let flags = [0x80 | head[2] & 0x79, 0x80 | head[3] & 0x10 | code as u8 & 0xf];
        out.extend_from_slice(&[head[0], head[1], flags[0], flags[1], 0, has_question.into(), 0, answers, 0]);
        out.extend_from_slice(&[authorities, 0, self.edns.is_some().into()]);
        out.extend_from_slice(&head[HEADER..]);
    }

    /// Writes the OPT record if the question has EDNS, with the reason.
    fn end(self, code: Code, out: &mut Vec<u8>) {
        self.end_with(code, self.reason.map(Reason::error).as_ref(), out);
    }

    /// Like [`end`](Self::end), with this extended error.
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

/// A pointer to the name in the question.
const NAME: &[u8] = &[0xc0, HEADER as u8];

/// Appends a record of class IN.
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
