//! The log as text, for people and other programs; compressed where the file's name ends in `.gz`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use lycosa_store::{ExportError, Exported, Log, LogError, LogSettings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// Gathered for one call to the system.
const BUFFER_BYTES: usize = 1 << 20;

/// Adds what this file defines to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(export_log, m)?)?;
    m.add_function(wrap_pyfunction!(import_log, m)?)
}

/// Writes every record of a log that can be read to a file, which is replaced.
#[pyfunction]
fn export_log<'py>(py: Python<'py>, directory: PathBuf, file: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let exported = py.detach(|| export(&directory, &file));
    counts(py, exported.map_err(|error| raise(&file, error))?)
}

/// Makes a log of a file that `export_log` wrote.
#[pyfunction]
fn import_log<'py>(py: Python<'py>, file: PathBuf, directory: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let imported = py.detach(|| import(&file, &directory));
    counts(py, imported.map_err(|error| raise(&file, error))?)
}

/// Exports to a file, durably.
fn export(directory: &Path, path: &Path) -> Result<Exported, ExportError> {
    let file = File::create(path).map_err(ExportError::Text)?;
    let mut buffered = BufWriter::with_capacity(BUFFER_BYTES, file);
    let exported = if is_gzip(path) {
        let mut encoder = GzEncoder::new(buffered, Compression::fast());
        let exported = lycosa_store::export(directory, &mut encoder)?;
        buffered = encoder.finish().map_err(ExportError::Text)?;
        exported
    } else {
        lycosa_store::export(directory, &mut buffered)?
    };
    let synced = buffered.flush().and_then(|()| buffered.get_ref().sync_all());
    synced.map(|()| exported).map_err(ExportError::Text)
}

/// Imports a file into a new log.
fn import(path: &Path, directory: &Path) -> Result<Exported, ExportError> {
    let file = File::open(path).map_err(ExportError::Text)?;
    let mut log = Log::open(directory, LogSettings::default())?;
    let mut buffered = BufReader::with_capacity(BUFFER_BYTES, file);
    if is_gzip(path) {
        let mut lines = BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(buffered));
        lycosa_store::import(&mut lines, &mut log)
    } else {
        lycosa_store::import(&mut buffered, &mut log)
    }
}

/// Whether a file's name says that it is compressed.
fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The counts.
fn counts(py: Python<'_>, counted: Exported) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("entries", counted.entries)?;
    dict.set_item("seeds", counted.seeds)?;
    dict.set_item("pages", counted.pages)?;
    dict.set_item("robots", counted.robots)?;
    dict.set_item("leases", counted.leases)?;
    dict.set_item("skipped", counted.skipped)?;
    dict.set_item("complete", counted.complete)?;
    Ok(dict)
}

/// The error as Python's; those of the text name the file.
fn raise(file: &Path, error: ExportError) -> PyErr {
    match error {
        ExportError::Log(error) => errors::log(&error),
        ExportError::Text(error) => errors::log(&LogError::of(file, error)),
        ExportError::Line(..) => errors::storage(format!("{}: {error}", file.display())),
        ExportError::NotEmpty(_) => errors::storage(error),
    }
}
