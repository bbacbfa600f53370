"""The examples do what they say: on a simulated Internet, with its ledger as judge."""

from __future__ import annotations

import dataclasses
import json
import runpy
import socketserver
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa import Request, Response
from lycosa.fetch import ScriptedFetch
from lycosa.simnet import SimulatedInternet
from lycosa.store import patient

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> dict[str, Any]:
    """What an example defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def lines_of_class(name: str) -> int:
    """Lines of an example from its class on, without empty ones."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("class "))
    return sum(bool(line.strip()) for line in lines[begin:])


def test_a_fetch_in_python_alone_serves_a_whole_crawl() -> None:
    plain_fetch = example("plain_fetch")["PlainFetch"]
    with SimulatedInternet(hosts=20, pages=10, speed=100) as net:
        fetch = plain_fetch("LycosaBot/0.1 (+http://127.0.0.1/)", slots=16)
        crawl = lycosa.crawl(job=net.job_file(), stages=lambda stages: dataclasses.replace(stages, fetch=fetch))
        pages = [outcome for outcome in crawl if outcome.status == 200]
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["after_answer"] == 0
    assert ledger["robots"]["disallowed"] == ledger["robots"]["before_robots"] == 0
    assert ledger["rates"]["host"]["count"] == ledger["rates"]["address"]["count"] == 0
    for page in pages:
        assert page.address is not None
        assert page.address.startswith("127.")
        assert page.times["connect"] > 0
        assert page.times["first_byte"] > 0
    assert lines_of_class("plain_fetch") <= 40


