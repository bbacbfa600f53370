"""Trains the models that choose the main text of a page, and tells how good they are on pages not seen before.

`python -m tools.train_text [--write]`: needs LightGBM, the corpora (`LYCOSA_CORPORA`, or `../shared/corpora`), no
network and no GPU. Five folds by domain: the figures are of each fold by models that were trained on the others.
--write: also train on all pages, and write the models that Lycosa uses.
"""

from __future__ import annotations

import argparse
import bisect
import gzip
import hashlib
import json
import os
import re
import statistics
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

import lightgbm
import numpy as np
from numpy.typing import NDArray

CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[2] / "shared" / "corpora")) / "text"
MODELS = Path(__file__).parents[1] / "crates" / "text" / "models"

#: Folds of pages, by domain; folds of the training pages, for probabilities of pages that a first model has not seen.
FOLDS, INNER = 5, 5

#: Words that are alike in this many in a row are of the page's text.
RUN = 3

#: Words of a block that is looked for in the gold text before shorter ones.
LONG = 12

#: The weight of a block: its part of the page's text, to this power, so that pages count alike and long blocks more.
POWER = 0.6

SETTINGS: dict[str, Any] = {
    "objective": "binary",
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
TREES = 100

Rows = NDArray[np.float32]


@dataclass(slots=True)
class Page:
    """A page with its gold text, and what is known of its blocks."""

    name: str
    kind: str
    fold: int
    html: bytes
    gold: str
    texts: list[str] = field(default_factory=list)
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: Rows = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    labels: Rows = field(default_factory=lambda: np.zeros(0, np.float32))
    weights: Rows = field(default_factory=lambda: np.zeros(0, np.float32))


def fold_of(row: dict[str, Any]) -> int:
    """The fold of a page: pages of one domain are in one fold."""
    host = urlsplit(row.get("url") or "").hostname or row["id"]
    domain = ".".join(host.split(".")[-2:])
    return int(hashlib.md5(domain.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def decoded(html: bytes) -> bytes:
    """A page as UTF-8."""
    try:
        return html.decode("utf-8").encode()
    except UnicodeDecodeError:
        named = re.search(rb"charset=[\"']?([\w-]+)", html[:4096])
        try:
            return html.decode(named[1].decode() if named else "windows-1252", "replace").encode()
        except LookupError:
            return html.decode("windows-1252", "replace").encode()


def pages() -> list[Page]:
    """All pages of the corpora."""
    found = []
    for line in (CORPORA / "gold.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        html = decoded(gzip.decompress((CORPORA / row["html"]).read_bytes()))
        found.append(Page(row["html"], row["set"], fold_of(row), html, row["text"]))
    return found


class Blocks:
    """The program that describes pages, as it runs in Lycosa."""

    def __init__(self) -> None:
        """Build and start it."""
        root = Path(__file__).parents[1]
        command = ["cargo", "build", "--release", "--locked", "-p", "lycosa-text", "--example", "blocks"]
        subprocess.run(command, cwd=root, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
        self._program = str(target / "release" / "examples" / "blocks")
        self._process = subprocess.Popen([self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        named = subprocess.run([self._program, "names"], check=True, capture_output=True, text=True).stdout.split()
        self.names = [name for name in named if not name.startswith("context_")]
        self.context = len(named) - len(self.names)

    def describe(self, page: Page, first: Rows | None = None) -> Rows:
        """The numbers of a page's blocks; with first probabilities those of the context behind them."""
        given = b"" if first is None else first.astype("<f4").tobytes()
        into, out = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        into.write(struct.pack("<I", len(page.html)) + page.html + struct.pack("<I", len(given)) + given)
        into.flush()

        def number() -> int:
            return int(struct.unpack("<I", out.read(4))[0])

        count = number()
        page.words = np.frombuffer(out.read(4 * count), "<u4").astype(np.int64)
        page.texts = [out.read(number()).decode() for _ in range(count)]
        numbers = np.frombuffer(out.read(4 * number()), "<f4")
        width = len(self.names)
        own = numbers[: count * width].reshape(count, width)
        if first is None:
            return own
        return np.hstack([own, numbers[count * width :].reshape(count, self.context)])


TOKEN = re.compile(r"[㐀-鿿豈-﫿぀-ヿ]|[^\W㐀-鿿豈-﫿぀-ヿ]+")


class Gold:
    """The gold text of a page, of which each run of words can be found once."""

    def __init__(self, text: str) -> None:
        """Nothing is found yet."""
        words = tokens_of(text)
        self._left = {length: Counter(runs_of(words, length)) for length in range(1, RUN + 1)}

    def find(self, words: Sequence[str]) -> float:
        """Return the part of some words that the gold text has; what has half of them or more is found."""
        length = min(RUN, len(words))
        covered, found = [False] * len(words), Counter[tuple[str, ...]]()
        for at, run in enumerate(runs_of(words, length)):
            if self._left[length][run] > found[run]:
                found[run] += 1
                covered[at : at + length] = [True] * length
        part = sum(covered) / len(words) if words else 0.0
        if part >= 0.5:
            self._left[length] -= found
            for other in self._left.keys() - {length}:
                self._left[other] -= Counter(runs_of(words, other))
        return part


def tokens_of(text: str) -> list[str]:
    """The tokens of a text, in lower case."""
    return [token.lower() for token in TOKEN.findall(text)]


def runs_of(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All runs of so many words."""
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def label(page: Page) -> None:
    """Tell of each block how much of it is in the gold text: long blocks first, then short ones beside these.

    A title that is in the navigation as well is the one next to its article.
    """
    words, gold = [tokens_of(text) for text in page.texts], Gold(page.gold)
    labels = [0.0] * len(words)
    by_length = sorted(range(len(words)), key=lambda index: -len(words[index]))
    long = [index for index in by_length if len(words[index]) >= LONG]
    for index in long:
        labels[index] = gold.find(words[index])
    inside = sorted(index for index in long if labels[index] >= 0.5)

    def distance(index: int) -> int:
        place = bisect.bisect(inside, index)
        return min((abs(index - near) for near in inside[max(place - 1, 0) : place + 1]), default=0)

    short = [index for index in by_length if 0 < len(words[index]) < LONG]
    for index in sorted(short, key=lambda index: (-min(len(words[index]), RUN), distance(index))):
        labels[index] = gold.find(words[index])
    page.labels = np.array(labels, np.float32)
    total = max(sum(count for count, part in zip(page.words, labels, strict=True) if part >= 0.5), 1)
    page.weights = np.array([max(count, 1) / total for count in page.words], np.float32) ** POWER


def train(training: Sequence[Page], rows: Sequence[Rows], trees: int = TREES) -> lightgbm.Booster:
    """Train a model on pages."""
    parts = np.concatenate([page.labels for page in training])
    data = lightgbm.Dataset(
        np.vstack(rows), label=parts >= 0.5, weight=np.concatenate([page.weights for page in training])
    )
    return lightgbm.train(SETTINGS, data, trees)


def probabilities(model: lightgbm.Booster, rows: Rows) -> Rows:
    """The probabilities of a page's blocks."""
    return cast(Rows, model.predict(rows)).astype(np.float32) if len(rows) else np.zeros(0, np.float32)


def train_both(blocks: Blocks, training: Sequence[Page]) -> tuple[lightgbm.Booster, lightgbm.Booster]:
    """Train both models: the second one on first probabilities of pages that their model has not seen."""
    rows: list[Rows] = []
    inner = [
        train(others, [page.rows for page in others])
        for part in range(INNER)
        for others in [[page for index, page in enumerate(training) if index % INNER != part]]
    ]
    for index, page in enumerate(training):
        rows.append(blocks.describe(page, probabilities(inner[index % INNER], page.rows)))
    return train(training, [page.rows for page in training]), train(training, rows)


def choose(page: Page, found: Rows) -> str:
    """The text with the greatest expected F1."""
    order = np.argsort(-found, kind="stable")
    words = np.maximum(page.words, 1)[order]
    likely = found[order] * words
    expected = 2 * np.cumsum(likely) / (np.cumsum(words) + likely.sum()) if len(order) else np.zeros(0)
    count = int(np.argmax(expected)) + 1 if len(order) else 0
    chosen = sorted(order[:count])
    return "\n".join(page.texts[index] for index in chosen)


def word_f1(gold: str, text: str) -> float:
    """As the authors of wcxb compute it."""
    wanted, found = Counter(re.findall(r"\w+", gold.lower())), Counter(re.findall(r"\w+", text.lower()))
    return 2 * sum((wanted & found).values()) / (wanted.total() + found.total()) if wanted or found else 1.0


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Runs of four tokens."""
    tokens = TOKEN.findall(text)
    return Counter(tuple(tokens[at : at + 4]) for at in range(max(1, len(tokens) - 3)) if tokens)


def report(all_pages: Sequence[Page], texts: dict[str, str]) -> Iterator[str]:
    """Lines that tell the figures of each set."""
    words: dict[str, list[float]] = defaultdict(list)
    precision: dict[str, list[float]] = defaultdict(list)
    recall: dict[str, list[float]] = defaultdict(list)
    for page in all_pages:
        wanted, found = shingles(page.gold), shingles(texts[page.name])
        hits = (wanted & found).total()
        for name in (page.kind, "wcxb" if page.kind.startswith("wcxb") else "others"):
            words[name].append(word_f1(page.gold, texts[page.name]))
            if found:
                precision[name].append(hits / found.total())
            if wanted:
                recall[name].append(hits / wanted.total())
    for name in sorted(words):
        p, r = statistics.mean(precision[name] or [0]), statistics.mean(recall[name] or [0])
        shingle = 2 * p * r / (p + r) if p + r else 0.0
        word = statistics.mean(words[name])
        yield f"{name:20} {len(words[name]):5} pages  word F1 {word:.4f}  shingle F1 {shingle:.4f}"


def encoded(model: lightgbm.Booster) -> bytes:
    """A model as `crates/text/src/model.rs` reads it."""
    trees = model.dump_model()["tree_info"]
    sizes, nodes = [], b""
    for tree in trees:
        made: list[tuple[int, int, int, float]] = []

        def add(node: dict[str, Any], made: list[tuple[int, int, int, float]] = made) -> int:
            at = len(made)
            made.append((0xFFFF, 0, 0, float(node.get("leaf_value", 0.0))))
            if "split_feature" in node:
                low = add(node["left_child"]) - at
                high = add(node["right_child"]) - at
                made[at] = (node["split_feature"], low, high, float(node["threshold"]))
            return at

        add(tree["tree_structure"])
        sizes.append(len(made))
        nodes += b"".join(struct.pack("<HHHHf", feature, low, high, 0, value) for feature, low, high, value in made)
    head = struct.pack("<II", model.num_feature(), len(sizes)) + struct.pack(f"<{len(sizes)}I", *sizes)
    return b"lycotre1" + head + nodes


def main() -> None:
    """Train, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_text", description=__doc__)
    parser.add_argument("--write", action="store_true", help="train on all pages, and write the models")
    arguments = parser.parse_args()
    blocks, found = Blocks(), pages()
    for page in found:
        page.rows = blocks.describe(page)
        label(page)
    print(
        f"{len(found)} pages, {sum(len(page.texts) for page in found):,} blocks, {len(blocks.names)} features",
        flush=True,
    )
    best = {
        page.name: "\n".join(text for text, part in zip(page.texts, page.labels, strict=True) if part >= 0.5)
        for page in found
    }
    print("what the best choice of blocks would reach:", *report(found, best), sep="\n", flush=True)
    texts: list[dict[str, str]] = [{}, {}]
    for fold in range(FOLDS):
        models = train_both(blocks, [page for page in found if page.fold != fold])
        for page in (page for page in found if page.fold == fold):
            first = probabilities(models[0], page.rows)
            texts[0][page.name] = choose(page, first)
            texts[1][page.name] = choose(page, probabilities(models[1], blocks.describe(page, first)))
        print(f"fold {fold + 1} of {FOLDS}", flush=True)
    for text, made in zip(("the first model alone", "both"), texts, strict=True):
        print(f"{text}:", *report(found, made), sep="\n", flush=True)
    if arguments.write:
        MODELS.mkdir(exist_ok=True)
        for name, model in zip(("first", "second"), train_both(blocks, found), strict=True):
            (MODELS / f"{name}.bin").write_bytes(encoded(model))


if __name__ == "__main__":
    main()
