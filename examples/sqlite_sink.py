"""A sink of one's own: pages in SQLite. Rows that come twice after a crash replace themselves."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator

from lycosa import Outcomes, Sink

#: Two requests are the same where URL, method and body are.
TABLE = "pages (url, method, sent, status, title, PRIMARY KEY (url, method, sent))"


@contextlib.contextmanager
def disk() -> Iterator[None]:
    """Tells a full disk as Lycosa waits for it."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(errno.ENOSPC, str(error)) if error.sqlite_errorcode == sqlite3.SQLITE_FULL else error from None


class SqliteSink(Sink):
    """``lycosa.crawl(..., output=SqliteSink("pages.db"))``."""

    def __init__(self, path: str) -> None:
        super().__init__(f"pages-db://{path}")
        self.pages = sqlite3.connect(path, check_same_thread=False)
        self.pages.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")

    @disk()
    def write(self, outcomes: Outcomes, position: int) -> None:
        rows = [(page.url, page.request.method, page.request.body, page.status, page.title) for page in outcomes]
        self.pages.executemany("REPLACE INTO pages VALUES (?, ?, ?, ?, ?)", rows)

    @disk()
    def commit(self, position: int) -> None:
        self.pages.commit()
        super().commit(position)

    def remove(self) -> None:
        self.pages.executescript("DELETE FROM pages")  # at once: not with the next commit
        super().remove()
