//! Bodies by handle: a record says where its body is stored, and a consumer reads the bytes there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Where a body is stored, as received: transfer coding removed, content coding kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// In memory. In a frame it follows the facts.
    #[serde(skip)]
    Memory(Bytes),
    /// In a file that exists as long as the record is in use. It is read only if the reader was configured
    /// with a directory for such files.
    File {
        /// The file's path.
        path: Arc<Path>,
        /// Offset of the first byte.
        offset: u64,
        /// Length, in bytes.
        length: u64,
    },
    /// In the frame of the log that the record came from.
    Log {
        /// The position of that frame.
        position: u64,
        /// Length, in bytes.
        length: u64,
    },
    /// In an object store.
    Object {
        /// The object's URL.
        url: Arc<str>,
        /// Length, in bytes.
        length: u64,
    },
}

impl Default for Body {
    fn default() -> Self {
        Body::Memory(Bytes::new())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Body::Memory(bytes)
    }
}

impl Body {
    /// Length, in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Body::Memory(bytes) => bytes.len() as u64,
            Body::File { length, .. } | Body::Log { length, .. } | Body::Object { length, .. } => *length,
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is in memory: then a frame stores it separately from the facts.
    pub fn is_memory(&self) -> bool {
        matches!(self, Body::Memory(_))
    }

    /// The bytes, if they are in memory.
    pub fn memory(&self) -> Option<&Bytes> {
        match self {
            Body::Memory(bytes) => Some(bytes),
            Body::File { .. } | Body::Log { .. } | Body::Object { .. } => None,
        }
    }

    /// The bytes, from memory or from a file below a directory. Fails with `Unsupported` if they are in a log
    /// or an object store, which their owner reads; with `PermissionDenied` if a file is not below the
    /// directory, symbolic links resolved, or no directory is given; with `InvalidData` if the path is not a
    /// regular file or the file is too short.
    pub fn read(&self, below: Option<&Path>) -> io::Result<Bytes> {
        match self {
            Body::Memory(bytes) => Ok(bytes.clone()),
            Body::File { path, offset, length } => read_file(path, below, *offset, *length),
            Body::Log { position, .. } => {
                let text = format!("the body is in the log at position {position}; read it there");
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
            Body::Object { url, .. } => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("the body is at {url}; read it there"),
            )),
        }
    }
}

/// Bytes of a file below a directory.
fn read_file(path: &Path, below: Option<&Path>, offset: u64, length: u64) -> io::Result<Bytes> {
    let refused = |text: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    let Some(below) = below else {
        return refused(format!(
            "the body is in {}; no directory for bodies in files is given",
            path.display()
        ));
    };
    let path = path.canonicalize()?;
    if !path.starts_with(below.canonicalize()?) {
        return refused(format!(
            "the body is in {}; allowed: files below {}",
            path.display(),
            below.display()
        ));
    }
    // Checked before opening: opening a pipe blocks until a writer appears.
    let size = path.metadata().map(|known| if known.is_file() { known.len() } else { 0 })?;
    if offset.checked_add(length).is_none_or(|end| end > size) {
        let text = format!("the body has {length} bytes from {offset} on, {} has {size}", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    File::open(path)?.read_exact_at(&mut bytes, offset)?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(path: &Path, offset: u64, length: u64) -> Body {
        Body::File { path: path.into(), offset, length }
    }

    #[test]
    fn a_file_is_read_only_below_the_directory_and_as_far_as_it_goes() {
        let folder = std::env::temp_dir().join(format!("lycosa-bodies-{}", std::process::id()));
        let (inside, outside) = (folder.join("inside"), folder.join("outside"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("body"), b"0123456789").unwrap();
        std::fs::write(&outside, b"secret").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let kind = |body: &Body, below: Option<&Path>| body.read(below).map_err(|error| error.kind());
        assert_eq!(kind(&body(&inside.join("body"), 2, 3), Some(&inside)), Ok("234".into()));
        let denied = Err(io::ErrorKind::PermissionDenied);
        assert_eq!(kind(&body(&inside.join("body"), 2, 3), None), denied);
        for path in [outside.clone(), inside.join("link"), inside.join("../outside")] {
            assert_eq!(kind(&body(&path, 0, 1), Some(&inside)), denied, "{path:?}");
        }
        for (offset, length) in [(0, 11), (0, 1 << 46), (u64::MAX, 2)] {
            let huge = body(&inside.join("body"), offset, length);
            assert_eq!(kind(&huge, Some(&inside)), Err(io::ErrorKind::InvalidData));
        }
        assert_eq!(kind(&body(&inside, 0, 1), Some(&folder)), Err(io::ErrorKind::InvalidData));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
