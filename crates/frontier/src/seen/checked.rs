//! Streams that end with a checksum of themselves.

use std::io::{self, Read, Write};

use super::image::damaged;

/// A writer that counts up a CRC-32 of what it writes.
pub(super) struct CheckedWriter<'a> {
    inner: &'a mut dyn Write,
    checksum: crc32fast::Hasher,
}

impl<'a> CheckedWriter<'a> {
    /// Begins.
    pub(super) fn new(inner: &'a mut dyn Write) -> Self {
        CheckedWriter { inner, checksum: crc32fast::Hasher::new() }
    }

    /// Ends with the checksum.
    pub(super) fn finish(self) -> io::Result<()> {
        self.inner.write_all(&self.checksum.finalize().to_le_bytes())
    }
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.checksum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A reader that counts up a CRC-32 of what it reads.
pub(super) struct CheckedReader<'a> {
    inner: &'a mut dyn Read,
    checksum: crc32fast::Hasher,
}

impl<'a> CheckedReader<'a> {
    /// Begins.
    pub(super) fn new(inner: &'a mut dyn Read) -> Self {
        CheckedReader { inner, checksum: crc32fast::Hasher::new() }
    }

    /// Reads the checksum; an error if what was read is not what was written.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut stored = [0; 4];
        self.inner.read_exact(&mut stored)?;
        if u32::from_le_bytes(stored) == self.checksum.finalize() {
            return Ok(());
        }
        Err(damaged("its checksum is another"))
    }
}

impl Read for CheckedReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.checksum.update(&bytes[..read]);
        Ok(read)
    }
}
