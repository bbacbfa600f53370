//! Parser of questions from untrusted bytes.
//!
//! Guarantees: [`read`] never panics and reads each byte at most once. A message that it accepts has exactly
//! one question with a complete, uncompressed name, and ends where its counts say.

use lycosa_names::{HEADER, LONGEST_NAME, PacketKey, skip_uncompressed_name};

/// Record types.
pub(crate) mod rtype {
    /// An IPv4 address.
    pub(crate) const A: u16 = 1;
    /// Start of authority.
    pub(crate) const SOA: u16 = 6;
    /// Host information; the answer to ANY (RFC 8482 section 4.2).
    pub(crate) const HINFO: u16 = 13;
    /// An IPv6 address.
    pub(crate) const AAAA: u16 = 28;
    /// EDNS (RFC 6891).
    pub(crate) const OPT: u16 = 41;
    /// From here to ANY: meta types that ask for no data: TKEY, TSIG, IXFR, AXFR, MAILB, MAILA.
    pub(crate) const FIRST_META: u16 = 249;
    /// Any type.
    pub(crate) const ANY: u16 = 255;
}

/// Response codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// No error.
    NoError = 0,
    /// Malformed question.
    FormErr = 1,
    /// The name could not be resolved.
    ServFail = 2,
    /// The name does not exist.
    NxDomain = 3,
    /// An opcode or type that is not implemented.
    NotImp = 4,
    /// The client or the question is refused.
    Refused = 5,
    /// Unsupported version of EDNS.
    BadVers = 16,
}

/// Client cookie and, if sent, server cookie (RFC 7873 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    /// The client cookie.
    pub(crate) client: [u8; 8],
    /// The server cookie that the client sends; `None` if its length is not this server's.
    pub(crate) server: Option<[u8; 16]>,
}

/// EDNS data of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edns {
    /// UDP payload size of the client.
    pub(crate) payload: u16,
    /// Whether the client wants signatures (DO).
    pub(crate) wants_signatures: bool,
    /// The client's cookie.
    pub(crate) cookie: Option<Cookie>,
}

impl Edns {
    /// The client and server cookie of the answer.
    pub(crate) fn given_cookie(&self) -> Option<([u8; 8], [u8; 16])> {
        self.cookie.and_then(|cookie| Some((cookie.client, cookie.server?)))
    }
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'m> {
    /// The header and the question section.
    pub(crate) head: &'m [u8],
    /// The record type.
    pub(crate) rtype: u16,
    /// EDNS data.
    pub(crate) edns: Option<Edns>,
    /// Size of the message in bytes.
    pub(crate) size: usize,
    /// Whether the client's address is verified, by a connection or a cookie. Set in `judging`.
    pub(crate) is_vouched: bool,
}

impl<'m> Question<'m> {
    /// Whether recursion is desired (RD), not only an answer from the cache.
    pub(crate) fn wants_recursion(&self) -> bool {
        self.head[2] & 1 != 0
    }

    /// The name in wire format, with the root label.
    pub(crate) fn name(&self) -> &'m [u8] {
        &self.head[HEADER..self.head.len() - 4]
    }

    /// The key of the upstream question and of the cached reply.
    pub(crate) fn key(&self) -> PacketKey {
        let dnssec_ok = self.edns.is_some_and(|edns| edns.wants_signatures);
        PacketKey::of_wire(self.name(), self.rtype, dnssec_ok, self.head[3] & 0x10 != 0)
    }

    /// The last label of the name, in the client's spelling; empty for the root.
    pub(crate) fn top_label(&self) -> &'m [u8] {
        labels(self.name()).last().unwrap_or_default()
    }

    /// Appends the name as text, like [`write_name`].
    pub(crate) fn write_name(&self, text: &mut String) -> bool {
        write_name(self.name(), text)
    }
}

/// Appends a wire-format name as lower-case text without the final dot. Returns `false` for names without an
/// unambiguous text: the root, and labels that contain dots or bytes other than graphic ASCII.
fn write_name(name: &[u8], text: &mut String) -> bool {
    let (mut space, mut length) = ([0; LONGEST_NAME], 0);
    for label in labels(name) {
        let (start, end) = (length, length + label.len());
        let Some(into) = space.get_mut(start..=end) else { return false };
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'.';
        if !label.iter().all(is_plain) {
            return false;
        }
        into[..label.len()].copy_from_slice(label);
        into[..label.len()].make_ascii_lowercase();
        into[label.len()] = b'.';
        length = end + 1;
    }
    // One UTF-8 validation for all labels costs as much as for one.
    let written = space[..length].strip_suffix(b".").and_then(|name| str::from_utf8(name).ok());
    written.inspect(|name| text.push_str(name)).is_some()
}

/// The labels of a valid wire-format name, without the root label.
pub(crate) fn labels(mut name: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&length, rest) = name.split_first().filter(|(length, _)| **length > 0)?;
        let (label, next) = rest.split_at_checked(length.into())?;
        name = next;
        Some(label)
    })
}

