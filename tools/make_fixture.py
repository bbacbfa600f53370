"""Make the job directories of this version that later ones must open: ``tools/make_fixture.py tests/fixtures/vX.Y``.

Each is a crawl of a small simulated Internet that was interrupted: ``killed`` by SIGKILL with its whole log,
``trimmed`` by Ctrl-C after the log's first files had been removed. Queues and known URLs are on the disk in both.
Beside them: a file of names, and ``fixtures.json``, which says of which Internet they are.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import lycosa
from lycosa.job import Job
from lycosa.names import Cache
from lycosa.session import Crawl
from lycosa.settings import StoreSettings
from lycosa.simnet import SimulatedInternet

#: The Internet of all fixtures. The ports are part of their URLs: below those that the system gives to clients.
WORLD: dict[str, Any] = {"hosts": 10, "pages": 60, "seed": 7, "speed": 5, "http_port": 17_871, "dns_port": 17_872}

#: Below what a job may set, so that a small crawl needs the disk as a large one does.
SMALL = {"queue_memory": 1, "seen_memory": 6_000, "snapshot_bytes": 40_000, "snapshot_interval": 0.0}

#: Names in the cache's file, with their addresses or what became of them; for a day.
NAMES: dict[str, list[str] | str] = {f"host{n}.example.org": [f"192.0.2.{n}"] for n in range(1, 21)}
NAMES["gone.example.org"] = "nxdomain"


def main(folder: Path) -> None:
    """Make all fixtures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("killed", "trimmed"):
        with tempfile.TemporaryDirectory() as temporary, SimulatedInternet(**WORLD) as net:
            job, directory = net.job_file(Path(temporary) / "job.toml"), Path(temporary) / name
            command = [sys.executable, __file__, "--crawl", str(job), str(directory)]
            status = subprocess.run(command).returncode
            assert status == (-signal.SIGKILL if name == "killed" else 0), status
            first = segments(directory)[0].stem
            assert (int(first) > 0) == (name == "trimmed"), first
            _allow(directory / "job.json")
            _pack(directory, folder / f"{name}.tar.xz")
    names = folder / "names.cache"
    with Cache(names, capacity=1_000) as cache:
        cache.put_many([(name, answer, 86_400) for name, answer in NAMES.items()])
    _pack(names, folder / "names.cache.tar.xz")
    names.unlink()
    about = {"version": lycosa.__version__, "world": WORLD, "names": NAMES}
    (folder / "fixtures.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def crawl(job: str, directory: Path) -> None:
    """Crawl until everything is on the disk that a fixture must have; then end as its name says."""
    trimmed = directory.name == "trimmed"
    outputs = [str(directory / name) for name in ("pages.jsonl", "pages.parquet")]
    store: StoreSettings = {"fields": ["url", "status", "error"], "retain": "needed" if trimmed else "all"}
    begun = lycosa.crawl(job=job, directory=directory, output=outputs, store=store)
    changed = {
        "frontier": begun.plan.job.frontier.model_copy(update=SMALL),
        "store": begun.plan.job.store.model_copy(update={"segment_bytes": 50_000}),
    }
    plan = begun.plan
    small: Job = plan.job.model_copy(update=changed)
    here = Crawl(dataclasses.replace(plan, job=small))
    for _ in here.batches():
        on_disk = all(any((directory / name).glob("*")) for name in ("queues", "seen"))
        snapshots = sorted((directory / "snapshots").glob("*.snapshot"))
        logged = int(segments(directory)[-1].stem) + segments(directory)[-1].stat().st_size
        # The log has more than the newest snapshot, and the outputs have some of it.
        is_behind = len(snapshots) == 2 and logged > int(snapshots[-1].stem) + 5_000
        if on_disk and is_behind and (directory / "pages.jsonl").stat().st_size > 0:
            if not trimmed:
                os.kill(os.getpid(), signal.SIGKILL)
            here.abort()


def segments(directory: Path) -> list[Path]:
    """The files of a log, oldest first."""
    return sorted((directory / "log").glob("*.log"))


def _allow(record: Path) -> None:
    """Make the recorded settings those that a job may have."""
    content = json.loads(record.read_text(encoding="utf-8"))
    frontier = content["settings"]["frontier"]
    frontier |= {name: Job().frontier.model_dump()[name] for name in SMALL}
    frontier |= {"queue_memory": 1 << 20, "seen_memory": 16 << 20}
    content["settings"]["store"]["segment_bytes"] = 1 << 20
    record.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _pack(path: Path, archive: Path) -> None:
    """Pack a file or a directory."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        tar.add(path, path.name)


if __name__ == "__main__":
    if sys.argv[1] == "--crawl":
        crawl(sys.argv[2], Path(sys.argv[3]))
    else:
        shutil.rmtree(sys.argv[1], ignore_errors=True)
        main(Path(sys.argv[1]))
