"""Lycosa: a web crawler. Names never wait, nothing is lost, no site is hurt.

>>> import lycosa
>>> me = "mybot/1.0 (me@example.org)"
>>> for outcome in lycosa.crawl("https://example.com/", user_agent=me, max_pages=10):  # doctest: +SKIP
...     print(outcome.status, outcome.url, outcome.title)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lycosa._core import __version__
from lycosa.errors import (
    BadName,
    JobDamaged,
    JobInUse,
    JobVersionError,
    LycosaError,
    OutputAway,
    Rejected,
    SettingError,
    StageError,
    StorageError,
    StorageFull,
)
from lycosa.records import Outcome, Outcomes, Request, Requests, Response, Responses

if TYPE_CHECKING:
    from lycosa.fetch.second_chance import SecondChance
    from lycosa.http_cache import HttpCache
    from lycosa.limits import BandwidthLimit, RateLimit
    from lycosa.middleware import DefaultHeaders, ItemMiddleware, Middleware, Way
    from lycosa.names import resolve, resolve_stream
    from lycosa.parse.text import Extracted, extract
    from lycosa.session import Crawl, crawl
    from lycosa.signals import HostSlowed, JobPaused, JobResumed, PageFetched
    from lycosa.sink import Sink
    from lycosa.stages import Stages

__all__ = [
    "BadName",
    "BandwidthLimit",
    "Crawl",
    "DefaultHeaders",
    "Extracted",
    "HostSlowed",
    "HttpCache",
    "ItemMiddleware",
    "JobDamaged",
    "JobInUse",
    "JobPaused",
    "JobResumed",
    "JobVersionError",
    "LycosaError",
    "Middleware",
    "Outcome",
    "Outcomes",
    "OutputAway",
    "PageFetched",
    "RateLimit",
    "Rejected",
    "Request",
    "Requests",
    "Response",
    "Responses",
    "SecondChance",
    "SettingError",
    "Sink",
    "StageError",
    "Stages",
    "StorageError",
    "StorageFull",
    "Way",
    "__version__",
    "crawl",
    "extract",
    "resolve",
    "resolve_stream",
]


#: What is imported when it is asked for (PEP 562), and from where.
_LATER = {
    "BandwidthLimit": "limits",
    "Crawl": "session",
    "DefaultHeaders": "middleware",
    "Extracted": "parse.text",
    "HostSlowed": "signals",
    "HttpCache": "http_cache",
    "ItemMiddleware": "middleware",
    "JobPaused": "signals",
    "JobResumed": "signals",
    "Middleware": "middleware",
    "PageFetched": "signals",
    "RateLimit": "limits",
    "SecondChance": "fetch.second_chance",
    "Sink": "sink",
    "Stages": "stages",
    "Way": "middleware",
    "crawl": "session",
    "extract": "parse.text",
    "resolve": "names",
    "resolve_stream": "names",
}


def __getattr__(name: str) -> Any:
    """Import what crawls, or resolves names, when it is asked for."""
    if name == "names":
        return import_module("lycosa.names")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"lycosa.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    """Everything public, imported or not."""
    return sorted(__all__)
