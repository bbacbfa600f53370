"""How a crawl ended: the reason, and the exit status with its meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from lycosa.end import End, end_of
from lycosa.errors import StorageFull


def ended(failures: dict[str, int], *, answers: int = 5, waiting: int = 0, stopped: bool = False) -> End:
    """The end of a crawl with these failures."""
    failed = sum(failures.values())
    return end_of(
        {"waiting": waiting, "leased": 0, "failed": failed},
        failures,
        answers=answers,
        max_pages=5,
        stopped=stopped,
        suspended=[],
        error=None,
        directory=Path("d"),
    )


@pytest.mark.parametrize(
    ("failures", "answers", "told"),
    [
        ({}, 5, "exit status 0: all that was asked for has an answer"),
        (
            {"name-not-found": 20, "connect-timeout": 2, "body-too-large": 7},
            5,
            "exit status 3: 22 URLs failed without an answer (name-not-found: 20, connect-timeout: 2); "
            "--retry-failed opens them again",
        ),
        (
            {"tls-failed": 1},
            5,
            "exit status 3: 1 URL failed without an answer (tls-failed: 1); --retry-failed opens it again",
        ),
        # Opened again, and fetched.
        ({"connection-closed": 0}, 5, "exit status 0: all that was asked for has an answer"),
        ({"robots-disallowed": 3}, 5, "exit status 0: all that was asked for has an answer"),
        (
            {"body-too-large": 1},
            5,
            "exit status 0: no name, connection or TLS failed; 1 URL failed otherwise (body-too-large: 1)",
        ),
        ({"name-bad": 1}, 0, "exit status 4: nothing at all was fetched (name-bad: 1); --retry-failed tries again"),
        (
            {"address-refused": 1},
            0,
            "exit status 4: nothing at all was fetched (address-refused: 1); with the addresses in allow_addresses, "
            "--retry-failed tries again",
        ),
        ({"robots-disallowed": 1}, 0, "exit status 4: nothing at all was fetched (robots-disallowed: 1)"),
        ({}, 0, "exit status 4: nothing at all was fetched"),
    ],
)
def test_an_end_says_its_exit_status_and_what_it_means(failures: dict[str, int], answers: int, told: str) -> None:
    end = ended(failures, answers=answers)
    assert end.status_text == told
    assert told.startswith(f"exit status {end.status}: ")


def test_a_limit_has_a_status_and_who_stops_a_crawl_decides_it() -> None:
    limit = ended({"connect-timeout": 1}, waiting=3)
    assert (limit.reason, limit.status) == ("limit", 3)
    stopped = ended({"connect-timeout": 1}, waiting=3, stopped=True)
    assert (stopped.reason, stopped.status, stopped.status_text) == ("stopped", None, "")


def test_an_error_and_a_suspension_have_a_status() -> None:
    counts = {"waiting": 1, "leased": 0, "failed": 0}
    for error, suspended, status in ((StorageFull("full"), [], 1), (OSError("bad"), [], 1), (None, ["names"], 5)):
        end = end_of(
            counts, {}, answers=1, max_pages=None, stopped=False, suspended=suspended, error=error, directory=None
        )
        assert (end.status, end.status_text.startswith(f"exit status {status}: ")) == (status, True)
