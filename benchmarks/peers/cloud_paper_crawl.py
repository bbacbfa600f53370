"""One crawl of ``cloud_paper``: ``python -m benchmarks.peers.cloud_paper_crawl FILE``; prints pages by the second."""

from __future__ import annotations

import dataclasses
import importlib
import json
import resource
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lycosa
from lycosa import Stages
from lycosa.simnet import USER_AGENT

from benchmarks.peers.cloud_paper_blocking import BlockingFetch
from benchmarks.peers.cloud_paper_stages import Dedup, Known, ResolvingFetch

if TYPE_CHECKING:
    from lycosa.settings import NamesSettings, PolitenessSettings

#: Room of the Bloom filter, from the start, and its false positives.
ROOM, FALSE = 1_000_000, 0.001

#: The published system states no intervals, nor that it reads robots.txt: in a simulated Internet nobody is hurt.
POLITENESS: PolitenessSettings = {
    "share_clocks": False,  # each crawl has a new Internet
    "robots": False,
    "host_interval": 0,
    "address_interval": 0,
    "response_multiple": 0,
    "host_concurrency": 4,
    "address_concurrency": 64,
}


def main() -> None:
    """Crawl for so many seconds, and print one line of JSON."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    changed = Changed(settings)
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        crawl = lycosa.crawl(
            *settings["seeds"],
            directory=Path(folder, "crawl"),
            stages=changed.stages if changed.is_any else None,
            scope="any",
            user_agent=USER_AGENT,
            allow_addresses=["127.0.0.0/8"],
            names=_names(settings, Path(folder)),
            politeness=POLITENESS,
            fetch={"slots": settings["slots"]},
        )
        end = threading.Timer(settings["seconds"], crawl.abort)
        counts: Counter[int] = Counter()
        begin, cpu = time.monotonic(), time.process_time()
        end.start()
        for batch in crawl.batches():
            second = int(time.monotonic() - begin)
            counts[second] += sum(outcome.status is not None for outcome in batch.last())
        cpu, seconds = time.process_time() - cpu, time.monotonic() - begin
        end.cancel()
    pages = [counts[second] for second in range(int(settings["seconds"]))]
    links, taken = changed.decided
    made = {"pages": pages, "cpu": cpu, "seconds": seconds, "links": links, "dedup": taken}
    print(json.dumps(made))


def _names(settings: dict[str, Any], folder: Path) -> NamesSettings:
    """Return how the frontier gets addresses: without the optimiser from a file, and requests ask for themselves."""
    if settings["dns"]:
        return {"resolvers": [settings["resolver"]]}
    file = folder / "hosts"
    file.write_text("".join(f"{address} {name}\n" for name, address in settings["hosts"].items()))
    return {"resolvers": [settings["resolver"]], "hosts_file": str(file)}


class Changed:
    """The stages of a crawl with the factors that its settings change."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """settings: ``dedup`` (None, "pass", "table" or "bloom"), ``dns``, ``threads`` (0: asynchronous)."""
        self._settings = settings
        host, port = settings["resolver"].rsplit(":", 1)
        self._server = (host, int(port))
        self._dedup: Dedup | None = None

    @property
    def is_any(self) -> bool:
        """Whether a factor is changed."""
        return bool(self._settings["dedup"] or self._settings["threads"] or not self._settings["dns"])

    @property
    def decided(self) -> tuple[int, float]:
        """Links that another structure has decided about, and its CPU seconds."""
        return (self._dedup.links, self._dedup.seconds) if self._dedup is not None else (0, 0.0)

    def stages(self, stages: Stages) -> Stages:
        """Replace stages: called once by the crawl."""
        settings, server = self._settings, self._server
        if settings["dedup"]:
            self._dedup = Dedup(stages.parse, _known(settings["dedup"]))
            stages = dataclasses.replace(stages, parse=self._dedup)
        if settings["threads"]:
            fetch = BlockingFetch(settings["threads"], USER_AGENT, None if settings["dns"] else server)
            return dataclasses.replace(stages, fetch=fetch)
        if not settings["dns"]:
            return dataclasses.replace(stages, fetch=ResolvingFetch(stages.fetch, settings["slots"], server))
        return stages


def _known(dedup: str) -> Known | None:
    """Return a structure of known URLs."""
    if dedup == "table":
        return set[str]()
    if dedup == "bloom":
        bloom: Known = importlib.import_module("rbloom").Bloom(ROOM, FALSE)  # only this variant needs it
        return bloom
    return None


if __name__ == "__main__":
    main()
