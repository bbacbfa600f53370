//! Records as cells of text: CSV (RFC 4180), and what PostgreSQL's `COPY … FROM STDIN` reads.
//!
//! Lists and objects are JSON. Guarantees: each record is one line of CSV (whose cells may have line breaks between quotes), or one
//! line of COPY; no value ends its cell.

use std::borrow::Cow;
use std::io::{self, Write};

use super::json::{Cell, decoded_text, timestamp};
use super::{Column, Get, TextDecoder};

/// How cells are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// With commas; a missing value is nothing, an empty text two quotes. Bytes that are no text are base64, in a column of their own.
    Csv,
    /// With tabs; a missing value is `\N`. Bytes are hexadecimal. The last cell has the names of the columns in which NUL, which
    /// PostgreSQL has in no text, was replaced by U+FFFD; `\N`: in none.
    Copy,
}

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
    let text = decoded_text(record, columns, texts);
    columns
        .iter()
        .map(|column| match (&column.get, &text) {
            (Get::DecodedText(..), Some(text)) => Ok(Plain::Text(text.clone())),
            _ => plain(record, column, None),
        })
        .collect()
}

/// The value of a column. `text`: the decoded body.
fn plain<'a, T>(record: &'a T, column: &'static Column<T>, text: Option<&'a str>) -> io::Result<Plain<'a>> {
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

/// The names of cells: those of the columns, and what [`Cells`] adds.
pub fn names_of<T>(columns: &[&'static Column<T>], cells: Cells) -> Vec<String> {
    let mut names = Vec::new();
    for column in columns {
        names.push(column.name.to_owned());
        if cells == Cells::Csv && matches!(column.get, Get::Bytes(..)) {
            names.push(format!("{}_base64", column.name));
        }
    }
    if cells == Cells::Copy {
        names.push(REPLACED.to_owned());
    }
    names
}

/// The column with the names of columns in which something was replaced.
const REPLACED: &str = "replaced";

/// Writes a line for each record.
pub fn write_cells<T>(
    records: &[impl AsRef<T>],
    columns: &[&'static Column<T>],
    texts: TextDecoder,
    cells: Cells,
    into: &mut dyn Write,
) -> io::Result<()> {
    let mut line = Line { cells, bytes: Vec::new(), is_first: true, is_replaced: false };
    for record in records {
        let record = record.as_ref();
        let text = decoded_text(record, columns, texts);
        let mut replaced = String::new();
        for column in columns {
            line.is_replaced = false;
            line.column(record, column, text.as_deref())?;
            if line.is_replaced {
                replaced.push_str(if replaced.is_empty() { "" } else { "," });
                replaced.push_str(column.name);
            }
        }
        if cells == Cells::Copy {
            line.text(Some(&replaced).filter(|names| !names.is_empty()).map(String::as_str));
        }
        line.end(into)?;
    }
    Ok(())
}

/// A line that is being made.
struct Line {
    cells: Cells,
    bytes: Vec<u8>,
    is_first: bool,
    is_replaced: bool,
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
            Plain::Json(json) if self.cells == Cells::Copy => {
                let stored = without_nul(&json);
                self.is_replaced |= matches!(stored, Cow::Owned(_));
                self.text(Some(&stored));
            }
            Plain::Json(json) => self.text(Some(&json)),
            Plain::Number(number) => self.plain(number),
            // A database has no numbers of 64 bits without a sign: the same bits with one.
            Plain::Large(number) if self.cells == Cells::Copy => self.plain(number.cast_signed()),
            Plain::Large(number) => self.plain(number),
            Plain::Flag(flag) => self.plain(flag),
            Plain::Bytes(_) => {}
        }
        Ok(())
    }

    /// Separates cells.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.bytes.push(if self.cells == Cells::Csv { b',' } else { b'\t' });
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
        match (value, self.cells) {
            (None, _) => self.missing(),
            (Some(value), Cells::Csv) => {
                let is_quoted =
                    value.is_empty() || value.contains(['"', ',', '\r', '\n']) || value.starts_with(' ');
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
            (Some(value), Cells::Copy) => self.escaped(value),
        }
    }

    /// A text as COPY has it.
    fn escaped(&mut self, value: &str) {
        let mut rest = value.as_bytes();
        while let Some(found) = rest.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r' | 0))
        {
            self.bytes.extend_from_slice(&rest[..found]);
            let escape = match rest[found] {
                b'\\' => "\\\\",
                b'\t' => "\\t",
                b'\n' => "\\n",
                b'\r' => "\\r",
                _ => {
                    self.is_replaced = true;
                    "\u{fffd}"
                }
            };
            self.bytes.extend_from_slice(escape.as_bytes());
            rest = &rest[found + 1..];
        }
        self.bytes.extend_from_slice(rest);
    }

    /// Bytes, which may be text.
    fn binary(&mut self, value: Option<&[u8]>, text: Option<&str>) {
        use base64::Engine as _;

        match self.cells {
            Cells::Csv => {
                self.text(text.filter(|_| value.is_some()));
                let other = value.filter(|_| text.is_none());
                let other = other.map(|value| base64::engine::general_purpose::STANDARD.encode(value));
                self.text(other.as_deref());
            }
            Cells::Copy => {
                self.begin();
                let Some(value) = value else { return self.missing() };
                self.bytes.extend_from_slice(b"\\\\x");
                self.bytes.reserve(value.len() * 2);
                for byte in value {
                    self.bytes
                        .extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
                }
            }
        }
    }

    /// A missing value.
    fn missing(&mut self) {
        if self.cells == Cells::Copy {
            self.bytes.extend_from_slice(b"\\N");
        }
    }

    /// Writes the line.
    fn end(&mut self, into: &mut dyn Write) -> io::Result<()> {
        self.bytes.extend_from_slice(if self.cells == Cells::Csv { b"\r\n" } else { b"\n" });
        into.write_all(&self.bytes)?;
        self.bytes.clear();
        self.is_first = true;
        Ok(())
    }
}

