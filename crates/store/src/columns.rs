//! Rows as Arrow columns: what Parquet, DuckDB, Polars and pandas read without copying.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, ListBuilder, StringBuilder, StructBuilder, UInt16Builder,
    UInt32Builder,
};
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field as Column, Fields, Schema, TimeUnit};

use bytes::Bytes;
use lycosa_url::header_text;

use crate::entry::{Decoders, Field, Row};

/// The schema of the chosen columns.
pub fn schema(fields: &[Field]) -> Arc<Schema> {
    let column = |field: &Field| Column::new(field.name(), data_type(*field), !required(*field));
    Arc::new(Schema::new(fields.iter().map(column).collect::<Vec<_>>()))
}

/// The chosen columns of rows.
pub fn record_batch(rows: &[Row], fields: &[Field], decoders: Decoders) -> Result<RecordBatch, ArrowError> {
    let columns = fields.iter().map(|field| array(rows, *field, decoders)).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema(fields), columns, &options)
}

/// Columns that every row fills.
fn required(field: Field) -> bool {
    use Field as F;
    !matches!(
        field,
        F::Status
            | F::Error
            | F::ErrorDetail
            | F::Address
            | F::DnsClass
            | F::ContentType
            | F::Charset
            | F::Title
            | F::Canonical
            | F::Redirect
            | F::Body
            | F::Text
    )
}

/// The type of a column.
fn data_type(field: Field) -> DataType {
    use Field as F;
    match field {
        F::Status => DataType::UInt16,
        F::Depth
        | F::Attempt
        | F::NameUs
        | F::ConnectUs
        | F::TlsUs
        | F::FirstByteUs
        | F::BodyUs
        | F::LinkCount => DataType::UInt32,
        F::Noindex | F::Nofollow => DataType::Boolean,
        F::FetchedAt => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        F::Body => DataType::Binary,
        F::Chain => list(DataType::Struct(step_fields())),
        F::Headers => list(DataType::Struct(header_fields())),
        F::Links => list(DataType::Utf8),
        F::Url
        | F::Error
        | F::ErrorDetail
        | F::Address
        | F::DnsClass
        | F::ContentType
        | F::Charset
        | F::Title
        | F::Canonical
        | F::Redirect
        | F::Text => DataType::Utf8,
    }
}

/// A list of a type.
fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Column::new("item", item, true)))
}

/// A redirect: URL and status.
fn step_fields() -> Fields {
    vec![Column::new("url", DataType::Utf8, false), Column::new("status", DataType::UInt16, false)].into()
}

/// A header field: name and value.
fn header_fields() -> Fields {
    vec![Column::new("name", DataType::Utf8, false), Column::new("value", DataType::Utf8, false)].into()
}

