//! The *mark*, a fingerprint of a response: responses of one captive portal have the same mark, those of
//! unrelated sites differ.
//!
//! The mark of a redirect to another host is the hash of the target's host and path. The mark of a page with
//! a title is the hash of its title and first tags, so that a portal is recognised even if it puts the URL or
//! a number into each page. The mark of any other body is the hash of its first bytes and its length.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hasher};

use lycosa_url::CrawlUrl;

/// Its hash is the same in each process and version: the log and snapshots store marks.
type Hashing = BuildHasherDefault<DefaultHasher>;

/// Bytes at the start of a body that are hashed.
const MARKED_BYTES: usize = 4096;

/// The shortest body that has a mark: shorter bodies of unrelated sites are often equal.
const SHORTEST: usize = 16;

/// Network Authentication Required (RFC 6585 section 6): only an intermediary between client and site sends
/// it.
const NETWORK_AUTHENTICATION_REQUIRED: u16 = 511;

/// The mark of a response for a URL; 0 for a report of the host's own load (408, 421, 429, 5xx other than
/// 511), a redirect within the host, or a body that is too short. `body`: without content coding. `redirect`:
/// the redirect's target.
pub fn mark(url: &CrawlUrl, status: u16, body: &[u8], redirect: Option<&CrawlUrl>) -> u64 {
    mark_of(url, status, body, redirect).unwrap_or(0)
}

/// As [`mark()`], but `None` instead of 0.
fn mark_of(url: &CrawlUrl, status: u16, body: &[u8], redirect: Option<&CrawlUrl>) -> Option<u64> {
    let mut hasher = Hashing::default().build_hasher();
    match status {
        NETWORK_AUTHENTICATION_REQUIRED => {
            hasher.write_u16(status);
            return Some(hasher.finish() | 2);
        }
        // A host's report of its own load does not come from a portal.
        408 | 421 | 429 | 500.. => return None,
        _ => {}
    }
    if let Some(target) = redirect {
        let path = target.path_and_query().split('?').next().unwrap_or_default();
        // A redirect within a host is specific to that host.
        (target.host() != url.host()).then_some(())?;
        hasher.write(target.host().as_bytes());
        hasher.write(path.as_bytes());
        return Some(hasher.finish() | 2);
    }
    (body.len() >= SHORTEST).then_some(())?;
    let head = &body[..body.len().min(MARKED_BYTES)];
    hasher.write_u16(status);
    match title(head) {
        Some(title) => {
            hasher.write(title);
            tags(head).for_each(|tag| hasher.write(tag));
        }
        None => {
            hasher.write_usize(body.len());
            hasher.write(head);
        }
    }
    Some(hasher.finish() | 2)
}

/// Whether a body begins like HTML, with `<`.
pub fn is_markup(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// The title of a page, if it has one.
fn title(head: &[u8]) -> Option<&[u8]> {
    if !is_markup(head) {
        return None;
    }
    let start = memchr::memmem::find(head, b"<title>").or_else(|| memchr::memmem::find(head, b"<TITLE>"))?;
    let text = head.get(start + b"<title>".len()..)?;
    let text = text.get(..memchr::memchr(b'<', text)?)?.trim_ascii();
    (!text.is_empty()).then_some(text)
}

/// The names of tags, each with a leading `/` if it is an end tag.
fn tags(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'<', head).filter_map(|start| {
        let rest = head.get(start + 1..)?;
        let name = rest.iter().skip(1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        rest.get(..=name).filter(|tag| tag[0] == b'/' || tag[0].is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(bodies: &[&str], status: u16) -> Vec<Option<u64>> {
        let url = CrawlUrl::parse("http://a.com/").unwrap();
        let of = |body: &&str| mark_of(&url, status, body.as_bytes(), None);
        bodies.iter().map(of).collect()
    }

    #[test]
    fn a_page_that_tells_each_visitor_what_he_asked_for_has_one_mark() {
        let page = |asked: &str| {
            format!(
                "<!DOCTYPE html><title>Log in</title><p>You asked for {asked}<form><input value='{asked}'>"
            )
        };
        let (one, other) = (page("http://a.com/x"), page("http://b.org/number/2"));
        let found = marks(&[&one, &other], 200);
        assert!(found[0].is_some() && found[0] == found[1]);
        assert_ne!(found[0], marks(&[&one], 403)[0]);
    }

    #[test]
    fn pages_of_other_titles_or_other_tags_and_texts_have_other_marks() {
        let found = marks(
            &[
                "<title>One</title><p>a text",
                "<title>Two</title><p>a text",
                "<title>One</title><p>a <b>text</b>",
                "<p>no title at all",
                "<p>no title, another text",
                "<title></title><p>an empty one",
                "plain text <title>One</title>",
            ],
            200,
        );
        let different: std::collections::HashSet<_> = found.iter().collect();
        assert!(found.iter().all(Option::is_some) && different.len() == found.len(), "{found:?}");
    }

    #[test]
    fn what_a_server_says_of_itself_has_no_mark() {
        for status in [408, 421, 429, 500, 503] {
            assert_eq!(marks(&["<title>Down</title> for maintenance"], status), [None]);
        }
        assert!(marks(&["no"], 511)[0].is_some(), "Network Authentication Required");
        assert_eq!(marks(&["short"], 200), [None]);
    }
}
