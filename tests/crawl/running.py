"""A crawl in a process of its own while trouble begins and passes, and what is asked of it at its end.

It may be stopped, killed and begun again; it goes on in the same directory, with the same outputs. Nothing here knows
how the crawler does it: the ledger, the outputs and the lines that it told are the judges.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet
from lycosa.simnet import SimulatedInternet

from tests.crawl.scenarios import Scenario

#: The job's time runs so much faster; more, and time-outs (a second at least) would outlast all patience.
SPEED = 10.0

#: Requests at once.
SLOTS = 16

#: Failures that this world's own hosts cause: some pages give nothing but errors. What can be reached has to be.
OWN_FAILURES = {"robots-disallowed", "host-unavailable"}

#: Runs a scenario's crawl. A file makes its log slow: each batch of outcomes takes as many seconds as stand in it.
CHILD = """
import select, sys, time
from pathlib import Path
from lycosa import cli
from lycosa.store.patient import PatientLog

slow, append = Path(sys.argv.pop(1)), PatientLog.append
# Python sleeps until a moment, which libfaketime gets wrong while the clock is off.
time.sleep = lambda seconds: select.select([], [], [], seconds)

def wait(log, pages):
    if slow.exists():
        time.sleep(float(slow.read_text()))
    append(log, pages)

PatientLog.append = wait
sys.exit(cli.main())
"""


@dataclass
class Outcome:
    """How a scenario's crawl ended."""

    scenario: Scenario
    status: int | None
    #: Seconds of the job's time from the first request to the end.
    seconds: float
    #: The ledger's report.
    report: dict[str, Any]
    #: What the crawl told, of all its processes.
    told: str
    #: Its pages, as JSON lines and as the URLs in Parquet.
    rows: list[dict[str, Any]]
    columns: list[str]
    #: How often it was killed.
    kills: int
    #: Hosts that were in trouble for good.
    dead: set[str]

    def __str__(self) -> str:
        """Everything that explains a failure, in short."""
        kinds = Counter((row["status"], row["error"]) for row in self.rows)
        failed = [f"{row['url']}: {row['error']} ({row['error_detail']})" for row in self.unexpected()]
        coverage, totals = self.report["coverage"], self.report["totals"]
        lines = [
            f"events {self.scenario.events}, seed {self.scenario.seed}, settings {self.scenario.settings}",
            f"exit status {self.status} after {self.seconds:.0f} s of job time, {self.kills} kills",
            f"coverage {coverage['served']} of {coverage['reachable']}, missed {coverage['missed'][:5]}",
            f"outcomes {dict(kinds)}, of trouble: {failed[:5]}",
            f"ledger {totals['by_kind']} {totals['by_status']}, DNS {totals['dns_by_answer']}",
            f"repeats {self.report['repeats']}",
            f"robots {self.report['robots']}, pauses {self.report['pauses']['first'][:2]}",
            f"rates {[self.report['rates'][key]['first'][:2] for key in ('host', 'address')]}",
            "told:",
            *self.told.splitlines()[-25:],
        ]
        return "\n".join(lines)

    def unexpected(self) -> list[dict[str, Any]]:
        """Pages that failed although nothing is wrong with their hosts."""
        failed = (row for row in self.rows if row["error"] not in (None, *OWN_FAILURES))
        # Where a portal redirected to was named by an answer that was taken back, and belongs to no world.
        others = {*self.dead, "portal.simnet"}
        return [row for row in failed if urlsplit(row["url"]).hostname not in others]

    def suspensions(self) -> list[str]:
        """The lines by which the crawl said that it suspends."""
        return re.findall(r"suspended: .*", self.told)