/// One column.
fn array(rows: &[Row], field: Field, decoders: Decoders) -> ArrayRef {
    use Field as F;
    let text = |get: fn(&Row) -> Option<&str>| -> ArrayRef {
        let mut builder = StringBuilder::with_capacity(rows.len(), rows.len() * 32);
        rows.iter().for_each(|row| builder.append_option(get(row)));
        Arc::new(builder.finish())
    };
    let number = |get: fn(&Row) -> u32| -> ArrayRef {
        let mut builder = UInt32Builder::with_capacity(rows.len());
        rows.iter().for_each(|row| builder.append_value(get(row)));
        Arc::new(builder.finish())
    };
    let flag = |get: fn(&Row) -> bool| -> ArrayRef {
        let mut builder = BooleanBuilder::with_capacity(rows.len());
        rows.iter().for_each(|row| builder.append_value(get(row)));
        Arc::new(builder.finish())
    };
    match field {
        F::Url => text(|row| Some(&row.outcome.url)),
        F::Error => text(|row| row.outcome.error.as_deref()),
        F::ErrorDetail => text(|row| row.outcome.error_detail.as_deref()),
        F::DnsClass => text(|row| row.outcome.dns_class.as_deref()),
        F::ContentType => text(|row| row.outcome.header("content-type")),
        F::Charset => text(|row| row.outcome.charset.as_deref()),
        F::Title => text(|row| row.outcome.title.as_deref()),
        F::Canonical => text(|row| row.outcome.canonical.as_deref()),
        F::Redirect => text(|row| row.outcome.redirect.as_deref()),
        F::Depth => number(|row| row.outcome.depth),
        F::Attempt => number(|row| row.outcome.attempt),
        F::NameUs => number(|row| row.outcome.name_us),
        F::ConnectUs => number(|row| row.outcome.connect_us),
        F::TlsUs => number(|row| row.outcome.tls_us),
        F::FirstByteUs => number(|row| row.outcome.first_byte_us),
        F::BodyUs => number(|row| row.outcome.body_us),
        F::LinkCount => number(|row| u32::try_from(row.outcome.links.len()).unwrap_or(u32::MAX)),
        F::Noindex => flag(|row| row.outcome.noindex),
        F::Nofollow => flag(|row| row.outcome.nofollow),
        F::Status => statuses(rows),
        F::Address => addresses(rows),
        F::FetchedAt => times(rows),
        F::Chain => {
            let append = |statuses: &mut UInt16Builder, status: &u16| statuses.append_value(*status);
            pairs(rows, step_fields(), |row| &row.outcome.chain, append)
        }
        F::Headers => {
            let append = |values: &mut StringBuilder, value: &Cow<'static, [u8]>| {
                values.append_value(header_text(value))
            };
            pairs(rows, header_fields(), |row| &row.outcome.headers, append)
        }
        F::Links => links(rows),
        F::Body => bodies(rows),
        F::Text => texts(rows, decoders),
    }
}

/// Status codes.
fn statuses(rows: &[Row]) -> ArrayRef {
    let mut builder = UInt16Builder::with_capacity(rows.len());
    rows.iter().for_each(|row| builder.append_option(row.outcome.status));
    Arc::new(builder.finish())
}

/// Addresses as text.
fn addresses(rows: &[Row]) -> ArrayRef {
    let mut builder = StringBuilder::with_capacity(rows.len(), rows.len() * 15);
    rows.iter().for_each(|row| builder.append_option(row.outcome.address.map(|address| address.to_string())));
    Arc::new(builder.finish())
}

/// When each outcome was complete.
fn times(rows: &[Row]) -> ArrayRef {
    let times = rows.iter().map(|row| i64::try_from(row.outcome.finished).unwrap_or(i64::MAX));
    Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC"))
}

/// Decoded bodies. One alone, which may be as large as bodies get, is not copied.
fn bodies(rows: &[Row]) -> ArrayRef {
    if let [Row { body: Some(body), .. }] = rows {
        return Arc::new(BinaryArray::new(
            OffsetBuffer::from_lengths([body.len()]),
            body.clone().into(),
            None,
        ));
    }
    let bytes = rows.iter().filter_map(|row| row.body.as_ref()).map(|body| body.len()).sum();
    let mut builder = BinaryBuilder::with_capacity(rows.len(), bytes);
    rows.iter().for_each(|row| builder.append_option(row.body.as_ref()));
    Arc::new(builder.finish())
}

/// Bodies as text, of those that are text. One alone is not copied.
fn texts(rows: &[Row], decoders: Decoders) -> ArrayRef {
    if let [row @ Row { body: Some(body), .. }] = rows {
        let Some(text) = row.text(decoders) else { return Arc::new(StringArray::new_null(1)) };
        let offsets = OffsetBuffer::from_lengths([text.len()]);
        let bytes = match text {
            Cow::Borrowed(text) => part_of(body, text.as_bytes()).into(),
            Cow::Owned(text) => Buffer::from(text.into_bytes()),
        };
        return Arc::new(StringArray::new(offsets, bytes, None));
    }
    let bytes = rows.iter().filter_map(|row| row.body.as_ref()).map(|body| body.len()).sum();
    let mut builder = StringBuilder::with_capacity(rows.len(), bytes);
    rows.iter().for_each(|row| builder.append_option(row.text(decoders)));
    Arc::new(builder.finish())
}

