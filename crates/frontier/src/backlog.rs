//! The waiting URLs of one host, packed, first in first out: in memory at both ends, on disk between them when
//! memory is short.
//!
//! Guarantee: URLs come out in the order in which they went in, each once.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::{io, iter};

use crate::codec::{self, damaged, put_bytes, put_number};
use crate::spill::{Block, Spill};
use crate::waiting::Waiting;

/// Bytes of a piece, at most, unless one URL is longer: the unit that is read back, perhaps for one URL only.
const PIECE_BYTES: usize = 8 << 10;

/// One host's waiting URLs.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// The next URLs, from `at` on.
    head: Vec<u8>,
    at: usize,
    /// The block of the head on disk, if it is there as well.
    source: Option<Block>,
    /// The URLs after the head.
    pieces: VecDeque<Piece>,
    /// Where URLs go in.
    tail: Vec<u8>,
    len: usize,
}

/// A run of packed URLs.
#[derive(Debug)]
enum Piece {
    Memory(Vec<u8>),
    /// From this byte of the block on.
    Disk(Block, u32),
}

impl Backlog {
    /// So many URLs, packed one after the other. `held`, the bytes in memory, grows by them.
    pub(crate) fn of(packed: Vec<u8>, len: usize, held: &mut usize) -> Self {
        if len == 0 {
            return Backlog::default();
        }
        *held += packed.capacity();
        Backlog { pieces: VecDeque::from([Piece::Memory(packed)]), len, ..Backlog::default() }
    }

    /// All URLs, packed one after the other.
    pub(crate) fn packed(&self, host: &str, spill: &Spill) -> io::Result<Vec<u8>> {
        let mut packed = Vec::new();
        for part in self.parts(host, spill) {
            packed.extend_from_slice(&part?);
        }
        Ok(packed)
    }

