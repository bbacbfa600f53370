//! Batches of records, and what all kinds of them can do. A stage takes what it is given: the batch is empty afterwards. A batch that
//! somebody looked at, or keeps items of, is as good as any other: what is shared is copied before it is changed.

use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use bytes::Bytes;
use lycosa_records::columns::{Column, Columns, TextDecoder, WrongValue, record_batch};
use lycosa_records::{Record, decode, encode};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule};

use crate::arrow;
use crate::errors::{self, lock, setting};
use crate::values::value;

/// Records of one kind. Filled by who makes it, emptied by the stage that takes it.
pub(crate) struct Batch<T>(Mutex<Vec<Arc<T>>>);

impl<T> Batch<T> {
    /// A batch of records.
    pub(crate) fn new(records: Vec<T>) -> Self {
        Batch::shared(records.into_iter().map(Arc::new).collect())
    }

    /// A batch of records that others may hold.
    pub(crate) fn shared(records: Vec<Arc<T>>) -> Self {
        Batch(Mutex::new(records))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// The records, which stay.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.0).clone()
    }

    /// Works on the records, with the batch locked.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Vec<Arc<T>>) -> R) -> R {
        work(&mut lock(&self.0))
    }

    /// One of the records; from the end where the index is below 0.
    pub(crate) fn get(&self, index: isize) -> PyResult<Arc<T>> {
        let records = lock(&self.0);
        let place =
            if index < 0 { records.len().checked_add_signed(index) } else { usize::try_from(index).ok() };
        let missing = || PyIndexError::new_err(format!("{index} of {} records", records.len()));
        place.and_then(|place| records.get(place)).cloned().ok_or_else(missing)
    }

    /// Those for which a mask is true.
    pub(crate) fn select(&self, mask: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (records, mut chosen) = (self.all(), Vec::new());
        let mut count = 0;
        for item in mask.try_iter()? {
            let mut item = item?;
            // An Arrow scalar is true whatever it holds.
            if let Ok(as_py) = item.getattr("as_py") {
                item = as_py.call0()?;
            }
            if item.is_truthy()? {
                chosen.extend(records.get(count).cloned());
            }
            count += 1;
            // An iterator may have no end.
            if count > records.len() {
                break;
            }
        }
        if count != records.len() {
            return Err(wrong_length("mask", count, records.len()));
        }
        Ok(Batch::shared(chosen))
    }
}

impl<T: Clone> Batch<T> {
    /// Takes the records out.
    pub(crate) fn take(&self) -> Vec<T> {
        let records = std::mem::take(&mut *lock(&self.0));
        records.into_iter().map(Arc::unwrap_or_clone).collect()
    }
}

impl<T: Clone + Columns + Send + Sync> Batch<T> {
    /// The same with other values in a column, each of which is checked.
    pub(crate) fn replace(
        &self,
        name: &str,
        values: &Bound<'_, PyAny>,
        check: impl Fn(&T) -> PyResult<()>,
    ) -> PyResult<Self> {
        let column = settable::<T>(name)?;
        let (mut records, mut count) = (self.all(), 0);
        for item in values.try_iter()? {
            if let Some(record) = records.get_mut(count) {
                set(column, Arc::make_mut(record), &item?)?;
                check(record)?;
            }
            count += 1;
            if count > records.len() {
                break;
            }
        }
        if count != records.len() {
            return Err(wrong_length(name, count, records.len()));
        }
        Ok(Batch::shared(records))
    }

    /// Columns for Arrow libraries.
    pub(crate) fn table(
        &self,
        py: Python<'_>,
        columns: &[&'static Column<T>],
        texts: TextDecoder,
    ) -> PyResult<Table> {
        let records = self.all();
        let made = py.detach(|| record_batch(&records, columns, texts));
        made.map(Table).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl<T: Record + Send + Sync> Batch<T> {
    /// The batch as bytes.
    pub(crate) fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let records = self.all();
        let encoded = py.detach(|| encode(records.iter().map(AsRef::as_ref)));
        encoded.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| errors::record(&error))
    }

    /// The batch of bytes, whose memory bodies share.
    pub(crate) fn decode(py: Python<'_>, data: PyBackedBytes) -> PyResult<Self> {
        let message = Bytes::from_owner(data);
        let records = py.detach(|| decode(&message));
        records.map(Batch::new).map_err(|error| errors::record(&error))
    }
}

/// Columns of records for any Arrow library (Arrow PyCapsule interface). Each library that asks is given the same memory.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    #[pyo3(name = "__arrow_c_stream__", signature = (requested_schema=None))]
    pub(crate) fn stream<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::stream(py, self.0.clone())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The memory of all columns, in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.get_array_memory_size()
    }
}

/// Columns by name, or the usual ones. `setting`: what names them.
pub(crate) fn columns_named<T: Columns>(
    told: &str,
    names: Option<Vec<String>>,
) -> PyResult<Vec<&'static Column<T>>> {
    let Some(names) = names else {
        return Ok(T::columns().iter().filter(|column| column.is_usual).collect());
    };
    let find =
        |name: &String| T::column(name).ok_or_else(|| setting(told, name, allowed(T::columns().iter())));
    names.iter().map(find).collect()
}

/// The column that values may be put into.
fn settable<T: Columns>(name: &str) -> PyResult<&'static Column<T>> {
    let settable = || T::columns().iter().filter(|column| column.is_settable());
    settable().find(|column| column.name == name).ok_or_else(|| setting("column", name, allowed(settable())))
}

/// Puts a Python value into a column of a record.
fn set<T: Columns>(column: &Column<T>, record: &mut T, given: &Bound<'_, PyAny>) -> PyResult<()> {
    let refused = |wrong: WrongValue| {
        let shown = given.repr().map_or_else(|_| wrong.given.to_owned(), |text| text.to_string());
        setting(column.name, shown, wrong.allowed)
    };
    column.set(record, value(column.name, given)?).map_err(refused)
}

/// A copy of a record with other values in some columns.
pub(crate) fn with_columns<T: Clone + Columns>(
    record: &Arc<T>,
    columns: Option<&Bound<'_, pyo3::types::PyDict>>,
) -> PyResult<Arc<T>> {
    let mut record = Arc::clone(record);
    for (name, given) in columns.into_iter().flatten() {
        let name: String = name.extract()?;
        set(settable::<T>(&name)?, Arc::make_mut(&mut record), &given)?;
    }
    Ok(record)
}

/// Names of columns, for errors.
fn allowed<T: 'static>(columns: impl Iterator<Item = &'static Column<T>>) -> String {
    format!("one of {}", columns.map(|column| column.name).collect::<Vec<_>>().join(", "))
}

/// As many values as records are needed.
fn wrong_length(what: &str, given: usize, needed: usize) -> PyErr {
    let given = if given > needed { format!("more than {needed} values") } else { format!("{given} values") };
    setting(what, given, format!("one for each of the {needed} records"))
}
