//! Rows as JSON lines. The keys are the columns' names; a field without a value is `null`.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat};
use lycosa_url::header_text;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::entry::{Decoders, Field, Row};

/// Writes one line for each row.
pub fn write_lines(
    rows: &[Row],
    fields: &[Field],
    decoders: Decoders,
    into: &mut dyn Write,
) -> serde_json::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *into, &Line { row, fields, decoders })?;
        into.write_all(b"\n").map_err(serde_json::Error::io)?;
    }
    Ok(())
}

/// One row with the chosen columns.
struct Line<'a> {
    row: &'a Row,
    fields: &'a [Field],
    decoders: Decoders,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Once for both columns that are made of it.
        let wanted = self.fields.iter().any(|field| matches!(field, Field::Body | Field::Text));
        let text = if wanted { self.row.text(self.decoders) } else { None };
        for field in self.fields {
            self.entry(*field, text.as_deref(), &mut map)?;
        }
        map.end()
    }
}

impl Line<'_> {
    /// Writes one column. `text`: the body's.
    fn entry<M: SerializeMap>(&self, field: Field, text: Option<&str>, map: &mut M) -> Result<(), M::Error> {
        use Field as F;
        let (outcome, name) = (&self.row.outcome, field.name());
        match field {
            F::Url => map.serialize_entry(name, &outcome.url),
            F::Chain => map.serialize_entry(name, &Pairs(&outcome.chain, "url", "status", |status| *status)),
            F::Depth => map.serialize_entry(name, &outcome.depth),
            F::Attempt => map.serialize_entry(name, &outcome.attempt),
            F::Status => map.serialize_entry(name, &outcome.status),
            F::Error => map.serialize_entry(name, &outcome.error),
            F::ErrorDetail => map.serialize_entry(name, &outcome.error_detail),
            F::Address => map.serialize_entry(name, &outcome.address),
            F::FetchedAt => map.serialize_entry(name, &timestamp(outcome.finished)),
            F::NameUs => map.serialize_entry(name, &outcome.name_us),
            F::DnsClass => map.serialize_entry(name, &outcome.dns_class),
            F::ConnectUs => map.serialize_entry(name, &outcome.connect_us),
            F::TlsUs => map.serialize_entry(name, &outcome.tls_us),
            F::FirstByteUs => map.serialize_entry(name, &outcome.first_byte_us),
            F::BodyUs => map.serialize_entry(name, &outcome.body_us),
            F::Headers => map
                .serialize_entry(name, &Pairs(&outcome.headers, "name", "value", |value| header_text(value))),
            F::ContentType => map.serialize_entry(name, &outcome.header("content-type")),
            F::Charset => map.serialize_entry(name, &outcome.charset),
            F::Title => map.serialize_entry(name, &outcome.title),
            F::Canonical => map.serialize_entry(name, &outcome.canonical),
            F::Redirect => map.serialize_entry(name, &outcome.redirect),
            F::Noindex => map.serialize_entry(name, &outcome.noindex),
            F::Nofollow => map.serialize_entry(name, &outcome.nofollow),
            F::LinkCount => map.serialize_entry(name, &outcome.links.len()),
            F::Links => map.serialize_entry(name, &Urls(&outcome.links)),
            F::Body => self.body(text, map),
            F::Text => map.serialize_entry(name, &text),
        }
    }

    /// Text as text under `body`, other bytes as base64 under `body_base64`; both keys are in every line.
    fn body<M: SerializeMap>(&self, text: Option<&str>, map: &mut M) -> Result<(), M::Error> {
        let other = self.row.body.as_ref().filter(|_| text.is_none());
        map.serialize_entry("body", &text)?;
        map.serialize_entry("body_base64", &other.map(|body| STANDARD.encode(body)))
    }
}

/// Pairs as objects: their left and right keys, and what is shown of the right.
struct Pairs<'a, L, R, T>(&'a [(L, R)], &'static str, &'static str, fn(&'a R) -> T);

impl<L: Serialize, R, T: Serialize> Serialize for Pairs<'_, L, R, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.0.iter().map(|(left, right)| Pair((self.1, left), (self.2, (self.3)(right)))))
    }
}

/// One object of two entries.
struct Pair<L, R>((&'static str, L), (&'static str, R));

impl<L: Serialize, R: Serialize> Serialize for Pair<L, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.0.0, &self.0.1)?;
        map.serialize_entry(self.1.0, &self.1.1)?;
        map.end()
    }
}

/// The URLs of links.
struct Urls<'a, T, F>(&'a [(T, F)]);

impl<T: Serialize, F> Serialize for Urls<'_, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(url, _)| url))
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

    use super::*;
    use crate::entry::{Entry, Outcome};
    use crate::frame::Kind;

    const DECODERS: Decoders = Decoders {
        content: |body, _, _| Some(body.clone()),
        largest: usize::MAX,
        text: |body, _, largest| Some(String::from_utf8_lossy(body)).filter(|text| text.len() <= largest),
    };

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(timestamp(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(timestamp(1_795_251_661_500_000), "2026-11-21T09:01:01.500000Z");
    }

    #[test]
    fn rows_become_lines_and_columns() {
        let outcome = Outcome {
            url: "http://a.com/".into(),
            chain: vec![("http://b.com/".into(), 301)],
            status: Some(200),
            dns_class: Some("slow".into()),
            headers: vec![("server".into(), Cow::Borrowed(b"caf\xe9"))],
            charset: Some("UTF-8".into()),
            links: vec![("http://a.com/x".into(), false)],
            ..Outcome::default()
        };
        let entry = Entry { kind: Kind::Page, outcome, body: "é\n".into(), skipped: 0, end: 0 };
        let retried = Entry { outcome: Outcome { retry: true, ..entry.outcome.clone() }, ..entry.clone() };
        assert!(retried.into_row(DECODERS, true).is_none());
        let rows: Vec<Row> = entry.into_row(DECODERS, true).into_iter().collect();
        let fields: Vec<Field> = [
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
        ]
        .map(|n| n.parse().unwrap())
        .into();
        let mut lines = Vec::new();
        write_lines(&rows, &fields, DECODERS, &mut lines).unwrap();
        let expected = concat!(
            r#"{"url":"http://a.com/","chain":[{"url":"http://b.com/","status":301}],"status":200,"error":null,"dns_class":"slow","#,
            r#""headers":[{"name":"server","value":"café"}],"links":["http://a.com/x"],"link_count":1,"body":"é\n","body_base64":null,"text":"é\n"}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
        let mut short = Vec::new();
        write_lines(&rows, &fields[8..], Decoders { largest: 2, ..DECODERS }, &mut short).unwrap();
        let expected = concat!(r#"{"body":null,"body_base64":"w6kK","text":null}"#, "\n");
        assert_eq!(String::from_utf8(short).unwrap(), expected, "larger as text than it may be");
        let all: Vec<Field> = Field::ALL.iter().map(|(field, _)| *field).collect();
        let batch = crate::record_batch(&rows, &all, DECODERS).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (1, 27));
        assert_eq!(crate::record_batch(&[], &all, DECODERS).unwrap().schema(), crate::schema(&all));
    }
}
