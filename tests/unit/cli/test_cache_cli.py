"""``lycosa cache``: what operators see of a cache of names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lycosa.cli import main
from lycosa.names import Cache


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cache with three names."""
    path = tmp_path / "names"
    with Cache(path, capacity=10_000) as cache:
        cache.put_many([(name, ["192.0.2.1"], 80_000) for name in ("a.foo.com", "b.foo.com", "c.bar.org")])
    return path


def test_inspect_and_count(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "inspect", str(file)]) == 0
    assert "com: 2, org: 1" in capsys.readouterr().out
    assert main(["cache", "inspect", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["names"], found["capacity"], found["by_tld"]) == (3, 10_000, {"com": 2, "org": 1})
    assert main(["cache", "count", str(file)]) == 0
    assert main(["cache", "count", str(file), "--under", "foo.com"]) == 0
    assert capsys.readouterr().out.split() == ["3", "2"]
    assert main(["cache", "count", str(file), "--by-tld", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"com": 2, "org": 1}


def test_who_only_looks_changes_nothing(file: Path) -> None:
    whole = file.read_bytes()
    assert main(["cache", "inspect", str(file), "--json"]) == 0
    assert main(["cache", "count", str(file), "--by-tld"]) == 0
    assert file.read_bytes() == whole


def test_forget(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "forget", str(file), "c.bar.org", "--under", "foo.com", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"forgotten": 3}
    assert main(["cache", "forget", str(file), "c.bar.org"]) == 1


def test_rebuild_makes_a_cache_of_what_is_damaged_and_spares_what_is_none(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(file.read_bytes()[:5_000])
    assert main(["cache", "inspect", str(file)]) == 1
    assert "lycosa cache rebuild" in capsys.readouterr().err
    assert main(["cache", "rebuild", str(file), "--capacity", "20000"]) == 0
    assert main(["cache", "count", str(file)]) == 0
    assert capsys.readouterr().out.split()[-1] == "0"
    letter = file.with_name("letter.txt")
    letter.write_text("Dear all")
    assert main(["cache", "rebuild", str(letter)]) == 2
    assert letter.read_text() == "Dear all"
