//! Records as JSON lines. The keys are the columns' names; missing values are `null`.

use std::borrow::Cow;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Column, Get, TextDecoder};

/// Writes one line for each record.
pub fn write_lines<T>(
    records: &[impl AsRef<T>],
    columns: &[&'static Column<T>],
    texts: TextDecoder,
    into: &mut dyn Write,
) -> serde_json::Result<()> {
    for record in records {
        serde_json::to_writer(&mut *into, &Line { record: record.as_ref(), columns, texts })?;
        into.write_all(b"\n").map_err(serde_json::Error::io)?;
    }
    Ok(())
}

/// One record with the selected columns.
struct Line<'a, T: 'static> {
    record: &'a T,
    columns: &'a [&'static Column<T>],
    texts: TextDecoder,
}

impl<T> Serialize for Line<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let text = decoded_text(self.record, self.columns, self.texts);
        let text = text.as_deref();
        for column in self.columns {
            let (name, record) = (column.name, self.record);
            map.serialize_entry(name, &Cell { record, column, text })?;
            if let Get::Bytes(get, _) = column.get {
                // Text as text, other bytes as base64; each line has both keys.
                let other = get(record).filter(|_| text.is_none());
                map.serialize_entry(&format!("{name}_base64"), &other.map(|body| STANDARD.encode(body)))?;
            }
        }
        map.end()
    }
}

/// The body of a record as text, if one of these columns has it: decoded once for all of them.
pub(super) fn decoded_text<'a, T>(
    record: &'a T,
    columns: &[&'static Column<T>],
    texts: TextDecoder,
) -> Option<Cow<'a, str>> {
    let (body, charset) = columns.iter().find_map(|column| match column.get {
        Get::Bytes(body, charset) | Get::DecodedText(body, charset) => Some((body, charset)),
        _ => None,
    })?;
    texts.text(body(record), charset(record))
}

/// The value of one column.
pub(super) struct Cell<'a, T: 'static> {
    pub(super) record: &'a T,
    pub(super) column: &'a Column<T>,
    /// The body as text.
    pub(super) text: Option<&'a str>,
}

impl<T> Serialize for Cell<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.record;
        match self.column.get {
            Get::Text(get) => get(record).serialize(serializer),
            Get::MaybeText(get) => get(record).serialize(serializer),
            Get::Status(get) => get(record).serialize(serializer),
            Get::Number(get) => get(record).serialize(serializer),
            Get::Large(get) => get(record).serialize(serializer),
            Get::Signed(get) => get(record).serialize(serializer),
            Get::Flag(get) => get(record).serialize(serializer),
            Get::Time(get) => timestamp(get(record)).serialize(serializer),
            Get::Json(get) => get(record).serialize(serializer),
            Get::Texts(get) => serializer.collect_seq(get(record)),
            Get::Numbers(get) => serializer.collect_seq(get(record)),
            Get::Flags(get) => serializer.collect_seq(get(record)),
            Get::Steps(get) => serializer
                .collect_seq(get(record).map(|(url, status)| Pair(("url", url), ("status", status)))),
            Get::Fields(get) => {
                serializer.collect_seq(get(record).map(|(key, value)| Pair(("name", key), ("value", value))))
            }
            Get::Preferences(get) => serializer.collect_seq(get(record)),
            Get::Licenses(get) => serializer.collect_seq(
                get(record).map(|license| Pair(("url", license.url), ("source", license.source))),
            ),
            Get::Bytes(..) | Get::DecodedText(..) => self.text.serialize(serializer),
        }
    }
}

/// An object with two entries.
struct Pair<L, R>((&'static str, L), (&'static str, R));

impl<L: Serialize, R: Serialize> Serialize for Pair<L, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.0.0, &self.0.1)?;
        map.serialize_entry(self.1.0, &self.1.1)?;
        map.end()
    }
}

/// A time as RFC 3339 text in UTC, to the microsecond.
pub(super) fn timestamp(micros: u64) -> String {
    let time = i64::try_from(micros).ok().and_then(DateTime::from_timestamp_micros).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use lycosa_url::{CrawlUrl, NameClass};

    use super::*;
    use crate::columns::Columns;
    use crate::{Head, Outcome, Step};

    const TEXTS: TextDecoder = TextDecoder {
        decode: |body, _, largest| Some(String::from_utf8_lossy(body)).filter(|text| text.len() <= largest),
        largest: usize::MAX,
    };

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(timestamp(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(timestamp(1_795_251_661_500_000), "2026-11-21T09:01:01.500000Z");
    }

    #[test]
    fn outcomes_become_lines() {
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        let mut outcome = Outcome::reopened(url("http://a.com/"), 0, 0, Ok(200));
        outcome.response.request.chain = vec![Step { url: url("http://b.com/"), status: 301 }];
        outcome.response.request.name_class = Some(NameClass::Slow);
        if let Ok(received) = &mut outcome.response.result {
            received.head = Head::of("HTTP/1.1 200 OK", [("Server", b"caf\xe9")]).unwrap();
        }
        (outcome.charset, outcome.decoded) = (Some(Cow::Borrowed("UTF-8")), Some("é\n".into()));
        outcome.links.push(&url("http://a.com/x"), false);
        let names = [
            "url",
            "chain",
            "status",
            "error",
            "dns_class",
            "headers",
            "links",
            "link_count",
            "body",
            "text",
            "fields",
            "metadata",
        ];
        let columns = names.map(|name| Outcome::column(name).unwrap());
        let outcomes = [Box::new(outcome)];
        let mut lines = Vec::new();
        write_lines(&outcomes, &columns, TEXTS, &mut lines).unwrap();
        let expected = concat!(
            r#"{"url":"http://a.com/","chain":[{"url":"http://b.com/","status":301}],"status":200,"error":null,"dns_class":"slow","#,
            r#""headers":[{"name":"server","value":"café"}],"links":["http://a.com/x"],"link_count":1,"body":"é\n","body_base64":null,"text":"é\n","#,
            r#""fields":{},"metadata":null}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
        let mut short = Vec::new();
        write_lines(&outcomes, &columns[8..10], TextDecoder { largest: 2, ..TEXTS }, &mut short).unwrap();
        let expected = concat!(r#"{"body":null,"body_base64":"w6kK","text":null}"#, "\n");
        assert_eq!(String::from_utf8(short).unwrap(), expected, "larger as text than it may be");
    }
}
