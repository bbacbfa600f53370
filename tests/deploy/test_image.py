"""The steps of the image, by its own scripts: a wheel is built from a clean copy, and installed in a clean folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = REPOSITORY / "deploy" / "image"


def run(*command: str | Path, **more: str) -> str:
    """Run a command without what the tests' own environment has; returns what it prints."""
    kept = {name: os.environ[name] for name in ("HOME", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    path = os.pathsep.join(
        place for place in os.environ["PATH"].split(os.pathsep) if "venv" not in place
    )  # the image has no virtual environment
    env = {**kept, "PATH": path, "LANG": "C.UTF-8", **more}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=env, cwd="/", timeout=1_500
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_the_image_has_all_that_a_cluster_needs(tmp_path: Path) -> None:
    source, wheels, directory = tmp_path / "src", tmp_path / "wheels", tmp_path / "opt" / "lycosa"
    run("git", "clone", "-q", REPOSITORY, source)
    # What is compiled for other tests is not compiled again; the image begins with nothing.
    run("sh", SCRIPTS / "build.sh", source, wheels, CARGO_TARGET_DIR=str(REPOSITORY / "target"))
    assert "lycosa" in run("sh", SCRIPTS / "install.sh", wheels, directory)
    program = directory / "bin" / "lycosa"
    for action in ("work", "master", "downloader", "dns", "job"):
        assert "usage: lycosa" in run(program, action, "--help")
    # As the chart runs it: not root, and nothing but /tmp can be written.
    job = tmp_path / "job.toml"
    job.write_text('user_agent = "test/1.0 (me@example.org)"\n')
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    command = [program, "work", "--job", job, "--name", "x", "--kafka", "127.0.0.1:1", "--state", "/tmp"]  # noqa: S108
    done = subprocess.run(
        ["setpriv", "--reuid", "65532", "--regid", "65532", "--clear-groups", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        cwd="/",
    )
    assert "no broker can be asked" in done.stderr, done.stderr
