"""Outputs: pages and MB for each second of CPU, beside what else writes them; archives read, and parsed again.

All write the same pages, of this process's memory: ours from a batch of the core, peers from Python objects. Real
front pages show what bytes cost, small ones what each page does. CPU is that of this process, whose threads are all
of it; of a database its server's is not in it.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from benchmarks.extract_speed import PAGES, read
from benchmarks.harness import Cores, Options, pinned, progress, run_parts
from benchmarks.peers import archives
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report
from benchmarks.store_bodies import bodies

if TYPE_CHECKING:
    from lycosa import Outcomes, Responses

#: Columns of tables: what peers write, too.
COLUMNS = ["url", "status", "title", "body"]

#: Pages of a batch: about 4 MB of the real ones.
BATCH, SMALL_BATCH = 26, 1_000

#: Pages that are so small that what counts is their number, and how many.
SMALL, SMALL_PAGES, QUICK_SMALL_PAGES = "small pages", 20_000, 2_000

ROUNDS, QUICK_ROUNDS = 7, 3

#: Bars of the issue: how many times as many MB a second as the peer.
WARCIO, FASTWARC, PYARROW, PSYCOPG, READING = 3.0, 1.2, 3.0, 5.0, 1.0

#: Pages a second and core that are parsed again with their text.
PARSED = 400.0

#: Our outputs, by the ends of their names, each with its peers: package, function, and the least ratio.
FILES: dict[str, list[tuple[str, archives.Write, float | None]]] = {
    "pages.warc.gz": [("warcio", archives.warcio, WARCIO), ("fastwarc", archives.fastwarc, FASTWARC)],
    "pages.parquet": [("pyarrow", archives.pyarrow, PYARROW)],
    "pages.jsonl": [("scrapy", archives.scrapy, None)],
    "pages.csv": [("csv", archives.csv, None)],
    "pages.sqlite": [("sqlite3", archives.sqlite, None)],
    "pages.warc.zst": [],
    "pages.jsonl.zst": [],
    "pages.duckdb": [],
}

#: Packages of peers that have a version of their own.
PACKAGES = ("warcio", "fastwarc", "pyarrow", "scrapy", "psycopg")


def run(options: Options) -> Report:
    """Write, read, and parse again."""
    report = run_parts("store", [_files, _database, _reading, _again, bodies], options)
    report.peers += [Peer.package(name, [name], "from Python objects, one at a time") for name in PACKAGES]
    return report


class Pages:
    """Pages, parsed, and as rows of Python."""

    def __init__(self, bodies: Sequence[bytes], batch: int = BATCH) -> None:
        """Of these bodies."""
        from lycosa import _core
        from lycosa.job import make_job

        self.bodies, self._batch = bodies, batch
        self.bytes = sum(map(len, self.bodies))
        self._parser = _core.Parser(make_job({"seeds": ["http://a.example/"], "store": {"fields": COLUMNS}}), 1 << 31)
        fields = [("Content-Type", "text/html"), ("Server", "nginx"), ("Cache-Control", "max-age=60")]
        self.rows = [
            archives.Row(f"http://site{number}.example/", 200, "A title", fields, body)
            for number, body in enumerate(self.bodies)
        ]

    def outcomes(self) -> list[Outcomes]:
        """Batches that an output may empty."""
        return [self._parser.parse(batch) for batch in self.responses()]

    def responses(self) -> list[Responses]:
        """Batches of responses."""
        from lycosa import Request, Responses

        made = [Request(row.url).respond(row.status, headers=row.fields, body=row.body) for row in self.rows]
        return [Responses(made[start : start + self._batch]) for start in range(0, len(made), self._batch)]


def _real() -> Pages:
    """Real front pages of the corpora."""
    from tools.text_model import CORPORA

    archive = CORPORA.parent / PAGES
    if not archive.is_file():
        raise BenchmarkError(f"{archive} is missing: set LYCOSA_CORPORA to the corpora")
    return Pages(read(archive))


def _small(options: Options) -> Pages:
    """Pages of a title and a sentence."""
    count = QUICK_SMALL_PAGES if options.quick else SMALL_PAGES
    made = (f"<title>A title</title><p>Ship {number} of {number % 97} can enter." for number in range(count))
    return Pages([page.encode() for page in made], SMALL_BATCH)


def _files(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Files, each beside its peers, in turn."""
    with pinned(cores.client):
        for shape, pages in (("", _real()), (SMALL, _small(options))):
            for name, peers in FILES.items():
                contestants: dict[str, Callable[[Path], float]] = {name: _ours(pages)}
                contestants |= {peer: _peer(write, pages) for peer, write, _ in peers}
                speeds = _in_turn(report, options, pages, contestants, folder, name, shape)
                for peer, _, bar in peers:
                    _compare(report, f"{name} beside {peer}", speeds[name], speeds.get(peer), bar, shape)


