//! The optional query log: one JSON object per line, written by its own thread.
//!
//! Guarantees: answering threads never wait for the log. The queue is bounded; lines that do not fit, and
//! lines that cannot be written (disk full), are dropped and counted. The log consists of whole lines of
//! printable ASCII, whatever the bytes of a name. Client addresses are truncated before they are stored (RFC
//! 8932 section 5.2).

mod line;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_url::{Clock, Micros};
use nix::libc::O_NONBLOCK;

use crate::answered::Source;
use crate::lock;
use line::{Entries, write_line};

/// Maximum number of queued entries: a third of a second of 200,000 questions/s, in about 10 MB.
const WAITING: usize = 1 << 16;

/// Buffered bytes that trigger a write.
const FULL: usize = 1 << 16;

/// Pause between two writes, in which lines collect.
const PAUSE: Duration = Duration::from_millis(10);

/// How long [`QueryLog::close`] waits for queued lines.
const PATIENCE: Duration = Duration::from_secs(2);

/// The path that means standard output.
const STANDARD_OUTPUT: &str = "-";

/// Prefix lengths to which client addresses are truncated in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientBits {
    /// Bits of an IPv4 address, of 32.
    pub v4: u8,
    /// Bits of an IPv6 address, of 128.
    pub v6: u8,
}

impl Default for ClientBits {
    /// Networks that many clients share.
    fn default() -> Self {
        ClientBits { v4: 24, v6: 48 }
    }
}

impl ClientBits {
    /// Returns the truncated address and its prefix length.
    fn shorten(self, client: IpAddr) -> (IpAddr, u8) {
        match client.to_canonical() {
            IpAddr::V4(address) => {
                let bits = self.v4.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                (IpAddr::from((address.to_bits() & mask).to_be_bytes()), bits)
            }
            IpAddr::V6(address) => {
                let bits = self.v6.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                (IpAddr::from((address.to_bits() & mask).to_be_bytes()), bits)
            }
        }
    }
}

/// The answering threads' handle to the log.
pub(crate) struct QueryLog {
    path: PathBuf,
    /// Prefix lengths of client addresses; `None` omits the addresses.
    clients: RwLock<Option<ClientBits>>,
    orders: Sender<Order>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// State that the log's thread shares with answering threads.
#[derive(Default)]
struct Shared {
    /// Queued lines.
    waiting: AtomicUsize,
    /// Dropped lines.
    dropped: AtomicU64,
    /// Why the last write failed.
    trouble: Mutex<Option<String>>,
}

/// A command for the log's thread.
enum Order {
    /// Write these entries.
    Write(Entries),
    /// Continue in another file.
    Reopen(File),
    /// End.
    End,
}

/// Answers of one thread that are logged once they are sent.
pub(crate) struct Pending {
    log: Arc<QueryLog>,
    entries: Entries,
}

impl QueryLog {
    /// Opens a file or standard output, and starts the writing thread.
    pub(crate) fn start(path: &Path, clients: Option<ClientBits>, clock: Clock) -> io::Result<Arc<Self>> {
        let (orders, received) = channel();
        let shared = Arc::<Shared>::default();
        let mut writer = Writer {
            path: path.into(),
            file: open(path)?,
            clock,
            shared: shared.clone(),
            lines: Lines::default(),
        };
        let work = move || writer.run(&received);
        let thread = std::thread::Builder::new().name("lycosa-dns-log".to_owned()).spawn(work)?;
        let (path, clients, thread) = (path.to_owned(), RwLock::new(clients), Mutex::new(Some(thread)));
        Ok(Arc::new(QueryLog { path, clients, orders, shared, thread }))
    }

    /// Reopens the file for [`QueryLog::reload`], for example after log rotation. `None` for standard output.
    pub(crate) fn open(&self) -> io::Result<Option<File>> {
        (self.path.as_os_str() != STANDARD_OUTPUT).then(|| open(&self.path)).transpose()
    }

    /// Continues in this file, with these prefix lengths.
    pub(crate) fn reload(&self, file: Option<File>, clients: Option<ClientBits>) {
        *self.clients.write().unwrap_or_else(PoisonError::into_inner) = clients;
        if let Some(file) = file {
            let _ = self.orders.send(Order::Reopen(file));
        }
    }

    /// Number of dropped lines.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }

    /// Why lines cannot be written at the moment.
    pub(crate) fn trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// Writes queued lines and ends the thread; waits at most [`PATIENCE`] for a standard output that is not
    /// read.
    pub(crate) fn close(&self) {
        let _ = self.orders.send(Order::End);
        let Some(thread) = lock(&self.thread).take() else { return };
        let until = Instant::now() + PATIENCE;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }

