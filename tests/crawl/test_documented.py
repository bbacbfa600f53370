"""What the documents show runs as it is pasted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
from lycosa.simnet import SimulatedInternet

from tools.reference import ROOT

#: The seed and the arguments of the examples.
SEED = '"https://example.com/",'


def examples_of(page: str) -> list[str]:
    """The blocks of Python of a document."""
    blocks = (ROOT / page).read_text(encoding="utf-8").split("```python\n")[1:]
    return [block.split("```")[0] for block in blocks]


def test_a_notebook_gets_a_table_with_texts_in_ten_lines(tmp_path: Path) -> None:
    example = examples_of("docs/outputs.md")[0]
    lines = [line for line in example.splitlines() if line]
    assert len(lines) <= 10
    assert example.count(SEED) == 1
    with SimulatedInternet(hosts=3, pages=5, seed=3, speed=200) as net:
        script = example.replace(SEED, f"job={str(net.job_file())!r},").replace(lines[-1], f"print({lines[-1]})")
        ran = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert ran.returncode == 0, ran.stderr
    assert "http" in ran.stdout, "the table has rows"


def test_the_example_of_outputs_runs_as_pasted(tmp_path: Path) -> None:
    example = examples_of("docs/outputs.md")[1]
    assert example.count(SEED) == 3
    with SimulatedInternet(hosts=3, pages=3, speed=200) as net:
        script = example.replace(SEED, f"job={str(net.job_file())!r},")
        script += "print(table.column_names[-1], pages.column_names[-1])\n"
        ran = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "certificate_sha256 certificate_sha256"
    assert pyarrow.parquet.read_schema(tmp_path / "pages.parquet").names == ["url", "status", "title", "text"]


def test_the_body_of_a_row_is_found_in_the_archive(tmp_path: Path) -> None:
    example = examples_of("docs/outputs.md")[2]
    assert example.count(SEED) == 1
    with SimulatedInternet(hosts=3, pages=5, seed=3, speed=200) as net:
        script = example.replace(SEED, f"job={str(net.job_file())!r},")
        ran = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert ran.returncode == 0, ran.stderr
    table = pyarrow.parquet.read_table(tmp_path / "pages.parquet").to_pylist()
    assert {line.split()[0] for line in ran.stdout.splitlines()} == {row["url"] for row in table if row["status"]}


def test_the_examples_of_stages_of_ones_own_run_as_pasted(tmp_path: Path) -> None:
    requests, batches, stage, prices = examples_of("docs/extending.md")
    with SimulatedInternet(hosts=3, pages=3, speed=200) as net:
        job = f"job={str(net.job_file())!r}"
        script = f"""
import dataclasses, pyarrow.compute, runpy, sys
{requests.replace('"https://example.com/', f'"{net.seeds[0]}')}

def price_of(text):
    return len(text or "")

{prices}
crawl = lycosa.crawl({job}, stages=lambda stages: dataclasses.replace(stages, parse=Prices(stages)))
assert all(outcome.fields["price"] == len(outcome.text) for outcome in crawl if outcome.text)
crawl = lycosa.crawl({job})
{batches}
agent = "mybot/1.0 (me@example.org)"
PlainFetch = runpy.run_path({str(ROOT / "examples/plain_fetch.py")!r})["PlainFetch"]
{stage.replace('"https://example.com/"', job).replace("    user_agent=agent,", "")}
assert len(list(crawl)) > 3
"""
        script = script.replace('user_agent="mybot/1.0 (me@example.org)"', job)
        ran = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert ran.returncode == 0, ran.stderr
    assert "{'customer': 12}" in ran.stdout, "what was attached came with the outcome"
