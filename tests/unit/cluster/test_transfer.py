"""The log of one machine, as the first snapshots of the partitions of a cluster."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lycosa import _core
from lycosa.assemble import shared_clocks
from lycosa.cluster.broker import StateLost
from lycosa.cluster.budget import Budget
from lycosa.cluster.frontier_part import Copier, FrontierPart, caps_of
from lycosa.cluster.storage import IMPORTED, SharedSnapshots
from lycosa.cluster.transfer import _nested, _store_snapshots
from lycosa.fetch import ScriptedFetch
from lycosa.job import Job, make_job
from lycosa.loop import Control, run
from lycosa.stages import Stages

from tests.unit.cluster.telling import pass_on

PARTITIONS, SITES = 8, 40

JOB = make_job(
    {
        "user_agent": "test/1.0 (me@example.org)",
        "allow_addresses": ["127.0.0.0/8"],
        "scope": "any",
        "max_pages": 1_000,
        "politeness": {"robots": False, "host_interval": 0, "address_interval": 0, "share_clocks": False},
        "cluster": {"partitions": PARTITIONS},
    }
)


def page(url: str) -> tuple[int, list[tuple[str, str]], bytes]:
    """A page that links to the next site, and to two more of its own."""
    site = int(url.split("/")[2].rpartition(".")[2])
    links = [f"http://127.0.0.{site % SITES + 1}/", "/1", "/2"]
    return 200, [("Content-Type", "text/html")], "".join(f'<a href="{link}">' for link in links).encode()


def crawled(directory: Path, pages: int) -> None:
    """The log of a crawl that has fetched so many pages."""
    log = _core.Log(directory, 1 << 20, commit_interval=0)
    job = JOB.model_copy(update={"max_pages": pages})
    frontier = _core.Frontier(job, _core.Names(job, log.clock))
    stages = Stages(frontier=frontier, fetch=ScriptedFetch(page), parse=_core.Parser(job), log=log)
    log.append_seeds(["http://127.0.0.1/"])
    frontier.add(["http://127.0.0.1/"])
    for _ in run(stages, Control()):
        pass
    log.sync()


class Loaded:
    """The partitions of a state directory."""

    def __init__(self, job: Job, folder: Path, state: Path) -> None:
        clock = _core.Clock()
        names, partitions = _core.Names(job, clock, is_shared=True), _core.Partitions(PARTITIONS, "domain")
        shared = shared_clocks(job, clock, PARTITIONS, shares_pages=False, caps=caps_of(job, 1.0))
        assert shared is not None
        self.copier = Copier(SharedSnapshots(state), None)
        self.parts = [
            FrontierPart(
                number, job, partitions, "domain", names, clock, shared, folder / str(number), self.copier, None
            )
            for number in range(PARTITIONS)
        ]
        self.partitions = partitions

    def close(self) -> None:
        """Let go of all files."""
        for part in self.parts:
            part.close()
        self.copier.close()


def test_each_partition_begins_with_what_the_log_has_of_it(tmp_path: Path) -> None:
    crawled(tmp_path / "log", pages=50)
    scratch, state = tmp_path / "scratch", tmp_path / "state"
    scratch.mkdir()
    state.mkdir()
    _store_snapshots(JOB, tmp_path / "log", scratch, SharedSnapshots(state))
    (state / IMPORTED).touch()
    loaded = Loaded(JOB, tmp_path / "own", state)
    budgets, counts, waiting = [], Counter[str](), set[str]()
    for part in loaded.parts:
        position, beside = part.load(0)
        assert position == 0
        assert len(part.restored(True, 0)) == 0
        budgets.append(Budget.decode(beside))
        counts.update(part.counts())
        part.set_max_pages(1_000)
    for _ in range(3):  # needs are told, then loans
        pass_on(dict(enumerate(loaded.parts)))
        for number, part in enumerate(loaded.parts):
            requests = part.take(1_000)
            waiting |= {request.url for request in requests}
            assert set(loaded.partitions.split_requests(requests)) <= {number}, "its leases are its own"
    loaded.close()
    assert counts["pages"] == 50
    assert sum(budget.lent for budget in budgets) == sum(budgets[0].loans.values()) == 50
    assert waiting, "what the last pages link to"
    assert counts["known"] == 50 + counts["waiting"], "nothing else is known"


def test_a_partition_without_the_snapshot_that_was_imported_does_not_begin_anew(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    loaded = Loaded(JOB, tmp_path / "own", state)
    assert loaded.parts[0].load(0) == (0, b"")
    (state / IMPORTED).touch()
    with pytest.raises(StateLost, match="its snapshots are gone"):
        loaded.parts[1].load(0)
    loaded.close()


def test_settings_by_name_are_settings_by_section() -> None:
    assert _nested({"scope": "any", "fetch.slots": 3, "fetch.ca_file": None}) == {
        "scope": "any",
        "fetch": {"slots": 3, "ca_file": None},
    }
