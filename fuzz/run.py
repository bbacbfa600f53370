#!/usr/bin/env python3
"""Builds the fuzz targets with coverage counters and runs libFuzzer on each: see README.md in this folder.

    python3 fuzz/run.py [--seconds 60 | --runs N] [--jobs 2] [--record] [TARGET ...]

Needs cargo and a C++ compiler; any stable Rust will do. Ends with 1 when an invariant did not hold.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import datetime
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
README = FUZZ / "README.md"
# What is built and grown: beside the other artefacts.
BUILT = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
WORK = BUILT / "fuzzing"

# What `cargo fuzz` asks of the compiler, but for a sanitizer, which needs a nightly one, and for compares (rustc.sh).
RUSTFLAGS = " ".join(
    ["-Cpasses=sancov-module", "--cfg=fuzzing"]
    + [f"-Cllvm-args=-sanitizer-coverage-{what}" for what in ("level=4", "inline-8bit-counters", "pc-table")]
)

# The longest file that a target may make.
MOST_FILE_BYTES = 64 << 20

# The longest inputs, in bytes, where 4,096 do not fit: each is beyond the limits of its target (253 of a name, 1,024
# in which a page says its encoding, 1,024 of cookies that are kept), since every byte more makes all inputs slower.
MAX_BYTES = {
    "url": 1_024,
    "name": 320,
    "records": 1_024,
    "packets": 1_024,
    "local_names": 768,
    "names_cache": 256,
    "cache_file": 512,
    "codings": 1_536,
    "html": 2_048,
    "text": 2_048,
    "charset": 1_536,
    "headers": 1_024,
    "redirect": 1_024,
    "robots": 1_536,
    "cookies": 2_048,
    "retry_after": 256,
    "log": 1_024,
    "log_repair": 512,
    "batches": 1_536,
}

# prctl(2): memory of the children in pages of 4 KiB.
PR_SET_THP_DISABLE = 41


@dataclass
class Outcome:
    """What a run of a target came to."""

    target: str
    executions: int
    edges: int
    finding: Path | None
    log: str


def targets() -> list[str]:
    """All targets, in the order of the manifest."""
    return [each["name"] for each in tomllib.loads((FUZZ / "Cargo.toml").read_text())["bin"]]


def build() -> Path:
    """Builds all targets and makes their seeds; gives the folder of the binaries."""
    host = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True))
    assert host, "rustc names its host"
    # With a target named, the flags do not reach build scripts and macros.
    build = ["cargo", "build", "-q", "--locked", "-p", "lycosa-fuzz", "--profile", "fuzz", "--bins"]
    build += ["--features", "libfuzzer", "--target", host[1]]
    flags = {"RUSTFLAGS": RUSTFLAGS, "RUSTC_WRAPPER": str(FUZZ / "rustc.sh")}
    subprocess.run(build, cwd=ROOT, env=os.environ | flags, check=True)
    seeds = ["cargo", "run", "-q", "--locked", "-p", "lycosa-fuzz", "--example", "seeds", "--", str(WORK / "seeds")]
    subprocess.run(seeds, cwd=ROOT, check=True)
    subprocess.run([sys.executable, str(FUZZ / "seeds.py"), str(WORK / "seeds")], check=True)
    return BUILT / host[1] / "fuzz"


def run(target: str, binaries: Path, limits: list[str]) -> Outcome:
    """Runs one target on its corpus, the seeds and the regressions."""
    corpus, found = WORK / "corpus" / target, WORK / "found" / target
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    inputs = [corpus] + [folder / target for folder in (WORK / "seeds", FUZZ / "regressions")]
    options = [
        f"-max_len={MAX_BYTES.get(target, 4_096)}",
        "-timeout=30",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
    ]
    dictionary = WORK / "seeds" / f"{target}.dict"
    if dictionary.exists():
        options.append(f"-dict={dictionary}")
    command = [str(binaries / target), *limits, *options, f"-artifact_prefix={found}/"]
    command += [str(folder) for folder in inputs if folder.is_dir()]
    ended = subprocess.run(command, capture_output=True, check=False, cwd=WORK)
    log = ended.stderr.decode(errors="replace")
    (WORK / f"{target}.log").write_text(log)
    new = sorted(set(found.iterdir()) - before)
    finding = new[0] if new else None
    if ended.returncode and not finding:
        raise SystemExit(f"lycosa: fuzz target {target} ended with {ended.returncode}:\n{log[-2_000:]}")
    executed = re.search(r"stat::number_of_executed_units: (\d+)", log)
    # After a finding there are no statistics but the number of the last line.
    numbers = [int(number) for number in re.findall(r"^#(\d+)\t", log, re.MULTILINE)]
    edges = re.findall(r"cov: (\d+)", log)
    executions = int(executed[1]) if executed else max(numbers, default=0)
    return Outcome(target, executions, int(edges[-1]) if edges else 0, finding, log)


def record(outcomes: list[Outcome]) -> None:
    """Adds executions to the table in README.md."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    lines = README.read_text().splitlines()
    for outcome in outcomes:
        for place, line in enumerate(lines):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and cells[0] == f"`{outcome.target}`":
                cells[1] = f"{int(cells[1].replace(',', '')) + outcome.executions:,}"
                cells[2:4] = [f"{max(outcome.edges, int(cells[2].replace(',', ''))):,}", today]
                lines[place] = "| " + " | ".join(cells) + " |"
                break
        else:
            raise SystemExit(f"lycosa: {README} has no line for {outcome.target}: add one with 0 executions")
    README.write_text("\n".join(lines) + "\n")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Fuzz targets by coverage.")
    parser.add_argument("target", nargs="*", help="which (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument("--runs", type=int, help="executions of each target, in the place of a time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once (default: one a core)")
    parser.add_argument("--record", action="store_true", help="add the executions to fuzz/README.md")
    arguments = parser.parse_args()
    unknown = set(arguments.target) - set(targets())
    if unknown:
        parser.error(f"no target: {', '.join(sorted(unknown))}; there are {', '.join(targets())}")
    if not shutil.which("c++"):
        parser.error("a C++ compiler is needed: apt-get install g++")
    WORK.mkdir(parents=True, exist_ok=True)
    binaries = build()
    # The targets' files lie in memory: what makes a large one ends there, not the machine.
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    # A frontier begins with one page of memory: to clear 2 MiB for each input would take half of the time.
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    limits = [f"-runs={arguments.runs}"] if arguments.runs else [f"-max_total_time={arguments.seconds}"]
    failed = 0

    def report(outcome: Outcome) -> Outcome:
        nonlocal failed
        print(f"{outcome.target:15} {outcome.executions:>12,} executions {outcome.edges:>7,} edges", flush=True)
        if outcome.finding:
            failed += 1
            panic = re.search(r"panicked at .*\n.*", outcome.log)
            print(f"  {panic[0] if panic else outcome.log[-500:]}\n  input: {outcome.finding}", flush=True)
            # Where the file itself is lost, what was printed can still be replayed.
            print(f"  base64: {base64.b64encode(outcome.finding.read_bytes()).decode()}", flush=True)
        if arguments.record:
            record([outcome])
        return outcome

    with ThreadPoolExecutor(arguments.jobs) as pool:
        chosen = arguments.target or targets()
        outcomes = [report(outcome) for outcome in pool.map(lambda name: run(name, binaries, limits), chosen)]
    # The line that says in any language how many tests there were.
    print(f"fuzz: {len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