class Running:
    """A scenario that runs: what its events act upon."""

    def __init__(self, scenario: Scenario, net: SimulatedInternet, folder: Path) -> None:
        """Nothing is started."""
        self.scenario, self.net, self.folder = scenario, net, folder
        self.kills, self.dead = 0, set[str]()
        self.job = net.job_file()
        if scenario.prepare:
            seeds, self.dead = scenario.prepare(net)
            others = re.sub(r"(?s)^seeds = \[.*?\]\n", "", net.job())
            self.job.write_text(f"seeds = {json.dumps(seeds)}\n{others}")
        self.slow, self._clock = folder / "slow", folder / "clock"
        self.process: subprocess.Popen[bytes] | None = None
        self.disk: Disk | None = Disk(folder) if scenario.disk else None

    def begin(self) -> None:
        """Start the crawl, or start it again where it was."""
        command = [
            *(self.disk.inside() if self.disk else []),
            sys.executable,
            "-c",
            CHILD,
            str(self.slow),
            "crawl",
        ]
        place = self.disk.path if self.disk else self.folder
        command += ["--job", str(self.job), "--dir", str(place / "job")]
        command += ["-o", str(self.folder / "pages.jsonl"), "-o", str(self.folder / "pages.parquet")]
        settings = {
            "fetch.slots": SLOTS,
            # What is shown is that the crawl goes on, not how long hosts are given a rest.
            "politeness.max_interval": 5,
            "politeness.address_interval": self.scenario.address_interval,
            # Names are asked for again and again.
            "names.min_ttl": 60,
            "names.max_ttl": 60,
            "frontier.snapshot_bytes": 1 << 20,
            "frontier.snapshot_interval": 0,
            "store.fields": '["url", "status", "error", "error_detail"]',
            **self.scenario.settings,
        }
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        with (self.folder / "told.txt").open("ab") as told:
            self.process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=told, env=os.environ | self._environment()
            )

    def running(self) -> subprocess.Popen[bytes]:
        """The crawl's process."""
        assert self.process is not None
        return self.process

    def set_clock(self, seconds: float) -> None:
        """Set the crawl's clock so far off; it notices within a second."""
        new = self._clock.with_suffix(".new")
        new.write_text(f"{seconds:+.0f}s\n")
        new.replace(self._clock)

    def kill(self) -> None:
        """Kill the crawl and start it again."""
        process = self.running()
        if process.poll() is None:
            process.kill()
            process.wait()
            self.kills += 1
            self.begin()

    def set_slow(self, seconds: float) -> None:
        """Let each batch of outcomes take so many seconds of the machine's to be recorded; 0: as long as it takes."""
        if seconds:
            new = self.slow.with_suffix(".new")
            new.write_text(str(seconds))
            new.replace(self.slow)
        else:
            self.slow.unlink(missing_ok=True)

    def fill(self) -> None:
        """Fill the disk."""
        assert self.disk is not None
        self.disk.fill()

    def free(self) -> None:
        """Free space on the disk; a crawl that could not even begin on a full one is started again."""
        assert self.disk is not None
        self.disk.free()
        if self.running().poll() not in (None, 0):
            self.kills += 1
            self.begin()

    def close(self) -> None:
        """End what is left."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.disk:
            self.disk.close()

    def _environment(self) -> dict[str, str]:
        """What lets the clock be set (libfaketime): the wall's alone, intervals go on."""
        if not self.scenario.clock:
            return {}
        if not self._clock.exists():
            self.set_clock(0)
        library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_CACHE_DURATION": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }


class Disk:
    """A small disk of its own in a mount namespace that outlives the crawls in it."""

    def __init__(self, folder: Path) -> None:
        """Mount it."""
        self.path = folder / "disk"
        self.path.mkdir()
        # As root a mount namespace is enough; others need a user namespace for it.
        self._user = [] if os.geteuid() == 0 else ["--user"]
        unshare = ["unshare", *(["--user", "--map-root-user"] if self._user else []), "--mount"]
        script = 'mount -t tmpfs -o size=48m none "$0" && echo mounted && exec sleep 86400'
        command = [*unshare, "sh", "-c", script, str(self.path)]
        self._holder = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"mounted\n"

    def inside(self) -> list[str]:
        """What a command begins with that runs inside."""
        user = [*self._user, "--preserve-credentials"] if self._user else []
        return ["nsenter", f"--target={self._holder.pid}", *user, "--mount"]

    def fill(self) -> None:
        """Fill it to the last byte, and keep it full for what is deleted meanwhile."""
        script = f"while :; do cat /dev/zero >>{self.path}/ballast; sleep 0.05; done 2>/dev/null"
        self._filler = subprocess.Popen([*self.inside(), "sh", "-c", script], start_new_session=True)

    def free(self) -> None:
        """Free space again."""
        os.killpg(self._filler.pid, signal.SIGKILL)
        self._filler.wait()
        subprocess.run([*self.inside(), "rm", "-f", str(self.path / "ballast")], check=True)

    def close(self) -> None:
        """Unmount it."""
        filler = getattr(self, "_filler", None)
        if filler is not None and filler.poll() is None:
            os.killpg(filler.pid, signal.SIGKILL)
            filler.wait()
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()


