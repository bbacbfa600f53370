//! Lines of an index (CDXJ): where in which file the record of a URL is, sorted by URL and time.
//!
//! A URL is written by its host's labels in reverse, without `www.`, with its query's parts sorted (SURT), so that pages of a site
//! follow each other.

use std::fmt::Write as _;

use crate::Placed;
use crate::date::compact_date;

/// What a line tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<'a> {
    /// The URL.
    pub url: &'a str,
    /// Its date, as its record has it.
    pub date: &'a str,
    /// The media type; of a revisit `warc/revisit`.
    pub media: &'a str,
    /// The status; 0: there is none.
    pub status: u16,
    /// The payload's digest.
    pub digest: &'a str,
    /// Where the record is.
    pub placed: Placed,
    /// In which file.
    pub file: &'a str,
}

/// Returns the line of a record, without a line break; `None`: its date is none.
pub fn line(entry: &Entry<'_>) -> Option<String> {
    let mut line = format!("{} {} {{", surt(entry.url), compact_date(entry.date)?);
    let mut field = |name: &str, value: &str| {
        let comma = if line.ends_with('{') { "" } else { ", " };
        let _ = write!(line, "{comma}\"{name}\": \"{}\"", escaped(value));
    };
    field("url", entry.url);
    if !entry.media.is_empty() {
        field("mime", entry.media);
    }
    if entry.status > 0 {
        field("status", &entry.status.to_string());
    }
    if !entry.digest.is_empty() {
        field("digest", entry.digest);
    }
    field("length", &entry.placed.length.to_string());
    field("offset", &entry.placed.offset.to_string());
    field("filename", entry.file);
    line.push('}');
    Some(line)
}

/// A URL in the order in which an index is sorted.
pub fn surt(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_ascii_lowercase() };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let (host, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name.to_owned(), port.to_owned())
        }
        _ => (host, String::new()),
    };
    let default = match scheme {
        "http" => "80",
        "https" => "443",
        _ => "",
    };
    let host = without_www(&host);
    let is_address = host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok();
    let mut key = match is_address {
        true => host.to_owned(),
        false => host.split('.').rev().collect::<Vec<_>>().join(","),
    };
    if !port.is_empty() && port != default {
        key.push(':');
        key.push_str(&port);
    }
    key.push(')');
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = path.to_ascii_lowercase();
    let path = path.strip_suffix('/').unwrap_or(&path);
    key.push_str(if path.is_empty() { "/" } else { path });
    if !query.is_empty() {
        let query = query.to_ascii_lowercase();
        let mut parts: Vec<_> = query.split('&').collect();
        parts.sort_unstable();
        key.push('?');
        key.push_str(&parts.join("&"));
    }
    key
}

/// A host without `www.`, `www2.` and the like.
fn without_www(host: &str) -> &str {
    let after = host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    after.and_then(|rest| rest.strip_prefix('.')).filter(|rest| !rest.is_empty()).unwrap_or(host)
}

/// A value as JSON has it between quotes.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            c if c < ' ' => {
                let _ = write!(text, "\\u{:04x}", c as u32);
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_sorted_by_site() {
        for (url, key) in [
            ("http://www.example.com/", "com,example)/"),
            ("https://user@Example.COM:443/A/b/?z=1&A=2#x", "com,example)/a/b?a=2&z=1"),
            ("http://www2.example.com:8080", "com,example:8080)/"),
            ("http://192.0.2.1/x", "192.0.2.1)/x"),
            ("http://www.com/", "com)/"),
        ] {
            assert_eq!(surt(url), key, "{url}");
        }
    }

    #[test]
    fn a_line_tells_where_a_record_is() {
        let entry = Entry {
            url: "http://a.example/\"",
            date: "2026-11-29T18:02:05.12Z",
            media: "text/html",
            status: 200,
            digest: "sha1:X",
            placed: Placed { offset: 10, length: 20 },
            file: "a.warc.gz",
        };
        assert_eq!(
            line(&entry).unwrap(),
            "example,a)/\" 20261129180205 {\"url\": \"http://a.example/\\\"\", \"mime\": \"text/html\", \"status\": \"200\", \
             \"digest\": \"sha1:X\", \"length\": \"20\", \"offset\": \"10\", \"filename\": \"a.warc.gz\"}"
        );
        assert_eq!(line(&Entry::default()), None);
    }
}
