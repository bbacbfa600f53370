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
import scipy.optimize
import scipy.sparse
from numpy.typing import NDArray

CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[2] / "shared" / "corpora")) / "text"
MODELS = Path(__file__).parents[1] / "crates" / "text" / "models"

#: Folds of pages, by domain.
FOLDS = 5

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

#: Kinds of pages, in the order of `crates/text/src/kind.rs`; how strongly weights are held at 0.
KINDS = ("article", "forum", "product", "collection", "listing", "documentation", "service")
DOUBT_OF_KIND = 1.0

#: Where words stand: in classes, in the text, in the heading before it.
SOURCES = 3

#: Domains that a word has to be of; of how many its share is taken to be the usual one.
LEAST, DOUBT = 4, 4.0

Rows = NDArray[np.float32]
EMPTY = np.zeros(0, np.int64)


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
    domain: str = ""
    url: str = ""
    of_kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # words that tell of it
    tokens: list[NDArray[np.int64]] = field(default_factory=list)  # block << 32 | hash, by source
    labels: Rows = field(default_factory=lambda: np.zeros(0, np.float32))
    weights: Rows = field(default_factory=lambda: np.zeros(0, np.float32))


def domain_of(row: dict[str, Any]) -> str:
    """The domain of a page; its own name if it is not known."""
    host = urlsplit(row.get("url") or "").hostname or row["id"]
    return ".".join(host.split(".")[-2:])


def fold_of(domain: str) -> int:
    """The fold of a domain."""
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
        domain = domain_of(row)
        found.append(Page(row["html"], row["set"], fold_of(domain), html, row["text"], domain, row.get("url") or ""))
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

    def _send(self, *frames: bytes) -> IO[bytes]:
        """Send frames; returns where the answer comes."""
        into = cast(IO[bytes], self._process.stdin)
        into.write(b"".join(struct.pack("<I", len(frame)) + frame for frame in frames))
        into.flush()
        return cast(IO[bytes], self._process.stdout)

    def use(self, tables: bytes) -> None:
        """Describe pages by these tables of words from now on."""
        self._send(b"T" + tables)

    def words(self, page: Page) -> None:
        """Read the words that may tell something of a page's blocks."""
        out, found = self._send(b"W" + page.html), list[list[NDArray[np.int64]]]()
        for index in range(len(page.texts)):
            of_block = []
            for _ in range(SOURCES):
                count = int(struct.unpack("<I", out.read(4))[0])
                hashes = np.frombuffer(out.read(4 * count), "<u4").astype(np.int64)
                of_block.append(hashes | index << 32)
            found.append(of_block)
        page.tokens = [np.concatenate([one[source] for one in found] or [EMPTY]) for source in range(SOURCES)]

    def words_of_kind(self, page: Page) -> None:
        """Read the words that may tell of a page's kind."""
        out = self._send(b"U" + page.url.encode(), b"K" + page.html)
        count = int(struct.unpack("<I", out.read(4))[0])
        page.of_kind = np.frombuffer(out.read(4 * count), "<u4").astype(np.int64)

    def describe(self, page: Page, kinds: Rows, first: Rows | None = None) -> Rows:
        """The numbers of a page's blocks; with first probabilities those of the context behind them."""
        given = b"" if first is None else first.astype("<f4").tobytes()
        out = self._send(b"D" + page.html, kinds.astype("<f4").tobytes(), given)

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