def run(scenario: Scenario, folder: Path) -> Outcome:
    """Let a scenario happen."""
    model = folder / "model.toml"
    model.write_text(scenario.model)
    with SimulatedInternet(
        hosts=scenario.hosts,
        pages=scenario.pages,
        seed=scenario.seed,
        speed=SPEED,
        profile=str(model),
        https=scenario.https,
        address_interval=scenario.address_interval,
    ) as net:
        crawl = Running(scenario, net, folder)
        try:
            crawl.begin()
            deadline = time.monotonic() + 60
            while net.report()["totals"]["requests"] == 0 and crawl.running().poll() is None:
                assert time.monotonic() < deadline, (folder / "told.txt").read_text()
                time.sleep(0.02)
            begun = time.monotonic()
            for at, event in scenario.events:
                time.sleep(max(0.0, begun + at / SPEED - time.monotonic()))
                if crawl.running().poll() == 0:
                    break
                event.act(crawl)
            try:
                status = crawl.running().wait(max(1.0, begun + scenario.until / SPEED - time.monotonic()))
            except subprocess.TimeoutExpired:
                status = None
            seconds = (time.monotonic() - begun) * SPEED
        finally:
            crawl.close()
        report = net.report(without=crawl.dead & set(net.hosts))
    told = (folder / "told.txt").read_text()
    return Outcome(scenario, status, seconds, report, told, *_outputs(folder), crawl.kills, crawl.dead)


def _outputs(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the JSON lines, and the URLs in Parquet."""
    lines, table = folder / "pages.jsonl", folder / "pages.parquet"
    rows = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    columns = pyarrow.parquet.read_table(table, columns=["url"])["url"].to_pylist() if table.exists() else []
    return rows, columns


def judge(outcome: Outcome) -> None:
    """Nothing was lost, nobody was hurt, and nothing was settled by trouble that was ours."""
    report, troubles = outcome.report, sum(event.name.startswith("begin") for _, event in outcome.scenario.events)
    # 3: some URLs stayed without an answer: those that give nothing but errors (500), and the portal's own.
    expected = 3 if any(row["error"] in ("host-unavailable", "name-not-found") for row in outcome.rows) else 0
    assert outcome.status == expected, f"the crawl did not end well: {outcome}"
    _judge(outcome)
    # Of each process that dies, what is running and what is answered and not recorded yet: a full set of slots each.
    allowed = SLOTS * (2 * outcome.kills + troubles)
    assert report["repeats"]["after_answer"] <= allowed, f"more than {allowed} repeats: {outcome}"
    pages = sum(row["status"] == 200 for row in outcome.rows)
    assert pages == report["coverage"]["served"], f"pages of the portal: {outcome}"
    # No host of this world refuses anything.
    assert not any(row["status"] == 403 for row in outcome.rows), f"refusals of the portal: {outcome}"


def judge_others(outcome: Outcome) -> None:
    """Everything that lives was fetched, nobody was hurt, and the crawl never took others' trouble for its own."""
    assert not outcome.suspensions(), f"others' trouble was taken for ours: {outcome}"
    # 3: finished, but some URLs stayed without an answer.
    assert outcome.status in (0, 3), f"the crawl did not end well: {outcome}"
    _judge(outcome)


def _judge(outcome: Outcome) -> None:
    """What holds whatever happens."""
    report = outcome.report
    assert not outcome.unexpected(), f"URLs of hosts that are well failed: {outcome}"
    assert report["coverage"]["ratio"] == 1.0, f"pages are missing: {outcome}"
    assert report["robots"]["count"] == report["pauses"]["count"] == 0, f"a site's wish was ignored: {outcome}"
    assert report["rates"]["host"]["count"] == report["rates"]["address"]["count"] == 0, f"too fast: {outcome}"
    urls = [row["url"] for row in outcome.rows]
    assert len(set(urls)) == len(urls), f"pages twice in JSON lines: {outcome}"
    assert sorted(outcome.columns) == sorted(urls), f"the outputs differ: {outcome}"
