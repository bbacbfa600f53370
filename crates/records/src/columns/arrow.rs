//! Columns as Arrow arrays, which Parquet, DuckDB, Polars and pandas read without copying.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, ListBuilder, PrimitiveBuilder, StringBuilder, StructBuilder, UInt16Builder,
};
use arrow_array::types::{ArrowPrimitiveType, Int32Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, TimeUnit};
use bytes::Bytes;

use super::{Column, Get, TextDecoder};

/// The schema of the selected columns.
pub fn schema<T>(columns: &[&'static Column<T>]) -> Arc<Schema> {
    let field =
        |column: &&Column<T>| Field::new(column.name, data_type(&column.get), is_nullable(&column.get));
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The selected columns of records.
pub fn record_batch<T>(
    records: &[impl AsRef<T>],
    columns: &[&'static Column<T>],
    texts: TextDecoder,
) -> Result<RecordBatch, ArrowError> {
    let arrays = columns.iter().map(|column| array(records, column, texts)).collect::<Result<_, _>>()?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(records.len()));
    RecordBatch::try_new_with_options(schema(columns), arrays, &options)
}

/// Whether the column may have null values.
fn is_nullable<T>(get: &Get<T>) -> bool {
    matches!(get, Get::MaybeText(_) | Get::Status(_) | Get::Json(_) | Get::Bytes(..) | Get::DecodedText(..))
}

/// The type of a column.
fn data_type<T>(get: &Get<T>) -> DataType {
    match get {
        Get::Text(_) | Get::MaybeText(_) | Get::Json(_) | Get::DecodedText(..) => DataType::Utf8,
        Get::Status(_) => DataType::UInt16,
        Get::Number(_) => DataType::UInt32,
        Get::Large(_) => DataType::UInt64,
        Get::Signed(_) => DataType::Int32,
        Get::Flag(_) => DataType::Boolean,
        Get::Time(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Get::Texts(_) => list(DataType::Utf8),
        Get::Numbers(_) => list(DataType::Int32),
        Get::Flags(_) => list(DataType::Boolean),
        Get::Steps(_) => list(DataType::Struct(step_fields())),
        Get::Fields(_) => list(DataType::Struct(header_fields())),
        Get::Preferences(_) => list(DataType::Struct(preference_fields())),
        Get::Licenses(_) => list(DataType::Struct(license_fields())),
        Get::Bytes(..) => DataType::Binary,
    }
}

/// A list of a type.
fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// A redirect: URL and status.
fn step_fields() -> Fields {
    vec![Field::new("url", DataType::Utf8, false), Field::new("status", DataType::UInt16, false)].into()
}

/// A header field: name and value.
fn header_fields() -> Fields {
    vec![Field::new("name", DataType::Utf8, false), Field::new("value", DataType::Utf8, false)].into()
}

/// A preference: use, whether it is allowed, and source.
fn preference_fields() -> Fields {
    let text = |name| Field::new(name, DataType::Utf8, false);
    vec![text("usage"), Field::new("allowed", DataType::Boolean, false), text("source")].into()
}

/// A licence: URL and source.
fn license_fields() -> Fields {
    vec![Field::new("url", DataType::Utf8, false), Field::new("source", DataType::Utf8, false)].into()
}

/// Bytes of the values of a column of many records, at most: Arrow counts them in 32 bits.
const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// Records that are so few that their values do not exceed [`MAX_COLUMN_BYTES`], unless these are bodies: 4 MiB of one page, of which fetch
/// and parse by default take less.
const FEW: usize = 512;

/// Bytes of a column's values.
fn value_bytes<T>(records: &[impl AsRef<T>], column: &Column<T>) -> usize {
    let each = || records.iter().map(AsRef::as_ref);
    match column.get {
        Get::Bytes(get, _) => each().filter_map(get).map(Bytes::len).sum(),
        _ if records.len() < FEW => 0,
        Get::Text(get) => each().map(|record| get(record).len()).sum(),
        Get::MaybeText(get) => each().filter_map(get).map(|text| text.len()).sum(),
        Get::Texts(get) => each().flat_map(get).map(|text| text.len()).sum(),
        Get::Steps(get) => each().flat_map(get).map(|(url, _)| url.len()).sum(),
        Get::Fields(get) => each().flat_map(get).map(|(name, value)| name.len().max(value.len())).sum(),
        Get::Licenses(get) => each().flat_map(get).map(|license| license.url.len()).sum(),
        Get::Json(get) => {
            each().filter_map(get).map(|map| serde_json::to_string(map).map_or(0, |text| text.len())).sum()
        }
        Get::Status(_) | Get::Number(_) | Get::Large(_) | Get::Signed(_) | Get::Flag(_) | Get::Time(_) => 0,
        // Texts are counted while they are decoded.
        Get::Numbers(_) | Get::Flags(_) | Get::Preferences(_) | Get::DecodedText(..) => 0,
    }
}

/// The error of a column with more than [`MAX_COLUMN_BYTES`].
fn too_large(name: &str, records: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!(
        "{name}: the values of {records} records have more than 2 GiB, the limit of an Arrow column; take parts of the batch"
    ))
}

/// One column.
fn array<T>(
    records: &[impl AsRef<T>],
    column: &Column<T>,
    texts: TextDecoder,
) -> Result<ArrayRef, ArrowError> {
    if value_bytes(records, column) > MAX_COLUMN_BYTES {
        return Err(too_large(column.name, records.len()));
    }
    let each = || records.iter().map(AsRef::as_ref);
    let text = |values: &mut dyn FnMut(&mut StringBuilder)| -> ArrayRef {
        let mut builder = StringBuilder::with_capacity(records.len(), records.len() * 32);
        values(&mut builder);
        Arc::new(builder.finish())
    };
    Ok(match column.get {
        Get::Text(get) => text(&mut |builder| each().for_each(|record| builder.append_value(get(record)))),
        Get::MaybeText(get) => {
            text(&mut |builder| each().for_each(|record| builder.append_option(get(record))))
        }
        Get::Json(get) => text(&mut |builder| {
            let json = |record| get(record).and_then(|map| serde_json::to_string(map).ok());
            each().for_each(|record| builder.append_option(json(record)));
        }),
        Get::Status(get) => numbers::<UInt16Type>(each().map(get)),
        Get::Number(get) => numbers::<UInt32Type>(each().map(|record| Some(get(record)))),
        Get::Large(get) => numbers::<UInt64Type>(each().map(|record| Some(get(record)))),
        Get::Signed(get) => numbers::<Int32Type>(each().map(|record| Some(get(record)))),
        Get::Flag(get) => {
            let mut builder = BooleanBuilder::with_capacity(records.len());
            each().for_each(|record| builder.append_value(get(record)));
            Arc::new(builder.finish())
        }
        Get::Time(get) => {
            let times = each().map(|record| i64::try_from(get(record)).unwrap_or(i64::MAX));
            Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC"))
        }
        Get::Texts(get) => {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for record in each() {
                get(record).for_each(|text| builder.values().append_value(text));
                builder.append(true);
            }
            Arc::new(builder.finish())
        }
        Get::Numbers(get) => {
            let mut builder = ListBuilder::new(PrimitiveBuilder::<Int32Type>::new());
            for record in each() {
                get(record).for_each(|number| builder.values().append_value(number));
                builder.append(true);
            }
            Arc::new(builder.finish())
        }
        Get::Flags(get) => {
            let mut builder = ListBuilder::new(BooleanBuilder::new());
            for record in each() {
                get(record).for_each(|flag| builder.values().append_value(flag));
                builder.append(true);
            }
            Arc::new(builder.finish())
        }
        Get::Steps(get) => structs(each(), step_fields(), |record, builder| {
            get(record).for_each(|(url, status)| {
                append::<StringBuilder>(builder, 0, |texts| texts.append_value(url));
                append::<UInt16Builder>(builder, 1, |numbers| numbers.append_value(status));
                builder.append(true);
            });
        }),
        Get::Fields(get) => structs(each(), header_fields(), |record, builder| {
            get(record).for_each(|(name, value)| {
                append::<StringBuilder>(builder, 0, |texts| texts.append_value(name));
                append::<StringBuilder>(builder, 1, |texts| texts.append_value(value));
                builder.append(true);
            });
        }),
        Get::Preferences(get) => structs(each(), preference_fields(), |record, builder| {
            get(record).for_each(|preference| {
                append::<StringBuilder>(builder, 0, |texts| texts.append_value(&preference.usage));
                append::<BooleanBuilder>(builder, 1, |flags| flags.append_value(preference.allowed));
                append::<StringBuilder>(builder, 2, |texts| texts.append_value(&preference.source));
                builder.append(true);
            });
        }),
        Get::Licenses(get) => structs(each(), license_fields(), |record, builder| {
            get(record).for_each(|license| {
                append::<StringBuilder>(builder, 0, |texts| texts.append_value(&license.url));
                append::<StringBuilder>(builder, 1, |texts| texts.append_value(license.source));
                builder.append(true);
            });
        }),
        Get::Bytes(get, _) => bodies(each().map(get)),
        Get::DecodedText(body, charset) => {
            let rows = each().map(|record| (body(record), charset(record)));
            return decoded_texts(rows, texts).ok_or_else(|| too_large(column.name, records.len()));
        }
    })
}

/// An array of numbers; null for `None`.
fn numbers<N: ArrowPrimitiveType>(values: impl ExactSizeIterator<Item = Option<N::Native>>) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<N>::with_capacity(values.len());
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

/// Lists of structs; `fill` appends those of one record.
fn structs<'a, T: 'a>(
    records: impl Iterator<Item = &'a T>,
    fields: Fields,
    fill: impl Fn(&'a T, &mut StructBuilder),
) -> ArrayRef {
    let mut builder = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for record in records {
        fill(record, builder.values());
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// Appends to a member of a struct; the member's type is known.
fn append<B: arrow_array::builder::ArrayBuilder>(
    builder: &mut StructBuilder,
    member: usize,
    value: impl FnOnce(&mut B),
) {
    if let Some(member) = builder.field_builder::<B>(member) {
        value(member);
    }
}

/// Bodies. A single body, which may be large, is not copied.
fn bodies<'a>(mut bodies: impl ExactSizeIterator<Item = Option<&'a Bytes>> + Clone) -> ArrayRef {
    if bodies.len() == 1
        && let Some(body) = bodies.clone().next().flatten()
    {
        return Arc::new(BinaryArray::new(
            OffsetBuffer::from_lengths([body.len()]),
            body.clone().into(),
            None,
        ));
    }
    let bytes = bodies.clone().flatten().map(Bytes::len).sum();
    let mut builder = BinaryBuilder::with_capacity(bodies.len(), bytes);
    bodies.by_ref().for_each(|body| builder.append_option(body));
    Arc::new(builder.finish())
}

/// Bodies as text; null for those that are not text. A single body is not copied. `None`: more than [`MAX_COLUMN_BYTES`].
fn decoded_texts<'a>(
    rows: impl ExactSizeIterator<Item = (Option<&'a Bytes>, Option<&'a str>)> + Clone,
    texts: TextDecoder,
) -> Option<ArrayRef> {
    if rows.len() == 1
        && let Some((Some(body), charset)) = rows.clone().next()
    {
        let Some(text) = texts.text(Some(body), charset) else {
            return Some(Arc::new(StringArray::new_null(1)));
        };
        let offsets = OffsetBuffer::from_lengths([text.len()]);
        let bytes = match text {
            Cow::Borrowed(text) => part_of(body, text.as_bytes()).into(),
            Cow::Owned(text) => Buffer::from(text.into_bytes()),
        };
        return Some(Arc::new(StringArray::new(offsets, bytes, None)));
    }
    let bytes: usize = rows.clone().filter_map(|(body, _)| body).map(Bytes::len).sum();
    let mut builder = StringBuilder::with_capacity(rows.len(), bytes.min(MAX_COLUMN_BYTES));
    for (body, charset) in rows {
        let text = texts.text(body, charset);
        let length = text.as_ref().map_or(0, |text| text.len());
        if builder.values_slice().len() + length > MAX_COLUMN_BYTES {
            return None;
        }
        builder.append_option(text);
    }
    Some(Arc::new(builder.finish()))
}

/// Bytes as a slice of a body, sharing its memory; copied if they are not part of it.
fn part_of(body: &Bytes, bytes: &[u8]) -> Bytes {
    let start = (bytes.as_ptr() as usize).wrapping_sub(body.as_ptr() as usize);
    let is_part = start <= body.len() && bytes.len() <= body.len() - start;
    if is_part { body.slice(start..start + bytes.len()) } else { Bytes::copy_from_slice(bytes) }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use lycosa_url::CrawlUrl;

    use super::*;
    use crate::columns::Columns;
    use crate::{Outcome, Received};

    /// Omits a byte order mark; `upper` allocates.
    fn text<'a>(body: &'a [u8], charset: &str, _largest: usize) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).ok()?;
        Some(if charset == "upper" { text.to_uppercase().into() } else { text.into() })
    }

    const TEXTS: TextDecoder = TextDecoder { decode: text, largest: 1_000 };

    fn row(body: Option<&'static str>, charset: Option<&'static str>) -> Box<Outcome> {
        let mut outcome = Outcome::reopened(CrawlUrl::parse("http://a.com/").unwrap(), 0, 0, Ok(200));
        outcome.charset = charset.map(Cow::Borrowed);
        match body {
            // Memory of its own, as a body has.
            Some(body) => outcome.decoded = Some(body.as_bytes().to_vec().into()),
            None => {
                outcome.response.result = Err(lycosa_url::Failure::new(lycosa_url::FailureKind::Timeout, ""))
            }
        }
        Box::new(outcome)
    }

    fn columns(rows: &[Box<Outcome>]) -> RecordBatch {
        let columns = ["body", "text"].map(|name| Outcome::column(name).unwrap());
        record_batch(rows, &columns, TEXTS).unwrap()
    }

    #[test]
    fn one_row_has_the_same_columns_as_many_and_copies_nothing() {
        for body in [None, Some(""), Some("\u{feff}"), Some("\u{feff}a page"), Some("one more")] {
            for charset in [None, Some("utf-8"), Some("upper")] {
                let (alone, many) = (row(body, charset), vec![row(body, charset); 3]);
                let (one, three) = (columns(std::slice::from_ref(&alone)), columns(&many));
                assert_eq!(one, three.slice(1, 1), "{body:?} {charset:?}");
                one.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
                let memory =
                    |pointer: *const u8| alone.decoded.as_ref().unwrap().as_ptr_range().contains(&pointer);
                if body.is_some_and(|body| body.len() > 3) {
                    assert!(memory(one.column(0).as_binary::<i32>().value_data().as_ptr()));
                    let is_shared = memory(one.column(1).as_string::<i32>().value_data().as_ptr());
                    assert_eq!(is_shared, charset == Some("utf-8"), "{body:?} {charset:?}");
                }
            }
        }
    }

    #[test]
    fn each_column_has_its_type_also_without_a_row() {
        let all: Vec<_> = Outcome::columns().iter().collect();
        let mut outcome = row(Some("body"), Some("utf-8"));
        outcome.links.push(&CrawlUrl::parse("http://a.com/x").unwrap(), true);
        let received = Received { status: 404, ..Received::default() };
        outcome.response.result = Ok(received);
        let batch = record_batch(&[outcome], &all, TEXTS).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (1, all.len()));
        assert_eq!(
            record_batch::<Outcome>(&[] as &[Box<Outcome>], &all, TEXTS).unwrap().schema(),
            schema(&all)
        );
        assert_eq!(batch.column_by_name("links").unwrap().as_list::<i32>().value_length(0), 1);
    }

    #[test]
    fn a_column_of_more_than_arrow_can_count_is_an_error() {
        let body = Bytes::from(vec![0; 64 << 20]);
        let rows = [(); 33].map(|()| {
            let mut one = row(Some(""), None);
            one.decoded = Some(body.clone());
            one
        });
        let told = record_batch(&rows, &[Outcome::column("body").unwrap()], TEXTS).unwrap_err();
        assert!(told.to_string().contains("body: the values of 33 records have more than 2 GiB"), "{told}");
    }

    #[test]
    fn text_that_is_no_part_of_a_body_is_copied() {
        let body = Bytes::from_static(b"a page");
        assert_eq!(part_of(&body, b"elsewhere"), "elsewhere");
        assert_eq!(part_of(&body.slice(2..), &body), "a page");
    }
}
