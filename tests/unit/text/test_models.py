"""The models in the program are those that the script makes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tools.text_model import BAGS, LOOK, TREES
from tools.text_model.source import source

MODELS = Path(__file__).parents[3] / "crates" / "text" / "models"


@pytest.mark.parametrize(("stage", "name"), [(0, "first"), (1, "second")])
def test_a_model_has_the_trees_of_the_script(stage: int, name: str) -> None:
    # The benchmark joins the quality of what the script makes with the cost of what the program has.
    data = (MODELS / f"{name}.bin").read_bytes()
    _, trees, look = struct.unpack_from("<III", data, 8)
    assert (trees, look) == (BAGS[stage] * TREES, BAGS[stage] * LOOK), "python -m tools.text_model --write"


def test_the_models_are_made_of_this_version() -> None:
    assert (MODELS / "source.txt").read_text().strip() == source(), "python -m tools.text_model --write"
