"""Outcomes for tests of pages."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lycosa import _core
from lycosa.job import make_job
from lycosa.records import Outcome, Request, Requests, Responses


def page(url: str, body: bytes) -> Outcome:
    """The outcome of a page."""
    response = Request(url).respond(200, headers=[("Content-Type", "text/plain")], body=body)
    (outcome,) = _core.Parser(make_job({"seeds": [url]})).parse(Responses([response]))
    return outcome


def taken_back(outcome: Outcome) -> Outcome:
    """An outcome that takes another one back: as the log gives it for a URL that is opened again."""
    with tempfile.TemporaryDirectory() as folder:
        log = _core.Log(Path(folder) / "log", 1 << 20)
        log.append(_core.Outcomes([outcome]))
        log.sync()
        (taken,) = log.ended(Requests([Request(outcome.url)]))
        return taken
