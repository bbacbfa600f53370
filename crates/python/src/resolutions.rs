//! Answers of the bulk resolver: one batch, as Python objects, as lines of text, as columns.

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, StructBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use lycosa_names::Record;
use lycosa_url::{Micros, NameClass};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyIterator, PyList, PyString};
use serde::Serialize;

use crate::arrow;
use crate::known::Outcome;

/// The columns of lines and tables, in their order; the last two where types of records were asked for.
const COLUMNS: [&str; 11] = [
    "place",
    "name",
    "status",
    "addresses",
    "expires",
    "class",
    "seconds",
    "cached",
    "detail",
    "records",
    "validated",
];

/// The columns of answers with or without records.
fn columns(has_records: bool) -> &'static [&'static str] {
    if has_records { &COLUMNS } else { &COLUMNS[..9] }
}

/// What became of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// It has addresses.
    Ok,
    /// It does not exist.
    #[serde(rename = "nxdomain")]
    NxDomain,
    /// It has no address of the kinds that were asked for.
    #[serde(rename = "nodata")]
    NoData,
    /// The servers failed.
    #[serde(rename = "servfail")]
    ServerFailure,
    /// Nobody answered in time.
    Timeout,
    /// The text is no name.
    BadName,
}

impl Status {
    /// All of them.
    pub(crate) const ALL: [Status; 6] = [
        Status::Ok,
        Status::NxDomain,
        Status::NoData,
        Status::ServerFailure,
        Status::Timeout,
        Status::BadName,
    ];

    /// Its stable name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::NxDomain => "nxdomain",
            Status::NoData => "nodata",
            Status::ServerFailure => "servfail",
            Status::Timeout => "timeout",
            Status::BadName => "bad-name",
        }
    }
}

/// The answer to one input.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// The number that was given with it.
    pub(crate) place: u64,
    /// The name as given.
    pub(crate) name: Box<str>,
    /// What became of it.
    pub(crate) status: Status,
    /// Its addresses, IPv4 first.
    pub(crate) addresses: Vec<IpAddr>,
    /// Until when this holds, in seconds since 1970; nothing for what is no name.
    pub(crate) expires: Option<u64>,
    /// What resolving cost.
    #[serde(serialize_with = "class_name")]
    pub(crate) class: NameClass,
    /// How long it took, waiting included.
    pub(crate) seconds: f64,
    /// Whether no server was asked.
    pub(crate) cached: bool,
    /// What went wrong, in words.
    pub(crate) detail: Option<Box<str>>,
    /// The records that were asked for; nothing where addresses alone were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) records: Option<Vec<RecordRow>>,
    /// Whether the resolver has validated all of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) validated: Option<bool>,
}

/// A record in outputs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RecordRow {
    owner: String,
    #[serde(rename = "type")]
    rtype: String,
    ttl: u32,
    data: String,
}

impl Row {
    /// A client's answer to one who asked.
    pub(crate) fn new(outcome: Outcome, place: u64, name: Box<str>) -> Self {
        let status = outcome.status;
        let second = |micros: Micros| micros / 1_000_000;
        let row = |Record { owner, rtype, ttl, data }| RecordRow { owner, rtype, ttl, data };
        let records = outcome.validated.map(|_| outcome.records.into_iter().map(row).collect());
        Row {
            place,
            name,
            status,
            addresses: outcome.addresses,
            expires: (status != Status::BadName).then(|| second(outcome.expires)),
            class: outcome.class,
            seconds: f64::from(outcome.elapsed_us) / 1e6,
            cached: outcome.elapsed_us == 0,
            detail: outcome.detail,
            records,
            validated: outcome.validated,
        }
    }
}

/// A class in outputs.
fn class_name<S: serde::Serializer>(class: &NameClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.as_str())
}

/// The answer to one name.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Resolution(Arc<Row>);

#[pymethods]
impl Resolution {
    /// The number that was given with the name.
    #[getter]
    fn place(&self) -> u64 {
        self.0.place
    }

