"""Exceptions: bad settings, and failures of this machine. A failure of a site is an outcome, not an exception."""

from __future__ import annotations


def shown(value: object) -> str:
    """Return a value for a message: quoted, and cut after 200 characters."""
    text = str(value)
    return repr(text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)")


class LycosaError(Exception):
    """The base of all errors that Lycosa raises on purpose; its text is one line."""


class SettingError(LycosaError):
    """A setting, an argument or a seed that is not allowed."""

    def __init__(self, name: str, value: object, allowed: str, problem: str | None = None) -> None:
        """Store the setting, its value and what is allowed; ``problem`` replaces the whole message."""
        super().__init__(name, value, allowed, problem)
        self.name = name
        self.value = value
        self.allowed = allowed
        self.problem = problem

    def __str__(self) -> str:
        """One line."""
        line = self.problem or f"{self.name}: {shown(self.value)} is not allowed; allowed: {self.allowed}"
        return " ".join(line.split())


class BadName(LycosaError, ValueError):
    """A text that is not a valid host name."""

    def __init__(self, name: str, rule: str) -> None:
        """Store the text and the rule that it breaks."""
        super().__init__(name, rule)
        self.name = name
        self.rule = rule

    def __str__(self) -> str:
        """One line."""
        return f"{shown(self.name)}: {self.rule}"


class Rejected(LycosaError, ValueError):
    """Some entries of a batch were rejected; all others were accepted."""

    def __init__(self, entries: list[tuple[int, str]]) -> None:
        """Store the indexes of the rejected entries, each with the reason."""
        super().__init__(entries)
        self.entries = entries

    def __str__(self) -> str:
        """One line, with the first three."""
        first = "; ".join(f"entry {place}: {why}" for place, why in self.entries[:3])
        more = f"; and {len(self.entries) - 3} more" if len(self.entries) > 3 else ""
        return f"{len(self.entries)} entries were not taken, the others were: {first}{more}"


class StageError(LycosaError):
    """A custom stage or sink returned an invalid value; the crawl ends and can be resumed once that is fixed."""

    def __init__(self, stage: str, field: str, problem: str, expected: str | None = None) -> None:
        """Store the class, its method, the problem, and what is expected instead."""
        super().__init__(stage, field, problem, expected)
        self.stage = stage
        self.field = field
        self.problem = problem
        self.expected = expected

    def __str__(self) -> str:
        """One line."""
        line = f"{self.stage}.{self.field} {self.problem}" + (f"; expected: {self.expected}" if self.expected else "")
        return " ".join(line.split())


class StorageError(LycosaError):
    """The log or an output cannot be written or read."""


class JobInUse(StorageError):
    """Another process is crawling in this job directory."""


class JobVersionError(StorageError):
    """A job directory with another layout: export it with the version that wrote it, import it (docs/upgrade.md)."""


class JobDamaged(StorageError):
    """The job directory is damaged; its intact records can be exported."""


class OutputAway(StorageError):
    """An output does not answer now, such as a database that is restarted: it is tried again. For sinks to raise."""


class StorageFull(StorageError):
    """No disk space is left. Nothing was changed: the same call may succeed once there is space."""
