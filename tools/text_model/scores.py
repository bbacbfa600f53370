"""How good texts are."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tools.text_model.corpus import Page
from tools.text_model.gold import TOKEN


def word_f1(gold: str, text: str) -> float:
    """As the authors of wcxb compute it."""
    wanted, found = Counter(re.findall(r"\w+", gold.lower())), Counter(re.findall(r"\w+", text.lower()))
    return 2 * sum((wanted & found).values()) / (wanted.total() + found.total()) if wanted or found else 1.0


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Runs of four tokens."""
    tokens = TOKEN.findall(text)
    return Counter(tuple(tokens[at : at + 4]) for at in range(max(1, len(tokens) - 3)) if tokens)


def shingle_f1(pairs: Sequence[tuple[str, str]]) -> float:
    """F1 of mean precision and mean recall of runs of four tokens. pairs: gold and found texts."""
    precision, recall = [], []
    for gold, text in pairs:
        wanted, found = shingles(gold), shingles(text)
        hits = (wanted & found).total()
        if found:
            precision.append(hits / found.total())
        if wanted:
            recall.append(hits / wanted.total())
    p, r = statistics.mean(precision or [0]), statistics.mean(recall or [0])
    return 2 * p * r / (p + r) if p + r else 0.0


def report(all_pages: Sequence[Page], texts: dict[str, str]) -> Iterator[str]:
    """Lines that tell the figures of each set."""
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for page in all_pages:
        for name in (page.kind, "wcxb" if page.kind.startswith("wcxb") else "others"):
            pairs[name].append((page.gold, texts[page.name]))
    for name, some in sorted(pairs.items()):
        word = statistics.mean(word_f1(gold, text) for gold, text in some)
        yield f"{name:20} {len(some):5} pages  word F1 {word:.4f}  shingle F1 {shingle_f1(some):.4f}"
