//! The waiting URLs of one host, packed, first in first out: in memory at both ends, on disk between them when
//! memory is short.
//!
//! Guarantee: URLs come out in the order in which they went in, each once.

use std::collections::VecDeque;
use std::io;

use crate::codec::{self, damaged, put_bytes, put_number};
use crate::spill::{Block, Spill};
use crate::waiting::Waiting;

/// Bytes of a piece, at most, unless one URL is longer: what is read back at once.
const PIECE_BYTES: usize = 64 << 10;

/// One host's waiting URLs.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// What comes out next, from `at` on.
    head: Vec<u8>,
    at: usize,
    /// What comes out then.
    pieces: VecDeque<Piece>,
    /// Where URLs go in.
    tail: Vec<u8>,
    len: usize,
}

/// A run of packed URLs.
#[derive(Debug)]
enum Piece {
    Memory(Vec<u8>),
    Disk(Block),
}

impl Backlog {
    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts in what `pack` appends: one URL. Gives by how many bytes the memory held has grown.
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

    /// Takes out the next URL; `held` is lessened by the memory that this frees, and grows by what it reads.
    pub(crate) fn pop(
        &mut self,
        host: &str,
        spill: &mut Spill,
        held: &mut usize,
    ) -> io::Result<Option<Waiting>> {
        self.pop_if(host, spill, held, |_| true)
    }

    /// Takes out the next URL if it is the one that is looked for.
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
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, format!("the queue of {host} is damaged"));
        let waiting = Waiting::unpack(host, &mut rest).ok_or_else(damaged)?;
        if !wanted(&waiting) {
            return Ok(None);
        }
        self.at = self.head.len() - rest.len();
        self.len -= 1;
        if self.len == 0 {
            *held = held.saturating_sub(self.head.capacity() + self.tail.capacity());
            *self = Backlog::default();
        }
        Ok(Some(waiting))
    }

    /// Writes what is far from its turn to the disk: whole pieces, and the tail if it has `least` bytes. What
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
                *piece = Piece::Disk(block);
            }
        }
        Ok(())
    }

    /// Bytes that are in memory and not next.
    pub(crate) fn spillable(&self) -> usize {
        let memory = |piece: &Piece| match piece {
            Piece::Memory(bytes) => bytes.len(),
            Piece::Disk(_) => 0,
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
                Piece::Disk(block) => {
                    put_number(into, DISK);
                    for number in [block.file, block.offset, block.bytes, block.crc] {
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
                Piece::Disk(block) => {
                    spill.adopt(&block)?;
                    backlog.pieces.push_back(Piece::Disk(block));
                }
            }
        }
        Ok(backlog)
    }

    /// Brings the next piece, or the tail, to the head.
    fn refill(&mut self, spill: &mut Spill, held: &mut usize) -> io::Result<()> {
        let next = match self.pieces.pop_front() {
            None => std::mem::take(&mut self.tail),
            Some(Piece::Memory(bytes)) => bytes,
            Some(Piece::Disk(block)) => {
                let bytes = spill.read(&block).inspect_err(|_| self.pieces.push_front(Piece::Disk(block)))?;
                spill.free(&block);
                *held += bytes.capacity();
                bytes
            }
        };
        *held = held.saturating_sub(self.head.capacity());
        (self.head, self.at) = (next, 0);
        Ok(())
    }
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
            Some(Piece::Disk(Block { file, offset, bytes, crc }))
        }
        _ => None,
    }
}
