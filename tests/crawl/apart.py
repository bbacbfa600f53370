"""Stages in processes of their own, spoken to over pipes, and what puts them together again when one of them dies.

A call is a method's name and its arguments, an answer is what it gave: records travel as they are in the log.

fetch: what it had in flight is cancelled, and waits again. parse: the same responses are parsed again. frontier or
store: both begin again, the frontier from its snapshot and the log, and what is in flight is cancelled: nobody knows
which of the last records are in the log, and what may be a captive portal's is taken back before the sink goes on.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lycosa import Outcomes, Request, Requests, Responses, _core
from lycosa.job import Job, make_job, read_job
from lycosa.loop import Control, run
from lycosa.sink import SinkJob
from lycosa.stages import Stages
from lycosa.store.directory import JobDirectory
from lycosa.store.follow import Follower
from lycosa.store.json_lines import JsonLinesSink
from lycosa.store.patient import Patience
from lycosa.store.snapshots import Snapshots
from lycosa.store.turn import Turn

ROLES = ("frontier", "fetch", "parse", "store")

MIB = 1 << 20


class Gone(Exception):
    """The process of a stage is dead."""


class Store:
    """The log, and a sink that follows it."""

    def __init__(self, job: Job, directory: JobDirectory) -> None:
        """Open both."""
        self.log = _core.Log(directory.log, MIB)
        sink = JsonLinesSink(str(directory.path / "pages.jsonl"))
        sink.attach(SinkJob("apart", directory.sinks, "pages.jsonl", ("url", "status", "error")))
        self.follower = Follower(self.log, sink, Patience(lambda: False), MIB, MIB, Turn())

    def __getattr__(self, method: str) -> Any:
        """The log's own methods."""
        return getattr(self.log, method)

    def written(self) -> int:
        """Up to which position of the log the output is on the disk."""
        return self.follower.position()

    def begin(self) -> None:
        """Let the sink follow, at a distance: what may be taken back is not shown."""
        self.log.keep_distance(1.5)
        self.follower.start()

    def finish(self) -> None:
        """Complete the output."""
        self.log.sync()
        self.log.keep_distance(0)
        self.follower.close()
        self.follower.check()


def make(role: str, job: Job, directory: JobDirectory, end: int) -> Any:
    """The stage of a role."""
    match role:
        case "frontier":
            return _core.Frontier(job, _core.Names(job), directory.path, end=end)
        case "fetch":
            return _core.Fetcher(job)
        case "parse":
            return _core.Parser(job)
        case _:
            return Store(job, directory)


def serve(role: str, job: Path, folder: Path, end: int, calls: Connection) -> None:
    """Do what is asked for, until nobody is there any more."""
    stage = make(role, make_job(read_job(job)), JobDirectory(folder), end)
    while True:
        try:
            method, arguments = calls.recv()
        except EOFError:
            return
        try:
            calls.send((True, getattr(stage, method)(*arguments)))
        except Exception as error:
            calls.send((False, error))


class Remote:
    """A stage in another process."""

    def __init__(self, role: str, job: Path, folder: Path) -> None:
        """Nothing is started."""
        self._role, self._job, self._folder = role, job, folder
        self.process: multiprocessing.process.BaseProcess | None = None

    def start(self, end: int = 0) -> None:
        """Start it, when it is dead or never was. end: where the log ends."""
        self.stop()
        self._calls, child = multiprocessing.Pipe()
        arguments = (self._role, self._job, self._folder, end, child)
        self.process = multiprocessing.get_context("forkserver").Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        child.close()

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self._calls.close()
            self.process.kill()
            self.process.join()

    def __getattr__(self, method: str) -> Any:
        """A method of the stage."""
        if method.startswith("_"):
            raise AttributeError(method)

        def call(*arguments: Any) -> Any:
            try:
                self._calls.send((method, arguments))
                is_good, given = self._calls.recv()
            except (EOFError, OSError):
                raise Gone(self._role) from None
            if is_good:
                return given
            raise given

        return call


class SupervisedFetch:
    """A fetch that may die: what it had in flight is cancelled."""

    def __init__(self, remote: Remote) -> None:
        """Nothing is in flight."""
        self.remote, self.waiting = remote, dict[int, Request]()

    def free(self) -> int:
        """Slots that are free."""
        slots: int = self._try("free", 0)
        return slots

    def in_flight(self) -> int:
        """Requests submitted and not completed."""
        return len(self.waiting)

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        self.waiting.update((request.lease, request) for request in requests)
        self._try("submit", None, requests)

    def completed(self, max: int, within: float) -> Responses:
        """Give what is complete."""
        responses: Responses = self._try("completed", Responses(), max, within)
        for response in responses:
            self.waiting.pop(response.request.lease, None)
        if self.lost:
            responses = Responses([*responses, *(request.fail("cancelled") for request in self.lost)])
            self.lost = []
        return responses

    def cancel(self) -> None:
        """End everything in flight at once."""
        self.waiting.clear()
        self._try("cancel", None)

    lost: list[Request] = []  # noqa: RUF012  # replaced, never changed

    def _try(self, method: str, otherwise: Any, *arguments: Any) -> Any:
        try:
            return getattr(self.remote, method)(*arguments)
        except Gone:
            self.remote.start()
            self.lost, self.waiting = [*self.lost, *self.waiting.values()], {}
            return otherwise


class SupervisedParse:
    """A parse that may die: it is given the same again."""

    def __init__(self, remote: Remote) -> None:
        """Around a process."""
        self.remote = remote

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch."""
        while True:
            try:
                outcomes: Outcomes = self.remote.parse(responses)
            except Gone:
                self.remote.start()
            else:
                return outcomes


class Apart:
    """A crawl of four processes."""

    def __init__(self, job: Path, folder: Path) -> None:
        """Start them."""
        self.remotes = {role: Remote(role, job, folder) for role in ROLES}
        self.seeds = make_job(read_job(job)).checked_seeds()
        frontier, store = self.remotes["frontier"], self.remotes["store"]
        fetch, parse = SupervisedFetch(self.remotes["fetch"]), SupervisedParse(self.remotes["parse"])
        self.stages = Stages(frontier=frontier, fetch=fetch, parse=parse, log=store)
        self.snapshots = Snapshots(self.stages.frontier, self.stages.log, place="apart", log_bytes=MIB, seconds=0)
        self.recoveries = 0
        for remote in self.remotes.values():
            remote.start()
        self._seeded = False

    def outcomes(self) -> Iterator[Outcomes]:
        """Crawl to the end, whoever dies meanwhile, and complete the output."""
        done = False
        while not done:
            try:
                self._recover()
                for batch in run(self.stages, Control()):
                    self.stages.log.doubt(self.stages.frontier.doubted_since())
                    self.snapshots.save_if_due()
                    yield batch
                self.remotes["store"].finish()
                done = True
            except Gone:
                self.recoveries += 1

    def stop(self) -> None:
        """End all processes."""
        for remote in self.remotes.values():
            remote.stop()

    def _recover(self) -> None:
        """Start who is dead, and have the frontier know what the log knows."""
        store, frontier = self.remotes["store"], self.remotes["frontier"]
        store.start()
        frontier.start(store.end())
        self.stages.fetch.cancel()
        self.snapshots.restore()
        if self._seeded:
            self.stages.log.append(self.stages.frontier.doubt_last(store.written()))
        self.stages.log.append_seeds(self.seeds)
        self.stages.frontier.add(self.seeds)
        self._seeded = True
        store.begin()
