"""`tools/run_tests.py`: all tests run, and how either half ends is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PASSES = "def test_it():\n    pass\n"
FAILS = "def test_it():\n    assert 1 == 2\n"
#: A server that its test ends, as fixtures do, and says so; and the test waits.
WAITS = """
import pathlib, time
def test_it():
    here = pathlib.Path(__file__)
    here.with_suffix(".started").touch()
    try:
        time.sleep(60)
    finally:
        here.with_suffix(".ended").touch()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the runner and nothing else."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/run_tests.py", tmp_path / "tools")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    return tmp_path


def write(project: Path, tests: dict[str, str]) -> None:
    """Write tests, by their file."""
    for name, text in tests.items():
        path = project / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def start(project: Path) -> subprocess.Popen[str]:
    """Start the runner."""
    command = [sys.executable, "-m", "tools.run_tests"]
    return subprocess.Popen(
        command,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("crawl", "interop", "ends"),
    [
        (PASSES, PASSES, (0, 0)),
        (FAILS, PASSES, (1, 0)),
        (PASSES, FAILS, (0, 1)),
        (PASSES, "import what_does_not_exist\n", (0, 2)),
    ],
)
def test_a_failure_in_either_half_is_a_failure(
    project: Path, crawl: str, interop: str, ends: tuple[int, int]
) -> None:
    """The last line says which half, and what the other half printed is shown."""
    write(project, {"crawl/test_one.py": crawl, "interop/test_two.py": interop, "test_three.py": PASSES})
    run = start(project)
    told, _ = run.communicate(timeout=60)
    last = told.splitlines()[-1]
    assert last == f"crawl and dispatch: exit status {ends[0]}; the other half: exit status {ends[1]}", told
    assert run.returncode == (1 if any(ends) else 0)


def test_each_test_runs_once(project: Path) -> None:
    """Whichever folder it is in, and in none."""
    counting = "def test_it():\n    with open(__file__ + '.ran', 'a') as file:\n        file.write('x')\n"
    files = ["unit/test_a.py", "crawl/test_b.py", "interop/deep/test_c.py", "new/test_d.py", "test_e.py"]
    write(project, dict.fromkeys(files, counting))
    run = start(project)
    told, _ = run.communicate(timeout=60)
    assert run.returncode == 0, told
    assert [(project / "tests" / f"{file}.ran").read_text() for file in files] == ["x"] * len(files)


@pytest.mark.parametrize("end", [lambda pid: os.kill(pid, signal.SIGTERM), lambda pid: os.killpg(pid, signal.SIGINT)])
def test_who_ends_it_ends_both_halves(project: Path, end: Callable[[int], None]) -> None:
    """Each test ends what it has started before the runner ends."""
    write(project, {"crawl/test_one.py": WAITS, "interop/test_two.py": WAITS})
    run = start(project)
    files = [project / "tests" / name for name in ("crawl/test_one", "interop/test_two")]
    deadline = time.monotonic() + 30
    while not all(file.with_suffix(".started").exists() for file in files):
        assert time.monotonic() < deadline, "tests have not started"
        time.sleep(0.05)
    end(run.pid)  # at a terminal, Ctrl-C goes to all processes
    told, _ = run.communicate(timeout=30)
    assert all(file.with_suffix(".ended").exists() for file in files), told
    assert run.returncode != 0
