"""Messages for programs: an object of JSON a line."""

from __future__ import annotations

import json
import logging

import pytest
from lycosa.cli.told import JSON, told


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_message_has_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("lycosa")
    with told(form=JSON, job="crawl-a"):
        logger.warning("request %s\nhangs", "x", extra={"host": "a.example", "url": "http://a.example/"})
        try:
            raise ValueError("of mine")
        except ValueError:
            logger.exception("it failed")
    first, second = lines(capsys)
    assert str(first.pop("time")).endswith("+00:00")
    assert first == {
        "level": "warning",
        "logger": "lycosa",
        "message": "request x\nhangs",
        "job": "crawl-a",
        "host": "a.example",
        "url": "http://a.example/",
    }
    assert "ValueError: of mine" in str(second["exception"])


def test_people_get_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with told(quiet=True):
        logging.getLogger("lycosa").info("left out")
        logging.getLogger("lycosa").warning("told")
    assert capsys.readouterr().err == "lycosa: told\n"
