//! Writes a ledger to its file: a separate thread empties the shards every 100 ms, so that serving threads never wait for the disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::codec::{Content, Encoder, Head, MAGIC};
use super::file::{self, Header};
use super::{Shard, Store, lock};
use crate::error::{Error, Result};
use crate::secure::Handshakes;

/// Maximum time that records stay in memory.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum of late completions per block.
const BLOCK: usize = 4096;

/// Size in bytes at which a block of strings ends.
const STRINGS: usize = 256 << 10;

/// Result of a flush; the error is the system's error number.
type Answer = std::result::Result<(), i32>;

/// Channel for flush requests, and the thread that serves them.
type Thread = (Sender<Sender<Answer>>, JoinHandle<Answer>);

/// Handle of the writing thread.
pub(super) struct Writer {
    /// The file.
    path: PathBuf,
    /// Requests flushes; `None` after the file was closed.
    orders: Mutex<Option<Thread>>,
    /// Result of the ended thread.
    ended: Mutex<Answer>,
}

impl Writer {
    /// Creates the file, writes its header and starts the thread.
    pub(super) fn start(path: &Path, header: &Header, store: Arc<Store>) -> Result<Self> {
        let refused = |e| Error::system(format!("writing the ledger {}", path.display()), e);
        let file = file::create(path)?;
        // Absolute, so that a later change of the working directory has no effect.
        let absolute = path.canonicalize().map_err(refused)?;
        let header = serde_json::to_vec(header).map_err(|e| refused(e.into()))?;
        let writer = Self::spawn(&absolute, file, header, store)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Starts the thread, which writes the header in its first round.
    pub(super) fn spawn(path: &Path, file: File, header: Vec<u8>, store: Arc<Store>) -> Result<Self> {
        let mut output = Output {
            file,
            encoder: Encoder::default(),
            out: MAGIC.to_vec(),
            written: vec![Written::default(); store.shards.len()],
            strings: 0,
            round: Round::default(),
        };
        output.encoder.out = header;
        output.block(Content::Header, 0, 1, 0);
        let (orders, received) = channel();
        let thread = std::thread::Builder::new().name("simnet-ledger".to_owned());
        let thread = thread
            .spawn(move || work(output, &store, &received))
            .map_err(|e| Error::system("starting the ledger's thread", e))?;
        let orders = Mutex::new(Some((orders, thread)));
        Ok(Self { path: path.to_owned(), orders, ended: Mutex::new(Ok(())) })
    }

    /// The file's path, absolute.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until all earlier records are in the file.
    pub(super) fn flush(&self) -> Result<()> {
        let (sender, answer) = channel();
        let ended = || *lock(&self.ended);
        let result = match &*lock(&self.orders) {
            Some((orders, _)) if orders.send(sender).is_ok() => answer.recv().unwrap_or(Err(0)),
            _ => ended(),
        };
        result.map_err(|code| {
            let what = format!("writing the ledger {}: later records are lost", self.path.display());
            Error::system(what, io::Error::from_raw_os_error(code))
        })
    }

    /// Writes the remaining records and the end block; the next flush reports a failure.
    pub(super) fn close(&self) {
        if let Some((orders, thread)) = lock(&self.orders).take() {
            drop(orders);
            *lock(&self.ended) = thread.join().unwrap_or(Err(0));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Main loop of the thread: writes a round after each pause and for each flush request, until the channel is closed.
fn work(mut output: Output, store: &Store, orders: &Receiver<Sender<Answer>>) -> Answer {
    let mut state = Ok(());
    loop {
        let order = orders.recv_timeout(PAUSE);
        let ended = matches!(order, Err(RecvTimeoutError::Disconnected));
        output.round(store);
        if ended {
            output.encoder.clear();
            output.block(Content::End, 0, 0, 0);
        }
        // After a failed write the file has a gap: nothing is written after it.
        let told = |e: io::Error| e.raw_os_error().unwrap_or(0);
        state = state.and_then(|()| output.flush().map_err(told));
        output.out.clear();
        if let Ok(asker) = order {
            // Ignores a caller that no longer waits.
            let _ = asker.send(state);
        }
        if ended {
            return state;
        }
    }
}

/// Numbers of one shard's entries in the file.
#[derive(Clone, Copy, Default)]
struct Written {
    /// DNS questions.
    questions: u64,
    /// Late completions.
    late: u64,
}

/// Fields common to all blocks of one round.
#[derive(Clone, Copy, Default)]
struct Round {
    /// Start of the round.
    time: u64,
    /// Connections at that time.
    connections: u32,
    /// TLS handshakes at that time.
    handshakes: Handshakes,
}

/// The file and data to be written.
struct Output {
    /// The file.
    file: File,
    /// The payload of the next block.
    encoder: Encoder,
    /// Blocks to be written.
    out: Vec<u8>,
    /// Written entries, by shard.
    written: Vec<Written>,
    /// Number of strings in the file.
    strings: usize,
    /// The current round.
    round: Round,
}

impl Output {
    /// Empties the shards into blocks.
    fn round(&mut self, store: &Store) {
        let connections = store.connections.load(Ordering::Relaxed);
        self.round = Round { time: store.now(), connections, handshakes: store.handshakes() };
        let take = |shard: &Mutex<Shard>| {
            let mut shard = lock(shard);
            let filed = shard.filed + shard.requests.len();
            std::mem::replace(&mut *shard, Shard { filed, ..Shard::default() })
        };
        let taken: Vec<_> = store.shards.iter().map(take).collect();
        // After taking the shards and before writing them, so that every string precedes the records that refer to it.
        self.strings(store);
        for (shard, taken) in taken.into_iter().enumerate() {
            let mut first = taken.filed as u64;
            for piece in taken.requests.pieces() {
                self.encoder.clear();
                piece.iter().for_each(|request| self.encoder.request(request));
                self.block(Content::Requests, shard, piece.len(), first);
                first += piece.len() as u64;
            }
            let mut written = self.written[shard];
            for piece in taken.questions.pieces() {
                self.encoder.clear();
                piece.iter().for_each(|question| self.encoder.question(question));
                self.block(Content::Questions, shard, piece.len(), written.questions);
                written.questions += piece.len() as u64;
            }
            for piece in taken.late.chunks(BLOCK) {
                self.encoder.clear();
                piece.iter().for_each(|&(place, time)| self.encoder.late(place, time));
                self.block(Content::Late, shard, piece.len(), written.late);
                written.late += piece.len() as u64;
            }
            self.written[shard] = written;
        }
    }

    /// Adds blocks of the strings that are not in the file yet.
    fn strings(&mut self, store: &Store) {
        let new = lock(&store.strings).list[self.strings..].to_vec();
        let mut new = new.iter().peekable();
        while new.peek().is_some() {
            let first = self.strings;
            self.encoder.clear();
            while let Some(text) = new.next_if(|_| self.encoder.out.len() < STRINGS) {
                self.encoder.string(text);
                self.strings += 1;
            }
            self.block(Content::Strings, 0, self.strings - first, first as u64);
        }
    }

    /// Adds a block with the encoder's payload.
    fn block(&mut self, content: Content, shard: usize, count: usize, first: u64) {
        let Round { time, connections, handshakes } = self.round;
        // There are at most 64 shards, and a payload has fewer than 2^32 entries.
        let (shard, count) = (shard as u8, count as u32);
        let head = Head { content, shard, count, length: 0, first, time, connections, handshakes };
        self.out.extend_from_slice(&head.seal(&self.encoder.out));
        self.out.extend_from_slice(&self.encoder.out);
    }

    /// Writes the blocks.
    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}