    /// Queues entries, or drops them if the queue is full.
    fn write(&self, entries: Entries) {
        let count = entries.count();
        if self.shared.waiting.fetch_add(count, Relaxed) + count > WAITING {
            self.shared.waiting.fetch_sub(count, Relaxed);
            self.shared.dropped.fetch_add(count as u64, Relaxed);
        } else {
            let _ = self.orders.send(Order::Write(entries));
        }
    }
}

impl Pending {
    /// An empty collection.
    pub(crate) fn new(log: Arc<QueryLog>) -> Self {
        Pending { log, entries: Entries::default() }
    }

    /// Adds an answer; its duration is set when it is sent.
    pub(crate) fn add(
        &mut self,
        source: Source,
        received: Micros,
        (client, is_stream): (IpAddr, bool),
        answer: &[u8],
    ) {
        let bits = *self.log.clients.read().unwrap_or_else(PoisonError::into_inner);
        self.entries.add(source, received, (bits.map(|bits| bits.shorten(client)), is_stream), answer);
    }

    /// Queues all answers as sent at `now`.
    pub(crate) fn settle(&mut self, now: Micros) {
        if self.entries.count() > 0 {
            let mut entries = std::mem::take(&mut self.entries);
            entries.settle(now);
            self.log.write(entries);
        }
    }
}

/// State of the log's thread.
struct Writer {
    path: PathBuf,
    file: File,
    clock: Clock,
    shared: Arc<Shared>,
    lines: Lines,
}

/// Buffered lines.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Whether the file ends with a partial line that could not be removed.
    is_torn: bool,
}

impl Writer {
    /// Writes until [`Order::End`].
    fn run(&mut self, orders: &Receiver<Order>) {
        while let Ok(first) = orders.recv() {
            let mut next = Some(first);
            while let Some(order) = next {
                match order {
                    Order::Write(entries) => {
                        for (entry, name) in entries.iter() {
                            write_line(
                                entry,
                                name,
                                self.clock.to_wall(entry.received),
                                &mut self.lines.bytes,
                            );
                        }
                        self.shared.waiting.fetch_sub(entries.count(), Relaxed);
                        if self.lines.bytes.len() >= FULL {
                            self.flush();
                        }
                    }
                    Order::Reopen(file) => {
                        self.flush();
                        (self.file, self.lines.is_torn) = (file, false);
                        *lock(&self.shared.trouble) = None;
                    }
                    Order::End => return self.flush(),
                }
                next = orders.try_recv().ok();
            }
            self.flush();
            // Sleeping here spares the senders a wake-up per batch.
            std::thread::sleep(PAUSE);
        }
    }

    /// Writes the buffered lines; those that cannot be written are dropped.
    fn flush(&mut self) {
        if self.lines.bytes.is_empty() {
            return;
        }
        let (lost, error) = self.lines.write(&mut self.file);
        self.shared.dropped.fetch_add(lost, Relaxed);
        let path = self.path.display();
        *lock(&self.shared.trouble) = error.map(|error| format!("query_log: {path}: {error}"));
    }
}

impl Lines {
    /// Writes and clears the lines. Returns how many were lost, and why.
    fn write(&mut self, file: &mut File) -> (u64, Option<io::Error>) {
        if std::mem::take(&mut self.is_torn) {
            self.bytes.insert(0, b'\n');
        }
        let (mut done, mut trouble) = (0, None);
        while done < self.bytes.len() && trouble.is_none() {
            match file.write(&self.bytes[done..]) {
                Ok(0) => trouble = Some(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => trouble = Some(error),
            }
        }
        let (written, left) = self.bytes.split_at(done);
        let lost = left.iter().filter(|byte| **byte == b'\n').count() as u64;
        let torn = written.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
        self.is_torn = torn > 0 && !cut(file, torn);
        self.bytes.clear();
        (lost, trouble)
    }
}

/// Truncates a file by some bytes; returns whether that succeeded.
fn cut(file: &File, bytes: u64) -> bool {
    let Ok(known) = file.metadata() else { return false };
    known.is_file() && file.set_len(known.len().saturating_sub(bytes)).is_ok()
}

/// Opens a file for appending, or standard output. Only its owner and group may read the file.
fn open(path: &Path) -> io::Result<File> {
    if path.as_os_str() == STANDARD_OUTPUT {
        return Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    }
    // O_NONBLOCK: opening a pipe without a reader must not block.
    let opened = OpenOptions::new().append(true).create(true).mode(0o640).custom_flags(O_NONBLOCK).open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("query_log: {}: {error}", path.display())))
}

#[cfg(test)]
#[path = "query_log_tests.rs"]
mod tests;
