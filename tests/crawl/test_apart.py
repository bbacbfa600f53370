"""Frontier, fetch, parse and store in four processes over pipes, killed at random: nothing is lost."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from lycosa.simnet import SimulatedInternet

from tests.crawl.apart import ROLES, Apart
from tests.crawl.killed import judge_killed

#: Requests that a killed crawl may have had in flight: its slots.
SLOTS = 16


class Killer(threading.Thread):
    """Kills one of the processes after another."""

    def __init__(self, apart: Apart, kills: int) -> None:
        super().__init__(name="killer", daemon=True)
        self.apart, self.left, self.killed = apart, kills, dict.fromkeys(ROLES, 0)
        self.random, self.ended = random.Random(kills), threading.Event()  # noqa: S311

    def run(self) -> None:
        """Kill."""
        while self.left and not self.ended.wait(self.random.uniform(0.1, 0.9)):
            role = self.random.choice(ROLES)
            process = self.apart.remotes[role].process
            if process is not None and process.is_alive():
                process.kill()
                self.killed[role] += 1
                self.left -= 1


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.soak)])
def test_four_processes_lose_nothing_whichever_of_them_dies(kills: int, tmp_path: Path) -> None:
    with SimulatedInternet(hosts=100, pages=20 + kills // 2, seed=kills, speed=20) as net:
        job = net.job_file()
        job.write_text(f"{job.read_text()}\n[fetch]\nslots = {SLOTS}\n")
        apart = Apart(job, tmp_path)
        killer = Killer(apart, kills)
        killer.start()
        try:
            batches = sum(1 for _ in apart.outcomes())
        finally:
            killer.ended.set()
            killer.join()
            apart.stop()
        ledger = net.report()
    killed = sum(killer.killed.values())
    assert killed == kills, "the crawl is long enough to be killed in"
    assert batches > kills
    assert apart.recoveries > 0
    judge_killed(ledger, tmp_path / "pages.jsonl", killed * SLOTS)
