"""Markdown that was rendered by others is recovered: code, tables, headings, formulas."""

from __future__ import annotations

import re
import statistics

import lycosa
import pytest

from tests.interop.markdown_pages import (
    code_similarity,
    heading_accuracy,
    language_accuracy,
    pages,
    parts_of,
    table_similarity,
)


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """By page: the Markdown that it was made of, and what is recovered."""
    made = pages(tmp_path_factory.mktemp("sphinx"))
    assert len(made) >= 60
    return {name: (text, lycosa.extract(html).markdown(links=True)) for name, (html, text) in made.items()}


@pytest.mark.parametrize(
    ("score", "least"),
    [(code_similarity, 0.8), (table_similarity, 0.6), (heading_accuracy, 0.95)],
    ids=["code edit similarity", "table TEDS", "heading levels"],
)
def test_structure_survives(recovered: dict[str, tuple[str, str]], score: object, least: float) -> None:
    assert callable(score)
    scores = {name: score(parts_of(text), parts_of(found)) for name, (text, found) in recovered.items()}
    worst = sorted(scores.items(), key=lambda item: item[1])[:5]
    assert statistics.mean(scores.values()) >= least, worst


def test_code_keeps_its_language(recovered: dict[str, tuple[str, str]]) -> None:
    # Of generators whose pages state it: the HTML of the others does not have it.
    for generator in ("markdown-it", "mistune", "sphinx"):
        of_it = {name: pair for name, pair in recovered.items() if name.startswith(f"{generator}/")}
        scores = {name: language_accuracy(parts_of(text), parts_of(found)) for name, (text, found) in of_it.items()}
        assert scores
        assert min(scores.values()) >= 0.95, scores


def test_formulas_keep_their_dollars(recovered: dict[str, tuple[str, str]]) -> None:
    # Of generators that mark formulas; the others leave them as they are written.
    for name in ("markdown-it", "material", "sphinx", "mistune"):
        _, found = recovered[f"{name}/probability"]
        assert re.search(r"\$[^$]*e\^\{-kn/m\}[^$]*\$", found), name


def test_what_is_around_the_text_is_not_in_it(recovered: dict[str, tuple[str, str]]) -> None:
    for name, (_, found) in recovered.items():
        assert "Chapter 7" not in found, name
        assert "All rights reserved" not in found, name
