//! Records as cells: values without a structure of their own, and CSV (RFC 4180).
//!
//! Lists and objects are JSON. Guarantees: each record is one line of CSV, whose cells may have line breaks between quotes; no value
//! ends its cell.

use std::borrow::Cow;
use std::io::{self, Write};

use super::json::{Cell, decoded_text, timestamp};
use super::{Column, Get, TextDecoder};

/// A value of a column, without a structure of its own: lists and objects are JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain<'a> {
    /// There is none.
    Missing,
    /// A text, or a time (RFC 3339).
    Text(Cow<'a, str>),
    /// JSON.
    Json(String),
    /// A number.
    Number(i64),
    /// A number that may need all of 64 bits.
    Large(u64),
    /// A flag.
    Flag(bool),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// The values of a record, of each column one.
pub fn plain_values<'a, T>(
    record: &'a T,
    columns: &[&'static Column<T>],
    texts: TextDecoder,
) -> io::Result<Vec<Plain<'a>>> {
    let text = text_of_columns(record, columns, texts);
    columns
        .iter()
        .map(|column| match (&column.get, &text) {
            (Get::DecodedText(..), Some(text)) => Ok(Plain::Text(text.clone())),
            _ => plain(record, column, None),
        })
        .collect()
}

/// The body of a record as text, if a column is that.
pub(super) fn text_of_columns<'a, T>(
    record: &'a T,
    columns: &[&'static Column<T>],
    texts: TextDecoder,
) -> Option<Cow<'a, str>> {
    let is_text = columns.iter().any(|column| matches!(column.get, Get::DecodedText(..)));
    if is_text { decoded_text(record, columns, texts) } else { None }
}

/// The value of a column. `text`: the decoded body.
pub(super) fn plain<'a, T>(
    record: &'a T,
    column: &'static Column<T>,
    text: Option<&'a str>,
) -> io::Result<Plain<'a>> {
    let maybe = |text: Option<Cow<'a, str>>| text.map_or(Plain::Missing, Plain::Text);
    Ok(match column.get {
        Get::Text(get) => Plain::Text(get(record).into()),
        Get::MaybeText(get) => maybe(get(record)),
        Get::DecodedText(..) => maybe(text.map(Cow::Borrowed)),
        Get::Status(get) => get(record).map_or(Plain::Missing, |status| Plain::Number(status.into())),
        Get::Number(get) => Plain::Number(get(record).into()),
        Get::Large(get) => Plain::Large(get(record)),
        Get::Signed(get) => Plain::Number(get(record).into()),
        Get::Flag(get) => Plain::Flag(get(record)),
        Get::Time(get) => Plain::Text(timestamp(get(record)).into()),
        Get::Bytes(get, _) => get(record).map_or(Plain::Missing, |body| Plain::Bytes(body)),
        _ => {
            let json = serde_json::to_string(&Cell { record, column, text })?;
            if json == "null" { Plain::Missing } else { Plain::Json(json) }
        }
    })
}