    /// The name as given.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// `ok`, `nxdomain`, `nodata`, `servfail`, `timeout` or `bad-name`.
    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        // One object for all answers: programs look at the status of each.
        static NAMES: PyOnceLock<[Py<PyString>; Status::ALL.len()]> = PyOnceLock::new();
        let names =
            NAMES.get_or_init(py, || Status::ALL.map(|status| PyString::intern(py, status.name()).unbind()));
        names[self.0.status as usize].bind(py)
    }

    /// Its addresses as texts, IPv4 first.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.0.addresses.iter().map(ToString::to_string).collect()
    }

    /// Until when this holds, in seconds since 1970; `None` for a `bad-name`.
    #[getter]
    fn expires(&self) -> Option<u64> {
        self.0.expires
    }

    /// What resolving cost: `fast`, `slow` or `failed`.
    #[getter(class_)]
    fn class(&self) -> &'static str {
        self.0.class.as_str()
    }

    /// How long it took, waiting for its turn included.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }

    /// Whether no server was asked.
    #[getter]
    fn cached(&self) -> bool {
        self.0.cached
    }

    /// What went wrong, in words.
    #[getter]
    fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// The records as (owner, type, TTL in seconds, data as in a zone file); empty where addresses alone were asked for.
    #[getter]
    fn records(&self) -> Vec<(String, String, u32, String)> {
        let tuple = |record: &RecordRow| {
            (record.owner.clone(), record.rtype.clone(), record.ttl, record.data.clone())
        };
        self.0.records.iter().flatten().map(tuple).collect()
    }

    /// Whether the resolver has validated all records (AD); `None` where none were asked for.
    #[getter]
    fn validated(&self) -> Option<bool> {
        self.0.validated
    }

    fn __repr__(&self) -> String {
        let row = &self.0;
        format!("<Resolution {} {} {:?}>", row.name, row.status.name(), self.addresses())
    }
}

/// Answers as they came. One becomes a Python object when it is asked for.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Resolutions {
    pub(crate) rows: Vec<Arc<Row>>,
    /// Whether they have columns for records.
    pub(crate) has_records: bool,
}

#[pymethods]
impl Resolutions {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Resolution> {
        let len = self.rows.len() as isize;
        let found = usize::try_from(if index < 0 { index + len } else { index })
            .ok()
            .and_then(|at| self.rows.get(at));
        let missing = || PyIndexError::new_err(format!("{index} of {len} answers"));
        found.cloned().map(Resolution).ok_or_else(missing)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.rows.iter().cloned().map(Resolution))?.try_iter()
    }

    /// Those that are no names: place, text, the rule that it breaks.
    fn bad_names(&self) -> Vec<(u64, String, String)> {
        let bad = self.rows.iter().filter(|row| row.status == Status::BadName);
        let detail = |row: &Row| row.detail.as_deref().unwrap_or_default().to_owned();
        bad.map(|row| (row.place, row.name.to_string(), detail(row))).collect()
    }

    /// JSON lines, in UTF-8.
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let lines = py.detach(|| {
            let mut lines = Vec::with_capacity(self.rows.len() * 160);
            for row in &self.rows {
                serde_json::to_writer(&mut lines, &**row)?;
                lines.push(b'\n');
            }
            Ok(lines)
        });
        let lines = lines.map_err(|error: serde_json::Error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &lines))
    }

    /// Lines of comma-separated values (RFC 4180, but for the end of lines), in UTF-8; addresses stand in one field, with
    /// spaces between them.
    fn csv<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = py.detach(|| {
            let mut lines = Vec::with_capacity(self.rows.len() * 96);
            self.rows.iter().for_each(|row| write_csv(row, self.has_records, &mut lines));
            lines
        });
        PyBytes::new(py, &lines)
    }

    /// The names of the columns.
    #[staticmethod]
    #[pyo3(name = "columns", signature = (records=false))]
    fn column_names(records: bool) -> Vec<&'static str> {
        columns(records).to_vec()
    }

    /// The answers for any Arrow library (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batch =
            py.detach(|| record_batch(&self.rows, self.has_records)).map_err(crate::errors::storage)?;
        arrow::stream(py, batch)
    }
}

