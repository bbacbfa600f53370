"""Lycosa: a web crawler. Names never wait, nothing is lost, no site is hurt.

>>> import lycosa
>>> me = "mybot/1.0 (me@example.org)"
>>> for page in lycosa.crawl("https://example.com/", user_agent=me, max_pages=10):  # doctest: +SKIP
...     print(page.status, page.url, page.title)
"""

from typing import TYPE_CHECKING, Any

from lycosa._core import __version__
from lycosa.errors import (
    BadName,
    JobDamaged,
    JobInUse,
    JobVersionError,
    LycosaError,
    Rejected,
    SettingError,
    StorageError,
    StorageFull,
)
from lycosa.names import resolve, resolve_stream
from lycosa.records import Page, Pages

if TYPE_CHECKING:
    from lycosa.session import Crawl, crawl

__all__ = [
    "BadName",
    "Crawl",
    "JobDamaged",
    "JobInUse",
    "JobVersionError",
    "LycosaError",
    "Page",
    "Pages",
    "Rejected",
    "SettingError",
    "StorageError",
    "StorageFull",
    "__version__",
    "crawl",
    "resolve",
    "resolve_stream",
]


def __getattr__(name: str) -> Any:
    """Import what crawls when it is asked for (PEP 562): a program that resolves names starts without asyncio."""
    if name not in {"Crawl", "crawl"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lycosa import session

    return getattr(session, name)


def __dir__() -> list[str]:
    """Everything public, imported or not."""
    return sorted(__all__)
