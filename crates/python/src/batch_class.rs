//! The classes of batches in Python: what all of them can do.

use std::sync::Arc;

use lycosa_records::Record;
use lycosa_records::columns::Columns;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::{Batch, Table};

/// What the classes of batches in Python have in common; [`batch_class`] makes their methods of it.
pub(crate) trait BatchClass: Sized {
    /// What it holds.
    type Record: Clone + Columns + Record + Send + Sync;
    /// The class of one of them, and its name.
    type Item;
    const ITEM: &'static str;

    /// The records.
    fn batch(&self) -> &Batch<Self::Record>;

    /// A batch that comes from nowhere.
    fn alone(batch: Batch<Self::Record>) -> Self;

    /// Another batch that comes from the same place.
    fn with(&self, batch: Batch<Self::Record>) -> Self;

    /// One as an object.
    fn item(&self, record: Arc<Self::Record>) -> Self::Item;

    /// Columns: the usual ones unless told otherwise.
    fn table(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Table>;

    /// Refuses a record that Python has changed into one that no stage can use.
    fn check(_: &Self::Record) -> PyResult<()> {
        Ok(())
    }

    /// What any Arrow library is given.
    fn shown(&self) -> Self {
        self.with(Batch::shared(self.batch().all()))
    }
}

/// Gives a class of batches its methods in Python, and some more of its own.
macro_rules! batch_class {
    ($class:ident { $($own:tt)* }) => {
        #[pyo3::pymethods]
        impl $class {
            /// The names of the columns.
            #[classattr]
            #[pyo3(name = "COLUMNS")]
            fn column_names() -> Vec<&'static str> {
                $crate::batch_class::all_columns::<<Self as BatchClass>::Record>()
            }

            /// A batch of these.
            #[new]
            #[pyo3(signature = (records = None))]
            fn of(records: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
                $crate::batch_class::of_items::<_, <Self as BatchClass>::Item>(records, Self::ITEM).map(Self::alone)
            }

            /// The batch of bytes that `encode` gave, in this process or another one.
            #[classmethod]
            fn decode(_: &Bound<'_, pyo3::types::PyType>, py: Python<'_>, data: pyo3::pybacked::PyBackedBytes) -> PyResult<Self> {
                Batch::decode(py, data).map(Self::alone)
            }

            /// The batch as bytes.
            fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
                self.batch().encode(py)
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<$crate::batch_class::Reduced<'py>> {
                $crate::batch_class::reduced(slf.as_any(), slf.get().encode(slf.py())?)
            }

            /// Those for which the mask is true.
            fn select(&self, mask: &Bound<'_, PyAny>) -> PyResult<Self> {
                Ok(self.with(self.batch().select(mask)?))
            }

            /// What a function makes of each; None leaves it out.
            fn map(&self, py: Python<'_>, change: &Bound<'_, PyAny>) -> PyResult<Self> {
                let changed = pyo3::types::PyList::empty(py);
                for record in self.batch().all() {
                    changed.append(change.call1((self.item(record),))?)?;
                }
                let changed = $crate::batch_class::items::<_, <Self as BatchClass>::Item>(&changed, Self::ITEM, true)?;
                Ok(self.with(Batch::shared(changed)))
            }

            /// The same with other values in a column.
            fn replace(&self, column: &str, values: &Bound<'_, PyAny>) -> PyResult<Self> {
                Ok(self.with(self.batch().replace(column, values, Self::check)?))
            }

            /// Columns for Arrow libraries: the usual ones unless told otherwise.
            #[pyo3(signature = (names = None))]
            fn columns(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<$crate::batch::Table> {
                self.table(py, names)
            }

            /// All columns for any Arrow library (Arrow PyCapsule interface).
            #[pyo3(signature = (requested_schema = None))]
            fn __arrow_c_stream__<'py>(
                &self,
                py: Python<'py>,
                requested_schema: Option<Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, pyo3::types::PyCapsule>> {
                let names = Self::column_names().into_iter().map(str::to_owned).collect();
                self.shown().table(py, Some(names))?.stream(py, requested_schema)
            }

            fn __len__(&self) -> usize {
                self.batch().len()
            }

            fn __getitem__(&self, index: isize) -> PyResult<<Self as BatchClass>::Item> {
                Ok(self.item(self.batch().get(index)?))
            }

            fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
                let items = self.batch().all().into_iter().map(|record| self.item(record));
                pyo3::types::PyList::new(py, items)?.try_iter()
            }

            $($own)*
        }
    };
}
pub(crate) use batch_class;

/// The names of all columns.
pub(crate) fn all_columns<T: Columns>() -> Vec<&'static str> {
    T::columns().iter().map(|column| column.name).collect()
}

/// A batch of the items that Python gives, if it gives any.
pub(crate) fn of_items<T, I: for<'py> FromPyObjectRecord<'py, T>>(
    given: Option<&Bound<'_, PyAny>>,
    expected: &str,
) -> PyResult<Batch<T>> {
    Ok(match given {
        Some(given) => Batch::shared(items::<_, I>(given, expected, false)?),
        None => Batch::new(Vec::new()),
    })
}

/// How pickle makes a batch again: what is called, and the bytes that it is given.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// The way of a batch of these bytes through pickle.
pub(crate) fn reduced<'py>(
    batch: &Bound<'py, PyAny>,
    encoded: Bound<'py, PyBytes>,
) -> PyResult<Reduced<'py>> {
    Ok((batch.get_type().getattr("decode")?, (encoded,)))
}

/// The records of items that Python gives. `expected`: the class, for errors. `may_be_none`: whether `None` may be among them, and
/// is left out.
pub(crate) fn items<T, I: for<'py> FromPyObjectRecord<'py, T>>(
    given: &Bound<'_, PyAny>,
    expected: &str,
    may_be_none: bool,
) -> PyResult<Vec<Arc<T>>> {
    let mut records = Vec::new();
    for item in given.try_iter()? {
        let item = item?;
        if item.is_none() && may_be_none {
            continue;
        }
        let wrong = || {
            let found = item.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
            let or_none = if may_be_none { " or None" } else { "" };
            PyTypeError::new_err(format!("an item of the batch is a {found}; allowed: {expected}{or_none}"))
        };
        records.push(I::record(&item).ok_or_else(wrong)?);
    }
    Ok(records)
}

/// An item class of a batch.
pub(crate) trait FromPyObjectRecord<'py, T> {
    /// The record of an object, if it is of this class.
    fn record(object: &Bound<'py, PyAny>) -> Option<Arc<T>>;
}
