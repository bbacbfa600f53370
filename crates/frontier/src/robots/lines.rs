//! A robots.txt as lines of key and value, as leniently as Google's parser reads them (RFC 9309 section 2.3.1.5).

use lycosa_records::MAX_ROBOTS_BYTES;

use super::usage::UsageKind;

/// The keys that rules are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Whom a group speaks to.
    UserAgent,
    /// What may be fetched.
    Allow,
    /// What may not.
    Disallow,
    /// The pause between requests; no part of the RFC.
    CrawlDelay,
    /// What pages may be used for.
    Usage(UsageKind),
    /// A licence of the whole site.
    License,
}

/// Spellings, in the order in which Google's parser tries them; a key counts when it starts with one, so that
/// `disallowed:` counts too.
const SPELLINGS: [(&[u8], Key); 14] = [
    (b"user-agent", Key::UserAgent),
    (b"useragent", Key::UserAgent),
    (b"user agent", Key::UserAgent),
    (b"allow", Key::Allow),
    (b"disallow", Key::Disallow),
    (b"dissallow", Key::Disallow),
    (b"dissalow", Key::Disallow),
    (b"disalow", Key::Disallow),
    (b"diasllow", Key::Disallow),
    (b"disallaw", Key::Disallow),
    (b"crawl-delay", Key::CrawlDelay),
    (b"content-usage", Key::Usage(UsageKind::ContentUsage)),
    (b"content-signal", Key::Usage(UsageKind::ContentSignal)),
    (b"license", Key::License),
];

/// The lines with a known key: number from 1, key, value.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: u32,
}

impl<'a> Lines<'a> {
    /// Reads a body without its byte order mark, which may be cut short; past the limit, whole lines are left out:
    /// half a pattern would forbid or allow more than the site says.
    pub(super) fn new(body: &'a [u8]) -> Self {
        let head = match body.get(..MAX_ROBOTS_BYTES) {
            Some(head) if body.len() > MAX_ROBOTS_BYTES => {
                let end = head.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
                &head[..end.unwrap_or(0)]
            }
            _ => body,
        };
        let mark = head.iter().zip(b"\xef\xbb\xbf").take_while(|(byte, mark)| byte == mark).count();
        Lines { rest: &head[mark..], number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u32, Key, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', self.rest).unwrap_or(self.rest.len());
            let (line, tail) = self.rest.split_at(end);
            self.rest = match tail {
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => tail,
            };
            self.number += 1;
            if let Some((key, value)) = key_value(line)
                && let Some(key) = known_key(key)
            {
                return Some((self.number, key, value));
            }
        }
        None
    }
}

/// Splits `key: value # comment`. The colon may be missing where exactly two words stand in the line.
fn key_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'#', line).unwrap_or(line.len());
    let line = line[..end].trim_ascii();
    if let Some(colon) = memchr::memchr(b':', line) {
        return Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()));
    }
    let space = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
    let (key, value) = (&line[..space], line[space..].trim_ascii());
    (!value.iter().any(|byte| matches!(byte, b' ' | b'\t'))).then_some((key, value))
}

/// The key of these letters, whatever their case.
fn known_key(key: &[u8]) -> Option<Key> {
    let is =
        |spelling: &[u8]| key.get(..spelling.len()).is_some_and(|start| start.eq_ignore_ascii_case(spelling));
    SPELLINGS.iter().find(|(spelling, _)| is(spelling)).map(|(_, key)| *key)
}

/// Whether a user-agent line speaks to everyone: `*` alone or before a space.
pub(super) fn is_everyone(value: &[u8]) -> bool {
    matches!(value, [b'*'] | [b'*', b' ' | b'\t', ..])
}
