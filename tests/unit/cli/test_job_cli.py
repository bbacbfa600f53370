"""``lycosa job``, and resuming with ``lycosa crawl --dir DIR``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa import _core
from lycosa.simnet import SimulatedInternet


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "lycosa", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.fixture
def net() -> Iterator[SimulatedInternet]:
    """A small simulated Internet."""
    with SimulatedInternet(hosts=10, pages=5, seed=3, speed=200) as net:
        yield net


def begun(net: SimulatedInternet, cwd: Path, *arguments: str) -> None:
    """A crawl of five pages in ``d``."""
    done = run("crawl", "--job", str(net.job_file()), "--dir", "d", "--max-pages", "5", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr


def test_a_crawl_goes_on_by_its_directory_alone(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path, "-o", "pages.jsonl")
    again = run("crawl", "--dir", "d", "--set", "max_pages=12", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "lycosa: max_pages: 5 → 12" in again.stderr
    assert "resuming the crawl in d: 5 pages, " in again.stderr
    assert "--fresh starts over" in again.stderr
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert len({row["url"] for row in rows}) == len(rows)
    assert json.loads((tmp_path / "d" / "job.json").read_text())["settings"]["max_pages"] == 12
    quiet = run("crawl", "--dir", "d", "--quiet", cwd=tmp_path)
    assert (quiet.returncode, quiet.stderr) == (0, ""), "nothing differs, nothing is left to do"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--scope", "host"], ["scope", "'host'", "any as recorded", "--fresh"]),
        (["-o", "mine.jsonl"], ["mine.jsonl", "does not exist yet"]),
    ],
)
def test_another_job_is_refused_in_one_line(
    arguments: list[str], told: list[str], net: SimulatedInternet, tmp_path: Path
) -> None:
    begun(net, tmp_path)
    (tmp_path / "mine.jsonl").write_text("mine")
    before = (tmp_path / "d" / "job.json").read_text()
    result = run("crawl", "--dir", "d", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert all(part in result.stderr for part in told)
    assert (tmp_path / "d" / "job.json").read_text() == before
    assert (tmp_path / "mine.jsonl").read_text() == "mine"


def test_a_directory_in_use_is_told_with_the_process(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    log = _core.Log(tmp_path / "d" / "log", 1 << 20)
    assert log.end() > 0
    for arguments in (["--set", "max_pages=9"], ["--fresh", "--job", str(net.job_file())]):
        result = run("crawl", "--dir", "d", *arguments, cwd=tmp_path)
        assert result.returncode == 1
        assert f"process {os.getpid()}" in result.stderr
    shown = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)
    assert shown["writer"] == os.getpid()


def test_a_directory_of_another_version_is_not_a_damaged_one(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    file = tmp_path / "d" / "job.json"
    whole = file.read_text()
    for content, told in ((whole.replace('"version": 1', '"version": 7', 1), "version 7"), (whole[:50], "damaged")):
        file.write_text(content)
        for arguments in (["crawl", "--dir", "d"], ["job", "show", "d"]):
            result = run(*arguments, cwd=tmp_path)
            assert result.returncode == 1
            assert len(result.stderr.splitlines()) == 1, result.stderr
            assert told in result.stderr


def test_show_tells_who_what_and_how_far(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path, "-o", "pages.jsonl", "-o", "d/parts/", "--report", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    shown = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)
    for key in ("pages", "redirects", "statuses", "failures"):
        assert shown["counts"][key] == report[key], key
    assert shown["log"]["end"] == report["log_bytes"]
    assert (shown["writer"], shown["log"]["torn"], shown["log"]["damaged_bytes"]) == (None, [], 0)
    assert shown["last_run"]["waiting"] == report["frontier"]["waiting"]
    assert [output["position"] is not None for output in shown["outputs"]] == [True, True]
    assert {output["output"] for output in shown["outputs"]} == {str(tmp_path / "pages.jsonl"), "d/parts/"}
    table = run("job", "show", "d", cwd=tmp_path)
    assert table.returncode == 0
    assert "max_pages = 5 is reached" in table.stdout


def test_show_tells_all_that_was_recorded_also_when_the_logs_beginning_was_removed(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    with SimulatedInternet(hosts=40, pages=20, seed=3, speed=300) as net:
        crawl = lycosa.crawl(
            job=net.job_file(),
            directory=directory,
            store={"segment_bytes": 1 << 20},
            frontier={"snapshot_bytes": 1 << 20, "snapshot_interval": 0},
        )
        list(crawl)
    report = crawl.report()
    shown = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)
    assert shown["log"]["first"] > 1 << 20, "the log's beginning was removed"
    for key in ("pages", "redirects", "failures"):
        assert shown["counts"][key] == report[key], key
    assert shown["counts"]["statuses"] == {str(status): count for status, count in report["statuses"].items()}
    assert shown["counts"]["complete"]
    # As a session leaves it that was killed soon after: the rest of the log counts, too.
    record = json.loads((directory / "job.json").read_text())
    known = record["counts"] | {"position": shown["log"]["first"], "pages": 1000, "statuses": {}, "failures": {}}
    (directory / "job.json").write_text(json.dumps(record | {"counts": known}))
    more = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)["counts"]
    assert 1000 < more["pages"] < 1000 + report["pages"]
    # By a version that did not keep the numbers.
    (directory / "job.json").write_text(json.dumps(record | {"counts": None}))
    table = " ".join(run("job", "show", "d", cwd=tmp_path).stdout.split())
    assert f"{more['pages'] - 1000:,}, and " in table
    assert "of the remaining records" in table


def test_show_tells_damage_and_reads_the_rest(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    (segment,) = (tmp_path / "d" / "log").glob("*.log")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    shown = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)
    # A flip in a body is not seen by who skips bodies.
    assert shown["log"]["end"] == len(content)
    assert 0 < shown["counts"]["pages"] <= 5


def test_prune_keeps_what_is_needed_and_removes_torn_pieces_when_asked(
    net: SimulatedInternet, tmp_path: Path
) -> None:
    begun(net, tmp_path)
    torn = tmp_path / "d" / "log" / f"torn-{100:020}"
    torn.write_bytes(b"x" * 100)
    kept = run("job", "prune", "d", cwd=tmp_path)
    assert kept.returncode == 0
    assert "0 files of the log removed" in kept.stdout
    assert "needed until there are two snapshots" in kept.stdout
    assert torn.exists()
    assert "1 torn piece removed" in run("job", "prune", "d", "--torn", cwd=tmp_path).stdout
    assert not torn.exists()


def test_prune_removes_what_all_have_passed(tmp_path: Path) -> None:
    directory, output = tmp_path / "d", tmp_path / "p.jsonl"
    with SimulatedInternet(hosts=40, pages=20, seed=3, speed=300) as net:
        list(lycosa.crawl(job=net.job_file(), directory=directory, output=output, store={"segment_bytes": 1 << 20}))
    segments = sorted((directory / "log").glob("*.log"))
    assert len(segments) > 1, "the crawl is larger than a segment"
    (directory / "snapshots").mkdir(exist_ok=True)
    for position in (int(segments[-1].stem), int(segments[-1].stem) + 1):
        (directory / "snapshots" / f"{position:020}.snapshot").touch()
    away = output.rename(tmp_path / "away")
    held = run("job", "prune", "d", cwd=tmp_path)
    assert "0 files of the log removed" in held.stdout
    assert f"needed by {output}" in held.stdout
    away.rename(output)
    assert f"{len(segments) - 1} files of the log removed" in run("job", "prune", "d", cwd=tmp_path).stdout
    shown = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)
    assert shown["log"]["first"] == int(segments[-1].stem)


def test_an_output_that_comes_when_records_are_gone_is_never_called_complete(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    settings: dict[str, Any] = {
        "store": {"segment_bytes": 1 << 20, "fields": ["url"]},
        "frontier": {"snapshot_bytes": 1 << 20, "snapshot_interval": 0},
    }

    def shown() -> tuple[dict[str, list[list[int]]], str]:
        found = json.loads(run("job", "show", "d", "--json", cwd=tmp_path).stdout)
        table = " ".join(run("job", "show", "d", cwd=tmp_path).stdout.replace("│", " ").split())
        return {Path(output["output"]).name: output["gaps"] for output in found["outputs"]}, table

    with SimulatedInternet(hosts=40, pages=20, seed=3, speed=300) as net:
        list(lycosa.crawl(job=net.job_file(), directory=directory, output=tmp_path / "a.jsonl", **settings))
        assert shown()[0] == {"a.jsonl": []}
        first = min(int(path.stem) for path in (directory / "log").glob("*.log"))
        assert first > 0, "the log's beginning is gone"
        late = run("crawl", "--dir", "d", "-o", "a.jsonl", "-o", "b.jsonl", "-o", "c.parquet", cwd=tmp_path)
        assert f"b.jsonl: lacks the records from position 0 to {first}: the log has them no longer" in late.stderr
        gaps, table = shown()
        assert gaps == {"a.jsonl": [], "b.jsonl": [[0, first]], "c.parquet": [[0, first]]}
        assert table.count("complete") == 1
        assert table.count(f"lacks the records from position 0 to {first}") == 2
        # Neither forgotten nor told again by the next run.
        again = run("crawl", "--dir", "d", cwd=tmp_path)
        assert "lacks" not in again.stderr
        assert shown()[0] == gaps


@pytest.mark.parametrize("file", ["log.jsonl", "log.jsonl.gz"])
def test_what_is_exported_and_imported_goes_on(file: str, net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    exported = run("job", "export", "d", file, cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    imported = run("job", "import", file, "e", cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr
    assert "lycosa crawl --dir e resumes the crawl" in imported.stdout
    again = run("crawl", "--dir", "e", "-o", "all.jsonl", "--max-pages", "1000", cwd=tmp_path)
    assert "resuming the crawl in e: 5 pages" in again.stderr
    urls = [json.loads(line)["url"] for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(set(urls)) == len(urls)
    assert net.report()["coverage"]["ratio"] == 1.0
    assert net.report()["repeats"]["requests"] == 0
    assert not list(tmp_path.glob("part-*"))


@pytest.mark.parametrize("job_file", ["whole", "damaged", "of another version", "missing"])
def test_export_reads_what_can_be_read(job_file: str, net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    record = tmp_path / "d" / "job.json"
    if job_file == "missing":
        record.unlink()
    elif job_file != "whole":
        record.write_text("{" if job_file == "damaged" else '{"version": 9}')
    (segment,) = (tmp_path / "d" / "log").glob("*.log")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    exported = run("job", "export", "d", "log.jsonl", cwd=tmp_path)
    assert exported.returncode == 1
    assert "damaged bytes skipped" in exported.stdout
    assert "Traceback" not in exported.stderr
    assert (tmp_path / "log.jsonl.job.json").exists() == (job_file == "whole")
    imported = run("job", "import", "log.jsonl", "e", cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr
    assert ("seeds and settings again" in imported.stdout) == (job_file != "whole")
    again = run("crawl", "--dir", "e", "--job", str(net.job_file()), "--quiet", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert net.report()["coverage"]["ratio"] == 1.0


def test_a_line_that_is_no_record_is_told_by_its_number(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    run("job", "export", "d", "log.jsonl", cwd=tmp_path)
    lines = (tmp_path / "log.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_text("".join([*lines[:2], "{}\n", *lines[2:]]))
    bad = run("job", "import", "bad.jsonl", "e", cwd=tmp_path)
    assert bad.returncode == 1
    assert "line 3" in bad.stderr
    assert len(bad.stderr.splitlines()) == 1
    (tmp_path / "cut.jsonl").write_text("".join(lines[:3]))
    cut = run("job", "import", "cut.jsonl", "f", cwd=tmp_path)
    assert (cut.returncode, "was cut off" in cut.stdout) == (1, True)


def test_export_and_import_replace_nothing(net: SimulatedInternet, tmp_path: Path) -> None:
    begun(net, tmp_path)
    (tmp_path / "mine").write_text("mine")
    for arguments in (
        ["export", "d", "mine"],
        ["export", "d", "no/f"],
        ["import", "mine", "d"],
        ["import", "no", "e"],
    ):
        result = run("job", *arguments, cwd=tmp_path)
        assert result.returncode == 2, arguments
        assert len(result.stderr.splitlines()) == 1, result.stderr
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["job"], ["ACTION"]),
        (["job", "show"], ["DIR"]),
        (["job", "show", "missing"], ["missing", "a job directory"]),
        (["job", "prune", "."], ["a job directory"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], told: list[str], tmp_path: Path) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert all(part in result.stderr for part in told)
    assert list(tmp_path.iterdir()) == []
