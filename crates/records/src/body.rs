//! Bodies by handle: a record says where its body is, and who wants the bytes reads them there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Where a body is, as received: transfer coding removed, content coding kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// In memory. In a frame it stands behind the facts.
    #[serde(skip)]
    Memory(Bytes),
    /// In a file that is there as long as the record travels.
    File {
        /// The file.
        path: Arc<Path>,
        /// Its first byte.
        offset: u64,
        /// Its bytes.
        length: u64,
    },
    /// In the frame of the log that the record came from.
    Log {
        /// The position of that frame.
        position: u64,
        /// Its bytes.
        length: u64,
    },
    /// In an object store.
    Object {
        /// The object's URL.
        url: Arc<str>,
        /// Its bytes.
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
    /// Its bytes in number.
    pub fn len(&self) -> u64 {
        match self {
            Body::Memory(bytes) => bytes.len() as u64,
            Body::File { length, .. } | Body::Log { length, .. } | Body::Object { length, .. } => *length,
        }
    }

    /// Whether there is none, or an empty one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is in memory: then it stands apart from the facts in a frame.
    pub fn is_memory(&self) -> bool {
        matches!(self, Body::Memory(_))
    }

    /// The bytes, where they are in memory.
    pub fn memory(&self) -> Option<&Bytes> {
        match self {
            Body::Memory(bytes) => Some(bytes),
            Body::File { .. } | Body::Log { .. } | Body::Object { .. } => None,
        }
    }

    /// The bytes, read from memory or a file. Fails with `Unsupported` where they are in a log or an object store: who opened that
    /// can read them.
    pub fn read(&self) -> io::Result<Bytes> {
        match self {
            Body::Memory(bytes) => Ok(bytes.clone()),
            Body::File { path, offset, length } => {
                let mut bytes = vec![0; usize::try_from(*length).map_err(io::Error::other)?];
                File::open(path)?.read_exact_at(&mut bytes, *offset)?;
                Ok(bytes.into())
            }
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