/// Hexadecimal digits.
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes the names of CSV's cells.
pub fn write_names<T>(columns: &[&'static Column<T>], into: &mut dyn Write) -> io::Result<()> {
    let mut line = Line { cells: Cells::Csv, bytes: Vec::new(), is_first: true, is_replaced: false };
    names_of(columns, Cells::Csv).iter().for_each(|name| line.text(Some(name)));
    line.end(into)
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
    fn line(
        title: &str,
        body: &'static [u8],
        charset: Option<&'static str>,
        names: &[&str],
        cells: Cells,
    ) -> String {
        let mut outcome = Outcome::reopened(CrawlUrl::parse("http://a.com/").unwrap(), 0, 0, Ok(200));
        (outcome.title, outcome.decoded) = (Some(title.into()), Some(body.into()));
        outcome.charset = charset.map(Cow::Borrowed);
        outcome.links.push(&CrawlUrl::parse("http://a.com/,").unwrap(), false);
        let columns: Vec<_> = names.iter().map(|name| Outcome::column(name).unwrap()).collect();
        let mut lines = Vec::new();
        write_cells(&[Box::new(outcome)], &columns, TEXTS, cells, &mut lines).unwrap();
        String::from_utf8(lines).unwrap()
    }

    const NAMES: [&str; 6] = ["url", "status", "error", "title", "body", "links"];

    #[test]
    fn cells_of_csv_are_quoted_where_they_have_to_be() {
        assert_eq!(
            line("say \"yes\", no\n", b"text", Some("UTF-8"), &NAMES, Cells::Csv),
            "http://a.com/,200,,\"say \"\"yes\"\", no\n\",text,,\"[\"\"http://a.com/,\"\"]\"\r\n"
        );
        assert_eq!(line("", b"\xff", None, &NAMES, Cells::Csv).matches("\"\",,/w==,").count(), 1);
    }

    #[test]
    fn cells_of_copy_have_no_nul_and_say_so() {
        assert_eq!(
            line("a\tb\\\0", b"\x00\xff", None, &NAMES, Cells::Copy),
            "http://a.com/\t200\t\\N\ta\\tb\\\\\u{fffd}\t\\\\x00ff\t[\"http://a.com/,\"]\ttitle\n"
        );
        assert!(line("a", b"", None, &NAMES, Cells::Copy).ends_with("\t\\N\n"));
    }

    #[test]
    fn json_has_no_escape_of_nul() {
        assert_eq!(
            without_nul(r#"{"a": "x\u0000y", "b": "\\u0000", "c": "\""}"#),
            "{\"a\": \"x\u{fffd}y\", \"b\": \"\\\\u0000\", \"c\": \"\\\"\"}"
        );
        assert!(matches!(without_nul(r#"{"a": "\n"}"#), Cow::Borrowed(_)));
    }

    #[test]
    fn names_are_those_of_the_columns() {
        let columns: Vec<_> = NAMES.iter().map(|name| Outcome::column(name).unwrap()).collect();
        let mut names = Vec::new();
        write_names(&columns, &mut names).unwrap();
        assert_eq!(names, b"url,status,error,title,body,body_base64,links\r\n");
        assert_eq!(names_of(&columns, Cells::Copy).last().map(String::as_str), Some("replaced"));
    }
}
