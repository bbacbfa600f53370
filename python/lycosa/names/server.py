"""A DNS server of one tier: its life cycle and its state."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lycosa import _core
from lycosa.errors import LycosaError, SettingError
from lycosa.names.histograms import Histogram
from lycosa.names.server_settings import ServerSettings, check_no_loop

#: Settings that only a restart can change.
RESTART = (
    "tier", "listen", "workers", "cache", "capacity", "packet_memory", "tcp_connections", "cookies",
    "http", "http_public", "query_log",
)  # fmt: skip


class Server:
    """A server that answers as soon as it is created, on threads of its own.

    All methods but ``reload``, ``drain`` and ``close``, which belong to one thread, may be called from any thread.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Listen; raises SettingError for a loop, OSError for what the system refuses, StorageError for a cache."""
        check_no_loop(settings.listen, settings)
        self._core = _core.DnsServer(_of_core(settings))
        self._settings, self._secrets = settings, _fingerprint(settings.cookie_secret_file)
        self._begun = time.monotonic()
        self._drains = False
        self.reloads = 0
        self.reloads_refused = 0

    @property
    def settings(self) -> ServerSettings:
        """The current settings."""
        return self._settings

    @property
    def listening(self) -> list[str]:
        """Its addresses, with the ports that the system chose."""
        return self._core.listening

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is in memory although a file is configured; `None` if it is not."""
        return self._core.fallen_back

    @property
    def draining(self) -> bool:
        """Whether it takes no new questions."""
        return self._drains

    @property
    def seconds(self) -> float:
        """Seconds since it listens."""
        return time.monotonic() - self._begun

    def statistics(self) -> dict[str, int]:
        """Return counters since the start, and gauges, by name (``DnsServer.statistics``)."""
        return self._core.statistics()

    @property
    def query_log_trouble(self) -> str | None:
        """Why the query log cannot be written now: the disk is full, or the reader of a pipe is gone."""
        return self._core.query_log_trouble

    def answer_times(self) -> dict[str, Histogram]:
        """Return the times from the receipt of a question to the sending of its answer, by source."""
        return {source: Histogram(*times) for source, times in self._core.answer_times().items()}

    def upstreams(self) -> list[dict[str, Any]]:
        """Return the state of each upstream (``Resolver.upstreams``), with ``round_trips`` as a histogram."""
        return [{**each, "round_trips": Histogram(*each["round_trips"])} for each in self._core.upstreams()]

    def trouble(self) -> str | None:
        """Return why clients should ask another server now, `None` if the server is healthy."""
        if self._drains:
            return "it is ending and takes no new questions"
        figures = self.statistics()
        if figures["loop"]:
            return "a loop of tiers: its own questions come back to it; see upstreams here and in the servers it asks"
        if figures["silent"]:
            return f"no upstream answers: {', '.join(each['server'] for each in self.upstreams())}"
        return None

    def reload(self, load: Callable[[], ServerSettings]) -> list[str]:
        """Apply the settings that ``load`` returns; returns the names of those that changed (or their secrets file).

        Raises what ``load`` raises, and SettingError for a setting that needs a restart; then nothing changes.
        """
        try:
            settings = load()
            self._check_same(settings)
            check_no_loop(self.listening, settings)
            self._core.reload(_of_core(settings))
        except (LycosaError, OSError):
            self.reloads_refused += 1
            raise
        before, self._settings = self._settings, settings
        known, self._secrets = self._secrets, _fingerprint(settings.cookie_secret_file)
        self.reloads += 1
        changed = {name for name in ServerSettings.model_fields if getattr(before, name) != getattr(settings, name)}
        if known != self._secrets:
            changed.add("cookie_secret_file")
        return [name for name in ServerSettings.model_fields if name in changed]

    def drain(self, within: float) -> bool:
        """Take no new questions; returns whether all pending ones were answered within some seconds."""
        self._drains = True
        return self._core.drain(within)

    def close(self) -> None:
        """End; pending questions are dropped, answers stay in the cache's file."""
        self._core.close()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _check_same(self, settings: ServerSettings) -> None:
        """Raise SettingError if a setting that needs a restart changed."""
        for name in RESTART:
            now, then = getattr(self._settings, name), getattr(settings, name)
            if now != then:
                text = f"{name}: cannot change from {_shown(now)} to {_shown(then)} at a reload; restart the server"
                raise SettingError(name, _shown(then), _shown(now), text)


def _of_core(settings: ServerSettings) -> dict[str, Any]:
    """Return the settings for the core."""
    given = settings.model_dump(exclude={"http", "http_public"})
    told = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return told | {"query_log_clients": settings.client_bits()}


def _fingerprint(path: Path | None) -> bytes | None:
    """Return a digest by which a change of a file is detected; `None` if it cannot be read."""
    try:
        return None if path is None else hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return None


def _shown(value: object) -> str:
    """Format a setting for a message."""
    return ", ".join(value) if isinstance(value, tuple) else "none" if value is None else str(value)
