"""Trains the models that choose the main text of a page."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import lightgbm
import numpy as np
from numpy.typing import NDArray

from tools.text_model import BAGS, LOOK, PART, STAGES, TREES
from tools.text_model.corpus import Page, Rows
from tools.text_model.described import Blocks
from tools.text_model.gold import label
from tools.text_model.kinds import KINDS, Kinds
from tools.text_model.words import Words

SETTINGS: dict[str, Any] = {
    "objective": "binary",
    # Each leaf is a bit of 32 when pages are judged (`crates/text/src/model.rs`).
    "num_leaves": 31,
    "learning_rate": 0.08,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "verbosity": -1,
    "num_threads": 2,
    "seed": 1,
    "deterministic": True,
}

#: Models that are asked together.
Bags = list[lightgbm.Booster]

#: Of so many pages of training one says how sums grow.
SAMPLE = 5


@dataclass(slots=True)
class Learnt:
    """What is learnt of the pages of some folds."""

    tables: bytes
    kinds: NDArray[np.int8]
    #: Each but the first one also looks at what the one before says of the blocks around a block.
    models: list[Bags] = field(default_factory=list)
    #: Of each of them, for each look at what it has said so far, how many times as large the sum of all trees is.
    growth: list[list[float]] = field(default_factory=list)


def prepare(blocks: Blocks, found: Sequence[Page]) -> None:
    """Read the blocks of all pages, what of them is in the gold texts, and their words."""
    for page in found:
        blocks.describe(page, np.zeros(len(KINDS), np.float32))
        label(page)
        page.stated = blocks.stated(page)
        blocks.words(page)
        blocks.words_of_kind(page)


class Training:
    """All pages, and what is learnt of some of them."""

    def __init__(self, blocks: Blocks, found: Sequence[Page]) -> None:
        """Learn nothing yet."""
        self.blocks, self.found = blocks, found
        self.words, self.kinds = Words(found), Kinds(found)
        self._of_words: dict[frozenset[int], Learnt] = {}

    def learn_words(self, folds: set[int]) -> Learnt:
        """Tables of words, and what they tell of kinds."""
        key = frozenset(folds)
        if key not in self._of_words:
            self._of_words[key] = Learnt(self.words.tables(folds), self.kinds.train(folds))
        known = self._of_words[key]
        return Learnt(known.tables, known.kinds)

    def rows(self, page: Page, learnt: Learnt, first: Rows | None = None) -> Rows:
        """The numbers of a page's blocks."""
        self.blocks.use(learnt.tables)
        return self.blocks.describe(page, self.kinds.probabilities(page, learnt.kinds), first)

    def learn(self, folds: set[int]) -> Learnt:
        """All of it.

        What is known of a page when the models are trained comes from pages of other domains: its words by those of
        other folds, and earlier probabilities by models of other folds.
        """
        training = sorted((page for page in self.found if page.fold in folds), key=lambda page: page.fold)
        without = {fold: self.learn_words(folds - {fold}) for fold in folds}
        learnt, before = self.learn_words(folds), dict[str, Rows]()
        for stage in range(STAGES):
            rows = {page.name: self.rows(page, without[page.fold], before.get(page.name)) for page in training}
            learnt.models.append(train(training, [rows[page.name] for page in training], BAGS[stage]))
            sample = np.vstack([rows[page.name] for page in training[::SAMPLE]])
            learnt.growth.append(growth(learnt.models[-1], sample))
            if stage + 1 < STAGES:
                for fold in folds:
                    others = [page for page in training if page.fold != fold]
                    model = train(others, [rows[page.name] for page in others], BAGS[stage])
                    before |= {
                        page.name: probabilities(model, rows[page.name]) for page in training if page.fold == fold
                    }
        return learnt

    def encoded(self, learnt: Learnt) -> tuple[bytes, bytes, bytes, bytes]:
        """What is learnt as Lycosa reads it: tables of words, kinds, both models of blocks."""
        first, second = map(encoded, learnt.models, learnt.growth)
        return learnt.tables, self.kinds.encoded(learnt.kinds), first, second

    def judge(self, page: Page, learnt: Learnt) -> list[Rows]:
        """The probabilities of a page's blocks, by each model."""
        found: list[Rows] = []
        for model in learnt.models:
            found.append(probabilities(model, self.rows(page, learnt, found[-1] if found else None)))
        return found


def train(training: Sequence[Page], rows: Sequence[Rows], bags: int) -> Bags:
    """Train models on pages."""
    models = []
    for bag in range(bags):
        chosen = [at for at, page in enumerate(training) if bags == 1 or is_in(page, bag)]
        parts = np.concatenate([training[at].labels for at in chosen])
        data = lightgbm.Dataset(
            np.vstack([rows[at] for at in chosen]),
            label=parts >= 0.5,
            weight=np.concatenate([training[at].weights for at in chosen]),
        )
        models.append(lightgbm.train(SETTINGS | {"seed": bag + 1}, data, TREES))
    return models


def is_in(page: Page, bag: int) -> bool:
    """Whether a page is in a bag: all pages of a domain are, or none."""
    digest = hashlib.md5(f"{bag} {page.domain}".encode(), usedforsecurity=False).digest()
    return digest[0] < 256 * PART


def probabilities(models: Bags, rows: Rows) -> Rows:
    """The probabilities of a page's blocks."""
    if not len(rows):
        return np.zeros(0, np.float32)
    sums = np.mean([cast(Rows, model.predict(rows, raw_score=True)) for model in models], axis=0)
    return cast(Rows, 1 / (1 + np.exp(-sums))).astype(np.float32)


def growth(models: Bags, rows: Rows) -> list[float]:
    """At each look how many times as large the sums of rows over all trees are as over those before: in the mean."""

    def sums(turns: int) -> Rows:
        told = [cast(Rows, model.predict(rows, raw_score=True, num_iteration=turns)) for model in models]
        return cast(Rows, np.mean(told, axis=0))

    whole = sums(TREES)
    looks = [sums(turns) for turns in range(LOOK, TREES, LOOK)]
    return [*(float((whole * some).sum() / (some * some).sum()) for some in looks), 1.0]


def encoded(models: Bags, growth: list[float]) -> bytes:
    """Models as `crates/text/src/model.rs` reads one: their trees in turn, since few rows are asked to the end."""
    trees = [
        tree for turn in zip(*(model.dump_model()["tree_info"] for model in models), strict=True) for tree in turn
    ]
    sizes, nodes = [], b""
    for tree in trees:
        made: list[tuple[int, int, int, float]] = []

        def add(node: dict[str, Any], made: list[tuple[int, int, int, float]] = made) -> int:
            at = len(made)
            made.append((0xFFFF, 0, 0, float(node.get("leaf_value", 0.0)) / len(models)))
            if "split_feature" in node:
                low = add(node["left_child"]) - at
                high = add(node["right_child"]) - at
                made[at] = (node["split_feature"], low, high, float(node["threshold"]))
            return at

        add(tree["tree_structure"])
        sizes.append(len(made))
        nodes += b"".join(struct.pack("<HHHHf", feature, low, high, 0, value) for feature, low, high, value in made)
    head = struct.pack("<III", models[0].num_feature(), len(sizes), LOOK * len(models))
    head += struct.pack(f"<{len(growth)}f", *growth) + struct.pack(f"<{len(sizes)}I", *sizes)
    return b"lycotre2" + head + nodes
