"""What a worker tells by HTTP: ``/metrics`` for Prometheus, ``/healthz`` and ``/readyz`` for Kubernetes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from lycosa import __version__
from lycosa.cluster.member import Member
from lycosa.cluster.output import OutputWriter
from lycosa.cluster.ownership import State
from lycosa.cluster.relay import RelayedParse
from lycosa.status_server import PROMETHEUS, Page, StatusServer, health, metric_head, metric_line, process_lines

#: Seconds between two looks at a member's counts: for all its partitions, that takes some milliseconds. And at how
#: many partitions it owns.
PERIOD, STATES = 2.0, 0.1

#: Seconds after which a lane that has not come by hangs. A commit may take 8 s, a partition that is given back 5 s.
HANGS = 60.0


class Figure(NamedTuple):
    """A metric that is one of a frontier's counts: its name without ``lycosa_worker_``, kind, help."""

    name: str
    kind: str
    says: str


#: Sums over the partitions of a worker, by the names of counts.
FIGURES = {
    "ready": Figure(
        "ready_addresses",
        "gauge",
        "Addresses of which a request may start now: more than fetch.slots mean that further workers help.",
    ),
    "waiting": Figure("waiting_urls", "gauge", "URLs that wait."),
    "leased": Figure("leased_urls", "gauge", "URLs that are being fetched."),
    "known": Figure("known_urls", "gauge", "URLs that are known."),
    "done": Figure("done_urls", "gauge", "URLs that are done."),
    "failed": Figure("failed_urls", "gauge", "URLs that failed."),
    "refused": Figure("refused_urls", "gauge", "URLs that were refused, such as by robots.txt."),
    "hosts": Figure("hosts", "gauge", "Hosts that are known."),
}


class Figures(Protocol):
    """What a worker tells of itself, whatever it does. For any thread."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of a scrape."""

    def trouble(self) -> str | None:
        """Return what is wrong; `None`: nothing is."""

    def unready(self) -> str | None:
        """Return why the worker does not work yet; `None`: it does."""


class WorkerFigures:
    """What a lane tells, for other threads. The lane's own thread calls ``look``, any other one the rest."""

    def __init__(
        self, job: str, member: Member, writers: Sequence[OutputWriter], relay: RelayedParse | None = None
    ) -> None:
        """Know nothing yet. job: the name of the job. writers: of outputs. relay: to parsers, if there are some."""
        self._job, self._writers, self._relay = job, writers, relay
        self._member, self._seen = member, time.monotonic()
        self._looked = self._looked_at_states = 0.0
        self._counts: dict[str, int] = {}
        self._partitions: dict[str, int] = {}

    def look(self) -> None:
        """Take the figures, if it is time."""
        self._seen, ownership, counts = time.monotonic(), self._member.ownership, Counter[str]()
        if self._seen >= self._looked_at_states + STATES:
            self._looked_at_states = self._seen
            states = Counter(ownership.state(partition) for partition in ownership.assigned())
            self._partitions = {state.value: states[state] for state in State}
        if self._seen < self._looked + PERIOD:
            return
        self._looked = self._seen
        for partition in ownership.working():
            counts.update(self._member.parts[partition].counts())
        self._counts = {name: counts[name] for name in FIGURES}

    def trouble(self) -> str | None:
        """Return what is wrong; `None`: nothing is."""
        silent = time.monotonic() - self._seen
        return f"the lane has not come by for {silent:.0f} s" if silent > HANGS else None

    def unready(self) -> str | None:
        """Return why the worker does not work yet; `None`: it owns partitions."""
        return None if self._partitions.get(State.OWNED.value) else "no partition is owned yet"

    def lines(self) -> Iterator[str]:
        """Yield the lines of a scrape."""
        partitions, counts, member, writers = self._partitions, self._counts, self._member, self._writers
        yield from metric_head("lycosa_worker_partitions", "gauge", "Partitions of this worker, by their states.")
        for state, count in partitions.items():
            yield metric_line("lycosa_worker_partitions", f'state="{state}"', count)
        for name, figure in FIGURES.items():
            yield from metric_head(f"lycosa_worker_{figure.name}", figure.kind, figure.says)
            yield metric_line(f"lycosa_worker_{figure.name}", f'crawl="{self._job}"', counts.get(name, 0))
        totals: tuple[tuple[str, str, float], ...] = (
            ("commits_total", "Transactions that were committed.", member.commits),
            ("takeovers_total", "Partitions that were taken over.", member.takeovers),
            (
                "takeover_seconds_total",
                "Seconds from the assignment of partitions until requests could be taken, of all takeovers.",
                member.takeover_seconds,
            ),
            ("losses_total", "How often all partitions were dropped and loaded again.", member.losses),
            ("dead_letters_total", "Messages of links and journals that could not be read.", member.dead_letters),
        )
        for name, says, total in totals:
            yield from metric_head(f"lycosa_worker_{name}", "counter", says)
            yield metric_line(f"lycosa_worker_{name}", "", total)
        if (relay := self._relay) is not None:
            says = "Responses that were parsed: by parsers, and by this worker since it had no answer."
            yield from metric_head("lycosa_worker_parsed_total", "counter", says)
            for where, count in (("parser", relay.away), ("worker", relay.here)):
                yield metric_line("lycosa_worker_parsed_total", f'by="{where}"', count)
        yield from output_lines(writers)
        yield from metric_head("lycosa_worker_longest_takeover_seconds", "gauge", "The longest takeover.")
        yield metric_line("lycosa_worker_longest_takeover_seconds", "", member.longest_takeover)
        yield from process()


def output_lines(writers: Sequence[OutputWriter]) -> Iterator[str]:
    """Yield the lines about outputs."""
    for name, kind, says, values in (
        ("behind", "gauge", "Records of pages that are released, and not written.", [w.behind for w in writers]),
        ("failures_total", "counter", "How often a file was begun anew.", [w.failures for w in writers]),
    ):
        yield from metric_head(f"lycosa_output_{name}", kind, says)
        for writer, value in zip(writers, values, strict=True):
            yield metric_line(f"lycosa_output_{name}", f'output="{_label(writer.name)}"', value)


def process() -> Iterator[str]:
    """Yield the lines about version and process."""
    yield from metric_head("lycosa_worker_info", "gauge", "Version, as a label.")
    yield metric_line("lycosa_worker_info", f'version="{__version__}"', 1)
    yield from process_lines()


def _label(text: str) -> str:
    """A text without what labels cannot have."""
    return "".join(letter for letter in text if letter.isprintable() and letter not in '"\\')


def serve_metrics(figures: Figures, address: str) -> StatusServer:
    """Serve the figures at an address and port. Raises SettingError or LycosaError."""
    return StatusServer(
        address,
        {
            "/metrics": lambda: Page("200 OK", PROMETHEUS, "".join(f"{line}\n" for line in figures.lines())),
            "/healthz": lambda: health(figures.trouble()),
            "/readyz": lambda: health(figures.trouble() or figures.unready()),
        },
    )
