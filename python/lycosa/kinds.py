"""Selects failures: kinds by their stable names, or groups of them."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.words import nearest

#: What the site or the job forbids, and what is not a failure: fetched again only if named.
FORBIDDEN = frozenset(
    {
        "robots-disallowed",
        "usage-refused",
        "blocked",
        "content-type",
        "domain-budget",
        "dropped",
        "port-blocked",
        "cancelled",
    }
)


def groups() -> dict[str, list[str]]:
    """Return the kinds of failures by group, each kind in one group."""
    found: dict[str, list[str]] = {}
    for kind, about in _core.FAILURE_KINDS.items():
        found.setdefault(about["group"], []).append(kind)
    return found


def choices() -> dict[str, list[str]]:
    """Return the names for several kinds in ``--retry-failed``: the groups, and ``timeouts``, which spans them."""
    return {**groups(), "timeouts": [kind for kind in _core.FAILURE_KINDS if kind.endswith("timeout")]}


def retried(asked: bool | str | Iterable[str]) -> list[str]:
    """Return the kinds whose URLs are fetched again, in their order.

    asked: True for all kinds but `FORBIDDEN`, False for none; or kinds and groups, as a list or a
    comma-separated text. Raises SettingError for a name that is neither.
    """
    if isinstance(asked, bool):
        return [kind for kind in _core.FAILURE_KINDS if asked and kind not in FORBIDDEN]
    given = [name.strip() for name in asked.split(",")] if isinstance(asked, str) else list(asked)
    by_group, chosen = choices(), set[str]()
    for name in given:
        if name not in _core.FAILURE_KINDS and name not in by_group:
            known = [*by_group, *_core.FAILURE_KINDS]
            allowed = f"groups ({', '.join(by_group)}) or kinds of failures (docs/errors.md){nearest(name, known)}"
            raise SettingError("retry_failed", name, allowed)
        chosen.update(by_group.get(name, [name]))
    return [kind for kind in _core.FAILURE_KINDS if kind in chosen]
