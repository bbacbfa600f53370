"""Foreign programs that judge, wherever Debian puts them. Not a test."""

import os
import shutil

import pytest

from benchmarks.dns_servers import PATH


def require(program: str) -> str:
    """The program, or the test is skipped: root (and CI) skips nothing."""
    if shutil.which(program, path=PATH) is None and os.geteuid() != 0:
        pytest.skip(f"{program} is not installed")
    return program