/// The name of a message's question as text; `None` if it has none ([`write_name`]).
pub(crate) fn name_of(message: &[u8]) -> Option<String> {
    let (end, mut text) = (skip_uncompressed_name(message, HEADER)?, String::new());
    write_name(&message[HEADER..end], &mut text).then_some(text)
}

/// Kind of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read<'m> {
    /// A question.
    Question(Question<'m>),
    /// Header and EDNS of a message with a cookie and no question: the client asks for a server cookie (RFC
    /// 7873 section 5.4).
    Greeting(&'m [u8], Edns),
    /// A message that is answered with a response code alone: the bytes up to the end of its question, or the
    /// header if the question cannot be parsed.
    Bad(&'m [u8], Code),
    /// A message that is not answered: too short for a header, or itself an answer.
    Nothing,
}

/// Parses a message.
pub(crate) fn read(message: &[u8]) -> Read<'_> {
    let Some(header) = message.first_chunk::<HEADER>() else { return Read::Nothing };
    if header[2] & 0x80 != 0 {
        return Read::Nothing; // answering an answer could start a loop
    }
    if header[2] & 0x78 != 0 {
        return Read::Bad(header, Code::NotImp); // NOTIFY, UPDATE, STATUS …
    }
    let count = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let (questions, answers, authorities, additionals) = (count(4), count(6), count(8), count(10));
    if (questions, answers, authorities) == (0, 0, 0)
        && let Ok(Some(edns)) = read_additional(message, HEADER, additionals)
        && edns.cookie.is_some()
    {
        return Read::Greeting(header, edns);
    }
    let end = skip_uncompressed_name(message, HEADER).and_then(|end| Some((end, message.get(end..end + 4)?)));
    let Some((name_end, &[high, low, class_high, class_low])) = end else {
        return Read::Bad(header, Code::FormErr);
    };
    let head = &message[..name_end + 4];
    // RFC 9619: exactly one question. A question has no answer section.
    if questions != 1 || answers != 0 || authorities != 0 {
        return Read::Bad(if questions == 1 { head } else { header }, Code::FormErr);
    }
    let edns = match read_additional(message, head.len(), additionals) {
        Ok(edns) => edns,
        Err(code) => return Read::Bad(head, code),
    };
    if u16::from_be_bytes([class_high, class_low]) != 1 {
        return Read::Bad(head, Code::Refused); // only class IN is supported
    }
    Read::Question(Question {
        head,
        rtype: u16::from_be_bytes([high, low]),
        edns,
        size: message.len(),
        is_vouched: false,
    })
}

/// Parses the additional section: at most one OPT record. TSIG and SIG(0) are not supported.
fn read_additional(message: &[u8], mut at: usize, count: u16) -> Result<Option<Edns>, Code> {
    let mut edns = None;
    for _ in 0..count {
        let start = skip_uncompressed_name(message, at).ok_or(Code::FormErr)?;
        let fixed: &[u8; 10] = message.get(start..).and_then(<[u8]>::first_chunk).ok_or(Code::FormErr)?;
        let [t1, t2, size1, size2, _, version, flags, _, l1, l2] = *fixed;
        let length = usize::from(u16::from_be_bytes([l1, l2]));
        let data = message.get(start + 10..start + 10 + length).ok_or(Code::FormErr)?;
        if u16::from_be_bytes([t1, t2]) == rtype::OPT {
            if edns.is_some() || start != at + 1 {
                return Err(Code::FormErr); // at most one, owned by the root (RFC 6891 section 6.1.1)
            }
            if version != 0 {
                return Err(Code::BadVers);
            }
            let cookie = read_cookie(data)?;
            let payload = u16::from_be_bytes([size1, size2]);
            edns = Some(Edns { payload, wants_signatures: flags & 0x80 != 0, cookie });
        }
        at = start + 10 + length;
    }
    if at == message.len() { Ok(edns) } else { Err(Code::FormErr) }
}

/// Finds the cookie among the EDNS options.
fn read_cookie(mut options: &[u8]) -> Result<Option<Cookie>, Code> {
    const COOKIE: u16 = 10;
    let mut cookie = None;
    while !options.is_empty() {
        let (&[c1, c2, l1, l2], rest) = options.split_first_chunk().ok_or(Code::FormErr)?;
        let length = usize::from(u16::from_be_bytes([l1, l2]));
        let (data, next) = rest.split_at_checked(length).ok_or(Code::FormErr)?;
        if u16::from_be_bytes([c1, c2]) == COOKIE && cookie.is_none() {
            // RFC 7873 section 5.2.2: 8 bytes, or 16 to 40.
            let (client, server) = data
                .split_first_chunk::<8>()
                .filter(|_| length == 8 || (16..=40).contains(&length))
                .ok_or(Code::FormErr)?;
            cookie = Some(Cookie { client: *client, server: server.try_into().ok() });
        }
        options = next;
    }
    Ok(cookie)
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