class Words:
    """How often blocks with a word are of the main text, by fold: of each domain at most once."""

    def __init__(self, found: Sequence[Page]) -> None:
        """Count."""
        domains = {page.domain: number for number, page in enumerate(found)}
        fold_of_domain = np.zeros(len(domains) + len(found), np.int64)
        for page in found:
            fold_of_domain[domains[page.domain]] = page.fold
        self.hashes, self._counts = [], []
        for source in range(SOURCES):
            pairs, good, weight = [], [], []
            for page in found:
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
        encoded = b"lycotab1"
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
        per_domain = Counter(page.domain for page in some)
        weights = np.array([per_domain[page.domain] ** -0.5 for page in some])
        wanted = np.eye(len(KINDS))[known]

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            values = flat.reshape(-1, len(KINDS))
            sums = matrix @ values
            sums -= sums.max(1, keepdims=True)
            sums -= np.log(np.exp(sums).sum(1, keepdims=True))
            error = (np.exp(sums) - wanted) * weights[:, None]
            gradient = matrix.T @ error + DOUBT_OF_KIND * values
            return float(-(weights * (sums * wanted).sum(1)).sum() + DOUBT_OF_KIND / 2 * (flat**2).sum()), gradient.ravel()

        made = scipy.optimize.minimize(
            loss, np.zeros(len(self.words) * len(KINDS)), jac=True, method="L-BFGS-B", options={"maxiter": 60}
        )
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


def kind_of(page: Page) -> int | None:
    """The number of a page's kind, if the corpus tells it."""
    name = {"scrapinghub": "article", "readability": "article"}.get(page.kind, page.kind.rpartition("-")[2])
    return KINDS.index(name) if name in KINDS else None


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


@dataclass(slots=True)
class Learnt:
    """What is learnt of the pages of some folds."""

    tables: bytes
    kinds: NDArray[np.int8]
    first: lightgbm.Booster | None = None
    second: lightgbm.Booster | None = None


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
        other folds, and its first probabilities by a model of other folds.
        """
        training = [page for page in self.found if page.fold in folds]
        without = {fold: self.learn_words(folds - {fold}) for fold in folds}
        rows = {page.name: self.rows(page, without[page.fold]) for page in training}
        second = dict[str, Rows]()
        for fold in folds:
            others = [page for page in training if page.fold != fold]
            model = train(others, [rows[page.name] for page in others])
            for page in (page for page in training if page.fold == fold):
                second[page.name] = self.rows(page, without[fold], probabilities(model, rows[page.name]))
        learnt = self.learn_words(folds)
        learnt.first = train(training, [rows[page.name] for page in training])
        learnt.second = train(training, [second[page.name] for page in training])
        return learnt

    def judge(self, page: Page, learnt: Learnt) -> tuple[Rows, Rows]:
        """The probabilities of a page's blocks: those of the first model, and of both."""
        assert learnt.first is not None and learnt.second is not None
        first = probabilities(learnt.first, self.rows(page, learnt))
        return first, probabilities(learnt.second, self.rows(page, learnt, first))


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
        blocks.describe(page, np.zeros(len(KINDS), np.float32))
        label(page)
        blocks.words(page)
        blocks.words_of_kind(page)
    training = Training(blocks, found)
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
    right, all_kinds = Counter[str](), Counter[str]()
    for fold in range(FOLDS):
        learnt = training.learn(set(range(FOLDS)) - {fold})
        for page in (page for page in found if page.fold == fold):
            for made, found_of in zip(texts, training.judge(page, learnt), strict=True):
                made[page.name] = choose(page, found_of)
            if page.kind.startswith("wcxb"):
                all_kinds[page.kind] += 1
                guess = int(training.kinds.probabilities(page, learnt.kinds).argmax())
                right[page.kind] += guess == kind_of(page)
        print(f"fold {fold + 1} of {FOLDS}", flush=True)
    print("kinds:", *(f"{kind} {right[kind]} of {count}" for kind, count in all_kinds.items()), sep="\n  ")
    for text, made in zip(("the first model alone", "both"), texts, strict=True):
        print(f"{text}:", *report(found, made), sep="\n", flush=True)
    if arguments.write:
        MODELS.mkdir(exist_ok=True)
        learnt = training.learn(set(range(FOLDS)))
        assert learnt.first is not None and learnt.second is not None
        (MODELS / "words.bin").write_bytes(learnt.tables)
        (MODELS / "kinds.bin").write_bytes(training.kinds.encoded(learnt.kinds))
        (MODELS / "first.bin").write_bytes(encoded(learnt.first))
        (MODELS / "second.bin").write_bytes(encoded(learnt.second))


if __name__ == "__main__":
    main()
