"""Reads and judges a ledger file without the simulated Internet that wrote it.

>>> ledger = Ledger("crawl.ledger")  # doctest: +SKIP
>>> ledger.report()["robots"]["count"]  # doctest: +SKIP
0

The file format is documented in ``crates/simnet/src/ledger/codec.rs``. Times are seconds since the start.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.errors import SettingError

__all__ = ["Ledger"]


class Ledger:
    """The content of a ledger file; damaged or cut off parts are missing, and described by :attr:`damage`."""

    def __init__(self, path: Path | str) -> None:
        """Read the file; raises SettingError if it is not a ledger."""
        self._core = _core.Ledger(path)

    @property
    def header(self) -> dict[str, Any]:
        """The parameters of the simulation."""
        header: dict[str, Any] = json.loads(self._core.header())
        return header

    @property
    def damage(self) -> str | None:
        """One line: up to where it could be read, and how much is missing; `None` if it is complete."""
        damage = self._core.damage()
        return damage and damage[0]

    def report(self, since: float | None = None, until: float | None = None) -> dict[str, Any]:
        """Judge the whole run or a part of it; ``damage`` is `None` if nothing is missing."""
        damage = self._core.damage()
        report: dict[str, Any] = json.loads(self._core.report(*_window(since, until)))
        return report | {"damage": json.loads(damage[1]) if damage else None}

    def timeline(
        self,
        *,
        host: str | None = None,
        address: str | None = None,
        violations: bool = False,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """List requests of a host, of an address or all, or only violations, each with gaps and verdicts."""
        since, until = _window(since, until)
        made = self._core.query(
            host=host, address=address, violations=violations, since=since, until=until, limit=limit
        )
        listing: dict[str, Any] = json.loads(made)
        return listing

    def series(self, since: float | None = None, until: float | None = None) -> dict[str, Any]:
        """Count requests, errors, violations and DNS questions by time, for ``plot.draw``."""
        series: dict[str, Any] = json.loads(self._core.series(*_window(since, until)))
        return series


def _window(since: float | None, until: float | None) -> tuple[float | None, float | None]:
    """Check an interval of the ledger."""
    if since is not None and not since >= 0:
        raise SettingError("from", since, "0 seconds or more")
    if until is not None and not until > (since or 0):
        raise SettingError("to", until, f"more than {since or 0:g} seconds")
    return since, until