@pytest.fixture
def badly_served() -> Iterator[str]:
    """The URL of a server that drips /head and /body, breaks off /short, and never ends /large."""

    class Server(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            path = self.rfile.readline().split()[1]
            while self.rfile.readline().strip():
                pass
            if path == b"/head":
                self.drip(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000)
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 100\r\n\r\n" if path != b"/large" else b"\r\n")
            )
            if path == b"/body":
                self.drip(b"x" * 100)
            while path == b"/large":
                self.wfile.write(b"x" * 100_000)

        def drip(self, text: bytes) -> None:
            for byte in text:
                self.wfile.write(bytes([byte]))
                time.sleep(0.1)

    class Quiet(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """The other side had enough."""

    with Quiet(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Vetted:
    """A request as the frontier gives it, with an address."""

    addresses = ("127.0.0.1",)

    def __init__(self, url: str) -> None:
        self.request = Request(url)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)


def test_the_fetch_in_python_bounds_time_and_bytes(badly_served: str) -> None:
    module = example("plain_fetch")
    bounds = module["PlainFetch"].exchange.__globals__
    bounds |= {"WHOLE": 0.5, "BODY": 1_000_000}
    fetch, found = module["PlainFetch"]("t/1"), dict[str, str | None]()
    fetch.submit([Vetted(badly_served + path) for path in ("/head", "/body", "/short", "/large")])
    until = time.monotonic() + 10
    while fetch.in_flight() and time.monotonic() < until:
        found |= {answer.url.rpartition("/")[2]: answer.error for answer in fetch.completed(10, 0.05)}
    assert found == {
        "head": "timeout",
        "body": "timeout",
        "short": "protocol",
        "large": "body-too-large",
    }


def test_the_fetch_in_python_ends_at_once_and_waits_where_nothing_is_in_flight(badly_served: str) -> None:
    fetch = example("plain_fetch")["PlainFetch"]("t/1")
    began = time.monotonic()
    assert len(fetch.completed(10, 0.3)) == 0
    assert time.monotonic() - began >= 0.3
    fetch.submit([Vetted(f"{badly_served}/body"), Vetted(f"{badly_served}/head")])
    time.sleep(0.5)
    began = time.monotonic()
    fetch.cancel()
    assert time.monotonic() - began < 1
    assert fetch.in_flight() == 0


def test_a_sink_of_twelve_lines_has_each_page_and_begins_anew_with_fresh(tmp_path: Path) -> None:
    list_sink, pages = example("list_sink")["ListSink"], tmp_path / "pages.txt"

    def crawl(seed: int, *, fresh: bool) -> list[str]:
        with SimulatedInternet(hosts=5, pages=6, seed=seed, speed=100) as net:
            for max_pages in (10, None):
                list(
                    lycosa.crawl(
                        job=net.job_file(),
                        directory=tmp_path / "job",
                        output=list_sink(f"list://{pages}"),
                        max_pages=max_pages,
                        fresh=fresh and max_pages is not None,
                    )
                )
        return pages.read_text().splitlines()

    first = crawl(1, fresh=False)
    assert len(set(first)) > 20
    assert all(line.split()[1].startswith("http") for line in first)
    second = crawl(2, fresh=True)
    assert not set(first) & set(second), "another Internet, and nothing of the first crawl"
    assert lines_of_class("list_sink") == 12


def test_a_short_sink_has_each_page_once(tmp_path: Path) -> None:
    sqlite_sink = example("sqlite_sink")["SqliteSink"]
    with SimulatedInternet(hosts=10, pages=10, speed=100) as net:
        job, database = net.job_file(), tmp_path / "pages.db"
        for max_pages in (20, None):
            crawl = lycosa.crawl(
                job=job, directory=tmp_path / "job", output=sqlite_sink(database), max_pages=max_pages
            )
            for _ in crawl:
                pass
        ledger = net.report()
    (count,) = sqlite3.connect(database).execute("SELECT count(*) FROM pages WHERE status = 200").fetchone()
    assert count == ledger["coverage"]["served"] == ledger["coverage"]["reachable"]
    assert lines_of_class("sqlite_sink") == 17


SITE = "http://93.184.216.34"


def crawled(sink: Any, *seeds: str | Request, title: str = "", **arguments: Any) -> None:
    """Crawl a site that answers with the method, or with a title, into a sink."""

    class Fetch(ScriptedFetch):
        """Answers by the request."""

        def _respond(self, request: Request) -> Response:
            return request.respond(
                200,
                headers=[("Content-Type", "text/html")],
                body=f"<title>{title or request.method}</title>".encode(),
            )

    for _ in lycosa.crawl(
        *seeds,
        user_agent="t/1 (t@example.org)",
        politeness={"host_interval": 0, "address_interval": 0, "robots": False},
        speed=100,
        output=sink,
        stages=lambda stages: dataclasses.replace(stages, fetch=Fetch(lambda url: (404, [], b""))),
        **arguments,
    ):
        pass


def test_a_strategy_of_nine_lines_orders_a_crawl_also_after_a_restart(tmp_path: Path) -> None:
    strategy, asked = example("strategy")["ArticlesFirst"], list[str]()

    def site(url: str) -> tuple[int, list[tuple[str, str]], bytes]:
        """The first page links to pages, among them articles; each article links to one more."""
        asked.append(url.removeprefix(SITE))
        links = [f"/page{n}" for n in range(20)] + [f"/article{n}" for n in range(6)]
        if "/article" in url and not url.endswith("x"):
            links = [f"{url}x"]
        body = "".join(f"<a href={link}>x</a>" for link in links)
        return 200, [("Content-Type", "text/html")], body.encode()

    def stages(embedded: lycosa.Stages) -> lycosa.Stages:
        fetch = ScriptedFetch(site, slots=1)
        return dataclasses.replace(embedded, fetch=fetch, parse=strategy(embedded))

    for seeds, max_pages in (([SITE], 4), ([], None)):
        for _ in lycosa.crawl(
            *seeds,
            user_agent="t/1 (t@example.org)",
            politeness={"host_interval": 0, "address_interval": 0, "robots": False},
            speed=100,
            directory=tmp_path / "job",
            max_pages=max_pages,
            output=[],
            stages=stages,
        ):
            pass
    first = [f"/article{n}" for n in range(6)]
    assert asked == ["/", *first, *(f"{path}x" for path in first), *(f"/page{n}" for n in range(20))]
    assert lines_of_class("strategy") == 9


def rows_of(database: Path, columns: str) -> list[tuple[Any, ...]]:
    """What another program reads."""
    return sorted(sqlite3.connect(database).execute(f"SELECT {columns} FROM pages").fetchall())  # noqa: S608


def test_the_sink_has_each_request_once_and_begins_anew_with_the_crawl(tmp_path: Path) -> None:
    sqlite_sink, database, directory = example("sqlite_sink")["SqliteSink"], tmp_path / "pages.db", tmp_path / "job"
    url = f"{SITE}/u"
    posts = [Request(url, method="POST", body=body) for body in (b"1", b"2")]
    crawled(sqlite_sink(database), Request(url), *posts, directory=directory)
    assert rows_of(database, "method, sent") == [("GET", b""), ("POST", b"1"), ("POST", b"2")]
    crawled(sqlite_sink(database), f"{SITE}/new", directory=directory, fresh=True)
    assert rows_of(database, "url") == [(f"{SITE}/new",)]


def test_the_sink_waits_while_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patient, "TRY", 0.2)
    sink = example("sqlite_sink")["SqliteSink"](tmp_path / "pages.db")
    (pages,) = sink.pages.execute("PRAGMA page_count").fetchone()
    sink.pages.execute(f"PRAGMA max_page_count = {pages}")
    opened, opens = sink.open, []

    def spacious(first: int, end: int) -> int:
        """There is space again when it is opened once more."""
        opens.append(first)
        if len(opens) == 3:
            sink.pages.execute("PRAGMA max_page_count = 1000")
        return int(opened(first, end))

    sink.open = spacious
    urls = [f"{SITE}/{number:02}" for number in range(40)]
    crawled(sink, *urls, title="t" * 1_000)
    assert rows_of(tmp_path / "pages.db", "url") == [(url,) for url in urls]
    assert "is full; free space and it continues" in caplog.text
    assert "has space again" in caplog.text


def test_an_output_of_ones_own_is_asked_for_when_the_crawl_goes_on(tmp_path: Path) -> None:
    sqlite_sink = example("sqlite_sink")["SqliteSink"]
    with SimulatedInternet(hosts=3, pages=5, speed=100) as net:
        directory, sink = tmp_path / "job", sqlite_sink(tmp_path / "pages.db")
        for _ in lycosa.crawl(job=net.job_file(), directory=directory, output=sink, max_pages=3):
            pass
        with pytest.raises(lycosa.SettingError, match=r"output: 'pages-db:.*only Python can pass again"):
            lycosa.crawl(directory=directory)
        for _ in lycosa.crawl(directory=directory, output=[]):
            pass
    record = json.loads((directory / "job.json").read_text())
    assert record["outputs"] == [f"pages-db://{tmp_path / 'pages.db'}"], "it stays recorded"


def test_the_notebook_makes_tables_without_a_copy() -> None:
    notebook = json.loads((EXAMPLES / "tables.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"tables.ipynb, cell {number}", "exec"), names)  # noqa: S102
    assert names["in_polars"] == names["in_pandas"] == names["in_stream"] == names["addresses"]
    assert all(names["addresses"].values())
    assert names["held"] == 0
