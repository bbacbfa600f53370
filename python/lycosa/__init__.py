"""Lycosa: a web crawler. Names never wait, nothing is lost, no site is hurt.

>>> import lycosa
>>> me = "mybot/1.0 (me@example.org)"
>>> for page in lycosa.crawl("https://example.com/", user_agent=me, max_pages=10):  # doctest: +SKIP
...     print(page.status, page.url, page.title)
"""

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
