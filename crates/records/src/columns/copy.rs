//! Records as PostgreSQL's `COPY … FROM STDIN (FORMAT binary)` reads them.
//!
//! Guarantees: each record is one row, whose values are of the types that `Column::type_name` says (`text`, `integer`, `bigint`,
//! `boolean`, `timestamp with time zone`, `jsonb`, `bytea`); no text has a NUL, which PostgreSQL has in none.

use std::borrow::Cow;
use std::io;

use super::cells::{Plain, plain, text_of_columns};
use super::{Column, Get, TextDecoder};

/// The beginning: a signature, no flags, no extension.
const BEGINNING: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// In place of a number of values: there are no more rows. In place of a length: there is no value.
const END: i16 = -1;
const MISSING: i32 = -1;

/// The version of `jsonb`.
const JSONB: u8 = 1;

/// 2000-01-01, from which times are counted, and the last time that can be stored, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;
const LAST: i64 = 9_223_371_331_199_999_999;

/// Returns a row of each record. The last value of a row has the names of the columns in which NUL was replaced by U+FFFD; it is missing
/// where nothing was.
pub fn copied<T>(
    records: &[impl AsRef<T>],
    columns: &[&'static Column<T>],
    texts: TextDecoder,
) -> io::Result<Vec<u8>> {
    let mut rows = Rows(BEGINNING.to_vec());
    let count = i16::try_from(columns.len() + 1).map_err(io::Error::other)?;
    for record in records {
        let record = record.as_ref();
        let text = text_of_columns(record, columns, texts);
        let mut replaced = Vec::new();
        rows.0.extend(count.to_be_bytes());
        for column in columns {
            if rows.column(record, column, text.as_deref())? {
                replaced.push(column.name);
            }
        }
        let names = (!replaced.is_empty()).then(|| replaced.join(","));
        rows.value(names.as_deref().map(str::as_bytes))?;
    }
    rows.0.extend(END.to_be_bytes());
    Ok(rows.0)
}

/// Rows that are being made.
struct Rows(Vec<u8>);

impl Rows {
    /// The value of a column. Returns whether NUL was replaced in it.
    fn column<T>(&mut self, record: &T, column: &'static Column<T>, text: Option<&str>) -> io::Result<bool> {
        match column.get {
            Get::Status(get) => self.value(get(record).map(|status| i32::from(status).to_be_bytes()))?,
            Get::Signed(get) => self.value(Some(get(record).to_be_bytes()))?,
            Get::Number(get) => self.value(Some(i64::from(get(record)).to_be_bytes()))?,
            // A database has no numbers of 64 bits without a sign: the same bits with one.
            Get::Large(get) => self.value(Some(get(record).to_be_bytes()))?,
            Get::Flag(get) => self.value(Some([u8::from(get(record))]))?,
            Get::Time(get) => {
                let time = i64::try_from(get(record)).unwrap_or(LAST).saturating_sub(EPOCH);
                self.value(Some(time.min(LAST).to_be_bytes()))?;
            }
            Get::Bytes(get, _) => self.value(get(record))?,
            _ => return self.text(plain(record, column, text)?),
        }
        Ok(false)
    }

    /// A text, or JSON. Returns whether NUL was replaced in it.
    fn text(&mut self, value: Plain) -> io::Result<bool> {
        let (stored, is_json) = match &value {
            Plain::Text(text) if text.contains('\0') => (text.replace('\0', "\u{fffd}").into(), false),
            Plain::Text(text) => (Cow::Borrowed(&**text), false),
            Plain::Json(json) => (without_nul(json), true),
            _ => {
                self.value(None::<&[u8]>)?;
                return Ok(false);
            }
        };
        self.length(stored.len() + usize::from(is_json))?;
        self.0.extend(is_json.then_some(JSONB));
        self.0.extend_from_slice(stored.as_bytes());
        Ok(matches!(stored, Cow::Owned(_)))
    }

    /// A value as it is stored.
    fn value(&mut self, value: Option<impl AsRef<[u8]>>) -> io::Result<()> {
        match value {
            Some(value) => {
                self.length(value.as_ref().len())?;
                self.0.extend_from_slice(value.as_ref());
            }
            None => self.0.extend(MISSING.to_be_bytes()),
        }
        Ok(())
    }

    /// How many bytes the next value has.
    fn length(&mut self, bytes: usize) -> io::Result<()> {
        let length = i32::try_from(bytes).map_err(io::Error::other)?;
        self.0.extend(length.to_be_bytes());
        Ok(())
    }
}

/// JSON without the escape of NUL, which `jsonb` refuses.
fn without_nul(json: &str) -> Cow<'_, str> {
    const NUL: &str = "\\u0000";
    if !json.contains(NUL) {
        return json.into();
    }
    let (mut out, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(found) = rest.find('\\') {
        out.push_str(&rest[..found]);
        rest = &rest[found..];
        // An escape has two characters at least: that of a backslash is none of NUL.
        let length = if rest.starts_with(NUL) { NUL.len() } else { rest.len().min(2) };
        out.push_str(if length == NUL.len() { "\u{fffd}" } else { &rest[..length] });
        rest = &rest[length..];
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use lycosa_url::CrawlUrl;

    use super::*;
    use crate::Outcome;
    use crate::columns::Columns;

    const TEXTS: TextDecoder =
        TextDecoder { decode: |body, _, _| Some(String::from_utf8_lossy(body)), largest: usize::MAX };

    /// The values of an outcome with a title and a body.
    fn values(title: &str, body: &'static [u8], names: &[&str]) -> Vec<Option<Vec<u8>>> {
        let mut outcome = Outcome::reopened(CrawlUrl::parse("http://a.com/").unwrap(), 0, 0, Ok(200));
        (outcome.title, outcome.decoded) = (Some(title.into()), Some(body.into()));
        outcome.links.push(&CrawlUrl::parse("http://a.com/,").unwrap(), false);
        let columns: Vec<_> = names.iter().map(|name| Outcome::column(name).unwrap()).collect();
        let rows = copied(&[Box::new(outcome)], &columns, TEXTS).unwrap();
        let (row, end) = rows.strip_prefix(BEGINNING).unwrap().split_last_chunk::<2>().unwrap();
        let (count, mut rest) = row.split_first_chunk::<2>().unwrap();
        assert_eq!((i16::from_be_bytes(*count) as usize, *end), (names.len() + 1, END.to_be_bytes()));
        let mut values = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            let (value, after) = after.split_at(length.max(0) as usize);
            values.push((length >= 0).then(|| value.to_vec()));
            rest = after;
        }
        values
    }

    #[test]
    fn values_have_their_types_and_no_nul() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let names =
            ["url", "status", "error", "title", "body", "links", "link_count", "noindex", "fetched_at"];
        let found = values("a\tb\0", b"\x00\xff", &names);
        assert_eq!(found[..4], [text("http://a.com/"), Some(vec![0, 0, 0, 200]), None, text("a\tb\u{fffd}")]);
        assert_eq!(found[4..6], [Some(vec![0, 255]), text("\u{1}[\"http://a.com/,\"]")]);
        assert_eq!(found[6..8], [Some(1i64.to_be_bytes().to_vec()), Some(vec![0])]);
        assert_eq!(found[8], Some((-EPOCH).to_be_bytes().to_vec()));
        assert_eq!(found[9], text("title"));
        assert_eq!(values("a", b"", &["url"])[1], None);
    }

    #[test]
    fn json_has_no_escape_of_nul() {
        assert_eq!(
            without_nul(r#"{"a": "x\u0000y", "b": "\\u0000", "c": "\""}"#),
            "{\"a\": \"x\u{fffd}y\", \"b\": \"\\\\u0000\", \"c\": \"\\\"\"}"
        );
        assert!(matches!(without_nul(r#"{"a": "\n"}"#), Cow::Borrowed(_)));
    }
}
