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

use lycosa_url::{Clock, Micros, Network};
use nix::libc::O_NONBLOCK;

use super::answered::Source;
use super::lock;
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
