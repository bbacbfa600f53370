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
