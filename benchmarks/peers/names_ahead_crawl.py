"""One crawl of the `internet` profile; prints what it took: `python -m benchmarks.peers.names_ahead_crawl JSON`."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import lycosa
from lycosa import simnet
from lycosa.simnet import SimulatedInternet


def main() -> None:
    """Crawl, and print one line of JSON."""
    settings = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as folder:
        profile = _known(Path(folder)) if settings["known"] else "internet"
        world = {key: settings[key] for key in ("hosts", "pages", "seed", "speed")}
        with SimulatedInternet(**world, profile=profile) as net:
            crawl = lycosa.crawl(
                job=net.job_file(),
                directory=Path(folder, "crawl"),
                names={"ahead": settings["ahead"]},
                fetch={"slots": settings["slots"]},
            )
            begin = last = time.monotonic()
            pages = 0
            for batch in crawl.batches():
                if fetched := sum(page.status is not None for page in batch.last()):
                    pages, last = pages + fetched, time.monotonic()
            report = crawl.report()
            ledger = net.report()
    print(
        json.dumps(
            {
                "pages": pages,
                "seconds": last - begin,
                "idle": report["frontier"]["idle_for_names_us"] / 1e6,
                "questions": report["names"]["questions"],
                "violations": ledger["rates"]["host"]["count"] + ledger["rates"]["address"]["count"],
            }
        )
    )


def _known(folder: Path) -> str:
    """Give the profile with names whose answers take no time and are never lost: as if all were known beforehand."""
    text = (Path(simnet.__file__).parent / "profiles" / "internet.toml").read_text(encoding="utf-8")
    lines = [f"{key} = 0.0" for key in tomllib.loads(text)["dns"]["latency"]]
    start = text.index("[dns.latency]")
    end = text.index("\n[", start)
    text = text[:start] + "[dns.latency]\n" + "\n".join(lines) + "\n" + text[end:]
    file = folder / "known.toml"
    file.write_text(text.replace("loss = 0.01", "loss = 0.0"))
    return str(file)


if __name__ == "__main__":
    main()
