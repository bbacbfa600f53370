"""Pages that are no content are told apart from those that are."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import lycosa
import pytest

from tests.unit.text.refusal_pages import TOLD, refused_pages

CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[4] / "shared" / "corpora"))

#: Kinds whose pages become failures; another one, of pages that need scripts, has links to follow.
FAILURES = set(TOLD.values())


def test_nearly_all_are_told() -> None:
    pages = list(refused_pages())
    assert len(pages) >= 200
    assert len(TOLD) >= 15
    missed = Counter(page.shape for page in pages if lycosa.extract(page.html).refusal not in FAILURES)
    assert missed.total() <= 0.05 * len(pages), missed


def test_their_kind_is_told() -> None:
    pages = list(refused_pages())
    wrong = Counter(page.shape for page in pages if lycosa.extract(page.html).refusal != page.kind)
    assert wrong.total() <= 0.10 * len(pages), wrong


@pytest.mark.timeout(600)
def test_real_pages_are_content() -> None:
    folder = CORPORA / "text"
    assert folder.is_dir(), f"{folder} is missing: set LYCOSA_CORPORA to the corpora"
    pages = sorted(folder.glob("*/*.html.gz"))
    told = {}
    for path in pages:
        refusal = lycosa.extract(gzip.decompress(path.read_bytes())).refusal
        if refusal in FAILURES:
            told[path.name] = refusal
    assert len(told) <= len(pages) // 1_000, told
