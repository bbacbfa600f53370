"""What a start costs: with loose bars, so that a busy machine passes; the benchmark `start` has the strict ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.start import CRAWL, IMPORT, crawl_command, one_page

#: How much longer a start may take here than the benchmark allows.
LOOSE = 4

#: What a crawl of one page has no use for.
UNUSED = {
    *("asyncio", "ssl", "http", "email", "importlib.metadata", "importlib.resources", "secrets", "random"),
    *("tempfile", "shutil", "queue", "difflib", "rich", "pyarrow", "lycosa.lanes", "lycosa.resume", "lycosa.names"),
    *("lycosa.store.parquet", "lycosa.reference", "lycosa.simnet"),
}


def cpu(*commands: list[str]) -> float:
    """The least CPU of some commands, in milliseconds."""
    least = float("inf")
    for command in commands:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        least = min(least, (usage.ru_utime + usage.ru_stime) * 1e3)
    return least


def imported(*command: str) -> set[str]:
    """The modules that a command of Python imports."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, timeout=60, check=True
    )
    lines = [line for line in ran.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_an_import_is_short_and_brings_neither_models_nor_event_loops() -> None:
    assert cpu(*[[sys.executable, "-c", "import lycosa"]] * 3) < LOOSE * IMPORT
    modules = imported("-c", "import lycosa")
    assert "lycosa._core" in modules
    assert modules & {*UNUSED, "pydantic", "logging", "dataclasses", "argparse", "json"} == set()


def test_a_crawl_of_one_page_is_short_and_imports_what_it_uses(tmp_path: Path) -> None:
    with one_page() as root:
        assert cpu(*(crawl_command(root, tmp_path / str(number)) for number in range(3))) < LOOSE * CRAWL
        modules = imported(*crawl_command(root, tmp_path / "last")[1:])
    (page,) = map(json.loads, (tmp_path / "last" / "pages.jsonl").read_text().splitlines())
    assert (page["status"], page["title"]) == (200, "One page")
    assert "lycosa.running" in modules
    assert modules & UNUSED == set()