/// The names of cells: those of the columns, and those of bytes that are no text.
fn names_of<T>(columns: &[&'static Column<T>]) -> Vec<String> {
    let mut names = Vec::new();
    for column in columns {
        names.push(column.name.to_owned());
        if matches!(column.get, Get::Bytes(..)) {
            names.push(format!("{}_base64", column.name));
        }
    }
    names
}

/// Writes a line of CSV for each record. A missing value is nothing, an empty text two quotes; bytes that are no text are base64, in a
/// column of their own.
pub fn write_csv<T>(
    records: &[impl AsRef<T>],
    columns: &[&'static Column<T>],
    texts: TextDecoder,
    into: &mut dyn Write,
) -> io::Result<()> {
    let mut line = Line::default();
    for record in records {
        let record = record.as_ref();
        let text = decoded_text(record, columns, texts);
        for column in columns {
            line.column(record, column, text.as_deref())?;
        }
        line.end(into)?;
    }
    Ok(())
}

/// Writes the names of CSV's cells.
pub fn write_names<T>(columns: &[&'static Column<T>], into: &mut dyn Write) -> io::Result<()> {
    let mut line = Line::default();
    names_of(columns).iter().for_each(|name| line.text(Some(name)));
    line.end(into)
}

/// A line that is being made.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    has_cells: bool,
}

impl Line {
    /// The cell of a column, or its cells.
    fn column<T>(&mut self, record: &T, column: &'static Column<T>, text: Option<&str>) -> io::Result<()> {
        if let Get::Bytes(get, _) = column.get {
            self.binary(get(record).map(|body| &body[..]), text);
            return Ok(());
        }
        match plain(record, column, text)? {
            Plain::Missing => self.text(None),
            Plain::Text(text) => self.text(Some(&text)),
            Plain::Json(json) => self.text(Some(&json)),
            Plain::Number(number) => self.plain(number),
            Plain::Large(number) => self.plain(number),
            Plain::Flag(flag) => self.plain(flag),
            Plain::Bytes(_) => {}
        }
        Ok(())
    }

    /// Separates cells.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_cells, true) {
            self.bytes.push(b',');
        }
    }

    /// A value without characters that mean something.
    fn plain(&mut self, value: impl std::fmt::Display) {
        self.begin();
        // Memory does not refuse to be written to.
        let _ = write!(self.bytes, "{value}");
    }

    /// A text.
    fn text(&mut self, value: Option<&str>) {
        self.begin();
        let Some(value) = value else { return };
        let is_quoted = value.is_empty() || value.contains(['"', ',', '\r', '\n']) || value.starts_with(' ');
        if is_quoted {
            self.bytes.push(b'"');
            for (index, part) in value.split('"').enumerate() {
                self.bytes.extend_from_slice(if index > 0 { b"\"\"" } else { b"" });
                self.bytes.extend_from_slice(part.as_bytes());
            }
            self.bytes.push(b'"');
        } else {
            self.bytes.extend_from_slice(value.as_bytes());
        }
    }

    /// Bytes, which may be text.
    fn binary(&mut self, value: Option<&[u8]>, text: Option<&str>) {
        use base64::Engine as _;

        self.text(text.filter(|_| value.is_some()));
        let other = value.filter(|_| text.is_none());
        let other = other.map(|value| base64::engine::general_purpose::STANDARD.encode(value));
        self.text(other.as_deref());
    }

    /// Writes the line.
    fn end(&mut self, into: &mut dyn Write) -> io::Result<()> {
        self.bytes.extend_from_slice(b"\r\n");
        into.write_all(&self.bytes)?;
        self.bytes.clear();
        self.has_cells = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lycosa_url::CrawlUrl;

    use super::*;
    use crate::Outcome;
    use crate::columns::Columns;

    const TEXTS: TextDecoder =
        TextDecoder { decode: |body, _, _| Some(String::from_utf8_lossy(body)), largest: usize::MAX };

    /// The line of an outcome with a title and a body.
    fn line(title: &str, body: &'static [u8], charset: Option<&'static str>, names: &[&str]) -> String {
        let mut outcome = Outcome::reopened(CrawlUrl::parse("http://a.com/").unwrap(), 0, 0, Ok(200));
        (outcome.title, outcome.decoded) = (Some(title.into()), Some(body.into()));
        outcome.charset = charset.map(Cow::Borrowed);
        outcome.links.push(&CrawlUrl::parse("http://a.com/,").unwrap(), false);
        let columns: Vec<_> = names.iter().map(|name| Outcome::column(name).unwrap()).collect();
        let mut lines = Vec::new();
        write_csv(&[Box::new(outcome)], &columns, TEXTS, &mut lines).unwrap();
        String::from_utf8(lines).unwrap()
    }

    const NAMES: [&str; 6] = ["url", "status", "error", "title", "body", "links"];

    #[test]
    fn cells_of_csv_are_quoted_where_they_have_to_be() {
        assert_eq!(
            line("say \"yes\", no\n", b"text", Some("UTF-8"), &NAMES),
            "http://a.com/,200,,\"say \"\"yes\"\", no\n\",text,,\"[\"\"http://a.com/,\"\"]\"\r\n"
        );
        assert_eq!(line("", b"\xff", None, &NAMES).matches("\"\",,/w==,").count(), 1);
    }

    #[test]
    fn names_are_those_of_the_columns() {
        let columns: Vec<_> = NAMES.iter().map(|name| Outcome::column(name).unwrap()).collect();
        let mut names = Vec::new();
        write_names(&columns, &mut names).unwrap();
        assert_eq!(names, b"url,status,error,title,body,body_base64,links\r\n");
    }
}