/// One line of comma-separated values.
fn write_csv(row: &Row, has_records: bool, into: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(into, "{},", row.place);
    write_field(&row.name, into);
    let _ = write!(into, ",{},", row.status.name());
    for (place, address) in row.addresses.iter().enumerate() {
        let _ = write!(into, "{}{address}", if place > 0 { " " } else { "" });
    }
    let expires = row.expires.map(|second| second.to_string()).unwrap_or_default();
    let _ = write!(into, ",{expires},{},{:.6},{},", row.class.as_str(), row.seconds, row.cached);
    write_field(row.detail.as_deref().unwrap_or_default(), into);
    if has_records {
        let records = row.records.as_deref().unwrap_or_default();
        into.push(b',');
        write_field(&serde_json::to_string(records).unwrap_or_default(), into);
        let _ = write!(into, ",{}", row.validated.map(|validated| validated.to_string()).unwrap_or_default());
    }
    into.push(b'\n');
}

/// A field that may hold anything.
fn write_field(text: &str, into: &mut Vec<u8>) {
    if text.contains([',', '"', '\n', '\r']) {
        into.push(b'"');
        into.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        into.push(b'"');
    } else {
        into.extend_from_slice(text.as_bytes());
    }
}

/// The answers as columns.
fn record_batch(rows: &[Arc<Row>], has_records: bool) -> Result<RecordBatch, impl std::error::Error + use<>> {
    let text = |get: &dyn Fn(&Row) -> Option<&str>| -> ArrayRef {
        let mut column = StringBuilder::new();
        rows.iter().for_each(|row| column.append_option(get(row)));
        Arc::new(column.finish())
    };
    let mut places = UInt64Builder::with_capacity(rows.len());
    let mut addresses = ListBuilder::new(StringBuilder::new());
    let mut expires = UInt64Builder::with_capacity(rows.len());
    let mut seconds = Float64Builder::with_capacity(rows.len());
    let mut cached = BooleanBuilder::with_capacity(rows.len());
    for row in rows {
        places.append_value(row.place);
        for address in &row.addresses {
            addresses.values().append_value(address.to_string());
        }
        addresses.append(true);
        expires.append_option(row.expires);
        seconds.append_value(row.seconds);
        cached.append_value(row.cached);
    }
    let mut all: Vec<(ArrayRef, bool)> = vec![
        (Arc::new(places.finish()), false),
        (text(&|row| Some(&row.name)), false),
        (text(&|row| Some(row.status.name())), false),
        (Arc::new(addresses.finish()), false),
        (Arc::new(expires.finish()), true),
        (text(&|row| Some(row.class.as_str())), false),
        (Arc::new(seconds.finish()), false),
        (Arc::new(cached.finish()), false),
        (text(&|row| row.detail.as_deref()), true),
    ];
    if has_records {
        all.extend([(record_column(rows), true), (validated_column(rows), true)]);
    }
    let named =
        columns(has_records).iter().zip(all).map(|(name, (column, nullable))| (*name, column, nullable));
    RecordBatch::try_from_iter_with_nullable(named)
}

/// The records of each row, as a list of structures.
fn record_column(rows: &[Arc<Row>]) -> ArrayRef {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let fields = vec![text("owner"), text("type"), Field::new("ttl", DataType::UInt32, false), text("data")];
    let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, rows.len()));
    for row in rows {
        for record in row.records.iter().flatten() {
            let values = lists.values();
            for (place, text) in [(0, &record.owner), (1, &record.rtype), (3, &record.data)] {
                if let Some(column) = values.field_builder::<StringBuilder>(place) {
                    column.append_value(text);
                }
            }
            if let Some(column) = values.field_builder::<UInt32Builder>(2) {
                column.append_value(record.ttl);
            }
            values.append(true);
        }
        lists.append(row.records.is_some());
    }
    Arc::new(lists.finish())
}

/// Whether each row is validated.
fn validated_column(rows: &[Arc<Row>]) -> ArrayRef {
    let mut column = BooleanBuilder::with_capacity(rows.len());
    rows.iter().for_each(|row| column.append_option(row.validated));
    Arc::new(column.finish())
}
