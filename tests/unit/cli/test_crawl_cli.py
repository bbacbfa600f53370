"""``lycosa crawl`` on bad input: one line, exit status 2, no traceback, nothing written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from lycosa import Outcomes, Sink, crawl
from lycosa.simnet import SimulatedInternet


def lycosa(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "lycosa", "crawl", *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ["seeds", "at least one URL"]),
        (["example.com"], ["seed", "example.com", "absolute URL"]),
        (["ftp://example.com/"], ["ftp://example.com/", "http://"]),
        (["http://example.com/", "--max-pages", "-1"], ["max_pages", "'-1'", "greater than or equal to 1"]),
        (["http://example.com/", "--max-pages", "many"], ["max_pages: 'many' must be a whole number"]),
        (["http://example.com/", "--scope", "site"], ["scope", "site", "'host'"]),
        (["http://example.com/", "--resolver", "x"], ["names.resolvers", "'x'"]),
        (["http://example.com/", "--set", "politness.retries=1"], ["politness", "did you mean politeness?"]),
        (["http://example.com/", "--set", "politeness"], ["--set", "KEY=VALUE"]),
        (["http://example.com/", "-o", "pages.xml"], ["pages.xml", ".parquet"]),
        (["--dir", "nodir"], ["directory", "nodir", "a crawl to resume"]),
        (["--dir", "nodir", "--retry-failed"], ["directory", "nodir", "a crawl to resume"]),
        (["http://example.com/"], ["user_agent: is missing", "--user-agent"]),
        (["http://example.com/", "-o", "missing/pages.jsonl"], ["missing/pages.jsonl", "directory that exists"]),
        (["http://example.com/", "--job", "missing.toml"], ["missing.toml"]),
        (["http://example.com/", "--report", "missing/report.json"], ["missing/report.json"]),
        (["http://example.com/", "--frsh"], ["--frsh"]),
        (["http://example.com/", "--retry-failed"], ["retry_failed", "a crawl to resume"]),
        (["http://example.com/", "--retry-failed=nams"], ["retry_failed", "'nams'", "did you mean names?"]),
        (["http://example.com/", "-o", "none", "-o", "pages.jsonl"], ["--output", "'none'", "none alone"]),
        (["http://example.com/", "-o", "-", "--report", "-"], ["--report", "standard output"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], told: list[str], tmp_path: Path) -> None:
    result = lycosa(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stdout == ""
    for part in told:
        assert part in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_reports(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=5, speed=200) as net:
        job = str(net.job_file())
        result = lycosa("--job", job, "--dir", "d", "-o", "pages.jsonl", "--report", "-", "--quiet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    report = json.loads(result.stdout)
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert sum(row["status"] is not None for row in rows) == report["pages"] + report["redirects"]
    assert report["outputs"] == ["pages.jsonl"]


def start(net: SimulatedInternet, cwd: Path, *options: str) -> subprocess.Popen[str]:
    """A crawl that would take minutes, once it has begun to write."""
    arguments = ["--job", str(net.job_file()), "--dir", "d", "-o", "pages.jsonl", "--report", "report.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa", "crawl", *arguments, "--speed", "2", *options],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    output = cwd / "pages.jsonl"
    deadline = time.monotonic() + 30
    try:
        while not has_lines(output):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return process


def has_lines(output: Path) -> bool:
    """Whether there is something in a file, which is created and removed once before, to see whether it can be."""
    try:
        return output.stat().st_size > 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_a_signal_flushes_reports_and_shows_in_the_exit_status(signals: list[signal.Signals], tmp_path: Path) -> None:
    with SimulatedInternet(hosts=20, pages=30, speed=2) as net:
        process = start(net, tmp_path)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.1)
        _, errors = process.communicate(timeout=15)
    assert process.returncode == 128 + signals[0], errors
    again = "Ctrl-C" if signals[0] == signal.SIGINT else "SIGTERM"
    assert f"finishing requests in flight; {again} again to end at once" in errors
    report = json.loads((tmp_path / "report.json").read_text())
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert len(rows) == report["pages"] + report["redirects"] + sum(report["failures"].values())
    assert report["frontier"]["waiting"] > 0
    assert (report["end"]["reason"], report["end"]["resume"]) == ("stopped", "lycosa crawl --dir d")


def test_a_quiet_crawl_is_quiet_about_signals(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=20, pages=30, speed=2) as net:
        process = start(net, tmp_path, "--quiet")
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=15)
    assert (process.returncode, out, errors) == (143, "", "")


def test_a_limit_is_told_and_lifted(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=5, speed=200) as net:
        job = str(net.job_file())
        first = lycosa("--job", job, "--dir", "d", "--max-pages", "5", cwd=tmp_path)
        assert first.returncode == 0, first.stderr
        assert "max_pages = 5 is reached;" in first.stdout
        assert "to resume: lycosa crawl --dir d --max-pages none" in first.stdout
        second = lycosa("--dir", "d", "--max-pages", "none", "--report", "r.json", cwd=tmp_path)
        assert second.returncode == 0, second.stderr
        assert "max_pages: 5 → none" in second.stderr
        assert "finished: nothing is left to fetch" in second.stdout
        third = lycosa("--dir", "d", cwd=tmp_path)
    assert third.returncode == 0, third.stderr
    assert "finished: nothing is left to fetch" in third.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["session"]["pages"] == report["pages"] - 5
    told = " ".join(second.stdout.split())
    assert f"of these in this session │ {report['session']['pages']:,} pages" in told, second.stdout
    assert "(0/s)" in third.stdout.split("of these in this session")[1].splitlines()[0], "nothing was fetched"


@pytest.mark.parametrize(
    ("seeds", "status", "told"),
    [
        (["http://gone.example/"], 4, "finished"),
        (["http://gone.example/", "SEED"], 3, "finished"),
    ],
)
def test_the_exit_status_tells_what_is_missing(seeds: list[str], status: int, told: str, tmp_path: Path) -> None:
    with SimulatedInternet(hosts=3, pages=3, speed=200) as net:
        given = [net.seeds[0] if seed == "SEED" else seed for seed in seeds]
        result = lycosa(*given, "--job", str(net.job_file()), "--dir", "d", cwd=tmp_path)
        again = ("--dir", "e", "--fresh", "--quiet")
        quiet = lycosa(*given, "--job", str(net.job_file()), *again, cwd=tmp_path)
    assert result.returncode == status, result.stdout + result.stderr
    assert told in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith(f"exit status {status}: ")
    assert "(name-not-found: 1); --retry-failed" in last
    assert (quiet.returncode, quiet.stdout) == (status, "")
    assert quiet.stderr == f"lycosa: finished: nothing is left to fetch; {last}\n"
    command = [sys.executable, "-m", "lycosa", "job", "show", "d", "--json"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(shown.stdout)["last_run"]["status_text"] == last
    table = subprocess.run(command[:-1], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert f"exit status {status}: " in table.stdout


def test_pages_go_to_standard_output_and_the_table_elsewhere(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=3, pages=3, speed=200) as net:
        job = str(net.job_file())
        result = lycosa("--job", job, "--dir", "d", "-o", "-", "--set", 'store.fields=["url","text"]', cwd=tmp_path)
        piped = lycosa("--job", job, "--dir", "e", "--report", "-", cwd=tmp_path)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert {tuple(row) for row in rows} == {("url", "text")}
    assert any("<html" in (row["text"] or "") for row in rows)
    assert "bodies received" in result.stderr
    assert json.loads(piped.stdout)["end"]["reason"] == "finished"
    assert "bodies received" in piped.stderr


def test_a_crawl_with_a_sink_from_python_goes_on_without_it(tmp_path: Path) -> None:
    class Mine(Sink):
        """Notes what it is given."""

        given: ClassVar[list[str]] = []

        def write(self, outcomes: Outcomes, position: int) -> None:
            self.given.extend(outcome.url for outcome in outcomes)

    directory = tmp_path / "d"
    with SimulatedInternet(hosts=10, pages=5, speed=200) as net:
        for _ in crawl(job=net.job_file(), directory=directory, output=Mine("mine://pages"), max_pages=5):
            pass
        refused = lycosa("--dir", "d", cwd=tmp_path)
        assert refused.returncode == 2
        assert "'mine://pages' is a custom sink" in refused.stderr
        assert "-o none" in refused.stderr
        went_on = lycosa("--dir", "d", "-o", "none", "--max-pages", "20", cwd=tmp_path)
        assert went_on.returncode == 0, went_on.stderr
        assert "mine://pages: not written in this session" in went_on.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]
        for _ in crawl(directory=directory, output=Mine("mine://pages")):
            pass
    assert len(Mine.given) == len(set(Mine.given)) == 20, "it has caught up"


def test_a_session_to_standard_output_leaves_the_recorded_outputs_to_the_next_one(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=10, speed=100) as net:
        job = str(net.job_file())
        lycosa("--job", job, "--dir", "d", "--max-pages", "5", "-o", "mine.jsonl", "--quiet", cwd=tmp_path)
        before = (tmp_path / "mine.jsonl").read_text()
        piped = lycosa("--dir", "d", "--max-pages", "10", "-o", "-", cwd=tmp_path)
        assert piped.returncode == 0, piped.stderr
        assert "mine.jsonl: not written in this session" in piped.stderr
        assert (tmp_path / "mine.jsonl").read_text() == before
        assert json.loads((tmp_path / "d" / "job.json").read_text())["outputs"] == [str(tmp_path / "mine.jsonl")]
        plain = lycosa("--dir", "d", "--max-pages", "15", "--quiet", cwd=tmp_path)
        assert plain.returncode == 0, plain.stderr
    rows = [json.loads(line)["url"] for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    assert {json.loads(line)["url"] for line in piped.stdout.splitlines()} <= set(rows)
    assert len(set(rows)) == len(rows)
    assert not list((tmp_path / "d").glob("pages.*"))


def test_a_seed_is_added_to_a_crawl_and_the_recorded_ones_begin_anew(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=3, speed=200) as net:
        job, (first, second, *_) = str(net.job_file()), net.seeds
        lycosa(first, "--job", job, "--dir", "d", "--scope", "host", "-o", "pages.jsonl", cwd=tmp_path)
        before = (tmp_path / "pages.jsonl").read_text().count("\n")
        added = lycosa(second, "--dir", "d", cwd=tmp_path)
        assert added.returncode == 0, added.stderr
        assert f"seeds added: {second}" in added.stderr
        urls = [json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
        assert second in urls[before:]
        anew = lycosa("--dir", "d", "--fresh", cwd=tmp_path)
        assert anew.returncode == 0, anew.stderr
        assert {first, second} <= {
            json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_text().splitlines()
        }


def test_a_crawl_whose_pages_nobody_reads_says_so_by_its_status(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=10, pages=10, speed=100) as net:
        command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(net.job_file()), "--dir", "d", "-o", "-"]
        crawl = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert crawl.stdout is not None
        assert crawl.stdout.readline()
        crawl.stdout.close()
        assert crawl.wait(60) == 128 + signal.SIGPIPE
