"""Run all tests in two processes side by side: most of a test's time is waiting.

Each process has a `/dev/shm` of its own, since crawls of one machine share the clocks of sites there, and crawls of
different tests give the same addresses to different sites; and ports of its own for servers (`benchmarks.ports`).
Where no such thing may be made, one process runs all tests. For some tests alone, use pytest itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Never

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"

#: What the first process runs, whose output is shown while it runs; the other one runs all else, which takes as long.
SHOWN = {"crawl", "dispatch"}

#: What the other one prints, which is shown at the end; a run that is killed leaves it.
OUTPUT = ROOT / "build" / "tests-beside.log"

#: Runs a command with a `/dev/shm` of its own.
APART = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]


def main() -> int:
    """Run them. Returns 0 if all pass."""
    pytest = [sys.executable, "-m", "pytest"]
    if (why := _why_not_apart()) is not None:
        print(f"all tests run in one process, which takes twice as long: {why}", flush=True)
        return subprocess.run(pytest, check=False).returncode
    # By exclusion, so that pytest alone decides what a test is.
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()}
    files = {path.name for path in TESTS.glob("test_*.py")}
    halves = [
        [f"--ignore={TESTS / name}" for name in sorted(folders - SHOWN)],
        [f"--ignore={TESTS / name}" for name in sorted(SHOWN | files)] + ["-o", "cache_dir=.pytest_cache/beside"],
    ]
    signal.signal(signal.SIGTERM, _end)
    # A shell that runs this in the background has it ignored, and both halves would, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    OUTPUT.parent.mkdir(exist_ok=True)
    with OUTPUT.open("w+b") as output:
        running = [
            subprocess.Popen(
                [*APART, *pytest, *arguments],
                env=os.environ | {"LYCOSA_TEST_HALF": str(half)},
                stdin=None if half == 0 else subprocess.DEVNULL,
                stdout=None if half == 0 else output,
                stderr=None if half == 0 else subprocess.STDOUT,
            )
            for half, arguments in enumerate(halves)
        ]
        try:
            for one in running:
                one.wait()
        except BaseException as error:
            # Each ends its servers before it ends. At a terminal, all have been interrupted already.
            for one in running:
                if not isinstance(error, KeyboardInterrupt):
                    one.send_signal(signal.SIGINT)
                one.wait()
            raise
        finally:
            output.seek(0)
            sys.stdout.write(f"\nthe other half ({OUTPUT}):\n")
            sys.stdout.flush()
            shutil.copyfileobj(output, sys.stdout.buffer)
            ends = [_end_of(one) for one in running]
            print(f"{' and '.join(sorted(SHOWN))}: {ends[0]}; the other half: {ends[1]}", flush=True)
    return next((1 for one in running if one.returncode != 0), 0)


def _why_not_apart() -> str | None:
    """Why no process can have a `/dev/shm` of its own; `None`: it can."""
    if shutil.which(APART[0]) is None:
        return f"{APART[0]} is missing"
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode != 0 else None


def _end(number: int, frame: object) -> Never:
    """End as asked, with what is running."""
    raise SystemExit(128 + number)


def _end_of(process: subprocess.Popen[bytes]) -> str:
    """How a process ended."""
    code = process.returncode
    if code is None:
        return "still running"
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


if __name__ == "__main__":
    sys.exit(main())
