"""The `start` benchmark: what a short run costs: an import, a crawl of one page from a server on this machine."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.harness import Contestant, Cores, Options, Run, in_turn, measure, pinned
from benchmarks.report import Claim, Figure, Report

#: Bars, in milliseconds of CPU of the whole process, the interpreter included.
IMPORT, CRAWL = 40.0, 150.0

PYTHON, IMPORTED, CRAWLED = "python -c pass", "import lycosa", "lycosa crawl --max-pages 1"

#: Claims by command.
CLAIMS = {IMPORTED: ("start-import", IMPORT), CRAWLED: ("start-crawl", CRAWL)}


def run(options: Options) -> Report:
    """Run each command several times in turn."""
    report, cores, rounds = Report("start", options.quick), Cores.split(), 10 if options.quick else 40
    with pinned(cores.server), one_page() as root, tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name)
        commands = {PYTHON: [sys.executable, "-c", "pass"]}
        if not options.peers_only:
            commands[IMPORTED] = [sys.executable, "-c", "import lycosa"]
            commands[CRAWLED] = crawl_command(root, folder / "job")
        starts = [Start(name, command, cores, folder / "start.log") for name, command in commands.items()]
        for start in starts:
            start.run()  # compiles the modules
        runs = in_turn([Contestant(start.name, start.run, rounds) for start in starts])
    for command, measured in runs.items():
        cpu = Figure.of(f"{command}: CPU", "ms", [run.cpu * 1e3 for run in measured])
        report.figures.append(cpu)
        if command in CLAIMS:
            claim, bar = CLAIMS[command]
            report.claims.append(Claim.at_most(claim, f"{command}: CPU", cpu.median, "ms", bar))
    report.notes.append(f"one page and its robots.txt, JSON lines as output, no interval; {cores.describe}")
    return report


@dataclass(frozen=True, slots=True)
class Start:
    """A command that is measured."""

    name: str
    command: Sequence[str]
    cores: Cores
    log: Path

    def run(self) -> Run:
        """Run it once, without the folder of the run before."""
        shutil.rmtree(self.log.with_name("job"), ignore_errors=True)
        return measure(self.name, self.command, cores=self.cores.client, timeout=60, log=self.log)


def crawl_command(root: str, folder: Path) -> list[str]:
    """Return the command that crawls one page into a new folder."""
    settings = ['allow_addresses=["127.0.0.0/8"]', "politeness.host_interval=0", "politeness.address_interval=0"]
    return [
        *(sys.executable, "-m", "lycosa", "crawl", root, "--max-pages", "1"),
        *("--user-agent", "bench/1.0 (bench@example.org)", "--dir", str(folder), "-o", str(folder / "pages.jsonl")),
        *(part for setting in settings for part in ("--set", setting)),
    ]


@contextlib.contextmanager
def one_page() -> Iterator[str]:
    """Serve one page, and a robots.txt that allows all, on loopback while the block runs; yields its URL."""

    class Site(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = b"" if self.path == "/robots.txt" else b"<title>One page</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
