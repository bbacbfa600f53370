//! Answers of the bulk resolver: one batch, as Python objects, as lines of text, as columns.

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use lycosa_url::{FailureKind, Micros, NameClass, Resolved};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyIterator, PyList};
use serde::Serialize;

use crate::arrow;

/// The columns of lines and tables, in their order.
pub(crate) const COLUMNS: [&str; 9] =
    ["place", "name", "status", "addresses", "expires", "class", "seconds", "cached", "detail"];

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

    /// The status that a client's answer has.
    pub(crate) fn of(resolved: &Resolved) -> Status {
        match &resolved.result {
            Ok(_) => Status::Ok,
            Err(failure) => match failure.kind {
                FailureKind::NameNotFound => Status::NxDomain,
                FailureKind::NameNoData => Status::NoData,
                FailureKind::NameTimeout => Status::Timeout,
                FailureKind::NameBad => Status::BadName,
                _ => Status::ServerFailure,
            },
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
}

impl Row {
    /// A client's answer to one who asked.
    pub(crate) fn new(resolved: Resolved, place: u64, name: Box<str>) -> Self {
        let status = Status::of(&resolved);
        let second = |micros: Micros| micros / 1_000_000;
        let (addresses, detail) = match resolved.result {
            Ok(addresses) => (addresses, None),
            Err(failure) => (Vec::new(), Some(failure.detail.into())),
        };
        Row {
            place,
            name,
            status,
            addresses,
            expires: (status != Status::BadName).then(|| second(resolved.expires)),
            class: resolved.class,
            seconds: f64::from(resolved.elapsed_us) / 1e6,
            cached: resolved.elapsed_us == 0,
            detail,
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
    fn status(&self) -> &'static str {
        self.0.status.name()
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

    fn __repr__(&self) -> String {
        let row = &self.0;
        format!("<Resolution {} {} {:?}>", row.name, row.status.name(), self.addresses())
    }
}

/// Answers as they came. One becomes a Python object when it is asked for.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct Resolutions(pub(crate) Vec<Arc<Row>>);

#[pymethods]
impl Resolutions {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Resolution> {
        let len = self.0.len() as isize;
        let found =
            usize::try_from(if index < 0 { index + len } else { index }).ok().and_then(|at| self.0.get(at));
        let missing = || PyIndexError::new_err(format!("{index} of {len} answers"));
        found.cloned().map(Resolution).ok_or_else(missing)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().cloned().map(Resolution))?.try_iter()
    }

    /// Those that are no names: place, text, the rule that it breaks.
    fn bad_names(&self) -> Vec<(u64, String, String)> {
        let bad = self.0.iter().filter(|row| row.status == Status::BadName);
        let detail = |row: &Row| row.detail.as_deref().unwrap_or_default().to_owned();
        bad.map(|row| (row.place, row.name.to_string(), detail(row))).collect()
    }

    /// JSON lines, in UTF-8.
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let lines = py.detach(|| {
            let mut lines = Vec::with_capacity(self.0.len() * 160);
            for row in &self.0 {
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
            let mut lines = Vec::with_capacity(self.0.len() * 96);
            self.0.iter().for_each(|row| write_csv(row, &mut lines));
            lines
        });
        PyBytes::new(py, &lines)
    }

    /// The names of the columns.
    #[staticmethod]
    fn columns() -> [&'static str; 9] {
        COLUMNS
    }

    /// The answers for any Arrow library (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::stream(py, || record_batch(&self.0))
    }
}

/// One line of comma-separated values.
fn write_csv(row: &Row, into: &mut Vec<u8>) {
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
fn record_batch(rows: &[Arc<Row>]) -> Result<RecordBatch, impl std::error::Error + use<>> {
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
    let columns: [(ArrayRef, bool); 9] = [
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
    let named = COLUMNS.into_iter().zip(columns).map(|(name, (column, nullable))| (name, column, nullable));
    RecordBatch::try_from_iter_with_nullable(named)
}
