"""A crawl that is suspended for longer than it may be ends, gives up nothing, and goes on when started again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lycosa.end import SUSPENDED
from lycosa.simnet import SimulatedInternet, Trouble


@pytest.mark.parametrize(
    ("trouble", "longest", "cause"),
    [
        # Where nobody has ever answered a twelfth of it is waited.
        ("uplink-refused", 1_200, "no site answered"),
        ("resolver-silent", 100, "no DNS resolver gave answers"),
    ],
)
def test_a_suspension_that_lasts_too_long_ends_the_run_and_loses_nothing(
    trouble: Trouble, longest: int, cause: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "lycosa", "crawl", "--dir", str(tmp_path / "job")]
    with SimulatedInternet(hosts=12, pages=4, speed=20, host_interval=0.1) as net:
        given = ["--job", str(net.job_file()), "--set", f"frontier.longest_suspension={longest}"]
        net.trouble(trouble)
        ended = subprocess.run([*command, *given], capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == SUSPENDED, ended.stderr
        assert f"ended because {cause} for longer than frontier.longest_suspension" in ended.stdout + ended.stderr
        assert f"lycosa crawl --dir {tmp_path / 'job'}" in ended.stdout + ended.stderr
        net.calm()
        again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert again.returncode == 0, again.stderr
        report = net.report()
    assert report["coverage"]["ratio"] == 1.0
