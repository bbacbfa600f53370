//! Names, one a line, from chunks of a file: cut without an object for each.

use std::borrow::Cow;
use std::sync::Mutex;

use pyo3::prelude::*;

use crate::errors::lock;

/// Bytes of a line that are looked at: no name has as many.
const LONGEST: usize = 4_096;

/// What editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a file into lines: surrounding space is taken off, blank lines are counted and left out.
#[pyclass(frozen, module = "lycosa._core")]
#[derive(Default)]
pub(crate) struct NameLines(Mutex<Cutter>);

/// The state of a [`NameLines`].
#[derive(Default)]
struct Cutter {
    /// A line whose end has not come, as far as it is looked at.
    begun: Vec<u8>,
    /// Whether that line has bytes, looked at or not.
    is_begun: bool,
    lines: u64,
    blank: u64,
}

#[pymethods]
impl NameLines {
    #[new]
    fn new() -> Self {
        NameLines::default()
    }

    /// Takes the file's next bytes; gives the names of the lines that end in them.
    fn feed(&self, py: Python<'_>, bytes: &[u8]) -> NameBatch {
        py.detach(|| lock(&self.0).feed(bytes))
    }

    /// The file has ended: gives the name of a last line that has no end.
    fn end(&self) -> NameBatch {
        lock(&self.0).end()
    }

    /// Lines so far.
    #[getter]
    fn lines(&self) -> u64 {
        lock(&self.0).lines
    }

    /// Those of them that are blank.
    #[getter]
    fn blank(&self) -> u64 {
        lock(&self.0).blank
    }
}

impl Cutter {
    /// The names of the lines that end in these bytes.
    fn feed(&mut self, mut bytes: &[u8]) -> NameBatch {
        let mut batch = Cut::default();
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            if self.is_begun {
                self.begin(line);
                let whole = std::mem::take(&mut self.begun);
                self.line(&whole, &mut batch);
                self.is_begun = false;
            } else {
                self.line(line, &mut batch);
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.begin(bytes);
        batch.whole()
    }

    /// The name of a last line without an end.
    fn end(&mut self) -> NameBatch {
        let mut batch = Cut::default();
        if std::mem::take(&mut self.is_begun) {
            let whole = std::mem::take(&mut self.begun);
            self.line(&whole, &mut batch);
        }
        batch.whole()
    }

    /// Keeps bytes of a line that goes on, no more than are looked at.
    fn begin(&mut self, bytes: &[u8]) {
        let space = LONGEST - self.begun.len();
        self.begun.extend_from_slice(&bytes[..bytes.len().min(space)]);
        self.is_begun |= !bytes.is_empty();
    }

    /// Takes a line.
    fn line(&mut self, line: &[u8], batch: &mut Cut) {
        self.lines += 1;
        let mut seen = &line[..line.len().min(LONGEST)];
        if self.lines == 1 {
            seen = seen.strip_prefix(BYTE_ORDER_MARK).unwrap_or(seen);
        }
        let text = String::from_utf8_lossy(seen);
        let name = text.trim_matches(is_space);
        if name.is_empty() {
            self.blank += 1;
        } else {
            batch.push(name, self.lines);
        }
    }
}

/// What Python's `str.strip` takes off.
fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// A batch in the making.
#[derive(Default)]
struct Cut {
    text: String,
    /// Where each name ends in the text, and the number of its line.
    names: Vec<(usize, u64)>,
}

impl Cut {
    /// Adds a name.
    fn push(&mut self, name: &str, line: u64) {
        self.text.push_str(name);
        self.names.push((self.text.len(), line));
    }

    /// All of it.
    fn whole(self) -> NameBatch {
        NameBatch { text: self.text, names: self.names, taken: Mutex::new(0) }
    }
}

/// Names of a file with the numbers of their lines, from 1; `Resolver.submit_lines` takes them from it.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct NameBatch {
    text: String,
    names: Vec<(usize, u64)>,
    /// How many were taken.
    taken: Mutex<usize>,
}

#[pymethods]
impl NameBatch {
    /// How many names are left in it.
    fn __len__(&self) -> usize {
        self.names.len() - *lock(&self.taken)
    }
}

impl NameBatch {
    /// Lets `take` have the names that are left, each with its number; it gives how many it took. Gives how many are left.
    pub(crate) fn give(&self, take: impl FnOnce(Left<'_>) -> usize) -> usize {
        let mut taken = lock(&self.taken);
        let begin = taken.checked_sub(1).and_then(|last| self.names.get(last)).map_or(0, |&(end, _)| end);
        let names = self.names.get(*taken..).unwrap_or_default();
        *taken += take(Left { text: &self.text, begin, names: names.iter() });
        self.names.len() - *taken
    }
}

/// The names of a batch that are left, with the numbers of their lines.
pub(crate) struct Left<'a> {
    text: &'a str,
    begin: usize,
    names: std::slice::Iter<'a, (usize, u64)>,
}

impl<'a> Iterator for Left<'a> {
    type Item = (Cow<'a, str>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let &(end, line) = self.names.next()?;
        let name = self.text.get(std::mem::replace(&mut self.begin, end)..end)?;
        Some((Cow::Borrowed(name), line))
    }
}
