//! Headers of records: named fields, as WARC and ARC write them.

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "types of records, by the standard's names")]
pub enum Kind {
    WarcInfo,
    Request,
    Response,
    Resource,
    Metadata,
    Revisit,
    Conversion,
    Continuation,
    /// None of these; readers ignore such records, by the standard.
    Other,
}

/// All kinds with their names.
const KINDS: [(Kind, &str); 8] = [
    (Kind::WarcInfo, "warcinfo"),
    (Kind::Request, "request"),
    (Kind::Response, "response"),
    (Kind::Resource, "resource"),
    (Kind::Metadata, "metadata"),
    (Kind::Revisit, "revisit"),
    (Kind::Conversion, "conversion"),
    (Kind::Continuation, "continuation"),
];

impl Kind {
    /// Its name in `WARC-Type`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind with a name.
    pub fn of(name: &str) -> Kind {
        KINDS
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map_or(Kind::Other, |(kind, _)| *kind)
    }
}

/// A record's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The first line, such as `WARC/1.1`; of ARC `ARC/1.0`.
    pub version: String,
    /// Names and values, in their order.
    pub fields: Vec<(String, String)>,
}

impl Header {
    /// Reads lines of WARC: the first one has the version. `None`: it has none.
    pub fn parse(lines: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(lines);
        let mut lines = text.lines();
        let version = lines.next()?.trim_end();
        let is_version = version.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("WARC/"));
        is_version.then_some(())?;
        let mut header = Header { version: version.to_owned(), fields: Vec::new() };
        for line in lines {
            if line.starts_with([' ', '\t']) {
                // A value that goes on in the next line.
                if let Some((_, value)) = header.fields.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else if let Some((name, value)) = line.split_once(':') {
                header.fields.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Some(header)
    }

    /// Reads the line that begins a record of ARC 1.0 or 2.0: URL, address, date, media type, length; the URL may have spaces.
    pub fn parse_arc(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        // Version 1 has five parts, version 2 ten; the length is last, and the URL is what is left.
        let parts: Vec<_> = text.rsplitn(5, ' ').collect();
        let [length, media, date, address, url] = parts.as_slice() else { return None };
        length.parse::<u64>().ok()?;
        let is_date = (8..=17).contains(&date.len()) && date.bytes().all(|byte| byte.is_ascii_digit());
        let is_file = url.starts_with("filedesc://");
        (is_date && url.contains(':')).then_some(())?;
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let kind = if is_file { Kind::WarcInfo } else { Kind::Response };
        Some(Header {
            version: "ARC/1.0".to_owned(),
            fields: vec![
                of("WARC-Type", kind.name()),
                of("WARC-Target-URI", url),
                of("WARC-Date", &long_date(date)),
                of("WARC-IP-Address", address),
                of("Content-Type", media),
                of("Content-Length", length),
            ],
        })
    }

    /// A field; the name is case-insensitive.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// What the record is.
    pub fn kind(&self) -> Kind {
        self.get("WARC-Type").map_or(Kind::Other, Kind::of)
    }

    /// The URL, without the angle brackets that some writers put around it, and with its spaces encoded.
    pub fn url(&self) -> Option<String> {
        let url = self.get("WARC-Target-URI")?;
        let url = url.strip_prefix('<').and_then(|url| url.strip_suffix('>')).unwrap_or(url);
        Some(url.replace(' ', "%20"))
    }

    /// The length of the block; `None`: it is missing, or no number.
    pub fn length(&self) -> Option<u64> {
        self.get("Content-Length")?.parse().ok()
    }
}

/// A date of 14 digits as WARC writes it; what is missing at its end is zero.
fn long_date(digits: &str) -> String {
    let digits = format!("{digits:0<14}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    format!("{year}-{month}-{day}T{}:{}:{}Z", part(8, 10), part(10, 12), part(12, 14))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_their_case() {
        let header = Header::parse(
            b"WARC/1.0\r\nwarc-type: Response\r\nWARC-Target-URI: <http://a.example/a b>\r\nX: a\r\n  b\r\n",
        )
        .unwrap();
        assert_eq!(header.kind(), Kind::Response);
        assert_eq!(header.url().unwrap(), "http://a.example/a%20b");
        assert_eq!(header.get("x"), Some("a b"));
        assert_eq!(header.length(), None);
        assert!(Header::parse(b"HTTP/1.1 200 OK\r\n").is_none());
    }

    #[test]
    fn lines_of_arc_may_have_spaces_in_their_url() {
        let header =
            Header::parse_arc(b"http://a.example/a b 192.0.2.1 20130729195151 text/html 1591\n").unwrap();
        assert_eq!((header.url().unwrap().as_str(), header.length()), ("http://a.example/a%20b", Some(1591)));
        assert_eq!(header.get("WARC-Date"), Some("2013-07-29T19:51:51Z"));
        assert!(Header::parse_arc(b"<html> a b c d\n").is_none());
    }
}
