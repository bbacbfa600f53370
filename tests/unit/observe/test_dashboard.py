"""The dashboard asks for metrics that there are."""

from __future__ import annotations

import json
import re

from lycosa.observe.metrics import FAMILIES

from tools import dashboard


def test_the_file_is_the_one_that_is_made() -> None:
    assert json.loads(dashboard.PLACE.read_text()) == dashboard.dashboard(), "python -m tools.dashboard"


def test_every_metric_is_told_by_crawls_and_shown() -> None:
    asked = set(re.findall(r"lycosa_crawl_(\w+)", dashboard.PLACE.read_text()))
    assert asked <= set(FAMILIES)
    labels = dict(re.findall(r"by \((\w+)\) \(\w*\(?lycosa_crawl_(\w+)", dashboard.PLACE.read_text()))
    assert all(FAMILIES[name].label == label for label, name in labels.items())
