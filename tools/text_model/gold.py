"""How much of each block is in the gold text of its page."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tools.text_model.corpus import Page

#: Words that are alike in this many in a row are of the page's text.
RUN = 3
#: Words of a block that is looked for in the gold text before shorter ones.
LONG = 12
#: The weight of a block: its part of the page's text, to this power, so that pages count alike and long blocks more.
POWER = 0.6
TOKEN = re.compile(r"[㐀-鿿豈-﫿぀-ヿ]|[^\W㐀-鿿豈-﫿぀-ヿ]+")


def tokens_of(text: str) -> list[str]:
    """The tokens of a text, in lower case."""
    return [token.lower() for token in TOKEN.findall(text)]


def runs_of(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All runs of so many words."""
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


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
