"""``lycosa resolve``: every line accounted for once, whatever ends it in between."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import DnsServer


def lycosa(*arguments: str, cwd: Path, input: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "lycosa", "resolve", *arguments]
    return subprocess.run(command, cwd=cwd, input=input, capture_output=True, text=True, timeout=60)


def rows(path: Path) -> list[dict[str, Any]]:
    """What an output holds, by place."""
    if path.suffix == ".jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
    elif path.suffix == ".csv":
        found = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
        for row in found:
            row |= {"place": int(row["place"]), "addresses": row["addresses"].split()}
    else:
        pyarrow = pytest.importorskip("pyarrow.parquet")
        found = pyarrow.read_table(path).to_pylist()
    return sorted(found, key=lambda row: row["place"])


def write_names(folder: Path, count: int) -> list[str]:
    """Names of which each seventh is a repeat, in ``names.txt``."""
    names = [f"w{number - (number % 7 == 6)}.example" for number in range(count)]
    (folder / "names.txt").write_text("".join(f"{name}\n" for name in names))
    return names


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_every_line_has_its_row(suffix: str, dns: DnsServer, tmp_path: Path) -> None:
    text = "\ufeffwww.example\n\nWWW.example \r\ngone.example\na b\n  empty.example\n" + "x" * 5_000 + "\nwww.example"
    (tmp_path / "names.txt").write_text(text, encoding="utf-8", newline="")
    out = tmp_path / f"out{suffix}"
    done = lycosa("names.txt", "-o", out.name, "--resolver", dns.address, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [(row["place"], row["name"], row["status"]) for row in rows(out)] == [
        (1, "www.example", "ok"),
        (3, "WWW.example", "ok"),
        (4, "gone.example", "nxdomain"),
        (5, "a b", "bad-name"),
        (6, "empty.example", "nodata"),
        (7, "x" * 4_096, "bad-name"),
        (8, "www.example", "ok"),
    ]
    assert rows(out)[0]["addresses"] == ["192.0.2.1"]
    report = json.loads(done.stdout)
    assert (report["answered"], report["before"], report["lines"], report["blank"]) == (7, 0, 8, 1)
    assert report["statuses"] == {"ok": 3, "nxdomain": 1, "nodata": 1, "servfail": 0, "timeout": 0, "bad-name": 2}
    assert [(bad["line"], bad["reason"]) for bad in report["bad_lines"]] == [
        (5, "the name holds a space, a control character or one of %/:<>?@[\\]^|#"),
        (7, "the name has more than 253 bytes"),
    ]
    assert report["complete"]
    assert report["questions"] == 3
    assert report["names_per_second"] > 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["names.txt", out.name]


def test_lines_go_to_standard_output_and_the_report_elsewhere(dns: DnsServer, tmp_path: Path) -> None:
    done = lycosa("--resolver", dns.address, "--types", "A,AAAA", cwd=tmp_path, input="www.example\na b\n")
    found = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert found["www.example"]["addresses"] == ["192.0.2.1", "2001:db8::1"]
    assert "ok: 1, bad-name: 1" in done.stderr
    assert "line 2: 'a b': the name holds a space" in done.stderr
    quiet = lycosa("-q", "--resolver", dns.address, cwd=tmp_path, input="www.example\n")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_a_pipe_is_answered_while_it_is_open(dns: DnsServer, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lycosa", "resolve", "-q", "--resolver", dns.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"first.example\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["name"] == "first.example"
        process.stdin.write(b"second.example")
        process.stdin.close()
        assert json.loads(process.stdout.readline())["name"] == "second.example"
        assert process.wait(10) == 0


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_same_command_goes_on_with_a_longer_input(
    suffix: str, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    server, names = start_dns(), write_names(tmp_path, 500)
    command = ["names.txt", "-o", f"out{suffix}", "--resolver", server.address, "--json"]
    assert lycosa(*command, cwd=tmp_path).returncode == 0
    asked = server.asked.total()
    with (tmp_path / "names.txt").open("a") as file:
        file.write("w0.example\nnew.example\n")
    done = lycosa(*command, cwd=tmp_path)
    assert done.returncode == 0
    assert "500 answers are in the output" in done.stderr
    report = json.loads(done.stdout)
    assert (report["before"], report["answered"]) == (500, 2)
    assert server.asked["new.example"] == 1
    # The servers are probed once a run; w0 is given once more than it was answered.
    assert server.asked.total() == asked + 1 + 2
    assert Counter(row["name"] for row in rows(tmp_path / f"out{suffix}")) == Counter(
        [*names, "w0.example", "new.example"]
    )


def start(server: DnsServer, cwd: Path, out: str) -> subprocess.Popen[str]:
    """A run that takes seconds."""
    command = [sys.executable, "-m", "lycosa", "resolve", "names.txt", "-o", out, "--resolver", server.address]
    return subprocess.Popen([*command, "--rate", "500", "--json"], cwd=cwd, stdout=subprocess.PIPE, text=True)


def wait_for_answers(server: DnsServer, count: int) -> None:
    """Wait until so many names were asked for."""
    until = time.monotonic() + 20
    while len(server.asked) < count:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_ctrl_c_leaves_a_complete_output_that_is_gone_on_with(
    suffix: str, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    server, names, out = start_dns(), write_names(tmp_path, 1_500), tmp_path / f"out{suffix}"
    process = start(server, tmp_path, out.name)
    wait_for_answers(server, 300)
    process.send_signal(signal.SIGINT)
    report = json.loads(process.communicate(timeout=10)[0])
    assert process.returncode == 130
    assert not report["complete"]
    partly = rows(out)
    assert 200 < len(partly) == report["answered"] < 1_500
    done = lycosa("names.txt", "-o", out.name, "--resolver", server.address, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["before"] == len(partly)
    assert Counter(row["name"] for row in rows(out)) == Counter(names)
    assert all(row["status"] == "ok" for row in rows(out))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_kill_and_a_torn_line_lose_nothing(suffix: str, start_dns: Callable[..., DnsServer], tmp_path: Path) -> None:
    server, names, out = start_dns(), write_names(tmp_path, 1_500), tmp_path / f"out{suffix}"
    for answered in (200, 500):
        process = start(server, tmp_path, out.name)
        wait_for_answers(server, answered)
        process.kill()
        process.communicate()
        if suffix != ".parquet":
            with out.open("r+b") as file:
                file.truncate(max(0, file.seek(0, os.SEEK_END) - 7))
    done = lycosa("names.txt", "-o", out.name, "--resolver", server.address, "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert Counter(row["name"] for row in rows(out)) == Counter(names)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["names.txt", out.name]


@pytest.mark.soak
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_thirty_kills_at_random_moments_lose_nothing(
    suffix: str, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    server, names, out = start_dns(), write_names(tmp_path, 60_000), tmp_path / f"out{suffix}"
    moments = random.Random(7)  # noqa: S311
    command = [sys.executable, "-m", "lycosa", "resolve", "names.txt", "-o", out.name, "--resolver", server.address]
    for _ in range(30):
        process = subprocess.Popen([*command, "-q", "--rate", "2000"], cwd=tmp_path)
        time.sleep(moments.uniform(0.2, 1.2))
        process.kill()
        process.wait()
    done = lycosa("names.txt", "-o", out.name, "--resolver", server.address, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["answered"] > 0  # the kills came while there was work
    assert Counter(row["name"] for row in rows(out)) == Counter(names)


def test_parquet_that_was_put_together_but_not_cleared_up_is_whole(dns: DnsServer, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    names = write_names(tmp_path, 50)
    command = ["names.txt", "-o", "out-10:30.parquet", "--resolver", dns.address, "--json"]
    assert lycosa(*command, cwd=tmp_path).returncode == 0
    # As a crash between the two steps leaves it.
    folder = tmp_path / "out-10:30.parquet.parts"
    folder.mkdir()
    (folder / f"{0:020}-{50:020}.parquet").write_bytes((tmp_path / "out-10:30.parquet").read_bytes())
    assert json.loads(lycosa(*command, cwd=tmp_path).stdout)["before"] == 50
    assert Counter(row["name"] for row in rows(tmp_path / "out-10:30.parquet")) == Counter(names)


def test_an_empty_input_has_an_output_with_columns(dns: DnsServer, tmp_path: Path) -> None:
    for suffix in (".jsonl", ".csv", ".parquet"):
        out = tmp_path / f"out{suffix}"
        for _ in range(2):
            assert lycosa("-o", out.name, "--resolver", dns.address, cwd=tmp_path, input="\n\n").returncode == 0
            assert rows(out) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.txt"], ["FILE", "missing.txt", "No such file"]),
        (["."], ["FILE", "'.'", "directory"]),
        (["names.txt", "--rate", "0"], ["rate", "'0.0'", "above 0"]),
        (["names.txt", "--rate", "-5"], ["rate", "above 0"]),
        (["names.txt", "--server-rate", "0"], ["server_rate", "above 0"]),
        (["names.txt", "--concurrency", "-1"], ["concurrency", "'-1'", "1 to 50,000"]),
        (["names.txt", "--concurrency", "many"], ["--concurrency", "many"]),
        (["names.txt", "--types", "A,ANY"], ["types", "ANY", "a type of records: A, AAAA", "TYPE65"]),
        (["names.txt", "--resolver", "x,1.2.3"], ["resolvers", "x,1.2.3", "192.0.2.1"]),
        (["names.txt", "--resolver", ","], ["resolvers", "at least one"]),
        (["names.txt", "--resolvers", "missing.txt"], ["--resolvers", "missing.txt", "No such file"]),
        (["names.txt", "-o", "out.txt"], ["output", "out.txt", ".jsonl, .csv or .parquet"]),
        (["names.txt", "-o", "missing/out.csv"], ["output", "directory that exists"]),
        (["names.txt", "--timeout", "0"], ["timeout", "0.1 to 60"]),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments: list[str], told: list[str], tmp_path: Path) -> None:
    write_names(tmp_path, 3)
    done = lycosa(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for part in told:
        assert part in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["names.txt"]


def test_resolvers_that_are_none_or_do_not_answer_are_named_and_the_others_go_on(
    dns: DnsServer, tmp_path: Path
) -> None:
    write_names(tmp_path, 5)
    (tmp_path / "servers").write_text(f"# ours\n{dns.address}  # here\nnonsense\n\n127.0.0.1:9\n")
    done = lycosa("names.txt", "-o", "out.jsonl", "--resolvers", "servers", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert "'nonsense' is no address" in done.stderr
    assert "127.0.0.1:9 does not answer" in done.stderr
    report = json.loads(done.stdout)
    assert report["statuses"]["ok"] == 5
    assert [known["server"] for known in report["upstreams"]] == [dns.address]
    assert report["upstreams"][0]["questions"] == 5
    none = lycosa("names.txt", "-o", "none.jsonl", "--resolver", "127.0.0.1:9", cwd=tmp_path)
    assert none.returncode == 1
    assert none.stderr.splitlines() == [
        "lycosa: no resolver answers: 127.0.0.1:9; give others, or run again when they do"
    ]
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_an_output_of_something_else_is_left_alone(suffix: str, dns: DnsServer, tmp_path: Path) -> None:
    write_names(tmp_path, 5)
    letter = tmp_path / f"letter{suffix}"
    letter.write_text("Dear all,\nthis is no output.\n")
    done = lycosa("names.txt", "-o", letter.name, "--resolver", dns.address, cwd=tmp_path)
    assert done.returncode == 1
    assert "move" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert letter.read_text() == "Dear all,\nthis is no output.\n"


def test_one_output_has_one_writer(start_dns: Callable[..., DnsServer], tmp_path: Path) -> None:
    server = start_dns()
    write_names(tmp_path, 5_000)
    process = start(server, tmp_path, "out.jsonl")
    wait_for_answers(server, 50)
    done = lycosa("names.txt", "-o", "out.jsonl", "--resolver", server.address, cwd=tmp_path)
    process.kill()
    process.communicate()
    assert done.returncode == 1
    assert "another process writes to it" in done.stderr


def test_a_disk_that_is_full_is_told(dns: DnsServer, tmp_path: Path) -> None:
    write_names(tmp_path, 2_000)
    script = (
        "import resource, signal, sys; from lycosa.cli import main; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY)); sys.exit(main(sys.argv[1:]))"
    )
    command = ["resolve", "names.txt", "-o", "out.jsonl", "--resolver", dns.address]
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["lycosa: out.jsonl: File too large; run again to resume"]
    assert lycosa(*command[1:], cwd=tmp_path).returncode == 0
    assert len(rows(tmp_path / "out.jsonl")) == 2_000


def test_a_reader_that_has_had_enough_ends_it_quietly(dns: DnsServer, tmp_path: Path) -> None:
    write_names(tmp_path, 20_000)
    command = f"{sys.executable} -m lycosa resolve names.txt --resolver {dns.address} | head -n 1"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_progress_is_told_after_two_seconds(dns: DnsServer, tmp_path: Path) -> None:
    write_names(tmp_path, 1_300)
    done = lycosa("names.txt", "-o", "out.csv", "--resolver", dns.address, "--rate", "500", cwd=tmp_path)
    assert " of the input" in done.stderr
    assert "names, " in done.stderr


FAILING = "a.example\nbroken1.example\ngone.example\nbroken1.example\nsilent1.example\nb.example\n"
HURRY = ("--timeout", "0.2", "--attempts", "1")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_what_failed_is_asked_for_again_and_replaced(
    suffix: str, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    dns = start_dns()
    (tmp_path / "names.txt").write_text(FAILING)
    command = ("names.txt", "-o", f"out{suffix}", "--resolver", dns.address, *HURRY)
    assert lycosa(*command, cwd=tmp_path).returncode == 0
    before = rows(tmp_path / f"out{suffix}")
    assert [row["status"] for row in before] == ["ok", "servfail", "nxdomain", "servfail", "timeout", "ok"]
    dns.mended, dns.asked = True, Counter()  # the one without a name is asked to see whether it answers
    (tmp_path / "names.txt").write_text(FAILING + "new.example\n")
    done = lycosa(*command, "--retry-failed", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = rows(tmp_path / f"out{suffix}")
    assert [(row["place"], row["status"]) for row in after] == [
        (1, "ok"), (2, "ok"), (3, "nxdomain"), (4, "ok"), (5, "ok"), (6, "ok"), (7, "ok"),
    ]  # fmt: skip
    assert set(dns.asked) - {""} == {"broken1.example", "silent1.example", "new.example"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.txt", f"out{suffix}"]
    dns.asked = Counter()
    assert lycosa(*command, "--retry-failed=nxdomain", cwd=tmp_path).returncode == 0
    assert set(dns.asked) - {""} == {"gone.example"}
    assert len(rows(tmp_path / f"out{suffix}")) == 7


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_a_retry_each_line_keeps_one_row(
    suffix: str, end: signal.Signals, start_dns: Callable[..., DnsServer], tmp_path: Path
) -> None:
    dns = start_dns()
    (tmp_path / "names.txt").write_text(FAILING)
    command = ("names.txt", "-o", f"out{suffix}", "--resolver", dns.address)
    assert lycosa(*command, *HURRY, cwd=tmp_path).returncode == 0
    again = [sys.executable, "-m", "lycosa", "resolve", *command, "--retry-failed", "--timeout", "30"]
    with subprocess.Popen(again, cwd=tmp_path) as process:
        # One name is silent for longer than the test waits.
        deadline, asked = time.monotonic() + 30, dns.asked["silent1.example"]
        while dns.asked["silent1.example"] == asked:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(end)
        assert process.wait(10) == (-9 if end is signal.SIGKILL else 130)
    dns.mended = True
    assert lycosa(*command, cwd=tmp_path).returncode == 0, "without the option nothing is asked again"
    statuses = [row["status"] for row in rows(tmp_path / f"out{suffix}")]
    assert statuses == ["ok", "servfail", "nxdomain", "servfail", "timeout", "ok"]
    assert lycosa(*command, "--retry-failed", cwd=tmp_path).returncode == 0
    assert [row["status"] for row in rows(tmp_path / f"out{suffix}")] == ["ok", "ok", "nxdomain", "ok", "ok", "ok"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.txt", f"out{suffix}"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--retry-failed"], "with an existing output: -o FILE"),
        (["-o", "out.csv", "--retry-failed=ok"], "servfail, timeout, nxdomain, nodata"),
    ],
)
def test_a_retry_that_cannot_be_is_told(options: list[str], told: str, dns: DnsServer, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("a.example\n")
    done = lycosa("names.txt", "--resolver", dns.address, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
