//! DNS over TCP (RFC 7766): many questions per connection, answered as they are ready.
//!
//! Guarantees: the number of connections is bounded and divided fairly, at most half of them for one client,
//! none for clients that are not allowed; memory per connection is bounded; a connection is closed if it
//! delivers no complete message within the idle time-out, and at once if the client does not read its
//! answers; no other client waits for it.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, send};

use crate::limits::Shares;

/// Maximum size of a client's message, as for datagrams.
const ROOM: usize = 1_280;

/// A client's connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// Time-out for the next complete message.
    idle: Duration,
    /// Locked while an answer is sent.
    sending: Mutex<()>,
    /// The client's address.
    pub(crate) client: IpAddr,
}

impl Connection {
    /// Sends an answer; closes the connection if the send buffer is full, since the client does not read.
    pub(crate) fn send(&self, answer: &[u8]) {
        let Ok(length) = u16::try_from(answer.len()) else { return };
        let framed = [&length.to_be_bytes()[..], answer].concat();
        let _guard = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        if send(self.stream.as_raw_fd(), &framed, flags) != Ok(framed.len()) {
            self.close();
        }
    }

    /// Stops reading questions; answers can still be sent.
    fn stop_reading(&self) {
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// Closes the connection.
    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Reads one message; `None` at the end of the stream, after the idle time-out, or if the message is too
    /// long.
    pub(crate) fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        let until = Instant::now() + self.idle;
        let mut length = [0; 2];
        self.fill(&mut length, until)?;
        let length = usize::from(u16::from_be_bytes(length));
        if length > ROOM {
            return None;
        }
        buffer.resize(length, 0);
        self.fill(buffer, until)?;
        Some(buffer)
    }

    /// Fills a buffer; `None` at the end of the stream or after the deadline.
    fn fill(&self, mut buffer: &mut [u8], until: Instant) -> Option<()> {
        while !buffer.is_empty() {
            let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            self.stream.set_read_timeout(Some(left)).ok()?;
            match (&self.stream).read(buffer) {
                Ok(0) => return None,
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_) => return None,
            }
        }
        Some(())
    }
}

/// All connections.
pub(crate) struct Connections {
    open: Mutex<Open>,
    most: usize,
    idle: Duration,
    last: AtomicU64,
}

/// Open connections by number, and the clients' shares.
#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<Connection>>,
    shares: Shares,
}

impl Connections {
    /// At most `most` connections with this idle time-out.
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Connections { open: Mutex::default(), most, idle, last: AtomicU64::new(0) }
    }

    /// Number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.open().connections.len()
    }

    /// Accepts a connection; returns it with its number, or `None` if there are too many or its client is not
    /// allowed.
    pub(crate) fn accept(
        &self,
        listener: &TcpListener,
        admits: impl FnOnce(IpAddr) -> bool,
    ) -> io::Result<Option<(u64, Arc<Connection>)>> {
        let (stream, from) = listener.accept()?;
        if !admits(from.ip()) {
            return Ok(None);
        }
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let mut open = self.open();
        if !open.shares.take(from.ip(), self.most, self.most.div_ceil(2)) {
            return Ok(None); // closed: the client retries here or with another server
        }
        let number = self.last.fetch_add(1, Relaxed);
        let (idle, client) = (self.idle, from.ip());
        let connection = Arc::new(Connection { stream, idle, sending: Mutex::new(()), client });
        open.connections.insert(number, connection.clone());
        Ok(Some((number, connection)))
    }

    /// Removes a connection that has ended; it is closed when its last answer is sent.
    pub(crate) fn remove(&self, number: u64) {
        let mut open = self.open();
        if let Some(connection) = open.connections.remove(&number) {
            open.shares.give(connection.client);
        }
    }

    /// Stops reading questions on all connections.
    pub(crate) fn stop_reading(&self) {
        self.open().connections.values().for_each(|connection| connection.stop_reading());
    }

    /// Locks the open connections and ignores poisoning.
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
