"""What failed is fetched again with ``--retry-failed``, and so is a seed that is given again."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import lycosa
import pytest

#: Pages of the site beside its first one; every second one of them fails while it is broken.
PAGES = 20

#: A crawl that is fast and gives up at once, makes snapshots whenever it may, and keeps little of its log.
SETTINGS: dict[str, Any] = {
    "speed": 500,
    "user_agent": "test (+mailto:me@example.org)",
    "allow_addresses": ["127.0.0.0/8"],
    "politeness": {"host_interval": 0, "address_interval": 0, "retries": 0, "retry_delay": 0},
    "frontier": {"patience": 0, "snapshot_bytes": 1 << 20, "snapshot_interval": 0},
    "store": {"segment_bytes": 1 << 20},
}


class Site:
    """A site on loopback; what it is asked for is counted."""

    def __init__(self) -> None:
        """It serves at once."""
        self.asked: Counter[str] = Counter()
        self.broken, self.forbidden, self.filler = True, True, 0
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked[self.path] += 1
                if self.path == "/robots.txt":
                    body = b"User-agent: *\nDisallow: /forbidden\n" if site.forbidden else b""
                elif self.path == "/":
                    body = b"<a href=/forbidden>f</a><a href=/moved>m</a>"
                    body += b"".join(b"<a href=/%d>n</a>" % number for number in range(PAGES))
                elif self.path == "/moved":
                    self.send_response(301)
                    self.send_header("Location", "/new")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                elif site.broken and self.path[1:].isdigit() and int(self.path[1:]) % 2:
                    self.close_connection = True
                    return
                else:
                    body = b"x" * site.filler
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is told."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """It serves no more."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    """A site that is broken."""
    site = Site()
    yield site
    site.close()


def run(*seeds: str, directory: Path, **given: Any) -> dict[str, Any]:
    """Crawl to the end and give the report; each URL is in one state, and the summary counts as many."""
    crawl = lycosa.crawl(*seeds, directory=directory, **given)
    list(crawl)
    report = crawl.report()
    counts = report["frontier"]
    states = [counts[state] for state in ("waiting", "leased", "done", "failed", "refused")]
    assert sum(states) == counts["known"], counts
    assert report["pages"] + report["redirects"] == counts["done"]
    assert counts["pages"] == report["pages"] == sum(report["statuses"].values()) - report["redirects"]
    assert sum(report["failures"].values()) == counts["failed"] + counts["refused"]
    return report


def test_what_failed_is_fetched_again_and_the_rest_is_not(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(f"{site.url}/", directory=tmp_path, **SETTINGS)
    assert first["failures"] == {"connection-closed": PAGES // 2, "robots-disallowed": 1}
    site.broken = False
    assert run(directory=tmp_path)["session"]["pages"] == 0, "nobody asked for it"
    site.asked.clear()
    caplog.set_level(logging.INFO, "lycosa")
    again = run(directory=tmp_path, retry_failed=True)
    assert f"opened again: {PAGES // 2} URLs that had failed (connection-closed: {PAGES // 2})" in caplog.messages
    assert {path for path in site.asked if path != "/robots.txt"} == {f"/{n}" for n in range(1, PAGES, 2)}
    assert set(site.asked.values()) == {1}
    assert (again["pages"], again["reopened"]) == (first["pages"] + PAGES // 2, PAGES // 2)
    assert again["failures"] == {"connection-closed": 0, "robots-disallowed": 1}
    site.asked.clear()
    run(directory=tmp_path, retry_failed=True)
    assert not site.asked, "what has ended well is not opened again"
    told = (
        "opened again: no URL, since none failed with these kinds (what robots.txt, the block list, a budget or a "
        "blocked port forbids has to be named); "
        "failed are: robots-disallowed: 1"
    )
    assert told in caplog.messages


def test_kinds_are_chosen_and_what_was_forbidden_may_be_among_them(site: Site, tmp_path: Path) -> None:
    run(f"{site.url}/", directory=tmp_path, **SETTINGS)
    site.broken = site.forbidden = False
    site.asked.clear()
    report = run(directory=tmp_path, retry_failed=["names", "timeout"])
    assert (report["reopened"], dict(site.asked)) == (0, {})
    # The rules that are known count on for their time: what they forbid is refused again.
    refused = run(directory=tmp_path, retry_failed="robots-disallowed")
    assert (refused["reopened"], refused["failures"]["robots-disallowed"]) == (1, 1)
    report = run(directory=tmp_path, retry_failed="robots-disallowed", politeness={"robots": False})
    assert report["failures"] == {"connection-closed": PAGES // 2, "robots-disallowed": 0}
    assert site.asked == {"/forbidden": 1}


def test_what_failed_is_known_when_its_log_is_gone(site: Site, tmp_path: Path) -> None:
    # Each round's pages fill segments, so that snapshots come and the log's beginning goes.
    run(f"{site.url}/", directory=tmp_path, **SETTINGS)
    site.filler = 400_000
    for round_ in range(4):
        more = [f"{site.url}/more/{round_}/{n}" for n in range(8)]
        run(*more, directory=tmp_path, output=[])
    assert not (tmp_path / "log" / f"{0:020}.log").exists(), "the log's beginning is gone"
    site.broken, site.filler = False, 0
    site.asked.clear()
    report = run(directory=tmp_path, retry_failed="connections")
    assert (report["reopened"], report["failures"]["connection-closed"]) == (PAGES // 2, 0)
    assert sum(site.asked[f"/{n}"] for n in range(PAGES)) == PAGES // 2


def test_a_directory_without_a_list_is_served_from_its_log_and_told_what_is_missing(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site.filler = 200_000
    run(f"{site.url}/", directory=tmp_path, **SETTINGS, output=[])
    for round_ in range(2):
        run(*[f"{site.url}/more/{round_}/{n}" for n in range(16)], directory=tmp_path, output=[])
    assert list((tmp_path / "snapshots").glob("*.snapshot"))
    assert not (tmp_path / "log" / f"{0:020}.log").exists()
    lists = list((tmp_path / "failed").iterdir())
    assert lists
    for path in lists:
        path.unlink()
    site.broken = False
    report = run(directory=tmp_path, retry_failed=True)
    lost = PAGES // 2 - report["reopened"]
    told = [message for message in caplog.messages if message.startswith("not opened again:")]
    assert lost > 0
    unknown = "which they are is not known, since the log's beginning is gone"
    assert told == [f"not opened again: {lost} URLs that had failed; {unknown}"]


def test_a_seed_given_again_is_fetched_again_whatever_it_was(site: Site, tmp_path: Path) -> None:
    run(f"{site.url}/", directory=tmp_path, **SETTINGS)
    site.broken = False
    site.asked.clear()
    given = [f"{site.url}/{path}" for path in ("", "1", "2", "moved")]
    report = run(*given, directory=tmp_path)
    assert site.asked == {"/": 1, "/1": 1, "/2": 1, "/moved": 1}
    assert (report["reopened"], report["failures"]["connection-closed"]) == (4, PAGES // 2 - 1)
    site.asked.clear()
    assert run(directory=tmp_path)["reopened"] == 4
    assert not site.asked, "recorded seeds are not given again"


def test_a_seed_that_waits_is_fetched_once(site: Site, tmp_path: Path) -> None:
    run(f"{site.url}/", directory=tmp_path, **SETTINGS, max_pages=1)
    report = run(*[f"{site.url}/{path}" for path in range(PAGES)], directory=tmp_path, max_pages=None)
    assert report["reopened"] == 0
    assert [site.asked[f"/{n}"] for n in range(PAGES)] == [1] * PAGES


#: Kills a crawl when it opens URLs again: before that is recorded, after that, or with the second half to come.
CHILD = """
import os, signal, sys
from lycosa import cli, running