/// Bytes that lie in a body, sharing its memory; others are copied.
fn part_of(body: &Bytes, bytes: &[u8]) -> Bytes {
    let start = (bytes.as_ptr() as usize).wrapping_sub(body.as_ptr() as usize);
    let is_part = start <= body.len() && bytes.len() <= body.len() - start;
    if is_part { body.slice(start..start + bytes.len()) } else { Bytes::copy_from_slice(bytes) }
}

/// Links as lists of text.
fn links(rows: &[Row]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for row in rows {
        row.outcome.links.iter().for_each(|(url, _)| builder.values().append_value(url));
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// A text and what belongs to it.
type Pair<T> = (Cow<'static, str>, T);

/// Pairs as lists of structs: a text, and what `append` makes of the right side.
fn pairs<'a, T: 'a, B: ArrayBuilder>(
    rows: &'a [Row],
    fields: Fields,
    pairs: fn(&'a Row) -> &'a [Pair<T>],
    append: fn(&mut B, &'a T),
) -> ArrayRef {
    let mut builder = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for row in rows {
        for (left, right) in pairs(row) {
            let entry = builder.values();
            if let Some(texts) = entry.field_builder::<StringBuilder>(0) {
                texts.append_value(left);
            }
            if let Some(values) = entry.field_builder::<B>(1) {
                append(values, right);
            }
            entry.append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::entry::Outcome;

    /// A byte order mark is left out; `upper` needs memory of its own.
    fn text<'a>(body: &'a [u8], charset: &str, _largest: usize) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).ok()?;
        Some(if charset == "upper" { text.to_uppercase().into() } else { text.into() })
    }

    const DECODERS: Decoders = Decoders { content: |_, _, _| None, largest: 1_000, text };

    fn row(body: Option<&'static str>, charset: Option<&'static str>) -> Row {
        let outcome = Outcome { charset: charset.map(Cow::Borrowed), ..Outcome::default() };
        Row { outcome, body: body.map(|body| body.as_bytes().to_vec().into()), end: 0 }
    }

    fn columns(rows: &[Row]) -> RecordBatch {
        record_batch(rows, &[Field::Body, Field::Text], DECODERS).unwrap()
    }

    #[test]
    fn one_row_has_the_same_columns_as_many_and_copies_nothing() {
        for body in [None, Some(""), Some("\u{feff}"), Some("\u{feff}a page"), Some("one more")] {
            for charset in [None, Some("utf-8"), Some("upper")] {
                let (alone, many) = (row(body, charset), vec![row(body, charset); 3]);
                let (one, three) = (columns(std::slice::from_ref(&alone)), columns(&many));
                assert_eq!(one, three.slice(1, 1), "{body:?} {charset:?}");
                one.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
                let memory = |pointer: *const u8| {
                    alone.body.as_ref().is_some_and(|body| body.as_ptr_range().contains(&pointer))
                };
                if body.is_some_and(|body| body.len() > 3) {
                    assert!(memory(one.column(0).as_binary::<i32>().value_data().as_ptr()));
                    let is_shared = memory(one.column(1).as_string::<i32>().value_data().as_ptr());
                    assert_eq!(is_shared, charset == Some("utf-8"), "{body:?} {charset:?}");
                }
            }
        }
    }

    #[test]
    fn text_that_is_no_part_of_a_body_is_copied() {
        let body = Bytes::from_static(b"a page");
        assert_eq!(part_of(&body, b"elsewhere"), "elsewhere");
        assert_eq!(part_of(&body.slice(2..), &body), "a page");
    }
}
