"""Records of several types behind one alias: it is told once, however many types have found it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import lycosa
import pytest

from tests.conftest import DnsServer

#: Numbers of types (RFC 1035 section 3.2.2).
CNAME, MX, TXT = 5, 15, 16

#: The TTL of the alias in the answer about each type.
TTLS = {MX: 300, TXT: 120, CNAME: 200}


def record(owner: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    """A record in a message."""
    return owner + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


class AliasServer(DnsServer):
    """Answers each question with an alias to ``end.example``, whose TTL differs by type, and with three records."""

    def _reply(self, question: bytes) -> bytes | None:
        """The answer to a question."""
        end = question.index(b"\0", 12) + 5
        (kind,) = struct.unpack_from("!H", question, end - 4)
        if kind not in TTLS:
            return None
        # The case of an alias is not the same in all replies of a server that copies the question's.
        target = b"\3end\7example\0" if kind == MX else b"\3End\7Example\0"
        records = [record(b"\xc0\x0c", CNAME, TTLS[kind], target)]
        for number in range(3 if kind != CNAME else 0):
            text = f"{number:04}".encode()
            data = b"\4" + text if kind == TXT else struct.pack("!H", number) + b"\2mx\7example\0"
            records.append(record(target, kind, 60, data))
        header = question[:2] + struct.pack("!HHHHH", 0x8180, 1, len(records), 0, 0)
        return header + question[12:end] + b"".join(records)


@pytest.fixture
def aliases() -> Iterator[AliasServer]:
    """A server with three records of each type."""
    with AliasServer() as server:
        yield server


@pytest.mark.parametrize("types", [["MX", "TXT", "CNAME"], ["CNAME", "TXT", "MX"], ["TXT", "MX"]])
def test_an_alias_with_several_ttls_is_told_once_with_the_lowest(types: list[str], aliases: AliasServer) -> None:
    (answer,) = lycosa.resolve(["www.example"], resolvers=[aliases.address], types=types)
    assert answer.status == "ok", answer.detail
    found = [(kind, ttl) for _, kind, ttl, _ in answer.records]
    assert [ttl for kind, ttl in found if kind == "CNAME"] == [120]
    assert sorted(kind for kind, _ in found) == ["CNAME", *["MX"] * 3, *["TXT"] * 3]