moment, running.REOPENED, opened = sys.argv.pop(1), 5, 0
append = running.Running._reopen

def reopen(self, pages):
    global opened
    if moment == "before" and opened:
        os.kill(os.getpid(), signal.SIGKILL)
    count = append(self, pages)
    self.stages.log.sync()
    opened += 1
    if moment == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return count

running.Running._reopen = reopen
sys.exit(cli.main())
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crawl_killed_while_it_opens_loses_nothing(site: Site, tmp_path: Path, moment: str) -> None:
    run(f"{site.url}/", directory=tmp_path, **SETTINGS)
    site.broken = False
    site.asked.clear()
    command = [sys.executable, "-c", CHILD, moment, "crawl", "--dir", str(tmp_path), "--retry-failed", "--quiet"]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    assert not site.asked, "nothing is sent before all is recorded"
    # What was recorded waits; the rest has failed still.
    resumed = run(directory=tmp_path)
    assert (resumed["reopened"], resumed["session"]["pages"]) == (5, 5)
    report = run(directory=tmp_path, retry_failed=True)
    assert (report["reopened"], report["failures"]["connection-closed"]) == (PAGES // 2, 0)
    assert [site.asked[f"/{n}"] for n in range(1, PAGES, 2)] == [1] * (PAGES // 2)


def test_why_tells_who_opened_it_again(site: Site, tmp_path: Path) -> None:
    run(f"{site.url}/", directory=tmp_path, **SETTINGS)
    site.broken = False
    run(f"{site.url}/", directory=tmp_path, retry_failed=True)

    def why(path: str, *options: str) -> str:
        command = [sys.executable, "-m", "lycosa", "why", f"{site.url}{path}", str(tmp_path), *options]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    seed, failed = why("/").splitlines(), why("/1").splitlines()
    assert any(line.endswith("given again as a seed") for line in seed)
    assert any(line.endswith("opened again, as a seed: it had ended with status 200") for line in seed)
    assert any(
        line.endswith("opened again by --retry-failed: it had ended with connection-closed") for line in failed
    )
    assert seed[-1] == failed[-1] == "now: done: status 200"
    outcomes = json.loads(why("/1", "--json"))["outcomes"]
    assert [(told["lease"] > 0, told["retry"]) for told in outcomes] == [(True, False), (False, True), (True, False)]


def last_rows(path: Path) -> dict[str, list[int | None]]:
    """The statuses of each URL in an output, in its order."""
    rows: dict[str, list[int | None]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows.setdefault(row["url"], []).append(row["status"])
    return rows


def test_outputs_show_how_each_page_ended_also_when_they_are_added_later_or_the_process_dies(
    site: Site, tmp_path: Path
) -> None:
    job, early, late = tmp_path / "job", tmp_path / "early.jsonl", tmp_path / "late.jsonl"
    settings = SETTINGS | {"store": {"retain": "all", "fields": ["url", "status"]}}
    run(f"{site.url}/", directory=job, output=early, **settings)
    site.broken = False
    # Killed once all is recorded, before the output has followed: what was opened again is told by the log alone.
    script = (
        "import lycosa, os, signal, sys\n"
        "crawl = lycosa.crawl(directory=sys.argv[1], retry_failed=True)\n"
        f"[page for page, _ in zip(crawl, range({PAGES // 2}))]\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, job], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    run(directory=job, output=[early, late])
    pages = {f"{site.url}/{number}" for number in range(PAGES)}
    assert {url for url, statuses in last_rows(early).items() if statuses[-1] == 200} >= pages
    assert {url: statuses for url, statuses in last_rows(late).items() if url in pages} == {
        url: [200] for url in pages
    }
