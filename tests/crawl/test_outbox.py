"""A job that two frontiers share: each fetches what it owns, and what the other one owns goes to an outbox."""

from __future__ import annotations

from pathlib import Path

from lycosa import _core
from lycosa.job import make_job, read_job
from lycosa.loop import Control, run
from lycosa.simnet import SimulatedInternet
from lycosa.stages import Stages

NODES = ("left", "right")


class Half:
    """One of two crawls of the same job."""

    def __init__(self, node: str, job_file: Path, folder: Path) -> None:
        job = make_job(read_job(job_file))
        self.node, self.ring = node, _core.Ring(dict.fromkeys(NODES, 1.0))
        self.log = _core.Log(folder / node / "log", 1 << 20)
        self.frontier = _core.Frontier(
            job, _core.Names(job), folder / node, task=("shared", node), ownership=(self.ring, "host", node)
        )
        self.stages = Stages(self.frontier, _core.Fetcher(job), _core.Parser(job), self.log)
        self.fetched: list[str] = []
        self.tasks: set[tuple[str, str]] = set()

    def crawl(self) -> None:
        """Fetch all that is known now."""
        for batch in run(self.stages, Control()):
            for outcome in batch:
                self.fetched.append(outcome.url)
                self.tasks.add((outcome.request.job, outcome.request.task))
                assert self.ring.owners(_core.ring_key(outcome.url)) == [self.node]


def test_each_of_two_frontiers_fetches_what_it_owns_and_together_everything(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=60, pages=15, speed=200) as net:
        job_file = net.job_file()
        halves = {node: Half(node, job_file, tmp_path) for node in NODES}
        for half in halves.values():
            half.frontier.add(net.seeds)
        rounds, handed_over = 0, 1
        while handed_over:
            handed_over, rounds = 0, rounds + 1
            for half in halves.values():
                half.crawl()
                for owner, links in half.frontier.take_outbox().items():
                    assert owner != half.node
                    # Between processes they would travel as these bytes.
                    links = _core.Requests.decode(links.encode())
                    halves[owner].log.append_requests(links)
                    handed_over += halves[owner].frontier.add_requests(links)
                half.frontier.outbox_delivered()
        ledger = net.report()
    assert ledger["coverage"]["ratio"] == 1.0
    assert ledger["repeats"]["after_answer"] == 0, "no URL is fetched by both"
    assert rounds >= 2, "links led from one to the other"
    assert all(len(half.fetched) > 100 for half in halves.values())
    assert {task for half in halves.values() for task in half.tasks} == {("shared", node) for node in NODES}
    recorded = [int(half.log.summary()["pages"]) for half in halves.values()]
    assert sum(recorded) >= ledger["coverage"]["served"]
