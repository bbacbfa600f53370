//! Records as JSON lines. The keys are the columns' names; missing values are `null`.

use std::cell::RefCell;
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
        // Decoded once for both columns that contain it.
        let text = self.columns.iter().find_map(|column| match column.get {
            Get::Bytes(body, charset) | Get::DecodedText(body, charset) => Some((body, charset)),
            _ => None,
        });
        let text = text.and_then(|(body, charset)| self.texts.text(body(self.record), charset(self.record)));
        for column in self.columns {
            self.entry(column, text.as_deref(), &mut map)?;
        }
        map.end()
    }
}

impl<T> Line<'_, T> {
    /// Writes one column. `text`: the decoded body.
    fn entry<M: SerializeMap>(
        &self,
        column: &Column<T>,
        text: Option<&str>,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let (name, record) = (column.name, self.record);
        match column.get {
            Get::Text(get) => map.serialize_entry(name, get(record)),
            Get::MaybeText(get) => map.serialize_entry(name, &get(record)),
            Get::Status(get) => map.serialize_entry(name, &get(record)),
            Get::Number(get) => map.serialize_entry(name, &get(record)),
            Get::Large(get) => map.serialize_entry(name, &get(record)),
            Get::Signed(get) => map.serialize_entry(name, &get(record)),
            Get::Flag(get) => map.serialize_entry(name, &get(record)),
            Get::Time(get) => map.serialize_entry(name, &timestamp(get(record))),
            Get::Json(get) => map.serialize_entry(name, &get(record)),
            Get::Texts(get) => map.serialize_entry(name, &Each::of(get(record))),
            Get::Numbers(get) => map.serialize_entry(name, &Each::of(get(record))),
            Get::Flags(get) => map.serialize_entry(name, &Each::of(get(record))),
            Get::Steps(get) => {
                let steps = get(record).map(|(url, status)| Pair(("url", url), ("status", status)));
                map.serialize_entry(name, &Each::of(steps))
            }
            Get::Fields(get) => {
                let fields = get(record).map(|(key, value)| Pair(("name", key), ("value", value)));
                map.serialize_entry(name, &Each::of(fields))
            }
            Get::Preferences(get) => map.serialize_entry(name, &Each::of(get(record))),
            Get::Licenses(get) => {
                let licenses =
                    get(record).map(|license| Pair(("url", license.url), ("source", license.source)));
                map.serialize_entry(name, &Each::of(licenses))
            }
            Get::Bytes(get, _) => {
                // Text as text, other bytes as base64; each line has both keys.
                let other = get(record).filter(|_| text.is_none());
                map.serialize_entry(name, &text)?;
                map.serialize_entry(&format!("{name}_base64"), &other.map(|body| STANDARD.encode(body)))
            }
            Get::DecodedText(..) => map.serialize_entry(name, &text),
        }
    }
}

/// A list that is serialized from an iterator, once.
struct Each<I>(RefCell<Option<I>>);

impl<I> Each<I> {
    fn of(items: I) -> Self {
        Each(RefCell::new(Some(items)))
    }
}

impl<I: Iterator<Item: Serialize>> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.borrow_mut().take().into_iter().flatten())
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
fn timestamp(micros: u64) -> String {
    let time = i64::try_from(micros).ok().and_then(DateTime::from_timestamp_micros).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

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