    /// Drops all URLs; `held` shrinks by what is freed.
    pub(crate) fn clear(&mut self, spill: &mut Spill, held: &mut usize) {
        self.source.iter().for_each(|block| spill.free(block));
        *held = held.saturating_sub(self.head.capacity() + self.tail.capacity());
        for piece in &self.pieces {
            match piece {
                Piece::Memory(bytes) => *held = held.saturating_sub(bytes.capacity()),
                Piece::Disk(block, _) => spill.free(block),
            }
        }
        *self = Backlog::default();
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts in what `pack` appends: one URL. Returns by how many bytes its memory has grown.
    pub(crate) fn push(&mut self, pack: impl FnOnce(&mut Vec<u8>)) -> usize {
        let before = self.tail.capacity();
        pack(&mut self.tail);
        let grown = self.tail.capacity() - before;
        self.len += 1;
        if self.tail.len() >= PIECE_BYTES {
            self.pieces.push_back(Piece::Memory(std::mem::take(&mut self.tail)));
        }
        grown
    }

    /// Takes out the next URL if it is the one that is looked for; `held`, the bytes in memory, shrinks by what is freed and
    /// grows by what is read.
    pub(crate) fn pop_if(
        &mut self,
        host: &str,
        spill: &mut Spill,
        held: &mut usize,
        wanted: impl FnOnce(&Waiting) -> bool,
    ) -> io::Result<Option<Waiting>> {
        if self.len == 0 {
            return Ok(None);
        }
        if self.at == self.head.len() {
            self.refill(spill, held)?;
        }
        let mut rest = &self.head[self.at..];
        let waiting = Waiting::unpack(host, &mut rest).ok_or_else(|| damaged_queue(host))?;
        if !wanted(&waiting) {
            return Ok(None);
        }
        self.at = self.head.len() - rest.len();
        self.len -= 1;
        if self.len == 0 {
            self.clear(spill, held);
        }
        Ok(Some(waiting))
    }

    /// The URLs in order; a piece on disk is read when its first URL is asked for, and not stored.
    pub(crate) fn iter<'a>(
        &'a self,
        host: &'a str,
        spill: &'a Spill,
    ) -> impl Iterator<Item = io::Result<Waiting>> + use<'a> {
        self.parts(host, spill).flat_map(move |part| unpack_all(host, part))
    }

    /// The packed URLs in order, part by part.
    fn parts<'a>(
        &'a self,
        host: &'a str,
        spill: &'a Spill,
    ) -> impl Iterator<Item = io::Result<Cow<'a, [u8]>>> + use<'a> {
        let pieces = self.pieces.iter().map(move |piece| match piece {
            Piece::Memory(bytes) => Ok(Cow::Borrowed(&bytes[..])),
            Piece::Disk(block, from) => {
                let mut bytes = spill.read(block)?;
                if *from as usize > bytes.len() {
                    return Err(damaged_queue(host));
                }
                bytes.drain(..*from as usize);
                Ok(Cow::Owned(bytes))
            }
        });
        let end = |bytes| iter::once(Ok(Cow::Borrowed(bytes)));
        end(&self.head[self.at..]).chain(pieces).chain(end(&self.tail))
    }

    /// Drops the head from memory, if it is on disk: it is read again later.
    pub(crate) fn forget_head(&mut self, spill: &mut Spill, held: &mut usize) {
        if let Some(block) = self.source.take() {
            *held = held.saturating_sub(self.head.capacity());
            if self.at < self.head.len() {
                self.pieces.push_front(Piece::Disk(block, self.at as u32));
            } else {
                spill.free(&block);
            }
            (self.head, self.at) = (Vec::new(), 0);
        }
    }

    /// Writes URLs behind the head to the disk: whole pieces, and the tail if it has `least` bytes. What
    /// cannot be written stays.
    pub(crate) fn spill(&mut self, least: usize, spill: &mut Spill, held: &mut usize) -> io::Result<()> {
        if self.tail.len() >= least {
            self.pieces.push_back(Piece::Memory(std::mem::take(&mut self.tail)));
        }
        for piece in &mut self.pieces {
            if let Piece::Memory(bytes) = piece
                && bytes.len() >= least
            {
                let block = spill.write(bytes)?;
                *held = held.saturating_sub(bytes.capacity());
                *piece = Piece::Disk(block, 0);
            }
        }
        Ok(())
    }

    /// Bytes that are in memory and not next.
    pub(crate) fn spillable(&self) -> usize {
        let memory = |piece: &Piece| match piece {
            Piece::Memory(bytes) => bytes.len(),
            Piece::Disk(..) => 0,
        };
        self.tail.len() + self.pieces.iter().map(memory).sum::<usize>()
    }

    /// Appends all of it to a snapshot, after `count` URLs that come first.
    pub(crate) fn pack(&self, first: &[u8], count: usize, into: &mut Vec<u8>) {
        put_number(into, (self.len + count) as u64);
        put_number(into, self.pieces.len() as u64 + 3);
        for bytes in [first, &self.head[self.at..]] {
            put_number(into, MEMORY);
            put_bytes(into, bytes);
        }
        for piece in &self.pieces {
            match piece {
                Piece::Memory(bytes) => {
                    put_number(into, MEMORY);
                    put_bytes(into, bytes);
                }
                Piece::Disk(block, from) => {
                    put_number(into, DISK);
                    for number in [block.file, block.offset, block.bytes, block.crc, *from] {
                        put_number(into, number.into());
                    }
                }
            }
        }
        put_number(into, MEMORY);
        put_bytes(into, &self.tail);
    }

    /// Reads it from a snapshot.
    pub(crate) fn unpack(from: &mut &[u8], spill: &mut Spill, held: &mut usize) -> io::Result<Self> {
        let len = codec::small(from).ok_or_else(damaged)? as usize;
        let mut backlog = Backlog { len, ..Backlog::default() };
        for _ in 0..codec::number(from).ok_or_else(damaged)? {
            match unpack_piece(from).ok_or_else(damaged)? {
                Piece::Memory(bytes) if bytes.is_empty() => {}
                Piece::Memory(bytes) => {
                    *held += bytes.capacity();
                    backlog.pieces.push_back(Piece::Memory(bytes));
                }
                Piece::Disk(block, from) => {
                    spill.adopt(&block)?;
                    backlog.pieces.push_back(Piece::Disk(block, from));
                }
            }
        }
        Ok(backlog)
    }

    /// Brings the next piece, or the tail, to the head.
    fn refill(&mut self, spill: &mut Spill, held: &mut usize) -> io::Result<()> {
        let (next, at, source) = match self.pieces.pop_front() {
            None => (std::mem::take(&mut self.tail), 0, None),
            Some(Piece::Memory(bytes)) => (bytes, 0, None),
            Some(Piece::Disk(block, from)) => {
                let again = |_: &io::Error| self.pieces.push_front(Piece::Disk(block, from));
                let bytes = spill.read(&block).inspect_err(again)?;
                *held += bytes.capacity();
                (bytes, from as usize, Some(block))
            }
        };
        *held = held.saturating_sub(self.head.capacity());
        self.source.iter().for_each(|block| spill.free(block));
        (self.head, self.at, self.source) = (next, at, source);
        Ok(())
    }
}

/// The error for a host whose packed URLs cannot be read.
fn damaged_queue(host: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the queue of {host} is damaged"))
}

