//! Rows for any Arrow library (Arrow PyCapsule interface).

use std::error::Error;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The stream of one batch, which is made without the GIL. The interface lets a producer ignore the wish for another schema.
pub(crate) fn stream<E: Error + Send>(
    py: Python<'_>,
    make: impl FnOnce() -> Result<RecordBatch, E> + Send,
) -> PyResult<Bound<'_, PyCapsule>> {
    let batch = py.detach(make).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
