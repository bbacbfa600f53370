"""``lycosa resolve --retry-failed``: the old output, while it is read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lycosa.cli.resolve import Work
from lycosa.cli.resolve_outputs import output
from lycosa.cli.resolve_retry import retrying
from lycosa.names import Resolver

if TYPE_CHECKING:
    from tests.conftest import DnsServer

ROWS = 30_000


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_who_stops_while_the_old_output_is_read_loses_nothing_of_it(
    suffix: str, dns: DnsServer, tmp_path: Path
) -> None:
    path = tmp_path / f"out{suffix}"
    (tmp_path / "names.txt").write_text("".join(f"n{number}.example\n" for number in range(ROWS)))
    with (
        Resolver(resolvers=[dns.address], concurrency=10_000) as resolver,
        (tmp_path / "names.txt").open("rb") as file,
    ):
        work = Work(resolver, output(str(path), io.BytesIO()), file)
        work.begin()
        while not work.ended:
            work.step()
        work.end()
        before = path.read_bytes()
        file.seek(0)
        work = Work(resolver, retrying(output(str(path), io.BytesIO()), "nxdomain"), file)
        work.stopped = True  # Ctrl-C: noticed after the first rows
        work.begin()
        assert 0 < work.before < ROWS
        work.end()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["names.txt", path.name]
    if suffix == ".jsonl":
        assert path.read_bytes() == before
        assert len([json.loads(line) for line in before.splitlines()]) == ROWS
    else:
        import pyarrow.parquet

        assert pyarrow.parquet.read_metadata(path).num_rows == ROWS
