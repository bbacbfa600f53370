"""A linear model of the kind of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.optimize
import scipy.sparse
from numpy.typing import NDArray

from tools.text_model.corpus import Page, Rows

#: Kinds of pages, in the order of `crates/text/src/kind.rs`; how strongly weights are held at 0.
KINDS = ("article", "forum", "product", "collection", "listing", "documentation", "service")
DOUBT = 1.0

#: Pages that a word has to be on.
LEAST = 4


def kind_of(page: Page) -> int | None:
    """The number of a page's kind, if the corpus tells it."""
    name = {"scrapinghub": "article", "readability": "article"}.get(page.kind, page.kind.rpartition("-")[2])
    return KINDS.index(name) if name in KINDS else None


class Kinds:
    """What words tell of a page's kind."""

    def __init__(self, found: Sequence[Page]) -> None:
        """Keep the words that some pages have."""
        words, counts = np.unique(np.concatenate([page.of_kind for page in found]), return_counts=True)
        self.words = words[counts >= LEAST]
        self._found = found
        self._rows = {page.name: np.searchsorted(self.words, page.of_kind) for page in found}
        for page in found:
            places = np.minimum(self._rows[page.name], len(self.words) - 1)
            self._rows[page.name] = places[self.words[places] == page.of_kind]

    def _matrix(self, some: Sequence[Page]) -> Any:
        """Which page has which word."""
        rows = [self._rows[page.name] for page in some]
        ends = np.cumsum([0] + [len(row) for row in rows])
        data = np.ones(int(ends[-1]))
        return scipy.sparse.csr_matrix((data, np.concatenate(rows), ends), (len(some), len(self.words)))

    def train(self, folds: set[int]) -> NDArray[np.int8]:
        """The weights of words, by the pages of some folds whose kind is known."""
        some = [page for page in self._found if page.fold in folds and kind_of(page) is not None]
        known, matrix = np.array([kind_of(page) for page in some]), self._matrix(some)
        # Of words that few of these pages have nothing is learnt, however many others have them.
        is_common = np.asarray(matrix.sum(0)).ravel() >= LEAST
        per_domain = Counter(page.domain for page in some)
        weights = np.array([per_domain[page.domain] ** -0.5 for page in some])
        wanted = np.eye(len(KINDS))[known]

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            values = flat.reshape(-1, len(KINDS))
            sums = matrix @ values
            sums -= sums.max(1, keepdims=True)
            sums -= np.log(np.exp(sums).sum(1, keepdims=True))
            error = (np.exp(sums) - wanted) * weights[:, None]
            gradient = matrix.T @ error + DOUBT * values
            value = DOUBT / 2 * (flat**2).sum() - (weights * (sums * wanted).sum(1)).sum()
            return float(value), gradient.ravel()

        made = scipy.optimize.minimize(
            loss, np.zeros(len(self.words) * len(KINDS)), jac=True, method="L-BFGS-B", options={"maxiter": 60}
        )
        made.x.reshape(-1, len(KINDS))[~is_common] = 0
        steps: NDArray[np.int8] = np.clip(np.rint(made.x.reshape(-1, len(KINDS)) * 32), -127, 127).astype(np.int8)
        return steps

    def probabilities(self, page: Page, weights: NDArray[np.int8]) -> Rows:
        """The probabilities of a page's kind."""
        sums = weights[self._rows[page.name]].astype(np.float32).sum(0) / 32
        parts = np.exp(sums - sums.max())
        return cast(Rows, parts / parts.sum())

    def encoded(self, weights: NDArray[np.int8]) -> bytes:
        """Weights as `crates/text/src/kind.rs` reads them."""
        chosen = weights.any(1)
        entries = np.zeros(int(chosen.sum()), np.dtype([("hash", "<u4"), ("weights", "i1", len(KINDS))]))
        entries["hash"], entries["weights"] = self.words[chosen], weights[chosen]
        return b"lycokin1" + entries.tobytes()
