//! The block list's file: read at the start, and again whenever it has changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use lycosa_frontier::{BadLine, BlockList};
use pyo3::prelude::*;

use crate::errors::setting;

/// Between two looks at the file: a change acts within a second.
const LOOK: Duration = Duration::from_millis(250);

/// A file that has changed so lately is read at the next look too: its time may be the same after another change.
const UNSTEADY: Duration = Duration::from_secs(2);

/// Adds the function to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check_block_list, m)?)
}

/// Refuses a file that cannot be read or has a bad line.
#[pyfunction]
fn check_block_list(path: PathBuf) -> PyResult<()> {
    read(&path).map(|_| ())
}

/// Reads a list of which every line must be good.
fn read(path: &Path) -> PyResult<BlockList> {
    const NAME: &str = "politeness.block_list";
    let text = fs::read_to_string(path)
        .map_err(|error| setting(NAME, path.display(), format!("a text file that can be read ({error})")))?;
    let (list, bad) = BlockList::parse(&text);
    match bad.first() {
        None => Ok(list),
        Some(line) => Err(setting(NAME, at(path, line), format!("on each line {}", BadLine::ALLOWED))),
    }
}

/// A line as it is told.
fn at(path: &Path, line: &BadLine) -> String {
    format!("{}:{}: {}", path.display(), line.number, line.text)
}

/// What a file looks like from outside; when that changes, so may have its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Looks {
    changed: Option<SystemTime>,
    size: u64,
}

/// A list and its file. A file that is away or cannot be read changes nothing; of one with bad lines the good ones count.
#[derive(Debug)]
pub(crate) struct Watch {
    path: PathBuf,
    list: Arc<BlockList>,
    looked: Instant,
    seen: Option<Looks>,
    /// What was wrong at the last look; told once.
    wrong: Option<String>,
}

impl Watch {
    /// Reads the file for the first time.
    pub(crate) fn new(path: PathBuf) -> PyResult<Self> {
        let seen = looks(&path).ok();
        let list = Arc::new(read(&path)?);
        Ok(Watch { path, list, looked: Instant::now(), seen, wrong: None })
    }

    /// The list as it was read last.
    pub(crate) fn list(&self) -> Arc<BlockList> {
        self.list.clone()
    }

    /// The new list, if the time for a look has come and the file has changed; and what is wrong with the file, if that
    /// is news.
    pub(crate) fn look(&mut self) -> (Option<Arc<BlockList>>, Option<String>) {
        if self.looked.elapsed() < LOOK {
            return (None, None);
        }
        self.looked = Instant::now();
        let (list, wrong) = match self.read_changed() {
            Ok(None) => return (None, None),
            Ok(Some((list, bad))) => {
                self.list = Arc::new(list);
                let wrong = bad.first().map(|line| {
                    format!("{} is passed over; allowed: {}", at(&self.path, line), BadLine::ALLOWED)
                });
                (Some(self.list()), wrong)
            }
            Err(error) => {
                (None, Some(format!("{}: {error}; the list read before counts", self.path.display())))
            }
        };
        let news = wrong.clone().filter(|wrong| self.wrong.as_ref() != Some(wrong));
        self.wrong = wrong;
        (list, news)
    }

    /// Reads the file if it may have changed.
    fn read_changed(&mut self) -> io::Result<Option<(BlockList, Vec<BadLine>)>> {
        let looks = looks(&self.path)?;
        if self.seen == Some(looks) {
            return Ok(None);
        }
        let text = fs::read_to_string(&self.path)?;
        let age = looks.changed.and_then(|changed| changed.elapsed().ok());
        self.seen = age.is_some_and(|age| age > UNSTEADY).then_some(looks);
        Ok(Some(BlockList::parse(&text)))
    }
}

/// Looks at a file from outside.
fn looks(path: &Path) -> io::Result<Looks> {
    let metadata = fs::metadata(path)?;
    Ok(Looks { changed: metadata.modified().ok(), size: metadata.len() })
}
