"""Resuming a crawl: compares given settings with recorded ones; decides what may change and what may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.job import Job, is_fixed, is_section
from lycosa.words import by_count, counted

#: What to do about a difference that is not allowed.
WAY_OUT = "--fresh starts over, another --dir starts another crawl"

#: Settings with URLs that may have passwords and keys.
URLS = ("proxies.lists", "proxies.pages", "proxies.check")

#: Maximum number of seeds in a message.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that differs from the recorded one."""

    key: str
    old: Any
    new: Any

    def __str__(self) -> str:
        """Return ``key: old → new``."""
        old, new = (_without_secrets(value) if self.key in URLS else value for value in (self.old, self.new))
        return f"{self.key}: {_shown(old)} → {_shown(new)}"


def differences(recorded: Job, given: Job) -> list[str]:
    """Return the differences, one line each; raises SettingError for one that is not allowed.

    Settings marked as fixed in ``job.py`` may not change. Seeds may be added; removed seeds stay admitted,
    because URLs were found through them. If no recorded seed is left, it is another crawl.
    """
    changes = _changes(recorded.model_dump(mode="json"), given.model_dump(mode="json"))
    for change in changes:
        if is_fixed(change.key):
            raise SettingError(change.key, change.new, f"{_shown(change.old)} as recorded; {WAY_OUT}")
    before, now = _canonical(recorded), _canonical(given)
    if before and not before & now.keys():
        text = f"at least one of the recorded seeds ({_list(before)}), since this is another crawl; {WAY_OUT}"
        raise SettingError("seeds", ", ".join(given.seeds), text)
    lines = [str(change) for change in changes]
    if added := [seed for seed in now if seed not in before]:
        lines.append(f"seeds added: {_list(added)}")
    if gone := [seed for seed in before if seed not in now]:
        lines.append(f"seeds no longer listed, but still in the queue or fetched: {_list(gone)}")
    return lines


def reopened(opened: int, before: Mapping[str, int], after: Mapping[str, int], unknown: int) -> str:
    """Describe what ``--retry-failed`` opened again, or why it opened nothing.

    before, after: failed URLs by kind. unknown: selected URLs that are not known any more.
    """
    if not opened and not unknown:
        failed = f"failed are: {by_count(after)}" if any(after.values()) else "none has failed"
        named = "what robots.txt, the block list, a budget or a blocked port forbids has to be named"
        return f"no URL, since none failed with these kinds ({named}); {failed}"
    by_kind = by_count({kind: count - after[kind] for kind, count in before.items()})
    return f"{counted(opened, 'URL')} that had failed" + (f" ({by_kind})" if by_kind else "")


def _changes(old: dict[str, Any], new: dict[str, Any], section: str = "") -> list[Change]:
    """Return the settings that differ, without the seeds. A setting that is a table is one setting."""
    changes = []
    for name, value in new.items():
        before, key = old.get(name), f"{section}{name}"
        if not section and is_section(name):
            changes += _changes(before or {}, value, f"{key}.")
        elif value != before and key != "seeds":
            changes.append(Change(key, before, value))
    return changes


def _canonical(job: Job) -> dict[str, None]:
    """Return the seeds in canonical form, in their order; skips recorded ones that are not valid URLs any more."""
    seeds: dict[str, None] = {}
    for seed in job.seeds:
        try:
            seeds[_core.canonical_url(seed)] = None
        except SettingError:
            continue
    return seeds


def _shown(value: Any) -> str:
    """Format a value as in a job file."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return _list(value) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _without_secrets(urls: list[str] | None) -> list[str]:
    """Return URLs as they may be told."""
    from lycosa.proxies.web import shown  # only where they have changed

    return [shown(url) for url in urls or ()]


def _list(values: Any) -> str:
    """Return the first values, and how many more there are."""
    values = [str(value) for value in values]
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(values[:SHOWN]) + more
