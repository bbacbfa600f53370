//! A log of questions, by choice: one JSON object a line, written by a thread of its own.
//!
//! Guarantees: nobody who answers waits for the log. What waits to be written is bounded; lines beyond that, and lines that the
//! system does not take (a full disk), are lost and counted. The log holds whole lines only, of printable ASCII, whatever the
//! bytes of a name. Addresses of clients are shortened before they are kept at all (RFC 8932 section 5.2).

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

/// Questions that may wait to be written: a third of a second of 200,000 questions/s, in about 10 MB.
const WAITING: usize = 1 << 16;

/// Bytes that are written in one call, or little more.
const FULL: usize = 1 << 16;

/// How long lines are collected between two calls.
const PAUSE: Duration = Duration::from_millis(10);

/// How long the end waits for what is still to be written.
const PATIENCE: Duration = Duration::from_secs(2);

/// What stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// How much of a client's address is logged: the first bits of one of IPv4, and of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientBits {
    /// Of 32.
    pub v4: u8,
    /// Of 128.
    pub v6: u8,
}

impl Default for ClientBits {
    /// A network in which many clients are.
    fn default() -> Self {
        ClientBits { v4: 24, v6: 48 }
    }
}

impl ClientBits {
    /// What is left of an address, and how many bits that is.
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

/// The log, as those have it who answer.
pub(crate) struct QueryLog {
    path: PathBuf,
    /// How much of a client's address is kept; none: the address is left out.
    clients: RwLock<Option<ClientBits>>,
    orders: Sender<Order>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the log's thread shares with those who answer.
#[derive(Default)]
struct Shared {
    /// Lines that wait.
    waiting: AtomicUsize,
    /// Lines that were lost.
    dropped: AtomicU64,
    /// Why the last line was not written.
    trouble: Mutex<Option<String>>,
}

/// What the thread is to do, in this order.
enum Order {
    /// Write these.
    Write(Entries),
    /// Go on with another file.
    Reopen(File),
    /// End.
    End,
}

/// Answers of one thread that are to be logged when they are sent.
pub(crate) struct Pending {
    log: Arc<QueryLog>,
    entries: Entries,
}

impl QueryLog {
    /// Opens a file, or standard output, and starts the thread that writes.
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

    /// Opens the file again, for [`QueryLog::reload`]: it was moved away, or is on another disk now.
    pub(crate) fn open(&self) -> io::Result<Option<File>> {
        (self.path.as_os_str() != STANDARD_OUTPUT).then(|| open(&self.path)).transpose()
    }

    /// Goes on with this file, and with so much of clients' addresses.
    pub(crate) fn reload(&self, file: Option<File>, clients: Option<ClientBits>) {
        *self.clients.write().unwrap_or_else(PoisonError::into_inner) = clients;
        if let Some(file) = file {
            let _ = self.orders.send(Order::Reopen(file));
        }
    }

    /// Lines that were lost.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }

    /// Why lines are not written now.
    pub(crate) fn trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// Writes what waits, and ends; a reader that does not read standard output is not waited for.
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

    /// Has these written, where there is room.
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
    /// None yet.
    pub(crate) fn new(log: Arc<QueryLog>) -> Self {
        Pending { log, entries: Entries::default() }
    }

    /// An answer, whose time is known when it is sent.
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

    /// All are sent now.
    pub(crate) fn settle(&mut self, now: Micros) {
        if self.entries.count() > 0 {
            let mut entries = std::mem::take(&mut self.entries);
            entries.settle(now);
            self.log.write(entries);
        }
    }
}

/// The thread's own.
struct Writer {
    path: PathBuf,
    file: File,
    clock: Clock,
    shared: Arc<Shared>,
    lines: Lines,
}

/// Lines that are written together.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Part of a line is in the file and could not be taken back.
    is_torn: bool,
}

impl Writer {
    /// Writes until the end.
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
            // While it sleeps nobody has to wake it.
            std::thread::sleep(PAUSE);
        }
    }

    /// Writes the lines; those that the system does not take are lost.
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
    /// Writes them and forgets them; tells how many were lost, and why.
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

/// Takes back the last bytes of a file; tells whether that was possible.
fn cut(file: &File, bytes: u64) -> bool {
    let Ok(known) = file.metadata() else { return false };
    known.is_file() && file.set_len(known.len().saturating_sub(bytes)).is_ok()
}

/// Opens a file to append to, or standard output. Nobody but its owner and group may read it.
fn open(path: &Path) -> io::Result<File> {
    if path.as_os_str() == STANDARD_OUTPUT {
        return Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    }
    // A pipe that nobody reads is not waited for.
    let opened = OpenOptions::new().append(true).create(true).mode(0o640).custom_flags(O_NONBLOCK).open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("query_log: {}: {error}", path.display())))
}

#[cfg(test)]
#[path = "query_log_tests.rs"]
mod tests;
