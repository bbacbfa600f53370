"""Run all tests in two processes side by side: most of a test's time is waiting.

Each process has a `/dev/shm` of its own, since crawls of one machine share the clocks of sites there, and crawls of
different tests give the same addresses to different sites. Where no such thing may be made, one process runs all
tests.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"

#: What the process runs whose output is shown while it runs; the other one runs all other folders.
SHOWN = {"unit", "crawl"}


def main(arguments: list[str]) -> int:
    """Run them; arguments are pytest's. Returns 0 if all pass, and a process's exit status otherwise."""
    pytest = [sys.executable, "-m", "pytest", *arguments]
    apart = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode != 0:
        return subprocess.run(pytest, check=False).returncode
    folders = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    shown, others = ([f"tests/{name}" for name in sorted(names)] for names in (SHOWN, folders - SHOWN))
    with tempfile.TemporaryFile() as output:
        cache = ["-o", "cache_dir=.pytest_cache/beside"]
        beside = subprocess.Popen([*apart, *pytest, *cache, *others], stdout=output, stderr=subprocess.STDOUT)
        try:
            status = subprocess.run([*apart, *pytest, *shown], check=False).returncode
            status_beside = beside.wait()
        finally:
            beside.terminate()  # it has ended already, unless this process was interrupted
        output.seek(0)
        sys.stdout.buffer.write(output.read())
    return status or status_beside


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