/// Unpacks the URLs of a host. The first that is damaged is an error, and the last item; what could not be read is an error alone.
pub(crate) fn unpack_all<'a>(
    host: impl AsRef<str> + 'a,
    packed: io::Result<Cow<'a, [u8]>>,
) -> impl Iterator<Item = io::Result<Waiting>> + 'a {
    let (packed, error) = packed.map_or_else(|error| (Cow::default(), Some(error)), |packed| (packed, None));
    let mut at = 0;
    let urls = iter::from_fn(move || {
        let mut rest = packed.get(at..).filter(|rest| !rest.is_empty())?;
        let next = Waiting::unpack(host.as_ref(), &mut rest);
        at = packed.len() - next.as_ref().map_or(0, |_| rest.len());
        Some(next.ok_or_else(|| damaged_queue(host.as_ref())))
    });
    error.into_iter().map(Err).chain(urls)
}

/// How the pieces of a snapshot begin.
const MEMORY: u64 = 0;
const DISK: u64 = 1;

/// Reads one piece.
fn unpack_piece(from: &mut &[u8]) -> Option<Piece> {
    match codec::number(from)? {
        MEMORY => Some(Piece::Memory(codec::bytes(from)?.to_vec())),
        DISK => {
            let mut number = || codec::small(from);
            let (file, offset, bytes, crc) = (number()?, number()?, number()?, number()?);
            let from = number().filter(|from| *from < bytes)?;
            Some(Piece::Disk(Block { file, offset, bytes, crc }, from))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lycosa_url::CrawlUrl;
    use proptest::prelude::*;

    use super::*;
    use crate::waiting::Candidate;

    /// What can happen to a backlog.
    #[derive(Clone, Debug)]
    enum Step {
        Push(u16),
        Pop,
        Spill(usize),
        ForgetHead,
        Snapshot,
        Move,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0u16..2000).prop_map(Step::Push),
            6 => Just(Step::Pop),
            1 => (1usize..300).prop_map(Step::Spill),
            1 => Just(Step::ForgetHead),
            1 => Just(Step::Snapshot),
            1 => Just(Step::Move),
        ];
        proptest::collection::vec(step, 0..300)
    }

    proptest! {
        #[test]
        fn wherever_urls_lie_they_come_out_in_order_and_memory_is_counted(steps in steps()) {
            let directory = tempfile::tempdir().unwrap();
            let mut spill = Spill::new(Some(directory.path().to_owned()));
            let (mut backlog, mut held) = (Backlog::default(), 0);
            let mut model = VecDeque::new();
            for step in steps {
                match step {
                    Step::Push(long) => {
                        let url = format!("http://a.example/{}", "x".repeat(long.into()));
                        let url = CrawlUrl::parse(&url).unwrap();
                        held += backlog.push(|into| crate::waiting::pack(into, &Candidate::link(url.borrow(), 1), (0, 0)));
                        model.push_back(url);
                    }
                    Step::Pop => {
                        let popped = backlog.pop_if("a.example", &mut spill, &mut held, |_| true).unwrap();
                        prop_assert_eq!(popped.map(|waiting| waiting.url), model.pop_front());
                    }
                    Step::Spill(least) => backlog.spill(least, &mut spill, &mut held).unwrap(),
                    Step::ForgetHead => backlog.forget_head(&mut spill, &mut held),
                    Step::Snapshot => {
                        let mut packed = Vec::new();
                        backlog.pack(&[], 0, &mut packed);
                        spill.flush().unwrap();
                        spill.sync().unwrap();
                        (spill, held) = (Spill::new(Some(directory.path().to_owned())), 0);
                        backlog = Backlog::unpack(&mut &packed[..], &mut spill, &mut held).unwrap();
                    }
                    Step::Move => {
                        let (packed, len) = (backlog.packed("a.example", &spill).unwrap(), backlog.len());
                        backlog.clear(&mut spill, &mut held);
                        prop_assert_eq!((held, backlog.len(), spill.used().len()), (0, 0, 0));
                        backlog = Backlog::of(packed, len, &mut held);
                    }
                }
                let pieces = backlog.pieces.iter().map(|piece| match piece {
                    Piece::Memory(bytes) => bytes.capacity(),
                    Piece::Disk(..) => 0,
                });
                let counted = pieces.sum::<usize>() + backlog.head.capacity() + backlog.tail.capacity();
                prop_assert_eq!(held, counted);
            }
            let shown: Vec<CrawlUrl> =
                backlog.iter("a.example", &spill).map(|waiting| waiting.unwrap().url).collect();
            prop_assert_eq!(shown, Vec::from(model.clone()));
            let rest: Vec<CrawlUrl> = std::iter::from_fn(|| backlog.pop_if("a.example", &mut spill, &mut held, |_| true).unwrap())
                .map(|waiting| waiting.url)
                .collect();
            prop_assert_eq!(rest, Vec::from(model));
            prop_assert_eq!(held, 0);
            prop_assert!(spill.used().is_empty(), "no piece is in use any more");
        }
    }
}
