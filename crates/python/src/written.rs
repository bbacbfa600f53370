//! Rows that are written into files of outputs, from an offset on.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use pyo3::prelude::*;

use crate::errors::setting;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Levels of compression: where a faster one gives much more bytes, and a slower one few less.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Lines,
    Csv,
}

impl Form {
    /// The form with a name.
    pub(crate) fn named(name: &str) -> PyResult<Self> {
        match name {
            "lines" => Ok(Form::Lines),
            "csv" => Ok(Form::Csv),
            _ => Err(setting("form", name, "lines or csv")),
        }
    }
}

/// How they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression with a name.
    pub(crate) fn named(name: Option<&str>) -> PyResult<Self> {
        match name {
            None => Ok(Compression::None),
            Some("gzip") => Ok(Compression::Gzip),
            Some("zstd") => Ok(Compression::Zstd),
            Some(name) => Err(setting("compression", name, "gzip, zstd or None")),
        }
    }
}

/// Writes into a file from an offset on; gives the bytes that it has more then.
pub(crate) fn write_at(
    path: &Path,
    offset: u64,
    compression: Compression,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<u64> {
    let mut file = File::options().write(true).open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut buffered = BufWriter::with_capacity(WRITE_BYTES, file);
    match compression {
        Compression::None => write(&mut buffered)?,
        Compression::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(&mut buffered, flate2::Compression::new(GZIP_LEVEL));
            write(&mut encoder)?;
            encoder.finish()?;
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(&mut buffered, ZSTD_LEVEL)?;
            write(&mut encoder)?;
            encoder.finish()?;
        }
    }
    buffered.flush()?;
    Ok(buffered.stream_position()? - offset)
}
