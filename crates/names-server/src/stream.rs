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
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, send};

use crate::limits::Shares;
use crate::lock;

/// Maximum size of a client's message, as for datagrams.
const ROOM: usize = 1_280;

/// A client's connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// To give back the client's share, once nobody holds the socket any more.
    shares: Arc<Mutex<Shares>>,
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
        let _guard = lock(&self.sending);
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
    pub(crate) fn read<'b>(&self, buffer: &'b mut Vec<u8>, idle: Duration) -> Option<&'b [u8]> {
        let until = Instant::now() + idle;
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

impl Drop for Connection {
    /// A client may have shut down its side and wait for answers: the socket is open until the last one is sent.
    fn drop(&mut self) {
        lock(&self.shares).give(self.client);
    }
}

/// All connections.
pub(crate) struct Connections {
    /// Those that are read, by number.
    read: Mutex<HashMap<u64, Arc<Connection>>>,
    /// The clients' shares of all that are open.
    shares: Arc<Mutex<Shares>>,
    most: usize,
    last: AtomicU64,
}

impl Connections {
    /// At most `most` connections.
    pub(crate) fn new(most: usize) -> Self {
        Connections { read: Mutex::default(), shares: Arc::default(), most, last: AtomicU64::new(0) }
    }

    /// Number of open connections.
    pub(crate) fn count(&self) -> usize {
        lock(&self.shares).taken()
    }

    /// Whether any connection is still read.
    pub(crate) fn are_read(&self) -> bool {
        !lock(&self.read).is_empty()
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
        let client = from.ip();
        if !lock(&self.shares).take(client, self.most, self.most.div_ceil(2)) {
            return Ok(None); // closed: the client retries here or with another server
        }
        let number = self.last.fetch_add(1, Relaxed);
        let shares = self.shares.clone();
        let connection = Arc::new(Connection { stream, shares, sending: Mutex::new(()), client });
        lock(&self.read).insert(number, connection.clone());
        Ok(Some((number, connection)))
    }

    /// Removes a connection that is not read any more; it is closed when its last answer is sent.
    pub(crate) fn remove(&self, number: u64) {
        lock(&self.read).remove(&number);
    }

    /// Stops reading questions on all connections.
    pub(crate) fn stop_reading(&self) {
        lock(&self.read).values().for_each(|connection| connection.stop_reading());
    }
}
