//! A list that grows in fixed pieces, without copying or doubling, so that it neither stalls a serving thread nor needs double memory.

/// Number of entries per piece.
pub(super) const PIECE: usize = 4096;

/// A list whose entries never move.
pub(super) struct Pieces<T>(Vec<Vec<T>>);

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Pieces<T> {
    /// Adds an entry at the end.
    pub(super) fn push(&mut self, entry: T) {
        match self.0.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(entry),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(entry);
                self.0.push(piece);
            }
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * PIECE + last.len())
    }

    /// The entry at an index.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.0.get_mut(place / PIECE)?.get_mut(place % PIECE)
    }

    /// All entries in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().flatten().copied()
    }

    /// The pieces in order, each with at least one entry.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[T]> {
        self.0.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_across_pieces() {
        let mut list = Pieces::default();
        assert_eq!((list.len(), list.iter().count()), (0, 0));
        for entry in 0..PIECE * 2 + 3 {
            list.push(entry);
            assert_eq!(list.len(), entry + 1);
        }
        *list.get_mut(PIECE).unwrap() = 7;
        assert_eq!(list.get_mut(PIECE * 2 + 3), None);
        let all: Vec<_> = list.iter().collect();
        assert_eq!((all[PIECE - 1], all[PIECE], all[PIECE + 1]), (PIECE - 1, 7, PIECE + 1));
        assert_eq!(list.pieces().map(<[_]>::len).collect::<Vec<_>>(), [PIECE, PIECE, 3]);
    }
}
