//! What an answer says, as one number: answers of a captive portal have one *mark*, those of unrelated sites differ.
//!
//! The mark of a redirect to another host is that host and the path. The mark of a page with a title is its title and the tags at its
//! beginning, so that a portal which puts the URL or a number of its own into each page is recognised, too. Anything else is
//! marked by its first bytes and its length.

use std::hash::{BuildHasher, Hasher};

use lycosa_url::Page;

/// Bytes of a body that make its mark.
const MARKED_BYTES: usize = 4096;

/// The shortest body that has a mark: shorter ones are alike by chance.
const SHORTEST: usize = 16;

/// Network Authentication Required (RFC 6585 section 6): only what stands between client and site says so.
const NETWORK_AUTHENTICATION_REQUIRED: u16 = 511;

/// The mark of an answer; `None` where it has none: failures, errors of servers, and bodies that are alike by chance.
pub(crate) fn mark(page: &Page, hasher: &impl BuildHasher) -> Option<u64> {
    let received = page.response.result.as_ref().ok()?;
    let mut hasher = hasher.build_hasher();
    match received.status {
        NETWORK_AUTHENTICATION_REQUIRED => {
            hasher.write_u16(received.status);
            return Some(hasher.finish() | 2);
        }
        // What a host says of its own load is no portal's answer.
        408 | 421 | 429 | 500.. => return None,
        _ => {}
    }
    if let Some(target) = &page.redirect {
        let path = target.path_and_query().split('?').next().unwrap_or_default();
        // Only hosts of other places are the same for all.
        (target.host() != page.response.request.url.host()).then_some(())?;
        hasher.write(target.host().as_bytes());
        hasher.write(path.as_bytes());
        return Some(hasher.finish() | 2);
    }
    let body = &received.body;
    (body.len() >= SHORTEST).then_some(())?;
    let head = &body[..body.len().min(MARKED_BYTES)];
    hasher.write_u16(received.status);
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

/// Whether a body begins as HTML does.
pub(crate) fn is_markup(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// Whether an answer for a robots.txt is one that no portal gives.
pub(crate) fn is_own_rules(status: u16, body: &[u8]) -> bool {
    matches!(status, 404 | 410) || (status < 300 && !is_markup(body))
}

/// The mark of an answer for a robots.txt that no portal gives; also of one that is too short for a page's.
pub(crate) fn rules_mark(page: &Page, hasher: &impl BuildHasher) -> Option<u64> {
    let received = page.response.result.as_ref().ok()?;
    let is_own = page.redirect.is_none() && is_own_rules(received.status, &page.body);
    let short = || hasher.hash_one((received.status, &page.body[..])) | 2;
    is_own.then(|| mark(page, hasher).unwrap_or_else(short))
}

/// Whether an answer for a robots.txt is another one than those for pages that are all the same and have this status. `before`: the
/// mark of the one before; that there are none any more proves nothing.
pub(crate) fn is_other_rules(page: &Page, status: u16, before: u64, hasher: &impl BuildHasher) -> bool {
    let (Ok(received), Some(mark)) = (&page.response.result, rules_mark(page, hasher)) else { return false };
    match received.status {
        400..=499 => status / 100 != 4 && (before == 0 || before == mark),
        _ => !page.body.is_empty(),
    }
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

/// The names of tags, each with its `<` and, at an end tag, its `/`.
fn tags(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'<', head).filter_map(|start| {
        let rest = head.get(start + 1..)?;
        let name = rest.iter().skip(1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        rest.get(..=name).filter(|tag| tag[0] == b'/' || tag[0].is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::hash_map::RandomState;

    use super::*;
    use crate::tests::{answer, url};

    fn marks(bodies: &[&str], status: u16) -> Vec<Option<u64>> {
        let hasher = RandomState::new();
        let request = Page::reopened(url("http://a.com/"), 0, 0, Ok(200)).response.request;
        let of = |body: &&str| mark(&answer(request.clone(), 0, status, &[], body, &[]), &hasher);
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
