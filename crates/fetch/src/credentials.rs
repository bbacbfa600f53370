//! Passwords and tokens of sites (RFC 7617, RFC 6750): each is sent to its origin alone, and in no record.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderValue;
use lycosa_url::CrawlUrl;

use crate::secret;

/// Bytes of a password or token, at most: servers accept header fields of 8 KiB.
const MAX_SECRET_BYTES: usize = 4 << 10;

/// What the field `Authorization` says, by origin.
#[derive(Clone, Default)]
pub struct Credentials(HashMap<Box<str>, HeaderValue>);

impl Credentials {
    /// The credentials of a file that only its owner may read. One line each, `ORIGIN basic USER:PASSWORD` or `ORIGIN bearer TOKEN`, where
    /// the origin is such as `https://example.com` or `http://example.com:8080`; empty lines and those that begin with `#` are left out.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others may read it, or a line is invalid: the error has its number and nothing of its text.
    pub fn open(file: &Path) -> io::Result<Self> {
        let refuse = |why: &dyn fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", file.display()))
        };
        secret::check(file).map_err(|why| refuse(&why))?;
        let text = std::fs::read_to_string(file).map_err(|error| refuse(&error))?;
        Self::parse(&text).map_err(|why| refuse(&why))
    }

    /// The credentials of such a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (origin, value) = parse_line(line).map_err(|why| format!("line {number}: {why}"))?;
            if all.insert(origin, value).is_some() {
                return Err(format!("line {number}: the origin has a line already"));
            }
        }
        Ok(Credentials(all))
    }

    /// What is sent to the origin of a URL; it is sensitive, so that HTTP/2 does not index it.
    pub(crate) fn of(&self, url: &CrawlUrl) -> Option<&HeaderValue> {
        self.0.get(url.origin())
    }
}

/// Shows origins alone.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The origin and the value of a line.
fn parse_line(line: &str) -> Result<(Box<str>, HeaderValue), &'static str> {
    let (origin, rest) = line.split_once(char::is_whitespace).ok_or(FORM)?;
    let (scheme, secret) = rest.trim_start().split_once(char::is_whitespace).ok_or(FORM)?;
    let secret = secret.trim_start();
    if secret.len() > MAX_SECRET_BYTES || secret.chars().any(char::is_control) {
        return Err("the password is too long or has control characters");
    }
    let value = match scheme.to_ascii_lowercase().as_str() {
        "basic" if secret.contains(':') => format!("Basic {}", STANDARD.encode(secret)),
        "basic" => return Err("basic has USER:PASSWORD"),
        "bearer" if is_token(secret) => format!("Bearer {secret}"),
        "bearer" => return Err("the token has characters that no token has"),
        _ => return Err(FORM),
    };
    let mut value = HeaderValue::try_from(value).map_err(|_| FORM)?;
    value.set_sensitive(true);
    Ok((parse_origin(origin)?, value))
}

/// What a line is like.
const FORM: &str = "expected ORIGIN basic USER:PASSWORD or ORIGIN bearer TOKEN";

/// An origin, without anything after host and port.
fn parse_origin(text: &str) -> Result<Box<str>, &'static str> {
    const ORIGIN: &str = "expected an origin such as https://example.com or http://example.com:8080";
    let url = CrawlUrl::parse(text).map_err(|_| ORIGIN)?;
    let is_origin = url.path_and_query() == "/" && !text.contains(['?', '#', '@']);
    if is_origin { Ok(url.origin().into()) } else { Err(ORIGIN) }
}

/// Whether a text is a token (RFC 6750 section 2.1).
fn is_token(text: &str) -> bool {
    let token = text.trim_end_matches('=');
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;

    use super::*;

    fn sent(credentials: &Credentials, url: &str) -> Option<String> {
        let value = credentials.of(&CrawlUrl::parse(url).unwrap())?;
        assert!(value.is_sensitive());
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn each_origin_gets_its_own_and_no_other_any() {
        let text = "# sites\n\nhttps://Example.com basic Aladdin:open sesame\nhttps://api.example.com:8443/  BEARER  mF_9.B5f-4.1JqM=\nhttp://example.com basic u:\n";
        let credentials = Credentials::parse(text).unwrap();
        // The example of RFC 7617 section 2.
        assert_eq!(
            sent(&credentials, "https://example.com/a").as_deref(),
            Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        );
        assert_eq!(
            sent(&credentials, "https://api.example.com:8443/").as_deref(),
            Some("Bearer mF_9.B5f-4.1JqM=")
        );
        assert_eq!(sent(&credentials, "http://example.com:80/").as_deref(), Some("Basic dTo="));
        for url in [
            "https://api.example.com/",
            "https://www.example.com/",
            "https://example.com:444/",
            "http://api.example.com:8443/",
        ] {
            assert_eq!(sent(&credentials, url), None, "{url}");
        }
        assert!(!format!("{credentials:?}").contains("QWx"), "{credentials:?}");
    }

    #[test]
    fn a_bad_line_is_told_by_its_number_and_never_by_its_text() {
        for line in [
            "https://example.com s3cret",
            "https://example.com digest a:s3cret",
            "https://example.com basic s3cret",
            "https://example.com bearer s3 cret",
            "https://example.com basic a:s3cret\u{1}",
            "example.com basic a:s3cret",
            "https://example.com/s3cret basic a:b",
            "https://a:s3cret@example.com basic a:b",
            "ftp://example.com basic a:s3cret",
            "https://x.example basic a:s3cret",
        ] {
            let text = format!("https://x.example basic a:b\n{line}\n");
            let why = Credentials::parse(&text).unwrap_err();
            assert!(why.starts_with("line 2: ") && !why.contains("s3"), "{line}: {why}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        std::fs::write(&file, "https://example.com basic a:b").unwrap();
        for (mode, is_accepted) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let opened = Credentials::open(&file);
            assert_eq!(opened.is_ok(), is_accepted, "{mode:o}: {opened:?}");
        }
        let missing = Credentials::open(&folder.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none: "), "{missing}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(https://a.com (basic|bearer) )?\\PC{0,40}(\n\\PC{0,20})?") {
            let _ = Credentials::parse(&text);
        }
    }
}
