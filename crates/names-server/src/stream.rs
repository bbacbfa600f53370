//! Questions over TCP (RFC 7766): many on one connection, answered as they are ready.
//!
//! Guarantees: connections are bounded and shared out fairly, half of them at most to one client, and none to who may not ask; what
//! one holds is bounded; one that sends no whole message within the idle time is closed then, one that does not read its answers
//! at once; nobody else waits for it.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, send};

use crate::limits::Shares;

/// The longest message of a client that is read, as for datagrams.
const ROOM: usize = 1_280;

/// A client's connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// How long the next message may take, from when it is waited for to its end.
    idle: Duration,
    /// PolicyCache while one answer is sent.
    sending: Mutex<()>,
    /// Who is at the other end.
    pub(crate) client: IpAddr,
}

impl Connection {
    /// Sends an answer; closes the connection where it does not take it at once: the client reads nothing.
    pub(crate) fn send(&self, answer: &[u8]) {
        let Ok(length) = u16::try_from(answer.len()) else { return };
        let framed = [&length.to_be_bytes()[..], answer].concat();
        let _guard = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        if send(self.stream.as_raw_fd(), &framed, flags) != Ok(framed.len()) {
            self.close();
        }
    }

    /// Takes no more questions; answers can still be sent.
    fn stop_reading(&self) {
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// Ends it.
    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Reads one message; none at the end, where it is not whole after the idle time, or where it is longer than any question.
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

    /// Reads so many bytes; none at the end, or where they have not all come in time.
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

/// Those that are open, by number, and whose they are.
#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<Connection>>,
    shares: Shares,
}

impl Connections {
    /// At most so many, each idle for so long at most.
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Connections { open: Mutex::default(), most, idle, last: AtomicU64::new(0) }
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open().connections.len()
    }

    /// Waits for a connection; gives it with its number, unless there are too many, or its client may not ask.
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
            return Ok(None); // closed: the client tries again, or elsewhere
        }
        let number = self.last.fetch_add(1, Relaxed);
        let (idle, client) = (self.idle, from.ip());
        let connection = Arc::new(Connection { stream, idle, sending: Mutex::new(()), client });
        open.connections.insert(number, connection.clone());
        Ok(Some((number, connection)))
    }

    /// One has ended: it is closed when its last answer is sent.
    pub(crate) fn remove(&self, number: u64) {
        let mut open = self.open();
        if let Some(connection) = open.connections.remove(&number) {
            open.shares.give(connection.client);
        }
    }

    /// Takes no more questions.
    pub(crate) fn stop_reading(&self) {
        self.open().connections.values().for_each(|connection| connection.stop_reading());
    }

    /// The lock.
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
