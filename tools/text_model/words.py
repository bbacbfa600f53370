"""Tables of words that tell whether a block is of the main text."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence

import numpy as np

from tools.text_model.corpus import FOLDS, Page
from tools.text_model.described import SOURCES
from tools.text_model.kinds import KINDS, kind_of

#: Domains that a word has to be of; of how many its share is taken to be the usual one.
LEAST, DOUBT = 4, 4.0
#: Kinds of pages that have little else than prose: of the others there are tables of their own, too.
PROSE = KINDS.index("article"), KINDS.index("documentation")


class Words:
    """How often blocks with a word are of the main text, by fold: of each domain at most once."""

    def __init__(self, found: Sequence[Page]) -> None:
        """Count."""
        domains = {page.domain: number for number, page in enumerate(found)}
        fold_of_domain = np.zeros(len(domains) + len(found), np.int64)
        for page in found:
            fold_of_domain[domains[page.domain]] = page.fold
        self.hashes, self._counts = [], []
        others = [page for page in found if kind_of(page) not in (None, *PROSE)]
        for some, source in itertools.product((found, others), range(SOURCES)):
            pairs, good, weight = [], [], []
            for page in some:
                blocks, hashes = page.tokens[source] >> 32, page.tokens[source] & 0xFFFFFFFF
                pairs.append(hashes << 20 | domains[page.domain])
                weight.append(page.weights[blocks])
                good.append(page.weights[blocks] * (page.labels[blocks] >= 0.5))
            unique, inverse = np.unique(np.concatenate(pairs), return_inverse=True)
            share = np.bincount(inverse, np.concatenate(good)) / np.maximum(
                np.bincount(inverse, np.concatenate(weight)), 1e-9
            )
            words, place = np.unique(unique >> 20, return_inverse=True)
            folds = fold_of_domain[unique & 0xFFFFF]
            counts = np.zeros((2, FOLDS, len(words)))
            np.add.at(counts[0], (folds, place), share)
            np.add.at(counts[1], (folds, place), 1 - share)
            common = counts.sum((0, 1)) >= LEAST
            self.hashes.append(words[common])
            self._counts.append(counts[:, :, common])

    def tables(self, folds: set[int]) -> bytes:
        """The tables of some folds, as `crates/text/src/tokens.rs` reads them."""
        encoded = b"lycotab2"
        for hashes, counts in zip(self.hashes, self._counts, strict=True):
            good, bad = counts[:, sorted(folds)].sum(1)
            prior = good.sum() / (good.sum() + bad.sum())
            odds = np.log((good + prior * DOUBT) / (bad + (1 - prior) * DOUBT)) - np.log(prior / (1 - prior))
            steps = np.clip(np.rint(odds * 32), -127, 127).astype(np.int8)
            chosen = (good + bad >= LEAST) & (steps != 0) & (hashes != 0)
            entries = np.zeros(int(chosen.sum()), np.dtype([("hash", "<u4"), ("value", "i1")]))
            entries["hash"], entries["value"] = hashes[chosen], steps[chosen]
            encoded += struct.pack("<I", len(entries)) + entries.tobytes()
        return encoded
