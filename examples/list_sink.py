"""A sink of one's own in twelve lines: status and URL of pages, a line each. After a crash some come twice."""

from __future__ import annotations

import os
from pathlib import Path

from lycosa import Outcomes, Sink


class ListSink(Sink):
    """``lycosa.crawl(..., output=ListSink("list://pages.txt"))``."""

    def path(self) -> Path:
        return Path(self.url.removeprefix("list://"))

    def write(self, outcomes: Outcomes, position: int) -> None:
        with self.path().open("ab") as file:
            file.writelines(b"%d %s\n" % (page.status or 0, page.url.encode()) for page in outcomes)
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        self.path().unlink(missing_ok=True)
        super().remove()
