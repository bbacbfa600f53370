"""A sink of one's own: pages in SQLite. Rows that come twice after a crash replace themselves."""

from __future__ import annotations

import sqlite3

from lycosa import Outcomes, Sink


class SqliteSink(Sink):
    """``lycosa.crawl(..., output=SqliteSink("pages.db"))``."""

    def __init__(self, path: str) -> None:
        super().__init__(f"sqlite:{path}")
        self.pages = sqlite3.connect(path, check_same_thread=False)
        self.pages.execute("CREATE TABLE IF NOT EXISTS pages (url PRIMARY KEY, status, title)")

    def write(self, outcomes: Outcomes, position: int) -> None:
        rows = [(outcome.url, outcome.status, outcome.title) for outcome in outcomes]
        self.pages.executemany("REPLACE INTO pages VALUES (?, ?, ?)", rows)

    def commit(self, position: int) -> None:
        self.pages.commit()
        super().commit(position)
