//! Questions of clients, out of bytes that nobody can be trusted with.
//!
//! Guarantees: [`read`] never panics and looks at each byte once at most; what it lets through has one question whose name is
//! whole, without compression, and ends where it says.

use lycosa_names::{HEADER, LONGEST_NAME, PacketKey, skip_uncompressed_name};

/// Record types.
pub(crate) mod rtype {
    /// An IPv4 address.
    pub(crate) const A: u16 = 1;
    /// The start of a zone.
    pub(crate) const SOA: u16 = 6;
    /// About a host; what ANY is answered with (RFC 8482 section 4.2).
    pub(crate) const HINFO: u16 = 13;
    /// An IPv6 address.
    pub(crate) const AAAA: u16 = 28;
    /// EDNS (RFC 6891).
    pub(crate) const OPT: u16 = 41;
    /// From here to ANY: questions about the server, not about data: TKEY, TSIG, IXFR, AXFR, MAILB, MAILA.
    pub(crate) const FIRST_META: u16 = 249;
    /// Whatever there is.
    pub(crate) const ANY: u16 = 255;
}

/// Response codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// All is well.
    NoError = 0,
    /// The question is not understood.
    FormErr = 1,
    /// Nobody could tell.
    ServFail = 2,
    /// There is no such name.
    NxDomain = 3,
    /// Another kind of request than a question.
    NotImp = 4,
    /// Not for this client, or not for this question.
    Refused = 5,
    /// Another version of EDNS.
    BadVers = 16,
}

/// A client's cookie, and the server's if it has one already (RFC 7873 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    /// The client's.
    pub(crate) client: [u8; 8],
    /// What it says that the server gave it; only of this server's length.
    pub(crate) server: Option<[u8; 16]>,
}

/// What EDNS adds to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edns {
    /// The largest datagram that the client takes.
    pub(crate) payload: u16,
    /// Whether it wants signatures (DO).
    pub(crate) wants_signatures: bool,
    /// Its cookie.
    pub(crate) cookie: Option<Cookie>,
}

impl Edns {
    /// The cookie that the answer brings, the client's part and the server's.
    pub(crate) fn given_cookie(&self) -> Option<([u8; 8], [u8; 16])> {
        self.cookie.and_then(|cookie| Some((cookie.client, cookie.server?)))
    }
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'m> {
    /// The message up to the end of its question.
    pub(crate) head: &'m [u8],
    /// What is asked for.
    pub(crate) rtype: u16,
    /// What EDNS adds.
    pub(crate) edns: Option<Edns>,
    /// Bytes of the whole message.
    pub(crate) size: usize,
    /// Whether the client has shown that it is where it says: by a connection, or a cookie. Set in `judging`.
    pub(crate) is_vouched: bool,
}

impl<'m> Question<'m> {
    /// Whether the client wants the name resolved, not only what is known of it.
    pub(crate) fn wants_recursion(&self) -> bool {
        self.head[2] & 1 != 0
    }

    /// The name on the wire, the root's zero included.
    pub(crate) fn name(&self) -> &'m [u8] {
        &self.head[HEADER..self.head.len() - 4]
    }

    /// What upstreams are asked for it, and by what their answer is kept.
    pub(crate) fn key(&self) -> PacketKey {
        let dnssec_ok = self.edns.is_some_and(|edns| edns.wants_signatures);
        PacketKey::of_wire(self.name(), self.rtype, dnssec_ok, self.head[3] & 0x10 != 0)
    }

    /// The last label of the name, as it was written; empty for the root.
    pub(crate) fn top_label(&self) -> &'m [u8] {
        labels(self.name()).last().unwrap_or_default()
    }

    /// Appends the name in text, as [`write_name`] does.
    pub(crate) fn write_name(&self, text: &mut String) -> bool {
        write_name(self.name(), text)
    }
}

/// Appends a name on the wire in text, in lower case, without the root's dot; tells whether that is possible: the root, labels
/// with dots, and labels with bytes that are no graphic ASCII have no text that could not be another name's.
fn write_name(name: &[u8], text: &mut String) -> bool {
    let (mut room, mut length) = ([0; LONGEST_NAME], 0);
    for label in labels(name) {
        let (start, end) = (length, length + label.len());
        let Some(into) = room.get_mut(start..=end) else { return false };
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'.';
        if !label.iter().all(is_plain) {
            return false;
        }
        into[..label.len()].copy_from_slice(label);
        into[..label.len()].make_ascii_lowercase();
        into[label.len()] = b'.';
        length = end + 1;
    }
    // Validated once for all labels: it costs as much for one of them.
    let written = room[..length].strip_suffix(b".").and_then(|name| str::from_utf8(name).ok());
    written.inspect(|name| text.push_str(name)).is_some()
}

/// The labels of a name on the wire, which was found to be whole, without the root's.
pub(crate) fn labels(mut name: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&length, rest) = name.split_first().filter(|(length, _)| **length > 0)?;
        let (label, next) = rest.split_at_checked(length.into())?;
        name = next;
        Some(label)
    })
}

/// The name that a message asks for, in text; none where it has no text ([`write_name`]).
pub(crate) fn name_of(message: &[u8]) -> Option<String> {
    let (end, mut text) = (skip_uncompressed_name(message, HEADER)?, String::new());
    write_name(&message[HEADER..end], &mut text).then_some(text)
}

/// What a message is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read<'m> {
    /// A question.
    Question(Question<'m>),
    /// No question, but a cookie: the client wants one for later questions (RFC 7873 section 5.4). The header, and EDNS.
    Greeting(&'m [u8], Edns),
    /// Something that is answered with a code alone: the message up to the end of its question, or of its header where it has
    /// none that can be read.
    Bad(&'m [u8], Code),
    /// Nothing to be answered: too short for a header, or an answer itself.
    Nothing,
}

/// Reads a message.
pub(crate) fn read(message: &[u8]) -> Read<'_> {
    let Some(header) = message.first_chunk::<HEADER>() else { return Read::Nothing };
    if header[2] & 0x80 != 0 {
        return Read::Nothing; // to answer an answer is to begin a loop
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
    // RFC 9619: one question, no more, no less. A question has no answer section.
    if questions != 1 || answers != 0 || authorities != 0 {
        return Read::Bad(if questions == 1 { head } else { header }, Code::FormErr);
    }
    let edns = match read_additional(message, head.len(), additionals) {
        Ok(edns) => edns,
        Err(code) => return Read::Bad(head, code),
    };
    if u16::from_be_bytes([class_high, class_low]) != 1 {
        return Read::Bad(head, Code::Refused); // the Internet is all that is known here
    }
    Read::Question(Question {
        head,
        rtype: u16::from_be_bytes([high, low]),
        edns,
        size: message.len(),
        is_vouched: false,
    })
}

/// Reads the additional section: at most one OPT, and what follows from it; signatures of transactions are not understood.
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
                return Err(Code::FormErr); // one only, of the root (RFC 6891 section 6.1.1)
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

/// The cookie among EDNS's options.
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
