"""What a released version left on the disk is gone on with: its job directories, and its files of names."""

from __future__ import annotations

import json
import socket
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lycosa
import pyarrow.parquet
import pytest
from lycosa import _core
from lycosa.errors import JobDamaged, JobVersionError
from lycosa.names import Cache
from lycosa.simnet import SimulatedInternet

FIXTURES = Path(__file__).parents[1] / "fixtures"

#: The released versions whose directories are opened.
VERSIONS = sorted(path.parent.name for path in FIXTURES.glob("*/fixtures.json"))

#: Delays are divided by it.
SPEED = 500.0

#: Where a snapshot names its version, and where the frontier in it does: behind the header and a record's length.
SNAPSHOT_VERSION, FRONTIER_VERSION = 8, 24 + 8


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each released version."""
    return str(request.param)


@pytest.fixture
def about(version: str) -> dict[str, Any]:
    """What is known of a version's fixtures."""
    content: dict[str, Any] = json.loads((FIXTURES / version / "fixtures.json").read_text())
    return content


@pytest.fixture
def net(about: dict[str, Any]) -> Iterator[SimulatedInternet]:
    """The Internet that the fixtures are of, faster."""
    for kind, port in ((socket.SOCK_STREAM, "http_port"), (socket.SOCK_DGRAM, "dns_port")):
        with socket.socket(socket.AF_INET, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", about["world"][port]))
            except OSError as error:
                pytest.fail(f"port {about['world'][port]} stands in the fixtures' URLs and must be free: {error}")
    with SimulatedInternet(**{**about["world"], "speed": SPEED}) as running:
        yield running


def unpack(version: str, name: str, folder: Path) -> Path:
    """A fixture, unpacked."""
    with tarfile.open(FIXTURES / version / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


def recorded(directory: Path) -> dict[str, int | None]:
    """What the log and the outputs of a fixture know, by URL."""
    rows = [json.loads(line) for line in (directory / "pages.jsonl").read_bytes().splitlines()]
    reader = _core.LogReader(directory / "log", with_body=False)
    while lines := reader.read(1_000, 1 << 20).lines(["url", "status"]):
        rows += map(json.loads, lines.splitlines())
    return {row["url"]: row["status"] for row in rows}


def go_on(directory: Path, net: SimulatedInternet) -> None:
    """Go on with a crawl to its end: everything is there once, and what was done is not done again."""
    before = recorded(directory)
    for _ in lycosa.crawl(directory=directory, speed=SPEED):
        pass
    ledger = net.report()
    rows = [json.loads(line) for line in (directory / "pages.jsonl").read_text().splitlines()]
    assert len({row["url"] for row in rows}) == len(rows), "each URL once"
    got = sum(row["status"] == 200 for row in rows)
    assert got == ledger["coverage"]["reachable"], "nothing is lost"
    assert ledger["coverage"]["served"] == got - sum(status == 200 for status in before.values()), "nothing twice"
    assert ledger["repeats"]["requests"] == 0
    assert ledger["robots"]["disallowed"] == 0
    columns = pyarrow.parquet.read_table(directory / "pages.parquet", columns=["url"])["url"].to_pylist()
    assert sorted(columns) == sorted(row["url"] for row in rows), "every output has the same records"


def snapshots(directory: Path) -> list[Path]:
    """The snapshots, oldest first."""
    found = sorted((directory / "snapshots").glob("*.snapshot"))
    assert len(found) == 2
    return found


def change(path: Path, at: int) -> None:
    """Change a byte of a snapshot; its checksum holds where it is the version of the content that changes."""
    content = bytearray(path.read_bytes())
    content[at] ^= 0x40
    if at == FRONTIER_VERSION:
        content[-4:] = zlib.crc32(content[:-4]).to_bytes(4, "little")
    path.write_bytes(content)


def damage(path: Path) -> None:
    """A byte in the middle is not as it was written."""
    change(path, path.stat().st_size // 2)


def of_another_layout(path: Path) -> None:
    """The layout is of a version that is not known."""
    change(path, SNAPSHOT_VERSION)


def of_another_frontier(path: Path) -> None:
    """The frontier in it is of a version that is not known."""
    change(path, FRONTIER_VERSION)


SPOIL = [damage, of_another_layout, of_another_frontier]


@pytest.mark.parametrize("name", ["killed", "trimmed"])
def test_a_crawl_of_an_earlier_version_goes_on(
    name: str, version: str, net: SimulatedInternet, tmp_path: Path
) -> None:
    go_on(unpack(version, name, tmp_path), net)


def test_an_earlier_version_may_have_recorded_an_output_with_a_colon(
    version: str, net: SimulatedInternet, tmp_path: Path
) -> None:
    directory, name = unpack(version, "killed", tmp_path), "pages-10:30.jsonl"
    (directory / "pages.jsonl").rename(directory / name)
    (directory / "sinks" / "pages.jsonl.json").rename(directory / "sinks" / f"{name}.json")
    record = json.loads((directory / "job.json").read_text())
    outputs = [name if output == "pages.jsonl" else output for output in record["outputs"]]
    assert name in outputs
    (directory / "job.json").write_text(json.dumps({**record, "outputs": outputs}))
    lines = (directory / name).read_bytes().splitlines()
    for _ in lycosa.crawl(directory=directory, speed=SPEED):
        pass
    rows = (directory / name).read_bytes().splitlines()
    assert rows[: len(lines) - 1] == lines[:-1], "it is gone on with"
    urls = [json.loads(row)["url"] for row in rows]
    columns = pyarrow.parquet.read_table(directory / "pages.parquet", columns=["url"])["url"].to_pylist()
    assert sorted(columns) == sorted(urls)


@pytest.mark.parametrize("spoil", [Path.unlink, damage, of_another_frontier])
def test_without_readable_snapshots_the_log_is_enough(
    spoil: Callable[[Path], None], version: str, net: SimulatedInternet, tmp_path: Path
) -> None:
    directory = unpack(version, "killed", tmp_path)
    for path in snapshots(directory):
        spoil(path)
    go_on(directory, net)


@pytest.mark.parametrize("spoil", [damage, of_another_frontier])
def test_where_the_logs_beginning_is_gone_the_older_snapshot_serves(
    spoil: Callable[[Path], None], version: str, net: SimulatedInternet, tmp_path: Path
) -> None:
    directory = unpack(version, "trimmed", tmp_path)
    spoil(snapshots(directory)[-1])
    go_on(directory, net)


@pytest.mark.parametrize("spoil", SPOIL)
def test_what_cannot_be_read_is_kept_and_stands_for_nothing(
    spoil: Callable[[Path], None], version: str, tmp_path: Path
) -> None:
    directory = unpack(version, "killed", tmp_path)
    spoiled = snapshots(directory)
    for path in spoiled:
        spoil(path)
    segments = sorted((directory / "log").glob("*.log"))
    # Nothing can be fetched; what is checked is what a run does to the directory.
    crawl = lycosa.crawl(directory=directory, store={"retain": "needed", "fields": ["url", "status", "error"]})
    crawl.stop()
    for _ in crawl:
        pass
    assert all(path.exists() for path in segments), "snapshots that nobody can read stand for no file of the log"
    assert not any(path.exists() for path in spoiled)


@pytest.mark.parametrize("spoil", [of_another_layout, of_another_frontier])
def test_where_only_another_version_can_read_it_that_is_said(
    spoil: Callable[[Path], None], version: str, tmp_path: Path
) -> None:
    directory = unpack(version, "trimmed", tmp_path)
    for path in snapshots(directory):
        spoil(path)
    before = {path: path.read_bytes() for path in (directory / "log").glob("*.log")}
    with pytest.raises(JobVersionError, match="go on with the version of Lycosa that wrote it") as told:
        list(lycosa.crawl(directory=directory))
    assert f"lycosa job export {directory} FILE" in str(told.value)
    assert all(path.read_bytes() == content for path, content in before.items())
    assert len(snapshots(directory)) == 2, "for the version that can read them"


@pytest.mark.parametrize("spoil", [Path.unlink, damage])
def test_where_nothing_can_read_it_that_is_said_too(
    spoil: Callable[[Path], None], version: str, tmp_path: Path
) -> None:
    directory = unpack(version, "trimmed", tmp_path)
    for path in snapshots(directory):
        spoil(path)
    with pytest.raises(JobDamaged, match=r"begins at position [1-9]") as told:
        list(lycosa.crawl(directory=directory))
    assert f"lycosa job export {directory} FILE" in str(told.value)


def test_a_file_of_names_is_opened(version: str, about: dict[str, Any], tmp_path: Path) -> None:
    with Cache(unpack(version, "names.cache", tmp_path), capacity=1_000) as cache:
        assert cache.fallen_back is None
        names = about["names"]
        # What it holds has run out by now; were it not so, it would be right.
        answers = {name: cache.get(name) for name in names}
        known = {name: found.addresses or found.state for name, found in answers.items() if found is not None}
        assert known == {name: names[name] for name in known}
        cache.put_many([(name, answer, 3_600) for name, answer in names.items()])
        again = [cache.get(name) for name in names]
        assert [found and (found.addresses or found.state) for found in again] == list(names.values())
