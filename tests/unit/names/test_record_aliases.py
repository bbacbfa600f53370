"""Records of several types behind one alias: it is told once, however many types have found it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import lycosa
import pytest

#: Numbers of types (RFC 1035 section 3.2.2).
CNAME, MX, TXT = 5, 15, 16

#: The TTL of the alias in the answer about each type.
TTLS = {MX: 300, TXT: 120, CNAME: 200}


def record(owner: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    """A record in a message."""
    return owner + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


class AliasServer:
    """Answers each question with an alias to ``end.example``, whose TTL differs by type, and so many records."""

    def __init__(self, count: int) -> None:
        """``count``: of records of each type but CNAME."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._count = count
        self._ended = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._ended = True
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        """Answer until the end; the thread's body."""
        while True:
            question, client = self._socket.recvfrom(4_096)
            if self._ended:
                return
            end = question.index(b"\0", 12) + 5
            (kind,) = struct.unpack_from("!H", question, end - 4)
            if kind not in TTLS:
                continue
            # The case of an alias is not the same in all replies of a server that copies the question's.
            target = b"\3end\7example\0" if kind == MX else b"\3End\7Example\0"
            records = [record(b"\xc0\x0c", CNAME, TTLS[kind], target)]
            for number in range(self._count if kind != CNAME else 0):
                text = f"{number % 7:04}".encode()
                data = b"\4" + text if kind == TXT else struct.pack("!H", number) + b"\2mx\7example\0"
                records.append(record(target, kind, 60, data))
            header = question[:2] + struct.pack("!HHHHH", 0x8180, 1, len(records), 0, 0)
            self._socket.sendto(header + question[12:end] + b"".join(records), client)


@pytest.fixture
def aliases() -> Iterator[AliasServer]:
    """A server with three records of each type."""
    server = AliasServer(3)
    yield server
    server.close()


@pytest.mark.parametrize("types", [["MX", "TXT", "CNAME"], ["CNAME", "TXT", "MX"], ["TXT", "MX"]])
def test_an_alias_with_several_ttls_is_told_once_with_the_lowest(types: list[str], aliases: AliasServer) -> None:
    (answer,) = lycosa.resolve(["www.example"], resolvers=[aliases.address], types=types)
    assert answer.status == "ok", answer.detail
    found = [(kind, ttl) for _, kind, ttl, _ in answer.records]
    assert [ttl for kind, ttl in found if kind == "CNAME"] == [120]
    assert sorted(kind for kind, _ in found) == ["CNAME", *["MX"] * 3, *["TXT"] * 3]