def _ours(pages: Pages) -> Callable[[Path], float]:
    """How ours writes all pages; returns seconds of CPU."""
    return lambda path: _write(pages, str(path))


def _peer(write: archives.Write, pages: Pages) -> Callable[[Path], float]:
    """How a peer writes all pages; returns seconds of CPU."""
    return lambda path: _timed(lambda: write(pages.rows, path))


def _database(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """PostgreSQL, of which the server's CPU is not counted."""
    from tests.dispatch.postgres import PASSWORD, Postgres

    # No output's URL may have a password.
    with Postgres() as server, mock.patch.dict(os.environ, PGPASSWORD=PASSWORD), pinned(cores.client):
        ours, theirs = f"{server.url(with_password=False)}?table=ours", server.url()

        def contestants_of(pages: Pages) -> dict[str, Callable[[Path], float]]:
            return {
                "postgresql": lambda _: _write(pages, ours),
                "psycopg": lambda _: _timed(lambda: archives.psycopg(pages.rows, theirs)),
            }

        for shape, pages in (("", _real()), (SMALL, _small(options))):
            rates = _in_turn(report, options, pages, contestants_of(pages), folder, "database", shape)
            text = "PostgreSQL beside psycopg's executemany"
            _compare(report, text, rates["postgresql"], rates.get("psycopg"), PSYCOPG, shape)


def _reading(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """An archive of fastwarc's, read by all."""
    from lycosa.sources import sources_of

    pages, path = _real(), folder / "read.warc.gz"
    archives.fastwarc(pages.rows, path)

    def ours(_: Path) -> float:
        def look() -> int:
            (source,) = sources_of(str(path))
            return sum(len(one.body) for batch in source.read() for one in batch.responses)

        return _timed(lambda: _check(look(), pages.bytes))

    contestants = {
        "read .warc.gz": ours,
        "fastwarc reads": lambda _: _timed(lambda: _check(archives.read_fastwarc(path), pages.bytes)),
        "warcio reads": lambda _: _timed(lambda: _check(archives.read_warcio(path), pages.bytes)),
    }
    with pinned(cores.client):
        speeds = _in_turn(report, options, pages, contestants, folder, "reading")
    _compare(report, "reading WARC beside fastwarc", speeds["read .warc.gz"], speeds.get("fastwarc reads"), READING)


def _again(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """`lycosa parse` with main texts, on one thread."""
    from lycosa.again import Run, Sources
    from lycosa.job import make_job
    from lycosa.sources import sources_of

    pages, path = _real(), folder / "again.warc.gz"
    archives.fastwarc(pages.rows, path)
    fields = ["url", "status", "main_text"]
    job = make_job({"seeds": ["http://a.example/"], "parse": {"threads": 1}, "store": {"fields": fields}})

    def once(into: Path) -> float:
        sink = _opened(str(into / "again.jsonl"), into, fields)
        return _timed(lambda: Run(job, Sources(sources_of(str(path))), [sink], lambda _: None).parse())

    with pinned(cores.client):
        seconds = [once(_fresh(folder)) for _ in range(QUICK_ROUNDS if options.quick else ROUNDS)]
    rates = [len(pages.bodies) / one for one in seconds]
    size = pages.bytes / len(pages.bodies) / 1e3
    figure = Figure.of(f"parsed again with main text, pages of {size:,.0f} KB", "pages/s a core", rates)
    report.figures.append(figure)
    report.claims.append(Claim.at_least("store.again", figure.name, figure.median, figure.unit, PARSED))


def _in_turn(
    report: Report,
    options: Options,
    pages: Pages,
    contestants: dict[str, Callable[[Path], float]],
    folder: Path,
    name: str,
    shape: str = "",
) -> dict[str, list[float]]:
    """Pages a CPU second of each, in rounds by turns; one whose package is missing is left out."""
    rates: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    sizes: dict[str, int] = {}
    for _ in range(QUICK_ROUNDS if options.quick else ROUNDS):
        for contestant, write in contestants.items():
            path = _fresh(folder) / name
            try:
                seconds = write(path)
            except ModuleNotFoundError as error:
                progress(f"{contestant}: {error}")
                continue
            rates[contestant].append(len(pages.bodies) / seconds)
            if path.is_file():
                sizes[contestant] = path.stat().st_size
    for contestant, found in rates.items():
        if found:
            told, mean = _told(contestant, shape), pages.bytes / len(pages.bodies) / 1e6
            figure = Figure.of(told, "pages/CPU s", found)
            progress(f"{told}: {figure.median:,.0f} pages/s, {figure.median * mean:,.0f} MB/s")
            report.figures += [figure, Figure.of(told, "MB/CPU s", [rate * mean for rate in found])]
            if contestant in sizes:
                report.figures.append(Figure.of(f"{told}: size", "MB", [sizes[contestant] / 1e6]))
    return {contestant: found for contestant, found in rates.items() if found}


def _told(text: str, shape: str) -> str:
    """A text with the shape of pages."""
    return f"{text}, {shape}" if shape else text


def _compare(
    report: Report,
    text: str,
    ours: Sequence[float],
    theirs: Sequence[float] | None,
    bar: float | None,
    shape: str = "",
) -> None:
    """State how many times as fast ours is; a peer that is missing leaves its claim unmet."""
    ratio = statistics.median(ours) / statistics.median(theirs) if theirs else None
    told = _told(text, shape)
    if bar is not None:
        key = "store." + "-".join(re.findall(r"[a-z]+", told.replace(" beside ", " ").lower()))
        report.claims.append(Claim.at_least(key, told, ratio, "times", bar))
    elif ratio is not None:
        report.figures.append(Figure.of(told, "times", [ratio]))


def _write(pages: Pages, output: str) -> float:
    """Write all pages to an output of ours; returns seconds of CPU."""
    folder = Path(output).parent if "://" not in output else Path.cwd()
    batches = pages.outcomes()
    sink = _opened(output, folder, COLUMNS)

    def write() -> None:
        for position, batch in enumerate(batches, 1):
            sink.write(batch, position)
        sink.commit(len(batches))
        sink.close()

    seconds = _timed(write)
    if "://" in output:
        sink.remove()
    return seconds


def _opened(output: str, folder: Path, fields: Sequence[str]) -> Any:
    """An output of a job of its own, open."""
    from lycosa.sink import SinkJob
    from lycosa.store.outputs import sink_of

    sink = sink_of(output)
    sink.attach(SinkJob(f"bench{time.monotonic_ns()}", folder / "sinks", output, tuple(fields)))
    sink.check(fresh=True, is_ours=False)
    sink.open(0, 0)
    return sink


def _fresh(folder: Path) -> Path:
    """A folder without files."""
    made = folder / f"round{time.monotonic_ns()}"
    made.mkdir()
    return made


def _timed(work: Callable[[], object]) -> float:
    """Seconds of CPU of this process."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _check(found: int, expected: int) -> None:
    """Raise BenchmarkError unless all bytes were read."""
    if found != expected:
        raise BenchmarkError(f"{found:,} bytes of bodies were read, of {expected:,}")
