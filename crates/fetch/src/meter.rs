//! Ends a stream whose server sends much that is of no use: frames that cost work and carry nothing (floods of PING, SETTINGS,
//! empty frames, padding).

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use crate::observed::Observer;

/// Bytes that a server may send beyond twice what is of use: a session's whole window that is not read yet, and frames' own bytes.
const MAX_OVERHEAD: u64 = 20 << 20;

/// Traffic of a session.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    received: Cell<u64>,
    useful: Cell<u64>,
}

impl Meter {
    /// Counts bytes of a body that were read.
    pub(crate) fn used(&self, bytes: usize) {
        self.useful.update(|useful| useful + bytes as u64);
    }

    /// Bytes that were received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.get()
    }

    /// Counts bytes that were received; returns whether that is too much.
    fn receive(&self, bytes: usize) -> bool {
        self.received.update(|received| received + bytes as u64);
        self.received.get() > self.useful.get() * 2 + MAX_OVERHEAD
    }
}

impl Observer for Rc<Meter> {
    fn received(&self, bytes: &[u8]) -> io::Result<()> {
        if self.receive(bytes.len()) {
            let text = "the server sends frames without content";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(())
    }

    fn sent(&self, _: &[u8]) {}
}
